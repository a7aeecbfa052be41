"""Rows of few elements by networks of exchanges."""
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.simplify.target.target_sorts import exchanges
from tests.oracle import check

ROWS = 1100
SPECIAL = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.0, -1.0])


@pytest.mark.parametrize("n", range(1, 13))
def test_a_network_sorts_zeros_and_ones(n):
    """Then it sorts everything."""
    rows = np.array(list(product((0, 1), repeat=n)))
    for i, j in exchanges(n):
        rows[:, i], rows[:, j] = rows[:, [i, j]].min(1), rows[:, [i, j]].max(1)
    assert (np.diff(rows, axis=1) >= 0).all()


def rows_of(dtype, n, axis):
    random = np.random.default_rng(n)
    if dtype.kind == "f":
        rows = random.choice([*SPECIAL, *random.standard_normal(4)], (ROWS, n)).astype(dtype)
    else:
        rows = random.integers(*((0, 2) if dtype.kind == "b" else (0, 9)), (ROWS, n)).astype(dtype)
    return np.ascontiguousarray(np.moveaxis(rows, 1, axis))


@pytest.mark.slow
@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint32", "bool"])
def test_sorts_of_rows(dtype, native):
    def program(x, axis):
        return np.sort(x, axis), np.argsort(x, axis, kind="stable"), np.median(x, axis)

    for n, axis in ((2, 1), (5, 0), (11, 1)):
        x = rows_of(np.dtype(dtype), n, axis)
        check(program, x, axis, native=native)


@pytest.mark.slow
@pytest.mark.parametrize("native", ["auto", "never"])
def test_jax_order_of_floats_is_kept(native):
    """Stable, NaN last, zeros equal; descending too."""
    x = rows_of(np.dtype("float32"), 6, 1)
    for function in (lambda x: jnp.sort(x, axis=1), lambda x: jnp.argsort(x, axis=1),
                     lambda x: jnp.sort(x, axis=1, descending=True), lambda x: jnp.argsort(x, axis=1, descending=True),
                     lambda x: jax.lax.sort((x, x + 1, jnp.arange(x.size, dtype=jnp.int32).reshape(x.shape)), 1)):
        wanted, got = jax.jit(function)(x), reactant.jit(function, frontend="jax", native=native)(x)
        for one, other in zip(jax.tree.leaves(wanted), jax.tree.leaves(got), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("native", ["auto", "never"])
@pytest.mark.parametrize("dtype", ["float32", "int16", "uint32", "bfloat16"])
def test_greatest_elements(dtype, native):
    x = rows_of(np.dtype("float32" if dtype == "bfloat16" else dtype), 7, 1)
    x = jnp.asarray(x).astype(dtype)
    for k in (1, 3, 7):
        wanted = jax.jit(lambda x: jax.lax.top_k(x, k))(x)      # noqa: B023
        compiled = reactant.jit(lambda x: jax.lax.top_k(x, k), frontend="jax", native=native)      # noqa: B023
        for one, other in zip(wanted, compiled(x), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
        assert k == 1 or not {"chlo.top_k", "stablehlo.sort"} & compiled.lower(x).operations().keys()


def test_only_what_is_read_is_exchanged():
    lowered = reactant.jit(lambda x: np.median(x, axis=1)).lower(np.ones((ROWS, 9)))
    found = lowered.operations()
    assert "stablehlo.sort" not in found and found["stablehlo.minimum"] + found["stablehlo.maximum"] < 2 * 28
    assert "stablehlo.sort" in reactant.jit(lambda x: np.sort(x, axis=1)).lower(np.ones((30, 9))).operations()
    assert "stablehlo.sort" in reactant.jit(lambda x: np.sort(x, axis=1)).lower(np.ones((ROWS, 40))).operations()


def test_gradients_go_through():
    x = np.random.default_rng(0).standard_normal((ROWS, 5))
    gradient = reactant.grad(lambda x: np.sum(np.sort(x, axis=1) * np.arange(5.0)))(x)
    np.testing.assert_array_equal(gradient, np.argsort(np.argsort(x, axis=1), axis=1))
