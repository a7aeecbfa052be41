"""The rules of the partitioner, one file a family of ops."""
from reactant.communication.rules import contraction, control_flow, elementwise, reduction, shape, slicing

__all__ = ["contraction", "control_flow", "elementwise", "reduction", "shape", "slicing"]
