"""Products of tensors and convolutions in programs whose floats are limbs."""
import jax
import numpy as np
import pytest
from jax import lax

import reactant

RNG = np.random.default_rng(0)
TWO = {"float64": "float32x2"}
X, K = RNG.standard_normal((2, 4, 7, 9)), RNG.standard_normal((6, 2, 3, 2))
PROGRAMS = {
    "batched": lambda: (lambda a, b: np.einsum("bij,bjk->bik", a, b), (RNG.standard_normal((3, 4, 5)),
                                                                       RNG.standard_normal((3, 5, 2)))),
    "grouped": lambda: (lambda x, k: lax.conv_general_dilated(
        x, k, (2, 1), ((1, 2), (0, 1)), rhs_dilation=(1, 2), feature_group_count=2), (X, K)),
    "spread": lambda: (lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), ((2, 2), (1, 1)), lhs_dilation=(2, 3), feature_group_count=2), (X, K)),
}


@pytest.mark.parametrize("name", ["batched", "grouped", pytest.param("spread", marks=pytest.mark.slow)])
def test_programs(name):
    function, arguments = PROGRAMS[name]()
    with jax.enable_x64(True):
        found, wanted = reactant.jit(function, floats=TWO)(*arguments), np.asarray(function(*arguments))
    assert np.asarray(found).dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-43 * np.abs(wanted).max())
