"""Flat functions of roots where those are 0: both orders of both modes, and higher orders."""
import math

import jax.numpy as jnp
import numpy as np
import pytest

import reactant

norm = np.linalg.norm
CASES = {
    "arccos_squared": (lambda x: np.arccos(x) ** 2, 1.0, -2.0, 2 / 3),
    "arccosh_squared": (lambda x: np.arccosh(x) ** 2, 1.0, 2.0, -2 / 3),
    "cosine_of_root": (lambda x: np.cos(np.sqrt(x)), 0.0, -0.5, 1 / 12),
    "root_times_sine": (lambda x: np.sqrt(x) * np.sin(np.sqrt(x)), 0.0, 1.0, -1 / 3),
    "cosine_of_size": (lambda x: np.cos(abs(x)), 0.0, 0.0, -1.0),
    "cube_of_size": (lambda x: abs(x) ** 3, 0.0, 0.0, 0.0),
    "cosine_of_norm": (lambda x: np.cos(norm(x)), np.zeros(2), np.zeros(2), -np.eye(2)),
    "sinc_of_norm": (lambda x: np.sinc(norm(x)), np.zeros(2), np.zeros(2), -np.pi ** 2 / 3 * np.eye(2)),
    "norm_times_tangent": (lambda x: 3.0 * norm(x) * np.tanh(2 * norm(x)), np.zeros(2), np.zeros(2), 12 * np.eye(2)),
    "cosine_of_hypot": (lambda x: np.cos(np.hypot(x[0], x[1])), np.zeros(2), np.zeros(2), -np.eye(2)),
    "complex_size": (lambda x: np.cos(abs(x[0] + 1j * x[1])), np.zeros(2), np.zeros(2), -np.eye(2)),
    "cosh_of_root": (lambda x: np.cosh(np.sqrt(x)), 0.0, 0.5, 1 / 12),
    "cosh_of_arccos": (lambda x: np.cosh(np.arccos(x)), 1.0, -1.0, 2 / 3),
    "cosh_of_size": (lambda x: np.cosh(abs(x)), 0.0, 0.0, 1.0),
    "cosh_of_norm": (lambda x: np.log(np.cosh(norm(x))), np.zeros(2), np.zeros(2), np.eye(2)),
    "size_times_expm1": (lambda x: 3 * abs(x) * np.expm1(abs(x)), 0.0, 0.0, 6.0),
    "norm": (norm, np.zeros(2), np.zeros(2), np.zeros((2, 2))),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", CASES)
def test_where_the_root_is_zero(name):
    function, x, first, second = CASES[name]
    gradient = reactant.grad(function)
    np.testing.assert_allclose(gradient(x), first, atol=1e-14)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(reactant.jacobian(gradient, mode=mode)(x), second, atol=1e-14)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("x", [0.3, 1e-2, 1e-4, 1e-8])
def test_near_the_zero_of_the_root(x):
    """The second derivative of cos(sqrt(x)), (tan(r) / r - 1) cos(r) / (4 x), by its series: no digits are lost."""
    wanted = sum((-1) ** n * n * (n - 1) * x ** (n - 2) / math.factorial(2 * n) for n in range(2, 12))
    gradient = reactant.grad(lambda x: np.cos(np.sqrt(x)))
    for found in (reactant.jvp(gradient, (x,), (1.0,))[1], reactant.grad(gradient)(x)):
        np.testing.assert_allclose(found, wanted, rtol=2e-13)


def test_what_is_only_flat():
    """y * expm1(y) of y = sqrt(x) is x + x**1.5 / 2: not even in the root. Its second derivative is infinite at 0."""
    for function, slope in ((lambda x: np.sqrt(x) * np.expm1(np.sqrt(x)), 1.0), (lambda x: np.sqrt(x) ** 3, 0.0)):
        assert reactant.grad(function)(0.0) == reactant.jvp(function, (0.0,), (1.0,))[1] == slope
        assert not np.isfinite(reactant.grad(reactant.grad(function))(0.0))


@pytest.mark.slow
def test_elsewhere_and_with_parameters():
    def function(p):
        r = norm(p["x"], axis=-1)
        return np.sum(np.cos(p["k"] * r) * np.sin(p["k"]) + r * np.sin(p["k"] * r))

    p = {"x": np.array([[0.3, -0.4], [1.0, 2.0]]), "k": np.array([0.7, 1.3])}
    assert reactant.check_derivatives(function, p)
    mixed = reactant.grad(lambda k: np.sum(reactant.grad(lambda x: function({"x": x, "k": k}))(p["x"]) ** 2))
    assert np.isfinite(mixed(p["k"])).all()


@pytest.mark.slow
def test_fourth_order():
    along = lambda f: lambda x: reactant.jvp(f, (x,), (np.array([1.0, 0.0]),))[1]                   # noqa: E731
    f = lambda x: np.cos(norm(x))                                                                 # noqa: E731
    np.testing.assert_allclose(along(along(along(along(f))))(np.zeros(2)), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_what_is_masked_stays_out():
    """Distances of each to itself."""
    def energy(x):
        gaps = x[:, None] - x[None]
        r = np.sqrt(np.sum(gaps * gaps, -1))
        other = ~np.eye(len(x), dtype=bool)
        return np.sum(np.where(other, r ** -2.0 + np.cos(r), 0.0))

    x = np.array([[0.0, 0.0], [1.0, 0.5], [-0.7, 1.0]])
    assert np.isfinite(reactant.hessian(lambda x: np.sum(np.cos(np.sqrt(np.sum((x[:, None] - x) ** 2, -1)))))(x)).all()
    assert np.isfinite(reactant.grad(energy)(x)).all()


@pytest.mark.slow
def test_jax():
    curvature = reactant.hessian(lambda x: jnp.cosh(jnp.linalg.norm(x)))(jnp.zeros(2))
    np.testing.assert_allclose(curvature, np.eye(2), atol=1e-6)


@pytest.mark.slow
def test_whatever_follows():
    """A function that goes on for hundreds of operations."""
    def function(x):
        y = jnp.cos(jnp.sqrt(x))
        for _ in range(130):
            y = 1.0 - 0.5 * jnp.sin(y)
        return y

    following = reactant.grad(function)(0.0)
    np.testing.assert_allclose(following, reactant.grad(function)(1e-4), rtol=1e-3)
