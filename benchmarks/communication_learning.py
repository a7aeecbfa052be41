"""Learning on one device: steps of training, attention, clusters. All but clusters are functions for NumPy and JAX."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from communication_ways import WHOLE, Case, neutral
from jax import lax

BATCH = (("x", "y"), None)
WIDTH, HIDDEN, HEADS, CENTRES = 64, 256, 16, 16


def normal(*shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    return tuple((random.normal(size=shape) / 4).astype(np.float32) for shape in shapes)


def training(n: int) -> tuple[np.ndarray, ...]:
    """Inputs, what they should give, and the weights of two layers."""
    return normal((n, WIDTH), (n, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH))


def perceptron_step(np, x, wanted, w, v):
    """A step of gradient descent for a perceptron with one hidden layer."""
    hidden = np.tanh(x @ w)
    error = (hidden @ v - wanted) / len(x)
    back = error @ v.T * (1 - hidden * hidden)
    return w - 0.1 * (x.T @ back), v - 0.1 * (hidden.T @ error)


def softmax(np, scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(np, q, k, v):
    """Causal, of arrays (heads, length, width)."""
    n = q.shape[1]
    scores = np.einsum("hqd,hkd->hqk", q, k) / np.sqrt(np.float32(q.shape[-1]))
    visible = np.arange(n)[:, None] >= np.arange(n)[None, :]
    return np.einsum("hqk,hkd->hqd", softmax(np, np.where(visible, scores, np.float32(-1e9))), v)


def heads_layer(np, x, query, key, value, out):
    """Attention with its projections, x (length, width), which are (heads, width, width of a head)."""
    q, k, v = (np.einsum("nd,hde->hne", x, w) for w in (query, key, value))
    return x + np.einsum("hne,hed->nd", attention(np, q, k, v), out)


def layer(n: int) -> tuple[np.ndarray, ...]:
    each = WIDTH // HEADS
    return normal((n, WIDTH), *((HEADS, WIDTH, each),) * 3, (HEADS, each, WIDTH))


def clusters_numpy(points, centres):
    for _ in range(4):
        nearest = np.argmin(((points[:, None] - centres[None]) ** 2).sum(axis=-1), axis=1)
        sums, counts = np.zeros_like(centres), np.zeros(len(centres), centres.dtype)
        np.add.at(sums, nearest, points)
        np.add.at(counts, nearest, np.float32(1))
        centres = sums / np.maximum(counts, 1)[:, None]
    return centres, nearest


def clusters_jax(points, centres):
    def nearest(centres):
        return jnp.argmin(((points[:, None] - centres[None]) ** 2).sum(axis=-1), axis=1)

    def step(_, state):
        centres, _ = state
        found = nearest(centres)
        sums = jnp.zeros_like(centres).at[found].add(points)
        counts = jnp.zeros(len(centres), centres.dtype).at[found].add(1)
        return sums / jnp.maximum(counts, 1)[:, None], found
    return lax.fori_loop(0, 4, step, (centres, jnp.zeros(len(points), jnp.int32)))


def points(n: int) -> tuple[np.ndarray, ...]:
    """Around centres far from one another, so that the order of sums decides nothing."""
    random = np.random.default_rng(0)
    centres = 10 * random.permutation(CENTRES)[:, None] * np.ones(4)
    chosen = centres[random.integers(0, CENTRES, 16 * n)] + random.normal(size=(16 * n, 4))
    return chosen.astype(np.float32), (centres + 1).astype(np.float32)


HEAD = ("x", None, None)
PROGRAMS = (
    Case("k_means", points, (BATCH, WHOLE), (WHOLE, (("x", "y"),)), clusters_jax, clusters_numpy),
    Case("data_parallel", training, (BATCH, BATCH, WHOLE, WHOLE), (WHOLE, WHOLE), **neutral(perceptron_step)),
    Case("tensor_parallel", training, (("y", None), ("y", None), (None, "x"), ("x", None)),
         ((None, "x"), ("x", None)), **neutral(perceptron_step)),
    Case("attention_heads", layer, (("y", None), HEAD, HEAD, HEAD, HEAD), (("y", None),), **neutral(heads_layer)),
    Case("attention_sequence", lambda n: normal(*((4, n, WIDTH),) * 3), (("y", "x", None),) * 3, (("y", "x", None),),
         **neutral(attention)),
)
