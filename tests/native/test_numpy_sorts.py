"""NumPy's sorts by address: they sort, and processors or versions without fast ones get none."""
import ctypes

import numpy as np
import pytest

from reactant.native import numpy_sorts


@pytest.fixture
def fresh():
    caches = numpy_sorts.addresses, numpy_sorts._is_fast
    for function in caches:
        function.cache_clear()
    yield
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize("name", numpy_sorts.DTYPES)
@pytest.mark.parametrize("length", [0, 1, 2, 17, 1000, 70_001])
def test_they_sort(name, length):
    address = numpy_sorts.addresses().get(numpy_sorts.PREFIX + name)
    if address is None:
        pytest.skip("NumPy has no vector code for sorts on this processor")
    dtype = numpy_sorts.DTYPES[name]
    random = np.random.default_rng(length)
    if dtype.kind == "f":
        x = random.standard_normal(length).astype(dtype)
        x[::7] = np.nan
    else:
        x = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, length, dtype, endpoint=True)
    wanted = np.sort(x)
    sort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(address)
    assert sort(x.ctypes.data, length, None) == 0
    np.testing.assert_array_equal(x, wanted)


def test_slow_ones_are_not_used(fresh, monkeypatch):
    monkeypatch.setattr(numpy_sorts, "_TIMES", 1e9)
    assert not any(numpy_sorts.fast(name, n) for name in numpy_sorts.DTYPES for n in (30, 30_000))


def test_short_rows_and_long_ones_are_tried_apart(fresh, monkeypatch):
    monkeypatch.setattr(numpy_sorts, "_is_vector_code", lambda rows: rows.shape[1] < 1000)
    if numpy_sorts.addresses():
        assert [numpy_sorts.fast("i64", n) for n in (30, 256, 257)] == [True, True, False]
        assert [numpy_sorts.fast("i32", n) for n in (512, 513)] == [True, False]


def test_other_versions_of_numpy_have_none(fresh, monkeypatch):
    monkeypatch.setattr(np, "__version__", "3.0.0")
    assert numpy_sorts.addresses() == {} and not numpy_sorts.fast("i64", 30)
