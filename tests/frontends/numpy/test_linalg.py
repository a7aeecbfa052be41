"""numpy.linalg compiled against NumPy: tables of functions and arguments; factorizations through reconstruction."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

RANDOM = np.random.default_rng(5)
SQUARE = RANDOM.normal(size=(4, 4))
STACK = RANDOM.normal(size=(2, 3, 3, 3))
TALL, WIDE = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 5))
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
COMPLEX_TALL = RANDOM.normal(size=(4, 2)) + 1j * RANDOM.normal(size=(4, 2))
POSITIVE = SQUARE @ SQUARE.T + np.eye(4)
POSITIVE_STACK = STACK @ STACK.swapaxes(-1, -2) + np.eye(3)
HERMITIAN = COMPLEX @ COMPLEX.conj().T + np.eye(3)
SINGLE = SQUARE.astype(np.float32)
INTEGER = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
DEFICIENT = np.outer(np.arange(1.0, 6), np.arange(1.0, 4))
NAN = np.array([[np.nan, 1.0], [1.0, 2.0]])
NO_ROWS, EMPTY_STACK = np.zeros((0, 0)), np.zeros((0, 3, 3))

SQUARES = [SQUARE, STACK, COMPLEX, SINGLE, COMPLEX.astype(np.complex64), INTEGER, NO_ROWS, EMPTY_STACK,
           INTEGER > 0, SQUARE.T, STACK[:, ::-1, ::-1], np.array([[3.0]])]
ANY_SHAPE = [*SQUARES, TALL, WIDE, COMPLEX_TALL, np.zeros((0, 3)), np.zeros((3, 0)), DEFICIENT]


def identity_of(x):
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else str(x)


def close(f, *args, **options):
    return check(f, *args, rtol=1e-9, atol=1e-11, **options)


# ---- equations -------------------------------------------------------------------------------------------------

@pytest.mark.sampled(10)
@pytest.mark.parametrize("a", SQUARES, ids=identity_of)
@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.det, np.linalg.slogdet])
def test_of_one_square_matrix(f, a):
    close(lambda x: f(x), a)


@pytest.mark.parametrize("a, b", [
    (SQUARE, np.arange(4.0)), (SQUARE, RANDOM.normal(size=(4, 2))), (SQUARE, np.arange(4)), (STACK, np.arange(3.0)),
    (STACK, RANDOM.normal(size=(3, 3, 1))), (STACK[0], RANDOM.normal(size=(2, 1, 3, 2))), (COMPLEX, np.arange(3.0)),
    (INTEGER, COMPLEX), (SINGLE, SINGLE), (SINGLE, np.arange(4.0)), (NO_ROWS, np.zeros((0, 3))),
    (SQUARE, np.zeros((4, 0))), (EMPTY_STACK, np.zeros((0, 3, 2))), (SQUARE, np.zeros(3)), (TALL, np.zeros(5)),
    (SQUARE, np.zeros((3, 2))), (np.zeros(3), np.zeros(3)), (SQUARE.astype(np.float16), np.zeros(4)),
    (SINGULAR, np.ones(2)), (NAN, np.ones(2)), (SQUARE, np.float64(1.0))], ids=identity_of)
def test_solve(a, b):
    close(lambda a, b: np.linalg.solve(a, b), a, b)


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.eigh,
                               np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals, np.linalg.svdvals])
@pytest.mark.parametrize("a", [np.zeros(3), TALL, SQUARE.astype(np.float16), SINGULAR[None], np.float64(2.0)],
                         ids=identity_of)
def test_arguments_that_numpy_refuses_are_refused(f, a):
    """Each raises what NumPy raises, or both give a result (compared elsewhere)."""
    try:
        f(a)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            reactant.jit(lambda a: f(a))(a)
        assert str(caught.value).split("\n")[0] == str(error)


@pytest.mark.parametrize("f, a, text", [
    (np.linalg.inv, SINGULAR, "Singular matrix"),
    (lambda a: np.linalg.solve(a, np.ones(2)), SINGULAR, "Singular matrix"),
    (np.linalg.inv, np.stack([np.eye(2), SINGULAR]), "Singular matrix"),
    (np.linalg.cholesky, -POSITIVE, "Matrix is not positive definite"),
    (np.linalg.svd, NAN, "SVD did not converge"),
    (np.linalg.eig, NAN, "Array must not contain infs or NaNs"),
    (lambda a: np.linalg.matrix_power(a, -2), SINGULAR, "Singular matrix"),
])
def test_failures_at_run_time_raise_after_the_call(f, a, text):
    with pytest.raises(np.linalg.LinAlgError, match=text):
        f(a)
    with pytest.raises(np.linalg.LinAlgError, match=text):
        reactant.jit(lambda a: f(a))(a)


def test_nan_matrices_give_nan_where_numpy_gives_nan():
    close(lambda a: (np.linalg.inv(a), np.linalg.cholesky(a)), NAN)


def test_determinant_does_not_overflow_on_the_way():
    close(lambda a: (np.linalg.det(a), np.linalg.slogdet(a)), np.diag([1e200, 1e200, 1e-300, 1e-100]))


@pytest.mark.parametrize("a, shape, axes", [(RANDOM.normal(size=(2, 3, 6)), (2, 3), None),
                                            (RANDOM.normal(size=(2, 6, 3)), (6,), (1,)),
                                            (np.ones((2, 3, 5)), (2, 3), None)])
def test_tensorsolve(a, shape, axes):
    a = a if axes is None else np.moveaxis(RANDOM.normal(size=(6, 2, 3)), 0, 1)
    close(lambda a, b: np.linalg.tensorsolve(a, b, axes), a, np.ones(shape))


@pytest.mark.parametrize("ind", [1, 2, 0])
def test_tensorinv(ind):
    close(lambda a: np.linalg.tensorinv(a, ind), RANDOM.normal(size=(4, 6, 8, 3) if ind == 2 else (6, 2, 3)))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -3, 1.5])
@pytest.mark.parametrize("a", [INTEGER, SQUARE, STACK, COMPLEX], ids=identity_of)
def test_matrix_power(a, n):
    close(lambda a: np.linalg.matrix_power(a, n), a)


# ---- factorizations --------------------------------------------------------------------------------------------

def assert_same_form(plain, compiled):
    """Names, shapes and dtypes of the parts."""
    assert type(plain) is type(compiled)
    for a, b in zip(plain, compiled, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)


@pytest.mark.parametrize("a", [POSITIVE, POSITIVE_STACK, HERMITIAN, POSITIVE.astype(np.float32), INTEGER, NO_ROWS],
                         ids=identity_of)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(a, upper):
    close(lambda a: np.linalg.cholesky(a, upper=upper), a)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle(upper):
    a = POSITIVE + (np.tril(np.ones((4, 4)), -1) if upper else np.triu(np.ones((4, 4)), 1))
    close(lambda a: np.linalg.cholesky(a, upper=upper), a)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", ANY_SHAPE, ids=identity_of)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr(a, mode):
    found = reactant.jit(lambda a: np.linalg.qr(a, mode))(a)
    assert_same_form(np.linalg.qr(a, mode), found)
    q, r = found
    tolerance = 1e-5 if q.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(q @ r, a, atol=tolerance)
    np.testing.assert_allclose(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1]), r.shape[:-2] + 2 *
                               (q.shape[-1],)), atol=tolerance)
    np.testing.assert_array_equal(np.tril(r, -1), 0)


@pytest.mark.parametrize("a", [TALL, WIDE, SQUARE, COMPLEX_TALL, STACK, SINGLE], ids=identity_of)
def test_qr_r_and_raw(a):
    close(lambda a: (np.linalg.qr(a, "r"), np.linalg.qr(a, mode="raw")), a)


def test_qr_modes_that_do_not_exist():
    check(lambda a: np.linalg.qr(a, "bad"), SQUARE)
    with pytest.raises(reactant.errors.UnsupportedError, match="deprecated mode 'full'"):
        reactant.jit(lambda a: np.linalg.qr(a, "full"))(SQUARE)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", ANY_SHAPE, ids=identity_of)
@pytest.mark.parametrize("full_matrices", [False, True])
def test_svd(a, full_matrices):
    found = reactant.jit(lambda a: np.linalg.svd(a, full_matrices))(a)
    plain = np.linalg.svd(a, full_matrices)
    assert_same_form(plain, found)
    tolerance = 1e-5 if found.U.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(found.S, plain.S, atol=tolerance)
    k = min(a.shape[-2:])
    np.testing.assert_allclose((found.U[..., :k] * found.S[..., None, :]) @ found.Vh[..., :k, :], a, atol=tolerance)
    for unitary in (found.U, found.Vh.swapaxes(-1, -2)):
        gram = unitary.conj().swapaxes(-1, -2) @ unitary
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(gram.shape[-1]), gram.shape), atol=tolerance)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", ANY_SHAPE, ids=identity_of)
def test_singular_values(a):
    close(lambda a: (np.linalg.svdvals(a), np.linalg.svd(a, compute_uv=False)), a)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("a", [POSITIVE - 5 * np.eye(4), HERMITIAN - 3 * np.eye(3), POSITIVE_STACK], ids=identity_of)
def test_hermitian_svd(a):
    close(lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True), a)

    def rebuilt(a):
        u, s, vh = np.linalg.svd(a, hermitian=True)
        return s, np.matmul(u * s[..., None, :], vh)
    close(rebuilt, a)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("a", [POSITIVE, HERMITIAN, POSITIVE_STACK, INTEGER, POSITIVE.astype(np.float32), SQUARE,
                               NO_ROWS], ids=identity_of)
@pytest.mark.parametrize("UPLO", ["L", "u"])
def test_eigh(a, UPLO):
    close(lambda a: np.linalg.eigvalsh(a, UPLO), a)
    found = reactant.jit(lambda a: np.linalg.eigh(a, UPLO))(a)
    assert_same_form(np.linalg.eigh(a, UPLO), found)
    values, vectors = found
    triangle = np.tril(a, -1) if UPLO == "L" else np.triu(a, 1)
    whole = triangle + triangle.conj().swapaxes(-1, -2) + np.eye(a.shape[-1]) * a
    np.testing.assert_allclose(whole @ vectors, vectors * values[..., None, :],
                               atol=1e-4 if vectors.dtype == np.float32 else 1e-10)


def test_eigh_triangle_is_checked():
    check(lambda a: np.linalg.eigh(a, "x"), POSITIVE)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", SQUARES, ids=identity_of)
def test_eig_is_complex_and_satisfies_its_equation(a):
    values, vectors = reactant.jit(lambda a: np.linalg.eig(a))(a)
    assert values.dtype == vectors.dtype == np.result_type(np.linalg.eig(a).eigenvalues, np.complex64)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :],
                               atol=1e-4 if values.dtype == np.complex64 else 1e-10)
    alone = reactant.jit(lambda a: np.linalg.eigvals(a))(a)
    assert alone.dtype == values.dtype
    np.testing.assert_allclose(np.sort_complex(alone.ravel()), np.sort_complex(np.linalg.eigvals(a).ravel()),
                               atol=1e-4 if values.dtype == np.complex64 else 1e-8)


# ---- least squares, rank, norms --------------------------------------------------------------------------------

@pytest.mark.parametrize("a, b", [(TALL, np.arange(5.0)), (TALL, RANDOM.normal(size=(5, 2))), (WIDE, np.arange(3.0)),
                                  (WIDE, RANDOM.normal(size=(3, 2))), (SQUARE, np.arange(4)),
                                  (COMPLEX_TALL, np.ones(4)),
                                  (TALL.astype(np.float32), np.ones(5, np.float32)), (TALL, np.ones(4)),
                                  (TALL, np.ones((5, 2, 2))), (TALL, np.zeros((5, 0)))], ids=identity_of)
def test_lstsq(a, b):
    close(lambda a, b: np.linalg.lstsq(a, b), a, b)


def test_lstsq_of_deficient_rank():
    """Everything but the residuals; using those raises after the call, since NumPy's are empty."""
    b = np.arange(5.0)

    def without(a, b):
        x, _, rank, s = np.linalg.lstsq(a, b, rcond=1e-10)
        return x, rank, s
    close(without, DEFICIENT, b)
    with pytest.raises(reactant.errors.UnsupportedError, match="rank-deficient"):
        reactant.jit(lambda a, b: np.linalg.lstsq(a, b, rcond=1e-10)[1])(DEFICIENT, b)


@pytest.mark.parametrize("options", [{}, {"tol": 1.0}, {"rtol": 0.3}, {"tol": 1.0, "rtol": 0.3}])
@pytest.mark.parametrize("a", [SQUARE, STACK, DEFICIENT, COMPLEX, np.arange(3.0), np.zeros(3)], ids=identity_of)
def test_matrix_rank(a, options):
    check(lambda a: np.linalg.matrix_rank(a, **options) + 0, a)


@pytest.mark.parametrize("options", [{}, {"rcond": 0.2}, {"rtol": None}, {"rtol": 0.2}, {"rcond": 0.2, "rtol": 0.2}])
@pytest.mark.parametrize("a", [SQUARE, TALL, WIDE, STACK, COMPLEX_TALL, TALL.astype(np.float32), np.zeros((0, 3))],
                         ids=identity_of)
def test_pinv(a, options):
    check(lambda a: np.linalg.pinv(a, **options), a, rtol=1e-7 if a.dtype != np.float32 else 1e-3, atol=1e-6
          if a.dtype == np.float32 else 1e-10)


def test_pinv_of_a_hermitian_matrix():
    close(lambda a: np.linalg.pinv(a, hermitian=True), HERMITIAN)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "bad"])
@pytest.mark.parametrize("a", [SQUARE, STACK, COMPLEX, SINGULAR, np.zeros((2, 2)), np.stack([np.eye(2), SINGULAR])],
                         ids=identity_of)
def test_cond(a, p):
    if a is SINGULAR and p in (None, 2, -2):
        pytest.skip("the quotient of rounding errors")
    if a.ndim == 3 and p in (None, 2, -2):
        a = a[:1]
    close(lambda a: np.linalg.cond(a, p), a)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("ord", [None, 0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf, "fro", "nuc", "bad"])
@pytest.mark.parametrize("x, axis", [
    (np.arange(-3.0, 4), None), (np.arange(-3, 4), 0), (TALL, None), (TALL, 0), (TALL, (0, 1)), (TALL, (1, 0)),
    (STACK, (-1, 0)), (STACK, 2), (STACK, (0, 1, 2)), (COMPLEX, None), (COMPLEX, -1), (SINGLE, None),
    (TALL, (1, 1)), (TALL, "x"), (np.zeros((0, 2)), (0, 1))], ids=identity_of)
@pytest.mark.parametrize("keepdims", [False, True])
def test_norm(x, ord, axis, keepdims):
    close(lambda x: np.linalg.norm(x, ord, axis, keepdims), x)


@pytest.mark.parametrize("f, x", [
    (lambda x: np.linalg.vector_norm(x), STACK), (lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=1), STACK),
    (lambda x: np.linalg.vector_norm(x, keepdims=True), TALL),
    (lambda x: np.linalg.vector_norm(x, axis=1, keepdims=True, ord=np.inf), TALL),
    (lambda x: np.linalg.vector_norm(x, axis=(0, 1), keepdims=True), STACK),
    (lambda x: np.linalg.matrix_norm(x), STACK), (lambda x: np.linalg.matrix_norm(x, ord=1, keepdims=True), STACK),
])
def test_vector_and_matrix_norms(f, x):
    close(f, x)


def test_in_a_chain_with_elementwise_code():
    def whiten(x):
        centred = x - x.sum(axis=0) / x.shape[0]
        values, vectors = np.linalg.eigh(np.matmul(centred.T, centred))
        return np.linalg.solve(np.eye(3) + np.matmul(vectors * values, vectors.T), centred.T)
    close(whiten, TALL)
