"""Numbers of any precision against mpmath."""
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from reactant.precision import numerals


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize(("found", "truth"), [
    (lambda: numerals.pi(), lambda: mpmath.pi), (lambda: numerals.exp(Fraction(3, 7)), lambda: mpmath.exp(
        mpmath.mpf(3) / 7)), (lambda: numerals.log(Fraction(5, 3)), lambda: mpmath.log(mpmath.mpf(5) / 3)),
    (lambda: numerals.sine(Fraction(2, 3)), lambda: mpmath.sin(mpmath.mpf(2) / 3)),
    (lambda: numerals.arctangent(Fraction(5, 6)), lambda: mpmath.atan(mpmath.mpf(5) / 6))])
def test_functions_have_a_hundred_digits(found, truth):
    with mpmath.workprec(420):
        assert abs(real(found()) / truth() - 1) < mpmath.mpf(10)**-100


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limbs_are_each_the_nearest(dtype):
    limbs = numerals.limbs_of(numerals.pi(), np.dtype(dtype), 3)
    assert limbs[0] == dtype(np.pi)
    rest = numerals.pi() - sum(Fraction(float(limb)) for limb in limbs)
    assert abs(rest) < Fraction(2)**(2 - 3 * np.finfo(dtype).nmant - 3)


def test_arrays_are_split_exactly():
    x = np.random.default_rng(0).uniform(1, 2, 100)
    high, low = numerals.split_array(x, np.dtype(np.float32), 2)
    assert np.max(np.abs(high.astype(float) + low - x)) < 2.0**-48
