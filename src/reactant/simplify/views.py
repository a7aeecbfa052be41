"""The shape algebra: slice, reverse, transpose, reshape, broadcast_in_dim and pad compose as maps of indices.

A chain of them, applied to an array of which only the shape is known, is one `View`: along each dimension of the result
the place in the flattened array moves by a fixed stride, and where a pad has put its value, a range and a period say
which indices are inside. Composition is arithmetic on these numbers; two chains with the same view are equal. What is
not a view of the array (a reshape that would need two strides for one dimension) does not compose: `extended` gives
None, and the chain is looked at from there on.

`shortest` writes a view as a chain again: the shortest that the algebra knows, each candidate checked by composing it.
Nothing here touches IR.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import gcd
from typing import TypeAlias

from reactant.ir.types import size
from reactant.simplify.indexmaps import inverse, reshape_groups

Step: TypeAlias = tuple
"""("slice", starts, limits, strides), ("reverse", dimensions), ("transpose", permutation), ("reshape", shape),
("broadcast", shape, dimensions) or ("pad", low, high, interior)."""
Chain: TypeAlias = tuple[Step, ...]
"""Steps in the order in which they are applied."""
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """One dimension of a view: `extent` indices, of which first, first + period, ... (`count` of them) are inside; each
    of these moves the place in the source by `stride`."""

    extent: int
    stride: int
    first: int
    period: int
    count: int

    @property
    def padded(self) -> bool:
        return self.count != self.extent


@dataclass(frozen=True)
class View:
    """Where the elements of a result come from: place `offset` + the sum of the axes' strides in the flattened source,
    or the padding value. `blank`: the padding value everywhere."""

    axes: tuple[Axis, ...]
    offset: int = 0
    blank: bool = False

    @property
    def shape(self) -> Shape:
        return tuple(axis.extent for axis in self.axes)


def plain(extent: int, stride: int) -> Axis:
    """A dimension without padding; strides that nothing moves by are 0, so that equal maps are equal values."""
    return Axis(extent, 0 if extent == 1 else stride, 0, 1, extent)


def identity(shape: Sequence[int]) -> View:
    """An array as it is. Every extent is at least 1."""
    axes, stride = [], 1
    for extent in reversed(shape):
        axes.append(plain(extent, stride))
        stride *= extent
    return View(tuple(reversed(axes)))


def blank(shape: Sequence[int]) -> View:
    """The padding value everywhere."""
    return View(tuple(plain(extent, 0) for extent in shape), 0, True)


# ---- composition ---------------------------------------------------------------------------------------------------

def extended(view: View, step: Step) -> View | None:
    """The view with one more step behind it; None where that is no view of the source. Results are not empty."""
    found = STEPS[step[0]](view, *step[1:])
    return None if found is None else blank(found.shape) if found.blank else found


def composed(source: Sequence[int], chain: Chain) -> View | None:
    """The view that a chain makes of an array."""
    view: View | None = identity(source)
    for step in chain:
        view = view if view is None else extended(view, step)
    return view


def _settled(axes: Sequence[Axis], offset: int) -> View:
    """A view whose axes may have nothing inside, or only one index."""
    if any(axis.count <= 0 for axis in axes):
        return blank([axis.extent for axis in axes])
    return View(tuple(Axis(a.extent, 0 if a.count == 1 else a.stride, a.first, 1 if a.count == 1 else a.period, a.count)
                      for a in axes), offset)


def _window(axis: Axis, start: int, stride: int, extent: int) -> tuple[Axis, int]:
    """Indices start, start + stride, ... of an axis that goes on, as padding, beyond both ends; and how far the first
    place moves."""
    common = gcd(stride, axis.period)
    if (axis.first - start) % common:
        return Axis(extent, 0, 0, 1, 0), 0
    # first + period * j = start + stride * i: solutions i = i0 + (period / common) * k, j = j0 + (stride / common) * k
    period, step = axis.period // common, stride // common
    i = ((axis.first - start) // common * pow(step, -1, period)) % period if period > 1 else 0
    j = (start + stride * i - axis.first) // axis.period
    low = max(0, -(j // step))                                       # the first k with j0 + step k >= 0
    high = min((extent - 1 - i) // period, (axis.count - 1 - j) // step)
    return Axis(extent, axis.stride * step, i + period * low, period, high - low + 1), axis.stride * (j + step * low)


def _slice(view: View, starts: Shape, limits: Shape, strides: Shape) -> View:
    axes, offset = [], view.offset
    for axis, start, limit, stride in zip(view.axes, starts, limits, strides, strict=True):
        found, moved = _window(axis, start, stride, (limit - start + stride - 1) // stride)
        axes.append(found)
        offset += moved
    return _settled(axes, offset)


def _reverse(view: View, dimensions: Shape) -> View:
    axes, offset = list(view.axes), view.offset
    for d in dimensions:
        axis = axes[d]
        last = axis.first + (axis.count - 1) * axis.period
        axes[d] = replace(axis, stride=-axis.stride, first=axis.extent - 1 - last)
        offset += axis.stride * (axis.count - 1)
    return replace(view, axes=tuple(axes), offset=offset)


def _transpose(view: View, permutation: Shape) -> View:
    return replace(view, axes=tuple(view.axes[p] for p in permutation))


def _broadcast(view: View, shape: Shape, dimensions: Shape) -> View:
    axes = [plain(extent, 0) for extent in shape]
    for axis, d in zip(view.axes, dimensions, strict=True):
        if axis.extent == shape[d]:
            axes[d] = axis
    return replace(view, axes=tuple(axes))


def _pad(view: View, low: Shape, high: Shape, interior: Shape) -> View:
    axes, offset = [], view.offset
    for axis, below, above, between in zip(view.axes, low, high, interior, strict=True):
        wide = 1 + (axis.extent - 1) * (between + 1)
        spread = replace(axis, extent=wide, first=axis.first * (between + 1), period=axis.period * (between + 1))
        found, moved = _window(spread, -below, 1, below + wide + above)
        axes.append(found)
        offset += moved
    return _settled(axes, offset)


def _reshape(view: View, shape: Shape) -> View | None:
    if view.blank:
        return blank(shape)
    axes: list[Axis] = []
    for old, new in reshape_groups(view.shape, shape):
        found = _regrouped([view.axes[d] for d in old], [shape[d] for d in new])
        if found is None:
            return None
        axes.extend(found)
    return View(tuple(axes), view.offset)


def _regrouped(old: list[Axis], new: list[int]) -> list[Axis] | None:
    """The axes of one group of a reshape. Padding may be around the outermost dimension only."""
    wide = [axis for axis in old if axis.extent != 1]
    targets = [extent for extent in new if extent != 1]
    if not wide:
        return [plain(1, 0) for _ in new]
    if len(wide) == len(targets) == 1:
        found = wide
    else:
        if any(axis.padded for axis in wide[1:]) or wide[0].period != 1:
            return None
        block, unit = size([axis.extent for axis in wide[1:]]), size(targets[1:])
        first, count = wide[0].first * block, wide[0].count * block
        if first % unit or count % unit:
            return None
        inside = _split([(wide[0].count, wide[0].stride), *((a.extent, a.stride) for a in wide[1:])],
                        [count // unit, *targets[1:]])
        if inside is None:
            return None
        (extent, stride), *others = inside
        found = [Axis(targets[0], 0 if extent == 1 else stride, first // unit, 1, extent),
                 *(plain(*each) for each in others)]
    kept = iter(found)
    return [plain(1, 0) if extent == 1 else next(kept) for extent in new]


def merged(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(extent, stride) of dimensions, neighbours that continue each other put together; those of extent 1 are left
    out."""
    found: list[tuple[int, int]] = []
    for extent, stride in dims:
        if extent == 1:
            continue
        if found and found[-1][1] == extent * stride:
            found[-1] = found[-1][0] * extent, stride
        else:
            found.append((extent, stride))
    return found


def _split(dims: list[tuple[int, int]], extents: Sequence[int]) -> list[tuple[int, int]] | None:
    """(extent, stride) of dimensions of other extents that walk the same places in the same order."""
    result: list[tuple[int, int]] = []
    left = merged(dims)
    for extent in reversed(extents):
        if extent == 1:
            result.append((1, 0))
            continue
        if not left or left[-1][0] % extent:
            return None
        whole, stride = left.pop()
        result.append((extent, stride))
        if whole != extent:
            left.append((whole // extent, stride * extent))
    return None if left else result[::-1]


STEPS = {"slice": _slice, "reverse": _reverse, "transpose": _transpose, "reshape": _reshape, "broadcast": _broadcast,
         "pad": _pad}


# ---- what chains cost ----------------------------------------------------------------------------------------------

KINDS = ("reshape", "slice", "reverse", "transpose", "pad", "broadcast")
"""From what costs least, which is also the order in which a chain that can be chosen applies them."""
ORDER = {kind: i for i, kind in enumerate(("slice", "transpose", "reverse", "reshape", "pad", "broadcast"))}


def result_shape(shape: Sequence[int], step: Step) -> Shape:
    """The shape that a step makes of one."""
    kind = step[0]
    if kind in ("reshape", "broadcast"):
        return tuple(step[1])
    if kind == "transpose":
        return tuple(shape[p] for p in step[1])
    if kind == "slice":
        return tuple(max(0, (b - a + s - 1) // s) for a, b, s in zip(*step[1:], strict=True))
    if kind == "pad":
        return tuple(a + n + b + max(n - 1, 0) * i for n, a, b, i in zip(shape, *step[1:], strict=True))
    return tuple(shape)


def weight(source: Sequence[int], chain: Chain) -> tuple[int, int, int, int]:
    """What a chain costs, to be compared: its steps, the elements they move (a reshape moves none), their kinds, and
    how far they are from the order in which a chain is written here. Making part of a chain cheaper makes it cheaper."""
    moved, shape = 0, tuple(source)
    for step in chain:
        shape = result_shape(shape, step)
        moved += size(shape) if step[0] != "reshape" else 0
    order = [ORDER[step[0]] for step in chain]
    inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1:])
    return len(chain), moved, sum(16 ** KINDS.index(step[0]) for step in chain), inversions


# ---- a view as a chain ---------------------------------------------------------------------------------------------

@lru_cache(maxsize=16_384)
def shortest(source: Shape, chain: Chain) -> Chain | None:
    """The cheapest chain the algebra knows that is equal to `chain`, if it is cheaper; None where it is not, or where
    the chain is no view of the source."""
    view = composed(source, chain)
    if view is None:
        return None
    best, cost = None, weight(source, chain)
    for candidate in candidates(source, view):
        price = weight(source, candidate)
        if price < cost and composed(source, candidate) == view:
            best, cost = candidate, price
    return best


def candidates(source: Shape, view: View) -> Iterator[Chain]:
    """Chains that may be equal to a view: the elements read from the source, in the source's order, then put in place,
    padded and repeated."""
    if view.blank:
        return
    padded = any(axis.padded for axis in view.axes)
    core = [axis.count if axis.padded or axis.stride else 1 for axis in view.axes]
    whole = [axis.count for axis in view.axes]
    strides = [axis.stride for axis in view.axes]
    low = tuple(axis.first for axis in view.axes)
    between = tuple(axis.period - 1 for axis in view.axes)

    def finished(shape: Sequence[int]) -> Chain:
        """Padding and repetition for what has the `shape` of the view's inside, or 1 where it is repeated."""
        steps: list[Step] = []
        shape = list(shape)
        if padded:
            needed = [a.count if a.padded else n for a, n in zip(view.axes, shape, strict=True)]
            if needed != shape:
                steps.append(("broadcast", tuple(needed), tuple(range(len(shape)))))
                shape = needed
            room = [axis.extent - ((n - 1) * axis.period + 1) - axis.first if axis.padded else 0
                    for n, axis in zip(shape, view.axes, strict=True)]
            steps.append(("pad", tuple(a if axis.padded else 0 for a, axis in zip(low, view.axes, strict=True)),
                          tuple(room), tuple(b if axis.padded else 0
                                             for b, axis in zip(between, view.axes, strict=True))))
            shape = [axis.extent if axis.padded else n for n, axis in zip(shape, view.axes, strict=True)]
        if tuple(shape) != view.shape:
            steps.append(("broadcast", view.shape, tuple(range(len(shape)))))
        return tuple(steps)

    moving = [d for d, axis in enumerate(view.axes) if axis.stride]
    core = [whole[d] if d in moving else 1 for d in range(len(whole))]
    order = sorted(moving, key=lambda d: (-abs(strides[d]), d))
    first = view.offset + sum(strides[d] * (whole[d] - 1) for d in moving if strides[d] < 0)
    reversed_ = {d for d in moving if strides[d] < 0}
    sorted_dims = [(whole[d], abs(strides[d])) for d in order]
    for read in readings(source, sorted_dims, first):
        shape = tuple(source)
        for step in read:
            shape = result_shape(shape, step)
        for placed in placings(shape, core, order, reversed_):
            now = shape
            for step in placed:
                now = result_shape(now, step)
            yield (*read, *placed, *finished(now))
        if not padded:
            yield from _spreadings(read, shape, view.shape, order, reversed_)


def _spreadings(read: Chain, shape: Shape, result: Shape, order: list[int], reversed_: set[int]) -> Iterator[Chain]:
    """One broadcast for transposing, repeating and adding dimensions; before it, dimensions are reversed."""
    wide = [i for i, n in enumerate(shape) if n != 1]
    if [shape[i] for i in wide] != [result[d] for d in order]:
        yield from _split_spreadings(read, shape, result, order, reversed_)
        return
    place = dict(zip(wide, order, strict=True))
    turned = tuple(i for i in wide if place[i] in reversed_)
    mirror: Chain = (("reverse", turned),) if turned else ()
    free = iter([d for d in range(len(result)) if d not in order])
    spots = [place[i] if i in place else next(free, None) for i in range(len(shape))]
    if None not in spots:
        yield (*read, *mirror, ("broadcast", result, tuple(spots)))
    yield from _split_spreadings((*read, *mirror), shape, result, order, set())


def _split_spreadings(read: Chain, shape: Shape, result: Shape, order: list[int],
                      reversed_: set[int]) -> Iterator[Chain]:
    """The same with a reshape first, to just those dimensions that are wide."""
    narrow = tuple(result[d] for d in order)
    if narrow == shape or size(narrow) != size(shape):
        return
    turned = tuple(i for i, d in enumerate(order) if d in reversed_)
    mirror: Chain = (("reverse", turned),) if turned else ()
    yield (*read, ("reshape", narrow), *mirror, ("broadcast", result, tuple(order)))


def readings(source: Shape, dims: Sequence[tuple[int, int]], first: int) -> Iterator[Chain]:
    """Chains that read the places of `dims` (extent, stride; strides falling), from `first` on, in the order of the
    source: a slice, or a slice of the source seen with other dimensions."""
    runs = merged(dims)
    direct = _slice_of(source, runs, first)
    if direct is not None:
        yield direct
    for seen in _other_shapes(source, dims, runs, first):
        cut = _slice_of(seen, runs, first)
        if cut is not None:
            yield (("reshape", seen), *cut)


def _slice_of(shape: Shape, runs: Sequence[tuple[int, int]], first: int) -> Chain | None:
    """The slice of an array whose elements, in order, are at the places of `runs`; no step where that is all of it."""
    left = list(runs)
    starts, limits, strides = [], [], []
    unit = 1
    for extent in reversed(shape):
        start = first // unit % extent
        count = step = 1
        if left and left[-1][1] < unit * extent:
            total, stride = left.pop()
            if stride % unit:
                return None
            step = stride // unit
            if start + (total - 1) * step < extent:
                count = total
                if left and left[-1][1] < unit * extent:
                    return None
            else:                                    # goes on in the dimension before
                if extent % step or total % (extent // step) or start >= step:
                    return None
                count = extent // step
                left.append((total // count, unit * extent))
        starts.append(start)
        limits.append(start + (count - 1) * step + 1)
        strides.append(step)
        unit *= extent
    if left or first >= unit:
        return None
    starts, limits, strides = (tuple(reversed(each)) for each in (starts, limits, strides))
    everything = all(a == 0 and s == 1 and b == n for a, b, s, n in zip(starts, limits, strides, shape, strict=True))
    return () if everything else (("slice", starts, limits, strides),)


def _other_shapes(source: Shape, dims: Sequence[tuple[int, int]], runs: Sequence[tuple[int, int]],
                  first: int) -> Iterator[Shape]:
    """Shapes of as many elements in which the places may be a slice: each dimension or run in a dimension of its own."""
    total = size(source)
    source_units, unit = [], 1
    for extent in reversed(source):
        source_units.append(unit)
        unit *= extent
    for each in (dims, runs):
        for choose in (0, 1):
            units, low = [1], 1
            for i in range(len(each) - 1, 0, -1):           # between run i - 1 and run i, which is further in
                stride = each[i - 1][1]
                fitting = [u for u in source_units if stride % u == 0 and u > low]
                unit = max(fitting) if choose and fitting else gcd(stride, total)
                if unit % low:
                    unit = gcd(stride, total)
                units.append(unit)
                low = unit
            if all(b % a == 0 and b > a for a, b in zip(units, [*units[1:], total], strict=True)):
                yield tuple(b // a for a, b in zip(units, [*units[1:], total], strict=True))[::-1]
    yield (total,)


def placings(shape: Shape, core: Sequence[int], order: Sequence[int], reversed_: set[int]) -> Iterator[Chain]:
    """Chains that bring elements read in the source's order, in an array of `shape`, into an array of extents `core`:
    its dimensions `order` are the wide ones, from the slowest on."""
    wide = [core[d] for d in order]
    sorted_ = list(order) == sorted(order)
    turned = tuple(sorted(reversed_))
    mirror: Chain = (("reverse", turned),) if turned else ()
    target = tuple(core)
    here = [i for i, n in enumerate(shape) if n != 1]
    same = [shape[i] for i in here] == wide
    if sorted_:
        reshape: Chain = (("reshape", target),) if shape != target else ()
        yield (*reshape, *mirror)
        if same and reshape and turned:
            yield (("reverse", tuple(here[order.index(d)] for d in turned)), *reshape)
        return
    if same and len(shape) == len(target):
        # dimensions of extent 1 go where they are needed
        ones = iter([i for i in range(len(shape)) if i not in here])
        place = dict(zip(order, here, strict=True))
        permutation = tuple(place[d] if d in place else next(ones) for d in range(len(target)))
        yield (("transpose", permutation), *mirror)
    if same:
        narrow = [i for i in range(len(shape)) if i not in here]
        place = dict(zip(order, here, strict=True))
        permutation = (*narrow, *(place[d] for d in sorted(order)))
        at = {i: p for p, i in enumerate(permutation)}
        mirrored = tuple(sorted(at[place[d]] for d in turned))
        yield (("transpose", permutation), *((("reverse", mirrored),) if mirrored else ()), ("reshape", target))
    ranks = {d: i for i, d in enumerate(order)}
    before = tuple(core[d] for d in order)
    ones_ = [d for d in range(len(target)) if d not in ranks]
    padded_shape = (*before, *(1 for _ in ones_))
    spots = {d: len(before) + k for k, d in enumerate(ones_)}
    permutation = tuple(ranks[d] if d in ranks else spots[d] for d in range(len(target)))
    yield (("reshape", padded_shape), ("transpose", permutation), *mirror)
    yield from _blocks(shape, core, order, turned, target)


def _blocks(shape: Shape, core: Sequence[int], order: Sequence[int], turned: Shape, target: Shape) -> Iterator[Chain]:
    """Dimensions that stay beside each other are moved as one: transpose first, then reshape."""
    groups: list[list[int]] = []
    for d in order:
        wide_after = [k for k in sorted(order) if groups and k > groups[-1][-1]]
        if groups and wide_after and wide_after[0] == d:
            groups[-1].append(d)
        else:
            groups.append([d])
    if len(groups) == len(order) or len(groups) < 2:
        return
    extents = [size([core[d] for d in group]) for group in groups]
    permutation = inverse([sorted(range(len(groups)), key=lambda i: groups[i][0]).index(i) for i in range(len(groups))])
    if [n for n in shape if n != 1] == extents and len(shape) == len(extents):
        first: Chain = ()
    else:
        first = (("reshape", tuple(extents)),)
    mirror: Chain = (("reverse", turned),) if turned else ()
    yield (*first, ("transpose", permutation), ("reshape", target), *mirror)
    alone = {group[0]: i for i, group in enumerate(groups) if len(group) == 1}
    if turned and all(d in alone for d in turned):
        where = {i: p for p, i in enumerate(permutation)}
        yield (*first, ("transpose", permutation), ("reverse", tuple(sorted(where[alone[d]] for d in turned))),
               ("reshape", target))


def simplified(source: Shape, chain: Chain) -> Chain:
    """A chain with every part of it that the algebra can shorten shortened, until none can be."""
    while True:
        for start, end in ((a, b) for length in range(len(chain), 0, -1) for a in range(len(chain) - length + 1)
                           for b in (a + length,)):
            shape = tuple(source)
            for step in chain[:start]:
                shape = result_shape(shape, step)
            found = shortest(shape, chain[start:end])
            if found is not None:
                chain = (*chain[:start], *found, *chain[end:])
                break
        else:
            return chain


__all__ = ["Axis", "View", "composed", "extended", "groupby", "identity", "result_shape", "shortest", "simplified",
           "weight"]
