"""What needs an accelerator; run with `python -m pytest -m gpu` on a machine that has one."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import reactant
from tests.support import assert_same

pytestmark = pytest.mark.gpu


def relax(field, tolerance):
    turns = 0
    while True:
        before = field.copy()
        field[1:-1, 1:-1] = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])
        turns += 1
        if np.abs(field - before).max() < tolerance:
            return turns


def products(x, y):
    return x @ y, np.linalg.solve(x @ x.T + np.eye(len(x)), y), np.sort(x, axis=0), np.fft.rfft(y, axis=0)


@pytest.fixture
def gpu():
    (device, *_) = jax.devices("gpu")
    with jax.default_device(device):
        yield device


def test_numpy_in_numpy_out(gpu):
    plain, compiled = np.random.default_rng(0).random((40, 50)), np.random.default_rng(0).random((40, 50))
    assert relax(plain, 1e-3) == reactant.jit(relax)(compiled, 1e-3)
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)


def test_linear_algebra(gpu):
    x, y = np.random.default_rng(1).random((20, 20)), np.random.default_rng(2).random((20, 3))
    assert_same(products(x, y), reactant.jit(products)(x, y), rtol=1e-8, atol=1e-10)


def test_device_arrays_stay_on_the_device(gpu):
    x = reactant.array(np.arange(6.0))
    result = reactant.jit(lambda a: a * 2)(x)
    assert gpu in result.jax.devices()
    np.testing.assert_array_equal(np.asarray(result), np.arange(6.0) * 2)


def test_the_device_is_listed(gpu):
    assert any(device.platform == "gpu" for device in reactant.devices())
