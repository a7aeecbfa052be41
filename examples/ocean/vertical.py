"""Implicit vertical diffusion: a tridiagonal system for each column, by Thomas' algorithm, downwards and back.

    (1 + damping + above + below) x[k] - above x[k-1] - below x[k+1] = x_before[k]

with above = dt kappa[k] / (distance of centres * thickness of the cell), which keeps the sum of x times thickness.
"""
from __future__ import annotations

import math

from numba import cuda

from .launching import HALO


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
            above, below = 0.0, 0.0
            if dz[k, j, i] > 0.0:
                if k > 0:
                    above = factor * diffusivity[k, j, i] / ((height[k - 1] - height[k]) * dz[k, j, i])
                if k < nz - 1:
                    if dz[k + 1, j, i] > 0.0:
                        below = factor * diffusivity[k + 1, j, i] / ((height[k] - height[k + 1]) * dz[k, j, i])
            pivot = 1.0 + above + below - above * ratio
            ratio = below / pivot
            before = (tracer[k, j, i] + above * before) / pivot
            passed[k, j, i] = ratio
            tracer[k, j, i] = before
        for step in range(1, nz):
            k = nz - 1 - step
            tracer[k, j, i] += passed[k, j, i] * tracer[k + 1, j, i]


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
            above, below = 0.0, 0.0
            if dz[k, j, i] > 0.0:
                if k > 0:
                    above = factor * viscosity[k, j, i] / ((height[k - 1] - height[k]) * dz[k, j, i])
                if k < nz - 1:
                    if dz[k + 1, j, i] > 0.0:
                        below = factor * viscosity[k + 1, j, i] / ((height[k] - height[k + 1]) * dz[k, j, i])
            pivot = 1.0 + damping[k, j, i] + above + below - above * ratio
            ratio = below / pivot
            before = (energy[k, j, i] + above * before) / pivot
            passed[k, j, i] = ratio
            energy[k, j, i] = before
        for step in range(1, nz):
            k = nz - 1 - step
            energy[k, j, i] += passed[k, j, i] * energy[k + 1, j, i]


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
            above, below, damping = 0.0, 0.0, 0.0
            if dz_x[k, j, i] > 0.0:
                if k > 0:
                    nu = 0.5 * (viscosity[k, j, i - 1] + viscosity[k, j, i])
                    above = factor * nu / ((height[k - 1] - height[k]) * dz_x[k, j, i])
                damping = dt * drag[j, i] / (dz_x[k, j, i] * stretch_x[j, i])
                if k < nz - 1:
                    if dz_x[k + 1, j, i] > 0.0:
                        nu = 0.5 * (viscosity[k + 1, j, i - 1] + viscosity[k + 1, j, i])
                        below = factor * nu / ((height[k] - height[k + 1]) * dz_x[k, j, i])
                        damping = 0.0
            pivot = 1.0 + damping + above + below - above * ratio
            ratio = below / pivot
            before = (u[k, j, i] + above * before) / pivot
            passed[k, j, i] = ratio
            u[k, j, i] = before
        for step in range(1, nz):
            k = nz - 1 - step
            u[k, j, i] += passed[k, j, i] * u[k + 1, j, i]


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
            above, below, damping = 0.0, 0.0, 0.0
            if dz_y[k, j, i] > 0.0:
                if k > 0:
                    nu = 0.5 * (viscosity[k, j - 1, i] + viscosity[k, j, i])
                    above = factor * nu / ((height[k - 1] - height[k]) * dz_y[k, j, i])
                damping = dt * drag[j, i] / (dz_y[k, j, i] * stretch_y[j, i])
                if k < nz - 1:
                    if dz_y[k + 1, j, i] > 0.0:
                        nu = 0.5 * (viscosity[k + 1, j - 1, i] + viscosity[k + 1, j, i])
                        below = factor * nu / ((height[k] - height[k + 1]) * dz_y[k, j, i])
                        damping = 0.0
            pivot = 1.0 + damping + above + below - above * ratio
            ratio = below / pivot
            before = (v[k, j, i] + above * before) / pivot
            passed[k, j, i] = ratio
            v[k, j, i] = before
        for step in range(1, nz):
            k = nz - 1 - step
            v[k, j, i] += passed[k, j, i] * v[k + 1, j, i]
