"""NumPy's own `argmax` and `argmin` of rows, for native code to call: vector code where NumPy has some.

They are functions of a dtype, `int argmax(void *start, npy_intp n, npy_intp *place, void *)`, as its sorts are.

    func.call @numpy.argmax.float64(%row, %n, %place)    the place of the greatest, or of the first NaN, of n elements
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from reactant.native import numpy_sorts

PREFIX = "numpy.arg"
KINDS = {"argmax": 21 + 5, "argmin": 21 + 25}
"""Where they are in `PyArray_ArrFuncs`."""
DTYPES = [np.dtype(name) for name in ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                                      "int64", "uint64")]


@cache
def addresses() -> dict[str, int]:
    """Where the functions are, by the names that native code calls them by; those of dtypes that NumPy has, and that do
    what they should."""
    found = {}
    for dtype in DTYPES:
        functions = numpy_sorts.functions_of(dtype)
        for kind, place in KINDS.items() if functions else ():
            if functions[place] and _finds(functions[place], dtype, getattr(np, kind)):
                found[f"numpy.{kind}.{dtype.name}"] = functions[place]
    return found


def _finds(address: int, dtype: np.dtype, extreme: Callable) -> bool:
    """Whether it is the function that it should be."""
    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(ctypes.c_int, pointer, ctypes.c_ssize_t, pointer, pointer)(address)
    row, place = np.random.default_rng(0).permutation(100).astype(dtype), ctypes.c_ssize_t(-1)
    return function(row.ctypes.data, row.size, ctypes.addressof(place), None) == 0 and place.value == extreme(row)
