"""NumPy's memory belongs to the caller again as soon as a call is back; results keep theirs."""
import gc
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.runtime import buffers

LENGTH = {"small": 1000, "copied by another thread": 40_000, "lent": 300_000}
PLACES = {"aligned": 0, "of NumPy": 16, "between": 8}


def numbers(length, offset, seed=0):
    """Numbers at an address so many bytes after a multiple of 64."""
    memory = np.zeros(8 * length + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    made = memory[begin:begin + 8 * length].view(np.float64)
    made[:] = np.random.default_rng(seed).random(length)
    return made


def late(x):
    """The argument, read a while after the call."""
    def wait(_):
        time.sleep(0.05)
        return np.float32(0)
    return x + jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), x[0])


def late_with_effects(x):
    jax.debug.callback(lambda _: None, x[0])
    return late(x)


WAYS = {
    "an argument": (late, lambda x: ((x,), {})),
    "in a dict": (lambda tree: late(tree["x"][0]), lambda x: (({"x": [x, 1.0]},), {})),
    "by name": (lambda *, x: late(x), lambda x: ((), {"x": x})),
    "beside a number": (lambda k, tree: late(tree[0]) + k, lambda x: ((0.0, (x, None)), {})),
    "left to jax": (late_with_effects, lambda x: ((x,), {})),
    "left to jax in a list": (lambda xs: late_with_effects(xs[0]), lambda x: (([x],), {})),
}


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


@pytest.mark.sampled(10)
@pytest.mark.parametrize("first", ["of jax", "of NumPy"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("length", LENGTH)
@pytest.mark.parametrize("way", WAYS)
def test_arguments_of_jax_functions(way, length, place, first):
    """A program made for arrays of JAX's takes NumPy's, too, and reads them in place."""
    function, given = WAYS[way]
    compiled = reactant.jit(function)
    for seed in range(3):
        args, kwargs = given(jnp.asarray(numbers(LENGTH[length], 0, seed)) + 0 if first == "of jax" else
                             numbers(LENGTH[length], PLACES[place], seed))
        jax.block_until_ready(compiled(*args, **kwargs))
    for _ in range(2):
        x = numbers(LENGTH[length], PLACES[place])
        wanted = x.copy()
        args, kwargs = given(x)
        result = compiled(*args, **kwargs)
        x[:] = -1
        np.testing.assert_array_equal(result, wanted)


def slow(x, m):
    for _ in range(8):
        m = np.tanh(m @ m)
    return np.where(m[0, 0] > 1e9, 0.0, x) * x


def slow_of_jax(x, m):
    for _ in range(8):
        m = jnp.tanh(m @ m)
    return jnp.where(m[0, 0] > 1e9, 0.0, x) * x


def of_sum(function):
    return lambda x, m: function(x, m).sum()




DERIVED = {
    "vjp": lambda f, x, m: reactant.vjp(f, x, m)[1],
    "linearize": lambda f, x, m: reactant.linearize(f, x, m)[1],
}
CALLS = {
    "jit": lambda f, x, m: reactant.jit(f)(x, m),
    "grad": lambda f, x, m: reactant.grad(of_sum(f))(x, m),
    "value_and_grad": lambda f, x, m: reactant.value_and_grad(of_sum(f))(x, m)[1],
    "jvp": lambda f, x, m: reactant.jvp(f, (x, m), (np.ones_like(x), np.zeros_like(m)))[1],
    "vmap": lambda f, x, m: reactant.vmap(f, in_axes=(0, None))(x, m),
    "beside a device array": lambda f, x, m: reactant.jit(f)(x, reactant.array(m)),
    "array": lambda f, x, m: reactant.array(x) * 1.0,
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("length", LENGTH)
@pytest.mark.parametrize("function", [slow, slow_of_jax])
@pytest.mark.parametrize("call", CALLS)
def test_arguments_of_calls(call, function, length, place):
    m = np.random.default_rng(1).random((200, 200))
    x = numbers(LENGTH[length], PLACES[place])
    wanted = np.array(CALLS[call](function, x.copy(), m))
    result = CALLS[call](function, x, m)
    x[:] = -1
    np.testing.assert_allclose(result, wanted, rtol=1e-15)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("length", LENGTH)
@pytest.mark.parametrize("function", [slow, slow_of_jax])
@pytest.mark.parametrize("way", DERIVED)
def test_linear_functions_keep_where_they_were_taken(way, function, length, place):
    """What they remember is no memory of the caller's."""
    m, n = np.random.default_rng(1).random((30, 30)), LENGTH[length]
    given = (np.ones(n),) if way == "vjp" else (np.ones(n), np.zeros_like(m))
    x = numbers(n, PLACES[place])
    wanted = 2 * x
    linear = DERIVED[way](function, x, m)
    x[:] = -1
    found = linear(*given)
    np.testing.assert_allclose(found[0] if way == "vjp" else found, wanted, rtol=1e-15)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("length", [1000, 4_000_000])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", [*DERIVED, "grad", "value_and_grad", "jvp"])
def test_derivatives_that_jax_takes(call, place, length):
    """Of functions with effects, one operation after the other: each reads its operands when it gets to them."""
    def function(x, m):
        jax.debug.callback(lambda _: None, x[0])
        return slow_of_jax(x, m)
    m = np.random.default_rng(1).random((200, 200))
    x = numbers(length, PLACES[place])
    wanted = 2 * x
    made = (DERIVED | CALLS)[call](function, x, m)
    x[:] = -1
    if call in DERIVED:
        ones = np.ones(length)
        given = (ones,) if call == "vjp" else (ones, np.zeros_like(m))
        made = made(*given)
        ones[:] = 7
    np.testing.assert_allclose(made[0] if call == "vjp" else made, wanted, rtol=1e-15)


@pytest.mark.parametrize("length", [7, 100_000, 3_000_000])
@pytest.mark.parametrize("place", PLACES)
def test_copies_are_made_when_they_are_back(place, length):
    for _ in range(3):
        x = numbers(length, PLACES[place])
        wanted, made = x.copy(), buffers.copied(x)
        x[:] = -1
        np.testing.assert_array_equal(made, wanted)
    assert buffers.copied(1.0).weak_type and jax.jit(lambda: buffers.copied(np.ones(3)) * 2)()[0] == 2


def test_memory_that_goes():
    """An argument whose memory is freed, or given to others, right after the call."""
    compiled = reactant.jit(late)
    for k in range(4):
        x = np.random.default_rng(k).random(200_000)
        wanted = x.copy()
        # jax's array may be the memory of x itself, or copy it later: that is jax's to keep
        result = compiled([jax.block_until_ready(jnp.array(x)), x][k % 2])
        x.resize(10, refcheck=False)
        others = [np.full(200_000, 7.0) for _ in range(3)]
        np.testing.assert_array_equal(result, wanted)
        del others


KEEPERS = {"a view": lambda r: r[3:-5:2], "a memoryview": memoryview, "jax": jnp.asarray, "an iterator": np.nditer,
           "a view of a view": lambda r: r.reshape(2, -1)[1].view(np.int64)}


def seen(kept):
    return np.array([x[()] for x in kept] if isinstance(kept, np.nditer) else kept)


@pytest.mark.slow
@pytest.mark.parametrize("keeper", KEEPERS)
def test_results_live_as_long_as_what_looks_at_them(keeper):
    """Their memory is used again by later calls, not before."""
    run = reactant.jit(lambda x: x * 2 + 1)
    x = numbers(LENGTH["lent"], 16)
    result = run(x)
    wanted = seen(KEEPERS[keeper](result.copy()))
    kept = KEEPERS[keeper](result)
    del result
    gc.collect()
    for k in range(4):
        run(x * k)
    np.testing.assert_array_equal(seen(kept), wanted)


def test_what_callbacks_were_given_stays():
    seen = []

    def look(x):
        seen.append(x)
        return np.asarray(x) * 2

    def program(x):
        y = jnp.sin(x) * 3
        return (jax.pure_callback(look, jax.ShapeDtypeStruct(y.shape, y.dtype), y) + y).sum()
    run = reactant.jit(program)
    given = [numbers(n, 16, n) for n in (1000, 200_000)]
    for x in given:
        run(x)
    others = [reactant.jit(lambda x: np.cos(x) * 7)(x) for x in given for _ in range(3)]
    for x, y in zip(given, seen, strict=True):
        np.testing.assert_allclose(y, np.sin(x) * 3, rtol=1e-12)
    del others


def test_views_of_device_arrays_see_no_later_values():
    """Also where the program may take the array's memory for its result."""
    x = reactant.array(numbers(LENGTH["lent"], 16))
    host = np.asarray(x)
    wanted = host.copy()
    result = reactant.jit(lambda x: x * 2 + 1, donate=True)(x)
    np.testing.assert_array_equal(np.asarray(result), wanted * 2 + 1)
    np.testing.assert_array_equal(host, wanted)
