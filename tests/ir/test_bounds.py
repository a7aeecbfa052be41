"""Lower bounds of floats: none is above what is computed, and those that derivatives rely on are found."""
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import reactant
from reactant.ir import interpret, modules
from reactant.ir.bounds import least
from reactant.ir.context import building

HALF = np.float32(0.5)
CASES = {
    "nothing is known": (lambda x: x + 1.0, -np.inf),
    "square": (lambda x: x * x, 0.0),
    "square and more": (lambda x: x * x + 0.1, 0.0999),
    "sum of squares": (lambda x: jnp.sum(x * x, 0, keepdims=True) + 0.1, 0.0999),
    "root": (lambda x: jnp.sqrt(x * x + 4), 1.999),
    "power": (lambda x: (x * x + 0.25) ** 1.5, 0.1249),
    "even power": (lambda x: x ** 4, 0.0),
    "negative power": (lambda x: (x * x + 0.25) ** -1.5, 0.0),
    "exponential": (lambda x: jnp.exp(x) + jnp.cosh(x), 0.999),
    "quotient": (lambda x: jnp.abs(x) / (x * x + 1), 0.0),
    "quotient by what may be -0": (lambda x: jnp.exp(x) / jnp.abs(x), -np.inf),
    "product": (lambda x: (jnp.abs(x) + 2) * (x * x + 3), 5.99),
    "product of anything": (lambda x: x * (x + 1), -np.inf),
    "larger": (lambda x: jnp.maximum(x, 0.5), 0.49),
    "smaller": (lambda x: jnp.minimum(x * x, 0.5), 0.0),
    "clamped": (lambda x: jnp.clip(x, -0.5, 3), -0.51),
    "chosen": (lambda x: jnp.where(x > 1, x * x, 2.0), 0.0),
    "moved": (lambda x: jnp.concatenate([x[::-1] ** 2 + 1, jnp.exp(x.T[:2]).T[:, :1] + jnp.zeros_like(x)], 0), 0.0),
    "padded": (lambda x: jnp.pad(x * x, 1, constant_values=-2.0), -2.01),
    "extremes": (lambda x: jnp.max(x * x + 1, 1) + jnp.min(x * x + 1, 1), 1.99),
    "narrow": (lambda x: (x * x + 1e-30).astype(jnp.bfloat16) * HALF.astype(ml_dtypes.bfloat16), 0.0),
    "vanishing": (lambda x: (x * x + 1e-30) * 1e-30, 0.0),
    "sum of exponentials below the largest": (lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 1, keepdims=True)), 1), 0.99),
    "over more": (lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 0)), (0, 1)), 0.99),
    "over other dimensions": (lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 1, keepdims=True)), 0), 0.0),
    "below the largest of other rows": (lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 1)), 1), 0.0),
    "below what may be larger": (lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 1, keepdims=True, initial=0)), 1), 0.0),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: y * y + i, x) + 1, -np.inf),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds(name):
    function, expected = CASES[name]
    lowered = reactant.jit(function, optimize=False).lower(np.zeros((4, 4), np.float32))
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    x[0], x[1, :2] = 0, [np.inf, np.nan]
    with building():
        module = modules.clone(lowered.module)
        modules.inline_calls(module)
        block = modules.function(module).regions[0].blocks[0]
        found = least(block.operations[len(block.operations) - 1].operands[0])
        computed = np.asarray(interpret.evaluate(module, [x])[0], np.float64)
    assert found >= expected
    assert not (computed < found).any()
