"""Sines, cosines and tangents, and their inverses.

An argument is multiplied by 2 / pi modulo 4, of which a table has as many digits as each binary place needs (Payne and
Hanek, ACM SIGNUM 18, 1983); what is left of a quarter turn is a multiple of pi / 64 and a small rest, by the theorem of
sums. Inverses go by arctan(u / v) = arctan c + arctan((u - c v) / (v + c u)), c from a table.
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision import error_free, exponential, hyperbolic, numerals, rounding, series, wide
from reactant.precision.error_free import LARGEST_EXPONENT, digits
from reactant.precision.wide import Wide

PARTS = 32
"""Steps of half a quarter turn, in each direction."""
SPARE = 3
"""Limbs of 2 / pi more than numbers have: the nearest ones to multiples of pi / 2 leave about as many digits as they
have themselves, and the first limb of a product is whole."""


@cache
def _turns(dtype: np.dtype) -> tuple[Fraction, ...]:
    """2^j 2 / pi modulo 4, for j from 0."""
    places = LARGEST_EXPONENT[dtype.name] - digits(dtype) + 2
    inverse = 2 / numerals.pi(digits=(places + digits(dtype) * 8) * 302 // 1000 + 20)
    accuracy = digits(dtype) * 8
    found = []
    for j in range(places):
        turned = inverse * (1 << j)
        found.append(numerals.cut(turned - 4 * (turned // 4), accuracy))
    return tuple(found)


def _times_two_over_pi(limb: ir.Value, dtype: np.dtype, count: int) -> list[list[ir.Value]]:
    """Terms, by their levels, of a limb times 2 / pi, but for multiples of 4."""
    exponent = exponential.exponent_of(limb)
    j = ops.maximum(ops.subtract(exponent, ops.splat(digits(dtype) - 1, exponent)), ops.splat(0, exponent))
    whole = ops.multiply(ops.multiply(limb, exponential.power_of_two(ops.negate(ops.shift_right_logical(
        j, ops.splat(1, j))), dtype)), exponential.power_of_two(ops.negate(ops.subtract(j, ops.shift_right_logical(
            j, ops.splat(1, j)))), dtype))
    factors = series.looked_up(ops.convert(j, np.int32), _turns(dtype), dtype, count)
    levels: list[list[ir.Value]] = [[] for _ in range(count + 1)]
    for level, factor in enumerate(factors.limbs):
        if level == count - 1:
            levels[level].append(error_free.rounded(ops.multiply(whole, factor)))
        else:
            p, e = error_free.product_and_excess(whole, factor)
            levels[level].append(p)
            levels[level + 1].append(ops.negate(e))
    return levels


def quarters(x: Wide) -> tuple[Wide, ir.Value]:
    """f, q: x = (f + q) pi / 2 but for whole turns, f from -1/2 to 1/2 to its last digit, q of 0, 1, 2, 3; int32."""
    count = x.count + SPARE
    levels: list[list[ir.Value]] = [[] for _ in range(count + 1)]
    for limb in x.limbs:
        for level, terms in enumerate(_times_two_over_pi(limb, x.dtype, count)):
            levels[level] += terms
    total = wide.collected(levels, count - 1)
    whole = []
    for _ in range(3):
        q = ops.round_nearest_even(total.head)
        whole.append(ops.subtract(q, ops.multiply(ops.floor(ops.multiply(q, 0.25)), 4.0)))
        total = wide.renormalised([ops.subtract(total.head, q), *total.limbs[1:]], total.count)
    count_of = ops.add(ops.add(whole[0], whole[1]), whole[2])
    quarter = ops.convert(count_of, np.int32)
    return total.first(x.count), ops.and_(quarter, ops.splat(3, quarter))


@cache
def _circle() -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Sine and cosine of (q + j / PARTS) pi / 2, j from -PARTS / 2 to PARTS / 2, for q from 0 to 3."""
    half, quarter = numerals.pi() / 2, []
    for j in range(-PARTS // 2, PARTS // 2 + 1):
        quarter.append((numerals.sine(numerals.cut(half * j / PARTS)),
                        numerals.sine(numerals.cut(half * (1 - Fraction(abs(j), PARTS))))))
    turns = [lambda s, c: (s, c), lambda s, c: (c, -s), lambda s, c: (-s, -c), lambda s, c: (-c, s)]
    rows = [turn(numerals.cut(s), numerals.cut(c)) for turn in turns for s, c in quarter]
    return tuple(row[0] for row in rows), tuple(row[1] for row in rows)


def _sine_of_turned(x: Wide, quarters_more: tuple[int, ...]) -> list[Wide]:
    """The sines of x and some quarter turns more."""
    good = ops.is_finite(x.head)
    with wide.finite():
        f, q = quarters(wide.choose(good, x, x.of(0.0)))
        j = ops.round_nearest_even(ops.multiply(f.head, float(PARTS)))
        rest = wide.renormalised([ops.subtract(f.head, ops.multiply(j, 1.0 / PARTS)), *f.limbs[1:]], f.count)
        b = rest * (numerals.pi() / 2)
        bound = math.pi / 4 / PARTS * 1.01
        s = wide.square(b)
        bits = series.wanted_bits(x.dtype, x.count)
        odd = series.polynomial([Fraction((-1) ** k, math.factorial(2 * k + 3)) for k in range(40)], s, bound**2,
                                x.count, scale=-2 * math.log2(bound), bits=bits)
        even = series.polynomial([Fraction((-1) ** k, math.factorial(2 * k + 2)) for k in range(40)], s, bound**2,
                                 x.count, scale=-2 * math.log2(bound), bits=bits)
        sine = b - b * (s * odd)
        less = s * even     # 1 - cosine
        place = ops.add(ops.convert(j, np.int32), ops.splat(PARTS // 2, q))
        sines, cosines = _circle()
        found = []
        for more in quarters_more:
            turned = ops.and_(ops.add(q, ops.splat(more, q)), ops.splat(3, q))
            index = ops.add(ops.multiply(turned, ops.splat(PARTS + 1, q)), place)
            one = series.looked_up(index, sines, x.dtype, x.count)
            other = series.looked_up(index, cosines, x.dtype, x.count)
            found.append(one + (other * sine - one * less))
    nan = ops.subtract(x.head, x.head)
    return [Wide([ops.select(good, each.head, nan), *each.limbs[1:]]) for each in found]


def sine(x: Wide) -> Wide:
    """sin x; x itself at zeros."""
    found = _sine_of_turned(x, (0,))[0]
    return Wide([ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, found.head), *found.limbs[1:]])


def cosine(x: Wide) -> Wide:
    """cos x."""
    return _sine_of_turned(x, (1,))[0]


def sine_and_cosine(x: Wide) -> tuple[Wide, Wide]:
    """sin x and cos x."""
    s, c = _sine_of_turned(x, (0, 1))
    return Wide([ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, s.head), *s.limbs[1:]]), c


def tan(x: Wide) -> Wide:
    """sin x / cos x."""
    s, c = _sine_of_turned(x, (0, 1))
    found = s / c
    return Wide([ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, found.head), *found.limbs[1:]])


# ---- inverses ------------------------------------------------------------------------------------------------------

STEPS = 64
"""Of the ratio from 0 to 1."""


@cache
def _angles() -> tuple[Fraction, ...]:
    """arctan(j / STEPS)."""
    return tuple(numerals.cut(numerals.arctangent(Fraction(j, STEPS))) if j else Fraction(0) for j in range(STEPS + 1))


def _angle_of_ratio(u: Wide, v: Wide) -> Wide:
    """arctan(u / v) for 0 <= u <= v, v near 1."""
    ratio = ops.divide(u.head, v.head)
    j = ops.round_nearest_even(ops.multiply(ratio, float(STEPS)))
    c = ops.multiply(j, 1.0 / STEPS)
    t = (u - v * c) / (v + u * c)
    bound = 0.51 / STEPS
    s = wide.square(t)
    tail = series.polynomial([Fraction((-1) ** k, 2 * k + 3) for k in range(100)], s, bound**2, u.count,
                             scale=-2 * math.log2(bound), bits=series.wanted_bits(u.dtype, u.count))
    small = t - t * (s * tail)
    return series.looked_up(ops.convert(j, np.int32), _angles(), u.dtype, u.count) + small


def atan2(y: Wide, x: Wide) -> Wide:
    """The angle of (x, y), from -pi to pi; signs of zeros count."""
    plain = ops.atan2(y.head, x.head)
    a, b = rounding.absolute(x), rounding.absolute(y)
    good = ops.and_(ops.and_(ops.is_finite(x.head), ops.is_finite(y.head)), ops.and_(
        ops.compare(b.head, 0.0, "GT"), ops.compare(a.head, 0.0, "GT")))
    with wide.finite():
        a, b = (wide.choose(good, each, each.of(1.0)) for each in (a, b))
        steep = ops.compare(b.head, a.head, "GT")
        u, v = wide.choose(steep, a, b), wide.choose(steep, b, a)
        k = ops.negate(exponential.exponent_of(v.head))
        angle = _angle_of_ratio(exponential.scaled(u, k), exponential.scaled(v, k))
        half = numerals.pi() / 2
        angle = wide.choose(steep, angle.of(half) - angle, angle)
        angle = wide.choose(ops.compare(x.head, 0.0, "LT"), angle.of(2 * half) - angle, angle)
    found = hyperbolic.with_sign_of(y, angle)
    return wide.choose(good, found, _of_ends(y, x, plain))


def _of_ends(y: Wide, x: Wide, plain: ir.Value) -> Wide:
    """Multiples of pi / 4 where a number is 0 or infinite, or NaN: to all digits."""
    eighths = ops.round_nearest_even(ops.multiply(plain, 4 / math.pi))
    exact = Wide([eighths]) * (numerals.pi() / 4) if x.count == 1 else plain_product(eighths, x.of(numerals.pi() / 4))
    zero = ops.compare(eighths, 0.0, "EQ")
    kept = Wide([ops.select(zero, plain, exact.head), *(ops.select(zero, limb, 0.0) for limb in exact.limbs[1:])])
    nan = ops.compare(plain, plain, "NE")
    return Wide([ops.select(nan, plain, kept.head), *kept.limbs[1:]])


def plain_product(factor: ir.Value, number: Wide) -> Wide:
    """A product with a small whole number."""
    with wide.finite():
        return number * factor


def atan(x: Wide) -> Wide:
    """arctan x; infinity as a number whose arctangent is the same in all limbs: by `atan2` it would have one limb."""
    most = 2.0**100 if x.dtype.itemsize == 4 else 2.0**900
    infinite = ops.compare(ops.abs(x.head), float("inf"), "EQ")
    bounded = Wide([ops.select(infinite, ops.multiply(ops.sign(x.head), most), x.head),
                    *(ops.select(infinite, 0.0, limb) for limb in x.limbs[1:])])
    found = atan2(bounded, x.of(1.0))
    return Wide([ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, found.head), *found.limbs[1:]])


def _other_side(x: Wide) -> Wide:
    """sqrt(1 - x^2)."""
    return wide.sqrt((1.0 - x) * (x + 1.0))


def asin(x: Wide) -> Wide:
    """arcsin x: NaN beyond 1."""
    found = atan2(x, _other_side(x))
    return Wide([ops.select(ops.compare(x.head, 0.0, "EQ"), x.head, found.head), *found.limbs[1:]])


def acos(x: Wide) -> Wide:
    """arccos x: NaN beyond 1."""
    return atan2(_other_side(x), x)
