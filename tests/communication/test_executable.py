"""What programs on meshes tell of themselves: what they move between devices, for which line."""
from __future__ import annotations

import inspect
import linecache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

pytestmark = pytest.mark.devices8


def stepped(u):
    u[1:-1] += 0.1 * (u[2:] + u[:-2])
    mean = u.mean(axis=0)
    return (u - mean).T


def rolled(u):
    v = jnp.roll(u, 1, 0)
    return jnp.sum(u * v)


def rows(shape=(64, 5)):
    return reactant.array(np.random.default_rng(0).random(shape), sharding=reactant.mesh(x=8).sharding("x"))


def by_source(found):
    """(collectives by kind, bytes) of each line."""
    return {linecache.getline(*line).strip(): ({m.kind: m.count for m in each}, sum(m.bytes for m in each))
            for line, each in found.by_line().items()}


def test_lines_of_numpy_functions():
    found = reactant.jit(stepped).lower(rows()).compile().traffic()
    assert by_source(found) == {
        "u[1:-1] += 0.1 * (u[2:] + u[:-2])": ({"collective-permute": 2}, 2 * 7 * 5 * 8),
        "mean = u.mean(axis=0)": ({"all-reduce": 1}, 2 * 7 * 5 * 8)}
    assert found.devices == 8


def test_lines_inside_functions_of_jax():
    x = jax.device_put(jnp.ones((64, 5), np.float32), jax.NamedSharding(jax.make_mesh((8,), ("x",)), jax.P("x")))
    found = reactant.jit(rolled).lower(x).compile().traffic()
    assert by_source(found) == {"v = jnp.roll(u, 1, 0)": ({"collective-permute": 1}, 8 * 5 * 4),
                                "return jnp.sum(u * v)": ({"all-reduce": 1}, 2 * 7 * 4)}


def test_lines_as_xla_divides_it():
    compiled = reactant.jit(stepped).lower(rows()).compile()
    found = compiled.traffic(divided_by_xla=True)
    first, number = inspect.getsourcelines(stepped)
    assert found.bytes > 0 and {(__file__, number + k) for k in range(len(first))} >= set(found.by_line())


def test_one_device_moves_nothing():
    assert reactant.jit(stepped).lower(np.ones((64, 5))).compile().traffic() == reactant.jit(rolled).lower(
        np.ones((64, 5))).compile().traffic()
    assert not reactant.jit(stepped).lower(np.ones((64, 5))).compile().traffic().moved
