"""Two networks trained with our gradients and with JAX's, from the same start on the same data.

    python examples/training.py [--steps N] [--tiny] [--picture FILE]

A Kolmogorov-Arnold network learns a function of two variables; a small transformer learns to continue a text, letter by
letter. Prints how the loss falls and how long a step takes with either, and draws the curves.
"""
import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import reactant

TEXT = ("the gradient of a sum is the sum of the gradients; the gradient of a product is not the product of the "
        "gradients. a loop is a sum of its iterations, and its gradient runs the iterations backwards. ") * 8


# ---- a Kolmogorov-Arnold network: a learned function of one variable on each edge ------------------------------------

def bumps(x, centres):
    """Gaussian bumps of each input, (..., inputs, centres)."""
    return jnp.exp(-((x[..., np.newaxis] - centres) * (len(centres) / 4.0)) ** 2)


def kan(layers, x):
    centres = jnp.linspace(-2.0, 2.0, layers[0]["bumps"].shape[-1])
    for layer in layers:
        x = jnp.einsum("nig,iog->no", bumps(x, centres), layer["bumps"]) + jax.nn.silu(x) @ layer["line"]
    return x[:, 0]


def kan_loss(layers, x, y):
    return jnp.mean((kan(layers, x) - y) ** 2)


def kan_problem(rng, tiny):
    widths, count, points = ((2, 3, 1), 5, 32) if tiny else ((2, 16, 16, 1), 12, 2048)
    layers = [{"bumps": 0.3 * rng.standard_normal((a, b, count)), "line": rng.standard_normal((a, b)) / math.sqrt(a)}
              for a, b in zip(widths, widths[1:], strict=False)]
    x = rng.uniform(-1.5, 1.5, (points, 2))
    y = np.sin(2.0 * x[:, 0]) * np.exp(-x[:, 1] ** 2) + 0.3 * x[:, 0] * x[:, 1]
    return layers, [(x, y)]


# ---- a language model: two blocks of attention and a gated layer -----------------------------------------------------

def scaled(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def attention(block, x, heads=4):
    n, t, d = x.shape
    q, k, v = ((x @ block[name]).reshape(n, t, heads, d // heads) for name in ("query", "key", "value"))
    scores = jnp.einsum("nthd,nshd->nhts", q, k) / math.sqrt(d // heads)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return jnp.einsum("nhts,nshd->nthd", jax.nn.softmax(scores), v).reshape(n, t, d) @ block["out"]


def language_loss(weights, tokens):
    """Cross-entropy of each letter given those before."""
    x = weights["letters"][tokens[:, :-1]] + weights["places"][:tokens.shape[1] - 1]
    for block in weights["blocks"]:
        x = x + attention(block, scaled(x, block["first"]))
        y = scaled(x, block["second"])
        x = x + (jax.nn.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
    scores = jax.nn.log_softmax(x @ weights["letters"].T)
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], 2))


def language_problem(rng, tiny):
    d, wide, length, batch = (8, 16, 12, 2) if tiny else (64, 128, 64, 16)
    letters = sorted(set(TEXT))
    codes = np.array([letters.index(c) for c in TEXT], np.int32)

    def block():
        shapes = {"query": (d, d), "key": (d, d), "value": (d, d), "out": (d, d), "gate": (d, wide), "up": (d, wide),
                  "down": (wide, d)}
        made = {name: rng.standard_normal(shape) / math.sqrt(shape[0]) for name, shape in shapes.items()}
        return made | {"first": np.ones(d), "second": np.ones(d)}

    weights = {"letters": 0.1 * rng.standard_normal((len(letters), d)),
               "places": 0.1 * rng.standard_normal((length, d)),
               "blocks": [block() for _ in range(2)]}
    starts = [rng.integers(0, len(codes) - length - 1, batch) for _ in range(16)]
    return weights, [(np.stack([codes[s:s + length + 1] for s in each]),) for each in starts]


# ---- training --------------------------------------------------------------------------------------------------------

@jax.jit
def adam(weights, moments, gradient, step):
    first = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree_util.tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], gradient)

    def moved(w, m, v):
        return w - 3e-3 * (m / (1 - 0.9 ** step)) / (jnp.sqrt(v / (1 - 0.99 ** step)) + 1e-8)
    return jax.tree_util.tree_map(moved, weights, first, second), (first, second)


def on_device(tree):
    return jax.tree_util.tree_map(lambda a: jnp.asarray(a, jnp.float32 if a.dtype.kind == "f" else jnp.int32), tree)


class Run:
    """One training with one way to take gradients."""

    def __init__(self, value_and_grad, weights):
        zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
        self.value_and_grad, self.weights, self.moments = value_and_grad, weights, (zeros, zeros)
        self.losses, self.seconds = [], []

    def step(self, batch):
        start = time.perf_counter()
        loss, gradient = self.value_and_grad(self.weights, *batch)
        self.weights, self.moments = adam(self.weights, self.moments, gradient, float(len(self.losses) + 1))
        jax.block_until_ready(self.weights)
        self.seconds.append(time.perf_counter() - start)
        self.losses.append(float(loss))


def train(loss, problem, steps, tiny):
    """(our run, JAX's run), a step of each in turn."""
    weights, batches = problem(np.random.default_rng(0), tiny)
    weights, batches = on_device(weights), on_device(batches)
    runs = Run(reactant.value_and_grad(loss), weights), Run(jax.jit(jax.value_and_grad(loss)), weights)
    for step in range(steps):
        for run in runs:
            run.step(batches[step % len(batches)])
    return runs


def curve(losses, height, width, low, high):
    """Places of a curve in a picture: rows by columns, the loss on a logarithmic scale."""
    columns = np.linspace(0, width - 1, len(losses)).astype(int)
    place = (np.log(losses) - math.log(low)) / (math.log(high) - math.log(low))
    return np.clip(((1 - place) * (height - 1)).astype(int), 0, height - 1), columns


def panel(ours, theirs, height=180, width=320):
    """Both curves: JAX's as a wide grey band, ours as a thin line in it."""
    picture = np.ones((height, width, 3))
    everything = np.array(ours + theirs)
    low, high = everything.min() * 0.9, everything.max() * 1.1
    for losses, colour, thick in ((theirs, (0.8, 0.8, 0.8), 4), (ours, (0.75, 0.1, 0.1), 1)):
        rows, columns = curve(np.array(losses), height, width, low, high)
        for c in range(width):
            near = np.searchsorted(columns, c).clip(0, len(rows) - 1)
            picture[max(0, rows[near] - thick):rows[near] + thick + 1, c] = colour
    return picture


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--picture", type=Path, help="draw the curves into this PNG")
    options = parser.parse_args(arguments)
    panels = {}
    for name, loss, problem in (("KAN", kan_loss, kan_problem), ("language model", language_loss, language_problem)):
        ours, theirs = train(loss, problem, options.steps, options.tiny)
        times = [1e3 * statistics.median(run.seconds) for run in (ours, theirs)]
        apart = max(abs(a - b) / b for a, b in zip(ours.losses, theirs.losses, strict=True))
        print(f"{name}: loss {ours.losses[0]:.4f} -> {ours.losses[-1]:.4f} (JAX {theirs.losses[-1]:.4f}), largest "
              f"difference of the curves {apart:.1e}; a step {times[0]:.2f} ms, JAX {times[1]:.2f} ms "
              f"({times[1] / times[0]:.2f}x)")
        panels[f"{name}: ours (red) on JAX's (grey)"] = panel(ours.losses, theirs.losses)
    if options.picture:
        from reactant.demos import picture
        picture.write(options.picture, panels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
