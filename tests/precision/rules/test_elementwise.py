"""Comparisons see all limbs, infinities and NaN."""
import numpy as np

import reactant


def test_comparisons():
    def f(x, y):
        return x < y, x <= y, x == y, x != y, x > y, x >= y, np.clip(x, 0.0, 1.0)
    x = np.array([1.0, 1 + 1e-12, np.inf, np.nan, -0.0, -np.inf])
    y = np.array([1 + 1e-12, 1 + 1e-12, np.inf, 1.0, 0.0, np.inf])
    for found, wanted in zip(reactant.jit(f, floats={"float64": "float32x2"})(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2.0**-47)
