"""Discrete Fourier transforms of limbs, of any length, by products of matrices.

A length n1 n2 is transforms of n1, factors of unit size, and transforms of n2 (Cooley and Tukey, Mathematics of
Computation 19, 1965). Short ones are products with the matrix of the roots of unity, which has all digits (the
slices of `contraction`); those of a large prime are a convolution of a length that has small factors (Bluestein, 1970).
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from reactant.ir import ops
from reactant.precision import contraction, numerals, series
from reactant.precision.matrices import once
from reactant.precision.values import WideComplex, conjugate, real_part
from reactant.precision.wide import Wide

SHORT = 64
"""Lengths up to which a composite number is one matrix."""
PRIME = 512
"""Up to which a prime is."""
TABLE = 1 << 14
"""Factors that are constants; of more, products of two of a smaller table are."""
PLACES = 300


@cache
def roots(n: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """cos(2 pi k / n) and -sin(2 pi k / n), k = 0 ... n - 1, to 300 binary places."""
    extra = n.bit_length() + 8
    one = 1 << PLACES + extra

    def whole(x: Fraction) -> int:
        return round(x * one)
    angle = numerals.pi() / n
    sine = numerals.sine(angle)
    step = whole(1 - 2 * sine * sine), -whole(2 * sine * numerals.sqrt(1 - sine * sine)) if n > 2 else 0
    if n <= 2:      # the angle is too large for the series
        step = (one if n == 1 else -one), 0
    re, im = one, 0
    found: list[tuple[Fraction, Fraction]] = []
    for _ in range(n):
        found.append((_cut(re, extra), _cut(im, extra)))
        re, im = (re * step[0] - im * step[1]) // one, (re * step[1] + im * step[0]) // one
    return tuple(re for re, _ in found), tuple(im for _, im in found)


def _cut(x: int, extra: int) -> Fraction:
    return Fraction(round(Fraction(x, 1 << extra)), 1 << PLACES)


def _constants(index: np.ndarray, n: int, dtype: np.dtype, count: int) -> WideComplex:
    """Roots of unity at these places, behind a barrier: they are not computed with before the program runs."""
    parts = [[limb[index] for limb in numerals.arrays_of(part, dtype, count)] for part in roots(n)]
    re, im = (Wide([ops.constant(limb, dtype) for limb in part]) for part in parts)
    return once(WideComplex(re, im))[0]


def transform(x: Wide | WideComplex, inverse: bool) -> WideComplex:
    """Of the last dimension of (batch, n); the inverse divides by n."""
    if inverse:
        n = x.shape[1]
        found = conjugate(_transform(_conjugated(x)))
        if n & (n - 1):
            return WideComplex(found.re * Fraction(1, n), found.im * Fraction(1, n))
        return found.each(lambda limb: ops.multiply(limb, 1 / n))
    return _transform(x)


def _conjugated(x: Wide | WideComplex) -> Wide | WideComplex:
    return conjugate(x) if isinstance(x, WideComplex) else x


def _transform(x: Wide | WideComplex) -> WideComplex:
    n = x.shape[1]
    first = _factor(n)
    if first == n:
        return _short(x) if n <= PRIME else _bluestein(x)
    return _composite(x, first)


def _factor(n: int) -> int:
    """The length of the first transforms: a product of small primes, n itself, or its largest prime."""
    if n <= SHORT:
        return n
    best, rest = 1, n
    for prime in _primes(n):
        if best * prime > SHORT:
            break
        best, rest = best * prime, rest // prime
    return best if best > 1 else _primes(n)[0]


@cache
def _primes(n: int) -> list[int]:
    found, p = [], 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return [*found, n] if n > 1 else found


def _short(x: Wide | WideComplex) -> WideComplex:
    """The product with the matrix of the roots."""
    batch, n = x.shape
    limbs = real_part(x)
    if n == 1:
        return x if isinstance(x, WideComplex) else WideComplex(x, x.of(0.0))
    index = np.outer(np.arange(n), np.arange(n)) % n
    matrix = _constants(index, n, limbs.dtype, limbs.count).each(lambda limb: ops.reshape(limb, (1, n, n)))
    columns = x.each(lambda limb: ops.reshape(ops.transpose(limb, (1, 0)), (1, n, batch)))
    found = contraction.product(matrix, columns)
    assert isinstance(found, WideComplex)
    return found.each(lambda limb: ops.transpose(ops.reshape(limb, (n, batch)), (1, 0)))


def _composite(x: Wide | WideComplex, first: int) -> WideComplex:
    """x[j1 n2 + j2], over j1, times e^(-2 pi i k1 j2 / n), over j2: the places k1 + n1 k2."""
    batch, n = x.shape
    second = n // first
    rows = x.each(lambda limb: ops.reshape(ops.transpose(ops.reshape(limb, (batch, first, second)), (0, 2, 1)),
                                           (batch * second, first)))
    found = _transform(rows).each(lambda limb: ops.reshape(limb, (batch, second, first)))
    factors = _twiddles(first, second, real_part(x)).each(
        lambda limb: ops.broadcast_in_dim(limb, (batch, second, first), (1, 2)))
    turned = once(found * factors)[0].each(
        lambda limb: ops.reshape(ops.transpose(limb, (0, 2, 1)), (batch * first, second)))
    return _transform(turned).each(lambda limb: ops.reshape(
        ops.transpose(ops.reshape(limb, (batch, first, second)), (0, 2, 1)), (batch, n)))


def _twiddles(first: int, second: int, like: Wide) -> WideComplex:
    """e^(-2 pi i k1 j2 / n), (second, first)."""
    n = first * second
    if n <= TABLE:
        return _constants(np.outer(np.arange(second), np.arange(first)), n, like.dtype, like.count)
    bits = math.ceil(math.log2(n) / 2)
    place = ops.multiply(ops.iota((second, first), np.int32, 0), ops.iota((second, first), np.int32, 1))
    low = ops.and_(place, ops.splat((1 << bits) - 1, place))
    high = ops.shift_right_logical(place, ops.splat(bits, place))
    parts = []
    for index, step, extent in ((low, 1, 1 << bits), (high, 1 << bits, (n >> bits) + 1)):
        tables = _some_roots(n, step, extent)
        parts.append(once(WideComplex(*(series.looked_up(index, table, like.dtype, like.count)
                                        for table in tables)))[0])
    return once(parts[0] * parts[1])[0]


@cache
def _some_roots(n: int, step: int, extent: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Every so many of the roots."""
    rows = [_root(Fraction(step * k % n, n)) for k in range(extent)]
    return tuple(re for re, _ in rows), tuple(im for _, im in rows)


def _root(turn: Fraction) -> tuple[Fraction, Fraction]:
    """cos and -sin of a part of a turn in [0, 1), by the half of the angle within an eighth."""
    quarter, rest = divmod(turn * 4, 1)
    sine = numerals.sine(numerals.cut(rest * numerals.pi() / 4))
    cosine = numerals.sqrt(1 - numerals.cut(sine * sine))
    c, s = numerals.cut(1 - 2 * sine * sine, PLACES), numerals.cut(2 * sine * cosine, PLACES)
    c, s = [(c, s), (-s, c), (-c, -s), (s, -c)][int(quarter)]
    return c, -s


def _bluestein(x: Wide | WideComplex) -> WideComplex:
    """j k = (j^2 + k^2 - (k - j)^2) / 2: a convolution with e^(pi i j^2 / n), of a length that is a power of two."""
    batch, n = x.shape
    length = 1 << (2 * n - 2).bit_length()
    limbs = real_part(x)
    square = np.array([j * j % (2 * n) for j in range(n)])
    chirp = _constants(square, 2 * n, limbs.dtype, limbs.count)
    spread = chirp.each(lambda limb: ops.broadcast_in_dim(limb, (batch, n), (1,)))
    of = x if isinstance(x, WideComplex) else WideComplex(x, x.of(0.0))
    turned = once(of * spread)[0].each(lambda limb: ops.pad(limb, 0.0, (0, 0), (0, length - n)))
    around = conjugate(chirp).each(lambda limb: ops.reshape(ops.concatenate(
        [limb, ops.constant(0, limbs.dtype, (length - 2 * n + 1,)),
         ops.reverse(ops.slice(limb, (1,), (n,)), (0,))], 0), (1, length)))
    other = _transform(around).each(lambda limb: ops.broadcast_in_dim(limb, (batch, length), (0, 1)))
    found = transform(once(_transform(turned) * other)[0], True)
    return found.each(lambda limb: ops.slice(limb, (0, 0), (batch, n))) * spread
