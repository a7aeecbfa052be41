"""Sums in lanes: digits, whatever the shape; what is no number; rows that do not come out even."""
import math
from fractions import Fraction

import numpy as np
import pytest

import reactant
from reactant.precision import sums
from tests.precision import limbs

TWO = {"float64": "float32x2"}


def summed(size, dtype, bits, given=None):
    given = given or limbs.samples(size, 2, dtype, 1e-3, 1e3, signed=False)

    def build(x):
        found = sums.total(x)
        return found.each(lambda limb: limbs.spread(limb, size))
    high, low = limbs.run(limbs.program(build, 1, dtype, 2, size), [given])
    wanted = sum((Fraction(float(v)) for limb in given for v in limb), Fraction(0))
    found = Fraction(float(high[0])) + Fraction(float(low[0]))
    sizes = sum((abs(Fraction(float(v))) for v in given[0]), Fraction(0))
    assert abs(found - wanted) <= sizes * Fraction(1, 2**bits), float((found - wanted) / sizes)


def test_digits(monkeypatch):
    monkeypatch.setattr(sums, "LANES", 64)
    summed(1000, np.float32, 46)
    summed(997, np.float64, 103)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 31, 33, 1025, 3 * sums.LANES + 5])
def test_any_size(size):
    summed(size, np.float32, 45)


@pytest.mark.slow
def test_sums_that_cancel():
    x = limbs.samples(5000, 2, np.float32, 1, 2, signed=False)
    summed(10000, np.float32, 45, [np.concatenate([limb, -limb[::-1]]) for limb in x])


@pytest.mark.slow
def test_equal_summands_of_all_lanes():
    """Rounding errors that all have one sign."""
    summed(40 * sums.LANES, np.float32, 44, [np.full(40 * sums.LANES, 0.1, np.float32),
                                             np.full(40 * sums.LANES, 1e-9, np.float32)])


@pytest.mark.slow
@pytest.mark.parametrize(("values", "wanted"), [
    ([np.inf, 1.0], np.inf), ([np.inf, -np.inf], np.nan), ([np.nan, 1.0], np.nan), ([-0.0, -0.0], 0.0)])
def test_what_is_no_number(values, wanted):
    for count in (len(values), 3 * sums.LANES):
        x = np.zeros(count)
        x[:len(values)] = values
        np.testing.assert_array_equal(reactant.jit(np.sum, floats=TWO)(x), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 5), (2000, 3), (3, 20000), (7, 11, 13)])
def test_shapes(shape):
    x = np.random.default_rng(0).uniform(-1, 1, shape)
    for axis in range(len(shape)):
        found = reactant.jit(lambda x, axis=axis: x.sum(axis=axis), floats=TWO)(x)
        wanted = np.apply_along_axis(math.fsum, axis, x)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-44 * np.abs(x).sum(axis=axis).max())
