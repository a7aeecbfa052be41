"""Reductions, scans, histograms, sorting, random numbers: what blocks and warps do together."""
import math

import numpy as np
from numba import cuda

from tests.kernels.corpus.case import Case, blocks

CASES = []

# ---- reductions: a tree, interleaved, warps, one atomic each ----------------------------------------------------


@cuda.jit
def reduce_tree(x, out, n):
    partial = cuda.shared.array(64, "float64")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = x[i] if i < n else 0.0
    cuda.syncthreads()
    s = 32
    while s > 0:
        if t < s:
            partial[t] += partial[t + s]
        cuda.syncthreads()
        s >>= 1
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@cuda.jit
def reduce_interleaved(x, out, n):
    partial = cuda.shared.array(64, "float64")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = x[i] if i < n else 0.0
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if t % (2 * s) == 0:
            partial[t] += partial[t + s]
        cuda.syncthreads()
        s *= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@cuda.jit
def reduce_warps(x, out, n):
    sums = cuda.shared.array(32, "float64")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < n else 0.0
    for d in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xffffffff, value, d)
    if t % 32 == 0:
        sums[t // 32] = value
    cuda.syncthreads()
    if t == 0:
        total = 0.0
        for w in range(cuda.blockDim.x // 32):
            total += sums[w]
        cuda.atomic.add(out, 0, total)


@cuda.jit
def reduce_atomic(x, sums, extremes, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(sums, 0, x[i])
        cuda.atomic.max(extremes, 0, x[i])
        cuda.atomic.min(extremes, 1, x[i])


def _reductions(k, x, a, b, c, d, e):
    k.reduce_tree[3, 64](x, a, 150)
    k.reduce_interleaved[3, 64](x, b, 150)
    k.reduce_warps[3, 64](x, c, 150)
    k.reduce_atomic[3, 64](x, d, e, 150)


def _reductions_reference(x, a, b, c, d, e):
    a[:] = b[:] = np.pad(x, (0, 42)).reshape(3, 64).sum(1)
    c[0] = d[0] = x.sum()
    e[:] = x.max(), x.min()


CASES.append(Case("reductions", {"reduce_tree": reduce_tree, "reduce_interleaved": reduce_interleaved,
                                 "reduce_warps": reduce_warps, "reduce_atomic": reduce_atomic}, """
#define I int t = threadIdx.x, i = blockIdx.x * blockDim.x + t
extern "C" __global__ void reduce_tree(const double *x, double *out, int n) {
    __shared__ double partial[64];
    I;
    partial[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}
extern "C" __global__ void reduce_interleaved(const double *x, double *out, int n) {
    __shared__ double partial[64];
    I;
    partial[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int k = 2 * s * t;
        if (k < blockDim.x) partial[k] += partial[k + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}
extern "C" __global__ void reduce_warps(const double *x, double *out, int n) {
    __shared__ double sums[32];
    I;
    double value = i < n ? x[i] : 0;
    for (int d = 16; d > 0; d >>= 1) value += __shfl_down_sync(0xffffffff, value, d);
    if (t % 32 == 0) sums[t / 32] = value;
    __syncthreads();
    if (t == 0) {
        double total = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) total += sums[w];
        atomicAdd(out, total);
    }
}
__device__ void atomic_extreme(double *p, double v, bool greatest) {
    unsigned long long *q = (unsigned long long *)p, old = *q, seen;
    do {
        seen = old;
        double now = __longlong_as_double(seen);
        if (greatest ? now >= v : now <= v) return;
        old = atomicCAS(q, seen, __double_as_longlong(v));
    } while (old != seen);
}
extern "C" __global__ void reduce_atomic(const double *x, double *sums, double *extremes, int n) {
    I;
    if (i >= n) return;
    atomicAdd(sums, x[i]);
    atomic_extreme(extremes, x[i], true);
    atomic_extreme(extremes + 1, x[i], false);
}""", lambda r: (r.standard_normal(150), np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1), np.array([-9.0, 9.0])),
    _reductions, _reductions_reference))

# ---- scans -----------------------------------------------------------------------------------------------------


@cuda.jit
def scan_steps(x, y, sums, n):
    tile = cuda.shared.array((2, 32), "float64")
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[0, t] = x[i] if i < n else 0.0
    cuda.syncthreads()
    current = 0
    d = 1
    while d < 32:
        value = tile[current, t]
        if t >= d:
            value += tile[current, t - d]
        tile[1 - current, t] = value
        current = 1 - current
        d *= 2
        cuda.syncthreads()
    if i < n:
        y[i] = tile[current, t]
    if t == 31:
        sums[cuda.blockIdx.x] = tile[current, t]


@cuda.jit
def add_sums(y, sums, n):
    i = cuda.grid(1)
    if i < n:
        total = 0.0
        for b in range(cuda.blockIdx.x):
            total += sums[b]
        y[i] += total


@cuda.jit
def scan_sweeps(x, y, n):
    tile = cuda.shared.array(32, "float64")
    t = cuda.threadIdx.x
    tile[2 * t] = x[2 * t] if 2 * t < n else 0.0
    tile[2 * t + 1] = x[2 * t + 1] if 2 * t + 1 < n else 0.0
    offset = 1
    d = 16
    while d > 0:
        cuda.syncthreads()
        if t < d:
            tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1]
        offset *= 2
        d >>= 1
    if t == 0:
        tile[31] = 0.0
    d = 1
    while d < 32:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            a, b = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
            left = tile[a]
            tile[a] = tile[b]
            tile[b] += left
        d *= 2
    cuda.syncthreads()
    if 2 * t < n:
        y[2 * t] = tile[2 * t]
    if 2 * t + 1 < n:
        y[2 * t + 1] = tile[2 * t + 1]


@cuda.jit
def scan_warp(x, y):
    t = cuda.threadIdx.x
    value = x[t]
    for d in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(0xffffffff, value, d)
        if t % 32 >= d:
            value += other
    y[t] = value


def _scans(k, x, y, sums, z, w, v):
    k.scan_steps[4, 32](x, y, sums, 100)
    k.add_sums[4, 32](y, sums, 100)
    k.scan_sweeps[1, 16](x, z, 29)
    k.scan_warp[1, 64](w, v)


def _scans_reference(x, y, sums, z, w, v):
    padded = np.pad(x, (0, 28)).reshape(4, 32)
    y[:] = np.cumsum(x)
    sums[:] = padded.sum(1)
    z[:] = np.concatenate([[0], np.cumsum(x[:28])])
    v[:] = np.cumsum(w.reshape(2, 32), 1).ravel()


CASES.append(Case("scans", {"scan_steps": scan_steps, "add_sums": add_sums, "scan_sweeps": scan_sweeps,
                            "scan_warp": scan_warp}, """
extern "C" __global__ void scan_steps(const double *x, double *y, double *sums, int n) {
    __shared__ double tile[2][32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t, current = 0;
    tile[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 32; d *= 2) {
        double value = tile[current][t];
        if (t >= d) value += tile[current][t - d];
        tile[1 - current][t] = value;
        current = 1 - current;
        __syncthreads();
    }
    if (i < n) y[i] = tile[current][t];
    if (t == 31) sums[blockIdx.x] = tile[current][t];
}
extern "C" __global__ void add_sums(double *y, const double *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double total = 0;
    for (int b = 0; b < blockIdx.x; ++b) total += sums[b];
    y[i] += total;
}
extern "C" __global__ void scan_sweeps(const double *x, double *y, int n) {
    __shared__ double tile[32];
    int t = threadIdx.x, offset = 1;
    tile[2 * t] = 2 * t < n ? x[2 * t] : 0;
    tile[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
    for (int d = 16; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) tile[31] = 0;
    for (int d = 1; d < 32; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            double left = tile[a];
            tile[a] = tile[b];
            tile[b] += left;
        }
    }
    __syncthreads();
    if (2 * t < n) y[2 * t] = tile[2 * t];
    if (2 * t + 1 < n) y[2 * t + 1] = tile[2 * t + 1];
}
extern "C" __global__ void scan_warp(const double *x, double *y) {
    int t = threadIdx.x;
    double value = x[t];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        double other = __shfl_up_sync(0xffffffff, value, d);
        if (t % 32 >= d) value += other;
    }
    y[t] = value;
}""", lambda r: (r.random(100), np.zeros(100), np.zeros(4), np.zeros(29), r.random(64), np.zeros(64)), _scans,
    _scans_reference))

# ---- histograms ------------------------------------------------------------------------------------------------


@cuda.jit
def histogram(x, bins, n, low, width):
    start = cuda.grid(1)
    for i in range(start, n, cuda.gridsize(1)):
        b = int((x[i] - low) / width)
        if 0 <= b < bins.size:
            cuda.atomic.add(bins, b, 1)


@cuda.jit
def histogram_shared(x, bins, n):
    local = cuda.shared.array(16, "int32")
    t = cuda.threadIdx.x
    if t < 16:
        local[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(local, x[i] & 15, 1)
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(bins, t, local[t])


def _histograms(k, x, bins, y, bins16):
    k.histogram[2, 32](x, bins, 200, 0.0, 0.1)
    k.histogram_shared[2, 32](y, bins16, 150)


def _histograms_reference(x, bins, y, bins16):
    bins += np.bincount((x / 0.1).astype(int), minlength=10)[:10].astype(bins.dtype)
    bins16 += np.bincount(y & 15, minlength=16).astype(bins16.dtype)


CASES.append(Case("histograms", {"histogram": histogram, "histogram_shared": histogram_shared}, """
extern "C" __global__ void histogram(const double *x, int *bins, int n, double low, double width) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int b = (int)((x[i] - low) / width);
        if (b >= 0 && b < 10) atomicAdd(&bins[b], 1);
    }
}
extern "C" __global__ void histogram_shared(const int *x, int *bins, int n) {
    __shared__ int local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}""", lambda r: (r.random(200), np.zeros(10, np.int32), r.integers(0, 1000, 150).astype(np.int32),
                 np.zeros(16, np.int32)),
    _histograms, _histograms_reference))

# ---- sorting networks, compaction ------------------------------------------------------------------------------


@cuda.jit
def bitonic_step(x, stage, step):
    i = cuda.grid(1)
    other = i ^ step
    if other > i:
        ascending = (i & stage) == 0
        if (x[i] > x[other]) == ascending:
            x[i], x[other] = x[other], x[i]


@cuda.jit
def odd_even_block(x, n):
    tile = cuda.shared.array(16, "float64")
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    for phase in range(16):
        if t % 2 == phase % 2 and t + 1 < 16:
            if tile[t] > tile[t + 1]:
                tile[t], tile[t + 1] = tile[t + 1], tile[t]
        cuda.syncthreads()
    x[t] = tile[t]


@cuda.jit
def compact(x, y, count):
    flags = cuda.shared.array(32, "int32")
    t = cuda.threadIdx.x
    keep = 1 if x[t] > 0 else 0
    flags[t] = keep
    cuda.syncthreads()
    place = 0
    for k in range(t):
        place += flags[k]
    if keep:
        y[place] = x[t]
    if t == 31:
        count[0] = place + keep


def _sorting(k, x, z, w, y, count):
    stage = 2
    while stage <= 32:
        step = stage // 2
        while step > 0:
            k.bitonic_step[1, 32](x, stage, step)
            step //= 2
        stage *= 2
    k.odd_even_block[1, 16](z, 16)
    k.compact[1, 32](w, y, count)


def _sorting_reference(x, z, w, y, count):
    x.sort()
    z.sort()
    kept = w[w > 0]
    y[:len(kept)] = kept
    count[0] = len(kept)


CASES.append(Case("sorting", {"bitonic_step": bitonic_step, "odd_even_block": odd_even_block, "compact": compact}, """
extern "C" __global__ void bitonic_step(double *x, int stage, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ step;
    if (other > i) {
        bool ascending = (i & stage) == 0;
        if ((x[i] > x[other]) == ascending) { double v = x[i]; x[i] = x[other]; x[other] = v; }
    }
}
extern "C" __global__ void odd_even_block(double *x, int n) {
    __shared__ double tile[16];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int phase = 0; phase < 16; ++phase) {
        if (t % 2 == phase % 2 && t + 1 < 16 && tile[t] > tile[t + 1]) {
            double v = tile[t]; tile[t] = tile[t + 1]; tile[t + 1] = v;
        }
        __syncthreads();
    }
    x[t] = tile[t];
}
extern "C" __global__ void compact(const double *x, double *y, int *count) {
    int t = threadIdx.x;
    unsigned votes = __ballot_sync(0xffffffff, x[t] > 0);
    int place = __popc(votes & ((1u << t) - 1));
    if (x[t] > 0) y[place] = x[t];
    if (t == 0) count[0] = __popc(votes);
}""", lambda r: (r.random(32), r.random(16), r.standard_normal(32), np.zeros(32), np.zeros(1, np.int32)), _sorting,
    _sorting_reference))

# ---- Monte Carlo with a counter-based generator ----------------------------------------------------------------


@cuda.jit(device=True)
def mixed(x):
    x = np.uint32(x)
    x = np.uint32(x ^ (x >> np.uint32(16))) * np.uint32(0x7feb352d)
    x = np.uint32(x)
    x = np.uint32(x ^ (x >> np.uint32(15))) * np.uint32(0x846ca68b)
    x = np.uint32(x)
    return np.uint32(x ^ (x >> np.uint32(16)))


@cuda.jit
def monte_carlo(counts, samples, seed):
    i = cuda.grid(1)
    hits = 0
    for k in range(samples):
        a = mixed(np.uint32(2 * (i * samples + k) + seed))
        b = mixed(np.uint32(2 * (i * samples + k) + 1 + seed))
        x, y = a / 4294967296.0, b / 4294967296.0
        if x * x + y * y < 1.0:
            hits += 1
    counts[i] = hits


def _mixed_reference(x):
    x = x.astype(np.uint32)
    x = (x ^ (x >> 16)) * np.uint32(0x7feb352d)
    x = (x ^ (x >> 15)) * np.uint32(0x846ca68b)
    return x ^ (x >> 16)


def _monte_carlo_reference(counts):
    k = 2 * np.arange(40 * 25).reshape(40, 25) + 5
    a, b = _mixed_reference(k) / 2.0 ** 32, _mixed_reference(k + 1) / 2.0 ** 32
    counts[:] = (a * a + b * b < 1).sum(1)


@cuda.jit
def mandelbrot(out, n, m, limit):
    i, j = cuda.grid(2)
    if i < n and j < m:
        cr, ci = -2.0 + 3.0 * j / m, -1.0 + 2.0 * i / n
        zr, zi = 0.0, 0.0
        count = limit
        for k in range(limit):
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            if zr * zr + zi * zi > 4.0:
                count = k
                break
        out[i, j] = count


@cuda.jit(device=True)
def normal_cdf(x):
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    w = 0.3989422804014327 * math.exp(-0.5 * x * x) * (k * (0.319381530 + k * (-0.356563782 + k * (
        1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
    return 1.0 - w if x > 0 else w


@cuda.jit
def black_scholes(price, strike, years, call, put, rate, volatility, n):
    i = cuda.grid(1)
    if i < n:
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
        d2 = d1 - volatility * root
        a, b = normal_cdf(d1), normal_cdf(d2)
        discount = math.exp(-rate * years[i])
        call[i] = price[i] * a - strike[i] * discount * b
        put[i] = strike[i] * discount * (1.0 - b) - price[i] * (1.0 - a)


def _pointwise(k, counts, image, price, strike, years, call, put):
    k.monte_carlo[blocks(40, 8), 8](counts, 25, 5)
    k.mandelbrot[(2, 2), (8, 8)](image, 14, 16, 20)
    k.black_scholes[blocks(50, 32), 32](price, strike, years, call, put, 0.02, 0.3, 50)


def _pointwise_reference(counts, image, price, strike, years, call, put):
    _monte_carlo_reference(counts)
    c = (-2 + 3 * np.arange(16) / 16) + 1j * (-1 + 2 * np.arange(14)[:, None] / 14)
    z, image[:] = np.zeros_like(c), 20
    for k in range(20):
        z = np.where(image == 20, z * z + c, z)
        image[(image == 20) & (z.real ** 2 + z.imag ** 2 > 4)] = k
    d1 = (np.log(price / strike) + (0.02 + 0.045) * years) / (0.3 * np.sqrt(years))
    d2 = d1 - 0.3 * np.sqrt(years)
    cdf = np.vectorize(normal_cdf.py_func)
    discount = np.exp(-0.02 * years)
    call[:] = price * cdf(d1) - strike * discount * cdf(d2)
    put[:] = strike * discount * (1 - cdf(d2)) - price * (1 - cdf(d1))


CASES.append(Case("pointwise", {"monte_carlo": monte_carlo, "mandelbrot": mandelbrot,
                                "black_scholes": black_scholes}, """
__device__ unsigned mixed(unsigned x) {
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}
extern "C" __global__ void monte_carlo(int *counts, int samples, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, hits = 0;
    for (int k = 0; k < samples; ++k) {
        unsigned c = 2 * (i * samples + k) + seed;
        double x = mixed(c) / 4294967296.0, y = mixed(c + 1) / 4294967296.0;
        if (x * x + y * y < 1.0) ++hits;
    }
    counts[i] = hits;
}
extern "C" __global__ void mandelbrot(int *out, int n, int m, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    double cr = -2.0 + 3.0 * j / m, ci = -1.0 + 2.0 * i / n, zr = 0, zi = 0;
    int k = 0;
    for (; k < limit; ++k) {
        double r = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = r;
        if (zr * zr + zi * zi > 4) break;
    }
    out[i * m + j] = k;
}
__device__ __forceinline__ double normal_cdf(double x) {
    double k = 1.0 / (1.0 + 0.2316419 * fabs(x));
    double w = 0.3989422804014327 * exp(-0.5 * x * x) * (k * (0.319381530 + k * (-0.356563782 + k * (1.781477937
        + k * (-1.821255978 + k * 1.330274429)))));
    return x > 0 ? 1.0 - w : w;
}
extern "C" __global__ void black_scholes(const double *price, const double *strike, const double *years, double *call,
                                         double *put, double rate, double volatility, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double root = sqrt(years[i]);
    double d1 = (log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root);
    double d2 = d1 - volatility * root, a = normal_cdf(d1), b = normal_cdf(d2), discount = exp(-rate * years[i]);
    call[i] = price[i] * a - strike[i] * discount * b;
    put[i] = strike[i] * discount * (1.0 - b) - price[i] * (1.0 - a);
}""", lambda r: (np.zeros(40, np.int32), np.zeros((14, 16), np.int32), 10 + r.random(50), 9 + 2 * r.random(50),
                 0.1 + r.random(50), np.zeros(50), np.zeros(50)), _pointwise, _pointwise_reference))
