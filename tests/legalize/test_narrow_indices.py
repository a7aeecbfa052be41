"""Updates at places of few bits in long arrays."""
import numpy as np
import pytest
from jax import lax

import reactant


@pytest.mark.parametrize("dtype, length, place", [("uint8", 300, 100), ("int8", 300, 120), ("uint16", 70_000, 65_000),
                                                  ("int16", 70_000, 30_000)])
def test_the_place_stays(dtype, length, place):
    """XLA alone changes another element."""
    text = f"""func.func @main(%x: tensor<{length}xi32>, %i: tensor<{dtype.replace("uint", "ui").replace("int", "i")}>)
            -> tensor<{length}xi32> {{
        %u = stablehlo.constant dense<-7> : tensor<1xi32>
        %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<{length}xi32>, tensor<1xi32>,
            tensor<{dtype.replace("uint", "ui").replace("int", "i")}>) -> tensor<{length}xi32>
        return %0 : tensor<{length}xi32> }}"""
    got = reactant.load(text)(np.zeros(length, np.int32), np.array(place, dtype))
    assert np.flatnonzero(got).tolist() == [place]


def test_jax_functions():
    changed = reactant.jit(lambda x, i: lax.dynamic_update_slice(x, np.full(1, -7, np.int32), (i,)))
    assert np.flatnonzero(changed(np.zeros(300, np.int32), np.uint8(100))).tolist() == [100]
