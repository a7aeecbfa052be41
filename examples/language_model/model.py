"""A small transformer (Vaswani et al. 2017; the norm of Zhang and Sennrich 2019, the gate of Shazeer 2020): how it is
trained, and how it writes letter by letter with a cache of keys and values."""
from __future__ import annotations

from typing import Any

import numpy as np

import reactant

from .text import LETTERS

HEADS = 4
Weights = dict[str, Any]


def begin(width: int = 64, layers: int = 2, length: int = 64, seed: int = 0) -> Weights:
    """Random weights, float32."""
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

    def block() -> dict[str, np.ndarray]:
        made = {name: matrix(width, width) for name in ("query", "key", "value", "out")}
        made |= {"gate": matrix(width, 2 * width), "up": matrix(width, 2 * width), "down": matrix(2 * width, width)}
        return made | {"first": np.ones(width, np.float32), "second": np.ones(width, np.float32)}
    return {"letters": matrix(len(LETTERS), width), "places": 0.1 * matrix(length, width),
            "blocks": [block() for _ in range(layers)]}


def normalised(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * weight


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gated(block: Weights, x: np.ndarray) -> np.ndarray:
    gate = x @ block["gate"]
    return (gate / (1.0 + np.exp(-gate)) * (x @ block["up"])) @ block["down"]


def attention(block: Weights, x: np.ndarray) -> np.ndarray:
    """Of each letter to itself and those before; x: (texts, letters, width)."""
    texts, letters, width = x.shape
    q, k, v = ((x @ block[name]).reshape(texts, letters, HEADS, width // HEADS).transpose(0, 2, 1, 3)
               for name in ("query", "key", "value"))
    scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS))
    scores = np.where(np.tri(letters, dtype=bool), scores, np.float32(-1e9))
    return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ block["out"]


def loss(weights: Weights, tokens: np.ndarray) -> float:
    """Nats a letter, of each given those before; tokens: (texts, letters + 1)."""
    x = weights["letters"][tokens[:, :-1]] + weights["places"][:tokens.shape[1] - 1]
    for block in weights["blocks"]:
        x = x + attention(block, normalised(x, block["first"]))
        x = x + gated(block, normalised(x, block["second"]))
    scores = x @ weights["letters"].T
    highest = scores.max(axis=-1, keepdims=True)
    logarithm = np.log(np.sum(np.exp(scores - highest), axis=-1, keepdims=True)) + highest
    return np.mean(logarithm - np.take_along_axis(scores, tokens[:, 1:, np.newaxis], axis=2))


def arrays(weights: Weights) -> list[np.ndarray]:
    return [weights["letters"], weights["places"], *(w for block in weights["blocks"] for w in block.values())]


def train(weights: Weights, batches: np.ndarray, rate: float = 3e-3) -> np.ndarray:
    """Steps of Adam, which write into the weights; batches: (steps, texts, letters + 1). Returns the losses."""
    losses = np.zeros(len(batches), np.float32)
    mean, square = ([np.zeros_like(w) for w in arrays(weights)] for _ in range(2))
    for i in range(len(batches)):
        losses[i], slopes = reactant.value_and_grad(loss)(weights, batches[i])
        warm = np.float32(rate) * np.minimum(np.float32(i + 1) / np.float32(20.0), np.float32(1.0))
        for w, g, m, s in zip(arrays(weights), arrays(slopes), mean, square, strict=True):
            m += np.float32(0.1) * (g - m)
            s += np.float32(0.01) * (g * g - s)
            w -= warm * (m / (1 - np.float32(0.9) ** (i + 1))) / (np.sqrt(s / (1 - np.float32(0.99) ** (i + 1)))
                                                                  + np.float32(1e-8))
    return losses


def generate(weights: Weights, random: np.ndarray) -> np.ndarray:
    """Texts, letter by letter. Keys and values of what has been written are kept, and written in place.

    Args:
        weights: of the model.
        random: (texts, letters), uniform in [0, 1), which say what is drawn.

    Returns:
        (texts, letters + 1), int64, of which the first ends a sentence.
    """
    texts, letters = random.shape
    width = weights["letters"].shape[1]
    keys, values = (np.zeros((len(weights["blocks"]), texts, HEADS, letters, width // HEADS), np.float32)
                    for _ in range(2))
    written = np.zeros((texts, letters + 1), np.int64)
    for t in range(letters):
        x = weights["letters"][written[:, t]] + weights["places"][t]
        for layer, block in enumerate(weights["blocks"]):
            y = normalised(x, block["first"])
            q, k, v = ((y @ block[name]).reshape(texts, HEADS, -1) for name in ("query", "key", "value"))
            keys[layer, :, :, t], values[layer, :, :, t] = k, v
            seen = look_back(q, keys[layer, :, :, :t + 1], values[layer, :, :, :t + 1])
            x = x + seen.reshape(texts, width) @ block["out"]
            x = x + gated(block, normalised(x, block["second"]))
        share = np.cumsum(softmax(x @ weights["letters"].T), axis=1)
        written[:, t + 1] = np.minimum(np.sum(share < random[:, t, np.newaxis], axis=1), len(LETTERS) - 1)
    return written


def look_back(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Attention to what is written; q: (texts, heads, n), keys and values: (texts, heads, letters, n)."""
    scores = np.einsum("bhn,bhsn->bhs", q, keys) / np.float32(np.sqrt(q.shape[-1]))
    return np.einsum("bhs,bhsn->bhn", softmax(scores), values)
