"""Numba-CUDA kernels without a GPU: what they take, what they may do, what is refused."""
import math
import subprocess
import sys
import threading

import numpy as np
import pytest

import reactant

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

from numba import float32, int32  # noqa: E402

rng = np.random.default_rng(0)


def run(kernel, grid, block, *arguments, shared=0):
    reactant.kernel(kernel)[grid, block, 0, shared](*arguments)


# ---- argument kinds --------------------------------------------------------------------------------------------

@cuda.jit
def add_number(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += value


DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_arrays(dtype):
    x = np.arange(70).astype(dtype)
    run(add_number, 3, 32, x, 3)
    assert x.dtype == dtype
    np.testing.assert_array_equal(x, (np.arange(70) + 3).astype(dtype))


def test_unsigned_numbers_wrap_and_compare_as_unsigned():
    @cuda.jit
    def halve(x, y):
        i = cuda.grid(1)
        y[i] = x[i] // 2 if x[i] > 100 else 0
    x = np.array([200, 50, 255, 101], np.uint8)
    y = np.zeros(4, np.uint8)
    run(halve, 1, 4, x, y)
    np.testing.assert_array_equal(y, [100, 0, 127, 50])


@pytest.mark.parametrize("value", [2, 2.5, np.float32(2.5), np.int32(2), np.int64(-3), True, np.uint8(200)])
def test_kinds_of_numbers(value):
    x = np.zeros(5)
    run(add_number, 1, 5, x, value)
    np.testing.assert_array_equal(x, np.full(5, float(value)))


def test_complex_numbers_and_arrays():
    @cuda.jit
    def rotate(x, factor, out):
        i = cuda.grid(1)
        out[i] = x[i] * factor + x[i].conjugate()
    for dtype in (np.complex64, np.complex128):
        x = (rng.standard_normal(8) + 1j * rng.standard_normal(8)).astype(dtype)
        out = np.zeros_like(x)
        run(rotate, 1, 8, x, 0.5 + 2j, out)
        np.testing.assert_allclose(out, x * (0.5 + 2j) + x.conj(), rtol=1e-6)


def test_booleans():
    @cuda.jit
    def either(a, b, out, invert):
        i = cuda.grid(1)
        out[i] = (a[i] or b[i]) != invert
    a, b = rng.random(9) < 0.5, rng.random(9) < 0.5
    out = np.zeros(9, bool)
    run(either, 1, 9, a, b, out, True)
    np.testing.assert_array_equal(out, ~(a | b))


def test_tuples():
    @cuda.jit
    def spread(arrays, weights, out):
        i = cuda.grid(1)
        out[i] = arrays[0][i] * weights[0] + arrays[1][i] * weights[1]
    a, b, out = rng.random(6), rng.random(6), np.zeros(6)
    run(spread, 1, 6, (a, b), (2.0, 3.0), out)
    np.testing.assert_allclose(out, 2 * a + 3 * b)


def test_records():
    kind = np.dtype([("x", "f8"), ("y", "f8")], align=True)

    @cuda.jit
    def lengths(points, out):
        i = cuda.grid(1)
        out[i] = math.sqrt(points[i].x ** 2 + points[i].y ** 2)
        points[i].x = 0.0
    points = np.zeros(5, kind)
    points["x"], points["y"] = rng.random(5), rng.random(5)
    expected = np.hypot(points["x"], points["y"])
    out = np.zeros(5)
    run(lengths, 1, 5, points, out)
    np.testing.assert_allclose(out, expected)
    assert not points["x"].any() and points["y"].all()


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 2, 2)])
@pytest.mark.parametrize("order", "CF")
def test_dimensions_and_orders(shape, order):
    @cuda.jit
    def index(x):
        i = cuda.grid(1)
        if i < x.size:
            if x.ndim == 1:
                x[i] = i
            elif x.ndim == 2:
                x[i // x.shape[1], i % x.shape[1]] = i
            elif x.ndim == 3:
                x[i // (x.shape[1] * x.shape[2]), i // x.shape[2] % x.shape[1], i % x.shape[2]] = i
            else:
                x[i // 12, i // 4 % 3, i // 2 % 2, i % 2] = i
    x = np.zeros(shape, order=order)
    run(index, 3, 32, x)
    np.testing.assert_array_equal(x, np.arange(x.size).reshape(shape))


VIEWS = [np.s_[::2], np.s_[::-1], np.s_[3:], np.s_[5:2:-1], np.s_[1::3]]


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_views_write_into_their_base(view):
    x = np.arange(12.0)
    expected = x.copy()
    expected[view] += 10
    run(add_number, 1, 32, x[view], 10)
    np.testing.assert_array_equal(x, expected)


def test_views_of_one_array_alias():
    @cuda.jit
    def shift(target, source):
        i = cuda.grid(1)
        value = source[i]
        cuda.syncthreads()
        if i < target.size:
            target[i] = value
    x = np.arange(16.0)
    run(shift, 1, 15, x[1:], x[:-1])
    np.testing.assert_array_equal(x, [0, *range(15)])


def test_negative_indices_count_from_the_end():
    @cuda.jit
    def last(x, out):
        out[0] = x[-1] + x[-2]
    out = np.zeros(1)
    run(last, 1, 1, np.arange(5.0)[1:4], out)
    assert out[0] == 5


def test_read_only_arrays_can_be_read():
    @cuda.jit
    def copy(x, out):
        i = cuda.grid(1)
        out[i] = x[i]
    x = np.arange(4.0)
    x.flags.writeable = False
    out = np.zeros(4)
    run(copy, 1, 4, x, out)
    np.testing.assert_array_equal(out, x)


# ---- what kernels do -------------------------------------------------------------------------------------------

def test_grid_of_three_dimensions():
    @cuda.jit
    def where(out):
        x, y, z = cuda.grid(3)
        if x < out.shape[0] and y < out.shape[1] and z < out.shape[2]:
            out[x, y, z] = x * 100 + y * 10 + z + cuda.gridDim.x * 1000 + cuda.blockDim.z * 10000
    out = np.zeros((5, 6, 3), np.int64)
    run(where, (2, 3, 2), (3, 2, 2), out)
    x, y, z = np.indices(out.shape)
    np.testing.assert_array_equal(out, x * 100 + y * 10 + z + 2000 + 20000)


def test_shared_memory_and_barriers():
    @cuda.jit
    def reverse(x):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        base = cuda.blockIdx.x * 64
        tile[t] = x[base + t]
        cuda.syncthreads()
        x[base + t] = tile[63 - t]
    x = rng.random(192).astype(np.float32)
    expected = x.reshape(3, 64)[:, ::-1].ravel().copy()
    run(reverse, 3, 64, x)
    np.testing.assert_array_equal(x, expected)


def test_dynamic_shared_memory():
    @cuda.jit
    def block_sums(x, out):
        tile = cuda.shared.array(0, float32)
        t = cuda.threadIdx.x
        tile[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        if t == 0:
            total = float32(0)
            for k in range(tile.shape[0]):
                total += tile[k]
            out[cuda.blockIdx.x] = total
    x = rng.random(96).astype(np.float32)
    out = np.zeros(3, np.float32)
    run(block_sums, 3, 32, x, out, shared=32 * 4)
    np.testing.assert_allclose(out, x.reshape(3, 32).sum(1), rtol=1e-6)


TABLE = np.array([2.0, 3.0, 5.0, 7.0])


def test_constant_and_captured_arrays():
    @cuda.jit
    def weigh(x):
        table = cuda.const.array_like(TABLE)
        i = cuda.grid(1)
        x[i] *= table[i % 4] + TABLE[(i + 1) % 4]
    x = np.ones(8)
    run(weigh, 1, 8, x)
    np.testing.assert_array_equal(x, np.tile(TABLE + np.roll(TABLE, -1), 2))


def test_local_arrays():
    @cuda.jit
    def reversed_digits(x):
        digits = cuda.local.array(4, int32)
        i = cuda.grid(1)
        value = x[i]
        for k in range(4):
            digits[k] = value % 10
            value //= 10
        total = 0
        for k in range(4):
            total = total * 10 + digits[k]
        x[i] = total
    x = np.array([1234, 9000, 77, 0], np.int64)
    run(reversed_digits, 1, 4, x)
    np.testing.assert_array_equal(x, [4321, 9, 7700, 0])


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit(device=True, inline="always")
def norm_of(x, y):
    return math.sqrt(square(x) + square(y))


def test_device_functions():
    @cuda.jit
    def norms(x, y, out):
        i = cuda.grid(1)
        out[i] = norm_of(x[i], y[i])
    x, y, out = rng.random(8), rng.random(8), np.zeros(8)
    run(norms, 1, 8, x, y, out)
    np.testing.assert_allclose(out, np.hypot(x, y))


def test_atomics():
    @cuda.jit
    def count(values, counts, extremes, total):
        i = cuda.grid(1)
        if i < values.size:
            cuda.atomic.add(counts, values[i], 1)
            cuda.atomic.max(extremes, 0, values[i])
            cuda.atomic.min(extremes, 1, values[i])
            cuda.atomic.add(total, 0, float(values[i]) / 2)
    values = rng.integers(0, 10, 100)
    counts, extremes, total = np.zeros(10, np.int64), np.array([-1, 99]), np.zeros(1)
    run(count, 4, 32, values, counts, extremes, total)
    np.testing.assert_array_equal(counts, np.bincount(values, minlength=10))
    assert list(extremes) == [values.max(), values.min()]
    assert total[0] == values.sum() / 2


def test_float_extremes_and_compare_and_swap():
    @cuda.jit
    def extremes(x, out, first):
        i = cuda.grid(1)
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.min(out, 1, x[i])
        cuda.atomic.cas(first, 0, -1, i)
    x = rng.standard_normal(64)
    out, first = np.array([-10.0, 10.0]), np.array([-1], np.int64)
    run(extremes, 2, 32, x, out, first)
    assert list(out) == [x.max(), x.min()] and 0 <= first[0] < 64


def test_warp_functions():
    @cuda.jit
    def warp(x, sums, ballots, neighbours):
        t = cuda.threadIdx.x
        value = x[t]
        for offset in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xffffffff, value, offset)
        if t % 32 == 0:
            sums[t // 32] = value
        ballots[t] = cuda.ballot_sync(0xffffffff, x[t] > 0.5)
        neighbours[t] = cuda.shfl_xor_sync(0xffffffff, x[t], 1)
    x = rng.random(64)
    sums, ballots, neighbours = np.zeros(2), np.zeros(64, np.uint32), np.zeros(64)
    run(warp, 1, 64, x, sums, ballots, neighbours)
    np.testing.assert_allclose(sums, x.reshape(2, 32).sum(1))
    bits = (x.reshape(2, 32) > 0.5) @ (1 << np.arange(32, dtype=np.int64))
    np.testing.assert_array_equal(ballots, np.repeat(bits, 32))
    np.testing.assert_array_equal(neighbours, x.reshape(-1, 2)[:, ::-1].ravel())


def test_vector_types():
    @cuda.jit
    def vectors(out):
        v = cuda.float32x3(1.0, 2.0, 3.0)
        w = cuda.float32x3(v.z, v.y, v.x)
        out[0], out[1], out[2] = w.x, w.y, w.z
    out = np.zeros(3, np.float32)
    run(vectors, 1, 1, out)
    np.testing.assert_array_equal(out, [3, 2, 1])


def test_half_precision():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        x[i] = x[i] + x[i]
    x = rng.random(8).astype(np.float16)
    expected = x + x
    run(double, 1, 8, x)
    np.testing.assert_array_equal(x, expected)


def test_fast_mathematics():
    @cuda.jit(fastmath=True)
    def fast(x):
        i = cuda.grid(1)
        x[i] = math.exp(math.sin(x[i])) / (1 + x[i])
    x = rng.random(8).astype(np.float32)
    expected = np.exp(np.sin(x)) / (1 + x)
    run(fast, 1, 8, x)
    np.testing.assert_allclose(x, expected, rtol=1e-5)


def test_lists_of_arrays_are_tuples_and_methods_can_be_kernels():
    class Model:
        rate = 3.0

        def step(self, x):
            update[1, x.size](x, self.rate)

    @cuda.jit
    def update(x, rate):
        x[cuda.threadIdx.x] += rate

    @reactant.jit
    def f(x):
        Model().step(x)
        return x.sum()
    x = np.zeros(4)
    assert f(x) == 12.0 and (x == 3).all()


# ---- the oracle: Numba's own simulator -------------------------------------------------------------------------

SIMULATED = """
import math, sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def kernel(x, y, counts):
    tile = cuda.shared.array((8, 9), float32)
    i, j = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[tx, ty] = x[i, j] if i < x.shape[0] and j < x.shape[1] else 0.0
    cuda.syncthreads()
    if i < x.shape[0] and j < x.shape[1]:
        total = 0.0
        for k in range(-2, 3):
            if 0 <= ty + k < 8:
                total += tile[tx, ty + k] * (3 - abs(k))
        y[i, j] = math.sin(total) if (i + j) % 3 else -total
        cuda.atomic.add(counts, int(abs(total)) % 5, 1)
"""


@pytest.mark.slow
def test_agrees_with_the_simulator(tmp_path):
    x = rng.standard_normal((13, 11)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    script = tmp_path / "simulated.py"
    script.write_text(SIMULATED)
    driver = f"""
import numpy as np, sys
sys.path.insert(0, {str(tmp_path)!r})
from simulated import kernel
x = np.load({str(tmp_path / 'x.npy')!r})
y, counts = np.zeros_like(x), np.zeros(5, np.int64)
kernel[(2, 2), (8, 8)](x, y, counts)
np.savez({str(tmp_path / 'out.npz')!r}, y=y, counts=counts)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", driver], check=True, timeout=120,
                   env={"NUMBA_ENABLE_CUDASIM": "1", "PATH": "/usr/bin:/bin"})
    expected = np.load(tmp_path / "out.npz")
    sys.path.insert(0, str(tmp_path))
    try:
        from simulated import kernel
    finally:
        sys.path.remove(str(tmp_path))
    y, counts = np.zeros_like(x), np.zeros(5, np.int64)
    run(kernel, (2, 2), (8, 8), x, y, counts)
    np.testing.assert_allclose(y, expected["y"], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(counts, expected["counts"])


# ---- Numba is left as it was -----------------------------------------------------------------------------------

def test_numba_is_as_before():
    import llvmlite.ir.types as llvm_types
    from numba.cuda import dispatcher
    before = dispatcher.get_current_device, dispatcher.compile_cuda, llvm_types.ir_layer_typed_pointers_enabled
    run(add_number, 1, 8, np.zeros(3, np.int16), 1)
    assert before == (dispatcher.get_current_device, dispatcher.compile_cuda,
                      llvm_types.ir_layer_typed_pointers_enabled)


def test_several_threads_compile():
    def make(k):
        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            x[i] += k + i
        return kernel
    results = [np.zeros(4) for _ in range(3)]
    workers = [threading.Thread(target=run, args=(make(k), 1, 4, results[k])) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result, k + np.arange(4))


# ---- errors ----------------------------------------------------------------------------------------------------

def test_wrong_number_of_arguments():
    with pytest.raises(reactant.ReactantError, match=r"'add_number\(x, value\)' takes 2 arguments, 1 given"):
        run(add_number, 1, 1, np.zeros(1))


def test_typing_errors_are_numbas_own():
    from numba.cuda.core.errors import TypingError

    @cuda.jit
    def wrong(x):
        x[0] = x.no_such_attribute
    with pytest.raises(TypingError, match="no_such_attribute"):
        run(wrong, 1, 1, np.zeros(1))


def test_what_numba_does_not_compile_is_said():
    @cuda.jit
    def k(x):
        x[0] = np.exp(x[0])
    with pytest.raises(reactant.errors.UnsupportedError, match="Numba-CUDA does not compile the kernel 'k'.*exp"):
        reactant.kernel(k)[1, 1](np.ones(1))


def test_device_functions_cannot_be_launched():
    with pytest.raises(reactant.UnsupportedError, match="'square' is a device function"):
        reactant.kernel(square)


def test_printing_is_refused_with_its_line():
    @cuda.jit
    def noisy(x):
        print(x[0])
    with pytest.raises(reactant.UnsupportedError, match=r"printf.*nowhere to print") as caught:
        run(noisy, 1, 1, np.zeros(1))
    assert "test_numba_cuda.py" in str(caught.value)


@pytest.mark.parametrize("function, arguments", [("dadd_rz", 2), ("fmul_rd", 2), ("dsqrt_ru", 1),
                                                 ("double2float_rz", 1)])
def test_other_roundings_are_refused(function, arguments):
    rounded = getattr(cuda.libdevice, function)

    @cuda.jit
    def two(x):
        x[1] = rounded(x[0], x[0])

    @cuda.jit
    def one(x):
        x[1] = rounded(x[0])
    with pytest.raises(reactant.UnsupportedError, match=f"(?s){function}'.*test_numba_cuda.py.*round to nearest only"):
        reactant.kernel(two if arguments == 2 else one)[1, 1](np.zeros(2))


def test_recursion_is_refused():
    @cuda.jit("int64(int64)", device=True) if False else cuda.jit(device=True)
    def down(n):
        if n <= 0:
            return 0
        return n + down(n - 1)

    @cuda.jit
    def outer(x):
        x[0] = down(x[0])
    with pytest.raises(Exception, match="recurs|calls itself|type inference|TypingError"):
        run(outer, 1, 1, np.array([3]))


@pytest.mark.parametrize("argument, message", [
    ("text", "a str|takes arrays and numbers"), (None, "NoneType|takes arrays and numbers"),
    (np.array(["a"]), "dtype <U1"), (np.array([1, None], object), "dtype object"),
    (np.arange(3.0).astype(">f8"), "bytes of their elements swapped")], ids=repr)
def test_arguments_no_kernel_takes(argument, message):
    with pytest.raises(reactant.ReactantError, match=message):
        run(add_number, 1, 1, argument, 1)


# ---- kernels with signatures -----------------------------------------------------------------------------------

def test_signatures_need_no_gpu():
    with reactant.cuda.without_gpu():
        @cuda.jit("float32(float32)", device=True)
        def half(x):
            return x / 2

        @cuda.jit("void(float32[:], int32, float32)")
        def declared(x, n, factor):
            i = cuda.grid(1)
            if i < n:
                x[i] = half(x[i]) * factor
    x = np.ones(5, np.float32)
    run(declared, 1, 8, x, 4, 3)
    np.testing.assert_array_equal(x, [1.5, 1.5, 1.5, 1.5, 1])
    run(declared, 1, 8, x[::2], np.int8(1), 2.0)
    with pytest.raises(reactant.ReactantError, match="was declared for .array.float32, 1d, A., int32, float32."):
        run(declared, 1, 8, np.ones(5), 4, 3)


def test_linked_sources(tmp_path):
    (tmp_path / "more.cuh").write_text("#define OFFSET 5\n")
    (tmp_path / "functions.cu").write_text('#include "more.cuh"\nextern "C" __device__ int shifted(int *out, int x) '
                                           "{ *out = x + OFFSET; return 0; }\n")
    shifted = cuda.declare_device("shifted", "int32(int32)", link=str(tmp_path / "functions.cu"))

    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = shifted(x[cuda.threadIdx.x])
    x = np.arange(4, dtype=np.int32)
    run(kernel, 1, 4, x)
    np.testing.assert_array_equal(x, np.arange(4) + 5)
