"""Kernels after the descriptions of Parboil, Rodinia and the CUDA samples, as programs of any size."""
import numpy as np

from tests.kernels.corpus.sized import program, up

# ---- Parboil ---------------------------------------------------------------------------------------------------------

def _directions(r, n):
    points = r.standard_normal((3, n))
    points /= np.linalg.norm(points, axis=0)
    return *points.astype(np.float32), np.linspace(0.95, -0.95, 20, dtype=np.float32)


@program(lambda r, n: (np.zeros(20, np.int32), *_directions(r, n)), 150, 2000)
def tpacf(k, n, counts, x, y, z, limits):
    k.angles[up(n, 64), 64](counts, x, y, z, limits, n)


@program(lambda r, n: ((r.random((30, 4)) * 3).astype(np.float32), np.ones((n, n + 2, n + 4), np.float32)), 5, 40, 1e-4)
def cutcp(k, n, atoms, energy):
    k.potential[(up(n + 4, 8), up(n + 2, 4), up(n, 2)), (8, 4, 2)](atoms, 30, energy, n + 4, n + 2, n, 3.5 / n, 1.3)


# ---- Rodinia ---------------------------------------------------------------------------------------------------------

@program(lambda r, n: (r.integers(0, 10, (6, n)).astype(np.int32), r.integers(0, 10, n).astype(np.int32),
                       np.zeros(n, np.int32)), 70, 50_000)
def ghost_zones(k, n, cost, before, after):
    for first in (0, 2, 4):
        k.cheapest[up(n, 28), 32](cost, before, after, n, first, 2)
        before, after = after, before


@program(lambda r, n: (r.integers(0, 2**32, n).astype(np.uint32), np.array([0, 2, 6, 14, 30, 62, 126, 127], np.uint32),
                       np.array([1, 2, 3, 4, 5, 6, 7, 7], np.uint32), np.zeros(64 * up(n, 64), np.uint32),
                       np.zeros(up(n, 64), np.uint32)), 150, 60_000)
def prefix_code(k, n, data, codes, lengths, out, total):
    k.encode[up(n, 64), 64](data, codes, lengths, out, total, n)


# ---- the CUDA samples ------------------------------------------------------------------------------------------------

@program(lambda r, n: (r.random((n, n + 7)).astype(np.float32), *np.zeros((2, n, n + 7), np.float32)), 29, 800, 1e-5)
def separable(k, n, image, between, out):
    k.along_rows[(up(n + 7, 32), up(n, 4)), (8, 4)](image, between, n + 7, n)
    k.along_columns[(up(n + 7, 8), up(n, 16)), (8, 4)](between, out, n + 7, n)


@program(lambda r, n: (np.zeros((3, 16), np.uint32), r.integers(0, 2**32, n).astype(np.uint32)), 700, 200_000)
def byte_counts(k, n, sums, data):
    k.digits[3, 32](sums, data, n)
