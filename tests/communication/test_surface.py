"""Programs x ways in x meshes, even and uneven sizes, against NumPy: results are right and stay where they belong."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding

import reactant
from reactant import DeviceArray

pytestmark = pytest.mark.devices8

MESHES = {"8": ({"x": 8}, ("x",)), "4x2": ({"x": 4, "y": 2}, ("x", "y")),
          "2x2x2": ({"x": 2, "y": 2, "z": 2}, (("x", "z"), "y")), "columns": ({"x": 8}, (None, "x")),
          "joined": ({"x": 4, "y": 2}, (("x", "y"),))}


def periodic(u, v):
    """Ghost cells, in place."""
    u[1:-1] += 0.5 * v[1:-1] * (u[2:] - u[:-2])
    u[0] = u[-2]
    u[-1] = u[1]
    return (u * v).sum()


def rolled(u, v):
    return np.roll(u, 3, 0) - np.roll(v, -1, 1), np.diff(u, axis=0), u[3:] * 2


def loop(u, v):
    total = np.zeros_like(u)
    for k in range(20):
        total[1:] += np.where(v[1:] > 0.5, u[:-1], u[1:]) / (k + 1)
        if total.max() > 3:
            total *= 0.5
    return total


def reduced(u, v):
    return u.max(0), v.min(), np.sort(u, 0), np.cumsum(v, 0), np.argmax(u, 1), u.mean(), (u > v).any()


def linear(u, v):
    return u.T @ v, u[::2], np.concatenate([u, v]), v.reshape(-1)[5:], u[:, None] + v.sum(1)[:, None, None]


PROGRAMS = [periodic, rolled, loop, reduced, linear]


def two(shape=(64, 16), dtype=np.float64):
    rng = np.random.default_rng(3)
    return rng.random(shape).astype(dtype), rng.random(shape).astype(dtype)


def assert_like(got, want, rtol=1e-11):
    flat = lambda tree: jax.tree_util.tree_leaves(tree, is_leaf=lambda x: isinstance(x, DeviceArray))  # noqa: E731
    for one, other in zip(flat(got), flat(want), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


def on(mesh, axes, *arrays):
    return [reactant.array(a, sharding=mesh.sharding(*axes)) for a in arrays]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("shape", [(64, 16), (61, 13), (3, 5)], ids=str)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, mesh, shape):
    sizes, axes = MESHES[mesh]
    u, v = two(shape)
    mine, other = on(reactant.mesh(**sizes), axes, u, v)
    place = mine.sharding
    jitted = reactant.jit(program)
    for _ in range(2):
        got, want = jitted(mine, other), program(u, v)
        assert_like((got, mine, other), (want, u, v))
        assert mine.sharding == place
    assert jitted.cache_size() == 1


KINDS = {"ours": lambda a, s: reactant.array(a, sharding=s), "auto": lambda a, s: placed(a, s, AxisType.Auto),
         "explicit": lambda a, s: placed(a, s, AxisType.Explicit), "manual": lambda a, s: placed(a, s, AxisType.Manual)}


def placed(array, sharding, kind):
    mesh = Mesh(sharding.mesh.devices, sharding.mesh.axis_names, axis_types=(kind,) * sharding.mesh.devices.ndim)
    return jax.device_put(array, NamedSharding(mesh, sharding.spec))


def step(u, v):
    w = u.copy()
    w[1:-1] += 0.5 * v[1:-1] * (u[2:] - u[:-2])
    return w


def loss(u, v):
    return (step(u, v) ** 2).sum()


def of_jax(u, v):
    return jnp.roll(u, 1, 0) * v + jnp.sin(u).sum(0)


def with_vjp(u, v):
    y, back = reactant.vjp(step, u, v)
    return y, back(y)


WAYS = {
    "jit": reactant.jit(step),
    "jax": reactant.jit(of_jax),
    "grad": reactant.grad(loss),
    "grad of jax": reactant.grad(lambda u, v: (of_jax(u, v) ** 2).sum()),
    "value_and_grad": reactant.value_and_grad(loss, argnums=(0, 1)),
    "vjp": with_vjp,
    "jvp": lambda u, v: reactant.jvp(step, (u, v), (v, u)),
    "linearize": lambda u, v: reactant.linearize(step, u, v)[1](v, u),
    "vmap": reactant.vmap(lambda a, b: np.cumsum(a) + b),
    "vmap of columns": reactant.vmap(lambda a, b: 2 * a + b, in_axes=1, out_axes=1),
    "vmap of jax": reactant.vmap(lambda a, b: jnp.cumsum(a) + b),
    "load": lambda u, v: reactant.load(reactant.export(step, u, v).text())(u, v),
}


@pytest.fixture
def wide():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_ways_in(way, kind, wide):
    mesh = reactant.mesh(x=4, y=2)
    u, v = two()
    want = WAYS[way](u.copy(), v.copy())
    given = [KINDS[kind](a, mesh.sharding("x", "y")) for a in (u, v)]
    got = WAYS[way](*given)
    assert_like(got, want)
    for leaf in jax.tree_util.tree_leaves(got, is_leaf=lambda x: isinstance(x, DeviceArray)):
        if np.ndim(leaf) == 2:
            assert not leaf.sharding.is_fully_replicated, leaf.sharding


@pytest.mark.sampled(10)
@pytest.mark.parametrize("way", WAYS)
def test_ways_in_with_uneven_sizes(way, wide):
    mesh = reactant.mesh(x=4, y=2)
    u, v = two((61, 13))
    want = WAYS[way](u.copy(), v.copy())
    got = WAYS[way](*on(mesh, ("x", "y"), u, v))
    assert_like(got, want)
    for leaf in jax.tree_util.tree_leaves(got, is_leaf=lambda x: isinstance(x, DeviceArray)):
        if np.ndim(leaf) == 2:
            assert isinstance(leaf, DeviceArray) and leaf.buffer.shape == (64, 14)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "complex128", "float16", "int64"])
def test_dtypes(dtype):
    mesh = reactant.mesh(x=8)
    u = (np.random.default_rng(0).random((21, 3)) * 4).astype(dtype)

    def program(u):
        w = np.concatenate([u[1:], u[:1]])
        u[2:] = w[:-2]
        return w, np.where(u != 0, u, w)

    (mine,) = on(mesh, ("x",), u)
    got, want = reactant.jit(program)(mine), program(u)
    assert_like((got, mine), (want, u), rtol=0)


@pytest.mark.parametrize("shape", [(0, 4), (1,), (), (7, 0)], ids=str)
def test_small_shapes(shape):
    mesh = reactant.mesh(x=8)
    u = np.ones(shape)
    (mine,) = on(mesh, ("x",) if shape else (), u)
    assert_like(reactant.jit(lambda u: (u * 2, u.sum()))(mine), (u * 2, u.sum()))


def test_special_numbers():
    mesh = reactant.mesh(x=8)
    u = np.array([np.nan, -0.0, np.inf, -np.inf, 5e-324, 1.0, -1.0, 0.0, 3.0])

    def program(u):
        return np.roll(u, 2), np.maximum(u, 0.5), u.max(), u[:4][::-1].copy(), np.nanmin(u)

    (mine,) = on(mesh, ("x",), u)
    for one, other in zip(reactant.jit(program)(mine), program(u), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_what_is_compiled_again():
    mesh = reactant.mesh(x=8)
    u, v = two()
    jitted = reactant.jit(step)
    for axes in [("x",), (None, "x"), ()]:
        for _ in range(2):
            assert_like(jitted(*on(mesh, axes, u, v)), step(u, v))
    assert_like(jitted(u, v), step(u, v))
    assert_like(jitted(reactant.array(u), reactant.array(v)), step(u, v))
    assert jitted.cache_size() == 5
    given = on(mesh, ("x",), u, v)
    jitted(*given)
    assert jitted._latest.matches(given, {}) is not None
    assert jitted._latest.matches(on(mesh, ("x", None), u, v), {}) is not None
    assert jitted._latest.matches(on(mesh, (None, "x"), u, v), {}) is None
    assert jitted._latest.matches([reactant.array(u), reactant.array(v)], {}) is None


def test_a_sharded_array_is_not_taken_by_a_program_for_one_device():
    u, v = two()
    jitted = reactant.jit(step)
    jitted(reactant.array(u), reactant.array(v))
    matches = jitted._latest.matches
    assert matches((reactant.array(u), reactant.array(v)), {}) is not None
    assert matches(on(reactant.mesh(x=8), ("x",), u, v), {}) is None


def test_arguments_of_no_sharding():
    mesh = reactant.mesh(x=8)
    u, v = two()

    def program(u, v, k, table):
        u += k * v * table["a"]
        return u * table["b"][0]

    table = {"a": 2.0, "b": np.arange(3.0) + 1}
    (mine,) = on(mesh, ("x",), u)
    jitted = reactant.jit(program)
    for other in (v, jnp.asarray(v, jnp.float32), jax.device_put(v.astype(np.float32), jax.devices()[3]),
                  reactant.array(v)):
        want = program(u, np.asarray(other), 3.0, table)
        assert_like((jitted(mine, other, 3.0, table), mine), (want, u))


def test_nothing_goes_to_the_host():
    mesh = reactant.mesh(x=8)
    u, v = two()
    mine, other = on(mesh, ("x",), u, v)
    jitted = reactant.jit(step)
    jitted(mine, other)
    with jax.transfer_guard("disallow"):
        for _ in range(3):
            mine = jitted(mine, other)


def test_two_meshes():
    u, v = two()
    (mine,), (other,) = on(reactant.mesh(x=8), ("x",), u), on(reactant.mesh(x=4, y=2), ("x", "y"), v)
    with pytest.raises(reactant.ShardingError, match=r"Argument 1 \('v'\) of 'step' is on another mesh \(x=4, y=2\)"):
        reactant.jit(step)(mine, other)
    with pytest.raises(reactant.ShardingError, match=r"Argument 'v' of 'step'"):
        reactant.jit(step)(mine, v=other)
    with pytest.raises(reactant.ShardingError, match="the one that the function was given"):
        reactant.jit(step, mesh=reactant.mesh(x=4, y=2))(mine, v)


@pytest.mark.parametrize("changes", [
    lambda m: {"in_shardings": m.sharding("x")},
    lambda m: {"in_shardings": (m.sharding("x"), None)},
    lambda m: {"mesh": m, "in_shardings": {"u": jax.sharding.PartitionSpec("x")}},
    lambda m: {"mesh": m, "out_shardings": (m.sharding("y", "x"), m.sharding("x"))},
    lambda m: {"mesh": m},
    lambda m: {"mesh": reactant.mesh(x=1)},
])
@pytest.mark.parametrize("ours", [False, True])
def test_what_the_user_says(changes, ours):
    mesh = reactant.mesh(x=4, y=2)
    u, v = two((61, 13))

    def program(u, v):
        u[1:] += v[:-1]
        return u * 2, v.sum(0)

    told = changes(mesh)
    mine = reactant.array(u) if ours else u.copy()
    got = reactant.jit(program, **told)(mine, v)
    want = program(u, v)
    assert_like((got, mine), (want, u))
    assert all(isinstance(each, DeviceArray) for each in got)
    if "in_shardings" in told:
        assert got[0].sharding.spec == jax.P("x")
    if "out_shardings" in told:
        assert [each.sharding.spec for each in got] == [each.spec for each in told["out_shardings"]]


def test_methods_and_objects():
    class Model:
        def __init__(self, u):
            self.u, self.rate = u, 0.5

        def advance(self, v):
            self.u[1:] += self.rate * v[:-1]
            return self.u.sum()

    mesh = reactant.mesh(x=8)
    u, v = two((61, 3))
    model = Model(on(mesh, ("x",), u)[0])
    place = model.u.sharding
    plain = Model(u)
    advance = reactant.jit(model.advance)
    assert_like([advance(v), advance(v)], [plain.advance(v), plain.advance(v)])
    assert_like(model.u, u)
    assert model.u.sharding == place


def test_launches_are_bounded():
    mesh = reactant.mesh(x=8)
    u, v = two()
    (mine,) = on(mesh, ("x",), u)
    jitted = reactant.jit(lambda u: np.roll(u, 1, 0))
    from reactant.runtime import meshes
    waited = []
    meshes.LAUNCHES._count, before = 0, jax.block_until_ready
    try:
        jax.block_until_ready = lambda x: waited.append(1) or before(x)
        for _ in range(3 * meshes.IN_FLIGHT):
            mine = jitted(mine)
    finally:
        jax.block_until_ready = before
    assert len(waited) == 3
    assert_like(mine, np.roll(u, 3 * meshes.IN_FLIGHT, 0))


def test_what_is_printed_is_printed_once(capfd):
    mesh = reactant.mesh(x=8)
    u, _ = two((61, 3))

    def program(u):
        for k in range(3):
            print("iteration", k, u.sum() > 0)
            u *= 2
        return u

    assert_like(reactant.jit(program)(*on(mesh, ("x",), u)), u * 8)
    assert capfd.readouterr().out == "iteration 0 True\niteration 1 True\niteration 2 True\n"


def test_other_placements_of_jax():
    u = np.random.default_rng(0).random((16, 4), dtype=np.float32)
    given = jax.device_put(u, reactant.mesh(x=8).sharding("x"))
    doubled = jax.jit(lambda a: reactant.jit(lambda b: np.roll(b, 1, 0) * 2, frontend="numpy")(a))
    assert_like(doubled(given), np.roll(u, 1, 0) * 2)
    squared = reactant.jit(lambda b: (np.roll(b, 1, 0) * b).sum(), frontend="numpy")
    assert_like(jax.grad(lambda a: squared(a))(given), np.roll(u, 1, 0) + np.roll(u, -1, 0), rtol=1e-6)
    (other,) = on(reactant.mesh(x=8), ("x",), u)
    assert_like(reactant.jit(lambda a: a * other)(given), u * u)
    with jax.default_device(jax.devices()[2]):
        assert_like(reactant.jit(lambda a: a + 1)(given), u + 1)


def test_donated():
    mesh = reactant.mesh(x=8)
    u, _ = two((61, 3))

    def program(u):
        u *= 2

    (mine,) = on(mesh, ("x",), u)
    jitted = reactant.jit(program, donate=True)
    for _ in range(3):
        jitted(mine)
    assert_like(mine, u * 8)


def test_checks_at_run_time():
    mesh = reactant.mesh(x=8)
    u, _ = two((61, 3))
    (mine,) = on(mesh, ("x",), u)
    jitted = reactant.jit(lambda u, i: u[int(i[0])])
    assert_like(jitted(mine, np.array([5])), u[5])
    with pytest.raises(IndexError):
        jitted(mine, np.array([61]))       # in the padding


def test_jax_functions_that_say_how_arrays_lie():
    mesh = reactant.mesh(x=8)
    u = np.arange(64, dtype=np.float32).reshape(16, 4)

    def program(u):
        return jax.lax.with_sharding_constraint(u * 2, mesh.sharding(None, None))

    def shifted(u):
        return jax.shard_map(lambda part: jax.lax.ppermute(part, "x", [(i, (i + 1) % 8) for i in range(8)]),
                             mesh=mesh.jax, in_specs=jax.P("x"), out_specs=jax.P("x"))(u)

    given = jax.device_put(u, mesh.sharding("x"))
    assert_like(reactant.jit(program)(given), u * 2)
    assert reactant.jit(program)(given).sharding.is_fully_replicated
    assert_like(reactant.jit(shifted)(given), np.roll(u, 2, 0))
    assert_like(reactant.jit(shifted)(reactant.array(u, sharding=mesh.sharding("x"))), np.roll(u, 2, 0))


def test_axes_of_one_device_divide_nothing():
    """They cost no messages, and arrays keep them."""
    u = np.random.default_rng(0).random((64, 16))
    found = []
    for sizes, axes in (({"x": 8}, ("x",)), ({"x": 8, "y": 1}, ("x", "y")), ({"one": 1, "x": 8}, (("one", "x"), None))):
        given = reactant.array(u, sharding=reactant.mesh(**sizes).sharding(*axes))
        place, jitted = given.sharding, reactant.jit(periodic)
        found.append(jitted.lower(given, given.copy()).compile().traffic().by_kind())
        jitted(given, given.copy())
        assert given.sharding == place
    assert found[0] == found[1] == found[2]
