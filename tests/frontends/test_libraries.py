"""Functions of installed libraries, unmodified: scikit-image, SciPy's Python code, numpy.polynomial."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.oracle import check

skimage = pytest.importorskip("skimage")
from scipy import integrate, linalg, optimize, signal, stats  # noqa: E402
from scipy.spatial import distance  # noqa: E402
from skimage import color, exposure, feature, filters, measure, metrics, restoration, transform, util  # noqa: E402

RANDOM = np.random.default_rng(0)
RGB, GREY = RANDOM.random((14, 12, 3)), RANDOM.random((14, 12))
V, W = RANDOM.random(40), RANDOM.random(40)

PROGRAMS = {
    "rgb2hsv": (color.rgb2hsv, RGB), "hsv2rgb": (color.hsv2rgb, RGB), "rgb2lab": (color.rgb2lab, RGB),
    "lab2rgb": (color.lab2rgb, RGB * 9 + [70, 0, 0]), "rgb2hed": (color.rgb2hed, RGB),
    "rgb2ycbcr": (color.rgb2ycbcr, RGB),
    "deltaE": (color.deltaE_ciede2000, RGB * 50, RGB[::-1] * 50),
    "gamma": (lambda x: exposure.adjust_gamma(x, 2.0), GREY),
    "sigmoid": (exposure.adjust_sigmoid, GREY), "rescale": (exposure.rescale_intensity, GREY),
    "equalize": (exposure.equalize_hist, GREY), "nrmse": (metrics.normalized_root_mse, GREY, GREY[::-1]),
    "integral": (transform.integral_image, GREY), "invert": (util.invert, GREY),
    "windows": (lambda x: util.view_as_windows(x, (3, 3)).sum((2, 3)), GREY),
    "blocks": (lambda x: measure.block_reduce(x, (3, 3), np.mean), GREY), "moments": (measure.moments_central, GREY),
    "inertia": (measure.inertia_tensor, GREY), "sobel": (filters.sobel, GREY), "otsu": (filters.threshold_otsu, GREY),
    "gaussian": (lambda x: filters.gaussian(x, 1.5), GREY), "harris": (feature.corner_harris, GREY),
    "wiener": (lambda x: restoration.wiener(x, np.ones((3, 3)) / 9, 0.1), GREY),
    "rosenbrock": (lambda x: (optimize.rosen(x), optimize.rosen_der(x), optimize.rosen_hess(x)), V[:6]),
    "simpson": (lambda x: (integrate.simpson(x), integrate.trapezoid(x, dx=0.1), integrate.cumulative_trapezoid(x)), V),
    "fftconvolve": (signal.fftconvolve, V, W), "hilbert": (signal.hilbert, V), "zscore": (stats.zscore, V),
    "distances": (lambda a, b: (distance.cosine(a, b), distance.braycurtis(a, b), distance.jensenshannon(a, b)), V, W),
    "toeplitz": (lambda x: (linalg.toeplitz(x), linalg.hankel(x), linalg.circulant(x)), V[:5]),
    "block_diag": (linalg.block_diag, GREY[:3, :3], GREY[:2, :2]),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, *arguments = PROGRAMS[name]
    check(function, *arguments, rtol=1e-8, atol=1e-10)


def test_compiled_code_of_libraries_is_named():
    spatial = pytest.importorskip("scipy.spatial")

    def f(x):
        return spatial.transform.Rotation.from_rotvec(x[0]).magnitude()
    with pytest.raises(reactant.ReactantError, match="which is compiled code of a library"):
        reactant.jit(f)(np.ones((2, 3)))


def test_methods_of_compiled_code_are_named():
    foreign = pytest.importorskip("_cffi_backend").FFI()

    def f(x):
        return foreign.from_buffer(x)
    with pytest.raises(reactant.UnsupportedError, match="_cffi_backend.from_buffer is compiled code of a library"):
        reactant.jit(f)(np.ones(3))


def test_functions_of_several_types_in_compiled_code():
    special = pytest.importorskip("scipy.special.cython_special")

    def of_some(x):
        return special.gamma(x[x > 0])
    with pytest.raises(reactant.UnsupportedError, match="gamma is compiled code of a library"):
        reactant.jit(of_some)(np.ones(3))

    def chosen(x):
        function = special.gamma
        if x[0] > 0:
            function = special.erf
        return function(1.0)
    with pytest.raises(reactant.ControlFlowError, match="'function' has no single type"):
        reactant.jit(chosen)(np.ones(3))


def norm_of_what_is_known(x):
    import scipy.linalg
    return scipy.linalg.norm(np.asarray([3.0, 4.0]) + 0 * len(x)) * x


def blas(x):
    from scipy.linalg import blas as routines
    return routines.ddot(x, x)


def test_norms_of_known_arrays_and_fortran():
    check(norm_of_what_is_known, np.ones(3))
    with pytest.raises(reactant.ReactantError, match="fortran.ddot, which is compiled code of a library"):
        reactant.jit(blas)(np.ones(3))


def test_numbers_stored_by_functions_without_source():
    """NumPy's own error for a proxy would be one that the program may handle."""
    scope = {"np": np}
    exec("def stored(x):\n    a = np.zeros(2)\n    a[0] = x[0]\n    return a", scope)
    stored = scope["stored"]

    def handled(x):
        try:
            return stored(x)
        except ValueError:
            return x
    for function in (stored, handled):
        np.testing.assert_array_equal(reactant.jit(function)(np.array([3.0, 4.0])), [3.0, 0.0])
