"""Heat and salt: fluxes through faces by WENO-5, of tracers extrapolated to the middle of the step.

    stretch(n+1) T(n+1) = stretch(n) T(n) - dt * (divergence of flow * T(n+1/2)) / volume

The flow is the one that moved the surface, so that a uniform tracer stays uniform and what is in all cells together
changes by surface fluxes alone.
"""
from __future__ import annotations

from numba import cuda

from .launching import HALO
from .momentum import carried_up
from .numerics import against_the_flow

HEAT_CAPACITY = 3991.86795711963
"""J/(kg K): TEOS-10's, of conservative temperature."""


@cuda.jit
def to_middle(now, before, with_now, with_before, middle):
    """Adams-Bashforth extrapolation of the tracer itself; `before` takes the present one for the next step."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = now.shape
    if i < nx and j < ny and k < nz:
        middle[k, j, i] = with_now * now[k, j, i] + with_before * before[k, j, i]
        before[k, j, i] = now[k, j, i]


@cuda.jit
def carry_x(tracer, flow_x, order, flux):
    """Flux through western faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO + 1 and j < ny - HALO and k < nz:
        flow = flow_x[k, j, i]
        flux[k, j, i] = flow * against_the_flow(
            flow, order[k, j, i], tracer[k, j, i - 3], tracer[k, j, i - 2], tracer[k, j, i - 1], tracer[k, j, i],
            tracer[k, j, i + 1], tracer[k, j, i + 2])


@cuda.jit
def carry_y(tracer, flow_y, order, flux):
    """Flux through southern faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO + 1 and k < nz:
        flow = flow_y[k, j, i]
        flux[k, j, i] = flow * against_the_flow(
            flow, order[k, j, i], tracer[k, j - 3, i], tracer[k, j - 2, i], tracer[k, j - 1, i], tracer[k, j, i],
            tracer[k, j + 1, i], tracer[k, j + 2, i])


@cuda.jit
def carry_z(tracer, upward, order, flux):
    """Flux through upper faces; none through the surface or the bottom."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz:
        if order[k, j, i] > 0:
            flow = upward[k, j, i]
            flux[k, j, i] = flow * carried_up(tracer, k, j, i, flow, order[k, j, i])
        else:
            flux[k, j, i] = 0.0


@cuda.jit
def take_in(tracer, flux_x, flux_y, flux_z, dz, area, stretch, stretch_before, dt):
    """The step of a tracer: what the fluxes leave in the cell, divided by its new thickness."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz and dz[k, j, i] > 0.0:
        below = flux_z[k + 1, j, i] if k < nz - 1 else 0.0
        out = flux_x[k, j, i + 1] - flux_x[k, j, i] + flux_y[k, j + 1, i] - flux_y[k, j, i] + flux_z[k, j, i] - below
        content = stretch_before[j, i] * tracer[k, j, i] - dt * out / (area[j] * dz[k, j, i])
        tracer[k, j, i] = content / stretch[j, i]


@cuda.jit
def warm(temperature, heating, dz, stretch, density, dt):
    """Heat from above, in W/m2."""
    i, j = cuda.grid(2)
    nz, ny, nx = temperature.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and dz[0, j, i] > 0.0:
        temperature[0, j, i] += dt * heating[j, i] / (density * HEAT_CAPACITY * dz[0, j, i] * stretch[j, i])


@cuda.jit
def salt(salinity, salting, dz, stretch, dt):
    """Salt from above, in (g/kg) m/s: salinity times evaporation less precipitation."""
    i, j = cuda.grid(2)
    nz, ny, nx = salinity.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and dz[0, j, i] > 0.0:
        salinity[0, j, i] += dt * salting[j, i] / (dz[0, j, i] * stretch[j, i])


@cuda.jit
def relax(tracer, target, rate, dz, dt):
    """Towards `target` at `rate` (1/s), implicitly."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = tracer.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO and k < nz and dz[k, j, i] > 0.0:
        pulled = dt * rate[j, i]
        tracer[k, j, i] = (tracer[k, j, i] + pulled * target[k, j, i]) / (1.0 + pulled)
