"""Expressions with exact zeros and extreme operands in C functions and GPU kernels, against NumPy: bit by bit."""
import numpy as np
import pytest

import reactant
from tests.exactness.expressions import OTHER, SOME
from tests.oracle import module_of

EXPRESSIONS = [
    "x * x - y * y", "x * z - z * y", "x * c - y * c", "(x + m) - m", "x / c * c - x", "x / y / z", "x / (y / z)",
    "u / (u / x)", "x * z + (-y) * z", "(x * z - z * y) / (x * x - y * y)", "x * y / y", "(x + z) - z",
    "(x - ((x + z) - ((x + z) - x))) + (z - ((x + z) - x))", "(x * z - y * z) + u / m", "x * x - u", "u - x / y",
    "x / m / m * m", "(x * m) * m / m", "(x > y) * x", "(x * z - z * y == u - u) * x",
]
"""Of equal x and y, z, c = 0.1, m and u = 1."""


def operands(dtype):
    limits = np.finfo(dtype)
    extreme = [limits.max / 3, limits.tiny, limits.tiny / 16, limits.smallest_subnormal, np.sqrt(limits.max) * 3, 0,
               -0.0]
    x, z = np.array([*SOME, *extreme], dtype), np.array([*OTHER, *OTHER], dtype)
    one = np.ones_like(x)
    return x, x.copy(), z, one * dtype(0.1), one / limits.eps * dtype(1.5), one


def wanted(given):
    with np.errstate(all="ignore"):
        values = [eval(each, dict(zip("xyzcmu", given, strict=True))) for each in EXPRESSIONS]
    return np.array(values, given[0].dtype)


def assert_same(got, given):
    for expression, mine, theirs in zip(EXPRESSIONS, got, wanted(given), strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=expression)
        signed = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(mine)[signed], np.signbit(theirs)[signed], err_msg=expression)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_c(dtype):
    pytest.importorskip("ziglang", reason="needs ziglang")
    name = {8: "double", 4: "float"}[np.dtype(dtype).itemsize]
    given = operands(dtype)
    names = [f"all_{letter}" for letter in "xyzcmu"]
    reads = " ".join(f"{name} {each[-1]} = {each}[i];" for each in names)
    writes = " ".join(f"out[{k} * n + i] = {each};" for k, each in enumerate(EXPRESSIONS))
    source = f"void run({', '.join(f'const {name} *{each}' for each in names)}, {name} *out, int n) " \
             f"{{ for (int i = 0; i < n; i++) {{ {reads} {writes} }} }}"
    run, size = reactant.c.load(source, "run"), len(given[0])
    got = np.zeros((len(EXPRESSIONS), size), dtype)
    run(*given, got, size)
    assert_same(got, given)

    def inside(*given):
        result = np.zeros((len(EXPRESSIONS), size), dtype)
        run(*given, result, size)
        return result

    assert_same(reactant.jit(inside)(*given), given)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("lower", ["tensor", "native"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numba_cuda(dtype, lower, tmp_path):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda")
    lines = "\n".join(f"        out[{k}, i] = {each}" for k, each in enumerate(EXPRESSIONS))
    reads = "\n".join(f"        {letter} = all_{letter}[i]" for letter in "xyzcmu")
    text = "from numba import cuda\n\n@cuda.jit\ndef run(" + ", ".join(f"all_{letter}" for letter in "xyzcmu") \
        + f", out):\n    i = cuda.grid(1)\n    if i < out.shape[1]:\n{reads}\n{lines}\n"
    run = module_of(tmp_path / "exact_kernel.py", text).run
    given = operands(dtype)
    got = np.zeros((len(EXPRESSIONS), len(given[0])), dtype)
    reactant.kernel(run, lower=lower)[1, 32](*given, got)
    assert_same(got, given)
