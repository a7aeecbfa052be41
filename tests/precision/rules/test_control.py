"""Loops and branches of limbs, and of kernels that become such: where they leave the range."""
import numpy as np
import pytest
from numba import cuda

import reactant

TWO = {"float64": "float32x2"}


@cuda.jit
def squared(x, y):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for _ in range(3):
            s = s * s       # here
        y[i] = s


def launched(x):
    y = np.zeros_like(x)
    squared[2, 32](x, y)
    return y


def nested(x):
    n, total = 0, 0.0
    while total < 3e38 and n < 40:
        y = x
        for _ in range(300):
            if y > 1e20:
                y = y / x
            else:
                y = y * x   # here
        total = y
        n += 1
    return total


def line_of(function, x):
    with pytest.raises(FloatingPointError, match="overflow encountered in multiply") as caught:
        reactant.jit(function, floats=TWO)(x)
    return caught.value.__notes__[0]


@pytest.mark.slow
def test_in_nested_loops():
    assert reactant.jit(nested, floats=TWO)(2.0) == nested(2.0)
    assert line_of(nested, 1e19 * 3).endswith("# here")


@pytest.mark.slow
def test_in_kernels():
    np.testing.assert_array_equal(reactant.jit(launched, floats=TWO)(np.full(64, 3.0)), 3.0**8)
    assert line_of(launched, np.full(64, 1e10)).endswith("# here")
