"""Steps of the two systems as launches of the kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import kernels
from .mesh import Mesh

THREADS = 128
# Five stages of fourth order that keep two fields (Carpenter and Kennedy 1994): factors of what is kept, and of it.
A = np.array([0.0, -567301805773 / 1357537059087, -2404267990393 / 2016746695238, -3550918686646 / 2091501179385,
              -1275806237668 / 842570457699])
B = np.array([1432997174477 / 9575080441755, 5161836677717 / 13612068292357, 1720146321549 / 2090206949498,
              3134564353537 / 4481467310338, 2277821191437 / 14882151754819])

Way = Callable[[Any], Any]


def itself(kernel: Any) -> Any:
    """Launches a kernel as it is: on a GPU, or as a part of a compiled function."""
    return kernel


def launch(way: Way, kernel: Any, threads: int, *arguments: Any) -> None:
    """At least so many threads of a kernel."""
    way(kernel)[-(-threads // THREADS), THREADS](*arguments)


def advect(mesh: Mesh, q: np.ndarray, u: float, v: float, dt: float, steps: int, way: Way = itself) -> None:
    """q_t + u q_x + v q_y = 0 by some steps, in place; q is (elements, order + 1, order + 1)."""
    kept, rate, change = np.zeros_like(q), np.empty_like(q), np.empty(mesh.own.size)
    flat, (own, outside, nx, ny) = q.reshape(-1), sides(mesh)
    for stage in range(len(A) * steps):
        a, b = A[stage % len(A)], B[stage % len(A)]
        launch(way, kernels.advection_at_sides, change.size, flat, outside, own, nx, ny, u, v, change)
        launch(way, kernels.advection_rate, q.size, q, mesh.D, mesh.ax, mesh.ay, mesh.bx, mesh.by, mesh.jacobian,
               mesh.weights[0], change, u, v, rate)
        launch(way, kernels.advance, q.size, flat, kept.reshape(-1), rate.reshape(-1), a, b, dt)


def propagate(mesh: Mesh, hx: np.ndarray, hy: np.ndarray, ez: np.ndarray, dt: float, steps: int,
              way: Way = itself) -> None:
    """Maxwell's equations by some steps, in place."""
    fields, (own, outside, nx, ny) = (hx, hy, ez), sides(mesh)
    kept, rates = [np.zeros_like(ez) for _ in fields], [np.empty_like(ez) for _ in fields]
    changes, wall = [np.empty(mesh.own.size) for _ in fields], mesh.wall.reshape(-1)
    for stage in range(len(A) * steps):
        a, b = A[stage % len(A)], B[stage % len(A)]
        launch(way, kernels.maxwell_at_sides, own.size, *(f.reshape(-1) for f in fields), outside, own, wall, nx, ny,
               *changes)
        launch(way, kernels.maxwell_rate, ez.size, *fields, mesh.D, mesh.ax, mesh.ay, mesh.bx, mesh.by, mesh.jacobian,
               mesh.weights[0], *changes, *rates)
        for field, before, rate in zip(fields, kept, rates, strict=True):
            launch(way, kernels.advance, ez.size, field.reshape(-1), before.reshape(-1), rate.reshape(-1), a, b, dt)


def sides(mesh: Mesh) -> tuple[np.ndarray, ...]:
    """What the kernels of sides read, flat: both nodes and the normal."""
    return tuple(a.reshape(-1) for a in (mesh.own, mesh.outside, mesh.normal_x, mesh.normal_y))
