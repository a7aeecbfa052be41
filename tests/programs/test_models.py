"""Small models as users write them in JAX: values, gradients and second derivatives as JAX has them."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant


def of(*shape, seed=0, scale=1.0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape) * scale, np.float32)


def contrastive(a, b):
    a, b = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    scores = a @ b.T / 0.07
    both = jnp.diagonal(jax.nn.log_softmax(scores, 1)) + jnp.diagonal(jax.nn.log_softmax(scores, 0))
    return -jnp.mean(both) / 2


def pair_energy(x):
    apart = x[:, None] - x[None]
    same = jnp.eye(len(x))
    inverse = 1 / (jnp.sum(apart * apart, -1) + same + 0.5) ** 3
    return jnp.sum(jnp.where(same > 0, 0, 4 * (inverse * inverse - inverse))) / 2


def graph_attention(p, x, edges):
    h = x @ p["w"]
    scores = jax.nn.leaky_relu(jnp.concatenate([h[edges[:, 0]], h[edges[:, 1]]], 1) @ p["a"])
    greatest = jax.ops.segment_max(scores, edges[:, 1], len(x))
    weights = jnp.exp(scores - greatest[edges[:, 1]])
    total = jax.ops.segment_sum(weights, edges[:, 1], len(x))
    mixed = (weights / total[edges[:, 1]])[:, None] * h[edges[:, 0]]
    return jnp.mean(jax.ops.segment_sum(mixed, edges[:, 1], len(x)) ** 2)


def two_experts(p, x):
    values, places = lax.top_k(jax.nn.softmax(x @ p["route"]), 2)
    weights = jnp.sum(jax.nn.one_hot(places, 4) * (values / values.sum(-1, keepdims=True))[..., None], 1)
    hidden = jax.nn.silu(jnp.einsum("nd,edh->neh", x, p["up"]))
    return jnp.mean(jnp.einsum("neh,ehd,ne->nd", hidden, p["down"], weights) ** 2)


def transport(x, y):
    cost = jnp.sum((x[:, None] - y[None]) ** 2, -1)

    def iteration(i, potentials):
        f, g = potentials
        f = -0.5 * jax.nn.logsumexp((g[None] - cost) / 0.5, axis=1)
        return f, -0.5 * jax.nn.logsumexp((f[:, None] - cost) / 0.5, axis=0)

    f, g = lax.fori_loop(0, 10, iteration, (jnp.zeros(len(x)), jnp.zeros(len(y))))
    return jnp.sum(jnp.exp((f[:, None] + g[None] - cost) / 0.5) * cost)


def pooled(w, x):
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean(jnp.mean(y, (1, 2)) ** 2)


EDGES = jnp.asarray(np.random.default_rng(0).integers(0, 50, (200, 2)))
MODELS = {
    "contrastive": (contrastive, (of(150, 8), of(150, 8, seed=1))),
    "pair energy": (pair_energy, (of(96, 3),)),
    "graph attention": (graph_attention, ({"w": of(16, 8), "a": of(16)}, of(50, 16, seed=2), EDGES)),
    "two experts": (two_experts, ({"route": of(16, 4), "up": of(4, 16, 32), "down": of(4, 32, 16)}, of(16, 16))),
    "transport": (transport, (of(30, 2), of(30, 2, seed=1))),
    "pooled": (pooled, (of(5, 5, 1, 8, scale=0.2), of(16, 28, 28, 1))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_values_and_gradients(name):
    function, arguments = MODELS[name]
    np.testing.assert_allclose(reactant.jit(function, frontend="jax")(*arguments), jax.jit(function)(*arguments),
                               rtol=1e-4)
    mine, theirs = reactant.jit(reactant.grad(function))(*arguments), jax.jit(jax.grad(function))(*arguments)
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5 * float(jnp.max(jnp.abs(b))))


def test_the_gradient_of_a_diagonal_needs_no_matrix_of_it():
    """What reaches the scores through their diagonal has known sums along rows and columns."""
    function, arguments = MODELS["contrastive"]
    assert reactant.jit(reactant.grad(function)).lower(*arguments).operations()["stablehlo.reduce"] <= 7
