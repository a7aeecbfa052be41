"""Launches as parts of compiled functions: views, loops, several kernels on one array, what explain and check say."""
import math
import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ConstantWriteError, Span
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.lockstep import tensors

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

rng = np.random.default_rng(3)


@cuda.jit
def axpy(y, x, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def shifted(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = x[i + 1]


def launched(program, *arguments):
    """(what the compiled program gives, what its arguments hold afterwards)."""
    return reactant.jit(program)(*arguments), arguments


# ---- inside compiled functions ---------------------------------------------------------------------------------

def test_views_of_arrays_made_inside():
    def program(x):
        y = np.zeros((4, 6))
        axpy[1, 8](y[1], x[:6], 1.0)
        axpy[1, 8](y[:, 2], x[:4], 10.0)
        axpy[1, 8](y[::2, ::-1][1], x[:6], 100.0)
        axpy[1, 8](y.T[5, 1:], x[1:4], 1000.0)
        return y
    x = rng.random(8)
    y = np.zeros((4, 6))
    y[1] += x[:6]
    y[:, 2] += 10 * x[:4]
    y[2, ::-1] += 100 * x[:6]
    y[1:, 5] += 1000 * x[1:4]
    np.testing.assert_allclose(launched(program, x)[0], y)


def test_one_array_twice_and_overlapping_views():
    def program(x):
        axpy[1, 32](x, x, 1.0)
        axpy[1, 8](x[4:8], x[:4], 1.0)
    x = np.arange(10.0)
    launched(program, x)
    expected = 2 * np.arange(10.0)
    expected[4:8] += expected[:4]
    np.testing.assert_array_equal(x, expected)


def test_a_loop_with_ping_pong_buffers():
    def program(a, b, steps):
        for _ in range(steps):
            axpy[math.ceil(len(a) / 32), 32](a, b, 0.1)
            a, b = b, a
        return a
    a, b = rng.random(40), rng.random(40)
    x, y = a.copy(), b.copy()
    for _ in range(300):
        x += 0.1 * y
        x, y = y, x
    np.testing.assert_allclose(launched(program, a, b, 300)[0], x)


def test_rows_chosen_at_run_time():
    def program(u, n):
        t = 0
        while t < n:
            axpy[1, 8](u[t + 1], u[t], 0.5)
            t += 1
        return t
    u = rng.random((6, 5))
    expected = u.copy()
    for t in range(4):
        expected[t + 1] += 0.5 * expected[t]
    launched(program, u, np.int64(4))
    np.testing.assert_allclose(u, expected)


def test_a_length_that_only_the_run_decides():
    def program(x, y):
        for t in range(len(x)):
            axpy[1, 4](y, x[t:], 1.0)
    with pytest.raises(reactant.ReactantError, match="'x' has a length that only run-time values decide"):
        reactant.jit(program)(np.ones(60), np.ones(60))


def test_branches():
    def program(x, y):
        if x[0] > 0:
            axpy[1, 8](y, x, 1.0)
        else:
            axpy[1, 8](y, x, -2.0)
    for sign in (1, -1):
        x, y = sign * np.arange(1.0, 6), np.zeros(5)
        launched(program, x, y)
        np.testing.assert_array_equal(y, x if sign > 0 else -2 * x)


def test_dtypes_that_programs_have_and_kernels_do_not():
    @cuda.jit
    def mixed(flags, counts, numbers):
        i = cuda.grid(1)
        flags[i] = not flags[i]
        counts[i] = counts[i] // 2
        numbers[i] = numbers[i] * 1j

    def program(flags, counts, numbers):
        mixed[1, 4](flags, counts, numbers)
        return numbers.real.sum()
    flags, counts = np.array([True, False, True, True]), np.array([250, 3, 128, 7], np.uint8)
    numbers = np.arange(4) + 1j
    launched(program, flags, counts, numbers)
    assert flags.tolist() == [False, True, False, False] and counts.tolist() == [125, 1, 64, 3]
    np.testing.assert_array_equal(numbers, (np.arange(4) + 1j) * 1j)


def test_parts_of_complex_arrays_and_other_dtypes_of_one_memory():
    def program(z, f):
        axpy[1, 8](z.real, z.imag, 2.0)
        axpy[1, 8](f.view(np.int32), np.ones(3, np.int32), 1)
    z, f = np.arange(3) + 1j, np.zeros(3, np.float32)
    launched(program, z, f)
    np.testing.assert_array_equal(z, np.arange(3) + 2 + 1j)
    np.testing.assert_array_equal(f.view(np.int32), 1)


def test_run_time_numbers():
    def program(y, x, a):
        axpy[1, 8](y, x, a)
        axpy[1, 8](y, x, np.sqrt(a))
    x, y = rng.random(4), np.zeros(4)
    launched(program, y, x, 4.0)
    np.testing.assert_allclose(y, 6 * x)


def test_the_host_side_of_numba():
    def program(x):
        d = cuda.to_device(x)
        out = cuda.device_array_like(d)
        more = cuda.device_array(5, dtype=np.float64)
        stream = cuda.stream()
        with stream.auto_synchronize():
            axpy.forall(5)(out, d, 2.0)
            axpy[1, 8, stream](more, out, 1.0)
        cuda.synchronize()
        d[0] = 100.0
        return out.copy_to_host(), more
    x = rng.random(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (out, more), _ = launched(program, x)
    np.testing.assert_allclose(out, 2 * x)
    np.testing.assert_allclose(more, 2 * x)


def test_device_arrays_are_copied_to_and_from():
    def program(x, host):
        d = cuda.to_device(x)
        out = cuda.device_array(x.shape, x.dtype)
        out.copy_to_device(np.ones(6))
        axpy[1, 8](out[1:5], d[::2].bind(cuda.stream()), 2.0)
        out[:3].copy_to_host(host, stream=cuda.stream())
        copied = out.copy_to_host()
        out[0] = 100.0
        return copied, d.is_c_contiguous() and cuda.is_cuda_array(d)
    x, host = rng.random(8), np.zeros(3)
    with pytest.raises(ValueError, match="shape"):
        reactant.jit(program)(x, host)
    x = rng.random(6)
    (copied, asked), _ = launched(program, x, host)
    expected = np.ones(6)
    expected[1:4] += 2 * x[::2]
    assert asked
    np.testing.assert_allclose(copied, expected)
    np.testing.assert_allclose(host, expected[:3])


@pytest.mark.slow
def test_numbas_reductions():
    largest = cuda.Reduce(lambda a, b: max(a, b))

    def program(x):
        out = cuda.device_array(1, x.dtype)
        largest(x[::3], res=out, init=-1.0)
        return largest(x), out.copy_to_host()
    x = rng.random(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found, out), _ = launched(program, x)
    assert (found, out[0]) == (x.max(), x[::3].max())


def test_launch_configurations_made_outside():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        configured = axpy[1, 8]

    def program(y, x):
        configured(y, x, 3.0)
    x, y = rng.random(4), np.zeros(4)
    launched(program, y, x)
    np.testing.assert_allclose(y, 3 * x)


def test_arrays_from_outside_are_constants():
    table = np.arange(4.0)

    def reads(y):
        axpy[1, 8](y, table, 1.0)

    def writes(y):
        axpy[1, 8](table, y, 1.0)
    y = np.zeros(4)
    launched(reads, y)
    np.testing.assert_array_equal(y, table)
    with pytest.raises(ConstantWriteError, match="made outside the function"):
        launched(writes, y)


# ---- device arrays ---------------------------------------------------------------------------------------------

def test_device_arrays():
    import jax.numpy as jnp
    x, y = reactant.array(np.arange(4.0)), reactant.array(np.ones(4))
    reactant.kernel(axpy)[1, 8](y, x, 2.0)
    np.testing.assert_array_equal(np.asarray(y), 1 + 2 * np.arange(4))
    reactant.kernel(axpy)[1, 8](y, jnp.ones(4, jnp.float32), 1.0)
    with pytest.raises(reactant.ReactantError, match="cannot change"):
        reactant.kernel(axpy)[1, 8](jnp.ones(4), x, 2.0)


# ---- which path, and why ---------------------------------------------------------------------------------------

@cuda.jit
def first_come(order, ticket):
    i = cuda.grid(1)
    seen = ticket[0]
    while True:
        assumed = seen
        seen = cuda.atomic.cas(ticket, 0, assumed, 2 * assumed + 1)
        if seen == assumed:
            break
    order[i] = seen


def test_paths():
    x, y = np.ones(4), np.zeros(4)
    for path in ("tensor", "native", "auto"):
        reactant.kernel(axpy, lower=path)[1, 8](y, x, 1.0)
    np.testing.assert_array_equal(y, 3)
    assert reactant.kernel(axpy)[1, 8].explain(y, x, 1.0) == "axpy: raised to a tensor program"
    assert reactant.kernel(axpy, lower="native")[1, 8].explain(y, x, 1.0).startswith("axpy: compiled for the CPU")


def test_kernels_that_are_no_tensor_programs_say_why(monkeypatch):
    def refuse(module, name="main", skipped=()):
        raise tensors.NotRaised("its lanes disagree", Span("somewhere.py", 7))
    monkeypatch.setattr(tensors, "raised", refuse)
    ticket, order = np.zeros(1, np.int64), np.zeros(8, np.int64)
    with pytest.raises(reactant.UnsupportedError, match=r"(?s)'first_come' is no tensor program: its lanes disagree.\n"
                                                        r"  --> somewhere.py:7.*hint: With lower=\"auto\""):
        reactant.kernel(first_come, lower="tensor")[2, 4](order, ticket)
    said = reactant.kernel(first_come)[2, 4].explain(order, ticket)
    assert said == "first_come: compiled for the CPU\n  somewhere.py:7: its lanes disagree"
    reactant.kernel(first_come)[2, 4](order, ticket)
    assert ticket[0] == 255 and sorted(order) == [2**k - 1 for k in range(8)]


def test_a_mistake_while_raising_is_no_reason_not_to_run(monkeypatch):
    def fail(module, name="main"):
        raise KeyError("some axis")
    monkeypatch.setattr(tensors, "raised", fail)
    x, y = np.ones(4), np.zeros(4)
    launch = reactant.kernel(axpy)[3, 8]
    assert launch.explain(y, x, 1.0) == "axpy: compiled for the CPU\n  raising it failed: KeyError: 'some axis'"
    launch(y, x, 1.0)
    np.testing.assert_array_equal(y, 1)
    with pytest.raises(KeyError):
        reactant.kernel(axpy, lower="tensor")[3, 8](y, x, 1.0)


def test_explain_of_a_program_tells_of_its_launches():
    def program(y, x):
        axpy[1, 8](y, x, 1.0)
    said = str(reactant.explain(program, np.zeros(4), np.ones(4)))
    assert "axpy: raised to a tensor program" in said


def test_launches_are_fused_with_the_program():
    def program(y, x):
        axpy[1, 8](y, x * 2, 1.0)
        axpy[1, 8](y, x * 2, 1.0)
        return y + 1
    operations = reactant.jit(program).lower(np.zeros(8), np.ones(8)).operations()
    assert "stablehlo.scatter" not in operations and "stablehlo.gather" not in operations
    assert sum(operations.values()) <= 8


def test_the_record_of_a_launch():
    record = reactant.kernel(axpy)[2, 8].record(np.zeros(9), np.ones(18)[::2], 2.0)
    assert (record.name, record.frontend, record.grid, record.block) == ("axpy", "numba", (2, 1, 1), (8, 1, 1))
    assert [(p.name, p.dtype) for p in record.parameters] == [("y", np.float64), ("x", np.float64), ("a", np.float64)]
    assert [b.written for b in record.buffers] == [True, False] and record.buffers[1].shape == (18,)
    assert record.source.endswith("test_launch.py") and record.threads == 16


# ---- accesses outside arrays -----------------------------------------------------------------------------------

def test_certain_accesses_outside_are_errors_at_compile_time():
    with pytest.raises(OutOfBounds, match="(?s)x.*10 elements.*test_launch.py"):
        reactant.kernel(shifted)[1, 16](np.zeros(10), 10)


def test_checked_launches():
    k = reactant.kernel(shifted, check=True)
    x = np.arange(10.0)
    k[1, 16](x, 9)
    np.testing.assert_array_equal(x[:9], np.arange(1, 10))

    @cuda.jit
    def gather(y, x, index):
        i = cuda.grid(1)
        y[i] = x[index[i]]
    index = np.array([0, 3, 12, 1])
    with pytest.raises(OutOfBounds, match=r"The kernel 'gather' reads outside 'x', which has 10 elements, at .*:\d+"):
        reactant.kernel(gather, check=True)[1, 4](np.zeros(4), x, index)

    def program(x, index):
        y = np.zeros(4)
        reactant.kernel(gather, check=True)[1, 4](y, x, index)
        return y
    np.testing.assert_array_equal(launched(program, x, np.array([0, 1, 2, 3]))[0], x[:4])
    with pytest.raises(OutOfBounds, match="reads outside 'x'"):
        launched(program, x, index)
    with pytest.raises(reactant.UnsupportedError, match="only as native code"):
        reactant.kernel(gather, lower="tensor", check=True)[1, 4](np.zeros(4), x, index)


# ---- derivatives -----------------------------------------------------------------------------------------------

@cuda.jit
def gathered(values, columns, starts, x, y, n):
    i = cuda.grid(1)
    if i < n:
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * math.sin(x[columns[k]])
        y[i] = total


def test_derivatives_take_tensor_programs():
    columns, starts = rng.integers(0, 30, 90), np.arange(0, 93, 3)
    values, x = rng.random(90), rng.random(30)

    def loss(x):
        y = np.zeros(30)
        gathered[1, 32](values, columns, starts, x, y, 30)
        return (y ** 2).sum()
    gradient = reactant.grad(loss)(x)
    y = (values * np.sin(x[columns])).reshape(30, 3).sum(1)
    expected = np.zeros(30)
    np.add.at(expected, columns, np.repeat(2 * y, 3) * values * np.cos(x[columns]))
    np.testing.assert_allclose(gradient, expected)
