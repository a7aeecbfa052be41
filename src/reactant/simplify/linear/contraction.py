"""dot_general: transposes and unit dimensions in front of it go into its dimension numbers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, dot_dimension_numbers
from reactant.ir.types import Shape, shape_of, size
from reactant.rewrite import match, once, one_of, rewrite, splat, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.facts.contractions import free_dimensions

x, y, z, d, p, q = variables("x y z d p q")


def dot(left: Any, right: Any) -> Any:
    """The pattern of a dot_general."""
    return one_of(("stablehlo.dot_general",), left, right, dot_dimension_numbers=d, template="t")


def product_shape(x: ir.Value, y: ir.Value, d: DotDimensions) -> Shape:
    """The shape of a dot_general: dimensions of the batch, free ones of x, free ones of y."""
    batch = [shape_of(x)[i] for i in d.batching_dims[0]]
    left, right = ([shape_of(v)[i] for i in free_dimensions(d, side, len(shape_of(v)))]
                   for side, v in enumerate((x, y)))
    return (*batch, *left, *right)


def product(t: Template, x: ir.Value, y: ir.Value, k: int, m: int,
            batch: tuple[Sequence[int], Sequence[int]] = ((), ())) -> ir.Value:
    """x and y contracted over dimension k of x and m of y, as accurate as the template."""
    d = DotDimensions(((k,), (m,)), (tuple(batch[0]), tuple(batch[1])))
    return t.build((x, y), product_shape(x, y, d), dot_dimension_numbers=dot_dimension_numbers(
        d.batching_dims, d.contracting_dims))


def _numbers(d: DotDimensions, side: int, place: Sequence[int]) -> ir.Attribute:
    """Dimension numbers after one operand's dimension i has become `place[i]`."""
    def moved(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Sequence[int], Sequence[int]]:
        new = [place[i] for i in pair[side]]
        return (new, pair[1]) if side == 0 else (pair[0], new)
    return dot_dimension_numbers(moved(d.batching_dims), moved(d.contracting_dims))


@rewrite(dot(match.transpose(x, permutation=p), y), dtypes="number",
         example=(lambda a: ops.dot_general(ops.transpose(a(3, 4), (1, 0)), a(3, 5), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.transpose(a(3, 2, 4), (1, 2, 0)), a(2, 3, 5),
                                            contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(ops.transpose(a(2, 3, 4), (1, 0, 2)), a(4, 5),
                                           contracting_dims=((2,), (0,))))
def dot_of_transpose_on_left(x, p, y, d, t, result_shape):
    """dot_general(transpose(x), y) = dot_general(x, y) over other dimensions, where those that stay keep their order"""
    stay = [p[i] for i in free_dimensions(d, 0, len(p))]
    if stay != sorted(stay):
        return None
    return t.build((x, y), result_shape, dot_dimension_numbers=_numbers(d, 0, p))


@rewrite(dot(x, match.transpose(y, permutation=p)), dtypes="number",
         example=lambda a: ops.dot_general(a(4, 3), ops.transpose(a(5, 3), (1, 0)), contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(a(5, 4), ops.transpose(a(2, 3, 4), (1, 0, 2)),
                                           contracting_dims=((1,), (2,))))
def dot_of_transpose_on_right(x, y, p, d, t, result_shape):
    """dot_general(x, transpose(y)) = dot_general(x, y) over other dimensions, where those that stay keep their order"""
    stay = [p[i] for i in free_dimensions(d, 1, len(p))]
    if stay != sorted(stay):
        return None
    return t.build((x, y), result_shape, dot_dimension_numbers=_numbers(d, 1, p))


@rewrite(dot(match.negate(x), match.negate(y)), dtypes="number",
         example=lambda a: ops.dot_general(ops.negate(a(4, 3)), ops.negate(a(3, 2)), contracting_dims=((1,), (0,))))
def dot_of_negates(x, y, t, d, result_shape):
    """dot_general(-x, -y) = dot_general(x, y)"""
    return t.build((x, y), result_shape)


@rewrite(dot(match.reverse(x, dimensions=p), match.reverse(y, dimensions=q)), dtypes="number", changes="rounding",
         example=(lambda a: ops.dot_general(ops.reverse(a(4, 3), (1,)), ops.reverse(a(3, 2), (0,)),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.reverse(a(4, 3, 5), (1, 2)), ops.reverse(a(3, 2, 5), (2, 0)),
                                            contracting_dims=((1, 2), (0, 2)))),
         counter=(lambda a: ops.dot_general(ops.reverse(a(4, 3), (1,)), ops.reverse(a(3, 2), (1,)),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.reverse(a(4, 3), (0, 1)), ops.reverse(a(3, 2), (0,)),
                                            contracting_dims=((1,), (0,)))))
def dot_of_reverses(x, p, y, q, d, t, result_shape):
    """reverse(x) @ reverse(y) = x @ y where the terms of the sums are reversed in both"""
    contracted = dict(zip(*d.contracting_dims, strict=True))
    if any(k not in contracted for k in p) or sorted(contracted[k] for k in p) != sorted(q):
        return None
    return t.build((x, y), result_shape)


@rewrite(dot(x, y), dtypes="number", changes="rounding",
         example=(lambda a: ops.dot_general(a(4), a(3), contracting_dims=((), ())),
                  lambda a: ops.dot_general(a(4, 1), a(1, 3), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(5, 4), a(5), contracting_dims=((), ()), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(a(4, 2), a(2, 3), contracting_dims=((1,), (0,))), by_types=True)
def dot_over_nothing_is_product(x, y, d, t, result_shape, result_dtype):
    """dot_general(x, y) that sums over one term = broadcast(x) broadcast(y)"""
    left = shape_of(x)
    for i in d.contracting_dims[0]:
        if left[i] != 1:
            return None
    shapes = left, shape_of(y)
    if ops.dtype_of(x) != result_dtype \
            or ops.dtype_of(y) != result_dtype or any(key == "algorithm" for key, _ in t.attributes):
        return None
    batch = len(d.batching_dims[0])
    parts, offset = [], batch
    for side, operand in enumerate((x, y)):
        free = free_dimensions(d, side, len(shapes[side]))
        place = dict(zip(d.batching_dims[side], range(batch), strict=True))
        place |= {i: offset + j for j, i in enumerate(free)}
        offset += len(free)
        kept = [i for i in range(len(shapes[side])) if i in place]
        squeezed = ops.reshape(operand, [shapes[side][i] for i in kept])
        parts.append(ops.broadcast_in_dim(squeezed, result_shape, [place[i] for i in kept]))
    return ops.multiply(*parts)


@rewrite(dot(x, y), dtypes="number", by_types=True,
         example=lambda a: ops.dot_general(a(4, 0), a(0, 3), contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(a(4, 2), a(2, 3), contracting_dims=((1,), (0,))))
def dot_over_no_terms_is_zero(x, y, d, t):
    """dot_general(x, y) that sums over no term = 0"""
    extents = shape_of(x)
    return 0 if any(extents[i] == 0 for i in d.contracting_dims[0]) else None


@rewrite(dot(match.multiply(x, splat("c")), y), dtypes="inexact", changes="association", assumes="finite",
         example=lambda a: ops.dot_general(ops.multiply(a(4, 3), 3), a(3, 2), contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(ops.multiply(a(4, 3), 3), a(3, 20), contracting_dims=((1,), (0,))))
def dot_of_scaled_left(x, c, y, d, t, result_shape):
    """dot_general(c x, y) = c dot_general(x, y) where the product is smaller than x"""
    if size(result_shape) >= size(shape_of(x)):
        return None
    return ops.multiply(t.build((x, y), result_shape), ops.constant(c, c.dtype, result_shape))


@rewrite(dot(x, match.multiply(y, splat("c"))), dtypes="inexact", changes="association", assumes="finite",
         example=lambda a: ops.dot_general(a(2, 3), ops.multiply(a(3, 4), 3), contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(a(20, 3), ops.multiply(a(3, 2), 3), contracting_dims=((1,), (0,))))
def dot_of_scaled_right(x, y, c, d, t, result_shape):
    """dot_general(x, c y) = c dot_general(x, y) where the product is smaller than y"""
    if size(result_shape) >= size(shape_of(y)):
        return None
    return ops.multiply(t.build((x, y), result_shape), ops.constant(c, c.dtype, result_shape))


@rewrite(match.transpose(once(dot(x, y)), permutation=p), dtypes="number", changes="rounding",
         example=(lambda a: ops.transpose(ops.dot_general(a(4, 3), a(3, 5), contracting_dims=((1,), (0,))), (1, 0)),
                  lambda a: ops.transpose(ops.dot_general(a(2, 4, 3), a(2, 3, 5), contracting_dims=((2,), (1,)),
                                                          batching_dims=((0,), (0,))), (0, 2, 1))),
         counter=(lambda a: ops.transpose(ops.dot_general(a(2, 4, 3), a(2, 3, 5), contracting_dims=((2,), (1,)),
                                                          batching_dims=((0,), (0,))), (1, 0, 2)),
                  lambda a: [v := ops.dot_general(a(4, 3), a(3, 5), contracting_dims=((1,), (0,))),
                             ops.transpose(v, (1, 0))]))
def transpose_of_dot_general(x, y, d, t, p, result_shape):
    """transpose(dot_general(x, y)) = dot_general(y, x) where what stays of y comes to stand before what stays of x"""
    batch = len(d.batching_dims[0])
    left, right = (len(free_dimensions(d, side, len(shape_of(v)))) for side, v in ((0, x), (1, y)))
    swapped = (*range(batch), *range(batch + left, batch + left + right), *range(batch, batch + left))
    if p != swapped:
        return None
    attributes = dict(t.attributes)
    precision = attributes.get("precision_config")
    if "algorithm" in attributes or precision is not None and len(set(precision)) > 1:
        return None
    return t.build((y, x), result_shape, dot_dimension_numbers=dot_dimension_numbers(
        d.batching_dims[::-1], d.contracting_dims[::-1]))


def _turned(x: ir.Value, y: ir.Value, d: DotDimensions, t: Template, batched: Sequence[int]
            ) -> tuple[ir.Value, tuple[int, ...]] | None:
    """x . y as y . x, and the place of each dimension there, where what stays of y is a batch to the reader and what
    stays of x is not: it reads numbers that lie side by side then."""
    batch = len(d.batching_dims[0])
    left, right = (len(free_dimensions(d, side, len(shape_of(v)))) for side, v in ((0, x), (1, y)))
    whole, attributes = product_shape(x, y, d), dict(t.attributes)
    ours, theirs = set(range(batch, batch + left)), set(range(batch + left, batch + left + right))
    precision = attributes.get("precision_config")
    if size([whole[k] for k in ours]) < 2 or size([whole[k] for k in theirs]) < 2 or not theirs <= {*batched} \
            or ours & {*batched} or "algorithm" in attributes or precision is not None and len(set(precision)) > 1:
        return None
    made = t.build((y, x), (*whole[:batch], *whole[batch + left:], *whole[batch:batch + left]),
                   dot_dimension_numbers=dot_dimension_numbers(d.batching_dims[::-1], d.contracting_dims[::-1]))
    return made, (*range(batch), *range(batch + right, batch + right + left), *range(batch, batch + right))


def _weighted(a: Any, first: bool) -> ir.Value:
    """Sums over experts of (expert, output, row) with weights (row, expert), for examples."""
    inner = ops.dot_general(a(3, 4, 5), a(6, 3, 4), contracting_dims=((1,), (2,)), batching_dims=((0,), (1,)))
    if first:
        return ops.dot_general(inner, a(6, 3), contracting_dims=((0,), (1,)), batching_dims=((2,), (0,)))
    return ops.dot_general(a(6, 3), inner, contracting_dims=((1,), (0,)), batching_dims=((0,), (2,)))


@rewrite(dot(z, once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=p, template="s"))), dtypes="number",
         changes="rounding", example=lambda a: _weighted(a, False),
         counter=lambda a: ops.dot_general(a(6, 3), ops.dot_general(a(3, 4), a(4, 6), contracting_dims=((1,), (0,))),
                                           contracting_dims=((1,), (0,))))
def batched_product_of_turned_product(z, x, y, p, s, d, t, result_shape):
    """z . (x . y) batched over what stays of y = z . (y . x), where that lies in rows"""
    found = _turned(x, y, p, s, d.batching_dims[1])
    return found and t.build((z, found[0]), result_shape, dot_dimension_numbers=_numbers(d, 1, found[1]))


@rewrite(dot(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=p, template="s")), z), dtypes="number",
         changes="rounding", example=lambda a: _weighted(a, True))
def turned_product_in_batched_product(x, y, p, s, z, d, t, result_shape):
    """(x . y) . z batched over what stays of y = (y . x) . z, where that lies in rows"""
    found = _turned(x, y, p, s, d.batching_dims[0])
    return found and t.build((found[0], z), result_shape, dot_dimension_numbers=_numbers(d, 0, found[1]))
