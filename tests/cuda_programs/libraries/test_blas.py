"""cuBLAS against NumPy: `blas.cu` calls each routine, here is what it should have made."""
import numpy as np
import pytest

from tests.cuda_programs.libraries.series import numbers

M, N, K, LD, ROOM = 7, 5, 6, 9, 128
TYPES = {"f4": "S", "f8": "D", "c8": "C", "c16": "Z"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def got(made):
    return made("blas", "-lcublas")


@pytest.fixture(params=TYPES)
def of(request, got):
    return Of(request.param, got)


def op(a, which):
    return (a, a.T, a.T.conj())[which]


class Of:
    """The results of one type, and the numbers that they come from."""

    def __init__(self, dtype, got):
        self.dtype, self.got = np.dtype(dtype), got
        self.wide = np.dtype("c16" if self.dtype.kind == "c" else "f8")
        self.alpha = self.wide.type(1.5 - 0.25j) if self.wide.kind == "c" else 1.5
        self.beta = self.wide.type(0.5 + 0.75j) if self.wide.kind == "c" else 0.5
        self.complex = self.wide.kind == "c"

    def array(self, seed):
        return numbers(seed, ROOM, self.dtype).astype(self.wide)

    def matrix(self, seed, rows, columns, leading=LD, start=0):
        """A view, so that what is written into it is in the array, too."""
        array = self.array(seed)
        return array, np.lib.stride_tricks.as_strided(array[start:], (rows, columns),
                                                      (array.itemsize, leading * array.itemsize))

    def check(self, name, wanted, tolerance=40):
        found = self.got[f"{self.dtype.str[1:]},{name}"]
        assert found.shape == wanted.shape, name
        scale = max(1, np.abs(wanted).max())
        error = np.abs(found - wanted).max()
        assert error <= tolerance * np.finfo(self.dtype).eps * scale, (name, error, found[:20], wanted[:20])

    def steps(self, array, n, step, start=0):
        """The n numbers of a vector with a step, as indices."""
        return start + (np.arange(n) * step if step > 0 else np.arange(n - 1, -1, -1) * -step)


@pytest.mark.parametrize("n", [0, 1, 11])
def test_vectors(of, n):
    x, y = of.array(1), of.array(2)
    at = of.steps(y, n, 3)
    expected = y.copy()
    expected[at] += of.alpha * x[of.steps(x, n, -2)]
    of.check(f"axpy,{n}", expected)
    expected = y.copy()
    expected[of.steps(y, n, -2)] = x[of.steps(x, n, 3)]
    of.check(f"copy,{n}", expected)
    expected = y.copy()
    expected[at] *= of.alpha
    of.check(f"scal,{n}", expected)
    p, q = of.steps(y, n, 2), of.steps(y, n, -2, 64)
    expected = y.copy()
    expected[p], expected[q] = y[q], y[p]
    of.check(f"swap,{n}", expected)
    expected = y.copy()
    expected[p], expected[q] = 0.8 * y[p] + 0.6 * y[q], 0.8 * y[q] - 0.6 * y[p]
    of.check(f"rot,{n}", expected)
    used = x[of.steps(x, n, 2)]
    sizes = np.abs(used.real) + np.abs(used.imag)
    prefix = of.dtype.str[1:]
    assert of.got[f"{prefix},amax,{n}"][0] == (sizes.argmax() + 1 if n else 0)
    assert of.got[f"{prefix},amin,{n}"][0] == (sizes.argmin() + 1 if n else 0)
    np.testing.assert_allclose(of.got[f"{prefix},asum,{n}"][0], sizes.sum(), rtol=1e-5)
    np.testing.assert_allclose(of.got[f"{prefix},nrm2,{n}"][0], np.linalg.norm(used), rtol=1e-5)
    u, v = x[of.steps(x, n, -2)], x[of.steps(x, n, 3, 60)]
    of.check(f"dot,{n}", np.array([(u * v).sum()]))
    if of.complex:
        of.check(f"dotc,{n}", np.array([(u.conj() * v).sum()]))


def banded(of, rows, columns, below, above):
    """The matrix that band storage of array 1 holds."""
    _, stored = of.matrix(1, below + above + 1, columns)
    made = np.zeros((rows, columns), of.wide)
    for j in range(columns):
        for i in range(max(0, j - above), min(rows, j + below + 1)):
            made[i, j] = stored[above + i - j, j]
    return made


def triangle(a, lower, unit=False):
    made = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(made, 1)
    return made


def mirrored(a, lower, adjoint=False):
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    other = half.T.conj() if adjoint else half.T
    return half + other + np.diag(np.diag(a).real if adjoint else np.diag(a))


@pytest.mark.parametrize("which", range(3))
def test_matrices_and_vectors(of, which):
    _, a = of.matrix(1, M, N)
    x, y = of.array(2), of.array(3)
    rows, columns = (M, N) if which == 0 else (N, M)
    expected = y.copy()
    at = of.steps(y, rows, 3)
    expected[at] = of.alpha * op(a, which) @ x[of.steps(x, columns, -2)] + of.beta * y[at]
    of.check(f"gemv,{which}", expected)
    expected = y.copy()
    expected[:rows] = of.alpha * op(banded(of, M, N, 2, 1), which) @ x[of.steps(x, columns, 2)] + of.beta * y[:rows]
    of.check(f"gbmv,{which}", expected)
    _, square = of.matrix(1, M, M)
    for fill in range(2):
        for unit in range(2):
            expected, at = y.copy(), of.steps(y, M, -2)
            expected[at] = op(triangle(square, fill == 0, unit), which) @ y[at]
            of.check(f"trmv,{which},{fill},{unit}", expected)
            band = triangle(banded(of, M, M, *((2, 0) if fill == 0 else (0, 2))), fill == 0, unit)
            expected = y.copy()
            expected[:M] = op(band, which) @ y[:M]
            of.check(f"tbmv,{which},{fill},{unit}", expected)


@pytest.mark.parametrize("fill", range(2))
def test_symmetric_matrices_and_vectors(of, fill):
    _, a = of.matrix(1, M, M)
    x, y = of.array(2), of.array(3)
    at, lower = of.steps(y, M, -2), fill == 0
    expected = y.copy()
    expected[at] = of.alpha * mirrored(a, lower) @ x[of.steps(x, M, 2)] + of.beta * y[at]
    of.check(f"symv,{fill}", expected)
    u, v = x[of.steps(x, M, -2)], x[of.steps(x, M, 3, 40)]
    part = np.tril(np.ones((M, M), bool)) if lower else np.triu(np.ones((M, M), bool))
    for name, added in (("syr", of.alpha * np.outer(u, u)), ("syr2", of.alpha * (np.outer(u, v) + np.outer(v, u)))):
        array, c = of.matrix(3, M, M)
        c[part] += added[part]
        of.check(f"{name},{fill}", array)
    packed = of.array(3)
    packed[:M * (M + 1) // 2] = np.concatenate([a[j:, j] if lower else a[:j + 1, j] for j in range(M)])
    of.check(f"trttp,{fill}", packed)
    if of.complex:
        expected = y.copy()
        expected[at] = of.alpha * mirrored(a, lower, True) @ x[of.steps(x, M, 2)] + of.beta * y[at]
        of.check(f"hemv,{fill}", expected)
        array, c = of.matrix(3, M, M)
        added = of.alpha * np.outer(u, v.conj())
        added = added + added.T.conj()
        c[part] += added[part]
        np.fill_diagonal(c, np.diag(c).real)
        of.check(f"her2,{fill}", array)


def test_outer_products_and_zero_factors(of):
    x = of.array(2)
    u, v = x[of.steps(x, M, -2)], x[of.steps(x, N, 3, 40)]
    array, c = of.matrix(3, M, N)
    c += of.alpha * np.outer(u, v)
    of.check("ger", array)
    if of.complex:
        array, c = of.matrix(3, M, N)
        c += of.alpha * np.outer(u, v.conj())
        of.check("gerc", array)
    expected = of.array(3)
    expected[:N] = of.alpha * of.matrix(1, M, N)[1].T @ of.array(2)[:M]
    of.check("gemv_nan", expected)


@pytest.mark.parametrize("opa", range(3))
@pytest.mark.parametrize("opb", range(3))
def test_gemm(of, opa, opb):
    a = of.matrix(1, *((M, K) if opa == 0 else (K, M)))[1]
    b = of.matrix(2, *((K, N) if opb == 0 else (N, K)))[1]
    array, c = of.matrix(3, M, N)
    c[:] = of.alpha * op(a, opa) @ op(b, opb) + of.beta * c
    of.check(f"gemm,{opa},{opb}", array)


def test_gemm_without_terms(of):
    array, c = of.matrix(3, M, N)
    c *= of.beta
    of.check("gemm_k0", array)
    of.check("gemm_alpha0", array)
    of.check("gemm_n0", of.array(3))
    found = of.got[f"{of.dtype.str[1:]},gemm_nan"]
    inside = np.lib.stride_tricks.as_strided(np.arange(ROOM), (M, N), (8, LD * 8))
    product = of.alpha * of.matrix(1, M, K)[1] @ of.matrix(2, K, N)[1]
    np.testing.assert_allclose(found[inside], product, rtol=0, atol=1e-4)
    assert np.isnan(np.delete(found, inside.ravel())).all()
    array, c = of.matrix(3, M, N)
    c[:] = of.alpha * of.matrix(1, M, K)[1] @ of.matrix(2, K, N)[1] + of.beta * c
    of.check("gemm_device", array)
    norm = np.linalg.norm(of.array(1)[0:22:2])
    np.testing.assert_allclose(of.got[f"{of.dtype.str[1:]},nrm2_device"][0], norm, rtol=1e-5)


@pytest.mark.parametrize("side", range(2))
@pytest.mark.parametrize("fill", range(2))
def test_one_sided(of, side, fill):
    size, lower = (M if side == 0 else N), fill == 0
    a, b = of.matrix(1, size, size)[1], of.matrix(2, M, N)[1]

    def times(left, right):
        return left @ right if side == 0 else right @ left
    for name, adjoint in (("symm", False), ("hemm", True)):
        if adjoint and not of.complex:
            continue
        array, c = of.matrix(3, M, N)
        c[:] = of.alpha * times(mirrored(a, lower, adjoint), b) + of.beta * c
        of.check(f"{name},{side},{fill}", array)
    for which in range(3):
        array, c = of.matrix(3, M, N)
        c[:] = of.alpha * times(op(triangle(a, lower), which), b)
        of.check(f"trmm,{side},{fill},{which}", array)
        array, c = of.matrix(3, M, N)
        inverse = np.linalg.inv(op(triangle(a, lower, True), which))
        c[:] = of.alpha * times(inverse, c)
        of.check(f"trsm,{side},{fill},{which}", array, 2000)


@pytest.mark.parametrize("fill", range(2))
@pytest.mark.parametrize("turned", range(2))
def test_rank_k(of, fill, turned):
    a, b = (of.matrix(seed, *((K, N) if turned else (N, K)))[1] for seed in (1, 2))
    part = np.tril(np.ones((N, N), bool)) if fill == 0 else np.triu(np.ones((N, N), bool))

    def check(name, added, beta, real_diagonal=False):
        array, c = of.matrix(3, N, N)
        c[part] = added[part] + beta * c[part]
        if real_diagonal:
            np.fill_diagonal(c, np.diag(c).real)
        of.check(f"{name},{fill},{turned}", array)
    p, q = (a.T, b.T) if turned else (a, b)
    check("syrk", of.alpha * p @ p.T, of.beta)
    check("syr2k", of.alpha * (p @ q.T + q @ p.T), of.beta)
    check("syrkx", of.alpha * p @ q.T, of.beta)
    if of.complex:
        p, q = (a.T.conj(), b.T.conj()) if turned else (a, b)
        check("herk", 1.5 * p @ p.T.conj(), 0.5, True)
        added = of.alpha * p @ q.T.conj()
        check("her2k", added + added.T.conj(), 0.5, True)


def test_sums_and_scalings_of_matrices(of):
    for opa in range(3):
        a, b = of.matrix(1, *((M, N) if opa == 0 else (N, M)))[1], of.matrix(2, N, M)[1]
        array, c = of.matrix(3, M, N)
        c[:] = of.alpha * op(a, opa) + of.beta * b.T
        of.check(f"geam,{opa}", array)
    array, c = of.matrix(3, M, N)
    c[:] = of.beta * of.matrix(2, M, N)[1]
    of.check("geam_zero", array)
    a, x = of.matrix(1, M, N)[1], of.array(2)
    array, c = of.matrix(3, M, N)
    c[:] = x[of.steps(x, M, -2)][:, None] * a
    of.check("dgmm_left", array)
    array, c = of.matrix(3, M, N)
    c[:] = a * x[of.steps(x, N, 3)]
    of.check("dgmm_right", array)


def test_batches(of):
    def product(array, places, opa, opb, rows, leading):
        (a_at, lda), (b_at, ldb), (c_at, ldc) = places
        a = of.matrix(1, *rows[0], lda, a_at)[1]
        b = of.matrix(2, *rows[1], ldb, b_at)[1]
        c = np.lib.stride_tricks.as_strided(array[c_at:], (3, 2), (array.itemsize, ldc * array.itemsize))
        c[:] = of.alpha * op(a, opa) @ op(b, opb) + of.beta * c
    array = of.array(3)
    for k in range(4):
        product(array, ((25 * k, 5), (9 * k, 4), (11 * k, 4)), 1, 0, ((4, 3), (4, 2)), None)
    of.check("strided", array)
    array = of.array(3)
    for a_at, b_at, c_at in ((0, 0, 0), (30, 0, 20), (0, 20, 40)):
        product(array, ((a_at, 3), (b_at, 2), (c_at, 4)), 0, 2, ((3, 4), (2, 4)), None)
    of.check("batched", array)


def test_factors_in_batches(of):
    first, second = (of.matrix(1, 5, 5, 5, start)[1] for start in (0, 25))
    assert list(of.got[f"{of.dtype.str[1:]},lu_info"]) == [0, 0]
    expected = of.array(2)
    for a, start in ((first, 0), (second, 10)):
        expected[start:start + 10] = np.linalg.solve(a.T.conj(), of.matrix(2, 5, 2, 5, start)[1]).T.ravel()
    of.check("solved", expected, 3e4)
    expected = of.array(2)
    expected[:25], expected[25:50] = np.linalg.inv(first).T.ravel(), np.linalg.inv(second).T.ravel()
    of.check("inverse", expected, 3e4)
    found = of.got[f"{of.dtype.str[1:]},without_pivots"][40:50]
    a = of.matrix(2, 5, 5, 5)[1]
    np.testing.assert_allclose(a.T @ found.reshape(2, 5).T, of.matrix(2, 5, 2, 5, 40)[1], atol=2e4 * np.finfo(of.dtype).eps)


def test_half_precision_and_integers(got):
    a, b = numbers(1, 24).reshape(4, 6).T, numbers(2, 20).reshape(5, 4).T
    c = numbers(3, 30).reshape(5, 6).T
    halves = np.float16(a).astype("f8"), np.float16(b).astype("f8")
    np.testing.assert_allclose(got["half_to_float"].reshape(5, 6).T, 1.5 * halves[0] @ halves[1] + 0.5 * c, atol=1e-5)
    np.testing.assert_allclose(got["bfloat_to_float"].reshape(5, 6).T, 1.5 * a @ b + 0.5 * c, atol=0.03)
    np.testing.assert_allclose(got["half"].reshape(5, 6).T, 1.5 * halves[0] @ halves[1], atol=4e-3)
    whole = (np.trunc(100 * a) @ np.trunc(100 * b)).astype(int)
    np.testing.assert_array_equal(got["integers"].reshape(5, 6).T, whole)
    assert got["no_such_product"][0] == 15


def test_statuses_copies_and_graphs(got):
    assert [got[name][0] for name in ("no_handle", "bad_leading", "bad_size")] == [1, 7, 7]
    np.testing.assert_array_equal(got["set_and_get"], [0, 1, 4, 5, 8, 9])
    np.testing.assert_array_equal(got["set_vector"][0:9:3], [0, 2, 4])
    a, b, c = (numbers(seed, 16).reshape(4, 4).T for seed in (1, 2, 3))
    np.testing.assert_allclose(got["captured"].reshape(4, 4).T, 3 * 2 * a @ b + c, rtol=1e-13)
