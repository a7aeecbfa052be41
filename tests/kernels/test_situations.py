"""How kernels are launched and on what: sizes, views, aliases, dtypes; each raised and native, against NumPy."""
import math

import numpy as np
import pytest

import reactant

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

WAYS = [pytest.param(way, marks=pytest.mark.slow if way == "native" else []) for way in ("tensor", "native")]


@cuda.jit
def scale(x, y, n):
    """A map, over as many places as a grid of any size covers."""
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * 3 + 1


@cuda.jit
def smooth(x, y, n):
    """A stencil over a tile in shared memory."""
    tile = cuda.shared.array(10, "int64")
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t + 1] = x[i] if i < n else 0
    if t == 0:
        tile[0] = x[i - 1] if 0 < i <= n else 0
    if t == cuda.blockDim.x - 1:
        tile[t + 2] = x[i + 1] if i + 1 < n else 0
    cuda.syncthreads()
    if i < n:
        y[i] = tile[t] + 2 * tile[t + 1] + tile[t + 2]


@cuda.jit
def count(x, y, n):
    """Atomics at places that the data choose, by a loop over the grid."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(y, x[i] % n, i)


def _scaled(x, y, n):
    y[:n] = x[:n] * 3 + 1


def _smoothed(x, y, n):
    p = np.pad(x[:n], 1)
    y[:n] = p[:-2] + 2 * p[1:-1] + p[2:]


def _counted(x, y, n):
    np.add.at(y, x[:n] % n, np.arange(n))


KERNELS = {"scale": (scale, _scaled), "smooth": (smooth, _smoothed), "count": (count, _counted)}


def numbers(n):
    return np.random.default_rng(n).integers(0, 50, n)


def launched(kernel, way, grid, block, *arguments):
    reactant.kernel(kernel, lower=way)[grid, block](*arguments)


SITUATIONS = {
    # name: (grid, block, n, a function of two whole arrays that gives what the kernel sees)
    "larger than the data": (9, 8, 11, lambda x, y: (x, y)),
    "partial block": (2, 8, 13, lambda x, y: (x, y)),
    "odd sizes": (3, 7, 19, lambda x, y: (x, y)),
    "one block of one thread": (1, 1, 1, lambda x, y: (x, y)),
    "less than the arrays": (2, 8, 9, lambda x, y: (x, y)),
    "strided": (2, 8, 10, lambda x, y: (x[::2], y[::3])),
    "offset": (2, 8, 12, lambda x, y: (x[5:], y[7:])),
    "backwards": (2, 8, 12, lambda x, y: (x[::-1], y[11::-1])),
    "columns": (1, 8, 6, lambda x, y: (x.reshape(-1, 6)[:, 2], y.reshape(6, -1)[:, 1])),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KERNELS)
def test_sizes_and_views(name, way):
    kernel, reference = KERNELS[name]
    for situation, (grid, block, n, seen) in SITUATIONS.items():
        x, y, z = numbers(36), np.zeros(36, np.int64), np.zeros(36, np.int64)
        launched(kernel, way, grid, block, *seen(x, y), n)
        reference(*seen(x, z), n)
        np.testing.assert_array_equal(y, z, err_msg=situation)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_several_kernels_on_one_buffer_in_place_and_aliased(way):
    k = {name: reactant.kernel(kernel, lower=way) for name, (kernel, _) in KERNELS.items()}

    @reactant.jit
    def program(x, y):
        k["scale"][2, 8](x, x, 15)                    # in place
        k["smooth"][2, 8](x, y, 15)
        k["scale"][1, 8](y[:6], y[6:12], 6)           # two views of one array
        k["count"][1, 8](x, y, 15)
        k["scale"][1, 8](y, y, 8)
        return y.sum()
    x = numbers(16)
    y = np.zeros(16, np.int64)
    a, b = x.copy(), y.copy()
    _scaled(a, a, 15)
    _smoothed(a, b, 15)
    b[6:12] = b[:6] * 3 + 1
    _counted(a, b, 15)
    _scaled(b, b, 8)
    assert program(x, y) == b.sum()
    np.testing.assert_array_equal(x, a)
    np.testing.assert_array_equal(y, b)


@cuda.jit
def races(x, flags, last):
    """Every writer of a place writes the same."""
    i = cuda.grid(1)
    last[0] = 7
    if x[i] > 10:
        flags[x[i] % 4] = 1
    last[1 + cuda.blockIdx.x] = cuda.blockIdx.x * 5
    last[-1] = x.size


@pytest.mark.parametrize("way", WAYS)
def test_races_in_which_all_write_the_same(way):
    x, flags, last = numbers(24), np.zeros(4, np.int8), np.zeros(6, np.int32)
    launched(races, way, 3, 8, x, flags, last)
    expected = np.zeros(4, np.int8)
    expected[x[x > 10] % 4] = 1
    np.testing.assert_array_equal(flags, expected)
    assert list(last) == [7, 0, 5, 10, 0, 24]


@cuda.jit
def negative(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[-1 - i] = x[i] + x[-1] + x[i - 2]           # x[-2], x[-1] for the first two


@cuda.jit
def boxes(x, y):
    i, j, k = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        y[i, j, k] = x[i, -1 - j, k] + i * 100 + j * 10 + k


@cuda.jit
def strides(x, y):
    start, step = cuda.grid(2), cuda.gridsize(2)
    for i in range(start[0], x.shape[0], step[0]):
        for j in range(start[1], x.shape[1], step[1]):
            y[j, i] = x[i, j]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_indices(way):
    x = numbers(11)
    y = np.zeros(11, np.int64)
    launched(negative, way, 2, 8, x, y)
    np.testing.assert_array_equal(y[::-1], x + x[-1] + np.roll(x, 2))
    x, y = numbers(5 * 4 * 3).reshape(5, 4, 3), np.zeros((5, 4, 3), np.int64)
    launched(boxes, way, (2, 2, 2), (3, 2, 2), x, y)
    i, j, k = np.indices(x.shape)
    np.testing.assert_array_equal(y, x[:, ::-1] + i * 100 + j * 10 + k)
    x, y = numbers(7 * 9).reshape(7, 9), np.zeros((9, 7), np.int64)
    launched(strides, way, (2, 1), (2, 4), x, y)
    np.testing.assert_array_equal(y, x.T)


@cuda.jit
def doubled(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + x[i]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [
    "int8", "float16", "complex64", *(pytest.param(name, marks=pytest.mark.slow) for name in (
        "uint8", "uint16", "uint32", "uint64", "complex128"))])
def test_dtypes(dtype, way):
    x = (np.arange(13) * 11).astype(dtype)
    y = np.zeros_like(x)
    launched(doubled, way, 2, 8, x, y)
    np.testing.assert_array_equal(y, x + x)


@cuda.jit
def wrap_around(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = 4 * i + 480


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_indices_are_wrapped_to_small_integers(way):
    x = np.zeros(300, np.int8)
    launched(wrap_around, way, 5, 64, x, 300)
    np.testing.assert_array_equal(x, (4 * np.arange(300) + 480).astype(np.int8))


@pytest.mark.parametrize("way", WAYS)
def test_arrays_without_elements(way):
    for shape in ((0,), (0, 3)):
        x, y = np.zeros(shape), np.zeros(shape)
        launched(doubled if len(shape) == 1 else strides, way, 1 if len(shape) == 1 else (1, 1), 8, x, y.T)
        assert y.shape == shape


# ---- NaN and atomics -------------------------------------------------------------------------------------------

@cuda.jit
def extremes(x, out, old):
    i = cuda.grid(1)
    cuda.atomic.max(out, 0, x[i])
    cuda.atomic.min(out, 1, x[i])
    cuda.atomic.max(out, 2, x[i])
    cuda.atomic.min(out, 3, x[i])
    cuda.atomic.nanmax(out, 4, x[i])
    cuda.atomic.nanmin(out, 5, x[i])
    old[i] = cuda.atomic.max(out, 6 + i % 2, x[i])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_nan(dtype, way):
    """As on a GPU and in the simulator: max and min leave a NaN that is there, and ignore one that is given; nanmax and
    nanmin replace it."""
    nan = np.nan
    x = np.array([1, nan, 3, -2, nan, 7, 2, 8], dtype)
    out, old = np.array([0, 0, nan, nan, nan, nan, nan, -5], dtype), np.zeros(8, dtype)
    launched(extremes, way, 2, 4, x, out, old)
    np.testing.assert_array_equal(out, np.array([8, -2, nan, nan, 8, -2, nan, 8], dtype))
    assert np.isnan(old[::2]).all() and sorted(old[1::2]) == [-5, -5, -2, 7]


@cuda.jit
def tally(x, out):
    bins = cuda.shared.array(2, "int32")
    t = cuda.threadIdx.x
    if t < 2:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, 0, 2)                       # the same for all blocks
    cuda.syncthreads()
    out[cuda.grid(1)] = bins[0] + bins[1] + x[0]


@pytest.mark.parametrize("way", WAYS)
def test_each_block_counts_for_itself(way):
    out = np.zeros(24, np.int64)
    launched(tally, way, 3, 8, np.array([100]), out)
    np.testing.assert_array_equal(out, 116)


@cuda.jit
def both_parts(x, s, c, fraction, exponent):
    i = cuda.grid(1)
    s[i], c[i] = cuda.libdevice.sincos(x[i])
    fraction[i], exponent[i] = cuda.libdevice.frexp(x[i])


@pytest.mark.parametrize("way", WAYS)
def test_functions_with_two_results(way):
    x = np.array([0.3, -7.5, 100.0])
    s, c, fraction, exponent = (np.zeros(3) for _ in range(4))
    launched(both_parts, way, 1, 3, x, s, c, fraction, exponent)
    np.testing.assert_allclose(s, np.sin(x))
    np.testing.assert_allclose(c, np.cos(x))
    assert [math.ldexp(f, int(e)) for f, e in zip(fraction, exponent, strict=True)] == list(x)


@cuda.jit
def remembers_its_thread(x, y):
    """A grid-stride loop in which threads also use their own numbers."""
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] * 10 + t if t != 3 else x[b]


@pytest.mark.parametrize("way", WAYS)
def test_grid_stride_loops_that_use_the_thread(way):
    x, y = numbers(37), np.zeros(37, np.int64)
    launched(remembers_its_thread, way, 2, 8, x, y)
    i = np.arange(37)
    np.testing.assert_array_equal(y, np.where(i % 8 != 3, x * 10 + i % 8, x[i // 8 % 2]))


PARTIAL_WARPS = """
extern "C" __global__ void k(const double *x, double *y, int *votes, double *total) {
    __shared__ double sums[4];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = blockDim.x;
    double a = x[i];
    votes[i] = (int)(__ballot_sync(0xffffffffu, a > 0.5) & 0x7fffffff);
    if (__all_sync(0xffffffffu, a > -1)) votes[i] += 3;
    double left = __shfl_up_sync(0xffffffffu, a, 1), first = __shfl_sync(0xffffffffu, a, 0);
    for (int m = 16; m > 0; m /= 2) {
        double other = __shfl_down_sync(0xffffffffu, a, m);
        if (t + m < n && t % 32 + m < 32) a += other;
    }
    if (t % 32 == 0) sums[t / 32] = a;
    __syncthreads();
    y[i] = left + 100 * first;
    if (t == 0) for (int w = 0; w < (n + 31) / 32; ++w) atomicAdd(total, sums[w]);
}
"""


@pytest.mark.sampled(100)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [20, 40])
def test_warps_with_fewer_lanes(threads, way):
    pytest.importorskip("ziglang", reason="needs ziglang")
    x = np.random.default_rng(2).random(2 * threads)
    y, votes, total = np.zeros(2 * threads), np.zeros(2 * threads, np.int32), np.zeros(1)
    launched(reactant.cuda.load(PARTIAL_WARPS).k, way, 2, threads, x, y, votes, total)
    np.testing.assert_allclose(total[0], x.sum())
    t = np.arange(2 * threads) % threads
    start = np.arange(2 * threads) - t % 32
    np.testing.assert_allclose(y, np.where(t % 32, np.roll(x, 1), x) + 100 * x[start])
    for i in range(2 * threads):
        warp = x[start[i]:min(start[i] + 32, (i // threads + 1) * threads)]
        assert votes[i] == (int((warp > 0.5) @ (1 << np.arange(len(warp)))) & 0x7fffffff) + 3


MISSING_LANES = """
__device__ int sum_of(unsigned mask, int a) {
    for (int m = 16; m > 0; m /= 2) a += __shfl_down_sync(mask, a, m);
    return a;
}
extern "C" __global__ void k(const int *x, int *sums, int *chosen) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, warps = (blockDim.x + 31) / 32;
    int a = sum_of(0xffffffffu, x[i]);
    if (t % 32 == 0) of_warp[t / 32] = a;
    __syncthreads();
    unsigned mask = __ballot_sync(0xffffffffu, t < warps);
    if (t < warps) a = sum_of(mask, of_warp[t]);
    if (t == 0) sums[blockIdx.x] = a;
    mask = __ballot_sync(0xffffffffu, x[i] > 20);
    if (x[i] > 20) chosen[i] = __shfl_xor_sync(mask, x[i], x[i] % 2 + 1) + 100 * __shfl_xor_sync(mask, x[i], 16);
}
"""


@pytest.mark.sampled(100)
@pytest.mark.parametrize("way", ["tensor", "native"])
@pytest.mark.parametrize("threads", [16, 40, 96])
def test_lanes_that_take_no_part_hold_0_for_others(threads, way):
    """The CUDA samples' reduction relies on it."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    x = np.random.default_rng(2).integers(0, 50, 2 * threads).astype(np.int32)
    sums, chosen = np.zeros(2, np.int32), np.zeros(2 * threads, np.int32)
    launched(reactant.cuda.load(MISSING_LANES).k, way, 2, threads, x, sums, chosen)
    np.testing.assert_array_equal(sums, x.reshape(2, -1).sum(1))
    t = np.arange(threads)
    for block, got in zip(x.reshape(2, -1), chosen.reshape(2, -1), strict=True):
        there = np.zeros(-(-threads // 32) * 32, np.int32)
        there[:threads] = np.where(block > 20, block, 0)
        np.testing.assert_array_equal(got, np.where(block > 20, there[t ^ (block % 2 + 1)] + 100 * there[t ^ 16], 0))


def test_largest_numbers_of_rows_by_warps():
    """A strided reduction by fmaxf, over which LLVM's vectoriser ended the process."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    module = reactant.cuda.load("""extern "C" __global__ void k(const float *x, float *y, int rows, int n) {
        int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
        if (row >= rows) return;
        float m = -INFINITY;
        for (int i = lane; i < n; i += 32) m = fmaxf(m, x[row * n + i]);
        for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o, 32));
        if (lane == 0) y[row] = m;
    }""", lower="native")
    x, y = np.random.default_rng(1).random((5, 100), np.float32), np.zeros(5, np.float32)
    module.k[2, 96](x, y, 5, 100)
    np.testing.assert_array_equal(y, x.max(1))


WARP_SYNCHRONOUS = """
__device__ void last_warp(volatile int *s, int t) {
    s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
}
extern "C" __global__ void k(const int *x, int *sums) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 32; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t < 32) last_warp(s, t);
    if (t == 0) sums[blockIdx.x] = s[0];
}
"""


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_lanes_of_a_warp_go_on_together_where_shared_memory_is_volatile(way):
    pytest.importorskip("ziglang", reason="needs ziglang")
    x, sums = numbers(3 * 128).astype(np.int32), np.zeros(3, np.int32)
    reactant.kernel(reactant.cuda.load(WARP_SYNCHRONOUS).k, lower=way)[3, 128, 0, 512](x, sums)
    np.testing.assert_array_equal(sums, x.reshape(3, 128).sum(1))


LANES_THAT_LEAVE = """
extern "C" __global__ void k(int *out, const int *trips) {
    int t = threadIdx.x, sum = 0;
    for (int r = 0; r < 3; r++) {
        sum += __shfl_sync(0xffffffffu, sum + t, (t + 1) & 31);
        unsigned live = 0xffffffffu;
        for (int j = 0; ; j++) {
            bool more = j < trips[t];
            live = __ballot_sync(live, more);
            if (!more) break;
            sum += __shfl_sync(live, 3 * t, __ffs(live) - 1);
        }
    }
    out[t] = sum;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tensor", "native"])
def test_lanes_that_leave_a_loop_wait_for_the_others_after_it(way):
    """In the next iteration of the loop around, although its first shuffle comes before theirs in the program."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    trips = np.random.default_rng(0).integers(0, 5, 64).astype(np.int32)
    out, expected = np.zeros(64, np.int32), np.zeros((2, 32), np.int64)
    launched(reactant.cuda.load(LANES_THAT_LEAVE).k, way, 1, 64, out, trips)
    for t, iterations, own in zip(np.arange(64).reshape(2, 32), trips.reshape(2, 32), expected, strict=True):
        for _ in range(3):
            own += np.roll(own + t, -1)
            for j in range(iterations.max()):
                own[iterations > j] += 3 * t[np.argmax(iterations > j)]
    np.testing.assert_array_equal(out, expected.ravel())


PADDED_SCAN = """
#define PADDED(n) ((n) + ((n) >> 4))
extern "C" __global__ void k(const float *x, float *y, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, step = 1;
    s[PADDED(t)] = x[t];
    s[PADDED(t + n / 2)] = x[t + n / 2];
    for (int d = n >> 1; d > 0; d >>= 1, step *= 2) {
        __syncthreads();
        if (t < d) s[PADDED(step * (2 * t + 2) - 1)] += s[PADDED(step * (2 * t + 1) - 1)];
    }
    if (t == 0) s[PADDED(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int a = PADDED(step * (2 * t + 1) - 1), b = PADDED(step * (2 * t + 2) - 1);
            float old = s[a];
            s[a] = s[b];
            s[b] += old;
        }
    }
    __syncthreads();
    y[t] = s[PADDED(t)];
    y[t + n / 2] = s[PADDED(t + n / 2)];
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tensor", "native"])
def test_a_scan_in_shared_memory_without_bank_conflicts(way):
    """Rows of 17 in 140 numbers: the memory is padded to be seen so."""
    pytest.importorskip("ziglang", reason="needs ziglang")
    x, y = (np.arange(128) % 7).astype(np.float32), np.zeros(128, np.float32)
    reactant.kernel(reactant.cuda.load(PADDED_SCAN).k, lower=way)[1, 64, 0, 560](x, y, 128)
    np.testing.assert_array_equal(y, np.cumsum(x) - x)


# ---- what threads tell each other through the caller's arrays -----------------------------------------------------

@cuda.jit
def pass_on(x, iterations):
    """Every thread reads one place, one of them writes it, and again."""
    t = cuda.threadIdx.x
    for _ in range(iterations):
        found = x[8]
        cuda.syncthreads()
        if t == found % 8:
            x[8] = found + x[t]
        cuda.syncthreads()
        x[t] += x[8]


def _passed_on(x, iterations):
    for _ in range(iterations):
        x[8] += x[x[8] % 8]
        x[:8] += x[8]


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_one_place_is_read_before_and_after_another_thread_writes_it(way):
    x = numbers(9)
    expected = x.copy()
    launched(pass_on, way, 1, 8, x, 3)
    _passed_on(expected, 3)
    np.testing.assert_array_equal(x, expected)


# ---- integers that every iteration of a loop makes out of themselves, and out of floats
# ---------------------------------

STATES = r"""
extern "C" __global__ void states(int *x, int *y, int *z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, s = i % 5, c = 0;
    for (int k = 0; k < 12; k++) {
        switch (s) {
            case 0: s = 2; break;
            default: s = 1; c += 100; break;
            case 1: s = 4;
            case 2: c++; s = s == 4 ? 3 : 0; break;
            case 3: c += 10; s = 7; continue;
        }
        c += s;
    }
    x[i] = c;
    int v = i;
    for (int k = 0; k < 24; k++) { v = (v * 5 + 3) % 17; if (v == 4) v = 9; }
    y[i] = v;
    bool a = i % 2, b = i % 3 == 0, d = i > 7;
    for (int k = 0; k < 20; k++) { bool t = (a && b) || (!d && a != b); a = b; b = d; d = t != (k % 2); }
    z[i] = a + 2 * b + 4 * d;
}"""


def _states(i):
    s, c = i % 5, 0
    for _ in range(12):
        if s == 3:
            c, s = c + 10, 7
            continue
        if s == 0:
            s = 2
        elif s in (1, 2):
            c, s = c + 1, 3 if s == 1 else 0
        else:
            c, s = c + 100, 1
        c += s
    v = i
    for _ in range(24):
        v = (v * 5 + 3) % 17
        v = 9 if v == 4 else v
    a, b, d = bool(i % 2), i % 3 == 0, i > 7
    for k in range(20):
        a, b, d = b, d, ((a and b) or (not d and a != b)) != (k % 2)
    return c, v, a + 2 * b + 4 * d


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tensor", "native"])
def test_what_depends_on_itself_does_not_grow_with_the_iterations(way):
    """The form of a state would double in every iteration; the first of these took hours."""
    found = [np.zeros(64, np.int32) for _ in range(3)]
    reactant.kernel(reactant.cuda.load(STATES).states, lower=way)[2, 32](*found)
    np.testing.assert_array_equal(np.stack(found, 1), [_states(i) for i in range(64)])


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_floats_beyond_integers(way):
    """As PTX converts: NaN is 0, beyond the limits is the limit; fewer than 32 bits are the low ones."""
    module = reactant.cuda.load("""extern "C" __global__ void k(const double *x, int *a, unsigned *b, long long *c,
            unsigned long long *d, unsigned char *e, signed char *f, unsigned short *g) {
        int i = threadIdx.x; a[i] = (int)x[i]; b[i] = (unsigned)x[i]; c[i] = (long long)x[i];
        d[i] = (unsigned long long)x[i]; e[i] = (unsigned char)x[i]; f[i] = (signed char)x[i];
        g[i] = (unsigned short)x[i]; }""")
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3.7, -3.7, 300.0, -0.5, 2.0**31, -2.0**31 - 1, 2.0**32, 1e10,
                  9.3e18])
    kinds = [("i4", 32), ("u4", 32), ("i8", 64), ("u8", 64), ("u1", 32), ("i1", 32), ("u2", 32)]
    found = [np.zeros(len(x), kind) for kind, _ in kinds]
    reactant.kernel(module.k, lower=way)[1, len(x)](x, *found)
    for (kind, bits), result in zip(kinds, found, strict=True):
        low, high = (0, 2**bits - 1) if kind[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
        whole = [0 if v != v else low if v <= low else high if v >= high else int(v) for v in x]
        size = 8 * result.dtype.itemsize
        np.testing.assert_array_equal(result.view(f"u{size // 8}"), [w % 2**size for w in whole], err_msg=kind)


STAGED = r"""
extern "C" __global__ void staged(const double *x, double *y, double *z, int n) {
    __shared__ double tile[40];
    int first = blockIdx.x * 32, t;
    for (t = threadIdx.x; t < 38; t += 32) tile[t] = first + t - 3 >= 0 && first + t - 3 < n ? x[first + t - 3] : -1.0;
    __syncthreads();
    int i = first + threadIdx.x;
    if (i < n) y[i] = tile[threadIdx.x] + tile[threadIdx.x + 6];
    double last = 0;
    int iterations = 0;
    for (t = i; t < n; t += 70) { last = 2 * last + x[t]; iterations++; }
    if (i < 200) z[i] = last + iterations;
}"""


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_some_threads_have_a_iteration_more(way):
    """The staging of a halo by a loop in steps of the block, and values that such a loop carries."""
    n = 150
    x, y, z = np.random.default_rng(5).random(n), np.zeros(n), np.zeros(200)
    reactant.kernel(reactant.cuda.load(STAGED).staged, lower=way)[5, 32](x, y, z, n)
    wide = np.pad(x, 3, constant_values=-1)
    np.testing.assert_array_equal(y, wide[:-6] + wide[6:])
    for i in range(160):
        last = 0.0
        for v in x[i::70]:
            last = 2 * last + v
        np.testing.assert_allclose(z[i], last + len(x[i::70]), rtol=1e-14)


@pytest.mark.parametrize("way", ["tensor", "native"])
def test_sums_that_the_compiler_knows(way):
    """LLVM writes the sum of a series as a product of 33 (65) bits."""
    module = reactant.cuda.load(r"""
    template <typename T> __global__ void k(T *x) {
        T i = blockIdx.x * blockDim.x + threadIdx.x, s = 0, v = i;
        do { s += v; } while (--v > 0);
        x[i] = s;
    }""", name_expressions=["k<int>", "k<long long>"])
    i = np.arange(64)
    x = np.zeros(64, np.int32)
    reactant.kernel(module["k<int>"], lower=way)[2, 32](x)
    np.testing.assert_array_equal(x, i * (i + 1) // 2)
    y = np.zeros(64, np.int64)
    reactant.kernel(module["k<long long>"], lower=way)[2, 32](y)
    np.testing.assert_array_equal(y, x)


ODD = [
    ("add iN %p, %q", lambda a, b, n: a + b), ("sub nsw iN %p, %q", lambda a, b, n: a - b),
    ("mul iN %p, %q", lambda a, b, n: a * b), ("xor iN %p, %q", lambda a, b, n: a ^ b),
    ("shl iN %p, 3", lambda a, b, n: a << 3), ("lshr iN %p, 2", lambda a, b, n: a % 2**n >> 2),
    ("ashr iN %p, 2", lambda a, b, n: a >> 2), ("udiv iN %p, 5", lambda a, b, n: a % 2**n // 5),
    ("srem iN %p, 5", lambda a, b, n: int(math.fmod(a, 5))),
    ("call iN @llvm.smax.iN(iN %p, iN %q)", lambda a, b, n: max(a, b)),
    ("call iN @llvm.umin.iN(iN %p, iN %q)", lambda a, b, n: min(a % 2**n, b % 2**n)),
    ("call iN @llvm.cttz.iN(iN %p, i1 false)", lambda a, b, n: ((a & -a).bit_length() - 1) if a else n),
    ("call iN @llvm.ctlz.iN(iN %p, i1 false)", lambda a, b, n: n - (a % 2**n).bit_length()),
    ("call iN @llvm.bitreverse.iN(iN %p)", lambda a, b, n: int(f"{a % 2**n:0{n}b}"[::-1], 2)),
]


def _of(n, number):
    """The number that n bits hold, signed."""
    number %= 2**n
    return number - 2**n * (number >> n - 1)


@pytest.mark.parametrize("width", [6, 33])
def test_integers_that_no_machine_has(width):
    """What LLVM makes of masks and switches, also carried by a loop; natively LLVM itself says what they are."""
    lines = ["define void @f(ptr %x, ptr %y, i64 %m) {\nentry:\n  br label %head\nhead:",
             "  %i = phi i64 [ 0, %entry ], [ %next, %iteration ]", "  %p = phi iN [ -3, %entry ], [ %following, "
                                                                    "%iteration ]",
             "  %c = icmp slt i64 %i, %m\n  br i1 %c, label %iteration, label %end\niteration:",
             "  %a = getelementptr i64, ptr %x, i64 %i\n  %v = load i64, ptr %a\n  %q = trunc i64 %v to iN"]
    for k, (text, _) in enumerate(ODD):
        signed = "sext" if k % 2 else "zext"
        lines += [f"  %r{k} = {text}\n  %w{k} = {signed} iN %r{k} to i64",
                  f"  %s{k} = getelementptr i64, ptr %y, i64 %i\n  %t{k} = getelementptr i8, ptr %s{k}, i64 {k * 96}",
                  f"  store i64 %w{k}, ptr %t{k}"]
    lines += ["  %less = icmp slt iN %p, %q\n  %chosen = select i1 %less, iN %p, iN %q",
              "  %following = add iN %chosen, 1",
              "  %next = add i64 %i, 1\n  br label %head\nend:\n  ret void\n}"]
    text = "\n".join(lines).replace("iN", f"i{width}")
    x = np.array([3, -7, 20, 2**35 + 5, -1, 0, 31, -32, 9, 10, 11, 40])
    expected, p = np.zeros((len(ODD), 12), np.int64), -3
    for i, v in enumerate(x.tolist()):
        q = _of(width, v)
        for k, (_, meaning) in enumerate(ODD):
            number = _of(width, meaning(p, q, width))
            expected[k, i] = number if k % 2 else number % 2**width
        p = _of(width, min(p, q) + 1)
    for way in ("native", "tensor"):
        found = np.zeros_like(expected)
        reactant.llvm.load(text, "f", lower=way)(x, found, 12)
        np.testing.assert_array_equal(found, expected, err_msg=way)


@cuda.jit
def among_equals(p, k, out):
    i = cuda.grid(1)
    if i < k.size:
        total = 0.0
        for j in range(k.size):
            if k[j] == k[i]:
                for d in range(3):
                    total += (p[j, d] - p[i, d]) * (d + 1)
        out[i] = total


def test_a_loop_in_a_branch_of_a_loop_adds_to_the_same_sum():
    generator = np.random.default_rng(0)
    p, k, out = generator.random((20, 3)), generator.integers(0, 4, 20), np.zeros(20)
    reactant.kernel(among_equals, lower="tensor")[1, 32](p, k, out)
    weighted = ((p[None] - p[:, None]) * [1, 2, 3]).sum(2)
    np.testing.assert_allclose(out, np.where(k[:, None] == k, weighted, 0).sum(1), rtol=1e-12, atol=1e-12)


@cuda.jit
def greatest_of_rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        best = x[i, 0]
        for j in range(1, x.shape[1]):
            best = max(best, x[i, j])
        out[i] = best


def test_extremes_of_numbers_among_nan_are_plain_reductions():
    x = np.random.default_rng(0).standard_normal((30, 40))
    x[0, ::3], x[1], x[2, 1:], x[3], x[4, 0] = np.nan, np.nan, np.nan, -np.inf, np.nan

    @reactant.jit
    def program(x):
        out = np.zeros(30)
        reactant.kernel(greatest_of_rows, lower="tensor")[1, 32](x, out)
        return out
    np.testing.assert_array_equal(program(x), np.fmax.reduce(x, 1))
    assert "applies stablehlo.maximum" in program.lower(x).as_text()


@cuda.jit
def count_positive(x, y):
    i = cuda.grid(1)
    positive = i < x.size and x[i] > 0
    found = cuda.syncthreads_count(int(positive))
    if i < x.size:
        y[i] = found


@pytest.mark.parametrize("way", WAYS)
def test_meetings_after_a_condition_of_two_parts_are_not_copied_into_its_branches(way):
    x, y = np.random.default_rng(0).standard_normal(75), np.zeros(75, np.int32)
    launched(count_positive, way, 3, 32, x, y)
    counts = np.pad(x > 0, (0, 21)).reshape(3, 32).sum(1)
    np.testing.assert_array_equal(y, np.repeat(counts, 32)[:75])
