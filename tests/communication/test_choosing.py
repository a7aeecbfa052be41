"""`shard="auto"`: what is chosen for programs whose best division is known, that it is right, and what it tells."""
from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from communication_cases import water_jax, water_numpy

import reactant
from reactant.communication import choosing
from reactant.communication.machines import Link
from reactant.communication.sharding import MeshShape, Sharding

pytestmark = pytest.mark.devices8


def mesh():
    return reactant.mesh(x=8)


def numbers(*shape, dtype=np.float32, seed=0):
    return (0.1 * np.random.default_rng(seed).normal(size=shape)).astype(dtype)


def five_point(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def five_point_by_jax(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


def trained(x, y, w, v):
    h = np.tanh(x @ w)
    error = h @ v - y
    return w - 1e-3 * (x.T @ ((error @ v.T) * (1 - h * h))), v - 1e-3 * (h.T @ error)


def trained_by_jax(parameters, x, y):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-2 * g, parameters, jax.grad(loss)(parameters))


def covariance(x):
    return x.T @ x / len(x)


def water_step(h, u):
    for _ in range(5):
        h[1:-1] -= 0.1 * (u[2:] - u[:-2])
        u[1:-1] -= 0.1 * (h[2:] - h[:-2])


BATCH = (numbers(8192, 256), numbers(8192, 64))
TRAINING = (*BATCH, numbers(256, 512), numbers(512, 64))
TRAINING_BY_JAX = ({"b": numbers(512), "v": numbers(512, 64), "w": numbers(256, 512)}, *BATCH)
FIELDS = (numbers(1024, 256), numbers(1024, 256, seed=1))

CASES = {
    # the halo is a column of 256 of the long dimension: 2 x 8 x 1 KiB
    "five_point": (five_point, (numbers(256, 8192),), ["[-, x]"], {"collective-permute": 2}, 16 * 1024),
    "five_point_by_jax": (five_point_by_jax, (numbers(256, 8192),), ["[-, x]"], {"collective-permute": 2}, 16 * 1024),
    "training": (trained, TRAINING, ["[x, -]"] * 2 + ["[-, -]"] * 2, {"all-reduce": 1}, 14 * 4 * (256 + 64) * 512),
    "training_by_jax": (trained_by_jax, TRAINING_BY_JAX, ["[-]"] + ["[-, -]"] * 2 + ["[x, -]"] * 2, {"all-reduce": 1},
                        14 * 4 * ((256 + 64) * 512 + 512)),
    "covariance": (covariance, (numbers(100_000, 64),), ["[x, -]"], {"all-reduce": 1}, 14 * 4 * 64 * 64),
    "water_step": (water_step, FIELDS, ["[-, x]"] * 2, {}, 0),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", CASES)
def test_what_is_chosen(case):
    program, arguments, inputs, kinds, size = CASES[case]
    lowered = reactant.jit(program, mesh=mesh(), shard="auto").lower(*arguments)
    assert [str(s) for s in lowered.choice.chosen.inputs] == inputs, lowered.choice
    moved = lowered.compile().traffic()
    assert {kind: count for kind, (count, _) in moved.by_kind().items()} == kinds
    assert moved.bytes == size
    assert not lowered.choice.failed and lowered.choice.seconds < 30


@pytest.mark.slow
@pytest.mark.parametrize("program", [water_numpy, water_jax])
def test_shallow_water(program):
    lowered = reactant.jit(program, mesh=mesh(), shard="auto").lower(*(numbers(512, 512, seed=s) for s in range(3)))
    assert [str(s) for s in lowered.choice.chosen.inputs][:3] == ["[x, -]"] * 3
    assert lowered.choice.seconds < 30
    assert lowered.compile().traffic().count == 20


@pytest.mark.slow
def test_how_long_it_takes():
    """300 operations, each with a border."""
    def long(u, v, w):
        for _ in range(12):
            u = u + 0.1 * np.roll(v, 1, 0) - 0.1 * np.roll(w, -1, 1)
            v = v + 0.1 * np.roll(w, 1, 0) - 0.1 * np.roll(u, -1, 1)
            w = np.tanh(w + 0.1 * np.roll(u, 1, 0) - 0.1 * np.roll(v, -1, 1))
        return u, v, w
    lowered = reactant.jit(long, mesh=reactant.mesh(x=4, y=2), shard="auto", unroll_limit=10_000).lower(
        *(numbers(512, 512, seed=s) for s in range(3)))
    assert sum(lowered.operations().values()) > 200
    assert lowered.choice.seconds < 30


@pytest.mark.parametrize("case", ["training", "training_by_jax", "water_step"])
def test_results(case):
    program, arguments, *_ = CASES[case]
    want = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    got = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    jitted = reactant.jit(program, mesh=mesh(), shard="auto")
    for _ in range(2):
        returned, expected = jitted(*got), program(*want)
    for one, other in zip(jax.tree_util.tree_leaves((returned, got)), jax.tree_util.tree_leaves((expected, want)),
                          strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-4, atol=2e-4)


def test_sizes_that_do_not_divide():
    u = numbers(61, 1021)
    got = reactant.jit(five_point, mesh=mesh(), shard="auto")(u)
    np.testing.assert_allclose(np.asarray(got), five_point(u), rtol=1e-5, atol=1e-6)


def test_what_is_on_the_mesh_stays():
    u = reactant.array(numbers(256, 8192), sharding=mesh().sharding("x"))
    lowered = reactant.jit(lambda u, v: np.roll(u, 1, 0) + v, shard="auto").lower(u, numbers(256, 8192))
    assert [str(s) for s in lowered.choice.chosen.inputs] == ["[x, -]", "[x, -]"]


def test_what_the_user_says_stays():
    kept = reactant.jit(five_point, mesh=mesh(), shard="auto", in_shardings=jax.P("x"))
    assert str(kept.lower(numbers(256, 8192)).choice.chosen.inputs[0]) == "[x, -]"


def test_what_is_written_lies_as_the_argument():
    h, u = (reactant.array(f) for f in FIELDS)
    reactant.jit(water_step, mesh=mesh(), shard="auto")(h, u)
    assert h.sharding == mesh().sharding(None, "x") == u.sharding


def test_little_work_is_not_divided():
    """One message takes longer than the sum."""
    lowered = reactant.jit(lambda u: u.sum(), mesh=mesh(), shard="auto").lower(numbers(64))
    assert lowered.choice.chosen.inputs[0].is_replicated


def test_memory(monkeypatch):
    """What does not fit is divided, whatever is sent."""
    least = replace(choosing.machine_of("cpu", "cpu"), capacity=100e3, near=Link(1e9, 1.0))
    monkeypatch.setattr(choosing, "machine_of", lambda *_: least)
    lowered = reactant.jit(lambda u: u - u.sum(), mesh=mesh(), shard="auto").lower(numbers(25_000))
    assert str(lowered.choice.chosen.inputs[0]) == "[x]" and not lowered.choice.whole.fits
    assert "does not fit" in str(lowered.choice)


def test_left_to_xla(capfd):
    def printing(u):
        v = np.roll(u, 1, 1) * u
        print("sum", v.sum())
        return v
    u = numbers(256, 8192)
    got = reactant.jit(printing, mesh=mesh(), shard="auto")(u)
    np.testing.assert_allclose(np.asarray(got), np.roll(u, 1, 1) * u, rtol=1e-6)


def test_a_way_that_fails_is_told(monkeypatch):
    from reactant.communication import partition
    real = partition.partition

    def failing(module, on, inputs, *rest):
        if inputs[0] == Sharding((("x",), ())):
            raise AssertionError("not this one")
        return real(module, on, inputs, *rest)
    monkeypatch.setattr(partition, "partition", failing)
    choice = reactant.jit(lambda u: u * 2.5, mesh=mesh(), shard="auto").lower(numbers(4096, 4096)).choice
    assert str(choice.chosen.inputs[0]) == "[-, x]"
    assert choice.failed == ("AssertionError: not this one",) and "1 ways could not be tried: Assertion" in str(choice)


def test_explained():
    text = str(reactant.explain(reactant.jit(five_point, mesh=mesh(), shard="auto"), numbers(256, 8192)))
    assert "u [-, x]" in text and "u [x, -]" in text and "everything whole on each device" in text
    assert "16.4 kB in 2" in text


def test_names_of_arguments():
    def program(pair, w):
        return pair[0] * pair[1] + w
    given = [numbers(512, 512, seed=s) for s in range(3)]
    choice = reactant.jit(program, mesh=mesh(), shard="auto").lower(given[:2], w=given[2]).choice
    assert choice.labels == ("pair.0", "pair.1", "w")


def test_it_needs_a_mesh():
    with pytest.raises(reactant.ShardingError, match="mesh=reactant.mesh"):
        reactant.jit(five_point, shard="auto")(numbers(8, 8))
    assert reactant.jit(five_point, mesh=reactant.mesh(x=1), shard="auto")(numbers(8, 8)).shape == (8, 8)


@pytest.mark.parametrize(("shape", "sizes", "found"), [
    ((64,), {"x": 8}, ["[x]"]), ((64, 128), {"x": 8}, ["[-, x]", "[x, -]"]), ((4,), {"x": 8}, []), ((), {"x": 8}, []),
    ((8, 2), {"x": 4, "y": 2}, ["[x+y, -]", "[x, y]", "[x, -]", "[y, -]", "[-, y]"]),
    ((64,), {"x": 8, "one": 1}, ["[x]"]), ((0, 16), {"x": 8}, [])])
def test_ways(shape, sizes, found):
    assert sorted(map(str, choosing.ways(shape, MeshShape(tuple(sizes), tuple(sizes.values()))))) == sorted(found)


def test_ways_are_not_too_many():
    found = choosing.ways((64,) * 4, MeshShape(("x", "y", "z"), (2, 2, 2)))
    assert len(found) == choosing.MOST_WAYS and all(np.prod(w.parts(MeshShape(("x", "y", "z"), (2, 2, 2)))) == 8
                                                    for w in found)
