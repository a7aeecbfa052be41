"""Derivatives of JAX functions take trees of device arrays as they are, in the program's order and no other's."""
from __future__ import annotations

from collections import OrderedDict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

W = {"wx": jnp.arange(6.0).reshape(2, 3), "b": jnp.ones(3), "deep": [jnp.float32(2.0), (jnp.ones(2),)]}
X = jnp.linspace(0.1, 1.0, 8).reshape(4, 2)


def loss(w, x, power=2):
    return jnp.mean(jnp.tanh(x * w["deep"][1][0] @ w["wx"] + w["b"]) ** power) * w["deep"][0]


def agree(gradient, *args, **kwargs):
    static = {"power": kwargs.pop("power")} if "power" in kwargs else {}
    for _ in range(2):
        mine, theirs = gradient(*args, **static), jax.grad(lambda *a: loss(*a, **static))(*args)
        assert jax.tree_util.tree_structure(mine) == jax.tree_util.tree_structure(theirs)
        for a, b in zip(*map(jax.tree_util.tree_leaves, (mine, theirs)), strict=True):
            assert isinstance(a, jax.Array)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_trees_in_any_order():
    gradient = reactant.grad(loss)
    agree(gradient, W, X)
    assert gradient.jitted.shortcut.direct is not None
    agree(gradient, {key: W[key] for key in reversed(W)}, X)
    agree(gradient, W, X[:3])
    agree(gradient, W, X)
    agree(gradient, OrderedDict(W), X)


@pytest.mark.parametrize("power", [2, 3, True])
def test_static_arguments(power):
    gradient = reactant.grad(loss)
    agree(gradient, W, X, power=2)
    agree(gradient, W, X, power=power)
    agree(gradient, W, X)


def test_numpy_data_beside_device_arrays():
    gradient = reactant.grad(loss)
    x = np.array(X)
    agree(gradient, W, x)
    first = gradient(W, x)
    x[:] = 100
    np.testing.assert_allclose(first["b"], jax.grad(loss)(W, X)["b"], rtol=1e-5, atol=1e-6)
    labels = np.array([1, 0, 1])
    chosen = reactant.grad(lambda w, at: jnp.sum(jnp.sin(w["b"])[at]))
    for _ in range(2):
        np.testing.assert_allclose(chosen(W, labels)["b"], np.cos(1.0) * np.array([1, 2, 0]), rtol=1e-6)


def test_one_executable_for_derivatives_made_anew():
    from reactant.derivatives import entry
    reactant.grad(loss)(W, X)
    before = len(entry._EXECUTABLES)
    directs = set()
    for _ in range(3):
        gradient = reactant.grad(loss)
        agree(gradient, W, X)
        directs.add(id(gradient.jitted.shortcut.direct))
    assert len(directs) == 1 and len(entry._EXECUTABLES) == before


def test_inside_transformations_of_jax():
    gradient = reactant.grad(loss)
    gradient(W, X)
    inside = jax.jit(lambda x: gradient(W, x)["b"])(X)
    np.testing.assert_allclose(inside, jax.grad(loss)(W, X)["b"], rtol=1e-5, atol=1e-6)
    value = reactant.value_and_grad(loss)
    for _ in range(2):
        np.testing.assert_allclose(value(W, X)[0], loss(W, X), rtol=1e-5)
