"""Reductions. Equal largest (smallest) elements share the derivative of a maximum (minimum) evenly."""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Contribution, Tangents, derivative, plus, tangents_of, zeros
from reactant.differentiate.rules.bodies import IDENTITY, applied, body_of, chosen_extreme
from reactant.ir import ops
from reactant.ir.types import shape_of, size


def _kept(call: Call) -> list[int]:
    removed = call.attributes["dimensions"]
    return [d for d in range(len(shape_of(call.inputs[0]))) if d not in removed]


def _spread(call: Call, value: ir.Value) -> ir.Value:
    """A value of the result's shape at every element of the operand."""
    return ops.broadcast_in_dim(value, shape_of(call.inputs[0]), _kept(call))


def _kind(call: Call) -> str | None:
    """Which reduction of one array it is, where it starts from what changes nothing; a sum may start anywhere."""
    kind = (body_of(call.op) or chosen_extreme(call.op)) if len(call.inputs) == 2 else None
    if kind == "add":
        return kind
    start = None if kind is None or kind not in IDENTITY else ops.constant_value(call.inputs[1])
    return kind if start is not None and bool((start == IDENTITY[str(kind)]).all()) else None


def _reduce_forward(call: Call, tangents: Tangents) -> Tangents:
    kind = _kind(call)
    if kind is None:
        return tangents_of(call, tangents, _expanded)
    t, dimensions = tangents[0], call.attributes["dimensions"]
    if kind == "add":
        t0, found = tangents[1], None if t is None else ops.reduce(t, 0, dimensions, "add")
        return [plus(found, None if t0 is None else ops.broadcast_in_dim(t0, shape_of(call.op.results[0]), ()))]
    if kind == "multiply":
        return [ops.reduce(ops.multiply(_product_slopes(call), t), 0, dimensions, "add")]
    less, share = _extremes(call)
    return [ops.multiply(ops.reduce(ops.select(less, zeros(t), t), 0, dimensions, "add"), share)]


def _reduce_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution] | None:
    kind = _kind(call)
    if kind is None:
        return None
    if kind == "add":
        start = ops.reduce(g[0], 0, range(len(shape_of(g[0]))), "add") if wanted[1] else None
        return [_spread(call, g[0]) if wanted[0] else None, start]
    if kind == "multiply":
        return [ops.multiply(_product_slopes(call), _spread(call, g[0])), None]
    less, share = _extremes(call)
    return [ops.select(less, zeros(call.inputs[0]), _spread(call, ops.multiply(g[0], share))), None]


def _expanded(call: Call) -> list[ir.Value]:
    """Any reduction: from what changes nothing and then combined with the start, or pairs of neighbours combined until
    one element is left."""
    count, kept = len(call.inputs) // 2, _kept(call)
    arrays, starts = [call.operands[i] for i in range(count)], [call.operands[count + i] for i in range(count)]
    kind, shape, removed = body_of(call.op), shape_of(arrays[0]), list(call.attributes["dimensions"])
    result = [shape[d] for d in kept]
    starts = [ops.broadcast_in_dim(s, result, ()) for s in starts]
    if count == 1 and kind in IDENTITY:
        return applied(call, [starts[0], ops.reduce(arrays[0], IDENTITY[kind], removed, kind)])
    n, rank = size([shape[d] for d in removed]), len(kept)
    arrays = [ops.reshape(ops.transpose(x, [*kept, *removed]), (*result, n)) for x in arrays]
    if n == 0:
        return starts

    def part(x: ir.Value, start: int, limit: int, stride: int = 1) -> ir.Value:
        return ops.slice(x, [0] * rank + [start], [*result, limit], [1] * rank + [stride])

    while n > 1:
        even = n - n % 2
        combined = applied(call, [part(x, 0, even, 2) for x in arrays] + [part(x, 1, even, 2) for x in arrays])
        if n % 2:
            combined = [ops.concatenate([c, part(x, n - 1, n)], rank) for c, x in zip(combined, arrays, strict=True)]
        arrays, n = combined, n // 2 + n % 2
    return applied(call, [*starts, *(ops.reshape(x, result) for x in arrays)])


def _extremes(call: Call) -> tuple[ir.Value, ir.Value]:
    """Which elements are not extreme, and 1 / (number of those that are): NaN where NaN is the extreme."""
    (x, *_), y, kind = call.operands, call.results[0], body_of(call.op)
    less = ops.compare(x, _spread(call, y), "NE" if kind is None else "LT" if kind == "maximum" else "GT")
    count = ops.reduce(ops.select(less, zeros(x), ops.splat(1, x)), 0, call.attributes["dimensions"], "add")
    if kind is None:                                        # NaN loses; 0: all of them are NaN
        return less, ops.divide(ops.splat(1, y), ops.maximum(count, 1))
    return less, ops.select(ops.compare(y, y, "NE"), y, ops.divide(ops.splat(1, y), count))


def _product_slopes(call: Call) -> ir.Value:
    """The product of all other elements: of those before, times those after. Exact at zeros, in every order."""
    x, kept = call.operands[0], _kept(call)
    shape, removed = shape_of(x), list(call.attributes["dimensions"])
    rows, n = size([shape[d] for d in kept]), size([shape[d] for d in removed])
    order = [*kept, *removed]
    flat = ops.reshape(ops.transpose(x, order), (rows, n))
    slopes = ops.multiply(_products_beside(flat, True), _products_beside(flat, False))
    slopes = ops.reshape(slopes, [shape[d] for d in order])
    return ops.transpose(slopes, [order.index(d) for d in range(len(order))])


def _products_beside(x: ir.Value, before: bool) -> ir.Value:
    """Along the second dimension, the product of all earlier (later) elements."""
    rows, n = shape_of(x)
    if n == 0:
        return x
    low, high = ([0, 1], [0, 0]) if before else ([0, 0], [0, 1])
    moved = ops.pad(ops.slice(x, [0, 1 - low[1]], [rows, n - low[1]]), 1, low, high)
    return ops.reduce_window(moved, 1, "multiply", (1, n), padding=[(0, 0), (n - 1, 0) if before else (0, n - 1)])


derivative("reduce", _reduce_forward, _reduce_reverse)
