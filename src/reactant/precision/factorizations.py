"""Factorizations of stacks of matrices of wide numbers, and triangular systems: column by column, all in limbs.

They are LAPACK's own methods (Cholesky and LU from the left to the right, Householder reflections), so that they have
its error bounds in the precision of the limbs for matrices of any condition. Iterative refinement of a narrow
factorization would be faster, but fails where the condition is more than the narrow format holds.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.precision import complexes, matrices, rounding, wide
from reactant.precision.matrices import counted, kept, once, outer, places, put, spread, taken, zero_like
from reactant.precision.values import Number, WideComplex, choose, conjugate, real_part
from reactant.precision.wide import Wide

HIGH = 40
"""The exponent of the largest number of what is squared: 2^40 squares have their last limbs inside of the range."""


def quotient(x: Number, y: Number) -> Number:
    """x / y."""
    return complexes.divide(x, y) if isinstance(x, WideComplex) else wide.divide(x, y)


# ---- triangular systems --------------------------------------------------------------------------------------------

def solved(a: Number, b: Number, *, left: bool, lower: bool, unit: bool, transpose: str) -> Number:
    """x with op(a) x = b (left) or x op(a) = b; a: (batch, n, n). transpose: op, LAPACK's N, T or C."""
    if transpose == "C":
        a = conjugate(a)
    if not left:        # op(a)^T x^T = b^T
        b = matrices.transposed(b)
    if (transpose != "N") == left:
        a, lower = matrices.transposed(a), not lower
    if not lower:
        a, b = (x.each(lambda limb: ops.reverse(limb, (1, 2))) for x in (a, b))
    x = _substituted(a, b, unit)
    if not lower:
        x = x.each(lambda limb: ops.reverse(limb, (1, 2)))
    return x if left else matrices.transposed(x)


def _substituted(a: Number, b: Number, unit: bool) -> Number:
    """From the first row down."""
    def step(k: ir.Value, a: Number, b: Number) -> list[Number]:
        row, column = taken(b, k, 1), taken(a, k, 2)
        if not unit:
            (row,) = once(quotient(row, spread(taken(column, k, 1), row.shape)))
            b = put(b, row, k, 1)
        return [a, choose(places(b.shape, 1, "GT", k), b - outer(column, row), b)]
    return counted(b.shape[1], [a, b], step)[1]


# ---- Cholesky ------------------------------------------------------------------------------------------------------

def cholesky(a: Number, lower: bool) -> tuple[Number, ir.Value]:
    """L with a = L L^H, or U with a = U^H U, in its triangle of a, and LAPACK's info: the first column whose diagonal
    has become no positive number, counted from 1, or 0."""
    of = a if lower else matrices.adjoint(a)
    failed = ops.constant(0, np.int32, (a.shape[0],))

    def step(k: ir.Value, a: Number, failed: ir.Value) -> list[Number | ir.Value]:
        column = taken(a, k, 2)
        pivot = real_part(taken(column, k, 1))
        bad = ops.not_(ops.compare(ops.reshape(pivot.head, shape_of(failed)), 0.0, "GT"))
        here = ops.and_(bad, ops.compare(failed, ops.splat(0, failed), "EQ"))
        failed = ops.select(here, ops.broadcast_in_dim(ops.add(k, ops.splat(1, k)), shape_of(failed), ()), failed)
        (root,) = once(wide.sqrt(pivot))
        (found,) = once(_by_real(column, root))
        diagonal = matrices.number_like(zero_like(column), 0.0) + spread(_as(column, root), column.shape)
        found = choose(places(column.shape, 1, "EQ", k), diagonal, found)
        found = kept(places(column.shape, 1, "GE", k), found)
        rest = a - outer(found, matrices.adjoint(found))
        return [put(rest, choose(places(column.shape, 1, "GE", k), found, column), k, 2), failed]
    with wide.finite():
        found, failed = counted(a.shape[1], [of, failed], step)
    found = found if lower else matrices.adjoint(found)
    return choose(matrices.triangle(a.shape, "GE" if lower else "LE"), found, a), failed


def _by_real(x: Number, y: Wide) -> Number:
    """x / y, y one for each matrix."""
    return WideComplex(x.re / spread(y, x.shape), x.im / spread(y, x.shape)) if isinstance(x, WideComplex) \
        else x / spread(y, x.shape)


def _as(x: Number, real: Wide) -> Number:
    """A real number of x's kind."""
    return WideComplex(real, real.of(0.0)) if isinstance(x, WideComplex) else real


# ---- LU ------------------------------------------------------------------------------------------------------------

def lu(a: Number) -> tuple[Number, ir.Value, ir.Value]:
    """L without its unit diagonal and U in one matrix, the rows that rows were exchanged with, counted from 1,
    (batch, min(m, n)), and info: the first pivot that is 0, from 1, or 0."""
    batch, m, n = a.shape
    count = min(m, n)
    pivots, failed = ops.constant(0, np.int32, (batch, count)), ops.constant(0, np.int32, (batch,))

    def step(k: ir.Value, a: Number, pivots: ir.Value, failed: ir.Value) -> list[Number | ir.Value]:
        place = _place_of_largest(taken(a, k, 2), k)
        one = ops.splat(1, place)
        pivots = ops.dynamic_update_slice(pivots, ops.reshape(ops.add(place, one), (batch, 1)), [ops.splat(0, k), k])
        a = _exchanged(a, k, place)
        column, row = taken(a, k, 2), taken(a, k, 1)
        pivot = taken(column, k, 1)
        zero = _is_zero(pivot)
        here = ops.and_(ops.reshape(zero, (batch,)), ops.compare(failed, ops.splat(0, failed), "EQ"))
        failed = ops.select(here, ops.broadcast_in_dim(ops.add(k, ops.splat(1, k)), (batch,), ()), failed)
        factors = quotient(column, spread(choose(zero, matrices.number_like(pivot, 1.0), pivot), column.shape))
        factors, row = once(kept(places(column.shape, 1, "GT", k), factors), row)
        rest = a - outer(factors, kept(places(row.shape, 2, "GT", k), row))
        return [put(rest, choose(places(column.shape, 1, "GT", k), factors, column), k, 2), pivots, failed]
    with wide.finite():
        found = counted(count, [a, pivots, failed], step)
    return found[0], found[1], found[2]


def _is_zero(x: Number) -> ir.Value:
    parts = (x.re, x.im) if isinstance(x, WideComplex) else (x,)
    zeros = [ops.compare(part.head, 0.0, "EQ") for part in parts]
    return zeros[0] if len(zeros) == 1 else ops.and_(*zeros)


def _place_of_largest(column: Number, k: ir.Value) -> ir.Value:
    """The first row from k on, (batch,), whose number is the largest: |re| + |im|, as LAPACK has it."""
    size = rounding.absolute(column) if isinstance(column, Wide) else \
        rounding.absolute(column.re) + rounding.absolute(column.im)
    candidates = places(size.shape, 1, "GE", k)
    for limb in size.limbs:     # of those with the largest first limb the one with the largest second
        top = ops.reduce(ops.select(candidates, limb, float("-inf")), float("-inf"), (1, 2), "maximum")
        candidates = ops.and_(candidates, ops.compare(limb, matrices.each_matrix(top, size.shape), "EQ"))
    rows = ops.iota(size.shape, np.int32, 1)
    first = ops.reduce(ops.select(candidates, rows, ops.splat(size.shape[1], rows)), size.shape[1], (1, 2), "minimum")
    none = ops.compare(first, ops.splat(size.shape[1], first), "EQ")        # NaN
    return ops.select(none, ops.broadcast_in_dim(k, shape_of(first), ()), first)


def _exchanged(a: Number, k: ir.Value, place: ir.Value) -> Number:
    """Row k and another one, one for each matrix, change places."""
    there = ops.compare(ops.iota(a.shape, np.int32, 1), matrices.each_matrix(place, a.shape), "EQ")
    batch, _, n = a.shape

    def row(limb: ir.Value) -> ir.Value:
        picked = ops.reduce(ops.select(there, limb, -0.0), -0.0, (1,), "add")
        return ops.reshape(picked, (batch, 1, n))
    other, own = a.each(row), taken(a, k, 1)
    return put(choose(there, spread(own, a.shape), a), other, k, 1)


# ---- QR ------------------------------------------------------------------------------------------------------------

def reflectors(a: Number) -> tuple[Number, Number]:
    """R, below it the vectors of Householder's reflections without their leading 1, and tau, (batch, min(m, n)):
    LAPACK's geqrf."""
    batch, m, n = a.shape
    count = min(m, n)
    taus = a.each(lambda limb: ops.constant(0, dtype_of(limb), (batch, 1, count)))

    def step(k: ir.Value, a: Number, taus: Number) -> list[Number]:
        column = taken(a, k, 2)
        below, here = places(column.shape, 1, "GT", k), places(column.shape, 1, "EQ", k)
        tail, tau, beta = _reflector(kept(below, column), taken(column, k, 1))
        tail, tau, beta = once(tail, tau, beta)
        vector = choose(here, matrices.number_like(column, 1.0), tail)
        row = matrices.column_sums(spread(conjugate(vector), a.shape) * a)
        row = kept(places(row.shape, 2, "GT", k), row)
        (scaled,) = once(vector * spread(conjugate(tau), vector.shape))
        a = a - outer(scaled, row)
        made = choose(here, spread(beta, column.shape), choose(below, tail, column))
        return [put(a, made, k, 2), put(taus, tau, k, 2)]
    with wide.finite():
        found, taus = counted(count, [a, taus], step)
    return found, taus.each(lambda limb: ops.reshape(limb, (batch, count)))


def _reflector(tail: Number, alpha: Number) -> tuple[Number, Number, Number]:
    """v below its leading 1, tau, and what alpha becomes: (I - conj(tau) v v^H) (alpha, tail) = (beta, 0)."""
    power = matrices.exponent(_beside(tail, alpha))
    up = ops.subtract(ops.splat(HIGH, power), power)
    near, first = matrices.times_power(tail, up), matrices.times_power(alpha, up)
    below = matrices.column_sums(matrices.square_of_size(near))
    near, first, below = once(near, first, below)
    (size,) = once(wide.sqrt(once(matrices.square_of_size(first) + below)[0]))
    negative = ops.compare(real_part(first).head, 0.0, "LT")
    beta = wide.choose(negative, size, -size)
    none = ops.compare(below.head, 0.0, "EQ")
    if isinstance(first, WideComplex):
        none = ops.and_(none, ops.compare(first.im.head, 0.0, "EQ"))
    safe = wide.choose(none, beta.of(1.0), beta)
    (less,) = once(first - _as(first, beta))
    divisor = choose(none, matrices.number_like(less, 1.0), less)
    vector = quotient(near, spread(divisor, near.shape))
    tau = choose(none, zero_like(less), -_by_real(less, safe))
    spread_none = ops.broadcast_in_dim(none, near.shape, (0, 1, 2))
    vector = choose(spread_none, zero_like(vector), vector)
    made = choose(none, alpha, matrices.times_power(_as(first, beta), ops.negate(up)))
    return vector, tau, made


def _beside(x: Number, y: Number) -> Number:
    others = iter(y.limbs)
    return x.each(lambda limb: ops.concatenate([limb, next(others)], 1))


def orthogonal(a: Number, taus: Number) -> Number:
    """The first columns of the product of reflections that `reflectors` has left in a, as many as a has: orgqr."""
    batch, m, n = a.shape
    count = taus.shape[1]
    taus = taus.each(lambda limb: ops.reshape(limb, (batch, 1, count)))

    def step(k: ir.Value, a: Number, taus: Number, q: Number) -> list[Number]:
        k = ops.subtract(ops.splat(count - 1, k), k)
        column = taken(a, k, 2)
        vector = kept(places(column.shape, 1, "GT", k), column)
        vector = choose(places(column.shape, 1, "EQ", k), matrices.number_like(column, 1.0), vector)
        row = matrices.column_sums(spread(conjugate(vector), q.shape) * q)
        (scaled,) = once(vector * spread(taken(taus, k, 2), vector.shape))
        return [a, taus, q - outer(scaled, row)]
    with wide.finite():
        return counted(count, [a, taus, matrices.unit(a, m, n)], step)[2]
