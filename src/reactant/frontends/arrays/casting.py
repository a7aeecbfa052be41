"""`astype` of values: NumPy's casts between dtypes in StableHLO."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_float


def cast(value: ir.Value, dtype: object) -> ir.Value:
    """NumPy's `astype(dtype)` of a value: truncation to integers, wrap-around between integers, nonzero to bool,
    the real part of complex numbers."""
    dtype, old = np.dtype(dtype), dtype_of(value)
    if old == dtype:
        return value
    if dtype.kind == "b":
        return ops.compare(value, 0, "NE")
    if old.kind == "c" and dtype.kind != "c":
        return cast(ops.real(value), dtype)
    if is_float(old) and dtype.kind in "iu" and (dtype.itemsize < 4 or dtype.kind == "u"):
        # C converts through a wider integer and wraps, XLA would saturate
        wide = np.int64 if dtype != np.uint64 else np.uint64
        if dtype == np.uint64:
            below = ops.compare(value, 0, "LT")
            return ops.select(below, ops.convert(ops.convert(value, np.int64), np.uint64), ops.convert(value, wide))
        return ops.convert(ops.convert(value, wide), dtype)
    return ops.convert(value, dtype)
