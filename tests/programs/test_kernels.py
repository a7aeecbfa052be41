"""Classic numerical kernels as scientists write them in NumPy: loops, triangular slices, in-place updates.

Each runs plain and compiled at several sizes; results and written arguments agree.
"""
from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import check

RNG = np.random.default_rng


def spd(n, seed=0):
    a = RNG(seed).standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


# ---- linear algebra with triangular slices ---------------------------------------------------------------------

def cholesky(A):
    n = A.shape[0]
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, n):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def lu_by_dots(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def lu_by_outer(A):
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])


def forward_substitution(L, b):
    x = np.zeros_like(b)
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        norm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(norm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def symmetric_rank_update(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]


def triangular_multiply(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1:, i], B[i + 1:, j])
    B *= alpha


def sparse_product(values, columns, pointers, x):
    y = np.empty(pointers.size - 1, values.dtype)
    for i in range(pointers.size - 1):
        cols = columns[pointers[i]:pointers[i + 1]]
        vals = values[pointers[i]:pointers[i + 1]]
        y[i] = vals @ x[cols]
    return y


def correlation(data):
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float(data.shape[0])) * deviation
    corr = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        corr[i + 1:, i] = corr[i, i + 1:] = data[:, i] @ data[:, i + 1:]
    return corr


# ---- stencils --------------------------------------------------------------------------------------------------

def jacobi(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


def gauss_seidel(steps, A):
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            A[i, 1:-1] += (A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1]
                           + A[i + 1, 2:])
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def electromagnetic(steps, ex, ey, hz):
    for t in range(steps):
        ey[0, :] = float(t)
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def heat_3d(steps, A):
    for _ in range(steps):
        B = A.copy()
        for axis in range(3):
            moved, out = np.moveaxis(B, axis, 0), np.moveaxis(A, axis, 0)
            curve = moved[2:, 1:-1, 1:-1] - 2 * moved[1:-1, 1:-1, 1:-1] + moved[:-2, 1:-1, 1:-1]
            out[1:-1, 1:-1, 1:-1] += 0.1 * curve


def flux_limited_diffusion(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux = np.where(flux * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, flux)
    return field[2:-2, 2:-2] - coefficient * (flux[1:] - flux[:-1])


def vertical_advection(u, w, dt):
    """A tridiagonal solve along the last axis (Thomas), forward and backward."""
    n = u.shape[-1]
    c, d = np.zeros_like(u), np.zeros_like(u)
    for k in range(n):
        a = 0.25 * w[..., k]
        b = 1.0 / dt - a
        if k == 0:
            c[..., k] = a / (1.0 / dt)
            d[..., k] = u[..., k]
        else:
            m = 1.0 / (b - c[..., k - 1] * a)
            c[..., k] = a * m
            d[..., k] = (u[..., k] - d[..., k - 1] * a) * m
    x = np.zeros_like(u)
    x[..., n - 1] = d[..., n - 1]
    for k in range(n - 2, -1, -1):
        x[..., k] = d[..., k] - c[..., k] * x[..., k + 1]
    return x


# ---- integers, dynamic programming, transforms -----------------------------------------------------------------

def checksum(data, polynomial):
    crc = 0xFFFF
    for b in data:
        word = 0xFF & b
        for _ in range(8):
            if (crc & 1) ^ (word & 1):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            word >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) & 0xFF00) | (crc >> 8)


def base_pairs(sequence):
    """Nussinov's dynamic programme: most pairs in a folded chain."""
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if i + 1 < j:
                match = 1 if sequence[i] + sequence[j] == 3 else 0
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def shortest_paths(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


def edit_distance(a, b):
    previous = np.arange(b.size + 1)
    for i in range(a.size):
        current = np.empty_like(previous)
        current[0] = i + 1
        for j in range(b.size):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j] + cost, previous[j + 1] + 1, current[j] + 1)
        previous = current
    return previous[-1]


def radix_two_fft(x):
    n = x.shape[0]
    bits = n.bit_length() - 1
    order = np.array([int(f"{i:0{bits}b}"[::-1], 2) if bits else 0 for i in range(n)])
    y = x[order]
    half = 1
    while half < n:
        twiddle = np.exp(-1j * np.pi * np.arange(half) / half)
        pairs = y.reshape(-1, 2, half)
        even, odd = pairs[:, 0].copy(), pairs[:, 1] * twiddle
        pairs[:, 0] = even + odd
        pairs[:, 1] = even - odd
        half *= 2
    return y


def mandelbrot_counts(c, limit):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, np.int64)
    for _ in range(limit):
        inside = np.abs(z) < 2.0
        counts[inside] += 1
        z[inside] = z[inside] ** 2 + c[inside]
    return counts


def azimuthal_mean(data, radius, bins):
    top = radius.max()
    result = np.zeros(bins)
    for i in range(bins):
        low = top * i / bins
        high = top * (i + 1) / bins
        inside = np.logical_and(low <= radius, radius < high)
        result[i] = data[inside].mean()
    return result


def relax_until(A, tolerance):
    iterations = 0
    while True:
        before = A.copy()
        A[1:-1] = 0.5 * (A[:-2] + A[2:])
        iterations += 1
        if np.max(np.abs(A - before)) < tolerance or iterations >= 500:
            return iterations


def bisect(low, high, target):
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if middle ** 3 + middle < target:
            low = middle
        else:
            high = middle
    return low


def newton(x, tolerance):
    for iteration in range(50):
        step = (x ** 2 - 2.0) / (2.0 * x)
        x = x - step
        if abs(step) < tolerance:
            return x, iteration
    return x, -1


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def histogram_by_hand(values, bins):
    counts = np.zeros(bins, dtype=np.int64)
    low, high = values.min(), values.max()
    for v in values:
        k = int((v - low) / (high - low) * bins)
        if k == bins:
            k -= 1
        counts[k] += 1
    return counts


def bubble_sort(x):
    n = x.size
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break


def sieve(limit):
    prime = np.ones(limit + 1, dtype=bool)
    prime[:2] = False
    for i in range(2, int(limit ** 0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return prime


def matrix(n, seed=1, dtype=np.float64):
    return RNG(seed).standard_normal((n, n)).astype(dtype)


def csr(n, seed=3):
    dense = RNG(seed).random((n, n)) * (RNG(seed + 1).random((n, n)) < 0.4)
    pointers = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])
    return dense[dense != 0], np.nonzero(dense)[1], pointers, RNG(5).random(n)


KERNELS = {
    "cholesky": [(cholesky, (spd(n),)) for n in (1, 4, 9)],
    "lu_by_dots": [(lu_by_dots, (spd(n),)) for n in (1, 5, 8)],
    "lu_by_outer": [(lu_by_outer, (spd(n),)) for n in (1, 5, 16)] + [(lu_by_outer, (spd(6).astype(np.float32),))],
    "forward_substitution": [(forward_substitution, (np.tril(spd(n)), RNG(2).random(n))) for n in (1, 6, 20)],
    "gram_schmidt": [(gram_schmidt, (RNG(0).random((7, 4)),)), (gram_schmidt, (RNG(0).random((12, 12)),))],
    "durbin": [(durbin, (0.5 ** np.arange(1, n + 1),)) for n in (1, 2, 12)],
    "symmetric_rank_update": [(symmetric_rank_update, (1.5, 1.2, matrix(5), RNG(4).random((5, 3))))],
    "triangular_multiply": [(triangular_multiply, (1.5, matrix(4), RNG(4).random((4, 3))))],
    "sparse_product": [(sparse_product, csr(n)) for n in (3, 8, 20)],
    "correlation": [(correlation, (RNG(0).random((9, 5)),))],
    "jacobi": [(jacobi, (4, matrix(8), matrix(8, 2))), (jacobi, (400, matrix(7), matrix(7, 2)))],
    "gauss_seidel": [(gauss_seidel, (3, matrix(6)))],
    "electromagnetic": [(electromagnetic, (9, RNG(0).random((6, 8)), RNG(1).random((6, 8)), RNG(2).random((6, 8))))],
    "heat_3d": [(heat_3d, (3, RNG(0).random((5, 6, 7)))), (heat_3d, (300, RNG(0).random((5, 5, 5))))],
    "flux_limited_diffusion": [(flux_limited_diffusion, (RNG(0).random((9, 11)), 0.3))],
    "vertical_advection": [(vertical_advection, (RNG(0).random((3, 4, n)), RNG(1).random((3, 4, n)), 0.1))
                           for n in (2, 30)],
    "checksum": [(checksum, (RNG(0).integers(0, 256, n, dtype=np.uint8), 0x8408)) for n in (1, 100)],
    "base_pairs": [(base_pairs, (RNG(0).integers(0, 4, n),)) for n in (2, 7)],
    "shortest_paths": [(shortest_paths, (RNG(0).integers(1, 100, (n, n)),)) for n in (3, 40)],
    "edit_distance": [(edit_distance, (RNG(0).integers(0, 3, 7), RNG(1).integers(0, 3, 9)))],
    "radix_two_fft": [(radix_two_fft, (RNG(0).random(n) + 1j * RNG(1).random(n),)) for n in (1, 2, 16)],
    "mandelbrot_counts": [(mandelbrot_counts, (np.linspace(-2, 1, 30) + 1j * np.linspace(-1, 1, 20)[:, None], 20))],
    "azimuthal_mean": [(azimuthal_mean, (RNG(0).random(200), RNG(1).random(200), 4))],
    "relax_until": [(relax_until, (RNG(0).random(12), 1e-4)), (relax_until, (np.zeros(5), 1e-4))],
    "bisect": [(bisect, (0.0, 4.0, 10.0))],
    "newton": [(newton, (1.0, 1e-12)), (newton, (1.0, 0.0))],
    "collatz": [(collatz, (np.int64(27),)), (collatz, (np.int64(1),))],
    "histogram_by_hand": [(histogram_by_hand, (RNG(0).random(50), 7))],
    "bubble_sort": [(bubble_sort, (RNG(0).random(12),)), (bubble_sort, (np.arange(5),))],
    "sieve": [(sieve, (50,))],
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name):
    for function, args in KERNELS[name]:
        check(function, *args, rtol=1e-9, atol=1e-11)
