"""Reductions, windows, sorts and scatters of limbs."""
import numpy as np
import pytest

import reactant

TWO = {"float64": "float32x2"}
X = np.random.default_rng(0).uniform(-1, 1, (12, 40))


def added_at(x):
    y = np.zeros(7)
    np.add.at(y, np.arange(40) % 7, x[0])
    return y


FUNCTIONS = {"sum": lambda x: x.sum(0), "product": lambda x: x.prod(1), "most": lambda x: x.max(1),
             "place": lambda x: x.argmax(1), "cumulative": lambda x: np.cumsum(x, 1), "sorted": lambda x: np.sort(x, 1),
             "order": lambda x: np.argsort(x, 1), "added": added_at, "median": np.median,
             "cumulative product": lambda x: np.cumprod(x, 0)}


@pytest.mark.parametrize("name", ["most", "added", *(pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS
                                                    if name not in ("most", "added"))])
def test_reductions(name):
    function = FUNCTIONS[name]
    found, wanted = reactant.jit(function, floats=TWO)(X), function(X)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2.0**-40, atol=2.0**-44)


def complex_added(x):
    y = np.zeros(7, complex)
    np.add.at(y, np.arange(40) % 7, x[0] + 1j * x[1])
    y[2:4] = x[2, :2] - 2j
    return y


@pytest.mark.slow
def test_scatters_of_complex_numbers():
    np.testing.assert_allclose(reactant.jit(complex_added, floats=TWO)(X), complex_added(X), rtol=2.0**-40)
