"""Exponentials and logarithms of limbs against mpmath."""
import numpy as np
import pytest

from tests.precision import limbs
from tests.precision.functions import FUNCTIONS, check, check_ends


def test_bits_of_two_floats():
    check("exp", np.float32, 2, 45.0, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "power"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, 45.0), (np.float64, 102.0)])
def test_bits(name, dtype, bits):
    check(name, dtype, 2, bits, 1000)


def test_what_is_no_number_exp():
    check_ends(FUNCTIONS["exp"][0], np.exp)


@pytest.mark.slow
def test_what_is_no_number_log():
    check_ends(FUNCTIONS["log"][0], np.log)


def test_exp_is_short():
    """At most 120 operations of two float32 limbs (the C++ system's has 419)."""
    assert limbs.operations(limbs.program(FUNCTIONS["exp"][0], 1, np.float32, 2, 8)) <= 120


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "log"])
def test_bits_of_three_floats(name):
    build, truth, _ = FUNCTIONS[name]
    x = limbs.samples(200, 3, np.float32, 0.01, 10, signed=False)
    found = limbs.run(limbs.program(build, 1, np.float32, 3, 200), [x])
    assert limbs.worst_bits(found, [x], truth) > 70
