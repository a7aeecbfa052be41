"""What README.md says in figures: errors by number of intervals, and times beside the same network in JAX."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from . import in_jax
from .network import Network, train

INTERVALS = (5, 10, 20)
BATCH = 256


def wanted(x: np.ndarray) -> np.ndarray:
    """exp(sin(pi x0) + x1^2) of points (samples, 2 and more)."""
    return np.exp(np.sin(np.pi * x[:, 0]) + x[:, 1] ** 2)


def points(count: int, inputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, inputs))
    return x, wanted(x)


def learned(size: int, told: Callable[[int, int, np.ndarray, float], Any]) -> tuple[Network, np.ndarray]:
    """A network of two inputs, one number between and one output, trained on ever more intervals.

    Args:
        size: steps with each number of intervals.
        told: given the intervals, the network's numbers, the losses and the error on points that it has not seen.

    Returns:
        The network, and all losses.
    """
    network, compiled, losses = Network((2, 1, 1), INTERVALS[0], seed=1), reactant.jit(train), []
    x, y = points(1000, 2, seed=0)
    new, at_new = points(1000, 2, seed=1)
    random = np.random.default_rng(2)
    for intervals in INTERVALS:
        if intervals != INTERVALS[0]:
            network.refine(intervals)
        losses.append(compiled(network, x, y, random.integers(0, len(x), (size, 100)), 0.02))
        error = float(np.sqrt(np.mean((network.predict(network.weights, new)[:, 0] - at_new) ** 2)))
        told(intervals, sum(w.size for pair in network.weights for w in pair), losses[-1], error)
    return network, np.concatenate(losses)


def errors(console: Console, size: int = 2000) -> None:
    """The loss at the end of each stage, and the error on points that were not seen."""
    table = Table("intervals", "numbers learned", "loss", "root mean squared error, other points")
    learned(size, lambda intervals, count, losses, error: table.add_row(
        str(intervals), str(count), f"{np.mean(losses[-50:]):.1e}", f"{error:.1e}"))
    console.print(table)


def speed(console: Console, size: int = 200) -> None:
    """Steps of training and predictions, of a small network and a wider one, beside JAX."""
    for widths, intervals in (((2, 5, 1), 5), ((4, 16, 16, 1), 10)):
        x, y = points(1000, widths[0], seed=0)
        batches = np.random.default_rng(2).integers(0, len(x), (size, BATCH))
        with jax.enable_x64(True):
            _beside.compare(console, f"{size} steps of {widths}, {intervals} intervals, {BATCH} samples a step",
                            ways(widths, intervals, x, y, batches))
            network = Network(widths, intervals)
            state, predict = in_jax.state_of(network), reactant.jit(Network.predict)
            in_jaxs = jax.jit(lambda weights, layers, x: in_jax.predict(weights, layers, x)[0])

            def ours(n: Network, x: np.ndarray = x, predict: Any = predict) -> None:
                for _ in range(50):
                    predict(n, n.weights, x)

            def theirs(s: Any, x: np.ndarray = x, predict: Any = in_jaxs) -> None:
                for _ in range(50):
                    np.asarray(predict(s["weights"], s["layers"], x))
            _beside.compare(console, f"50 predictions of {len(x)} samples", {
                "ours": (lambda network=network: network, ours), "JAX": (lambda state=state: state, theirs)})


def ways(widths: tuple[int, ...], intervals: int, x: np.ndarray, y: np.ndarray, batches: np.ndarray) -> _beside.Ways:
    """Training from the same start: ours, JAX's scan over the steps, and a call of JAX's for each step."""
    compiled = reactant.jit(train)

    def stepwise(state: Any) -> None:
        for i, batch in enumerate(batches):
            state, loss = in_jax.one_step(state, x[batch], y[batch], 0.02 * (1.0 - i / len(batches)))
        jax.block_until_ready(loss)
    return {"ours": (lambda: Network(widths, intervals), lambda network: compiled(network, x, y, batches, 0.02)),
            "JAX, lax.scan": (lambda: in_jax.state_of(Network(widths, intervals)),
                              lambda state: jax.block_until_ready(in_jax.train(state, x, y, batches, 0.02))),
            "JAX, a call a step": (lambda: in_jax.state_of(Network(widths, intervals)), stepwise)}
