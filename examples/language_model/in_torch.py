"""The same model in PyTorch: autograd and its Adam, a call a step; writing with a cache that is written in place."""
from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from .model import HEADS, Weights
from .text import LETTERS


def tensors(weights: Weights) -> Any:
    """Weights as tensors that are trained."""
    if isinstance(weights, np.ndarray):
        return torch.tensor(weights, requires_grad=True)
    if isinstance(weights, dict):
        return {name: tensors(w) for name, w in weights.items()}
    return [tensors(w) for w in weights]


def parameters(weights: Any) -> list[torch.Tensor]:
    return [weights["letters"], weights["places"], *(w for block in weights["blocks"] for w in block.values())]


def normalised(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, weight.shape, weight, 1e-5)


def gated(block: Any, x: torch.Tensor) -> torch.Tensor:
    return (functional.silu(x @ block["gate"]) * (x @ block["up"])) @ block["down"]


def loss(weights: Any, tokens: torch.Tensor) -> torch.Tensor:
    texts, letters = tokens.shape[0], tokens.shape[1] - 1
    x = weights["letters"][tokens[:, :-1]] + weights["places"][:letters]
    for block in weights["blocks"]:
        y = normalised(x, block["first"])
        q, k, v = ((y @ block[name]).reshape(texts, letters, HEADS, -1).transpose(1, 2)
                   for name in ("query", "key", "value"))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(x.shape) @ block["out"]
        x = x + gated(block, normalised(x, block["second"]))
    return functional.cross_entropy((x @ weights["letters"].T).flatten(0, 1), tokens[:, 1:].flatten())


def train(weights: Any, batches: torch.Tensor, rate: float = 3e-3) -> list[float]:
    adam = torch.optim.Adam(parameters(weights), rate, betas=(0.9, 0.99))
    losses = []
    for i, tokens in enumerate(batches):
        for group in adam.param_groups:
            group["lr"] = rate * min((i + 1) / 20.0, 1.0)
        adam.zero_grad()
        value = loss(weights, tokens)
        value.backward()
        adam.step()
        losses.append(value.item())
    return losses


@torch.no_grad()
def generate(weights: Any, random: torch.Tensor) -> torch.Tensor:
    texts, letters = random.shape
    width = weights["letters"].shape[1]
    keys, values = (torch.zeros(len(weights["blocks"]), texts, HEADS, letters, width // HEADS) for _ in range(2))
    written = torch.zeros(texts, letters + 1, dtype=torch.int64)
    for t in range(letters):
        x = weights["letters"][written[:, t]] + weights["places"][t]
        for layer, block in enumerate(weights["blocks"]):
            y = normalised(x, block["first"])
            q, k, v = ((y @ block[name]).reshape(texts, HEADS, 1, -1) for name in ("query", "key", "value"))
            keys[layer, :, :, t], values[layer, :, :, t] = k[:, :, 0], v[:, :, 0]
            y = functional.scaled_dot_product_attention(q, keys[layer, :, :, :t + 1], values[layer, :, :, :t + 1])
            x = x + y.reshape(texts, width) @ block["out"]
            x = x + gated(block, normalised(x, block["second"]))
        share = torch.cumsum(torch.softmax(x @ weights["letters"].T, dim=1), dim=1)
        written[:, t + 1] = torch.clamp((share < random[:, t, None]).sum(dim=1), max=len(LETTERS) - 1)
    return written
