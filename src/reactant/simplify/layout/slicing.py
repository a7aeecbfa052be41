"""slice, pad, concatenate with bounds known at compile time.

A slice moves towards the inputs past everything that computes element by element or moves elements about, so that only
what is used is computed. What a tracer emits for views written and read in pieces (slices of concatenations, pads,
updates) becomes the piece itself.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, named, once, one_of, producer, rest, rewrite, users, uses, variables
from reactant.simplify.facts.contents import is_splat
from reactant.simplify.facts.indexmaps import replaced, reshape_groups
from reactant.simplify.facts.parts import Window, covers, disjoint, part, update_window
from reactant.simplify.layout.chains import is_computed

x, y, v, b, d, p = variables("x y v b d p")
low, high, interior = variables("low high interior")
inner_low, inner_high, inner_interior = variables("inner_low inner_high inner_interior")
starts, limits, strides = variables("starts limits strides")
outer_starts, outer_limits, outer_strides = variables("outer_starts outer_limits outer_strides")
POINTWISE = tuple(sorted(ops.ELEMENTWISE))


def sliced(inner: Any) -> Any:
    """The pattern of a slice of `inner`: starts f, limits l, strides s."""
    return match.slice(inner, start_indices=starts, limit_indices=limits, strides=strides)


def padded(inner: Any, value: Any) -> Any:
    """The pattern of a pad."""
    return match.pad(inner, value, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)


WORTH_AN_OP = 1 << 16
"""How many elements must be left out of a value for each op that it takes more to compute only what is read."""
LITTLE_IS_READ = 16
"""The same where k slices read no more than 1/k^2 of it: through one op behind another that cannot go on for long."""


def _read_in_pieces(value: ir.Value) -> tuple[int, int]:
    """How many slices read a value that nothing else reads, and how many elements they leave out: where these are not
    below zero, slicing before computing computes no more. (0, 0) for any other value."""
    left = size(shape_of(value))
    count = 0
    for use in uses(value):
        reader = use.owner
        if type(reader) is not stablehlo.SliceOp:
            return (1, 0) if count == 0 and users(value) == 1 else (0, 0)
        left -= size(shape_of(reader.result))
        if left < 0:
            return 0, 0
        count += 1
    return count, left


def _leaves_enough(value: ir.Value) -> bool:
    """Whether what slices leave out of a value is worth the ops that it takes to compute each of them for itself."""
    count, left = _read_in_pieces(value)
    whole = size(shape_of(value))
    little = count * count * (whole - left) <= whole
    return count > 0 and left >= (count - 1) * (LITTLE_IS_READ if little else WORTH_AN_OP)


def _is_at_hand(value: ir.Value, window: Window, depth: int = 6) -> bool:
    """Whether a window of a value is made of whole operands of what the value was put together from, or lies in one."""
    made = producer(value)
    if made is None or not depth:
        return False
    if made.name == "stablehlo.concatenate":
        d = made["dimension"]
        ends = _ends(made.operands, d)
        first, last = bisect_right(ends, window[0][d]), bisect_right(ends, window[1][d] - 1)
        return first == last or {window[0][d], window[1][d]} <= {0, *ends}
    if made.name == "stablehlo.dynamic_update_slice":
        written = update_window(value)
        return written is not None and (covers(written, window) or disjoint(written, window))
    if made.name == "stablehlo.pad":
        return True
    if made.name == "stablehlo.transpose":
        inner = made["permutation"]
        back = [inner.index(k) for k in range(len(inner))]
        return _is_at_hand(made.operands[0], tuple(tuple(side[k] for k in back) for side in window), depth - 1)
    return made.name in POINTWISE and any(shape_of(v) and _is_at_hand(v, window, depth - 1) for v in made.operands)


def _ends(values: Sequence[ir.Value], dimension: int) -> list[int]:
    """Where each operand of a concatenation ends in what it makes."""
    return list(accumulate(shape_of(v)[dimension] for v in values))


def _cuts_up(value: ir.Value, operands: Sequence[ir.Value], dimension: int, count: int) -> bool:
    """Whether the slices that read a concatenation take more pieces of its operands than boundaries explain: slices
    with steps each meet all operands, and from one butterfly to the next that would double."""
    ends, pieces = _ends(operands, dimension), 0
    for use in uses(value):
        reader = use.owner
        first = attr.decode(reader.attributes["start_indices"])[dimension]
        last = attr.decode(reader.attributes["limit_indices"])[dimension] - 1
        pieces += bisect_right(ends, last) - bisect_right(ends, first) + 1
    return pieces >= len(operands) + count


# ---- slice ---------------------------------------------------------------------------------------------------------

@rewrite(match.slice(x), example=lambda a: ops.create("stablehlo.slice", [(v := a(2, 3)).type], [v], {
            "start_indices": ops.attr.integers((0, 0)), "limit_indices": ops.attr.integers((2, 3)),
            "strides": ops.attr.integers((1, 1))}).result,
         counter=lambda a: ops.slice(a(2, 3), (0, 0), (2, 2)), by_types=True)
def slice_of_everything(x, result_type):
    """slice(x, all of it) = x"""
    return x if x.type == result_type else None


@rewrite(sliced(match.broadcast_in_dim(x, broadcast_dimensions=d)),
         example=(lambda a: ops.slice(ops.broadcast_in_dim(a(4), (3, 4), (1,)), (1, 1), (3, 4), (1, 2)),
                  lambda a: ops.slice(ops.broadcast_in_dim(a(1, 4), (3, 4), (0, 1)), (1, 0), (3, 3))))
def slice_of_broadcast(x, d, starts, limits, strides, result_shape):
    """slice(broadcast_in_dim(x, d)) = broadcast_in_dim(slice(x), d)"""
    extents = shape_of(x)
    start, limit, stride = ([0 if n == 1 else starts[i] for i, n in zip(d, extents, strict=True)],
                            [1 if n == 1 else limits[i] for i, n in zip(d, extents, strict=True)],
                            [1 if n == 1 else strides[i] for i, n in zip(d, extents, strict=True)])
    if any(n == 1 and result_shape[i] == 0 for i, n in zip(d, extents, strict=True)):
        return None
    return ops.broadcast_in_dim(part(x, start, limit, stride), result_shape, d)


@rewrite(sliced(once(named("b", match.reshape(x)))),
         example=(lambda a: ops.slice(ops.reshape(ops.not_(a(5, 4)), (20,)), (5,), (10,)),
                  lambda a: ops.slice(ops.reshape(ops.not_(a(2, 5, 4)), (2, 20)), (0, 2), (2, 12), (1, 5))),
         counter=(lambda a: ops.slice(ops.reshape(ops.not_(a(3, 4)), (12,)), (1,), (11,)),
                  lambda a: ops.slice(ops.reshape(a(5, 4), (20,)), (5,), (10,))), dtypes="discrete")
def slice_of_flattening(b, x, starts, limits, strides):
    """slice(reshape(x)) = slice(reshape(the rows it touches)) where dimensions are merged and x is computed"""
    inner, outer = shape_of(x), shape_of(b)
    if 0 in inner or 0 in outer or not is_computed(x):
        return None
    bounds, narrow, low, high = [[0] * len(inner), list(inner)], list(outer), list(starts), list(limits)
    for old, new in reshape_groups(inner, outer):
        if len(new) != 1 or len(old) < 2 or limits[new[0]] <= starts[new[0]]:
            continue
        (d,), unit = new, size([inner[k] for k in old[1:]])
        first, last = starts[d] // unit, (limits[d] - 1) // unit
        if last - first + 1 == inner[old[0]]:
            continue
        bounds[0][old[0]], bounds[1][old[0]] = first, last + 1
        narrow[d], low[d], high[d] = (last - first + 1) * unit, starts[d] - first * unit, limits[d] - first * unit
    if tuple(narrow) == outer:
        return None
    return part(ops.reshape(part(x, *bounds), narrow), low, high, strides)


@rewrite(sliced(named("b", one_of(POINTWISE, rest("xs"), template="t"))),
         example=(lambda a: ops.slice(ops.add(a(6), a(6)), (1,), (6,), (2,)),
                  lambda a: ops.slice(ops.select(a(dtype="bool"), a(6), a(6)), (1,), (3,)),
                  lambda a: ops.slice(ops.negate(a(6)), (1,), (3,)),
                  lambda a: [ops.slice(v := ops.negate(a(26)), (0,), (3,)), ops.slice(v, (4,), (6,))],
                  lambda a: [ops.slice(v := ops.negate(ops.abs(ops.concatenate([a(3), a(3)], 0))), (0,), (3,)),
                             ops.slice(v, (3,), (6,))],
                  lambda a: (v := ops.negate(ops.transpose(ops.concatenate([a(1, 3), a(1, 3)], 0), (1, 0)))) and [
                      ops.slice(v, (0, k), (3, k + 1)) for k in (0, 1)]),
         counter=(lambda a: [ops.slice(v := ops.negate(a(7)), (0,), (3,)), ops.slice(v, (4,), (7,))],
                  lambda a: [ops.slice(v := ops.negate(ops.concatenate([a(3), a(3)], 0)), (0,), (5,), (2,)),
                             ops.slice(v, (1,), (6,), (2,))],
                  lambda a: [ops.slice(v := ops.negate(a(6)), (0,), (5,)), ops.slice(v, (1,), (6,))],
                  lambda a: [ops.slice(v := ops.negate(a(6)), (0,), (3,)), ops.slice(v, (3,), (6,))]))
def slice_of_pointwise(b, xs, t, starts, limits, strides, result_shape):
    """slice(f(x, y)) = f(slice(x), slice(y))"""
    if not _leaves_enough(b) and not (
            _read_in_pieces(b)[0] and any(shape_of(v) and _is_at_hand(v, (starts, limits)) for v in xs)):
        return None         # little to gain for more ops, unless slices of operands are at hand
    return t.build([_piece(v, starts, limits, strides, result_shape) if shape_of(v) else v for v in xs], result_shape)


def _piece(value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int],
           shape: tuple[int, ...]) -> ir.Value:
    """slice(value), or what it is at once: rules that do it one by one would each be asked."""
    made = producer(value)
    if made is not None and made.name == "stablehlo.broadcast_in_dim" and not shape_of(made.operands[0]):
        return ops.broadcast_in_dim(made.operands[0], shape, ())
    return part(value, starts, limits, strides)


@rewrite(sliced(named("b", match.bitcast_convert(x))),
         example=(lambda a: ops.slice(ops.bitcast_convert(a(4, 9, dtype="int32"), np.float32), (1, 0), (3, 9), (1, 2)),
                  lambda a: [ops.slice(v := ops.bitcast_convert(a(29, dtype="int32"), np.float32), (0,), (1,)),
                             ops.slice(v, (4,), (5,))]),
         counter=(lambda a: ops.slice(ops.bitcast_convert(a(4, 9, dtype="float64"), np.uint32), (1, 0, 0), (3, 9, 2)),
                  lambda a: [ops.slice(v := ops.bitcast_convert(a(9, dtype="int32"), np.float32), (0,), (5,)), v]))
def slice_of_bitcast(b, x, starts, limits, strides, result_shape, result_dtype):
    """slice(bitcast_convert(x)) = bitcast_convert(slice(x)): a sort by bits shows what is read of it"""
    if dtype_of(x).itemsize != result_dtype.itemsize or len(shape_of(x)) != len(result_shape) \
            or not _leaves_enough(b):
        return None
    return ops.bitcast_convert(part(x, starts, limits, strides), result_dtype)


@rewrite(sliced(match.iota(iota_dimension=d)),
         example=(lambda a: ops.slice(ops.iota((3, 4), a.dtype, 1), (1, 0), (3, 3)),
                  lambda a: ops.slice(ops.iota((7,), "int32", 0), (2,), (7,), (2,))))
def slice_of_iota(d, starts, limits, strides, result_shape, result_dtype):
    """slice(iota) = iota * stride + start"""
    if result_dtype.kind not in "iu":
        return ops.iota(result_shape, result_dtype, d) if (starts[d], strides[d]) == (0, 1) else None
    value = ops.iota(result_shape, result_dtype, d)
    value = ops.multiply(value, strides[d]) if strides[d] != 1 else value
    return ops.add(value, starts[d]) if starts[d] else value


def _known_truth(p: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> bool | None:
    """Whether a slice of a mask is known to be all true, or all false."""
    made = producer(p)
    if made is None:
        return None
    if made.name == "stablehlo.constant":
        part = ops.constant_value(p)[tuple(map(slice, starts, limits, strides))]
        return True if part.all() else None if part.any() else False
    if made.name == "stablehlo.broadcast_in_dim":
        inner, d = made.operands[0], made["broadcast_dimensions"]
        bounds = [(0, 1, 1) if n == 1 else (starts[i], limits[i], strides[i])
                  for i, n in zip(d, shape_of(inner), strict=True)]
        return _known_truth(inner, *(zip(*bounds, strict=True) if bounds else ((), (), ())))
    if made.name in ("stablehlo.and", "stablehlo.or", "stablehlo.not"):
        parts = [_known_truth(each, starts, limits, strides) for each in made.operands]
        if made.name == "stablehlo.not":
            return None if parts[0] is None else not parts[0]
        decisive = made.name == "stablehlo.or"
        return decisive if decisive in parts else None if None in parts else not decisive
    return None


@rewrite(sliced(match.select(p, x, y)),
         example=(lambda a: ops.slice(ops.select(ops.constant([False, True, True, False]), a(4), a(4)), (1,), (3,)),
                  lambda a: ops.slice(ops.select(ops.broadcast_in_dim(ops.constant([True, False]), (3, 2), (1,)),
                                                 a(3, 2), a(3, 2)), (0, 1), (3, 2))),
         counter=lambda a: [v := ops.select(ops.constant([False, True, True, False]), a(4), a(4)),
                            ops.slice(v, (0,), (3,))])
def slice_of_known_select(p, x, y, starts, limits, strides, result_shape):
    """slice(select(p, x, y)) = slice(x) where p is known to be true there, slice(y) where false"""
    if not shape_of(p) or 0 in result_shape:
        return None
    known = _known_truth(p, starts, limits, strides)
    return None if known is None else part(x if known else y, starts, limits, strides)


@rewrite(sliced(named("b", match.concatenate(rest("xs"), dimension=d))),
         example=(lambda a: ops.slice(ops.concatenate([a(2, 3), a(2, 4)], 1), (0, 3), (2, 6)),
                  lambda a: ops.slice(ops.concatenate([a(2), a(3), a(4)], 0), (1,), (7,)),
                  lambda a: ops.slice(ops.concatenate([a(2), a(3), a(4)], 0), (0,), (5,), (2,)),
                  lambda a: [ops.slice(v := ops.concatenate([a(2), a(3)], 0), (0,), (3,)), ops.slice(v, (3,), (5,))]),
         counter=(lambda a: [v := ops.concatenate([a(2), a(3)], 0), ops.slice(v, (1,), (4,))],
                  lambda a: [ops.slice(v := ops.concatenate([a(3), a(3)], 0), (0,), (5,), (2,)),
                             ops.slice(v, (1,), (6,), (2,))]))
def slice_of_concatenate(b, xs, d, starts, limits, strides, result_shape):
    """slice(concatenate(xs)) = concatenate(slices of those xs that it touches)"""
    if 0 in result_shape:
        return None
    pieces, offset = [], 0
    position, last = starts[d], starts[d] + (result_shape[d] - 1) * strides[d]
    for each in xs:
        n = shape_of(each)[d]
        if offset <= position < offset + n and position <= last:
            end = min(last, offset + n - 1)
            end -= (end - position) % strides[d]
            pieces.append((each, position - offset, end - offset + 1))
            position = end + strides[d]
        offset += n
    if len(pieces) > 1 and (not (count := _read_in_pieces(b)[0]) or count > 1 and _cuts_up(b, xs, d, count)):
        return None  # the whole stays anyway, and further ones cost more; or there would be many small ones
    return ops.concatenate([part(each, replaced(starts, d, a), replaced(limits, d, z), strides)
                            for each, a, z in pieces], d)


@rewrite(sliced(named("b", match.dynamic_update_slice(rest("_operands")))),
         example=(lambda a: ops.slice(_written(a(8), a(3), 2), (2,), (5,)),
                  lambda a: ops.slice(_written(a(8), a(3), 2), (5,), (8,)),
                  lambda a: ops.slice(_written(a(8), a(3), 2), (3,), (5,)),
                  lambda a: ops.slice(_written(a(8), a(3), 20), (5,), (8,))),
         counter=lambda a: ops.slice(_written(a(8), a(3), 2), (1,), (5,)))
def slice_of_update(b, starts, limits, strides):
    """slice(dynamic_update_slice(x, y, at)) = slice(y) where it lies inside what was written, slice(x) where outside"""
    window, wanted = update_window(b), (starts, limits)
    if window is None or not covers(window, wanted) and not disjoint(window, wanted):
        return None
    return part(b, starts, limits, strides)


def _written(x: ir.Value, y: ir.Value, at: int) -> ir.Value:
    return ops.dynamic_update_slice(x, y, [ops.constant(at, "int32")])


@rewrite(sliced(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=d, template="t"))),
         example=(lambda a: ops.slice(ops.dot_general(a(4, 3), a(3, 5), contracting_dims=((1,), (0,))),
                                      (1, 0), (3, 5), (1, 2)),
                  lambda a: ops.slice(ops.dot_general(a(2, 4, 3), a(2, 3, 5), contracting_dims=((2,), (1,)),
                                                      batching_dims=((0,), (0,))), (1, 0, 2), (2, 4, 5))),
         changes="rounding", dtypes="number")
def slice_of_dot_general(x, y, d, t, starts, limits, strides, result_shape):
    """slice(dot_general(x, y)) = dot_general(slice(x), slice(y))"""
    parts, offset = [], len(d.batching_dims[0])
    for operand, batching, contracting in zip((x, y), d.batching_dims, d.contracting_dims, strict=True):
        extents = shape_of(operand)
        free = [i for i in range(len(extents)) if i not in {*batching, *contracting}]
        place = {i: j for j, i in enumerate(batching)} | {i: offset + j for j, i in enumerate(free)}
        offset += len(free)
        parts.append(part(operand, *([given[place[i]] if i in place else default[i] for i in range(len(extents))]
                                       for given, default in ((starts, [0] * len(extents)), (limits, extents),
                                                              (strides, [1] * len(extents))))))
    return t.build(parts, result_shape)


@rewrite(sliced(once(one_of(("stablehlo.reduce",), x, v, dimensions=d, template="t"))),
         example=lambda a: ops.slice(ops.reduce(a(4, 3, 5), a(), (1,), "add"), (1, 0), (3, 5), (1, 2)), dtypes="number")
def slice_of_reduce(x, v, d, t, starts, limits, strides):
    """slice(reduce(x)) = reduce(slice(x))"""
    if t.body is None:
        return None
    extents = shape_of(x)
    kept = [i for i in range(len(extents)) if i not in d]
    bounds = [[0] * len(extents), list(extents), [1] * len(extents)]
    for j, i in enumerate(kept):
        for bound, given in zip(bounds, (starts, limits, strides), strict=True):
            bound[i] = given[j]
    return ops.reduce(part(x, *bounds), v, d, t.body)


# ---- pad -----------------------------------------------------------------------------------------------------------

@rewrite(padded(x, v), example=lambda a: ops.create("stablehlo.pad", [(w := a(2, 3)).type], [w, a()], {
            name: ops.attr.integers((0, 0)) for name in ("edge_padding_low", "edge_padding_high",
                                                         "interior_padding")}).result,
         counter=lambda a: ops.pad(a(3), a(), (1,), (0,)), by_types=True)
def pad_by_nothing(x, v, low, high, interior, result_shape):
    """pad(x, 0) = x"""
    idle = not any(low) and not any(high) and result_shape == shape_of(x)
    return x if idle else None


@rewrite(padded(x, v), example=(lambda a: ops.pad(a(5, 3), a(), (-1, 1), (2, -1)),
                                lambda a: ops.pad(a(5, 3), a(), (-1, 0), (-2, 0))),
         counter=(lambda a: ops.pad(a(3), a(), (1,), (0,)), lambda a: ops.pad(a(3), a(), (-1,), (0,), (1,))),
         by_types=True)
def pad_by_negative_is_slice(x, v, low, high, interior):
    """pad(x, -n) = slice(x)"""
    extents = shape_of(x)
    if min((*low, *high), default=0) >= 0 or any(interior):
        return None
    if any(n + min(a, 0) + min(z, 0) < 0 for n, a, z in zip(extents, low, high, strict=True)):
        return None
    inner = part(x, [max(-a, 0) for a in low], [n - max(-z, 0) for n, z in zip(extents, high, strict=True)])
    return ops.pad(inner, v, [max(a, 0) for a in low], [max(z, 0) for z in high])


@rewrite(match.pad(match.broadcast_in_dim(v, broadcast_dimensions=()), v),
         example=lambda a: ops.pad(ops.broadcast_in_dim(v := a(), (2, 3), ()), v, (1, 0), (0, 2), (0, 1)))
def pad_of_its_own_value(v, result_shape):
    """pad(broadcast_in_dim(v), v) = broadcast_in_dim(v)"""
    return ops.broadcast_in_dim(v, result_shape, ())


@rewrite(padded(x, v), example=lambda a: ops.pad(a(0, 3), a(), (1, 0), (1, 0)), by_types=True)
def pad_of_nothing(x, v, low, high, interior, result_shape):
    """pad(empty, v) = broadcast_in_dim(v)"""
    return ops.broadcast_in_dim(v, result_shape, ()) if 0 in shape_of(x) else None


# ---- concatenate ---------------------------------------------------------------------------------------------------

@rewrite(match.concatenate(rest("xs"), dimension=d),
         example=(lambda a: ops.create("stablehlo.concatenate", [(v := a(3)).type], [v],
                                       {"dimension": ops.attr.integer(0)}).result,
                  lambda a: ops.concatenate([a(2, 3), a(2, 0)], 1), lambda a: ops.concatenate([a(0), a(0)], 0)),
         counter=lambda a: ops.concatenate([a(2, 3), a(2, 1)], 1), by_types=True)
def concatenate_drops_empty_operands(xs, d):
    """concatenate(x, empty) = x"""
    kept = [v for v in xs if shape_of(v)[d]]
    if len(kept) == len(xs) and len(xs) > 1:
        return None
    return ops.concatenate(kept or [xs[0]], d)


@rewrite(match.concatenate(rest("xs"), dimension=d),
         example=lambda a: ops.concatenate([ops.concatenate([a(2), a(3)], 0), a(1)], 0),
         counter=lambda a: ops.concatenate([ops.concatenate([a(2, 3), a(2, 3)], 1), a(1, 6)], 0))
def concatenate_of_concatenate(xs, d):
    """concatenate(concatenate(x, y), z) = concatenate(x, y, z) along one dimension"""
    flat: list[ir.Value] = []
    for each in xs:
        made = producer(each)
        nested = made is not None and made.name == "stablehlo.concatenate" and made["dimension"] == d
        flat.extend(made.operands if nested else [each])
    return ops.concatenate(flat, d) if len(flat) > len(xs) and len(flat) <= 256 else None


def _as_slice(value: ir.Value) -> tuple[ir.Value, tuple, tuple, tuple]:
    """A value as (x, starts, limits, strides): a slice's own, or all of it."""
    made = producer(value)
    if made is not None and made.name == "stablehlo.slice":
        return made.operands[0], made["start_indices"], made["limit_indices"], made["strides"]
    extents = shape_of(value)
    return value, (0,) * len(extents), extents, (1,) * len(extents)


def _joined_slice(one: tuple, other: tuple, d: int) -> tuple | None:
    """The one slice that two slices of one value make next to each other along dimension d."""
    (x, starts, limits, strides), (y, starts2, limits2, strides2) = one, other
    extent = -(-(limits[d] - starts[d]) // strides[d])
    if x != y or strides != strides2 or extent == 0 or starts2[d] != starts[d] + extent * strides[d]:
        return None
    if any(i != d and (starts[i], limits[i]) != (starts2[i], limits2[i]) for i in range(len(starts))):
        return None
    return x, starts, replaced(limits, d, limits2[d]), strides


@rewrite(match.concatenate(rest("xs"), dimension=d),
         example=(lambda a: ops.concatenate([ops.slice(v := a(7), (1,), (3,)), ops.slice(v, (3,), (6,)), a(2)], 0),
                  lambda a: ops.concatenate([ops.slice(v := a(9), (0,), (3,), (2,)), ops.slice(v, (4,), (6,), (2,)),
                                             ops.slice(v, (6,), (9,), (2,)), a(2), v, v], 0),
                  lambda a: ops.concatenate([ops.slice(v := a(7), (0,), (3,)), ops.slice(v, (3,), (7,))], 0)),
         counter=lambda a: ops.concatenate([ops.slice(v := a(7), (1,), (3,)), ops.slice(v, (4,), (6,))], 0))
def concatenate_of_adjacent_slices(xs, d):
    """concatenate(x[a:b], x[b:c]) = x[a:c]"""
    runs: list[tuple[ir.Value | None, tuple]] = []      # an operand as it stands, or None, and as a slice
    for value in xs:
        each = _as_slice(value)
        joined = _joined_slice(runs[-1][1], each, d) if runs else None
        if joined is None:
            runs.append((value, each))
        else:
            runs[-1] = None, joined
    if len(runs) == len(xs):
        return None
    return ops.concatenate([part(*joined) if value is None else value for value, joined in runs], d)


def _uniform_scalar(value: ir.Value) -> object:
    """What an operand repeats, as something comparable: a scalar value, or the bytes of a splat constant."""
    made = producer(value)
    if made is None:
        return None
    if made.name == "stablehlo.broadcast_in_dim" and not shape_of(made.operands[0]):
        return made.operands[0]
    if made.name == "stablehlo.constant":
        array = ops.constant_value(value)
        if is_splat(array) or array.size == 1:
            return array[(0,) * array.ndim].tobytes()
    return None


def _scalar_of(value: ir.Value) -> ir.Value:
    """The 0-d value that `value` repeats."""
    made = producer(value)
    if made.name == "stablehlo.broadcast_in_dim":
        return made.operands[0]
    array = ops.constant_value(value)
    return ops.constant(array[(0,) * array.ndim], array.dtype)


@rewrite(match.concatenate(rest("xs"), dimension=d), made_by=("stablehlo.constant", "stablehlo.broadcast_in_dim"),
         example=(lambda a: ops.concatenate([ops.splat(3, a(2)), a(4), ops.splat(3, a(1))], 0),
                  lambda a: ops.concatenate([ops.broadcast_in_dim(a(), (2, 3), ()), a(2, 4)], 1)),
         counter=lambda a: ops.concatenate([ops.splat(3, a(2)), a(4), ops.splat(2, a(1))], 0), dtypes="number")
def concatenate_with_splats_is_pad(xs, d):
    """concatenate(v v, x, v) = pad(x, v)"""
    repeated = [_uniform_scalar(v) for v in xs]
    inner = [i for i, each in enumerate(repeated) if each is None]
    if len(inner) != 1 or len(xs) < 2:
        return None
    others = [each for each in repeated if each is not None]
    if any(type(each) is not type(others[0]) or each != others[0] for each in others):
        return None
    at = inner[0]
    rank = len(shape_of(xs[at]))
    below, above = sum(shape_of(v)[d] for v in xs[:at]), sum(shape_of(v)[d] for v in xs[at + 1:])
    edge = xs[0] if at else xs[-1]
    return ops.pad(xs[at], _scalar_of(edge), replaced((0,) * rank, d, below), replaced((0,) * rank, d, above))


@rewrite(match.concatenate(rest("xs"), dimension=d),
         example=(lambda a: ops.concatenate([v := ops.broadcast_in_dim(a(3), (2, 3), (1,)), v], 0),
                  lambda a: ops.concatenate([v := a(1, 3), v, v], 0)),
         counter=lambda a: ops.concatenate([v := a(2, 3), v], 0))
def concatenate_of_repetitions(xs, d, result_shape):
    """concatenate(x, x, x) = broadcast_in_dim(x) where x is a repetition, or one, along the dimension"""
    if len(xs) < 2 or any(v != xs[0] for v in xs):
        return None
    rank = len(result_shape)
    if shape_of(xs[0])[d] == 1:
        return ops.broadcast_in_dim(xs[0], result_shape, range(rank))
    made = producer(xs[0])
    if made is None or made.name != "stablehlo.broadcast_in_dim" or d in made["broadcast_dimensions"]:
        return None
    return ops.broadcast_in_dim(made.operands[0], result_shape, made["broadcast_dimensions"])


def _transposed(x, order):
    """What x is the transpose of, in this order of dimensions, where a transpose says so."""
    made = producer(x)
    return made.operands[0] if made is not None and made.name == "stablehlo.transpose" \
        and made["permutation"] == order else None


def _keeps_places(x, order):
    """Whether a transpose to x in this order moves dimensions of one element only."""
    places = [p for p, n in zip(order, shape_of(x), strict=True) if n != 1]
    return places == sorted(places)


def _untransposed(x, order):
    """What a transpose makes x of, where that is known or only dimensions of one element move."""
    known = _transposed(x, order)
    return ops.reshape(x, [n for _, n in sorted(zip(order, shape_of(x), strict=True))]) if known is None else known


@rewrite(match.concatenate(rest("xs"), dimension=d), made_by=("stablehlo.transpose",),
         example=(lambda a: ops.concatenate([ops.transpose(a(2, 3), (1, 0)), ops.transpose(a(4, 3), (1, 0))], 1),
                  lambda a: ops.concatenate([a(2, 3, 1), ops.transpose(a(4, 2, 3), (1, 2, 0))], 2)),
         counter=(lambda a: ops.concatenate([ops.transpose(a(2, 3), (1, 0)), a(3, 4)], 1),
                  lambda a: ops.concatenate([a(2, 1), ops.transpose(a(2, 3), (0, 1))], 1),
                  lambda a: ops.concatenate([a(3, 1), a(3, 4), ops.transpose(a(2, 3), (1, 0))], 1)))
def concatenate_of_transposes(xs, d):
    """concatenate(transpose(x), transpose(y)) = transpose(concatenate(x, y)), where one may be a reshape"""
    made = next((m for v in xs if (m := producer(v)) is not None and m.name == "stablehlo.transpose"), None)
    if made is None or len(xs) < 2:
        return None
    order = made["permutation"]
    if not all(_transposed(v, order) is not None or _keeps_places(v, order) for v in xs):
        return None
    return ops.transpose(ops.concatenate([_untransposed(v, order) for v in xs], order[d]), order)


@rewrite(match.concatenate(rest("xs"), dimension=d), made_by=("stablehlo.reverse",),
         example=lambda a: ops.concatenate([ops.reverse(a(2), (0,)), ops.reverse(a(3), (0,))], 0))
def concatenate_of_reverses(xs, d):
    """concatenate(reverse(x), reverse(y)) = reverse(concatenate(y, x))"""
    made = [producer(v) for v in xs]
    if any(m is None or m.name != "stablehlo.reverse" for m in made) or len(xs) < 2:
        return None
    turned = {m["dimensions"] for m in made}
    if len(turned) != 1:
        return None
    dimensions = turned.pop()
    inner = [m.operands[0] for m in made]
    return ops.reverse(ops.concatenate(inner[::-1] if d in dimensions else inner, d), dimensions)
