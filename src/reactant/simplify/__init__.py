"""The tensor rules: one module a family of root ops; importing this package declares them all."""
from reactant.simplify import arithmetic, conversion, elementary, logic, shape, slicing

__all__ = ["arithmetic", "conversion", "elementary", "logic", "shape", "slicing"]
