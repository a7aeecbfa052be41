"""LAPACK called from loops: NumPy's results, to the bit where NumPy calls the same routine with the same matrices."""
import numpy as np
import pytest
import scipy.linalg

import reactant
from reactant.native import lapack

pytestmark = pytest.mark.skipif(not lapack.library(), reason="there is no LAPACK that can be called")
N = 30
SLOW = pytest.mark.slow
REAL_AND_COMPLEX = pytest.mark.parametrize("dtype", ["float64", pytest.param("complex128", marks=SLOW)])


def random(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if "complex" in dtype else made).astype(dtype)


def positive(*shape, dtype="float64"):
    a = random(*shape, dtype=dtype)
    return (a @ np.swapaxes(a.conj(), -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def notes_of(compiled, *arguments):
    return compiled.lower(*arguments).compile().lowered.notes


def leaves(found):
    return [np.asarray(leaf) for each in found for leaf in (each if isinstance(each, tuple) else (each,))]


def check(function, *arguments, exact=True, straight=True):
    """That a program is native code alone, and what it computes."""
    compiled = reactant.jit(function)
    found, wanted = compiled(*arguments), function(*arguments)
    if straight:
        assert any("without XLA" in note for note in notes_of(compiled, *arguments))
    for mine, theirs in zip(leaves(found), leaves(wanted), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if exact:
            np.testing.assert_array_equal(mine, theirs)
        else:
            np.testing.assert_allclose(mine, theirs, rtol=2e-4 if mine.dtype.itemsize == 4 or mine.dtype == "complex64"
                                       else 1e-9, atol=1e-9 if mine.dtype in ("float64", "complex128") else 1e-4)


def one_of_each(a, few, s):
    return (np.linalg.solve(a, few), np.linalg.inv(a), np.linalg.cholesky(s), np.linalg.eigh(s), np.linalg.qr(a),
            np.linalg.svd(a))


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=SLOW), "float64",
                                   pytest.param("complex64", marks=SLOW), "complex128"])
def test_each_routine_does_what_numpys_does(dtype):
    check(one_of_each, random(N, N, dtype=dtype), random(N, 3, dtype=dtype, seed=1), positive(N, N, dtype=dtype))


@pytest.mark.slow
@REAL_AND_COMPLEX
def test_other_settings(dtype):
    """Upper triangles, matrices that are not square, full and reduced factors, and what is composed of these."""
    def other(tall, s, right):
        wide = tall.T
        return (np.linalg.cholesky(s, upper=True), np.linalg.eigh(s, UPLO="U"), np.linalg.qr(tall),
                np.linalg.qr(wide), np.linalg.qr(tall, mode="complete"), np.linalg.qr(tall, mode="r"),
                np.linalg.svd(tall), np.linalg.svd(tall, full_matrices=False), np.linalg.svd(wide),
                np.linalg.svd(wide, full_matrices=False), np.linalg.lstsq(tall, right, rcond=None)[0],
                np.linalg.pinv(tall), np.linalg.det(s), *np.linalg.slogdet(s), np.linalg.matrix_rank(tall),
                np.linalg.cond(s), np.linalg.svd(wide, compute_uv=False), np.linalg.solve(s, right[:N]))
    check(other, random(40, 25, dtype=dtype), positive(N, N, dtype=dtype), random(40, dtype=dtype, seed=3), exact=False)


@pytest.mark.slow
def test_stacks():
    """Several dimensions of stacks, some of them spread."""
    def stacked(a, b, one):
        return (np.linalg.solve(a, b), np.linalg.solve(one, b), np.linalg.inv(a), np.linalg.qr(a),
                np.linalg.svd(a), np.linalg.det(a), np.linalg.eigh(a + np.swapaxes(a, -1, -2)))
    check(stacked, random(2, 3, N, N), random(2, 3, N, 2, seed=1), random(N, N, seed=2) + 5 * np.eye(N), exact=False)


@pytest.mark.slow
def test_however_arguments_lie():
    """By columns, turned, with gaps, backwards, read-only; arguments stay as they are, and are given back too."""
    def solved(a, b):
        return np.linalg.solve(a, b), np.linalg.solve(a.T, b), a, np.linalg.inv(a[::-1])
    a, b = random(N, N), random(N, seed=1)
    spread = np.zeros((2 * N, 2 * N))[::2, ::-2]
    spread[...] = a
    fixed = a.copy()
    fixed.flags.writeable = False
    for each in (np.asfortranarray(a), a.T.copy().T, spread, a[::-1, ::-1], fixed):
        kept = each.copy()
        check(solved, each, b, exact=False, straight=False)
        np.testing.assert_array_equal(each, kept)


@pytest.mark.slow
def test_sizes():
    """1 x n, n x 1, vectors of one right-hand side; nothing at all."""
    def factors(a):
        return np.linalg.qr(a), np.linalg.svd(a, full_matrices=False)
    for shape in ((1, 40), (40, 1), (1, 1), (17, 300)):
        check(factors, random(*shape), exact=False)

    def empty(a, b):
        return np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.qr(b), np.linalg.det(a)
    check(empty, np.zeros((0, 0)), np.zeros((0, 3)), straight=False)
    check(empty, np.zeros((0, N, N)), np.zeros((0, N, 3)), straight=False)


@pytest.mark.slow
def test_singular_and_not_finite():
    """LinAlgError where NumPy raises it; NaN and infinities go where LAPACK lets them."""
    singular, nan = random(N, N), random(N, N)
    singular[:, 4] = 0
    nan[3, 5] = np.nan
    inverse, factor, values = (reactant.jit(lambda a, f=f: f(a)) for f in (
        np.linalg.inv, np.linalg.cholesky, np.linalg.svd))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        inverse(singular)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        factor(-np.eye(N))
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        values(nan)
    np.testing.assert_array_equal(np.isnan(inverse(nan)), np.isnan(np.linalg.inv(nan)))
    inverse(random(N, N))
    assert reactant.jit(lambda a: np.linalg.det(a))(singular) == 0
    stack = np.stack([random(N, N), singular])
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        inverse(stack)


@pytest.mark.slow
@REAL_AND_COMPLEX
def test_triangles(dtype):
    """Every way in which SciPy solves with a triangle, or with factors that it was given."""
    def solved(t, b, s, one):
        ways = [scipy.linalg.solve_triangular(t, one if lower else b, lower=lower, trans=trans, unit_diagonal=unit)
                for lower, trans, unit in ((False, "N", False), (True, "T", True), (False, "C", True),
                                           (True, "C", False), (True, "N", True))]
        factor = scipy.linalg.cho_factor(s, lower=True)
        return (*ways, scipy.linalg.cho_solve(factor, b), scipy.linalg.lu_solve(scipy.linalg.lu_factor(t), b),
                *scipy.linalg.lu(t))
    t = random(N, N, dtype=dtype) / N + 2 * np.eye(N)
    check(solved, t, random(N, 3, dtype=dtype, seed=1), positive(N, N, dtype=dtype), random(N, dtype=dtype, seed=2),
          exact=False)


@pytest.mark.slow
def test_in_loops_and_branches():
    """A loop that solves is native code; what it carries is read and written as before."""
    def newton(x, a):
        count = 0
        while np.abs(a @ x - np.cos(x)).max() > 1e-10 and count < 50:
            x = x - np.linalg.solve(a + np.diag(np.sin(x)), a @ x - np.cos(x))
            count += 1
        if count > 3:
            x = np.linalg.inv(a) @ x
        return x, count
    check(newton, np.zeros(N), 5 * np.eye(N) + random(N, N) / N, exact=False)


@pytest.mark.slow
def test_derivatives_are_taken_before():
    def energy(a, b):
        return np.linalg.solve(a, b) @ b + np.linalg.slogdet(a)[1] + np.linalg.eigvalsh(a + a.T).max()
    a, b = random(N, N) / N + 3 * np.eye(N), random(N, seed=1)
    slope = reactant.grad(energy)(a, b)
    step = 1e-6 * random(N, N, seed=2)
    np.testing.assert_allclose((energy(a + step, b) - energy(a - step, b)) / 2, (slope * step).sum(), rtol=1e-5)
    many = reactant.vmap(energy, in_axes=(0, None))(np.stack([a, 2 * a]), b)
    np.testing.assert_allclose(many, [energy(a, b), energy(2 * a, b)], rtol=1e-10)


def test_by_scipys_library(monkeypatch):
    """Integers of 32 bits, where NumPy's library is not known."""
    from reactant.native import blas
    monkeypatch.setattr(blas, "_OWN", {})
    caches = (lapack.library, lapack.addresses)
    for cache in caches:
        cache.cache_clear()
    try:
        assert lapack.integers() == np.int32
        check(lambda a, b: (np.linalg.solve(a, b), *np.linalg.eigh(a + a.T)), random(31, 31), random(31, seed=1),
              exact=False)
    finally:
        for cache in caches:
            cache.cache_clear()
