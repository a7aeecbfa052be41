"""Operators and methods of the traced array: those of NumPy's arrays, scalars and Python's numbers."""
import numpy as np
import pytest

import reactant
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.arrays.tensor_methods import COMPARISONS, FUNCTIONS, OPERATORS, UNARY
from tests.oracle import check


def test_every_name_of_the_tables_is_numpys_and_ours():
    names = [*FUNCTIONS, *(f"__{name}__" for name in (*OPERATORS, *COMPARISONS, *UNARY)),
             *(f"__{way}{name}__" for way in "ri" for name in OPERATORS)]
    for name in names:
        assert hasattr(np.ndarray, name) and callable(getattr(Tensor, name))


def operators(x, i, y):
    """Each with an array, a scalar and a Python number on either side."""
    s, n = x[0], len(x) + 1
    return (x + y, 2.0 - x, x * n, n / (x * x + 1), x // 0.5, 7 % (i + 1), x ** 2, 2.0 ** y, i & 3, 5 | i, i ^ i[::-1],
            i << 1, 9 >> i, x @ y, x < y, s <= 1, x > 0, 0 >= x, i == 2, x != y, -x, +i, abs(y), ~i, x == None,  # noqa: E711
            x != "text", divmod(i, 2), divmod(9, i + 1), round(s, 2), (i > 1) ** 2, s ** 0.5)


def methods(x, i):
    """What is written in place, and what the array and NumPy's function have in common."""
    z, w = x.copy(), i.copy()
    z += 1
    z **= 2
    w <<= 2
    z.sort()
    w.partition(2)
    return (z, w, x.reshape(2, -1), x.reshape((3, 2)).transpose(1, 0), x.flatten(), x.clip(0.5), x.dot(x), x.conj(),
            x.compress([True, False, True]), i.sum(), x.argmax(), x.cumsum(), x.std(), x.round(1), i.take([1, 0]),
            x.ravel()[1:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operators_and_methods_give_what_numpy_gives(dtype):
    x, i = np.array([0.25, 1.5, -2.0, 0.75, 3.0, -0.5], dtype), np.array([0, 2, 1, 3, 2, 5])
    check(operators, np.abs(x), i, x[::-1].copy(), rtol=1e-6)
    check(methods, x, i, rtol=1e-6)


def test_what_no_operator_combines():
    for bad in (lambda x: x + "text", lambda x: x @ None, lambda x: x + {}):
        with pytest.raises(TypeError):
            reactant.jit(bad)(np.ones(2))
