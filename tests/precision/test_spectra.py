"""Eigenvalues and singular values in limbs, clusters and missing ranks included."""
import mpmath
import numpy as np
import pytest

import reactant
from reactant.precision import spectra
from tests.precision import limbs

RNG = np.random.default_rng(0)
A = RNG.standard_normal((5, 5))
COMPLEX = A + 1j * RNG.standard_normal((5, 5))
Q = np.linalg.qr(A)[0]
CLUSTER = (Q * [1, 1, 1 + 1e-9, 2, 2 + 1e-13]) @ Q.T
TWO = {"float64": "float32x2"}
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("dtype", "count", "bits"), [("float32", 2, 43), ("float64", 2, 99), ("float32", 3, 66)])
@pytest.mark.parametrize("a", [A + A.T, CLUSTER, np.zeros((5, 5))], ids=["plain", "cluster", "zero"])
def test_eigenvalues(a, dtype, count, bits):
    a = (a + a.T) / 2

    def both(x):
        values, vectors = spectra.hermitian(x, True, True)
        return values.each(lambda v: spectra.ops.reshape(v, (1, 5, 1))), vectors
    values, vectors = limbs.on_matrices(both, [a], dtype, count)
    with mpmath.workprec(400):
        exact = limbs._exact_matrix(limbs._split(a, dtype, count))
        assert limbs.bits_of_residual(vectors.T * vectors, mpmath.eye(5)) > bits
        if a.any():
            assert limbs.bits_of_residual(vectors * mpmath.diag(list(values)) * vectors.T, exact) > bits
            assert all(values[k] <= values[k + 1] for k in range(4))


@pytest.mark.parametrize("a", [A, A[:, :3], A[:2], A[:, :2] @ A[:2], COMPLEX], ids=[
    "square", "tall", "flat", "rank", "complex"])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values(a, full):
    u, s, vh = map(np.asarray, reactant.jit(lambda a: np.linalg.svd(a, full_matrices=full), floats=TWO)(a))
    k = min(a.shape)
    np.testing.assert_allclose(s, np.linalg.svd(a)[1], rtol=0, atol=s[0] * 2.0**-43)
    np.testing.assert_allclose((u[:, :k] * s) @ vh[:k], a, rtol=0, atol=s[0] * 2.0**-42)
    for q in (u, vh.conj().T):
        np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), rtol=0, atol=2.0**-42)


def test_small_singular_values_of_large_condition():
    """Of which float32 alone has no digit."""
    a = (Q * [1, 1e-3, 1e-6, 1e-9, 1e-12]) @ Q
    s = np.asarray(reactant.jit(lambda a: np.linalg.svd(a, compute_uv=False), floats={"float64": "float64x2"})(a))
    with mpmath.workprec(300):
        wanted = [float(x) for x in mpmath.svd_r(mpmath.matrix(a), compute_uv=False)]
    np.testing.assert_allclose(s, wanted, rtol=1e-14)


def test_complex_eigenvalues():
    a = COMPLEX + COMPLEX.conj().T
    w, v = map(np.asarray, reactant.jit(np.linalg.eigh, floats=TWO)(a))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=0, atol=np.abs(w).max() * 2.0**-42)
    np.testing.assert_allclose((v * w) @ v.conj().T, a, rtol=0, atol=np.abs(w).max() * 2.0**-41)


def test_what_is_not_finite():
    with pytest.raises(np.linalg.LinAlgError):
        reactant.jit(np.linalg.eigh, floats=TWO)(np.full((3, 3), np.nan))
