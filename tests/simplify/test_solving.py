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
