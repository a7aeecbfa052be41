"""NumPy's conversions, rounded once where ml_dtypes rounds twice.

By float32, a number next to the middle of two halves becomes that middle, and then goes to the even one:
1 + 2**-8 + 2**-40 becomes 1 in bfloat16, not 1 + 2**-7.
"""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SMALL = frozenset(map(np.dtype, (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)))
"""Dtypes that are not NumPy's own."""
LOST = 42
"""Of the 52 bits behind a float64's first, those that only matter by whether they are zero: no dtype of `SMALL` keeps
more than seven, and with ten float32 has the numbers below its normal ones that decide about bfloat16's."""
FEW = 16
"""Bits of a large integer that only matter by whether they are zero."""
LARGE = 1 << 52
"""Integers from which on they do not matter for bfloat16."""


def astype(array: np.ndarray, dtype: np.dtype, order: Any = "K") -> np.ndarray:
    """`array.astype(dtype, order)`, rounded once."""
    if dtype not in SMALL or not (array.dtype == np.float64 or array.dtype.kind in "iu" and array.itemsize >= 4):
        return array.astype(dtype, order)
    wide = array if array.dtype == np.float64 else _by_sign_of_low(array).astype(np.float64)
    bits = np.array(wide, order=order).view(np.uint64)
    low, one = np.uint64((1 << LOST) - 1), np.uint64(1 << LOST)
    odd = np.where(np.isfinite(wide) & ((bits & low) != 0), bits & ~low | one, bits)
    with np.errstate(all="ignore"):
        return odd.view(np.float64).astype(np.float32).astype(dtype)


def _by_sign_of_low(n: np.ndarray) -> np.ndarray:
    """Integers with the same nearest number, and few enough bits for float64."""
    if n.itemsize < 8:
        return n
    kind = n.dtype.type
    low, half = kind((1 << FEW) - 1), kind(1 << FEW - 1)
    return np.where((n > LARGE) | (n < (-LARGE if n.dtype.kind == "i" else 0)),
                    n & ~low | np.where((n & low) != 0, half, kind(0)), n)
