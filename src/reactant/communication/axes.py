"""Which axes of the mesh divide which dimension of every value, from what is known of some.

Ops tie dimensions together (`Rule.ties`): what one of them is divided by, the others are, too. Who is told first keeps
it.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlib.mlir import ir

from reactant.communication.declare import rule_of
from reactant.communication.sharding import Sharding
from reactant.ir.types import shape_of
from reactant.loopnests.choice.worth import HOLDERS

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

    def _tell(self, tie: Tie) -> bool:
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


def propagate(block: ir.Block, given: Mapping[ir.Value, Sharding]) -> Axes:
    """The axes of all values in a block and the regions inside, from those of some."""
    axes = Axes()
    for value, sharding in given.items():
        axes.fix(value, sharding)
    _note_invariants(block, axes)
    ties = list(_ties(block))
    while any([axes._tell(tie) for tie in ties]) | any([axes._tell(tie) for tie in reversed(ties)]):
        pass
    return axes


def _ties(block: ir.Block) -> Iterator[Tie]:
    for op in block.operations:
        operation = op.operation
        for region in operation.regions if operation.name in HOLDERS else ():
            yield from _ties(region.blocks[0])
        yield from rule_of(operation).ties(operation)


def _note_invariants(block: ir.Block, axes: Axes) -> None:
    for op in block.operations:
        operation = op.operation
        if operation.name == "stablehlo.while":
            condition, body = (region.blocks[0] for region in operation.regions)
            returned: Sequence[ir.Value] = list(terminator(body).operands)
            for k, value in enumerate(returned):
                if value == body.arguments[k]:
                    for alias in (body.arguments[k], condition.arguments[k], operation.results[k]):
                        axes.same[alias] = operation.operands[k]
        if operation.name in HOLDERS:
            for region in operation.regions:
                _note_invariants(region.blocks[0], axes)
