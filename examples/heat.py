"""Heat spreading over a metal plate: an ordinary NumPy script, nothing in it knows about compilation.

    python examples/heat.py            # plain NumPy
    reactant demo heat                 # the same function through reactant.jit, compared with the plain run

    dT/dt = alpha laplacian(T), explicit Euler, insulated edges, two heaters held at a fixed temperature
"""
import time

import numpy as np


def plate_with_heaters(n=128):
    """A cold plate, (n, n) in degrees, with a warm disc in the middle."""
    y, x = np.mgrid[-1:1:n * 1j, -1:1:n * 1j]
    return np.where(x**2 + y**2 < 0.2, 60.0, 20.0)


def simulate(plate, steps, rate=0.2):
    """Advance the temperatures in `plate` in place by `steps` steps; the mean temperature after each, (steps,)."""
    n = len(plate)
    history = np.zeros(steps)
    interior = plate[1:-1, 1:-1]
    for step in range(steps):
        interior += rate * (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4.0 * interior)
        plate[0, :] = plate[1, :]
        plate[-1, :] = plate[-2, :]
        plate[:, 0] = plate[:, 1]
        plate[:, -1] = plate[:, -2]
        plate[n // 8:n // 4, n // 8:n // 4] = 100.0
        plate[-n // 4:-n // 8, n // 2:] = 0.0
        history[step] = interior.mean()
    return history


if __name__ == "__main__":
    plate = plate_with_heaters()
    start = time.perf_counter()
    history = simulate(plate, 10_000)
    print(f"mean temperature {history[0]:.3f} -> {history[-1]:.3f} degrees in {time.perf_counter() - start:.2f} s")
