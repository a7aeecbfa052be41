"""Values that are compared with an extreme, a sort or another whole of themselves are one array to XLA."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import computed_once

X = np.random.default_rng(0).normal(size=300)


def barriers(function, *arguments):
    with building():
        module = reactant.jit(function, optimize=False, native="never").lower(*arguments).traced.module
        kept = computed_once.kept(module)
        return sum(op.name == "stablehlo.optimization_barrier" for op in modules.walk(kept)), kept is module


@pytest.mark.parametrize("function", [
    lambda x: np.argmin(np.exp(x) * x), lambda x: np.argmax(x * x + 3 * x), lambda x: (x * x - x * 3).argmin(),
    lambda x: (y := np.sin(x)) == y.max(), lambda x: (y := np.tanh(x)) >= np.sort(y)[-3],
    lambda x: (y := np.exp(x)) == y[np.argmax(x)], lambda x: np.argmin(np.stack([np.exp(v) * v for v in x[:30]])),
    lambda x: (y := np.cos(x)[None] * 2)[0] < y.mean()])
def test_what_may_be_computed_twice_is_kept(function):
    assert barriers(function, X)[0] >= 1
    np.testing.assert_array_equal(reactant.jit(function)(X), function(X))


@pytest.mark.parametrize("function", [
    lambda x: np.argmin(x), lambda x: x == x.max(), lambda x: np.argmax(np.maximum(x * 2, 1)),
    lambda x: x + 1 == x.max(),
    lambda x: np.argmax((x * 8).astype(np.int64) * 3 + 1), lambda x: np.exp(x) > 2, lambda x: np.exp(x) > x.max(),
    lambda x: np.argmax(np.outer(x, x) @ x)])
def test_what_is_there_or_rounded_once_is_left_alone(function):
    assert barriers(function, X) == (0, True)


@pytest.mark.slow
def test_places_of_the_least_of_many_stacked_numbers():
    """Of 1,024 values of this function, stacked, XLA found none that equals the least one."""
    def crater(x, y, s):
        return (2 * x**2 + 3 * x * y + 7 * y**2 + 8 * x + 9 * y + 10 - 44 * np.exp(-((x + 1)**2 + (y - 2)**2) / s)
                - 26 * np.exp(-((x - 1)**2 + (y + 2)**2) / s))

    def least(grid, s):
        values = np.array([crater(x, y, s) for x, y in grid])
        return np.argmin(values), values

    grid = np.mgrid[-4:4:0.5, -4:4:0.5].reshape(2, -1).T
    place, values = reactant.jit(least, unroll_limit=10**6, native="never")(grid, 0.5)
    assert place == values.argmin() == least(grid, 0.5)[0]
