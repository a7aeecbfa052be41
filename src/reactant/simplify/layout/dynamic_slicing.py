"""dynamic_slice and dynamic_update_slice: constant starts, windows that meet, windows that cannot.

Starts are clamped so that the window lies inside the array; a rule that moves a start to another array keeps the
clamping by moving it only where the bounds are the same, or where the start is known.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, named, once, one_of, rest, rewrite, users, uses, variables
from reactant.simplify.facts.parts import (
    LONGEST_CHAIN,
    Window,
    covers,
    disjoint,
    known_starts,
    minus,
    part,
    update_window,
    window_of,
)

x, y, u, v, n, s, t, e, d, p, _x = variables("x y u v n s t e d p _x")
POINTWISE = tuple(sorted(ops.ELEMENTWISE))


def places(*numbers: int) -> list[ir.Value]:
    return [ops.constant(k, np.int64) for k in numbers]


# ---- constant starts -----------------------------------------------------------------------------------------------

@rewrite(match.dynamic_slice(x, rest("starts"), slice_sizes=n),
         example=(lambda a: ops.dynamic_slice(a(4, 5), places(1, 9), (2, 2)),
                  lambda a: ops.dynamic_slice(a(4, 5), [a(dtype="int32"), ops.constant(1, np.int32)], (4, 2))),
         counter=lambda a: ops.dynamic_slice(a(4, 5), [a(dtype="int64")] * 2, (2, 2)))
def dynamic_slice_at_constant(x, starts, n):
    """dynamic_slice(x, constants) = slice(x)"""
    low = known_starts(starts, shape_of(x), n)
    return None if low is None else ops.slice(x, low, [a + k for a, k in zip(low, n, strict=True)])


@rewrite(match.dynamic_update_slice(x, u, rest("_starts")),
         example=lambda a: ops.dynamic_update_slice(a(4), a(4), [a(dtype="int32")]),
         counter=lambda a: ops.dynamic_update_slice(a(4), a(3), [a(dtype="int32")]), by_types=True)
def update_of_everything(x, u):
    """an update of the size of the array = the update"""
    return u if u.type == x.type else None


@rewrite(match.dynamic_update_slice(x, u, rest("_starts")),
         example=lambda a: ops.dynamic_update_slice(a(4), a(0), [a(dtype="int32")]),
         counter=lambda a: ops.dynamic_update_slice(a(4), a(1), [a(dtype="int32")]), by_types=True)
def update_of_nothing(x, u):
    """an update without elements = the array"""
    return x if not size(shape_of(u)) else None


# ---- windows that meet ---------------------------------------------------------------------------------------------

@rewrite(match.dynamic_slice(match.dynamic_update_slice(_x, u, rest("others")), rest("starts"), slice_sizes=n),
         example=lambda a: ops.dynamic_slice(
             ops.dynamic_update_slice(a(4, 3), a(2, 2), i := [a(dtype="int32"), a(dtype="int32")]), i, (2, 2)),
         counter=lambda a: ops.dynamic_slice(ops.dynamic_update_slice(a(4), a(2), [a(dtype="int32")]),
                                             [a(dtype="int32")], (2,)))
def dynamic_slice_of_same_update(u, others, starts, n):
    """dynamic_slice(dynamic_update_slice(x, u, i), i) = u"""
    return u if others == starts and shape_of(u) == n else None


def _chain(a, *windows, whole=(6, 4)):
    """Updates of `a(*whole)` at (low, high) windows, one after the other."""
    array = a(*whole)
    for low, high in windows:
        content = a(*(k - j for j, k in zip(low, high, strict=True)))
        array = ops.dynamic_update_slice(array, content, places(*low))
    return array


@rewrite(match.slice(once(named("w", match.dynamic_update_slice(x, u, rest("_starts")))), start_indices=s,
                     limit_indices=e, strides=t),
         example=(lambda a: ops.slice(_chain(a, ((1, 0), (5, 4))), (0, 1), (5, 4)),
                  lambda a: ops.slice(_chain(a, ((1, 0), (3, 2))), (0, 0), (2, 4))),
         counter=(lambda a: ops.slice(ops.dynamic_update_slice(a(4), a(2), [a(dtype="int32")]), (1,), (2,)),
                  lambda a: ops.slice(_chain(a, ((1, 0), (3, 4))), (0, 0), (1, 4))))
def slice_of_overlapping_update(w, x, u, s, e, t):
    """x with a window overwritten by u, sliced through that window = x sliced, overwritten by u sliced"""
    window, wanted = update_window(w), (s, e)
    if window is None or any(k != 1 for k in t) or disjoint(window, wanted) or covers(window, wanted):
        return None
    low, high = window
    first, last = [max(a, b) for a, b in zip(s, low, strict=True)], [min(a, b) for a, b in zip(e, high, strict=True)]
    content = part(u, minus(first, low), minus(last, low))
    return ops.dynamic_update_slice(part(x, s, e), content, places(*minus(first, s)))


@rewrite(match.dynamic_update_slice(once(match.dynamic_update_slice(x, v, rest("others"))), u, rest("starts")),
         example=lambda a: ops.dynamic_update_slice(ops.dynamic_update_slice(x := a(5), a(2), i := [a(dtype="int32")]),
                                                    ops.slice(x, (1,), (3,)), i),
         counter=lambda a: ops.dynamic_update_slice(ops.dynamic_update_slice(a(5), a(3), i := [a(dtype="int32")]),
                                                    a(2), i))
def update_of_same_window(x, v, others, u, starts):
    """x with x[i] = v, then with x[i] = u: the last one counts"""
    return ops.dynamic_update_slice(x, u, starts) if others == starts and shape_of(u) == shape_of(v) else None


class _Windows:
    """Windows by their extents: two of the same extents cover one another only if they are one."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, ...], set[tuple[int, ...]]] = {}

    def add(self, low: tuple[int, ...], extents: tuple[int, ...]) -> None:
        self.of.setdefault(extents, set()).add(low)

    def cover(self, low: tuple[int, ...], extents: tuple[int, ...]) -> bool:
        """Whether one of them has this window inside."""
        if low in self.of.get(extents, ()):
            return True
        high = [a + k for a, k in zip(low, extents, strict=True)]
        return any(all(a <= b and d <= a + k for a, k, b, d in zip(start, whole, low, high, strict=True))
                   for whole, starts in self.of.items()
                   if whole != extents and all(k >= m for k, m in zip(whole, extents, strict=True))
                   for start in starts)


@rewrite(match.dynamic_update_slice(named("x", match.dynamic_update_slice(rest("_operands"))), u, rest("starts")),
         example=(lambda a: _chain(a, ((1, 0), (3, 4)), ((3, 1), (6, 3)), ((0, 0), (3, 4))),
                  lambda a: _chain(a, ((1, 0), (3, 4)), ((1, 1), (2, 2)), ((5, 0), (6, 1)), ((1, 0), (3, 4)))),
         counter=(lambda a: _chain(a, ((1, 0), (3, 4)), ((1, 0), (3, 3))),
                  lambda a: _chain(a, ((1, 0), (3, 4)), ((2, 0), (5, 4)), ((0, 0), (2, 4)))))
def update_buries_earlier_ones(result, x, u, starts):
    """an update with a known window makes those before it that lie inside that window unnecessary"""
    own, before = update_window(result), update_window(x)
    if own is None or before is None or not covers(own, before) and users(x) > 1 or _continued(result, None, own):
        return None
    windows = _Windows()
    windows.add(own[0], shape_of(u))
    kept: list[tuple[ir.Value, tuple[int, ...]]] = []
    base, above, array = None, [], x
    for _ in range(LONGEST_CHAIN):
        owner = creation.owner(array)
        if type(owner) is not stablehlo.DynamicUpdateSliceOp:
            break
        other = window_of(owner)
        if other is None:
            break
        window = tuple([b - a for a, b in zip(*other, strict=True)])
        if windows.cover(other[0], window):
            base, above = owner.operands[0], list(kept)
        elif users(array) == 1:
            kept.append((owner.operands[1], other[0]))
            windows.add(other[0], window)
        else:
            break
        array = owner.operands[0]
    if base is None:
        return None
    for content, place in reversed(above):
        base = ops.dynamic_update_slice(base, content, places(*place))
    return ops.dynamic_update_slice(base, u, starts)


@rewrite(match.dynamic_update_slice(named("x", match.dynamic_update_slice(rest("_operands"))), u, rest("starts")),
         example=(lambda a: _chain(a, ((0, 0), (2, 4)), ((2, 0), (6, 4))),
                  lambda a: _chain(a, ((0, 3), (6, 4)), ((0, 0), (6, 2)), ((0, 2), (6, 3)))),
         counter=(lambda a: _chain(a, ((0, 0), (2, 4)), ((3, 0), (6, 4))),
                  lambda a: _chain(a, ((0, 0), (2, 4)), ((2, 0), (6, 3))),
                  lambda a: _chain(a, ((2, 0), (6, 4)), ((0, 0), (4, 4)), ((0, 0), (2, 4)))))
def updates_side_by_side(result, x, u, starts):
    """updates that together cover the array, side by side in one dimension, are a concatenation"""
    shape, extents = shape_of(x), shape_of(u)
    split = _cut(extents, shape)
    if len(split) != 1 or not size(shape) or _cut(shape_of(creation.owner(x).operands[1]), shape) != split:
        return None
    own = update_window(result)
    if own is None or _continued(result, extents, own):
        return None
    parts, array, covered = {own[0][split[0]]: u}, x, extents[split[0]]
    for _ in range(LONGEST_CHAIN):
        owner = creation.owner(array)
        if covered >= shape[split[0]]:
            break
        if type(owner) is not stablehlo.DynamicUpdateSliceOp:
            return None
        window = window_of(owner)
        if window is None:
            return None
        low, extents = window[0], tuple([b - a for a, b in zip(*window, strict=True)])
        if _cut(extents, shape) != split:
            return None
        below, content = owner.operands[0], owner.operands[1]
        above = parts.setdefault(low[split[0]], content)
        if above is content:
            covered += extents[split[0]]
        elif shape_of(above)[split[0]] < extents[split[0]]:
            return None
        array = below
    ordered = sorted(parts)
    ends = [a + shape_of(parts[a])[split[0]] for a in ordered]
    if ordered != [0, *ends[:-1]] or ends[-1] != shape[split[0]]:
        return None
    return ops.concatenate([parts[a] for a in ordered], split[0])


def _tiles(a, *lows, extents=(1, 1), shape=(2, 2)):
    """Equal windows written one after the other into an array."""
    x = a(*shape)
    for low in lows:
        x = ops.dynamic_update_slice(x, a(*extents), [ops.constant(n, np.int32) for n in low])
    return x


@rewrite(match.dynamic_update_slice(named("x", match.dynamic_update_slice(rest("_operands"))), u, rest("starts")),
         example=(lambda a: _tiles(a, (0, 0), (0, 1), (1, 0), (1, 1)),
                  lambda a: _tiles(a, (2, 3), (0, 0), (2, 0), (0, 0), (0, 3), extents=(2, 3), shape=(4, 6))),
         counter=(lambda a: _tiles(a, (0, 0), (0, 1), (1, 0), (0, 0)),
                  lambda a: _tiles(a, (0, 0), (0, 2), (2, 0), (2, 1), extents=(2, 2), shape=(4, 4))))
def updates_that_tile(result, x, u, starts):
    """updates of equal windows that tile the array in several dimensions are concatenations of concatenations"""
    shape, extents = shape_of(x), shape_of(u)
    if len(_cut(extents, shape)) < 2 or not size(extents) or any(n % k for n, k in zip(shape, extents, strict=True)):
        return None
    own, count = update_window(result), size(shape) // size(extents)
    if own is None or count > LONGEST_CHAIN or _continued(result, extents, own):
        return None
    parts, array = {tuple(own[0]): u}, x
    for _ in range(LONGEST_CHAIN):
        owner = creation.owner(array)
        window = window_of(owner) if type(owner) is stablehlo.DynamicUpdateSliceOp and len(parts) < count else None
        if window is None or shape_of(owner.operands[1]) != extents:
            break
        parts.setdefault(tuple(window[0]), owner.operands[1])
        array = owner.operands[0]
    if len(parts) < count or any(n % k for low in parts for n, k in zip(low, extents, strict=True)):
        return None

    def joined(*low: int) -> ir.Value:
        d = len(low)
        return parts[low] if d == len(shape) else ops.concatenate(
            [joined(*low, n) for n in range(0, shape[d], extents[d])], d)
    return joined()


def _cut(extents: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The dimensions in which a window is not as wide as its array."""
    return [d for d, (k, whole) in enumerate(zip(extents, shape, strict=True)) if k != whole]


def _continued(result: ir.Value, extents: Sequence[int] | None, window: Window) -> bool:
    """Whether the next thing that happens to an array after an update of `window` is another update (of these extents):
    then that one looks at the whole series, and a long series does not cost its square. Slices that read only what was
    written, or nothing of it, do not count: they are about to become slices of something else."""
    following = None
    for count, use in enumerate(uses(result)):
        reader = use.owner
        kind = type(reader)
        if kind is stablehlo.DynamicUpdateSliceOp and not use.operand_number and following is None:
            following = reader
            continue
        if count == MOST_READERS or kind is not stablehlo.SliceOp or not _is_apart_or_inside(reader, window):
            return False
    return following is not None and (extents is None or shape_of(following.operands[1]) == tuple(extents))


MOST_READERS = 8
"""Of an updated array, that are looked through."""


def _is_apart_or_inside(reader: ir.OpView, window: Window) -> bool:
    """Whether a slice lies inside a window or shares nothing with it."""
    attributes = reader.attributes
    wanted = attr.decode(attributes["start_indices"]), attr.decode(attributes["limit_indices"])
    return disjoint(window, wanted) or covers(window, wanted)


@rewrite(match.dynamic_update_slice(x, match.dynamic_slice(x, rest("others")), rest("starts")),
         example=lambda a: ops.dynamic_update_slice(x := a(5), ops.dynamic_slice(x, i := [a(dtype="int32")], (2,)), i),
         counter=lambda a: ops.dynamic_update_slice(x := a(5), ops.dynamic_slice(x, [a(dtype="int32")], (2,)),
                                                    [a(dtype="int32")]))
def update_by_own_content(x, others, starts):
    """dynamic_update_slice(x, dynamic_slice(x, i), i) = x"""
    return x if others == starts else None


@rewrite(match.dynamic_update_slice(x, match.slice(x, start_indices=s, strides=t), rest("starts")),
         example=lambda a: ops.dynamic_update_slice(x := a(5), ops.slice(x, (1,), (3,)), places(1)),
         counter=(lambda a: ops.dynamic_update_slice(x := a(5), ops.slice(x, (1,), (3,)), places(2)),
                  lambda a: ops.dynamic_update_slice(x := a(5), ops.slice(x, (1,), (4,), (2,)), places(1))))
def update_by_own_slice(x, s, t, starts, result_shape):
    """x with x[a:b] = x[a:b] is x"""
    sizes = shape_of(x)
    known = [ops.constant_value(start) for start in starts]
    if any(k is None for k in known) or any(step != 1 for step in t):
        return None
    return x if tuple(int(k) for k in known) == s and all(0 <= k < m for k, m in zip(s, sizes, strict=True)) else None


# ---- windows of windows --------------------------------------------------------------------------------------------

def _clamped(start: ir.Value, most: int) -> ir.Value:
    return ops.clamp(0, start, most)


def _plus(start: ir.Value, offset: int) -> ir.Value:
    return ops.add(start, offset) if offset else start


@rewrite(match.dynamic_slice(once(match.dynamic_slice(x, rest("others"), slice_sizes=s)), rest("starts"),
                             slice_sizes=n),
         example=(lambda a: ops.dynamic_slice(ops.dynamic_slice(a(9), [a(dtype="int32")], (5,)), [a(dtype="int32")],
                                              (2,)),
                  lambda a: ops.dynamic_slice(ops.dynamic_slice(a(4, 6), [a(dtype="int32")] * 2, (1, 6)),
                                              [a(dtype="int32")] * 2, (1, 2))),
         counter=lambda a: ops.dynamic_slice(ops.dynamic_slice(a(9), [a(dtype="int32")], (5,)), [a(dtype="int64")],
                                             (2,)))
def dynamic_slice_of_dynamic_slice(x, others, s, starts, n):
    """dynamic_slice(dynamic_slice(x, i), j) = dynamic_slice(x, i + j), both clamped as they were"""
    if others[0].type != starts[0].type or not _fits(others[0], shape_of(x)):
        return None
    sums = []
    for whole, between, extent, i, j in zip(shape_of(x), s, n, others, starts, strict=True):
        if between == extent:
            sums.append(i)
        elif whole == between:
            sums.append(j)
        else:
            sums.append(ops.add(_clamped(i, whole - between), _clamped(j, between - extent)))
    return ops.dynamic_slice(x, sums, n)


def _fits(start: ir.Value, shape: Sequence[int]) -> bool:
    """Whether the type of a start can count all places of an array."""
    return all(extent <= np.iinfo(dtype_of(start)).max for extent in shape)


@rewrite(match.slice(once(match.dynamic_slice(x, rest("starts"), slice_sizes=n)), start_indices=s, limit_indices=e,
                     strides=t),
         example=lambda a: ops.slice(ops.dynamic_slice(a(9, 4), [a(dtype="int32")] * 2, (5, 4)), (1, 0), (3, 2)),
         counter=lambda a: ops.slice(ops.dynamic_slice(a(9), [a(dtype="int32")], (5,)), (1,), (5,), (2,)))
def slice_of_dynamic_slice(x, starts, n, s, e, t):
    """slice(dynamic_slice(x, i), a, b) = dynamic_slice(x, clamp(i) + a)"""
    if any(k != 1 for k in t) or not _fits(starts[0], shape_of(x)):
        return None
    moved = [start if a == 0 and b - a == between else
             _plus(_clamped(start, whole - between) if whole != between else ops.splat(0, start), a)
             for start, whole, between, a, b in zip(starts, shape_of(x), n, s, e, strict=True)]
    return ops.dynamic_slice(x, moved, [b - a for a, b in zip(s, e, strict=True)])


@rewrite(match.dynamic_slice(named("y", match.slice(x, start_indices=s, strides=t)), rest("starts"),
                             slice_sizes=n),
         example=lambda a: ops.dynamic_slice(ops.slice(a(9, 4), (2, 0), (8, 4)), [a(dtype="int32")] * 2, (3, 2)),
         counter=lambda a: ops.dynamic_slice(ops.slice(a(9), (0,), (9,), (2,)), [a(dtype="int32")], (3,)))
def dynamic_slice_of_slice(y, x, s, t, starts, n):
    """dynamic_slice(slice(x, a, b), i) = dynamic_slice(x, clamp(i) + a)"""
    if any(k != 1 for k in t) or not _fits(starts[0], shape_of(x)):
        return None
    moved = [start if whole == within else _plus(_clamped(start, within - extent), a)
             for start, whole, within, extent, a in zip(starts, shape_of(x), shape_of(y), n, s, strict=True)]
    return ops.dynamic_slice(x, moved, n)


# ---- windows of what moves freely ----------------------------------------------------------------------------------

@rewrite(match.dynamic_slice(match.broadcast_in_dim(x, broadcast_dimensions=d), rest("starts"), slice_sizes=n),
         example=(lambda a: ops.dynamic_slice(ops.broadcast_in_dim(a(4), (3, 4), (1,)), [a(dtype="int32")] * 2, (2, 2)),
                  lambda a: ops.dynamic_slice(ops.broadcast_in_dim(a(1, 4), (3, 4), (0, 1)), [a(dtype="int32")] * 2,
                                              (1, 4))))
def dynamic_slice_of_broadcast(x, d, starts, n, result_shape):
    """dynamic_slice(broadcast_in_dim(x)) = broadcast_in_dim(dynamic_slice(x))"""
    extents = shape_of(x)
    if all(extent == 1 or extent == n[k] for extent, k in zip(extents, d, strict=True)):
        part = x
    else:
        sizes = [extent if extent == 1 else n[k] for extent, k in zip(extents, d, strict=True)]
        part = ops.dynamic_slice(x, [starts[k] for k in d], sizes)
    return ops.broadcast_in_dim(part, result_shape, d)


@rewrite(match.dynamic_slice(named("y", match.iota(iota_dimension=d)), rest("starts"), slice_sizes=n), dtypes="integer",
         example=lambda a: ops.dynamic_slice(ops.iota((4, 5), a.dtype, 1), [a(dtype="int32")] * 2, (2, 3)))
def dynamic_slice_of_iota(y, d, starts, n, result_shape, result_dtype):
    """dynamic_slice(iota, i) = iota + clamp(i)"""
    first = ops.convert(_clamped(starts[d], shape_of(y)[d] - n[d]), result_dtype)
    return ops.add(ops.iota(result_shape, result_dtype, d), ops.broadcast_in_dim(first, result_shape, ()))


@rewrite(match.dynamic_slice(match.transpose(x, permutation=p), rest("starts"), slice_sizes=n),
         example=lambda a: ops.dynamic_slice(ops.transpose(a(4, 5, 6), (2, 0, 1)), [a(dtype="int32") for _ in range(3)],
                                             (2, 3, 1)))
def dynamic_slice_of_transpose(x, p, starts, n):
    """dynamic_slice(transpose(x, p), i) = transpose(dynamic_slice(x, i by p), p)"""
    rank = len(p)
    back = [p.index(k) for k in range(rank)]
    return ops.transpose(ops.dynamic_slice(x, [starts[k] for k in back], [n[k] for k in back]), p)


@rewrite(match.dynamic_slice(once(one_of(POINTWISE, rest("xs"), template="op")), rest("starts"), slice_sizes=n),
         example=(lambda a: ops.dynamic_slice(ops.add(a(4, 5), a(4, 5)), [a(dtype="int32")] * 2, (2, 2)),
                  lambda a: ops.dynamic_slice(ops.select(a(dtype="bool"), a(4), a(4)), [a(dtype="int32")], (2,))))
def dynamic_slice_of_pointwise(xs, op, starts, n, result_shape):
    """dynamic_slice(f(x, y), i) = f(dynamic_slice(x, i), dynamic_slice(y, i))"""
    return op.build([ops.dynamic_slice(v, starts, n) if shape_of(v) else v for v in xs], result_shape)
