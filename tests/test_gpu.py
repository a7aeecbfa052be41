"""What needs an accelerator; run with `python -m pytest -m gpu` on a machine that has one."""
from __future__ import annotations

import importlib.util

import jax
import numpy as np
import pytest

import reactant
from tests.frontends.control.test_loop_arrays import left_in_a_while
from tests.oracle import assert_same

pytestmark = pytest.mark.gpu


def relax(field, tolerance):
    iterations = 0
    while True:
        before = field.copy()
        field[1:-1, 1:-1] = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])
        iterations += 1
        if np.abs(field - before).max() < tolerance:
            return iterations


def products(x, y):
    return x @ y, np.linalg.solve(x @ x.T + np.eye(len(x)), y), np.sort(x, axis=0), np.fft.rfft(y, axis=0)


@pytest.fixture
def gpu():
    (device, *_) = jax.devices("gpu")
    with jax.default_device(device):
        yield device


def test_numpy_in_numpy_out(gpu):
    plain, compiled = np.random.default_rng(0).random((40, 50)), np.random.default_rng(0).random((40, 50))
    assert relax(plain, 1e-3) == reactant.jit(relax)(compiled, 1e-3)
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)


def test_linear_algebra(gpu):
    x, y = np.random.default_rng(1).random((20, 20)), np.random.default_rng(2).random((20, 3))
    assert_same(products(x, y), reactant.jit(products)(x, y), rtol=1e-8, atol=1e-10)


def test_loops_called_with_other_arguments(gpu):
    compiled, x = reactant.jit(left_in_a_while), np.arange(5.0) / 3
    for least in (0, 1, 3, 40, 40, 3, 20):
        assert_same(left_in_a_while(x.copy(), least), compiled(x.copy(), least))


def test_incomplete_gamma_functions(gpu):
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.3, 9, 7)
    for f in (special.gammainc, special.gammaincc):
        compiled = reactant.jit(lambda a, x, f=f: f(a, x))
        for a in (x / 2, x, 2 * x):
            assert_same(f(a, x), compiled(a, x), rtol=1e-9)


@pytest.mark.parametrize("function", [
    lambda x: x.astype(np.float32).astype(np.float64) * 3, lambda x: x.astype(np.float16).astype(np.float32) + 1,
    lambda x: x + 1e16 - 1e16, lambda x: x * 1e-200 * 1e200, lambda x: 1e16 - (1e16 - x)])
def test_values_have_the_digits_of_their_dtype(gpu, function):
    x = np.random.default_rng(5).random(100)
    np.testing.assert_array_equal(reactant.jit(function)(x), function(x))


def decompositions(a, b):
    """Of each kind that a GPU's libraries have, and eigenvalues, which the host's LAPACK has."""
    definite = a @ a.T + np.eye(len(a))
    values, vectors = np.linalg.eigh(definite)
    q, r = np.linalg.qr(b)
    u, s, vh = np.linalg.svd(b, full_matrices=False)
    return (np.linalg.cholesky(definite), values, (vectors * values) @ vectors.T, q @ r, (u * s) @ vh, np.linalg.det(a),
            np.sum(np.linalg.eigvals(a)), np.linalg.lstsq(b, a, rcond=None)[0], np.linalg.inv(definite))


def loss(a, b):
    return sum(np.sum(np.real(x) ** 2) for x in decompositions(a, b))


def test_decompositions(gpu):
    a, b = np.random.default_rng(3).random((6, 6)), np.random.default_rng(4).random((6, 4))
    assert_same(decompositions(a, b), reactant.jit(decompositions)(a, b), rtol=1e-8, atol=1e-8)


def test_derivatives_of_decompositions(gpu):
    a, b = np.random.default_rng(3).random((6, 6)), np.random.default_rng(4).random((6, 4))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = reactant.grad(loss, argnums=(0, 1))(a, b)
    assert_same(expected, reactant.grad(loss, argnums=(0, 1))(a, b), rtol=1e-7, atol=1e-7)


def test_what_cannot_be_solved(gpu):
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        reactant.jit(np.linalg.inv)(np.ones((4, 4)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        reactant.jit(np.linalg.cholesky)(-np.eye(4))


def sums(x):
    """Cumulative ones, along each axis, from behind, of products, and of sums again."""
    return (np.cumsum(x), np.cumsum(x, axis=0), np.cumsum(x[:, ::-1], axis=1)[:, ::-1], np.cumprod(x, axis=1),
            np.cumsum(np.cumsum(x, axis=1) > 2, axis=0), np.add.accumulate(x, axis=-1, dtype="float32"))


def test_cumulative_sums(gpu):
    x = np.random.default_rng(5).random((7, 300))
    assert_same(sums(x), reactant.jit(sums)(x), rtol=1e-5)
    weights = np.random.default_rng(6).random((7, 300))
    found = reactant.grad(lambda x: np.sum(np.cumsum(x, axis=1) * weights))(x)
    np.testing.assert_allclose(found, np.cumsum(weights[:, ::-1], axis=1)[:, ::-1], rtol=1e-9)


@pytest.mark.parametrize("shape, axis, dtype", [
    ((7,), 0, "float32"), ((3, 50), 1, "float64"), ((40, 3), 0, "float32"), ((2, 3, 400), 2, "float32"),
    ((4, 5), 0, "int32"), ((9,), 0, "float16"), ((5,), 0, "complex64"), ((1,), 0, "float32"), ((0, 3), 1, "float32")])
def test_cumulative_sums_of_jax(gpu, shape, axis, dtype):
    """jax lowers them as the library's there (`reactant.ir.gpu_scans`); we hold them as windows."""
    def total(x):
        return jax.numpy.cumsum(x, axis=axis) * 2, jax.lax.cumsum(x, axis=axis, reverse=True)
    with jax.enable_x64(True):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        rtol = 1e-3 if dtype == "float16" else 1e-6
        theirs, ours = jax.jit(total)(x), reactant.jit(total, frontend="jax")(x)
        assert_same([*map(np.asarray, theirs)], [*map(np.asarray, ours)], rtol=rtol)
        if dtype.startswith("float"):
            def loss(x):
                return (total(x)[0] * x).sum()
            assert_same([np.asarray(jax.grad(loss)(x))], [np.asarray(reactant.grad(loss)(x))], rtol=rtol)


def test_device_arrays_stay_on_the_device(gpu):
    x = reactant.array(np.arange(6.0))
    result = reactant.jit(lambda a: a * 2)(x)
    assert gpu in result.jax.devices()
    np.testing.assert_array_equal(np.asarray(result), np.arange(6.0) * 2)


def test_the_device_is_listed(gpu):
    assert any(device.platform == "gpu" for device in reactant.devices())


# ---- kernels as themselves -----------------------------------------------------------------------------------------

def kernel_cases():
    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("ziglang") is None:
        return []
    from tests.kernels.test_corpus import CASES
    return CASES


@pytest.mark.parametrize("lower", ["native", "auto"])
@pytest.mark.parametrize("frontend", ["cuda", "numba"])
@pytest.mark.parametrize("case", kernel_cases(), ids=lambda case: case.name)
def test_kernels(gpu, case, frontend, lower):
    """PTX ("native") and tensor programs on the GPU, against NumPy."""
    case.check(frontend, lower)


def test_kernels_change_memory_in_place(gpu):
    """A kernel between array code, in a loop, on views, with a run-time number; and what it wrote is seen after."""
    cuda = pytest.importorskip("numba.cuda")

    @cuda.jit
    def add(x, y, s):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += s * y[i]

    launch = reactant.kernel(add, lower="native")[2, 32]

    def program(a, s):
        for _ in range(3):
            a = a * 2
            launch(a[1::2], a[::2], s)
        return a.sum(), a

    expected = np.arange(40.0)
    for _ in range(3):
        expected = expected * 2
        expected[1::2] += 0.5 * expected[::2]
    total, found = reactant.jit(program)(np.arange(40.0), 0.5)
    np.testing.assert_array_equal(found, expected)
    assert total == expected.sum()


@pytest.mark.parametrize("bytes_of_shared_memory", [1000, 60_000])
def test_what_threads_do_together(gpu, bytes_of_shared_memory):
    """Shuffles, votes, matches, barriers that reduce, atomics, dynamic shared memory beyond 48 KiB."""
    pytest.importorskip("ziglang")      # with which test_ptx compiles
    test_ptx = pytest.importorskip("tests.kernels.ptx.test_ptx")    # it needs numba-cuda and ziglang
    kernel = reactant.kernel(reactant.cuda.load(test_ptx.TOGETHER).together, lower="native")
    found, expected = test_ptx.together_arguments(), test_ptx.together_arguments()
    kernel[1, (16, 4), 0, bytes_of_shared_memory](*found, 64)
    with jax.default_device(jax.devices("cpu")[0]):
        kernel[1, (16, 4), 0, bytes_of_shared_memory](*expected, 64)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
