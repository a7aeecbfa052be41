"""A C grid on the sphere with levels that stretch with the surface (z*), partial bottom cells and land.

Arrays are [level, row, column], the uppermost level first, with HALO ghost cells around rows and columns. u[k, j, i]
lies on the western face of cell (k, j, i), v on its southern, w on its upper one, vorticity on its south-western edge.
Thickness of a bottom cell: Adcroft, Hill and Marshall (Mon. Weather Rev. 125, 1997). z*: Adcroft and Campin (Ocean
Modelling 7, 2004): a column of depth H stretches by 1 + surface / H.
"""
from __future__ import annotations

import numpy as np
from numba import cuda

from .boundaries import fill_edges
from .launching import HALO, launch

EARTH_RADIUS = 6.371e6
EARTH_ROTATION = 7.292115e-5
SMALLEST_PART = 0.2
"""A bottom cell has at least this part of its level, or is land."""


@cuda.jit
def cut_cells(depth, depth_of_faces, thickness_of_cells):
    """Thickness of the wet part of each cell: whole, cut by the bottom, or 0."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = thickness_of_cells.shape
    if i < nx and j < ny and k < nz:
        upper = -depth_of_faces[k]
        level = -depth_of_faces[k + 1] - upper
        part = min(max(depth[j, i] - upper, 0.0), level)
        if part < SMALLEST_PART * level:
            part = SMALLEST_PART * level if part > 0.5 * SMALLEST_PART * level else 0.0
        thickness_of_cells[k, j, i] = part


@cuda.jit
def thinner_x(thickness, thickness_x):
    """Thickness of western faces: of the thinner cell."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = thickness.shape
    if i < nx and j < ny and k < nz:
        thickness_x[k, j, i] = min(thickness[k, j, i], thickness[k, j, i - 1]) if i > 0 else 0.0


@cuda.jit
def thinner_y(thickness, thickness_y):
    """Thickness of southern faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = thickness.shape
    if i < nx and j < ny and k < nz:
        thickness_y[k, j, i] = min(thickness[k, j, i], thickness[k, j - 1, i]) if j > 0 else 0.0


@cuda.jit
def wet_where_thick(thickness, wet):
    """1 in water, 0 on land."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = thickness.shape
    if i < nx and j < ny and k < nz:
        wet[k, j, i] = 1.0 if thickness[k, j, i] > 0.0 else 0.0


@cuda.jit
def wet_corners(wet, wet_corner):
    """1 on edges whose four cells are all wet: elsewhere the flow slips freely, its vorticity is 0."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = wet.shape
    if i < nx and j < ny and k < nz:
        inside = i > 0 and j > 0
        wet_corner[k, j, i] = (wet[k, j, i] * wet[k, j, i - 1] * wet[k, j - 1, i] * wet[k, j - 1, i - 1]
                               if inside else 0.0)


@cuda.jit
def sum_column(thickness, total):
    """Depth of columns of cells or faces."""
    i, j = cuda.grid(2)
    nz, ny, nx = thickness.shape
    if i < nx and j < ny:
        depth = 0.0
        for k in range(nz):
            depth += thickness[k, j, i]
        total[j, i] = depth


@cuda.jit
def order_x(wet, shift, order):
    """How many points on either side of i - 1/2 + shift are wet, up to 3, counted by pairs: the width that
    reconstruction along x may have there. shift is 0 on faces between cells, 1 at cells between faces."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = wet.shape
    if i < nx and j < ny and k < nz:
        count = 0
        if i >= HALO - 1 and i < nx - HALO + 1:
            if wet[k, j, i - 1 + shift] * wet[k, j, i + shift] > 0.0:
                count = 1
                if wet[k, j, i - 2 + shift] * wet[k, j, i + 1 + shift] > 0.0:
                    count = 2
                    if wet[k, j, i - 3 + shift] * wet[k, j, i + 2 + shift] > 0.0:
                        count = 3
        order[k, j, i] = count


@cuda.jit
def order_y(wet, shift, order):
    """The same along y."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = wet.shape
    if i < nx and j < ny and k < nz:
        count = 0
        if j >= HALO - 1 and j < ny - HALO + 1:
            if wet[k, j - 1 + shift, i] * wet[k, j + shift, i] > 0.0:
                count = 1
                if wet[k, j - 2 + shift, i] * wet[k, j + 1 + shift, i] > 0.0:
                    count = 2
                    if wet[k, j - 3 + shift, i] * wet[k, j + 2 + shift, i] > 0.0:
                        count = 3
        order[k, j, i] = count


@cuda.jit
def order_z(wet, order):
    """The same on upper faces, between levels."""
    i, j, k = cuda.grid(3)
    nz, ny, nx = wet.shape
    if i < nx and j < ny and k < nz:
        count = 0
        if k > 0 and wet[k, j, i] > 0.0:
            count = 1
            if k > 1 and k < nz - 1 and wet[k + 1, j, i] > 0.0:
                count = 2
                if k > 2 and k < nz - 2 and wet[k + 2, j, i] > 0.0:
                    count = 3
        order[k, j, i] = count


def levels(depth: float, count: int, stretching: float = 0.0) -> np.ndarray:
    """Heights of `count` + 1 faces, 0 first; with `stretching` (0 to below 1) thinner levels above."""
    s = np.linspace(0.0, 1.0, count + 1)
    return -depth * ((1.0 - stretching) * s + stretching * s ** 3)


class Grid:
    """What does not change: metrics, masks, thickness, orders of reconstruction.

    Args:
        depth: the bottom below the resting surface in m, (rows, columns) without ghost cells; 0 and less is land.
        faces: heights of the levels' faces in m, from 0 downwards, one more than levels.
        west, east, south, north: the borders in degrees.
        periodic_x, periodic_y: whether opposite borders are one; else there is a wall.
        rotation: of the planet, in 1/s.
        varying_coriolis: whether rows have the Coriolis parameter of their latitude, or all that of the middle.
        spherical: whether rows have the width of their latitude, or all that of the middle.
    """

    def __init__(self, depth: np.ndarray, faces: np.ndarray, west: float, east: float, south: float, north: float,
                 periodic_x: bool = True, periodic_y: bool = False, rotation: float = EARTH_ROTATION,
                 varying_coriolis: bool = True, spherical: bool = True) -> None:
        ny, nx = depth.shape
        nz = len(faces) - 1
        self.extent = (nz, ny, nx)
        self.full = (nz, ny + 2 * HALO, nx + 2 * HALO)
        self.periodic_x, self.periodic_y = periodic_x, periodic_y
        step_x, step_y = np.radians((east - west) / nx), np.radians((north - south) / ny)
        rows = np.arange(-HALO, ny + HALO)
        centre, southern = np.radians(south) + (rows + 0.5) * step_y, np.radians(south) + rows * step_y
        middle = np.full_like(centre, np.radians(0.5 * (south + north)))
        if not spherical:
            centre, southern = middle, middle
        self.longitude = west + (np.arange(nx) + 0.5) * (east - west) / nx
        self.latitude = south + (np.arange(ny) + 0.5) * (north - south) / ny
        self.dy = float(EARTH_RADIUS * step_y)
        self.dx = EARTH_RADIUS * np.cos(centre) * step_x
        self.dx_south = EARTH_RADIUS * np.cos(southern) * step_x
        self.area, self.area_south = self.dx * self.dy, self.dx_south * self.dy
        turning = np.radians(south) + (rows + 0.5) * step_y if varying_coriolis else middle
        self.coriolis = 2.0 * rotation * np.sin(turning)
        self.coriolis_south = 2.0 * rotation * np.sin(turning - (0.5 * step_y if varying_coriolis else 0.0))
        self.faces = np.asarray(faces, float)
        self.level = self.faces[:-1] - self.faces[1:]
        self.height = 0.5 * (self.faces[:-1] + self.faces[1:])
        self.depth = np.zeros(self.full[1:])
        self.depth[HALO:-HALO, HALO:-HALO] = np.maximum(depth, 0.0)
        field, flat = np.zeros(self.full), np.zeros(self.full[1:])
        self.dz, self.dz_x, self.dz_y = (field.copy() for _ in range(3))
        self.wet, self.wet_x, self.wet_y, self.wet_corner = (field.copy() for _ in range(4))
        self.column, self.column_x, self.column_y = (flat.copy() for _ in range(3))
        self.order_x, self.order_y, self.order_z, self.order_z_x, self.order_z_y = (
            np.zeros(self.full, np.int8) for _ in range(5))
        self.order_vorticity_x, self.order_vorticity_y = (np.zeros(self.full, np.int8) for _ in range(2))


def cut(grid: Grid) -> None:
    """Fill in thickness, masks and orders of reconstruction, from the depth."""
    fill_edges(grid, grid.depth)
    launch(cut_cells, grid.full, grid.depth, grid.faces, grid.dz)
    launch(thinner_x, grid.full, grid.dz, grid.dz_x)
    launch(thinner_y, grid.full, grid.dz, grid.dz_y)
    for thickness, wet, column in ((grid.dz, grid.wet, grid.column), (grid.dz_x, grid.wet_x, grid.column_x),
                                   (grid.dz_y, grid.wet_y, grid.column_y)):
        launch(wet_where_thick, grid.full, thickness, wet)
        launch(sum_column, grid.full[1:], thickness, column)
    launch(wet_corners, grid.full, grid.wet, grid.wet_corner)
    launch(order_x, grid.full, grid.wet, 0, grid.order_x)
    launch(order_y, grid.full, grid.wet, 0, grid.order_y)
    launch(order_x, grid.full, grid.wet_corner, 1, grid.order_vorticity_x)
    launch(order_y, grid.full, grid.wet_corner, 1, grid.order_vorticity_y)
    for wet, order in ((grid.wet, grid.order_z), (grid.wet_x, grid.order_z_x), (grid.wet_y, grid.order_z_y)):
        launch(order_z, grid.full, wet, order)
