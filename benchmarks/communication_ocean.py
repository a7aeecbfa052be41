"""Ocean-like programs whose work for each device can stay the same on any number of them: shallow water, and a step of
hydrostatic flow in three dimensions, both with three ghost cells within the arrays, as a NumPy program has them.
"""
from __future__ import annotations

import numpy as np
from communication_cases import STEPS, fill_ghosts, inner_slope, water_numpy

EXPANSION, CORIOLIS, THICKNESS, GRAVITY, RATE = 2e-4, 1e-4, 0.1, 9.81, 0.002
LEVELS = 32


def inside(f):
    return f[3:-3, 3:-3]


def down(f):
    """The difference to the level below along the last dimension; none at the bottom."""
    return np.concatenate([f[..., 1:] - f[..., :-1], np.zeros_like(f[..., :1])], axis=-1)


def advected(q, u, v, w):
    return inside(u) * inner_slope(q, 1) + inside(v) * inner_slope(q, 0) + w * down(inside(q))


def ocean(u, v, t, surface):
    """Velocities and temperature on levels (rows, columns, levels), and the height of the surface: vertical velocity
    from what flows together, pressure from what lies above."""
    for _ in range(STEPS):
        fill_ghosts(u, v, t, surface)
        w = -THICKNESS * np.cumsum(inner_slope(u, 1) + inner_slope(v, 0), axis=-1)
        pressure = GRAVITY * (surface[..., None] - EXPANSION * THICKNESS * np.cumsum(t, axis=-1))
        du = -advected(u, u, v, w) - inner_slope(pressure, 1) + CORIOLIS * inside(v)
        dv = -advected(v, u, v, w) - inner_slope(pressure, 0) - CORIOLIS * inside(u)
        dt = -advected(t, u, v, w)
        flow_x, flow_y = THICKNESS * u.sum(axis=-1), THICKNESS * v.sum(axis=-1)
        ds = -(inner_slope(flow_x, 1) + inner_slope(flow_y, 0))
        for field, change in ((u, du), (v, dv), (t, dt), (surface, ds)):
            field[3:-3, 3:-3] += RATE * change


def water_shapes(rows, columns):
    return [(rows, columns)] * 3


def ocean_shapes(rows, columns):
    return [(rows, columns, LEVELS)] * 3 + [(rows, columns)]


SCALED = {"shallow water": (water_numpy, water_shapes, 2048), "ocean": (ocean, ocean_shapes, 256)}
"""Name -> program, the shapes of its arguments, and how many rows and columns each device has."""
