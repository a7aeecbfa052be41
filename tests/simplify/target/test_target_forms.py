"""Forms one target prefers, on programs of JAX: there, and with the same results, NaN and ties included."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

X = np.random.default_rng(0).normal(size=(50, 60)).astype(np.float32)
X[3, 5], X[4, 1], X[4, 30] = np.nan, np.nan, np.nan
X[7, 2] = X[7, 40] = 9
X[9] = -np.inf
X[10] = np.inf


def rows(x):
    return jnp.argmax(x, 1)


def columns(x):
    return jnp.argmin(x, 0)


def integers(x):
    return jnp.argmax(jnp.nan_to_num(x * 3).astype(jnp.int8), 1)


@pytest.mark.parametrize("function", [rows, columns, integers])
def test_the_place_of_the_extreme(function):
    compiled = reactant.jit(function, frontend="jax", native="never", target="cpu")
    text = compiled.lower(X).as_text()
    assert "(tensor<f32>, tensor<i32>)" not in text and "(tensor<i8>, tensor<i32>)" not in text
    np.testing.assert_array_equal(compiled(X), jax.jit(function)(X))


def last_of_equals(x):
    def body(left, right):
        (a, i), (b, j) = left, right
        keep = (a > b) | ((a == b) & (i > j))
        return jnp.where(keep, a, b), jnp.where(keep, i, j)
    places = jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)
    return jax.lax.reduce((x, places), (np.float32(-np.inf), np.int32(0)), body, (1,))[1]


def test_other_reductions_of_pairs_stay():
    compiled = reactant.jit(last_of_equals, frontend="jax", native="never", target="cpu")
    values = np.round(np.nan_to_num(X))
    assert compiled.lower(values).operations()["stablehlo.reduce"] == 1
    np.testing.assert_array_equal(compiled(values), jax.jit(last_of_equals)(values))


def test_small_tables_on_a_tpu():
    def looked_up(table, i):
        return table[i]
    table, places = np.arange(5.0), np.random.default_rng(1).integers(-5, 5, 3000)
    compiled = reactant.jit(looked_up, target="tpu")
    assert "stablehlo.gather" not in compiled.lower(table, places).operations()
    np.testing.assert_array_equal(compiled(table, places), table[places])


SPECIAL = np.array([0.3, -1.5, np.nan, np.inf, -np.inf, -0.0, 40.0, -7.0] * 4)


def spiral(x, iterations=5):
    """Columns of `x` iteration about each other."""
    def iteration(_, x):
        a, b = x[:, 0], x[:, 1]
        return x + 0.1 * jnp.stack([a - b, a * b], 1)
    return jax.lax.fori_loop(0, iterations, iteration, x)


def cheapest_path(rows):
    """Each number is reached from the left, from above, or from above left."""
    def row(above, costs):
        def number(left, given):
            least = given[2] + jnp.minimum(jnp.minimum(left, given[0]), given[1])
            return least, least
        before = jnp.concatenate([above[:1], above[:-1]])
        return jax.lax.scan(number, jnp.inf, (above, before, costs))[1], None
    return jax.lax.scan(row, rows[0], rows[1:])[0]


def normal_distribution(x):
    return jax.scipy.stats.norm.cdf(x), jax.scipy.special.erfinv(x), jax.scipy.special.gammaln(x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("native", ["always", "never"])
@pytest.mark.parametrize("function", [spiral, cheapest_path, normal_distribution])
def test_forms_for_native_code_are_what_was_written(function, native):
    given = np.concatenate([SPECIAL, np.random.default_rng(0).normal(size=128 - SPECIAL.size)])
    for dtype in (np.float32, np.float64):
        with jax.enable_x64(dtype == np.float64):
            x = jnp.asarray(given.reshape(64, 2) if function is spiral else given.reshape(8, 16), dtype)
            compiled = reactant.jit(function, frontend="jax", native=native)
            for mine, plain in zip(jax.tree.leaves(compiled(x)), jax.tree.leaves(jax.jit(function)(x)), strict=True):
                near = {"rtol": 2e-5, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-15}
                np.testing.assert_allclose(mine, plain, **near)


def test_diagonals_are_chosen():
    """What reads a diagonal has a padded vector as its adjoint."""
    def spread(v, places):
        return v @ jnp.diagonal(places)

    places, v = X[20:, :30], X[0, :30]
    compiled = reactant.jit(jax.grad(spread, 1), native="never", target="cpu")
    assert "stablehlo.pad" not in compiled.lower(v, places).operations()
    np.testing.assert_array_equal(compiled(v, places), np.diag(v))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
def test_zeros_that_are_added_take_the_sign_away(dtype):
    """XLA alone takes x + 0 for x."""
    x = np.array([-0.0, 0.0, 1.0, -np.inf, np.nan, -1e-3]).astype(dtype)
    for program in (lambda x: x + 0.0, lambda x: 0 + x, lambda x: x - (-0.0), lambda x: np.zeros(6, dtype) + x,
                    lambda x: 1 / (x + 0), lambda x: -x + 0.0):
        with np.errstate(all="ignore"):
            plain = program(x)
        compiled = reactant.jit(program)(x)
        np.testing.assert_array_equal(compiled, plain)
        for part in (np.real, np.imag):
            kept = ~np.isnan(part(plain))
            np.testing.assert_array_equal(np.signbit(part(compiled))[kept], np.signbit(part(plain))[kept])
