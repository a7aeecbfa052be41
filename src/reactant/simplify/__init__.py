"""The tensor rules: one module a family of root ops; importing this package declares them all."""
from reactant.simplify import arithmetic, shape, slicing

__all__ = ["arithmetic", "shape", "slicing"]
