"""What README.md says in figures: gradients beside differences and JAX, posteriors beside the truth, and times."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from .. import _beside
from . import by_hand
from .catalogue import Catalogue, log_density, mock, split
from .posterior import best, compiled, draw, given, of_catalogue, with_slope

IN_A_LOOP = 50
"""Gradients in one JAX program, as a sampler has them."""


def errors(console: Console, size: int = 12) -> None:
    """The gradient beside JAX's and differences; true states in units of the posterior's spread around its mean."""
    seen = mock(size)
    data, at = given(seen), seen.truth
    value, slope = with_slope(at, *data)
    with jax.enable_x64(True):
        expected = np.asarray(jax.grad(by_hand.log_density)(jnp.asarray(at), *data))
    direction, step = np.random.default_rng(2).standard_normal(at.shape), 1e-6
    change = (log_density(at + step * direction, *data) - log_density(at - step * direction, *data)) / (2.0 * step)
    console.print(f"log-density {value:.10f}, NumPy {log_density(at, *data):.10f}; gradient differs from that of JAX "
                  f"by {np.abs(slope - expected).max() / np.abs(expected).max():.1e} of the largest; along a random "
                  f"direction {np.sum(slope * direction):.6f}, by differences {change:.6f}")
    start = best(seen)
    for name, density in (("compiled", compiled), ("JAX", by_hand.log_density)):
        found = draw(of_catalogue(density, seen), start, 200, 200)
        away = (seen.truth - found.states.mean(axis=0)) / found.states.std(axis=0)
        root = np.sqrt(np.mean(split(away)[0] ** 2, axis=0)).round(2)
        console.print(f"{name}: {found.gradients} gradients, {found.divergent} divergent; root mean square of true "
                      f"states around the mean, in standard deviations: {root}")


def looped(density: Callable[[jax.Array], jax.Array]) -> Callable[..., Any]:
    """Log-densities and their gradients, one after the other in one JAX program."""
    def step(_: int, at: jax.Array) -> jax.Array:
        value, slope = jax.value_and_grad(density)(at)
        return at + 1e-12 * value * slope

    return jax.jit(lambda state: jax.lax.fori_loop(0, IN_A_LOOP, step, state))


def speed(console: Console, size: int = 12) -> None:
    """Log-density and gradient by their own, and inside a JAX program, where samplers take them."""
    seen: Catalogue = mock(size)
    data = given(seen)
    with jax.enable_x64(True):
        at = jnp.asarray(seen.truth)
        alone = jax.jit(jax.value_and_grad(of_catalogue(by_hand.log_density, seen)))
        ours, theirs = (looped(of_catalogue(density, seen)) for density in (compiled, by_hand.log_density))
        _beside.compare(console, f"{size} galaxies: {IN_A_LOOP} gradients in one JAX program", {
            "NumPy, compiled": (lambda: None, lambda _: jax.block_until_ready(ours(at))),
            "JAX by hand": (lambda: None, lambda _: jax.block_until_ready(theirs(at)))})
        _beside.compare(console, f"{size} galaxies: {IN_A_LOOP} gradients, each a call", {
            "NumPy, compiled": (lambda: None, lambda _: [with_slope(seen.truth, *data) for _ in range(IN_A_LOOP)]),
            "JAX by hand": (lambda: None, lambda _: [jax.block_until_ready(alone(at)) for _ in range(IN_A_LOOP)]),
            "NumPy, no gradient": (lambda: None, lambda _: [log_density(seen.truth, *data) for _ in range(IN_A_LOOP)])})
