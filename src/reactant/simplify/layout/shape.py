"""reshape, transpose, broadcast_in_dim, reverse: chains of them become one op, or none.

Transposes, reshapes and reversals move towards the inputs, where something there absorbs them (another shape op, a
splat, a broadcast); broadcasts move towards the results, so that work is done before data is repeated. Slices move
past all of them (see slicing).
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, named, once, one_of, producer, rest, rewrite, splat, users, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.facts.contents import is_splat
from reactant.simplify.facts.indexmaps import cut_group, inverse, reshape_groups, unit_mapping
from reactant.simplify.facts.parts import known_starts

x, y, p, q, d, e, b = variables("x y p q d e b")
low, high, interior = variables("low high interior")
c = splat("c")
POINTWISE = tuple(sorted(ops.ELEMENTWISE))
UNARY = tuple(f"stablehlo.{n}" for n in (*ops.UNARY, "abs", "convert", "real", "imag", "is_finite")) \
    + tuple(f"chlo.{n}" for n in ops.CHLO_UNARY)
BINARY = tuple(f"stablehlo.{n}" for n in (*ops.BINARY, "compare", "complex"))


# ---- reshape -------------------------------------------------------------------------------------------------------

def _same_type(name: str, v: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """An op that changes nothing; the builders would not make it."""
    return ops.create(name, [v.type], [v], attributes).result


@rewrite(match.reshape(x), example=lambda a: _same_type("stablehlo.reshape", a(2, 3)),
         counter=lambda a: ops.reshape(a(2, 3), (3, 2)), by_types=True)
def reshape_to_same_shape(x, result_type):
    """reshape(x, shape of x) = x"""
    return x if x.type == result_type else None


@rewrite(match.reshape(named("b", match.broadcast_in_dim(x, broadcast_dimensions=d))),
         example=(lambda a: ops.reshape(ops.broadcast_in_dim(a(3), (2, 1, 3), (2,)), (2, 3)),
                  lambda a: ops.reshape(ops.broadcast_in_dim(a(3, 1), (2, 3, 1), (1, 2)), (1, 2, 3)),
                  lambda a: ops.reshape(ops.broadcast_in_dim(a(), (2, 6), ()), (3, 4))),
         counter=lambda a: ops.reshape(ops.broadcast_in_dim(a(3), (2, 3), (1,)), (6,)))
def reshape_of_broadcast(b, x, d, result_shape):
    """reshape(broadcast_in_dim(x)) = broadcast_in_dim(reshape(x)) where only dimensions of extent 1 come and go"""
    extents = shape_of(x)
    if size(extents) == 1:
        return ops.broadcast_in_dim(ops.reshape(x, ()), result_shape, ())
    mapping = unit_mapping(shape_of(b), result_shape)
    if mapping is None:
        return None
    kept = [i for i in range(len(d)) if d[i] in mapping]
    return ops.broadcast_in_dim(ops.reshape(x, tuple(extents[i] for i in kept)), result_shape,
                                tuple(mapping[d[i]] for i in kept))


@rewrite(match.reshape(named("b", match.iota(iota_dimension=d))),
         example=(lambda a: ops.reshape(ops.iota((4,), a.dtype, 0), (1, 4)),
                  lambda a: ops.reshape(ops.iota((1, 2, 4), a.dtype, 2), (2, 1, 4))),
         counter=lambda a: ops.reshape(ops.iota((2, 3), a.dtype, 1), (6,)))
def reshape_of_iota(b, d, result_shape, result_dtype):
    """reshape(iota) = iota along the dimension it becomes, where only dimensions of extent 1 come and go"""
    mapping = unit_mapping(shape_of(b), result_shape)
    return None if mapping is None or d not in mapping else ops.iota(result_shape, result_dtype, mapping[d])


# ---- transpose -----------------------------------------------------------------------------------------------------

@rewrite(match.transpose(match.transpose(x, permutation=p), permutation=q),
         example=(lambda a: ops.transpose(ops.transpose(a(2, 3, 4), (1, 2, 0)), (1, 0, 2)),
                  lambda a: ops.transpose(ops.transpose(a(2, 3), (1, 0)), (1, 0))))
def transpose_of_transpose(x, p, q):
    """transpose(transpose(x, p), q) = transpose(x, p[q])"""
    return ops.transpose(x, tuple(p[i] for i in q))


@rewrite(match.transpose(x, permutation=p),
         example=(lambda a: ops.transpose(a(1, 3), (1, 0)), lambda a: ops.transpose(a(2, 1, 3), (1, 0, 2)),
                  lambda a: _same_type("stablehlo.transpose", a(2, 3), permutation=ops.attr.integers((0, 1)))),
         counter=lambda a: ops.transpose(a(2, 3), (1, 0)), by_types=True)
def transpose_is_reshape(x, p, result_shape):
    """transpose(x) = reshape(x) where only dimensions of extent 1 change places"""
    extents = shape_of(x)
    moved = [i for i in p if extents[i] != 1]
    return ops.reshape(x, result_shape) if moved == sorted(moved) else None


@rewrite(match.transpose(match.iota(iota_dimension=d), permutation=p),
         example=lambda a: ops.transpose(ops.iota((2, 3), a.dtype, 1), (1, 0)))
def transpose_of_iota(d, p, result_shape, result_dtype):
    """transpose(iota(d), p) = iota(where p puts d)"""
    return ops.iota(result_shape, result_dtype, inverse(p)[d])


@rewrite(match.transpose(once(match.dynamic_update_slice(x, y, rest("xs"))), permutation=p),
         example=lambda a: ops.transpose(ops.dynamic_update_slice(
             ops.transpose(a(5, 7), (1, 0)), a(3, 5), [a(dtype="int32"), a(dtype="int32")]), (1, 0)),
         counter=lambda a: ops.transpose(ops.dynamic_update_slice(a(7, 5), a(3, 5), [a(dtype="int32")] * 2), (1, 0)))
def transpose_of_update(x, y, xs, p):
    """transpose(dynamic_update_slice(x, y, at)) = dynamic_update_slice(transpose(x), transpose(y), at[p]): a write
    through a transposed view"""
    if not _absorbs(x, "stablehlo.transpose"):
        return None
    return ops.dynamic_update_slice(ops.transpose(x, p), ops.transpose(y, p), [xs[i] for i in p])


@rewrite(match.reverse(once(match.dynamic_update_slice(x, y, rest("xs"))), dimensions=d),
         example=lambda a: ops.reverse(ops.dynamic_update_slice(ops.reverse(a(7), (0,)), a(3),
                                                                [ops.constant(1, "int32")]), (0,)),
         counter=lambda a: ops.reverse(ops.dynamic_update_slice(a(7), a(3), [ops.constant(1, "int32")]), (0,)))
def reverse_of_update(x, y, xs, d):
    """reverse(dynamic_update_slice(x, y, at)) = dynamic_update_slice(reverse(x), reverse(y), mirrored)"""
    starts = known_starts(xs, shape_of(x), shape_of(y))
    if starts is None or not _absorbs(x, "stablehlo.reverse"):
        return None
    mirrored = [n - m - a if i in d else a
                for i, (a, n, m) in enumerate(zip(starts, shape_of(x), shape_of(y), strict=True))]
    return ops.dynamic_update_slice(ops.reverse(x, d), ops.reverse(y, d), [ops.constant(a, np.int64) for a in mirrored])


@rewrite(match.reshape(once(match.dynamic_update_slice(x, y, rest("xs")))),
         example=(lambda a: ops.reshape(ops.dynamic_update_slice(
                      ops.reshape(a(6, 4), (6, 1, 4)), a(1, 1, 4), [a(dtype="int32")] * 3), (6, 4)),
                  lambda a: ops.reshape(ops.dynamic_update_slice(
                      ops.reshape(a(6, 4), (24,)), a(8), [ops.constant(4, "int32")]), (6, 4))),
         counter=(lambda a: ops.reshape(ops.dynamic_update_slice(
                      ops.reshape(a(6, 4), (24,)), a(8), [ops.constant(3, "int32")]), (6, 4)),
                  lambda a: ops.reshape(ops.dynamic_update_slice(
                      ops.reshape(a(6, 4), (24,)), a(8), [a(dtype="int32")]), (6, 4))))
def reshape_of_update(x, y, xs, result_shape):
    """reshape(dynamic_update_slice(x, y)) = dynamic_update_slice(reshape(x), reshape(y)) where what is written is
    still a box: a write through a reshaped view"""
    outer, window = shape_of(x), shape_of(y)
    if not _absorbs(x, "stablehlo.reshape") or 0 in outer or 0 in window:
        return None
    mapping = unit_mapping(outer, result_shape)
    if mapping is not None:
        places = {j: i for i, j in mapping.items()}
        small = [window[places[j]] if j in places else 1 for j in range(len(result_shape))]
        zero = None if len(places) == len(result_shape) else ops.constant(0, dtype_of(xs[0]))
        at = [xs[places[j]] if j in places else zero for j in range(len(result_shape))]
        return ops.dynamic_update_slice(ops.reshape(x, result_shape), ops.reshape(y, small), at)
    starts = known_starts(xs, outer, window)
    if starts is None:
        return None
    box = (starts, [a + m for a, m in zip(starts, window, strict=True)], [1] * len(outer))
    bounds = [[0] * len(result_shape), list(result_shape), [1] * len(result_shape)]
    for new, old in reshape_groups(result_shape, outer):
        if not cut_group(result_shape, outer, new, old, box, bounds):
            return None
    small = [b - a for a, b in zip(*bounds[:2], strict=True)]
    return ops.dynamic_update_slice(ops.reshape(x, result_shape), ops.reshape(y, small),
                                    [ops.constant(a, np.int64) for a in bounds[0]])


# ---- moving through elementwise ops --------------------------------------------------------------------------------

def _absorbs(value: ir.Value, name: str, depth: int = 5) -> bool:
    """Whether a shape op `name` applied to `value` vanishes there, or further up where it can go."""
    made = producer(value)
    if made is None:
        return False
    if made.name in (name, "stablehlo.constant", "stablehlo.broadcast_in_dim"):
        return True
    if made.name == "stablehlo.iota":
        return name == "stablehlo.transpose"
    if depth == 0 or users(value) != 1:
        return False
    if made.name == "stablehlo.dynamic_update_slice" or made.name == "stablehlo.pad" and name != "stablehlo.reshape":
        return _absorbs(made.operands[0], name, depth - 1)
    return made.name in ops.ELEMENTWISE and name != "stablehlo.reshape" \
        and all(_absorbs(v, name, depth - 1) for v in _of_result_shape(tuple(made.operands)))


def _free_to_move(operands: Sequence[ir.Value], name: str) -> bool:
    """Whether moving the op before all operands does not make more of them."""
    if len(operands) == 1:
        return True
    left = {v for v in _of_result_shape(operands) if not _absorbs(v, name)}
    return len(left) <= 1


def _of_result_shape(operands: Sequence[ir.Value]) -> list[ir.Value]:
    """The operands with the shape of the result: all but the scalars that `select` and `clamp` take beside arrays."""
    return [v for v in operands if shape_of(v)] or list(operands)


def _over_operands(t: Template, operands: Sequence[ir.Value], move: object, result: tuple[int, ...]) -> ir.Value:
    moved = _of_result_shape(operands)
    return t.build([move(v) if v in moved else v for v in operands], result)


@rewrite(match.transpose(once(one_of(POINTWISE, rest("xs"), template="t")), permutation=p),
         example=(lambda a: ops.transpose(ops.negate(a(2, 3)), (1, 0)),
                  lambda a: ops.transpose(ops.add(a(2, 3), ops.transpose(a(3, 2), (1, 0))), (1, 0)),
                  lambda a: ops.transpose(ops.select(a(dtype="bool"), a(2, 3), ops.splat(1, a(2, 3))), (1, 0))),
         counter=lambda a: ops.transpose(ops.add(a(2, 3), a(2, 3)), (1, 0)))
def transpose_of_pointwise(xs, t, p, result_shape):
    """transpose(f(x, y)) = f(transpose(x), transpose(y)) where all but one operand absorb the transpose"""
    if not _free_to_move(xs, "stablehlo.transpose"):
        return None
    return _over_operands(t, xs, lambda v: ops.transpose(v, p), result_shape)


@rewrite(match.reshape(once(one_of(POINTWISE, rest("xs"), template="t"))),
         example=(lambda a: ops.reshape(ops.negate(a(2, 3)), (6,)),
                  lambda a: ops.reshape(ops.add(a(2, 3), ops.reshape(a(6), (2, 3))), (3, 2)),
                  lambda a: ops.reshape(ops.add(a(), ops.reshape(a(1), ())), (1,))),
         counter=(lambda a: ops.reshape(ops.add(a(2, 3), a(2, 3)), (6,)),
                  lambda a: ops.reshape(ops.add(a(2, 3), ops.broadcast_in_dim(a(3), (2, 3), (1,))), (6,))))
def reshape_of_pointwise(xs, t, result_shape):
    """reshape(f(x, y)) = f(reshape(x), reshape(y)) where all but one operand absorb the reshape"""
    if not _may_be_reshaped(xs, result_shape):
        return None
    return _over_operands(t, xs, lambda v: _reshaped(v, result_shape), result_shape)


def _reshaped(value: ir.Value, shape: tuple[int, ...], depth: int = 8) -> ir.Value:
    """reshape(value), past what it moves through or dissolves into: the rules for each would all be asked again."""
    made = producer(value)
    while made is not None and made.name == "stablehlo.reshape":
        value = made.operands[0]
        made = producer(value)
    if made is None or shape_of(value) == shape:
        return ops.reshape(value, shape)
    if made.name == "stablehlo.broadcast_in_dim" and not shape_of(made.operands[0]):
        return ops.broadcast_in_dim(made.operands[0], shape, ())
    if made.name == "stablehlo.constant" and (known := ops.constant_value(value)) is not None and is_splat(known):
        return ops.constant(known.flat[0], known.dtype, shape)
    if depth and made.name in ops.ELEMENTWISE and users(value) == 1 and _may_be_reshaped(xs := made.operands, shape):
        return _over_operands(Template(made.op), xs, lambda v: _reshaped(v, shape, depth - 1), shape)
    return ops.reshape(value, shape)


def _may_be_reshaped(operands: Sequence[ir.Value], shape: tuple[int, ...]) -> bool:
    return _free_to_move(operands, "stablehlo.reshape") and all(_reshapes_freely(v, shape) for v in operands)


def _reshapes_freely(value: ir.Value, result: tuple[int, ...]) -> bool:
    """Whether `value`, if it is a broadcast, is one that a reshape to `result` dissolves into."""
    made = producer(value)
    return made is None or made.name != "stablehlo.broadcast_in_dim" or not shape_of(made.operands[0]) \
        or unit_mapping(shape_of(value), result) is not None


def _moves_back(x: ir.Value, y: ir.Value, name: str) -> bool:
    """Whether a shape op `name` after f(x, y) would be moved before it again, for ever."""
    return x == y or _absorbs(x, name) or _absorbs(y, name)


@rewrite(one_of(BINARY, match.transpose(x, permutation=p), match.transpose(y, permutation=p), template="t"),
         example=lambda a: ops.subtract(ops.transpose(a(2, 3), (1, 0)), ops.transpose(a(2, 3), (1, 0))))
def pointwise_of_transposes(x, y, p, t):
    """f(transpose(x, p), transpose(y, p)) = transpose(f(x, y), p)"""
    if _moves_back(x, y, "stablehlo.transpose"):
        return None
    return ops.transpose(t.build((x, y), shape_of(x)), p)


@rewrite(one_of(BINARY, match.reshape(x), match.reshape(y), template="t"),
         example=lambda a: ops.subtract(ops.reshape(a(2, 3), (6,)), ops.reshape(a(2, 3), (6,))),
         counter=lambda a: ops.subtract(ops.reshape(a(2, 3), (6,)), ops.reshape(a(3, 2), (6,))))
def pointwise_of_reshapes(x, y, t, result_shape):
    """f(reshape(x), reshape(y)) = reshape(f(x, y)) where x and y have one shape"""
    if shape_of(x) != shape_of(y) or _moves_back(x, y, "stablehlo.reshape"):
        return None
    return ops.reshape(t.build((x, y), shape_of(x)), result_shape)


@rewrite(one_of(BINARY, match.reverse(x, dimensions=d), match.reverse(y, dimensions=d), template="t"),
         example=lambda a: ops.subtract(ops.reverse(a(2, 3), (1,)), ops.reverse(a(2, 3), (1,))))
def pointwise_of_reverses(x, y, d, t):
    """f(reverse(x, d), reverse(y, d)) = reverse(f(x, y), d)"""
    return None if _moves_back(x, y, "stablehlo.reverse") else ops.reverse(t.build((x, y), shape_of(x)), d)


@rewrite(one_of(UNARY, match.broadcast_in_dim(x, broadcast_dimensions=d), template="t"),
         example=lambda a: ops.negate(ops.broadcast_in_dim(a(3), (2, 3), (1,))),
         counter=lambda a: ops.negate(ops.broadcast_in_dim(a(2, 3), (3, 2), (1, 0))))
def unary_of_broadcast(x, d, t, result_shape):
    """f(broadcast_in_dim(x, d)) = broadcast_in_dim(f(x), d)"""
    if size(shape_of(x)) >= size(result_shape):
        return None
    return ops.broadcast_in_dim(t.build((x,), shape_of(x)), result_shape, d)


@rewrite(one_of(BINARY, match.broadcast_in_dim(x, broadcast_dimensions=d),
                match.broadcast_in_dim(y, broadcast_dimensions=d), template="t"),
         example=lambda a: ops.subtract(*(ops.broadcast_in_dim(a(3), (2, 3), (1,)) for _ in range(2))),
         counter=lambda a: ops.subtract(ops.broadcast_in_dim(a(1), (2, 3), (1,)),
                                        ops.broadcast_in_dim(a(3), (2, 3), (1,))))
def pointwise_of_broadcasts(x, y, d, t, result_shape):
    """f(broadcast_in_dim(x, d), broadcast_in_dim(y, d)) = broadcast_in_dim(f(x, y), d)"""
    if shape_of(x) != shape_of(y) or size(shape_of(x)) >= size(result_shape):
        return None
    return ops.broadcast_in_dim(t.build((x, y), shape_of(x)), result_shape, d)


@rewrite(one_of(BINARY, match.broadcast_in_dim(x, broadcast_dimensions=d), c, template="t"),
         example=lambda a: ops.subtract(ops.broadcast_in_dim(a(3), (2, 3), (1,)), ops.splat(3, a(2, 3))))
def pointwise_of_broadcast_and_splat(x, d, c, t, result_shape):
    """f(broadcast_in_dim(x, d), c) = broadcast_in_dim(f(x, c), d)"""
    if size(shape_of(x)) >= size(result_shape):
        return None
    return ops.broadcast_in_dim(t.build((x, ops.constant(c, c.dtype, shape_of(x))), shape_of(x)), result_shape, d)


@rewrite(one_of(BINARY, c, match.broadcast_in_dim(x, broadcast_dimensions=d), template="t"),
         example=lambda a: ops.divide(ops.splat(3, v := ops.broadcast_in_dim(a(3), (2, 3), (1,))), v))
def pointwise_of_splat_and_broadcast(c, x, d, t, result_shape):
    """f(c, broadcast_in_dim(x, d)) = broadcast_in_dim(f(c, x), d)"""
    if size(shape_of(x)) >= size(result_shape):
        return None
    return ops.broadcast_in_dim(t.build((ops.constant(c, c.dtype, shape_of(x)), x), shape_of(x)), result_shape, d)


def _repeats(v: ir.Value) -> ir.Value:
    """(3, 2) -> (6, 2), each row twice."""
    return ops.reshape(ops.broadcast_in_dim(v, (3, 2, 2), (0, 2)), (6, 2))


REPEATED = match.reshape(named("b", match.broadcast_in_dim(x, broadcast_dimensions=d)))


@rewrite(one_of(UNARY, REPEATED, template="t"), example=lambda a: ops.negate(_repeats(a(3, 2))),
         counter=lambda a: ops.negate(ops.reshape(ops.broadcast_in_dim(a(2, 3), (3, 2), (1, 0)), (6,))))
def unary_of_repeated(b, x, d, t, result_shape):
    """f(reshape(broadcast_in_dim(x, d))) = reshape(broadcast_in_dim(f(x), d))"""
    if size(shape_of(x)) >= size(result_shape):
        return None
    return ops.reshape(ops.broadcast_in_dim(t.build((x,), shape_of(x)), shape_of(b), d), result_shape)


@rewrite(one_of(BINARY, REPEATED, c, template="t"), example=lambda a: ops.subtract(_repeats(v := a(3, 2)),
                                                                                   ops.splat(3, _repeats(v))))
def pointwise_of_repeated_and_splat(b, x, d, c, t, result_shape):
    """f(reshape(broadcast_in_dim(x, d)), c) = reshape(broadcast_in_dim(f(x, c), d))"""
    if size(shape_of(x)) >= size(result_shape):
        return None
    less = t.build((x, ops.constant(c, c.dtype, shape_of(x))), shape_of(x))
    return ops.reshape(ops.broadcast_in_dim(less, shape_of(b), d), result_shape)


# ---- broadcast_in_dim ----------------------------------------------------------------------------------------------

@rewrite(match.broadcast_in_dim(x, broadcast_dimensions=d),
         example=(lambda a: ops.broadcast_in_dim(a(3), (1, 3), (1,)), lambda a: ops.broadcast_in_dim(a(), (1, 1), ()),
                  lambda a: _same_type("stablehlo.broadcast_in_dim", a(2, 3),
                                       broadcast_dimensions=ops.attr.integers((0, 1)))),
         counter=(lambda a: ops.broadcast_in_dim(a(3), (2, 3), (1,)),
                  lambda a: ops.broadcast_in_dim(a(3, 3), (3, 3), (1, 0))), by_types=True)
def broadcast_is_reshape(x, d, result_shape):
    """broadcast_in_dim(x, d) = reshape(x) where nothing is repeated or moved"""
    same = size(shape_of(x)) == size(result_shape) and list(d) == sorted(d)
    return ops.reshape(x, result_shape) if same else None


@rewrite(match.broadcast_in_dim(x, broadcast_dimensions=d),
         example=lambda a: ops.broadcast_in_dim(a(3, 2), (2, 1, 3), (2, 0)),
         counter=lambda a: ops.broadcast_in_dim(a(3, 1), (2, 3), (1, 0)), by_types=True)
def broadcast_is_transpose(x, d, result_shape):
    """broadcast_in_dim(x, d) = reshape(transpose(x)) where nothing is repeated"""
    if size(shape_of(x)) != size(result_shape) or list(d) == sorted(d):
        return None
    return ops.reshape(ops.transpose(x, sorted(range(len(d)), key=lambda i: d[i])), result_shape)


@rewrite(match.broadcast_in_dim(named("b", match.iota(iota_dimension=e)), broadcast_dimensions=d),
         example=lambda a: ops.broadcast_in_dim(ops.iota((3,), a.dtype, 0), (2, 3), (1,)),
         counter=lambda a: ops.broadcast_in_dim(ops.iota((1,), a.dtype, 0), (2, 3), (1,)))
def broadcast_of_iota(b, e, d, result_shape, result_dtype):
    """broadcast_in_dim(iota(e), d) = iota(d[e])"""
    return ops.iota(result_shape, result_dtype, d[e]) if shape_of(b)[e] == result_shape[d[e]] else None


# ---- pad -----------------------------------------------------------------------------------------------------------

def _box(start: int, length: int, shape: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """For each dimension, (elements before, own, elements after) of some that follow one another in row-major order,
    where they are a box."""
    if not shape:
        return []
    each = size(shape[1:])
    first, last = start // each, (start + length - 1) // each
    if first == last:
        inner = _box(start - first * each, length, shape[1:])
    else:
        inner = [(0, n, 0) for n in shape[1:]] if start % each == 0 and length % each == 0 else None
    return None if inner is None else [(first, last - first + 1, shape[0] - last - 1), *inner]


def _padded(a, low, high, result, interior=0):
    return ops.reshape(ops.pad(a(4), a(), (low,), (high,), (interior,)), result)


@rewrite(match.reshape(match.pad(x, y, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)),
         example=(lambda a: _padded(a, 0, 14, (3, 6)), lambda a: _padded(a, 7, 7, (3, 1, 6)),
                  lambda a: _padded(a, 4, 4, (6, 2)), lambda a: _padded(a, 2, 6, (2, 3, 2))),
         counter=(lambda a: _padded(a, 3, 11, (3, 6)), lambda a: _padded(a, 0, 5, (3, 4), 1),
                  lambda a: _padded(a, 3, -1, (3, 2)), lambda a: _padded(a, 1, 1, (3, 2)),
                  lambda a: _padded(a, 0, 1, (5, 1))))
def reshape_of_padded_vector(x, y, low, high, interior, result_shape):
    """reshape(pad(x)) of a vector that becomes a box = pad(reshape(x)); what stays a vector is for the chains"""
    if len(shape_of(x)) != 1 or interior != (0,) or min(*low, *high) < 0 or not size(shape_of(x)) \
            or sum(n > 1 for n in result_shape) < 2:
        return None
    found = _box(low[0], size(shape_of(x)), result_shape)
    if found is None:
        return None
    before, extents, after = zip(*found, strict=True)
    return ops.pad(ops.reshape(x, extents), y, before, after)


# ---- reverse -------------------------------------------------------------------------------------------------------

@rewrite(match.reverse(x, dimensions=d), example=lambda a: ops.reverse(a(1, 3), (0, 1)),
         counter=lambda a: ops.reverse(a(2, 3), (0, 1)))
def reverse_of_unit_dimension(x, d):
    """reverse along a dimension of extent 1 does nothing"""
    extents = shape_of(x)
    kept = tuple(i for i in d if extents[i] > 1)
    return ops.reverse(x, kept) if kept != d else None


@rewrite(match.reverse(once(one_of(POINTWISE, rest("xs"), template="t")), dimensions=d),
         example=lambda a: ops.reverse(ops.add(a(2, 3), ops.reverse(a(2, 3), (1,))), (1,)),
         counter=lambda a: ops.reverse(ops.add(a(2, 3), a(2, 3)), (1,)))
def reverse_of_pointwise(xs, t, d, result_shape):
    """reverse(f(x, y)) = f(reverse(x), reverse(y)) where all but one operand absorb the reversal"""
    if not _free_to_move(xs, "stablehlo.reverse"):
        return None
    return _over_operands(t, xs, lambda v: ops.reverse(v, d), result_shape)
