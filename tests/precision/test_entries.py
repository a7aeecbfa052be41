"""Conversions between limbs and what is not limbs."""
import numpy as np
import pytest

import reactant

TWO = {"float64": "float32x2"}


def test_integers_of_48_bits_are_exact():
    n = np.array([2**47 - 1, -(2**47) + 1, 2**33 + 7, 0, -1])
    found = reactant.jit(lambda n: (n.astype(np.float64) + 1.0).astype(np.int64), floats=TWO)(n)
    np.testing.assert_array_equal(found, n + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_narrower_floats_are_rounded_once(dtype):
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-24 + 2.0**-45, np.pi, -1e-3])
    np.testing.assert_array_equal(reactant.jit(lambda x: x.astype(dtype), floats=TWO)(x), x.astype(dtype))


def test_zeros_keep_their_signs_and_infinities_stay():
    x = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan])
    found = reactant.jit(lambda x: x * 1.0 + -0.0, floats=TWO)(x)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(np.signbit(found[:2]), [True, False])
