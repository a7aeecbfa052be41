"""cuFFT against NumPy's transforms in double precision."""
import numpy as np
import pytest

from tests.cuda_programs.libraries.series import numbers

pytestmark = pytest.mark.slow
KINDS = {"forward": "c", "inverse": "c", "real": "r", "back": "h"}


@pytest.fixture(scope="module")
def got(made):
    return made("fft", "-lcufft")


def wanted(what, single, batch, n):
    complex_, real = ("c8", "f4") if single else ("c16", "f8")
    shape, half = (batch, *n), (batch, *n[:-1], n[-1] // 2 + 1)
    axes = tuple(range(1, len(n) + 1))
    if what in ("forward", "inverse"):
        x = numbers(1, int(np.prod(shape)), complex_).astype("c16").reshape(shape)
        return np.fft.fftn(x, axes=axes) if what == "forward" else np.fft.ifftn(x, axes=axes, norm="forward")
    if what == "real":
        return np.fft.rfftn(numbers(3, int(np.prod(shape)), real).astype("f8").reshape(shape), axes=axes)
    x = numbers(5, int(np.prod(half)), complex_).astype("c16").reshape(half)
    return np.fft.irfftn(x, s=n, axes=axes, norm="forward")


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_dense_arrays(got, what, precision):
    names = [name for name in got if name.startswith(f"{what},{precision},")]
    assert len(names) > 30
    for name in names:
        batch, dimensions = name.split(",")[2].split(":")
        expected = wanted(what, precision == "single", int(batch), [int(n) for n in dimensions.split("x")])
        error = np.abs(got[name].reshape(expected.shape) - expected).max()
        epsilon = np.finfo("f4" if precision == "single" else "f8").eps
        assert error <= 8 * epsilon * np.abs(expected).max(), name


def test_strides_and_embedded_arrays(got):
    lines = numbers(7, 120, "c16").reshape(3, 20, 2)[:, :12, 0]
    np.testing.assert_allclose(got["strided"].reshape(12, 3).T, np.fft.fft(lines, axis=1), atol=1e-14)
    rectangles = numbers(9, 80).reshape(2, 5, 8)[:, :4, :6]
    found = got["rectangle"].reshape(2, 4, 5)
    np.testing.assert_allclose(found[:, :, :4], np.fft.rfft2(rectangles), atol=1e-14)
    np.testing.assert_array_equal(found[:, :, 4], numbers(10, 40, "c16").reshape(2, 4, 5)[:, :, 4])


@pytest.mark.parametrize("odd", [0, 1])
def test_real_arrays_in_place(got, odd):
    n, end = 10 + odd, "_odd" if odd else ""
    x = numbers(11, 48).reshape(4, 12)[:, :n]
    np.testing.assert_allclose(got["in_place" + end].reshape(4, 6), np.fft.rfft2(x), atol=1e-13)
    np.testing.assert_allclose(got["in_place_back" + end].reshape(4, 12)[:, :n], x * 4 * n, atol=1e-12)


def test_what_cannot_be(got):
    names = ("bad_size", "bad_batch", "bad_type", "wrong_type", "bad_direction", "no_plan")
    assert [int(got[name][0]) for name in names] == [8, 8, 3, 3, 4, 1]
