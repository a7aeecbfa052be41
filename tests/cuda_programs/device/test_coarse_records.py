"""Coarsened launches: the same results as native code and as PTX that is emulated, and what NVIDIA's assembler says."""
import numpy as np
import pytest

pytest.importorskip("ziglang", reason="needs ziglang")

import reactant  # noqa: E402
from reactant.cuda_programs.device.coarse_records import Coarse, coarsened  # noqa: E402
from reactant.cuda_programs.device.versions import Factors, NotAnother  # noqa: E402
from reactant.kernels.launch import launch as launching  # noqa: E402
from reactant.kernels.ptx import ptx  # noqa: E402
from tests.kernels import ptx_emulation  # noqa: E402
from tests.kernels.ptx.test_ptx import assemble, needs_assembler  # noqa: E402

SOURCE = """
extern "C" __global__ void scan(const float *x, float *y, int n) {          // sums of a block, early ends, two guards
    __shared__ float s[2][64];
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t, p = 0;
    s[0][t] = g < n ? x[g] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2, p ^= 1) {
        s[p ^ 1][t] = t < d ? s[p][t] : s[p][t] + s[p][t - d];
        __syncthreads();
    }
    int k = 0;
    while (k < (g & 3)) k += 1 + (t & 1);
    if (g < n) y[g] = s[p][t] + k;
}
extern "C" __global__ void tile(const float *x, float *y, int n) {
    __shared__ float s[8][9];
    int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = x[j * n + i];
    __syncthreads();
    y[(blockIdx.x * 8 + threadIdx.y) * n + blockIdx.y * 8 + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void rotate(const float *x, float *y, int n) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    y[g] = __shfl_down_sync(~0u, x[g], 1);
}
extern "C" __global__ void waits(const float *x, float *y, int n) {
    if (threadIdx.x < (int)x[0]) { __syncthreads(); y[threadIdx.x] = 1; }
}
extern "C" __global__ void counts(const float *x, float *y, int n) {
    y[threadIdx.x] = __syncthreads_count(x[threadIdx.x] > 0);
}"""
X = np.random.default_rng(3).standard_normal(1024).astype(np.float32)
LAUNCHES = {"scan": ((6, 1, 1), (64, 1, 1), 350), "tile": ((4, 4, 1), (8, 8, 1), 32),
            "rotate": ((4, 1, 1), (128, 1, 1), 0)}
ALONE = Factors()
FACTORS = {"2x": Factors(threads=(2, 1, 1)), "4x": Factors(threads=(4, 1, 1)), "2y": Factors(threads=(1, 2, 1)),
           "blocks": Factors(blocks=(2, 1, 1)), "blocks y": Factors(blocks=(1, 2, 1)),
           "both": Factors((2, 1, 1), (2, 1, 1))}
CASES = [("scan", "2x"), ("scan", "4x"), ("scan", "blocks"), ("scan", "both"), ("tile", "2x"), ("tile", "2y"),
         ("tile", "blocks"), ("tile", "blocks y"), ("rotate", "2x"), ("rotate", "blocks")]


@pytest.fixture(scope="module")
def loaded():
    return reactant.cuda.load(SOURCE)


def configured(kernel, name, factors=ALONE):
    grid, block, n = LAUNCHES[name]
    made = reactant.kernel(kernel)[grid, block]
    made.launch = launching.Launch(grid, block, lower="native", rewrite=Coarse(factors))
    return lambda x, y: made(x, y, n)


def results(*given):
    y = np.zeros_like(X)
    configured(*given)(X.copy(), y)
    return y


@pytest.mark.parametrize("name, factors", CASES)
def test_the_same_results(loaded, name, factors):
    y = results(loaded[name], name, FACTORS[factors])
    assert y.any()
    np.testing.assert_array_equal(y, results(loaded[name], name))


def record(loaded, name):
    grid, block, n = LAUNCHES[name]
    return loaded[name][grid, block].record(X, np.zeros_like(X), n)


@pytest.mark.parametrize("name, factors, barriers", [("scan", "2x", None), ("tile", "2y", 1), ("tile", "blocks", 1)])
def test_ptx(loaded, name, factors, barriers, tmp_path):
    made = coarsened(record(loaded, name), FACTORS[factors])
    text = ptx.compile_kernel(made).text
    assert f".reqntid {made.block[0]}, {made.block[1]}, 1" in text
    assert text.count("bar.sync") == ptx.compile_kernel(record(loaded, name)).text.count("bar.sync")   # met once
    assert barriers is None or text.count("bar.sync") == barriers
    y = np.zeros_like(X)
    ptx_emulation.run(configured(loaded[name], name, FACTORS[factors]), (X.copy(), y), tmp_path)
    np.testing.assert_array_equal(y, results(loaded[name], name))


@needs_assembler
@pytest.mark.parametrize("name, factors", CASES)
def test_the_assembler_takes_it(loaded, name, factors, tmp_path):
    assemble(ptx.compile_kernel(coarsened(record(loaded, name), FACTORS[factors])).text, tmp_path, "sm_80")


@pytest.mark.parametrize("name, launch, factors, words", [
    ("scan", LAUNCHES["scan"], Factors(threads=(3, 1, 1)), "do not divide"),
    ("rotate", LAUNCHES["rotate"], Factors(threads=(8, 1, 1)), "whole warps"),
    ("waits", ((1, 1, 1), (64, 1, 1), 0), Factors(threads=(2, 1, 1)), "threads meet where copies may go"),
    ("counts", ((1, 1, 1), (64, 1, 1), 0), Factors(threads=(2, 1, 1)), "threads are counted")])
def test_what_cannot_be(loaded, name, launch, factors, words):
    grid, block, n = launch
    with pytest.raises(NotAnother, match=words):
        coarsened(loaded[name][grid, block].record(X, np.zeros_like(X), n), factors)
