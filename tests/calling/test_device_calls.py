"""Calls with device arrays: by the shortest way where they are of the same signature, and right where they are not."""
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def tree(x, state):
    first, (second, third) = state["b"], state["a"]
    return {"sum": x + first * second, "more": [third.sum(), x is first], "names": list(state)}


def given(kind, n=3):
    made = (lambda v: reactant.array(np.asarray(v))) if kind == "ours" else jnp.asarray
    a, b, c, d = (made(np.arange(float(n)) + k) for k in range(4))
    return a, {"b": b, "a": (c, d)}


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def same(found, wanted):
    assert found["names"] == wanted["names"] and found["more"][1] is wanted["more"][1]
    np.testing.assert_array_equal(np.asarray(found["sum"]), np.asarray(wanted["sum"]))
    assert float(found["more"][0]) == float(wanted["more"][0])


@pytest.mark.parametrize("kind", ["ours", "jax"])
def test_calls_of_this_and_other_signatures(kind):
    f = reactant.jit(tree)
    x, state = given(kind)
    for _ in range(3):
        same(f(x, state), tree(x, state))
    usual = f._latest.on_device_at_once
    assert usual(given(kind), {}) is not NotImplemented
    assert type(f(x, state)["sum"]) is type(x)
    other = {"a": state["a"], "b": state["b"]}
    wide_x, wide_state = given(kind, 5)
    narrow = x.astype(np.float32)
    for arguments in [(x, other), (wide_x, wide_state), (narrow, state), (state["b"], state), (x, {**state, "b": x}),
                      (x, {"b": state["b"], "a": list(state["a"])})]:
        assert usual(arguments, {}) is NotImplemented
        for _ in range(3):
            same(f(*arguments), tree(*arguments))
    numpy_x, numpy_state = jax.tree_util.tree_map(np.asarray, given("jax"))
    found = f(numpy_x, numpy_state)
    assert type(found["sum"]) is np.ndarray
    same(f(x, state), tree(x, state))


@pytest.mark.parametrize("kind", ["ours", "jax"])
@pytest.mark.filterwarnings("ignore::reactant.RecompilationWarning")
def test_no_look_at_shapes_means_none_is_missed(kind):
    """A program for length 3 is not run on other lengths, nor one for float64 on float32, with all called in turn."""
    f = reactant.jit(lambda x, y: (x * y).sum() + len(x))
    make = (lambda v: reactant.array(v)) if kind == "ours" else jnp.asarray
    rng = np.random.default_rng(0)
    cases = [(rng.random(n).astype(d), rng.random(n).astype(e)) for n in (3, 1, 4, 0) for d in "fd" for e in "fd"]
    for number in rng.integers(0, len(cases), 80):
        x, y = cases[number]
        found = f(make(x), make(y))
        assert found.dtype == (x * y).sum().dtype
        np.testing.assert_allclose(np.asarray(found), (x * y).sum() + len(x), rtol=1e-5)


def test_within_transformations_and_other_settings():
    f = reactant.jit(lambda x, y: x * 2 + y)
    x = jnp.arange(3.0)
    y = x + 1
    assert f(x, y)[0] == 1 and f(x, y)[0] == 1 and f._latest.on_device_at_once is not None
    np.testing.assert_array_equal(jax.jit(lambda a: f(a, y))(x), f(x, y))
    np.testing.assert_array_equal(jax.vmap(f)(jnp.stack([x, y]), jnp.stack([y, x]))[0], f(x, y))
    assert jax.grad(lambda a: f(a, y).sum())(x)[1] == 2
    with jax.enable_x64(False):
        narrow = jnp.arange(3.0)
        assert f(narrow, narrow).dtype == np.float32
        assert f(x, y).dtype == np.float64      # as NumPy has it, whatever jax's setting
    assert f(x, y).dtype == np.float64


@pytest.mark.parametrize("make", [reactant.array, jnp.asarray], ids=["ours", "jax"])
def test_calls_of_several_shapes_in_turn_are_signed_once(make):
    f = reactant.jit(lambda x, y: x * 2 + y)
    signed = mock.Mock(side_effect=f._sign)
    with mock.patch.object(f, "_sign", signed):
        for _ in range(5):
            for n in (3, 4, 5):
                for dtype in (np.float64, np.float32):
                    found = f(make(np.arange(n, dtype=dtype)), make(np.ones(n, dtype)))
                    assert found.dtype == dtype and np.asarray(found).tolist() == [2 * i + 1 for i in range(n)]
    assert len(f._entries) == 6 and signed.call_count <= 12


def test_identity_static_values_and_settings_are_told_apart():
    f = reactant.jit(lambda x, y, k=1: (x is y, x * k + y))
    x, y = jnp.arange(3.0), jnp.ones(3)
    for _ in range(3):
        assert f(x, y)[0] is False and f(x, x)[0] is True
        assert f(x, y, 2)[1][2] == 5 and f(x, y, True)[1][2] == 3 and f(x, y, k=3)[1][2] == 7
        assert f(y=y, x=x)[1][2] == 3 and f(x, y, 1.0)[1][2] == 3
        for wrong in ((x,), (x, y, 1, 2)):
            with pytest.raises(TypeError):
                f(*wrong)
        with jax.enable_x64(False):
            assert f(x, y)[1].dtype == np.float64


def test_weak_and_committed_arrays_and_those_of_numpy_are_other_calls():
    f = reactant.jit(lambda x, y: x + y)
    x, y = jnp.arange(3.0), jnp.ones(3)
    weak = jax.jit(lambda: jax.lax.broadcast(1.0, (3,)))()
    assert weak.weak_type
    there = jax.device_put(y, jax.devices()[0])
    for _ in range(3):
        for other in (y, weak, there):
            found = f(x, other)
            assert type(found) is type(x) and found.tolist() == [1, 2, 3] and not found.weak_type
        assert type(f(x, np.ones(3))) is type(x) and type(f(np.arange(3.0), np.ones(3))) is np.ndarray
        assert type(f(x, reactant.array(np.ones(3)))) is reactant.DeviceArray


def add_to(x, y):
    x += y
    return x, x * 2


def nothing_to_read(x, y):
    x[:] = y
    y[0] = 7


@pytest.mark.parametrize("f", [add_to, nothing_to_read])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex128, np.bool_])
def test_arguments_are_written(f, dtype):
    compiled = reactant.jit(f)
    theirs = np.ones(4, dtype), np.zeros(4, dtype)
    x, y = map(reactant.array, theirs)
    for call in range(4):
        view = x[1:]
        found, wanted = compiled(x, y), f(*theirs)
        for mine, their in zip((x, y), theirs, strict=True):
            np.testing.assert_array_equal(np.asarray(mine), their)
        np.testing.assert_array_equal(np.asarray(view), theirs[0][1:])
        if f is add_to:
            assert found[0] is x
            np.testing.assert_array_equal(np.asarray(found[1]), wanted[1])
        if call:
            assert compiled._at_once is not None


def test_deleted_arrays_are_told():
    f = reactant.jit(lambda x, y: x * 2 + y)
    x, y = reactant.array(np.arange(3.0)), reactant.array(np.ones(3))
    f(x, y), f(x, y)
    x.jax.delete()
    with pytest.raises(reactant.ReactantError, match="has no buffer any more"):
        f(x, y)


def test_views_are_read_where_they_are():
    f = reactant.jit(lambda x, y: x * 2 + y)
    x, y = reactant.array(np.arange(6.0)), reactant.array(np.ones(3))
    whole = reactant.array(np.arange(3.0))
    assert [float(v) for v in f(whole, y)] == [1, 3, 5] and [float(v) for v in f(whole, y)] == [1, 3, 5]
    for view, values in ((x[3:], [7, 9, 11]), (x[::2], [1, 5, 9]), (x[::-2], [11, 7, 3])):
        for _ in range(2):
            assert [float(v) for v in f(view, y)] == values
    x[:] = 0
    assert [float(v) for v in f(x[3:], y)] == [1, 1, 1]


def test_written_arguments_that_share_a_buffer_or_are_read_only():
    def shift(x, y):
        x += y
    f = reactant.jit(shift)
    x, y = reactant.array(np.arange(3.0)), reactant.array(np.ones(3))
    f(x, y), f(x, y)
    usual = f._at_once
    assert usual(*[(x, y), {}]) is None and x.tolist() == [3, 4, 5]
    same = x[:]
    assert usual((x, same), {}) is NotImplemented and usual((x, x), {}) is NotImplemented
    with pytest.raises(reactant.ReactantError, match="overlap in memory"):
        f(x, same)
    x.flags.writeable = False
    assert usual((x, y), {}) is NotImplemented
    with pytest.raises(ValueError, match="read-only"):
        f(x, y)
    part = reactant.array(np.arange(6.0))
    assert usual((part[::2], y), {}) is NotImplemented
    f(part[::2], y)
    assert part.tolist() == [1, 1, 3, 3, 5, 5]


def test_many_arrays_written_in_containers():
    def step(state, names):
        for name in names:
            state[name] += 1.0
        return state["k0"]
    f = reactant.jit(step)
    state = {f"k{i}": reactant.array(np.full(3, float(i))) for i in range(9)}
    names = tuple(state)
    for call in range(1, 4):
        assert f(state, names) is state["k0"]
        assert [x.tolist() for x in state.values()] == [[i + float(call)] * 3 for i in range(9)]
    assert f._at_once is not None
    again = {**state, "k8": state["k7"]}
    f(again, names)
    assert state["k7"].tolist() == [12.0] * 3 and state["k8"].tolist() == [11.0] * 3


def test_threads():
    f = reactant.jit(lambda x, y: x * 2 + y)
    given = [(jnp.arange(float(n)), jnp.ones(n)) for n in (3, 4, 5, 6)]
    wanted = [(np.asarray(x) * 2 + np.asarray(y)).tolist() for x, y in given]

    def work(number):
        x, y = given[number]
        return all(f(x, y).tolist() == wanted[number] for _ in range(100))
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_trace_that_calls_the_function_has_it_in_its_program():
    f = reactant.jit(lambda x, y: x + y)
    x, y = reactant.array(np.arange(3.0)), reactant.array(np.ones(3))
    f(x, y), f(x, y)
    lowered = reactant.jit(lambda x, y, z: f(x, y) * z).lower(x, y, 2.0)
    assert lowered.operations()["stablehlo.add"] == 1 and f._at_once is not None
