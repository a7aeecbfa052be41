"""Whole parts, remainders and extremes of limbs."""
import numpy as np
import pytest

import reactant

X = np.array([2.5, -2.5, 3.5, 0.5, -0.5, 2.5 + 1e-12, 2.5 - 1e-12, 2.0**30 + 0.5, 2.0**30 + 0.25, -7.0, 1e12 + 0.75,
              -1e12 - 0.25, 0.0])


@pytest.mark.parametrize("function", [np.floor, np.ceil, np.rint, np.trunc, np.abs, np.sign], ids=lambda f: f.__name__)
def test_whole_parts_are_exact(function):
    np.testing.assert_array_equal(reactant.jit(function, floats={"float64": "float32x2"})(X), function(X))


@pytest.mark.slow
def test_remainders():
    x = np.array([7.25, -7.25, 1e10, 5.0, -5.0, 3.0])
    y = np.array([2.0, 2.0, 0.375, np.inf, 2.5, 0.0])
    with np.errstate(all="ignore"):
        wanted = np.fmod(x, y)
    np.testing.assert_array_equal(reactant.jit(np.fmod, floats={"float64": "float32x2"})(x, y), wanted)


def test_extremes_with_nan():
    x, y = np.array([1.0, np.nan, 1 + 1e-12, -0.0]), np.array([2.0, 1.0, 1.0, 0.0])
    for function in (np.maximum, np.minimum):
        np.testing.assert_array_equal(reactant.jit(function, floats={"float64": "float64x2"})(x, y), function(x, y))
