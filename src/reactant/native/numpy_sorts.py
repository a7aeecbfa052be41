"""NumPy's own sorts of numbers, for native code to call: vector code on processors with AVX2 or AVX-512.

They are entries of the table that NumPy hands to extension modules (`_ARRAY_API`, whose layout NumPy 2 keeps): the sort
functions of a dtype, `int sort(void *start, npy_intp n, void *)`, which need neither the array nor Python's lock.

Short rows are sorted in registers, by networks, and longer ones are split until they are short. Which of these are fast
depends on the processor (nanoseconds for each of 64 bits, on one of AMD's: rows of 256 1.5, of 512 8, of 16384 27).
"""
from __future__ import annotations

import ctypes
import time
from functools import cache
from typing import Any

import numpy as np

PREFIX = "numpy.sort."
"""`func.call @numpy.sort.i64(%memory, %n)` puts the first n elements in order, as unsigned numbers."""
DTYPES = {"i32": np.dtype(np.uint32), "i64": np.dtype(np.uint64)} | {
    name: np.dtype(name) for name in ("int32", "int64", "float32", "float64")}
"""What a function sorts: the first two are for keys, the others for values as they are. Floats: NaN last, as quiet
ones; a row with zeros of both signs may have another number of each afterwards."""
SHORT = {name: 2048 // dtype.itemsize for name, dtype in DTYPES.items()}
"""Elements up to which a row is sorted by a network."""

_GET_FUNCTIONS = 365
"""`_PyDataType_GetArrFuncs` in the table of the C API."""
_QUICKSORT = 21 + 12
"""The first of a dtype's sorts, in `PyArray_ArrFuncs`: after the casts, and the functions from getitem to
fillwithscalar."""
_TRIAL, _SHORT_ROW, _TIMES = 1 << 14, 64, 3.0
"""Elements of the trials, in one row and in short ones; how many times faster than NumPy's stable sort, which is no
vector code, a sort has to be in them."""


def fast(name: str, length: int) -> bool:
    """Whether vector code sorts rows of so many elements of a type."""
    return _is_fast(name, length <= SHORT[name])


@cache
def addresses() -> dict[str, int]:
    """Where the functions are, by the names that native code calls them by; none where NumPy hands out no such ones."""
    found: dict[str, int] = {}
    for name, dtype in DTYPES.items():
        functions = functions_of(dtype)
        if not functions or not functions[_QUICKSORT] or not _sorts(functions[_QUICKSORT], dtype):
            return {}
        found[PREFIX + name] = functions[_QUICKSORT]
    return found


def functions_of(dtype: np.dtype) -> Any:
    """The functions of a dtype that NumPy's C API has, `PyArray_ArrFuncs`, as an array of addresses; None where it is
    another version of NumPy."""
    if not np.__version__.startswith("2."):
        return None
    of_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    of_pointer.restype, of_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(of_pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    found = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_GET_FUNCTIONS])(dtype)
    return ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p)) if found else None


def _numbers(dtype: np.dtype) -> np.ndarray:
    random = np.random.default_rng(0)
    if dtype.kind == "f":
        return random.standard_normal(_TRIAL).astype(dtype)
    return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, _TRIAL, dtype, endpoint=True)


def _sorts(address: int, dtype: np.dtype) -> bool:
    """Whether it is the function that it should be."""
    sort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(address)
    numbers = _numbers(dtype)
    wanted = np.sort(numbers)
    sort(numbers.ctypes.data, numbers.size, None)
    return np.array_equal(numbers, wanted)


@cache
def _is_fast(name: str, short: bool) -> bool:
    """Whether short rows, or long ones, are sorted by vector code."""
    return bool(addresses()) and _is_vector_code(_numbers(DTYPES[name]).reshape(-1, _SHORT_ROW if short else _TRIAL))


def _is_vector_code(rows: np.ndarray) -> bool:
    best = {"quicksort": np.inf, "stable": np.inf}
    for _ in range(3):
        for kind in best:
            made = rows.copy()
            begun = time.perf_counter()
            made.sort(axis=1, kind=kind)
            best[kind] = min(best[kind], time.perf_counter() - begun)
    return best["quicksort"] * _TIMES < best["stable"]
