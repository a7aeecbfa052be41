"""Special functions keep the digits that SciPy has, at their zeros, poles and ends, against mpmath."""
import math

import numpy as np
import pytest
import scipy.special as sp

import reactant

mp = pytest.importorskip("mpmath", reason="the numbers to compare with")

NEAR = [10.0**-k for k in (15, 12, 9, 7, 5, 3, 2, 1)]


def around(*places):
    return [x for place in places for d in NEAR for x in (place - d, place + d)]


LINE = [*np.linspace(-9.7, 9.7, 41), 20.3, 50.5, 100.1, 170.2, 500.0, 1e5, -20.3, -50.5, -100.1, 1e-300, 1e-20, -1e-20]
UNIT = [x for x in (*around(0, 0.5, 1), *np.linspace(0.003, 0.997, 31), 1 - 2.0**-53, 0.0465, 0.9535) if 0 < x < 1]
POSITIVE = [x for x in (*around(1, 2, 3, 1.4616321449683623), *LINE) if x > 0]


def _inverse(p):
    return mp.erfinv(p)


REFERENCES = {      # numbers, mpmath's function, how many ulp of float64 may be lost
    "gammaln": (POSITIVE, mp.loggamma, 8),
    "digamma": ([*POSITIVE, *around(-0.5040830082644554), -9.7, -3.3, -0.2], mp.digamma, 8),
    "gamma": ([*POSITIVE, *LINE, *around(-1, -2, -10)], mp.gamma, 6),
    "erfinv": ([*UNIT, *(-x for x in UNIT)], _inverse, 4),
    "log_ndtr": ([*np.linspace(-38, 30, 70), *around(-1, -20), -1e5],
                 lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), 32),
    "logit": (UNIT, lambda p: mp.log(p / (1 - p)), 6),
    "i0": (LINE, lambda x: mp.besseli(0, x), 4), "i0e": (LINE, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), 4),
    "exp2": ([*LINE, *range(-30, 30)], lambda x: mp.mpf(2) ** x, 2),
    "log1p": ([*np.linspace(-0.7, 2, 120), *around(-0.5, -0.3, 0)], mp.log1p, 4),
    "erfcx": ([x for x in LINE if -26 < x < 200], lambda x: mp.exp(x * x) * mp.erfc(x), 12),
    "erfc": ([*np.linspace(-3, 4, 40), *around(0, 1)], mp.erfc, 12),
    "i1": ([x for x in LINE if abs(x) < 700], lambda x: mp.besseli(1, x), 12),
}


def _table(name, dtype):
    """Numbers, and the function of them; without what overflows, underflows or has none."""
    numbers, reference, _ = REFERENCES[name]
    x, found = np.unique(np.array(numbers, dtype)), []
    for number in x:
        with mp.workdps(60):
            try:
                value = mp.re(reference(mp.mpf(float(number))))
            except (ValueError, ZeroDivisionError):
                value = mp.nan
            found.append(value)
    kept = [k for k, v in enumerate(found) if mp.isfinite(v) and np.finfo(dtype).tiny < abs(v) < np.finfo(dtype).max]
    return x[kept], [found[k] for k in kept]


def _lost(got, wanted, dtype):
    """ulp between them, of the numbers wanted."""
    return np.array([float(abs(mp.mpf(float(g)) - w)) / float(np.spacing(abs(dtype(float(w)))))
                     for g, w in zip(got, wanted, strict=True)])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("native", ["never", "always"])
@pytest.mark.parametrize("name", REFERENCES)
def test_float64(name, native):
    function, allowed = getattr(sp, name), REFERENCES[name][2]
    x, wanted = _table(name, np.float64)
    lost = _lost(reactant.jit(function, native=native)(x), wanted, np.float64)
    theirs = _lost(function(x), wanted, np.float64)
    worst = np.argmax(lost - 3 * theirs)
    assert (lost <= allowed + 3 * theirs).all(), f"{lost[worst]} ulp at {x[worst]!r} (SciPy: {theirs[worst]})"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [*REFERENCES, "ndtr", "ndtri", "i1e", "exp1", "expi", "spence", "dawsn"])
def test_float32(name):
    """To the last place, as SciPy, which computes in float64."""
    numbers = np.unique(np.array(REFERENCES[name][0] if name in REFERENCES else UNIT, np.float32))
    function = getattr(sp, name)
    with np.errstate(all="ignore"):
        wanted = function(numbers)
    usual = np.isfinite(wanted) & (np.abs(wanted) > np.finfo(np.float32).tiny)
    got = reactant.jit(function)(numbers[usual])
    assert got.dtype == np.float32
    np.testing.assert_array_max_ulp(got, wanted[usual], 2)


@pytest.mark.slow
def test_edges():
    edges = np.array([0.0, -0.0, -1.0, -2.0, -171.5, 171.7, np.inf, -np.inf, np.nan, 1.0, 2.0, 3.0, 172.0, 1e300,
                      -1e300])
    for name in ("gamma", "gammaln", "digamma"):
        function = getattr(sp, name)
        with np.errstate(all="ignore"):
            wanted = function(edges)
        got = reactant.jit(function)(edges)
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-300, err_msg=name)
    ends = np.array([1.0, -1.0, 1.5, -2.0, np.nan, 0.0, -0.0])
    np.testing.assert_array_equal(reactant.jit(sp.erfinv)(ends), sp.erfinv(ends))
    factorials = np.arange(1.0, 171.0)
    np.testing.assert_array_max_ulp(reactant.jit(sp.gamma)(factorials + 0), sp.gamma(factorials), 3)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name, slope", [
    ("gammaln", lambda x: mp.digamma(x)), ("digamma", lambda x: mp.polygamma(1, x)),
    ("gamma", lambda x: mp.gamma(x) * mp.digamma(x)),
    ("erfinv", lambda p: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(p) ** 2)), ("logit", lambda p: 1 / (p * (1 - p)))])
def test_derivatives(name, slope):
    function = getattr(sp, name)
    x = np.array([p for p in UNIT if p > 1e-6] if name in ("erfinv", "logit") else
                 [v for v in POSITIVE if 1e-6 < v < 120])
    wanted = np.array([float(slope(mp.mpf(float(v)))) for v in x])
    for got in (reactant.grad(lambda x: np.sum(function(x)))(x), reactant.jvp(function, (x,), (np.ones_like(x),))[1]):
        np.testing.assert_allclose(got, wanted, rtol=2e-12, atol=1e-14)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-14), (np.float32, 2e-6)])
def test_slope_of_digamma_everywhere(dtype, digits):
    """Negative numbers far from 0, and numbers whose square is none."""
    x = np.array([-0.25, -1.5, -3.3125, -9.5, -20.2, -100.5, -1000.3, 0.5, 200.0, 1e7, 1e12, 1e30], dtype)
    wanted = [float(mp.polygamma(1, mp.mpf(float(v)))) if v < 1e8 else (1 + 0.5 / float(v)) / float(v) for v in x]
    for got in (reactant.grad(lambda x: np.sum(sp.digamma(x)))(x),
                reactant.jvp(sp.digamma, (x,), (np.ones_like(x),))[1]):
        np.testing.assert_allclose(got, wanted, rtol=digits)


def test_second_derivatives():
    x = np.array([0.3, 0.9999, 1.0001, 1.4616, 2.00001, 3.3, 7.9, 8.1, 40.0])
    second = reactant.grad(lambda x: np.sum(reactant.grad(lambda x: np.sum(sp.gammaln(x)))(x)))(x)
    np.testing.assert_allclose(second, sp.polygamma(1, x), rtol=1e-12)


@pytest.mark.slow
def test_of_python_numbers():
    @reactant.jit
    def of(x):
        return math.gamma(x), math.lgamma(x), math.erf(x), math.erfc(x)
    for x in (1 + 1e-5, 2 - 1e-7, 0.5, 1.4616, 3.7, 20.3, 100.1, 170.5, -2.3, -0.4, 1e-5, 5.0):
        with mp.workdps(40):        # math.lgamma and sp.gammaln have 12 digits near 1 and 2
            size = float(mp.log(abs(mp.gamma(mp.mpf(x)))))
        np.testing.assert_allclose(of(x), (math.gamma(x), size, math.erf(x), math.erfc(x)), rtol=5e-15)
