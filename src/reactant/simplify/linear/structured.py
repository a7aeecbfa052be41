"""Structured matrices: diagonal ones in products, products of which only the diagonal is read, chains of products,
outer products, one-hot rows, inverses applied to something.

A diagonal matrix is `select(mask, m, 0)` where the mask is that of the identity (`is_identity_mask`), and its diagonal
is read by the strided slice that `diagonal_of` builds; other spellings are brought to these two. Of a batch of
matrices, in the last two dimensions, likewise.

A product with zeros is NaN where the other factor is infinite or NaN. So products with diagonal matrices come twice:
for finite numbers as they are, else with a check of each column or row: one more pass over the other factor.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, ScatterDimensions
from reactant.ir.types import dtype_of, is_float, shape_of, size
from reactant.rewrite import match, once, one_of, producer, rewrite, splat, variables
from reactant.rewrite.pattern import Template
from reactant.simplify.facts.contractions import free_dimensions
from reactant.simplify.facts.masks import mask_of, same_matrices
from reactant.simplify.linear.contraction import dot, product
from reactant.simplify.selection.indexing import known_content
from reactant.support.records import dataclass

x, y, d, i, p, u, first, last, step = variables("x y d i p u first last step")
LEAST = 4
"""Smallest side of a matrix for which structure is used."""


# ---- what is diagonal ----------------------------------------------------------------------------------------------

def identity_mask(side: int, batch: Sequence[int] = ()) -> ir.Value:
    """True on the diagonal."""
    mask = ops.compare(ops.iota((side, side), np.int32, 0), ops.iota((side, side), np.int32, 1), "EQ")
    return ops.broadcast_in_dim(mask, (*batch, side, side), (len(batch), len(batch) + 1)) if batch else mask


def is_identity_mask(value: ir.Value) -> bool:
    """Whether a boolean square matrix, or each of a batch, is true on its diagonal and false elsewhere."""
    shape = shape_of(value)
    if len(shape) < 2 or shape[-2] != shape[-1] or shape[-1] < 2:
        return False
    made = producer(value)
    if made is None:
        return False
    if made.name == "stablehlo.compare" and made["comparison_direction"] == "EQ":
        sides = [producer(v) for v in made.operands]
        return all(s is not None and s.name == "stablehlo.iota" for s in sides) \
            and {s["iota_dimension"] for s in sides} == {len(shape) - 2, len(shape) - 1}
    if made.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        mask = mask_of(value)
        return mask is not None and mask.diagonal == 0
    content = known_content(value) if made.name == "stablehlo.constant" else None
    return content is not None and bool((content == np.eye(shape[-1], dtype=bool)).all())


def is_identity(value: ir.Value) -> bool:
    """Whether a matrix, or each of a batch, is one on its diagonal and zero elsewhere: an identity mask as numbers."""
    made = producer(value)
    while made is not None and made.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        if same_matrices(made, shape_of(made.results[0])) is None:
            return False
        made = producer(made.operands[0])
    return made is not None and made.name == "stablehlo.convert" and is_identity_mask(made.operands[0])


def diagonal_of(value: ir.Value) -> ir.Value:
    """The diagonal of a square matrix, or of each of a batch, as a view of it: what gathers of it become, too."""
    *batch, side, _ = shape_of(value)
    flat = (*batch, side * side)
    return ops.slice(ops.reshape(value, flat), (0,) * len(flat), flat, (*(1 for _ in batch), side + 1))


_MADE = ("stablehlo.convert", "stablehlo.select", "stablehlo.constant", "stablehlo.reshape",
         "stablehlo.broadcast_in_dim")
"""What makes diagonal matrices."""


def entries(value: ir.Value) -> ir.Value | np.ndarray | None:
    """The diagonal of a matrix that is zero elsewhere: a vector, or a known number for all; None for any other. Of a
    batch of such matrices a batch of vectors. What has the matrix's own rank is a matrix whose diagonal it is."""
    shape = shape_of(value)
    made = producer(value)
    if made is None or len(shape) < 2 or shape[-2] != shape[-1] or shape[-1] < LEAST:
        return None
    if is_identity(value):
        return np.ones((), dtype_of(value))
    if made.name == "stablehlo.select":
        mask, inside, outside = made.operands
        zero = ops.constant_value(outside)
        if zero is None or zero.any() or not is_identity_mask(mask):
            return None
        return _vector(inside)
    if made.name == "stablehlo.reshape":
        return _put_apart(made.operands[0], shape[0]) if len(shape) == 2 else None
    content = known_content(value) if made.name == "stablehlo.constant" else None
    if content is None or (content * ~np.eye(shape[-1], dtype=bool)).any() or not np.isfinite(content).all():
        return None
    return np.ascontiguousarray(np.diagonal(content, axis1=-2, axis2=-1))


def _put_apart(value: ir.Value, side: int) -> ir.Value | None:
    """The vector whose elements are `side` zeros apart, as the adjoint of `diagonal_of` leaves them."""
    made = producer(value)
    if made is None or made.name != "stablehlo.pad" or shape_of(made.operands[0]) != (side,):
        return None
    zero = ops.constant_value(made.operands[1])
    sides = [tuple(made[name]) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return made.operands[0] if zero is not None and not zero.any() and sides == [(0,), (0,), (side,)] else None


def _vector(inside: ir.Value) -> ir.Value | np.ndarray:
    """The diagonal of any matrix, without reading one where it is a repeated vector."""
    constant = ops.constant_value(inside)
    if constant is not None:
        return np.ascontiguousarray(np.diagonal(constant, axis1=-2, axis2=-1))
    made, rank = producer(inside), len(shape_of(inside))
    if made is not None and made.name == "stablehlo.broadcast_in_dim" \
            and tuple(made["broadcast_dimensions"]) in ((*range(rank - 2), rank - 2), (*range(rank - 2), rank - 1)) \
            and shape_of(made.operands[0]) == shape_of(inside)[:-1]:
        return made.operands[0]
    return inside


def as_vector(found: ir.Value | np.ndarray, rank: int) -> ir.Value:
    """What `entries` found of a matrix, or a batch, of some rank, as a vector or a batch of vectors."""
    if isinstance(found, np.ndarray):
        return ops.constant(found)
    return diagonal_of(found) if len(shape_of(found)) == rank else found


def _diagonal(a: Any, side: int = 5, batch: Sequence[int] = ()) -> ir.Value:
    """A diagonal matrix, or a batch of them, for examples."""
    shape = (*batch, side, side)
    full = ops.broadcast_in_dim(v := a(*batch, side), shape, range(len(shape) - 1))
    return ops.select(identity_mask(side, batch), full, ops.constant(0, dtype_of(v), shape))


# ---- products with diagonal matrices -------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Scaling:
    """A product of which one factor is diagonal: its diagonal, the other factor as the product has its dimensions, and
    along which of them the diagonal scales: last where it has been contracted, in front of it those of its batch."""
    diagonal: ir.Value | np.ndarray
    other: ir.Value
    places: tuple[int, ...]

    def product(self) -> ir.Value:
        """`other` times the diagonal."""
        found, other = self.diagonal, self.other
        if isinstance(found, np.ndarray) and found.ndim == 0:
            return other if found == 1 else ops.multiply(other, ops.splat(found, other))
        vector = ops.constant(found) if isinstance(found, np.ndarray) else found
        return ops.multiply(ops.broadcast_in_dim(vector, shape_of(other), self.places), other)


def _checked(product: ir.Value, other: ir.Value, dimension: int) -> ir.Value:
    """The product, but NaN wherever some *other* element along the dimension is infinite or NaN, and without -0.0.

    An element is 1 if finite, else 0, and its column counts those beyond the rest: 1 where all are finite, 0 where all
    but one are (only that one is equal), else less, which nothing equals.
    """
    finite = ops.convert(ops.is_finite(other), np.int32)
    counted = ops.reduce(finite, ops.constant(0, np.int32), (dimension,), "add")
    beyond = ops.subtract(counted, shape_of(other)[dimension] - 1)
    kept = [m for m in range(len(shape_of(other))) if m != dimension]
    sound = ops.compare(finite, ops.broadcast_in_dim(beyond, shape_of(other), kept), "EQ")
    return ops.select(sound, ops.add(product, 0), ops.splat(np.nan, product))


def _with_diagonal(x: ir.Value, y: ir.Value, d: DotDimensions, dtype: np.dtype) -> Callable[[], _Scaling] | None:
    """How to scale, where one factor is diagonal, or a batch of such."""
    if len(d.contracting_dims[0]) != 1 or not dtype_of(x) == dtype_of(y) == dtype:
        return None
    for side, (matrix, other) in enumerate(((x, y), (y, x))):
        rank = len(shape_of(matrix))
        if d.contracting_dims[side][0] < rank - 2 or max(d.batching_dims[side], default=-1) >= rank - 2:
            continue
        found = entries(matrix)
        if found is not None:
            return partial(_scaling, found, other, d, side, shape_of(matrix))
    return None


def _scaling(found: ir.Value | np.ndarray, other: ir.Value, d: DotDimensions, side: int,
             shape: Sequence[int]) -> _Scaling:
    rank, batch, (k,) = len(shape), d.batching_dims[1 - side], d.contracting_dims[1 - side]
    own = [m for m in range(rank - 2) if m not in d.batching_dims[side]]      # the other factor is scaled for each
    free = free_dimensions(d, 1 - side, len(shape_of(other)))
    turned = ops.transpose(other, [*batch, k, *free] if side == 0 else [*batch, *free, k])
    start = len(batch) + len(free) * side
    stay = [m + len(own) * (m >= start) for m in range(len(shape_of(turned)))]
    wide = (*shape_of(turned)[:start], *(shape[m] for m in own), *shape_of(turned)[start:])
    if not isinstance(found, np.ndarray) or found.ndim:
        found = ops.transpose(as_vector(found, rank), [*d.batching_dims[side], *own, rank - 2])
    return _Scaling(found, ops.broadcast_in_dim(turned, wide, stay),
                    (*range(len(batch)), *range(start, start + len(own) + 1)))


@rewrite(dot(x, y), dtypes="inexact", assumes="finite", made_by=_MADE,
         example=(lambda a: ops.dot_general(_diagonal(a), a(5, 3), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.reshape(ops.pad(a(5), 0, [0], [0], [5]), (5, 5)), a(5, 3),
                                            contracting_dims=((0,), (0,))),
                  lambda a: ops.dot_general(_diagonal(a), a(3, 5, 2), contracting_dims=((0,), (1,))),
                  lambda a: ops.dot_general(a(2, 5, 3), _diagonal(a), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(_diagonal(a, 5, (2, 3)), a(3, 4, 2, 5), contracting_dims=((2,), (3,)),
                                            batching_dims=((1, 0), (0, 2))),
                  lambda a: ops.dot_general(a(3, 4, 5), _diagonal(a, 5, (2, 3)), contracting_dims=((2,), (2,)),
                                            batching_dims=((0,), (1,)))),
         counter=(lambda a: ops.dot_general(a(5, 5), a(5, 3), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(_diagonal(a, 5, (3,)), a(3, 5), contracting_dims=((0,), (0,)))))
def dot_of_diagonal(x, y, d, t, result_dtype):
    """diag(v) @ y = v[:, None] * y, x @ diag(v) = x * v, for finite numbers"""
    scaling = _with_diagonal(x, y, d, result_dtype)
    return None if scaling is None else scaling().product()


@rewrite(dot(x, y), dtypes="real", made_by=_MADE,
         example=(lambda a: ops.dot_general(_diagonal(a), a(5, 3), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(_diagonal(a), a(3, 5, 2), contracting_dims=((0,), (1,))),
                  lambda a: ops.dot_general(a(2, 5, 3), _diagonal(a), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(2, 3, 5), _diagonal(a, 5, (2,)), contracting_dims=((2,), (2,)),
                                            batching_dims=((0,), (0,))),
                  lambda a: ops.dot_general(_diagonal(a, 5, (2, 3)), a(5, 3), contracting_dims=((2,), (0,)))),
         counter=lambda a: ops.dot_general(_diagonal(a), a(5), contracting_dims=((1,), (0,))))
def dot_of_diagonal_checked(x, y, d, t, result_dtype):
    """diag(v) @ y = v[:, None] * y, but NaN beside an infinity or NaN in its column of y; x @ diag(v) likewise"""
    scaling = _with_diagonal(x, y, d, result_dtype)
    # a product with one vector (each) costs little more than the check
    if scaling is None or not all(free_dimensions(d, side, len(shape_of(v))) for side, v in enumerate((x, y))):
        return None
    found = scaling()
    product = found.product()
    return _checked(product, found.other, found.places[-1]) if is_float(result_dtype) else product


@rewrite(match.multiply(x, y), dtypes="inexact", assumes="finite",
         example=lambda a: ops.multiply(a(5, 5), ops.convert(identity_mask(5), dtype_of(a(1)))),
         counter=lambda a: ops.multiply(a(5, 5), ops.convert(ops.compare(a(5, 5), 0, "EQ"), dtype_of(a(1)))))
def multiply_by_identity(x, y, result_shape):
    """x * I = x on the diagonal, else 0, for finite numbers"""
    for one, other in ((x, y), (y, x)):
        if is_identity(one):
            made, (*batch, side, _) = producer(one), shape_of(one)
            mask = made.operands[0] if made.name == "stablehlo.convert" else identity_mask(side, batch)
            return ops.select(mask, other, ops.splat(0, other))
    return None


# ---- diagonals -----------------------------------------------------------------------------------------------------

def _reads_diagonal(extents: Sequence[int], first: Sequence[int], last: Sequence[int], step: Sequence[int]) -> bool:
    """Whether a slice of a flat matrix, or of a batch of such, reads its diagonal."""
    if len(extents) < 2 or not extents[-2] == extents[-1] >= 2:
        return False
    *batch, side, _ = extents
    return (tuple(first), tuple(last), tuple(step)) == (
        (0,) * (len(batch) + 1), (*batch, side ** 2), (*(1 for _ in batch), side + 1))


def _counts(i: ir.Value) -> bool:
    """Whether both columns of an index array count from 0."""
    made = producer(i)
    if made is not None and made.name == "stablehlo.iota":
        return made["iota_dimension"] == 0
    content = known_content(i)
    return content is not None and bool((content == np.arange(len(content))[:, None]).all())


def _reading(inner: Any) -> Any:
    return match.slice(match.reshape(inner), start_indices=first, limit_indices=last, strides=step)


@rewrite(_reading(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=p, template="t"))),
         dtypes="number", changes="rounding",
         example=(lambda a: diagonal_of(ops.dot_general(a(5, 3), a(3, 5), contracting_dims=((1,), (0,)))),
                  lambda a: diagonal_of(ops.dot_general(a(3, 5), a(5, 3), contracting_dims=((0,), (1,)))),
                  lambda a: diagonal_of(ops.dot_general(a(2, 5, 3), a(3, 5, 2), contracting_dims=((2,), (0,)),
                                                        batching_dims=((0,), (2,))))),
         counter=(lambda a: diagonal_of(ops.dot_general(a(2, 4, 5), a(2, 4, 5), contracting_dims=((0, 1), (0, 1)))),
                  lambda a: diagonal_of(ops.dot_general(a(3, 4), a(4, 5, 5), contracting_dims=((1,), (0,))))))
def diagonal_of_dot(x, y, p, t, first, last, step, result_dtype):
    """diagonal(x @ y) = sum(x * y.T, 1)"""
    frees = [free_dimensions(p, side, len(shape_of(v))) for side, v in enumerate((x, y))]
    if [len(free) for free in frees] != [1, 1] or len(p.contracting_dims[0]) != 1 \
            or not dtype_of(x) == dtype_of(y) == result_dtype:
        return None
    batch = [shape_of(x)[k] for k in p.batching_dims[0]]
    sides = [shape_of(v)[free] for v, (free,) in zip((x, y), frees, strict=True)]
    if not _reads_diagonal((*batch, *sides), first, last, step):
        return None
    left, right = (ops.transpose(v, [*p.batching_dims[side], *frees[side], *p.contracting_dims[side]])
                   for side, v in enumerate((x, y)))
    return ops.reduce(ops.multiply(left, right), ops.constant(0, result_dtype), (len(batch) + 1,), "add")


POINTWISE = ("stablehlo.add", "stablehlo.multiply", "stablehlo.subtract", "stablehlo.divide", "stablehlo.maximum",
             "stablehlo.minimum")


@rewrite(_reading(once(one_of(POINTWISE, x, y, template="t"))), dtypes="number",
         example=(lambda a: diagonal_of(ops.add(a(5, 5), a(5, 5))),
                  lambda a: diagonal_of(ops.multiply(a(2, 5, 5), a(2, 5, 5)))),
         counter=lambda a: [v := ops.add(a(5, 5), a(5, 5)), diagonal_of(v)])
def diagonal_of_pointwise(x, y, t, first, last, step, result_shape):
    """diagonal(f(x, y)) = f(diagonal(x), diagonal(y))"""
    if not _reads_diagonal(shape_of(x), first, last, step):
        return None
    return t.build((diagonal_of(x), diagonal_of(y)), result_shape)


@rewrite(_reading(once(match.select(p, x, y))), dtypes="number",
         example=(lambda a: diagonal_of(ops.select(ops.compare(a(5, 5), 0, "EQ"), a(5, 5), a(5, 5))),
                  lambda a: diagonal_of(ops.select(a(dtype="bool"), a(5, 5), a(5, 5))),
                  lambda a: diagonal_of(ops.select(ops.compare(a(3, 5, 5), 0, "EQ"), a(3, 5, 5), a(3, 5, 5)))),
         counter=lambda a: diagonal_of(_diagonal(a)))
def diagonal_of_select(p, x, y, first, last, step):
    """diagonal(select(p, x, y)) = select(diagonal(p), diagonal(x), diagonal(y))"""
    if not _reads_diagonal(shape_of(x), first, last, step) or is_identity_mask(p):
        return None
    return ops.select(diagonal_of(p) if shape_of(p) else p, diagonal_of(x), diagonal_of(y))


@rewrite(_reading(match.broadcast_in_dim(x, broadcast_dimensions=u)),
         example=(lambda a: diagonal_of(ops.broadcast_in_dim(a(5), (5, 5), (1,))),
                  lambda a: diagonal_of(ops.broadcast_in_dim(a(1, 1), (5, 5), (0, 1))),
                  lambda a: diagonal_of(ops.broadcast_in_dim(a(), (5, 5), ())),
                  lambda a: diagonal_of(ops.broadcast_in_dim(a(1, 5), (5, 5), (0, 1))),
                  lambda a: diagonal_of(ops.broadcast_in_dim(a(3, 1, 5), (3, 2, 5, 5), (0, 1, 3)))),
         counter=lambda a: diagonal_of(ops.broadcast_in_dim(a(5, 5), (3, 5, 5), (1, 2))))
def diagonal_of_broadcast(x, u, first, last, step, result_shape):
    """diagonal(broadcast(x)) = x for a vector, broadcast(x) for a number"""
    batch = len(result_shape) - 1
    if not _reads_diagonal((*result_shape, result_shape[-1]), first, last, step):
        return None
    wide = [k for k, (place, n) in enumerate(zip(u, shape_of(x), strict=True)) if place < batch or n > 1]
    places = [min(u[k], batch) for k in wide]
    if len({*places}) < len(places):
        return None
    return ops.broadcast_in_dim(ops.reshape(x, [shape_of(x)[k] for k in wide]), result_shape, places)


@rewrite(_reading(match.transpose(x, permutation=u)), dtypes="number",
         example=(lambda a: diagonal_of(ops.transpose(a(5, 5), (1, 0))),
                  lambda a: diagonal_of(ops.transpose(a(2, 3, 5, 5), (1, 0, 3, 2)))),
         counter=lambda a: diagonal_of(ops.transpose(a(5, 2, 5), (1, 0, 2))))
def diagonal_of_transpose(x, u, first, last, step):
    """diagonal(x.T) = diagonal(x)"""
    *batch, row, column = u
    if not _reads_diagonal([shape_of(x)[k] for k in u], first, last, step) or max(batch, default=-1) >= len(batch):
        return None
    return ops.transpose(diagonal_of(x), [*batch, len(batch)])


@rewrite(_reading(match.select(p, x, y)), dtypes="number",
         example=lambda a: diagonal_of(_diagonal(a)),
         counter=lambda a: diagonal_of(ops.select(ops.compare(a(5, 5), 0, "LT"), a(5, 5), a(5, 5))))
def diagonal_of_diagonal(p, x, y, first, last, step):
    """diagonal(select(I, x, y)) = diagonal(x)"""
    return diagonal_of(x) if _reads_diagonal(shape_of(x), first, last, step) and is_identity_mask(p) else None


@rewrite(one_of(("stablehlo.reduce",), match.select(p, x, splat("z")), splat("init"), dimensions=d, template="t"),
         dtypes="number", changes="rounding",
         example=(lambda a: ops.reduce(_diagonal(a), ops.constant(0, dtype_of(a(1))), (0, 1), "add"),
                  lambda a: ops.reduce(_diagonal(a), ops.constant(0, dtype_of(a(1))), (1,), "add"),
                  lambda a: ops.reduce(_diagonal(a, 5, (2, 3)), ops.constant(0, dtype_of(a(1))), (0, 2, 3), "add")),
         counter=(lambda a: ops.reduce(ops.select(ops.compare(a(5, 5), 0, "LT"), a(5, 5), ops.splat(0, a(5, 5))),
                                       ops.constant(0, dtype_of(a(1))), (0, 1), "add"),
                  lambda a: ops.reduce(_diagonal(a, 5, (3,)), ops.constant(0, dtype_of(a(1))), (0,), "add")))
def sum_of_diagonal(p, x, z, init, d, t, result_dtype):
    """sum(select(I, x, 0)) = sum(diagonal(x)); over one dimension = diagonal(x)"""
    batch = len(shape_of(x)) - 2
    if t.body != "add" or z != 0 or init != 0 or max(d) < batch or not is_identity_mask(p) or shape_of(x)[-1] < LEAST:
        return None
    vector = as_vector(_vector(x), len(shape_of(x)))
    summed = [k for k in d if k < batch] + [batch] * (batch in d and batch + 1 in d)
    if not summed:
        return ops.add(vector, 0)       # as the sum does with -0.0
    return ops.reduce(vector, ops.constant(0, result_dtype), summed, "add")


@rewrite(one_of(("stablehlo.scatter",), splat("c"), i, y, scatter_dimension_numbers=d, template="t"),
         example=lambda a: ops.scatter(ops.constant(0, dtype_of(v := a(5)), (5, 5)), ops.iota((5, 2), np.int32, 0), v,
                                       "second", update_window_dims=[], inserted_window_dims=[0, 1],
                                       scatter_dims_to_operand_dims=[0, 1], index_vector_dim=1),
         counter=lambda a: ops.scatter(ops.constant(0, dtype_of(v := a(5)), (5, 5)), a(5, 2, dtype="int32"), v,
                                       "second", update_window_dims=[], inserted_window_dims=[0, 1],
                                       scatter_dims_to_operand_dims=[0, 1], index_vector_dim=1))
def scatter_on_diagonal(c, i, y, d, t, result_shape):
    """c everywhere, then y on the diagonal = select(I, y, c)"""
    if not _writes_diagonal(d, i, result_shape) or t.body != "second":
        return None
    spread = ops.broadcast_in_dim(y, result_shape, (0,))
    return ops.select(identity_mask(result_shape[0]), spread, ops.splat(c, spread))


def _writes_diagonal(d: ScatterDimensions, i: ir.Value, shape: Sequence[int]) -> bool:
    return (len(shape) == 2 and shape[0] == shape[1] >= 2 and shape_of(i) == (shape[0], 2)
            and tuple(d.inserted_window_dims) == (0, 1) and tuple(d.scatter_dims_to_operand_dims) == (0, 1)
            and d.index_vector_dim == 1 and not d.update_window_dims and not d.input_batching_dims and _counts(i))


# ---- chains --------------------------------------------------------------------------------------------------------
# An infinity meets other zeros in another order: these are for finite numbers. `target_systems` has a form for all.

def _in_another_order(x: ir.Value, y: ir.Value, p: DotDimensions, u: ir.Value, d: DotDimensions, s: Template,
                      t: Template, side: int) -> ir.Value | None:
    """The product of matrices, or batches of them, x @ y, which is factor `side` of one with u, so that u meets first
    what it is contracted with: where that takes fewer products of numbers."""
    frees = [free_dimensions(n, k, len(shape_of(v))) for n, k, v in ((p, 0, x), (p, 1, y), (d, 1 - side, u))]
    batch = range(len(p.batching_dims[0]))
    if [len(frees[0]), len(frees[1]), len(p.contracting_dims[0]), len(d.contracting_dims[0])] != [1, 1, 1, 1] \
            or len(frees[2]) > 1 or {*d.batching_dims[side]} != {*batch} \
            or not dtype_of(x) == dtype_of(y) == dtype_of(u) == t.dtype:
        return None
    near = d.contracting_dims[side][0] - len(batch)       # x if its rows are contracted, y if its columns are
    far, (one, other) = 1 - near, (x, y) if near == 0 else (y, x)
    width, depth = shape_of(one)[frees[near][0]], shape_of(x)[p.contracting_dims[0][0]]
    rows, columns = shape_of(other)[frees[far][0]], size([shape_of(u)[m] for m in frees[2]])
    if rows * depth * width + rows * width * columns <= depth * width * columns + rows * depth * columns:
        return None
    pairs = [[dims[m] for m in d.batching_dims[side]] for dims in p.batching_dims]
    (m,), over = d.contracting_dims[1 - side], [dims[0] for dims in p.contracting_dims]
    if side == 0:
        first = product(t, one, u, frees[near][0], m, (pairs[near], d.batching_dims[1]))
        return product(s, other, first, over[far], len(batch), (pairs[far], batch))
    first = product(t, u, one, m, frees[near][0], (d.batching_dims[0], pairs[near]))
    return product(s, first, other, len(shape_of(first)) - 1, over[far], (batch, pairs[far]))


_FROM_THE_RIGHT = one_of(("stablehlo.dot_general",), once(one_of(
    ("stablehlo.dot_general",), x, y, dot_dimension_numbers=p, template="s")), u, dot_dimension_numbers=d, template="t")
_FROM_THE_LEFT = one_of(("stablehlo.dot_general",), u, once(one_of(
    ("stablehlo.dot_general",), x, y, dot_dimension_numbers=p, template="s")), dot_dimension_numbers=d, template="t")


@rewrite(_FROM_THE_RIGHT, dtypes="inexact", assumes="finite", changes="rounding",
         example=(lambda a: ops.dot_general(ops.dot_general(a(8, 9), a(9, 7), contracting_dims=((1,), (0,))), a(7),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.dot_general(a(9, 8), a(7, 9), contracting_dims=((0,), (1,))), a(2, 7),
                                            contracting_dims=((1,), (1,))),
                  lambda a: ops.dot_general(ops.dot_general(
                      a(2, 3, 8, 4), a(3, 9, 2, 4), contracting_dims=((3,), (3,)), batching_dims=((0, 1), (2, 0))),
                      a(9, 3, 2, 2), contracting_dims=((3,), (0,)), batching_dims=((1, 0), (1, 3))),
                  lambda a: ops.dot_general(ops.dot_general(a(9, 8), a(8, 9), contracting_dims=((1,), (0,))), a(9),
                                            contracting_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(ops.dot_general(a(2, 9), a(9, 7), contracting_dims=((1,), (0,))), a(7, 8),
                                           contracting_dims=((1,), (0,))))
def chain_from_the_right(x, y, p, u, d, t, s):
    """(x @ y) @ u = x @ (y @ u) where that takes fewer products"""
    return _in_another_order(x, y, p, u, d, s, t, 0)


@rewrite(_FROM_THE_LEFT, dtypes="inexact", assumes="finite", changes="rounding",
         example=(lambda a: ops.dot_general(a(7), ops.dot_general(a(7, 9), a(9, 8), contracting_dims=((1,), (0,))),
                                            contracting_dims=((0,), (0,))),
                  lambda a: ops.dot_general(a(2, 7), ops.dot_general(a(9, 7), a(8, 9), contracting_dims=((0,), (1,))),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(a(3, 7, 2), ops.dot_general(
                      a(2, 3, 7, 9), a(3, 9, 2, 8), contracting_dims=((3,), (1,)), batching_dims=((0, 1), (2, 0))),
                      contracting_dims=((1,), (2,)), batching_dims=((2, 0), (0, 1))),
                  lambda a: ops.dot_general(a(3, 7, 2), ops.dot_general(
                      a(2, 3, 8, 9), a(3, 9, 2, 7), contracting_dims=((3,), (1,)), batching_dims=((0, 1), (2, 0))),
                      contracting_dims=((1,), (3,)), batching_dims=((2, 0), (0, 1)))),
         counter=lambda a: ops.dot_general(a(8, 7), ops.dot_general(a(7, 9), a(9, 2), contracting_dims=((1,), (0,))),
                                           contracting_dims=((1,), (0,))))
def chain_from_the_left(x, y, p, u, d, t, s):
    """u @ (x @ y) = (u @ x) @ y where that takes fewer products"""
    return _in_another_order(x, y, p, u, d, s, t, 1)


@rewrite(_FROM_THE_RIGHT, dtypes="integer",
         example=lambda a: ops.dot_general(ops.dot_general(a(8, 9), a(9, 7), contracting_dims=((1,), (0,))), a(7),
                                           contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(ops.dot_general(a(2, 9), a(9, 7), contracting_dims=((1,), (0,))), a(7, 8),
                                           contracting_dims=((1,), (0,))))
def integer_chain_from_the_right(x, y, p, u, d, t, s):
    """(x @ y) @ u = x @ (y @ u) where that takes fewer products: integers wrap around in any order"""
    return chain_from_the_right(x, y, p, u, d, t, s)


@rewrite(_FROM_THE_LEFT, dtypes="integer",
         example=lambda a: ops.dot_general(a(7), ops.dot_general(a(7, 9), a(9, 8), contracting_dims=((1,), (0,))),
                                           contracting_dims=((0,), (0,))),
         counter=lambda a: ops.dot_general(a(8, 7), ops.dot_general(a(7, 9), a(9, 2), contracting_dims=((1,), (0,))),
                                           contracting_dims=((1,), (0,))))
def integer_chain_from_the_left(x, y, p, u, d, t, s):
    """u @ (x @ y) = (u @ x) @ y where that takes fewer products: integers wrap around in any order"""
    return chain_from_the_left(x, y, p, u, d, t, s)
