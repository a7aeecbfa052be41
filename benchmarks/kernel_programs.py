"""GPU kernels of the corpus at the sizes of a benchmark, and what a person would write for a CPU with Numba instead.

Each row: a host function that launches kernels, its arguments, and the same in `numba.njit(parallel=True)`, loops over
`prange` in the order of memory. A row's `small` arguments are for Numba's simulator, which runs a Python thread for
each GPU thread.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, prange

from tests.kernels.corpus import linear_algebra, patterns, science, stencils
from tests.kernels.corpus.case import blocks
from tests.kernels.corpus.patterns import normal_cdf
from tests.kernels.corpus.stencils import CX, CY, FILTER, WEIGHTS, weno_flux


@dataclass(frozen=True)
class Program:
    """kernels: by name. host: launches them, given as attributes of its first argument. rewrite: the same for a CPU, on
    the same arguments. make: the arguments for a scale."""

    kernels: dict[str, Any]
    host: Callable[..., Any]
    rewrite: Callable[..., Any]
    make: Callable[[int], tuple]
    size: int
    small: int
    rtol: float = 1e-9


PROGRAMS: dict[str, Program] = {}


def program(kernels: tuple, rewrite: Callable, make: Callable[[int], tuple], size: int, small: int,
            rtol: float = 1e-9) -> Callable[[Callable], Callable]:
    """Declare a row: its host function follows."""
    def add(host: Callable) -> Callable:
        PROGRAMS[host.__name__] = Program({k.__name__: k for k in kernels}, host, rewrite, make, size, small, rtol)
        return host
    return add


def random(*shape: int) -> np.ndarray:
    """Numbers between 0 and 1, the same ones for the same shape."""
    return np.random.default_rng(sum(shape)).random(shape)


# ---- stencils ----------------------------------------------------------------------------------------------------

@njit(parallel=True)
def _chain(a, b, steps):
    n = len(a)
    for _ in range(steps):
        for i in prange(1, n - 1):
            b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1]
        for i in prange(1, n - 1):
            a[i] = b[i] - 0.1 * (b[i + 1] - 2.0 * b[i] + b[i - 1])


@program((stencils.smooth, stencils.sharpen), _chain, lambda n: (random(n), np.zeros(n), 1000 if n > 1000 else 2),
         100_000, 512)
def stencil_chain(k, a, b, steps):
    n = len(a)
    for _ in range(steps):
        k.smooth[blocks(n, 128), 128](a, b, n)
        k.sharpen[blocks(n, 128), 128](b, a, n)


@njit(parallel=True)
def _heat_2d(u, v, steps):
    n, m = u.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j] + 0.1 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4 * v[i, j])


@program((stencils.heat2,), _heat_2d, lambda n: (u := random(n, n), u.copy(), 10), 1000, 24)
def heat_2d(k, u, v, steps):
    n, m = u.shape
    grid = blocks(n, 16), blocks(m, 16)
    for _ in range(steps):
        k.heat2[grid, (16, 16)](u, v, n, m, 0.1)
        k.heat2[grid, (16, 16)](v, u, n, m, 0.1)


@njit(parallel=True)
def _heat_3d(u, v, steps):
    n = len(u)
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    v[i, j, k] = (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                                  + u[i, j, k - 1] + u[i, j, k + 1]) / 6
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    u[i, j, k] = (v[i - 1, j, k] + v[i + 1, j, k] + v[i, j - 1, k] + v[i, j + 1, k]
                                  + v[i, j, k - 1] + v[i, j, k + 1]) / 6


@program((stencils.heat3,), _heat_3d, lambda n: (u := random(n, n, n), u.copy(), 10), 100, 8)
def heat_3d(k, u, v, steps):
    n = len(u)
    grid = (blocks(n, 8),) * 3
    for _ in range(steps):
        k.heat3[grid, (8, 8, 8)](u, v, n)
        k.heat3[grid, (8, 8, 8)](v, u, n)


@njit(parallel=True)
def _hotspot_step(temp, power, out):
    n, m = temp.shape
    for i in prange(n):
        for j in range(m):
            centre = temp[i, j]
            south = temp[i + 1, j] if i < n - 1 else centre
            north = temp[i - 1, j] if i > 0 else centre
            east = temp[i, j + 1] if j < m - 1 else centre
            west = temp[i, j - 1] if j > 0 else centre
            out[i, j] = centre + 0.5 * (power[i, j] + (south + north - 2 * centre) * 0.2
                                        + (east + west - 2 * centre) * 0.1 + (80.0 - centre) * 0.01)


@njit
def _hotspot(temp, power, out, steps):
    for _ in range(steps):
        _hotspot_step(temp, power, out)
        _hotspot_step(out, power, temp)


@program((stencils.hotspot,), _hotspot, lambda n: (70 + 20 * random(n, n), random(n, n), np.zeros((n, n)), 5), 1000, 16)
def hotspot(k, temp, power, out, steps):
    n, m = temp.shape
    grid = blocks(m, 8), blocks(n, 8)
    for _ in range(steps):
        k.hotspot[grid, (8, 8)](temp, power, out, n, m, 0.5, 0.1, 0.2, 0.01)
        k.hotspot[grid, (8, 8)](out, power, temp, n, m, 0.5, 0.1, 0.2, 0.01)


@njit(parallel=True)
def _srad(image, coefficient, dn, ds, dw, de, rows, cols, steps):
    n = rows * cols
    for i in prange(n):
        image[i] = math.exp(image[i] / 255)
    for _ in range(steps):
        for col in prange(cols):
            for row in range(rows):
                e = row + rows * col
                here = image[e]
                a = image[max(row - 1, 0) + rows * col] - here
                b = image[min(row + 1, rows - 1) + rows * col] - here
                c = image[row + rows * max(col - 1, 0)] - here
                d = image[row + rows * min(col + 1, cols - 1)] - here
                g2 = (a * a + b * b + c * c + d * d) / (here * here)
                laplace = (a + b + c + d) / here
                top = 0.5 * g2 - (1.0 / 16.0) * (laplace * laplace)
                bottom = 1 + 0.25 * laplace
                value = 1.0 / (1.0 + (top / (bottom * bottom) - 0.05) / (0.05 * (1 + 0.05)))
                coefficient[e] = min(max(value, 0.0), 1.0)
                dn[e], ds[e], dw[e], de[e] = a, b, c, d
        for col in prange(cols):
            for row in range(rows):
                e = row + rows * col
                cs = coefficient[min(row + 1, rows - 1) + rows * col]
                ce = coefficient[row + rows * min(col + 1, cols - 1)]
                here = coefficient[e]
                image[e] += 0.25 * 0.5 * (here * dn[e] + cs * ds[e] + here * dw[e] + ce * de[e])
    for i in prange(n):
        image[i] = math.log(image[i]) * 255


@program((stencils.extract, stencils.srad1, stencils.srad2, stencils.compress), _srad,
         lambda n: (100 + 50 * random(n * n), *(np.zeros(n * n) for _ in range(5)), n, n, 5), 700, 16)
def srad(k, image, coefficient, dn, ds, dw, de, rows, cols, steps):
    n = rows * cols
    grid = blocks(n, 256)
    k.extract[grid, 256](image, n)
    for _ in range(steps):
        k.srad1[grid, 256](image, coefficient, dn, ds, dw, de, rows, cols, 0.05)
        k.srad2[grid, 256](image, coefficient, dn, ds, dw, de, rows, cols, 0.5)
    k.compress[grid, 256](image, n)


@njit(parallel=True)
def _lbm_step(f, out, omega):
    _, n, m = f.shape
    for i in prange(n):
        moved = np.empty(9)
        for j in range(m):
            density, ux, uy = 0.0, 0.0, 0.0
            for q in range(9):
                moved[q] = f[q, (i - CX[q] + n) % n, (j - CY[q] + m) % m]
                density += moved[q]
                ux += CX[q] * moved[q]
                uy += CY[q] * moved[q]
            ux /= density
            uy /= density
            for q in range(9):
                cu = 3 * (CX[q] * ux + CY[q] * uy)
                equilibrium = WEIGHTS[q] * density * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
                out[q, i, j] = moved[q] + omega * (equilibrium - moved[q])


@njit
def _lbm(f, out, steps):
    for _ in range(steps):
        _lbm_step(f, out, 1.1)
        _lbm_step(out, f, 1.1)


@program((stencils.lbm,), _lbm,
         lambda n: (WEIGHTS[:, None, None] * (1 + 0.1 * random(9, n, n)), np.zeros((9, n, n)), 3), 300, 12)
def lbm(k, f, out, steps):
    _, n, m = f.shape
    grid = blocks(n, 8), blocks(m, 8)
    for _ in range(steps):
        k.lbm[grid, (8, 8)](f, out, n, m, 1.1)
        k.lbm[grid, (8, 8)](out, f, n, m, 1.1)


_flux = njit(inline="always")(weno_flux.py_func)


@njit(parallel=True)
def _weno5(u, out):
    n = len(u)
    for i in prange(n):
        right = _flux(u[(i + n - 2) % n], u[(i + n - 1) % n], u[i], u[(i + 1) % n], u[(i + 2) % n])
        left = _flux(u[(i + n - 3) % n], u[(i + n - 2) % n], u[(i + n - 1) % n], u[i], u[(i + 1) % n])
        out[i] = u[i] - 0.4 * (right - left)


@program((stencils.weno5,), _weno5, lambda n: (random(n), np.zeros(n)), 500_000, 256)
def weno5(k, u, out):
    n = len(u)
    k.weno5[blocks(n, 128), 128](u, out, n, 0.4)


@njit(parallel=True)
def _convolution_with_halo(x, y):
    n = len(x)
    for i in prange(n):
        total = np.float32(0)
        for k in range(7):
            if 0 <= i + k - 3 < n:
                total += x[i + k - 3] * FILTER[k]
        y[i] = total


@program((stencils.row_filter,), _convolution_with_halo,
         lambda n: (random(n).astype("f4"), np.zeros(n, "f4")), 2_000_000, 256, rtol=1e-5)
def convolution_with_halo(k, x, y):
    n = len(x)
    k.row_filter[blocks(n, 32), 32](x, y, n)


@njit(parallel=True)
def _convolution_2d(x, w, y):
    n, m = x.shape
    for i in prange(n):
        for j in range(m):
            total = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    if 0 <= i + a < n and 0 <= j + b < m:
                        total += x[i + a, j + b] * w[a + 1, b + 1]
            y[i, j] = total


@program((stencils.convolve2,), _convolution_2d, lambda n: (random(n, n), random(3, 3), np.zeros((n, n))), 1500, 16)
def convolution_2d(k, x, w, y):
    n, m = x.shape
    k.convolve2[(blocks(n, 16), blocks(m, 16)), (16, 16)](x, w, y, n, m)


# ---- linear algebra ----------------------------------------------------------------------------------------------

@njit(parallel=True)
def _matmul(a, b, c):
    n, m = a.shape
    p = b.shape[1]
    for i in prange(n):
        c[i] = 0.0
        for k in range(m):
            for j in range(p):
                c[i, j] += a[i, k] * b[k, j]


@program((linear_algebra.matmul_tiled,), _matmul, lambda n: (random(n, n), random(n, n + 1)[:, 1:].copy(),
                                                            np.zeros((n, n))), 500, 16)
def tiled_matmul(k, a, b, c):
    n, m = a.shape
    p = b.shape[1]
    k.matmul_tiled[(blocks(p, 8), blocks(n, 8)), (8, 8)](a, b, c, n, m, p)


@njit(parallel=True)
def _transpose(x, y):
    n, m = x.shape
    for block in prange((n + 31) // 32):
        first, last = block * 32, min(block * 32 + 32, n)
        for start in range(0, m, 32):
            for j in range(start, min(start + 32, m)):
                for i in range(first, last):
                    y[j, i] = x[i, j]


@program((linear_algebra.transpose,), _transpose, lambda n: (random(n, n + 8), np.zeros((n + 8, n))), 2000, 16)
def transpose(k, x, y):
    n, m = x.shape
    k.transpose[(blocks(m, 8), blocks(n, 8)), (8, 8)](x, y, n, m)


@njit(parallel=True)
def _spmv(values, columns, starts, x, y):
    for i in prange(len(y)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


def _sparse(n: int) -> tuple:
    r = np.random.default_rng(n)
    starts = np.concatenate([[0], np.cumsum(r.integers(0, 21, n))])
    return r.random(starts[-1]), r.integers(0, n, starts[-1]), starts, r.random(n), np.zeros(n)


@program((linear_algebra.spmv,), _spmv, _sparse, 100_000, 128)
def spmv_csr(k, values, columns, starts, x, y):
    n = len(y)
    k.spmv[blocks(n, 128), 128](values, columns, starts, x, y, n)


# ---- patterns ----------------------------------------------------------------------------------------------------

@njit(parallel=True)
def _reduction(x, out):
    for block in prange(len(out)):
        total = 0.0
        for i in range(block * 64, min(block * 64 + 64, len(x))):
            total += x[i]
        out[block] = total


@program((patterns.reduce_tree,), _reduction, lambda n: (random(n), np.zeros(blocks(n, 64))), 4_000_000, 256)
def reduction(k, x, out):
    k.reduce_tree[len(out), 64](x, out, len(x))


@njit(parallel=True)
def _histogram(x, bins):
    parts = 8
    local = np.zeros((parts, len(bins)), np.int64)
    for part in prange(parts):
        for i in range(part * len(x) // parts, (part + 1) * len(x) // parts):
            b = int(x[i] / 0.01)
            if 0 <= b < len(bins):
                local[part, b] += 1
    for part in range(parts):
        for b in range(len(bins)):
            bins[b] += local[part, b]


@program((patterns.histogram,), _histogram, lambda n: (random(n), np.zeros(100, np.int64)), 1_000_000, 256)
def histogram(k, x, bins):
    n = len(x)
    k.histogram[min(blocks(n, 256), 64), 256](x, bins, n, 0.0, 0.01)


@njit(parallel=True)
def _mandelbrot(out, limit):
    n, m = out.shape
    for i in prange(n):
        for j in range(m):
            cr, ci = -2.0 + 3.0 * j / m, -1.0 + 2.0 * i / n
            zr, zi = 0.0, 0.0
            count = limit
            for k in range(limit):
                zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
                if zr * zr + zi * zi > 4.0:
                    count = k
                    break
            out[i, j] = count


@program((patterns.mandelbrot,), _mandelbrot, lambda n: (np.zeros((n, n), np.int32), 100), 400, 16)
def mandelbrot(k, out, limit):
    n, m = out.shape
    k.mandelbrot[(blocks(n, 8), blocks(m, 8)), (8, 8)](out, n, m, limit)


_cdf = njit(inline="always")(normal_cdf.py_func)


@njit(parallel=True)
def _black_scholes(price, strike, years, call, put):
    for i in prange(len(price)):
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (0.02 + 0.5 * 0.3 * 0.3) * years[i]) / (0.3 * root)
        d2 = d1 - 0.3 * root
        a, b = _cdf(d1), _cdf(d2)
        discount = math.exp(-0.02 * years[i])
        call[i] = price[i] * a - strike[i] * discount * b
        put[i] = strike[i] * discount * (1.0 - b) - price[i] * (1.0 - a)


@program((patterns.black_scholes,), _black_scholes,
         lambda n: (20 + 5 * random(n), 15 + 9 * random(n + 1)[1:], 0.5 + random(n + 2)[2:], np.zeros(n), np.zeros(n)),
         400_000, 256)
def black_scholes(k, price, strike, years, call, put):
    n = len(price)
    k.black_scholes[blocks(n, 128), 128](price, strike, years, call, put, 0.02, 0.3, n)


# ---- science -----------------------------------------------------------------------------------------------------

@njit(parallel=True)
def _nbody(x, y, m, fx, fy):
    n = len(x)
    for i in prange(n):
        ax, ay = 0.0, 0.0
        for j in range(n):
            dx, dy = x[j] - x[i], y[j] - y[i]
            r2 = dx * dx + dy * dy + 0.01
            w = m[j] / (r2 * math.sqrt(r2))
            ax += w * dx
            ay += w * dy
        fx[i], fy[i] = ax, ay


@program((science.forces,), _nbody, lambda n: (*(random(n + k)[k:] for k in range(3)), np.zeros(n), np.zeros(n)),
         2000, 48, rtol=1e-7)
def nbody(k, x, y, m, fx, fy):
    n = len(x)
    k.forces[blocks(n, 16), 16](x, y, m, fx, fy, n)


@njit(parallel=True)
def _deposit(x, charge, grid):
    parts, cells = 8, len(grid)
    local = np.zeros((parts, cells))
    for part in prange(parts):
        for i in range(part * len(x) // parts, (part + 1) * len(x) // parts):
            place = x[i] * cells
            cell = int(math.floor(place))
            weight = place - cell
            local[part, cell % cells] += (1 - weight) * charge[i]
            local[part, (cell + 1) % cells] += weight * charge[i]
    for part in range(parts):
        for cell in range(cells):
            grid[cell] += local[part, cell]


@program((science.deposit,), _deposit, lambda n: (random(n), random(n + 1)[1:], np.zeros(max(n // 500, 8))),
         500_000, 128)
def particle_deposit(k, x, charge, grid):
    n = len(x)
    k.deposit[blocks(n, 128), 128](x, charge, grid, n, len(grid))


@njit(parallel=True)
def _floyd_step(distance, k):
    n = len(distance)
    for i in prange(n):
        for j in range(n):
            through = distance[i, k] + distance[k, j]
            if through < distance[i, j]:
                distance[i, j] = through


@njit
def _floyd_warshall(distance):
    for k in range(len(distance)):
        _floyd_step(distance, k)


@program((science.floyd_warshall,), _floyd_warshall, lambda n: (random(n, n),), 300, 8)
def floyd_warshall(k, distance):
    n = len(distance)
    for middle in range(n):
        k.floyd_warshall[(blocks(n, 16), blocks(n, 16)), (16, 16)](distance, n, middle)


@njit(parallel=True)
def _kmeans(points, centres, membership, sums, counts):
    n, features = points.shape
    clusters, parts = len(centres), 8
    local, hits = np.zeros((parts, clusters, features)), np.zeros((parts, clusters), np.int64)
    for part in prange(parts):
        for i in range(part * n // parts, (part + 1) * n // parts):
            best, index = 1e300, 0
            for c in range(clusters):
                total = 0.0
                for f in range(features):
                    d = points[i, f] - centres[c, f]
                    total += d * d
                if total < best:
                    best = total
                    index = c
            membership[i] = index
            hits[part, index] += 1
            for f in range(features):
                local[part, index, f] += points[i, f]
    for part in range(parts):
        for c in range(clusters):
            counts[c] += hits[part, c]
            for f in range(features):
                sums[c, f] += local[part, c, f]


@program((science.assign, science.accumulate), _kmeans,
         lambda n: (random(n, 4), random(16, 4), np.zeros(n, np.int64), np.zeros((16, 4)), np.zeros(16, np.int64)),
         100_000, 64)
def kmeans(k, points, centres, membership, sums, counts):
    n, features = points.shape
    k.assign[blocks(n, 128), 128](points, centres, membership, n, len(centres), features)
    k.accumulate[blocks(n, 128), 128](points, membership, sums, counts, n, features)
