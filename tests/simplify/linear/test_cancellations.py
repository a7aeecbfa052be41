"""Orthogonal factors and inverses that cancel, by XLA: which LAPACK calls are left, and only where it was asked for."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

GROUND = np.random.default_rng(0)
A = GROUND.normal(size=(6, 6)) + 4 * np.eye(6)
B = GROUND.normal(size=(6, 2))
D = np.array([1.0, -2.0, 0.5, 3.0, -0.25, 4.0])
LINALG = jnp.linalg
PROGRAMS = {
    "q' q": (lambda a, b, d: (lambda q: q.T @ q)(LINALG.qr(a[:, :3])[0]), ""),
    "q' q y": (lambda a, b, d: (lambda q: q.T @ (q @ b))(LINALG.qr(a)[0]), ""),
    "q q' y": (lambda a, b, d: (lambda q: q @ (q.T @ b))(LINALG.qr(a)[0]), ""),
    "a inv(a)": (lambda a, b, d: a @ LINALG.inv(a), ""),
    "a solve(a, b)": (lambda a, b, d: a @ LINALG.solve(a, b), ""),
    "solve(a, a b)": (lambda a, b, d: LINALG.solve(a, a @ b), ""),
    "solve(a, a v)": (lambda a, b, d: LINALG.solve(a, a @ b[:, 0]), ""),
    "inv(inv(a))": (lambda a, b, d: LINALG.inv(LINALG.inv(a)), ""),
    "scaled": (lambda a, b, d: LINALG.cholesky(d[:, None] * (a @ a.T) * d), "potrf"),
    "a diagonal on both sides": (lambda a, b, d: LINALG.cholesky(jnp.diag(d) @ (a @ a.T) @ jnp.diag(d)), "potrf"),
}
LOOSE = {"finite": True, "allow": ("rounding", "association")}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_cancels(name):
    function, left = PROGRAMS[name]
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(A, B, D))
        compiled = reactant.jit(function, frontend="jax", **LOOSE)
        lowered = compiled.lower(A, B, D)
        found = np.asarray(compiled(A, B, D))
    assert sorted(re.findall(r"@lapack_d(\w+)_ffi", lowered.as_text())) == left.split()
    assert any(rule in dict(lowered.report.counts()) for rule in (
        "orthogonal_product_is_identity", "orthogonal_factors_cancel", "product_with_own_solution",
        "solution_of_own_product", "inverse_of_inverse", "cholesky_of_scaled"))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_cancels_unasked(name):
    function, _ = PROGRAMS[name]
    with jax.enable_x64(True):
        lowered = reactant.jit(function, frontend="jax").lower(A, B, D)
    assert "lapack" in lowered.as_text()


def test_a_scaled_matrix_that_is_not_definite():
    def function(a, d):
        return jnp.linalg.cholesky(d[:, None] * a * d)

    with jax.enable_x64(True):
        compiled = reactant.jit(function, frontend="jax", **LOOSE)
        assert np.isnan(np.diag(compiled(-np.eye(6), D))).all()
        assert np.isnan(np.diag(compiled(np.eye(6), np.where(D == 3, 0, D)))).all()
