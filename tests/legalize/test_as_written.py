"""XLA leaves operations apart that are equal to others for real numbers only."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

EXPRESSIONS = {
    "divisors": (lambda x: x / 1e-200 / 1e-200, 1e-300), "quotients": (lambda x: x / (1e-200 / x), 1e200),
    "reciprocals": (lambda x: 1 / (1 / x), 1e-320), "root of square": (lambda x: np.sqrt(x * x), 1e200),
    "root of power": (lambda x: np.sqrt(x**2), 1e-200), "over its root": (lambda x: x / np.sqrt(x), 1e-320),
    "one over root": (lambda x: 1 / np.sqrt(x), 1e-320), "logarithm": (lambda x: np.log(np.exp(x)), 1000.0),
    "logarithm of power": (lambda x: np.log(x**200.0), 100.0),
    "product of exps": (lambda x: np.exp(x) * np.exp(-x), 800.0),
    "quotient of exps": (lambda x: np.exp(x) / np.exp(x), 800.0), "power of exp": (lambda x: np.exp(x)**0.5, 800.0),
    "power of power": (lambda x: (x**2.5)**0.1, 1e200), "at least 0": (lambda x: np.abs(x) >= 0, np.nan),
    "square at least 0": (lambda x: 0 <= x * x, np.nan),
    "sums": (lambda x: np.where(x > 0, x + 1e16, x + 1e16) - 1e16, 0.3),
    "products": (lambda x: np.where(x > 0, x * 1e300, x * 1e300) * 1e-300, 1e20),
    "through views": (lambda x: (x[:, None] / 1e-200).T / 1e-200, 1e-300),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_xla_would_join(name):
    function, value = EXPRESSIONS[name]
    x = np.array([value, 1.0, 2.0])
    with np.errstate(all="ignore"):
        wanted = function(x)
        np.testing.assert_array_equal(reactant.jit(function, native="never")(x), wanted)

        def in_a_loop(x, n):
            result = np.zeros((n, *wanted.shape), wanted.dtype)
            for i in range(n):
                result[i] = function(x * np.minimum(i + 1, 1))
            return result

        np.testing.assert_array_equal(reactant.jit(in_a_loop, native="never", unroll_limit=0)(x, 3), [wanted] * 3)


def test_cosines_are_at_most_one():
    def angle(x, y):
        return np.arccos(x / np.sqrt(x * x)), np.arccos(x / np.sqrt(x * x + 0 * y))

    x = np.random.default_rng(0).standard_normal(10000).astype(np.float32)
    assert all(np.isfinite(each).all() for each in reactant.jit(angle, native="never")(x, x.copy()))


def test_nothing_is_left_of_it():
    def text(function, **options):
        return reactant.jit(function, native="never", **options).lower(np.ones(1000)).compile().as_text()

    program = text(lambda x: np.sqrt(x * x) / (x / 3.0 / x))
    assert "opt-barrier" not in program and program.count(" fusion(") == 1


def test_jax_functions_stay_as_they_are():
    def root(x):
        return jnp.sqrt(x * x)

    x = np.array([1e30, 2.0], np.float32)
    assert np.isfinite(jax.jit(root)(x)).all()
    np.testing.assert_array_equal(reactant.jit(root)(x), jax.jit(root)(x))
