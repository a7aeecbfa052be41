"""What was done to my program, and why not more."""
from reactant.explain.text import Explanation, explain

__all__ = ["Explanation", "explain"]
