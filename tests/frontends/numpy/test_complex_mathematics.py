"""`cmath` of run-time numbers, against Python's."""
import cmath

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree

NUMBERS = [0.3 - 0.7j, -2.0 + 0.5j, -1.5 - 0.25j, 0.25 + 3j]


def one_number(z):
    return (cmath.sqrt(z), cmath.exp(z), cmath.log(z), cmath.log(z, 2), cmath.log10(z), cmath.sin(z), cmath.cos(z),
            cmath.tan(z), cmath.sinh(z), cmath.cosh(z), cmath.tanh(z), cmath.asin(z), cmath.acos(z), cmath.atan(z),
            cmath.asinh(z), cmath.acosh(z), cmath.atanh(z), cmath.phase(z), cmath.isnan(z), cmath.isinf(z),
            cmath.isfinite(z))


@pytest.mark.slow
def test_functions():
    compiled = reactant.jit(one_number)
    for z in NUMBERS:
        for ours, plain in zip(compiled(z), one_number(z), strict=True):
            assert type(ours) is type(plain)
            np.testing.assert_allclose(ours, plain, rtol=1e-13)


def test_polar_and_numpy_scalars():
    def program(x):
        radius, angle = cmath.polar(x[0])
        return radius, angle, cmath.rect(radius, angle), cmath.sqrt(x[1]), cmath.phase(x.imag[0])

    x = np.array(NUMBERS)
    for ours, plain in zip(reactant.jit(program)(x), program(x), strict=True):
        assert type(ours) is type(plain)
        np.testing.assert_allclose(ours, plain, rtol=1e-13)


@pytest.mark.parametrize("function", [cmath.log, cmath.log10, cmath.exp, cmath.cosh])
def test_errors(function):
    agree(lambda z: function(z), [(0j,), (1000 + 0j,), (complex("inf"),)])
