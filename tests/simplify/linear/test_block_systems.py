"""Systems of block matrices by XLA: which factorizations are left, how large they are, and that the solution stays."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

GROUND = np.random.default_rng(0)
P, Q = GROUND.normal(size=(9, 9)) + 5 * np.eye(9), GROUND.normal(size=(7, 7)) + 5 * np.eye(7)
CORNER, B = GROUND.normal(size=(7, 9)), GROUND.normal(size=(16, 2))
LINALG = jnp.linalg


def diagonal(p, q, c):
    return jax.scipy.linalg.block_diag(p, q)


def lower(p, q, c):
    return jnp.block([[p, jnp.zeros((9, 7))], [c, q]])


def upper(p, q, c):
    return jnp.block([[p, c.T], [jnp.zeros((7, 9)), q]])


PROGRAMS = {
    "solve diagonal": lambda p, q, c, b: LINALG.solve(diagonal(p, q, c), b),
    "solve diagonal, vector": lambda p, q, c, b: LINALG.solve(diagonal(p, q, c), b[:, 0]),
    "invert diagonal": lambda p, q, c, b: LINALG.inv(diagonal(p, q, c)),
    "determinant of diagonal": lambda p, q, c, b: LINALG.det(diagonal(p, q, c)),
    "solve lower": lambda p, q, c, b: LINALG.solve(lower(p, q, c), b),
    "solve upper": lambda p, q, c, b: LINALG.solve(upper(p, q, c), b),
    "invert upper": lambda p, q, c, b: LINALG.inv(upper(p, q, c)),
    "determinant of lower": lambda p, q, c, b: LINALG.det(lower(p, q, c)),
    "logarithm of upper": lambda p, q, c, b: jnp.stack(LINALG.slogdet(upper(p, q, c))),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pivots", [False, True])
def test_systems_of_blocks(name, pivots):
    p = P[::-1].copy() if pivots else P
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(PROGRAMS[name])(p, Q, CORNER, B))
        compiled = reactant.jit(PROGRAMS[name], frontend="jax")
        text = compiled.lower(p, Q, CORNER, B).as_text()
        found = np.asarray(compiled(p, Q, CORNER, B))
    sides = re.findall(r"getrf_ffi.*?: \(tensor<(\d+)x\d+xf64>\)", text)
    assert sorted(map(int, sides)) == [7, 9]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if "solve" in name])
@pytest.mark.parametrize("place", ["p", "q", "b"])
def test_what_is_not_finite_stays(name, place):
    arguments = {"p": P.copy(), "q": Q.copy(), "c": CORNER, "b": B.copy()}
    arguments[place][2, 0] = np.nan
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(PROGRAMS[name])(*arguments.values()))
        found = np.asarray(reactant.jit(PROGRAMS[name], frontend="jax")(*arguments.values()))
    assert not (np.isfinite(found) & ~np.isfinite(expected)).any()
