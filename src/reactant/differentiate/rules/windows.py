"""Moving windows. A sum is linear; what is cumulative carries its tangents along, from element to element; anything
else is made of slices, combined in the order of the window. Of two equal extremes each gets half, of more the halves of
halves.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import (
    Call,
    Contribution,
    Tangents,
    derivative,
    is_transposing,
    plus,
    tangents_of,
    zeros,
)
from reactant.differentiate.facts.masks import settled_apart
from reactant.differentiate.rules.bodies import IDENTITY, applied, body_of, body_of_region, evaluated_body
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.support.records import dataclass

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


@dataclass(frozen=True)
class _Scan:
    """Windows of all elements so far along one dimension: y[t] = f(y[t - 1], x[t]), or from the end."""

    dimension: int
    from_end: bool
    start: Any


def _scan_of(call: Call) -> _Scan | None:
    """How a call scans, if it does: over one array, along one dimension, from what changes nothing."""
    start = ops.constant_value(call.inputs[1]) if len(call.inputs) == 2 else None
    if start is None or not _changes_nothing(call, start):
        return None
    given, shape = window_options(call), shape_of(call.inputs[0])
    window, padding = given.pop("window_dimensions"), given.pop("padding")
    wide = [d for d, w in enumerate(window) if w != 1]
    if len(wide) != 1 or any(n != 1 for numbers in given.values() for n in numbers) or not all(shape):
        return None
    d = wide[0]
    if window[d] < shape[d] or any(pair != (0, 0) for e, pair in enumerate(padding) if e != d):
        return None
    ends = {(window[d] - 1, 0): False, (0, window[d] - 1): True}
    return _Scan(d, ends[padding[d]], start) if padding[d] in ends else None


def _changes_nothing(call: Call, start: Any) -> bool:
    """Whether padding with `start` leaves windows as they are. Bodies that are no single op are asked whether they do
    so to `start` itself."""
    kind = body_of(call.op)
    if kind in IDENTITY:
        return bool(start == IDENTITY[kind])
    return kind is None and np.isinf(start).all() and evaluated_body(call, [start, start]) == start


def _steps(call: Call, scan: _Scan) -> tuple[ir.Value, ir.Value]:
    """The partials of f in y[t - 1] and in x[t], for all t."""
    x, d = call.operands[0], scan.dimension
    before = _shifted(call.results[0], d, not scan.from_end, scan.start)
    pair = [x, before] if scan.from_end else [before, x]
    step = Call(call.op, pair, [])

    def partial(number: int) -> ir.Value:
        ones: list[ir.Value | None] = [None, None]
        ones[number] = ops.splat(1, x)
        found = tangents_of(step, ones, lambda inner: applied(inner, inner.operands))[0]
        return zeros(x) if found is None else found

    return partial(int(scan.from_end)), partial(int(not scan.from_end))


def _shifted(x: ir.Value, d: int, up: bool, fill: Any) -> ir.Value:
    """`x` moved by one along a dimension, towards its end if `up`."""
    shape = shape_of(x)
    low, high = [0] * len(shape), [0] * len(shape)
    (low if up else high)[d] = 1
    return ops.pad(_part(x, d, 0 if up else 1, shape[d] - 1), fill, low, high)


def _recurrence(a: ir.Value, b: ir.Value, d: int, from_end: bool) -> ir.Value:
    """s[t] = a[t] s[t - 1] + b[t] along a dimension, beginning (at the end) with b. A loop, which is what native code,
    and whatever makes doublings of it, read."""
    shape = shape_of(b)
    n, row = shape[d], [1 if e == d else extent for e, extent in enumerate(shape)]
    if n <= 1:
        return b
    first = n - 1 if from_end else 0

    def place(i: ir.Value) -> list[ir.Value]:
        at = ops.subtract(n - 1, i) if from_end else i
        return [at if e == d else ops.constant(0, np.int32) for e in range(len(shape))]

    def iteration(i: ir.Value, s: ir.Value, found: ir.Value) -> list[ir.Value]:
        at = place(i)
        s = ops.add(ops.multiply(ops.dynamic_slice(a, at, row), s), ops.dynamic_slice(b, at, row))
        return [ops.add(i, 1), s, ops.dynamic_update_slice(found, s, at)]

    return ops.while_([ops.constant(1, np.int32), _part(b, d, first, 1), b],
                      lambda i, *_: ops.compare(i, n, "LT"), iteration)[2]


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
    scan = None if tangents[1] is not None or is_transposing() else _scan_of(call)
    if scan is None:
        return tangents_of(call, tangents, _expanded)
    carried, entered = _steps(call, scan)
    return [_recurrence(carried, ops.multiply(entered, tangents[0]), scan.dimension, scan.from_end)]


def _window_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution] | None:
    """The cotangent spread by the strides, summed by the same window, read at the operand's positions."""
    if wanted[1]:
        return None
    if not _is_sum(call):
        return _scan_reverse(call, g[0])
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


def _scan_reverse(call: Call, g: ir.Value) -> list[Contribution] | None:
    """The cotangent of y[t] goes on to y[t - 1] and to x[t]."""
    scan = _scan_of(call)
    if scan is None:
        return None
    carried, entered = _steps(call, scan)
    arriving = _recurrence(_shifted(carried, scan.dimension, scan.from_end, 0), g, scan.dimension, not scan.from_end)
    others = [d for d in range(len(shape_of(g))) if d != scan.dimension]
    return [settled_apart(g, ops.multiply(entered, arriving), others), None]


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
