"""How many digits of a program's results are right, and which lines lose them."""
from reactant.digits.account import Accuracy, accuracy

__all__ = ["Accuracy", "accuracy"]
