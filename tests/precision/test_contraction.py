"""Products of matrices by slices, against exact sums."""
from fractions import Fraction

import numpy as np
import pytest

import reactant


@pytest.mark.slow
@pytest.mark.parametrize(("floats", "bits"), [("float32x2", 45), ("float64x2", 51)])
@pytest.mark.parametrize("k", [3, 100, 1500])
def test_products_of_matrices(floats, bits, k):
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((24, k)), rng.standard_normal((k, 30))
    found = reactant.jit(np.matmul, floats={"float64": floats})(a, b)
    for i, j in ((0, 0), (5, 7), (23, 29)):
        wanted = sum(Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True))
        size = float(np.abs(a[i]) @ np.abs(b[:, j]))
        assert abs(Fraction(float(found[i, j])) - wanted) < size * 2.0**-bits


@pytest.mark.slow
def test_infinite_elements_stay_infinite():
    a = np.ones((20, 40))
    a[3, 4] = np.inf
    found = reactant.jit(np.matmul, floats={"float64": "float32x2"})(a, np.ones((40, 30)))
    assert np.isinf(found[3]).all() and (found[[0, 5]] == 40).all()
