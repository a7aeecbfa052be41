"""What is in the ocean and what crosses a section: kernels that leave sums in small arrays."""
from __future__ import annotations

from numba import cuda

from .launching import HALO


@cuda.jit
def measure_volume(dz, stretch, area, volume):
    """Volume of each column in m3."""
    i, j = cuda.grid(2)
    nz, ny, nx = dz.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        total = 0.0
        for k in range(nz):
            total += dz[k, j, i]
        volume[j - HALO, i - HALO] = total * stretch[j, i] * area[j]


@cuda.jit
def measure_content(tracer, dz, stretch, area, content):
    """A tracer in each column, times m3."""
    i, j = cuda.grid(2)
    nz, ny, nx = dz.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        total = 0.0
        for k in range(nz):
            total += tracer[k, j, i] * dz[k, j, i]
        content[j - HALO, i - HALO] = total * stretch[j, i] * area[j]


@cuda.jit
def measure_energy(u, v, dz_x, dz_y, stretch_x, stretch_y, area, area_south, energy):
    """Kinetic energy of each column, in m5/s2."""
    i, j = cuda.grid(2)
    nz, ny, nx = u.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        along_x, along_y = 0.0, 0.0
        for k in range(nz):
            along_x += u[k, j, i] ** 2 * dz_x[k, j, i]
            along_y += v[k, j, i] ** 2 * dz_y[k, j, i]
        energy[j - HALO, i - HALO] = 0.5 * (along_x * stretch_x[j, i] * area[j]
                                            + along_y * stretch_y[j, i] * area_south[j])


@cuda.jit
def cross_section(tracer, flow_y, row, crossing):
    """What the flow carries northwards through the southern faces of a row, in each column: tracer m3/s."""
    i, one = cuda.grid(2)
    nz, ny, nx = tracer.shape
    i += HALO
    if i < nx - HALO and one == 0:
        total = 0.0
        for k in range(nz):
            total += 0.5 * (tracer[k, row, i] + tracer[k, row - 1, i]) * flow_y[k, row, i]
        crossing[i - HALO] = total


@cuda.jit
def surface_vorticity(vorticity, coriolis_south, rossby):
    """zeta / f of the uppermost level."""
    i, j = cuda.grid(2)
    nz, ny, nx = vorticity.shape
    i += HALO
    j += HALO
    if i < nx - HALO and j < ny - HALO:
        rossby[j - HALO, i - HALO] = vorticity[0, j, i] / coriolis_south[j]
