"""A neuron with dendrites as users of jaxley write it, what electrodes record of it, and how far a guess is off."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jaxley as jx
import numpy as np
from jaxley.channels import HH
from jaxley.optimize.transforms import ParamTransform, SigmoidTransform

STEP = 0.025
"""ms; jaxley's own."""
PARENTS = [-1, 0, 1, 1, 2, 2, 3, 3, 0, 8, 8, 0, 11, 11]
"""Of each branch: a soma, an apical dendrite that divides twice, two basal ones that divide once."""
PARTS = {"soma": [0], "apical": [1, 2, 3, 4, 5, 6, 7], "basal": [8, 9, 10, 11, 12, 13]}
ELECTRODES = [(0, 0.5), (4, 0.5), (9, 0.5)]
"""Branch and place on it, 0 to 1: the soma, one twig of each dendrite."""
UNKNOWN = [("soma", "HH_gNa"), ("soma", "HH_gK"), ("apical", "HH_gNa"), ("apical", "HH_gK"),
           ("basal", "HH_gNa"), ("basal", "HH_gK"), ("all", "HH_gLeak"), ("all", "axial_resistivity")]
BOUNDS = {"HH_gNa": (0.02, 0.30), "HH_gK": (0.01, 0.09), "HH_gLeak": (1e-4, 1e-3), "axial_resistivity": (50.0, 500.0)}
"""S/cm2, ohm cm."""
TRUTH = [0.16, 0.050, 0.07, 0.030, 0.10, 0.022, 4e-4, 150.0]
NOISE = 0.5
"""Of the electrodes, mV."""

Values = list[dict[str, Any]]


def neuron(compartments: int = 4) -> jx.Cell:
    """Fourteen branches of so many compartments each, sodium and potassium channels everywhere."""
    cell = jx.Cell(jx.Branch(jx.Compartment(), ncomp=compartments), parents=PARENTS)
    radius, length = np.array([8.0] + [2.0] * (len(PARENTS) - 1)), np.array([20.0] + [100.0] * (len(PARENTS) - 1))
    for branch, parent in enumerate(PARENTS):
        if parent > 0:
            radius[branch] = radius[parent] * 2.0 ** (-2.0 / 3.0)      # Rall 1959
    cell.set("radius", np.repeat(radius, compartments))                 # micrometres
    cell.set("length", np.repeat(length / compartments, compartments))
    cell.insert(HH())
    cell.set("v", -65.0)
    cell.init_states()
    for part, branches in PARTS.items():
        cell.branch(branches).add_to_group(part)
    for part, name in UNKNOWN:
        (cell if part == "all" else getattr(cell, part)).make_trainable(name, verbose=False)
    for branch, place in ELECTRODES:
        cell.branch(branch).loc(place).record(verbose=False)
    return cell


def values(numbers: Any) -> Values:
    """Numbers in the order of `UNKNOWN` as jaxley has them."""
    return [{name: jnp.atleast_1d(number)} for (_, name), number in zip(UNKNOWN, numbers, strict=True)]


def bounded() -> ParamTransform:
    """From all real numbers to `BOUNDS`."""
    return ParamTransform([{name: SigmoidTransform(*BOUNDS[name])} for _, name in UNKNOWN])


def currents(sweeps: int, milliseconds: float, seed: int = 0) -> np.ndarray:
    """Into the soma, (sweeps, steps), nA: slow noise around more and more, from 2 ms on."""
    steps = round(milliseconds / STEP)
    noise = np.random.default_rng(seed).standard_normal((sweeps, steps))
    for i in range(1, steps):
        noise[:, i] = noise[:, i - 1] + (STEP / 2.0) * (-noise[:, i - 1]) + np.sqrt(STEP) * noise[:, i]
    strength = np.linspace(0.3, 1.2, sweeps)[:, np.newaxis] * (1.0 + 0.5 * noise)
    return np.where(np.arange(steps) * STEP < 2.0, 0.0, strength)


def simulator(cell: jx.Cell) -> Callable[[Values, jax.Array], jax.Array]:
    """Voltages at the electrodes, (sweeps, electrodes, steps + 1), mV, of conductances and currents."""
    def one(conductances: Values, current: jax.Array) -> jax.Array:
        stimuli = cell.branch(0).loc(0.5).data_stimulate(current)
        return jx.integrate(cell, params=conductances, data_stimuli=stimuli, delta_t=STEP)

    return jax.vmap(one, in_axes=(None, 0))


def misfit(cell: jx.Cell) -> Callable[[Values, jax.Array, jax.Array], jax.Array]:
    """Mean square between simulated and recorded voltages, mV2, of unbounded values, currents and records."""
    simulate, transform = simulator(cell), bounded()

    def loss(guess: Values, current: jax.Array, recorded: jax.Array) -> jax.Array:
        return jnp.mean((simulate(transform.forward(guess), current) - recorded) ** 2)

    return loss


@dataclass
class Recorded:
    """Currents, (sweeps, steps), nA, and what electrodes recorded, (sweeps, electrodes, steps + 1), mV."""

    current: np.ndarray
    voltage: np.ndarray


def record(cell: jx.Cell, sweeps: int = 4, milliseconds: float = 25.0) -> Recorded:
    """The true neuron, with noise, by plain jaxley."""
    current = currents(sweeps, milliseconds)
    voltage = np.asarray(jax.jit(simulator(cell))(values(TRUTH), jnp.asarray(current)))
    return Recorded(current, voltage + NOISE * np.random.default_rng(1).standard_normal(voltage.shape))
