"""JAX programs in the compile cache, in one process."""
import collections
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.cache import store
from reactant.calling import recalled, recalled_jax
from reactant.runtime import program

Named = collections.namedtuple("Named", "a b")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REACTANT_CACHE", str(tmp_path))
    monkeypatch.setattr(store, "SETTINGS", store.Settings())


@pytest.mark.parametrize("tree", [0, None, (), {"b": (1, [2, None]), "a": {}}, Named(1, (2,)),
                                  collections.OrderedDict(b=1, a=2)])
def test_trees_are_written_down_and_made_again(tree):
    wanted = jax.tree_util.tree_structure(tree)
    assert recalled_jax._tree_of(recalled_jax._tree_told(wanted)) == wanted


def scaled(x, by):
    return {"y": jnp.sin(x) * by["k"], "n": x.sum()}


def test_a_program_that_is_found_is_called_as_jax_jit_calls_it(cache, monkeypatch):
    x, by = jnp.arange(3.0), {"k": 2.0}
    wanted = jax.jit(scaled)(x, by)
    reactant.jit(scaled)(x, by)
    before = dict(recalled.COUNTS)
    again = reactant.jit(scaled)
    traced = []
    monkeypatch.setattr(recalled_jax.recalled, "keep", lambda *_: traced.append(1))
    for _ in range(3):
        found = again(x, by)
        assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(wanted)
        assert jax.tree_util.tree_all(jax.tree_util.tree_map(
            lambda f, w: type(f) is type(w) and f.dtype == w.dtype and f.weak_type == w.weak_type
            and np.allclose(f, w, rtol=1e-6), found, wanted))
    assert recalled.COUNTS["found"] == before["found"] + 1 and again.cache_size() == 1 and not traced
    assert np.allclose(again(x[:2], by)["y"], np.sin(np.arange(2)) * 2)        # another signature is made
    jax.clear_caches()
    assert np.allclose(again(x, by)["y"], wanted["y"])          # jax compiles again what it has forgotten
    assert jax.grad(lambda x: again(x, by)["n"])(x).tolist() == [1, 1, 1]
    assert np.allclose(jax.vmap(lambda x: again(x, by)["n"])(jnp.ones((2, 3))), 3)
    assert "sin" in again.lower(x, by).as_text()


def test_an_executable_that_jaxlib_does_not_take_is_made_again(cache, monkeypatch):
    x = jnp.arange(3.0)
    reactant.jit(scaled)(x, {"k": 3.0})
    monkeypatch.setattr(program, "compiled_as", lambda *_: 1 / 0)
    assert np.allclose(reactant.jit(scaled)(x, {"k": 3.0})["y"], np.sin(np.arange(3)) * 3)


def test_what_jax_calls_is_noted(cache):
    """A function that the walk does not meet would be a stale program."""
    def called(x):
        return x * 2

    def f(x):
        return jax.vmap(called)(x)
    with recalled.following() as followed:
        reactant.jit(f, cache=False)(jnp.ones(3))
    assert {called.__code__, f.__code__} <= followed and sys.getprofile() is None


def test_under_another_profiler_nothing_is_kept(cache):
    sys.setprofile(lambda *_: None)
    try:
        reactant.jit(lambda x: jnp.cos(x) * 2)(jnp.ones(3))
    finally:
        sys.setprofile(None)
    assert "profiler" in recalled.REASONS["<lambda>"]


def test_contexts_of_jax_are_told(cache):
    mesh = jax.make_mesh((1,), ("a",))
    with jax.set_mesh(mesh):
        reactant.jit(lambda x: jnp.tan(x) * 2, frontend="jax")(np.ones(3, np.float32))
    assert "context" in recalled.REASONS["<lambda>"]
