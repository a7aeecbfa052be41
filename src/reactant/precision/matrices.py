"""Stacks of matrices of wide numbers, (batch, rows, columns): parts of them, and loops that carry them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.precision import exponential, trees, wide
from reactant.precision.values import Number, WideComplex, choose, conjugate, flat, like
from reactant.precision.wide import Wide

Shape = tuple[int, ...]


def counted(count: int, carried: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """What is carried after `body(k, *carried)` for k = 0, 1, ... count - 1; k is an int32."""
    return until(lambda k, *_: ops.compare(k, ops.splat(count, k), "LT"), carried, body)


def until(going: Callable[..., ir.Value], carried: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """What is carried after `body(k, *carried)` for k = 0, 1, ... while `going(k, *carried)`."""
    def step(k: ir.Value, *limbs: ir.Value) -> list[ir.Value]:
        return [ops.add(k, ops.splat(1, k)), *flat(body(k, *like(carried, limbs)))]

    def condition(k: ir.Value, *limbs: ir.Value) -> ir.Value:
        return going(k, *like(carried, limbs))
    return like(carried, ops.while_([ops.constant(0, np.int32), *flat(carried)], condition, step)[1:])


def once(*numbers: Any) -> list[Any]:
    """The same, behind a barrier: XLA would compute all that is before again for each limb, and for each use of it."""
    return like(numbers, ops.optimization_barrier(*flat(numbers)))


def _start(k: ir.Value, dimension: int) -> list[ir.Value]:
    zero = ops.splat(0, k)
    return [k if d == dimension else zero for d in range(3)]


def taken(x: Number, k: ir.Value, dimension: int) -> Number:
    """One row (dimension 1) or column (2)."""
    sizes = tuple(1 if d == dimension else n for d, n in enumerate(x.shape))
    return x.each(lambda limb: ops.dynamic_slice(limb, _start(k, dimension), sizes))


def put(x: Number, part: Number, k: ir.Value, dimension: int) -> Number:
    """With another row or column."""
    limbs = iter(part.limbs)
    return x.each(lambda limb: ops.dynamic_update_slice(limb, next(limbs), _start(k, dimension)))


def spread(x: Number, shape: Shape) -> Number:
    """Rows, columns or numbers repeated."""
    return x.each(lambda limb: ops.broadcast_in_dim(limb, shape, (0, 1, 2))) if x.shape != shape else x


def outer(column: Number, row: Number) -> Number:
    """column times row: each matrix of rank one."""
    shape = (column.shape[0], column.shape[1], row.shape[2])
    return spread(column, shape) * spread(row, shape)


def transposed(x: Number) -> Number:
    """Rows for columns."""
    return x.each(lambda limb: ops.transpose(limb, (0, 2, 1)))


def adjoint(x: Number) -> Number:
    """Rows for columns, conjugated."""
    return conjugate(transposed(x))


def places(shape: Shape, dimension: int, direction: str, k: ir.Value | int) -> ir.Value:
    """Where a row (dimension 1) or column (2) of a matrix is before, at or after one of them."""
    index = ops.iota(shape, np.int32, dimension)
    other = ops.splat(k, index) if isinstance(k, int) else ops.broadcast_in_dim(k, shape, ())
    return ops.compare(index, other, direction)


def triangle(shape: Shape, direction: str) -> ir.Value:
    """Where the row is before, at or after the column: GE for the lower triangle."""
    return ops.compare(ops.iota(shape, np.int32, 1), ops.iota(shape, np.int32, 2), direction)


def kept(mask: ir.Value, x: Number) -> Number:
    """Elsewhere 0."""
    return choose(mask, x, zero_like(x))


def zero_like(x: Number) -> Number:
    """0 in each place."""
    return x.each(wide.zeros)


def number_like(x: Number, number: float) -> Number:
    """A number in each place."""
    return WideComplex(x.re.of(number), x.im.of(0.0)) if isinstance(x, WideComplex) else x.of(number)


def unit(x: Number, rows: int, columns: int) -> Number:
    """The first columns of the unit matrix, in numbers like these."""
    shape = (x.shape[0], rows, columns)
    zeros = x.each(lambda limb: ops.constant(0, dtype_of(limb), shape))
    return choose(triangle(shape, "EQ"), number_like(zeros, 1.0), zeros)


def column_sums(x: Number) -> Number:
    """(batch, m, n) to (batch, 1, n), in a tree."""
    batch, _, n = x.shape
    rows = x.each(lambda limb: ops.transpose(limb, (1, 0, 2)))
    return trees.total(rows).each(lambda limb: ops.reshape(limb, (batch, 1, n)))


def square_of_size(x: Wide | WideComplex) -> Wide:
    """|x|^2."""
    return wide.square(x.re) + wide.square(x.im) if isinstance(x, WideComplex) else wide.square(x)


def largest(x: Wide | WideComplex) -> ir.Value:
    """The greatest first limb of each matrix, (batch,)."""
    parts = (x.re, x.im) if isinstance(x, WideComplex) else (x,)
    sizes = [ops.reduce(ops.abs(part.head), 0.0, (1, 2), "maximum") for part in parts]
    return sizes[0] if len(sizes) == 1 else ops.maximum(*sizes)


def exponent(x: Wide | WideComplex) -> ir.Value:
    """Of the greatest number of each matrix, (batch,); 0 of zeros and of what is not finite."""
    size = largest(x)
    good = ops.and_(ops.is_finite(size), ops.compare(size, 0.0, "GT"))
    return exponential.exponent_of(ops.select(good, size, 1.0))


def times_power(x: Number, k: ir.Value) -> Number:
    """x 2^k, k for each matrix."""
    powers = ops.broadcast_in_dim(k, x.shape, (0,))
    return WideComplex(exponential.scaled(x.re, powers), exponential.scaled(x.im, powers)) \
        if isinstance(x, WideComplex) else exponential.scaled(x, powers)


def each_matrix(x: ir.Value, shape: Shape) -> ir.Value:
    """What is said of each matrix, (batch,), for all of its elements."""
    return ops.broadcast_in_dim(x, shape, (0,))
