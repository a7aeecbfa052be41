"""Vertical mixing by turbulence: one equation for its kinetic energy e.

    de/dt = nu S**2 - kappa N**2 - c_e e**1.5 / l + d/dz (nu de/dz),   nu = c_k l sqrt(e),   kappa = nu / Pr(Ri)

Gaspar, Gregoris and Lefevre (J. Geophys. Res. 95, 1990), with the length of Blanke and Delecluse (J. Phys. Oceanogr.
23, 1993): sqrt(2 e) / N, no more than the distance to the surface and the bottom. e is not carried by the mean flow.
"""
from __future__ import annotations

import math

from numba import cuda

from .launching import HALO

MIXING = 0.1
DISSIPATION = 0.7
LEAST_ENERGY = 1e-6
LEAST_LENGTH = 0.04
LEAST_VISCOSITY = 1.2e-4
LEAST_DIFFUSIVITY = 1.2e-5
FROM_WIND = 3.75
"""Of the wind's friction velocity cubed, what becomes turbulence (Craig and Banner, J. Phys. Oceanogr. 24, 1994)."""


@cuda.jit
def compute_shear(u, v, height, stretch, shear):
    """S**2 in 1/s2 on upper faces, ghost cells next to the domain included."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    if i < nx - 1 and j < ny - 1 and k < nz:
        if k == 0:
            shear[k, j, i] = 0.0
        else:
            distance = (height[k - 1] - height[k]) * stretch[j, i]
            along_x = (u[k - 1, j, i] - u[k, j, i]) ** 2 + (u[k - 1, j, i + 1] - u[k, j, i + 1]) ** 2
            along_y = (v[k - 1, j, i] - v[k, j, i]) ** 2 + (v[k - 1, j + 1, i] - v[k, j + 1, i]) ** 2
            shear[k, j, i] = 0.5 * (along_x + along_y) / distance ** 2


@cuda.jit
def compute_length(energy, stratification, depth_of_faces, column, length):
    """l in m on upper faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    if i < nx and j < ny and k < nz:
        if k == 0:
            length[k, j, i] = LEAST_LENGTH
        else:
            e = 0.5 * (energy[k - 1, j, i] + energy[k, j, i])
            free = math.sqrt(2.0 * e / max(stratification[k, j, i], 1e-12))
            wall = min(-depth_of_faces[k], column[j, i] + depth_of_faces[k])
            length[k, j, i] = max(min(free, wall), LEAST_LENGTH)


@cuda.jit
def compute_viscosity(energy, length, viscosity):
    """nu in m2/s on upper faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    if i < nx and j < ny and k < nz:
        if k == 0:
            viscosity[k, j, i] = 0.0
        else:
            e = 0.5 * (energy[k - 1, j, i] + energy[k, j, i])
            viscosity[k, j, i] = max(MIXING * length[k, j, i] * math.sqrt(e), LEAST_VISCOSITY)


@cuda.jit
def compute_diffusivity(viscosity, stratification, shear, diffusivity):
    """kappa in m2/s on upper faces: Prandtl numbers from 1 to 10 with the Richardson number."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = viscosity.shape
    if i < nx - 1 and j < ny - 1 and k < nz:
        if k == 0:
            diffusivity[k, j, i] = 0.0
        else:
            richardson = stratification[k, j, i] / (shear[k, j, i] + 1e-12)
            prandtl = min(max(5.0 * richardson, 1.0), 10.0)
            diffusivity[k, j, i] = max(viscosity[k, j, i] / prandtl, LEAST_DIFFUSIVITY)


@cuda.jit
def produce_turbulence(energy, viscosity, diffusivity, shear, stratification, wet, dt, production):
    """dt * (nu S**2 - kappa N**2) on upper faces between wet cells."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        made = viscosity[k, j, i] * shear[k, j, i] - diffusivity[k, j, i] * stratification[k, j, i]
        production[k, j, i] = dt * wet[k, j, i] * made if k > 0 else 0.0


@cuda.jit
def feed_turbulence(energy, production, length, dt, damping):
    """Sources are added, sinks become a rate for the implicit step, as e must stay positive (Patankar 1980)."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        below = production[k + 1, j, i] if k < nz - 1 else 0.0
        made = 0.5 * (production[k, j, i] + below)
        size = 0.5 * (length[k, j, i] + length[k + 1, j, i]) if k < nz - 1 else length[k, j, i]
        e = energy[k, j, i]
        damping[k, j, i] = dt * DISSIPATION * math.sqrt(e) / size + max(-made, 0.0) / e
        energy[k, j, i] = e + max(made, 0.0)


@cuda.jit
def stir_by_wind(energy, stress_x, stress_y, dz, stretch, density, dt):
    """What the wind makes of turbulence: 3.75 (|stress| / density)**1.5 through the surface."""
    i, j = cuda.grid(2)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and dz[0, j, i] > 0.0:
        stress = math.sqrt(stress_x[j, i] ** 2 + stress_y[j, i] ** 2 + 1e-20)
        energy[0, j, i] += dt * FROM_WIND * (stress / density) ** 1.5 / (dz[0, j, i] * stretch[j, i])


@cuda.jit
def keep_positive(energy):
    """e is at least LEAST_ENERGY."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    if i < nx and j < ny and k < nz:
        energy[k, j, i] = max(energy[k, j, i], LEAST_ENERGY)
