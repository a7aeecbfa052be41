"""What was done to my program, and why not more."""
from reactant.explanation.explained import Explanation, explain

__all__ = ["Explanation", "explain"]
