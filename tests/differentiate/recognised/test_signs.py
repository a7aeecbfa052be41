"""Choices for the sake of signs, knots and what is no number lose no derivative, of first or second order."""
import jax
import numpy as np
import pytest
import scipy.special as special

import reactant

KNOTS, HEIGHTS = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0])

SMOOTH = {                                               # of one number: (function, where, first, second derivative)
    "sinh": (np.sinh, 0.0, 1.0, 0.0), "cosh": (np.cosh, 0.0, 0.0, 1.0), "arctanh": (np.arctanh, -0.0, 1.0, 0.0),
    "i0": (special.i0, 0.0, 0.0, 0.5),
    "sinc": (np.sinc, 0.0, 0.0, -np.pi**2 / 3),
    "sinc_near": (np.sinc, 1e-9, -np.pi**2 / 3e9, -np.pi**2 / 3),
    "sinc_by_hand": (lambda x: np.where(x != 0, np.sin(x) / x, 1), 0.0, 0.0, -1 / 3),
    "exprel": (special.exprel, 0.0, 1 / 2, 1 / 3),
    "odd": (lambda x: np.copysign(np.expm1(np.abs(x)), x), 0.0, 1.0, 1.0),
    "remainder": (lambda x: np.remainder(x, 2) * 3, 4.0, 3.0, 0.0),
    "remainder_by": (lambda x: np.remainder(6.0, x) ** 2, 3.0, 0.0, 8.0),
    "modf": (lambda x: (np.modf(x)[0] + 1) ** 2, -3.0, 2.0, 2.0),
    "hypot": (lambda x: np.hypot(x, 2.0), 0.0, 0.0, 0.5), "hypot_first": (lambda x: np.hypot(2.0, x), 0.0, 0.0, 0.5),
    "interp": (lambda x: np.interp(x, KNOTS, HEIGHTS), 1.0, 3.0, 0.0),
    "interp_last": (lambda x: np.interp(x, KNOTS, HEIGHTS), 2.0, 3.0, 0.0),
    "interp_knot": (lambda x: np.interp(1.0, KNOTS + x, HEIGHTS), 0.0, -3.0, 0.0),
    "log_squared": (lambda x: np.log(x) ** 2, 1.0, 0.0, 2.0), "log1p": (lambda x: np.log1p(x) ** 2, 0.0, 0.0, 2.0),
    "sqrt": (lambda x: (np.sqrt(x) - 2) ** 2, 4.0, 0.0, 1 / 8), "arctan": (lambda x: np.arctan(x) ** 2, 0.0, 0.0, 2.0),
    "quotient": (lambda x: (x / (2 + x)) ** 2, 0.0, 0.0, 0.5), "power": (lambda x: (x**1.5 - 8) ** 2, 4.0, 0.0, 18.0),
    "exponent": (lambda x: (2.0**x - 1) ** 2, 0.0, 0.0, 2 * np.log(2) ** 2),
    "masked": (lambda x: np.where(x == 0, 0, x * np.log(x)) + x, 0.0, 1.0, 0.0),
    "masked_root": (lambda x: np.where(x > 0, np.sqrt(x), 0) ** 2 + x, 0.0, 1.0, 0.0),
    "complex_square": (lambda x: np.abs(x * (1 + 2j)) ** 2, 0.0, 0.0, 10.0),
    "complex_log": (lambda x: np.abs(np.log(1 + 1j * x)) ** 2, 0.0, 0.0, 2.0),
}


@pytest.mark.slow
def test_first_and_second():
    functions, points, first, second = zip(*SMOOTH.values(), strict=True)
    x, ones = np.array(points), np.ones(len(points))

    def together(x):
        return sum(function(x[i]) for i, function in enumerate(functions))

    gradient = reactant.grad(together)
    names = dict(enumerate(SMOOTH))
    one, two = reactant.jvp(gradient, (x,), (ones,))
    np.testing.assert_allclose(one, first, atol=1e-10, err_msg=f"{names}")
    np.testing.assert_allclose(two, second, rtol=1e-8, atol=1e-8, err_msg=f"{names}")
    np.testing.assert_allclose(reactant.grad(lambda x: np.sum(gradient(x)))(x), second, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_complex_on_the_axes():
    functions = [np.exp, np.sin, np.cosh, np.tanh, np.arcsin]
    z, h = np.array([0.3 + 0j, 0.3j, -0.4 - 0.0j]), 1e-3
    expected = [(8 * (f(z + h) - f(z - h)) - f(z + 2 * h) + f(z - 2 * h)) / (12 * h) for f in functions]
    real, imaginary = (reactant.grad(lambda t, d=d: sum(np.sum(f(z + d * t[i]).real) for i, f in enumerate(functions)))(
        np.zeros((len(functions), len(z)))) for d in (1.0, 1j))
    np.testing.assert_allclose(real - 1j * imaginary, expected, atol=1e-9)


@pytest.mark.slow
def test_values_stay_as_they_are():
    x = np.array([-0.0, 0.0, -3.0, 3.0, 4.5, -4.5, np.inf, -np.inf, np.nan])

    def together(x):
        return [np.sinh(x), np.cosh(x), np.sinc(x), np.remainder(x, 1.5), np.remainder(x, -1.5), np.modf(x)[0],
                np.hypot(x, 2.0), np.interp(x, KNOTS, HEIGHTS), np.interp(x, [0.0, 1.0, 1.0], [-0.0, np.inf, 4.0])]

    with np.errstate(all="ignore"):
        expected = together(x)
    value, _ = reactant.jvp(together, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    for one, other in zip(value, expected, strict=True):
        np.testing.assert_array_equal(np.signbit(one)[:-1], np.signbit(other)[:-1])


def test_least_squares_where_they_fit():
    """The Hessian at a residual of zero is that of Gauss and Newton."""
    t = np.linspace(0.1, 1.0, 7)
    model = lambda p: p[0] * np.log(1 + p[1] * t) / (1 + p[2] * t) + np.sqrt(p[3] + t)             # noqa: E731
    p = np.array([1.0, 0.7, 0.3, 0.5])
    target = model(p)
    with jax.enable_x64(True):
        matrix = reactant.jacobian(model)(p)
        np.testing.assert_allclose(reactant.hessian(lambda p: np.sum((model(p) - target) ** 2))(p),
                                   2 * matrix.T @ matrix, rtol=1e-9)


@pytest.mark.slow
def test_logsumexp():
    with jax.enable_x64(True):
        for x in (np.zeros(3), np.array([1.0, -np.inf, 1.0]), np.array([800.0, 3.0, 800.0])):
            weights = special.softmax(x)
            np.testing.assert_allclose(reactant.grad(special.logsumexp)(x), weights)
            np.testing.assert_allclose(reactant.hessian(special.logsumexp)(x),
                                       np.diag(weights) - np.outer(weights, weights), atol=1e-15)
    x = np.array([[0.0, -40.0, 2.0], [np.inf, 1.0, 3.0], [-np.inf, -np.inf, -np.inf]])
    b = np.array([1.0, -0.5, 0.0])
    for keywords in ({"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": -1, "b": b, "return_sign": True}, {}):
        with np.errstate(all="ignore"):
            expected = special.logsumexp(x, **keywords)
        np.testing.assert_allclose(reactant.jit(lambda x, k=keywords: special.logsumexp(x, **k))(x), expected)
