"""NumPy's partitions as native code calls them."""
import ctypes

import numpy as np
import pytest

from reactant.native import numpy_partitions

KTH = [3, 90, 0, 0]


@pytest.mark.parametrize("dtype", numpy_partitions.DTYPES.values(), ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_rows(dtype, count):
    x = (np.random.default_rng(0).standard_normal((4, 100)) * 20).astype(dtype)
    kth = KTH[:count] if count > 1 else KTH[0]
    places, numbers = np.zeros((4, 100), np.int64), (4, 100, dtype.num, count, *KTH)
    numpy_partitions._places(x.ctypes.data, places.ctypes.data, *numbers)
    np.testing.assert_array_equal(places, np.argpartition(x, kth))
    values = x.copy()
    numpy_partitions._values(values.ctypes.data, *numbers)
    np.testing.assert_array_equal(values, np.partition(x, kth))


def test_addresses():
    found = numpy_partitions.addresses()
    assert found.keys() == {"numpy.partition.values", "numpy.partition.places"} and all(found.values())
    assert found["numpy.partition.values"] == ctypes.cast(numpy_partitions._values, ctypes.c_void_p).value
