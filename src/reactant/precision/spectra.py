"""Eigenvalues of Hermitian matrices, and singular values, by Jacobi's rotations in limbs.

They start from the vectors that LAPACK finds for the first limbs, made orthogonal by Newton and Schulz's iteration:
then what is left off the diagonal is small, and a sweep or two of rotations make it smaller than the last limb's
digits, clusters included. Where the narrow format finds no vectors, more sweeps start from the matrix itself.

Each round rotates half as many pairs as there are columns, all at once; a fixed permutation brings other pairs together
for the next round (Brent and Luk, SIAM J. Sci. Stat. Comput. 6, 1985). Singular values are those of one-sided
rotations (Hestenes, 1958), whose columns become U by a QR factorization.
"""
from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.lapack import LETTERS, lapack_svd, letters, library_call
from reactant.ir.types import dtype_of, tensor_type
from reactant.precision import contraction, entries, factorizations, matrices, rounding, wide
from reactant.precision.error_free import digits
from reactant.precision.factorizations import HIGH
from reactant.precision.matrices import once, spread
from reactant.precision.values import Number, WideComplex, choose, conjugate, like, real_part
from reactant.precision.wide import Wide

MOST_SWEEPS = 40
Rotation: TypeAlias = "tuple[Wide, Wide, WideComplex | None]"


# ---- eigenvalues ---------------------------------------------------------------------------------------------------

def hermitian(a: Number, lower: bool, vectors: bool) -> tuple[Wide, Number | None]:
    """Eigenvalues, ascending, (batch, n), and vectors in columns, of matrices of which one triangle is looked at; NaN
    of what is not finite."""
    n = a.shape[1]
    of = _hermitian_of(a, lower)
    scale = matrices.exponent(of)
    with wide.finite():
        near = matrices.times_power(of, ops.negate(scale))
        v = _orthogonal(_narrow_vectors(near), n)
        b = _product(matrices.adjoint(v), _product(near, v))
        b = _even(_half(b + matrices.adjoint(b)).each(lambda limb: ops.multiply(limb, 2.0**HIGH)), True)
        carried = [b, _even(v, False)] if vectors else [b]
        found = matrices.until(lambda k, b, *_: _going(k, b, n), carried, _sweep)
        values = real_part(_diagonal(_cut(found[0], n, n)))
        values = values.each(lambda limb: ops.multiply(limb, 2.0**-HIGH))
    row = matrices.times_power(values.each(lambda limb: ops.reshape(limb, (values.shape[0], 1, n))), scale)
    good = ops.is_finite(matrices.largest(of))
    if not vectors:
        (row,) = _sorted(row, [])
        return _flat_rows(_or_nan(row, good)), None
    row, v = _sorted(row, [_cut(found[1], n, n)])
    return _flat_rows(_or_nan(row, good)), _or_nan(v, good)


def _hermitian_of(a: Number, lower: bool) -> Number:
    other = matrices.adjoint(a)
    made = choose(matrices.triangle(a.shape, "GE" if lower else "LE"), a, other)
    if isinstance(made, WideComplex):       # of the diagonal the real part
        on = matrices.triangle(a.shape, "EQ")
        return WideComplex(made.re, choose(on, matrices.zero_like(made.im), made.im))
    return made


def _narrow(x: Number) -> ir.Value:
    """The first limbs, in a format that LAPACK has."""
    parts = [x.re.head, x.im.head] if isinstance(x, WideComplex) else [x.head]
    if dtype_of(parts[0]).itemsize < 4:
        parts = [ops.convert(part, np.float32) for part in parts]
    return ops.complex(*parts) if len(parts) > 1 else parts[0]


def _widened(x: ir.Value, like_: Number) -> Number:
    """An array of LAPACK's as limbs; the unit matrix where it holds what is no number."""
    def split(part: ir.Value) -> Wide:
        return entries.split(part, real_part(like_).dtype, real_part(like_).count)
    if isinstance(like_, WideComplex):
        made: Any = WideComplex(split(ops.real(x)), split(ops.imag(x)))
    else:
        made = split(x)
    good = matrices.each_matrix(ops.is_finite(matrices.largest(made)), made.shape)
    return choose(good, made, matrices.unit(made, *made.shape[1:]))


def _narrow_vectors(a: Number) -> Number:
    of = _narrow(a)
    batch, n, _ = a.shape
    dtype = dtype_of(of)
    real = np.zeros(0, dtype).real.dtype
    name = f"lapack_{LETTERS[dtype.name]}{'heevd' if isinstance(a, WideComplex) else 'syevd'}_ffi"
    types = [of.type, tensor_type((batch, n), real), tensor_type((batch,), np.dtype(np.int32))]
    return _widened(library_call(name, [of], types, letters(mode="V", uplo="L"), 1, 0)[0], a)


def _orthogonal(v: Number, n: int) -> Number:
    """The orthogonal matrix next to one: V + V (1 - V^H V) / 2, as often as the digits double."""
    def step(k: ir.Value, v: Number) -> list[Number]:
        rest = matrices.unit(v, n, n) - _product(matrices.adjoint(v), v)
        return [v + _half(_product(v, rest))]
    return matrices.counted(1 + math.ceil(math.log2(real_part(v).count)), [v], step)[0]


def _product(x: Number, y: Number) -> Number:
    found: Any = contraction.product(x, y)
    return found


def _half(x: Number) -> Number:
    return x.each(lambda limb: ops.multiply(limb, 0.5))


def _even(x: Number, both: bool) -> Number:
    """With another column, or row and column, of zeros where the number of columns is odd: rotations leave it alone."""
    odd = x.shape[2] % 2
    return x.each(lambda limb: ops.pad(limb, 0.0, (0, 0, 0), (0, odd * both, odd)))


def _cut(x: Number, rows: int, columns: int) -> Number:
    return x.each(lambda limb: ops.slice(limb, (0, 0, 0), (x.shape[0], rows, columns)))


def _diagonal(x: Number) -> Number:
    """(batch, n, n) to (batch, n)."""
    batch, n, _ = x.shape
    return x.each(lambda limb: ops.slice(ops.reshape(limb, (batch, n * n)), (0, 0), (batch, n * n), (1, n + 1)))


def _going(k: ir.Value, b: Number, n: int) -> ir.Value:
    """Whether something off the diagonal is more than rounding."""
    off = matrices.largest(matrices.kept(matrices.triangle(b.shape, "NE"), b))
    bound = ops.multiply(matrices.largest(b), _noise(real_part(b), n))
    above = ops.reduce(ops.compare(off, bound, "GT"), False, (0,), "or")
    return ops.and_(above, ops.compare(k, ops.splat(MOST_SWEEPS, k), "LT"))


def _noise(x: Wide, n: int) -> float:
    return 4.0 * n * 2.0**-(digits(x.dtype) * x.count)


def _sweep(k: ir.Value, b: Any, *v: Any) -> list[Any]:
    """Rotations of all pairs; then the columns are where they have been."""
    return matrices.counted(max(b.shape[2] - 1, 1), [b, *v], _round)


def _round(k: ir.Value, b: Any, *v: Any) -> list[Any]:
    half = b.shape[2] // 2
    top, bottom = _halves(b, 2)
    first, second = _diagonal(_part(top, 1, 0, half)), _diagonal(_part(bottom, 1, half, 2 * half))
    rotation = _rotation(real_part(first), real_part(second), _diagonal(_part(bottom, 1, 0, half)))
    b = _turned(b, rotation)
    b = matrices.adjoint(_turned(matrices.adjoint(b), rotation))
    return [_moved(_moved(b, 1), 2), *[_moved(_turned(x, rotation), 2) for x in v]]


def _part(x: Number, dimension: int, start: int, stop: int) -> Number:
    first, last = [0, 0, 0], list(x.shape)
    first[dimension], last[dimension] = start, stop
    return x.each(lambda limb: ops.slice(limb, first, last))


def _halves(x: Number, dimension: int) -> tuple[Number, Number]:
    n = x.shape[dimension]
    return _part(x, dimension, 0, n // 2), _part(x, dimension, n // 2, n)


def _rotation(alpha: Wide, beta: Wide, gamma: Wide | WideComplex) -> Rotation:
    """c, s, w, (batch, 1, half), such that [[c, s], [-s w, c w]] makes [[alpha, gamma], [conj(gamma), beta]] diagonal;
    w is None for 1."""
    size = _root(matrices.square_of_size(gamma)) if isinstance(gamma, WideComplex) else gamma
    size, difference = once(size, beta - alpha)
    double = size.times_power(2.0)
    root = _root(once(wide.square(difference) + wide.square(double))[0])
    below = once(rounding.absolute(difference) + root)[0]
    none = ops.compare(below.head, 0.0, "EQ")
    t = once(double / wide.choose(none, below.of(1.0), below))[0]
    t = wide.choose(none, t.of(0.0), wide.choose(ops.compare(difference.head, 0.0, "LT"), -t, t))
    c = once(1.0 / once(wide.sqrt(once(wide.square(t) + 1.0)[0]))[0])[0]
    found: list[Any] = [c, c * t]
    if isinstance(gamma, WideComplex):
        none = ops.compare(size.head, 0.0, "EQ")
        inverse = once(1.0 / wide.choose(none, size.of(1.0), size))[0]
        found.append(choose(none, matrices.number_like(gamma, 1.0), conjugate(gamma * inverse)))
    rows = [x.each(lambda limb: ops.reshape(limb, (x.shape[0], 1, x.shape[-1]))) for x in once(*found)]  # noqa: B023
    return rows[0], rows[1], rows[2] if len(rows) > 2 else None


def _root(x: Wide) -> Wide:
    """The square root, of 0 too."""
    zero = ops.compare(x.head, 0.0, "EQ")
    return wide.choose(zero, x, wide.sqrt(wide.choose(zero, x.of(1.0), x)))


def _turned(x: Number, rotation: Rotation) -> Number:
    """x J: pairs of columns, of which one is in each half."""
    c, s, w = rotation
    top, bottom = _halves(x, 2)
    c, s = spread(c, top.shape), spread(s, top.shape)
    if w is not None:
        bottom = bottom * spread(w, bottom.shape)
    others = iter((top * s + bottom * c).limbs)
    return (top * c - bottom * s).each(lambda limb: ops.concatenate([limb, next(others)], 2))


def _moved(x: Number, dimension: int) -> Number:
    """Other pairs: all but the first one move on by one place around the two halves."""
    n = x.shape[dimension]
    half = n // 2
    if half < 2:
        return x
    spans = [(0, 1), (half, half + 1), (1, half - 1), (half + 1, n), (half - 1, half)]
    parts = [_part(x, dimension, *span).limbs for span in spans if span[0] < span[1]]
    columns = iter(zip(*parts, strict=True))
    return x.each(lambda limb: ops.concatenate(list(next(columns)), dimension))


def _sorted(keys: Wide, numbers: list[Any]) -> list[Any]:
    """Keys of columns, (batch, 1, n), ascending, and columns of the matrices in that order."""
    found: list[Any] = []
    for x in [keys, *numbers]:
        spread_ = spread(keys, x.shape)
        count = keys.count
        limbs = [] if x is keys else list(x.limbs)

        def before(*pairs: ir.Value) -> ir.Value:
            one, other = (Wide(pairs[side:2 * count:2]) for side in (0, 1))  # noqa: B023
            return entries.compare(one, other, "LT")
        made = ops.sort([*spread_.limbs, *limbs], 2, before)
        found += like([x], made[:count] if x is keys else made[count:])
    return found


def _flat_rows(x: Wide) -> Wide:
    return x.each(lambda limb: ops.reshape(limb, (x.shape[0], x.shape[2])))


def _or_nan(x: Number, good: ir.Value) -> Number:
    return choose(matrices.each_matrix(good, x.shape), x, matrices.number_like(x, float("nan")))


# ---- singular values -----------------------------------------------------------------------------------------------

def singular(a: Number, full: bool, vectors: bool) -> tuple[Wide, Number | None, Number | None]:
    """Singular values, descending, (batch, min(m, n)), U and V^H of a: (batch, m, n); full: with all of their columns
    and rows."""
    if a.shape[1] < a.shape[2]:
        s, u, vh = singular(matrices.adjoint(a), full, vectors)
        return s, None if vh is None else matrices.adjoint(vh), None if u is None else matrices.adjoint(u)
    batch, m, n = a.shape
    scale = matrices.exponent(a)
    with wide.finite():
        near = matrices.times_power(a, ops.negate(scale))
        v = _orthogonal(matrices.adjoint(_widened(lapack_svd(_narrow(near))[2], near)), n)
        w = _product(near, v).each(lambda limb: ops.multiply(limb, 2.0**HIGH))
        w, v = _orthogonal_columns(_even(w, False), _even(v, False))
        w, v = _cut(w, m, n), _cut(v, n, n)
        keys = -matrices.column_sums(matrices.square_of_size(w))
        _, w, v = _sorted(keys, [w, v])
        w = w.each(lambda limb: ops.multiply(limb, 2.0**-HIGH))
        packed, taus = factorizations.reflectors(w)
        diagonal = real_part(_diagonal(_cut(packed, n, n))).each(lambda limb: ops.reshape(limb, (batch, 1, n)))
    good = ops.is_finite(matrices.largest(a))
    s = _or_nan(matrices.times_power(rounding.absolute(diagonal), scale), good)
    if not vectors:
        return _flat_rows(s), None, None
    if full:
        packed = packed.each(lambda limb: ops.pad(limb, 0.0, (0, 0, 0), (0, 0, m - n)))
    u = factorizations.orthogonal(packed, taus)
    signs = ops.select(ops.compare(diagonal.head, 0.0, "LT"), ops.splat(-1.0, diagonal.head), 1.0)
    signs = ops.pad(signs, 1.0, (0, 0, 0), (0, 0, u.shape[2] - n))
    u = u.each(lambda limb: ops.multiply(limb, ops.broadcast_in_dim(signs, u.shape, (0, 1, 2))))
    return _flat_rows(s), _or_nan(u, good), _or_nan(matrices.adjoint(v), good)


def _orthogonal_columns(w: Number, v: Number) -> tuple[Number, Number]:
    """W J and V J, columns of the first orthogonal to the last digits of their own sizes."""
    batch, m, n = w.shape
    head = real_part(w).head
    bound = _noise(real_part(w), m)
    start = ops.constant(float("inf"), dtype_of(head), (batch,))

    def going(k: ir.Value, w: Number, v: Number, worst: ir.Value) -> ir.Value:
        above = ops.reduce(ops.compare(worst, bound, "GT"), False, (0,), "or")
        return ops.and_(above, ops.compare(k, ops.splat(MOST_SWEEPS, k), "LT"))

    def turn(k: ir.Value, w: Any, v: Any, worst: ir.Value) -> list[Any]:
        top, bottom = _halves(w, 2)
        alpha, beta = (matrices.column_sums(matrices.square_of_size(each)) for each in (top, bottom))
        gamma = matrices.column_sums(conjugate(top) * bottom)
        sizes = ops.multiply(ops.sqrt(alpha.head), ops.sqrt(beta.head))
        parts = [gamma.re.head, gamma.im.head] if isinstance(gamma, WideComplex) else [gamma.head]
        size = ops.abs(parts[0]) if len(parts) == 1 else ops.maximum(*map(ops.abs, parts))
        cosine = ops.select(ops.compare(sizes, 0.0, "GT"), ops.divide(size, sizes), 0.0)
        worst = ops.maximum(worst, ops.reduce(cosine, 0.0, (1, 2), "maximum"))
        # squares of squares would leave the range
        alpha, beta, gamma = (each.each(lambda limb: ops.multiply(limb, 2.0**-HIGH)) for each in (alpha, beta, gamma))
        rotation = _rotation(alpha, beta, gamma)
        return [_moved(_turned(w, rotation), 2), _moved(_turned(v, rotation), 2), worst]

    def sweep(k: ir.Value, w: Number, v: Number, worst: ir.Value) -> list[Any]:
        return matrices.counted(max(n - 1, 1), [w, v, ops.splat(0.0, worst)], turn)
    found = matrices.until(going, [w, v, start], sweep)
    return found[0], found[1]
