"""Oceans to start from."""
from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal

from .equation_of_state import GRAVITY, REFERENCE_DENSITY, density_anomaly
from .grid import EARTH_RADIUS, EARTH_ROTATION, Grid, levels
from .model import Model

density = np.vectorize(density_anomaly.py_func)
"""The kernels' density on arrays of the host, for initial states."""

WIDTH_OF_DEGREE = EARTH_RADIUS * np.pi / 180.0


def plane(length_x: float, length_y: float, latitude: float) -> dict[str, float]:
    """Borders in degrees of a domain of so many metres around a latitude where cells are all alike."""
    x, y = length_x / WIDTH_OF_DEGREE / np.cos(np.radians(latitude)), length_y / WIDTH_OF_DEGREE
    return {"west": 0.0, "east": x, "south": latitude - y / 2, "north": latitude + y / 2}


def seamount(nx: int = 16, ny: int = 12, nz: int = 8, **options: float | bool) -> Model:
    """Water at rest, stratified in heat and salt, over a mountain with partial cells, in a channel on the sphere."""
    y, x = np.mgrid[0:ny, 0:nx]
    depth = 4000.0 - 3100.0 * np.exp(-((x - nx / 2) / (nx / 6)) ** 2 - ((y - ny / 2) / (ny / 6)) ** 2)
    grid = Grid(depth, levels(4000.0, nz, 0.6), 0.0, 0.5 * nx, 40.0, 40.0 + 0.5 * ny)
    model = Model(grid, 1200.0, 30, **options)
    height = grid.height[:, None, None]
    model.set(temperature=2.0 + 18.0 * np.exp(height / 900.0), salinity=34.5 + 1.0 * np.exp(height / 500.0))
    return model


def channel(nx: int = 64, ny: int = 48, nz: int = 12, dt: float = 600.0, **options: float | bool) -> Model:
    """A front along a channel with a ridge on its floor, in thermal wind balance but for small waves, under wind,
    cooling in the north and warming in the south."""
    y, x = np.mgrid[0:ny, 0:nx]
    across, along = (y + 0.5) / ny - 0.5, (x + 0.5) / nx
    depth = 2000.0 - 600.0 * np.exp(-((along - 0.5) / 0.08) ** 2) * np.cos(np.pi * across) ** 2
    cell = 10.0e3
    grid = Grid(depth, levels(2000.0, nz, 0.7), **plane(nx * cell, ny * cell, 45.0))
    model = Model(grid, dt, max(int(np.ceil(dt * np.sqrt(2.0 * GRAVITY * 2000.0) / cell)), 10), **options)
    height = grid.height[:, None]
    profile = 3.0 + 10.0 * np.exp(height / 500.0)
    front = -3.0 * np.tanh(across[:, 0] / 0.12) * np.exp(height / 700.0)
    temperature = (profile + front)[:, :, None] + np.zeros((1, 1, nx))
    u, surface = thermal_wind(grid, temperature[:, :, 0], np.full((nz, ny), 35.0))
    waves = sum(np.cos(2.0 * np.pi * m * along + 1.7 * m) for m in range(2, 8)) * np.exp(-(across / 0.12) ** 2)
    model.set(temperature=temperature + 0.05 * waves * np.exp(grid.height[:, None, None] / 700.0), u=u[:, :, None],
              surface=surface[:, None], stress_x=0.1 * np.cos(np.pi * across), heating=-80.0 * np.sin(np.pi * across),
              salinity=35.0)
    return model


def thermal_wind(grid: Grid, temperature: np.ndarray, salinity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Flow along x, (levels, rows), and the height of the surface, (rows,), that balance density, the bottom at rest.

    f u = -g d(surface)/dy - dp/dy, with the model's own pressure."""
    buoyancy = -GRAVITY * (density(temperature, salinity, grid.height[:, None]) / REFERENCE_DENSITY - 1.0)
    part = 0.5 * buoyancy * grid.level[:, None]
    pressure = -(np.cumsum(part, axis=0) + np.concatenate([np.zeros_like(part[:1]), np.cumsum(part, axis=0)[:-1]]))
    slope = np.gradient(pressure, grid.dy, axis=1)
    surface = -np.concatenate([[0.0], np.cumsum(0.5 * (slope[-1, 1:] + slope[-1, :-1]) * grid.dy)]) / GRAVITY
    u = -(GRAVITY * np.gradient(surface, grid.dy) + slope) / grid.coriolis[4:-4]
    return u, surface - surface.mean()


def haline(depth: float, frequency: float) -> float:
    """Change of salinity per metre (upwards) for a buoyancy frequency at 10 degrees and 35 g/kg, half way down."""
    steep = (density(10.0, 35.01, -depth / 2) - density(10.0, 34.99, -depth / 2)) / 0.02
    return float(-frequency ** 2 * REFERENCE_DENSITY / GRAVITY / steep)


def mode(depth: float, slope: float, count: int = 400) -> tuple[float, np.ndarray, np.ndarray]:
    """The speed in m/s of the longest internal waves where salinity changes by `slope` per metre, and the shape of
    their vertical motion: d2W/dz2 + (N/c)**2 W = 0, W = 0 at the surface and the bottom (Gill 1982, section 6.11)."""
    z = -depth * np.arange(1, count) / count
    step = depth / count
    salinity = 35.0 + slope * (z + depth / 2)
    steep = (density(10.0, salinity + 0.01, z) - density(10.0, salinity - 0.01, z)) / 0.02
    n2 = -GRAVITY / REFERENCE_DENSITY * slope * steep
    weight = 1.0 / np.sqrt(n2)
    values, vectors = eigh_tridiagonal(2.0 / step ** 2 * weight ** 2, -weight[1:] * weight[:-1] / step ** 2,
                                       select="i", select_range=(0, 0))
    shape = vectors[:, 0] * weight
    return float(1.0 / np.sqrt(values[0])), z, shape / shape[np.argmax(abs(shape))]


def internal_wave(nx: int = 32, nz: int = 40, depth: float = 1000.0, length: float = 100.0e3) -> tuple[Model, float]:
    """A standing wave of the first mode in water that does not rotate, and its phase speed in theory."""
    slope = haline(depth, 3.0e-3)
    speed, z, shape = mode(depth, slope)
    grid = Grid(np.full((4, nx), depth), levels(depth, nz), **plane(length, 4 * length / nx, 30.0), periodic_y=True,
                rotation=0.0, spherical=False)
    model = Model(grid, 500.0, 30, turbulence=False, viscosity=0.0, diffusivity=0.0, drag=0.0)
    lifted = 0.5 * np.interp(grid.height, z[::-1], shape[::-1])
    wave = np.cos(2.0 * np.pi * (np.arange(nx) + 0.5) / nx)
    salinity = 35.0 + slope * (grid.height[:, None] + depth / 2 - lifted[:, None] * wave)
    model.set(temperature=10.0, salinity=salinity[:, None, :])
    return model, speed


def adjustment(nx: int = 32, length: float = 2000.0e3, depth: float = 100.0) -> tuple[Model, float]:
    """Water at rest under a wave of the surface, on a plane that rotates, and k**2 times the radius of deformation
    squared: of the surface 1 / (1 + that) stays, as potential vorticity does (Gill 1982, section 7.2)."""
    grid = Grid(np.full((4, nx), depth), levels(depth, 4), **plane(length, 4 * length / nx, 43.3), periodic_y=True,
                varying_coriolis=False, spherical=False)
    model = Model(grid, 600.0, 10, turbulence=False, viscosity=0.0, diffusivity=0.0, drag=0.0)
    wave = np.cos(2.0 * np.pi * (np.arange(nx) + 0.5) / nx)
    model.set(temperature=10.0, surface=0.01 * wave)
    k = 2.0 * np.pi / length
    return model, GRAVITY * depth * (k / grid.coriolis[4]) ** 2


def eady(nx: int = 32, ny: int = 24, nz: int = 16, shear: float = 3.0e-4) -> tuple[Model, float]:
    """Uniform shear and stratification in a channel, a small wave of the length that grows fastest, and the rate of
    its growth in 1/s (Eady, Tellus 1, 1949): f U / (N H) ((mu/2 - tanh(mu/2)) (coth(mu/2) - mu/2))**0.5."""
    depth, frequency, latitude = 1000.0, 3.0e-3, 43.3
    turning = 2.0 * EARTH_ROTATION * np.sin(np.radians(latitude))
    radius = frequency * depth / turning
    length_x, length_y = 4.5 * radius, 6.0 * radius
    grid = Grid(np.full((ny, nx), depth), levels(depth, nz), **plane(length_x, length_y, latitude),
                varying_coriolis=False, spherical=False)
    cell = min(grid.dx[0], grid.dy)
    model = Model(grid, 400.0, int(np.ceil(400.0 * np.sqrt(2.0 * GRAVITY * depth) / cell)) + 2, turbulence=False,
                  viscosity=0.0, diffusivity=0.0, drag=0.0)
    up = haline(depth, frequency)
    across = -up * turning * shear / frequency ** 2
    y = (np.arange(ny) + 0.5) * grid.dy - length_y / 2
    salinity = 35.0 + up * (grid.height[:, None] + depth / 2) + across * y
    u, surface = thermal_wind(grid, np.full((nz, ny), 10.0), salinity)
    x = 2.0 * np.pi * (np.arange(nx) + 0.5) / nx
    wave = 1e-2 * up * depth * np.sin(np.pi * (np.arange(ny) + 0.5) / ny)[:, None] * np.cos(x)
    model.set(temperature=10.0, salinity=salinity[:, :, None] + 0.1 * wave, u=u[:, :, None], surface=surface[:, None])
    mu = radius * np.hypot(2.0 * np.pi / length_x, np.pi / length_y)
    half = mu / 2.0
    unstable = np.sqrt((half - np.tanh(half)) * (1.0 / np.tanh(half) - half))
    return model, float(turning / frequency * shear * unstable * 2.0 * np.pi / length_x * radius / mu)
