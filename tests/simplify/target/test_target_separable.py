"""Sums of what changes along them times what does not: no term is made where the result is finite."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant

GROUND = np.random.default_rng(0)
N = 1100
SUMS = {
    "outer product": lambda u, w: jnp.sum(u[:, None] * w, 0),
    "both orders": lambda u, w: jnp.sum(u[:, None] * w + w * u[:, None], 1),
    "less": lambda u, w: jnp.sum(u[:, None] * w - w * w / 3.0, 0),
    "over": lambda u, w: jnp.sum(-u[:, None] / w, 0),
    "of a stack": lambda u, w: jnp.sum(u[:, None, None] * w[:, None] * w[:2], (0, 2)),
}
WHOLE = {
    "an extreme": lambda u, w: jnp.max(u[:, None] * w, 0),
    "divided by what changes": lambda u, w: jnp.sum(w / u[:, None], 0),
    "a function of both": lambda u, w: jnp.sum(jnp.maximum(u[:, None], w), 0),
}


def compiled(function, *arguments):
    found = reactant.jit(function, frontend="jax", target="cpu")
    return np.asarray(found(*arguments)), dict(found.lower(*arguments).report.counts())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [None, np.inf, np.nan, "overflow"])
@pytest.mark.parametrize("name", SUMS)
def test_terms_are_not_made_where_the_sum_is_finite(name, bad, dtype):
    u, w = (GROUND.normal(size=N).astype(dtype) for _ in range(2))
    u[7] = 0.0
    if bad == "overflow":
        u[3:5] = np.finfo(dtype).max
    elif bad is not None:
        u[3] = w[1] = bad
        u[40] = -bad
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(SUMS[name])(u, w))
        found, fired = compiled(SUMS[name], u, w)
    assert "separable_sum_if_finite" in fired
    if bad == "overflow" and np.isfinite(found).all():      # no number on the way was too big
        return
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == np.float32 else 1e-9,
                               atol=1e-2 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("name", WHOLE)
def test_other_sums_stay(name):
    u, w = GROUND.normal(size=N).astype("float32"), GROUND.normal(size=N).astype("float32")
    found, fired = compiled(WHOLE[name], u, w)
    np.testing.assert_allclose(found, jax.jit(WHOLE[name])(u, w), rtol=1e-3)
    assert "separable_sum_if_finite" not in fired


def test_small_sums_stay():
    u, w = GROUND.normal(size=20).astype("float32"), GROUND.normal(size=30).astype("float32")
    assert "separable_sum_if_finite" not in compiled(SUMS["outer product"], u, w)[1]


@pytest.mark.slow
@pytest.mark.parametrize("bad", [None, np.inf, np.nan])
def test_gradient_of_a_loop_that_normalises(bad):
    """JAX's derivative of it makes a matrix of all iterations by all elements."""
    def loss(x, w):
        return jnp.sum(w * lax.fori_loop(0, len(x), lambda i, out: out.at[i].set(x[i] / jnp.linalg.norm(x)),
                                         jnp.zeros_like(x)))
    x, w = (GROUND.normal(size=1200).astype("float32") for _ in range(2))
    if bad is not None:
        x[3] = bad
    gradient = reactant.jit(jax.grad(loss), frontend="jax", target="cpu")
    fired = dict(gradient.lower(x, w).report.counts())
    assert {"separable_sum_if_finite", "sum_of_scatters"} <= fired.keys()
    np.testing.assert_allclose(gradient(x, w), jax.jit(jax.grad(loss))(x, w), rtol=1e-4, atol=1e-5)
