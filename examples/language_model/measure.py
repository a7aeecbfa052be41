"""What README.md says in figures: how near the model comes to the language, and times beside JAX and PyTorch."""
from __future__ import annotations

import importlib.util
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

from .. import _beside
from . import in_jax
from .model import begin, generate, loss, train
from .text import entropy, right, text

LENGTH = 64


def batches(steps: int, texts: int = 16, seed: int = 0, length: int = LENGTH) -> np.ndarray:
    """Pieces of a text, (steps, texts, length + 1)."""
    letters = text(200_000, seed)
    starts = np.random.default_rng(seed).integers(0, len(letters) - length - 1, (steps, texts, 1))
    return letters[starts + np.arange(length + 1)]


def learned(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The losses of a training, and 64 texts that the model has written after it."""
    weights = begin()
    losses = reactant.jit(train)(weights, batches(steps))
    random = np.random.default_rng(1).random((64, LENGTH), np.float32)
    return losses, reactant.jit(generate)(weights, random)


def errors(console: Console, size: int = 600) -> None:
    """Loss on text that was not seen, and how many of the written sentences the grammar has, by steps of training."""
    table = Table("steps", "loss, other text", "entropy of the language", "right sentences")
    written, losses = reactant.jit(generate), reactant.jit(loss)
    random = np.random.default_rng(1).random((64, LENGTH), np.float32)
    weights, done = begin(), 0
    for steps in (size // 4, size // 2, size):
        reactant.jit(train)(weights, batches(steps - done, seed=done))
        done = steps
        counts = [right(each) for each in written(weights, random)]
        table.add_row(str(steps), f"{float(losses(weights, batches(1, 64, seed=9)[0])):.3f}", f"{entropy():.3f}",
                      f"{sum(a for a, _ in counts)} of {sum(b for _, b in counts)}")
    console.print(table)


def speed(console: Console, size: int = 20) -> None:
    """Steps of training, and texts written, beside JAX and (where it is installed) PyTorch, on one thread."""
    tokens, random = batches(size), np.random.default_rng(1).random((8, LENGTH), np.float32)
    ours, writes = reactant.jit(train), reactant.jit(generate)
    weights, as_jax = begin(), jax.tree.map(jax.numpy.array, begin())
    training: dict[str, Any] = {
        "ours": (begin, lambda weights: ours(weights, tokens)),
        "JAX, lax.scan": (lambda: as_jax, lambda weights: jax.block_until_ready(in_jax.train(weights, tokens)))}
    writing: dict[str, Any] = {
        "ours": (lambda: weights, lambda weights: writes(weights, random)),
        "JAX, lax.scan": (lambda: as_jax, lambda weights: np.asarray(in_jax.generate(weights, random))),
        "NumPy": (lambda: weights, lambda weights: generate(weights, random))}
    if importlib.util.find_spec("torch"):
        import torch

        from . import in_torch

        torch.set_num_threads(1)        # at these sizes its threads wait for each other
        training["PyTorch"] = (lambda: in_torch.tensors(begin()),
                               lambda weights: in_torch.train(weights, torch.tensor(tokens)))
        writing["PyTorch"] = (lambda: in_torch.tensors(weights),
                              lambda weights: in_torch.generate(weights, torch.tensor(random)))
    else:
        console.print("PyTorch is not installed")
    _beside.compare(console, f"{size} steps of 16 x {LENGTH} letters", training, repeats=3)
    _beside.compare(console, f"8 texts of {LENGTH} letters", writing)
