"""`improve`: programs with other forms of their expressions, more accurate or faster."""
from reactant.improvement.front import Improvement, Version
from reactant.improvement.search import improve

__all__ = ["Improvement", "Version", "improve"]
