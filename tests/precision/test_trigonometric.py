"""Sines and their kin of limbs against mpmath."""
import numpy as np
import pytest

from tests.precision.functions import FUNCTIONS, check, check_ends


def test_bits_of_two_floats():
    check("atan", np.float32, 2, 45.0, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sine", "cosine", "tan", "atan", "asin", "acos"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 45.0), (np.float64, 102.0)])
def test_bits(name, dtype, bits):
    check(name, dtype, 2, bits, 1000)


@pytest.mark.slow
def test_what_is_no_number_sine():
    check_ends(FUNCTIONS["sine"][0], np.sin)
