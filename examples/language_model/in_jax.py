"""The same model as its users write it in JAX: `jax.value_and_grad` and `lax.scan` over the steps; writing is a scan
over the letters that carries the cache."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .model import HEADS, Weights
from .text import LETTERS


def normalised(x: jax.Array, weight: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * weight


def gated(block: Weights, x: jax.Array) -> jax.Array:
    return (jax.nn.silu(x @ block["gate"]) * (x @ block["up"])) @ block["down"]


def attention(block: Weights, x: jax.Array) -> jax.Array:
    texts, letters, width = x.shape
    q, k, v = ((x @ block[name]).reshape(texts, letters, HEADS, width // HEADS) for name in ("query", "key", "value"))
    scores = jnp.einsum("bthn,bshn->bhts", q, k) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tri(letters, dtype=bool), scores, -1e9)
    return jnp.einsum("bhts,bshn->bthn", jax.nn.softmax(scores), v).reshape(x.shape) @ block["out"]


def loss(weights: Weights, tokens: jax.Array) -> jax.Array:
    x = weights["letters"][tokens[:, :-1]] + weights["places"][:tokens.shape[1] - 1]
    for block in weights["blocks"]:
        x = x + attention(block, normalised(x, block["first"]))
        x = x + gated(block, normalised(x, block["second"]))
    scores = jax.nn.log_softmax(x @ weights["letters"].T)
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], axis=2))


@jax.jit
def train(weights: Weights, batches: jax.Array, rate: float = 3e-3) -> tuple[Weights, jax.Array]:
    """`model.train`: the weights afterwards, and the losses."""
    def step(state: Any, given: Any) -> tuple[Any, jax.Array]:
        (weights, mean, square), (tokens, count) = state, given
        value, slopes = jax.value_and_grad(loss)(weights, tokens)
        mean = jax.tree.map(lambda m, g: m + 0.1 * (g - m), mean, slopes)
        square = jax.tree.map(lambda s, g: s + 0.01 * (g * g - s), square, slopes)
        warm = rate * jnp.minimum(count / 20.0, 1.0)
        weights = jax.tree.map(lambda w, m, s: w - warm * (m / (1.0 - 0.9**count)) / (
            jnp.sqrt(s / (1.0 - 0.99**count)) + 1e-8), weights, mean, square)
        return (weights, mean, square), value
    zeros = jax.tree.map(jnp.zeros_like, weights)
    counts = jnp.arange(1, len(batches) + 1, dtype=jnp.float32)
    (weights, _, _), losses = jax.lax.scan(step, (weights, zeros, zeros), (batches, counts))
    return weights, losses


@jax.jit
def generate(weights: Weights, random: jax.Array) -> jax.Array:
    texts, letters = random.shape
    width = weights["letters"].shape[1]

    def one(state: Any, given: Any) -> tuple[Any, jax.Array]:
        (written, cache), (t, drawn) = state, given
        x = weights["letters"][written] + weights["places"][t]
        after = []
        for block, (keys, values) in zip(weights["blocks"], cache, strict=True):
            y = normalised(x, block["first"])
            q, k, v = ((y @ block[name]).reshape(texts, HEADS, -1) for name in ("query", "key", "value"))
            keys, values = keys.at[:, :, t].set(k), values.at[:, :, t].set(v)
            scores = jnp.einsum("bhn,bhsn->bhs", q, keys) / (width // HEADS) ** 0.5
            share = jax.nn.softmax(jnp.where(jnp.arange(letters) <= t, scores, -1e9))
            x = x + jnp.einsum("bhs,bhsn->bhn", share, values).reshape(texts, width) @ block["out"]
            x = x + gated(block, normalised(x, block["second"]))
            after.append((keys, values))
        share = jnp.cumsum(jax.nn.softmax(x @ weights["letters"].T), axis=1)
        written = jnp.minimum(jnp.sum(share < drawn[:, None], axis=1), len(LETTERS) - 1)
        return (written, after), written
    empty = jnp.zeros((texts, HEADS, letters, width // HEADS), jnp.float32)
    begin = jnp.zeros(texts, int), [(empty, empty) for _ in weights["blocks"]]
    _, written = jax.lax.scan(one, begin, (jnp.arange(letters), random.T))
    return jnp.concatenate([begin[0][:, None], written.T], axis=1)
