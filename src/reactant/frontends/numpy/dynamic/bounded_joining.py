"""Joining arrays of run-time size: concatenate and relatives, differences with ends, isin, bincount, histogram, cov."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Extent,
    Mask,
    Number,
    Range,
    aligned,
    as_number,
    is_partial,
    plus,
)
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import compact, on_bounded, require_vector
from reactant.frontends.numpy.special import ends_of_steps
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape

# ---- joining ---------------------------------------------------------------------------------------------------

def _parts(arrays: object) -> list[Any]:
    if is_partial(arrays):
        raise UnsupportedError("Joining the rows of an array of run-time size is not supported in compiled code.",
                               hint=ADVICE, code="array-of-run-time-size")
    return [a if is_partial(a) else wrap(a) for a in arrays]       # type: ignore[attr-defined]


@on_bounded(np.concatenate, *((np.concat,) if hasattr(np, "concat") else ()))
def concatenate(arrays: object, /, axis: int | None = 0, out: Any = None, *, dtype: object = None,
                casting: str = "same_kind") -> Any:
    parts = _parts(arrays)
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if any(not p.ndim for p in parts) or len({p.ndim for p in parts}) != 1:
        raise ValueError("all the input arrays must have the same number of dimensions, at least one")
    along = axis_in(axis, parts[0].ndim)
    parts = _with_common_extents(parts, along)
    frames = [p.frame for p in parts]
    own = [p.extents[along] for p in parts]
    joined = np.concatenate(frames, axis=along, dtype=dtype, casting=casting)
    extents = list(parts[0].extents)
    if any(own) and not any(isinstance(extent, Mask) for extent in own):
        joined, extents[along] = _one_behind_the_other(parts, along, joined.shape, joined.dtype)
    else:
        extents[along] = _joined_extent(own, [f.shape[along] for f in frames])
    result = Bounded(joined, extents)
    if out is None:
        return result
    out[...] = result
    return out


def _with_common_extents(parts: list[Any], along: int) -> list[Any]:
    """The parts with one extent in every dimension but `along`: that of the first that has one there."""
    rank = parts[0].ndim
    extents: list[Extent | None] = [None] * rank
    shape = [p.frame.shape if is_partial(p) else p.shape for p in parts]
    sizes = list(shape[0])
    for d in range(rank):
        for p, s in zip(parts, shape, strict=True):
            if d != along and extents[d] is None and is_partial(p) and p.extents[d] is not None:
                extents[d], sizes[d] = p.extents[d], s[d]
    moved = []
    for p, s in zip(parts, shape, strict=True):
        own = list(p.extents) if is_partial(p) else [None] * rank
        wanted = [own[d] if d == along else extents[d] for d in range(rank)]
        target = [s[d] if d == along else sizes[d] for d in range(rank)]
        if any(d != along and s[d] == 1 != target[d] for d in range(rank)):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        moved.append(Bounded(Tensor.of_value(aligned(p, wanted, target)), wanted))
    return moved


def _one_behind_the_other(parts: Sequence[Bounded], along: int, shape: Shape, dtype: np.dtype) -> tuple[Tensor, Range]:
    """Ranges: each part is written where the one before it ends, over what does not count of that."""
    end: Number = 0
    joined = ops.constant(0, dtype, shape)
    for p in parts:
        extents = [Range(0, p.length(d)) if d == along else extent for d, extent in enumerate(p.extents)]
        starts = [ops.constant(0, np.int64)] * len(shape)
        starts[along] = as_number(end)
        value = ops.convert(aligned(p, extents, p.frame.shape), dtype)
        joined = ops.dynamic_update_slice(joined, value, starts)
        end = plus(end, p.length(along))
    return Tensor.of_value(joined), Range(0, end)


def _joined_extent(extents: Sequence[Extent | None], sizes: Sequence[int]) -> Extent | None:
    if all(e is None for e in extents):
        return None
    masks = []
    for e, n in zip(extents, sizes, strict=True):
        inside = None if e is None else e.valid(n)
        masks.append(ops.constant(True, bool, (n,)) if inside is None else inside)
    return Mask(ops.concatenate(masks, 0))


@on_bounded(np.stack)
def stack(arrays: object, axis: int = 0, out: Any = None, *, dtype: object = None, casting: str = "same_kind") -> Any:
    parts = _parts(arrays)
    if len({p.ndim for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    at = axis_in(axis, parts[0].ndim + 1)
    key = (*(slice(None),) * at, None)
    return concatenate([p[key] for p in parts], at, out, dtype=dtype, casting=casting)


def _rows(p: Any) -> Any:
    return p[None, :] if p.ndim == 1 else p


@on_bounded(np.vstack)
def vstack(tup: object, *, dtype: object = None, casting: str = "same_kind") -> Any:
    return concatenate([_rows(p) for p in _parts(tup)], 0, dtype=dtype, casting=casting)


@on_bounded(np.hstack)
def hstack(tup: object, *, dtype: object = None, casting: str = "same_kind") -> Any:
    parts = _parts(tup)
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@on_bounded(np.column_stack)
def column_stack(tup: object) -> Any:
    return concatenate([p[:, None] if p.ndim == 1 else p for p in _parts(tup)], 1)


@on_bounded(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        arr, values = (np.ravel(p if is_partial(p) else wrap(p)) for p in (arr, values))
        axis = 0
    return concatenate([arr, values], axis)


@on_bounded(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the element, or part, at a known position."""
    if type(obj) is not int:
        raise UnsupportedError("numpy.delete of an array of run-time size takes one known position.", hint=ADVICE,
                               code="array-of-run-time-size")
    a, along = (np.ravel(arr), 0) if axis is None else (arr, axis_in(axis, arr.ndim))
    before = (slice(None),) * along
    a[(*before, obj)]       # which has to be there
    rest = [a[(*before, slice(obj + 1, None))]] if obj != -1 else []
    return concatenate([a[(*before, slice(obj))], *rest], along)


@on_bounded(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With values before a known position, counted from the start, of a vector."""
    a = np.ravel(arr) if axis is None else arr
    if type(obj) is not int or obj < 0 or a.ndim != 1 or not is_partial(a):
        raise UnsupportedError("numpy.insert of a vector of run-time size takes one known position that is not "
                               "negative.", hint=ADVICE, code="array-of-run-time-size")
    if obj:
        current_trace().check(ops.compare(as_number(a.length()), obj, "GE"), lambda: IndexError(
            f"index {obj} is out of bounds for an array of run-time size"))
    new = np.ravel(values if is_partial(values) else wrap(values)).astype(a.dtype)
    return concatenate([a[:obj], new, a[obj:]] if obj else [new, a])


@on_bounded(np.pad)
def pad(array: Bounded, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Bounded:
    """With the same number at all ends."""
    if mode != "constant" or np.ndim(constant_values):
        raise UnsupportedError("numpy.pad of an array of run-time size takes mode='constant' and one number.",
                               hint=ADVICE, code="array-of-run-time-size")
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    placed = array
    for d in [d for d, extent in enumerate(array.extents) if extent is not None]:
        placed = compact(placed, d)
    outside = wrap(constant_values).astype(array.dtype)
    filled = placed.filled(np.broadcast_to(outside, placed.frame.shape).value())
    frame = np.pad(filled, widths, constant_values=outside)
    return Bounded(frame, [extent and Range(0, plus(extent.stop, sum(width)))
                           for extent, width in zip(placed.extents, widths, strict=True)])


@on_bounded(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    a = a if is_partial(a) else wrap(a)
    along = axis_in(axis, a.ndim)
    ends = [p if p is np._NoValue or is_partial(p) or wrap(p).ndim else _rows_of_one(wrap(p), a.ndim)
            for p in (prepend, append)]
    if n and any(p is not np._NoValue for p in ends):
        a = np.concatenate([p for p in (ends[0], a, ends[1]) if p is not np._NoValue], axis=along)
    before = (slice(None),) * along
    for _ in range(n):
        after, first = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = np.not_equal(after, first) if a.dtype.kind == "b" else after - first
    return a


def _rows_of_one(number: Any, rank: int) -> Any:
    if rank != 1:
        raise UnsupportedError("numpy.diff of an array of run-time size with a number at its end needs one "
                               "dimension, or an array as the end.", hint=ADVICE, code="array-of-run-time-size")
    return np.reshape(number, (1,))


@on_bounded(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    a = np.ravel(ary if is_partial(ary) else wrap(ary))
    begin, end = ends_of_steps(a.dtype, to_begin, to_end)
    return np.concatenate([p if is_partial(p) else wrap(p).astype(a.dtype) for p in (*begin, np.diff(a), *end)])


# ---- membership ------------------------------------------------------------------------------------------------

@on_bounded(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: object = None) -> Any:
    if is_partial(test_elements):
        require_vector(test_elements, "isin")
        front = compact(test_elements)
        first = front.frame[:1]       # stands for those that are not there
        inside = Tensor.of_value(front.valid())
        tests = np.where(inside, front.frame, first)
        some: Any = Tensor.of_value(ops.compare(as_number(front.length(0)), 0, "GT"))
    else:
        tests, some = test_elements, True
    frame = element.frame if is_partial(element) else element
    found = np.isin(frame, tests, kind=kind) & some
    found = ~found if invert else found
    return Bounded(found, element.extents) if is_partial(element) else found


# ---- statistics ------------------------------------------------------------------------------------------------

def _inside(a: Any) -> tuple[Tensor, Tensor]:
    """The frame of a vector and, as a mask, what of it is there."""
    inside = a.valid()
    return a.frame, Tensor.of_value(ops.constant(True, bool, a.frame.shape) if inside is None else inside)


def _weights_in_place(x: Any, weights: Any) -> Any:
    """Weights moved to where the elements of `x` are, zero elsewhere."""
    given = weights if is_partial(weights) else wrap(weights)
    moved = Bounded(Tensor.of_value(aligned(given, x.extents, x.frame.shape)), x.extents)
    return moved.filled(0)


@on_bounded(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    if not is_partial(x):
        raise UnsupportedError("numpy.bincount: weights of run-time size for an array of another size.", hint=ADVICE,
                               code="array-of-run-time-size")
    require_vector(x, "bincount")
    if x.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to dtype('int64') according to the rule 'safe'")
    frame, inside = _inside(x)
    places = Tensor.of_value(ops.select(inside.value(), frame.value(), 0))
    if weights is not None:
        return np.bincount(places, _weights_in_place(x, weights), minlength)
    counts = np.bincount(places, inside.astype(np.float64), minlength)     # exact: counts are far below 2**53
    return counts.astype(np.int64)


@on_bounded(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,  # noqa: A002
              weights: Any = None) -> tuple:
    if not is_partial(a) or is_partial(bins):
        raise UnsupportedError("numpy.histogram: bins or weights of run-time size are not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    require_vector(a, "histogram")
    if range is None and np.ndim(bins) == 0:
        some = a.length(0)
        empty = Tensor.of_value(ops.compare(as_number(some), 0, "EQ"))
        low = np.min(a, initial=_greatest(a.dtype))
        high = np.max(a, initial=_least(a.dtype))
        range = (np.where(empty, 0, low)[()], np.where(empty, 1, high)[()])  # noqa: A001
    frame, inside = _inside(a)
    given = inside.astype(np.float64) if weights is None else _weights_in_place(a, weights)
    filler = range[0] if range is not None else wrap(bins)[0]
    counts, edges = np.histogram(np.where(inside, frame, wrap(filler).astype(a.dtype)), bins, range,
                                 density, given)
    return (counts.astype(np.int64) if weights is None and not density else counts), edges


def _greatest(dtype: np.dtype) -> object:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _least(dtype: np.dtype) -> object:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@on_bounded(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    rows = m if is_partial(m) else wrap(m)
    if rows.ndim == 2 and not rowvar:
        rows = rows.transpose()
    rows = _rows(rows)
    if y is not None:
        rows = np.concatenate([rows, _rows(y if is_partial(y) else wrap(y))], axis=0)
    freedom = (0 if bias else 1) if ddof is None else ddof
    distance = rows - np.mean(rows, axis=1, keepdims=True)
    count = Tensor.of_value(as_number(rows.length(1)), SCALAR) if is_partial(rows) else rows.shape[1]
    return np.squeeze(np.matmul(distance, np.conj(distance.T)) / np.maximum(count - freedom, 0))[()]


@on_bounded(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    deviation = np.sqrt(np.diagonal(c).real)
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)

