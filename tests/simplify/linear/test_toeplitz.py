"""Toeplitz, Hankel and circulant matrices by XLA: recognised however they are written, and with the same results."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

GROUND = np.random.default_rng(0)
C, R, X, B = (GROUND.normal(size=n) for n in (160, 160, 160, 24))
ROW, COLUMN = jnp.arange(160)[:, None], jnp.arange(160)[None, :]
K = jnp.arange(24)
LOOSE = {"finite": True, "allow": ("rounding", "association")}
PROGRAMS = {
    "jax's": (lambda c, r, x, b: jax.scipy.linalg.toeplitz(c, r) @ x, {}, "product_with_cut_windows"),
    "jax's by transforms": (lambda c, r, x, b: jax.scipy.linalg.toeplitz(c, r) @ x, LOOSE, "product_with_toeplitz"),
    "from the left": (lambda c, r, x, b: x @ jax.scipy.linalg.toeplitz(c, r), LOOSE, "product_with_toeplitz"),
    "symmetric": (lambda c, r, x, b: c[jnp.abs(ROW - COLUMN)] @ x, LOOSE, "product_with_toeplitz"),
    "circulant": (lambda c, r, x, b: c[(ROW - COLUMN) % 160] @ jnp.stack([x, r], 1), LOOSE, "product_with_toeplitz"),
    "turned circulant": (lambda c, r, x, b: c[(COLUMN - ROW) % 160].T @ x, LOOSE, "product_with_toeplitz"),
    "hankel": (lambda c, r, x, b: jnp.concatenate([c, r])[ROW + COLUMN] @ x, LOOSE, "product_with_toeplitz"),
    "wide": (lambda c, r, x, b: jnp.concatenate([c, r])[(ROW - COLUMN + 159)[:130]] @ x, LOOSE,
             "product_with_toeplitz"),
    "clamped": (lambda c, r, x, b: jnp.take(c, ROW - COLUMN + 20, mode="clip") @ x, LOOSE, "product_with_toeplitz"),
    "circulant system": (lambda c, r, x, b: jnp.linalg.solve(c[(K[:, None] - K) % 24], b), LOOSE,
                         "solve_with_circulant"),
    "circulant inverse": (lambda c, r, x, b: jnp.linalg.inv(c[(K - K[:, None]) % 24]), LOOSE, "solve_with_circulant"),
    "circulant determinant": (lambda c, r, x, b: jnp.linalg.det(c[(K[:, None] - K) % 24]), LOOSE,
                              "determinant_of_circulant"),
    "sign of one": (lambda c, r, x, b: jnp.stack(jnp.linalg.slogdet(-c[(K[:23, None] - K[:23]) % 23])), LOOSE,
                    "determinant_of_circulant"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_matrices_that_slide(name):
    function, options, rule = PROGRAMS[name]
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(C, R, X, B))
        compiled = reactant.jit(function, frontend="jax", **options)
        fired = dict(compiled.lower(C, R, X, B).report.counts())
        found = np.asarray(compiled(C, R, X, B))
    assert rule in fired
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["circulant", "hankel", "circulant system", "circulant determinant"])
def test_transforms_are_not_used_unasked(name):
    with jax.enable_x64(True):
        lowered = reactant.jit(PROGRAMS[name][0], frontend="jax").lower(C, R, X, B)
    assert not {rule for rule, _ in lowered.report.counts()} & {each[2] for each in PROGRAMS.values()}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("place", [0, 5, 159, 160, 318])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_was(place, bad):
    line = np.concatenate([C, R[1:]])
    line[place] = bad
    columns, rows = line[:160], np.concatenate([line[:1], line[160:]])

    def function(c, r, x):
        return jax.scipy.linalg.toeplitz(c, r) @ x

    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(columns, rows, X))
        found = np.asarray(reactant.jit(function, frontend="jax")(columns, rows, X))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
