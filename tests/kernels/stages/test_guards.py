"""Guards as compilers write them: ranges in one unsigned comparison, which narrow what is computed as two do."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang")

SOURCE = """
extern "C" __global__ void marked(int *y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, i = t - 64;
    if (t >= n) return;
    int found = 0;
    if ((unsigned)(i - 3) < 10u) found += 1;
    if (i >= 3 && i < n - 70) found += 2;
    if (i < 3 || i > 20) found += 4;
    if ((unsigned)i > 4294967290u) found += 8;
    if ((unsigned)i <= 5u) found += 16;
    if ((unsigned)(i + 40) >= 50u) found += 32;
    if ((unsigned)i - 2147483647u < 2147483600u) found += 64;
    y[t] = found;
}
extern "C" __global__ void inner(float *y, const float *x, int rows, int columns) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 || i >= rows - 3 || j < 3 || j >= columns - 3) return;
    y[i * columns + j] = x[i * columns + j + 3] - x[(i - 3) * columns + j];
}
"""


@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_ranges(lower):
    found, n = np.zeros(160, np.int32), 160
    reactant.cuda.load(SOURCE, lower=lower).marked[5, 32](found, n)
    i = np.arange(160) - 64
    u = lambda x: x % 2**32     # noqa: E731
    tests = [u(i - 3) < 10, (i >= 3) & (i < n - 70), (i < 3) | (i > 20), u(i) > 4294967290, u(i) <= 5,
             u(i + 40) >= 50, u(i - 2147483647) < 2147483600]
    np.testing.assert_array_equal(found, sum(2**k * t for k, t in enumerate(tests)))


def test_inner_points_are_slices():
    module = reactant.cuda.load(SOURCE, lower="tensor")

    def run(x):
        y = np.zeros_like(x)
        module.inner[(4, 3), (16, 16)](y, x, *x.shape)
        return y
    x = np.random.default_rng(0).random((37, 53)).astype(np.float32)
    expected = np.zeros_like(x)
    expected[3:-3, 3:-3] = x[3:-3, 6:] - x[:-6, 3:-3]
    lowered = reactant.jit(run, native="never").lower(x)
    np.testing.assert_array_equal(lowered.compile()(x), expected)
    assert not {"stablehlo.reshape", "stablehlo.select", "stablehlo.gather"} & set(lowered.operations())
