"""Elementary functions as straight-line LLVM IR, so that loops that use them vectorise.

Every routine is an internal function that is inlined: range reduction, a polynomial, and selects for the special
values; no branches, no tables. The polynomials are near-minimax fits (Chebyshev, in 50 digits) of the remainders
named beside them. The methods are textbook ones: Cody and Waite's reduction in several pieces, log(1+f) through s =
f/(2+f), powers through sums of two floats. Errors are below one unit in the last place or two
(`tests/native/test_mathematics.py` measures them).

`double` is the working precision; `float` routines of the harder functions compute in double and round once.
"""
from __future__ import annotations

import numpy as np

from reactant.native.reals import INFINITY, NAN, PURE, Bits, Real, Truth, rarely, routine

# -- powers of two, without conversions between floats and 64-bit integers (which AVX2 lacks)

_MAGIC = {"double": 6755399441055744.0, "float": 12582912.0}
"""1.5 * 2**52, 1.5 * 2**23: adding it rounds to an integer, which then stands in the low bits."""


def nearest_integer(x: Real) -> tuple[Real, Bits]:
    """(round(x), the same as an integer), |x| < 2**51 (2**22)."""
    moved = x + _MAGIC[x.scalar]
    magic = x.of(_MAGIC[x.scalar]).bits()
    return moved - _MAGIC[x.scalar], moved.bits() - magic


def from_integer(n: Bits) -> Real:
    """A small integer as a float."""
    magic = n.floats().of(_MAGIC["double" if n.long else "float"])
    return (n + magic.bits()).real() - magic


def power_of_two(n: Bits) -> Real:
    """2**n for normal results."""
    bias, place = (1023, 52) if n.long else (127, 23)
    return ((n + bias) << place).real()


def scaled(x: Real, n: Bits) -> Real:
    """x * 2**n in two steps, so that results may be tiny or huge."""
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def _any_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """a + b exactly as a sum of two."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


# -- exponentials

LOG2_E = 1.4426950408889634
LN2 = {"double": (0.6931471805599453, 2.3190468138462996e-17), "float": (0.693145751953125, 1.42860682030941723212e-6)}
LN2_SHORT = (0.6931471805598903, 5.497923018708371e-14)
"""The first number has few enough bits for exact products with exponents."""
_EXP = {"double": (0.5, 0.16666666666666666, 0.04166666666666668, 0.008333333333333333, 0.0013888888888879073,
                   0.00019841269841263298, 2.4801587336442236e-05, 2.755731924721873e-06, 2.75572632790885e-07,
                   2.505207109429355e-08, 2.0918137737642736e-09, 1.608662795678037e-10),
        "float": (0.500000001353873, 0.16666666681704215, 0.04166646419740569, 0.008333310844647862,
                  0.0013933730715792083, 0.00019891080463998843)}
"""(e**r - 1 - r) / r**2 on |r| <= ln(2)/2."""


def _reduced(x: Real, above: int = 0) -> tuple[Real, Real, Bits]:
    """x = n ln 2 + high + low, |high| <= ln(2)/2, and a number whose last bits are n + above."""
    magic = _MAGIC[x.scalar] + above
    moved = x.fma(LOG2_E, magic)
    number = moved - magic
    high, low = LN2[x.scalar]
    first = (-number).fma(high, x)
    reduced = (-number).fma(low, first)
    return reduced, (-number).fma(low, first - reduced), moved.bits()


def _whole(moved: Bits) -> Bits:
    """n, of what `_reduced` gives."""
    return moved - moved.floats().of(_MAGIC["double" if moved.long else "float"]).bits()


_ABOVE = {"double": 1080, "float": 160}
"""Added to exponents, those of the tiniest numbers are positive, half of each, too."""


def exponential(x: Real, halvings: int = 0, rest: Real | None = None) -> Real:
    """e**(x + rest) / 2**halvings; `rest` is far below x's last place."""
    low, high = (-746.0, 711.0) if x.double else (-105.0, 90.0)
    # A product that underflows takes the processor 40 times as long, and masked entries are all of that kind.
    vanishes = x.test("olt", low)
    high_part, low_part, moved = _reduced(x.of(0.0).choose(vanishes, x).least(high), _ABOVE[x.scalar])
    if rest is not None:
        high_part, lost = _any_sum(high_part, rest)
        low_part = low_part + lost
    series, square = high_part.polynomial(_EXP[x.scalar]), high_part * high_part
    if x.double or rest is not None:
        value = 1.0 - (-(high_part + square.fma(series, low_part)))
    else:
        value = square.fma(series, high_part) + 1.0       # the low part is a quarter of a last place
    one, other = _halves(moved, halvings)
    return x.of(0.0).choose(vanishes, value * one * other)


def _halves(moved: Bits, halvings: int) -> tuple[Real, Real]:
    """Two powers of two whose product is 2**(n - halvings), which may be tiny or huge, of what `_reduced` gives with
    `_ABOVE`. A shift leaves of `moved` what stands in a float's exponent: half of n + above, and all of it."""
    place, bias, above = (52, 1023, _ABOVE["double"]) if moved.long else (23, 127, _ABOVE["float"])
    half = (moved << (place - 1)) & -(1 << place)
    return (half + ((2 * bias - above - halvings) << place)).real(), ((moved << place) - half).real()


@routine("exp")
def exp(x: Real) -> Real:
    return exponential(x)


@routine("exp2")
def exp2(x: Real) -> Real:
    """2**(n + r) = 2**n e**(r ln 2)."""
    if not x.double:
        return exp2(x.wide()).narrow()
    number, n = nearest_integer(x.most(-1080.0).least(1030.0))
    r = x.most(-1080.0).least(1030.0) - number
    high = r * LN2["double"][0]
    low = r.fma(LN2["double"][0], -high)
    low = r.fma(LN2["double"][1], low)
    tail = (high * high).fma(high.polynomial(_EXP["double"]), low)
    return scaled(high + tail + 1.0, n).choose(x.test("ord", x), x)


@routine("expm1")
def expm1(x: Real) -> Real:
    """2**n (e**r - 1) + (2**n - 1)."""
    most = 709.9 if x.double else 88.75     # beyond, 2**(n - 1) would be infinite
    high, low, moved = _reduced(x.most(-50.0).least(most))
    tail = (high * high).fma(high.polynomial(_EXP[x.scalar]), low)
    half = power_of_two(_whole(moved) - 1)  # 2**1024 is no double
    base = half - 0.5
    first = half.fma(high, base)
    error = half.fma(high, base - first)
    value = (first + half.fma(tail, error)) * 2.0
    return x.choose(_is_tiny(x) | x.test("uno", x), value)


def _is_tiny(x: Real) -> Truth:
    """Whether x is so small that what is computed of it may underflow, or is -0.0."""
    return x.abs().test("olt", 1e-300 if x.double else 1e-35)


# -- logarithms

_LOG = {"double": (0.6666666666666666, 0.4, 0.2857142857142937, 0.22222222221652765, 0.18181818336099848,
                   0.1538459488700718, 0.1333480879881234, 0.11706126464563398, 0.11724327060846747),
        "float": (0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498)}
"""R(z)/z where ln(1+f) = 2s + s R(s*s), s = f/(2+f), z <= 0.0295."""


def _split(x: Real) -> tuple[Real, Bits]:
    """x = m 2**k with sqrt(1/2) <= m < sqrt(2); x positive, tiny numbers too."""
    least, lift, place = (2.2250738585072014e-308, 54, 52) if x.double else (1.1754943508222875e-38, 25, 23)
    tiny = x.test("olt", least)
    bits = (x * 2.0 ** lift).choose(tiny, x).bits()
    # counting from sqrt(1/2) moves the exponent by one where the fraction reaches sqrt(2)
    start = int(np.float64(0.5 ** 0.5).view(np.int64)) if x.double else int(np.float32(0.5 ** 0.5).view(np.int32))
    moved = bits - start
    k = moved >> place
    m = (bits - (k << place)).real()
    return m, k - k.of(lift).choose(tiny, k.of(0))


def _log_ends(x: Real, value: Real) -> Real:
    """The logarithm of 0, of negative numbers, of infinity and NaN."""
    value = x.choose(x.test("oeq", INFINITY), value)
    value = x.of(-INFINITY).choose(x.test("oeq", 0.0), value)
    value = x.of(NAN).choose(x.test("olt", 0.0), value)
    return x.choose(x.test("uno", x), value)


def _log_parts(m: Real) -> tuple[Real, Real, Real]:
    """ln(m) = f - (h - s (h + R)) for f = m - 1, h = f*f/2: (f, h, s (h + R))."""
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return f, half, s * (half + z * z.polynomial(_LOG[m.scalar]))


@routine("log")
def log(x: Real) -> Real:
    m, k = _split(x)
    f, half, rest = _log_parts(m)
    number = from_integer(k)
    high, low = LN2_SHORT if x.double else LN2["float"]
    value = number.fma(high, f - (half - number.fma(low, rest)))
    return _log_ends(x, value)


def _log_scaled(x: Real, inverse: tuple[float, float], unit: tuple[float, float]) -> Real:
    """log(x) / log(base): `inverse` is 1/log(base), `unit` is log(2)/log(base), both as sums of two doubles."""
    if not x.double:
        return _log_scaled(x.wide(), inverse, unit).narrow()
    m, k = _split(x)
    f, half, rest = _log_parts(m)
    high = f - half
    low = (f - high) - half + rest
    total = high + low
    low = (high - total) + low
    product = total * inverse[0]
    error = total.fma(inverse[0], -product) + total.fma(inverse[1], low * inverse[0])
    number = from_integer(k)
    base = number * unit[0]
    tail = number * unit[1]
    value = base + product
    back = value - base
    lost = (base - (value - back)) + (product - back)
    return _log_ends(x, value + (lost + (error + tail)))


@routine("log2")
def log2(x: Real) -> Real:
    return _log_scaled(x, (1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0))


@routine("log10")
def log10(x: Real) -> Real:
    return _log_scaled(x, (0.4342944819032518, 1.098319650216765e-17), (0.30102999566395283, 2.8363394551044964e-14))


@routine("log1p")
def log1p(x: Real) -> Real:
    """ln(1 + x): the sum's rounding error, divided by the sum, is added to its logarithm."""
    u = x + 1.0
    lost = (x - (u - 1.0)).choose(x.abs().test("olt", 1.0), 1.0 - (u - x))
    correction = lost / u
    m, k = _split(u)
    f, half, rest = _log_parts(m)
    number = from_integer(k)
    first, second = LN2_SHORT if x.double else LN2["float"]
    low = number.fma(second, correction)
    value = number.fma(first, f - (half - (rest + low)))
    value = _log_ends(u, value)
    return x.choose(_is_tiny(x) | x.test("oeq", INFINITY) | x.test("uno", x), value)


# -- hyperbolic functions

_TANH = (0.8, (-0.3333333093597993, 0.133330626594649, -0.05391799249436128, 0.021521355168383226,
               -0.0077344632290186534, 0.001762877249781982))
"""(tanh(x)/x - 1) / x**2 as a polynomial of x**2, up to this x."""


@routine("tanh")
def tanh(x: Real) -> Real:
    """e / (e + 2) for e = expm1(2|x|); in float, whose rounding is felt, 1 - 2 / (e**2|x| + 1) and a polynomial."""
    size = x.abs()
    if x.double:
        e = expm1((size + size).least(80.0))
        value = e / (e + 2.0)
    else:
        high, _, moved = _reduced((size + size).least(20.0))
        e = ((high * high).fma(high.polynomial(_EXP["float"]), high) + 1.0) * power_of_two(_whole(moved))
        square = size * size
        small = (size * square).fma(square.polynomial(_TANH[1]), size)
        value = small.choose(size.test("olt", _TANH[0]), 1.0 - 2.0 / (e + 1.0))
    return x.choose(x.test("uno", x), value.copysign(x))


@routine("sinh")
def sinh(x: Real) -> Real:
    if not x.double:
        return sinh(x.wide()).narrow()
    size = x.abs()
    e = expm1(size.least(40.0))
    small = (e + e / (e + 1.0)) * 0.5
    value = small.choose(size.test("olt", 22.0), exponential(size, halvings=1))
    return x.choose(x.test("uno", x) | size.test("olt", 1e-300), value.copysign(x))


@routine("cosh")
def cosh(x: Real) -> Real:
    if not x.double:
        return cosh(x.wide()).narrow()
    half = exponential(x.abs(), halvings=1)
    return half + 0.25 / half


# -- sine, cosine, tangent

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_SINE = (-0.16666666666666666, 0.008333333333333331, -0.0001984126984126504, 2.755731921932058e-06,
         -2.50521062259944e-08, 1.6058530596645953e-10, -7.586636882825159e-13)
"""(sin(x)/x - 1) / x**2 on |x| <= pi/4."""
_COSINE = (0.041666666666666664, -0.0013888888888888887, 2.4801587301584632e-05, -2.755731922139249e-07,
           2.0876755787492604e-09, -1.1470460319209511e-11, 4.745838412531023e-14)
"""(cos(x) - 1 + x**2/2) / x**4 on |x| <= pi/4."""
LARGE_ANGLE = 1073741824.0
"""From here on angles are reduced by the C library."""


def _quadrant(x: Real) -> tuple[Real, Real, Bits]:
    """x = n pi/2 + high + low: pi/2 is taken off in three pieces, errors kept (|x| < LARGE_ANGLE)."""
    number, n = nearest_integer(x * 0.6366197723675814)
    minus = -number
    first = minus.fma(_HALF_PI[0], x)
    product = minus * _HALF_PI[1]
    lost = minus.fma(_HALF_PI[1], -product)
    second = first + product
    back = second - first
    error = (first - (second - back)) + (product - back)
    low = minus.fma(_HALF_PI[2], lost + error)
    high = second + low
    return high, (second - high) + low, n


def _sine_and_cosine(high: Real, low: Real) -> tuple[Real, Real]:
    """sin and cos of high + low, |high| <= pi/4."""
    z = high * high
    sine = high + (z * high).fma(z.polynomial(_SINE), low.fma(1.0 - z * 0.5, 0.0))
    half = z * 0.5
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * z).fma(z.polynomial(_COSINE), -(high * low)))
    return sine, cosine


def _of_library(x: Real, value: Real, name: str) -> Real:
    """The C library's values for large angles; `x` and `value` are one number each or several."""
    f, large = x.f, x.abs().test("oge", LARGE_ANGLE)
    symbol = f.module.declare(f"reactant.library.{name}", "double", ["double"], PURE)
    return rarely(value, large, [x], lambda one: f"call double {symbol}(double {one}) {PURE}")


def _circular(x: Real, shift: int, name: str) -> Real:
    if not x.double:
        return _circular(x.wide(), shift, name).narrow()
    high, low, n = _quadrant(x)
    sine, cosine = _sine_and_cosine(high, low)
    turned = n + shift if shift else n
    odd = (turned & 1).test("ne", 0)
    chosen = cosine.choose(odd, sine)
    value = (chosen.bits() ^ ((turned & 2) << 62)).real()
    if name == "sin":
        value = x.choose(x.abs().test("olt", 1e-300), value)
    return _of_library(x, value, name)


@routine("sin")
def sin(x: Real) -> Real:
    return _circular(x, 0, "sin")


@routine("cos")
def cos(x: Real) -> Real:
    return _circular(x, 1, "cos")


@routine("tan")
def tan(x: Real) -> Real:
    """sin/cos, with the error of the quotient's parts small enough for two units in the last place."""
    if not x.double:
        return tan(x.wide()).narrow()
    high, low, n = _quadrant(x)
    sine, cosine = _sine_and_cosine(high, low)
    odd = (n & 1).test("ne", 0)
    value = (-cosine).choose(odd, sine) / sine.choose(odd, cosine)
    value = x.choose(x.abs().test("olt", 1e-300), value)
    return _of_library(x, value, "tan")


# -- inverse functions

_ARCTANGENT = (-0.3333333333333333, 0.19999999999999998, -0.14285714285714146, 0.11111111111090245,
               -0.09090909089276902, 0.07692307615661163, -0.06666664328470077, 0.0588230434681718,
               -0.052624504139477286, 0.04754591554929332, -0.0429410117528075, 0.0372282586774054,
               -0.027261979750820998, 0.011947618507313712)
"""(atan(x)/x - 1) / x**2 on |x| <= tan(pi/8)."""


def _arctangent(numerator: Real, denominator: Real) -> Real:
    """atan(numerator / denominator) of positive numbers. Above tan(3 pi/8) and between tan(pi/8) and it the quotient is
    turned by pi/2 and pi/4."""
    steep = numerator.test("ogt", denominator * 2.414213562373095)
    middle = numerator.test("ogt", denominator * 0.41421356237309503) & ~steep
    top = (-denominator).choose(steep, (numerator - denominator).choose(middle, numerator))
    bottom = numerator.choose(steep, (numerator + denominator).choose(middle, denominator))
    x = top / bottom
    high = x.of(1.5707963267948966).choose(steep, x.of(0.7853981633974483).choose(middle, 0.0))
    low = x.of(6.123233995736766e-17).choose(steep, x.of(3.061616997868383e-17).choose(middle, 0.0))
    z = x * x
    return high + (x + (x * z).fma(z.polynomial(_ARCTANGENT), low))


@routine("atan")
def atan(x: Real) -> Real:
    if not x.double:
        return atan(x.wide()).narrow()
    value = _arctangent(x.abs().least(1e300), x.of(1.0))
    return x.choose(x.test("uno", x), value.copysign(x))


@routine("atan2")
def atan2(y: Real, x: Real) -> Real:
    if not x.double:
        return atan2(y.wide(), x.wide()).narrow()
    up, across = y.abs(), x.abs()
    # both huge or both tiny: scaled, so that sums of them are finite and quotients exact enough
    huge = up.test("ogt", 1e300) | across.test("ogt", 1e300)
    tiny = up.test("olt", 1e-290) & across.test("olt", 1e-290)
    scale = x.of(2.0 ** -64).choose(huge, x.of(2.0 ** 64).choose(tiny, 1.0))
    both = up.test("oeq", INFINITY) & across.test("oeq", INFINITY)
    value = _arctangent((up * scale), (across * scale))
    value = x.of(0.0).choose(up.test("oeq", 0.0) & across.test("oeq", 0.0), value)
    value = x.of(0.0).choose(across.test("oeq", INFINITY), value)
    value = x.of(1.5707963267948966).choose(up.test("oeq", INFINITY), value)
    value = x.of(0.7853981633974483).choose(both, value)
    left = x.bits().test("slt", 0)
    value = (3.141592653589793 - (value - 1.2246467991473532e-16)).choose(left, value).copysign(y)
    return (x + y).choose(x.test("uno", y), value)


# -- powers

_POWER = (0.4, 0.2857142857142937, 0.22222222221652765, 0.18181818336099848, 0.1538459488700718, 0.1333480879881234,
          0.11706126464563398, 0.11724327060846747)
"""((ln(1+f) - 2s)/s/z - 2/3)/z where s = f/(2+f), z = s*s."""


def _sum(a: Real, b: Real) -> tuple[Real, Real]:
    """a + b exactly as a sum of two, |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def _product(a: Real, b: Real | float) -> tuple[Real, Real]:
    """a * b exactly as a sum of two."""
    high = a * b
    return high, a.fma(b, -high)


def _log2_in_two(x: Real) -> tuple[Real, Real]:
    """log2(x) as a sum of two doubles, to about 2**-65 of its size; x positive."""
    m, k = _split(x)
    f = m - 1.0
    denominator = f + 2.0
    lost = (2.0 - denominator) + f          # f + 2 = denominator + lost
    s = f / denominator
    s_low = ((-s).fma(denominator, f) - s * lost) / denominator
    z, z_low = _product(s, s)
    z_low = s.fma(s_low + s_low, z_low)
    # c = 2/3 + z P(z) in two parts
    tail = z * z.polynomial(_POWER)
    c, c_low = _sum(z.of(0.6666666666666666), tail)
    c_low = c_low + 3.700743415417188e-17
    # ln m = 2s + s z c
    cube, cube_low = _product(s, z)
    cube_low = s.fma(z_low, s_low.fma(z, cube_low))
    term, term_low = _product(cube, c)
    term_low = cube.fma(c_low, cube_low.fma(c, term_low))
    high, low = _sum(s + s, term)
    low = low + (term_low + (s_low + s_low))
    high, low = _sum(high, low)
    # in units of ln 2, plus k
    unit, unit_low = _product(high, LOG2_E)
    unit_low = high.fma(2.0355273740931033e-17, low.fma(LOG2_E, unit_low))
    number = from_integer(k)
    large = number.test("une", 0.0)
    whole, rest = _sum(number.choose(large, unit), unit.choose(large, 0.0))
    return _sum(whole, rest + unit_low)


def _two_to(high: Real, low: Real) -> Real:
    """2**(high + low)."""
    number, n = nearest_integer(high.most(-1100.0).least(1100.0))
    r, low = _any_sum(high.most(-1100.0).least(1100.0) - number, low)
    part = r * LN2["double"][0]
    rest = r.fma(LN2["double"][1], r.fma(LN2["double"][0], -part))
    rest = low.fma(LN2["double"][0], rest)
    tail = (part * part).fma(part.polynomial(_EXP["double"]), 0.0)
    rest = rest + part * rest
    return scaled(part + (tail + rest) + 1.0, n)


@routine("powf")
def power(x: Real, y: Real) -> Real:
    """2**(y log2|x|), and C's rules for the special values."""
    if not x.double:
        return _power_ends(x.wide(), y.wide(), _power_of_floats(x.wide(), y.wide())).narrow()
    high, low = _log2_in_two(x.abs())
    exponent, lost = _product(y.most(-1e300).least(1e300), high)
    exponent = exponent.most(-1e4).least(1e4)
    inside = exponent.abs().test("olt", 9e3)
    lost = y.fma(low, lost).choose(inside, 0.0)
    exponent, lost = _sum(exponent, lost)
    return _power_ends(x, y, _two_to(exponent, lost))


@routine("cbrt")
def cbrt(x: Real) -> Real:
    """2**(log2(x) / 3)."""
    if not x.double:
        return cbrt(x.wide()).narrow()
    high, low = _log2_in_two(x.abs())
    third, lost = _product(high, 0.3333333333333333)
    lost = high.fma(1.850371707708594e-17, low.fma(0.3333333333333333, lost))
    value = _two_to(third, lost).copysign(x)
    return x.choose(x.test("oeq", 0.0) | x.abs().test("oeq", INFINITY) | x.test("uno", x), value)


def _power_of_floats(x: Real, y: Real) -> Real:
    """|x|**y of two floats given as doubles: one double each for logarithm and product is enough."""
    m, k = _split(x.abs())
    f, half, rest = _log_parts(m)
    logarithm = (f - (half - rest)).fma(LOG2_E, from_integer(k))
    return exp2((y * logarithm).most(-2000.0).least(2000.0))


def _power_ends(x: Real, y: Real, value: Real) -> Real:
    """The special values of a power whose number is |x|**y."""
    size = x.abs()
    # the ends of |x|**y
    grows = size.test("ogt", 1.0)
    up = y.test("ogt", 0.0)
    ends = size.test("oeq", 0.0) | size.test("oeq", INFINITY) | y.abs().test("oeq", INFINITY)
    end = x.of(INFINITY).choose(grows.same(up), 0.0)
    value = end.choose(ends, value)
    # negative x: whole y keep the number, odd ones its sign
    whole = y._intrinsic("trunc").test("oeq", y)
    half = y * 0.5
    odd = whole & ~half._intrinsic("trunc").test("oeq", half) & y.abs().test("olt", INFINITY)
    negative = x.bits().test("slt", 0)
    value = (-value).choose(negative & odd, value)
    refused = x.test("olt", 0.0) & ~whole & x.test("ogt", -INFINITY)
    value = x.of(NAN).choose(refused, value)
    value = (x + y).choose(x.test("uno", y), value)
    value = x.of(1.0).choose(size.test("oeq", 1.0) & y.abs().test("oeq", INFINITY), value)
    return x.of(1.0).choose(x.test("oeq", 1.0) | y.test("oeq", 0.0), value)
