"""Derivatives through launches: every program of the corpus against finite differences, adjoints over many launches."""
import importlib

import numpy as np
import pytest

import reactant

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

FAMILIES = ("stencils", "linear_algebra", "patterns", "science", "published", "samples")
CASES = {case.name: case for family in FAMILIES
         for case in importlib.import_module(f"tests.kernels.corpus.{family}").CASES}


NO_FLOATS = ("programming", "radix_split", "smith_waterman", "bisection", "sampling")
"""Cases without a floating-point array, or whose results are steps of what they start from."""
SMOOTH = [case for name, case in CASES.items() if name not in NO_FLOATS]
FEW = ["products", "particles"]
"""Shared memory, a product in tiles, atomics, gathers."""


def directional(loss, at, arrays, step=1e-6):
    """(the derivative by the gradient, by differences, the size of its terms) along a random direction of all
    floating-point arrays; `at` computes the loss by other means."""
    rng = np.random.default_rng(5)
    real = [i for i, a in enumerate(arrays) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    directions = {i: rng.standard_normal(arrays[i].shape) * (np.abs(arrays[i]).mean() + 0.1) for i in real}

    def moved(s):
        return [(a + s * directions[i]).astype(a.dtype) if i in directions else np.array(a) if isinstance(a, np.ndarray)
                else a for i, a in enumerate(arrays)]
    gradients = reactant.grad(loss, argnums=tuple(real))(*moved(0.0))
    terms = [g * directions[i] for g, i in zip(gradients, real, strict=True)]
    size = sum(float(np.abs(t).sum()) for t in terms)
    assert size > 0
    return sum(float(t.sum()) for t in terms), (at(*moved(step)) - at(*moved(-step))) / (2 * step), size


def compare_case(case, frontend):
    """A weighted sum of all that the program leaves, differentiated by all that it starts from: raised, against
    differences of native code."""
    rng = np.random.default_rng(6)
    start = case.make(np.random.default_rng(7))
    weights = {i: rng.standard_normal(a.shape) for i, a in enumerate(start)
               if isinstance(a, np.ndarray) and a.dtype.kind == "f"}
    raised, native = (case.launchables(frontend, lower) for lower in ("tensor", "native"))

    def loss(*arrays):
        case.host(raised, *arrays)
        total = 0.0
        for i, w in weights.items():
            total = total + np.sum(arrays[i] * w)
        return total

    def at(*arrays):
        case.host(native, *arrays)
        return sum(float((arrays[i].astype(float) * w).sum()) for i, w in weights.items())
    single = any(start[i].dtype == np.float32 for i in weights)
    found, expected, size = directional(reactant.jit(loss, frontend="numpy"), at, start, 1e-3 if single else 1e-6)
    assert abs(found - expected) <= (2e-3 if single else 1e-6) * max(size, abs(expected)), (found, expected, size)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_program(name):
    compare_case(CASES[name], "cuda")


@pytest.mark.slow
@pytest.mark.parametrize("frontend", ["numba", "cuda"])
@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.name)
def test_every_program(case, frontend):
    compare_case(case, frontend)


def test_enough_kernels_are_differentiated():
    assert sum(len(case.kernels) for case in SMOOTH) >= 60


# ---- adjoints over a hundred launches --------------------------------------------------------------------------

def _hotspot(kernel):
    def model(temperature, power, steps):
        out = np.zeros_like(temperature)
        for _ in range(steps):
            kernel[(3, 2), (8, 8)](temperature, power, out, 13, 18, 0.5, 0.1, 0.2, 0.01)
            temperature, out = out, temperature
        return temperature
    return model


def _lbm(kernel):
    def model(f, steps):
        out = np.zeros_like(f)
        for _ in range(steps):
            kernel[(2, 2), (8, 8)](f, out, 9, 10, 1.2)
            f, out = out, f
        return f
    return model


ADJOINTS = {
    "hotspot": (_hotspot, lambda r: (70 + 20 * r.random((13, 18)), r.random((13, 18)))),
    "lbm": (_lbm, lambda r: (0.1 + 0.02 * r.random((9, 9, 10)),)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name, frontend", [
    ("hotspot", "numba"), *(pytest.param(name, frontend, marks=pytest.mark.slow) for name, frontend in (
        ("hotspot", "cuda"), ("lbm", "numba"), ("lbm", "cuda")))])
def test_adjoint_over_a_hundred_launches(name, frontend):
    make, arguments = ADJOINTS[name]
    raised, native = (make(getattr(CASES[name].launchables(frontend, lower), name)) for lower in ("tensor", "native"))
    start = arguments(np.random.default_rng(1))
    w = np.random.default_rng(2).standard_normal(start[0].shape)

    def loss(*arrays):
        return np.sum(raised(*arrays, 100) * w)
    compiled = reactant.jit(loss, frontend="numpy")
    gradient = reactant.grad(compiled, argnums=tuple(range(len(start))))
    operations = gradient.lower(*start).operations()
    assert operations["stablehlo.while"] >= 1 and sum(operations.values()) < 900, "a hundred copies would be more"
    found, expected, size = directional(compiled, lambda *arrays: float((native(*arrays, 100) * w).sum()), start)
    assert abs(found - expected) <= 1e-5 * max(size, abs(expected)), (found, expected, size)


# ---- branches ------------------------------------------------------------------------------------------------------

BRANCHES = ["sqrt(x[i]) * x[i]", "x[i] * (1 / x[i])", "log(x[i]) / sqrt(x[i])", "pow(x[i], 0.3) * exp(-1 / x[i])",
            "fma(rsqrt(x[i]), x[i], y[i]) * z[i]"]


@pytest.mark.sampled(100)
@pytest.mark.parametrize("guard", ["x[i] > 0", "z[i] > 0.5 && x[i] > 0"])
def test_branches_that_threads_do_not_take_add_nothing(guard):
    """What they would compute is not finite where threads stay outside: times zero, it would be no number."""
    lines = " ".join(f"y[i] += {text};" for text in BRANCHES)
    kernel = reactant.cuda.load(rf"""extern "C" __global__ void f(const double *x, double *y, const double *z, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) {{ if ({guard}) {{ {lines} }} else y[i] = 3 * x[i]; }}
    }}""", lower="tensor").f

    def loss(x, z):
        y = np.zeros(6)
        kernel[2, 4](x, y, z, 6)
        return np.sum(y)
    compiled = reactant.jit(loss, frontend="numpy")
    x, z, step = np.array([1.2, -1.0, 0.0, 0.4, -2.0, 0.7]), np.array([0.9, 0.7, 0.8, 0.6, 0.1, 0.2]), 1e-6
    expected = [(compiled(x + step * e, z) - compiled(x - step * e, z)) / (2 * step) for e in np.eye(6)]
    expected[2] = 3.0
    np.testing.assert_allclose(reactant.grad(compiled)(x, z), expected, rtol=1e-6)


# ---- native code -----------------------------------------------------------------------------------------------

SOURCE = """
extern "C" __global__ void square(const double *x, double *y) {
    int i = threadIdx.x;
    y[i] = x[i] * x[i];
}
extern "C" __global__ void powers(const double *x, double *y) {
    int i = threadIdx.x;
    double total = 0, term = x[i];
    for (int k = 0; k < 60 && term < 3.0; ++k) { total += term; term *= 1 + x[i]; }
    y[i] = total;
}
"""


def through(kernel):
    def loss(x):
        y = np.zeros(4)
        kernel[1, 4](x, y)
        return (y * y).sum()
    return loss


@pytest.mark.parametrize("options, why", [({"lower": "native"}, 'lower="native" asks for it'),
                                          ({"check": True}, "check=True asks for it")])
def test_native_code_has_none(options, why):
    square = reactant.kernel(reactant.cuda.load(SOURCE).square, **options)
    message = rf"(?s)kernel 'square' \(at <source>:2\) is native code in this program \({why}\).*test_derivatives.py"
    with pytest.raises(reactant.ReactantError, match=message):
        reactant.grad(through(square))(np.arange(4.0))


@pytest.mark.slow
def test_native_code_that_was_chosen_for_speed_is_differentiated_as_tensors():
    import jax
    powers = reactant.cuda.load(SOURCE).powers
    x, step = np.array([0.2, 0.5, 0.9, 1.7]), 1e-7
    compiled = reactant.jit(through(powers), frontend="numpy")
    expected = [(compiled(x + step * e) - compiled(x - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(reactant.grad(compiled)(x), expected, rtol=1e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(lambda x: compiled(x))(x), expected, rtol=1e-5)
