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

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple, TypeAlias

from reactant.ir.types import size
from reactant.simplify.facts.indexmaps import reshape_groups

Step: TypeAlias = tuple
"""("slice", starts, limits, strides), ("reverse", dimensions), ("transpose", permutation), ("reshape", shape),
("broadcast", shape, dimensions), ("pad", low, high, interior) or ("fill", shape), the padding value everywhere."""
Chain: TypeAlias = tuple[Step, ...]
"""Steps in the order in which they are applied."""
Shape: TypeAlias = tuple[int, ...]


class Axis(NamedTuple):
    """One dimension of a view: `extent` indices, of which `inside` many are inside: first, first + period, ... Each of
    these moves the place in the source by `stride`."""

    extent: int
    stride: int
    first: int
    period: int
    inside: int

    @property
    def padded(self) -> bool:
        return self.inside != self.extent


class View(NamedTuple):
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


@lru_cache(maxsize=4096)
def identity(shape: Shape) -> View:
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
    return blank(result_shape(view.shape, step)) if view.blank else STEPS[step[0]](view, *step[1:])


def composed(source: Sequence[int], chain: Chain) -> View | None:
    """The view that a chain makes of an array."""
    view: View | None = identity(tuple(source))
    for step in chain:
        view = view if view is None else extended(view, step)
    return view


def _settled(axes: Sequence[Axis], offset: int) -> View:
    """A view whose axes may have nothing inside, or only one index."""
    if any(axis.inside <= 0 for axis in axes):
        return blank([axis.extent for axis in axes])
    return View(tuple(a._replace(stride=0, period=1) if a.inside == 1 else a for a in axes), offset)


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
    high = min((extent - 1 - i) // period, (axis.inside - 1 - j) // step)
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
        last = axis.first + (axis.inside - 1) * axis.period
        axes[d] = axis._replace(stride=-axis.stride, first=axis.extent - 1 - last)
        offset += axis.stride * (axis.inside - 1)
    return view._replace(axes=tuple(axes), offset=offset)


def _transpose(view: View, permutation: Shape) -> View:
    return view._replace(axes=tuple(view.axes[p] for p in permutation))


def _broadcast(view: View, shape: Shape, dimensions: Shape) -> View:
    axes = [plain(extent, 0) for extent in shape]
    for axis, d in zip(view.axes, dimensions, strict=True):
        if axis.extent == shape[d]:
            axes[d] = axis
    return view._replace(axes=tuple(axes))


def _pad(view: View, low: Shape, high: Shape, interior: Shape) -> View:
    axes, offset = [], view.offset
    for axis, below, above, between in zip(view.axes, low, high, interior, strict=True):
        wide = 1 + (axis.extent - 1) * (between + 1)
        spread = axis._replace(extent=wide, first=axis.first * (between + 1), period=axis.period * (between + 1))
        found, moved = _window(spread, -below, 1, below + wide + above)
        axes.append(found)
        offset += moved
    return _settled(axes, offset)


def _reshape(view: View, shape: Shape) -> View | None:
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
        first, count = wide[0].first * block, wide[0].inside * block
        if first % unit or count % unit:
            return None
        run = _split([(wide[0].inside, wide[0].stride), *((a.extent, a.stride) for a in wide[1:])],
                        [count // unit, *targets[1:]])
        if run is None:
            return None
        (extent, stride), *others = run
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
         "pad": _pad, "fill": lambda view, shape: blank(shape)}


# ---- what chains cost ----------------------------------------------------------------------------------------------

KINDS = ("reshape", "slice", "reverse", "transpose", "pad", "broadcast", "fill")
"""From what costs least, which is also the order in which a chain that can be chosen applies them."""
ORDER = {kind: i for i, kind in enumerate(("slice", "transpose", "reverse", "pad", "reshape", "broadcast",
                                            "fill"))}


def result_shape(shape: Sequence[int], step: Step) -> Shape:
    """The shape that a step makes of one."""
    kind = step[0]
    if kind in ("reshape", "broadcast", "fill"):
        return tuple(step[1])
    if kind == "transpose":
        return tuple(shape[p] for p in step[1])
    if kind == "slice":
        return tuple(max(0, (b - a + s - 1) // s) for a, b, s in zip(*step[1:], strict=True))
    if kind == "pad":
        return tuple(a + n + b + max(n - 1, 0) * i for n, a, b, i in zip(shape, *step[1:], strict=True))
    return tuple(shape)


def weight(source: Sequence[int], chain: Chain) -> tuple[int, ...]:
    """What a chain costs, to be compared: its steps, the elements they move (a reshape moves none), their kinds, how
    far they are from the order in which a chain is written here, and how they are spelt. Making part of a chain cheaper
    makes it cheaper: so rewriting any part to something cheaper ends."""
    moved = spelling = 0
    steps, shape = len(chain), tuple(source)
    for step in chain:
        shape = result_shape(shape, step)
        if step[0] == "reshape":
            spelling += len(step[1])
            continue
        moved += size(shape)
        if step[0] == "pad":
            steps += min((*step[1], *step[2]), default=0) < 0       # it is a slice, too
        elif step[0] == "slice":
            spelling += sum(step[2]) + sum(step[3])
        elif step[0] == "broadcast":
            spelling += sum(step[2])
    order = [ORDER[step[0]] for step in chain]
    inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1:])
    return steps, moved, sum(16 ** KINDS.index(step[0]) for step in chain), inversions, spelling


# ---- a view as a chain ---------------------------------------------------------------------------------------------

@lru_cache(maxsize=16_384)
def shortest(source: Shape, chain: Chain) -> Chain | None:
    """The cheapest chain the algebra knows that is equal to `chain`, if it is cheaper; None where it is not, or where
    the chain is no view of the source."""
    if _is_cheapest(source, chain):
        return None
    view = composed(source, chain)
    return None if view is None else _cheapest(source, view, weight(source, chain))


def _is_cheapest(source: Shape, chain: Chain) -> bool:
    """Whether a chain is known to be the cheapest before any is looked at, as most are: a part is read, by a slice as
    it is spelt here, and what makes other dimensions of it, or repeats it, is needed too."""
    if len(chain) != 2 or chain[0][0] != "slice" or chain[1][0] not in ("reshape", "broadcast"):
        return False
    (_, starts, limits, strides), (kind, shape, *dimensions) = chain
    read = result_shape(source, chain[0])
    if read == source or any(b != a + (n - 1) * s + 1 or n == 1 != s
                             for a, b, s, n in zip(starts, limits, strides, read, strict=True)):
        return False
    if kind == "reshape":
        return len(shape) != len(source)
    wide = {d for d, n in zip(dimensions[0], read, strict=True) if n != 1}
    free = [d for d in range(len(shape)) if d not in wide][:len(read) - len(wide)]
    return size(shape) != size(read) and sum(free) == sum(dimensions[0]) - sum(wide)


@lru_cache(maxsize=4096)
def written(source: Shape, view: View) -> Chain | None:
    """The cheapest chain the algebra knows that makes a view; None where it knows none."""
    return _cheapest(source, view, (LONGEST_WRITTEN + 1,))


LONGEST_WRITTEN = 4


def _cheapest(source: Shape, view: View, cost: tuple[int, ...]) -> Chain | None:
    """The cheapest chain for a view that costs less than `cost`."""
    def longest() -> int:
        return cost[0]

    best = None
    seen: set[Chain] = set()
    for candidate in candidates(source, view, longest):
        if len(candidate) <= cost[0] and candidate not in seen:
            seen.add(candidate)
            price = weight(source, candidate)
            if price < cost and composed(source, candidate) == view:
                best, cost = candidate, price
    return best


def candidates(source: Shape, view: View, longest: Callable[[], int]) -> Iterator[Chain]:
    """Chains that may be equal to a view: the elements read from the source, in the source's order, then put in place,
    padded and repeated. Of chains of more than `longest()` steps many are left out."""
    if view.blank:
        yield (("fill", view.shape),)
        return
    yield from _repeated(source, view, longest)
    padded = any(axis.padded for axis in view.axes)
    repeats = any(axis.extent != 1 and not axis.stride for axis in view.axes)
    core = [axis.inside if axis.padded or axis.stride else 1 for axis in view.axes]
    whole = [axis.inside for axis in view.axes]
    strides = [axis.stride for axis in view.axes]
    low = tuple(axis.first for axis in view.axes)
    between = tuple(axis.period - 1 for axis in view.axes)

    def finished(shape: Sequence[int]) -> Chain:
        """Padding and repetition for what has the `shape` of the view's inside, or 1 where it is repeated."""
        steps: list[Step] = []
        shape = list(shape)
        if padded:
            needed = [a.inside if a.padded else n for a, n in zip(view.axes, shape, strict=True)]
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
        if len(read) == 2 and size(shape) != 1 and order == sorted(order):
            yield from _in_place(read, shape, core, tuple(sorted(reversed_)), finished)
        if len(read) + (shape != view.shape) > longest():
            continue
        for placed in placings(shape, core, order, reversed_):
            now = shape
            for step in placed:
                now = result_shape(now, step)
            yield (*read, *placed, *finished(now))
        if not padded and repeats:
            yield from _spreadings(read, shape, view.shape, order, reversed_)


def _repeated(source: Shape, view: View, longest: Callable[[], int]) -> Iterator[Chain]:
    """A view of just the dimensions that are read or padded, in the result's order or the source's; then repeated."""
    kept = [d for d, axis in enumerate(view.axes) if axis.stride or axis.padded]
    repeats = any(axis.extent != 1 for d, axis in enumerate(view.axes) if d not in kept)
    if not repeats and not any(axis.padded for axis in view.axes) or len(kept) == len(view.axes):
        return
    for order in {tuple(kept), tuple(sorted(kept, key=lambda d: -abs(view.axes[d].stride)))}:
        inner = view._replace(axes=tuple(view.axes[d] for d in order))
        if repeats:
            last: Step = ("broadcast", view.shape, order)
        elif list(order) == kept:
            last = ("reshape", view.shape)
        else:
            continue
        for chain in candidates(source, inner, lambda: longest() - 1):
            yield (*chain, last)


def _in_place(read: Chain, shape: Shape, core: Sequence[int], turned: Shape,
              finished: Callable[[Sequence[int]], Chain]) -> Iterator[Chain]:
    """A slice of a reshaped array, reshaped so that the slice has the extents that are needed."""
    (_, seen), (_, *bounds) = read
    if [n for n in shape if n != 1] != [n for n in core if n != 1] or 1 in shape:
        return
    rows = iter(zip(seen, *bounds, strict=True))
    whole, *cut = zip(*((1, 0, 1, 1) if n == 1 else next(rows) for n in core), strict=True)
    mirror: Chain = (("reverse", turned),) if turned else ()
    yield (("reshape", whole), ("slice", *cut), *mirror, *finished(core))


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
    for seen in dict.fromkeys(_other_shapes(source, dims, runs, first)):
        cut = _slice_of(seen, runs, first)
        if cut is not None:
            yield (("reshape", seen), *cut)


def _slice_of(shape: Shape, runs: Sequence[tuple[int, int]], first: int) -> Chain | None:
    """The slice of an array whose elements, in order, are at the places of `runs`; no step where that is all of it."""
    left = list(runs)
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    unit = 1
    for extent in reversed(shape):
        start = first // unit % extent
        count = pace = 1
        if left and left[-1][1] < unit * extent:
            total, stride = left.pop()
            if stride % unit:
                return None
            pace = stride // unit
            if start + (total - 1) * pace < extent:
                count = total
                if left and left[-1][1] < unit * extent:
                    return None
            else:                                    # goes on in the dimension before
                if extent % pace or total % (extent // pace) or start >= pace:
                    return None
                count = extent // pace
                left.append((total // count, unit * extent))
        starts.append(start)
        limits.append(start + (count - 1) * pace + 1)
        strides.append(pace)
        unit *= extent
    if left or first >= unit:
        return None
    step = ("slice", tuple(starts[::-1]), tuple(limits[::-1]), tuple(strides[::-1]))
    return () if result_shape(shape, step) == tuple(shape) else (step,)


def _other_shapes(source: Shape, dims: Sequence[tuple[int, int]], runs: Sequence[tuple[int, int]],
                  first: int) -> Iterator[Shape]:
    """Shapes of as many elements in which the places may be a slice: each dimension, or run, in one of its own."""
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
        if reshape and turned and (before := _reversed_before(shape, target, reversed_)) is not None:
            yield (("reverse", before), *reshape)
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


def _reversed_before(shape: Shape, target: Shape, turned: set[int]) -> Shape | None:
    """The dimensions to reverse before a reshape, so that `turned` are after it."""
    found: list[int] = []
    for old, new in reshape_groups(shape, target):
        wide = [d for d in new if target[d] != 1]
        if turned & set(wide):
            if not turned >= set(wide):
                return None
            found.extend(i for i in old if shape[i] != 1)
    return tuple(found)


def _blocks(shape: Shape, core: Sequence[int], order: Sequence[int], turned: Shape, target: Shape) -> Iterator[Chain]:
    """Dimensions that a reshape splits or merges, and that stay beside each other, are moved before the reshape."""
    here = [i for i, n in enumerate(shape) if n != 1]
    rank = {d: k for k, d in enumerate(sorted(order))}
    groups: list[tuple[list[int], list[int]]] = []
    for old, new in reshape_groups([shape[i] for i in here], [core[d] for d in order]):
        dims = [order[k] for k in new]
        if [rank[d] for d in dims] != list(range(rank[dims[0]], rank[dims[0]] + len(dims))):
            return
        groups.append(([here[i] for i in old], dims))
    if all(len(old) == len(new) == 1 for old, new in groups):
        return
    groups.sort(key=lambda group: group[1][0])
    narrow = [i for i in range(len(shape)) if i not in here]
    permutation = (*narrow, *(i for old, _ in groups for i in old))
    mirror: Chain = (("reverse", turned),) if turned else ()
    yield (("transpose", permutation), ("reshape", target), *mirror)
    place = {i: at for at, i in enumerate(permutation)}
    if turned and all(set(new) <= set(turned) or not set(new) & set(turned) for _, new in groups):
        before = tuple(sorted(place[i] for old, new in groups if new[0] in turned for i in old))
        yield (("transpose", permutation), ("reverse", before), ("reshape", target))


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
