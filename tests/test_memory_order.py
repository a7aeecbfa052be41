"""Arguments and results of NumPy's that do not lie by rows: read and given as they lie, with NumPy's strides."""
import jax
import numpy as np
import pytest

import reactant
from reactant.ir import laid_out

RANDOM = np.random.default_rng(0)
M, W = RANDOM.random((40, 60)), RANDOM.random((40, 60))
CUBE = RANDOM.random((5, 6, 7))


@pytest.mark.parametrize(("shape", "strides", "order"), [
    ((4, 5), (5, 1), None), ((4, 5), (1, 4), (1, 0)), ((4, 5), (2, 8), None), ((4, 5), (1, 0), None),
    ((4, 5), (-1, 4), None), ((4, 5), (10, 1), None), ((2, 3, 4), (1, 8, 2), (1, 2, 0)), ((1, 5), (1, 1), None),
    ((0, 5), (1, 0), None), ((), (), None), ((5,), (1,), None), ((3, 1, 4), (1, 9, 3), (2, 0, 1))])
def test_order_of(shape, strides, order):
    assert laid_out.order_of(shape, strides) == order


def same(got, wanted):
    for ours, numpys in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, numpys)
        if isinstance(numpys, np.ndarray) and numpys.flags.forc:
            assert (ours.dtype, ours.shape, ours.strides) == (numpys.dtype, numpys.shape, numpys.strides)


@pytest.mark.parametrize("function", [
    lambda m, w: m.T + w.T, lambda m, w: (m.T * 2, m + w), lambda m, w: {"a": np.exp(m.T), "b": m.sum()},
    lambda m, w: m + w, lambda m, w: m - w.copy(order="C"), lambda m, w: m.sum(0),
    lambda m, w: m.mean(axis=1) + w[:, 0],
    lambda m, w: m.T.copy(), lambda m, w: np.ascontiguousarray(m.T), lambda m, w: m.copy(order="F"),
    lambda m, w: np.cumsum(m, axis=0), lambda m, w: np.sort(m, axis=0), lambda m, w: np.where(m > 0.5, m, w),
    lambda m, w: np.argmax(m, axis=0), lambda m, w: m @ w.T, lambda m, w: np.partition(m, 9, axis=0)[9],
    lambda m, w: (m + 1).ravel("K"), lambda m, w: (m > 0.5).T, lambda m, w: (m + w)[::2, 3],
    lambda m, w: m[:, ::-1] + 1, lambda m, w: m @ w[3], lambda m, w: m[:, 2] @ w, lambda m, w: m.T @ w @ m[0],
    lambda m, w: np.einsum("ij,ij->i", m, w), lambda m, w: (m * 2) @ w[0]])
@pytest.mark.parametrize("orders", ["CC", "FF", "FC", "CF"])
def test_matrices(function, orders):
    given = [np.array(x, order=order) for x, order in zip((M, W), orders, strict=True)]
    same(reactant.jit(function)(*given), function(*given))


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_cubes(order):
    x = np.ascontiguousarray(CUBE.transpose(order)).transpose(np.argsort(order))
    for function in (lambda x: x + 1, lambda x: x.sum(axis=1), lambda x: np.swapaxes(x, 0, 2) * x.max(),
                     lambda x: x.transpose(1, 2, 0).copy(), lambda x: x.reshape(-1) + 1):
        same(reactant.jit(function)(x), function(x))


def test_no_copy_is_made():
    program = reactant.jit(lambda m, w: m + w.T).lower(np.asfortranarray(M), W.T.copy()).compile()
    assert program.executable.straight.given == {0: (1, 0)}
    program = reactant.jit(lambda m: m.T + m.T).lower(M).compile()
    assert program.executable.straight.turned == {0: (1, 0)} and not program.executable.straight.given


def test_products_read_as_it_lies():
    """A matrix by columns times a vector is no gathering of its rows."""
    f = reactant.jit(lambda m, v: m @ v)
    m = np.asfortranarray(RANDOM.random((300, 400)))
    for dtype in (float, np.float32, complex):
        given = m.astype(dtype, order="F"), np.arange(400).astype(dtype)
        np.testing.assert_allclose(f(*given), given[0] @ given[1], rtol=1e-5)
    text = f.lower(*given).as_text()
    assert "transpose" not in text
    assert "dgemv" in reactant.jit(lambda m, v: m @ v).lower(m, np.ones(400)).compile().lowered.notes[0]


def test_other_callers_see_what_they_saw():
    """JAX's arrays, gradients, batches, exports, and programs called with arrays by rows."""
    function = reactant.jit(lambda m: np.exp(m.T) + 1)
    np.testing.assert_allclose(function(jax.numpy.asarray(M)), np.exp(M.T) + 1, rtol=1e-6)
    same(reactant.grad(lambda m: (m.T * W.T).sum())(M), W)
    same(reactant.vmap(lambda m: m.T + 1)(CUBE), CUBE.transpose(0, 2, 1) + 1)
    loaded = reactant.load(reactant.export(lambda m: m.T + 1, M).text())
    np.testing.assert_allclose(reactant.jit(lambda m: loaded(m))(M), M.T + 1)
    compiled = function.lower(np.asfortranarray(M)).compile()
    np.testing.assert_allclose(compiled(np.asfortranarray(M)), np.exp(M.T) + 1)


def test_what_is_written_and_kept():
    def step(state, m):
        m[:, 0] = 5
        state["m"] = m.T * 2
        return m.T + 1, state["m"]
    for order in "CF":
        states, given = ({}, {}), (np.array(M, order=order), np.array(M, order=order))
        compiled = reactant.jit(step)
        for _ in range(3):
            same(compiled(states[0], given[0]), step(states[1], given[1]))
            same((states[0]["m"], given[0]), (states[1]["m"], given[1]))
