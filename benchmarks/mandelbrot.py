"""Escape times of the Mandelbrot set: only the points that are still bounded move on, through a boolean mask.

    z <- z^2 + c    while |z| <= 2
"""
import numpy as np

SIZES = {"full": (800, 600, 100), "tiny": (9, 7, 6)}


def escape_times(real, imaginary, limit):
    """How many iterations, at most `limit`, each point real[j] + i imaginary[k] stays bounded: integers [k, j]."""
    c = real[np.newaxis, :] + 1j * imaginary[:, np.newaxis]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(limit):
        bounded = np.abs(z) <= 2.0
        z[bounded] = z[bounded] ** 2 + c[bounded]
        counts[bounded] += 1
    return counts


def make(size="full"):
    width, height, limit = SIZES[size]
    return escape_times, (np.linspace(-2.0, 0.6, width), np.linspace(-1.2, 1.2, height), limit)


def numba_function():
    from numba import njit

    @njit
    def escape_times_loops(real, imaginary, limit):
        counts = np.zeros((len(imaginary), len(real)), dtype=np.int64)
        for k in range(len(imaginary)):
            for j in range(len(real)):
                c = complex(real[j], imaginary[k])
                z = 0j
                for _ in range(limit):
                    if abs(z) > 2.0:
                        break
                    z = z * z + c
                    counts[k, j] += 1
        return counts

    return escape_times_loops
