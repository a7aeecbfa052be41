"""NumPy's own sorts of unsigned integers, for native code to call: vector code on processors with AVX2 or AVX-512.

They are entries of the table that NumPy hands to extension modules (`_ARRAY_API`, whose layout NumPy 2 keeps): the sort
functions of a dtype, `int sort(void *start, npy_intp n, void *)`, which need neither the array nor Python's lock.
"""
from __future__ import annotations

import ctypes
import time
from functools import cache

import numpy as np

PREFIX = "numpy.sort."
"""`func.call @numpy.sort.i64(%memory, %n)` puts the first n elements in order, as unsigned numbers."""
DTYPES = {"i32": np.dtype(np.uint32), "i64": np.dtype(np.uint64)}

_GET_FUNCTIONS = 365
"""`_PyDataType_GetArrFuncs` in the table of the C API."""
_QUICKSORT = 21 + 12
"""The first of a dtype's sorts, in `PyArray_ArrFuncs`: after the casts, and the functions from getitem to
fillwithscalar."""
_TRIAL, _NANOSECONDS = 1 << 14, 15.0
"""A sort of so many elements that takes longer for each is no vector code."""


@cache
def addresses() -> dict[str, int]:
    """Where the functions are, by the names that native code calls them by; none where NumPy has no fast ones."""
    if not np.__version__.startswith("2."):
        return {}
    of_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    of_pointer.restype, of_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(of_pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    functions_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_GET_FUNCTIONS])
    found: dict[str, int] = {}
    for name, dtype in DTYPES.items():
        functions = ctypes.cast(functions_of(dtype), ctypes.POINTER(ctypes.c_void_p))
        address = functions[_QUICKSORT] if functions else None
        if not address or not _is_fast(address, dtype):
            return {}
        found[PREFIX + name] = address
    return found


def _is_fast(address: int, dtype: np.dtype) -> bool:
    sort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(address)
    numbers = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, _TRIAL, dtype, endpoint=True)
    wanted, best = np.sort(numbers), np.inf
    for _ in range(3):
        made = numbers.copy()
        begun = time.perf_counter()
        sort(made.ctypes.data, made.size, None)
        best = min(best, time.perf_counter() - begun)
        if not np.array_equal(made, wanted):
            return False
    return best * 1e9 < _NANOSECONDS * _TRIAL
