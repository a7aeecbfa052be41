"""The logarithm of the gamma function, and its derivative.

From 1/2 to 16 (32 for four limbs of float64) they are the Taylor series at odd multiples of 1/16 and at whole numbers
between, beyond that Stirling's, and below 1/2 the reflection at 1/2. Coefficients are Hurwitz's zeta function, by Euler
and Maclaurin's sum at 64 and the recurrence from there down (NIST's Digital Library of Mathematical Functions, 5.5,
5.11, 5.15, 25.11).
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision import exponential, numerals, rounding, series, trigonometric, wide
from reactant.precision.error_free import digits
from reactant.precision.wide import Wide

STEP = Fraction(1, 16)
BASE = 64
PLACES = 1000
"""Binary places of the whole numbers in which coefficients are computed."""
ONE = 1 << PLACES


def _reach(dtype: np.dtype, count: int) -> int:
    """From where on Stirling's series has all digits."""
    return 16 if digits(dtype) * count <= 110 else 32


@cache
def bernoulli(count: int) -> tuple[Fraction, ...]:
    """B_0, B_2, B_4 ..., by sum_(j <= m) C(m + 1, j) B_j = 0."""
    found = [Fraction(1)]
    for m in range(1, 2 * count):
        total = sum((math.comb(m + 1, j) * found[j] for j in range(m) if found[j]), Fraction(0))
        found.append(-total / (m + 1))
    return tuple(found[::2])


def _zeta(k: int, n: int) -> int:
    """sum_(i >= 0) (c + i)^-k at c = n / 16 >= BASE, k >= 2, in units of 2^-PLACES."""
    inverse = ONE * 16 // n
    power = ONE
    for _ in range(k - 1):
        power = power * inverse >> PLACES
    total = power // (k - 1) + (power * inverse >> PLACES + 1)
    rising, factorial = 1, 1
    for j, b in enumerate(bernoulli(80)[1:], 1):
        rising *= (k + 2 * j - 2) * (k + 2 * j - 3 if j > 1 else 1)
        factorial *= (2 * j) * (2 * j - 1)
        power = power * inverse >> PLACES
        power = power * inverse >> PLACES
        total += b.numerator * rising * power // (b.denominator * factorial)
    return total


@cache
def _stirling_terms(count: int) -> tuple[Fraction, ...]:
    """B_2k / (2k (2k - 1)): of x^(1 - 2k)."""
    return tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(bernoulli(count + 1)[1:], 1))


@cache
def _half_log_of_circle() -> Fraction:
    """log(2 pi) / 2."""
    return numerals.log(2 * numerals.pi()) / 2


def _whole(x: Fraction) -> int:
    return round(x * ONE)


@cache
def _at_base(n: int, terms: int) -> tuple[int, ...]:
    """log Gamma, its derivative, and zeta of 2, 3 ... at n / 16."""
    c = Fraction(n, 16)
    logarithm = numerals.log(c)
    value = (c - Fraction(1, 2)) * logarithm - c + _half_log_of_circle()
    value += sum((t / c**(2 * k - 1) for k, t in enumerate(_stirling_terms(60), 1)), Fraction(0))
    slope = logarithm - 1 / (2 * c) - sum((t * (2 * k - 1) / c**(2 * k) for k, t in enumerate(_stirling_terms(60), 1)),
                                         Fraction(0))
    return _whole(value), _whole(slope), *(_zeta(k, n) for k in range(2, terms))


@cache
def pieces(reach: int, terms: int) -> tuple[tuple[Fraction, ...], ...]:
    """Taylor coefficients of log Gamma at 1/2, 1/2 + 1/16, ... reach."""
    rows: dict[int, list[int]] = {}
    for last in range(16 * BASE, 16 * BASE + 16):
        row = list(_at_base(last, terms))
        for n in range(last - 16, 7, -16):
            row[0] -= _whole(numerals.log(Fraction(n, 16)))
            power = ONE * 16 // n
            row[1] -= power
            for k in range(2, terms):
                power = power * 16 // n
                row[k] += power
            if n <= 16 * reach:
                rows[n] = list(row)
    rows[16][0] = rows[32][0] = 0
    return tuple(tuple(Fraction(v * (1 if k < 2 else (-1) ** k) >> PLACES - 400, (k or 1) << 400)
                       for k, v in enumerate(rows[n])) for n in range(8, 16 * reach + 1))


def _table(like: Wide) -> tuple[tuple[Fraction, ...], ...]:
    bits = digits(like.dtype) * like.count
    return pieces(_reach(like.dtype, like.count), 12 + bits // 4)


def _derivatives(rows: tuple[tuple[Fraction, ...], ...]) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(k * row[k] for k in range(1, len(row))) for row in rows)


def _stirling(inverse: Wide, coefficients: Sequence[Fraction], reach: int) -> Wide:
    """sum_k c_k x^(-2k - 1), of 1 / x: squares of x leave the range."""
    return inverse * series.polynomial(coefficients, wide.square(inverse), float(reach)**-2, inverse.count)


def _turned(x: Wide) -> tuple[ir.Value, Wide, Wide, Wide]:
    """Where the reflection is: x < 1/2; and sin(pi x), cos(pi x) there up to a common sign; x or 1 - x."""
    left = ops.compare(x.head, 0.5, "LT")
    there = wide.choose(left, x, x.of(0.25))
    rest = there - rounding.round_nearest_even(there)
    sine, cosine = trigonometric.sine_and_cosine(rest * numerals.pi())
    return left, sine, cosine, wide.choose(left, 1.0 - there, x)


def _pole(x: Wide) -> ir.Value:
    """Zero and negative whole numbers."""
    whole = rounding.is_whole(x)
    return ops.and_(ops.compare(x.head, 0.0, "LE"), whole)


def _safe(x: Wide) -> tuple[ir.Value, Wide]:
    """Where there is a number to compute, and 1 elsewhere."""
    good = ops.and_(ops.is_finite(x.head), ops.not_(_pole(x)))
    return good, wide.choose(good, x, x.of(1.0))


def lgamma(x: Wide) -> Wide:
    """log |Gamma(x)|; infinite at 0, -1, -2 ... and at infinities."""
    good, of = _safe(x)
    reach = _reach(x.dtype, x.count)
    with wide.finite():
        left, sine, _, z = _turned(of)
        near = ops.compare(z.head, float(reach), "LT")
        inside, beyond = wide.choose(near, z, z.of(1.0)), wide.choose(near, z.of(reach), z)
        close = series.piecewise(inside - 0.5, STEP, _table(x), x.count)
        tail = _stirling(1.0 / beyond, _stirling_terms(60), reach)
        far = (beyond - 0.5) * (exponential.log(beyond) - 1.0) + (tail + (_half_log_of_circle() - Fraction(1, 2)))
        found = wide.choose(near, close, far)
        size = wide.choose(left, rounding.absolute(sine), sine.of(1.0))
        turned = (numerals.log(numerals.pi()) - exponential.log(size)) - found
        found = wide.choose(left, turned, found)
    infinite = ops.select(ops.compare(x.head, x.head, "NE"), x.head, float("inf"))
    good = ops.and_(good, ops.is_finite(found.head))
    return Wide([ops.select(good, found.head, infinite), *(ops.select(good, v, 0.0) for v in found.limbs[1:])])


def digamma(x: Wide) -> Wide:
    """The derivative of log Gamma; NaN at 0, -1, -2 ... and -infinity."""
    good, of = _safe(x)
    reach = _reach(x.dtype, x.count)
    with wide.finite():
        left, sine, cosine, z = _turned(of)
        near = ops.compare(z.head, float(reach), "LT")
        inside, beyond = wide.choose(near, z, z.of(1.0)), wide.choose(near, z.of(reach), z)
        close = series.piecewise(inside - 0.5, STEP, _derivatives(_table(x)), x.count)
        terms = [t * (2 * k + 1) for k, t in enumerate(_stirling_terms(60))]
        inverse = 1.0 / beyond
        tail = _stirling(inverse, terms, reach) * inverse
        far = exponential.log(beyond) - (inverse.times_power(0.5) + tail)
        found = wide.choose(near, close, far)
        safe = wide.choose(left, sine, sine.of(1.0))
        found = wide.choose(left, found - cosine / safe * numerals.pi(), found)
    infinite = ops.select(ops.compare(x.head, float("inf"), "EQ"), x.head, float("nan"))
    good = ops.and_(good, ops.is_finite(found.head))
    return Wide([ops.select(good, found.head, infinite), *(ops.select(good, v, 0.0) for v in found.limbs[1:])])
