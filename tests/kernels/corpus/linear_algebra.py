"""Matrices and vectors: products, transposes, decompositions, sparse products, conjugate gradients, tridiagonals."""
import math

import numpy as np
from numba import cuda

from tests.kernels.corpus.case import Case, blocks

CASES = []

# ---- products and transposes: plain, tiled ----------------------------------------------------------------------

TILE = 8
PADDED = TILE + 1


@cuda.jit
def matmul(a, b, c, n, m, p):
    i, j = cuda.grid(2)
    if i < n and j < p:
        total = 0.0
        for k in range(m):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def matmul_tiled(a, b, c, n, m, p):
    left = cuda.shared.array((TILE, TILE), "float64")
    right = cuda.shared.array((TILE, TILE), "float64")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i = cuda.blockIdx.y * TILE + ty
    j = cuda.blockIdx.x * TILE + tx
    total = 0.0
    for tile in range((m + TILE - 1) // TILE):
        left[ty, tx] = a[i, tile * TILE + tx] if i < n and tile * TILE + tx < m else 0.0
        right[ty, tx] = b[tile * TILE + ty, j] if tile * TILE + ty < m and j < p else 0.0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if i < n and j < p:
        c[i, j] = total


@cuda.jit
def transpose(x, y, n, m):
    tile = cuda.shared.array((TILE, PADDED), "float64")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i = cuda.blockIdx.y * TILE + ty
    j = cuda.blockIdx.x * TILE + tx
    if i < n and j < m:
        tile[ty, tx] = x[i, j]
    cuda.syncthreads()
    i2 = cuda.blockIdx.x * TILE + ty
    j2 = cuda.blockIdx.y * TILE + tx
    if i2 < m and j2 < n:
        y[i2, j2] = tile[tx, ty]


def _products(k, a, b, c, d, t):
    n, m = a.shape
    p = b.shape[1]
    k.matmul[(blocks(n, 8), blocks(p, 8)), (8, 8)](a, b, c, n, m, p)
    k.matmul_tiled[(blocks(p, 8), blocks(n, 8)), (8, 8)](a, b, d, n, m, p)
    k.transpose[(blocks(m, 8), blocks(n, 8)), (8, 8)](a, t, n, m)


def _products_reference(a, b, c, d, t):
    c[:] = d[:] = a @ b
    t[:] = a.T


CASES.append(Case("products", {"matmul": matmul, "matmul_tiled": matmul_tiled, "transpose": transpose}, """
#define TILE 8
extern "C" __global__ void matmul(const double *a, const double *b, double *c, int n, int m, int p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= p) return;
    double total = 0;
    for (int k = 0; k < m; ++k) total += a[i * m + k] * b[k * p + j];
    c[i * p + j] = total;
}
extern "C" __global__ void matmul_tiled(const double *a, const double *b, double *c, int n, int m, int p) {
    __shared__ double left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    double total = 0;
    for (int tile = 0; tile < (m + TILE - 1) / TILE; ++tile) {
        left[ty][tx] = i < n && tile * TILE + tx < m ? a[i * m + tile * TILE + tx] : 0;
        right[ty][tx] = tile * TILE + ty < m && j < p ? b[(tile * TILE + ty) * p + j] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) total += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    if (i < n && j < p) c[i * p + j] = total;
}
extern "C" __global__ void transpose(const double *x, double *y, int n, int m) {
    __shared__ double tile[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    if (i < n && j < m) tile[ty][tx] = x[i * m + j];
    __syncthreads();
    i = blockIdx.x * TILE + ty; j = blockIdx.y * TILE + tx;
    if (i < m && j < n) y[i * n + j] = tile[tx][ty];
}""", lambda r: (r.random((13, 19)), r.random((19, 11)), np.zeros((13, 11)), np.zeros((13, 11)), np.zeros((19, 13))),
    _products, _products_reference))

# ---- Gaussian elimination: multipliers and elimination of one column at a time ----------------------------------


@cuda.jit
def fan1(multipliers, a, n, t):
    i = cuda.grid(1)
    if i < n - 1 - t:
        multipliers[i + t + 1, t] = a[i + t + 1, t] / a[t, t]


@cuda.jit
def fan2(multipliers, a, b, n, t):
    i, j = cuda.grid(2)
    if i < n - 1 - t and j < n - t:
        a[i + 1 + t, j + t] -= multipliers[i + 1 + t, t] * a[t, j + t]
        if j == 0:
            b[i + 1 + t] -= multipliers[i + 1 + t, t] * b[t]


def _gaussian(k, multipliers, a, b):
    n = len(b)
    for t in range(n - 1):
        k.fan1[1, 16](multipliers, a, n, t)
        k.fan2[(2, 2), (8, 8)](multipliers, a, b, n, t)


def _gaussian_reference(multipliers, a, b):
    n = len(b)
    for t in range(n - 1):
        multipliers[t + 1:, t] = a[t + 1:, t] / a[t, t]
        a[t + 1:, t:] -= multipliers[t + 1:, t, None] * a[t, t:]
        b[t + 1:] -= multipliers[t + 1:, t] * b[t]


CASES.append(Case("gaussian", {"fan1": fan1, "fan2": fan2}, """
extern "C" __global__ void fan1(double *m, const double *a, int n, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1 - t) return;
    m[n * (i + t + 1) + t] = a[n * (i + t + 1) + t] / a[n * t + t];
}
extern "C" __global__ void fan2(const double *m, double *a, double *b, int n, int t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n - 1 - t || j >= n - t) return;
    a[n * (i + 1 + t) + j + t] -= m[n * (i + 1 + t) + t] * a[n * t + j + t];
    if (j == 0) b[i + 1 + t] -= m[n * (i + 1 + t) + t] * b[t];
}""", lambda r: (np.zeros((6, 6)), r.random((6, 6)) + 6 * np.eye(6), r.random(6)), _gaussian, _gaussian_reference))

# ---- LU: diagonal block, panels, inside ------------------------------------------------------------------------

B = 4


@cuda.jit
def lud_diagonal(a, n, offset):
    tile = cuda.shared.array((B, B), "float64")
    t = cuda.threadIdx.x
    for i in range(B):
        tile[i, t] = a[offset + i, offset + t]
    cuda.syncthreads()
    for i in range(B - 1):
        if t > i:
            for j in range(i):
                tile[t, i] -= tile[t, j] * tile[j, i]
            tile[t, i] /= tile[i, i]
        cuda.syncthreads()
        if t > i:
            for j in range(i + 1):
                tile[i + 1, t] -= tile[i + 1, j] * tile[j, t]
        cuda.syncthreads()
    for i in range(1, B):
        a[offset + i, offset + t] = tile[i, t]


@cuda.jit
def lud_panels(a, n, offset):
    diagonal = cuda.shared.array((B, B), "float64")
    t = cuda.threadIdx.x
    start = offset + B * (cuda.blockIdx.x + 1)
    for i in range(B):
        diagonal[i, t] = a[offset + i, offset + t]
    cuda.syncthreads()
    for i in range(1, B):
        for j in range(i):
            a[offset + i, start + t] -= diagonal[i, j] * a[offset + j, start + t]
    for i in range(B):
        for j in range(i):
            a[start + t, offset + i] -= a[start + t, offset + j] * diagonal[j, i]
        a[start + t, offset + i] /= diagonal[i, i]


@cuda.jit
def lud_inside(a, n, offset):
    row = cuda.shared.array((B, B), "float64")
    column = cuda.shared.array((B, B), "float64")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i = offset + (cuda.blockIdx.y + 1) * B
    j = offset + (cuda.blockIdx.x + 1) * B
    row[ty, tx] = a[offset + ty, j + tx]
    column[ty, tx] = a[i + ty, offset + tx]
    cuda.syncthreads()
    total = 0.0
    for k in range(B):
        total += column[ty, k] * row[k, tx]
    a[i + ty, j + tx] -= total


def _lud(k, a):
    n = a.shape[0]
    for offset in range(0, n - B, B):
        rest = (n - offset) // B - 1
        k.lud_diagonal[1, B](a, n, offset)
        k.lud_panels[rest, B](a, n, offset)
        k.lud_inside[(rest, rest), (B, B)](a, n, offset)
    k.lud_diagonal[1, B](a, n, n - B)


def _lud_reference(a):
    for i in range(len(a)):
        a[i + 1:, i] /= a[i, i]
        a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])


CASES.append(Case("lud", {"lud_diagonal": lud_diagonal, "lud_panels": lud_panels, "lud_inside": lud_inside}, """
#define B 4
extern "C" __global__ void lud_diagonal(double *a, int n, int offset) {
    __shared__ double tile[B][B];
    int t = threadIdx.x;
    for (int i = 0; i < B; ++i) tile[i][t] = a[(offset + i) * n + offset + t];
    __syncthreads();
    for (int i = 0; i < B - 1; ++i) {
        if (t > i) {
            for (int j = 0; j < i; ++j) tile[t][i] -= tile[t][j] * tile[j][i];
            tile[t][i] /= tile[i][i];
        }
        __syncthreads();
        if (t > i) for (int j = 0; j < i + 1; ++j) tile[i + 1][t] -= tile[i + 1][j] * tile[j][t];
        __syncthreads();
    }
    for (int i = 1; i < B; ++i) a[(offset + i) * n + offset + t] = tile[i][t];
}
extern "C" __global__ void lud_panels(double *a, int n, int offset) {
    __shared__ double diagonal[B][B];
    int t = threadIdx.x, start = offset + B * (blockIdx.x + 1);
    for (int i = 0; i < B; ++i) diagonal[i][t] = a[(offset + i) * n + offset + t];
    __syncthreads();
    for (int i = 1; i < B; ++i)
        for (int j = 0; j < i; ++j) a[(offset + i) * n + start + t] -= diagonal[i][j] * a[(offset + j) * n + start + t];
    for (int i = 0; i < B; ++i) {
        for (int j = 0; j < i; ++j) a[(start + t) * n + offset + i] -= a[(start + t) * n + offset + j] * diagonal[j][i];
        a[(start + t) * n + offset + i] /= diagonal[i][i];
    }
}
extern "C" __global__ void lud_inside(double *a, int n, int offset) {
    __shared__ double row[B][B], column[B][B];
    int tx = threadIdx.x, ty = threadIdx.y, i = offset + (blockIdx.y + 1) * B, j = offset + (blockIdx.x + 1) * B;
    row[ty][tx] = a[(offset + ty) * n + j + tx];
    column[ty][tx] = a[(i + ty) * n + offset + tx];
    __syncthreads();
    double total = 0;
    for (int k = 0; k < B; ++k) total += column[ty][k] * row[k][tx];
    a[(i + ty) * n + j + tx] -= total;
}""", lambda r: (r.random((12, 12)) + 12 * np.eye(12),), _lud, _lud_reference))

# ---- conjugate gradients on a sparse matrix --------------------------------------------------------------------


@cuda.jit
def spmv(values, columns, starts, x, y, n):
    i = cuda.grid(1)
    if i < n:
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


@cuda.jit
def dot(x, y, out, n):
    partial = cuda.shared.array(32, "float64")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = 0.0
    while i < n:
        total += x[i] * y[i]
        i += cuda.gridsize(1)
    partial[t] = total
    cuda.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, partial[0])


@cuda.jit
def axpy(y, x, top, bottom, sign, n):
    i = cuda.grid(1)
    if i < n:
        y[i] += sign * top[0] / bottom[0] * x[i]


@cuda.jit
def xpay(y, x, top, bottom, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + top[0] / bottom[0] * y[i]


def _cg(k, values, columns, starts, x, r, p, q, rho, new, pq):
    n = len(x)
    g = blocks(n, 32)
    k.dot[2, 32](r, r, rho, n)
    for _ in range(3):
        pq[0] = 0
        new[0] = 0
        k.spmv[g, 32](values, columns, starts, p, q, n)
        k.dot[2, 32](p, q, pq, n)
        k.axpy[g, 32](x, p, rho, pq, 1.0, n)
        k.axpy[g, 32](r, q, rho, pq, -1.0, n)
        k.dot[2, 32](r, r, new, n)
        k.xpay[g, 32](p, r, new, rho, n)
        rho[0] = new[0]


def _cg_reference(values, columns, starts, x, r, p, q, rho, new, pq):
    n = len(x)
    dense = np.zeros((n, n))
    for i in range(n):
        dense[i, columns[starts[i]:starts[i + 1]]] = values[starts[i]:starts[i + 1]]
    rho[0] = r @ r
    for _ in range(3):
        q[:] = dense @ p
        pq[0] = p @ q
        x += rho / pq * p
        r -= rho / pq * q
        new[0] = r @ r
        p[:] = r + new / rho * p
        rho[0] = new[0]


def _cg_arguments(r):
    n = 50
    columns, values, starts = [], [], [0]
    for i in range(n):
        for j in (i - 7, i - 1, i, i + 1, i + 7):
            if 0 <= j < n:
                columns.append(j)
                values.append(5.0 if i == j else -1.0)
        starts.append(len(columns))
    b = r.random(n)
    return (np.array(values), np.array(columns, np.int32), np.array(starts, np.int32), np.zeros(n), b, b.copy(),
            np.zeros(n), np.zeros(1), np.zeros(1), np.zeros(1))


CASES.append(Case("conjugate_gradients", {"spmv": spmv, "dot": dot, "axpy": axpy, "xpay": xpay}, """
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
extern "C" __global__ void spmv(const double *values, const int *columns, const int *starts, const double *x, double *y,
                                int n) {
    I;
    if (i >= n) return;
    double total = 0;
    for (int k = starts[i]; k < starts[i + 1]; ++k) total += values[k] * __ldg(&x[columns[k]]);
    y[i] = total;
}
extern "C" __global__ void dot(const double *x, const double *y, double *out, int n) {
    __shared__ double partial[32];
    I;
    double total = 0;
    for (; i < n; i += gridDim.x * blockDim.x) total += x[i] * y[i];
    partial[threadIdx.x] = total;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}
extern "C" __global__ void axpy(double *y, const double *x, const double *top, const double *bottom, double sign,
                                int n) {
    I;
    if (i < n) y[i] += sign * top[0] / bottom[0] * x[i];
}
extern "C" __global__ void xpay(double *y, const double *x, const double *top, const double *bottom, int n) {
    I;
    if (i < n) y[i] = x[i] + top[0] / bottom[0] * y[i];
}""", _cg_arguments, _cg, _cg_reference))

# ---- one tridiagonal system per thread, triangular solve by a block ----------------------------------------------


@cuda.jit
def tridiagonal(a, b, c, d, x, n, systems):
    s = cuda.grid(1)
    if s < systems:
        c[0, s] /= b[0, s]
        d[0, s] /= b[0, s]
        for i in range(1, n):
            m = 1.0 / (b[i, s] - a[i, s] * c[i - 1, s])
            c[i, s] *= m
            d[i, s] = (d[i, s] - a[i, s] * d[i - 1, s]) * m
        x[n - 1, s] = d[n - 1, s]
        for i in range(n - 2, -1, -1):
            x[i, s] = d[i, s] - c[i, s] * x[i + 1, s]


@cuda.jit
def forward_substitution(low, b, n):
    t = cuda.threadIdx.x
    for k in range(n):
        if t == k:
            b[k] /= low[k, k]
        cuda.syncthreads()
        if k < t < n:
            b[t] -= low[t, k] * b[k]
        cuda.syncthreads()


def _systems(k, a, b, c, d, x, low, y):
    k.tridiagonal[1, 32](a, b, c, d, x, 8, 20)
    k.forward_substitution[1, 16](low, y, 12)


def _systems_reference(a, b, c, d, x, low, y):
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, 8):
        m = 1 / (b[i] - a[i] * c[i - 1])
        c[i] *= m
        d[i] = (d[i] - a[i] * d[i - 1]) * m
    x[7] = d[7]
    for i in range(6, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    y[:] = np.linalg.solve(np.tril(low), y)


CASES.append(Case("systems", {"tridiagonal": tridiagonal, "forward_substitution": forward_substitution}, """
extern "C" __global__ void tridiagonal(const double *a, const double *b, double *c, double *d, double *x, int n,
                                       int systems) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
#define AT(p, i) p[(i) * systems + s]
    AT(c, 0) /= AT(b, 0);
    AT(d, 0) /= AT(b, 0);
    for (int i = 1; i < n; ++i) {
        double m = 1.0 / (AT(b, i) - AT(a, i) * AT(c, i - 1));
        AT(c, i) *= m;
        AT(d, i) = (AT(d, i) - AT(a, i) * AT(d, i - 1)) * m;
    }
    AT(x, n - 1) = AT(d, n - 1);
    for (int i = n - 2; i >= 0; --i) AT(x, i) = AT(d, i) - AT(c, i) * AT(x, i + 1);
}
extern "C" __global__ void forward_substitution(const double *low, double *b, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < n; ++k) {
        if (t == k) b[k] /= low[k * n + k];
        __syncthreads();
        if (t > k && t < n) b[t] -= low[t * n + k] * b[k];
        __syncthreads();
    }
}""", lambda r: (r.random((8, 20)), 4 + r.random((8, 20)), r.random((8, 20)), r.random((8, 20)), np.zeros((8, 20)),
                 np.tril(r.random((12, 12))) + 12 * np.eye(12), r.random(12)), _systems, _systems_reference))

# ---- outer structure: batched small matrices, norms ------------------------------------------------------------


@cuda.jit
def normalize(x, out, n):
    i = cuda.grid(1)
    if i < n:
        total = 0.0
        for j in range(n):
            total += x[j]
        out[i] = x[i] / total


@cuda.jit
def softmax_rows(x, y, n, m):
    top = cuda.shared.array(1, "float32")
    total = cuda.shared.array(1, "float32")
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t == 0:
        top[0] = -1e30
        total[0] = 0
    cuda.syncthreads()
    for j in range(t, m, cuda.blockDim.x):
        cuda.atomic.max(top, 0, x[row, j])
    cuda.syncthreads()
    for j in range(t, m, cuda.blockDim.x):
        y[row, j] = math.exp(x[row, j] - top[0])
        cuda.atomic.add(total, 0, y[row, j])
    cuda.syncthreads()
    for j in range(t, m, cuda.blockDim.x):
        y[row, j] /= total[0]


def _normalizations(k, x, out, rows, y):
    k.normalize[blocks(40, 32), 32](x, out, 40)
    k.softmax_rows[5, 16](rows, y, 5, 37)


def _normalizations_reference(x, out, rows, y):
    out[:] = x / x.sum()
    e = np.exp(rows - rows.max(1, keepdims=True))
    y[:] = e / e.sum(1, keepdims=True)


CASES.append(Case("normalizations", {"normalize": normalize, "softmax_rows": softmax_rows}, """
extern "C" __global__ void normalize(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double total = 0;
    for (int j = 0; j < n; ++j) total += x[j];
    out[i] = x[i] / total;
}
extern "C" __global__ void softmax_rows(const float *x, float *y, int n, int m) {
    __shared__ float tops[16], totals[16];
    int row = blockIdx.x, t = threadIdx.x;
    float top = -1e30f, total = 0;
    for (int j = t; j < m; j += blockDim.x) top = fmaxf(top, x[row * m + j]);
    tops[t] = top;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) tops[t] = fmaxf(tops[t], tops[t + s]);
        __syncthreads();
    }
    for (int j = t; j < m; j += blockDim.x) total += y[row * m + j] = expf(x[row * m + j] - tops[0]);
    totals[t] = total;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) totals[t] += totals[t + s];
        __syncthreads();
    }
    for (int j = t; j < m; j += blockDim.x) y[row * m + j] /= totals[0];
}""", lambda r: (r.random(40), np.zeros(40), r.standard_normal((5, 37)).astype("f4"), np.zeros((5, 37), "f4")),
    _normalizations, _normalizations_reference, rtol=1e-5))
