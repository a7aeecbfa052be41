"""Products of matrices of which one has structure: repeated, scaled, symmetric, one-hot, banded, padded; their sums.

A product with zeros is NaN where the other factor is not finite. Where a rule leaves zeros out, it counts what is not
finite among what they met (`poisoned`), or it is one of those for finite numbers.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, dot_dimension_numbers
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, named, once, one_of, producer, rewrite, splat, variables
from reactant.simplify.facts.contents import is_splat
from reactant.simplify.facts.contractions import free_dimensions
from reactant.simplify.facts.evaluation import content_of
from reactant.simplify.linear.contraction import dot
from reactant.simplify.linear.structured import entries

x, y, z, d, e, p, q, v, w = variables("x y z d e p q v w")
LEAST = 16
"""Smallest side of a matrix for which bands are used."""
BANDS = 9
"""Most diagonals of a banded matrix."""
COVERED = 16
"""A banded matrix must have so many times the elements of what it multiplies: else reading it costs little."""


def _plain(d: DotDimensions, x: ir.Value, y: ir.Value) -> bool:
    """Whether a product is one of two matrices, or of a matrix and a vector, in whatever layout."""
    return not d.batching_dims[0] and len(d.contracting_dims[0]) == 1 and len(shape_of(x)) <= 2 \
        and len(shape_of(y)) <= 2 and dtype_of(x) == dtype_of(y)


# ---- batches that are none -----------------------------------------------------------------------------------------

@rewrite(dot(x, y), dtypes="number", by_types=True,
         example=(lambda a: ops.dot_general(a(1, 3, 4), a(1, 4, 5), contracting_dims=((2,), (1,)),
                                            batching_dims=((0,), (0,))),
                  lambda a: ops.dot_general(a(3, 1, 4, 2), a(3, 4, 1, 5), contracting_dims=((2,), (1,)),
                                            batching_dims=((0, 1), (0, 2)))),
         counter=lambda a: ops.dot_general(a(2, 3, 4), a(2, 4, 5), contracting_dims=((2,), (1,)),
                                           batching_dims=((0,), (0,))))
def product_of_one_batch(x, y, d, t, result_shape):
    """dot_general over a batch of one = dot_general without it"""
    batch = d.batching_dims
    ones = [i for i, k in enumerate(batch[0]) if shape_of(x)[k] == 1]
    if not ones:
        return None
    parts, numbers = [], []
    for side, operand in enumerate((x, y)):
        gone = {batch[side][i] for i in ones}
        kept = [k for k in range(len(shape_of(operand))) if k not in gone]
        parts.append(ops.reshape(operand, [shape_of(operand)[k] for k in kept]))
        numbers.append(([kept.index(k) for i, k in enumerate(batch[side]) if i not in ones],
                        [kept.index(k) for k in d.contracting_dims[side]]))
    shape = [n for i, n in enumerate(result_shape) if i not in ones]
    made = t.build(parts, shape, dot_dimension_numbers=dot_dimension_numbers(
        (numbers[0][0], numbers[1][0]), (numbers[0][1], numbers[1][1])))
    return ops.reshape(made, result_shape)


def _repeated_batch(v: ir.Value, p: Sequence[int], shape: Sequence[int], batch: Sequence[int]) -> list[int]:
    """Which of the batch dimensions a broadcast only repeats."""
    inner = dict(zip(p, shape_of(v), strict=True))
    return [i for i, k in enumerate(batch) if shape[k] > 1 and inner.get(k, 1) == 1]


@rewrite(dot(named("x", match.broadcast_in_dim(v, broadcast_dimensions=p)), y), dtypes="number", changes="rounding",
         example=(lambda a: ops.dot_general(ops.broadcast_in_dim(a(3, 4), (2, 3, 4), (1, 2)), a(2, 4, 5),
                                            contracting_dims=((2,), (1,)), batching_dims=((0,), (0,))),
                  lambda a: ops.dot_general(ops.broadcast_in_dim(a(4), (2, 4), (1,)), a(2, 4, 5),
                                            contracting_dims=((1,), (1,)), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(ops.broadcast_in_dim(a(2, 4), (2, 3, 4), (0, 2)), a(2, 4, 5),
                                           contracting_dims=((2,), (1,)), batching_dims=((0,), (0,))))
def product_with_one_matrix_for_all(x, v, p, y, d, t, result_shape):
    """a batch of products of one matrix with many = one product"""
    return _shared(v, p, shape_of(x), y, d, t, result_shape, 0)


@rewrite(dot(y, named("x", match.broadcast_in_dim(v, broadcast_dimensions=p))), dtypes="number", changes="rounding",
         example=lambda a: ops.dot_general(a(2, 3, 4), ops.broadcast_in_dim(a(4, 5), (2, 4, 5), (1, 2)),
                                           contracting_dims=((2,), (1,)), batching_dims=((0,), (0,))),
         counter=lambda a: ops.dot_general(a(2, 3, 4), ops.broadcast_in_dim(a(2, 4), (2, 4, 5), (0, 1)),
                                           contracting_dims=((2,), (1,)), batching_dims=((0,), (0,))))
def product_of_all_with_one_matrix(x, v, p, y, d, t, result_shape):
    """a batch of products of many matrices with one = one product"""
    return _shared(v, p, shape_of(x), y, d, t, result_shape, 1)


def _shared(v: ir.Value, p: Sequence[int], shape: Sequence[int], other: ir.Value, d: DotDimensions, t: Any,
            result_shape: Sequence[int], side: int) -> ir.Value | None:
    """The product in which the batch dimensions that one factor only repeats are free ones of the other factor."""
    batch = d.batching_dims
    gone = _repeated_batch(v, p, shape, batch[side])
    if not gone or len(shape_of(other)) == len(d.batching_dims[1 - side]) + len(d.contracting_dims[1 - side]) == 0:
        return None
    dropped = {batch[side][i] for i in gone}
    kept = [k for k in range(len(shape)) if k not in dropped]
    squeezed = ops.reshape(v, [n for k, n in zip(p, shape_of(v), strict=True) if k not in dropped])
    smaller = ops.broadcast_in_dim(squeezed, [shape[k] for k in kept], [kept.index(k) for k in p if k not in dropped])
    mine = ([kept.index(k) for i, k in enumerate(batch[side]) if i not in gone],
            [kept.index(k) for k in d.contracting_dims[side]])
    theirs = ([k for i, k in enumerate(batch[1 - side]) if i not in gone], list(d.contracting_dims[1 - side]))
    pair = (mine, theirs) if side == 0 else (theirs, mine)
    operands = (smaller, other) if side == 0 else (other, smaller)
    # names for the dimensions of the result: ("b", i) batch, ("m", k) mine, ("o", k) the other factor's
    free_mine = [k for k in range(len(shape)) if k not in {*batch[side], *d.contracting_dims[side]}]
    free_other = [k for k in range(len(shape_of(other))) if k not in {*batch[1 - side], *d.contracting_dims[1 - side]}]
    moved = {batch[1 - side][i]: i for i in gone}
    new_other = [("b", moved[k]) if k in moved else ("o", k) for k in range(len(shape_of(other)))
                 if k in moved or k in free_other]
    stay = [("b", i) for i in range(len(batch[side])) if i not in gone]
    mine_names = [("m", k) for k in free_mine]
    made_names = [*stay, *mine_names, *new_other] if side == 0 else [*stay, *new_other, *mine_names]
    wanted = [("b", i) for i in range(len(batch[side]))]
    wanted += [*mine_names, *(("o", k) for k in free_other)] if side == 0 \
        else [*(("o", k) for k in free_other), *mine_names]
    extents = dict(zip(wanted, result_shape, strict=True))
    made = t.build(operands, [extents[n] for n in made_names], dot_dimension_numbers=dot_dimension_numbers(
        (pair[0][0], pair[1][0]), (pair[0][1], pair[1][1])))
    return ops.transpose(made, [made_names.index(n) for n in wanted])


def _repeated_rows(v: ir.Value, p: Sequence[int], repeated: ir.Value, other: ir.Value, d: DotDimensions, t: Any,
                   result_shape: Sequence[int], side: int) -> ir.Value | None:
    """The product in which one factor does without the free dimensions that a broadcast only repeats."""
    shape, inner = shape_of(repeated), dict(zip(p, shape_of(v), strict=True))
    free = free_dimensions(d, side, len(shape))
    gone = [k for k in free if shape[k] > 1 and inner.get(k, 1) == 1]
    if not gone:
        return None
    kept = [k for k in range(len(shape)) if k not in gone]
    squeezed = ops.reshape(v, [n for k, n in zip(p, shape_of(v), strict=True) if k not in gone])
    smaller = ops.broadcast_in_dim(squeezed, [shape[k] for k in kept], [kept.index(k) for k in p if k not in gone])
    numbers = [(d.batching_dims[i], d.contracting_dims[i]) for i in (0, 1)]
    numbers[side] = tuple(tuple(map(kept.index, dims)) for dims in numbers[side])  # type: ignore[assignment]
    first = len(result_shape) - len(free) if side else len(d.batching_dims[0])
    stay = [i for i in range(len(result_shape)) if i - first not in {free.index(k) for k in gone}]
    made = t.build((smaller, other) if side == 0 else (other, smaller), [result_shape[i] for i in stay],
                   dot_dimension_numbers=dot_dimension_numbers(*zip(*numbers, strict=True)))
    return ops.broadcast_in_dim(made, result_shape, stay)


@rewrite(dot(named("x", match.broadcast_in_dim(v, broadcast_dimensions=p)), y), dtypes="number", changes="rounding",
         example=(lambda a: ops.dot_general(ops.broadcast_in_dim(a(3), (2, 3), (1,)), a(3, 4),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.broadcast_in_dim(a(2, 5, 3), (2, 5, 4, 3), (0, 1, 3)), a(2, 3, 4),
                                            contracting_dims=((3,), (1,)), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(ops.broadcast_in_dim(a(2), (2, 3), (0,)), a(3, 4),
                                           contracting_dims=((1,), (0,))))
def product_of_repeated_rows(x, v, p, y, d, t, result_shape):
    """broadcast(v) @ y = broadcast(v @ y) where rows are repeated"""
    return _repeated_rows(v, p, x, y, d, t, result_shape, 0)


@rewrite(dot(y, named("x", match.broadcast_in_dim(v, broadcast_dimensions=p))), dtypes="number", changes="rounding",
         example=(lambda a: ops.dot_general(a(4, 3), ops.broadcast_in_dim(a(3), (3, 5), (0,)),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(2, 4, 3), ops.broadcast_in_dim(a(2, 3, 1, 2), (2, 3, 5, 2), (0, 1, 2, 3)),
                                            contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(a(4, 3), ops.broadcast_in_dim(a(5), (3, 5), (1,)),
                                           contracting_dims=((1,), (0,))))
def product_with_repeated_columns(x, v, p, y, d, t, result_shape):
    """y @ broadcast(v) = broadcast(y @ v) where columns are repeated"""
    return _repeated_rows(v, p, x, y, d, t, result_shape, 1)


# ---- sums and multiples --------------------------------------------------------------------------------------------

def _sum_of_products(side: int) -> Any:
    left, right = (x, y), (x, z)
    if side == 1:
        left, right = (y, x), (z, x)
    inner = [once(one_of(("stablehlo.dot_general",), *pair, dot_dimension_numbers=n, template=m))
             for pair, n, m in ((left, d, "t"), (right, e, "s"))]
    return one_of(("stablehlo.add", "stablehlo.subtract"), *inner, template="o")


@rewrite(_sum_of_products(0), dtypes="float", changes="rounding", assumes="finite",
         example=lambda a: ops.add(ops.dot_general(w := a(3, 4), a(4, 5), contracting_dims=((1,), (0,))),
                                   ops.dot_general(w, a(4, 5), contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.add(ops.dot_general(w := a(4, 4), a(4, 4), contracting_dims=((1,), (0,))),
                                   ops.dot_general(w, a(4, 4), contracting_dims=((1,), (1,)))))
def products_with_one_left_factor(x, y, z, d, e, t, s, o, result_shape):
    """x @ y + x @ z = x @ (y + z)"""
    return _together(x, y, z, d, e, t, s, o, result_shape, 0)


@rewrite(_sum_of_products(1), dtypes="float", changes="rounding", assumes="finite",
         example=lambda a: ops.subtract(ops.dot_general(a(3, 4), w := a(4, 5), contracting_dims=((1,), (0,))),
                                        ops.dot_general(a(3, 4), w, contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.subtract(ops.dot_general(a(3, 4), a(4, 5), contracting_dims=((1,), (0,))),
                                        ops.dot_general(a(3, 4), a(4, 5), contracting_dims=((1,), (0,)))))
def products_with_one_right_factor(x, y, z, d, e, t, s, o, result_shape):
    """y @ x + z @ x = (y + z) @ x"""
    return _together(x, y, z, d, e, t, s, o, result_shape, 1)


@rewrite(_sum_of_products(0), dtypes="integer",
         example=lambda a: ops.add(ops.dot_general(w := a(3, 4), a(4, 5), contracting_dims=((1,), (0,))),
                                   ops.dot_general(w, a(4, 5), contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.add(ops.dot_general(w := a(4, 4), a(4, 4), contracting_dims=((1,), (0,))),
                                   ops.dot_general(w, a(4, 4), contracting_dims=((1,), (1,)))))
def integer_products_with_one_left_factor(x, y, z, d, e, t, s, o, result_shape):
    """x @ y + x @ z = x @ (y + z): integers wrap around in any order"""
    return _together(x, y, z, d, e, t, s, o, result_shape, 0)


@rewrite(_sum_of_products(1), dtypes="integer",
         example=lambda a: ops.subtract(ops.dot_general(a(3, 4), w := a(4, 5), contracting_dims=((1,), (0,))),
                                        ops.dot_general(a(3, 4), w, contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.subtract(ops.dot_general(a(3, 4), a(4, 5), contracting_dims=((1,), (0,))),
                                        ops.dot_general(a(3, 4), a(4, 5), contracting_dims=((1,), (0,)))))
def integer_products_with_one_right_factor(x, y, z, d, e, t, s, o, result_shape):
    """y @ x + z @ x = (y + z) @ x: integers wrap around in any order"""
    return _together(x, y, z, d, e, t, s, o, result_shape, 1)


def _together(x: ir.Value, y: ir.Value, z: ir.Value, d: DotDimensions, e: DotDimensions, t: Any, s: Any, o: Any,
              shape: Sequence[int], side: int) -> ir.Value | None:
    if d != e or shape_of(y) != shape_of(z) or dtype_of(y) != dtype_of(z) or y == z or t.dtype != dtype_of(y) \
            or dict(t.attributes) != dict(s.attributes) or size(shape_of(y)) > 2 * size(shape) * _depth(d, x, y, side):
        return None
    both = (ops.add if o.name == "stablehlo.add" else ops.subtract)(y, z)
    return t.build((x, both) if side == 0 else (both, x), shape)


def _depth(d: DotDimensions, x: ir.Value, y: ir.Value, side: int) -> int:
    return size([shape_of(x)[k] for k in d.contracting_dims[side]])


@rewrite(dot(x, splat("c")), dtypes="inexact", changes="rounding", assumes="finite",
         example=(lambda a: ops.dot_general(a(3, 4), ops.constant(2, a.dtype, (4, 5)), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(3, 4, 2), ops.constant(2, a.dtype, (3, 4)), contracting_dims=((1,), (1,)),
                                            batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(a(3, 4), a(4, 5), contracting_dims=((1,), (0,))))
def product_with_equal_numbers(x, c, d, t, result_shape, result_dtype):
    """x @ (c everywhere) = c times the sums of the rows of x"""
    if dtype_of(x) != result_dtype or not np.isfinite(c) or c == 0:
        return None
    total = ops.reduce(x, ops.constant(0, result_dtype), d.contracting_dims[0], "add")
    kept = [k for k in range(len(shape_of(x))) if k not in d.contracting_dims[0]]
    order = [*d.batching_dims[0], *free_dimensions(d, 0, len(shape_of(x)))]
    total = ops.transpose(total, [kept.index(k) for k in order])
    total = total if c == 1 else ops.multiply(total, ops.splat(c, total))
    return ops.broadcast_in_dim(total, result_shape, range(len(order)))


@rewrite(dot(once(match.multiply(x, match.broadcast_in_dim(v, broadcast_dimensions=p))), y), dtypes="inexact",
         changes="association", assumes="finite",
         example=(lambda a: ops.dot_general(ops.multiply(a(6, 8), ops.broadcast_in_dim(a(8), (6, 8), (1,))),
                                            a(8, 2), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.multiply(a(6, 8), ops.broadcast_in_dim(a(6), (6, 8), (0,))),
                                            a(8, 2), contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.dot_general(ops.multiply(a(3, 4), ops.broadcast_in_dim(a(4), (3, 4), (1,))), a(4, 9),
                                           contracting_dims=((1,), (0,))))
def product_with_scaled_matrix(x, v, p, y, d, t, result_shape, result_dtype):
    """(x * s) @ y = x @ (s[:, None] * y), (r[:, None] * x) @ y = r[:, None] * (x @ y), where that scales less"""
    if not _plain(d, x, y) or len(p) != 1 or dtype_of(x) != result_dtype or shape_of(v)[0] == 1:
        return None
    k, m = d.contracting_dims[0][0], d.contracting_dims[1][0]
    if p[0] == k:
        if size(shape_of(y)) >= size(shape_of(x)):
            return None
        return t.build((x, ops.multiply(y, ops.broadcast_in_dim(v, shape_of(y), (m,)))), result_shape)
    if size(result_shape) >= size(shape_of(x)):
        return None
    return ops.multiply(t.build((x, y), result_shape), ops.broadcast_in_dim(v, result_shape, (0,)))


@rewrite(dot(once(match.multiply(match.broadcast_in_dim(v, broadcast_dimensions=p),
                                 match.broadcast_in_dim(w, broadcast_dimensions=q))), y), dtypes="inexact",
         changes="rounding", assumes="finite",
         example=(lambda a: ops.dot_general(ops.multiply(ops.broadcast_in_dim(a(6), (6, 8), (0,)),
                                                         ops.broadcast_in_dim(a(8), (6, 8), (1,))), a(8, 2),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.multiply(ops.broadcast_in_dim(a(6), (6, 8), (0,)),
                                                         ops.broadcast_in_dim(a(8), (6, 8), (1,))), a(8),
                                            contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.dot_general(ops.multiply(ops.broadcast_in_dim(a(6), (6, 8), (0,)), a(6, 8)),
                                           a(8, 2), contracting_dims=((1,), (0,))))
def product_with_outer_product(v, p, w, q, y, d, t, result_shape, result_dtype):
    """(u v') @ y = u (v' @ y)"""
    if d.batching_dims[0] or len(d.contracting_dims[0]) != 1 or {tuple(p), tuple(q)} != {(0,), (1,)} \
            or len(shape_of(y)) > 2 or dtype_of(v) != result_dtype or dtype_of(y) != result_dtype \
            or shape_of(v)[0] == 1 or shape_of(w)[0] == 1:
        return None
    k, m = d.contracting_dims[0][0], d.contracting_dims[1][0]
    inner, outer = (v, w) if p[0] == k else (w, v)
    row = ops.dot_general(inner, y, contracting_dims=((0,), (m,)))
    return ops.multiply(ops.broadcast_in_dim(outer, result_shape, (0,)),
                        ops.broadcast_in_dim(row, result_shape, range(1, len(result_shape))))


@rewrite(match.slice(match.reshape(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=d,
                                               template="t"))), start_indices=p, limit_indices=q, strides=w),
         dtypes="number", changes="rounding",
         example=lambda a: ops.slice(ops.reshape(ops.dot_general(a(5, 3), a(3, 5), contracting_dims=((1,), (0,))),
                                                 (25,)), (0,), (25,), (6,)),
         counter=lambda a: ops.slice(ops.reshape(ops.dot_general(a(5, 3), a(3, 5), contracting_dims=((1,), (0,))),
                                                 (25,)), (0,), (25,), (5,)))
def strided_diagonal_of_product(x, y, d, t, p, q, w, result_shape, result_dtype):
    """(x @ y) read at 0, n + 1, 2 (n + 1), ... = sum(x * y.T, 1)"""
    if len(p) != 1 or not _plain(d, x, y) or len(shape_of(x)) != 2 or len(shape_of(y)) != 2 \
            or dtype_of(x) != result_dtype or any(key == "algorithm" for key, _ in t.attributes):
        return None
    rows, side = shape_of(x)[1 - d.contracting_dims[0][0]], shape_of(y)[1 - d.contracting_dims[1][0]]
    if rows != side or (p[0], w[0], result_shape) != (0, side + 1, (side,)):
        return None
    left = x if d.contracting_dims[0] == (1,) else ops.transpose(x, (1, 0))
    right = y if d.contracting_dims[1] == (1,) else ops.transpose(y, (1, 0))
    return ops.reduce(ops.multiply(left, right), ops.constant(0, result_dtype), (1,), "add")


# ---- symmetric matrices --------------------------------------------------------------------------------------------

def is_symmetric(value: ir.Value, depth: int = 6) -> bool:
    """Whether a square matrix equals its transpose, by how it is made (up to the rounding of products)."""
    shape, made = shape_of(value), producer(value)
    if len(shape) != 2 or shape[0] != shape[1] or made is None or not depth:
        return False
    word = made.name.removeprefix("stablehlo.")
    if word == "select" and entries(value) is not None:
        return True
    known = ops.constant_value(value)
    if known is not None and is_splat(known):
        return True
    if word in ("constant", "compare"):
        content = content_of(value, exact=True)
        return content is not None and bool((content == content.T).all())
    if word == "dot_general":
        left, right = made.operands
        d = made["dot_dimension_numbers"]
        return left == right and len(shape_of(left)) == 2 and not d.batching_dims[0] \
            and d.contracting_dims[0] == d.contracting_dims[1] and len(d.contracting_dims[0]) == 1 \
            and dtype_of(left).kind in "iuf"
    if word == "broadcast_in_dim":
        return size(shape_of(made.operands[0])) == 1
    if word in ("add", "multiply", "maximum", "minimum") and are_transposed(*made.operands):
        return True
    if made.name in ops.ELEMENTWISE and made.operands:
        return all(not shape_of(v) or is_symmetric(v, depth - 1) for v in made.operands)
    return word == "transpose" and is_symmetric(made.operands[0], depth - 1)


def are_transposed(left: ir.Value, right: ir.Value) -> bool:
    """Whether one value is written as the transpose of the other."""
    for one, other in ((left, right), (right, left)):
        made = producer(one)
        if made is not None and made.name == "stablehlo.transpose" and made.operands[0] == other:
            return True
    return False


@rewrite(match.transpose(x, permutation=p), dtypes="real", changes="rounding",
         example=(lambda a: ops.transpose(ops.dot_general(w := a(3, 4), w, contracting_dims=((1,), (1,))), (1, 0)),
                  lambda a: ops.transpose(ops.add(w := a(3, 3), ops.transpose(w, (1, 0))), (1, 0)),
                  lambda a: ops.transpose(ops.multiply(ops.dot_general(w := a(3, 4), w, contracting_dims=((1,), (1,))),
                                                       2), (1, 0))),
         counter=lambda a: ops.transpose(ops.dot_general(w := a(3, 3), w, contracting_dims=((1,), (0,))), (1, 0)))
def transpose_of_symmetric(x, p):
    """transpose(s) = s for symmetric s: x @ x.T, x + x.T, and what is computed of such elementwise"""
    return x if tuple(p) == (1, 0) and is_symmetric(x) else None


def _with_symmetric(a, left, right, side=3):
    """A product with s = w + w.T on the left, or on the right, for examples."""
    s = ops.add(v := a(side, side), ops.transpose(v, (1, 0)))
    return ops.dot_general(s, a(side, 4), contracting_dims=((left,), (0,))) if right is None else \
        ops.dot_general(a(4, side), s, contracting_dims=((1,), (right,)))


@rewrite(dot(x, y), dtypes="real", changes="rounding",
         example=(lambda a: _with_symmetric(a, 0, None), lambda a: _with_symmetric(a, None, 1),
                  lambda a: ops.dot_general(a(4, 3), ops.multiply(ops.add(v := a(3, 3), ops.transpose(
                      v, (1, 0))), 2), contracting_dims=((1,), (1,)))),
         counter=(lambda a: _with_symmetric(a, 1, None), lambda a: _with_symmetric(a, None, 0),
                  lambda a: ops.dot_general(a(3, 3), a(3, 3), contracting_dims=((0,), (1,)))))
def product_with_symmetric(x, y, d, t, result_shape):
    """s.T @ y = s @ y, y @ s.T = y @ s for symmetric s: one way to write it, so that equal products are one"""
    if not _plain(d, x, y):
        return None
    left, right = d.contracting_dims[0][0], d.contracting_dims[1][0]
    own = (1 if left == 0 and is_symmetric(x) else left, 0 if right == 1 and is_symmetric(y) else right)
    if own == (left, right):
        return None
    return t.build((x, y), result_shape, dot_dimension_numbers=dot_dimension_numbers(
        d.batching_dims, ((own[0],), (own[1],))))


@rewrite(match.multiply(match.add(x, x), 0.5), dtypes="float", changes="rounding", assumes="finite")
def half_of_double(x):
    """(x + x) / 2 = x"""
    return x


# ---- one-hot rows --------------------------------------------------------------------------------------------------

def one_hot(value: ir.Value) -> tuple[ir.Value, int] | None:
    """(places, dimension): the array that is one where the index along `dimension` is the place, else zero."""
    made, rank = producer(value), len(shape_of(value))
    if made is None or made.name != "stablehlo.convert":
        return None
    test = producer(made.operands[0])
    if test is None or test.name != "stablehlo.compare" or test["comparison_direction"] != "EQ":
        return None
    for one, other in (test.operands, test.operands[::-1]):
        places, counter = producer(one), producer(other)
        if places is None or counter is None or places.name != "stablehlo.broadcast_in_dim" \
                or counter.name != "stablehlo.iota" or dtype_of(one).kind not in "iu":
            continue
        at, along = places["broadcast_dimensions"], counter["iota_dimension"]
        if list(at) == [k for k in range(rank) if k != along] \
                and shape_of(places.operands[0]) == tuple(shape_of(value)[k] for k in at):
            return places.operands[0], along
    return None


def poisoned(product: ir.Value, counted: ir.Value, met: ir.Value) -> ir.Value:
    """NaN where more numbers are not finite in a column of the other factor than those that count; no -0.0."""
    return ops.select(ops.compare(counted, met, "EQ"), ops.add(product, 0), ops.splat(np.nan, product))


@rewrite(dot(x, y), dtypes="float", changes="rounding", made_by=("stablehlo.convert",),
         example=(lambda a: ops.dot_general(hot(a, 20, 7), a(7, 5), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(5, 2, 7, 3), hot(a, 2, 4, 6, 7), contracting_dims=((2,), (3,)),
                                            batching_dims=((1,), (0,)))),
         counter=(lambda a: ops.dot_general(a(20, 7), a(7, 5), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(hot(a, 20, 7), a(20, 5), contracting_dims=((0,), (0,)))))
def one_hot_times_matrix(x, y, d, t, result_shape, result_dtype):
    """one_hot(i) @ y = y[i], or zeros where i is outside, NaN beside what is not finite in the rest of a column"""
    if len(d.contracting_dims[0]) != 1 or not dtype_of(x) == dtype_of(y) == result_dtype:
        return None
    for side, (factor, other) in enumerate(((x, y), (y, x))):
        found = one_hot(factor)
        if found is not None and d.contracting_dims[side] == (found[1],):
            return _taken(found[0], found[1], other, d, side, result_shape)
    return None


def _taken(places: ir.Value, along: int, other: ir.Value, d: DotDimensions, side: int,
           result_shape: Sequence[int]) -> ir.Value | None:
    """The rows of `other` at the places: dimensions of the batch, then of the places, then of the rows."""
    batch, (k,) = d.batching_dims[1 - side], d.contracting_dims[1 - side]
    free = free_dimensions(d, 1 - side, len(shape_of(other)))
    mine = [m - (m > along) for m in d.batching_dims[side]]
    mine += [m for m in range(len(shape_of(places))) if m not in mine]
    classes, b, n, f = shape_of(other)[k], len(batch), len(mine) - len(batch), len(free)
    if classes < 2 or size(result_shape[b:]) < 4 * size([shape_of(other)[m] for m in free]) \
            or classes > np.iinfo(dtype_of(places)).max:
        return None
    matrix, places = ops.transpose(other, [*batch, k, *free]), ops.transpose(places, mine)
    taken = ops.gather(matrix, ops.reshape(places, (*shape_of(places), 1)), offset_dims=range(b + n, b + n + f),
                       collapsed_slice_dims=[b], operand_batching_dims=range(b), start_indices_batching_dims=range(b),
                       start_index_map=[b], index_vector_dim=b + n,
                       slice_sizes=[*(1 for _ in batch), 1, *shape_of(matrix)[b + 1:]])
    shape = shape_of(taken)
    # as unsigned numbers, the negative ones are beyond the last row, too
    unsigned = np.dtype(f"uint{8 * dtype_of(places).itemsize}")
    numbers = places if dtype_of(places) == unsigned else ops.bitcast_convert(places, unsigned)
    there = ops.broadcast_in_dim(ops.compare(numbers, classes, "LT"), shape, range(b + n))
    bad = ops.convert(ops.not_(ops.is_finite(matrix)), np.int32)
    counted = ops.reduce(bad, ops.constant(0, np.int32), (b,), "add")
    counted = ops.broadcast_in_dim(counted, shape, (*range(b), *range(b + n, b + n + f)))
    kept = ops.select(there, taken, ops.splat(0, taken))
    met = ops.convert(ops.not_(ops.is_finite(kept)), np.int32)
    made = poisoned(kept, counted, met)
    return made if side == 0 else ops.transpose(made, [*range(b), *range(b + n, b + n + f), *range(b, b + n)])


def hot(a: Any, *shape: int) -> ir.Value:
    """One-hot rows, for examples."""
    last = len(shape) - 1
    places = ops.broadcast_in_dim(a(*shape[:-1], dtype="int32"), shape, range(last))
    return ops.convert(ops.compare(places, ops.iota(shape, np.int32, last), "EQ"), a.dtype)


# ---- bands ---------------------------------------------------------------------------------------------------------

def _bands(content: np.ndarray) -> list[int] | None:
    """The diagonals of a matrix that hold something, if they are few: column minus row."""
    rows, columns = np.nonzero(content)
    if min(content.shape) < LEAST or not len(rows):
        return None
    found = np.unique(columns - rows)
    return [int(k) for k in found] if len(found) <= BANDS and 4 * len(found) <= content.shape[1] else None


def _band(content: np.ndarray, offset: int) -> np.ndarray:
    """Coefficients of a diagonal by row; zero where the row does not reach it."""
    rows = np.arange(content.shape[0])
    inside = (rows + offset >= 0) & (rows + offset < content.shape[1])
    return np.where(inside, content[rows, np.clip(rows + offset, 0, content.shape[1] - 1)], 0)


def _shifted(values: ir.Value, offset: int, rows: int) -> ir.Value:
    """Row i + offset of a matrix at i, zeros where there is none."""
    have, columns = shape_of(values)
    first, last = max(0, offset), min(have, rows + offset)
    part = ops.slice(values, (first, 0), (last, columns))
    return ops.pad(part, 0, (first - offset, 0), (rows - (last - offset), 0))


def _combined(values: ir.Value, bands: Sequence[tuple[int, np.ndarray]], rows: int) -> ir.Value:
    total = None
    for offset, line in bands:
        term = _shifted(values, offset, rows)
        if not (line[line != 0] == 1).all():
            weight = line[line != 0][:1] if len(set(line[line != 0])) == 1 else line
            factor = ops.splat(weight[0], term) if len(weight) == 1 else ops.broadcast_in_dim(
                ops.constant(line), shape_of(term), (0,))
            term = ops.multiply(term, factor)
        if len(set(line[line != 0])) == 1 and (line == 0).any():    # rows that reach the diagonal, but hold a zero
            reach = np.array([0 <= i + offset < shape_of(values)[0] for i in range(rows)])
            if (line[reach] == 0).any():
                mask = ops.broadcast_in_dim(ops.constant(line != 0), shape_of(term), (0,))
                term = ops.select(mask, term, ops.splat(0, term))
        total = term if total is None else ops.add(total, term)
    return total


def _tridiagonal(side: int) -> np.ndarray:
    return (2 * np.eye(side) - np.eye(side, k=1) - np.eye(side, k=-1)).astype(np.float32)


@rewrite(dot(x, y), dtypes="float", changes="rounding",
         example=(lambda a: ops.dot_general(ops.constant(_tridiagonal(32)), a(32, 2, dtype="float32"),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.constant(np.diag(np.arange(1, 17, dtype=np.float32), 1)),
                                            a(17, dtype="float32"), contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.dot_general(a(16, 16, dtype="float32"), a(16, 3, dtype="float32"),
                                           contracting_dims=((1,), (0,))))
def banded_times_matrix(x, y, d, t, result_shape, result_dtype):
    """a known matrix of few diagonals @ y = shifted rows of y times the diagonals; NaN as the zeros would make it"""
    if not _plain(d, x, y) or dtype_of(y) != result_dtype or len(shape_of(x)) != 2 \
            or size(shape_of(x)) < COVERED * size(shape_of(y)):
        return None
    content = content_of(x, exact=True)
    if content is None or not np.isfinite(content).all():
        return None
    content = content if d.contracting_dims[0] == (1,) else content.T
    offsets = _bands(content)
    if offsets is None:
        return None
    matrix = y if d.contracting_dims[1] == (0,) else ops.transpose(y, (1, 0))
    matrix = matrix if len(shape_of(y)) == 2 else ops.reshape(y, (*shape_of(y), 1))
    shape = (content.shape[0], shape_of(matrix)[1])
    bands = [(k, _band(content, k).astype(result_dtype)) for k in offsets]
    bad = ops.convert(ops.not_(ops.is_finite(matrix)), np.int32)
    clean = [(k, (line != 0).astype(np.int32)) for k, line in bands]
    met = _combined(bad, clean, content.shape[0])
    counted = ops.broadcast_in_dim(ops.reduce(bad, ops.constant(0, np.int32), (0,), "add"), shape, (1,))
    return ops.reshape(poisoned(_combined(matrix, bands, content.shape[0]), counted, met), result_shape)


# ---- blocks --------------------------------------------------------------------------------------------------------

@rewrite(dot(once(match.pad(x, 0.0, edge_padding_low=p, edge_padding_high=q, interior_padding=w)), y), dtypes="inexact",
         assumes="finite",
         example=(lambda a: ops.dot_general(ops.pad(a(3, 4), 0.0, (1, 2), (0, 1)), a(7, 5),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.pad(a(3, 4), 0.0, (1, 0), (2, 0)), a(4),
                                            contracting_dims=((1,), (0,)))),
         counter=lambda a: ops.dot_general(ops.pad(a(3, 4), 1.0, (1, 2), (0, 1)), a(7, 5),
                                           contracting_dims=((1,), (0,))))
def product_with_padded_matrix(x, p, q, w, y, d, t, result_shape):
    """(a block of x among zeros) @ y = the block's product with the rows of y that it meets, among zeros"""
    if not _plain(d, x, y) or any(w) or min((*p, *q)) < 0 or t.dtype != dtype_of(x) or len(shape_of(x)) != 2:
        return None
    k, m = d.contracting_dims[0][0], d.contracting_dims[1][0]
    low = [p[k] if i == m else 0 for i in range(len(shape_of(y)))]
    high = [p[k] + shape_of(x)[k] if i == m else n for i, n in enumerate(shape_of(y))]
    rows = shape_of(x)[1 - k]
    made = t.build((x, ops.slice(y, low, high)), (rows, *result_shape[1:]))
    rest = [0] * (len(result_shape) - 1)
    return ops.pad(made, 0, (p[1 - k], *rest), (q[1 - k], *rest))
