"""Ghost cells, filled in place: copies of the opposite border where the domain is periodic; at walls, copies of the
last cells (no flux) for what lies at their centres, and 0 for the flow through the wall and beyond it."""
from __future__ import annotations

from typing import Any

from numba import cuda

from .launching import HALO, launch


@cuda.jit
def wrap_x(f):
    """Periodic in x, any place on the grid."""
    h, j, k = cuda.grid(3)
    nz, ny, nx = f.shape
    if h < HALO and j < ny and k < nz:
        f[k, j, h] = f[k, j, nx - 2 * HALO + h]
        f[k, j, nx - HALO + h] = f[k, j, HALO + h]


@cuda.jit
def wrap_y(f):
    """Periodic in y."""
    i, h, k = cuda.grid(3)
    nz, ny, nx = f.shape
    if i < nx and h < HALO and k < nz:
        f[k, h, i] = f[k, ny - 2 * HALO + h, i]
        f[k, ny - HALO + h, i] = f[k, HALO + h, i]


@cuda.jit
def mirror_x(f):
    """No flux through western and eastern walls."""
    h, j, k = cuda.grid(3)
    nz, ny, nx = f.shape
    if h < HALO and j < ny and k < nz:
        f[k, j, h] = f[k, j, 2 * HALO - 1 - h]
        f[k, j, nx - HALO + h] = f[k, j, nx - HALO - 1 - h]


@cuda.jit
def mirror_y(f):
    """No flux through southern and northern walls."""
    i, h, k = cuda.grid(3)
    nz, ny, nx = f.shape
    if i < nx and h < HALO and k < nz:
        f[k, h, i] = f[k, 2 * HALO - 1 - h, i]
        f[k, ny - HALO + h, i] = f[k, ny - HALO - 1 - h, i]


@cuda.jit
def stop_x(u):
    """No flow through western and eastern walls: u lies on them at columns HALO and nx - HALO."""
    h, j, k = cuda.grid(3)
    nz, ny, nx = u.shape
    if h < HALO and j < ny and k < nz:
        u[k, j, h] = 0.0
        u[k, j, nx - HALO + h] = 0.0
        if h == 0:
            u[k, j, HALO] = 0.0


@cuda.jit
def stop_y(v):
    """No flow through southern and northern walls."""
    i, h, k = cuda.grid(3)
    nz, ny, nx = v.shape
    if i < nx and h < HALO and k < nz:
        v[k, h, i] = 0.0
        v[k, ny - HALO + h, i] = 0.0
        if h == 0:
            v[k, HALO, i] = 0.0


@cuda.jit
def wrap_surface_x(f):
    """Periodic in x, one level."""
    h, j = cuda.grid(2)
    ny, nx = f.shape
    if h < HALO and j < ny:
        f[j, h] = f[j, nx - 2 * HALO + h]
        f[j, nx - HALO + h] = f[j, HALO + h]


@cuda.jit
def wrap_surface_y(f):
    """Periodic in y, one level."""
    i, h = cuda.grid(2)
    ny, nx = f.shape
    if i < nx and h < HALO:
        f[h, i] = f[ny - 2 * HALO + h, i]
        f[ny - HALO + h, i] = f[HALO + h, i]


@cuda.jit
def mirror_surface_x(f):
    """No flux through western and eastern walls, one level."""
    h, j = cuda.grid(2)
    ny, nx = f.shape
    if h < HALO and j < ny:
        f[j, h] = f[j, 2 * HALO - 1 - h]
        f[j, nx - HALO + h] = f[j, nx - HALO - 1 - h]


@cuda.jit
def mirror_surface_y(f):
    """No flux through southern and northern walls, one level."""
    i, h = cuda.grid(2)
    ny, nx = f.shape
    if i < nx and h < HALO:
        f[h, i] = f[2 * HALO - 1 - h, i]
        f[ny - HALO + h, i] = f[ny - HALO - 1 - h, i]


@cuda.jit
def stop_surface_x(flow):
    """No transport through western and eastern walls."""
    h, j = cuda.grid(2)
    ny, nx = flow.shape
    if h < HALO and j < ny:
        flow[j, h] = 0.0
        flow[j, nx - HALO + h] = 0.0
        if h == 0:
            flow[j, HALO] = 0.0


@cuda.jit
def stop_surface_y(flow):
    """No transport through southern and northern walls."""
    i, h = cuda.grid(2)
    ny, nx = flow.shape
    if i < nx and h < HALO:
        flow[h, i] = 0.0
        flow[ny - HALO + h, i] = 0.0
        if h == 0:
            flow[HALO, i] = 0.0


@cuda.jit
def dry_x(depth):
    """Land beyond western and eastern walls."""
    h, j = cuda.grid(2)
    ny, nx = depth.shape
    if h < HALO and j < ny:
        depth[j, h] = 0.0
        depth[j, nx - HALO + h] = 0.0


@cuda.jit
def dry_y(depth):
    """Land beyond southern and northern walls."""
    i, h = cuda.grid(2)
    ny, nx = depth.shape
    if i < nx and h < HALO:
        depth[h, i] = 0.0
        depth[ny - HALO + h, i] = 0.0


def fill_edges(grid: Any, depth: Any) -> None:
    """Ghost cells of the depth: land beyond walls."""
    ny, nx = depth.shape
    launch(wrap_surface_x if grid.periodic_x else dry_x, (ny, HALO), depth)
    launch(wrap_surface_y if grid.periodic_y else dry_y, (HALO, nx), depth)


def fill(grid: Any, *fields: Any) -> None:
    """Ghost cells of fields at the centres of cells."""
    nz, ny, nx = grid.full
    for f in fields:
        launch(wrap_x if grid.periodic_x else mirror_x, (nz, ny, HALO), f)
        launch(wrap_y if grid.periodic_y else mirror_y, (nz, HALO, nx), f)


def fill_flow(grid: Any, u: Any, v: Any) -> None:
    """Ghost cells of velocities."""
    nz, ny, nx = grid.full
    launch(wrap_x if grid.periodic_x else stop_x, (nz, ny, HALO), u)
    launch(wrap_y if grid.periodic_y else mirror_y, (nz, HALO, nx), u)
    launch(wrap_x if grid.periodic_x else mirror_x, (nz, ny, HALO), v)
    launch(wrap_y if grid.periodic_y else stop_y, (nz, HALO, nx), v)


def fill_surface(grid: Any, f: Any) -> None:
    """Ghost cells of a field of one level."""
    ny, nx = f.shape
    launch(wrap_surface_x if grid.periodic_x else mirror_surface_x, (ny, HALO), f)
    launch(wrap_surface_y if grid.periodic_y else mirror_surface_y, (HALO, nx), f)


def fill_transports(grid: Any, flow_x: Any, flow_y: Any) -> None:
    """Ghost cells of transports of whole columns."""
    ny, nx = flow_x.shape
    launch(wrap_surface_x if grid.periodic_x else stop_surface_x, (ny, HALO), flow_x)
    launch(wrap_surface_y if grid.periodic_y else mirror_surface_y, (HALO, nx), flow_x)
    launch(wrap_surface_x if grid.periodic_x else mirror_surface_x, (ny, HALO), flow_y)
    launch(wrap_surface_y if grid.periodic_y else stop_surface_y, (HALO, nx), flow_y)
