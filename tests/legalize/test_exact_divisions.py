"""Quotients whose last place decides something are NumPy's."""
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.arange(1.0, 2000.0)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("divisor", [49.0, 3.0, 98.0, -103.0, 10.0])
@pytest.mark.parametrize("function", [
    lambda x, c: np.floor(x / c), lambda x, c: (x / c).astype(np.int64), lambda x, c: x / c == np.round(x / c),
    lambda x, c: np.where(np.ceil(x / c) > 5, x, 0.0), lambda x, c: np.floor((x.reshape(-1, 1) / c).T - 1),
    lambda x, c: np.bincount((x / abs(c)).astype(int), minlength=1000)])
def test_constants(function, divisor):
    np.testing.assert_array_equal(reactant.jit(lambda x: function(x, divisor))(X), function(X, divisor))
    np.testing.assert_array_equal(reactant.jit(function)(X, divisor), function(X, divisor))     # known at run time


def test_rows_and_numbers_of_the_run():
    rows, divisors = np.stack([X] * 7), np.array([49.0, 3, 10, 98, 7, 103, 20])

    def by_rows(x, c):
        return np.floor(x / c[:, None])

    def by_greatest(x):
        return np.floor(x / x.max() * 2000), np.floor(x / np.maximum(x[48], 1.0))

    np.testing.assert_array_equal(reactant.jit(by_rows)(rows, divisors), by_rows(rows, divisors))
    for got, wanted in zip(reactant.jit(by_greatest)(X), by_greatest(X), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_bins_in_a_loop():
    """NPBench's azimuthal integration: the greatest radius is not below itself."""
    def means(data, radius, count):
        found, most = np.zeros(count), radius.max()
        for i in range(count):
            found[i] = data[np.logical_and(most * i / count <= radius, radius < most * (i + 1) / count)].mean()
        return found

    random = np.random.default_rng(1)
    data, radius = random.random((2, 1200))
    np.testing.assert_allclose(reactant.jit(means)(data, radius, 20), means(data, radius, 20), rtol=1e-12)


def test_which_quotients_are_products():
    def divisions(function, given=X):
        return reactant.jit(function, native="never").lower(given).compile().as_text().count("divide(")

    assert divisions(lambda x: np.exp(x / 49.0)) == 1
    assert divisions(lambda x: np.floor(x / 64.0)) == 0      # a power of two has an exact reciprocal
    assert divisions(lambda x: np.floor(x / 49.0)) == 1
    single = jnp.arange(7, dtype=jnp.float32)
    assert divisions(lambda x: jnp.exp(x / 49.0), single) == 0       # as JAX has it
    assert divisions(lambda x: jnp.floor(x / 49.0), single) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_continuous_functions_of_quotients(dtype):
    def rest(x, s):
        return x / 49 * 49 - x, x / s * s - x, x / 3 - x / 6 * 2, np.abs(x / 7), x.reshape(1, -1) / np.full((3, 1), 49)

    x = X.astype(dtype)
    for got, wanted in zip(reactant.jit(rest, native="never")(x, dtype(49)), rest(x, dtype(49)), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_jax_functions():
    x = X.astype(np.float32)
    np.testing.assert_array_equal(reactant.jit(lambda x: jnp.floor(x / 49.0))(x), np.floor(x / np.float32(49)))


DIVISIONS = {
    "run time": lambda x, s: x / s, "constant": lambda x, s: x / x.dtype.type(s),
    "greatest": lambda x, s: x / np.max(np.stack([s, s])), "rows": lambda x, s: x.reshape(2, 5) / np.full((2, 1), s),
    "in place": lambda x, s: x.__itruediv__(s), "elements": lambda x, s: np.stack([x[i] / s for i in range(10)]),
}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisors_of_any_size(name, dtype):
    """Greatest numbers, whose reciprocals are denormal, and denormals, whose reciprocals are infinite."""
    info, function = np.finfo(dtype), DIVISIONS[name]
    x = np.array([0, 1, -1, info.max, info.max / 4, info.tiny, np.inf, -0.0, np.nan, info.tiny / 4], dtype)
    for divisor in (info.max / 2, info.max, -info.max / 1.5, info.tiny, info.tiny / 4, 4 * info.tiny, 0, -0.0, np.inf,
                    np.nan, info.smallest_subnormal):
        s = dtype(divisor)
        known = (lambda x, s=s: function(x, s)) if name == "constant" else None
        for native in ("auto", "never"):
            with np.errstate(all="ignore"):
                got = reactant.jit(known, native=native)(x.copy()) if known else reactant.jit(function, native=native)(
                    x.copy(), s)
                np.testing.assert_array_equal(got, function(x.copy(), s))
