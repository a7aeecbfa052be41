"""Sorts, transforms and factorizations along dimensions that are divided, and of stacks that are."""
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import reactant
from tests.communication.rules.on_meshes import WAYS, check, on_mesh

pytestmark = [pytest.mark.devices8, pytest.mark.usefixtures("poison")]

RANDOM = np.random.default_rng(0)
ARRAYS = [RANDOM.normal(size=s) for s in ((64, 48), (61, 53), (10, 37, 23), (3, 64), (1, 40))]


def solved(x):
    m = x[:, :5, None] * x[:, None, :5] + 5 * np.eye(5)
    return np.linalg.solve(m, x[:, :5, None]), np.linalg.det(m), np.linalg.inv(m)


FUNCTIONS = {
    "sort": lambda x: (np.sort(x, 0), np.argsort(x, 0)),
    "sort and borders": lambda x: np.roll(np.sort(x, 0), 1, 0)[1:] + x[1:],
    "median": lambda x: np.median(x, 0), "fft": lambda x: np.fft.fft(x, axis=0), "fft2": lambda x: np.fft.fft2(x),
    "rfft": lambda x: np.fft.rfft(x, axis=0),
    "rfft2 and back": lambda x: np.fft.irfft2(np.fft.rfft2(x) * 2, s=x.shape[-2:]),
    "fftn": lambda x: np.fft.ifftn(np.fft.fftn(x) * 2),
    "fft and borders": lambda x: np.roll(np.fft.fft(x, axis=0).real, 2, 1) + x,
    "of all": lambda x: (np.sort(x, None), np.fft.fft(x.ravel())),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.shape))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name, x, way):
    check(FUNCTIONS[name], x, way)


@pytest.mark.parametrize(("name", "most"), [("sort", 84), ("fft", 84), ("rfft", 48), ("fft2", 84),
                                            ("rfft2 and back", 112)])
def test_two_exchanges_of_parts(name, most):
    check(FUNCTIONS[name], ARRAYS[0], "x", {"x": most})     # everything everywhere: 168, of complex numbers 336


def test_pencils():
    check(FUNCTIONS["fft2"], ARRAYS[0], "x,y", {"x,y": 120})


@pytest.mark.parametrize("way", WAYS)
def test_stacks_of_matrices(way):
    check(solved, ARRAYS[1], way, {"x": 1, "yx": 1})        # whether one is singular


@pytest.mark.parametrize("function", [
    lambda x: lax.map(lambda row: jnp.sort(row) * 2, x), lambda x: lax.top_k(x, 5)[0], lambda x: jnp.sort(x, axis=1)],
    ids=["map", "top_k", "sort"])
def test_rows_of_jax(function):
    """The regions of jax's sorts read a constant from around them."""
    x = ARRAYS[0].astype(np.float32)
    compiled = reactant.jit(function).lower(on_mesh(x, "x")).compile()
    np.testing.assert_array_equal(np.asarray(compiled(on_mesh(x, "x"))), np.asarray(function(jnp.asarray(x))))
    assert compiled.traffic().bytes == 0
