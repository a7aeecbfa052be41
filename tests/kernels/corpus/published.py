"""Kernels after published descriptions: SHOC, Rodinia, PolyBench; scans, sorts and alignments."""
import math

import numpy as np
from numba import cuda, float64, int32, uint32

from tests.kernels.corpus.case import Case

CASES = []

# ---- sparse products: ELLPACK, a warp for each row, coordinates ------------------------------------------------------


@cuda.jit
def spmv_ell(rows, per, col, val, x, y):
    r = cuda.grid(1)
    if r < rows:
        dot = 0.0
        for n in range(per):
            c = col[rows * n + r]
            v = val[rows * n + r]
            if v != 0:
                dot += v * x[c]
        y[r] += dot


@cuda.jit
def spmv_csr_vector(rows, ptr, col, val, x, y):
    vals = cuda.shared.array(128, float64)
    thread = cuda.grid(1)
    row = thread // 32
    lane = thread & 31
    t = cuda.threadIdx.x
    vals[t] = 0
    if row < rows:
        for j in range(ptr[row] + lane, ptr[row + 1], 32):
            vals[t] += val[j] * x[col[j]]
    cuda.syncthreads()
    s = 16
    while s > 0:
        if lane < s:
            vals[t] += vals[t + s]
        cuda.syncthreads()
        s //= 2
    if row < rows and lane == 0:
        y[row] += vals[t]


@cuda.jit
def spmv_coo(nnz, row, col, val, x, y):
    i = cuda.grid(1)
    while i < nnz:
        cuda.atomic.add(y, row[i], val[i] * x[col[i]])
        i += cuda.gridsize(1)


def _spmv(k, columns, values, x, y, starts, columns2, values2, z, rows, columns3, values3, w):
    k.spmv_ell[2, 32](37, 5, columns, values, x, y)
    k.spmv_csr_vector[10, 128](37, starts, columns2, values2, x, z)
    k.spmv_coo[2, 32](111, rows, columns3, values3, x, w)


def _spmv_reference(columns, values, x, y, starts, columns2, values2, z, rows, columns3, values3, w):
    y += (values.reshape(5, 37) * x[columns.reshape(5, 37)]).sum(0)
    np.add.at(z, np.repeat(np.arange(37), np.diff(starts)), values2 * x[columns2])
    np.add.at(w, rows, values3 * x[columns3])


def _spmv_arguments(r):
    starts = np.concatenate([[0], np.cumsum(r.integers(0, 50, 37))]).astype(np.int32)
    many = int(starts[-1])
    return (r.integers(0, 37, 185).astype(np.int32), r.standard_normal(185), r.standard_normal(37), np.zeros(37),
            starts, r.integers(0, 37, many).astype(np.int32), r.standard_normal(many), np.zeros(37),
            r.integers(0, 37, 111).astype(np.int32), r.integers(0, 37, 111).astype(np.int32), r.standard_normal(111),
            np.zeros(37))


CASES.append(Case("spmv", {"spmv_ell": spmv_ell, "spmv_csr_vector": spmv_csr_vector, "spmv_coo": spmv_coo}, r"""
extern "C" __global__ void spmv_ell(int rows, int per, const int *col, const double *val, const double *x, double *y) {
    int r = blockDim.x * blockIdx.x + threadIdx.x;
    if (r < rows) {
        double dot = 0;
        for (int n = 0; n < per; n++) { int c = col[rows * n + r]; double v = val[rows * n + r];
            if (v != 0) dot += v * x[c]; }
        y[r] += dot;
    }
}
extern "C" __global__ void spmv_csr_vector(int rows, const int *ptr, const int *col, const double *val,
        const double *x, double *y) {
    __shared__ double vals[128];
    int thread = blockDim.x * blockIdx.x + threadIdx.x, warp = thread / 32, lane = thread & 31, row = warp;
    if (row < rows) {
        int start = ptr[row], end = ptr[row + 1];
        vals[threadIdx.x] = 0;
        for (int j = start + lane; j < end; j += 32) vals[threadIdx.x] += val[j] * x[col[j]];
        __syncwarp();
        if (lane < 16) vals[threadIdx.x] += vals[threadIdx.x + 16]; __syncwarp();
        if (lane < 8) vals[threadIdx.x] += vals[threadIdx.x + 8]; __syncwarp();
        if (lane < 4) vals[threadIdx.x] += vals[threadIdx.x + 4]; __syncwarp();
        if (lane < 2) vals[threadIdx.x] += vals[threadIdx.x + 2]; __syncwarp();
        if (lane < 1) vals[threadIdx.x] += vals[threadIdx.x + 1]; __syncwarp();
        if (lane == 0) y[row] += vals[threadIdx.x];
    }
}
extern "C" __global__ void spmv_coo(int nnz, const int *row, const int *col, const double *val,
        const double *x, double *y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nnz;
        i += gridDim.x * blockDim.x) atomicAdd(&y[row[i]], val[i] * x[col[i]]);
}
""", _spmv_arguments, _spmv, _spmv_reference))

# ---- PolyBench: syrk, gemver, correlation ----------------------------------------------------------------------------


@cuda.jit
def syrk(ni, nj, alpha, beta, a, c):
    j, i = cuda.grid(2)
    if i < ni and j < ni:
        c[i, j] *= beta
        for k in range(nj):
            c[i, j] += alpha * a[i, k] * a[j, k]


@cuda.jit
def gemver1(n, u1, v1, u2, v2, a):
    j, i = cuda.grid(2)
    if i < n and j < n:
        a[i, j] += u1[i] * v1[j] + u2[i] * v2[j]


@cuda.jit
def gemver2(n, beta, a, x, y, z):
    i = cuda.grid(1)
    if i < n:
        for j in range(n):
            x[i] += beta * a[j, i] * y[j]
        x[i] += z[i]


@cuda.jit
def mean_kernel(m, n, mean, data):
    j = cuda.grid(1)
    if j < m:
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n


@cuda.jit
def std_kernel(m, n, mean, sd, data):
    j = cuda.grid(1)
    if j < m:
        sd[j] = 0.0
        for i in range(n):
            sd[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        sd[j] /= n
        sd[j] = math.sqrt(sd[j])
        if sd[j] <= 0.005:
            sd[j] = 1.0


@cuda.jit
def reduce_kernel(m, n, mean, sd, data):
    j, i = cuda.grid(2)
    if i < n and j < m:
        data[i, j] -= mean[j]
        data[i, j] /= math.sqrt(float(n)) * sd[j]


@cuda.jit
def corr_kernel(m, n, symmat, data):
    j1 = cuda.grid(1)
    if j1 < m - 1:
        symmat[j1, j1] = 1.0
        for j2 in range(j1 + 1, m):
            symmat[j1, j2] = 0.0
            for i in range(n):
                symmat[j1, j2] += data[i, j1] * data[i, j2]
            symmat[j2, j1] = symmat[j1, j2]


def _polybench(k, data, c, u1, v1, u2, v2, a, x, y, z, mean, deviation, correlation):
    k.syrk[(2, 4), (8, 4)](13, 7, 1.5, 0.5, data, c)
    k.gemver1[(2, 2), (8, 8)](13, u1, v1, u2, v2, a)
    k.gemver2[1, 32](13, 0.7, a, x, y, z)
    k.mean_kernel[1, 8](7, 13, mean, data)
    k.std_kernel[1, 8](7, 13, mean, deviation, data)
    k.reduce_kernel[(1, 2), (8, 8)](7, 13, mean, deviation, data)
    k.corr_kernel[1, 8](7, 13, correlation, data)


def _polybench_reference(data, c, u1, v1, u2, v2, a, x, y, z, mean, deviation, correlation):
    c[:] = 0.5 * c + 1.5 * data @ data.T
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x += 0.7 * a.T @ y + z
    mean[:], deviation[:] = data.mean(0), data.std(0)
    data[:] = (data - mean) / (math.sqrt(13) * deviation)
    correlation[:] = data.T @ data
    correlation[range(6), range(6)] = 1
    correlation[6, 6] = 0


def _polybench_arguments(r):
    return (r.standard_normal((13, 7)), r.standard_normal((13, 13)), *r.standard_normal((4, 13)),
            r.standard_normal((13, 13)), *r.standard_normal((3, 13)), np.zeros(7), np.zeros(7), np.zeros((7, 7)))


CASES.append(Case("polybench", {"syrk": syrk, "gemver1": gemver1, "gemver2": gemver2, "mean_kernel": mean_kernel,
                                "std_kernel": std_kernel,
                                "reduce_kernel": reduce_kernel, "corr_kernel": corr_kernel}, r"""
extern "C" __global__ void syrk(int ni, int nj, double alpha, double beta, const double *a, double *c) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if ((i < ni) && (j < ni)) { c[i * ni + j] *= beta; for (int k = 0; k < nj;
        k++) c[i * ni + j] += alpha * a[i * nj + k] * a[j * nj + k]; }
}
extern "C" __global__ void gemver1(int n, const double *u1, const double *v1, const double *u2, const double *v2,
        double *a) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if ((i < n) && (j < n)) a[i * n + j] += u1[i] * v1[j] + u2[i] * v2[j];
}
extern "C" __global__ void gemver2(int n, double beta, const double *a, double *x, const double *y, const double *z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { for (int j = 0; j < n; j++) x[i] += beta * a[j * n + i] * y[j]; x[i] += z[i]; }
}
extern "C" __global__ void mean_kernel(int m, int n, double *mean, const double *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) { mean[j] = 0.0; for (int i = 0; i < n; i++) mean[j] += data[i * m + j]; mean[j] /= (double)n; }
}
extern "C" __global__ void std_kernel(int m, int n, const double *mean, double *sd, const double *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m) { sd[j] = 0.0; for (int i = 0; i < n;
        i++) sd[j] += (data[i * m + j] - mean[j]) * (data[i * m + j] - mean[j]); sd[j] /= (double)n;
        sd[j] = sqrt(sd[j]); if (sd[j] <= 0.005) sd[j] = 1.0; }
}
extern "C" __global__ void reduce_kernel(int m, int n, const double *mean, const double *sd, double *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if ((i < n) && (j < m)) { data[i * m + j] -= mean[j]; data[i * m + j] /= (sqrt((double)n) * sd[j]); }
}
extern "C" __global__ void corr_kernel(int m, int n, double *symmat, const double *data) {
    int j1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (j1 < m - 1) {
        symmat[j1 * m + j1] = 1.0;
        for (int j2 = j1 + 1; j2 < m; j2++) {
            symmat[j1 * m + j2] = 0.0;
            for (int i = 0; i < n; i++) symmat[j1 * m + j2] += data[i * m + j1] * data[i * m + j2];
            symmat[j2 * m + j1] = symmat[j1 * m + j2];
        }
    }
}
""", _polybench_arguments, _polybench, _polybench_reference))

# ---- scan of segments ------------------------------------------------------------------------------------------------


@cuda.jit
def segscan(x, flag, y, n):
    v = cuda.shared.array(64, float64)
    f = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v[t] = x[i] if i < n else 0.0
    f[t] = flag[i] if i < n else 1
    d = 1
    while d < 64:
        cuda.syncthreads()
        a = v[t]
        b = f[t]
        if t >= d:
            if b == 0:
                a += v[t - d]
            b |= f[t - d]
        cuda.syncthreads()
        v[t] = a
        f[t] = b
        d *= 2
    if i < n:
        y[i] = v[t]


def _segscan(k, x, flags, y):
    k.segscan[3, 64](x, flags, y, 150)


def _segscan_reference(x, flags, y):
    for i in range(150):
        y[i] = x[i] + (0 if flags[i] or i % 64 == 0 else y[i - 1])


def _segscan_arguments(r):
    return r.standard_normal(150), (r.random(150) < 0.2).astype(np.int32), np.zeros(150)


CASES.append(Case("segmented_scan", {"segscan": segscan}, r"""
extern "C" __global__ void segscan(const double *x, const int *flag, double *y, int n) {
    __shared__ double v[64]; __shared__ int f[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    v[t] = i < n ? x[i] : 0; f[t] = i < n ? flag[i] : 1;
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        double a = v[t]; int b = f[t];
        if (t >= d) { if (!b) a += v[t - d]; b |= f[t - d]; }
        __syncthreads();
        v[t] = a; f[t] = b;
    }
    if (i < n) y[i] = v[t];
}
""", _segscan_arguments, _segscan, _segscan_reference))

# ---- radix sort of a block, one bit at a time ------------------------------------------------------------------------


@cuda.jit
def radix_split(inp, out, n, bits):
    keys = cuda.shared.array(96, uint32)
    scan = cuda.shared.array(96, int32)
    total = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * cuda.blockDim.x
    here = min(cuda.blockDim.x, n - base)
    if t < here:
        keys[t] = inp[base + t]
    else:
        keys[t] = 0xffffffff
    for b in range(bits):
        cuda.syncthreads()
        k = keys[t]
        e = 1 - ((k >> b) & 1)
        scan[t] = e
        cuda.syncthreads()
        d = 1
        while d < cuda.blockDim.x:
            v = scan[t - d] if t >= d else 0
            cuda.syncthreads()
            scan[t] += v
            cuda.syncthreads()
            d *= 2
        if t == cuda.blockDim.x - 1:
            total[0] = scan[t]
        cuda.syncthreads()
        before = scan[t] - e
        if e:
            keys[before] = k
        else:
            keys[t - before + total[0]] = k
    cuda.syncthreads()
    if t < here:
        out[base + t] = keys[t]


def _radix(k, x, y):
    k.radix_split[3, 96](x, y, 200, 6)


def _radix_reference(x, y):
    for part in (slice(0, 96), slice(96, 192), slice(192, 200)):
        y[part] = np.sort(x[part])


def _radix_arguments(r):
    return r.integers(0, 64, 200).astype(np.uint32), np.zeros(200, np.uint32)


CASES.append(Case("radix_split", {"radix_split": radix_split}, r"""
extern "C" __global__ void radix_split(const unsigned *in, unsigned *out, int n, int bits) {
    __shared__ unsigned keys[96], scan[96];
    __shared__ unsigned total;
    int t = threadIdx.x, base = blockIdx.x * blockDim.x, here = min((int)blockDim.x, n - base);
    keys[t] = t < here ? in[base + t] : 0xffffffffu;
    for (int b = 0; b < bits; ++b) {
        __syncthreads();
        unsigned k = keys[t];
        unsigned e = !((k >> b) & 1);
        scan[t] = e;
        __syncthreads();
        for (int d = 1; d < blockDim.x; d <<= 1) {
            unsigned v = t >= d ? scan[t - d] : 0;
            __syncthreads();
            scan[t] += v;
            __syncthreads();
        }
        if (t == blockDim.x - 1) total = scan[t];
        __syncthreads();
        unsigned before = scan[t] - e;
        unsigned dst = e ? before : t - before + total;
        keys[dst] = k;
    }
    __syncthreads();
    if (t < here) out[base + t] = keys[t];
}
""", _radix_arguments, _radix, _radix_reference))

# ---- alignment along diagonals (Smith-Waterman) ----------------------------------------------------------------------


@cuda.jit
def sw(a, b, H, best, n, m, gap):
    t = cuda.threadIdx.x
    mine = 0
    for d in range(n + m - 1):
        i = t
        j = d - t
        if i < n and j >= 0 and j < m:
            diag = H[i, j] + (3 if a[i] == b[j] else -2)
            up = H[i, j + 1] - gap
            left = H[i + 1, j] - gap
            h = max(max(diag, 0), max(up, left))
            H[i + 1, j + 1] = h
            mine = max(mine, h)
        cuda.syncthreads()
    cuda.atomic.max(best, 0, mine)


def _alignment(k, a, b, scores, best):
    k.sw[1, 64](a, b, scores, best, 40, 33, 1)


def _alignment_reference(a, b, scores, best):
    for i in range(40):
        for j in range(33):
            scores[i + 1, j + 1] = max(0, scores[i, j] + (3 if a[i] == b[j] else -2), scores[i, j + 1] - 1,
                                       scores[i + 1, j] - 1)
    best[0] = scores.max()


def _alignment_arguments(r):
    return (r.integers(0, 4, 40).astype(np.int32), r.integers(0, 4, 33).astype(np.int32),
            np.zeros((41, 34), np.int32), np.zeros(1, np.int32))


CASES.append(Case("smith_waterman", {"sw": sw}, r"""
extern "C" __global__ void sw(const int *a, const int *b, int *H, int *best, int n, int m, int gap) {
    int t = threadIdx.x;
    int mine = 0;
    for (int d = 0; d < n + m - 1; ++d) {
        int i = t, j = d - t;
        if (i < n && j >= 0 && j < m) {
            int diag = H[i * (m + 1) + j] + (a[i] == b[j] ? 3 : -2);
            int up = H[i * (m + 1) + j + 1] - gap, left = H[(i + 1) * (m + 1) + j] - gap;
            int h = max(max(diag, 0), max(up, left));
            H[(i + 1) * (m + 1) + j + 1] = h;
            mine = max(mine, h);
        }
        __syncthreads();
    }
    atomicMax(best, mine);
}
""", _alignment_arguments, _alignment, _alignment_reference))
