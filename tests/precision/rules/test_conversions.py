"""Constants, counting and conversions become limbs."""
import numpy as np

import reactant


def test_constants_and_counting():
    table = np.array([0.1, 1 / 3, 1e10 + 0.125])

    def f(x):
        return table * x + np.arange(3.0) + 0.1
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(reactant.jit(f, floats={"float64": "float32x2"})(x), f(x), rtol=2.0**-45)


def test_bits_are_those_of_the_source():
    def f(x):
        return np.signbit(x), np.copysign(2.0, x)
    x = np.array([-0.0, 0.0, -3.5, 2.0])
    for found, wanted in zip(reactant.jit(f, floats={"float64": "float32x2"})(x), f(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
