"""Kernels after the descriptions of PolyBench, SHOC and Rodinia, as programs of any size."""
import numpy as np

from tests.kernels.corpus.sized import program, up

# ---- PolyBench -------------------------------------------------------------------------------------------------------

@program(lambda r, n: (r.random((n + 3, n)), np.zeros(n), np.zeros((n, n))), 13, 160)
def covariance(k, n, data, mean, cov):
    k.mean_of[up(n, 32), 32](mean, data, n, n + 3)
    k.centred[(up(n, 32), up(n + 3, 8)), (32, 8)](mean, data, n, n + 3)
    k.covariances[up(n, 32), 32](cov, data, n, n + 3)


@program(lambda r, n: (r.random((n + 2, n)), np.zeros((n, n)), np.zeros((n + 2, n))), 6, 64, 1e-8)
def gramschmidt(k, n, a, r, q):
    for i in range(n):
        k.norm_of[1, 16](a, r, i, n + 2, n)
        k.unit[up(n + 2, 16), 16](a, r, q, i, n + 2, n)
        k.orthogonal[up(n, 16), 16](a, r, q, i, n + 2, n)


@program(lambda r, n: (r.random((n, n + 1)), r.random((n, n + 1)), r.random((n, n))), 11, 200)
def syr2k(k, n, a, b, c):
    k.syr2k_k[(up(n, 32), up(n, 8)), (32, 8)](a, b, c, 1.5, 0.25, n + 1, n)


@program(lambda r, n: (r.random((n, n + 1, 8)), r.random((8, 8))), 3, 100)
def doitgen(k, n, a, c4):
    k.doitgen_k[(n + 1, n), 8](a, c4, n, n + 1)


@program(lambda r, n: (r.random((n, n + 1, n + 2)), np.zeros((n, n + 1, n + 2))), 6, 48)
def conv3d(k, n, a, b):
    for i in range(1, n - 1):
        k.conv3[(up(n + 2, 32), up(n + 1, 8)), (32, 8)](a, b, n, n + 1, n + 2, i)


# ---- SHOC ------------------------------------------------------------------------------------------------------------

def _atoms(r, n):
    return (r.random((n, 4)) * 8, np.zeros((n, 4)), r.integers(0, n, (12, n)).astype(np.int32))


@program(lambda r, n: (*_atoms(r, n),), 70, 60_000)
def md(k, n, position, force, neighbours):
    k.lennard_jones[up(n, 64), 64](force, position, neighbours, n, 12, 16.0)


@program(lambda r, n: (r.random((9, n)), r.integers(0, n, (9, n)).astype(np.int32), r.integers(0, 10,
                   n).astype(np.int32),
                   r.random(n), np.zeros(n)), 75, 100_000)
def ellpack(k, n, values, columns, lengths, x, y):
    k.spmv_ell[up(n, 128), 128](values, columns, lengths, x, y, n)


@program(lambda r, n: (r.standard_normal((n, 64, 2)),), 3, 2000)
def fft64(k, n, work):
    k.fft_shared[n, 32](work)


# ---- Rodinia ---------------------------------------------------------------------------------------------------------

@program(lambda r, n: (r.random((5, n, n + 2)), 70 + r.random((5, n, n + 2)), np.zeros((5, n, n + 2))), 9, 250)
def hotspot3d(k, n, power, a, b):
    for _ in range(2):
        k.hot3d[(up(n + 2, 32), up(n, 4)), (32, 4)](power, a, b, n + 2, n, 5, 0.1, 0.12, 0.05, 0.01)
        k.hot3d[(up(n + 2, 32), up(n, 4)), (32, 4)](power, b, a, n + 2, n, 5, 0.1, 0.12, 0.05, 0.01)


@program(lambda r, n: (r.integers(-100, 100, n).astype(np.int32), np.zeros(n // 2 + 1, np.int32),
                   np.zeros(n // 2 + 1, np.int32)), 150, 400_001)
def dwt53(k, n, x, low, high):
    k.lift53[up(n, 64), 32](x, low, high, n)


@program(lambda r, n: (r.random((n, 12, 4)), r.random((n, 12)), np.zeros((n, 12, 4)),
                   r.integers(0, n, (n, 3)).astype(np.int32), r.integers(0, 4, n).astype(np.int32)), 5, 1500)
def lavamd(k, n, rv, qv, fv, first, neighbours):
    k.lava[n, 8](rv, qv, fv, first, neighbours, 0.5)


@program(lambda r, n: (r.random(n), r.random(n), np.cumsum(np.full(n, 1.0 / n)), np.sort(r.random(n)), np.zeros(n),
                   np.zeros(n)), 90, 4000)
def particlefilter(k, n, ax, ay, cdf, u, xj, yj):
    k.find_index[up(n, 128), 128](ax, ay, cdf, u, xj, yj, n)


def _tree(r, n):
    order, levels = 8, 3
    keys, children = [], []
    for level in range(levels):
        for node in range(order ** level):
            width = order ** (levels - level - 1)
            lo = node * order * width
            keys.append([lo + k * width for k in range(order)] + [lo + order * width])
            below = sum(order ** d for d in range(level + 1)) + node * order if level < levels - 1 else lo
            children.append([below + k for k in range(order)] + [0])
    return (np.array(keys, np.int32), np.array(children, np.int32), r.integers(0, order ** levels, n).astype(np.int32),
            np.zeros(n, np.int32), np.full(n, -1, np.int32))


@program(_tree, 6, 20_000)
def bplustree(k, n, keys, children, wanted, current, answer):
    k.find_k[n, 8](keys, children, wanted, current, answer, 3)


def _cells(r, n):
    neighbours = r.integers(-2, n, (4, n)).astype(np.int32)
    return (neighbours, r.standard_normal((4, 3, n)), 1 + r.random((5, n)), np.zeros((5, n)))


@program(_cells, 60, 40_000)
def cfd(k, n, around, normals, variables, fluxes):
    k.flux[up(n, 96), 96](around, normals, variables, fluxes, n)


@program(lambda r, n: (r.random((5, n)), r.random(n), r.integers(0, n, n).astype(np.int32), r.random(n),
                   r.integers(0, 4, n).astype(np.int32), np.zeros((n, 5)), np.zeros(n, np.int32)), 80, 50_000)
def streamcluster(k, n, coord, weight, assign, cost, center, work, switched):
    k.pgain[(up(n, 64) // 2 + 1, 2), 64, 0, 40](coord, weight, assign, cost, center, work, switched, n, 5, 3, 4)
