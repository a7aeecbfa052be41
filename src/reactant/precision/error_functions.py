"""The error function, its complement and its inverse.

erf goes by its Taylor series at multiples of 1/16, erfc(x) = e^(-x^2) w(x) by those of the smooth w; the inverse by
Halley's steps.
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision import exponential, hyperbolic, numerals, rounding, series, wide
from reactant.precision.error_free import digits
from reactant.precision.wide import Wide

STEP = Fraction(1, 16)


def _reach(dtype: np.dtype, count: int) -> int:
    """From where on erf is 1."""
    return math.ceil(math.sqrt(digits(dtype) * count * math.log(2))) + 1


@cache
def _slope() -> Fraction:
    """2 / sqrt(pi)."""
    return numerals.cut(2 / numerals.sqrt(numerals.pi()))


PLACES = 520
"""Binary places of the whole numbers in which tables are computed."""


def _fixed(x: Fraction) -> int:
    return round(x * (1 << PLACES))


@cache
def _erf_at(j: int) -> int:
    """erf(j STEP) by its series with all terms of one sign: 2 / sqrt(pi) e^(-x^2) x sum (2 x^2)^k / (1 3 ... (2k + 1)).
    In units of 2^-PLACES, as all that follows."""
    x = j * STEP
    double = 2 * x * x
    term = total = 1 << PLACES
    k = 0
    while term:
        k += 1
        term = term * double.numerator // (double.denominator * (2 * k + 1))
        total += term
    return total * _fixed(_slope() * numerals.exp(-x * x) * x) >> PLACES


@cache
def _erf_pieces(reach: int, terms: int) -> tuple[tuple[Fraction, ...], ...]:
    """Coefficients at multiples of STEP: of y = erf', y_(k + 1) = -2 (c y_k + y_(k - 1)) / (k + 1)."""
    found, n = [], STEP.denominator
    for j in range(reach * n + 1):
        y = [_fixed(_slope() * numerals.exp(-(j * STEP)**2))]
        y.append(-2 * j * y[0] // n)
        for k in range(1, terms):
            y.append(-2 * (j * y[k] // n + y[k - 1]) // (k + 1))
        found.append(_numbers([_erf_at(j) if j else 0, *(each // (k + 1) for k, each in enumerate(y))]))
    return tuple(found)


def _numbers(units: list[int]) -> tuple[Fraction, ...]:
    return tuple(Fraction(each >> 100, 1 << PLACES - 100) for each in units)


@cache
def _scaled_pieces(reach: int, terms: int) -> tuple[tuple[Fraction, ...], ...]:
    """Those of w(x) = e^(x^2) erfc(x), with w' = 2 x w - 2 / sqrt(pi)."""
    found, n = [], STEP.denominator
    for j in range(reach * n + 1):
        w = [_scaled_complement(j)]
        w.append(2 * j * w[0] // n - _fixed(_slope()))
        for k in range(1, terms):
            w.append(2 * (j * w[k] // n + w[k - 1]) // (k + 1))
        found.append(_numbers(w))
    return tuple(found)


def _scaled_complement(j: int) -> int:
    """e^(x^2) erfc(x) at j STEP; by its continued fraction from 3 on, where it is fast enough."""
    x = j * STEP
    if x < 3:
        return _fixed(numerals.exp(x * x)) * ((1 << PLACES) - _erf_at(j)) >> PLACES
    unit, fixed, total = 1 << 2 * PLACES - 1, _fixed(x), 0
    for k in range(3 * (4000 // j + 12000 // (j * j // 16)) + 40, 0, -1):
        total = k * unit // (fixed + total)
    return (_fixed(_slope() / 2) << PLACES) // (fixed + total)


def _terms(dtype: np.dtype, count: int) -> int:
    return 14 + digits(dtype) * count // 4


def _erf_of_size(size: Wide) -> Wide:
    return series.piecewise(size, STEP, _erf_pieces(_reach(size.dtype, size.count), _terms(size.dtype, size.count)),
                            size.count)


def erf(x: Wide) -> Wide:
    """2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    size, reach = rounding.absolute(x), float(_reach(x.dtype, x.count))
    near = ops.compare(size.head, reach, "LT")
    with wide.finite():
        found = _erf_of_size(wide.choose(near, size, size.of(0.0)))
    found = hyperbolic.with_sign_of(x, wide.choose(near, found, found.of(1.0)))
    good = ops.and_(ops.compare(x.head, x.head, "EQ"), ops.compare(x.head, 0.0, "NE"))
    return Wide([ops.select(good, found.head, x.head), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


def _limit(dtype: np.dtype) -> int:
    """From where on erfc is 0."""
    return math.ceil(math.sqrt(-exponential.limits(dtype)[0]))


def erfc(x: Wide) -> Wide:
    """1 - erf(x), right relative to itself where that is tiny."""
    size = rounding.absolute(x)
    small = ops.compare(size.head, 0.5, "LT")
    with wide.finite():
        limit = _limit(x.dtype)
        inside = ops.compare(size.head, float(limit), "LT")
        bounded = wide.choose(inside, size, size.of(0.0))
        square = wide.multiply(bounded.first(max(3, x.count + 1)), bounded.first(max(3, x.count + 1)))
        grown = exponential.exp_with_more(-square)
        far = series.piecewise(bounded, STEP, _scaled_pieces(limit, _terms(x.dtype, x.count)), x.count) * grown
        near = 1.0 - erf(wide.choose(small, x, x.of(0.0)))
        far = wide.choose(inside, far, far.of(0.0))
        far = wide.choose(ops.compare(x.head, 0.0, "LT"), 2.0 - far, far)
    found = wide.choose(small, near, far)
    nan = ops.compare(x.head, x.head, "NE")
    return Wide([ops.select(nan, x.head, found.head), *found.limbs[1:]])


def erf_inv(x: Wide) -> Wide:
    """y with erf(y) = x: infinite at -1 and 1, NaN beyond."""
    size = rounding.absolute(x)
    good = ops.and_(ops.compare(size.head, 1.0, "LE"), ops.compare(x.head, 0.0, "NE"))
    less = 1.0 - size
    inside = ops.and_(good, ops.compare(less.head, 0.0, "GT"))
    with wide.finite():
        size = wide.choose(inside, size, size.of(0.25))
        less = wide.choose(inside, less, less.of(0.75))
        upper = ops.compare(size.head, 0.5, "GT")
        found = Wide([_estimate(size.head, less.head)])
        for _ in range(2 if digits(x.dtype) * x.count < 60 else 3):
            found = found.first(x.count)
            off = wide.choose(upper, less - erfc(found), erf(found) - size)
            slope = exponential.exp(wide.square(found)) * (1 / _slope())
            r = off * slope
            found = found - r / (found * r + 1.0)
    found = hyperbolic.with_sign_of(x, found)
    one = ops.compare((1.0 - rounding.absolute(x)).head, 0.0, "EQ")
    ends = ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, float("nan"))
    ends = ops.select(one, ops.multiply(ops.sign(x.head), float("inf")), ends)
    return Wide([ops.select(inside, found.head, ends), *(ops.select(inside, limb, 0.0) for limb in found.limbs[1:])])


def _estimate(size: ir.Value, less: ir.Value) -> ir.Value:
    """A start for Halley's steps, good to some percent, of x and 1 - x (Winitzki, 2008)."""
    a = 0.147
    logarithm = ops.log(ops.multiply(less, ops.add(size, 1.0)))
    half = ops.add(ops.multiply(logarithm, 0.5), 2 / (math.pi * a))
    inner = ops.subtract(ops.sqrt(ops.subtract(ops.multiply(half, half), ops.multiply(logarithm, 1 / a))), half)
    return ops.sqrt(ops.maximum(inner, 0.0))
