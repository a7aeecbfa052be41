"""Places of extremes by NumPy's functions: NaN, zeros of both signs, first of equals; where it fires and where not."""
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.native import numpy_extremes


def numbers(shape, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 20).astype(dtype)
    if x.dtype.kind == "f":
        x.reshape(-1)[::97], x.reshape(-1)[1::89], x.reshape(-1)[2::83] = -0.0, np.inf, 0.0
    return x


def notes(function, *arguments):
    lowered = reactant.jit(function).lower(*arguments)
    with building():
        lowered.native_module(None)
    return str(lowered.notes)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "i2", "u8", "?"])
@pytest.mark.parametrize(("shape", "axis"), [((40, 300), 1), ((5000,), 0), ((5000,), None), ((3, 20, 70), 2),
                                             ((300, 40), 0), ((2, 2), 1), ((3, 20_000), 1)])
def test_places(dtype, shape, axis):
    x = numbers(shape, dtype)
    for nan in (False, True):
        if nan and x.dtype.kind == "f":
            x.reshape(-1)[50::997] = np.nan
        for function in (lambda x: np.argmax(x, axis=axis), lambda x: np.argmin(x, axis=axis) + 1,
                         lambda x: (np.argmax(x, axis=axis), np.max(x, axis=axis), np.argmin(x, axis=axis))):
            got, wanted = reactant.jit(function)(x), function(x)
            for a, b in zip(*(v if type(v) is tuple else (v,) for v in (got, wanted)), strict=True):
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype


@pytest.mark.skipif(not numpy_extremes.addresses(), reason="NumPy hands out no such functions")
@pytest.mark.parametrize(("function", "fires"), [
    (lambda x: np.argmax(x, axis=1), True), (lambda x: x.argmin(-1) * 2, True), (lambda x: jnp.argmax(x, axis=1), True),
    (lambda x: np.argmax(x * 2, axis=1), False),            # what loops make as they go
    (lambda x: np.argmax(x, axis=0), False), (lambda x: np.where(x == x.max(), 1, 0).sum(1), False),
    (lambda x: np.where(x == x.max(axis=1, keepdims=True), np.arange(60), 2**31 - 1).min(axis=1), False)])
def test_where_it_fires(function, fires):
    assert ("by NumPy's" in notes(function, np.ones((70, 60)))) == fires


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize(("shape", "order", "axis", "fires"), [
    ((300, 40), (1, 0), 0, True), ((300, 40), (1, 0), 1, False), ((20, 70, 30), (2, 1, 0), 0, True),
    ((20, 70, 30), (2, 0, 1), 1, True), ((20, 70, 30), (0, 2, 1), 1, True), ((20, 70, 30), (1, 0, 2), 2, True)])
def test_rows_as_they_lie(dtype, shape, order, axis, fires):
    """Along the dimension that memory goes along, whichever that is."""
    x = np.ascontiguousarray(numbers(shape, dtype).transpose(order)).transpose(np.argsort(order))
    if dtype == "f8":
        x[7:9, 5] = np.nan
    for function in (lambda x: np.argmax(x, axis=axis), lambda x: np.argmin(x, axis=axis) * 2):
        compiled = reactant.jit(function)
        got, wanted = compiled(x), function(x)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
    if numpy_extremes.addresses():
        assert ("by NumPy's" in str(compiled.lower(x).compile().lowered.notes)) == fires


def test_in_loops():
    def iterations(x, n):
        total = np.zeros(70, int)
        for k in range(n):
            total += np.argmax(x, axis=1) * k
            x[:, 3] += 1
        return total
    x = numbers((70, 60), "f8")
    np.testing.assert_array_equal(reactant.jit(iterations)(x.copy(), np.int64(9)), iterations(x.copy(), 9))


def test_masks_are_no_numbers():
    x = np.random.default_rng(0).random((70, 60)) > 0.9
    for function in (lambda x: np.argmax(x, axis=1), lambda x: np.argmin(x, axis=1), lambda x: np.argmax(x)):
        np.testing.assert_array_equal(reactant.jit(function, native="always")(x), function(x))
