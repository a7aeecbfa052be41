"""Momentum: the vector-invariant form on the C grid, vorticity carried against the flow by WENO-5.

    du/dt = (f + zeta) v - d/dx (u**2 + v**2) / 2 - w du/dz - dp/dx + ...

Rotational part upwinded as in Silvestri, Wagner, Campin, Constantinou, Hill, Souza and Ferrari (J. Adv. Model. Earth
Syst. 16, 2024); curl and gradient on the sphere as in Adcroft, Hill, Campin, Marshall and Heimbach (Mon. Weather Rev.
132, 2004). Vertical advection is d(w u)/dz - u dw/dz, its u by WENO-5 as well.
"""
from __future__ import annotations

from numba import cuda

from .launching import HALO
from .numerics import against_the_flow


@cuda.jit
def compute_vorticity(u, v, dx, dy, area_south, wet_corner, vorticity):
    """zeta = (d(v dy)/dx - d(u dx)/dy) / area on south-western edges."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    if i < nx and j < ny and k < nz:
        if i > 0 and j > 0:
            around = (v[k, j, i] - v[k, j, i - 1]) * dy - (u[k, j, i] * dx[j] - u[k, j - 1, i] * dx[j - 1])
            vorticity[k, j, i] = wet_corner[k, j, i] * around / area_south[j]
        else:
            vorticity[k, j, i] = 0.0


@cuda.jit
def compute_kinetic_energy(u, v, energy):
    """(u**2 + v**2) / 2 at centres."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    if i < nx - 1 and j < ny - 1 and k < nz:
        along_x = u[k, j, i] ** 2 + u[k, j, i + 1] ** 2
        along_y = v[k, j, i] ** 2 + v[k, j + 1, i] ** 2
        energy[k, j, i] = 0.25 * (along_x + along_y)


@cuda.jit
def turn_x(v, vorticity, dx, dx_south, order, wet_x, tendency):
    """du/dt = zeta v, the vorticity reconstructed along y against v. Overwrites the tendency."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        flow = 0.25 * ((v[k, j, i - 1] + v[k, j, i]) * dx_south[j]
                       + (v[k, j + 1, i - 1] + v[k, j + 1, i]) * dx_south[j + 1]) / dx[j]
        zeta = against_the_flow(flow, order[k, j, i], vorticity[k, j - 2, i], vorticity[k, j - 1, i],
                                vorticity[k, j, i], vorticity[k, j + 1, i], vorticity[k, j + 2, i],
                                vorticity[k, j + 3, i])
        tendency[k, j, i] = wet_x[k, j, i] * zeta * flow


@cuda.jit
def turn_y(u, vorticity, order, wet_y, tendency):
    """dv/dt = -zeta u, the vorticity reconstructed along x against u. Overwrites the tendency."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        flow = 0.25 * (u[k, j - 1, i] + u[k, j - 1, i + 1] + u[k, j, i] + u[k, j, i + 1])
        zeta = against_the_flow(flow, order[k, j, i], vorticity[k, j, i - 2], vorticity[k, j, i - 1],
                                vorticity[k, j, i], vorticity[k, j, i + 1], vorticity[k, j, i + 2],
                                vorticity[k, j, i + 3])
        tendency[k, j, i] = -wet_y[k, j, i] * zeta * flow


@cuda.jit
def coriolis_x(v, coriolis, dx, dx_south, wet_x, wet_y, tendency):
    """du/dt = f v, v the mean of the wet ones of the four around."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        count = wet_y[k, j, i - 1] + wet_y[k, j, i] + wet_y[k, j + 1, i - 1] + wet_y[k, j + 1, i]
        flow = ((v[k, j, i - 1] + v[k, j, i]) * dx_south[j] + (v[k, j + 1, i - 1] + v[k, j + 1, i]) * dx_south[j + 1])
        tendency[k, j, i] += wet_x[k, j, i] * coriolis[j] * flow / (max(count, 1.0) * dx[j])


@cuda.jit
def coriolis_y(u, coriolis_south, wet_x, wet_y, tendency):
    """dv/dt = -f u."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        count = wet_x[k, j - 1, i] + wet_x[k, j - 1, i + 1] + wet_x[k, j, i] + wet_x[k, j, i + 1]
        flow = u[k, j - 1, i] + u[k, j - 1, i + 1] + u[k, j, i] + u[k, j, i + 1]
        tendency[k, j, i] -= wet_y[k, j, i] * coriolis_south[j] * flow / max(count, 1.0)


@cuda.jit
def steepen_x(energy, dx, wet_x, tendency):
    """du/dt = -d/dx of the kinetic energy."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        tendency[k, j, i] -= wet_x[k, j, i] * (energy[k, j, i] - energy[k, j, i - 1]) / dx[j]


@cuda.jit
def steepen_y(energy, dy, wet_y, tendency):
    """dv/dt = -d/dy of the kinetic energy."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = energy.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        tendency[k, j, i] -= wet_y[k, j, i] * (energy[k, j, i] - energy[k, j - 1, i]) / dy


@cuda.jit(device=True)
def carried_up(u, k, j, i, flow, order):
    """u on the upper face of (k, j, i), from the level that `flow` (m3/s, upwards) comes from."""
    nz = u.shape[0]
    lowest = nz - 1
    return against_the_flow(flow, order, u[min(k + 2, lowest), j, i], u[min(k + 1, lowest), j, i], u[k, j, i],
                            u[max(k - 1, 0), j, i], u[max(k - 2, 0), j, i], u[max(k - 3, 0), j, i])


@cuda.jit
def lift_x(u, upward, order, flux):
    """w u, in m4/s2, on upper faces of u's cells; `upward` is the flow through the faces of cells, in m3/s."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        flow = 0.5 * (upward[k, j, i - 1] + upward[k, j, i])
        if order[k, j, i] > 0:
            flux[k, j, i] = flow * carried_up(u, k, j, i, flow, order[k, j, i])
        else:
            flux[k, j, i] = 0.0


@cuda.jit
def lift_y(v, upward, order, flux):
    """w v on upper faces of v's cells."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        flow = 0.5 * (upward[k, j - 1, i] + upward[k, j, i])
        if order[k, j, i] > 0:
            flux[k, j, i] = flow * carried_up(v, k, j, i, flow, order[k, j, i])
        else:
            flux[k, j, i] = 0.0


@cuda.jit
def advect_up_x(u, upward, flux, dz_x, stretch_x, area, order, tendency):
    """du/dt = -(d(w u)/dz - u dw/dz); no flow through the surface, nor through faces that are not wet."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz and dz_x[k, j, i] > 0.0:
        above = 0.5 * (upward[k, j, i - 1] + upward[k, j, i]) if order[k, j, i] > 0 else 0.0
        carried, below = 0.0, 0.0
        if k < nz - 1 and order[k + 1, j, i] > 0:
            carried = flux[k + 1, j, i]
            below = 0.5 * (upward[k + 1, j, i - 1] + upward[k + 1, j, i])
        change = flux[k, j, i] - carried - u[k, j, i] * (above - below)
        tendency[k, j, i] -= change / (area[j] * dz_x[k, j, i] * stretch_x[j, i])


@cuda.jit
def advect_up_y(v, upward, flux, dz_y, stretch_y, area_south, order, tendency):
    """dv/dt of the same."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = v.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz and dz_y[k, j, i] > 0.0:
        above = 0.5 * (upward[k, j - 1, i] + upward[k, j, i]) if order[k, j, i] > 0 else 0.0
        carried, below = 0.0, 0.0
        if k < nz - 1 and order[k + 1, j, i] > 0:
            carried = flux[k + 1, j, i]
            below = 0.5 * (upward[k + 1, j - 1, i] + upward[k + 1, j, i])
        change = flux[k, j, i] - carried - v[k, j, i] * (above - below)
        tendency[k, j, i] -= change / (area_south[j] * dz_y[k, j, i] * stretch_y[j, i])


@cuda.jit
def blow_x(stress, dz_x, stretch_x, density, tendency):
    """The wind's stress, in N/m2, on the uppermost level."""
    i, j = cuda.grid(2)
    nz, ny, nx = tendency.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and dz_x[0, j, i] > 0.0:
        tendency[0, j, i] += stress[j, i] / (density * dz_x[0, j, i] * stretch_x[j, i])


@cuda.jit
def blow_y(stress, dz_y, stretch_y, density, tendency):
    """The same along y."""
    i, j = cuda.grid(2)
    nz, ny, nx = tendency.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and dz_y[0, j, i] > 0.0:
        tendency[0, j, i] += stress[j, i] / (density * dz_y[0, j, i] * stretch_y[j, i])


@cuda.jit
def extrapolate_tendency(now, before, with_now, with_before, driving):
    """Adams-Bashforth of second order: what drives the step; `before` takes the present one for the next step."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = now.shape
    if i < nx and j < ny and k < nz:
        driving[k, j, i] = with_now * now[k, j, i] + with_before * before[k, j, i]
        before[k, j, i] = now[k, j, i]


@cuda.jit
def accelerate(velocity, tendency, dt):
    """u += dt * tendency."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = velocity.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        velocity[k, j, i] += dt * tendency[k, j, i]
