"""Inverse circular and hyperbolic functions, error functions: routines as those of `elementary`."""
from __future__ import annotations

from reactant.native.elementary import exponential, log, log1p
from reactant.native.reals import NAN, Real, routine

# -- inverse circular functions

_ARCSINE = (0.16666666666666666, 0.07500000000000119, 0.04464285714254761, 0.030381944475937225, 0.022372157423732685,
            0.017352817112618216, 0.013963769422268372, 0.011566590456413265, 0.009620740046007272,
            0.009325924319169168, 0.0030201597709223348, 0.019616311323511427, -0.019331442635312467,
            0.02966958634580227)
"""(asin(x)/x - 1) / x**2 on |x| <= 1/2."""
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)


def _half_angle(size: Real) -> tuple[Real, Real, Real]:
    """asin and acos of |x| > 1/2 through s = sqrt((1 - |x|)/2): (s, what sqrt rounded off, s z P(z)) with z = s*s."""
    z = (1.0 - size) * 0.5
    s = z.most(0.0).sqrt()
    lost = ((-s).fma(s, z) / (s + s)).choose(s.test("ogt", 0.0), 0.0)
    return s, lost, s * z * z.polynomial(_ARCSINE)


@routine("asin")
def asin(x: Real) -> Real:
    if not x.double:
        return asin(x.wide()).narrow()
    size = x.abs()
    z = (size * size).least(0.25)
    small = size.fma(z * z.polynomial(_ARCSINE), size)
    s, lost, rest = _half_angle(size)
    large = HALF_PI[0] - ((s + s) - (HALF_PI[1] - (lost + rest) * 2.0))
    value = small.choose(size.test("ole", 0.5), large).copysign(x)
    value = x.of(NAN).choose(size.test("ogt", 1.0), value)
    return x.choose(x.test("uno", x) | size.test("olt", 1e-300), value)


@routine("acos")
def acos(x: Real) -> Real:
    if not x.double:
        return acos(x.wide()).narrow()
    size = x.abs()
    z = (x * x).least(0.25)
    middle = HALF_PI[0] - (x - (HALF_PI[1] - x * z * z.polynomial(_ARCSINE)))
    s, lost, rest = _half_angle(size)
    near = (s + (lost + rest)) * 2.0
    far = (HALF_PI[0] - (s + (lost + rest - HALF_PI[1]))) * 2.0
    value = middle.choose(size.test("ole", 0.5), near.choose(x.test("ogt", 0.0), far))
    value = x.of(NAN).choose(size.test("ogt", 1.0), value)
    return x.choose(x.test("uno", x), value)


# -- inverse hyperbolic functions

@routine("asinh")
def asinh(x: Real) -> Real:
    """ln(1 + a + a*a/(1 + sqrt(1 + a*a)))."""
    if not x.double:
        return asinh(x.wide()).narrow()
    size = x.abs()
    inner = size.least(1e9)
    square = inner * inner
    small = log1p(inner + square / ((square + 1.0).sqrt() + 1.0))
    value = small.choose(size.test("olt", 1e9), log(size) + 0.6931471805599453)
    return x.choose(x.test("uno", x) | size.test("olt", 1e-300), value.copysign(x))


@routine("acosh")
def acosh(x: Real) -> Real:
    """ln(1 + t + sqrt(2t + t*t)), t = x - 1."""
    if not x.double:
        return acosh(x.wide()).narrow()
    t = x.least(1e9) - 1.0
    small = log1p(t + (t + t + t * t).sqrt())
    value = small.choose(x.test("olt", 1e9), log(x) + 0.6931471805599453)
    value = x.of(NAN).choose(x.test("olt", 1.0), value)
    return x.choose(x.test("uno", x), value)


@routine("atanh")
def atanh(x: Real) -> Real:
    """ln(1 + 2a/(1 - a)) / 2."""
    if not x.double:
        return atanh(x.wide()).narrow()
    size = x.abs()
    twice = size + size
    value = (log1p(twice + twice * size / (1.0 - size)) * 0.5).copysign(x)
    value = x.of(float("inf")).copysign(x).choose(size.test("oeq", 1.0), value)
    value = x.of(NAN).choose(size.test("ogt", 1.0), value)
    return x.choose(x.test("uno", x) | size.test("olt", 1e-300), value)


# -- error functions

_ERROR = (0.1283791670955126, -0.37612638903183754, 0.11283791670955114, -0.026866170645127845, 0.0052239776253901506,
          -0.0008548327018718468, 0.0001205533270529517, -1.4925639519833559e-05, 1.6461822990527387e-06,
          -1.6360449390246477e-07, 1.4739341935657164e-08, -1.1733314521892249e-09, 6.67520361438513e-11)
"""erf(x)/x - 1 in powers of x**2 <= 3/4."""
_TAIL = (
    1.2329951186255526, -0.13962111684056253, 0.015379652102619027, 0.0680970542546948, -0.10103906603625375,
    0.09373283499828751, -0.06633036581360713, 0.03716751553818893, -0.01619773403826592, 0.0050319699756138135,
    -0.0007577734486762808, -0.00019925671345040716, 0.00015062249512264785, -2.4398983809134553e-05,
    -1.12247322473501e-05, 5.7086428044048145e-06, 2.9955790685567077e-07, -8.22559563206072e-07,
    6.702452833728971e-08, 1.0568025135820959e-07, -1.2224048303152388e-08, -1.0476718674668371e-08)
"""erfc(x) exp(x**2) (1 + 2x) in powers of (x - 4)/(x + 4), 1/2 <= x <= 28."""


def _tail(size: Real) -> Real:
    """erfc(x) for x >= 1/2, to four units in the last place."""
    inside = size.most(0.5).least(28.0)
    square = inside * inside
    lost = inside.fma(inside, -square)
    decay = exponential(-square, rest=-lost)
    t = (inside - 4.0) / (inside + 4.0)
    return decay * t.polynomial(_TAIL) / (inside + inside + 1.0)


def _near_zero(x: Real) -> Real:
    """erf(x) for |x| <= 0.866."""
    z = (x * x).least(0.75)
    return x.fma(z.polynomial(_ERROR), x)


@routine("erf")
def erf(x: Real) -> Real:
    if not x.double:
        return erf(x.wide()).narrow()
    size = x.abs()
    value = _near_zero(size).choose(size.test("olt", 0.8), 1.0 - _tail(size)).copysign(x)
    return x.choose(x.test("uno", x), value)


@routine("erfc")
def erfc(x: Real) -> Real:
    if not x.double:
        return erfc(x.wide()).narrow()
    size = x.abs()
    tail = _tail(size)
    value = (1.0 - _near_zero(x)).choose(size.test("olt", 0.5), tail.choose(x.test("ogt", 0.0), 2.0 - tail))
    return x.choose(x.test("uno", x), value)
