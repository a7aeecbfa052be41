"""Functions of complex numbers with NumPy's (C99's) branch cuts, signed zeros and infinities.

XLA's own complex functions lose the sign of zero, hence the side of a branch cut. Here inverse functions are evaluated
in the quadrant where they are right and reflected (f(conj z) = conj f(z), odd functions), and the others are built from
real functions. Kahan, "Branch cuts for complex elementary functions" (1987); C99 Annex G.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of

Pair = tuple[ir.Value, ir.Value]


# ---- real building blocks --------------------------------------------------------------------------------------

def copy_sign(x: ir.Value, y: ir.Value) -> ir.Value:
    """The magnitude of `x` with the sign bit of `y`."""
    bits = np.dtype(f"u{dtype_of(x).itemsize}")
    top = bits.type(1 << (8 * bits.itemsize - 1))
    magnitude = ops.and_(ops.bitcast_convert(x, bits), ~top)
    return ops.bitcast_convert(ops.or_(magnitude, ops.and_(ops.bitcast_convert(y, bits), top)), dtype_of(x))


def size_of(x: ir.Value) -> ir.Value:
    """|x| as x or -x by the sign bit. Unlike |x|, of which that is 0 at 0, it has a slope everywhere: what is made of
    it and is even or odd in x has all its derivatives at 0."""
    bits = np.dtype(f"i{dtype_of(x).itemsize}")
    return ops.select(ops.compare(ops.bitcast_convert(x, bits), 0, "LT"), ops.negate(x), x)


def with_signed_zero(x: ir.Value, y: ir.Value) -> ir.Value:
    """`x`, the sign bit of its zeros that of `y`."""
    return ops.select(_zero(x), copy_sign(ops.splat(0, x), y), x)


def nan(x: ir.Value) -> ir.Value:
    return ops.compare(x, x, "NE")


def infinite(x: ir.Value) -> ir.Value:
    return ops.compare(ops.abs(x), np.inf, "EQ")


def _zero(x: ir.Value) -> ir.Value:
    return ops.compare(x, 0, "EQ")


def _not_finite(x: ir.Value) -> ir.Value:
    return ops.not_(ops.is_finite(x))


def _largest_exponent(dtype: np.dtype) -> float:
    """exp of anything below it does not overflow."""
    return float(np.log(np.finfo(dtype).max)) - 0.1


def real_cosh(x: ir.Value) -> ir.Value:
    """(e^|x| + e^-|x|) / 2; near overflow as (e^(|x|/2) / 2) e^(|x|/2)."""
    size = size_of(x)
    big = ops.compare(size, _largest_exponent(dtype_of(x)), "GT")
    e = ops.exponential(ops.select(big, ops.multiply(size, 0.5), size))
    half = ops.multiply(e, 0.5)
    return ops.select(big, ops.multiply(half, e), ops.add(half, ops.divide(ops.splat(0.5, e), e)))


def real_sinh(x: ir.Value) -> ir.Value:
    """With E = e^|x| - 1: (E + E / (E + 1)) / 2, which is accurate near zero too, and halved last: half a denormal is
    not exact."""
    size = size_of(x)
    big = ops.compare(size, _largest_exponent(dtype_of(x)), "GT")
    e = ops.exponential_minus_one(ops.select(big, ops.multiply(size, 0.5), size))
    twice = ops.add(e, ops.divide(e, ops.add(e, 1)))
    great = ops.multiply(ops.multiply(e, 0.5), e)
    return copy_sign(ops.select(big, great, ops.multiply(twice, 0.5)), x)


def real_hypot(x: ir.Value, y: ir.Value) -> ir.Value:
    """sqrt(x**2 + y**2), scaled by the greater so that nothing overflows; infinity wins over NaN, as C99 asks."""
    wide = ops.compare(ops.abs(x), ops.abs(y), "GE")
    big, small = ops.select(wide, x, y), ops.select(wide, y, x)
    ratio = ops.divide(small, ops.select(_zero(big), 1, big))
    plain = ops.multiply(ops.abs(big), ops.sqrt(ops.add(1, ops.multiply(ratio, ratio))))
    return ops.select(ops.or_(infinite(x), infinite(y)), np.inf, plain)


def real_log1p(x: ir.Value) -> ir.Value:
    """XLA's form, which is 128 ulp off between sqrt(2) - 1 below zero and sqrt(1/2) - 1; there as
    log1p(1 + 2 x) - log 2, whose argument is exact."""
    poor = ops.and_(ops.compare(x, -0.4144, "GT"), ops.compare(x, -0.2928, "LT"))
    found = ops.log_plus_one(ops.select(poor, ops.add(ops.multiply(x, 2), 1), x))
    return ops.select(poor, ops.subtract(found, float(np.log(2.0))), found)


def real_arctanh(x: ir.Value) -> ir.Value:
    """log1p(2 |x| / (1 - |x|)) / 2, odd."""
    size = size_of(x)
    ratio = ops.divide(ops.multiply(size, 2), ops.subtract(ops.splat(1, x), size))
    return copy_sign(ops.multiply(real_log1p(ratio), 0.5), x)


# ---- arithmetic ------------------------------------------------------------------------------------------------

def divide(z: ir.Value, w: ir.Value) -> ir.Value:
    """Smith's algorithm, as NumPy: scaled by the greater part of the divisor; by zero componentwise."""
    a, b, c, d = ops.real(z), ops.imag(z), ops.real(w), ops.imag(w)
    wide = ops.compare(ops.abs(c), ops.abs(d), "GE")
    none = ops.and_(_zero(c), _zero(d))
    greater, less = ops.select(wide, c, d), ops.select(wide, d, c)
    ratio = ops.divide(less, greater)
    scale = ops.divide(ops.splat(1, c), ops.add(greater, ops.multiply(less, ratio)))
    first, second = ops.select(wide, a, b), ops.select(wide, b, a)
    re = ops.multiply(ops.add(first, ops.multiply(second, ratio)), scale)
    turned = ops.multiply(first, ratio)
    im = ops.multiply(ops.select(wide, ops.subtract(second, turned), ops.subtract(turned, second)), scale)
    size = ops.abs(c)
    return ops.complex(ops.select(none, ops.divide(a, size), re), ops.select(none, ops.divide(b, size), im))


def reciprocal(z: ir.Value) -> ir.Value:
    """1 / z by Smith's algorithm."""
    a, b = ops.real(z), ops.imag(z)
    wide = ops.compare(ops.abs(b), ops.abs(a), "LE")
    greater, less = ops.select(wide, a, b), ops.select(wide, b, a)
    ratio = ops.divide(less, greater)
    scale = ops.add(greater, ops.multiply(less, ratio))
    one = ops.splat(1, a)
    re = ops.divide(ops.select(wide, one, ratio), scale)
    im = ops.divide(ops.negate(ops.select(wide, ratio, one)), scale)
    return ops.complex(re, im)


def absolute(z: ir.Value) -> ir.Value:
    """hypot(re, im): XLA's own, but infinite where one part is (also beside NaN)."""
    re, im = ops.real(z), ops.imag(z)
    return ops.select(ops.or_(infinite(re), infinite(im)), np.inf, ops.abs(z))


def sign(z: ir.Value) -> ir.Value:
    """z / |z|: 0 at 0, along an infinite part, NaN for two."""
    a, b = ops.real(z), ops.imag(z)
    size = absolute(z)
    one = ops.splat(1, a)
    far = (infinite(a), infinite(b))
    endless = ops.or_(*far)

    def part(x: ir.Value, here: ir.Value, there: ir.Value) -> ir.Value:
        at_infinity = ops.select(here, copy_sign(one, x), 0)
        at_infinity = ops.select(ops.and_(here, there), np.nan, at_infinity)
        usual = ops.select(_zero(size), ops.splat(0, x), ops.divide(x, size))
        return ops.select(endless, at_infinity, usual)
    return ops.complex(part(a, *far), part(b, far[1], far[0]))


def integer_power(z: ir.Value, exponent: int) -> ir.Value:
    """z**exponent by repeated squaring; negative exponents of 1 / z."""
    if exponent == 0:
        return ops.splat(1, z)
    base = z if exponent > 0 else reciprocal(z)
    left, result = abs(exponent), None
    while left:
        if left & 1:
            result = base if result is None else ops.multiply(result, base)
        left >>= 1
        base = ops.multiply(base, base) if left else base
    return result


# ---- exponential and logarithms --------------------------------------------------------------------------------

def exp(z: ir.Value) -> ir.Value:
    """e^x (cos y + i sin y); real for y = 0, zero for x = -inf."""
    x, y = ops.real(z), ops.imag(z)
    size, wild = ops.exponential(x), _not_finite(y)
    re, im = ops.multiply(size, ops.cosine(y)), ops.multiply(size, ops.sine(y))
    im = ops.select(ops.and_(_zero(y), infinite(size)), y, im)
    re = ops.select(ops.and_(ops.compare(x, np.inf, "EQ"), wild), np.inf, re)
    vanish = ops.and_(ops.compare(x, -np.inf, "EQ"), wild)
    return ops.complex(ops.select(vanish, 0, re), ops.select(vanish, 0, im))


def exp2(z: ir.Value) -> ir.Value:
    factor = float(np.log(2.0))
    return exp(ops.complex(ops.multiply(ops.real(z), factor), ops.multiply(ops.imag(z), factor)))


def expm1(z: ir.Value) -> ir.Value:
    """(e^x - 1) cos y - 2 sin(y/2)**2 + i e^x sin y."""
    x, y = ops.real(z), ops.imag(z)
    half = ops.sine(ops.multiply(y, 0.5))
    re = ops.subtract(ops.multiply(ops.exponential_minus_one(x), ops.cosine(y)),
                      ops.multiply(ops.multiply(half, half), 2))
    return ops.complex(re, ops.multiply(ops.exponential(x), ops.sine(y)))


def log(z: ir.Value) -> ir.Value:
    """log|z| + i arg z."""
    found = ops.log(z)
    endless = ops.or_(infinite(ops.real(z)), infinite(ops.imag(z)))
    return ops.complex(ops.select(endless, np.inf, ops.real(found)), ops.imag(found))


def scaled_log(base: float) -> Callable[[ir.Value], ir.Value]:
    factor = float(1 / np.log(base))

    def build(z: ir.Value) -> ir.Value:
        found = log(z)
        return ops.complex(ops.multiply(ops.real(found), factor), ops.multiply(ops.imag(found), factor))
    return build


def log1p(z: ir.Value) -> ir.Value:
    found = ops.log_plus_one(z)
    endless = ops.or_(infinite(ops.real(z)), infinite(ops.imag(z)))
    return ops.complex(ops.select(endless, np.inf, ops.real(found)), ops.imag(found))


def sqrt(z: ir.Value) -> ir.Value:
    """Right half plane; the imaginary part has the sign of that of z."""
    x, y = ops.real(z), ops.imag(z)
    found = ops.sqrt(ops.complex(x, size_of(y)))
    re, im = ops.real(found), ops.imag(found)
    endless = infinite(y)
    re = ops.select(ops.or_(endless, ops.compare(x, np.inf, "EQ")), np.inf, re)
    im = ops.select(ops.or_(endless, ops.compare(x, -np.inf, "EQ")), np.inf, im)
    return ops.complex(re, copy_sign(im, y))


# ---- hyperbolic and circular functions -------------------------------------------------------------------------

def _cosh(x: ir.Value, y: ir.Value) -> Pair:
    """cosh x cos y + i sinh x sin y."""
    wild = _not_finite(y)
    re = ops.multiply(real_cosh(x), ops.cosine(y))
    re = ops.select(ops.and_(infinite(x), wild), np.inf, re)
    odd = real_sinh(x)
    im = ops.multiply(odd, ops.sine(y))
    nothing = ops.or_(ops.and_(_zero(y), _not_finite(odd)), ops.and_(_zero(x), wild))
    one = ops.splat(1, x)
    zero = copy_sign(ops.splat(0, x), ops.multiply(copy_sign(one, x), copy_sign(one, y)))
    return re, ops.select(nothing, zero, im)


def _sinh(x: ir.Value, y: ir.Value) -> Pair:
    """sinh x cos y + i cosh x sin y."""
    wild = _not_finite(y)
    re = ops.multiply(real_sinh(x), ops.cosine(y))
    re = ops.select(ops.and_(ops.or_(_zero(x), infinite(x)), wild), x, re)
    even = real_cosh(x)
    im = ops.multiply(even, ops.sine(y))
    return re, ops.select(ops.and_(_zero(y), _not_finite(even)), y, im)


def _tanh(x: ir.Value, y: ir.Value) -> Pair:
    found = ops.tanh(ops.complex(x, y))

    def part(value: ir.Value, of: ir.Value) -> ir.Value:
        return with_signed_zero(ops.select(ops.and_(_zero(of), _not_finite(value)), of, value), of)
    return part(ops.real(found), x), part(ops.imag(found), y)


def _direct(build: Callable[[ir.Value, ir.Value], Pair]) -> Callable[[ir.Value], ir.Value]:
    return lambda z: ops.complex(*build(ops.real(z), ops.imag(z)))


def _turned(build: Callable[[ir.Value, ir.Value], Pair]) -> Callable[[ir.Value], ir.Value]:
    """-i f(i z): the circular function of an odd hyperbolic one."""
    def run(z: ir.Value) -> ir.Value:
        re, im = build(ops.negate(ops.imag(z)), ops.real(z))
        return ops.complex(im, ops.negate(re))
    return run


def cos(z: ir.Value) -> ir.Value:
    """cosh(i z)."""
    return ops.complex(*_cosh(ops.negate(ops.imag(z)), ops.real(z)))


cosh, sinh, tanh = _direct(_cosh), _direct(_sinh), _direct(_tanh)
sin, tan = _turned(_sinh), _turned(_tanh)


# ---- their inverses --------------------------------------------------------------------------------------------

def _arcsinh(x: ir.Value, y: ir.Value) -> Pair:
    """Odd, and conjugate-symmetric: the first quadrant reflected."""
    found = ops.asinh(ops.complex(size_of(x), size_of(y)))
    re, im = ops.real(found), ops.imag(found)
    im = ops.select(ops.and_(nan(x), _zero(y)), y, im)
    return copy_sign(re, x), copy_sign(im, y)


def _arctanh(x: ir.Value, y: ir.Value) -> Pair:
    found = ops.atanh(ops.complex(size_of(x), size_of(y)))
    lost = ops.or_(nan(x), nan(y))
    kept = ops.or_(infinite(x), infinite(y))
    re = ops.select(ops.and_(lost, ops.not_(ops.or_(kept, _zero(x)))), np.nan, ops.real(found))
    re = ops.select(ops.or_(ops.and_(nan(y), _zero(x)), kept), 0, re)
    im = ops.select(ops.and_(lost, ops.not_(infinite(y))), np.nan, ops.imag(found))
    return copy_sign(re, x), copy_sign(im, y)


def arccos(z: ir.Value) -> ir.Value:
    """Conjugate-symmetric; the imaginary part has the opposite sign of that of z."""
    x, y = ops.real(z), ops.imag(z)
    found = ops.acos(ops.complex(x, size_of(y)))
    re = ops.select(ops.and_(_zero(x), nan(y)), float(np.pi / 2), ops.real(found))
    return ops.complex(re, copy_sign(ops.imag(found), ops.negate(y)))


def arccosh(z: ir.Value) -> ir.Value:
    """i arccos z, turned into the right half plane: by the sign of y, since |x| has no slope on the cut."""
    x, y = ops.real(z), ops.imag(z)
    found = ops.acos(ops.complex(x, size_of(y)))            # in the lower half plane
    re = ops.select(ops.and_(_zero(x), nan(y)), float(np.pi / 2), ops.real(found))
    return ops.complex(ops.negate(ops.imag(found)), copy_sign(re, y))


arcsinh, arctanh = _direct(_arcsinh), _direct(_arctanh)
arcsin, arctan = _turned(_arcsinh), _turned(_arctanh)
