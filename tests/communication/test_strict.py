"""`shard="strict"`: what keeps arrays divided runs as ever, what gathers one is refused with its line and the cure."""
from __future__ import annotations

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import ShardingError

pytestmark = pytest.mark.devices8


def array(shape=(64, 16), axes=("x",), dtype=np.float64, **sizes):
    mesh = reactant.mesh(**(sizes or {"x": 8}))
    return reactant.array(np.random.default_rng(0).random(shape).astype(dtype), sharding=mesh.sharding(*axes))


def stencil(u):
    u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    u[0], u[-1] = u[-2], u[1]
    return u.sum(), u.max(0)


def looped(u):
    for _ in range(300):
        u = u + 0.1 * np.roll(u, 1, 0)
    return u


def covariance(u):
    d = u - u.mean(0)
    return d.T @ d / len(u)


def summed_across(u):
    return np.cumsum(u, 1), u.argmax(1)


def rolled_by_jax(u):
    return jnp.roll(u, 1, 0) + jnp.mean(u, 0)


@pytest.mark.parametrize("shape", [(64, 16), (61, 13)], ids=str)
@pytest.mark.parametrize("program", [stencil, looped, covariance, summed_across, rolled_by_jax])
def test_what_stays_divided_runs(program, shape):
    dtype = np.float32 if program is rolled_by_jax else np.float64
    given = array(shape, dtype=dtype)
    if program is rolled_by_jax:
        given = given.jax if shape[0] % 8 == 0 else given
    got = reactant.jit(program, shard="strict")(given)
    want = reactant.jit(program)(array(shape, dtype=dtype) if program is not rolled_by_jax else given)
    for one, other in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(want), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def inverted(u):
    v = u * 2
    return np.linalg.inv(v)


def looks_up(u):
    places = (u[:, 0] * 10).astype(int)
    return u[places]


def looks_up_in_a_loop(u):
    for _ in range(300):
        u = u[(u[:, 0] * 10).astype(int)] * 0.5
    return u


def looks_up_by_jax(u):
    return u[jnp.int32(u[:, 0] * 10)]


GATHERS = [(inverted, "np.linalg.inv(v)"), (looks_up, "return u[places]"), (looks_up_in_a_loop, "u = u["),
           (looks_up_by_jax, "return u[")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("program", "line"), GATHERS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_gathers_is_refused(program, line):
    given = array((64, 64), dtype=np.float32)
    lines, first = inspect.getsourcelines(program)
    number = first + next(k for k, text in enumerate(lines) if line in text)
    with pytest.raises(ShardingError) as error:
        reactant.jit(program, shard="strict")(given.jax if program is looks_up_by_jax else given)
    text = str(error.value)
    assert f"{__file__}:{number}" in text and line in text
    assert re.search(r"'\w+' needs all of", text)
    assert "dimension 0 (of 64, divided over 'x')" in text and "dimension 1 say" in text
    reactant.jit(program)(given)        # which gathers


def test_the_cure_cures():
    def across(u):
        return u[:, (u[0] * 10).astype(int)]
    with pytest.raises(ShardingError, match="dimension 0 say"):
        reactant.jit(across, shard="strict")(array(axes=(None, "x")))
    np.testing.assert_array_equal(np.asarray(reactant.jit(across, shard="strict")(array())),
                                  across(np.asarray(array())))


def test_two_axes():
    with pytest.raises(ShardingError, match="divided over 'x' and 'y'"):
        reactant.jit(looks_up, shard="strict")(array(axes=(("x", "y"),), x=4, y=2))


def test_what_is_left_to_xla():
    def printing(u):
        print("sum", u.sum())
        return u
    with pytest.raises(ShardingError, match="shard=\"strict\".*XLA would divide"):
        reactant.jit(printing, shard="strict")(array())


def test_what_is_left_to_jax():
    told = reactant.jit(rolled_by_jax, frontend="jax", shard="strict")        # float64, which jax has switched off
    with pytest.raises(ShardingError, match="rolled_by_jax is left to jax.jit"):
        told(array().jax)


def test_results_that_the_user_wants_whole():
    mesh = reactant.mesh(x=8)
    kept = reactant.jit(lambda u: u + 1, shard="strict", out_shardings=mesh.sharding())
    assert kept(array()).sharding.is_fully_replicated


def test_an_argument_that_lies_whole_is_written():
    def added(u, v):
        u += v
    whole = reactant.array(np.ones((64, 16)), sharding=reactant.mesh(x=8).sharding())
    with pytest.raises(ShardingError, match="(?s)a result is to lie so.*out_shardings"):
        reactant.jit(added, shard="strict")(whole, array())


def test_one_device_gathers_nothing():
    u = np.random.default_rng(0).random((50, 3))
    assert np.array_equal(reactant.jit(looks_up, shard="strict")(u), looks_up(u))
