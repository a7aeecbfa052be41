"""What a pointer is known to point to."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.support.records import dataclass

ADDRESS_BITS = 40
"""A pointer as an integer: (number of its base + 1) << 40 plus the distance in bytes. Bases are aligned to that."""


UNROLLED = 64
"""Elements up to which a memcpy or memset is written out."""


@dataclass
class Address:
    """base: its number, or the i32 value that says which of `choices`. elements, bytes: index values or None; constant:
    bytes."""

    base: int | ir.Value
    choices: tuple[int, ...]
    elements: ir.Value | None = None
    bytes: ir.Value | None = None
    constant: int = 0
