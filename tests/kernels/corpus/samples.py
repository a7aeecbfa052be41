"""Kernels after samples and textbooks: transforms, bisection, prices, sampling, planes of cells."""
import math

import numpy as np
from numba import cuda, float32, float64

from tests.kernels.corpus.case import Case

CASES = []

# ---- cosine transform of 8 x 8 blocks --------------------------------------------------------------------------------


@cuda.jit
def dct8(src, dst, c, w):
    a = cuda.shared.array((8, 8), float32)
    b = cuda.shared.array((8, 8), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    a[ty, tx] = src[y, x] - float32(128.0)
    cuda.syncthreads()
    s = float32(0)
    for i in range(8):
        s += c[ty, i] * a[i, tx]
    b[ty, tx] = s
    cuda.syncthreads()
    s = float32(0)
    for i in range(8):
        s += b[ty, i] * c[tx, i]
    dst[y, x] = s


def _dct(k, image, out, basis):
    k.dct8[(3, 2), (8, 8)](image, out, basis, 24)


def _dct_reference(image, out, basis):
    parts = (image - 128).reshape(2, 8, 3, 8)
    out[:] = np.einsum("ij,ajbk,lk->aibl", basis, parts, basis).reshape(16, 24)


def _dct_arguments(r):
    k, i = np.mgrid[:8, :8]
    basis = np.cos((2 * i + 1) * k * np.pi / 16) / 2 * np.where(k == 0, math.sqrt(0.5), 1)
    return r.integers(0, 256, (16, 24)).astype(np.float32), np.zeros((16, 24), np.float32), basis.astype(np.float32)


CASES.append(Case("dct8x8", {"dct8": dct8}, r"""
extern "C" __global__ void dct8(const float *src, float *dst, const float *c, int w) {
    __shared__ float a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
    a[ty][tx] = src[y * w + x] - 128.0f;
    __syncthreads();
    float s = 0;
    for (int i = 0; i < 8; i++) s += c[ty * 8 + i] * a[i][tx];
    b[ty][tx] = s;
    __syncthreads();
    s = 0;
    for (int i = 0; i < 8; i++) s += b[ty][i] * c[tx * 8 + i];
    dst[y * w + x] = s;
}
""", _dct_arguments, _dct, _dct_reference, 1e-05))

# ---- eigenvalues of tridiagonal matrices by bisection ----------------------------------------------------------------


@cuda.jit(device=True)
def sturm(d, e, n, x):
    q = d[0] - x
    c = 1 if q < 0 else 0
    for i in range(1, n):
        if q != 0:
            q = d[i] - x - e[i - 1] * e[i - 1] / q
        else:
            q = d[i] - x - abs(e[i - 1]) / 1e-15
        if q < 0:
            c += 1
    return c


@cuda.jit
def bisect(d, e, out, n, lo, hi, tol):
    k = cuda.grid(1)
    if k < n:
        a = lo
        b = hi
        while b - a > tol:
            m = 0.5 * (a + b)
            if sturm(d, e, n, m) > k:
                b = m
            else:
                a = m
        out[k] = 0.5 * (a + b)


def _bisection(k, d, e, out):
    k.bisect[2, 16](d, e, out, 20, -10.0, 10.0, 1e-9)


def _bisection_reference(d, e, out):
    out[:] = np.linalg.eigvalsh(np.diag(d) + np.diag(e[:-1], 1) + np.diag(e[:-1], -1))


def _bisection_arguments(r):
    return r.standard_normal(20), r.standard_normal(20), np.zeros(20)


CASES.append(Case("bisection", {"bisect": bisect}, r"""
__device__ int sturm(const double *d, const double *e, int n, double x) { double q = d[0] - x; int c = q < 0;
    for (int i = 1; i < n; i++) { q = d[i] - x - (q != 0 ? e[i - 1] * e[i - 1] / q : fabs(e[i - 1]) / 1e-15);
    c += q < 0; } return c; }
extern "C" __global__ void bisect(const double *d, const double *e, double *out, int n, double lo, double hi,
        double tol) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    double a = lo, b = hi;
    while (b - a > tol) { double m = 0.5 * (a + b); if (sturm(d, e, n, m) > k) b = m; else a = m; }
    out[k] = 0.5 * (a + b);
}
""", _bisection_arguments, _bisection, _bisection_reference, 1e-08))

# ---- Monte Carlo prices, reduced in shared memory --------------------------------------------------------------------


@cuda.jit
def mc(samples, S, X, expected, conf, pathN):
    s1 = cuda.shared.array(128, float64)
    s2 = cuda.shared.array(128, float64)
    o = cuda.blockIdx.x
    for si in range(cuda.threadIdx.x, 128, cuda.blockDim.x):
        a = 0.0
        b = 0.0
        for i in range(si, pathN, 128):
            p = S[o] * math.exp(0.01 + 0.2 * samples[i]) - X[o]
            p = max(p, 0.0)
            a += p
            b += p * p
        s1[si] = a
        s2[si] = b
    stride = 64
    while stride > 0:
        cuda.syncthreads()
        for pos in range(cuda.threadIdx.x, stride, cuda.blockDim.x):
            s1[pos] += s1[pos + stride]
            s2[pos] += s2[pos + stride]
        stride >>= 1
    if cuda.threadIdx.x == 0:
        expected[o] = s1[0] / pathN
        v = (pathN * s2[0] - s1[0] * s1[0]) / (pathN * (pathN - 1.0))
        conf[o] = 1.96 * math.sqrt(v / pathN)


def _prices(k, samples, price, strike, expected, confidence):
    k.mc[4, 48](samples, price, strike, expected, confidence, 300)


def _prices_reference(samples, price, strike, expected, confidence):
    pay = np.maximum(price[:, None] * np.exp(0.01 + 0.2 * samples) - strike[:, None], 0)
    expected[:] = pay.mean(1)
    confidence[:] = 1.96 * pay.std(1, ddof=1) / math.sqrt(300)


def _prices_arguments(r):
    return r.standard_normal(300), 5 + r.random(4), 5 + r.random(4), np.zeros(4), np.zeros(4)


CASES.append(Case("montecarlo", {"mc": mc}, r"""
__device__ double endCallValue(double S, double X, double r, double MuByT, double VBySqrtT) {
    double c = S * exp(MuByT + VBySqrtT * r) - X; return c > 0 ? c : 0; }
template <class T> __device__ void sumReduce(T *sum, T *sum2, int n) {
    for (int stride = n / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        for (int pos = threadIdx.x; pos < stride; pos += blockDim.x) { sum[pos] += sum[pos + stride];
            sum2[pos] += sum2[pos + stride]; }
    }
}
extern "C" __global__ void mc(const double *samples, const double *S, const double *X, double *expected, double *conf,
        int pathN) {
    __shared__ double s1[128], s2[128];
    int o = blockIdx.x;
    for (int sum_i = threadIdx.x; sum_i < 128; sum_i += blockDim.x) {
        double a = 0, b = 0;
        for (int i = sum_i; i < pathN; i += 128) { double p = endCallValue(S[o], X[o], samples[i], 0.01, 0.2);
            a += p; b += p * p; }
        s1[sum_i] = a; s2[sum_i] = b;
    }
    sumReduce(s1, s2, 128);
    if (threadIdx.x == 0) { expected[o] = s1[0] / pathN;
        double v = (pathN * s2[0] - s1[0] * s1[0]) / ((double)pathN * (pathN - 1));
        conf[o] = 1.96 * sqrt(v / pathN); }
}
""", _prices_arguments, _prices, _prices_reference))

# ---- sampling by a scan and a search ---------------------------------------------------------------------------------


@cuda.jit
def sample(p, u, out, n, per):
    cdf = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    cdf[t] = p[row, t] if t < n else 0.0
    cuda.syncthreads()
    d = 1
    while d < 128:
        v = cdf[t - d] if t >= d else 0.0
        cuda.syncthreads()
        cdf[t] += v
        cuda.syncthreads()
        d <<= 1
    for s in range(t, per, cuda.blockDim.x):
        x = u[row, s] * cdf[n - 1]
        lo = 0
        hi = n - 1
        while lo < hi:
            mid = (lo + hi) >> 1
            if cdf[mid] < x:
                lo = mid + 1
            else:
                hi = mid
        out[row, s] = lo


def _sampling(k, p, u, out):
    k.sample[3, 128](p, u, out, 100, 40)


def _sampling_reference(p, u, out):
    total = p.cumsum(1)
    for row in range(3):
        out[row] = np.searchsorted(total[row], u[row] * total[row, -1])


def _sampling_arguments(r):
    return r.random((3, 100)), r.random((3, 40)), np.zeros((3, 40), np.int32)


CASES.append(Case("sampling", {"sample": sample}, r"""
extern "C" __global__ void sample(const double *p, const double *u, int *out, int n, int per) {
    __shared__ double cdf[128];
    int t = threadIdx.x, row = blockIdx.x;
    cdf[t] = t < n ? p[row * n + t] : 0;
    __syncthreads();
    for (int d = 1; d < 128; d <<= 1) { double v = t >= d ? cdf[t - d] : 0; __syncthreads(); cdf[t] += v;
        __syncthreads(); }
    for (int s = t; s < per; s += blockDim.x) {
        double x = u[row * per + s] * cdf[n - 1];
        int lo = 0, hi = n - 1;
        while (lo < hi) { int mid = (lo + hi) >> 1; if (cdf[mid] < x) lo = mid + 1; else hi = mid; }
        out[row * per + s] = lo;
    }
}
""", _sampling_arguments, _sampling, _sampling_reference))

# ---- life on a torus, waves, heat with a halo, in rectangles of threads ----------------------------------------------


@cuda.jit
def life(a, b, w, h):
    x, y = cuda.grid(2)
    if x >= w or y >= h:
        return
    n = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dx != 0 or dy != 0:
                n += a[(y + dy + h) % h, (x + dx + w) % w]
    b[y, x] = 1 if n == 3 or (n == 2 and a[y, x]) else 0


@cuda.jit
def wave(p, c, n, w, h, k):
    x, y = cuda.grid(2)
    if 1 <= x < w - 1 and 1 <= y < h - 1:
        n[y, x] = 2 * c[y, x] - p[y, x] + k * (c[y, x - 1] + c[y, x + 1] + c[y - 1, x] + c[y + 1, x] - 4 * c[y, x])


@cuda.jit
def heat(u, v, w, h, k):
    s = cuda.shared.array((10, 34), float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    inside = x < w and y < h
    if inside:
        s[ty + 1, tx + 1] = u[y, x]
        if tx == 0:
            s[ty + 1, 0] = u[y, x - 1] if x > 0 else 0.0
        if tx == 31 or x == w - 1:
            s[ty + 1, tx + 2] = u[y, x + 1] if x < w - 1 else 0.0
        if ty == 0:
            s[0, tx + 1] = u[y - 1, x] if y > 0 else 0.0
        if ty == 7 or y == h - 1:
            s[ty + 2, tx + 1] = u[y + 1, x] if y < h - 1 else 0.0
    cuda.syncthreads()
    if inside:
        v[y, x] = s[ty + 1, tx + 1] + k * (s[ty + 1, tx] + s[ty + 1, tx + 2] + s[ty, tx + 1] + s[ty + 2, tx + 1]
                                               - 4 * s[ty + 1, tx + 1])


def _planes(k, a, b, past, now, then, u, v):
    k.life[(3, 5), (16, 4)](a, b, 40, 19)
    k.life[(3, 5), (16, 4)](b, a, 40, 19)
    k.wave[(4, 4), (12, 5)](past, now, then, 40, 19, 0.2)
    k.heat[(2, 3), (32, 8)](u, v, 40, 19, 0.1)


def _planes_reference(a, b, past, now, then, u, v):
    for x, y in ((a, b), (b, a)):
        around = sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        y[:] = (around == 3) | ((around == 2) & (x > 0))
    inner, sides = (slice(1, -1),) * 2, np.pad(u, 1)
    then[inner] = 2 * now[inner] - past[inner] + 0.2 * (
        now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1] - 4 * now[inner])
    v[:] = u + 0.1 * (sides[1:-1, :-2] + sides[1:-1, 2:] + sides[:-2, 1:-1] + sides[2:, 1:-1] - 4 * u)


def _planes_arguments(r):
    return ((r.random((19, 40)) < 0.4).astype(np.uint8), np.zeros((19, 40), np.uint8), *r.standard_normal((2, 19, 40)),
            np.zeros((19, 40)), r.standard_normal((19, 40)), np.zeros((19, 40)))


CASES.append(Case("life_wave_heat", {"life": life, "wave": wave, "heat": heat}, r"""
extern "C" __global__ void life(const unsigned char *a, unsigned char *b, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int n = 0;
    for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1;
        dx++) if (dx || dy) n += a[((y + dy + h) % h) * w + (x + dx + w) % w];
    b[y * w + x] = n == 3 || (n == 2 && a[y * w + x]);
}
extern "C" __global__ void wave(const double *p, const double *c, double *n, int w, int h, double k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    n[i] = 2 * c[i] - p[i] + k * (c[i - 1] + c[i + 1] + c[i - w] + c[i + w] - 4 * c[i]);
}
#define TX 32
#define TY 8
extern "C" __global__ void heat(const double *u, double *v, int w, int h, double k) {
    __shared__ double s[TY + 2][TX + 2];
    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y, a = threadIdx.x + 1, b = threadIdx.y + 1;
    bool in = x < w && y < h;
    if (in) {
        s[b][a] = u[y * w + x];
        if (threadIdx.x == 0) s[b][0] = x > 0 ? u[y * w + x - 1] : 0;
        if (threadIdx.x == TX - 1 || x == w - 1) s[b][a + 1] = x < w - 1 ? u[y * w + x + 1] : 0;
        if (threadIdx.y == 0) s[0][a] = y > 0 ? u[(y - 1) * w + x] : 0;
        if (threadIdx.y == TY - 1 || y == h - 1) s[b + 1][a] = y < h - 1 ? u[(y + 1) * w + x] : 0;
    }
    __syncthreads();
    if (in) v[y * w + x] = s[b][a] + k * (s[b][a - 1] + s[b][a + 1] + s[b - 1][a] + s[b + 1][a] - 4 * s[b][a]);
}
""", _planes_arguments, _planes, _planes_reference))
