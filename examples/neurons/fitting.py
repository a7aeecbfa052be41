"""The fit: SciPy's L-BFGS on the compiled gradient of jaxley's simulation, and how sure its result can be."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jaxley as jx
import numpy as np
from scipy.optimize import minimize

import reactant

from .neuron import BOUNDS, NOISE, UNKNOWN, Recorded, bounded, misfit, simulator, values

START = np.array([0.8 * np.mean(BOUNDS[name]) for _, name in UNKNOWN])
"""In the order of `UNKNOWN`."""

Slope = Callable[[Any, Any, Any], tuple[Any, Any]]
"""What `reactant.value_and_grad` and `jax.value_and_grad` make of a misfit."""


@dataclass
class Fitted:
    """Conductances in the order of `UNKNOWN`; misfits by evaluation, mV2."""

    numbers: np.ndarray
    misfits: list[float]


def compiled(cell: jx.Cell) -> Slope:
    """The misfit and its gradient."""
    return reactant.value_and_grad(misfit(cell))


def fit(slope: Slope, seen: Recorded, start: np.ndarray = START, evaluations: int = 200,
        progress: Callable[[float], None] = lambda misfit: None) -> Fitted:
    """From a start within `BOUNDS`, in the order of `UNKNOWN`, to where L-BFGS ends."""
    transform, misfits = bounded(), []

    def called(guess: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = slope(values(guess), seen.current, seen.voltage)
        misfits.append(float(value))
        progress(misfits[-1])
        return misfits[-1], flat(slopes)

    found = minimize(called, flat(transform.inverse(values(start))), jac=True, method="L-BFGS-B",
                     options={"maxfun": evaluations, "maxiter": evaluations, "ftol": 1e-9})
    return Fitted(flat(transform.forward(values(found.x))), misfits)


def flat(tree: Any) -> np.ndarray:
    return np.concatenate([np.asarray(leaf) for leaf in jax.tree.leaves(tree)])


def deviations(cell: jx.Cell, seen: Recorded, numbers: np.ndarray) -> np.ndarray:
    """The smallest standard errors that an unbiased estimate can have (Cramer and Rao), in the order of `UNKNOWN`."""
    simulate = simulator(cell)
    slopes = reactant.jacobian(lambda at: simulate(values(at), jnp.asarray(seen.current)))(jnp.asarray(numbers))
    by_unknown = np.asarray(slopes).reshape(-1, len(UNKNOWN)) / NOISE
    return np.sqrt(np.diag(np.linalg.inv(by_unknown.T @ by_unknown)))
