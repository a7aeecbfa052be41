"""`partition` and `argpartition` by NumPy's own: to the bit, and only where the whole of it is what a trace makes."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.frontends.numpy import sorting
from reactant.ir.context import building

LONG = sorting.DIVIDED_FROM + 101


def numbers(shape, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    if x.dtype.kind == "f":
        for start, value in enumerate((np.nan, -0.0, 0.0, np.inf)):
            x.reshape(-1)[start::97] = value
    return x


def notes(function, *arguments, **options):
    lowered = reactant.jit(function, **options).lower(*arguments)
    with building():
        lowered.native_module(None)
    return str(lowered.notes)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kth", [7, LONG // 2, -3, [3, -2], [9, 1, 50, 51]])
@pytest.mark.parametrize(("shape", "axis"), [((LONG,), 0), ((5, LONG), 1), ((LONG, 3), 0), ((3, LONG, 2), 1),
                                             ((20, LONG // 10), None)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8"])
def test_as_numpy_does(dtype, shape, axis, kth):
    x = numbers(shape, dtype)
    for function in (lambda x: np.partition(x, kth, axis=axis), lambda x: np.argpartition(x, kth, axis=axis)):
        assert "by NumPy's" in notes(function, x)
        got, wanted = reactant.jit(function)(x), function(x)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kth", [0, -1, [1, 5, 9, 2, 100]])
def test_what_has_another_form(kth):
    """Extremes are reductions; more places than are divided by are a sort."""
    x = numbers((LONG,), "f8")
    for function in (lambda x: np.partition(x, kth), lambda x: x[np.argpartition(x, kth)]):
        got = reactant.jit(function)(x)
        np.testing.assert_array_equal(np.sort(got), np.sort(x))
        np.testing.assert_array_equal(got[kth], np.sort(x)[kth])


def test_it_is_not_taken_for_another_sort():
    """Classes of other keys, of places of another sort, or that go up to another direction."""
    def divided(x, y, low, high):
        classes = (x >= jnp.sort(y)[low]).astype(jnp.uint8) + (x > jnp.sort(y)[high]).astype(jnp.uint8)
        return jax.lax.sort((classes, x), num_keys=1)[1]
    x = np.random.default_rng(0).integers(0, 99, LONG)
    with jax.enable_x64(True):
        for y, low, high in ((x[::-1].copy() + 5, 9, 9), (x, 9, 10), (x, 9, 9)):
            found = "by NumPy's" in notes(divided, x, y, low, high)
            assert not found        # a program of JAX's: stable, as it is written
            np.testing.assert_array_equal(reactant.jit(divided)(x, y, low, high), jax.jit(divided)(x, y, low, high))


def test_in_loops_and_threads():
    x = numbers((LONG,), "i8")

    def iterations(x, n):
        total = np.zeros_like(x)
        for k in range(n):
            total += np.partition(x + k, 9)
        return total
    compiled = reactant.jit(iterations)
    np.testing.assert_array_equal(compiled(x, np.int64(40)), iterations(x, 40))
    from concurrent.futures import ThreadPoolExecutor
    function = reactant.jit(lambda x: np.partition(x, 9))
    with ThreadPoolExecutor(4) as threads:
        for got in threads.map(function, [x] * 20):
            np.testing.assert_array_equal(got, np.partition(x, 9))


def test_derivatives_and_batches_are_as_written():
    x = np.random.default_rng(1).permutation(np.arange(float(LONG)))
    got = reactant.grad(lambda x: (np.partition(x, 9)[:9]**2).sum())(x)
    np.testing.assert_array_equal(got, np.where(x < 9, 2 * x, 0))
    rows = np.stack([x, x[::-1]])
    batched = reactant.vmap(lambda x: np.partition(x, 9)[9])(rows)
    np.testing.assert_array_equal(batched, [9, 9])
