"""Real values of expressions of floats, and distances from them."""
import numpy as np
import pytest

from reactant.precision.improvement import truth
from reactant.precision.improvement.identities import parsed

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


@pytest.mark.parametrize("text, x, wanted", [
    ("(1 + x) - 1", 1e-300, 1e-300),
    ("sqrt(x + 1) - sqrt(x)", 1e30, 5e-16),
    ("exp(x) - 1", 1e-20, 1e-20),
    ("sin(x)", 1e22, -0.8522008497671888),
    ("x - x", 0.1, 0.0),
    ("cbrt(x)", -27.0, -3.0),
    ("exp(x)", 1e300, np.inf),
    ("x * x", 1e-200, 0.0),
    ("x ** 0.5", -1.0, np.nan),
    ("1 / x", 0.0, np.nan),
    ("log(x)", -1.0, np.nan),
    ("x + 1", np.inf, np.nan),
])
def test_reals(text, x, wanted):
    root = parsed(text, "x")
    found = truth.in_reals(root, [np.array([x])], F64)[0][root]
    np.testing.assert_array_max_ulp(found, np.array([wanted]), 1)


def test_rounded_once():
    x = np.float32(1) + np.float32(2**-23)
    root = parsed("x * (1 + 2.0**-24 * (1 + 2.0**-40))".replace("2.0**-24", repr(2.0**-24)).replace(
        "2.0**-40", repr(2.0**-40)), "x")
    found = truth.in_reals(root, [np.array([x], np.float32)], F32)[0][root][0]
    assert found == np.float32(1) + np.float32(2**-22)      # by way of float64 it would be a tie, and stay


@pytest.mark.parametrize("dtype", [F32, F64])
def test_distances(dtype):
    one = dtype.type(1)
    given = np.array([1, np.nextafter(one, dtype.type(2)), -0.0, np.nan, np.nan, 1], dtype)
    real = np.array([1, 1, 0.0, np.nan, 1, -1], dtype)
    found = truth.bits_of_error(given, real, dtype)
    assert found[:5].tolist() == [0, 1, 0, 0, 8 * dtype.itemsize] and found[5] > 8 * dtype.itemsize - 3
