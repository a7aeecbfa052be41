"""Moving windows. A sum is linear; cumulative products and extremes carry their tangents along; anything else is made
of slices, combined in the order of the window. Of two equal extremes each gets half, of more the halves of halves.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Contribution, Tangents, derivative, plus, tangents_of, zeros
from reactant.differentiate.rules.bodies import IDENTITY, applied, body_of, body_of_region
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

Combine = Callable[[list[ir.Value], list[ir.Value]], list[ir.Value]]
"""Two lists of arrays, of earlier and later elements, to one."""

STRAIGHT = 8
"""Windows up to this many elements are put together one by one, longer ones by doubling."""


def window_options(call: Call) -> dict[str, Any]:
    given, rank = call.attributes, len(shape_of(call.inputs[0]))
    ones = (1,) * rank
    padding = given.get("padding")
    return {"window_dimensions": given["window_dimensions"], "window_strides": given.get("window_strides", ones),
            "base_dilations": given.get("base_dilations", ones),
            "window_dilations": given.get("window_dilations", ones),
            "padding": [(0, 0)] * rank if padding is None else [tuple(int(p) for p in row) for row in padding]}


def _scan(call: Call) -> tuple[str, int, bool] | None:
    """(op, dimension, from the end) where the windows are all elements so far along one dimension."""
    kind = body_of(call.op) if len(call.inputs) == 2 else None
    start = ops.constant_value(call.inputs[1])
    if kind not in ("multiply", "maximum", "minimum") or start is None or not (start == IDENTITY[kind]).all():
        return None
    given, shape = window_options(call), shape_of(call.inputs[0])
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


# ---- any body ------------------------------------------------------------------------------------------------------

def windows(arrays: Sequence[ir.Value], fills: Sequence[Any], options: dict[str, Any], combine: Combine
            ) -> list[ir.Value] | None:
    """What `combine` makes of all elements of each window, in order; None where there is no window. Elements of the
    padding are `fills`."""
    interior = [d - 1 for d in options["base_dilations"]]
    low, high = ([pair[end] for pair in options["padding"]] for end in (0, 1))
    found = [ops.pad(x, fill, low, high, interior) for x, fill in zip(arrays, fills, strict=True)]
    for d, count in enumerate(options["window_dimensions"]):
        step, stride = options["window_dilations"][d], options["window_strides"][d]
        if shape_of(found[0])[d] < (count - 1) * step + 1:
            return None
        if count > 1 or stride > 1:
            found = _along(found, d, count, step, stride, combine)
    return found


def _part(x: ir.Value, dimension: int, start: int, count: int, stride: int = 1) -> ir.Value:
    shape = shape_of(x)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[dimension], limits[dimension], strides[dimension] = start, start + (count - 1) * stride + 1, stride
    return ops.slice(x, starts, limits, strides)


def _along(arrays: list[ir.Value], d: int, count: int, step: int, stride: int, combine: Combine) -> list[ir.Value]:
    """Windows of `count` elements, `step` apart, at every `stride`-th place of dimension `d`."""
    places = shape_of(arrays[0])[d] - (count - 1) * step
    rows = (places - 1) // stride + 1
    if count <= STRAIGHT:
        parts = [[_part(x, d, k * step, rows, stride) for x in arrays] for k in range(count)]
        while len(parts) > 1:
            paired = [combine(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = paired + parts[2 * len(paired):]
        return parts[0]
    found: list[ir.Value] | None = None
    done, width = 0, 1                   # elements in `found`, and in each of `arrays`
    while True:
        if count & width:
            here = [_part(x, d, done * step, places) for x in arrays]
            found = here if found is None else combine(found, here)
            done += width
        if done == count:
            return [_part(x, d, 0, rows, stride) for x in found or ()]
        shorter = shape_of(arrays[0])[d] - width * step
        arrays = combine([_part(x, d, 0, shorter) for x in arrays],
                         [_part(x, d, width * step, shorter) for x in arrays])
        width *= 2


def _expanded(call: Call) -> list[ir.Value]:
    count = len(call.inputs) // 2
    arrays, starts = [call.operands[i] for i in range(count)], [call.operands[count + i] for i in range(count)]
    shape = shape_of(call.op.results[0])
    spread = [ops.broadcast_in_dim(s, shape, ()) for s in starts]
    found = windows(arrays, starts, window_options(call), lambda a, b: applied(call, [*a, *b])) \
        if all(shape) else None
    if found is None:
        return spread
    known = ops.constant_value(call.inputs[count]) if count == 1 else None
    if known is not None and bool((known == IDENTITY.get(body_of(call.op) or "")).all()):
        return found
    return applied(call, [*spread, *found])


def _is_sum(call: Call) -> bool:
    return len(call.inputs) == 2 and body_of(call.op) == "add"


def _window_forward(call: Call, tangents: Tangents) -> Tangents:
    if _is_sum(call) and tangents[1] is None:
        return [ops.reduce_window(tangents[0], 0, "add", **window_options(call))]
    scanned = None if tangents[1] is not None else _scan(call)
    if scanned is not None:
        return [_scan_tangent(call.operands[0], tangents[0], *scanned)]
    return tangents_of(call, tangents, _expanded)


def _window_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution] | None:
    """The cotangent spread by the strides, summed by the same window, read at the operand's positions."""
    if not _is_sum(call) or wanted[1]:
        return None
    given = window_options(call)
    old, new = shape_of(call.inputs[0]), shape_of(g[0])
    if not all(new) or not all(old):
        return [zeros(call.inputs[0]), None]
    low, high, crop, padding = [], [], [], []
    for d, extent in enumerate(old):
        reach = (given["window_dimensions"][d] - 1) * given["window_dilations"][d]
        before = given["padding"][d][0]
        length = (new[d] - 1) * given["window_strides"][d] + 1
        last = (extent - 1) * given["base_dilations"][d] + max(before, 0) + 1      # positions that have to exist
        low.append(reach + max(-before, 0))
        high.append(max(0, last - length))
        crop.append((max(before, 0), max(before, 0) + (extent - 1) * given["base_dilations"][d] + 1))
        padding.append((low[-1] - crop[-1][0], crop[-1][1] + reach - low[-1] - length))
    if {*given["window_strides"], *given["base_dilations"]} == {1} and min(map(min, padding)) >= 0:
        return [ops.reduce_window(g[0], 0, "add", given["window_dimensions"], padding=padding,
                                  window_dilations=given["window_dilations"]), None]
    spread = ops.pad(g[0], 0, low, high, [s - 1 for s in given["window_strides"]])
    summed = ops.reduce_window(spread, 0, "add", given["window_dimensions"], window_dilations=given["window_dilations"])
    return [ops.slice(summed, [a for a, _ in crop], [b for _, b in crop], given["base_dilations"]), None]


derivative("reduce_window", _window_forward, _window_reverse)


# ---- select_and_scatter ----------------------------------------------------------------------------------------------

def _chosen(call: Call, values: ir.Value) -> ir.Value:
    """The element of `values` at the place that each window selects in the operand. Padding is never selected."""
    x = call.operands[0]
    present = ops.constant(True, bool, shape_of(x))

    def combine(a: list[ir.Value], b: list[ir.Value]) -> list[ir.Value]:
        first = ops.and_(a[0], ops.or_(ops.not_(b[0]), applied(call, [a[1], b[1]])[0]))
        return [ops.or_(a[0], b[0]), ops.select(first, a[1], b[1]), ops.select(first, a[2], b[2])]

    options = {**window_options(call), "base_dilations": (1,) * len(shape_of(x)),
               "window_dilations": (1,) * len(shape_of(x))}
    found = windows([present, x, values], [False, 0, 0], options, combine)
    return zeros(call.inputs[1]) if found is None else found[2]


def _selected_again(call: Call, t: ir.Value) -> ir.Value:
    return call.again([call.operands[0], t, ops.constant(0, dtype_of(t))])[0]


def _check_scatters_by_adding(call: Call) -> None:
    if body_of_region(call.op, 1) != "add":
        raise call.refuse("only one that adds has a derivative.")


def _select_forward(call: Call, tangents: Tangents) -> Tangents:
    """Which element is selected does not change, almost everywhere."""
    _check_scatters_by_adding(call)
    found = None if tangents[1] is None else _selected_again(call, tangents[1])
    start = None if tangents[2] is None else ops.broadcast_in_dim(tangents[2], shape_of(call.op.results[0]), ())
    return [plus(found, start)]


def _select_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    _check_scatters_by_adding(call)
    return [None, _chosen(call, g[0]) if wanted[1] else None,
            ops.reduce(g[0], 0, range(len(shape_of(g[0]))), "add") if wanted[2] else None]


derivative("select_and_scatter", _select_forward, _select_reverse)
