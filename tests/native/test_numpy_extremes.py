"""NumPy's `argmax` and `argmin` by address."""
import ctypes

import numpy as np
import pytest

from reactant.native import numpy_extremes


@pytest.mark.parametrize("dtype", numpy_extremes.DTYPES, ids=str)
@pytest.mark.parametrize("kind", numpy_extremes.KINDS)
@pytest.mark.parametrize("length", [1, 7, 1000])
def test_they_find(dtype, kind, length):
    address = numpy_extremes.addresses().get(f"numpy.{kind}.{dtype.name}")
    if address is None:
        pytest.skip("NumPy hands out no such function")
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p])
    row, place = (np.random.default_rng(length).random(length) * 50).astype(dtype), ctypes.c_ssize_t(-1)
    for missing in (False, True):
        if missing and dtype.kind == "f":
            row[length // 2:] = np.nan
        assert function(address)(row.ctypes.data, length, ctypes.addressof(place), None) == 0
        assert place.value == getattr(np, kind)(row)


def test_other_functions_are_not_taken(monkeypatch):
    numpy_extremes.addresses.cache_clear()
    monkeypatch.setattr(numpy_extremes, "KINDS", {"argmax": 21 + 25})       # where argmin is
    assert not numpy_extremes.addresses()
    monkeypatch.setattr(np, "__version__", "3.0.0")
    numpy_extremes.addresses.cache_clear()
    assert not numpy_extremes.addresses()
    numpy_extremes.addresses.cache_clear()
