"""The rules of the partitioner, one file a family of ops."""
from reactant.communication.rules import (
    batched,
    contraction,
    control_flow,
    elementwise,
    indexing,
    reduction,
    shape,
    slicing,
    windows,
)

__all__ = ["batched", "contraction", "control_flow", "elementwise", "indexing", "reduction", "shape", "slicing",
           "windows"]
