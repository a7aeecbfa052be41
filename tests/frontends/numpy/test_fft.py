"""numpy.fft compiled against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

RANDOM = np.random.default_rng(9)
REAL, COMPLEX = RANDOM.normal(size=12), RANDOM.normal(size=9) + 1j * RANDOM.normal(size=9)
CUBE = RANDOM.normal(size=(3, 4, 5)) + 1j * RANDOM.normal(size=(3, 4, 5))
REAL_CUBE = RANDOM.normal(size=(3, 4, 5))
DEEP = RANDOM.normal(size=(2, 3, 2, 3, 4))
NORMS = [None, "backward", "ortho", "forward"]


def identity_of(x):
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else getattr(x, "__name__", str(x))


def close(f, *args):
    single = any(isinstance(a, np.ndarray) and a.dtype in (np.float16, np.float32, np.complex64) for a in args)
    return check(f, *args, rtol=1e-4 if single else 1e-10, atol=1e-3 if single else 1e-12)


COMPLEX_INPUT = [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft]
REAL_INPUT = [np.fft.rfft, np.fft.ihfft]


@pytest.mark.parametrize("norm", [*NORMS, "bad"])
@pytest.mark.parametrize("n", [None, 1, 2, 7, 16, 30, 0, -3])
@pytest.mark.parametrize("f", COMPLEX_INPUT + REAL_INPUT, ids=identity_of)
def test_lengths_and_norms(f, n, norm):
    close(lambda x: f(x, n, norm=norm), REAL if f in REAL_INPUT else COMPLEX)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64, np.complex64,
                                   np.complex128])
@pytest.mark.parametrize("f", COMPLEX_INPUT + REAL_INPUT, ids=identity_of)
def test_dtypes(f, dtype):
    """Precision is kept, everything else is double; real transforms refuse complex input."""
    with np.errstate(all="ignore"):
        close(lambda x: f(x), (3 * REAL).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("norm", ["ortho", "forward"])
def test_norm_keeps_single_precision(dtype, norm):
    close(lambda x: (np.fft.fft(x, norm=norm), np.fft.irfft(x, norm=norm)), REAL.astype(dtype))


@pytest.mark.parametrize("axis", [0, 1, -1, 5])
@pytest.mark.parametrize("f", COMPLEX_INPUT + REAL_INPUT, ids=identity_of)
def test_axes(f, axis):
    close(lambda x: f(x, 6, axis), REAL_CUBE if f in REAL_INPUT else CUBE)


SEVERAL = {name: getattr(np.fft, name)
           for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("options", [
    {}, {"axes": (0, 1)}, {"axes": (2, 0)}, {"axes": (1, 2), "s": (5, 3)}, {"axes": (0, -1), "s": (2, 8)},
    {"axes": (0, 1), "s": (-1, 3)}, {"axes": (1, 1)}, {"axes": (0, 1, 1)}, {"axes": (0, 2), "s": (2,)},
    {"axes": (7, 0)}, {"axes": (0,)}, {"axes": ()}, *({"norm": n} for n in ("ortho", "forward", "bad"))], ids=str)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name, options):
    f = SEVERAL[name]
    close(lambda x: f(x, **options), REAL_CUBE if name.startswith("r") else CUBE)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_more_than_three_axes(name):
    f = SEVERAL[name]
    close(lambda x: (f(x), f(x, axes=(3, 0, 4, 1)), f(x, axes=(4, 3, 2, 1, 0), norm="ortho")), DEEP)


def test_two_dimensional_transform_is_one_operation():
    text = reactant.jit(lambda x: np.fft.fft2(x)).lower(CUBE[0]).as_text()
    assert text.count("stablehlo.fft") == 1


@pytest.mark.parametrize("f, x", [
    (np.fft.fft, np.zeros((0, 3))), (np.fft.fft, np.zeros(0)), (np.fft.rfft, np.zeros((0, 4))),
    (np.fft.irfft, np.zeros((2, 0, 3))), (np.fft.irfft, np.ones(1)), (np.fft.fft, np.float64(2.0)),
    (np.fft.fft2, np.ones(3)), (np.fft.fftn, np.zeros((0, 2)))], ids=identity_of)
def test_empty_and_too_small(f, x):
    close(lambda x: f(x), x)


@pytest.mark.parametrize("f", [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.ihfft], ids=identity_of)
@pytest.mark.parametrize("out", [np.zeros(12, complex), np.zeros(7, complex), np.zeros(12, np.complex64),
                                 np.zeros((2, 7), complex)], ids=identity_of)
def test_out(f, out):
    def into(x, out):
        result = f(x, out=out)
        return result is out
    close(into, REAL, out)


def test_out_of_a_dtype_that_cannot_hold_the_result():
    def into(x, out):
        np.fft.fft(x, out=out)
    for call in (into, reactant.jit(into)):
        with pytest.raises(TypeError, match="Cannot cast ufunc .fft. output from dtype.*complex128.* to .*float64"):
            call(REAL, np.zeros(12))


def test_out_of_inverse_real_and_several_axes():
    def into(x, real, full):
        np.fft.irfft(x, 8, out=real)
        np.fft.fft2(np.ones((2, 3)) * x[0], out=full)
    close(into, COMPLEX, np.zeros(8), np.zeros((2, 3), complex))


@pytest.mark.parametrize("f", [np.fft.fftshift, np.fft.ifftshift], ids=identity_of)
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), [1], 4])
def test_shifts(f, axes):
    close(lambda x: f(x, axes), REAL_CUBE)


def test_frequencies_of_a_number_in_an_array():
    check(lambda x: x[0] * np.fft.fftfreq(np.array([4, 5])[0]), np.ones(3))


@pytest.mark.parametrize("f", [np.fft.fftfreq, np.fft.rfftfreq], ids=identity_of)
@pytest.mark.parametrize("n", [1, 8, 9, 300])
def test_frequencies(f, n):
    check(lambda n, d: (f(n, d), f(n), f(n, d=0.1)), n, 0.25, rtol=1e-15)


def test_spectral_derivative():
    def derivative(u, length):
        k = 2j * np.pi * np.fft.fftfreq(u.size, length / u.size)
        return np.fft.ifft(k * np.fft.fft(u)).real
    x = np.linspace(0, 1, 64, endpoint=False)
    found = reactant.jit(derivative)(np.sin(2 * np.pi * x), 1.0)
    np.testing.assert_allclose(found, 2 * np.pi * np.cos(2 * np.pi * x), atol=1e-10)
    close(derivative, np.sin(2 * np.pi * x), 1.0)
