"""Hyperbolic functions and their inverses, the logistic function and roots, from exponentials and logarithms."""
from __future__ import annotations

from fractions import Fraction

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.precision import exponential, numerals, rounding, wide
from reactant.precision.error_free import bits_of, digits
from reactant.precision.wide import Wide


def with_sign_of(x: Wide, size: Wide) -> Wide:
    """The number with the sign of x, which may be a zero's."""
    negative = ops.compare(ops.convert(_sign_bit(x.head), "bool"), True, "EQ")
    return wide.choose(negative, -size, size)


def _sign_bit(x: ir.Value) -> ir.Value:
    bits = bits_of(x)
    return ops.shift_right_logical(bits, ops.splat(8 * dtype_of(x).itemsize - 1, bits))


def _at(x: Wide, good: ir.Value, found: Wide, ends: ir.Value) -> Wide:
    """The result where it is good, elsewhere a number of one limb."""
    return Wide([ops.select(good, found.head, ends), *(ops.select(good, limb, 0.0) for limb in found.limbs[1:])])


def logistic(x: Wide) -> Wide:
    """1 / (1 + e^-x), from e^-|x|, which does not overflow."""
    small = exponential.exp(-rounding.absolute(x))
    negative = ops.compare(x.head, 0.0, "LT")
    with wide.finite():
        found = wide.choose(negative, small, small.of(1.0)) / (small + 1.0)
    return _at(x, ops.compare(x.head, x.head, "EQ"), found, x.head)


def _far(x: Wide) -> float:
    return digits(x.dtype) * x.count * 0.36 + 2


def tanh(x: Wide) -> Wide:
    """E / (E + 2) with E = e^(2|x|) - 1; 1 far out."""
    size = rounding.absolute(x)
    near = ops.compare(size.head, _far(x), "LT")
    with wide.finite():
        grown = exponential.expm1(wide.choose(near, size.times_power(2.0), size.of(1.0)))
        found = grown / (grown + 2.0)
    found = wide.choose(near, found, found.of(1.0))
    found = with_sign_of(x, found)
    return _at(x, ops.and_(ops.compare(x.head, x.head, "EQ"), ops.compare(x.head, 0.0, "NE")), found, x.head)


def _halves(x: Wide) -> tuple[Wide, Wide]:
    """e^|x| / 2 as it is, and for what would leave the range by the square of e^(|x| / 2)."""
    size = rounding.absolute(x)
    root = exponential.exp(size.times_power(0.5))
    return size, root * root.times_power(0.5)


def sinh(x: Wide) -> Wide:
    """(E + E / (E + 1)) / 2 with E = e^|x| - 1; e^|x| / 2 far out."""
    size, far = _halves(x)
    near = ops.compare(size.head, _far(x), "LT")
    with wide.finite():
        grown = exponential.expm1(wide.choose(near, size, size.of(1.0)))
        found = (grown + grown / (grown + 1.0)).times_power(0.5)
    found = with_sign_of(x, wide.choose(near, found, far))
    return _at(x, ops.compare(x.head, 0.0, "NE"), found, x.head)


def cosh(x: Wide) -> Wide:
    """(e + 1 / e) / 2 with e = e^|x|; e / 2 far out."""
    size, far = _halves(x)
    near = ops.compare(size.head, _far(x), "LT")
    with wide.finite():
        grown = exponential.exp(wide.choose(near, size, size.of(1.0)))
        found = (grown + 1.0 / grown).times_power(0.5)
    return wide.choose(near, found, far)


def _log_of_twice(x: Wide) -> Wide:
    return exponential.log(x) + x.of(numerals.log(Fraction(2)))


def asinh(x: Wide) -> Wide:
    """log(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|; log 2a far out."""
    size = rounding.absolute(x)
    near = ops.compare(size.head, 2.0**(digits(x.dtype) * x.count // 2 + 2), "LT")
    with wide.finite():
        a = wide.choose(near, size, size.of(1.0))
        squared = wide.square(a)
        found = exponential.log1p(a + squared / (wide.sqrt(squared + 1.0) + 1.0))
    found = wide.choose(near, found, _log_of_twice(wide.choose(near, size.of(1.0), size)))
    return _at(x, ops.compare(x.head, 0.0, "NE"), with_sign_of(x, found), x.head)


def acosh(x: Wide) -> Wide:
    """log(1 + t + sqrt(2 t + t^2)) with t = x - 1; log 2x far out; NaN below 1."""
    t = x - 1.0
    near = ops.and_(ops.compare(x.head, 2.0**(digits(x.dtype) * x.count + 4), "LT"), ops.compare(t.head, 0.0, "GE"))
    with wide.finite():
        less = wide.choose(near, t, t.of(1.0))
        root = wide.sqrt(wide.square(less) + less.times_power(2.0))
        zero = ops.compare(less.head, 0.0, "EQ")
        root = wide.choose(zero, root.of(0.0), root)
        found = exponential.log1p(less + root)
    far = _log_of_twice(wide.choose(near, x.of(1.0), x))
    found = wide.choose(near, found, far)
    return wide.choose(ops.compare(t.head, 0.0, "LT"), found.of(float("nan")), found)


def atanh(x: Wide) -> Wide:
    """log(1 + 2 a / (1 - a)) / 2 with a = |x|; infinite at 1, NaN beyond."""
    size = rounding.absolute(x)
    found = exponential.log1p(size.times_power(2.0) / (1.0 - size)).times_power(0.5)
    found = wide.choose(ops.compare(size.head, 1.0, "GT"), found.of(float("nan")), with_sign_of(x, found))
    return _at(x, ops.compare(x.head, 0.0, "NE"), found, x.head)


def rsqrt(x: Wide) -> Wide:
    """1 / sqrt(x)."""
    return 1.0 / wide.sqrt(x)


def cbrt(x: Wide) -> Wide:
    """The cube root: that of the first limb, and Newton's corrections."""
    root = ops.cbrt(x.head)
    good = ops.and_(ops.is_finite(root), ops.compare(root, 0.0, "NE"))
    with wide.finite():
        found = Wide([ops.select(good, root, 1.0)])
        number = wide.choose(good, x, x.of(1.0))
        slope = ops.divide(ops.multiply(found.head, found.head), 1.0 / 3.0)
        for count in range(2, max(x.count, 2) + 2):
            count = min(count, x.count)
            grown = found.first(count)
            rest = number - wide.multiply(wide.square(grown), grown)
            found = grown + ops.divide(rest.head, slope)
    return _at(x, good, found.first(x.count), root)
