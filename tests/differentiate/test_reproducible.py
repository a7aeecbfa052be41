"""The same program gives the same text whenever it is compiled: stored compilations are found by it."""
import jax.numpy as jnp
import numpy as np
from jax import lax

import reactant


def orbits(state, steps):
    """Bodies that attract one another: a loop that carries two arrays."""
    def step(_, state):
        x, v = state
        apart = x[:, None] - x[None, :]
        v = v - 0.01 * jnp.sum(apart / (jnp.sum(apart * apart, -1, keepdims=True) + 0.1) ** 1.5, 1)
        return x + 0.01 * v, v
    x, v = lax.fori_loop(0, steps, step, state)
    return jnp.sum(v ** 2) + jnp.sum(x ** 4)


def test_gradients_of_loops_are_the_same_each_time():
    random = np.random.default_rng(0)
    state = tuple(jnp.asarray(random.random((64, 3), np.float32)) for _ in range(2))
    texts = {reactant.jit(reactant.grad(orbits), native="never").lower(state, 20).as_text(optimized=True)
             for _ in range(6)}
    assert len(texts) == 1
