"""Reads of a tensor at planned places: slices first, then what needs index arithmetic; regular parts of tensors."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.kernels.lockstep.accesses import (
    Pieces,
    Place,
    Scattered,
    Term,
    Window,
)
from reactant.kernels.lockstep.data import Axis, Domain, Form, Lanes
from reactant.kernels.lockstep.forms import axes_of
from reactant.kernels.lockstep.lanes import broadcast, form_lanes, laid_over, live

INDEX = np.dtype(np.int64)

Bounds = tuple[tuple[int, int, int], ...]
"""(start, stride, count) in each dimension."""


def read(whole: ir.Value, forms: Sequence[Form], places: Sequence[Place], domain: Domain, fill: object = 0) -> Lanes:
    """The places of a tensor, one dimension after the other: slices first, then what needs index arithmetic. Beyond its
    ends windows and pieces find `fill`."""
    windows: list[Window | None] = [p if isinstance(p, Window) else None for p in places]
    labels: list[Axis | int] = []
    value = _sliced(whole, windows, domain, fill)
    shape: list[int] = []
    for d, place in enumerate(places):
        if isinstance(place, Window):
            value = unfolded(value, len(labels), place.terms)
            labels += [t.axis for t in place.terms]
        else:
            labels.append(d)
    for d, place in enumerate(places):
        if isinstance(place, Pieces):
            k = labels.index(d)
            value, shape = _in_pieces(value, k, place, fill), list(shape_of(value))
            value = ops.reshape(value, [*shape[:k], *(domain[a].count for a in place.axes), *shape[k + 1:]])
            labels[k:k + 1] = place.axes
    numbers = [d for d, place in enumerate(places) if isinstance(place, Scattered)]
    if numbers:
        indices = {labels.index(d): forms[d] for d in numbers}
        value, labels = _gathered(value, labels, indices, domain)
    shape = list(shape_of(value))
    assert all(isinstance(a, Axis) and domain[a].count == n for a, n in zip(labels, shape, strict=True))
    return laid_over(value, [a for a in labels if isinstance(a, Axis)], domain)


def _sliced(whole: ir.Value, windows: Sequence[Window | None], domain: Domain, fill: object) -> ir.Value:
    """Cut each dimension to its window (None: leave it), as long as `_unfolded` needs it; beyond the ends is `fill`."""
    extents = shape_of(whole)
    low, high, starts, limits, strides = [], [], [], [], []
    dynamic: list[Form | None] = []
    for window, extent in zip(windows, extents, strict=True):
        if window is None:
            window = Window(0, (Term(Axis("", extent, ()), 1, extent, False),))
        bounds, length = window.starts(domain), _length(window)
        if bounds is None:
            bounds = 0, extent - length             # a single place: the program clamps it
        low.append(max(0, -bounds[0]))
        high.append(max(0, bounds[1] + length - extent))
        starts.append(window.start)
        limits.append(window.start + length)
        strides.append(window.stride if window.regular else 1)
        dynamic.append(window.dynamic)
    value = ops.pad(whole, fill, low, high) if any(low) or any(high) else whole
    starts = [s + a for s, a in zip(starts, low, strict=True)]
    limits = [e + a for e, a in zip(limits, low, strict=True)]
    if all(d is None for d in dynamic):
        return ops.slice(value, starts, limits, strides)
    at = [start_of(d, s, domain) for d, s in zip(dynamic, starts, strict=True)]
    value = ops.dynamic_slice(value, at, [e - s for s, e in zip(starts, limits, strict=True)])
    return ops.slice(value, [0] * len(at), shape_of(value), strides)


def start_of(dynamic: Form | None, start: int, domain: Domain) -> ir.Value:
    if dynamic is None:
        return ops.constant(start, INDEX)
    return form_lanes(dynamic.plus(start), INDEX, domain).value


def _length(window: Window) -> int:
    """How much of a dimension `_unfolded` takes."""
    if window.regular:
        return window.width
    return window.terms[0].stride * window.terms[0].count


def unfolded(value: ir.Value, at: int, terms: Sequence[Term]) -> ir.Value:
    """Dimension `at`, cut to its window, as one dimension for each term."""
    shape = list(shape_of(value))
    if not terms:
        return ops.reshape(value, shape[:at] + shape[at + 1:])
    regular = Window(0, tuple(terms)).regular
    if len(terms) > 1 and regular:
        value = ops.reshape(value, [*shape[:at], *(t.count for t in terms), *shape[at + 1:]])
    elif len(terms) > 1:
        for k, (outer, inner) in enumerate(pairwise(terms)):
            shape = list(shape_of(value))
            last = k == len(terms) - 2
            value = ops.reshape(value, [*shape[:at + k], outer.count, outer.stride, *shape[at + k + 1:]])
            shape = list(shape_of(value))
            d = at + k + 1
            reach = (inner.count - 1) * inner.stride + 1 if last else inner.count * inner.stride
            if reach > shape[d]:
                value = ops.pad(value, 0, [0] * len(shape), [reach - shape[d] if i == d else 0
                                                             for i in range(len(shape))])
                shape[d] = reach
            strides = [inner.stride if last and i == d else 1 for i in range(len(shape))]
            value = ops.slice(value, [0] * len(shape), [reach if i == d else n for i, n in enumerate(shape)], strides)
    return ops.reverse(value, [at + k for k, t in enumerate(terms) if t.flipped])


def _in_pieces(value: ir.Value, at: int, place: Pieces, fill: object) -> ir.Value:
    """Dimension `at` read at a few progressions."""
    shape = shape_of(value)
    parts = []
    for first, step, count in place.runs:
        if first < 0:
            filled = tuple(count if d == at else n for d, n in enumerate(shape))
            parts.append(ops.constant(fill, dtype_of(value), filled))
            continue
        low, high = min(first, first + step * (count - 1)), max(first, first + step * (count - 1))
        bounds = [(low, high + 1, max(1, abs(step))) if d == at else (0, n, 1) for d, n in enumerate(shape)]
        part = ops.slice(value, *zip(*bounds, strict=True))
        if step == 0 and count > 1:
            part = ops.broadcast_in_dim(part, [count if d == at else n for d, n in enumerate(shape)],
                                        range(len(shape)))
        parts.append(ops.reverse(part, [at] if step < 0 else []))
    return ops.concatenate(parts, at)


def index_vectors(forms: Sequence[Form], axes: Sequence[Axis], domain: Domain) -> ir.Value:
    """Index vectors over `axes`: one component a form, in the last dimension."""
    shape = [domain[a].count for a in axes]
    parts = [ops.reshape(broadcast(form_lanes(f, INDEX, domain), axes, domain), [*shape, 1]) for f in forms]
    return ops.concatenate(parts, len(axes))


def _gathered(value: ir.Value, labels: list[Axis | int], indices: dict[int, Form],
              domain: Domain) -> tuple[ir.Value, list[Axis | int]]:
    """Read at index vectors; dimensions of the tensor not in `indices` are read whole."""
    axes = live((a for f in indices.values() for a in axes_of(f)), domain)
    operand = list(indices)
    windows = [k for k in range(len(labels)) if k not in indices]
    sizes = [1 if k in indices else n for k, n in enumerate(shape_of(value))]
    table = index_vectors([indices[k] for k in operand], axes, domain)
    result = ops.gather(value, table, offset_dims=range(len(axes), len(axes) + len(windows)),
                        collapsed_slice_dims=sorted(operand), start_index_map=operand, index_vector_dim=len(axes),
                        slice_sizes=sizes)
    return result, [*axes, *(labels[k] for k in windows)]


# ---- regular parts -------------------------------------------------------------------------------------------------

def bounds_of_places(places: Sequence[Place]) -> Bounds | None:
    """(start, stride, count) of each dimension, where all are known and regular."""
    found = []
    for p in places:
        if not isinstance(p, Window) or p.dynamic is not None:
            return None
        if not p.regular:
            return None
        found.append((p.start, p.stride, p.count))
    return tuple(found)


def as_one_dimension(bounds: Bounds, shape: Sequence[int], lead: int) -> Bounds | None:
    """The same places with the dimensions from `lead` on as one, where they are one progression then."""
    start, stride, count = 0, 0, 1
    for (a, s, n), extent in zip(bounds[lead:], shape[lead:], strict=True):
        start, stride = start * extent + a, stride * extent
        if n > 1:
            if count > 1 and stride != s * n:
                return None
            stride, count = s, count * n
    return (*bounds[:lead], (start, stride or 1, count))


def located(inner: Bounds, outer: Bounds) -> Bounds | None:
    """Places counted in those of `outer`, where all are among them."""
    found = []
    for (a, s, n), (b, t, m) in zip(inner, outer, strict=True):
        if (a - b) % t or (n > 1 and s % t) or a < b or a + (n - 1) * s > b + (m - 1) * t:
            return None
        found.append(((a - b) // t, max(1, s // t), n))
    return tuple(found)


def disjoint(x: Bounds, y: Bounds) -> bool:
    """Whether two regular sets of places surely have none in common."""
    for (a, s, n), (b, t, m) in zip(x, y, strict=True):
        unit = gcd(s if n > 1 else 0, t if m > 1 else 0)
        if a + (n - 1) * s < b or b + (m - 1) * t < a or ((a - b) % unit if unit else a != b):
            return True
    return False


def cut(value: ir.Value, bounds: Bounds) -> ir.Value:
    return ops.slice(value, [s for s, _, _ in bounds], [s + (n - 1) * t + 1 for s, t, n in bounds],
                     [t for _, t, _ in bounds])


def of_part(value: ir.Value, windows: Sequence[Window], domain: Domain) -> Lanes:
    """A tensor with one dimension a window as lanes."""
    axes: list[Axis] = []
    for w in windows:
        value = unfolded(value, len(axes), w.terms)
        axes += [t.axis for t in w.terms]
    return laid_over(value, axes, domain)


def window_of_axis(axis: Axis, domain: Domain) -> Window:
    span = domain[axis]
    terms = (Term(axis, span.step, span.count, False),) if span.count > 1 else ()
    return Window(span.low, terms)
