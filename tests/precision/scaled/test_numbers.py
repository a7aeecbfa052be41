"""Arithmetic far beyond the exponents of float32."""
import numpy as np

import reactant

SCALED = {"float64": "float32x2 scaled"}


def right(found, wanted, bits=44):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2.0**-bits, atol=0)


def arithmetic(x, y):
    return x * x + x * 3e60, x * y, y / x, (y * y).sum(), np.sqrt(np.abs(x)), np.where(x > 0, x, y * 1e119)


X = np.array([1e60, 3e59, -2e60, 7e55])
Y = np.array([2e-60, 5e-61, 1e-58, 3e-60])


def test_numbers_of_1e60_and_1e_minus_60():
    for found, wanted in zip(reactant.jit(arithmetic, floats=SCALED)(X, Y), arithmetic(X, Y), strict=True):
        right(found, wanted)


def test_factors_whose_greatest_are_apart():
    """Products and quotients of 1e-20 of the greatest factors have all digits."""
    x, y = np.array([1e200, 1e180]), np.array([1e-120, 1e-100])
    found = reactant.jit(lambda x, y: (x * y, y / x), floats=SCALED)(x, y)
    right(found[0], x * y)
    right(found[1], y / x)


def test_zeros_do_not_hide_what_is_small():
    x = np.zeros(3)
    found = reactant.jit(lambda x, y: (x * 1e50 + y, np.concatenate([x, y])), floats=SCALED)(x, Y[:3])
    right(found[0], Y[:3])
    right(found[1], [0, 0, 0, *Y[:3]])


def test_what_is_no_number():
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -0.0, 5e-324])
    found = reactant.jit(lambda x: (x * 1.0, x / 1e300, x == x, x * 1e300), floats=SCALED)(x)
    right(found[0][:5], x[:5])
    right(found[1][:4], x[:4] / 1e300)
    assert np.signbit(found[0][4])
    np.testing.assert_array_equal(found[2], x == x)
    assert found[3][3] == np.inf
