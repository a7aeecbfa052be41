"""What the heat that crosses a section depends on, and the initial state that explains observations: derivatives of the
model as it stands, through its kernels, ghost cells and time steps.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import OptimizeResult, minimize

import reactant

from . import diagnostics
from .equation_of_state import REFERENCE_DENSITY
from .launching import HALO, launch
from .model import INSIDE, Model, step
from .tracers import HEAT_CAPACITY


def heat_transport(temperature: np.ndarray, stress: np.ndarray, model: Model, steps: int, row: int) -> float:
    """Heat in PW that flows northwards through the southern faces of a row, the mean of so many steps.

    temperature: of all cells at the start, in degrees C, (levels, rows, columns). stress: of the wind along x, in N/m2,
    (rows, columns)."""
    model.temperature[INSIDE] = temperature
    model.stress_x[INSIDE] = stress
    crossing = np.zeros(model.grid.extent[2])
    total = 0.0
    for _ in range(steps):
        step(model)
        launch(diagnostics.cross_section, (1, model.grid.extent[2]), model.temperature, model.flow_y, row + HALO,
               crossing)
        total += np.sum(crossing)
    return total / steps * REFERENCE_DENSITY * HEAT_CAPACITY * 1e-15


def spin_up(model: Model, calls: int, steps: int, row: int) -> None:
    """Run the model for so many calls of so many steps, by the program that computes `heat_transport`."""
    transport = reactant.jit(heat_transport)
    for _ in range(calls):
        transport(model.rows("temperature").copy(), model.rows("stress_x").copy(), model, steps, row)


def sensitivity(model: Model, steps: int, row: int, **options: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Heat transport in PW, and its derivatives by the initial temperature (PW/K, one for each cell) and by the wind
    (PW m2/N). Memory is bounded by checkpoints: the square root of the steps' states, unless options say otherwise.

    The model itself stays as it is."""
    derivative = reactant.value_and_grad(heat_transport, argnums=(0, 1), **(options or {"checkpoint": "sqrt"}))
    value, (by_temperature, by_stress) = derivative(model.rows("temperature").copy(), model.rows("stress_x").copy(),
                                                    model, steps, row)
    return float(value), by_temperature, by_stress


def misfit(temperature: np.ndarray, model: Model, places: np.ndarray, observed: np.ndarray, between: int) -> float:
    """Half the sum of squares of differences to temperatures observed every `between` steps; places: (observations
    each time, 3), level, row and column; observed: (times, observations each time). Its derivative keeps the square
    root of the steps' states."""
    model.temperature[INSIDE] = temperature
    total = 0.0
    for each in range(len(observed)):
        for _ in reactant.checkpointed(range(between), "sqrt"):
            step(model)
        seen = model.temperature[places[:, 0], places[:, 1] + HALO, places[:, 2] + HALO]
        total += 0.5 * np.sum((seen - observed[each]) ** 2)
    return total


def assimilate(model: Model, guess: np.ndarray, places: np.ndarray, observed: np.ndarray, between: int,
               rounds: int, spread: Callable[[np.ndarray], np.ndarray], trust: float = 1e-3,
               told: Callable[[float], None] | None = None) -> tuple[np.ndarray, OptimizeResult]:
    """The initial temperature, a guess changed by `spread` of a control vector, that explains observations: four-
    dimensional variational assimilation (Talagrand and Courtier, Q. J. R. Meteorol. Soc. 113, 1987) by L-BFGS.

    spread: a symmetric smoothing of arrays of the guess's shape; what it makes of white noise is how the guess may be
    wrong. trust: weight of the guess."""
    derivative = reactant.value_and_grad(misfit)

    def asked(flat: np.ndarray) -> tuple[float, np.ndarray]:
        control = flat.reshape(guess.shape)
        value, gradient = derivative(guess + spread(control), model, places, observed, between)
        if told is not None:
            told(float(value))
        return (float(value) + 0.5 * trust * float(flat @ flat),
                spread(np.asarray(gradient)).ravel() + trust * flat)

    found = minimize(asked, np.zeros(guess.size), jac=True, method="L-BFGS-B", options={"maxiter": rounds})
    return guess + spread(found.x.reshape(guess.shape)), found


def smoothing(across: float, down: float, amplitude: float) -> Callable[[np.ndarray], np.ndarray]:
    """A Gaussian filter over so many cells and levels, periodic along x, as `spread`."""
    def spread(field: np.ndarray) -> np.ndarray:
        return amplitude * gaussian_filter(field, (down, across, across), mode=("reflect", "reflect", "wrap"))
    return spread
