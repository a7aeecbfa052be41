"""Loop dtypes and result types come from NumPy itself."""
from __future__ import annotations

import numpy as np
import pytest

from reactant.frontends.arrays import promotion

F4, F8, I1 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int8)


@pytest.mark.parametrize(("ufunc", "operands", "expected"), [
    (np.add, (F4, float), (F4, F4, F4)), (np.add, (I1, int), (I1, I1, I1)), (np.add, (I1, float), (F8, F8, F8)),
    (np.add, (bool, bool), (np.dtype(bool),) * 3), (np.divide, (I1, I1), (F8, F8, F8)),
    (np.less, (F4, F8), (F8, F8, np.dtype(bool))), (np.absolute, (np.dtype(np.complex64),), (np.dtype("F"), F4)),
], ids=str)
def test_loop_dtypes(ufunc, operands, expected):
    assert promotion.loop_dtypes(ufunc, (*operands, *(None,) * ufunc.nout)) == expected


def test_loop_dtypes_of_a_chosen_dtype():
    assert promotion.loop_dtypes(np.add, (I1, I1, None), "same_kind", F4) == (F4, F4, F4)


def test_casting_errors_are_numpys():
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        promotion.loop_dtypes(np.add, (F8, F8, I1))


@pytest.mark.parametrize(("operands", "expected"), [
    ((F4, float), F4), ((I1, float), F8), ((I1, int), I1), ((F4, complex), np.dtype(np.complex64)), ((F4, F8), F8),
], ids=str)
def test_result_type(operands, expected):
    assert promotion.result_type(operands) == expected


@pytest.mark.parametrize("kind", [bool, int, float, complex])
def test_python_types_and_dtypes_are_inverse(kind):
    assert promotion.python_type(promotion.PYTHON_DTYPES[kind]) is kind
