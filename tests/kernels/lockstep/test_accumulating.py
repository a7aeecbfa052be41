"""Memory that loops only add to: blocked products whose sums are in local arrays, sums in shared and global memory."""
import numpy as np
import pytest

import reactant
from tests.kernels.fuzz.updates import Updates

pytest.importorskip("ziglang", reason="needs ziglang")

BLOCKED = """
#define ROWS 32
#define COLUMNS 32
#define DEPTH 8
extern "C" __global__ void k(const double *a, const double *b, double *c, int n, int m, int l) {
    __shared__ double left[DEPTH][ROWS], right[DEPTH][COLUMNS];
    int t = threadIdx.x, r = t / (COLUMNS / 4) * 4, s = t % (COLUMNS / 4) * 4;
    int i0 = blockIdx.y * ROWS, j0 = blockIdx.x * COLUMNS;
    double sums[4][4] = {}, x[4], y[4];
    for (int k0 = 0; k0 < l; k0 += DEPTH) {
        for (int u = t; u < ROWS * DEPTH; u += blockDim.x) {
            int i = i0 + u / DEPTH, k = k0 + u % DEPTH;
            left[u % DEPTH][u / DEPTH] = i < n && k < l ? a[i * l + k] : 0.0;
        }
        for (int u = t; u < COLUMNS * DEPTH; u += blockDim.x) {
            int k = k0 + u / COLUMNS, j = j0 + u % COLUMNS;
            right[u / COLUMNS][u % COLUMNS] = k < l && j < m ? b[k * m + j] : 0.0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            for (int p = 0; p < 4; ++p) { x[p] = left[k][r + p]; y[p] = right[k][s + p]; }
            for (int p = 0; p < 4; ++p) for (int q = 0; q < 4; ++q) sums[p][q] += x[p] * y[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; ++p) for (int q = 0; q < 4; ++q)
        if (i0 + r + p < n && j0 + s + q < m) c[(i0 + r + p) * m + j0 + s + q] = sums[p][q];
}"""


@pytest.mark.sampled(100)
@pytest.mark.parametrize("n, m, l", [(64, 96, 40), (50, 33, 21)])
def test_products_blocked_twice_are_one_contraction(n, m, l):  # noqa: E741
    kernel = reactant.cuda.load(BLOCKED, "k", lower="tensor")
    grid = -(-m // 32), -(-n // 32)
    rng = np.random.default_rng(n)
    a, b, c = rng.standard_normal((n, l)), rng.standard_normal((l, m)), np.zeros((n, m))

    def product(a, b, c):
        kernel[grid, 64](a, b, c, n, m, l)
    operations = reactant.jit(product, frontend="numpy").lower(a, b, c).operations()
    assert operations["stablehlo.dot_general"] == 1
    assert not {"stablehlo.while", "stablehlo.gather", "stablehlo.scatter"} & set(operations)
    product(a, b, c)
    np.testing.assert_allclose(c, a @ b, atol=1e-12)

    def loss(a, b):
        c = np.zeros((n, m))
        kernel[grid, 64](a, b, c, n, m, l)
        return np.sum(c ** 2)
    np.testing.assert_allclose(reactant.grad(loss)(a, b), 2 * a @ b @ b.T, atol=1e-9)


LOCAL = """
extern "C" __global__ void k(const T *x, T *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T sums[8] = {START};
    for (int j = 0; j < m; ++j) {
        T v = x[i * m + j];
        #pragma unroll 1
        BODY
    }
    for (int p = 0; p < 8; ++p) y[i * 8 + p] = sums[p];
}"""
BODIES = {
    "each its own": "for (int p = 0; p < 8; ++p) sums[p] += v * (p + 1);",
    "places that overlap": "for (int p = 0; p < 6; ++p) { sums[p] += v; sums[p + 1] += 2 * v; sums[p + 2] -= v * p; }",
    "two of a kind": "for (int p = 0; p < 8; p += 2) { sums[p] += v; sums[p + 1] -= v; }",
    "under conditions": "for (int p = 0; p < 8; ++p) if (j > p && v > 2 * p && (i + j) % 3 != p) sums[p] += v;",
    "triangular": "for (int p = 0; p < 8 && p <= j; ++p) sums[p] += v;",
    "from the turn on": "for (int p = j; p < 8; ++p) sums[p] += v;",
    "products": "for (int p = 0; p < 8; ++p) sums[p] *= v - p;",
    "the largest": "for (int p = 0; p < 8; ++p) sums[p] = max(sums[p], v - 3 * p);",
    "chosen": "for (int p = 0; p < 8; ++p) sums[p] = v > p ? sums[p] + v : sums[p];",
    "both": "for (int p = 0; p < 8; ++p) { sums[p] += v; sums[p] *= 2; }",
    "what the sum is so far": "for (int p = 0; p < 8; ++p) sums[p] += sums[p] > 40 ? 1 : v;",
    "another sum": "for (int p = 0; p < 7; ++p) sums[p] += sums[p + 1] + v;",
    "places that data choose": "for (int p = 0; p < 2; ++p) sums[(int)v & 7] += p + 1;",
    "seen between": "for (int p = 0; p < 8; ++p) { sums[p] += v; if (sums[7] > 20) v += 1; }",
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("body", BODIES)
def test_sums_in_local_arrays(body):
    source = LOCAL.replace("BODY", BODIES[body]).replace("T ", "int ").replace("START", "3, 1, 4, 1, 5, 9, 2, 6")
    x = np.random.default_rng(3).integers(-9, 20, (20, 9)).astype(np.int32)
    found = {}
    for lower in ("tensor", "native"):
        found[lower] = np.zeros((20, 8), np.int32)
        reactant.cuda.load(source, "k", lower=lower)[2, 16](x, found[lower], 20, 9)
    np.testing.assert_array_equal(found["tensor"], found["native"])


def test_sums_in_shared_memory_are_no_loop():
    module = reactant.cuda.load("""
    extern "C" __global__ void k(const double *x, double *y, int m) {
        __shared__ double s[32];
        int t = threadIdx.x;
        s[t] = t;
        __syncthreads();
        for (int j = 0; j < m; ++j) {
            if (t < 20) s[t] += x[j * 32 + t];
            __syncthreads();
            if (t >= 20 && j % 2) s[31 - t] -= x[j * 32 + t];
            __syncthreads();
        }
        y[t] = s[t];
    }""", lower="tensor")

    def sums(x, y):
        module.k[1, 32](x, y, 70)
    x, y = np.random.default_rng(0).standard_normal((70, 32)), np.zeros(32)
    assert "stablehlo.while" not in reactant.jit(sums, frontend="numpy").lower(x, y).operations()
    sums(x, y)
    expected = np.arange(32.0)
    expected[:20] += x[:, :20].sum(0)
    expected[:12] -= x[1::2, 20:].sum(0)[::-1]
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_products_that_guard_every_iteration():
    """LLVM cannot keep such a sum in a register: it may not write where nobody did."""
    module = reactant.cuda.load("""
    extern "C" __global__ void k(const double *a, const double *b, double *c, int n) {
        int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
        for (int k = 0; k < n; ++k) if (i < n && j < n && a[k] > 0) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }""", lower="tensor")

    def product(a, b, c):
        module.k[(6, 6), (8, 8)](a, b, c, 45)
    a, b, c = np.random.default_rng(0).standard_normal((3, 45, 45))
    assert "stablehlo.while" not in reactant.jit(product, frontend="numpy").lower(a, b, c).operations()
    expected = c + a @ ((a[0] > 0)[:, None] * b)
    product(a, b, c)
    np.testing.assert_allclose(c, expected, atol=1e-12)


def check_random(seeds):
    for seed in seeds:
        program = Updates(seed)
        expected = program.expected()
        for lower in ("tensor", "native") if expected is not None else ():
            x, y = program.arrays()
            reactant.cuda.load(program.source, "k", lower=lower)[2, 16](x, y, *x.shape)
            np.testing.assert_array_equal(y, expected, err_msg=f"{lower} of seed {seed}:\n{program.source}")


@pytest.mark.slow
def test_random_updates():
    check_random(range(6))


@pytest.mark.slow
def test_more_random_updates():
    check_random(range(6, 200))
