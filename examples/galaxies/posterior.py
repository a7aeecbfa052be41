"""The best fit by SciPy's L-BFGS, and the posterior by blackjax's NUTS, of any log-density in JAX."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import reactant

from .catalogue import Catalogue, log_density, physical
from .spectra import fluxes

DOUBLINGS = 6
"""Of NUTS: at most 64 gradients a draw."""

compiled = reactant.jit(log_density)
with_slope = reactant.value_and_grad(log_density)


def given(seen: Catalogue) -> tuple[Any, ...]:
    """What log-densities take after the state."""
    return seen.flux, seen.error, seen.tables


def best(seen: Catalogue, starts: int = 4, steps: int = 150) -> np.ndarray:
    """The most probable state that L-BFGS finds, from several redshifts."""
    def called(state: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = with_slope(state, *given(seen))
        return -float(value), -np.asarray(slope)

    found = []
    for redshift in np.linspace(-1.5, 1.5, starts):
        start = np.zeros_like(seen.truth)
        start[6::5] = redshift
        found.append(minimize(called, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}))
    return _each_best(seen, [each.x for each in found])


def _each_best(seen: Catalogue, states: list[np.ndarray]) -> np.ndarray:
    """Of each galaxy the state that fits it best."""
    misfit = np.array([np.sum(((seen.flux - fluxes(*physical(state), seen.tables)) / seen.error) ** 2, axis=1)
                       + np.sum(state[2:].reshape(-1, 5) ** 2, axis=1) for state in states])
    chosen = states[int(np.argmin(misfit.sum(axis=1)))].copy()
    rows = chosen[2:].reshape(-1, 5)
    for galaxy, which in enumerate(misfit.argmin(axis=0)):
        rows[galaxy] = states[which][2:].reshape(-1, 5)[galaxy]
    return chosen


@dataclass
class Draws:
    """From the posterior: states, (draws, unknowns); how many gradients all took, and how often the energy was lost."""

    states: np.ndarray
    gradients: int
    divergent: int


def sampler(density: Callable[[jax.Array], jax.Array], warm: int, draws: int) -> Callable[..., Any]:
    """blackjax's NUTS after its own adaptation of steps and masses, as a function of a key and a start."""
    def run(key: jax.Array, start: jax.Array) -> Any:
        adaptation = blackjax.window_adaptation(blackjax.nuts, density, initial_step_size=0.05,
                                                max_num_doublings=DOUBLINGS)
        (state, tuned), told = adaptation.run(key, start, warm)
        kernel = blackjax.nuts(density, **tuned)

        def step(state: Any, key: jax.Array) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        keys = jax.random.split(jax.random.fold_in(key, 1), draws)
        _, (states, steps, divergent) = jax.lax.scan(step, state, keys)
        return states, steps.sum() + told.info.num_integration_steps.sum(), divergent.sum()

    return jax.jit(run)


def draw(density: Callable[[jax.Array], jax.Array], start: np.ndarray, warm: int, draws: int, seed: int = 0) -> Draws:
    """The posterior, float64."""
    with jax.enable_x64(True):
        states, gradients, divergent = sampler(density, warm, draws)(jax.random.key(seed), jnp.asarray(start))
        return Draws(np.asarray(states), int(gradients), int(divergent))


def of_catalogue(density: Callable[..., Any], seen: Catalogue) -> Callable[[jax.Array], jax.Array]:
    """A log-density of the state alone: `compiled`, or `by_hand.log_density`."""
    return lambda state: density(state, *given(seen))
