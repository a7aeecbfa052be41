"""Sedov's similarity solution of a point blast in a cold gas (Kamm and Timmes, LA-UR-07-2849, 2007)."""
from __future__ import annotations

import numpy as np

GAMMA = 1.4


def similarity(v: np.ndarray) -> tuple[np.ndarray, ...]:
    """For the parameter 2/(5 gamma) < v <= 4/(5 (gamma + 1)): radius, speed, density and pressure over the shock's."""
    g, j = GAMMA, 3
    a, b, c = (j + 2) * (g + 1) / 4, (g + 1) / (g - 1), (j + 2) * g / 2
    d = (j + 2) * (g + 1) / ((j + 2) * (g + 1) - 2 * (2 + j * (g - 1)))
    e = (2 + j * (g - 1)) / 2
    a0, a2 = 2 / (j + 2), -(g - 1) / (2 * (g - 1) + j)
    a1 = (j + 2) * g / (2 + j * (g - 1)) * (2 * j * (2 - g) / (g * (j + 2) ** 2) - a2)
    a3, a4, a5 = j / (2 * (g - 1) + j), a1 * (j + 2) / (2 - g), -2 / (2 - g)
    x1, x2, x3, x4 = a * v, b * (c * v - 1), d * (1 - e * v), b * (1 - c * v / g)
    radius = x1**-a0 * x2**-a2 * x3**-a1
    return radius, x1 * radius, x2**a3 * x3**a4 * x4**a5, x1**(a0 * j) * x3**(a4 - 2 * a1) * x4**(1 + a5)


def _parameters(count: int) -> np.ndarray:
    low, high = 2 / (5 * GAMMA), 4 / (5 * (GAMMA + 1))
    return low + (high - low) * np.linspace(0, 1, count)[1:] ** 6


def energy_constant() -> float:
    """alpha in E = alpha rho R^5 / t^2, for the radius R at the time t."""
    radius, speed, density, pressure = similarity(_parameters(200_001))
    g = GAMMA
    # Behind the shock of speed D = 2 R / (5 t): v = 2 D / (g + 1), rho (g + 1) / (g - 1), p = 2 rho D^2 / (g + 1).
    per = 0.5 * (g + 1) / (g - 1) * density * (2 / (g + 1) * speed) ** 2 + 2 / (g + 1) / (g - 1) * pressure
    return float(4 * np.pi * (2 / 5) ** 2 * np.trapezoid(per * radius**2, radius))


def shock_radius(energy: float, density: float, time: float) -> float:
    """Of a blast of `energy`, J, in a gas of `density`, kg/m3, after `time`, s: metres."""
    return (energy * time**2 / (energy_constant() * density)) ** 0.2


def density_at(radius: np.ndarray, shock: float) -> np.ndarray:
    """Density over that of the gas, at distances from the middle, where the shock is at `shock`."""
    places, _, density, _ = similarity(_parameters(20_001))
    within = np.interp(radius / shock, places, density * (GAMMA + 1) / (GAMMA - 1), left=0.0)
    return np.where(radius <= shock, within, 1.0)
