"""The tensor rules: one module a family of root ops; importing this package declares them all."""
from reactant.simplify import (
    arithmetic,
    cleanup,
    contraction,
    control_flow,
    conversion,
    elementary,
    indexing,
    logic,
    reduction,
    shape,
    slicing,
    target,
    target_updates,
)

__all__ = [
    "arithmetic",
    "cleanup",
    "contraction",
    "control_flow",
    "conversion",
    "elementary",
    "indexing",
    "logic",
    "reduction",
    "shape",
    "slicing",
    "target",
    "target_updates",
]
