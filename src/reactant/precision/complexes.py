"""Complex numbers of two wide ones each.

Quotients are the plain formula: parts that cancel are right relative to the size of the number. Functions go by those
of the parts.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision import exponential, hyperbolic, rounding, trigonometric, wide
from reactant.precision.values import WideComplex, conjugate
from reactant.precision.wide import Wide


def _exponent(x: WideComplex) -> ir.Value:
    """The exponent of the larger part; 0 for zeros and what is not finite."""
    size = ops.maximum(ops.abs(x.re.head), ops.abs(x.im.head))
    good = ops.and_(ops.is_finite(size), ops.compare(size, 0.0, "GT"))
    return exponential.exponent_of(ops.select(good, size, 1.0))


def _scaled(x: WideComplex, k: ir.Value) -> WideComplex:
    return WideComplex(exponential.scaled(x.re, k), exponential.scaled(x.im, k))


def divide(x: WideComplex, y: WideComplex) -> WideComplex:
    """x conj(y) / |y|^2, y scaled to about 1."""
    k = ops.negate(_exponent(y))
    near = _scaled(y, k)
    square = wide.square(near.re) + wide.square(near.im)
    product = x * conjugate(near)
    found = WideComplex(product.re / square, product.im / square)
    return _scaled(found, k)


def absolute(x: WideComplex) -> Wide:
    """sqrt(re^2 + im^2), scaled to about 1 first; infinite where a part is."""
    k = _exponent(x)
    near = _scaled(x, ops.negate(k))
    found = exponential.scaled(wide.sqrt(wide.square(near.re) + wide.square(near.im)), k)
    infinite = ops.or_(*(ops.compare(ops.abs(part.head), float("inf"), "EQ") for part in (x.re, x.im)))
    return wide.choose(infinite, found.of(float("inf")), found)


def exp(x: WideComplex) -> WideComplex:
    """e^re (cos im + i sin im)."""
    size = exponential.exp(x.re)
    sine, cosine = trigonometric.sine_and_cosine(x.im)
    zero = ops.compare(x.im.head, 0.0, "EQ")
    return WideComplex(size * cosine, wide.choose(zero, x.im, size * sine))


def log(x: WideComplex) -> WideComplex:
    """log |x| + i arg x; near |x| = 1 by log(1 + (|x|^2 - 1)) / 2."""
    size = absolute(x)
    count = max(x.re.count + 1, 3)
    near = ops.and_(ops.compare(size.head, 0.7, "GT"), ops.compare(size.head, 1.5, "LT"))
    re, im = (wide.choose(near, part, part.of(0.5)).first(count) for part in (x.re, x.im))
    with wide.finite():
        less = ((wide.square(re) - 1.0) + wide.square(im)).first(x.re.count)
    close = exponential.log1p(less).times_power(0.5)
    return WideComplex(wide.choose(near, close, exponential.log(size)), trigonometric.atan2(x.im, x.re))


def sqrt(x: WideComplex) -> WideComplex:
    """With r = sqrt((|x| + |re|) / 2): r + i im / 2r, or the other way round left of the imaginary axis."""
    k = _exponent(x)
    k = ops.subtract(k, ops.and_(k, ops.splat(1, k)))       # even
    near = _scaled(x, ops.negate(k))
    half = ops.shift_right_arithmetic(k, ops.splat(1, k))
    root = wide.sqrt((absolute(near) + rounding.absolute(near.re)).times_power(0.5))
    other = rounding.absolute(near.im) / root.times_power(2.0)
    zero = ops.compare(root.head, 0.0, "EQ")
    other = wide.choose(zero, other.of(0.0), other)
    left = ops.compare(near.re.head, 0.0, "LT")
    re, im = wide.choose(left, other, root), wide.choose(left, root, other)
    return _scaled(WideComplex(re, hyperbolic.with_sign_of(x.im, im)), half)


def rsqrt(x: WideComplex) -> WideComplex:
    """1 / sqrt(x)."""
    return divide(WideComplex(x.re.of(1.0), x.re.of(0.0)), sqrt(x))


def power(x: WideComplex, y: WideComplex) -> WideComplex:
    """e^(y log x); 0 to a power of positive real part is 0, to the power 0 is 1."""
    zero = ops.and_(ops.compare(x.re.head, 0.0, "EQ"), ops.compare(x.im.head, 0.0, "EQ"))
    base = WideComplex(wide.choose(zero, x.re.of(1.0), x.re), x.im)
    found = exp(y * log(base))
    none = ops.and_(ops.compare(y.re.head, 0.0, "EQ"), ops.compare(y.im.head, 0.0, "EQ"))
    at_zero = wide.choose(none, x.re.of(1.0), wide.choose(ops.compare(y.re.head, 0.0, "GT"), x.re.of(0.0),
                                                          x.re.of(float("nan"))))
    return WideComplex(wide.choose(zero, at_zero, found.re), wide.choose(zero, x.re.of(0.0), found.im))


def sine(x: WideComplex) -> WideComplex:
    """sin re cosh im + i cos re sinh im."""
    s, c = trigonometric.sine_and_cosine(x.re)
    return WideComplex(s * hyperbolic.cosh(x.im), c * hyperbolic.sinh(x.im))


def cosine(x: WideComplex) -> WideComplex:
    """cos re cosh im - i sin re sinh im."""
    s, c = trigonometric.sine_and_cosine(x.re)
    return WideComplex(c * hyperbolic.cosh(x.im), -(s * hyperbolic.sinh(x.im)))


def tanh(x: WideComplex) -> WideComplex:
    """(sinh re cosh re + i sin im cos im) / (sinh^2 re + cos^2 im); sign of re, and no imaginary part, far out."""
    size = rounding.absolute(x.re)
    far = ops.compare(size.head, 40.0, "GT")
    bounded = wide.choose(far, size.of(1.0), x.re)
    s, c = trigonometric.sine_and_cosine(x.im)
    sinh, cosh = hyperbolic.sinh(bounded), hyperbolic.cosh(bounded)
    below = wide.square(sinh) + wide.square(c)
    one = hyperbolic.with_sign_of(x.re, size.of(1.0))
    return WideComplex(wide.choose(far, one, sinh * cosh / below), wide.choose(far, size.of(0.0), s * c / below))


def tan(x: WideComplex) -> WideComplex:
    """-i tanh(i x)."""
    turned = tanh(WideComplex(-x.im, x.re))
    return WideComplex(turned.im, -turned.re)


def sign(x: WideComplex) -> WideComplex:
    """x / |x|; 0 of 0."""
    size = absolute(x)
    zero = ops.compare(size.head, 0.0, "EQ")
    size = wide.choose(zero, size.of(1.0), size)
    return WideComplex(x.re / size, x.im / size)


def expm1(x: WideComplex) -> WideComplex:
    """(e^re - 1) cos im - 2 sin^2(im / 2) + i e^re sin im."""
    s, c = trigonometric.sine_and_cosine(x.im)
    half = trigonometric.sine(x.im.times_power(0.5))
    re = exponential.expm1(x.re) * c - wide.square(half).times_power(2.0)
    return WideComplex(re, exponential.exp(x.re) * s)


def log1p(x: WideComplex) -> WideComplex:
    """log(1 + (2 re + |x|^2)) / 2 + i arg(1 + x), where that is near 1; log(1 + x) elsewhere."""
    near = ops.compare(ops.maximum(ops.abs(x.re.head), ops.abs(x.im.head)), 0.25, "LT")
    small = WideComplex(*(wide.choose(near, part, part.of(0.0)) for part in (x.re, x.im)))
    less = small.re.times_power(2.0) + (wide.square(small.re) + wide.square(small.im))
    usual = log(WideComplex(x.re + 1.0, x.im))
    return WideComplex(wide.choose(near, exponential.log1p(less).times_power(0.5), usual.re),
                       trigonometric.atan2(x.im, x.re + 1.0))


def is_finite(x: WideComplex) -> ir.Value:
    """Both parts are."""
    return ops.and_(ops.is_finite(x.re.head), ops.is_finite(x.im.head))
