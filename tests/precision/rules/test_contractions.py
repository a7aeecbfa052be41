"""Convolutions in limbs: strides, padding, dilation, groups, complex numbers."""
import numpy as np
import pytest

import reactant

TWO = {"float64": "float32x2"}
RNG = np.random.default_rng(0)
X, KERNEL = RNG.standard_normal((4, 9, 8, 6)), RNG.standard_normal((3, 2, 3, 4))
LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolved(x, kernel, *rest, **named):
    import jax
    return jax.lax.conv_general_dilated(x, kernel, *rest, dimension_numbers=LAYOUT, **named)


PROGRAMS = {
    "feature groups": lambda x, k: convolved(x, k, (2, 1), [(1, 2), (0, -1)], lhs_dilation=(2, 1), rhs_dilation=(1, 2),
                                             feature_group_count=2),
    "batch groups": lambda x, k: convolved(x, np.concatenate([k, k], 2), (1, 1), "SAME", batch_group_count=2),
    "complex": lambda x, k: convolved(x + 1j, np.concatenate([k, k], 2) * 1j, (1, 1), "SAME")}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_convolutions(name):
    import jax
    with jax.enable_x64(True):
        wanted = np.asarray(PROGRAMS[name](X, KERNEL))
        found = np.asarray(reactant.jit(PROGRAMS[name], floats=TWO)(X, KERNEL))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=np.abs(wanted).max() * 2.0**-44)
