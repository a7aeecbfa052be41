"""The split-explicit free surface: columns move in many short steps, forced by what the long step did to them.

    d(surface)/dt = -div U,   dU/dt = -g H d(surface)/dx + (what the long step added) / dt

Forward-backward steps and their weights: Shchepetkin and McWilliams (Ocean Modelling 9, 2005). Two averages of the
transports are kept: those of the new time, which correct u and v, and those that moved the surface, which carry
tracers.
"""
from __future__ import annotations

import numpy as np
from numba import cuda

from .equation_of_state import GRAVITY
from .launching import HALO


def averaging_weights(per_step: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of short steps of dt / per_step: of states after them (their mean is at dt), and of the flows
    during them (their sum is dt).

    The shape (t/t0)**2 (1 - (t/t0)**4) - 0.18927 t/t0, t0 such that the mean of t is 1."""
    scale = 1.0
    for _ in range(100):
        t = np.arange(1, 4 * per_step) / per_step / scale
        shape = t ** 2 * (1.0 - t ** 4) - 0.18927 * t
        shape[np.argmax(shape):][shape[np.argmax(shape):] < 0.0] = 0.0
        shape[t > 1.0] = 0.0
        mean = (shape * t * scale).sum() / shape.sum()
        scale /= mean
    count = np.flatnonzero(shape)[-1] + 1
    states = shape[:count] / shape[:count].sum()
    states_at = (np.arange(1, count + 1) / per_step * states).sum()
    flows = np.cumsum(states[::-1])[::-1] / per_step / states_at
    return states, flows


@cuda.jit
def integrate_x(u, dz_x, transport):
    """Depth integral of u at rest."""
    i, j = cuda.grid(2)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        total = 0.0
        for k in range(nz):
            total += u[k, j, i] * dz_x[k, j, i]
        transport[j, i] = total


@cuda.jit
def integrate_y(v, dz_y, transport):
    """Depth integral of v at rest."""
    i, j = cuda.grid(2)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        total = 0.0
        for k in range(nz):
            total += v[k, j, i] * dz_y[k, j, i]
        transport[j, i] = total


@cuda.jit
def start_window(before, after, stretch, dt, transport, forcing, at_end, during):
    """Transports of the present time, what the long step adds to them per second, and empty averages."""
    i, j = cuda.grid(2)
    ny, nx = before.shape
    if i < nx and j < ny:
        transport[j, i] = before[j, i] * stretch[j, i]
        forcing[j, i] = (after[j, i] - before[j, i]) * stretch[j, i] / dt
        at_end[j, i] = 0.0
        during[j, i] = 0.0


@cuda.jit
def copy_surface(surface, moving):
    """The surface that the short steps move."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    if i < nx and j < ny:
        moving[j, i] = surface[j, i]


@cuda.jit
def average(transport, weight, mean):
    """mean += weight * transport."""
    i, j = cuda.grid(2)
    ny, nx = transport.shape
    if i < nx and j < ny:
        mean[j, i] += weight * transport[j, i]


@cuda.jit
def raise_surface(surface, transport_x, transport_y, dx_south, dy, area, dt):
    """surface -= dt * divergence of the transports."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        out = ((transport_x[j, i + 1] - transport_x[j, i]) * dy
               + transport_y[j + 1, i] * dx_south[j + 1] - transport_y[j, i] * dx_south[j])
        surface[j, i] -= dt * out / area[j]


@cuda.jit
def push_x(transport_x, surface, forcing, column_x, stretch_x, dx, dt):
    """Transport driven by the slope of the surface."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and column_x[j, i] > 0.0:
        slope = (surface[j, i] - surface[j, i - 1]) / dx[j]
        transport_x[j, i] += dt * (forcing[j, i] - GRAVITY * column_x[j, i] * stretch_x[j, i] * slope)


@cuda.jit
def push_y(transport_y, surface, forcing, column_y, stretch_y, dy, dt):
    """The same along y."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and column_y[j, i] > 0.0:
        slope = (surface[j, i] - surface[j - 1, i]) / dy
        transport_y[j, i] += dt * (forcing[j, i] - GRAVITY * column_y[j, i] * stretch_y[j, i] * slope)


@cuda.jit
def correct_flow(velocity, integral, at_end, column, stretch, thickness):
    """The column's mean becomes that of the short steps at the new time."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = velocity.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz and thickness[k, j, i] > 0.0:
        velocity[k, j, i] += (at_end[j, i] / stretch[j, i] - integral[j, i]) / column[j, i]


@cuda.jit
def compare_transports(at_end, during, difference):
    """What tracers are carried by beyond u and v."""
    i, j = cuda.grid(2)
    ny, nx = at_end.shape
    if i < nx and j < ny:
        difference[j, i] = during[j, i] - at_end[j, i]
