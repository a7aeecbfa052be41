"""Kernels that take `float **`: lists of arrays, and the rows of one."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = r"""
struct pair { float re, im; };
extern "C" {
__global__ void sums(float **rows, float *out, int n) {
    float total = 0;
    for (int j = 0; j < n; j++) total += rows[threadIdx.x][j];
    out[threadIdx.x] = total;
}
__global__ void twice(double *const *rows, const int *lengths, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int j = 0; j < lengths[i]; j++) rows[i][j] *= 2;
}
__global__ void axpy(const double **x, double **y, double a, int n) {
    int b = blockIdx.x, i = threadIdx.x;
    if (i < n) y[b][i] += a * x[b][i];
}
__global__ void walk(int **rows, int n, int *out) {       // pointers that move and are swapped
    int *a = rows[0], *b = rows[1], s = 0;
    if (threadIdx.x & 1) { int *t = a; a = b; b = t; }
    for (int **p = rows; p != rows + n; ++p) s += (*p)[0];
    for (int i = 0; i < 3; i++) s += *a++ - 2 * *b++;
    out[threadIdx.x] = s;
}
__global__ void mirror(double **rows, int n) {
    int i = threadIdx.x;
    for (int k = 0; i < n && k < 2; k++) { double t = rows[k][i]; rows[k][i] = rows[3 - k][i]; rows[3 - k][i] = t; }
}
__global__ void conjugate(pair **rows, int n) { if (threadIdx.x < n) rows[threadIdx.x][0].im *= -1; }
__global__ void bytes(unsigned char **rows, bool **flags, long long *out) {
    out[threadIdx.x] = flags[threadIdx.x][0] ? rows[threadIdx.x][1] : -1;
}
__global__ void count(int **histograms, const int *which, const int *bin, int n) {
    if (threadIdx.x < n) atomicAdd(&histograms[which[threadIdx.x]][bin[threadIdx.x]], 1);
}
__global__ void replace(float **rows, float *x) { rows[0] = x; }
__global__ void cube(float ***x) { x[0][0][0] = 1; }
}
"""
LOWER = ("auto", "native")
f4, i4, u1 = np.float32, np.int32, np.uint8


@pytest.fixture(scope="module")
def modules():
    return {lower: reactant.cuda.load(SOURCE, lower=lower) for lower in LOWER}


@pytest.mark.parametrize("lower", LOWER)
def test_rows_are_read_and_written(modules, lower):
    m = modules[lower]
    rows, out = [np.arange(5, dtype=f4) * (i + 1) for i in range(4)], np.zeros(4, f4)
    m.sums[1, 4](rows, out, 5)
    assert np.array_equal(out, [10, 20, 30, 40])
    rows = [np.arange(n, dtype=np.float64) for n in (4, 1, 0, 7, 3)]
    m.twice[1, 32](tuple(rows), i4([4, 1, 0, 7, 3]), 5)
    assert all(np.array_equal(r, 2 * np.arange(len(r))) for r in rows)
    rows, out = [i4([1, 2, 3]), i4([10, 20, 30]), i4([100])], np.zeros(4, i4)
    m.walk[1, 4](rows, 3, out)
    assert out.tolist() == [111 + 6 - 120, 111 + 60 - 12] * 2
    rows = [np.arange(4.) + 10 * k for k in range(4)]
    m.mirror[1, 8](rows, 4)
    assert np.array_equal(rows, (np.arange(4.) + 10 * np.arange(4)[:, None])[::-1])


@pytest.mark.parametrize("lower", LOWER)
def test_dtypes(modules, lower):
    m = modules[lower]
    rows = [np.complex64([1 + 2j, 3]), np.complex64([4 + 5j])]
    m.conjugate[1, 8](rows, 2)
    assert rows[0].tolist() == [1 - 2j, 3] and rows[1].tolist() == [4 - 5j]
    out = np.zeros(2, np.int64)
    m.bytes[1, 2]([u1([1, 200]), u1([3, 4, 5])], [np.array([True]), np.array([False])], out)
    assert out.tolist() == [200, -1]
    rows = [np.zeros(3, i4), np.zeros(5, i4)]
    m.count[1, 32](rows, i4([0, 1, 1, 1]), i4([2, 4, 4, 0]), 4)
    assert rows[0].tolist() == [0, 0, 1] and rows[1].tolist() == [1, 0, 0, 0, 2]


@pytest.mark.parametrize("lower", LOWER)
def test_rows_of_an_array_and_in_compiled_functions(modules, lower):
    m, a = modules[lower], np.arange(21.).reshape(3, 7)
    b = np.ones((3, 7))
    m.axpy[3, 8](a, list(b), 2.0, 7)
    m.axpy[3, 8]([a[0], a[0], a[2]], b, 1.0, 7)            # one array twice
    assert np.array_equal(b, 1 + 2 * a + a[[0, 0, 2]])

    @reactant.jit
    def f(x, y, z):
        m.axpy[2, 8]([x[0], z], [y[1], y[0]], 3.0, 7)
        return y.sum() + z[0]
    b, z = np.ones((3, 7)), np.full(7, 5.)
    assert f(a, b, z) == b.sum() + 5
    assert np.array_equal(b, np.stack([1 + 3 * z, 1 + 3 * a[0], np.ones(7)]))


def test_derivatives(modules):
    def loss(x, y):
        y, z = y + 0, x[2] + 0
        modules["auto"].axpy[2, 8]([x[0], x[1]], [y, z], 2.0, 7)
        return (y * z).sum()
    x, y = np.random.default_rng(0).random((3, 7)), np.arange(7.)
    above, below = y + 2 * x[0], x[2] + 2 * x[1]
    assert np.allclose(reactant.grad(loss)(x, y), [2 * below, 2 * above, above])


def test_read_only_rows(modules):
    m, one, other = modules["native"], np.arange(7.), np.ones(7)
    one.flags.writeable = False
    m.axpy[2, 8]([one, other.copy()], [other, np.ones(7)], 1.0, 7)
    assert np.array_equal(other, 1 + one)
    with pytest.raises((reactant.errors.ReactantError, ValueError), match="read-only|written|constant"):
        m.axpy[2, 8]([other, other.copy()], [one, np.ones(7)], 1.0, 7)
    assert np.array_equal(one, np.arange(7.))


REFUSED = {
    "an array beside its row": (lambda m, x: m.replace[1, 1]([x, x.copy()], x), "copy"),
    "a written table": (lambda m, x: m.replace[1, 1]([x], x.copy()), "addresses of rows"),
    "rows of rows": (lambda m, x: m.cube[1, 1]([[x]]), "rows of rows"),
    "dtypes": (lambda m, x: m.sums[1, 1]([x, x.astype(np.float64)], x.copy(), 1), "several dtypes"),
    "another dtype": (lambda m, x: m.sums[1, 1]([x.astype(i4)], x, 1), "dtype int32"),
    "one row": (lambda m, x: m.sums[1, 1](x, x.copy(), 1), "list of arrays"),
    "none": (lambda m, x: m.sums[1, 1]([], x, 1), "list of arrays"),
    "numbers": (lambda m, x: m.sums[1, 1]([1, 2], x, 1), "list of arrays"),
    "strides": (lambda m, x: m.sums[1, 1]([x[::2]], x.copy(), 1), "contiguous"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(modules, case):
    call, said = REFUSED[case]
    with pytest.raises(reactant.errors.ReactantError, match=said):
        call(modules["auto"], np.ones(8, f4))


def test_many_rows_are_one_argument(modules):
    rows, out = [np.full(3, k, f4) for k in range(200)], np.zeros(200, f4)
    modules["native"].sums[1, 200](rows, out, 3)
    assert np.array_equal(out, 3 * np.arange(200))


def test_functions_of_c():
    trace = reactant.c.load("double trace(int n, double **a) { double s = 0; for (int i = 0; i < n; i++) s += a[i][i]; "
                            "return s; }", "trace")
    assert trace(3, np.arange(9.).reshape(3, 3)) == 12 and trace(2, [np.arange(3.), np.arange(5.)]) == 1
