"""`check_derivatives`: derivatives against differences."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reactant import signature as sig
from reactant.derivatives.entry import name_of
from reactant.derivatives.outline import leaves_of
from reactant.derivatives.products import jvp, vjp


@dataclass
class DerivativeCheck:
    """What `check_derivatives` found; true when both modes agree with differences and with each other."""

    name: str
    forward_error: float
    reverse_error: float
    tolerance: float

    def __bool__(self) -> bool:
        return max(self.forward_error, self.reverse_error) <= self.tolerance

    def __str__(self) -> str:
        verdict = "agree" if self else "DIFFER"
        return (f"{self.name}: derivatives {verdict}: forward against differences {self.forward_error:.2g}, reverse "
                f"against forward {self.reverse_error:.2g} (relative; tolerance {self.tolerance:.2g})")

    __repr__ = __str__


def check_derivatives(function: Callable, *args: Any, argnums: Sequence[int] | None = None, step: float = 1e-6,
                      tolerance: float = 1e-5, seed: int = 0, **kwargs: Any) -> DerivativeCheck:
    """Compare forward mode with central differences of the compiled function, and reverse with forward mode, along one
    random direction. Use float64 arguments. Give `argnums` where some arguments are not floats."""
    rng = np.random.default_rng(seed)
    numbers = tuple(range(len(args)) if argnums is None else argnums)
    tangents: list[Any] = [None] * len(args)
    for n in numbers:
        tangents[n] = sig.map_tree(args[n], lambda leaf: _random(rng, leaf))
    results, moved = jvp(function, args, tangents, **kwargs)
    outputs, pull = vjp(function, *args, argnums=numbers, **kwargs)
    ends = []
    for sign in (1, -1):
        shifted = [x if t is None else _moved(x, t, sign * step) for x, t in zip(args, tangents, strict=True)]
        ends.append(vjp(function, *shifted, argnums=numbers, **kwargs)[0])
    error, scale = 0.0, 1e-300
    cotangents = sig.map_tree(results, lambda leaf: _random(rng, leaf))
    for t, a, b in zip(*map(leaves_of, (moved, *ends)), strict=True):
        if a is not None and np.asarray(a).dtype.kind in "fc":
            difference = (np.asarray(a) - np.asarray(b)) / (2 * step)
            error = max(error, _largest(difference - np.asarray(t)))
            scale = max(scale, _largest(difference))
    found = _paired(cotangents, moved)
    back = _paired(pull(cotangents), [tangents[n] for n in numbers])
    return DerivativeCheck(name_of(function), error / max(scale, 1.0), abs(back - found) / max(abs(found), 1.0),
                           tolerance)


def _largest(array: np.ndarray) -> float:
    """The largest absolute value; infinite where something is no number, so that it counts as different."""
    size = np.abs(array)
    return float(np.max(np.where(np.isnan(size), np.inf, size), initial=0))


def _moved(x: Any, t: Any, step: float) -> Any:
    left = iter(leaves_of(t))
    return sig.map_tree(x, lambda leaf: leaf + step * next(left))


def _random(rng: np.random.Generator, like: Any) -> Any:
    if like is None:
        return None
    like = np.asarray(like)
    made = np.asarray(rng.standard_normal(like.shape))
    if like.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(like.shape)
    return made.astype(like.dtype if like.dtype.kind in "fc" else float)


def _paired(cotangents: Any, tangents: Any) -> float:
    return sum(float(np.sum(np.asarray(g) * np.asarray(t)).real)
               for g, t in zip(leaves_of(cotangents), leaves_of(tangents), strict=True) if g is not None)
