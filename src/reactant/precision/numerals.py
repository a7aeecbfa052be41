"""Numbers of any precision as limbs: constants of programs and coefficients of series.

Numbers are exact (`Fraction`); functions of them are computed with Python's `decimal` in `DIGITS` decimal digits, at
most once.
"""
from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

DIGITS = 110
"""Decimal digits of functions: more than four float64 have (64)."""
Number: TypeAlias = int | float | Fraction | Decimal


def exact(number: Number) -> Fraction:
    """The number as a fraction."""
    return Fraction(number)


def limbs_of(number: Number, dtype: np.dtype, count: int) -> list[Any]:
    """The number as `count` floats, each the nearest to what the ones before it have left."""
    if isinstance(number, (float, np.floating)) and not math.isfinite(number):
        return [np.asarray(number, dtype)[()], *[np.asarray(0, dtype)[()]] * (count - 1)]
    rest, found = Fraction(number), []
    largest = Fraction(float(ml_dtypes.finfo(dtype).max))
    for _ in range(count):
        limb = np.asarray(nearest(rest, dtype), dtype)[()] if abs(rest) <= largest * (1 + Fraction(1, 1 << 60)) else \
            np.asarray(math.copysign(math.inf, rest), dtype)[()]
        found.append(limb)
        rest = rest - Fraction(float(limb)) if math.isfinite(float(limb)) else Fraction(0)
    if not number and math.copysign(1.0, float(number)) < 0:
        found[0] = np.asarray(-0.0, dtype)[()]
    return found


def nearest(number: Fraction, dtype: np.dtype) -> float:
    """The nearest float of a format, as float64; ties to even."""
    if not number:
        return 0.0
    info = ml_dtypes.finfo(dtype)
    exponent = math.floor(math.log2(abs(number.numerator)) - math.log2(number.denominator))
    place = max(exponent, int(info.minexp)) - int(info.nmant)
    whole = round(number / Fraction(2) ** place)
    return math.ldexp(whole, place)


def arrays_of(numbers: list[Fraction] | tuple[Fraction, ...], dtype: np.dtype, count: int) -> list[np.ndarray]:
    """A table of numbers as `count` arrays of limbs."""
    rows = [limbs_of(number, dtype, count) for number in numbers]
    return [np.array([row[k] for row in rows], dtype) for k in range(count)]


def split_array(values: np.ndarray, dtype: np.dtype, count: int) -> list[np.ndarray]:
    """An array of a wide float as `count` arrays of limbs."""
    wide = np.asarray(values, np.float64)
    found = []
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(count):
            limb = wide.astype(dtype)
            found.append(limb)
            left = wide - limb.astype(np.float64)
            wide = np.where(np.isfinite(limb.astype(np.float64)), left, 0.0)
    return found


# ---- functions -----------------------------------------------------------------------------------------------------

@cache
def exp(x: Fraction) -> Fraction:
    """e to the power x."""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


@cache
def log(x: Fraction) -> Fraction:
    """The natural logarithm."""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())


@cache
def sqrt(x: Fraction) -> Fraction:
    """The square root."""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())


@cache
def pi(digits: int = DIGITS) -> Fraction:
    """The circle's constant, by Machin's formula; to `digits` decimal places."""
    one = 10 ** (digits + 10)

    def arctan_of_inverse(n: int) -> int:
        power = total = one // n
        for k in range(1, digits * 4):
            power //= n * n
            total += (-power if k % 2 else power) // (2 * k + 1)
        return total

    return Fraction(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)), one)


def cut(x: Fraction, digits: int = 400) -> Fraction:
    """The number to so many binary places: fractions of series grow."""
    return Fraction(round(x * (1 << digits)), 1 << digits)


@cache
def sine(x: Fraction) -> Fraction:
    """The sine of a small number, by its series."""
    term, total, k, square = x, x, 1, x * x
    while abs(term) > Fraction(1, 1 << 380):
        term = cut(-term * square / ((k + 1) * (k + 2)))
        k += 2
        total += term
    return total


@cache
def arctangent(x: Fraction) -> Fraction:
    """The arctangent of a number in [0, 1], by halving the angle and then its series."""
    halved = 0
    while x > Fraction(1, 8):
        x = cut(x / (1 + sqrt(cut(1 + x * x))))
        halved += 1
    power, total, k, square = x, x, 1, cut(x * x)
    while abs(power) > Fraction(1, 1 << 380):
        power, k = cut(-power * square), k + 2
        total += power / k
    return cut(total) * (1 << halved)


def chebyshev(function: Any, low: Fraction, high: Fraction, degree: int) -> list[Fraction]:
    """Coefficients, in t = (2 x - low - high) / (high - low) from -1 to 1, of the polynomial through Chebyshev's
    points: nearly the best of its degree."""
    count = degree + 1
    angles = [pi() * (2 * k + 1) / (2 * count) for k in range(count)]
    nodes = [cut(sine(pi() / 2 - a)) if a <= pi() / 2 else -cut(sine(a - pi() / 2)) for a in angles]
    values = [cut(function(((high - low) * t + low + high) / 2)) for t in nodes]
    cosines = [[Fraction(1)] * count, list(nodes)]
    for _ in range(2, count):
        cosines.append([cut(2 * t * b - a) for t, a, b in zip(nodes, cosines[-2], cosines[-1], strict=True)])
    series = [cut(sum((v * c for v, c in zip(values, row, strict=True)), Fraction(0)) * 2 / count) for row in cosines]
    series[0] /= 2
    return _powers(series)


def _powers(series: list[Fraction]) -> list[Fraction]:
    """A sum of Chebyshev's polynomials as one of powers."""
    count = len(series)
    found = [Fraction(0)] * count
    before, now = [Fraction(1)], [Fraction(0), Fraction(1)]
    for degree, c in enumerate(series):
        poly = before if degree == 0 else now
        for k, each in enumerate(poly):
            found[k] += c * each
        if degree:
            following = [Fraction(0), *(2 * each for each in now)]
            for k, each in enumerate(before):
                following[k] -= each
            before, now = now, following
    return found
