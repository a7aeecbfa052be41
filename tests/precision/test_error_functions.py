"""The error functions of limbs against mpmath."""
import numpy as np
import pytest

from tests.precision.functions import check


def test_bits_of_two_floats():
    check("erf", np.float32, 2, 45.0, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["erf", "erfc", "erf_inv"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 45.0), (np.float64, 102.0)])
def test_bits(name, dtype, bits):
    check(name, dtype, 2, bits, 1000)
