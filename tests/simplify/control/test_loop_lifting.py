"""Products that leave loops whose other iterations need each other: what else the loop makes stays right."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant

ROWS = np.random.default_rng(0).standard_normal((5, 2, 16), np.float32) * 0.3
MATRIX = np.random.default_rng(1).standard_normal((16, 16), np.float32) * 0.1
ROW = np.random.default_rng(2).standard_normal((4, 192), np.float32) * 0.3
WIDE = np.random.default_rng(3).standard_normal((192, 192), np.float32) * 0.05


def deferred(x, v):
    """Two arrays are written: the states, and what a matrix makes of them."""
    def step(h, each):
        h = jnp.tanh(each + jnp.roll(h, 1))
        return h, (h, h @ v)
    return lax.scan(step, jnp.zeros(x.shape[1]), x)


def summed(x, u, reverse=False):
    """Sums of products, of factors and of both; an array that is written."""
    def step(carry, each):
        h, w, s = carry
        new = jnp.tanh(each + h @ u)
        return (new, w + each.T @ new - h.T @ each, s + new.sum(0)), new[0] * each[1]
    return lax.scan(step, (x[0], jnp.ones_like(u), jnp.zeros(u.shape[0], x.dtype)), x, reverse=reverse)


def read_between(x, u):
    """The sum is read by the iterations: it stays in the loop."""
    def step(carry, each):
        h, w = carry
        h = jnp.tanh(each + h @ (u + 0.1 * w))
        return (h, w + h.T @ each), w[0]
    return lax.scan(step, (x[0], jnp.zeros_like(u)), x)


def under_condition(x, u):
    def iteration(i, carry):
        h, w = carry
        new = jnp.sin(h @ u + x[i])
        return new, lax.cond(i % 2 == 0, lambda: w + x[i].T @ new, lambda: w)
    return lax.fori_loop(0, x.shape[0], iteration, (x[0], jnp.zeros_like(u)))


def loss(x, u):
    (h, w, s), y = summed(x, u)
    return (h ** 2).sum() + (w ** 3).sum() + jnp.sin(y).sum() + s @ s


GRADIENT = reactant.grad(loss, (0, 1))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function", [
    summed, lambda x, u: summed(x, u, True), read_between, under_condition, jax.grad(loss, (0, 1)),
    GRADIENT], ids=["summed", "backwards", "read_between", "under_condition", "jax", "gradient"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_products(function, dtype):
    with jax.enable_x64(True):
        x, u = jnp.asarray(ROWS.astype(dtype)), jnp.asarray(MATRIX.astype(dtype))
        expected = jax.grad(loss, (0, 1))(x, u) if function is GRADIENT else function(x, u)
        found = reactant.jit(function)(x, u)
        for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-4 if dtype != "float64" else 1e-10, atol=2e-5)


def test_a_deferred_array_beside_another():
    for mine, theirs in zip(jax.tree.leaves(reactant.jit(deferred)(ROW, WIDE)), jax.tree.leaves(deferred(ROW, WIDE)),
                            strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_no_product_is_left_in_the_loop():
    arguments = jnp.asarray(ROWS), jnp.asarray(MATRIX)
    text = reactant.jit(jax.grad(loss, 1), native="never").lower(*arguments).as_text()
    loop, _, after = text[text.rindex("stablehlo.while"):].partition("\n    }\n    %")
    assert "tensor<16x16xf32>) -> tensor<16x16xf32>" not in loop, text
    assert "tensor<5x2x16xf32>) -> tensor<16x16xf32>" in after, text
