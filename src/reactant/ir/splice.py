"""The body of a function, a loop or a comparator at another place: copied, or moved there."""
from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence

from jaxlib.mlir import ir

from reactant.ir import creation, modules


def copied(block: ir.Block, values: Sequence[ir.Value], among: Iterable[ir.Operation] | None = None,
           mapping: MutableMapping[ir.Value, ir.Value] | None = None) -> list[ir.Value]:
    """Copy the ops of a block to the insertion point, with `values` as its arguments (more than it has are left out);
    gives what it returns. among: the ops that are copied, without it all. mapping: learns what became of each value."""
    if len(values) < len(block.arguments):
        raise ValueError(f"a block of {len(block.arguments)} arguments is given {len(values)} values")
    known = {} if mapping is None else mapping
    known.update(zip(block.arguments, values, strict=False))
    *body, terminator = [each.operation for each in block.operations]
    for each in body if among is None else among:
        creation.note(modules.clone_with(each, known))
    return [known.get(v, v) for v in terminator.operands]


def moved(block: ir.Block, values: Sequence[ir.Value], anchor: ir.Operation) -> list[ir.Value]:
    """Move the ops of a block before `anchor`, with `values` as its arguments; gives what it returned. The block is
    left empty, without a terminator."""
    for argument, value in zip(block.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    *body, terminator = [op.operation for op in block.operations]
    # a result may be an argument: its uses were replaced, so the operands are read only now
    results = list(terminator.operands)
    terminator.erase()
    for op in body:
        op.location = ir.Location.current
        op.move_before(anchor)
    return results
