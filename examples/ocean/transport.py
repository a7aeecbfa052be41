"""Flow through the faces of cells in m3/s, and how columns stretch: the equation of continuity."""
from __future__ import annotations

from numba import cuda

from .launching import HALO


@cuda.jit
def stretch_columns(surface, column, stretch):
    """1 + surface / H of columns of cells."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    if i < nx and j < ny:
        stretch[j, i] = 1.0 + surface[j, i] / column[j, i] if column[j, i] > 0.0 else 1.0


@cuda.jit
def stretch_faces_x(surface, column_x, stretch_x):
    """The same of western faces, of the mean surface."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    if i < nx and j < ny:
        if i > 0 and column_x[j, i] > 0.0:
            stretch_x[j, i] = 1.0 + 0.5 * (surface[j, i - 1] + surface[j, i]) / column_x[j, i]
        else:
            stretch_x[j, i] = 1.0


@cuda.jit
def stretch_faces_y(surface, column_y, stretch_y):
    """The same of southern faces."""
    i, j = cuda.grid(2)
    ny, nx = surface.shape
    if i < nx and j < ny:
        if j > 0 and column_y[j, i] > 0.0:
            stretch_y[j, i] = 1.0 + 0.5 * (surface[j - 1, i] + surface[j, i]) / column_y[j, i]
        else:
            stretch_y[j, i] = 1.0


@cuda.jit
def flow_through_x(u, dz_x, stretch_x, dy, difference, column_x, flow_x):
    """u times the face, with the difference (m2/s) between the column's mean transport over the step and u's own."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    if i < nx and j < ny and k < nz:
        if dz_x[k, j, i] > 0.0:
            height = dz_x[k, j, i] * stretch_x[j, i]
            mean = difference[j, i] / (column_x[j, i] * stretch_x[j, i])
            flow_x[k, j, i] = (u[k, j, i] + mean) * height * dy
        else:
            flow_x[k, j, i] = 0.0


@cuda.jit
def flow_through_y(v, dz_y, stretch_y, dx_south, difference, column_y, flow_y):
    """v times the face."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = v.shape
    if i < nx and j < ny and k < nz:
        if dz_y[k, j, i] > 0.0:
            height = dz_y[k, j, i] * stretch_y[j, i]
            mean = difference[j, i] / (column_y[j, i] * stretch_y[j, i])
            flow_y[k, j, i] = (v[k, j, i] + mean) * height * dx_south[j]
        else:
            flow_y[k, j, i] = 0.0


@cuda.jit
def flow_upwards(flow_x, flow_y, dz, area, stretch, stretch_before, dt, upward):
    """Flow through upper faces, summed from the bottom: what flows in from the sides and does not stretch the cell.
    The ring of ghost cells next to the domain is computed, too."""
    i, j = cuda.grid(2)
    nz, ny, nx = dz.shape
    i += HALO - 1
    j += HALO - 1
    if i < nx - HALO + 1 and j < ny - HALO + 1:
        growth = area[j] * (stretch[j, i] - stretch_before[j, i]) / dt
        w = 0.0
        for step in range(nz):
            k = nz - 1 - step
            out = flow_x[k, j, i + 1] - flow_x[k, j, i] + flow_y[k, j + 1, i] - flow_y[k, j, i]
            w -= out + growth * dz[k, j, i]
            upward[k, j, i] = w
