"""Loops whose last iteration leaves in a branch are counted: what LLVM makes of a second, guarded step in each
iteration."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.stages.exits import leave_at_the_end

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = """
extern "C" __global__ void pairs(const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    float s = 0;
    while (i < n) {
        s += x[i];
        if (i + 128 < n) s += x[i + 128];
        i += 256 * gridDim.x;
    }
    y[blockIdx.x * 128 + threadIdx.x] = s;
}
extern "C" __global__ void singles(const float *x, float *y, int n) {
    float s = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) s += x[i];
    y[blockIdx.x * 128 + threadIdx.x] = s;
}
extern "C" __global__ void products(const float *x, float *y, int n) {
    float s = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) s += x[i] * x[i];
    y[blockIdx.x * 128 + threadIdx.x] = s;
}
"""


def _sums(x, width, grid):
    parts = np.pad(x, (0, -len(x) % (width * grid))).reshape(-1, grid, width)
    return parts.reshape(-1, grid, width // 128, 128).sum((0, 2)).reshape(-1)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name,most", [("pairs", 26), ("singles", 7), ("products", 10)])
def test_grid_stride_sums_are_reductions(name, most):
    kernel = reactant.cuda.load(SOURCE, lower="tensor")[name]
    for n in (1037, 1100, 901):
        x, y = np.random.default_rng(n).integers(0, 99, n).astype(np.float32), np.zeros(384, np.float32)

        def program(x, y, n=n):
            kernel[3, 128](x, y, n)
            return y
        program = reactant.jit(program)
        operations = program.lower(x, y).operations()
        assert "stablehlo.while" not in operations
        assert sum(count for name, count in operations.items() if name != "stablehlo.constant") <= most
        expected = _sums(x * x if name == "products" else x, 256 if name == "pairs" else 128, 3)
        np.testing.assert_array_equal(program(x, y), expected)


LOOP = """func.func @kernel(%x: memref<?xi32>, %n: i32) attributes {{gpu.kernel}} {{
  %zero = arith.constant 0 : i32
  %c5 = arith.constant 5 : i32
  %c9 = arith.constant 9 : i32
  %false = arith.constant false
  %r:2 = scf.while (%i = %n) : (i32) -> (i32, i32) {{
    %inner = arith.cmpi {condition}, %i, %c9 : i32
    %s:3 = scf.if %inner -> (i32, i1, i32) {{
      %next = arith.addi %i, %c5 overflow<nsw> : i32
      %again = arith.cmpi {test} : i32
      scf.yield %next, %again, %next : i32, i1, i32
    }} else {{
      scf.yield %zero, %false, %i : i32, i1, i32
    }}
    scf.condition(%s#1) %s#0, %s#2 : i32, i32
  }} do {{
  ^bb0(%i: i32, %j: i32):
    scf.yield %i : i32
  }}
  %p = arith.constant 0 : index
  memref.store %r#1, %x[%p] : memref<?xi32>
  return
}}"""


@pytest.mark.parametrize("condition,test,at_the_end", [
    ("slt", "slt, %i, %c5", True), ("slt", "slt, %next, %c9", True), ("sle", "sle, %i, %c9", True),
    ("slt", "slt, %next, %n", False), ("sgt", "slt, %i, %c5", False), ("ult", "slt, %i, %c5", False),
    ("sge", "sge, %i, %c9", True), ("sge", "sge, %i, %c5", False)])
def test_only_a_test_that_implies_the_condition(condition, test, at_the_end):
    with building():
        module = leave_at_the_end(modules.parse(LOOP.format(condition=condition, test=test)))
        module.operation.verify()
        flag = next(op for op in modules.walk(module) if op.name == "scf.condition").operands[0]
        assert (flag.owner.name == "arith.cmpi") == at_the_end
