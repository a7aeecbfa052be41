"""Trees of shuffles are reductions, of floats and of integers, whatever was added before the first step."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

SOURCE = """extern "C" __global__ void k(const T *x, T *y) {
    __shared__ T s[64];
    int t = threadIdx.x;
    T v = x[blockIdx.x * 64 + t];
    s[t] = v;
    __syncthreads();
    if (t < 32) {
        v += s[t + 32];
        for (int o = 16; o > 0; o /= 2) v += __shfl_HOW_sync(0xffffffff, v, o);
        if (t == 0) y[blockIdx.x] = v;
    }
}"""


@pytest.mark.parametrize("kind,dtype,how", [("float", np.float32, "down"), ("int", np.int32, "down"),
                                            ("int", np.int32, "xor"), ("unsigned", np.uint32, "down")])
def test_the_end_of_a_tree_within_a_warp(kind, dtype, how):
    kernel = reactant.cuda.load(f"typedef {kind} T;" + SOURCE.replace("HOW", how), lower="tensor").k
    x, y = np.random.default_rng(1).integers(0, 1000, 192).astype(dtype), np.zeros(3, dtype)

    def program(x, y):
        kernel[3, 64](x, y)
        return y
    program = reactant.jit(program)
    operations = program.lower(x, y).operations()
    assert operations["stablehlo.reduce"] == 1 and sum(operations.values()) <= 12
    np.testing.assert_array_equal(program(x, y), x.reshape(3, 64).sum(1, dtype=dtype))


def test_a_scan_of_integers_adds_once_a_step():
    kernel = reactant.cuda.load("""extern "C" __global__ void k(const int *x, const int *w, int *y) {
        int t = threadIdx.x, v = x[t] + w[t];
        for (int o = 1; o < 32; o *= 2) { int u = __shfl_up_sync(0xffffffff, v, o); if (t >= o) v += u; }
        y[t] = v;
    }""", lower="tensor").k
    x, w, y = np.arange(32, dtype=np.int32), np.ones(32, np.int32), np.zeros(32, np.int32)

    def program(x, w, y):
        kernel[1, 32](x, w, y)
        return y
    program = reactant.jit(program)
    assert program.lower(x, w, y).operations()["stablehlo.add"] <= 6
    np.testing.assert_array_equal(program(x, w, y), np.cumsum(x + w))
