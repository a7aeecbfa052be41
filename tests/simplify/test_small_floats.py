"""bfloat16 is a float to the rules, too: NaN, infinities and -0.0 stay where they belong."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant


def scaled_rows(v, y):
    return jnp.diag(v) @ y


def least(v, y):
    return jnp.sort(v)[0] + y


def long_sum(v, y):
    terms = [jnp.sin(v[i]) * y for i in range(12)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


V, Y = np.ones(17), np.ones((17, 5))
ODD = np.where(np.arange(85).reshape(17, 5) == 0, np.nan, Y)


@pytest.mark.parametrize("function, rule, v, y", [
    (scaled_rows, "dot_of_diagonal_checked", V, ODD), (least, "end_of_float_sort_is_extreme", V, Y),
    (least, "end_of_float_sort_is_extreme", np.full(17, np.nan), Y),
    (long_sum, "sum_of_equal_computations", -0.0 * V, Y)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_special_numbers(function, rule, v, y, dtype):
    v, y = jnp.asarray(v).astype(dtype), jnp.asarray(y).astype(dtype)
    compiled = reactant.jit(function, frontend="jax")
    assert rule in compiled.lower(v, y).report.fired
    plain, ours = (np.asarray(f(v, y)).astype(float) for f in (jax.jit(function), compiled))
    np.testing.assert_array_equal(ours, plain)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(plain))
