"""Numbers of 64 bits that go through two shuffles of 32 go through one; other pairs of shuffles stay."""
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.stages.shuffles import join_shuffles

cuda = pytest.importorskip("numba.cuda")

TEXT = """
func.func @kernel(%x: FLOAT, %lane: i32, %other: i32) -> (FLOAT, i1) {{
  %width = arith.constant 32 : i32
  %c32 = arith.constant 32 : i64
  %scale = arith.constant 4294967296 : i64
  %b = arith.bitcast %x : FLOAT to i64
  %low = arith.trunci %b : i64 to i32
  %shifted = arith.shrui %b, %c32 : i64
  %high = arith.trunci %shifted : i64 to i32
  %r, %p = gpu.shuffle {first} {one}, %lane, %width : i32
  %s, %q = gpu.shuffle down {two}, {lane}, %width : i32
  %e = arith.extui %r : i32 to i64
  %f = arith.extui %s : i32 to i64
  %m = {scaled} : i64
  %o = {together} : i64
  %y = arith.bitcast %o : i64 to FLOAT
  return %y, %q : FLOAT, i1
}}""".replace("FLOAT", "f64")
USUAL = {"first": "down", "one": "%low", "two": "%high", "lane": "%lane", "scaled": "arith.muli %f, %scale",
         "together": "arith.addi %m, %e"}


def shuffled(**changes):
    """The types that are shuffled after the step and MLIR's clean-up."""
    with building():
        module = modules.parse(TEXT.format(**USUAL | changes))
        modules.run_passes(join_shuffles(module), "canonicalize,cse")
        module.operation.verify()
        return [str(op.results[0].type) for op in modules.walk(module) if op.name == "gpu.shuffle"]


@pytest.mark.parametrize("changes", [
    {}, {"together": "arith.ori %e, %m"}, {"scaled": "arith.shli %f, %c32"},
    {"one": "%high", "two": "%low", "scaled": "arith.shli %e, %c32", "together": "arith.addi %f, %m"}])
def test_halves_are_joined(changes):
    assert shuffled(**changes) == ["f64"]


@pytest.mark.parametrize("changes", [
    {"first": "up"}, {"lane": "%other"}, {"one": "%high", "two": "%low"}, {"one": "%high"},
    {"scaled": "arith.addi %f, %scale"}, {"together": "arith.muli %m, %e"}])
def test_other_pairs_stay(changes):
    assert "f64" not in shuffled(**changes)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "float32"])
@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_in_a_kernel(dtype, lower):
    @cuda.jit
    def totals(x, out):
        t = cuda.grid(1)
        value = x[t] if t < x.size else x[0] * 0
        for d in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xffffffff, value, d)
        value = cuda.shfl_xor_sync(0xffffffff, value, 3)
        if t < x.size:
            out[t] = value

    x = (np.random.default_rng(1).random(90) * 100).astype(dtype)
    found = np.zeros(90, dtype)
    reactant.kernel(totals, lower=lower)[2, 64](x, found)
    lanes, lane = np.concatenate([x, np.zeros(38, dtype)]).reshape(4, 32), np.arange(32)
    for d in (16, 8, 4, 2, 1):
        lanes = lanes + lanes[:, np.where(lane + d < 32, lane + d, lane)]
    np.testing.assert_allclose(found, lanes[:, lane ^ 3].ravel()[:90], rtol=1e-5)


@pytest.mark.slow
def test_scans_bytes_and_products_of_bytes():
    """`cooperative_groups` scans, memcpy and memset, 8-bit products, averages."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    module = reactant.cuda.load(r"""
    #include <cooperative_groups.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const int *x, int *before, int *most, int *dots, int *means, double *copy) {
        auto tile = cg::tiled_partition<16>(cg::this_thread_block());
        int i = threadIdx.x;
        before[i] = cg::exclusive_scan(tile, x[i]);
        most[i] = cg::inclusive_scan(tile, x[i], cg::greater<int>());
        dots[i] = __dp4a(x[i], 0x01ff0304, 5) + (int)__dp4a((unsigned)x[i], 0x01ff0304u, 7u);
        means[i] = __rhadd(x[i], 4) + 1000 * __hadd(x[i], 4);
        double two[2];
        memset(two, 0, sizeof two);
        memcpy(two, copy + i, sizeof(double));
        two[1] += two[0];
        memcpy(&copy[i], two + 1, 8);
        copy[i] += two[0];
    }""")
    rng = np.random.default_rng(1)
    x, copy = rng.integers(-2**30, 2**30, 32).astype(np.int32), rng.random(32)
    results = [np.zeros(32, np.int32) for _ in range(4)]
    expected = 2 * copy
    module.k[1, 32](x, *results, copy)
    rows = x.reshape(2, 16)
    np.testing.assert_array_equal(results[0].reshape(2, 16), np.cumsum(rows, 1, dtype=np.int32) - rows)
    np.testing.assert_array_equal(results[1].reshape(2, 16), np.maximum.accumulate(rows, 1))
    signed, plain = x.view(np.int8).reshape(32, 4).astype(int), x.view(np.uint8).reshape(32, 4).astype(int)
    np.testing.assert_array_equal(results[2], 12 + signed @ [4, 3, -1, 1] + plain @ [4, 3, 255, 1])
    wide = x.astype(np.int64)
    np.testing.assert_array_equal(results[3], ((wide + 5 >> 1) + 1000 * (wide + 4 >> 1)).astype(np.int32))
    np.testing.assert_array_equal(copy, expected)
