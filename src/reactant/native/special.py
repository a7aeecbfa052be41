"""Special functions that GPU kernels call and the C library lacks; they stand on its erf and erfc."""
from __future__ import annotations

from reactant.native.reals import INFINITY, NAN, PURE, Real, call, routine

TWO_OVER_ROOT_PI = 1.1283791670955126
ROOT_TWO = 1.4142135623730951


def _library(name: str, x: Real) -> Real:
    symbol = x.f.module.declare(name, "double", ["double"], PURE)
    return Real(x.f, x.f.let(f"call double {symbol}(double {x.name}) {PURE}"), "double")


def _routine(name: str, x: Real) -> Real:
    return Real(x.f, call(x.f, name, x.kind, [x.name]), x.kind)


def _guess(product: Real) -> Real:
    """erfinv of x with 1 - x*x = product, to two thousandths (Winitzki 2008)."""
    logarithm = _routine("log", product)
    a = logarithm * 0.5 + 4.330746750799873      # 2 / (pi 0.147)
    return ((a * a - logarithm * 6.802721088435375).sqrt() - a).sqrt()


def _improved(y: Real, function: str, target: Real, sign: float) -> Real:
    """Halley's steps for erf(y) = target (sign 1) or erfc(y) = target (sign -1): each makes three times as many digits
    right, once it is near; far out in the tail that takes a few."""
    for _ in range(2 if sign > 0 else 5):
        slope = _routine("exp", -(y * y)) * (TWO_OVER_ROOT_PI * sign)
        step = (_library(function, y) - target) / slope
        y = y - step / (y * step + 1.0)
    return y


@routine("erfinv")
def erfinv(x: Real) -> Real:
    if not x.double:
        return erfinv(x.wide()).narrow()
    size = x.abs()
    rest = 1.0 - size
    inner = size.least(0.5)
    near = _improved(_guess(1.0 - inner * inner), "erf", inner, 1.0)
    tail = rest.least(0.5).most(1e-300)
    far = _improved(_guess(tail * (2.0 - tail)), "erfc", tail, -1.0)
    value = near.choose(size.test("olt", 0.5), far)
    # near zero erfinv(x) = x sqrt(pi)/2
    value = (size * 0.886226925452758).choose(size.test("olt", 1e-8), value)
    value = x.of(INFINITY).choose(size.test("oeq", 1.0), value).copysign(x)
    value = x.of(NAN).choose(size.test("ogt", 1.0), value)
    return x.choose(x.test("uno", x), value)


@routine("erfcinv")
def erfcinv(x: Real) -> Real:
    """erfc(-y) = 2 - erfc(y): the half above 1 is the mirrored half below."""
    if not x.double:
        return erfcinv(x.wide()).narrow()
    small = x.least(1.0).choose(x.test("ole", 1.0), 2.0 - x)
    tail = small.least(0.5).most(1e-307)
    far = _improved(_guess(tail * (2.0 - tail)), "erfc", tail, -1.0)
    near = _routine("erfinv", 1.0 - small)
    value = far.choose(small.test("olt", 0.5), near)
    value = value.choose(x.test("ole", 1.0), -value)
    value = x.of(INFINITY).choose(x.test("oeq", 0.0), value)
    value = x.of(-INFINITY).choose(x.test("oeq", 2.0), value)
    value = x.of(NAN).choose(x.test("olt", 0.0) | x.test("ogt", 2.0), value)
    return x.choose(x.test("uno", x), value)


@routine("normcdfinv")
def normcdfinv(x: Real) -> Real:
    """The quantile of the normal distribution."""
    if not x.double:
        return normcdfinv(x.wide()).narrow()
    return -(_routine("erfcinv", x + x) * ROOT_TWO)


@routine("erfcx")
def erfcx(x: Real) -> Real:
    """exp(x*x) erfc(x); far out 1/(x sqrt(pi)) (1 - 1/2x^2 + 3/4x^4 - ...)."""
    if not x.double:
        return erfcx(x.wide()).narrow()
    inside = x.most(-27.0).least(25.0)
    square = inside * inside
    lost = inside.fma(inside, -square)
    growth = _routine("exp", square)
    near = growth.fma(lost, growth) * _library("erfc", inside)
    z = 0.5 / (x * x)
    series = z.polynomial((1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0)) * 0.5641895835477563 / x
    value = series.choose(x.test("ogt", 25.0), near)
    value = x.of(INFINITY).choose(x.test("olt", -26.7), value)
    return x.choose(x.test("uno", x), value)
