"""Implicit vertical diffusion: a tridiagonal system for each column, by Thomas' algorithm, downwards and back.

    (1 + damping + above + below) x[k] - above x[k-1] - below x[k+1] = x_before[k]

with above = dt kappa[k] / (distance of centres * thickness of the cell), which keeps the sum of x times thickness.
"""
from __future__ import annotations

import math

from numba import cuda

from .launching import HALO


@cuda.jit(device=True)
def exchanges(diffusivity, back_j, back_i, dz, height, factor, k, j, i):
    """`above` and `below` of a cell; the diffusivity is the mean of that here and so many rows and columns back."""
    nz = dz.shape[0]
    above, below = 0.0, 0.0
    if dz[k, j, i] > 0.0:
        if k > 0:
            mean = 0.5 * (diffusivity[k, j - back_j, i - back_i] + diffusivity[k, j, i])
            above = factor * mean / ((height[k - 1] - height[k]) * dz[k, j, i])
        if k < nz - 1:
            if dz[k + 1, j, i] > 0.0:
                mean = 0.5 * (diffusivity[k + 1, j - back_j, i - back_i] + diffusivity[k + 1, j, i])
                below = factor * mean / ((height[k] - height[k + 1]) * dz[k, j, i])
    return above, below


@cuda.jit(device=True)
def bottom_damping(drag, dz, stretch, dt, k, j, i):
    """The bottom's drag on the lowest wet level of a column, over a time step."""
    nz = dz.shape[0]
    damping = 0.0
    if dz[k, j, i] > 0.0:
        damping = dt * drag[j, i] / (dz[k, j, i] * stretch[j, i])
        if k < nz - 1:
            if dz[k + 1, j, i] > 0.0:
                damping = 0.0
    return damping


@cuda.jit(device=True)
def eliminate(x, passed, diagonal, above, below, k, j, i, before, ratio):
    """One row of the way down: x and its ratio to the next one, which `passed` keeps for the way back."""
    pivot = diagonal + above + below - above * ratio
    ratio = below / pivot
    before = (x[k, j, i] + above * before) / pivot
    passed[k, j, i] = ratio
    x[k, j, i] = before
    return before, ratio


@cuda.jit(device=True)
def substitute(x, passed, j, i):
    """The way back up a column."""
    nz = x.shape[0]
    for step in range(1, nz):
        k = nz - 1 - step
        x[k, j, i] += passed[k, j, i] * x[k + 1, j, i]


@cuda.jit
def diffuse_tracer(tracer, diffusivity, dz, height, stretch, dt, passed):
    """Of what lies at centres; `passed` is scratch."""
    i, j = cuda.grid(2)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        factor = dt / stretch[j, i] ** 2
        before, ratio = 0.0, 0.0
        for k in range(nz):
            above, below = exchanges(diffusivity, 0, 0, dz, height, factor, k, j, i)
            before, ratio = eliminate(tracer, passed, 1.0, above, below, k, j, i, before, ratio)
        substitute(tracer, passed, j, i)


@cuda.jit
def diffuse_turbulence(energy, viscosity, damping, dz, height, stretch, dt, passed):
    """Of turbulent kinetic energy, with its dissipation."""
    i, j = cuda.grid(2)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        factor = dt / stretch[j, i] ** 2
        before, ratio = 0.0, 0.0
        for k in range(nz):
            above, below = exchanges(viscosity, 0, 0, dz, height, factor, k, j, i)
            before, ratio = eliminate(energy, passed, 1.0 + damping[k, j, i], above, below, k, j, i, before, ratio)
        substitute(energy, passed, j, i)


@cuda.jit
def drag_x(u, v, dz_x, coefficient, drag):
    """Rate of the bottom's quadratic drag on u in m/s: coefficient |u| of the lowest wet level."""
    i, j = cuda.grid(2)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        speed = 0.0
        for k in range(nz):
            if dz_x[k, j, i] > 0.0:
                across = 0.25 * (v[k, j, i - 1] + v[k, j, i] + v[k, j + 1, i - 1] + v[k, j + 1, i])
                speed = math.sqrt(u[k, j, i] ** 2 + across ** 2 + 1e-12)
        drag[j, i] = coefficient * speed


@cuda.jit
def drag_y(u, v, dz_y, coefficient, drag):
    """The same on v."""
    i, j = cuda.grid(2)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        speed = 0.0
        for k in range(nz):
            if dz_y[k, j, i] > 0.0:
                across = 0.25 * (u[k, j - 1, i] + u[k, j - 1, i + 1] + u[k, j, i] + u[k, j, i + 1])
                speed = math.sqrt(v[k, j, i] ** 2 + across ** 2 + 1e-12)
        drag[j, i] = coefficient * speed


@cuda.jit
def diffuse_x(u, viscosity, drag, dz_x, height, stretch_x, dt, passed):
    """Of u, with the bottom's drag."""
    i, j = cuda.grid(2)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        factor = dt / stretch_x[j, i] ** 2
        before, ratio = 0.0, 0.0
        for k in range(nz):
            above, below = exchanges(viscosity, 0, 1, dz_x, height, factor, k, j, i)
            damping = bottom_damping(drag, dz_x, stretch_x, dt, k, j, i)
            before, ratio = eliminate(u, passed, 1.0 + damping, above, below, k, j, i, before, ratio)
        substitute(u, passed, j, i)


@cuda.jit
def diffuse_y(v, viscosity, drag, dz_y, height, stretch_y, dt, passed):
    """Of v, with the bottom's drag."""
    i, j = cuda.grid(2)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        factor = dt / stretch_y[j, i] ** 2
        before, ratio = 0.0, 0.0
        for k in range(nz):
            above, below = exchanges(viscosity, 1, 0, dz_y, height, factor, k, j, i)
            damping = bottom_damping(drag, dz_y, stretch_y, dt, k, j, i)
            before, ratio = eliminate(v, passed, 1.0 + damping, above, below, k, j, i, before, ratio)
        substitute(v, passed, j, i)
