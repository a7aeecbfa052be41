"""Scatters and gathers as loops, against NumPy."""
from functools import partial

import jax
import numpy as np
import pytest
from jax import lax

import reactant
from tests.loopnests.emission.test_control import native_text
from tests.oracle import assert_same

RANDOM = np.random.default_rng(0)
FEW, MANY = RANDOM.integers(0, 50, 300), RANDOM.integers(0, 50, 70_001)


def histogram(i):
    return np.bincount(i, minlength=50)


def weighted(i, w):
    return np.bincount(i, weights=w, minlength=50)


def add_at(x, i, y):
    np.add.at(x, i, y)
    return x


def largest_at(x, i, y):
    np.maximum.at(x, i, y)
    return x


def rows_at(x, i, y):
    np.add.at(x, i, y)
    return x


def assigned(x, i, y):
    x[i] = y
    return x


def taken(x, i):
    return x[i] * 2.0 + x[i[::-1]]


def added_to_itself(x, i):
    """What is scattered is what it is scattered into: read before it changes."""
    for _ in range(3):
        np.add.at(x, i, x)
        x /= x.sum()
    return x


def largest_of_itself(x, i):
    y = 3.0 * x
    np.maximum.at(y, i, y)
    return y


CASES = {
    "added_to_itself": (added_to_itself, (RANDOM.random(40), RANDOM.permutation(40))),
    "largest_of_itself": (largest_of_itself, (RANDOM.random(40), RANDOM.permutation(40))),
    "histogram_few": (histogram, (FEW,)), "histogram_many": (histogram, (MANY,)),
    "weighted": (weighted, (MANY, RANDOM.random(len(MANY)))),
    "add_at": (add_at, (np.zeros(50), FEW, RANDOM.random(300))),
    "integers_at": (add_at, (np.arange(50), MANY, RANDOM.integers(-5, 5, len(MANY)))),
    "largest_at": (largest_at, (np.zeros(50), MANY, RANDOM.normal(size=len(MANY)))),
    "rows_at": (rows_at, (np.zeros((50, 3)), FEW, RANDOM.random((300, 3)))),
    "assigned": (assigned, (np.zeros(50), np.arange(0, 50, 7), RANDOM.random(8))),
    "taken": (taken, (RANDOM.random(50), FEW)),
    "taken_rows": (taken, (RANDOM.random((50, 4)), FEW)),
}


@pytest.mark.parametrize("name", CASES)
def test_programs(name):
    function, arguments = CASES[name]
    mine, plain = ([a.copy() for a in arguments] for _ in range(2))
    assert_same(function(*plain), reactant.jit(function, native="always")(*mine), rtol=1e-12)
    assert_same(plain, mine, rtol=1e-12)


def test_many_updates_of_a_small_result_run_on_threads():
    assert "scf.parallel" in native_text(histogram, MANY)
    assert "scf.parallel" not in native_text(histogram, FEW)


@pytest.mark.parametrize("places", [[1, 3], [-1, 0], [2, -3], [9, 1]])
def test_windows_that_lie_partly_outside_are_left_out(places):
    """Their elements inside were written: not what `jax.jit` gives."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (1,))

    def added(x, i, y):
        return lax.scatter_add(x, i, y, numbers)
    x, y = np.arange(20, dtype=np.float32).reshape(4, 5), np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    i = np.array(places, np.int32)[:, None]
    known = partial(lambda i, x, y: added(x, i, y), i)
    for function, arguments in ((added, (x, i, y)), (known, (x, y))):
        compiled = reactant.jit(function, frontend="jax", native="always")
        np.testing.assert_array_equal(compiled(*arguments), jax.jit(function)(*arguments))


def test_indices_beyond_int64():
    """A read outside of the array."""
    text = """func.func @main(%x: tensor<300xi64>, %i: tensor<2x1xui64>, %j: tensor<ui64>)
            -> (tensor<2xi64>, tensor<1xi64>) {
        %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
            start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
            : (tensor<300xi64>, tensor<2x1xui64>) -> tensor<2xi64>
        %1 = stablehlo.dynamic_slice %x, %j, sizes = [1] : (tensor<300xi64>, tensor<ui64>) -> tensor<1xi64>
        return %0, %1 : tensor<2xi64>, tensor<1xi64> }"""
    loaded, last = reactant.load(text), np.uint64(2**64 - 5)
    places = np.array([[last], [7]], np.uint64)
    taken = reactant.jit(lambda *a: loaded(*a), native="always")(np.arange(300), places, last)
    assert [x.tolist() for x in taken] == [[299, 7], [299]]
