"""Raised kernels within programs: launches in loops, and derivatives through launches."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = r"""
extern "C" {
__global__ void diffuse(const double *u, double *v, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < m - 1) {
        int k = i * m + j;
        v[k] = u[k] + 0.1 * (u[k - 1] + u[k + 1] + u[k - m] + u[k + m] - 4 * u[k]);
    }
}
__global__ void relax(const double *u, double *v, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < m - 1) {
        int k = i * m + j;
        v[k] = 0.5 * u[k] + 0.125 * (u[k - 1] + u[k + 1] + u[k - m] + u[k + m]);
    }
}
__global__ void react(const double *u, double *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) v[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) * cos(u[i]);
}
__global__ void squares(const double *x, double *y, int n) {
    __shared__ double s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] * x[i] : 0;
    __syncthreads();
    for (int k = 32; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) atomicAdd(y, s[0]);
}
__global__ void deposit(const double *x, const int *p, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&y[p[i]], x[i] * x[i]);
}
__global__ void collect(const double *x, const int *p, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[p[i]] * sin(x[i]);
}
__global__ void tiled(const double *a, const double *b, double *c) {
    __shared__ double s[8][8], r[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 8 + tx, i = blockIdx.y * 8 + ty;
    double total = 0;
    for (int t = 0; t < 2; t++) {
        s[ty][tx] = a[i * 16 + t * 8 + tx];
        r[ty][tx] = b[(t * 8 + ty) * 16 + j];
        __syncthreads();
        for (int k = 0; k < 8; k++) total += s[ty][k] * r[k][tx];
        __syncthreads();
    }
    c[i * 16 + j] = total;
}
__global__ void roots(const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double z = 1;
    for (int k = 0; k < 20; k++) { if (fabs(z * z - x[i]) < 1e-13) break; z = 0.5 * (z + x[i] / z); }
    y[i] = z;
}
__global__ void rows(const int *start, const int *column, const double *v, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++) s += v[k] * x[column[k]];
        y[i] = s;
    }
}
}
"""
N = 100
rng = np.random.default_rng(0)
PLACES = rng.integers(0, N, N).astype(np.int32)
STARTS = np.minimum(np.arange(N + 1) // 2 + np.arange(N + 1) % 2, 60).astype(np.int32)
COLUMNS = rng.integers(0, N, 60).astype(np.int32)


@pytest.fixture(scope="module")
def kernels():
    return reactant.cuda.load(SOURCE)


def model(kernels, grid, block, n, m):
    def run(u, v, steps):
        for _ in range(steps):
            kernels["diffuse"][grid, block](u, v, n, m)
            kernels["relax"][grid, block](v, u, n, m)
    return run


def plain(u, v, steps):
    for _ in range(steps):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
                                               - 4 * u[1:-1, 1:-1])
        u[1:-1, 1:-1] = 0.5 * v[1:-1, 1:-1] + 0.125 * (v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] + v[2:, 1:-1])


@pytest.mark.slow
def test_launches_that_alternate_are_the_loop_a_person_writes(kernels):
    compiled = reactant.jit(model(kernels, (2, 3), (16, 16), 40, 30), frontend="numpy", native="never")
    by_hand = reactant.jit(plain, frontend="numpy", native="never")
    u, v = rng.standard_normal((40, 30)), rng.standard_normal((40, 30))
    expected = u.copy(), v.copy()
    found = [modules_of(f.lower(u, v, 500)) for f in (compiled, by_hand)]
    assert found[0]["stablehlo.while"] == 1
    assert sum(found[0].values()) <= sum(found[1].values()) + 2
    compiled(u, v, 500)
    plain(*expected, 500)
    np.testing.assert_allclose(u, expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(v, expected[1], rtol=1e-10, atol=1e-12)


def modules_of(lowered):
    with building():
        return modules.counts(lowered.module)


def through(kernels, name, launch, before=lambda *a: np.zeros(N)):
    def value(*arguments):
        y = before(*arguments)
        launch(kernels[name], y, *arguments)
        return (y * y).sum()
    return value


GRADIENTS = {
    "squares": (lambda k, y, x: k[2, 64](x, y, N), (rng.standard_normal(N),), lambda *a: np.zeros(1)),
    "deposit": (lambda k, y, x: k[2, 64](x, PLACES, y, N), (rng.standard_normal(N),), None),
    "collect": (lambda k, y, x: k[2, 64](x, PLACES, y, N), (rng.standard_normal(N),), None),
    "tiled": (lambda k, y, a, b: k[(2, 2), (8, 8)](a, b, y), tuple(rng.standard_normal((2, 16, 16))),
              lambda *a: np.zeros((16, 16))),
    "roots": (lambda k, y, x: k[2, 64](x, y, N), (rng.uniform(1, 4, N),), None),
    "rows": (lambda k, y, v, x: k[2, 64](STARTS, COLUMNS, v, x, y, N),
             (rng.standard_normal(60), rng.standard_normal(N)), None),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_through_kernels(kernels, name):
    launch, arguments, before = GRADIENTS[name]
    value = through(kernels, name, launch, before or (lambda *a: np.zeros(N)))
    compare_with_differences(value, arguments)


@pytest.mark.slow
def test_gradient_through_a_loop_of_launches(kernels):
    def value(u):
        v = u.copy()
        for _ in range(20):
            kernels["react"][2, 64](u, v, N)
            kernels["react"][2, 64](v, u, N)
        return (u * u).sum()
    compare_with_differences(value, (rng.standard_normal(N),))


def compare_with_differences(value, arguments):
    compiled = reactant.jit(value, frontend="numpy", native="never")
    for number, x in enumerate(arguments):
        gradient = reactant.grad(compiled, argnums=number)(*map(np.array, arguments))
        direction = np.random.default_rng(number).standard_normal(x.shape)
        step = 1e-6

        def at(s, number=number, x=x, direction=direction):
            moved = [np.array(a) for a in arguments]
            moved[number] = x + s * direction
            return float(compiled(*moved))
        expected = (at(step) - at(-step)) / (2 * step)
        np.testing.assert_allclose((gradient * direction).sum(), expected, rtol=1e-5, atol=1e-6)


LATER_CONDITION = r"""
extern "C" __global__ void until(const double *x, double *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, iterations = 0;
    double v = x[i];
    while (sqrt(v) < 3.0 && iterations < 40) {
        double d = log(v);
        bool large = v * v > 3.0 * (iterations % 4);
        v = large ? d + 3 : v + 1.5;
        iterations++;
    }
    y[i] = v + 100 * iterations;
}
"""


def test_what_is_chosen_by_a_condition_that_comes_later_in_a_loop():
    """The condition of the iteration before, of a loop that had been taken back, was a crash."""
    x = np.random.default_rng(0).random(64) * 3 + 0.1
    y, v, iterations = np.zeros(64), x.copy(), np.zeros(64)
    reactant.cuda.load(LATER_CONDITION, lower="tensor").until[2, 32](x, y)
    while (going := (np.sqrt(v) < 3) & (iterations < 40)).any():
        v = np.where(going, np.where(v * v > 3 * (iterations % 4), np.log(v) + 3, v + 1.5), v)
        iterations += going
    np.testing.assert_allclose(y, v + 100 * iterations)


EARLIER_CONDITION = r"""
extern "C" __global__ void share(const double *x, const int *count, double *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, c = 0, d = 30;
    while (c < count[i] && c < d) { if (x[c] < 0.3) ++c; else --d; }
    y[i] = d - c > 0 ? (double)c / (double)(d - c) : 0.0;
}
"""


def test_a_quotient_that_a_condition_before_it_chooses():
    x, y = np.linspace(-1, 1, 40), np.zeros(40)
    reactant.cuda.load(EARLIER_CONDITION, lower="tensor").share[1, 40](x, np.arange(40, dtype=np.int32), y)
    c = np.minimum(np.arange(40), 26)
    d = np.where(np.arange(40) > 26, 26, 30)
    np.testing.assert_allclose(y, np.where(d > c, c / np.maximum(d - c, 1), 0))


PAIRS = r"""
extern "C" __global__ void pairs(int *bins, const double *x, const double *limits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < 50 && j < n; ++j) {
        if (j <= i) continue;
        int low = 0, high = 7;
        while (low < high) {
            int middle = (low + high) / 2;
            if (x[i] * x[j] >= limits[middle]) high = middle; else low = middle + 1;
        }
        atomicAdd(&bins[low], 1);
    }
}
"""


@pytest.mark.slow
def test_a_loop_inside_is_not_written_out_for_every_iteration():
    """The angular correlation of Parboil was 149 loops, for which LLVM took minutes."""
    kernel = reactant.cuda.load(PAIRS, lower="tensor").pairs
    x, bins = np.random.default_rng(0).random(50), np.zeros(8, np.int32)
    limits = np.linspace(0.9, 0, 8)

    def program(bins, x):
        kernel[2, 32](bins, x, limits, 50)
    assert reactant.jit(program).lower(bins, x).operations()["stablehlo.while"] < 10
    program = reactant.jit(program)
    program(bins, x)
    i, j = np.triu_indices(50, 1)
    np.testing.assert_array_equal(bins, np.bincount((x[i] * x[j] < limits[:7, None]).sum(0), minlength=8))


@pytest.mark.parametrize("operation", ["fmax", "fmin"])
def test_trees_of_extremes_are_one_reduction(operation):
    """NaN loses, and where all are NaN so is the extreme: one more reduction says where."""
    edge = "-INFINITY" if operation == "fmax" else "INFINITY"
    k = reactant.cuda.load(f"""
extern "C" __global__ void k(const double *x, double *o, int n) {{
    __shared__ double s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? x[i] : {edge};
    __syncthreads();
    for (int d = 32; d > 0; d >>= 1) {{ if (t < d) s[t] = {operation}(s[t], s[t + d]); __syncthreads(); }}
    if (t == 0) o[blockIdx.x] = s[0];
}}""", lower="tensor").k[3, 64]
    x = np.random.default_rng(5).standard_normal(150)
    x[::3] = np.nan
    x[64:128] = np.nan
    o = np.zeros(3)
    k(x, o, 150)
    best = getattr(np, operation)
    np.testing.assert_array_equal(o, [best.reduce(x[64 * i:64 * i + 64]) for i in range(3)])
    operations = reactant.jit(lambda x, o: k(x, o, 150)).lower(x, o).operations()
    assert operations["stablehlo.reduce"] == 2 and operations["stablehlo.select"] < 4


SUMS_OF_PRODUCTS = r"""
extern "C" __global__ void complex_(const float2 *a, const float2 *b, float2 *c, int n) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    if (i >= n || j >= n) return;
    float2 s = make_float2(0, 0);
    for (int k = 0; k < n; k++) {
        float2 x = a[i * n + k], y = b[k * n + j];
        s.x += x.x * y.x - x.y * y.y;
        s.y += x.x * y.y + x.y * y.x;
    }
    c[i * n + j] = s;
}
extern "C" __global__ void differences(const float2 *a, const float2 *b, float2 *c, int n) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    if (i >= n || j >= n) return;
    float s = 0;
    for (int k = 0; k < n; k++) {
        float2 x = a[i * n + k];
        s += x.x * x.x - x.y * x.y;
    }
    c[i * n + j] = make_float2(s, b[0].x);
}
"""


@pytest.mark.slow
def test_sums_of_products_in_a_loop_are_contractions():
    kernels = reactant.cuda.load(SUMS_OF_PRODUCTS, lower="tensor")
    r = np.random.default_rng(3)
    a, b = ((r.standard_normal((13, 13)) + 1j * r.standard_normal((13, 13))).astype(np.complex64) for _ in range(2))

    def program(a, b, c):
        kernels.complex_[(2, 2), (8, 8)](a, b, c, 13)
        return c

    def apart(a, b, c):
        kernels.differences[(2, 2), (8, 8)](a, b, c, 13)
        return c
    c = np.zeros_like(a)
    operations = reactant.jit(program).lower(a, b, c).operations()
    assert operations["stablehlo.dot_general"] == 4 and "stablehlo.reduce" not in operations
    np.testing.assert_allclose(reactant.jit(program)(a, b, c), a @ b, rtol=1e-5, atol=1e-5)
    assert "stablehlo.dot_general" not in reactant.jit(apart).lower(a, b, c).operations()   # nothing would be saved
    expected = (a.real.astype(float) ** 2 - a.imag.astype(float) ** 2).sum(1, keepdims=True) + 1j * b[0, 0].real
    np.testing.assert_allclose(reactant.jit(apart)(a, b, c), np.broadcast_to(expected, a.shape), rtol=1e-4, atol=1e-5)
