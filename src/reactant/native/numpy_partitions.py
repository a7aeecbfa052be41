"""NumPy's own `partition` and `argpartition`, for native code to call: vector code where NumPy has some.

NumPy hands out no address of these. So what native code calls is Python, which takes its lock, and looks at the memory
as an array: some 5 us for a call on all rows.

    func.call @numpy.partition.values(%memory, %rows, %length, %dtype, %count, %k0, %k1, %k2, %k3)
    func.call @numpy.partition.places(%memory, %to, %rows, %length, %dtype, %count, %k0, %k1, %k2, %k3)

The first puts the rows themselves in order, the second writes int64 places. dtype: NumPy's number of it. count: how
many of the last four numbers are places that are asked for.
"""
from __future__ import annotations

import ctypes

import numpy as np

PREFIX = "numpy.partition."
MOST = 4
"""Places that may be asked for."""
DTYPES = {np.dtype(name).num: np.dtype(name) for name in (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")}
_NUMBERS = [ctypes.c_int64] * (4 + MOST)


def _seen(address: int, rows: int, length: int, dtype: np.dtype) -> np.ndarray:
    memory = (ctypes.c_char * (rows * length * dtype.itemsize)).from_address(address)
    return np.ndarray((rows, length), dtype, memory)


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *_NUMBERS)
def _values(memory: int, rows: int, length: int, dtype: int, count: int, *kth: int) -> int:
    _seen(memory, rows, length, DTYPES[dtype]).partition(kth[:count] if count > 1 else kth[0], axis=-1)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *_NUMBERS)
def _places(memory: int, to: int, rows: int, length: int, dtype: int, count: int, *kth: int) -> int:
    given = _seen(memory, rows, length, DTYPES[dtype])
    found = _seen(to, rows, length, np.dtype(np.int64))
    found[...] = given.argpartition(kth[:count] if count > 1 else kth[0], axis=-1)
    return 0


def addresses() -> dict[str, int]:
    """Where the functions are, by the names that native code calls them by."""
    return {PREFIX + name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in (("values", _values), ("places", _places))}
