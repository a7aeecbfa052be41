"""Writes with steps: their values, and rows of few columns made in one go by native code, outside of loops alone."""
import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.loopnests.choice import profitability

EDGE = 200     # of squares that are big enough for native code


def every_second(x):
    out = np.zeros(2 * x.size, x.dtype)
    out[::2] = x
    return out


def backwards(x):
    out = np.ones(2 * x.size + 3, x.dtype)
    out[-2:1:-2] = x[:out[-2:1:-2].size]
    return out


def two_ways(x):
    out = np.empty(2 * x.size, x.dtype)
    out[::2], out[1::2] = x, x[::-1]
    return out


def odd(x):
    out = np.zeros(3 * x.size - 2, x.dtype)
    out[::3] = x
    return out


def in_a_copy(x):
    out = x.copy()
    out[1::2] = x[:out[1::2].size]
    out[::5] = 7
    return out


def both_axes(x):
    m = x.reshape(EDGE, -1)
    out = np.zeros((2 * m.shape[0], 3 * m.shape[1] + 1), x.dtype)
    out[1::2, -2::-3] = m[:, :1]
    out[::2, 1::3] = m
    return out


def odd_on_both_axes(x):
    m = x.reshape(EDGE, -1)
    out = np.zeros((2 * m.shape[0] - 1, 2 * m.shape[1] - 1), x.dtype)
    out[::2, ::2] = m
    return out


WRITES = [every_second, backwards, two_ways, odd, in_a_copy, both_axes, odd_on_both_axes]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16"])
def test_writes_with_steps(write, dtype):
    x = (np.random.default_rng(0).random(EDGE * EDGE) * 100).astype(dtype)
    np.testing.assert_array_equal(reactant.jit(write)(x), write(x))


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_the_program_does_not_grow_with_the_array(write):
    sizes = [len(reactant.jit(write).lower(np.ones(n * EDGE)).as_text()) for n in (EDGE // 10, EDGE)]
    assert sizes[1] < sizes[0] + 400


@pytest.mark.parametrize(("write", "elements", "native"), [
    (every_second, profitability.LEAST_MOVED, True), (every_second, 100, False),
                                                           (in_a_copy, 2 * profitability.LEAST_MOVED, True)])
def test_what_becomes_native(write, elements, native):
    given = np.ones(elements, np.uint8)
    compiled = reactant.jit(write).lower(given if native else reactant.array(given))   # NumPy's: without XLA
    with building():
        assert ("reactant.native" in str(compiled.native_module(None))) == native


@pytest.mark.slow
def test_writes_in_loops_and_their_derivative():
    def relaxed(x, n):
        x = x.copy()
        for k in range(n):
            x[1:-1:2] = 0.5 * (x[:-2:2] + x[2::2])
            x[2:-1:2] = x[2:-1:2] * 0.9 + k
        return x
    for size in (40, 41):
        x = np.random.default_rng(0).random(size)
        np.testing.assert_allclose(reactant.jit(relaxed)(x, 300), relaxed(x, 300), rtol=1e-13)
        found = reactant.grad(lambda x: np.sum(relaxed(x, 3) ** 2))(x)
        step = 1e-6 * np.eye(size)
        wanted = [(np.sum(relaxed(x + e, 3) ** 2) - np.sum(relaxed(x - e, 3) ** 2)) / 2e-6 for e in step]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
