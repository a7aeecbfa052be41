"""Sorts of values by NumPy's function for their dtype: floats behind their keys, zeros and NaN, any dimension."""
import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.loopnests.sorts import sort_values
from reactant.native import numpy_sorts

fast = pytest.mark.skipif(not numpy_sorts.fast("float64", 4000), reason="NumPy has no vector code here")


def numbers(shape, dtype):
    x = (np.random.default_rng(1).standard_normal(shape) * 1e3).astype(dtype)
    if x.dtype.kind == "f":
        for start, value in enumerate((np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, -0.0, 5e-324)):
            x.reshape(-1)[start::31] = value
    return x


def notes(function, x):
    lowered = reactant.jit(function).lower(x)
    with building():
        lowered.native_module(None)
    return lowered.notes


def keys(x):
    """Bits in order: -0.0 before 0.0, NaN alike and last."""
    if x.dtype.kind != "f":
        return x
    bits = np.where(np.isnan(x), x.dtype.type(np.nan), x).view(f"i{x.itemsize}")
    return bits ^ ((bits >> (8 * x.itemsize - 1)) & np.iinfo(bits.dtype).max)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "f2"])
@pytest.mark.parametrize(("shape", "axis"), [((3000,), 0), ((40, 300), 1), ((300, 40), 0), ((7, 33, 5), 1), ((13,), 0),
                                             ((11,), 0), ((3, 0), 1)])
def test_values(dtype, shape, axis):
    x = numbers(shape, dtype)
    got = reactant.jit(lambda x: np.sort(x, axis=axis))(x)
    np.testing.assert_array_equal(keys(got), np.sort(keys(x), axis=axis))


@fast
@pytest.mark.parametrize(("function", "values"), [
    (np.sort, True), (lambda x: np.sort(x) + 1, True), (lambda x: (np.sort(x), np.sort(x)[::-1] * 2), True),
    (lambda x: np.sort(-x), True), (lambda x: np.sort(x)[:3], False), (np.argsort, False)])
def test_where_it_fires(function, values, monkeypatch):
    """Not where few places are read, or what moves is not the values."""
    found, x = [], numbers((4000,), "f8")
    monkeypatch.setattr(sort_values.Plain, "text", lambda self, text=sort_values.Plain.text: found.append(1) or
                        text(self))
    got = reactant.jit(function)(x)
    assert bool(found) == values
    for ours, wanted in zip(got if type(got) is tuple else [got], function(x) if type(got) is tuple else [function(x)],
                            strict=True):
        if values:
            np.testing.assert_array_equal(ours, wanted)


@fast
def test_keys_are_made_in_the_sort():
    """`argsort` of floats is one call: no array of keys, no index of another width."""
    x = numbers((4000,), "f8")
    found = notes(np.argsort, x)
    assert len(found) == 1 and "sort of 1 x 4000 by NumPy's vector code" in found[0]
    np.testing.assert_array_equal(reactant.jit(np.argsort)(x), np.argsort(x, kind="stable"))


@fast
@pytest.mark.parametrize("values", [[3], [1.0, np.nextafter(1, 2)], range(7), [np.nan, -np.nan], [0.0, -0.0]])
@pytest.mark.parametrize("dtype", ["f8", "i8"])
def test_keys_that_are_alike(values, dtype):
    """Stable, whether keys are equal or differ in the bits alone that make room for places."""
    if dtype == "i8":
        values = [v + (1 << 60) for v in range(len(values))]
    x = np.random.default_rng(0).choice(np.array(values, dtype), (2, 3000))
    np.testing.assert_array_equal(reactant.jit(np.argsort)(x), np.argsort(x, kind="stable"))


def test_derivatives():
    x, w = numbers((300,), "f8"), np.arange(300.0)
    x[np.isnan(x)] = 7.25
    x = np.random.default_rng(3).permutation(np.arange(300.0))
    got = reactant.grad(lambda x: (np.sort(x) * w).sum())(x)
    np.testing.assert_array_equal(got, w[np.argsort(np.argsort(x))])
