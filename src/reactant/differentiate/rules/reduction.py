"""Reductions. Equal largest (smallest) elements share the derivative of a maximum (minimum) evenly."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import Call, Contribution, Tangents, derivative, plus, zeros
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size


def body_of(op: ir.Operation) -> str | None:
    """The op that combines two elements, "second" for "the new one", or None for anything else."""
    block = op.regions[0].blocks[0]
    body, returned = block_ops(block)
    first, second = (list(block.arguments) + [None, None])[:2]
    if len(returned) != 1:
        return None
    if not body:
        return "second" if returned[0] == second else None
    if len(body) == 1 and returned[0] == body[0].result and set(body[0].operands) == {first, second}:
        return body[0].name.removeprefix("stablehlo.")
    return None


def _kept(call: Call) -> list[int]:
    removed = call.attributes["dimensions"]
    return [d for d in range(len(shape_of(call.inputs[0]))) if d not in removed]


def _spread(call: Call, value: ir.Value) -> ir.Value:
    """A value of the result's shape at every element of the operand."""
    return ops.broadcast_in_dim(value, shape_of(call.inputs[0]), _kept(call))


def _kind(call: Call) -> str:
    kind = body_of(call.op) if len(call.inputs) == 2 else None
    if kind not in ("add", "multiply", "maximum", "minimum"):
        raise call.refuse("only sums, products, maxima and minima of one array have a derivative.")
    return kind


def _reduce_forward(call: Call, tangents: Tangents) -> Tangents:
    kind, (t, t0) = _kind(call), tangents
    dimensions = call.attributes["dimensions"]
    if kind == "add":
        found = None if t is None else ops.reduce(t, 0, dimensions, "add")
        return [plus(found, None if t0 is None else ops.broadcast_in_dim(t0, shape_of(call.op.results[0]), ()))]
    if t0 is not None:
        raise call.refuse("the initial value of this reduction must be constant.")
    slopes = _product_slopes(call) if kind == "multiply" else _extreme_slopes(call)
    return [ops.reduce(ops.multiply(slopes, t), 0, dimensions, "add")]


def _reduce_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    kind = _kind(call)
    if kind == "add":
        start = ops.reduce(g[0], 0, range(len(shape_of(g[0]))), "add") if wanted[1] else None
        return [_spread(call, g[0]) if wanted[0] else None, start]
    if wanted[1]:
        raise call.refuse("the initial value of this reduction must be constant.")
    slopes = _product_slopes(call) if kind == "multiply" else _extreme_slopes(call)
    return [ops.multiply(slopes, _spread(call, g[0])), None]


def _extreme_slopes(call: Call) -> ir.Value:
    """1 / (number of extreme elements) at each of them, else 0."""
    x = call.operands[0]
    extreme = ops.compare(x, _spread(call, call.results[0]), "EQ")
    mask = ops.convert(extreme, dtype_of(x))
    return ops.divide(mask, _spread(call, ops.reduce(mask, 0, call.attributes["dimensions"], "add")))


def _product_slopes(call: Call) -> ir.Value:
    """The product of all other elements: of those before, times those after. Exact at zeros, in every order."""
    x, kept = call.operands[0], _kept(call)
    shape, removed = shape_of(x), list(call.attributes["dimensions"])
    rows, n = size([shape[d] for d in kept]), size([shape[d] for d in removed])
    order = [*kept, *removed]
    flat = ops.reshape(ops.transpose(x, order), (rows, n))
    before = _products_before(flat)
    after = ops.reverse(_products_before(ops.reverse(flat, [1])), [1])
    start = ops.broadcast_in_dim(call.operands[1], (rows, n), ())
    slopes = ops.reshape(ops.multiply(ops.multiply(before, after), start), [shape[d] for d in order])
    return ops.transpose(slopes, [order.index(d) for d in range(len(order))])


def _products_before(x: ir.Value) -> ir.Value:
    """Along the second dimension, the product of all earlier elements; in logarithmically many steps."""
    rows, n = shape_of(x)
    if n == 0:
        return x
    found = ops.pad(ops.slice(x, (0, 0), (rows, n - 1)), 1, (0, 1), (0, 0))
    distance = 1
    while distance < n:
        found = ops.multiply(found, ops.pad(ops.slice(found, (0, 0), (rows, n - distance)), 1, (0, distance), (0, 0)))
        distance *= 2
    return found


derivative("reduce", _reduce_forward, _reduce_reverse)


# ---- windows -------------------------------------------------------------------------------------------------------

def _window(call: Call) -> dict[str, Any]:
    if len(call.inputs) != 2 or body_of(call.op) != "add":
        raise call.refuse("of windows, only sums have a derivative, and products, maxima and minima of all "
                          "elements so far.")
    return _window_options(call)


def _window_options(call: Call) -> dict[str, Any]:
    given, rank = call.attributes, len(shape_of(call.inputs[0]))
    ones = (1,) * rank
    padding = given.get("padding")
    return {"window_dimensions": given["window_dimensions"], "window_strides": given.get("window_strides", ones),
            "base_dilations": given.get("base_dilations", ones),
            "window_dilations": given.get("window_dilations", ones),
            "padding": [(0, 0)] * rank if padding is None else [tuple(int(p) for p in row) for row in padding]}


IDENTITY = {"multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}


def _scan(call: Call) -> tuple[str, int, bool] | None:
    """(op, dimension, from the end) where the windows are all elements so far along one dimension."""
    kind = body_of(call.op) if len(call.inputs) == 2 else None
    start = ops.constant_value(call.inputs[1])
    if kind not in IDENTITY or start is None or not (start == IDENTITY[kind]).all():
        return None
    given, shape = _window_options(call), shape_of(call.inputs[0])
    window = given.pop("window_dimensions")
    padding = given.pop("padding")
    wide = [d for d, w in enumerate(window) if w != 1]
    if len(wide) != 1 or any(n != 1 for numbers in given.values() for n in numbers):
        return None
    d = wide[0]
    if window[d] < shape[d] or any(padding[e] != (0, 0) for e in range(len(shape)) if e != d):
        return None
    return {(window[d] - 1, 0): (kind, d, False), (0, window[d] - 1): (kind, d, True)}.get(padding[d])


def _scan_tangent(x: ir.Value, t: ir.Value, kind: str, dimension: int, from_end: bool) -> ir.Value:
    """The tangent of a cumulative product (maximum, minimum): twice as many elements at each step, results and
    tangents together. Of two equal elements each gets half."""
    shape, distance = shape_of(x), 1

    def moved(value: ir.Value, fill: float) -> ir.Value:
        start, limit, low, high = [0] * len(shape), list(shape), [0] * len(shape), [0] * len(shape)
        if from_end:
            start[dimension], high[dimension] = distance, distance
        else:
            limit[dimension], low[dimension] = shape[dimension] - distance, distance
        return ops.pad(ops.slice(value, start, limit), fill, low, high)

    while distance < shape[dimension]:
        y, s = moved(x, IDENTITY[kind]), moved(t, 0)
        if kind == "multiply":
            x, t = ops.multiply(x, y), ops.add(ops.multiply(t, y), ops.multiply(x, s))
        else:
            better = ops.compare(y, x, "GT" if kind == "maximum" else "LT")
            half = ops.multiply(ops.add(t, s), 0.5)
            t = ops.select(better, s, ops.select(ops.compare(y, x, "EQ"), half, t))
            x = ops.select(better, y, x)
        distance *= 2
    return t


def _window_forward(call: Call, tangents: Tangents) -> Tangents:
    if tangents[1] is not None:
        raise call.refuse("the initial value of a window must be constant.")
    if (scanned := _scan(call)) is not None:
        return [_scan_tangent(call.operands[0], tangents[0], *scanned)]
    window = _window(call)
    return [ops.reduce_window(tangents[0], 0, "add", **window)]


def _window_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution] | None:
    """The cotangent spread by the strides, summed by the same window, read at the operand's positions."""
    if wanted[1]:
        raise call.refuse("the initial value of a window must be constant.")
    if _scan(call) is not None:
        return None
    given = _window(call)
    old, new = shape_of(call.inputs[0]), shape_of(g[0])
    if not all(new) or not all(old):
        return [zeros(call.inputs[0]), None]
    low, high, crop = [], [], []
    for d, extent in enumerate(old):
        reach = (given["window_dimensions"][d] - 1) * given["window_dilations"][d]
        before = given["padding"][d][0]
        length = (new[d] - 1) * given["window_strides"][d] + 1
        last = (extent - 1) * given["base_dilations"][d] + max(before, 0) + 1      # positions that have to exist
        low.append(reach + max(-before, 0))
        high.append(max(0, last - length))
        crop.append((max(before, 0), max(before, 0) + (extent - 1) * given["base_dilations"][d] + 1))
    spread = ops.pad(g[0], 0, low, high, [s - 1 for s in given["window_strides"]])
    summed = ops.reduce_window(spread, 0, "add", given["window_dimensions"], window_dilations=given["window_dilations"])
    return [ops.slice(summed, [a for a, _ in crop], [b for _, b in crop], given["base_dilations"]), None]


derivative("reduce_window", _window_forward, _window_reverse)
