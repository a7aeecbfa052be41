"""The tensor rules: one module a family of root ops; importing this package declares them all."""
from reactant.simplify import arithmetic, cleanup, control_flow, conversion, elementary, logic, shape, slicing

__all__ = ["arithmetic", "cleanup", "control_flow", "conversion", "elementary", "logic", "shape", "slicing"]
