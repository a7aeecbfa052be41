"""Factorizations in limbs: what is put together again is the matrix, to all digits."""
import jax
import jax.numpy as jnp
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


def test_programs_of_jax_are_not_contracted():
    """XLA made quotients products with reciprocals, and kept these unrounded: one element had 25 bits."""
    rows = np.random.default_rng(0).standard_normal((25, 10))
    square = rows.T @ rows
    with jax.enable_x64(True):
        factor = reactant.jit(lambda a: jnp.linalg.cholesky(a), frontend="jax", floats={"float64": "float32x2"})
        np.testing.assert_allclose(np.asarray(factor(square)), np.linalg.cholesky(square), rtol=0, atol=1e-12)
