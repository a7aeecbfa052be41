"""Tests use the shipped thresholds, whatever `reactant calibrate` has stored on this machine."""
import gc
import os
from pathlib import Path

import jax
import pytest

os.environ["REACTANT_CALIBRATION"] = "off"

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
"""Linux gives a process 65,530; every program has several, and JAX, which the tests compare with, keeps all of its."""


@pytest.fixture(autouse=True, scope="module")
def forgetting_programs():
    """Worker processes live as long as the whole suite."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    """JAX as its users have it, and with 64-bit numbers."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)
