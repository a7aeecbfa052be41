"""Which values carry a derivative: those that vary with the active arguments and matter to the active results.

Everything else is constant: no tangent, no adjoint, no operation is made for it. The analysis covers the whole
function, branches and loop bodies included; what loops carry is a fixed point.

Integers are constants, with one exception: the bits of a varied float that become a float again carry its derivative.
No rule can follow them, so they are active: the `bitcast_convert` on the way raises instead of losing a derivative.
"""
from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from jaxlib.mlir import ir

from reactant.differentiate.declare import CONSTANT, differentiable
from reactant.differentiate.requests import STOP, target_of
from reactant.ir import ops
from reactant.ir.types import dtype_of

BRANCHES = ("stablehlo.if", "stablehlo.case")
LOOP = "stablehlo.while"
REINTERPRETED = "stablehlo.bitcast_convert"


def block_ops(block: ir.Block) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops of a block without its terminator, and what it returns."""
    *body, terminator = [op.operation for op in block.operations]
    return body, list(terminator.operands)


def blocks_of(op: ir.Operation) -> list[ir.Block]:
    return [region.blocks[0] for region in op.regions]


_ADDITIVE = {f"stablehlo.{n}" for n in ("add", "subtract", "negate", "convert", "complex", "real", "imag",
                                         "reduce_precision", "select")}
_BILINEAR = {f"stablehlo.{n}" for n in ("multiply", "dot_general", "convolution")}


def is_bent(op: ir.Operation, varied: Container[ir.Value]) -> bool:
    """Whether an op is not linear in the operands that vary, as far as can be told from it alone."""
    which = [x in varied for x in op.operands]
    if op.name in _BILINEAR:
        return all(which)
    if op.name == "stablehlo.divide":
        return which[1]
    return op.name in ops.ELEMENTWISE - _ADDITIVE and any(which)


def active_values(block: ir.Block, arguments: Iterable[ir.Value], results: Iterable[ir.Value]) -> set[ir.Value]:
    """The active values of a function body, those in its regions included."""
    varied = {a for a in arguments if differentiable(a)}
    _vary(block, varied)
    useful = {r for r in results if differentiable(r)}
    _use(block, useful)
    return varied & useful


def _has_bits(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and dtype_of(value).kind in "iu"


def _reached(op: ir.Operation, read: Sequence[ir.Value], written: Sequence[ir.Value],
             marked: set[ir.Value]) -> Iterator[ir.Value]:
    """Which of `written` an op makes of the marked values among `read` (or the other way round)."""
    found = [v for v in read if v in marked]
    if found:
        through = op.name == REINTERPRETED
        floats = op.name not in CONSTANT and target_of(op) != STOP and any(differentiable(v) for v in found)
        bits = any(_has_bits(v) for v in found)
        for value in written:
            if (differentiable(value) and (floats or through)) or (_has_bits(value) and (bits or through)):
                yield value


def _vary(block: ir.Block, varied: set[ir.Value]) -> None:
    for op in block_ops(block)[0]:
        if op.name == LOOP:
            _vary_loop(op, varied)
        elif op.name in BRANCHES:
            for branch in blocks_of(op):
                _vary(branch, varied)
                returned = block_ops(branch)[1]
                varied.update(r for r, v in zip(op.results, returned, strict=True) if v in varied)
        else:
            varied.update(_reached(op, list(op.operands), list(op.results), varied))


def _vary_loop(op: ir.Operation, varied: set[ir.Value]) -> None:
    body = blocks_of(op)[1]
    returned = block_ops(body)[1]
    varied.update(a for a, x in zip(body.arguments, op.operands, strict=True) if x in varied)
    while True:
        _vary(body, varied)
        grown = [a for a, v in zip(body.arguments, returned, strict=True) if v in varied and a not in varied]
        if not grown:
            break
        varied.update(grown)
    varied.update(r for r, a in zip(op.results, body.arguments, strict=True) if a in varied)


def _use(block: ir.Block, useful: set[ir.Value]) -> None:
    for op in reversed(block_ops(block)[0]):
        if op.name == LOOP:
            _use_loop(op, useful)
        elif op.name in BRANCHES:
            for branch in blocks_of(op):
                returned: Sequence[ir.Value] = block_ops(branch)[1]
                useful.update(v for r, v in zip(op.results, returned, strict=True) if r in useful)
                _use(branch, useful)
        else:
            useful.update(_reached(op, list(op.results), list(op.operands), useful))


def _use_loop(op: ir.Operation, useful: set[ir.Value]) -> None:
    body = blocks_of(op)[1]
    returned = block_ops(body)[1]
    useful.update(v for r, v in zip(op.results, returned, strict=True) if r in useful)
    useful.update(a for r, a in zip(op.results, body.arguments, strict=True) if r in useful)
    while True:
        _use(body, useful)
        grown = [v for a, v in zip(body.arguments, returned, strict=True) if a in useful and v not in useful]
        if not grown:
            break
        useful.update(grown)
    useful.update(r for r, a in zip(op.results, body.arguments, strict=True) if a in useful)
    useful.update(x for x, a in zip(op.operands, body.arguments, strict=True) if a in useful)
