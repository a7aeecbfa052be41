"""Calls with device arrays: by the shortest way where they are of the same signature, and right where they are not."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.runtime.direct import MOST_MISSED


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
def test_calls_of_two_shapes_in_turn_are_not_refused_by_xla_each_time(make):
    """XLA takes a hundred times as long to refuse a call as the signature takes to tell it."""
    f = reactant.jit(lambda x, y: x * 2 + y)
    given = [(make(np.arange(float(n))), make(np.ones(n))) for n in (3, 4)]
    for _ in range(MOST_MISSED + 2):
        for x, y in given:
            np.testing.assert_array_equal(np.asarray(f(x, y)), np.arange(len(x)) * 2.0 + 1)
    entries = list(f._entries.values())
    assert len(entries) == 2
    for entry, arguments in zip(entries, given, strict=True):
        assert entry.on_device_at_once(arguments, {}) is NotImplemented
        assert entry.matches(arguments, {}) is not None


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
