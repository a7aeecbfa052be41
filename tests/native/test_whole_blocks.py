"""Guards of kernels: blocks whose threads all pass them run code without them, the others with it."""
import numpy as np
import pytest

import reactant
from reactant import native
from reactant.ir import context, modules
from reactant.kernels.form.form import kernel_of
from reactant.kernels.stages.stages import run_stages
from reactant.native import place, short_loops, whole_blocks

pytest.importorskip("ziglang", reason="needs ziglang")

GRID, BLOCK = (3, 4), (8, 2)
SOURCE = """
__constant__ double weights[2] = {2, 3};
extern "C" __global__ void k(const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, g = j * 24 + i;
    int c = i < 3 ? 0 : i - 3;
    %s
}"""
DO = "for (int k = 0; k < 2; k++) y[g] += weights[k] * x[j * 24 + c];"
GUARDS = {
    "return": ("if (i >= n) return;", lambda i, j, n: i < n),
    "two dimensions": ("if (i >= n || j >= 7) return;", lambda i, j, n: (i < n) & (j < 7)),
    "inside": ("if (i > 0 && i < n - 1 && j > 0 && j < 7)", lambda i, j, n: (i > 0) & (i < n - 1) & (j > 0) & (j < 7)),
    "nested": ("if (i >= 4) if (j < 7) if (i <= n)", lambda i, j, n: (i >= 4) & (j < 7) & (i <= n)),
    "unsigned": ("if ((unsigned)(i - 5) < 12u)", lambda i, j, n: (i >= 5) & (i < 17)),
    "not unsigned": ("if ((unsigned)(i - 5) > 12u) return;", lambda i, j, n: (i >= 5) & (i <= 17)),
    "all but one": ("if ((unsigned)(i - 9) < 0xffffffffu)", lambda i, j, n: i != 8),
    "both": ("if (g >= 4 * n + 3) return;", lambda i, j, n: 24 * j + i < 4 * n + 3),
    "backwards": ("if (n - i < 3) return;", lambda i, j, n: n - i >= 3),
    "steps": ("if (3 * i + 7 * j > 2 * n) return;", lambda i, j, n: 3 * i + 7 * j <= 2 * n),
    "one thread": ("if (i != 5) return;", lambda i, j, n: i == 5),
    "data": ("if (x[i] > 0.5 || i >= n) return;", None),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GUARDS)
def test_guards(name):
    n, (guard, passes) = 20, GUARDS[name]
    k = reactant.cuda.load(SOURCE % (guard + DO), lower="native").k
    x, y = np.random.default_rng(n).random((8, 24)), np.ones((8, 24))
    j, i = np.indices(y.shape)
    passed = (x[0] <= 0.5) & (i < n) if passes is None else passes(i, j, n)
    k[GRID, BLOCK](x, y, n)
    np.testing.assert_allclose(y, np.where(passed, 1 + 5 * x[j, np.maximum(i - 3, 0)], 1))


KERNEL = """func.func @kernel(%x: memref<?xf64>, %y: memref<?xf64>) attributes {{gpu.kernel,
    reactant.grid = array<i64: 2, 1, 1>, reactant.block = array<i64: 8, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %size = arith.constant 8 : index
  %n = arith.constant 13 : index
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %first = arith.muli %b, %size overflow<nsw> : index
  %i = arith.addi %first, %t overflow<{flags}> : index
  %in = arith.cmpi slt, %i, %n : index
  scf.if %in {{
    %v = memref.load %x[{place}] : memref<?xf64>
    memref.store %v, %y[%i] : memref<?xf64>
  }}
  return
}}"""


@pytest.mark.parametrize("flags, index, found", [("nsw", "%c0", True), ("nsw", "%i", False), ("none", "%c0", False)])
def test_which_guards_are_taken_out(flags, index, found):
    """Where rows are read side by side masked vectors do, and where an index may wrap a corner says nothing."""
    text = KERNEL.format(flags=flags, place=index)
    with context.building():
        module = modules.parse(text)
        guard = whole_blocks.guard_of(place.launch_of(module.body.operations[0].operation, None, None))
    assert (guard is not None) == found
    x, y = np.arange(16.0) + 1, np.zeros(16)
    compiled = native.compile_kernel(text, "kernel")
    compiled(x, y)
    np.testing.assert_array_equal(y, np.where(np.arange(16) < 13, 1 if index == "%c0" else x, 0))
    assert ("whole" in compiled.as_llvm()) == found


def test_short_loops_are_written_out():
    """A filter of 3 x 3 exponentials is too long for LLVM to do that on its own, and no vector code without it."""
    module = reactant.cuda.load("""
extern "C" __global__ void k(const float *x, float *y) {
    int i = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int a = 0; a < 3; a++) for (int b = 0; b < 3; b++) sum += expf(-x[i + a * 40 + b] * x[i]);
    y[i] = sum;
}""", lower="native")
    x, y = np.random.default_rng(0).random(200).astype(np.float32), np.zeros(32, np.float32)
    x, y, i = np.random.default_rng(0).random(200).astype(np.float32), np.zeros(32, np.float32), np.arange(32)
    module.k[2, 16](x, y)
    want = sum(np.exp(-x[i + a * 40 + b] * x[i]) for a in range(3) for b in range(3))
    np.testing.assert_allclose(y, want, rtol=1e-5)
    structured = run_stages(reactant.kernel(module.k)[2, 16].record(x, y))
    with context.building():
        launch = place.launch_of(kernel_of(structured), None, None)
        short_loops.write_out(launch)
    assert str(structured).count("native.unroll = 3") == 2
