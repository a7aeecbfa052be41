"""Meshes, and arrays of ours on them, outside of compiled code."""
from __future__ import annotations

import copy
import io
import pickle

import jax
import numpy as np
import pytest

import reactant
from reactant.runtime import meshes, shards


def test_more_devices_than_there_are():
    count = jax.device_count()
    with pytest.raises(reactant.ShardingError, match=f"needs {count + 1} devices.*xla_force_host_platform"):
        reactant.mesh(x=count + 1)
    with pytest.raises(reactant.ShardingError, match="among those given"):
        reactant.mesh(x=2, devices=jax.devices()[:1])


@pytest.mark.parametrize("sizes", [{}, {"x": 0}, {"x": 2.0}, {"x": True}])
def test_sizes(sizes):
    with pytest.raises(TypeError):
        reactant.mesh(**sizes)


def test_one_device():
    mesh = reactant.mesh(x=1)
    u = np.arange(5.0)
    x = reactant.array(u, sharding=mesh.sharding("x"))
    assert reactant.jit(lambda u: u * 2)(x).tolist() == (u * 2).tolist()
    assert str(mesh) == "reactant.mesh(x=1)" and mesh.size == 1 and mesh.shape == {"x": 1}


eight = pytest.mark.devices8


@eight
def test_mesh():
    mesh = reactant.mesh(x=4, y=2)
    assert mesh.shape == {"x": 4, "y": 2} and mesh.size == 8 and mesh.devices.shape == (4, 2)
    assert mesh == reactant.mesh(x=4, y=2) and hash(mesh) == hash(reactant.mesh(x=4, y=2))
    assert mesh != reactant.mesh(y=4, x=2)
    assert reactant.mesh(x=2, devices=reactant.devices()[6:]).devices[0].id == 6
    assert mesh.sharding(None, ("x", "y")) == jax.sharding.NamedSharding(mesh.jax, jax.P(None, ("x", "y")))


@eight
@pytest.mark.parametrize("make, message", [
    (lambda m: m.sharding("z"), "no axis 'z'; it has 'x', 'y'"),
    (lambda m: m.sharding("x", ("y", "x")), "divides two dimensions"),
    (lambda m: reactant.array(np.ones(4), sharding=m.sharding(None, "x")), "of 2 dimensions.*an array of 1"),
    (lambda m: reactant.array(lambda part: np.ones((3, 3)), shape=(5, 5), sharding=m.sharding("x")),
     r"shape \(3, 3\) for the part \[0:2, 0:5\], which has the shape \(2, 5\)"),
    (lambda m: reactant.array(lambda part: np.ones(2, int if part[0].start else float), shape=4,
                              sharding=m.sharding("y")), "Say dtype="),
])
def test_shardings_that_cannot_be(make, message):
    with pytest.raises(reactant.ShardingError, match=message):
        make(reactant.mesh(x=4, y=2))


@eight
@pytest.mark.parametrize("make", [
    lambda m: reactant.array(np.ones(4), sharding="x"),
    lambda m: reactant.array(np.ones(4), sharding=m.sharding("x"), device=jax.devices()[0]),
    lambda m: reactant.array(lambda part: 1, sharding=m.sharding("x")),
    lambda m: reactant.array(np.ones(4), shape=(4,), sharding=m.sharding("x")),
    lambda m: reactant.array(lambda part: 1, shape=(4,)),
    lambda m: reactant.array(["a"], sharding=m.sharding("x")),
    lambda m: reactant.jit(lambda x: x, mesh=8),
    lambda m: reactant.jit(lambda x: x, in_shardings="x")(np.ones(3)),
])
def test_what_is_no_sharding(make):
    with pytest.raises(TypeError):
        make(reactant.mesh(x=4, y=2))


SHAPES = [(1021,), (61, 13), (8, 8), (3, 2), (0, 5), (5, 1, 7)]
LAYOUTS = [("x",), ("x", "y"), (("x", "y"),), (None, "y"), ()]


@eight
@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", LAYOUTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_padding_is_never_seen(shape, axes):
    if len(axes) > len(shape):
        pytest.skip("a sharding of more dimensions")
    sharding = reactant.mesh(x=4, y=2).sharding(*axes)
    u = np.random.default_rng(0).random(shape)
    for x in (reactant.array(u, sharding=sharding), reactant.array(reactant.array(u), sharding=sharding),
              reactant.array(lambda part: u[part], shape=shape, sharding=sharding),
              reactant.array(jax.device_put(u.astype(np.float32)), np.float64, sharding=sharding) * 0 + u):
        assert x.shape == shape and x.size == u.size and x.nbytes == u.nbytes
        assert x.strides == u.strides or not u.size
        assert x.buffer.shape == meshes.padded(sharding, shape)
        assert np.array_equal(x, u) and x.tobytes() == u.tobytes() and x.tolist() == u.tolist()
        assert repr(x) == "reactant." + repr(u).replace("\n", "\n" + " " * 9) and str(x) == str(u)
        assert np.array_equal(x.jax, u) and np.array_equal(x.T, u.T) and np.array_equal(x[1:], u[1:])
        assert np.array_equal(x.sum(0), u.sum(0)) and np.array_equal(np.sort(x, 0), np.sort(u, 0))
        assert np.array_equal(pickle.loads(pickle.dumps(x)), u) and np.array_equal(copy.deepcopy(x), u)
        saved = io.BytesIO()
        np.save(saved, x)
        saved.seek(0)
        assert np.array_equal(np.load(saved), u)
        assert meshes.spread(x.buffer) is not None


CHANGES = [
    lambda x: x.__setitem__(0, 7), lambda x: x.__setitem__((slice(1, -1), 0), 3), lambda x: x.__setitem__(..., 2),
    lambda x: x.__setitem__(x > 0.5, 0), lambda x: x.__setitem__([0, 2], 1), lambda x: x.__imul__(3),
    lambda x: x.fill(4), lambda x: x.sort(0), lambda x: x[1:].__iadd__(1), lambda x: x.T.__setitem__(2, 5),
    lambda x: np.add(x, 1, out=x),
]


@eight
@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", range(len(CHANGES)))
@pytest.mark.parametrize("shape", [(61, 13), (64, 16)], ids=str)
def test_changes_in_place(shape, change):
    sharding = reactant.mesh(x=4, y=2).sharding("x", "y")
    u = np.random.default_rng(0).random(shape)
    x = reactant.array(u, sharding=sharding)
    view = x[2:]
    CHANGES[change](x)
    CHANGES[change](u)
    assert np.array_equal(x, u) and np.array_equal(view, u[2:])
    assert x.sharding == sharding and x.buffer.shape == (64, 14 if shape[1] == 13 else 16)


@eight
def test_copies_and_results_stay_on_the_mesh():
    sharding = reactant.mesh(x=8).sharding("x")
    x = reactant.array(np.random.default_rng(0).random((61, 3)), sharding=sharding)
    for made in (x.copy(), x + 1, reactant.array(x), x.astype(np.float32), np.sin(x), x[1:] * 2):
        assert made.sharding == sharding, made
    assert x.copy().buffer is not x.buffer and reactant.array(x, copy=False) is x
    assert x.sum(0).sharding.is_fully_replicated


@eight
def test_to_another_mesh():
    u = np.random.default_rng(0).random((61, 13))
    x = reactant.array(u, sharding=reactant.mesh(x=8).sharding("x"))
    for sharding in (reactant.mesh(x=4, y=2).sharding("y", "x"), reactant.mesh(x=2).sharding(None, "x"),
                     reactant.mesh(x=3, devices=jax.devices()[5:]).sharding("x")):
        y = reactant.array(x, sharding=sharding)
        assert np.array_equal(y, u) and y.sharding == sharding
    assert np.array_equal(reactant.array(x, device=jax.devices()[2]), u)


@eight
def test_parts_are_asked_for_once_and_never_more_than_there_is():
    asked = []

    def part(index):
        asked.append(tuple((s.start, s.stop) for s in index))
        return np.arange(10.0)[index[0], None] * np.ones(index[1].stop - index[1].start)

    x = reactant.array(part, shape=(10, 3), sharding=reactant.mesh(x=4, y=2).sharding("x"))
    assert sorted(asked) == [((0, 3), (0, 3)), ((3, 6), (0, 3)), ((6, 9), (0, 3)), ((9, 10), (0, 3))]
    assert np.array_equal(x, np.arange(10.0)[:, None] * np.ones(3))


@eight
def test_what_made_an_array_may_change():
    u = np.zeros((64, 8))
    x = reactant.array(u, sharding=reactant.mesh(x=8).sharding("x"))
    kept = np.zeros((8, 8))
    y = reactant.array(lambda part: kept, shape=(64, 8), sharding=reactant.mesh(x=8).sharding("x"))
    u[:], kept[:] = 1, 1
    assert not np.any(x) and not np.any(y)


@eight
def test_deleted():
    x = reactant.array(np.ones((61, 3)), sharding=reactant.mesh(x=8).sharding("x"))
    x.buffer.delete()
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: x.jax, lambda: x.__setitem__(0, 1)):
        with pytest.raises(RuntimeError, match="donated"):
            use()


@eight
def test_from_the_device():
    u = np.arange(30.0).reshape(10, 3)
    sharding = reactant.mesh(x=8).sharding("x")
    for place in (jax.devices()[3], reactant.mesh(x=2).sharding("x"), reactant.mesh(x=8).sharding()):
        with jax.enable_x64(True):
            given = jax.device_put(u, place)
        made = shards.from_device(given, sharding)
        assert made.shape == (16, 3) and np.array_equal(shards.without_padding(made, (10, 3)), u)


VIEWS = [np.s_[3:], np.s_[1:-1, 2], np.s_[:, None, 1:9:2], np.s_[5], np.s_[::3, ::-1], np.s_[4:5, 3:], np.s_[2:2]]


@eight
@pytest.mark.sampled(1)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_views_are_divided_as_their_arrays(view, transposed):
    mesh = reactant.mesh(x=4, y=2)
    u = np.random.default_rng(0).random((61, 13))
    x = reactant.array(u, sharding=mesh.sharding("x", "y"))
    part, other = (x[view], u[view]) if not transposed else (x[view].T, u[view].T)
    assert np.array_equal(part, other) and np.array_equal(part.jax, other)

    def program(part):
        part *= 2
        return part + 1

    assert np.array_equal(reactant.jit(program)(part), program(other)) and np.array_equal(x, u)
    assert np.array_equal(reactant.jit(lambda p: jax.numpy.negative(p))(part), -other)
    with jax.enable_x64(True):
        assert np.array_equal(reactant.jit(lambda p: jax.numpy.negative(p))(part), -other)
    assert x.sharding == mesh.sharding("x", "y")
    if view == np.s_[3:] and not transposed:
        assert part.sharding == x.sharding and part.buffer.shape == (60, 14)
