"""Polynomials with as many limbs as each step needs."""
import math
from fractions import Fraction

import mpmath
import numpy as np

from reactant.precision import series
from tests.precision import limbs


def test_later_coefficients_have_fewer_limbs():
    coefficients = [Fraction(1, math.factorial(k)) for k in range(30)]
    x = limbs.samples(100, 2, np.float32, 1e-3, 0.01)
    module = limbs.program(lambda t: series.polynomial(coefficients, t, 0.01, 2), 1, np.float32, 2, 100)
    assert limbs.operations(module) < 120
    assert limbs.worst_bits(limbs.run(module, [x]), [x], mpmath.exp) > 46
