"""What XLA gets wrong, shown on XLA alone: a workaround stays as long as its defect does.

A test that fails here says that this jaxlib has mended the defect: then the row of `legalization.WORKAROUNDS` and its
file may go, if jaxlib's earlier versions that we support have mended it, too.
"""
import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest
from jax import lax
from jaxlib import xla_client

from reactant.legalize import legalization

F32, F64 = np.float32, np.float64


def by_xla(function, *arguments):
    """The result of `jax.jit`, on NumPy arrays of 64 bits."""
    with jax.enable_x64(True):
        return np.asarray(jax.jit(function)(*arguments))


def reshaped_updates():
    """Rows 1 and on of x.reshape(12, 2), replaced by what is computed from x."""
    def program(x):
        return lax.dynamic_update_slice(x.reshape(12, 2), (x[:22] + x[2:]).reshape(11, 2), (1, 0))

    x = np.arange(24.0)
    wanted = x.reshape(12, 2).copy()
    wanted[1:] = (x[:22] + x[2:]).reshape(11, 2)
    return not np.array_equal(by_xla(program, x), wanted)


def narrow_indices():
    """x[100] = -7 with a place of 8 bits, in an array of 300 elements."""
    got = by_xla(lambda x, i: lax.dynamic_update_slice(x, jnp.full(1, -7, np.int32), (i,)), np.zeros(300, np.int32),
                 np.uint8(100))
    return np.flatnonzero(got).tolist() != [100]


def exact_divisions():
    """x / c by a constant."""
    x = np.arange(1.0, 500.0)
    return not np.array_equal(by_xla(lambda x: jnp.floor(x / 49.0), x), np.floor(x / 49.0))


deciding_divisions = exact_divisions


def special_functions():
    """lgamma near its zero at 2, whose value there is (1 - euler_gamma) (x - 2)."""
    x = 2 + 1e-5
    wanted = 4.227875825530455e-06      # mpmath, 50 digits
    return abs(by_xla(lax.lgamma, F64(x)) / wanted - 1) > 1e-12


def single_rounding():
    """A float64 next to the middle of two float16 or bfloat16."""
    halves = by_xla(lambda x: x.astype(jnp.float16), np.array([1 + 2.0**-11 + 2.0**-40]))
    brains = by_xla(lambda x: x.astype(jnp.bfloat16).astype(F64), np.array([1 + 2.0**-8 + 2.0**-40]))
    return halves[0] == 1 or brains[0] == 1


def pairwise_sums():
    """The mean of eight times 0.1."""
    return by_xla(jnp.mean, np.full(8, 0.1)) != 0.1


def as_written():
    """1e300 / 1e200 / 1e200, whose divisors have an infinite product."""
    return by_xla(lambda x, y, z: x / y / z, F64(1e300), F64(1e200), F64(1e200)) == 0


def masked_products():
    """-inf * (-inf > 0), which is NaN."""
    return not np.isnan(by_xla(lambda x: x * (x > 0), -np.inf))


def denormal_constants():
    """x * 1e-45 == 0, which is false for x = 1e30."""
    return bool(by_xla(lambda x: x * F32(1e-45) == 0, np.full(3, 1e30, F32))[0])


def rounded_products():
    """x * x - y * y at x = y."""
    x = np.random.default_rng(0).standard_normal(1000)
    return bool(by_xla(lambda x, y: x * x - y * y, x, x.copy()).any())


def nan_extremes():
    """The greatest of 4,096 numbers, one of which is NaN."""
    return not np.isnan(by_xla(jnp.max, np.where(np.arange(4096) == 1, np.nan, 0.0)))


def denormal_functions():
    """exp of what is denormal."""
    return by_xla(jnp.exp, F64(-720)) == 0


def shared_scatters():
    """Two sums that begin with the same zeros."""
    text = """
    module { func.func public @main(%i: tensor<70x1xi32>, %u: tensor<70xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
      %zeros = stablehlo.constant dense<0.0> : tensor<7xf32>
      %v = stablehlo.add %u, %u : tensor<70xf32>
      %sums:2 = "stablehlo.scatter"(%zeros, %zeros, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %a, %x : tensor<f32>
          %t = stablehlo.add %b, %y : tensor<f32>
          stablehlo.return %s, %t : tensor<f32>, tensor<f32>
      }) : (tensor<7xf32>, tensor<7xf32>, tensor<70x1xi32>, tensor<70xf32>, tensor<70xf32>)
          -> (tensor<7xf32>, tensor<7xf32>)
      return %sums#0, %sums#1 : tensor<7xf32>, tensor<7xf32> } }"""
    device = jax.local_devices(backend="cpu")[0]
    made = device.client.compile_and_load(text, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    given = [jax.device_put(x, device) for x in ((np.arange(70, dtype=np.int32) % 7)[:, None], np.ones(70, F32))]
    first, second = (np.asarray(x[0]) for x in made.execute_sharded(given).disassemble_into_single_device_arrays())
    return not np.array_equal(second, 2 * first)


NOT_SHOWN = {"computed_once", "computed_apart"}
"""Seen in programs of a thousand stacked values and in those of thousands of operations, and in none that is small."""


@pytest.mark.parametrize("name", [each.name for each in legalization.WORKAROUNDS if each.name not in NOT_SHOWN])
def test_plain_xla_still_has_it(name):
    assert globals()[name](), f"mended by jaxlib {jaxlib.__version__}: see this file's docstring"


def test_each_other_workaround_is_shown():
    assert {each.name for each in legalization.WORKAROUNDS if not each.reproduction} == NOT_SHOWN
