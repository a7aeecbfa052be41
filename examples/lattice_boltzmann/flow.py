"""The flow around a body: launches of the kernels of lattice_boltzmann.cu, and the body's drag."""
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import reactant

THREADS = 128
Q = 19
SHARPNESS = 4.0
"""Of a body's edge: how fast the filled part of a cell changes with its distance from the surface, per cell."""


@cache
def kernels(lower: str = "auto") -> Any:
    """The kernels of lattice_boltzmann.cu; `lower="native"` runs each by itself, threads and all."""
    return reactant.cuda.load(Path(__file__).with_name("lattice_boltzmann.cu"), lower=lower)


class Lattice:
    """A box of cells with what drives the flow along x.

    Args:
        shape: cells along x, y and z; y and z are periodic.
        tau: relaxation time; the viscosity is (tau - 1/2) / 3. All is in units of cells and steps; density is 1.
        inflow: speed before the box; behind it the flow leaves.
        force: on each cell instead, with x periodic.
    """

    def __init__(self, shape: tuple[int, int, int], tau: float, inflow: float = 0.0, force: float = 0.0) -> None:
        self.shape, self.cells = shape, int(np.prod(shape))
        self.tau, self.inflow, self.force = float(tau), float(inflow), float(force)
        self.struct = (*shape, int(inflow == 0.0))
        self.grid = (-(-self.cells // THREADS), THREADS)
        self.viscosity = (tau - 0.5) / 3.0

    def places(self) -> tuple[np.ndarray, ...]:
        """x, y and z of the cells' middles, each (nz, ny, nx)."""
        nx, ny, nz = self.shape
        return tuple(axis + 0.5 for axis in np.meshgrid(*map(np.arange, (nz, ny, nx)), indexing="ij")[::-1])


def at_start(lattice: Lattice, k: Any) -> np.ndarray:
    """Populations (19, cells) of the flow that comes in, everywhere."""
    f = np.zeros((Q, lattice.cells))
    k.start[lattice.grid](lattice.cells, lattice.inflow, f)
    return f


def run(lattice: Lattice, k: Any, solid: np.ndarray, f: np.ndarray, steps: int) -> np.ndarray:
    """Populations after some steps around a body.

    Args:
        lattice: the box.
        k: the kernels.
        solid: the filled part of each cell, 0 to 1, (cells,).
        f: populations (19, cells); written.
        steps: an even number.
    """
    other = np.empty_like(f)
    for _ in range(steps // 2):
        k.stream_and_collide[lattice.grid](lattice.struct, lattice.tau, lattice.inflow, lattice.force, solid, f, other)
        k.stream_and_collide[lattice.grid](lattice.struct, lattice.tau, lattice.inflow, lattice.force, solid, other, f)
    return f


def drag_of(lattice: Lattice, k: Any, solid: np.ndarray, f: np.ndarray) -> float:
    """Force of the flow on the body along x."""
    drag = np.zeros(1)
    k.add_drag[lattice.grid](lattice.struct, lattice.tau, lattice.inflow, solid, f, drag)
    return drag[0]


def drag_after(lattice: Lattice, k: Any, solid: np.ndarray, f: np.ndarray, steps: int) -> float:
    """Drag after some steps; `f` stays as it is. `reactant.grad` differentiates it by `solid`."""
    return drag_of(lattice, k, solid, run(lattice, k, solid, f.copy(), steps))


def flow(lattice: Lattice, k: Any, f: np.ndarray) -> tuple[np.ndarray, ...]:
    """Velocities along x, y and z, each (nz, ny, nx)."""
    u = [np.zeros(lattice.cells) for _ in range(3)]
    k.velocities[lattice.grid](lattice.cells, f, *u)
    return tuple(part.reshape(lattice.shape[::-1]) for part in u)


def body(lattice: Lattice, shape: np.ndarray, volume: float, middle: tuple[float, float, float]) -> np.ndarray:
    """The filled part of each cell for a body of revolution about the flow, (cells,).

    Args:
        lattice: the box.
        shape: the logarithm of how much it is stretched along the flow (and thinned across it, so that its volume
            stays); then, before it is stretched, how its radius depends on the angle from the flow: coefficients of
            Legendre polynomials 2, 3, ... of that angle's cosine, over the mean radius. All 0 is a sphere.
        volume: in cells; the radius is scaled to have it.
        middle: x, y and z.
    """
    longer, rest = np.exp(shape[0]), shape[1:]
    points, weights = np.polynomial.legendre.leggauss(32)
    scale = (volume / (2.0 * np.pi / 3.0 * np.sum(weights * (1.0 + along(points, rest))**3))) ** (1.0 / 3.0)
    x, y, z = (axis - at for axis, at in zip(lattice.places(), middle, strict=True))
    x, across = x / longer, np.sqrt((y**2 + z**2) * longer)
    distance = np.sqrt(x**2 + across**2) + 1e-12
    deep = scale * (1.0 + along(x / distance, rest)) - distance
    steepness = np.sqrt((x / longer)**2 + across**2 * longer) / distance + 1e-12
    return (1.0 / (1.0 + np.exp(-SHARPNESS * deep / steepness))).ravel()


def along(cosine: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """The sum of coefficients times Legendre polynomials of degree 2, 3, ...; degree 1 would only move a body."""
    before, now = np.ones_like(cosine), cosine
    total = np.zeros_like(cosine)
    for degree in range(2, len(shape) + 2):
        before, now = now, ((2 * degree - 1) * cosine * now - (degree - 1) * before) / degree
        total = total + shape[degree - 2] * now
    return total
