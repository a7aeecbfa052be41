"""Short sums are added as NumPy adds them."""
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.legalize import pairwise_sums

LENGTHS = [2, 7, 8, 9, 15, 16, 23, 32, 100, 127, 128]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("native", ["always", "auto", "never"])
@pytest.mark.parametrize("length", LENGTHS)
def test_small_arrays_bit_by_bit(length, native, dtype):
    def sums(x, rows, cube):
        return (x.sum(), x.mean(), x.var(), (x * x).sum(), rows.sum(axis=1), rows.mean(axis=-1, keepdims=True),
                rows.sum(axis=0), cube.sum(axis=(1, 2)))

    random = np.random.default_rng(length)
    shapes = length, (5, length), (3, 2, max(1, length // 2))
    given = [random.standard_normal(shape).astype(dtype) for shape in shapes]
    results = [*zip(reactant.jit(sums, native=native)(*given), sums(*given), strict=True)]
    for got, wanted in results if native == "never" else results[:-1]:      # native code: over one dimension
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("native", ["always", "auto", "never"])
@pytest.mark.parametrize("length", [8, 16, 32])
def test_statistics_of_equal_numbers(length, native):
    def statistics(x):
        return x - x.mean(), x.std(), np.sqrt(np.mean(x * x) - np.mean(x)**2), 1.0 if x.var() == 0 else 2.0

    def repeated(x, n):
        total = 0.0
        for _ in range(n):
            total += np.sqrt(np.mean(x * x) - np.mean(x)**2) + statistics(x)[3]
        return total

    for value in (0.1, 49.7, -1e-3, 1 / 3):
        for dtype in (np.float64, np.float32):
            x = np.full(length, value, dtype)
            for got in reactant.jit(statistics, native=native)(x)[:3]:
                assert not np.any(got) and not np.isnan(got).any()
            assert reactant.jit(statistics, native=native)(x)[3] == 1
            assert reactant.jit(repeated, native=native, unroll_limit=0)(x, 5) == 5


@pytest.mark.parametrize("native", ["always", "never"])
@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 3), (2, 2, 2), (4, 4), (8, 2), (5, 3, 2), (16, 8), (3, 1, 5)],
                         ids=str)
def test_sums_of_all(shape, native):
    x = np.random.default_rng(1).standard_normal(shape)
    for function in (np.sum, np.linalg.norm, lambda x: np.sqrt((x * x).sum()), lambda x: x / (x - x.mean()).std(),
                     lambda x: (x.T * 2).sum() if len(shape) == 2 else x.sum()):
        np.testing.assert_allclose(reactant.jit(function, native=native)(x), function(x), rtol=1e-14)


@pytest.mark.parametrize("length", [8, 9, 12])
def test_many_short_rows(length):
    """Those that become sums of slices."""
    x = np.random.default_rng(0).standard_normal((5000, length))
    np.testing.assert_array_equal(reactant.jit(lambda x: x.sum(axis=1), native="never")(x), x.sum(axis=1))
    if length > 9:
        assert (x.sum(axis=1) != np.cumsum(x, axis=1)[:, -1]).any()


def test_large_arrays_and_jax_stay_as_they_are():
    def changed(function, x):
        with reactant.ir.context.building():
            module = reactant.jit(function, native="never").lower(x).module
            return pairwise_sums.kept(module) is not module

    assert changed(lambda x: x.sum(axis=-1), np.ones((8, 128)))
    assert not changed(lambda x: x.sum(axis=-1), np.ones((9, 128)))
    assert not changed(lambda x: x.sum(axis=0), np.ones((8, 20)))
    assert not changed(lambda x: x.sum(), np.arange(20))
    single = np.full(16, 0.1, np.float32)
    np.testing.assert_array_equal(reactant.jit(jnp.sum)(single), jnp.sum(jnp.asarray(single)))
