"""Diagonal matrices plus products of few columns, by XLA: the formulas where they are accurate, else LU."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

GROUND = np.random.default_rng(0)
U, V, B = (GROUND.normal(size=(24, k)) for k in (3, 3, 2))
EYE = jnp.eye(24)
OPTIONS = {"frontend": "jax", "finite": True, "allow": ("rounding", "association")}
FUNCTIONS = {
    "identity": lambda d, u, v, b: jnp.linalg.solve(EYE + u @ v.T, b),
    "multiple": lambda d, u, v, b: jnp.linalg.solve(4 * EYE - u @ v.T, b),
    "diagonal": lambda d, u, v, b: jnp.linalg.solve(jnp.diag(d) + u @ v.T, b),
    "vectors": lambda d, u, v, b: jnp.linalg.solve(jnp.diag(d) - jnp.outer(u[:, 0], v[:, 0]), b),
    "determinant": lambda d, u, v, b: jnp.linalg.det(EYE + u @ v.T),
    "logarithm": lambda d, u, v, b: jnp.stack(jnp.linalg.slogdet(2 * EYE - u @ v.T)),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("least", [1.0, 0.0])
def test_matrices_of_low_rank(name, least):
    diagonal = np.linspace(1.0, 3.0, 24)
    diagonal[5] = least                         # with a zero, the formulas would divide by it
    with jax.enable_x64(True):
        expected = np.asarray(FUNCTIONS[name](diagonal, U, V, B))
        compiled = reactant.jit(FUNCTIONS[name], **OPTIONS)
        fired = dict(compiled.lower(diagonal, U, V, B).report.counts())
        found = np.asarray(compiled(diagonal, U, V, B))
    assert any("low_rank" in rule for rule in fired), fired
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_cancelled_unasked(name):
    with jax.enable_x64(True):
        lowered = reactant.jit(FUNCTIONS[name], frontend="jax").lower(np.ones(24), U, V, B)
    assert not any("low_rank" in rule for rule, _ in lowered.report.counts())
