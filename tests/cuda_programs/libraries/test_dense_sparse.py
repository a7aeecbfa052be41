"""cuSPARSE, cuSOLVER and NCCL against NumPy: `dense_sparse.cu` makes the calls."""
import numpy as np
import pytest

from tests.cuda_programs.libraries.series import numbers

pytestmark = pytest.mark.slow
TYPES = ["f4", "f8", "c8", "c16"]


@pytest.fixture(scope="module")
def got(made):
    return made("dense_sparse", "-lcusparse", "-lcusolver", "-lnccl")


def op(a, which):
    return (a, a.T, a.T.conj())[which]


def factors(dtype):
    return (1.5 - 0.25j, 0.5 + 0.75j) if dtype[0] == "c" else (1.5, 0.5)


def pattern(rows, columns, diagonal=False):
    i, j = np.mgrid[:rows, :columns]
    return (((3 * i + 5 * j + i * j) % 7 < 3) & (i != 2) & (j != 3)) | (diagonal & (i == j))


def wide(dtype):
    return "c16" if dtype[0] == "c" else "f8"


def sparse_matrix(dtype):
    """The matrix of 7 x 5 of the program."""
    at = pattern(7, 5)
    made = np.zeros((7, 5), wide(dtype))
    made[at] = numbers(1, at.sum(), dtype)
    return made


def close(found, expected, factor=50):
    epsilon = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=factor * epsilon * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize("which", range(3))
def test_sparse_products(got, dtype, form, which):
    a = sparse_matrix(dtype).T if form == 1 else sparse_matrix(dtype)
    a = op(a, which)
    alpha, beta = factors(dtype)
    y = numbers(3, a.shape[0], dtype).astype(wide(dtype))
    expected = alpha * a @ numbers(2, 40, dtype)[:a.shape[1]] + (0 if which == 1 else beta) * y
    close(got[f"spmv,{dtype},{form},{which}"], expected)
    b, c = numbers(4, 80, dtype).astype(wide(dtype)), numbers(5, 40, dtype).astype(wide(dtype))
    by_columns = b[:27].reshape(3, 9)[:, :a.shape[1]].T
    expected = c.copy()
    rows = expected[:a.shape[0] * 5].reshape(-1, 5)
    rows[:, :3] = alpha * a @ by_columns + beta * rows[:, :3]
    close(got[f"spmm,{dtype},{form},{which},0"], expected)
    expected = c.copy()
    turned = b[:24].reshape(3, 8)[:, :a.shape[1]].T.conj()
    columns = expected[:30].reshape(3, 10)[:, :a.shape[0]]
    columns[:] = (alpha * a @ turned + beta * columns.T).T
    close(got[f"spmm,{dtype},{form},{which},1"], expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_dense_and_back(got, dtype):
    a, expected = sparse_matrix(dtype), numbers(6, 60, dtype).astype(wide(dtype))
    expected[:40].reshape(5, 8)[:, :7] = a.T
    close(got[f"dense,{dtype}"], expected)
    entries = numbers(1, pattern(7, 5).sum(), dtype)
    assert (entries != 0).all()
    assert got[f"found,{dtype}"][0] == len(entries)
    np.testing.assert_array_equal(got[f"again,{dtype}"], entries)
    assert f"wrong_offsets,{dtype}" not in got and f"wrong_columns,{dtype}" not in got


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_sparse_systems(got, dtype):
    a = np.zeros((6, 6), wide(dtype))
    a[pattern(6, 6, True)] = got[f"system,{dtype}"]
    alpha, _ = factors(dtype)
    x, b = numbers(3, 6, dtype), numbers(4, 40, dtype)[:24].reshape(3, 8)[:, :6].T
    for fill in range(2):
        for unit in range(2):
            part = np.tril(a) if fill == 0 else np.triu(a)
            if unit:
                np.fill_diagonal(part, 1)
            for which in range(3):
                name = f"{dtype},{fill},{unit},{which}"
                close(got["spsv," + name], alpha * np.linalg.solve(op(part, which), x))
                expected = numbers(5, 40, dtype).astype(wide(dtype))
                expected[:24].reshape(6, 4)[:, :3] = alpha * np.linalg.solve(op(part, which), b)
                close(got["spsm," + name], expected)
    close(got[f"square,{dtype}"], (alpha * a @ a).ravel())


def test_older_calls(got):
    a = sparse_matrix("f8")
    close(got["csrmv"], 2 * a @ numbers(2, 5) - numbers(3, 7))
    assert got["csr2coo"][0] == got["coo2csr"][0] == 1
    columns, rows = np.nonzero(pattern(7, 5).T)
    np.testing.assert_array_equal(got["csc_values"], a[rows, columns])
    np.testing.assert_array_equal(got["csc_rows"], rows + 1)
    np.testing.assert_array_equal(got["csc_offsets"], 1 + np.concatenate([[0], pattern(7, 5).sum(0).cumsum()]))
    assert got["wrong_length"][0] == 3


@pytest.mark.parametrize("dtype", TYPES)
def test_dense_systems(got, dtype):
    a, b = numbers(1, 48, dtype).reshape(6, 8)[:, :6].T, numbers(2, 24, dtype).reshape(3, 8)[:, :6].T
    def right(name):
        return got[f"{dtype},{name}"].reshape(3, 8)[:, :6].T
    close(right("solved"), np.linalg.solve(a.T.astype(wide(dtype)), b), 2000)
    s = got[f"{dtype},symmetric"].reshape(6, 6).T.astype(wide(dtype))
    close(right("by_cholesky"), np.linalg.solve(s, b), 2000)
    assert [int(got[f"{dtype},{name}_info"][0]) for name in ("solved", "singular", "cholesky")] == [0, 1, 0]
    values, vectors = got[f"{dtype},eigenvalues"], got[f"{dtype},eigenvectors"].reshape(6, 6).T
    close(values, np.linalg.eigvalsh(s), 200)
    close(s.astype(dtype) @ vectors, vectors * values, 400)
    close(got[f"{dtype},of_itself"], np.ones(6), 400)


@pytest.mark.parametrize("dtype", TYPES)
def test_orthogonal_factors_and_singular_values(got, dtype):
    a = numbers(5, 36, dtype).reshape(4, 9)[:, :7].T.astype(wide(dtype))
    def columns(name, leading, rows, count):
        return got[f"{dtype},{name}"][:leading * count].reshape(count, leading)[:, :rows].T
    q, r = columns("q", 9, 7, 4), np.triu(columns("r", 9, 7, 4)[:4])
    close(q @ r, a, 100)
    close(q.T.conj() @ q, np.eye(4), 100)
    b = numbers(6, 36, dtype)[:27].reshape(3, 9)[:, :7].T
    close(columns("q_applied", 9, 7, 3)[:4], q.T.conj().astype(wide(dtype)) @ b, 200)
    expected = np.linalg.svd(a, compute_uv=False)
    u, vt = columns("u", 9, 7, 4), columns("vt", 6, 4, 4)
    close(got[f"{dtype},singular_values"], expected, 100)
    close(u * got[f"{dtype},singular_values"] @ vt, a, 200)
    close(got[f"{dtype},jacobi_values"], expected, 100)
    close(columns("jacobi_u", 9, 7, 4) * got[f"{dtype},jacobi_values"] @ columns("jacobi_v", 6, 4, 4).T.conj(), a, 200)


def test_one_rank(got):
    assert got["two_ranks"][0] == 4 and got["alone"][0] == 5
    np.testing.assert_array_equal(got["all_reduced"], numbers(1, 10))
    np.testing.assert_array_equal(got["received"], np.concatenate([numbers(3, 10)[:5], numbers(1, 10)[:5]]))
