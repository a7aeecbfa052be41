"""What each operation means for limbs; importing it declares the rules."""
from reactant.precision.rules import (
    contractions,
    control,
    conversions,
    elementwise,
    linear_algebra,
    reductions,
    structure,
    transforms,
)

__all__ = ["contractions", "control", "conversions", "elementwise", "linear_algebra", "reductions", "structure",
           "transforms"]
