"""Systems of equations as JAX writes them: which LAPACK routines are left, and that the solution stays."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import cost, modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate

GROUND = np.random.default_rng(0)
A = GROUND.normal(size=(6, 6)) + 4 * np.eye(6)
B = GROUND.normal(size=(6, 2))
LINALG = jnp.linalg


def both(x):
    """A batch of two different arrays."""
    return jnp.stack([x, 2 * x[::-1, ::-1]])


PROGRAMS = {
    "inverse times vectors": (lambda a, b: LINALG.inv(a) @ b, "getrf trsm trsm"),
    "vector times inverse": (lambda a, b: b[:, 0] @ LINALG.inv(a), "getrf trsm trsm"),
    "two solves": (lambda a, b: LINALG.solve(a, b) + LINALG.solve(a, 2 * b), "getrf trsm trsm trsm trsm"),
    "triangle": (lambda a, b: LINALG.solve(jnp.triu(a), b), "trsm"),
    "transposed triangle": (lambda a, b: LINALG.solve(jnp.triu(a).T, b), "trsm"),
    "diagonal": (lambda a, b: LINALG.solve(jnp.diag(a[0] + 9), b), ""),
    "orthogonal": (lambda a, b: LINALG.solve(LINALG.qr(a)[0], b), "geqrf orgqr"),
    "factor": (lambda a, b: LINALG.solve(LINALG.cholesky(a @ a.T), b), "potrf trsm"),
    "determinant of triangle": (lambda a, b: LINALG.det(jnp.tril(a)), ""),
    "determinant of transpose": (lambda a, b: LINALG.det(a.T) * LINALG.det(a), "getrf"),
    "solve with transpose": (lambda a, b: jax.scipy.linalg.solve_triangular(a.T, b, lower=False), "trsm"),
    "triangle and multiple of identity": (lambda a, b: LINALG.solve(jnp.tril(a) + 6 * jnp.eye(6), b), "trsm"),
    "identity less what is above": (lambda a, b: LINALG.solve(5 * jnp.eye(6) - jnp.triu(a, 1) / 3, b), "trsm"),
    "sum of diagonals": (lambda a, b: LINALG.solve(jnp.diag(a[0] + 9) + jnp.tril(jnp.triu(a)), b), ""),
    "scaled at run time": (lambda a, b: LINALG.solve(jnp.tril(a) * b[0, 0], b), "getrf trsm trsm"),  # 0 times infinity
    "batch of triangles": (lambda a, b: LINALG.solve(jnp.tril(both(a)) + jnp.eye(6), both(b)), "trsm"),
    "batch of transposed triangles": (lambda a, b: jax.vmap(LINALG.solve)(jnp.triu(both(a)).mT, both(b)), "trsm"),
    "batch of diagonals": (lambda a, b: LINALG.solve(jax.vmap(jnp.diag)(both(a)[:, 0] + 9), both(b)), ""),
    "batch of diagonals, triangular": (lambda a, b: jax.scipy.linalg.solve_triangular(
        jax.vmap(jnp.diag)(both(a)[:, 0] + 9), both(b)), "trsm"),       # which writes no NaN beside others
    "determinants of triangles": (lambda a, b: LINALG.det(jnp.tril(both(a)) - jnp.eye(6)), ""),
    "determinants of diagonals": (lambda a, b: LINALG.slogdet(jax.vmap(jnp.diag)(both(a)[:, 0]))[0], ""),
    "determinants of transposes": (lambda a, b: LINALG.det(both(a).mT) * LINALG.det(both(a)), "getrf"),
    "determinants of products": (lambda a, b: LINALG.slogdet(both(a) @ both(a).mT)[1], "getrf"),
    "batch of any stays": (lambda a, b: LINALG.solve(both(a), both(b)), "getrf trsm trsm"),
    "any matrix stays": (lambda a, b: LINALG.solve(a, b), "getrf trsm trsm"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_systems(name):
    function, wanted = PROGRAMS[name]
    with jax.enable_x64(True):
        text = str(jax.jit(function, keep_unused=True).lower(A, B).compiler_ir("stablehlo"))
    with building():
        module = modules.parse(text)
        modules.inline_calls(module)
        expected, before = evaluate(module, [A, B]), cost.estimate(module)
        pipelines.run(module, "simplify", verify=True)
        found, after = evaluate(module, [A, B]), cost.estimate(module)
        routines = sorted(re.findall(r"@lapack_d(\w+)_ffi", modules.to_text(module)))
    assert routines == wanted.split()
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-9)
    assert after["flops"] <= before["flops"] and after["bytes"] <= before["bytes"]
