"""Solutions that are known: a wave that is carried, and a mode of a round cavity."""
from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import jv, jvp, yv, yvp

from .mesh import Mesh

VELOCITY = (1.0, 0.5)


def carried(mesh: Mesh, time: float) -> np.ndarray:
    """A wave in the periodic unit square after some time."""
    x, y = mesh.x - VELOCITY[0] * time, mesh.y - VELOCITY[1] * time
    return np.exp(np.sin(2 * np.pi * x) + np.cos(2 * np.pi * y))


class Cavity:
    """A mode between two conducting cylinders: ez = R(k r) cos(m angle) cos(k t), R of Bessel functions.

    Args:
        m: waves around.
        inner, outer: radii.
        number: 0 for the lowest frequency, 1 for the next...
    """

    def __init__(self, m: int = 3, inner: float = 1.0, outer: float = 2.0, number: int = 1) -> None:
        def at_both(k: float) -> float:
            return jv(m, k * inner) * yv(m, k * outer) - jv(m, k * outer) * yv(m, k * inner)
        tried = np.linspace(0.5, 40.0, 4000)
        values = at_both(tried)
        roots = [brentq(at_both, a, b) for a, b, low, high in zip(tried, tried[1:], values, values[1:], strict=False)
                 if low * high < 0.0]
        self.m, self.k, self.inner = m, roots[number], inner

    def fields(self, mesh: Mesh, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """hx, hy and ez after some time; c = 1."""
        m, k = self.m, self.k
        r, angle = np.hypot(mesh.x, mesh.y), np.arctan2(mesh.y, mesh.x)
        a, b = yv(m, k * self.inner), -jv(m, k * self.inner)
        radial, slope = a * jv(m, k * r) + b * yv(m, k * r), k * (a * jvp(m, k * r) + b * yvp(m, k * r))
        by_r, by_angle = slope * np.cos(m * angle), -m / r * radial * np.sin(m * angle)
        by_x = np.cos(angle) * by_r - np.sin(angle) * by_angle
        by_y = np.sin(angle) * by_r + np.cos(angle) * by_angle
        wave = np.sin(k * time) / k
        return -by_y * wave, by_x * wave, radial * np.cos(m * angle) * np.cos(k * time)
