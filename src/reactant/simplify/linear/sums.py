"""Sums of products, of multiples and of parts: what is summed anyway is summed before it is multiplied or put together.

The sum of a product of matrices over its rows is the product of the sums of the rows, and over the batch it is one
product over more terms: a chain of products with ones, associated anew.
"""
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, dot_dimension_numbers
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, once, one_of, rewrite, variables
from reactant.simplify.facts.contractions import free_dimensions
from reactant.simplify.facts.indexmaps import without
from reactant.simplify.linear.reduction import IDEMPOTENT, is_neutral, reduced, understood

x, y, v, d, p, q, at = variables("x y v d p q at")
LEAST = 16
"""Smallest product of matrices of which the sum is looked at."""
ELEMENTS = 2_048
"""Fewest elements of parts that are summed apart, not put together first."""


# ---- sums of products of matrices ----------------------------------------------------------------------------------

def _layout(q: DotDimensions, x: ir.Value, y: ir.Value) -> list[tuple[int | None, int | None]]:
    """For each dimension of a product, the dimension of the left and of the right factor that it is."""
    free = [free_dimensions(q, side, len(shape_of(v))) for side, v in enumerate((x, y))]
    return [*zip(*q.batching_dims, strict=True), *((i, None) for i in free[0]), *((None, i) for i in free[1])]


_SUMMED = reduced(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=q, template="s")))


@rewrite(_SUMMED, dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.dot_general(a(6, 7, dtype="int32"), a(7, 8, dtype="int32"),
                                                       contracting_dims=((1,), (0,))), 0, (0,), "add"),
                  lambda a: ops.reduce(ops.dot_general(a(3, 6, 7), a(3, 7, 8), contracting_dims=((2,), (1,)),
                                                       batching_dims=((0,), (0,))), ops.constant(0, a.dtype), (0,),
                                       "add")),
         counter=(lambda a: ops.reduce(ops.dot_general(a(6, 7), a(7, 8), contracting_dims=((1,), (0,))),
                                       a(), (0,), "add"),
                  lambda a: ops.reduce(ops.dot_general(a(6, 7), a(7, 8), contracting_dims=((1,), (0,))),
                                       ops.constant(0, a.dtype), (0,), "add" if a.dtype.kind == "f" else "maximum")))
def sum_of_dot_general(x, y, q, s, v, d, t, result_shape, result_dtype):
    """sum(x @ y) over the batch = one product over more terms; of integers also over rows: sum(x) @ y, x @ sum(y)"""
    batch = range(len(q.batching_dims[0]))
    if result_dtype.kind not in "iu" and any(k not in batch for k in d):
        return None
    return summed_factors(x, y, q, s, v, d, t, result_shape, result_dtype)


@rewrite(_SUMMED, dtypes="inexact", changes="rounding", assumes="finite",
         example=(lambda a: ops.reduce(ops.dot_general(a(6, 7), a(7, 8), contracting_dims=((1,), (0,))),
                                       ops.constant(0, a.dtype), (0,), "add"),
                  lambda a: ops.reduce(ops.dot_general(a(3, 6, 7), a(3, 7, 8), contracting_dims=((2,), (1,)),
                                                       batching_dims=((0,), (0,))), ops.constant(0, a.dtype), (0, 1, 2),
                                       "add")),
         counter=lambda a: ops.reduce(ops.dot_general(a(6, 7), a(7, 8), contracting_dims=((1,), (0,))),
                                      ops.constant(0, a.dtype), (0,), "maximum"))
def sum_of_float_products(x, y, q, s, v, d, t, result_shape, result_dtype):
    """sum(x @ y) over rows = sum(x) @ y, over columns = x @ sum(y)"""
    return summed_factors(x, y, q, s, v, d, t, result_shape, result_dtype)


def summed_factors(x, y, q, s, v, d, t, result_shape, result_dtype):
    """The sum of a product of matrices, from the sums of its factors."""
    if t.body != "add" or not is_neutral("add", v) or not dtype_of(x) == dtype_of(y) == result_dtype \
            or any(key == "algorithm" for key, _ in s.attributes) or 0 in shape_of(x) or 0 in shape_of(y):
        return None
    layout = _layout(q, x, y)
    if size([shape_of(x)[i] if j is None else shape_of(y)[j] for i, j in layout]) < LEAST:
        return None
    summed = [layout[k] for k in d]
    factors, gone = [], []
    for side, factor in enumerate((x, y)):
        # what only this factor has is summed now; what both have, as part of the product
        gone.append([pair[side] for pair in summed if pair[1 - side] is None])
        factors.append(ops.reduce(factor, v, gone[side], "add") if gone[side] else factor)

    def place(side: int, k: int | None) -> int:
        assert k is not None
        return k - sum(g < k for g in gone[side])

    both = [pair for pair in summed if None not in pair]
    batch = [pair for pair in layout[:len(q.batching_dims[0])] if pair not in both]
    contracted = [*zip(*q.contracting_dims, strict=True), *both]
    numbers = [tuple([place(side, pair[side]) for pair in pairs] for side in (0, 1)) for pairs in (batch, contracted)]
    return s.build(factors, result_shape, dot_dimension_numbers=dot_dimension_numbers(*numbers))


# ---- sums of multiples ---------------------------------------------------------------------------------------------

def _constant_along(p: Sequence[int], value: ir.Value, d: Sequence[int]) -> list[int]:
    """Those of some dimensions along which a broadcast of a value is the same."""
    extents = dict(zip(p, shape_of(value), strict=True))
    return [k for k in d if extents.get(k, 1) == 1]


def _spread(value: ir.Value, p: Sequence[int], d: Sequence[int], shape: Sequence[int]) -> ir.Value:
    """What a broadcast to a shape is where dimensions along which it is constant are gone."""
    kept = [k for k in p if k not in d]
    squeezed = ops.reshape(value, [n for k, n in zip(p, shape_of(value), strict=True) if k not in d])
    return ops.broadcast_in_dim(squeezed, without(shape, set(d)), [k - sum(g < k for g in d) for k in kept])


def _first_sum(x: ir.Value, y: ir.Value, p: Sequence[int], d: Sequence[int], body: str | None,
               v: ir.Value) -> list[int]:
    """The dimensions that x can be summed over before it is multiplied by a broadcast of y."""
    if body != "add" or not is_neutral("add", v):
        return []
    idle = _constant_along(p, y, d)
    return idle if size([shape_of(x)[k] for k in idle]) > 1 else []


def _rest(product: ir.Value, d: Sequence[int], gone: Sequence[int], v: ir.Value) -> ir.Value:
    remaining = [k - sum(g < k for g in gone) for k in d if k not in gone]
    return ops.reduce(product, v, remaining, "add") if remaining else product


@rewrite(reduced(once(one_of(("stablehlo.multiply", "stablehlo.divide"), x,
                             match.broadcast_in_dim(y, broadcast_dimensions=p), template="s"))),
         dtypes="float", changes="rounding", assumes="finite",
         example=(lambda a: ops.reduce(ops.multiply(a(6, 7), ops.broadcast_in_dim(a(6), (6, 7), (0,))),
                                       ops.constant(0, a.dtype), (1,), "add"),
                  lambda a: ops.reduce(ops.multiply(a(6, 7), ops.broadcast_in_dim(a(6), (6, 7), (0,))),
                                       ops.constant(0, a.dtype), (0, 1), "add"),
                  lambda a: ops.reduce(ops.divide(a(6, 7), ops.broadcast_in_dim(a(), (6, 7), ())),
                                       ops.constant(0, a.dtype), (1, 0), "add")),
         counter=lambda a: ops.reduce(ops.multiply(a(6, 7), ops.broadcast_in_dim(a(7), (6, 7), (1,))),
                                      ops.constant(0, a.dtype), (1,), "add"))
def sum_of_multiple(x, y, p, s, v, d, t):
    """sum(x * c) = sum(x) * c, sum(x / c) = sum(x) / c for c that does not change along the sum"""
    gone = _first_sum(x, y, p, d, t.body, v)
    if not gone:
        return None
    total, factor = ops.reduce(x, v, gone, "add"), _spread(y, p, gone, shape_of(x))
    return _rest(s.build((total, factor), shape_of(total)), d, gone, v)


@rewrite(reduced(once(match.multiply(match.broadcast_in_dim(y, broadcast_dimensions=p), x))),
         dtypes="float", changes="rounding", assumes="finite",
         example=(lambda a: ops.reduce(ops.multiply(ops.broadcast_in_dim(a(6), (6, 7), (0,)),
                                                    ops.broadcast_in_dim(a(7), (6, 7), (1,))),
                                       ops.constant(0, a.dtype), (1,), "add")),
         counter=lambda a: ops.reduce(ops.multiply(ops.broadcast_in_dim(a(7), (6, 7), (1,)), a(6, 7)),
                                      ops.constant(0, a.dtype), (1,), "add"))
def sum_of_multiple_on_the_left(y, p, x, v, d, t):
    """sum(c * x) = c * sum(x) for c that does not change along the sum"""
    gone = _first_sum(x, y, p, d, t.body, v)
    if not gone:
        return None
    return _rest(ops.multiply(_spread(y, p, gone, shape_of(x)), ops.reduce(x, v, gone, "add")), d, gone, v)


@rewrite(reduced(once(one_of(("stablehlo.add", "stablehlo.subtract"), x,
                             match.broadcast_in_dim(y, broadcast_dimensions=p), template="s"))),
         dtypes="float", changes="association", assumes="finite",
         example=lambda a: ops.reduce(ops.add(a(6, 7), ops.broadcast_in_dim(a(6), (6, 7), (0,))),
                                      ops.constant(0, a.dtype), (1,), "add"),
         counter=lambda a: ops.reduce(ops.add(a(6, 7), ops.broadcast_in_dim(a(7), (6, 7), (1,))),
                                      ops.constant(0, a.dtype), (1,), "add"))
def sum_of_shifted(x, y, p, s, v, d, t, result_shape):
    """sum(x + c) = sum(x) + n c for c that does not change along the sum"""
    count = size([shape_of(x)[k] for k in d])
    if t.body != "add" or not is_neutral("add", v) or len(_constant_along(p, y, d)) < len(d) or count < 2:
        return None
    offset = _spread(y, p, d, shape_of(x))
    return s.build((ops.reduce(x, v, d, "add"), ops.multiply(offset, count)), result_shape)


@rewrite(reduced(once(one_of(("stablehlo.maximum", "stablehlo.minimum"), x,
                             match.broadcast_in_dim(y, broadcast_dimensions=p), template="s"))),
         dtypes="real",
         example=(lambda a: ops.reduce(ops.maximum(a(6, 7), ops.broadcast_in_dim(a(6), (6, 7), (0,))),
                                       ops.constant(-3, a.dtype), (1,), "maximum"),
                  lambda a: ops.reduce(ops.minimum(a(6, 7, dtype="float32"),
                                                   ops.broadcast_in_dim(a(dtype="float32"), (6, 7), ())),
                                       a(dtype="float32"), (0,), "minimum")),
         counter=lambda a: ops.reduce(ops.maximum(a(6, 7), ops.broadcast_in_dim(a(7), (6, 7), (1,))),
                                      ops.constant(0, a.dtype), (1,), "maximum"))
def extreme_of_extremes(x, y, p, s, v, d, t, result_shape):
    """max(max(x, c)) = max(max(x), c) for c that does not change along the extreme"""
    if s.name != f"stablehlo.{t.body}" or len(_constant_along(p, y, d)) < len(d) \
            or 0 in shape_of(x) or size(shape_of(x)) == size(result_shape):
        return None
    return s.build((ops.reduce(x, v, d, t.body), _spread(y, p, d, shape_of(x))), result_shape)


@rewrite(reduced(match.broadcast_in_dim(x, broadcast_dimensions=p)), dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.broadcast_in_dim(a(6), (6, 7), (0,)), a(), (0,), "add"),
                  lambda a: ops.reduce(ops.broadcast_in_dim(a(3, 6), (6, 7, 3), (2, 0)), a(), (0,), "multiply")),
         counter=(lambda a: ops.reduce(ops.broadcast_in_dim(a(6), (6, 7), (0,)), a(), (1,), "add"),
                  lambda a: ops.reduce(ops.broadcast_in_dim(a(6), (6, 7), (0,)), a(), (0, 1), "add")))
def reduce_of_repeated(x, p, v, d, t, result_shape):
    """reduce(broadcast_in_dim(x)) = broadcast_in_dim(reduce(x)) where only dimensions that remain are new"""
    extents = dict(zip(p, shape_of(x), strict=True))
    shape = [extents.get(k, 1) for k in range(len(d) + len(result_shape))]
    outer = iter(result_shape)
    if not understood(t) or any(k not in extents for k in d) or not all(
            n == 1 or n == m for n, m in zip((shape[k] for k in range(len(shape)) if k not in d), outer, strict=True)):
        return None
    kept = [k for k in p if k not in d]
    if size([extents[k] for k in kept]) == size(result_shape):
        return None
    total = ops.reduce(x, v, [p.index(k) for k in d], t.body)
    return ops.broadcast_in_dim(total, result_shape, [k - sum(g < k for g in d) for k in kept])


# ---- sums of parts -------------------------------------------------------------------------------------------------

@rewrite(reduced(once(one_of(("stablehlo.concatenate",), x, y, dimension=at))), dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(ops.concatenate([a(60, 17), a(60, 18)], 1), ops.constant(0, a.dtype), (1,),
                                       "add"),
                  lambda a: ops.reduce(ops.concatenate([a(99, 19), a(12, 19)], 0), a(), (1,), "multiply"),
                  lambda a: ops.reduce(ops.concatenate([a(99, 19, dtype="int32"), a(12, 19, dtype="int32")], 0),
                                       a(dtype="int32"), (0, 1), "maximum")),
         counter=(lambda a: ops.reduce(ops.concatenate([a(60, 17), a(60, 18)], 1), a(), (1,), "add"),
                  lambda a: [w := ops.concatenate([a(60, 17), a(60, 18)], 1),
                             ops.reduce(w, ops.constant(0, a.dtype), (1,), "add")]))
def reduce_of_concatenate(x, y, at, v, d, t):
    """sum(concatenate(x, y)) = sum(x) + sum(y); along other dimensions = concatenate(sum(x), sum(y))"""
    if size(shape_of(x)) + size(shape_of(y)) < ELEMENTS or not understood(t) or at in d and not (
            is_neutral(t.body, v) or t.body in IDEMPOTENT):
        return None
    parts = [ops.reduce(part, v, d, t.body) for part in (x, y)]
    if at in d:
        return ops.create(f"stablehlo.{t.body}", [parts[0].type], parts).result
    return ops.concatenate(parts, at - sum(k < at for k in d))
