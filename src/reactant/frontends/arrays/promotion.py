"""Which dtype a NumPy operation computes in: NumPy itself is asked, so NEP 50 holds by construction."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

ARRAY, SCALAR, PYTHON = "array", "scalar", "python"
"""Kinds of traced values: arrays, NumPy's numbers (which do not change), Python's (which are weak)."""

PYTHON_DTYPES = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64),
                 complex: np.dtype(np.complex128)}
"""What a Python number becomes when it has to be stored."""

MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) < "2.4.0" else 0
"""Of an array of one element that `float` and `int` take."""

NO_NUMBER = "only 0-dimensional arrays can be converted to Python scalars"
"""NumPy's words for others."""

_PYTHON_OF_KIND = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def is_number(x: Any) -> bool:
    """Whether `float(x)` is its element."""
    return x.size == 1 and x.ndim <= MOST_DIMENSIONS


def python_type(dtype: np.dtype) -> type:
    """The Python number type that a run-time Python number of `dtype` stands for."""
    return _PYTHON_OF_KIND[np.dtype(dtype).kind]


@cache
def loop_dtypes(ufunc: np.ufunc, operands: tuple, casting: str = "same_kind", dtype: np.dtype | None = None
                ) -> tuple[np.dtype, ...]:
    """The dtypes (inputs then outputs) of the inner loop NumPy would run.

    `operands` holds a dtype for arrays and scalars, `int`/`float`/`complex` for Python numbers (weak), None for outputs
    not given. Raises NumPy's own `UFuncTypeError` where there is no loop or the cast is refused.
    """
    operands = tuple(np.dtype(bool) if o is bool else o for o in operands)
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
        return ufunc.resolve_dtypes(operands, signature=signature, casting=casting)
    return ufunc.resolve_dtypes(operands, casting=casting)


@cache
def result_type(operands: tuple) -> np.dtype:
    """`np.result_type`, with Python types standing for weak numbers."""
    examples = {bool: False, int: 0, float: 0.0, complex: 0j}
    return np.result_type(*[examples[o] if isinstance(o, type) else o for o in operands])
