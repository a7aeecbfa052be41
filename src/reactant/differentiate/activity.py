"""Which values carry a derivative: those that vary with the active arguments and matter to the active results.

Everything else is constant: no tangent, no adjoint, no operation is made for it. The analysis covers the whole
function, branches and loop bodies included; what loops carry is a fixed point.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from reactant.differentiate.declare import CONSTANT, differentiable
from reactant.ir import modules

BRANCHES = ("stablehlo.if", "stablehlo.case")
LOOP = "stablehlo.while"


def block_ops(block: ir.Block) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops of a block without its terminator, and what it returns."""
    *body, terminator = [op.operation for op in block.operations]
    return body, list(terminator.operands)


def blocks_of(op: ir.Operation) -> list[ir.Block]:
    return [region.blocks[0] for region in op.regions]


def active_values(block: ir.Block, arguments: Iterable[ir.Value], results: Iterable[ir.Value]) -> set[ir.Value]:
    """The active values of a function body, those in its regions included."""
    varied = {a for a in arguments if differentiable(a)}
    _vary(block, varied)
    useful = {r for r in results if differentiable(r)}
    _use(block, useful)
    return varied & useful


def captured(op: ir.Operation) -> list[ir.Value]:
    """Values used in the regions of an op and defined outside of it, in order of first use."""
    inside: set[ir.Value] = set()
    found: dict[ir.Value, None] = {}
    for block in blocks_of(op):
        inside.update(block.arguments)
    for child in modules.walk(op):
        for region in child.regions:
            for block in region:
                inside.update(block.arguments)
        inside.update(child.results)
    for child in modules.walk(op):
        found.update(dict.fromkeys(operand for operand in child.operands if operand not in inside))
    return list(found)


def _mark(values: Iterable[ir.Value], into: set[ir.Value]) -> None:
    into.update(v for v in values if differentiable(v))


def _vary(block: ir.Block, varied: set[ir.Value]) -> None:
    for op in block_ops(block)[0]:
        if op.name == LOOP:
            _vary_loop(op, varied)
        elif op.name in BRANCHES:
            for branch in blocks_of(op):
                _vary(branch, varied)
                returned = block_ops(branch)[1]
                _mark((r for r, v in zip(op.results, returned, strict=True) if v in varied), varied)
        elif op.name not in CONSTANT and any(operand in varied for operand in op.operands):
            _mark(op.results, varied)


def _vary_loop(op: ir.Operation, varied: set[ir.Value]) -> None:
    body = blocks_of(op)[1]
    returned = block_ops(body)[1]
    _mark((a for a, x in zip(body.arguments, op.operands, strict=True) if x in varied), varied)
    while True:
        _vary(body, varied)
        grown = [a for a, v in zip(body.arguments, returned, strict=True) if v in varied and a not in varied]
        if not grown:
            break
        _mark(grown, varied)
    _mark((r for r, a in zip(op.results, body.arguments, strict=True) if a in varied), varied)


def _use(block: ir.Block, useful: set[ir.Value]) -> None:
    for op in reversed(block_ops(block)[0]):
        if op.name == LOOP:
            _use_loop(op, useful)
        elif op.name in BRANCHES:
            for branch in blocks_of(op):
                returned: Sequence[ir.Value] = block_ops(branch)[1]
                _mark((v for r, v in zip(op.results, returned, strict=True) if r in useful), useful)
                _use(branch, useful)
        elif op.name not in CONSTANT and any(result in useful for result in op.results):
            _mark(op.operands, useful)


def _use_loop(op: ir.Operation, useful: set[ir.Value]) -> None:
    body = blocks_of(op)[1]
    returned = block_ops(body)[1]
    _mark((v for r, v in zip(op.results, returned, strict=True) if r in useful), useful)
    _mark((a for r, a in zip(op.results, body.arguments, strict=True) if r in useful), useful)
    while True:
        _use(body, useful)
        grown = [v for a, v in zip(body.arguments, returned, strict=True) if a in useful and v not in useful
                 and differentiable(v)]
        if not grown:
            break
        _mark(grown, useful)
    _mark((r for r, a in zip(op.results, body.arguments, strict=True) if a in useful), useful)
    _mark((x for x, a in zip(op.operands, body.arguments, strict=True) if a in useful), useful)
