#!/usr/bin/env bash
# XLA on CPUs: a scatter into two arrays at once gives the first sum twice, where both arrays are the same constant.
#
# One would guess that a scatter with two inputs and two updates gives two results whatever the inputs are; both start
# from zeros here, as sums do. Equal constants become one buffer, and the second result is what the first one is. No error.
# With -0.0 in the second, which is another constant, both are right.
#
# Seen with jax 0.10.2, NumPy 2.4.6, x86-64: 500 updates by 1 and by 2, at places 0 to 6 in turn.
#   second input 0.0:  [72, 72, 72, 71, 71, 71, 71] and [72, 72, 72, 71, 71, 71, 71]
#   second input -0.0: [72, 72, 72, 71, 71, 71, 71] and [144, 144, 144, 142, 142, 142, 142]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PROGRAM'
import jax
import numpy as np
from jaxlib import xla_client

SCATTER = """
module { func.func public @main(%i: tensor<500x1xi32>, %u: tensor<500xf32>, %v: tensor<500xf32>)
    -> (tensor<7xf32>, tensor<7xf32>) {
  %first = stablehlo.constant dense<0.0> : tensor<7xf32>
  %second = stablehlo.constant dense<SECOND> : tensor<7xf32>
  %sums:2 = "stablehlo.scatter"(%first, %second, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %a, %x : tensor<f32>
      %t = stablehlo.add %b, %y : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
  }) : (tensor<7xf32>, tensor<7xf32>, tensor<500x1xi32>, tensor<500xf32>, tensor<500xf32>)
      -> (tensor<7xf32>, tensor<7xf32>)
  return %sums#0, %sums#1 : tensor<7xf32>, tensor<7xf32> } }
"""
client = jax.devices("cpu")[0].client
devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
places = (np.arange(500, dtype=np.int32) % 7)[:, None]
given = [jax.device_put(x) for x in (places, np.ones(500, np.float32), np.full(500, 2, np.float32))]
count = np.bincount(places[:, 0])


def sums(second):
    made = client.compile_and_load(SCATTER.replace("SECOND", second), devices, xla_client.CompileOptions())
    found = made.execute_sharded(given).disassemble_into_single_device_arrays()
    one, other = (np.asarray(x[0]).astype(int).tolist() for x in found)
    print(f"second input {second}: {one} and {other}")
    return one, other


assert sums("-0.0") == (count.tolist(), (2 * count).tolist()), "the other program is wrong as well"
assert sums("0.0") == (count.tolist(), count.tolist()), "the second result is another one now"
PROGRAM
