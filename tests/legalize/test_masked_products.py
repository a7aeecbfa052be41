"""Products with truths are NumPy's: NaN, infinities and signs of zeros stay."""
import numpy as np
import pytest

import reactant
from tests.oracle import assert_same

X = np.array([-1.0, 2.0, -np.inf, np.inf, np.nan, 0.0, -0.0, 3.0])


@pytest.mark.parametrize("function", [
    lambda x: x * (x > 0), lambda x: (x > 0) * x, lambda x: x * (x > 0).astype(float), lambda x: x[0] * (x[1] < 0),
    lambda x: x[2] * bool(x[1] < 0), lambda x: (x * 1j) * (x > 0), lambda x: x.astype(np.float32) * (x > 0),
    lambda x: x.reshape(2, 4) * (x > 0).reshape(4, 2).T.reshape(2, 4), lambda x: (x[5:] * (x[5:] > 0)).sum(),
    lambda x: np.where(x > 1, x, 0) * (x > 1)[::-1], lambda x: x * 2 * (x[0] > 0), lambda x: (x > 0) * (x < 1) * x])
@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"native": "never"}])
def test_as_numpy(function, options):
    with np.errstate(all="ignore"):
        plain = function(X)
    found = reactant.jit(function, **options)(X)
    assert_same(plain, found)
    np.testing.assert_array_equal(np.signbit(np.real(plain)), np.signbit(np.real(found)))
