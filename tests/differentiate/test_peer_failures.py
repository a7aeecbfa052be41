"""Derivatives that the C++ system gets wrong, crashes on or does not have (docs/peers.md), as JAX programs in 32 bits.

What tests/programs/test_derivative_programs.py has of its failures (loops with non-linear bodies, loops on data, nested
gradients, sort, complex numbers, cholesky, inverse hyperbolic functions, cumulative products) is not repeated here.
"""
import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
import pytest
from jax import lax

import reactant

X = np.array([0.7, 0.3, 1.1, 0.5, 0.9, 0.2], np.float32)
WEIGHTS = np.arange(1, 7, dtype=np.float32)


def recurrence(x):
    """Non-linear iterations, every state used."""
    last, seen = lax.scan(lambda c, w: (jnp.tanh(c * w + c), jnp.sin(c) * w), x, jnp.asarray(WEIGHTS))
    return jnp.sum(last ** 2) + jnp.sum(seen)


def recomputed(x):
    """`recurrence` with every iteration computed again in the reverse sweep."""
    iteration = jax.checkpoint(lambda c, w: (jnp.tanh(c * w + c), jnp.sin(c) * w))
    last, seen = lax.scan(iteration, x, jnp.asarray(WEIGHTS))
    return jnp.sum(last ** 2) + jnp.sum(seen)


def normalised_by_batch(x):
    y = jnp.stack([x, x * x, jnp.sin(x)])
    mean, variance = y.mean(0), y.var(0)
    return jnp.sum(((y - mean) / jnp.sqrt(variance + 0.1) * WEIGHTS) ** 3)


def pooled(x):
    """The adjoint of pooling is select_and_scatter, or a gather from it."""
    y = jnp.outer(x, WEIGHTS)[None, :, :, None]
    return jnp.sum(lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)


FUNCTIONS = {
    "recurrence": recurrence, "recomputed": recomputed, "normalised_by_batch": normalised_by_batch, "pooled": pooled,
    "digamma": lambda x: jnp.sum(special.digamma(x) ** 2),
    "polygamma": lambda x: jnp.sum(special.polygamma(1, x) * WEIGHTS),
    "zeta": lambda x: jnp.sum(special.zeta(2.5, x) * WEIGHTS),
    "bessel": lambda x: jnp.sum(special.i1e(x) * WEIGHTS),
    "tangent": lambda x: jnp.sum(jnp.tan(x) * WEIGHTS),
    "padded below zero": lambda x: jnp.sum(lax.pad(x ** 2, x.dtype.type(0.5), ((-2, 3, 1),))
                                           * np.arange(12, dtype=np.float32)),
    "padding varies": lambda x: jnp.sum(lax.pad(x, x[0] ** 2, ((2, 1, 0),)) * np.arange(9, dtype=np.float32)),
    "product": lambda x: jnp.prod(x) + jnp.prod(x * (WEIGHTS - 3)),
    "largest of scattered": lambda x: jnp.sum(jnp.zeros(3).at[np.array([0, 1, 0, 2, 2, 2])].max(x) ** 2),
    "place of the largest": lambda x: x[jnp.argmax(x)] ** 2 + jnp.sum(x * jnp.argmin(x)),
    "largest three": lambda x: jnp.sum(lax.top_k(x, 3)[0] ** 2 * WEIGHTS[:3]),
    "fourier": lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2 * WEIGHTS[:4]) + jnp.fft.irfft(x + 1j * x ** 2).sum(),
    "complex product": lambda x: jnp.sum(((x + 2j * x ** 2) * (x - 1j) * jnp.exp(1j * x)).real * WEIGHTS),
    "triangular solve": lambda x: jnp.sum(jax.scipy.linalg.solve_triangular(
        jnp.tril(jnp.outer(x, x)) + 2 * jnp.eye(6), jnp.asarray(WEIGHTS), lower=True) ** 2),
    "error functions": lambda x: jnp.sum(special.erf(x) * special.erfc(x) * WEIGHTS) + jnp.sum(special.erfinv(x / 2)),
    "barrier": lambda x: jnp.sum(lax.optimization_barrier(x ** 2) * WEIGHTS),
}


QUICK = {"recomputed", "polygamma", "padded below zero", "product", "largest of scattered", "place of the largest",
         "complex product", "triangular solve"}


@pytest.mark.parametrize("name", [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS])
def test_gradient(name):
    function, x = FUNCTIONS[name], jnp.asarray(X)
    if name == "barrier":       # jax knows no reverse derivative of it in some versions
        expected = 2 * X * WEIGHTS
    elif name == "product":     # exact where a factor is zero
        expected = jax.jacfwd(function)(x)
    else:
        expected = jax.grad(function)(x)
    found = reactant.grad(function)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * float(np.abs(expected).max()))


@pytest.mark.parametrize("iterations", [0, 7])
def test_loops_whose_number_of_iterations_is_an_argument(iterations):
    def function(x, n):
        return jnp.sum(lax.fori_loop(0, n, lambda i, v: jnp.sin(v) * x + v, x))
    x = jnp.asarray(X)
    expected = jax.grad(lambda x: function(x, iterations))(x)            # unrolled counts: jax differentiates those
    found = reactant.jit(lambda x, n: reactant.grad(function)(x, n))(x, jnp.asarray(iterations))
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_forward_mode_of_complex_products_and_loops():
    def function(x):
        z = (x + 1j) * (x * x - 2j * x)
        return lax.fori_loop(0, 3, lambda i, v: v * jnp.cos(v), z.real * z.imag)
    tangent = jnp.asarray(WEIGHTS)
    expected = jax.jvp(function, (jnp.asarray(X),), (tangent,))
    found = reactant.jvp(function, (jnp.asarray(X),), (tangent,))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4)


def test_recomputed_iterations_have_the_gradients_of_kept_ones():
    x = jnp.asarray(X)
    np.testing.assert_allclose(reactant.grad(recomputed)(x), reactant.grad(recurrence)(x), rtol=5e-6)    # in 32 bits


@pytest.mark.slow
def test_gradients_of_batches_and_of_gradients():
    """`vmap` of a gradient, and the Hessian of a loop: neither exists there."""
    x = jnp.stack([jnp.asarray(X), jnp.asarray(X[::-1])])
    np.testing.assert_allclose(reactant.vmap(reactant.grad(recurrence))(x), jax.vmap(jax.grad(recurrence))(x),
                               rtol=2e-4)
    np.testing.assert_allclose(reactant.hessian(recurrence)(x[0]), jax.hessian(recurrence)(x[0]), rtol=2e-3, atol=2e-3)
