"""Exponentials and logarithms, and what is made of them.

exp(x) is 2^k T[j] e^r with x = (k + j / 2^B) log 2 + r, the powers T from a table and e^r by its series (Tang, ACM TOMS
15, 1989). log(x) is k log 2 - log(c) + log(1 + z) with x = 2^k m, c near 1 / m from a table and z = c m - 1, which is
exact with one limb more; c is 1 near 1, so that log is right relative to itself there (Tang, ACM TOMS 16, 1990).
"""
from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.precision import entries, error_free, numerals, rounding, series, wide
from reactant.precision.error_free import LARGEST_EXPONENT, digits
from reactant.precision.wide import Wide

STEPS = 6
"""Binary logarithm of the entries of the table of powers of two."""


def log2_of_e() -> float:
    """1 / log 2."""
    return 1 / math.log(2)


# ---- powers of two -------------------------------------------------------------------------------------------------

def integer_like(dtype: np.dtype) -> np.dtype:
    """Signed integers of a float's size, at least of 32 bits."""
    return np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)


def power_of_two(k: ir.Value, dtype: np.dtype) -> ir.Value:
    """2^k as a float, for whole k in its normal range. k: integers."""
    nmant = digits(dtype) - 1
    bias = LARGEST_EXPONENT[dtype.name]
    bits = ops.shift_left(ops.add(k, ops.splat(bias, k)), ops.splat(nmant, k))
    narrow = error_free.BITS[dtype.itemsize]
    return ops.bitcast_convert(ops.convert(bits, narrow), dtype)


def scaled(x: Wide, k: ir.Value) -> Wide:
    """x 2^k, in two steps: 2^k itself need not be in the range."""
    half = ops.shift_right_arithmetic(k, ops.splat(1, k))
    first, second = power_of_two(half, x.dtype), power_of_two(ops.subtract(k, half), x.dtype)
    return x.each(lambda limb: ops.multiply(ops.multiply(limb, first), second))


def exponent_of(x: ir.Value) -> ir.Value:
    """k with 2^k <= |x| < 2^(k + 1), of normal numbers; integers."""
    dtype = dtype_of(x)
    kind = integer_like(dtype)
    bits = ops.convert(error_free.bits_of(ops.abs(x)), kind)
    return ops.subtract(ops.shift_right_logical(bits, ops.splat(digits(dtype) - 1, bits)), LARGEST_EXPONENT[dtype.name])


# ---- exp -----------------------------------------------------------------------------------------------------------

@cache
def _powers(steps: int) -> tuple[Fraction, ...]:
    """2^(j / 2^steps)."""
    ln2 = numerals.log(Fraction(2))
    return tuple(numerals.cut(numerals.exp(numerals.cut(ln2 * j / (1 << steps)))) for j in range(1 << steps))


def pieces(number: Fraction, widths: list[int], dtype: np.dtype) -> list[float]:
    """A number as a sum of floats of so many bits; the last one is as exact as it can be."""
    found = []
    for width in widths:
        place = math.floor(series.size_of(number)) + 1 - width
        part = Fraction(math.floor(number / Fraction(2) ** place)) * Fraction(2) ** place
        found.append(float(part))
        number -= part
    return [*found, float(numerals.limbs_of(number, dtype, 1)[0])]


def reduced(x: Wide, unit: Fraction, range_bits: int) -> tuple[Wide, ir.Value]:
    """r, k: x = k unit + r, |r| at most a little more than half a unit; k a whole float of at most as many bits."""
    dtype = x.dtype
    k = ops.round_nearest_even(ops.multiply(x.head, float(1 / unit)))
    width = digits(dtype) - range_bits
    wanted = digits(dtype) * (x.count - 1) + range_bits - 8     # what the last one need not be exact for
    widths = [width] * max(math.ceil(wanted / width), 1)
    parts = pieces(unit, widths, dtype)
    # the first differences are exact: x and the products have few digits below the unit's
    head, exact = x.head, max(digits(dtype) // width, 1)
    for part in parts[:exact]:
        head = ops.subtract(head, ops.multiply(k, part))
    if x.count == 1:
        for part in parts[exact:]:
            head = ops.subtract(head, ops.multiply(k, part))
        return Wide([head]), k
    if x.count == 2:
        s, excess = head, None
        for part in parts[exact:-1]:
            s, e = error_free.difference_and_excess(s, ops.multiply(k, part))
            excess = e if excess is None else ops.add(excess, e)
        s, e = error_free.sum_and_excess(s, x.limbs[1])
        excess = e if excess is None else ops.add(excess, e)
        return Wide(error_free.settled(s, ops.add(excess, ops.multiply(k, parts[-1])))), k
    terms = [[head], [x.limbs[1]], *[[limb] for limb in x.limbs[2:]]]
    below = digits(dtype) - range_bits
    for number, part in enumerate(parts[exact:], exact):
        level = min(number * below // digits(dtype), x.count)
        while len(terms) <= level:
            terms.append([])
        terms[level].append(error_free.rounded(ops.negate(ops.multiply(k, part))))
    return wide.collected(terms, x.count), k


def _factorials(count: int) -> list[Fraction]:
    return [Fraction(1, math.factorial(k)) for k in range(count)]


def _in_steps(x: Wide) -> tuple[Wide, ir.Value, float]:
    """r, n, u: x = n u + r, with u the step of the table."""
    unit = numerals.cut(numerals.log(Fraction(2)) / (1 << STEPS))
    range_bits = LARGEST_EXPONENT[x.dtype.name].bit_length() + 1 + STEPS
    return (*reduced(x, unit, range_bits), float(unit))


def _reduced_exponential(x: Wide, more: ir.Value | None = None) -> tuple[Wide, Wide, ir.Value]:
    """T, p, k: e^x = 2^k T (1 + p), for x within the range of the exponents. more: a limb that x has besides."""
    dtype = x.dtype
    r, steps, unit = _in_steps(x)
    if more is not None:
        r = Wide([*r.limbs[:-1], ops.add(r.limbs[-1], more)])
    whole = ops.convert(steps, integer_like(dtype))
    place = ops.and_(whole, ops.splat((1 << STEPS) - 1, whole))
    k = ops.shift_right_arithmetic(whole, ops.splat(STEPS, whole))
    table = series.looked_up(ops.convert(place, np.int32), _powers(STEPS), dtype, x.count)
    return table, exponential_series(r, unit * 0.51), k


def exponential_series(r: Wide, bound: float) -> Wide:
    """e^r - 1 for small r: r + r^2 (1/2 + r/6 + ...)."""
    count, dtype = r.count, r.dtype
    bits = series.wanted_bits(dtype, count) + 2 * math.log2(bound) - 1      # errors are small to 1
    if count != 2 or bits + math.log2(bound) - 1.6 > digits(dtype):
        tail = series.polynomial(_factorials(60)[2:], r, bound, count, scale=-1.0, bits=bits + 1)
        product = wide.multiply(wide.square(r), tail)
        return wide.ordered_sum(r, product) if count == 2 else r + product
    # two limbs: r^2 / 2 of two, the rest of one
    square = wide.square(r)
    rest = series.polynomial(_factorials(60)[3:], Wide(r.limbs[:1]), bound, 1, scale=0.0,
                             bits=series.wanted_bits(dtype, 2) + 3 * math.log2(bound) + 2)
    cube = ops.multiply(ops.multiply(square.head, r.head), rest.head)
    low = ops.add(ops.multiply(square.limbs[1], 0.5), cube)
    return wide.ordered_sum(r, Wide([ops.multiply(square.head, 0.5), low]))


def limits(dtype: np.dtype) -> tuple[float, float]:
    """Below the first exp is 0, above the second infinite."""
    largest = LARGEST_EXPONENT[dtype.name]
    low = (error_free.lowest_exponent(dtype) - digits(dtype) - 1) * math.log(2)
    return low, (largest + 1) * math.log(2)


def _inside(x: Wide, low: float, high: float) -> Wide:
    """x where it is between the bounds; 0 elsewhere, and for NaN."""
    good = ops.and_(ops.compare(x.head, low, "GE"), ops.compare(x.head, high, "LE"))
    return wide.choose(good, x, x.of(0.0))


def exp(x: Wide) -> Wide:
    """e^x; 0 and infinity where it leaves the range."""
    low, high = limits(x.dtype)
    with wide.finite():
        table, p, k = _reduced_exponential(_inside(x, low, high + 1))
        found = scaled(_plus_product(table, p), k)
    return _with_ends(x, found, low, high)


def exp_with_more(x: Wide) -> Wide:
    """e^x of a number within the range that has a limb more than the result."""
    count = x.count - 1
    table, p, k = _reduced_exponential(x.first(count), x.limbs[count])
    return scaled(_plus_product(table, p), k)


def _with_ends(x: Wide, found: Wide, low: float, high: float) -> Wide:
    """Where x is beyond the bounds, exp of the first limb: 0, infinity, or NaN."""
    ends = ops.select(ops.compare(x.head, low, "LT"), wide.zeros(x.head),
                      ops.select(ops.compare(x.head, x.head, "NE"), x.head, float("inf")))
    good = ops.and_(ops.and_(ops.compare(x.head, low, "GE"), ops.compare(x.head, high + 1, "LE")),
                    ops.is_finite(found.head))
    return Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


def _plus_product(table: Wide, p: Wide) -> Wide:
    """T + T p, where p is small."""
    product = table * p
    return wide.ordered_sum(table, product) if table.count <= 2 else table + product


def expm1(x: Wide) -> Wide:
    """e^x - 1, right relative to itself near 0: 2^k (M + p + M p) + (2^k - 1) with M = T - 1 from a table."""
    dtype = x.dtype
    low, high = -digits(dtype) * (x.count + 1) * math.log(2), limits(dtype)[1]
    with wide.finite():
        r, steps, unit = _in_steps(_inside(x, low, high + 1))
        whole = ops.convert(steps, integer_like(dtype))
        half = ops.splat(1 << STEPS - 1, whole)
        place = ops.and_(ops.add(whole, half), ops.splat((1 << STEPS) - 1, whole))
        k = ops.shift_right_arithmetic(ops.add(whole, half), ops.splat(STEPS, whole))
        less = series.looked_up(ops.convert(place, np.int32), _powers_less_one(STEPS), dtype, x.count)
        p = _relative(r, unit * 0.51)
        base = less + (p + less * p)
        most = digits(dtype)
        few = ops.minimum(ops.maximum(k, ops.splat(-most, k)), ops.splat(most, k))
        shift = Wide(wide.sum_and_error(power_of_two(few, dtype), ops.splat(-1.0, x.head)))
        near = scaled(base, few) + shift.first(min(x.count, 2))
        found = wide.choose(ops.compare(ops.abs(k), ops.splat(most, k), "LT"), near, scaled(base + 1.0, k) - 1.0)
    found = wide.guarded(found, x.head, ops.compare(x.head, 0.0, "NE"))
    good = ops.and_(ops.compare(x.head, low, "GE"), ops.compare(x.head, high, "LE"))
    ends = ops.select(ops.compare(x.head, 0.0, "LT"), ops.splat(-1.0, x.head),
                      ops.select(ops.compare(x.head, x.head, "NE"), x.head, float("inf")))
    good = ops.and_(good, ops.is_finite(found.head))
    return Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


@cache
def _powers_less_one(steps: int) -> tuple[Fraction, ...]:
    """2^(j / 2^steps) - 1 for j from minus half of the steps on."""
    ln2, half = numerals.log(Fraction(2)), 1 << steps - 1
    return tuple(numerals.cut(numerals.exp(numerals.cut(ln2 * (j - half) / (1 << steps))) - 1) if j != half
                 else Fraction(0) for j in range(1 << steps))


def _relative(r: Wide, bound: float) -> Wide:
    """e^r - 1 to the last digit of itself: r + r^2/2 + ..."""
    tail = series.polynomial(_factorials(60)[2:], r, bound, r.count, scale=0.0,
                             bits=series.wanted_bits(r.dtype, r.count) + math.log2(bound))
    return r + wide.multiply(wide.square(r), tail)


# ---- log -----------------------------------------------------------------------------------------------------------

PLACES = 7
"""Binary logarithm of the entries of the table of logarithms."""


@cache
def _reciprocals() -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """c and -log(c) for m in [1, 2), m c near 1 or, in the upper half, near 2 where 1 is taken from k: m in [sqrt 2, 2)
    belongs to [1/sqrt 2, 1). c has few digits, and is 1 (or 1/2) next to 1."""
    factors, logarithms = [], []
    count = 1 << PLACES
    for j in range(count):
        middle = 1 + (Fraction(j) + Fraction(1, 2)) / count
        if middle > Fraction(1414, 1000):
            middle /= 2
        c = Fraction(round((1 << PLACES) / middle), 1 << PLACES)
        if j in (0, count - 1):
            c = Fraction(1)
        factors.append(c)
        logarithms.append(-numerals.log(c) if c != 1 else Fraction(0))
    return tuple(factors), tuple(logarithms)


def _log_of_parts(x: Wide, count: int) -> tuple[ir.Value, Wide, Wide]:
    """k, log c and z of positive normal x: log x = k log 2 - log c + log(1 + z), in `count` limbs."""
    dtype = x.dtype
    kind = integer_like(dtype)
    raised = ops.compare(x.head, 2.0**(error_free.lowest_exponent(dtype) + 2 * digits(dtype)), "LT")
    lift = 2 * digits(dtype)
    x = x.each(lambda limb: ops.multiply(limb, ops.select(raised, ops.splat(2.0**lift, limb), 1.0)))
    k = exponent_of(x.head)
    bits = ops.convert(error_free.bits_of(x.head), kind)
    nmant = digits(dtype) - 1
    place = ops.and_(ops.shift_right_logical(bits, ops.splat(max(nmant - PLACES, 0), bits)),
                     ops.splat((1 << PLACES) - 1, bits)) if nmant >= PLACES else \
        ops.shift_left(ops.and_(bits, ops.splat((1 << nmant) - 1, bits)), ops.splat(PLACES - nmant, bits))
    threshold = next(j for j in range(1 << PLACES) if 1 + (j + 0.5) / (1 << PLACES) > 1.414)
    k = ops.add(k, ops.convert(ops.compare(place, ops.splat(threshold, place), "GE"), kind))
    m = scaled(x, ops.negate(k))
    index = ops.convert(place, np.int32)
    factors, logarithms = _reciprocals()
    c = series.looked_up(index, factors, dtype, 1)
    table = series.looked_up(index, logarithms, dtype, count)
    k = ops.subtract(k, ops.convert(ops.multiply(ops.convert(raised, kind), lift), kind))
    return k, table, _less_one(m, c.head, count)


def _less_one(m: Wide, c: ir.Value, count: int) -> Wide:
    """c m - 1 to the last digit of itself, where c m is near 1."""
    levels: list[list[ir.Value]] = [[] for _ in range(m.count + 2)]
    for level, limb in enumerate(m.limbs):
        p, e = error_free.product_and_excess(limb, c)
        levels[level].append(p)
        levels[level + 1].append(ops.negate(e))
    levels[0][0] = ops.subtract(levels[0][0], 1.0)      # exact
    if count == 2:
        first, second = levels[1]
        s, e = wide.sum_and_error(levels[0][0], first)
        s, f = wide.sum_and_error(s, second)
        low = ops.add(ops.add(e, f), levels[2][0])
        h, error = wide.sum_and_error(s, low)
        return Wide([h, error])
    return wide.collected(levels, count)


def _log1p_series(z: Wide, bound: float) -> Wide:
    """log(1 + z) for small z: z - z^2 (1/2 - z/3 + ...), right relative to z."""
    coefficients = [Fraction((-1) ** k, k + 2) for k in range(200)]
    bits = series.wanted_bits(z.dtype, z.count) + math.log2(bound)
    tail = series.polynomial(coefficients, z, bound, z.count, scale=0.0, bits=bits)
    product = wide.multiply(wide.square(z), tail)
    return wide.ordered_sum(z, -product) if z.count <= 2 else z - product


def log(x: Wide) -> Wide:
    """The natural logarithm: -infinity at 0, NaN below."""
    good = ops.and_(ops.compare(x.head, 0.0, "GT"), ops.compare(x.head, float("inf"), "LT"))
    with wide.finite():
        found = _log_of_positive(wide.choose(good, x, x.of(1.0)))
    ends = ops.log(x.head)
    return Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


def _log_of_positive(x: Wide) -> Wide:
    k, table, z = _log_of_parts(x, x.count)
    smooth = _log1p_series(z, 2.0**-PLACES * 1.6)
    width = digits(x.dtype) - 11
    widths = [width] * max(2, math.ceil((digits(x.dtype) * (x.count - 1) + 12) / width) if x.count > 2 else 2)
    parts = pieces(numerals.log(Fraction(2)), widths, x.dtype)
    number = ops.convert(k, x.dtype)
    if x.count > 2:
        twos = wide.renormalised([ops.multiply(number, part) for part in parts], x.count)
        return twos + (table + smooth)
    twos = Wide([ops.multiply(number, part) for part in parts[:2]])
    low = wide.quick_sum(table, smooth)
    first = Wide(wide.sum_and_error(twos.limbs[0], twos.limbs[1]))
    last = error_free.rounded(ops.multiply(number, parts[2]))
    return wide.add(Wide([first.head, ops.add(first.limbs[1], last)]), low)


def log_with_more(x: Wide) -> Wide:
    """The logarithm of a positive finite number with a limb more, to some 7 bits more than its limbs hold."""
    count = x.count + 1
    k, table, z = _log_of_parts(x, count)
    bound = 2.0**-PLACES * 1.6
    few = z.first(x.count)
    coefficients = [Fraction((-1) ** n, n + 2) for n in range(200)]
    tail = series.polynomial(coefficients, few, bound, x.count, scale=0.0,
                             bits=series.wanted_bits(x.dtype, x.count))
    product = wide.multiply(wide.square(few), tail)
    width = digits(x.dtype) - 11
    widths = [width] * math.ceil((digits(x.dtype) * (count - 1) + 12) / width)
    parts = pieces(numerals.log(Fraction(2)), widths, x.dtype)
    number = ops.convert(k, x.dtype)
    twos = wide.renormalised([error_free.rounded(ops.multiply(number, part)) for part in parts], count)
    return (twos + table) + (z - product)


def power(x: Wide, y: Wide) -> Wide:
    """x^y: e^(y log |x|), with the sign of odd whole powers of negative x; NaN for other powers of those."""
    size = rounding.absolute(x)
    ordinary = ops.and_(ops.and_(ops.is_finite(x.head), ops.compare(x.head, 0.0, "NE")), ops.is_finite(y.head))
    low, high = limits(x.dtype)
    with wide.finite():
        exponent = wide.choose(ordinary, y, y.of(1.0))
        logarithm = log_with_more(wide.choose(ordinary, size, size.of(1.0)))
        # a product that leaves the range is infinite or NaN: what the first limbs say goes
        estimate = error_free.rounded(ops.multiply(exponent.head, logarithm.head))
        inside = ops.and_(ops.compare(estimate, low - 1, "GT"), ops.compare(estimate, high + 1, "LT"))
        exponent = wide.choose(inside, exponent, exponent.of(0.0))
        total = logarithm * exponent
        table, p, k = _reduced_exponential(total.first(x.count), total.limbs[x.count])
        found = scaled(_plus_product(table, p), k)
        halves = exponent.times_power(0.5)
        whole = entries.compare(rounding.floor(exponent), exponent, "EQ")
        odd = ops.and_(whole, entries.compare(rounding.floor(halves), halves, "NE"))
    negative = ops.compare(x.head, 0.0, "LT")
    found = wide.choose(ops.and_(negative, odd), -found, found)
    ends = ops.select(ops.compare(estimate, 0.0, "LT"), wide.zeros(estimate), float("inf"))
    ends = ops.select(ops.and_(negative, odd), ops.negate(ends), ends)
    good = ops.and_(inside, ops.is_finite(found.head))
    found = Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])
    undefined = ops.and_(negative, ops.not_(whole))
    found = wide.choose(undefined, found.of(float("nan")), found)
    plain = _power_of_ends(x, y, odd)
    return wide.choose(ordinary, found, plain)


def _power_of_ends(x: Wide, y: Wide, odd: ir.Value) -> Wide:
    """Where one of them is 0, infinite or NaN: what their first limbs say, whose whole powers are the numbers' own but
    for being odd."""
    small = ops.select(odd, ops.splat(1.0, y.head), 2.0)
    like = ops.select(ops.is_finite(y.head), ops.multiply(ops.sign(y.head), small), y.head)
    return Wide([ops.power(x.head, like)]).first(x.count)


def log1p(x: Wide) -> Wide:
    """log(1 + x): by log of 1 + x with a limb more, or by the series near 0."""
    bound = 2.0**-PLACES
    small = ops.compare(ops.abs(x.head), bound, "LT")
    good = ops.and_(ops.compare(x.head, -1.0, "GT"), ops.compare(x.head, float("inf"), "LT"))
    with wide.finite():
        near = _log1p_series(wide.choose(small, x, x.of(0.0)), bound)
        usual = ops.and_(good, ops.not_(small))
        shifted = wide.choose(usual, x, x.of(1.0)) + 1.0
        left = _left_of_sum(wide.choose(usual, x, x.of(1.0)), shifted)
        far = _log_of_positive(shifted) + ops.divide(left, shifted.head)
        found = wide.choose(small, near, far)
    found = wide.guarded(found, x.head, ops.compare(x.head, 0.0, "NE"))
    ends = ops.log_plus_one(x.head)
    return Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


def _left_of_sum(x: Wide, y: Wide) -> ir.Value:
    """1 + x - y, which is small."""
    with wide.finite():
        rest = (x - (y - 1.0)) if x.count > 2 else (x.first(3) - (y.first(3) - 1.0))
    return rest.head
