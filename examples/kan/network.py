"""Kolmogorov-Arnold networks (Liu et al. 2024, arXiv:2404.19756): a learned function of one variable on each edge."""
from __future__ import annotations

import numpy as np

import reactant

Weights = list[tuple[np.ndarray, np.ndarray]]


def smooth(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


def b_splines(x: np.ndarray, knots: np.ndarray, order: int) -> np.ndarray:
    """B-splines by the recursion of Cox and de Boor.

    Args:
        x: (samples, inputs).
        knots: (inputs, count), increasing.
        order: 3 for cubic ones.

    Returns:
        (samples, inputs, count - 1 - order).
    """
    x = x[:, :, np.newaxis]
    values = ((x >= knots[:, :-1]) & (x < knots[:, 1:])).astype(x.dtype)
    for k in range(1, order + 1):
        rising = (x - knots[:, :-k - 1]) / (knots[:, k:-1] - knots[:, :-k - 1])
        falling = (knots[:, k + 1:] - x) / (knots[:, k + 1:] - knots[:, 1:-k])
        values = rising * values[:, :, :-1] + falling * values[:, :, 1:]
    return values


class Layer:
    """On each edge a multiple of x sigmoid(x) and a cubic spline; an output is the sum over its edges.

    Remembers the least and the largest of each input that it has seen: the knots move there.
    """

    order = 3

    def __init__(self, inputs: int, intervals: int) -> None:
        self.place(np.full(inputs, -1.0), np.full(inputs, 1.0), intervals)

    def place(self, low: np.ndarray, high: np.ndarray, intervals: int) -> None:
        """Equal intervals from `low` to `high`, and outside as many knots as the splines there need."""
        width = (high - low) / intervals
        self.knots = low[:, np.newaxis] + width[:, np.newaxis] * np.arange(-self.order, intervals + self.order + 1)
        self.low, self.high = np.full(len(low), np.inf), np.full(len(low), -np.inf)

    def __call__(self, line: np.ndarray, spline: np.ndarray, x: np.ndarray) -> np.ndarray:
        self.low = np.minimum(self.low, x.min(axis=0))
        self.high = np.maximum(self.high, x.max(axis=0))
        return smooth(x) @ line + np.einsum("nib,ibo->no", b_splines(x, self.knots, self.order), spline)

    def edges(self, line: np.ndarray, spline: np.ndarray, x: np.ndarray) -> np.ndarray:
        """What each edge makes of x (samples, inputs): (samples, inputs, outputs)."""
        return smooth(x)[:, :, np.newaxis] * line + np.einsum(
            "nib,ibo->nio", b_splines(x, self.knots, self.order), spline)

    def refine(self, spline: np.ndarray, intervals: int) -> np.ndarray:
        """The splines on other knots, over what was seen and a little more, as near as can be (least squares)."""
        margin = 0.02 * (self.high - self.low) + 1e-3
        low, high = self.low - margin, self.high + margin
        x = np.linspace(low, high, 10 * intervals + 1)[:-1]
        before = np.einsum("nib,ibo->ino", b_splines(x, self.knots, self.order), spline)
        self.place(low, high, intervals)
        after = b_splines(x, self.knots, self.order)
        return np.stack([np.linalg.lstsq(after[:, i], before[i], rcond=1e-10)[0] for i in range(len(before))])


class Network:
    """Layers, their weights, and the moments of Adam (Kingma and Ba 2015): a step of training changes them in place."""

    def __init__(self, widths: tuple[int, ...], intervals: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.layers = [Layer(inputs, intervals) for inputs in widths[:-1]]
        self.weights: Weights = [
            (random.standard_normal((a, b)) / np.sqrt(a), 0.1 * random.standard_normal((a, intervals + Layer.order, b)))
            for a, b in zip(widths, widths[1:], strict=False)]
        self.forget()

    def forget(self) -> None:
        """Adam begins anew."""
        self.steps = 0
        self.mean = [tuple(np.zeros_like(w) for w in pair) for pair in self.weights]
        self.square = [tuple(np.zeros_like(w) for w in pair) for pair in self.weights]

    def predict(self, weights: Weights, x: np.ndarray) -> np.ndarray:
        for layer, (line, spline) in zip(self.layers, weights, strict=True):
            x = layer(line, spline, x)
        return x

    def loss(self, weights: Weights, x: np.ndarray, y: np.ndarray) -> float:
        """Mean squared error of the first output."""
        return np.mean((self.predict(weights, x)[:, 0] - y) ** 2)

    def step(self, x: np.ndarray, y: np.ndarray, rate: float) -> float:
        """A step of Adam; returns the loss before it."""
        loss, slopes = reactant.value_and_grad(self.loss)(self.weights, x, y)
        self.steps += 1
        for group in zip(self.weights, slopes, self.mean, self.square, strict=True):
            for w, g, m, s in zip(*group, strict=True):
                m += 0.1 * (g - m)
                s += 0.01 * (g * g - s)
                w -= rate * (m / (1.0 - 0.9**self.steps)) / (np.sqrt(s / (1.0 - 0.99**self.steps)) + 1e-8)
        return loss

    def refine(self, intervals: int) -> None:
        """More intervals, where the inputs of each layer were seen."""
        self.weights = [(line, layer.refine(spline, intervals))
                        for layer, (line, spline) in zip(self.layers, self.weights, strict=True)]
        self.forget()


def train(network: Network, x: np.ndarray, y: np.ndarray, batches: np.ndarray, rate: float) -> np.ndarray:
    """The losses of steps with these samples, (steps, samples of a batch)."""
    losses = np.zeros(len(batches))
    for i in range(len(batches)):
        losses[i] = network.step(x[batches[i]], y[batches[i]], rate * (1.0 - i / len(batches)))
    return losses
