"""Slices whose bounds are known only at run time, of arrays and of arrays of run-time size.

Steps of 1 and -1 give ranges (of the reversed array), other steps masks; a slice whose length is known is a view.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.errors import ConcreteValueNeeded, UnsupportedError
from reactant.frontends.arrays import advanced, indexing, value_facts
from reactant.frontends.arrays.dynamic import masked
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Extent,
    Mask,
    Number,
    Range,
    aligned,
    as_number,
    compressed,
    guarded_copy,
    in_order,
    minus,
    plus,
    require_equal,
)
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.support.records import dataclass


@dataclass
class Part:
    """What a slice takes of a dimension: a static or run-time window `start`, `count`, `step`; of that every `every`-th
    element, from the end where negative (only where all of the window is meant); or an `extent` of it."""
    start: Number
    count: int
    step: int = 1
    extent: Extent | None = None
    every: int = 1


def get(tensor: Tensor, items: list) -> Any:
    """`tensor[items]` where some slice has a bound known only at run time."""
    if not indexing.is_basic(items):
        window, rest = _apart(tensor, items)
        return advanced.get(window, rest) if is_tensor(window) \
            else _chosen(window, advanced.select(window.frame, rest))
    basic = indexing.Basic()
    extents: list[Extent | None] = []
    every: list[int] = []
    for i in items:
        axis = len(basic.starts)
        if i is Ellipsis:
            continue
        if i is None:
            basic.kept.append(None)
            extents.append(None)
            every.append(1)
        elif isinstance(i, slice):
            found = _resolved(i, tensor.shape[axis])
            basic.add(found.start, found.count, found.step, keep=True)
            extents.append(found.extent)
            every.append(found.every)
        else:
            basic.add(indexing.position(i, tensor.shape[axis], axis), 1, 1, keep=False)
    view = _thinned(indexing.view_of(tensor, basic), every)
    return view if all(e is None for e in extents) else Bounded(view, extents)


def _thinned(view: Tensor, every: list[int]) -> Tensor:
    """Of each dimension every so many-th element."""
    if all(step == 1 for step in every):
        return view
    return indexing.view_of(view, indexing.parse(view, [slice(None, None, step) for step in every]))


def put(tensor: Tensor, items: list, value: object) -> None:
    """`tensor[items] = value` where some slice has a bound known only at run time."""
    if not indexing.is_basic(items):
        window, rest = _apart(tensor, items)
        if is_tensor(window):
            advanced.put(window, rest, value)
        else:
            _put_chosen(window, rest, value)
        return
    target = get(tensor, items)
    if type(target) is Bounded:
        target.store(value)
    else:
        indexing.store(target, value)


def _put_chosen(window: Bounded, items: list, value: object) -> None:
    """What index arrays select of a window."""
    found = advanced.select(window.frame, items)
    new = _chosen(window, found)
    new.store(value)
    found.view.assign(advanced.write(found, new.frame.value(), "second", advanced.is_unique(found)))


def _apart(tensor: Tensor, items: list) -> tuple[Tensor | Bounded, list]:
    """What the slices of a key with index arrays leave of an array, and the key for the rest."""
    basic, rest = [], []
    for i in items:
        if getattr(type(i), "partial", False) or is_tensor(i) and indexing.is_boolean(i):
            raise UnsupportedError("A slice with run-time bounds together with a run-time mask is not supported in "
                                   "compiled code.", hint="Index in two steps.", code="index-combination")
        if i is None or isinstance(i, slice):
            basic.append(i)
            rest.append(slice(None))
            continue
        if i is not Ellipsis:
            basic += [slice(None)] * (np.ndim(i) if indexing.is_boolean(i) else 1)
        rest.append(i)
    return get(tensor, basic), rest


def _chosen(window: Bounded, found: advanced.Selection) -> Bounded:
    """What index arrays select of a window, as a copy."""
    extents: list[Extent | None] = [None] * len(found.result)
    for d, extent in zip(found.windows, (e for d, e in enumerate(window.extents) if d not in found.axes), strict=True):
        extents[d] = extent
    return Bounded(Tensor.of_value(advanced.read(found), strides=found.strides), extents)


def _resolved(s: slice, n: int) -> Part:
    """What a slice takes of a dimension of `n`."""
    if not any(is_tensor(b) for b in (s.start, s.stop, s.step)):
        start, stop, step = s.indices(n)
        return Part(start, len(range(start, stop, step)), step)
    step = _known_step(s)
    start, stop = _from_low_to_high(s, n, step)
    count = value_facts.difference(stop, start)
    if count is not None and 0 <= count <= n:
        return Part(start, count, every=step)          # a window of static size
    if any(is_tensor(b) and known_bounds(b) is not None for b in (s.start, s.stop)):    # of narrower windows
        current_trace().bounded_elements = max(current_trace().bounded_elements, n)
    if step != 1:
        return _of_all(start, stop, n, step)
    if not (in_order(start, stop) or (isinstance(stop, int) and stop == n)):
        stop = ops.maximum(as_number(stop), as_number(start))
    low, high = _reach(s, n)
    return Part(low, high - low, 1, Range(minus(start, low), minus(stop, low)))


def _known_step(s: slice) -> int:
    if is_tensor(s.step):
        raise ConcreteValueNeeded("The step of a slice")  # so that a loop over known indices is unrolled
    step = 1 if s.step is None else int(s.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def _from_low_to_high(s: slice, n: Number, step: int) -> tuple[Number, Number]:
    """The window `start <= index < stop` that a slice walks through, downwards for negative steps."""
    if step > 0:
        return clipped(s.start, n, 0), clipped(s.stop, n, n)
    stop = n if s.start is None else _after(s.start, n)
    return (0 if s.stop is None else _after(s.stop, n)), stop


def _after(bound: Any, n: Number) -> Number:
    """The index after a bound of a downward slice, in 0..n."""
    if not is_tensor(bound) and isinstance(n, int):
        index = int(bound)
        return min(max(index + n if index < 0 else index, -1), n - 1) + 1
    value = ops.constant(int(bound), np.int64) if not is_tensor(bound) \
        else ops.reshape(ops.convert(bound.value(), np.int64), ())
    value = ops.select(ops.compare(value, 0, "LT"), ops.add(value, as_number(n)), value)
    return ops.add(ops.clamp(-1, value, ops.subtract(as_number(n), 1)), 1)


def _of_all(start: Number, stop: Number, n: int, step: int, offset: Number = 0) -> Part:
    """The elements as an extent of the whole dimension of `n`, turned around for negative steps; `start` and `stop`
    count from `offset`."""
    low, high = as_number(plus(start, offset)), as_number(plus(stop, offset))
    if step < 0:
        low, high = ops.subtract(as_number(n), high), ops.subtract(as_number(n), low)
    if not in_order(start, stop):
        high = ops.maximum(high, low)
    extent: Extent = Range(low, high)
    if abs(step) > 1:
        distance = ops.subtract(ops.iota((n,), np.int64, 0), ops.broadcast_in_dim(low, (n,), []))
        phase = ops.compare(ops.remainder(distance, abs(step)), 0, "EQ")
        inside = extent.valid(n)
        extent = Mask(phase if inside is None else ops.and_(inside, phase))
    return Part(n - 1, n, -1, extent) if step < 0 else Part(0, n, 1, extent)


def _reach(s: slice, n: int) -> tuple[int, int]:
    """The part of a dimension of `n` that a slice with run-time bounds stays in, from what is known of its bounds."""
    first, last = (_bounds_of(b, n, default) for b, default in ((s.start, 0), (s.stop, n)))
    return min(first[0], last[1]), max(first[1], last[1])


def _bounds_of(b: Any, n: int, default: int) -> tuple[int, int]:
    """Inclusive bounds of a slice bound after clipping to 0..n."""
    if b is None:
        return default, default
    known = (b, b) if not is_tensor(b) else known_bounds(b)
    if known is None or known[0] < 0 <= known[1]:
        return 0, n
    low, high = (max(k + n, 0) if k < 0 else min(k, n) for k in known)
    return int(low), int(high)


def known_bounds(number: Tensor) -> tuple[int, int] | None:
    """Inclusive bounds of a run-time integer."""
    return number.interval or value_facts.bounds(number.value())


def clipped(b: Any, n: Number, default: Number) -> Number:
    """A slice bound in 0..n, counted from the start. `n` itself may be a run-time number."""
    if b is None:
        return default
    if not is_tensor(b):
        b = int(b)
        if isinstance(n, int):
            return max(b + n, 0) if b < 0 else min(b, n)
        low, high, value = b, b, ops.constant(b, np.int64)
    else:
        value = b.value()
        low, high = known_bounds(b) or (None, None)
        value = ops.reshape(ops.convert(value, np.int64), ())
    top, least = as_number(n), n if isinstance(n, int) else (value_facts.bounds(n) or (0, 0))[0]
    if low is not None and -least <= low <= high < 0:
        return ops.add(value, top)
    if low is None or low < 0:
        value = ops.select(ops.compare(value, 0, "LT"), ops.maximum(ops.add(value, top), 0), value)
    room = None if high is not None and high <= least else value_facts.difference(top, value)
    if (high is None or high > least) and (room is None or room < 0):
        value = ops.minimum(value, top)
    return value


@means("get_item_dynamic")
def part(source: Bounded, key: object, as_view: bool = False) -> Any:
    """`source[key]` for keys of slices, newaxis, ellipsis and integers; a single element is a scalar, or a
    0-d view of it."""
    items = indexing.expand(source.frame, key)
    if not indexing.is_basic(items):
        return _picked(source, items, as_view)
    if not as_view:
        source = _numbered(source, items)
    basic = indexing.Basic()
    extents: list[Extent | None] = []
    every: list[int] = []
    for i in items:
        axis = len(basic.starts)
        if i is Ellipsis:
            continue
        if i is None:
            basic.kept.append(None)
            extents.append(None)
            every.append(1)
            continue
        n, extent = source.frame.shape[axis], source.extents[axis]
        if isinstance(i, slice):
            found = _resolved(i, n) if extent is None else Part(0, n, 1, extent) if i == slice(None) \
                else _narrowed(extent, i, n)
            basic.add(found.start, found.count, found.step, keep=True)
            extents.append(found.extent)
            every.append(found.every)
        else:
            basic.add(_position_in(i, extent, n, axis), 1, 1, keep=False)
    view = _thinned(indexing.view_of(source.frame, basic), every)
    if any(e is not None for e in extents):
        return Bounded(view, extents)
    return view if view.shape or basic.ellipsis or as_view else indexing.scalar(view)


@means("put_item_dynamic")
def put_part(source: Bounded, key: object, value: object) -> None:
    """`source[key] = value`."""
    if (places := in_frame(source, key)) is not None:
        source.frame[places] = value
        return
    items = [i for i in indexing.expand(source.frame, key) if i is not Ellipsis]
    if not indexing.is_basic(items) and not any(map(indexing.is_boolean, items)) \
            and (found := _across(source, items, as_view=True)) is not None:
        _put_chosen(*found, value)
        return
    target = part(source, key, as_view=True)
    if type(target) is Bounded:
        target.store(value)
    else:
        indexing.store(target, value)


def _numbered(source: Bounded, items: list) -> Bounded:
    """What a mask selects moved together where the key asks for elements by position: a copy, not to be written. Of the
    first or the last one only the place is found."""
    addressed = [i for i in items if i is not None and i is not Ellipsis]
    value, extents = None, list(source.extents)
    for d, (i, extent) in enumerate(zip(addressed, source.extents, strict=True)):
        if isinstance(extent, Mask) and type(i) is int and i in (0, -1):
            extents[d] = extent.only(i)
        elif isinstance(extent, Mask) and not (isinstance(i, slice) and i == slice(None)):
            value = compressed(source.value() if value is None else value, d, extent)
            extents[d] = Range(0, extent.length())
    if value is None:
        return Bounded(source.frame, extents)
    return Bounded(guarded_copy(Tensor.of_value(value), source.frame), extents)


def _picked(source: Bounded, items: list, as_view: bool) -> Any:
    """`x[part][mask]`, and elements by an array of positions: copies, which are not for writing; `as_view`: the
    elements themselves."""
    masks = [i for i in items if indexing.is_boolean(i) and getattr(i, "ndim", 0)]
    others = [i for i in items if not any(i is m for m in masks)]
    if len(masks) == 1 and indexing.is_basic(others):
        chosen = _masked(source, items, masks[0])
        return chosen if as_view else chosen.copy()
    index = items[0]
    if not as_view and getattr(index, "ndim", 0) and index.dtype.kind in "iu" and all(
            i is Ellipsis or isinstance(i, slice) and i == slice(None) for i in items[1:]):
        return _at_positions(_numbered(source, items), index)
    if not as_view and (places := in_frame(source, tuple(items))) is not None:
        return source.frame[places]
    if not (as_view or masks) and (found := _across(source, [i for i in items if i is not Ellipsis])) is not None:
        window, rest = found
        return _chosen(window, advanced.select(window.frame, rest))
    raise UnsupportedError("Index arrays on an array of run-time size are not supported in compiled code.",
                           hint=ADVICE, code="index-combination")


def _across(source: Bounded, items: list, as_view: bool = False) -> tuple[Bounded, list] | None:
    """The window that slices leave, and the key for the rest, where that are arrays of positions along dimensions of
    static size; else None."""
    sliced = [i is None or isinstance(i, slice) for i in items]
    addressed = [s for s, i in zip(sliced, items, strict=True) if i is not None]
    if any(extent is not None and not s for s, extent in zip(addressed, source.extents, strict=True)):
        return None
    window = part(source, tuple(i if s else slice(None) for s, i in zip(sliced, items, strict=True)), as_view)
    return window, [slice(None) if s else i for s, i in zip(sliced, items, strict=True)]


def _masked(source: Bounded, items: list, mask: Any) -> Bounded:
    """The elements of a part of `source` where a mask holds, which may have several dimensions."""
    at = next(n for n, i in enumerate(items) if i is mask)
    if not masked.together(items):
        raise UnsupportedError("A mask and an integer with a slice between them, on an array of run-time size, are "
                               "not supported in compiled code.", hint="Index in two steps.", code="index-combination")
    whole = (slice(None),) * mask.ndim
    inner = part(source, (*items[:at], *whole, *items[at + 1:]), as_view=True)
    inner = inner if type(inner) is Bounded else Bounded(inner, [None] * inner.ndim)
    position = sum(i is None or isinstance(i, slice) for i in items[:at])
    covered = range(position, position + mask.ndim)
    extents, shape = [inner.extents[d] for d in covered], [inner.frame.shape[d] for d in covered]
    for d, k in enumerate(covered):
        require_equal(inner.length(k), mask.length(d) if type(mask) is Bounded else mask.shape[d],
                      "boolean index did not match indexed array: their sizes differ", IndexError)
    chosen = aligned(mask, extents, shape)
    valid = Bounded(Tensor.of_value(chosen), extents).valid()
    chosen = chosen if valid is None else ops.and_(chosen, valid)
    found = masked.over(inner.frame, Tensor.of_value(chosen), position, to_front=False)
    return Bounded(found.frame, (*inner.extents[:position], found.extents[position],
                                 *inner.extents[position + mask.ndim:]))


def _at_positions(source: Bounded, index: Any) -> Any:
    """`source[index]` along the first dimension; positions are checked at run time."""
    places = _places(index, source.extents[0], source.frame.shape[0])
    if type(places) is Bounded:
        chosen, batch = source.frame[places.frame], places.extents
    else:
        chosen, batch = source.frame[places], (None,) * places.ndim
    extents = (*batch, *source.extents[1:])
    return Bounded(chosen, extents) if any(e is not None for e in extents) else chosen


def _places(index: Any, extent: Extent | None, n: int) -> Any:
    """Where in a frame of `n` the elements of an extent are; that there are such is checked at run time."""
    places = index.astype(np.int64) if type(index) is Bounded else wrap(index).astype(np.int64)
    length = Tensor.of_value(as_number(n if extent is None else extent.length()), SCALAR)
    places = np.where(places < 0, places + length, places)
    fits = np.all((places >= 0) & (places < length))
    current_trace().check(fits.value(), lambda: IndexError("index is out of bounds for an array of run-time size"))
    start = 0 if extent is None else extent.start
    places = np.clip(places + Tensor.of_value(as_number(start), SCALAR), 0, max(n - 1, 0))
    return Bounded(places.filled(0), places.extents) if type(places) is Bounded else places


def in_frame(source: Bounded, key: object) -> tuple | None:
    """The key of the same elements in the frame, where index arrays or integers address each dimension of run-time size
    that numbers of the frame address; else None."""
    items = [i for i in indexing.expand(source.frame, key) if i is not Ellipsis]
    if indexing.is_basic(items) or any(i is None or indexing.is_boolean(i) for i in items):
        return None
    found = []
    for i, extent, n in zip(items, source.extents, source.frame.shape, strict=True):
        if extent is not None and (isinstance(i, slice) or isinstance(extent, Mask)):
            return None
        found.append(i if extent is None else _places(i, extent, n))
    return tuple(found)


def _narrowed(extent: Extent, s: slice, n: int) -> Part:
    """A slice of an extent of a dimension of `n`."""
    if isinstance(extent, Mask):
        raise UnsupportedError("A slice of an array of run-time size cannot be written where a mask selects.",
                               hint=ADVICE, code="index-combination")
    step = _known_step(s)
    length = extent.length()
    start, stop = _from_low_to_high(s, length, step)
    if step != 1:
        return _of_all(start, stop, n, step, extent.start)
    if not in_order(start, stop):
        stop = ops.maximum(as_number(stop), as_number(start))
    return Part(0, n, 1, Range(plus(extent.start, start), ops.add(as_number(extent.start), as_number(stop))))


def _position_in(i: Any, extent: Extent | None, n: int, axis: int) -> Number:
    """Where in the frame the element `i` of an extent is; checked at run time."""
    if extent is None:
        return indexing.position(i, n, axis)
    if isinstance(extent, Mask):
        raise UnsupportedError("Writing to an element by position of what a run-time mask selects.", hint=ADVICE,
                               code="index-combination")
    index = ops.constant(int(i), np.int64) if not is_tensor(i) else ops.convert(i.value(), np.int64)
    length = as_number(extent.length())
    index = ops.select(ops.compare(index, 0, "LT"), ops.add(index, length), index)
    ok = ops.and_(ops.compare(index, 0, "GE"), ops.compare(index, length, "LT"))
    current_trace().check(ok, lambda: IndexError("index is out of bounds for a slice of run-time size"))
    return ops.clamp(0, ops.add(index, as_number(extent.start)), max(n - 1, 0))
