"""log Gamma and its derivative."""
import mpmath
import numpy as np
import pytest

from reactant.precision import gamma_functions
from tests.precision import limbs
from tests.precision.functions import check


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
@pytest.mark.parametrize(("dtype", "count", "bits"), [("float32", 2, 43), ("float64", 2, 98)])
def test_functions(name, dtype, count, bits):
    check(name, dtype, count, bits, 300)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "pole", "low", "high"), [
    (gamma_functions.lgamma, np.inf, np.inf, np.inf), (gamma_functions.digamma, np.nan, np.nan, np.inf)])
def test_ends(function, pole, low, high):
    x = np.array([0.0, -0.0, -1.0, -7.0, -np.inf, np.inf, np.nan, 1.0], np.float32)
    found = limbs.run(limbs.program(function, 1, np.float32, 2, x.size), [[x, np.zeros_like(x)]])
    one = 0.0 if function is gamma_functions.lgamma else -np.euler_gamma
    np.testing.assert_allclose(found[0], np.array([pole] * 4 + [low, high, np.nan, one], np.float32), rtol=1e-6)


def test_coefficients():
    rows = gamma_functions.pieces(16, 6)
    with mpmath.workprec(420):
        for j in (0, 8, 24, 100, 248):
            c = mpmath.mpf(1) / 2 + mpmath.mpf(j) / 16
            for k in range(6):
                wanted = mpmath.loggamma(c) if k == 0 else mpmath.psi(k - 1, c) / mpmath.factorial(k)
                assert abs(mpmath.mpf(rows[j][k].numerator) / rows[j][k].denominator - wanted) < mpmath.mpf(2)**-330
