"""JAX functions that say something about their own derivative: honoured, or refused; never ignored."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = jnp.arange(4.0) + 0.5
STOPPED = [
    lambda x: (jax.lax.stop_gradient(x) * x * x).sum(), lambda x: jax.nn.logsumexp(x) + jax.nn.softmax(x)[0],
    lambda x: jax.lax.scan(lambda c, e: (c * jax.lax.stop_gradient(e) + e, None), 1.0, x)[0],
    lambda x: jax.vmap(lambda e: jax.lax.stop_gradient(e) * e)(x).sum(),
    lambda x: jax.lax.cond(x[0] > 0, lambda v: jax.lax.stop_gradient(v) * v, lambda v: v, x).sum(),
]


@pytest.mark.parametrize("loss", STOPPED)
def test_gradients_stop(loss):
    np.testing.assert_allclose(reactant.grad(loss)(X), jax.grad(loss)(X), rtol=1e-5)
    np.testing.assert_allclose(reactant.hessian(loss)(X), jax.hessian(loss)(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(reactant.jvp(loss, (X,), (X,))[1], jax.jvp(loss, (X,), (X,))[1], rtol=1e-5)


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))


@jax.custom_jvp
def safe_root(x):
    return jnp.sqrt(x)


safe_root.defjvp(lambda x, t: (safe_root(*x), 0.5 * t[0] / jnp.maximum(safe_root(*x), 1e-3)))
OWN = [lambda x: clipped(3 * x).sum(), lambda x: safe_root(x).sum(),
       lambda x: jax.lax.fori_loop(0, 3, lambda i, v: clipped(v), x).sum()]


@pytest.mark.parametrize("loss", OWN)
def test_rules_of_the_user_are_refused_not_ignored(loss):
    for derivative in (reactant.grad(loss), reactant.hessian(loss), lambda x: reactant.jvp(loss, (x,), (x,))):
        with pytest.raises(reactant.UnsupportedError, match=r"derivative of its own \(.*test_jax_marks.py:\d+\)"):
            derivative(X)
    np.testing.assert_allclose(reactant.jit(loss)(X), loss(X), rtol=1e-6)
    np.testing.assert_allclose(reactant.jit(jax.grad(loss))(X), jax.grad(loss)(X), rtol=1e-6)


def test_stops_of_jaxs_own_linear_solver():
    """They belong to a rule of its own: alone they are none, beside the user's they are refused."""
    def solved(x):
        return jnp.linalg.solve(jnp.outer(x, x) + 3 * jnp.eye(4), x).sum()

    np.testing.assert_allclose(reactant.grad(solved)(X), jax.grad(solved)(X), rtol=1e-4)
    with pytest.raises(reactant.UnsupportedError, match="stops gradients, and calls a function of JAX's"):
        reactant.grad(lambda x: solved(x) * jax.lax.stop_gradient(x).sum())(X)
