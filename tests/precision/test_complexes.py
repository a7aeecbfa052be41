"""Complex numbers of limbs against NumPy's."""
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(0)
Z, W = (RNG.standard_normal(200) + 1j * RNG.standard_normal(200) for _ in range(2))
FUNCTIONS = {"product": lambda z, w: z * w, "quotient": lambda z, w: z / w, "size": lambda z, w: abs(z),
             "exp": lambda z, w: np.exp(z), "log": lambda z, w: np.log(z), "sqrt": lambda z, w: np.sqrt(z),
             "power": lambda z, w: z**w, "sin": lambda z, w: np.sin(z), "tanh": lambda z, w: np.tanh(z),
             "angle": lambda z, w: np.angle(z), "vdot": np.vdot}


@pytest.mark.parametrize("name", ["product", *(pytest.param(name, marks=pytest.mark.slow) for name in FUNCTIONS
                                               if name != "product")])
def test_functions(name):
    function = FUNCTIONS[name]
    found, wanted = reactant.jit(function, floats={"float64": "float32x2"})(Z, W), function(Z, W)
    assert np.max(np.abs(found - wanted) / np.abs(wanted)) < 2.0**-42
