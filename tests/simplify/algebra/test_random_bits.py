"""Random numbers as JAX makes them of bits."""
import jax
import numpy as np

from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from tests.simplify.test_goals import short


def left(function):
    text = str(jax.jit(lambda d: function(jax.random.wrap_key_data(d))).lower(np.zeros(2, np.uint32)).compiler_ir(
        "stablehlo"))
    with building():
        module = modules.parse(text)
        modules.inline_calls(module)
        pipelines.run(module, "simplify", verify=True)
        return short(module)


def test_uniform_numbers_are_not_clamped():
    assert "maximum" not in left(lambda k: jax.random.uniform(k, (8,), np.float32))


def test_chances_are_decided_by_integers():
    counts = left(lambda k: jax.random.bernoulli(k, 0.3, (8,)))
    assert "bitcast_convert" not in counts
