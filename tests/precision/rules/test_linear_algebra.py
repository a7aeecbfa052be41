"""Routines that have no form for limbs are refused by name."""
import numpy as np
import pytest

import reactant


def test_routines_without_a_form_are_named():
    with pytest.raises(reactant.UnsupportedError, match="lapack_dgeev_ffi' has no form for them") as caught:
        reactant.jit(np.linalg.eigvals, floats={"float64": "float32x2"})(np.eye(3))
    assert caught.value.code == "not-in-limbs"
