"""Calls of JAX functions go through one `jax.jit`, for the program's own arguments and no others."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.runtime import direct

pytestmark = pytest.mark.skipif(jax.device_count() > 1, reason="with several devices each call asks where its "
                                                               "arguments are")
X = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)


def made(**told):
    f = reactant.jit(lambda x, n=2: {"a": x * n, "b": [x.sum(), n]}, frontend="jax", **told)
    f(X)
    return f


def taken(f, *args, **kwargs):
    """Whether a call found its program without a signature of ours."""
    looked_up = []
    f._look_up, before = (lambda *given: looked_up.append(given) or before(*given)), f._look_up
    try:
        result = f(*args, **kwargs)
    finally:
        del f._look_up
    np.testing.assert_array_equal(result["a"], np.asarray(args[0]) * kwargs.get("n", args[1] if args[1:] else 2))
    return not looked_up


def test_the_same_signature_is_called_directly():
    f = made()
    assert taken(f, X) and taken(f, X + 1) and taken(f, np.ones((2, 3), np.float32)) and f.cache_size() == 1


@pytest.mark.parametrize("other", [X[0], X.astype(jnp.int32), X.astype(jnp.bfloat16), 3.0, X + 1j])
def test_another_signature_is_looked_up(other):
    f = made()
    assert not taken(f, other) and f.cache_size() == 2
    assert taken(f, X)


def test_static_values_choose_the_program():
    f = made(static_argnames="n")
    assert not taken(f, X, n=3) and taken(f, X) and not taken(f, X, 3.0) and f.cache_size() == 3


def test_calls_that_alternate_are_looked_up_at_once():
    f = made()
    for _ in range(4):
        assert_both = taken(f, X), taken(f, X[0])
    assert assert_both == (False, False) and f.cache_size() == 2


def test_settings_of_jax_choose_the_program():
    f = made()
    with jax.default_matmul_precision("float32"):
        assert not taken(f, X)
    other = not jax.config.jax_enable_x64
    with jax.enable_x64(other):
        assert f(np.ones((2, 3)))["a"].dtype == (np.float64 if other else np.float32)
    with jax.disable_jit():
        assert f(X)["a"].dtype == np.float32
    assert f.cache_size() == 3


@pytest.mark.slow
def test_the_caches_of_jax_may_be_cleared():
    f = made()
    jax.clear_caches()
    assert taken(f, X)
    f.clear_cache()
    assert f.cache_size() == 0 and not taken(f, X)


def test_tracers_go_the_slow_way_and_device_arrays_once():
    f = made()
    ours = reactant.array(np.asarray(X))
    assert not taken(f, ours) and taken(f, ours) and taken(f, X) and taken(f, ours[::-1][::-1])
    assert float(jax.grad(lambda x: f(x)["b"][0])(X).sum()) == 6
    assert taken(f, X)


def test_keys_and_weak_results():
    f = reactant.jit(lambda key, x: (jax.random.split(key), x * 2, jax.random.normal(key)), frontend="jax")
    key = jax.random.key(1)
    for _ in range(2):
        keys, weak, _ = f(key, 1.5)
        assert keys.dtype == key.dtype and keys.shape == (2,) and jax.typeof(weak).weak_type


def test_one_compilation_serves_calls_and_questions():
    f = reactant.jit(lambda x: jnp.tanh(x @ x.T), frontend="jax")
    f(X)
    (entry,) = f._entries.values()
    assert entry.direct.seconds > 0 and "HloModule" in entry.as_text() and entry.executable._device_program is None


BUFFER = np.zeros(2)


@pytest.mark.parametrize(("args", "kwargs", "changes"), [
    ((X, 1.5, 2), {}, False), ((X, BUFFER), {}, True), ((X,), {"b": X}, False), ((X,), {"b": BUFFER}, True),
    (({"a": X, "b": [X, (X, None)]},), {}, False), (({"a": X, "b": [X, (X, BUFFER)]},), {}, True),
    (([X, {"c": np.float32(1)}], X), {"d": (X,)}, False), (([X, X], X), {"d": {"e": [BUFFER]}}, True),
    ((jax.tree_util.Partial(max, X),), {}, False), ((jax.tree_util.Partial(max, BUFFER),), {}, True)])
def test_who_reads_memory_of_numpy(args, kwargs, changes):
    assert direct.may_change(args, kwargs) is changes and direct.may_change(args, kwargs) is changes


def test_numpy_arguments_may_be_written_into_after_the_call():
    f = reactant.jit(lambda a, b: jnp.sin(jnp.sin(a @ a)) + b["b"], frontend="jax")
    a, raw = jnp.full((700, 700), 0.01), np.zeros(700 * 700 * 4 + 64, np.uint8)
    b = raw[(start := -raw.ctypes.data % 64):start + 700 * 700 * 4].view(np.float32).reshape(700, 700)
    b[:] = 1
    result = f(a, {"b": b})
    b[:] = 1000
    assert float(jnp.max(result)) < 3


def test_settings_that_look_for_nan_are_honoured_after_the_first_call():
    f = reactant.jit(lambda x: jnp.log(x), frontend="jax")
    f(jnp.float32(1))
    for _ in range(4):
        with jax.debug_nans(True), pytest.raises(FloatingPointError):
            f(jnp.float32(-1))
        with jax.disable_jit():
            assert f(jnp.float32(1)) == 0
    assert f._shortcut.direct is not None
