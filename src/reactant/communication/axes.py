"""Which axes of the mesh divide which dimension of every value, as far as that is known."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.communication.sharding import Sharding
from reactant.ir.types import shape_of

Tie = list[tuple[ir.Value, int]]


def terminator(block: ir.Block) -> ir.Operation:
    """The op that ends a block."""
    return block.operations[len(block.operations) - 1].operation


class Axes:
    """The axes of every value's dimensions, and which values are others in truth."""

    def __init__(self) -> None:
        self.of: dict[ir.Value, list[tuple[str, ...]]] = {}
        self.fixed: set[ir.Value] = set()
        self.same: dict[ir.Value, ir.Value] = {}
        """Carried values that no iteration changes, to what the loop begins with."""

    def resolved(self, value: ir.Value) -> ir.Value:
        """The value that one stands for."""
        while value in self.same:
            value = self.same[value]
        return value

    def __getitem__(self, value: ir.Value) -> list[tuple[str, ...]]:
        value = self.resolved(value)
        if value not in self.of:
            self.of[value] = [()] * len(shape_of(value))
        return self.of[value]

    def fix(self, value: ir.Value, sharding: Sharding) -> None:
        """Say how a value is spread."""
        self.of[value] = list(sharding.axes)
        self.fixed.add(value)

    def tell(self, tie: Tie) -> bool:
        """Give the axes that one of these dimensions has to the others; whether that changed something."""
        known = next((axes for value, d in tie if (axes := self[value][d])), None)
        if known is None:
            return False
        changed = False
        for value, d in tie:
            own = self[value]
            if not own[d] and self.resolved(value) not in self.fixed and not any(set(known) & set(a) for a in own):
                own[d] = known
                changed = True
        return changed
