"""scipy.ndimage's filters over modes, origins, ranks and dtypes."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import ndimage

import reactant
from reactant.errors import UnsupportedError
from tests.oracle import check

IMAGE = np.random.default_rng(0).normal(size=(9, 7))
LINE, CUBE = IMAGE[0].copy(), np.random.default_rng(1).normal(size=(4, 5, 3))
K = np.array([[1.0, 0.5, 0.0], [0.25, -1.0, 2.0]])
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")

FILTERS = {
    "gaussian": lambda x, mode: ndimage.gaussian_filter(x, 1.2, mode=mode, cval=0.3),
    "gaussian derivative": lambda x, mode: ndimage.gaussian_filter(x, 0.8, order=1, mode=mode),
    "sobel": lambda x, mode: ndimage.sobel(x, axis=0, mode=mode),
    "prewitt": lambda x, mode: ndimage.prewitt(x, mode=mode),
    "laplace": lambda x, mode: ndimage.laplace(x, mode=mode),
    "gaussian laplace": lambda x, mode: ndimage.gaussian_laplace(x, 1.0, mode=mode),
    "gradient magnitude": lambda x, mode: ndimage.gaussian_gradient_magnitude(x, 0.7, mode=mode),
    "uniform": lambda x, mode: ndimage.uniform_filter(x, 3, mode=mode),
    "minimum": lambda x, mode: ndimage.minimum_filter(x, size=3, mode=mode, cval=0.1),
    "maximum": lambda x, mode: ndimage.maximum_filter(x, size=2, mode=mode, origin=-1),
    "correlate1d": lambda x, mode: ndimage.correlate1d(x, [0.1, 2.0, -1.0, 0.7], mode=mode, origin=1),
    "convolve1d": lambda x, mode: ndimage.convolve1d(x, [0.1, 2.0, -1.0], axis=0, mode=mode, origin=-1),
    "antisymmetric": lambda x, mode: ndimage.correlate1d(x, [-0.3, -0.1, 0.0, 0.1, 0.3], mode=mode),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_modes(name, mode):
    check(lambda x: FILTERS[name](x, mode), IMAGE, rtol=1e-11, atol=1e-13)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("x", [LINE, CUBE, IMAGE.astype(np.float32)], ids=["1d", "3d", "float32"])
@pytest.mark.parametrize("name", FILTERS)
def test_ranks_and_dtypes(name, x):
    check(lambda x: FILTERS[name](x, "reflect"), x, rtol=1e-11, atol=1e-6 if x.dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("f", [
    lambda x: ndimage.correlate(x, K, mode="nearest", origin=(0, 1)), lambda x: ndimage.convolve(x, K, mode="mirror"),
    lambda x: ndimage.convolve(x, np.ones((3, 3)) / 9, mode="constant", cval=2.0),
    lambda x: ndimage.minimum_filter(x, footprint=np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)),
    lambda x: ndimage.median_filter(x, size=(3, 2)), lambda x: ndimage.percentile_filter(x, 20, size=3),
    lambda x: ndimage.rank_filter(x, -2, size=3), lambda x: ndimage.grey_erosion(x, size=3),
    lambda x: ndimage.grey_dilation(x, structure=np.array([[0.5, 0.1, 0.2]])),
    lambda x: ndimage.morphological_gradient(x, size=3), lambda x: ndimage.white_tophat(x, size=2),
    lambda x: ndimage.uniform_filter(x, size=(1, 4), output=np.float32),
    lambda x: ndimage.gaussian_filter(x, (0, 2.0), truncate=2), lambda x: ndimage.correlate1d(x, np.ones(200) / 200),
])
def test_other_filters(f):
    check(f, IMAGE, rtol=1e-11, atol=1e-6)


@pytest.mark.slow
def test_integers():
    x = np.arange(24, dtype=np.uint8).reshape(4, 6)
    check(lambda x: (ndimage.maximum_filter(x, 3), ndimage.median_filter(x, 3)), x)
    check(lambda x: ndimage.gaussian_filter(x, 1.0, output=np.float64), x, rtol=1e-12)
    with pytest.raises(UnsupportedError, match="floating-point"):
        reactant.jit(lambda x: ndimage.gaussian_filter(x, 1.0))(x)


def test_an_output_array_of_the_function_is_written():
    def f(x):
        out = np.zeros_like(x)
        ndimage.sobel(x, output=out)
        return out
    check(f, IMAGE, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32])
def test_whole_sums_of_integers(dtype):
    x = np.random.default_rng(3).integers(0, 200, (6, 9)).astype(dtype)
    whole = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 2]])
    check(lambda x: (ndimage.sobel(x), ndimage.laplace(x), ndimage.correlate(x, whole, mode="wrap"),
                     ndimage.convolve1d(x, [1, 3, -2], output=np.int32)), x)


@pytest.mark.slow
def test_weights_of_the_run():
    check(lambda x, w: (ndimage.correlate1d(x, w), ndimage.convolve(x, w[:, None] * w, mode="wrap")),
          IMAGE, np.array([0.5, 0.0, -0.25]), rtol=1e-12, atol=1e-14)
    far = np.where(IMAGE > 1.5, np.inf, IMAGE)
    check(lambda x, w: ndimage.correlate(x, w), far, np.array([[0.0, 1.0], [2.0, 0.0]]))
    check(lambda x: ndimage.gaussian_filter(x, 0.7, order=1, truncate=100), LINE, rtol=1e-11, atol=1e-13)
    with pytest.raises(UnsupportedError, match="known only at run time"):
        reactant.jit(lambda x, w: ndimage.minimum_filter(x, footprint=w > 0))(LINE, np.ones(3))


@pytest.mark.slow
def test_modules_that_are_loaded_while_tracing(tmp_path):
    """Packages load their parts at first use: here inside of the compiled function."""
    (tmp_path / "program.py").write_text(
        "import numpy as np, reactant\n\n\ndef blurred(x):\n    from scipy import ndimage\n"
        "    return ndimage.gaussian_filter(x, 1.0)\n\n\nx = np.arange(12.0).reshape(3, 4) ** 2\n"
        "print(np.abs(reactant.jit(blurred)(x) - blurred(x)).max() < 1e-12)\n")
    ran = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "True", ran.stderr


def test_derivatives_pass_through():
    assert reactant.check_derivatives(lambda x: (ndimage.gaussian_filter(x, 1.0) ** 2).sum(), LINE)
