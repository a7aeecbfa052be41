"""How derivatives are compiled: once for each program, however often they are made; what they read may change."""
import jax
import numpy as np
import pytest

import reactant
from reactant.derivatives import entry

X = np.linspace(0.2, 1.1, 5)
scale, table = 2.0, np.ones(5)


def scaled(x):
    return np.sum(x * x * table) * scale


def test_gradients_made_in_a_loop_are_compiled_once():
    x = X.copy()
    x -= 0.1 * reactant.grad(lambda v: np.sum(v * v) * 3)(x)
    before = len(entry._EXECUTABLES)
    for _ in range(3):
        x -= 0.1 * reactant.grad(lambda v: np.sum(v * v) * 3)(x)
    assert len(entry._EXECUTABLES) <= before + 1         # lines of source are part of a program, once
    np.testing.assert_allclose(x, X * 0.4 ** 4)


@pytest.mark.slow
def test_functions_given_anew_are_read_anew():
    global scale
    for derive in (lambda: reactant.jvp(scaled, (X,), (np.ones(5),))[1],
                   lambda: np.sum(reactant.vjp(scaled, X)[1](1.0)[0]),
                   lambda: reactant.linearize(scaled, X)[1](np.ones(5)), lambda: np.sum(reactant.grad(scaled)(X))):
        for scale in (2.0, 3.0):
            for table[:] in (1.0, 4.0):
                np.testing.assert_allclose(derive(), 2 * scale * table[0] * X.sum())


def test_compiled_functions_keep_what_they_were_compiled_with():
    global scale
    scale = 2.0
    compiled = reactant.jit(scaled)
    first = reactant.jvp(compiled, (X,), (np.ones(5),))[1]
    scale = 5.0
    assert reactant.jvp(compiled, (X,), (np.ones(5),))[1] == first


@pytest.mark.slow
def test_arrays_that_loops_only_read_are_no_outputs():
    """Control flow carries what it might write; an argument that comes out as it went in was not written."""
    def program(x):
        c = np.zeros(5)
        for i in range(2):
            for k in reactant.checkpointed(range(12), every=3):
                c[k % 5] += 0.3 * np.sin(x[k % 5])
                c[1:] = np.tanh(c[:-1] * x[1:])
            if x[0] < 0.4 + i:
                break
        return np.sum(c * c)
    value, moved = reactant.jvp(program, (X,), (X,))
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(moved, reactant.grad(program)(X) @ X)


def test_float0_tangents_hold_integers_constant_as_none_does():
    n, held = np.arange(5), np.zeros(5, jax.dtypes.float0)

    def moved(x, n):
        return reactant.jvp(lambda x, n: x ** 3 * n, (x, n), (x, held))[1]

    def curved(x, n):
        return reactant.hvp(lambda x, n: np.sum(x ** 3 * n), (x, n), (x, held))

    for run, wanted in ((moved, 3 * X ** 3 * n), (curved, 6 * X ** 2 * n)):
        np.testing.assert_allclose(run(X, n), wanted)
        np.testing.assert_allclose(reactant.jit(run)(X, n), wanted)
    with pytest.raises(TypeError, match="give it the tangent None"):
        reactant.jvp(lambda x, n: x * n, (X, n), (X, n))
