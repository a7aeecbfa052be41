"""What each operation means for limbs; importing it declares the rules."""
from reactant.precision.rules import control, conversions, elementwise, reductions, structure

__all__ = ["control", "conversions", "elementwise", "reductions", "structure"]
