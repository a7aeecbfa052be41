"""Derivatives at the points where elementwise functions change their form, and on both sides of branch cuts."""
import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import reactant

POINTS = np.array([0.0, -0.0, *(s * x for x in (1e-8, 1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.5, 8.0, 20.0, 100.0)
                                for s in (1, -1))])


def log(base):
    return lambda x: mp.log(x) / mp.log(base)


REAL = {
    "sqrt": (np.sqrt, mp.sqrt), "exp": (np.exp, mp.exp), "exp2": (np.exp2, lambda x: mp.power(2, x)),
    "expm1": (np.expm1, mp.expm1), "log": (np.log, mp.log), "log2": (np.log2, log(2)), "log10": (np.log10, log(10)),
    "log1p": (np.log1p, lambda x: mp.log(1 + x)), "sin": (np.sin, mp.sin), "cos": (np.cos, mp.cos),
    "tan": (np.tan, mp.tan), "arcsin": (np.arcsin, mp.asin), "arccos": (np.arccos, mp.acos),
    "arctan": (np.arctan, mp.atan), "sinh": (np.sinh, mp.sinh), "cosh": (np.cosh, mp.cosh), "tanh": (np.tanh, mp.tanh),
    "arcsinh": (np.arcsinh, mp.asinh), "arccosh": (np.arccosh, mp.acosh), "arctanh": (np.arctanh, mp.atanh),
    "reciprocal": (np.reciprocal, lambda x: 1 / x), "sinc": (np.sinc, mp.sincpi),
    "i0": (np.i0, lambda x: mp.besseli(0, x)), "power": (lambda x: x ** 2.5, lambda x: mp.power(x, mp.mpf(2.5))),
    "cube": (lambda x: x ** 3.0, lambda x: x ** 3), "self_power": (lambda x: x ** x, lambda x: mp.power(x, x)),
    "arctan2": (lambda x: np.arctan2(x, -1.0), lambda x: mp.atan2(x, -1)),
    "hypot": (lambda x: np.hypot(x, 1.0), lambda x: mp.sqrt(x * x + 1)),
    "hypot_squared": (lambda x: np.hypot(x, 0.0) ** 2, lambda x: x * x),
    "equal_parts": (lambda x: np.hypot(x, x) ** 2, lambda x: 2 * x * x),
    "root_squared": (lambda x: np.sqrt(x * x) ** 2, lambda x: x * x),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), lambda x: mp.log(1 + mp.exp(x))),
    "sine_over": (lambda x: np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)), mp.sinc),
    "erf": (sc.erf, mp.erf), "erfc": (sc.erfc, mp.erfc), "erfcx": (sc.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x)),
    "entr": (sc.entr, lambda x: -x * mp.log(x)), "expit": (sc.expit, lambda x: 1 / (1 + mp.exp(-x))),
    "fresnel_sine": (lambda x: sc.fresnel(x)[0], mp.fresnels),
    "fresnel_cosine": (lambda x: sc.fresnel(x)[1], mp.fresnelc),
    "sine_integral": (lambda x: sc.sici(x)[0], mp.si), "cosine_integral": (lambda x: sc.sici(x)[1], mp.ci),
    "spence": (sc.spence, lambda x: mp.polylog(2, 1 - x)), "log_ndtr": (sc.log_ndtr, lambda x: mp.log(mp.ncdf(x))),
}


def slope(exact, x, order):
    """The derivative, None where there is none that is finite and real."""
    try:
        digits = int(-np.log10(abs(x))) if 0 < abs(x) < 1 else 0
        with mp.workdps(50 + 4 * digits):
            found = mp.diff(exact, mp.mpf(float(x)), order)
            if isinstance(found, mp.mpc):
                found = found.real if abs(found.imag) <= mp.mpf(10) ** -20 * abs(found) else mp.nan
            return None if not mp.isfinite(found) or abs(found) > 1e30 else float(found)
    except (ZeroDivisionError, ValueError, mp.NoConvergence):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real(name):
    function, exact = REAL[name]
    with np.errstate(all="ignore"):
        values = np.array([float(function(np.array(x))) for x in POINTS])
    points = POINTS[np.isfinite(values)]
    sizes = np.abs(values[np.isfinite(values)])
    ones = np.ones_like(points)
    first = reactant.grad(lambda x: np.sum(function(x)))
    moved = lambda x: reactant.jvp(function, (x,), (np.ones_like(x),))[1]                       # noqa: E731
    found = {1: [first(points), moved(points)],
             2: [reactant.jvp(first, (points,), (ones,))[1], reactant.grad(lambda x: np.sum(first(x)))(points),
                 reactant.jvp(moved, (points,), (ones,))[1]]}
    for order, each in found.items():
        expected = [slope(exact, x, order) for x in points]
        known = [n for n, e in enumerate(expected) if e is not None]
        assert len(known) > 5
        for got in each:
            for n in known:
                slack = 1e-13 * (1 + sizes[n] / min(1, max(abs(points[n]), 1e-30)) ** order)
                np.testing.assert_allclose(got[n], expected[n], rtol=1e-6, atol=slack, err_msg=f"{points[n]}, {order}")


COMPLEX = {n: REAL[n] for n in (
    "sqrt", "exp", "log", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "arcsinh", "arccosh", "arctanh", "reciprocal", "power", "cube")}
PARTS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 1e-8)
PLANE = np.array([complex(x, y) for x in PARTS for y in PARTS])


def beside(z):
    """A point as far beside a cut as the signs of zeros say."""
    near = mp.mpf(10) ** -40
    return mp.mpc(*(mp.mpf(x) if x else near * (-1 if np.signbit(x) else 1) for x in (z.real, z.imag)))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPLEX)
def test_on_both_sides_of_cuts(name):
    function, exact = COMPLEX[name]
    moved = lambda z: reactant.jvp(function, (z,), (np.ones_like(z),))[1]                       # noqa: E731
    swept = reactant.vjp(function, PLANE)[1](np.ones_like(PLANE))[0]
    second = reactant.jvp(moved, (PLANE,), (np.ones_like(PLANE),))[1]
    step = mp.mpf(10) ** -60
    for z, a, b, c in zip(PLANE, moved(PLANE), swept, second, strict=True):
        with mp.workdps(200):
            try:
                below, here, above = (exact(beside(z) + h) for h in (-step, 0, step))
            except ZeroDivisionError:
                continue
            first, then = complex((above - below) / (2 * step)), complex((above - 2 * here + below) / step ** 2)
        for got, expected in ((a, first), (b, first), (c, then)):
            if abs(expected) < 1e15:
                np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-11, err_msg=str(z))


@pytest.mark.slow
def test_points_that_were_wrong():
    """(x, f'(x), f''(x)) by function."""
    known = {"log2": (8.0, 1 / np.log(256), -1 / (8 * np.log(256))), "i0": (8.0, 399.8731367825601, 377.57995839),
             "fresnel_sine": (3.0, 1.0, 0.0), "fresnel_cosine": (0.0, 1.0, 0.0),
             "erfcx": (0.0, -2 / np.sqrt(np.pi), 2.0),
             "sine_integral": (0.0, 1.0, 0.0), "spence": (1.0, -1.0, 0.5), "entr": (0.5, np.log(2) - 1, -2.0),
             "sine_over": (1e-12, -1e-12 / 3, -1 / 3), "hypot_squared": (0.0, 0.0, 2.0),
             "log_ndtr": (-20.0, 20.04975306852785, -0.9975367383849478)}
    gradient = reactant.grad(lambda x: sum(REAL[name][0](x[n]) for n, name in enumerate(known)))
    x = np.array([x for x, *_ in known.values()])
    value, second = reactant.jvp(gradient, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(value, [each[1] for each in known.values()], rtol=1e-9)
    np.testing.assert_allclose(second, [each[2] for each in known.values()], rtol=1e-7, atol=1e-12)
    z = np.array([complex(2.0, 0.0), complex(2.0, -0.0), complex(0.5, 0.0), complex(0.5, -0.0)])
    for function, iteration in ((np.arccosh, 1.0), (np.arccos, [-1j, 1j, -1j, 1j])):
        swept = reactant.vjp(function, z)[1](np.ones_like(z))[0]
        np.testing.assert_allclose(swept, iteration * np.array([1, 1, -2j, 2j]) / np.sqrt(3), atol=1e-15)


@pytest.mark.slow
def test_norms_at_zero():
    """The slope of a norm at 0 is 0, as that of |x|; squares of norms have all derivatives."""
    def distances(x):
        return np.sum(np.sqrt(np.sum((x[:, None] - x[None]) ** 2, axis=-1)))

    x = np.array([[0.0, 1.0], [4.0, 9.0], [16.0, 25.0]])
    gaps = x[:, None] - x[None]
    sizes = np.linalg.norm(gaps, axis=-1) + np.eye(3)
    np.testing.assert_allclose(reactant.grad(distances)(x), 2 * np.sum(gaps / sizes[..., None], axis=1))
    for norm in (np.linalg.norm, np.std, lambda v: np.hypot(v[0], v[1])):
        for mode in ("forward", "reverse"):
            np.testing.assert_array_equal(reactant.jacobian(norm, mode=mode)(np.zeros(3)), np.zeros(3))
    for squared in (lambda v: np.linalg.norm(v) ** 2, lambda v: np.hypot(v[0], v[1]) ** 2):
        for matrix in (reactant.hessian(squared), reactant.jacobian(reactant.grad(squared), mode="reverse")):
            np.testing.assert_allclose(matrix(np.zeros(2)), 2 * np.eye(2))


def test_what_only_looks_rounded():
    """A step that a program takes on purpose is one."""
    f = lambda x: np.where(np.abs(x - np.round(x)) <= 0.1 * np.abs(x), np.round(x), x)          # noqa: E731
    np.testing.assert_array_equal(reactant.grad(lambda x: np.sum(f(x)))(np.array([3.1, 2.5])), [0.0, 1.0])


def test_equal_extremes_share_evenly_also_where_nan_loses():
    x = np.array([[1.0, np.nan, 1.0, 0.0], [-np.inf, -np.inf, np.nan, -np.inf]])
    for function, sign in ((lambda x: np.nanmax(x, 1), 1), (lambda x: np.fmax.reduce(x, 1), 1),
                           (lambda x: np.nanmin(-x, 1), -1)):
        slopes = reactant.vjp(function, x)[1](np.ones(2))[0]
        np.testing.assert_allclose(slopes, sign * np.array([[0.5, 0, 0.5, 0], [1 / 3, 1 / 3, 0, 1 / 3]]))
    nothing = np.full((1, 3), np.nan)
    masked = reactant.grad(lambda x: np.sum(np.where(np.isnan(x[:, 0]), 0.0, np.fmin.reduce(x, 1))))(nothing)
    np.testing.assert_array_equal(masked, np.zeros((1, 3)))


def test_angles_of_very_long_and_very_short_vectors():
    """(y, -x) / (x**2 + y**2), where the sum of squares would overflow or vanish; 0 at infinity."""
    sizes = np.array([1e-200, 1e-170, 1.0, 1e200])
    x, y = 3 * sizes, -4 * sizes
    slopes = reactant.grad(lambda p: np.sum(np.arctan2(p[0], p[1])))(np.stack([x, y]))
    np.testing.assert_allclose(slopes * sizes, np.array([[-4.0], [-3.0]]) / 25 * np.ones(4), rtol=1e-14)
    far = reactant.grad(lambda p: np.arctan2(p[0], p[1]))(np.array([2.0, np.inf]))
    np.testing.assert_array_equal(far, [0.0, 0.0])
