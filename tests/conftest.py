"""Tests use the shipped thresholds, whatever `reactant calibrate` has stored on this machine."""
import os

import jax
import pytest

os.environ["REACTANT_CALIBRATION"] = "off"


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """JAX as its users have it, and with 64-bit numbers."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)
