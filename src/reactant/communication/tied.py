"""Which axes of the mesh divide which dimension of every value, from what is known of some.

Ops tie dimensions together (`Rule.ties`): what one of them is divided by, the others are, too. Who is told first keeps
it.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlib.mlir import ir

from reactant.communication.axes import Axes, Tie, terminator
from reactant.communication.declare import rule_of
from reactant.communication.sharding import Sharding
from reactant.loopnests.choice.profitability import HOLDERS


def propagate(block: ir.Block, given: Mapping[ir.Value, Sharding]) -> Axes:
    """The axes of all values in a block and the regions inside, from those of some."""
    axes = Axes()
    for value, sharding in given.items():
        axes.fix(value, sharding)
    _note_invariants(block, axes)
    ties = list(_ties(block))
    while any([axes.tell(tie) for tie in ties]) | any([axes.tell(tie) for tie in reversed(ties)]):
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
