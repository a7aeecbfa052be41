"""The body of least drag: the adjoint of the flow gives the drag's derivatives, L-BFGS the next shape."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

import reactant

from .flow import Lattice, at_start, body, drag_after, kernels, run


@dataclass
class Channel:
    """A body in a stream.

    Args:
        lattice: the box.
        radius: of the sphere that has the body's volume, in cells.
    """

    lattice: Lattice
    radius: float

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * np.pi * self.radius**3

    @property
    def middle(self) -> tuple[float, float, float]:
        nx, ny, nz = self.lattice.shape
        return 0.4 * nx, 0.5 * ny, 0.5 * nz

    def solid(self, shape: np.ndarray) -> np.ndarray:
        """The filled part of each cell."""
        return body(self.lattice, shape, self.volume, self.middle)


def standard(width: int = 20) -> Channel:
    """A stream at Reynolds number 8: 1.8 times as long as wide, the sphere's diameter 0.45 of the width."""
    return Channel(Lattice((int(1.8 * width), width, width), 0.65, inflow=0.05), 0.225 * width)


def drag_of_shape(shape: np.ndarray, channel: Channel, k: Any, before: np.ndarray, steps: int) -> float:
    """Drag of a body some steps after it took the place of what made the flow `before`."""
    return drag_after(channel.lattice, k, channel.solid(shape), before, steps)


def settled(channel: Channel, shape: np.ndarray, steps: int) -> np.ndarray:
    """Populations of the flow around a body after some steps."""
    k = kernels()
    f = at_start(channel.lattice, k)
    return np.asarray(reactant.jit(run)(channel.lattice, k, channel.solid(shape), f, steps))


def optimise(channel: Channel, coefficients: int = 4, steps: int = 240, rounds: int = 10,
             told: Callable[[float], None] = lambda drag: None) -> tuple[np.ndarray, list[float], np.ndarray]:
    """Coefficients of the shape of least drag of a given volume, beginning with a sphere.

    Args:
        channel: the box and the volume.
        coefficients: how many.
        steps: of the flow between a change of shape and its drag; the derivative goes through all of them.
        rounds: of L-BFGS.
        told: called with each drag.

    Returns:
        Coefficients, the drags on the way, and the flow around the sphere.
    """
    sphere = np.zeros(coefficients)
    flow = settled(channel, sphere, 4 * steps)
    gradient = reactant.value_and_grad(drag_of_shape, argnums=0, checkpoint="sqrt")
    drags: list[float] = []

    def objective(shape: np.ndarray) -> tuple[float, np.ndarray]:
        drag, slope = gradient(shape, channel, kernels(), flow, steps)
        drags.append(float(drag))
        told(float(drag))
        return float(drag) / drags[0], np.asarray(slope) / drags[0]

    bounds = [(-1.2, 1.2), *[(-0.3, 0.3)] * (coefficients - 1)]
    found = minimize(objective, sphere, jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": rounds, "maxfun": 2 * rounds})
    return found.x, drags, flow
