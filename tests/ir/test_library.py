"""Ops that the reference interpreter leaves to NumPy, against XLA (which calls LAPACK and its own FFT)."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate

LINALG = jnp.linalg
GROUND = np.random.default_rng(0)
SQUARE = GROUND.normal(size=(2, 4, 4)) + 3 * np.eye(4)
SIDE = GROUND.normal(size=(2, 4, 3))
PROGRAMS = {
    "solve": (lambda a, b: LINALG.solve(a, b), SQUARE, SIDE),
    "determinant": (lambda a: LINALG.det(a), SQUARE),
    "factor of Cholesky": (lambda a: LINALG.cholesky(a @ a.mT), SQUARE),
    "triangular, right hand": (lambda a, b: jax.lax.linalg.triangular_solve(
        a, b.mT, left_side=False, lower=True, transpose_a=True), SQUARE, SIDE),
    "orthogonal": (lambda b: LINALG.qr(b), SIDE),
    "transform": (lambda a: jnp.sin(jnp.fft.ifft2(jnp.fft.fft2(a) * 2).real) + jnp.fft.irfft(jnp.fft.rfft(a)), SQUARE),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_stands_in(name):
    function, *arguments = PROGRAMS[name]
    with jax.enable_x64(True):
        lowered = jax.jit(function).lower(*arguments)
        expected = jax.tree.leaves(lowered.compile()(*arguments))
    with building():
        module = modules.parse(str(lowered.compiler_ir("stablehlo")))
        modules.inline_calls(module)
        found = evaluate(module, arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=1e-9, atol=1e-9)
