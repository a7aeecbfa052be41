"""Which dimensions of its operands a contraction has."""
from __future__ import annotations

from reactant.ir.attributes import DotDimensions


def free_dimensions(d: DotDimensions, side: int, rank: int) -> list[int]:
    """Dimensions of an operand that are neither contracted nor batched."""
    return [i for i in range(rank) if i not in {*d.batching_dims[side], *d.contracting_dims[side]}]
