"""The same network as its users write it in JAX: functions of weights and state, `jax.value_and_grad`, one `lax.scan`
over the steps."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .network import Layer, Network, b_splines


def smooth(x: jax.Array) -> jax.Array:
    return jax.nn.silu(x)


def predict(weights: Any, layers: Any, x: jax.Array) -> tuple[jax.Array, Any]:
    """The outputs, and the layers with what they have seen."""
    after = []
    for (line, spline), layer in zip(weights, layers, strict=True):
        after.append({"knots": layer["knots"], "low": jnp.minimum(layer["low"], x.min(axis=0)),
                      "high": jnp.maximum(layer["high"], x.max(axis=0))})
        x = smooth(x) @ line + jnp.einsum("nib,ibo->no", b_splines(x, layer["knots"], Layer.order), spline)
    return x, after


def loss(weights: Any, layers: Any, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Any]:
    found, layers = predict(weights, layers, x)
    return jnp.mean((found[:, 0] - y) ** 2), layers


def step(state: dict[str, Any], x: jax.Array, y: jax.Array, rate: jax.Array) -> tuple[dict[str, Any], jax.Array]:
    (value, layers), slopes = jax.value_and_grad(loss, has_aux=True)(state["weights"], state["layers"], x, y)
    count = state["steps"] + 1
    mean = jax.tree.map(lambda m, g: m + 0.1 * (g - m), state["mean"], slopes)
    square = jax.tree.map(lambda s, g: s + 0.01 * (g * g - s), state["square"], slopes)
    weights = jax.tree.map(lambda w, m, s: w - rate * (m / (1.0 - 0.9**count)) / (
        jnp.sqrt(s / (1.0 - 0.99**count)) + 1e-8), state["weights"], mean, square)
    return {"weights": weights, "layers": layers, "mean": mean, "square": square, "steps": count}, value


@jax.jit
def train(state: dict[str, Any], x: jax.Array, y: jax.Array, batches: jax.Array, rate: float) -> tuple[Any, jax.Array]:
    """`network.train`: the state afterwards, and the losses."""
    def one(state: dict[str, Any], given: Any) -> tuple[Any, jax.Array]:
        batch, i = given
        return step(state, x[batch], y[batch], rate * (1.0 - i / len(batches)))
    return jax.lax.scan(one, state, (batches, jnp.arange(len(batches))))


one_step = jax.jit(step, donate_argnums=0)


def state_of(network: Network) -> dict[str, Any]:
    """A network's state as a tree of JAX's arrays."""
    return jax.tree.map(jnp.array, {
        "weights": network.weights, "mean": network.mean, "square": network.square, "steps": np.float64(network.steps),
        "layers": [{"knots": layer.knots, "low": layer.low, "high": layer.high} for layer in network.layers]})
