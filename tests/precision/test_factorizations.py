"""Factorizations in limbs: what is put together again is the matrix, to all digits."""
import mpmath
import numpy as np
import pytest

import reactant
from reactant.precision import factorizations
from tests.precision import limbs

RNG = np.random.default_rng(0)
A = RNG.standard_normal((7, 7))
RIGHT = RNG.standard_normal((7, 2))
POSITIVE = A @ A.T + np.eye(7)
TALL, FLAT = RNG.standard_normal((6, 3)), RNG.standard_normal((3, 5))
FORMATS = [("float32", 2, 44), pytest.param("float64", 2, 100, marks=pytest.mark.slow),
           pytest.param("float32", 3, 66, marks=pytest.mark.slow)]
TWO = {"float64": "float32x2"}
slow = pytest.mark.slow


@pytest.mark.parametrize(("dtype", "count", "bits"), FORMATS)
def test_cholesky(dtype, count, bits):
    (found,) = limbs.on_matrices(lambda a: [factorizations.cholesky(a, True)[0]], [POSITIVE], dtype, count)
    with mpmath.workprec(400):
        for i in range(7):
            for j in range(i + 1, 7):
                found[i, j] = mpmath.mpf(0)
        assert limbs.bits_of_residual(found * found.T, mpmath.matrix(POSITIVE)) > bits


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "count", "bits"), FORMATS)
@pytest.mark.parametrize("a", [A, TALL, FLAT], ids=["square", "tall", "flat"])
def test_reflections(a, dtype, count, bits):
    def both(x):
        packed, taus = factorizations.reflectors(x)
        return packed, factorizations.orthogonal(packed, taus)
    if a is FLAT:       # Q has no more columns than rows
        def both(x):    # noqa: F811
            packed, taus = factorizations.reflectors(x)
            return packed, factorizations.orthogonal(packed.each(lambda v: factorizations.ops.slice(
                v, (0, 0, 0), (1, 3, 3))), taus)
    packed, q = limbs.on_matrices(both, [a], dtype, count)
    with mpmath.workprec(400):
        r = mpmath.matrix(q.cols, a.shape[1])
        for i in range(q.cols):
            for j in range(i, a.shape[1]):
                r[i, j] = packed[i, j]
        assert limbs.bits_of_residual(q * r, mpmath.matrix(a)) > bits
        assert limbs.bits_of_residual(q.T * q, mpmath.eye(q.cols)) > bits


@pytest.mark.slow
@pytest.mark.parametrize(("left", "lower", "unit", "transpose"), [
    (True, True, False, "N"), (True, False, True, "N"), (False, True, False, "T"), (False, False, True, "C")])
def test_triangular_systems(left, lower, unit, transpose):
    a = np.tril(A) + 4 * np.eye(7) if lower else np.triu(A) + 4 * np.eye(7)
    b = RIGHT if left else RIGHT.T
    (x,) = limbs.on_matrices(lambda a, b: [factorizations.solved(
        a, b, left=left, lower=lower, unit=unit, transpose=transpose)], [a, b], np.float64, 2)
    op = np.where(np.eye(7) > 0, 1.0, a) if unit else a
    op = op if transpose == "N" else op.T
    with mpmath.workprec(400):
        product = mpmath.matrix(op) * x if left else x * mpmath.matrix(op)
        assert limbs.bits_of_residual(product, mpmath.matrix(b)) > 98


def lu(a):
    import scipy.linalg
    return scipy.linalg.lu_factor(a)


COMPLEX = A + 1j * RNG.standard_normal((7, 7))
PROGRAMS = {
    "solve": (lambda a: np.linalg.solve(a, RIGHT), A), "stack": (np.linalg.inv, np.stack([A, POSITIVE])),
    "lu": (lu, A), "complex solve": (lambda a: np.linalg.solve(a, RIGHT), COMPLEX), "complex lu": (lu, COMPLEX),
    "complex qr": (np.linalg.qr, COMPLEX), "upper": (lambda a: np.linalg.cholesky(a, upper=True), POSITIVE),
    "complex cholesky": (np.linalg.cholesky, COMPLEX @ COMPLEX.conj().T + np.eye(7)), "det": (np.linalg.det, A),
    "complete": (lambda a: np.linalg.qr(a, mode="complete"), TALL)}


@pytest.mark.parametrize("name", [name if name == "lu" else pytest.param(name, marks=slow) for name in PROGRAMS])
def test_programs(name):
    function, a = PROGRAMS[name]
    found, wanted = reactant.jit(function, floats=TWO)(a), function(a)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=0, atol=2.0**-42 * np.abs(other).max())


@pytest.mark.slow
def test_no_factor():
    with pytest.raises(np.linalg.LinAlgError):
        reactant.jit(np.linalg.cholesky, floats=TWO)(-POSITIVE)
    with pytest.raises(np.linalg.LinAlgError):
        reactant.jit(lambda a: np.linalg.solve(a, RIGHT), floats=TWO)(np.zeros((7, 7)))
    found = reactant.jit(np.linalg.qr, floats=TWO)(np.zeros((3, 3)))
    np.testing.assert_array_equal(found[0], np.eye(3))
    assert reactant.jit(np.linalg.inv, floats=TWO)(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.slow
def test_a_condition_that_float32_does_not_hold():
    a = np.array([[1 / (i + j + 1) for i in range(8)] for j in range(8)])        # 1.5e10
    found = reactant.jit(lambda a: np.linalg.solve(a, a.sum(1)), floats={"float64": "float64x2"})(a)
    with mpmath.workprec(300):
        wanted = mpmath.lu_solve(mpmath.matrix(a), mpmath.matrix(a) * mpmath.ones(8, 1))
    np.testing.assert_allclose(np.asarray(found), [float(x) for x in wanted], rtol=1e-15)
