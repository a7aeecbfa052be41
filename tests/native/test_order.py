"""Which loop over the threads of a block is the innermost."""
import numpy as np
import pytest

from reactant import native
from reactant.ir import context, modules
from reactant.native import order, place

KERNEL = """func.func @kernel(%x: memref<?xf64>, %y: memref<?xf64>) attributes {{gpu.kernel,
    reactant.grid = array<i64: 2, 1, 1>, reactant.block = array<i64: {block}>}} {{
  %n = arith.constant 100 : index
  %many = arith.constant 1000 : index
  %b = gpu.block_id x
  %tx = gpu.thread_id x
  %ty = gpu.thread_id y
  %tz = gpu.thread_id z
  %slow = arith.muli %{slow}, %n : index
  %slowest = arith.muli %{slowest}, %many : index
  %sum = arith.addi %slow, %slowest : index
  %i = arith.addi %sum, %{fast} : index
  %v = memref.load %x[%i] : memref<?xf64>
  memref.store %v, %y[%i] : memref<?xf64>
  return
}}"""


@pytest.mark.parametrize("fast, slow, slowest, block, expected", [
    ("tx", "ty", "tz", (8, 4, 2), (0, 1, 2)), ("ty", "tx", "tz", (8, 4, 2), (1, 0, 2)),
    ("tz", "ty", "tx", (4, 4, 4), (2, 0, 1)), ("ty", "tx", "tz", (8, 1, 1), (0, 1, 2)),
    ("b", "tx", "tz", (8, 8, 1), (1, 0, 2)), ("tx", "ty", "tz", (1, 1, 1), (0, 1, 2))])
def test_rows_are_the_innermost_loop(fast, slow, slowest, block, expected):
    text = KERNEL.format(fast=fast, slow=slow, slowest=slowest, block=", ".join(map(str, block)))
    with context.building():
        module = modules.parse(text)
        launch = place.launch_of(module.body.operations[0].operation, None, None)
        assert order.loop_order(launch) == expected
    x, y = np.arange(10_000.0), np.zeros(10_000)
    native.compile_kernel(text, "kernel")(x, y)
    b, tx, ty, tz = np.meshgrid(range(2), *map(range, block), indexing="ij")
    places = {"b": b, "tx": tx, "ty": ty, "tz": tz}
    wanted = np.zeros(10_000)
    i = places[fast] + 100 * places[slow] + 1000 * places[slowest]
    wanted[i] = i
    np.testing.assert_array_equal(y, wanted)
