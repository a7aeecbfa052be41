"""Failing assertions: reported by checked launches with the line, without any effect in others. PYTEST_DONT_REWRITE"""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.kernels.form.assertions import KernelFailure
from reactant.kernels.form.interpret import OutOfBounds

CUDA = r"""
#include <cassert>
__device__ float halved(float a) {
    assert(a > 0 && "positive");
    return a / 2;
}
extern "C" __global__ void k(float *x, int n) {
    __shared__ float s[8];
    int i = threadIdx.x;
    s[i] = i < n ? x[i] : 0;
    __syncthreads();
    for (int j = 0; j < 3; j++) {
        assert(s[i] != 10.5f);
        s[i] += 1;
    }
    __syncthreads();
    if (i < n) x[i] = halved(s[n - 1 - i]);
}
"""


@pytest.mark.parametrize("bad, line, text", [(-9, 4, r'assert\(a > 0 && "positive"\)'),
                                             (8.5, 13, r"assert\(s\[i\] != 10.5f\)")])
def test_of_cuda(bad, line, text):
    x = np.array([0, 1, 2, bad], np.float32)
    expected = (x[::-1] + 3) / 2
    checked = reactant.cuda.load(CUDA, check=True).k
    good = np.arange(4, dtype=np.float32)
    checked[1, 8](good, 4)
    np.testing.assert_array_equal(good, [3, 2.5, 2, 1.5])
    with pytest.raises(KernelFailure, match=rf"The kernel 'k' fails, at <source>:{line}: {text}"):
        checked[1, 8](x.copy(), 4)
    unchecked = reactant.cuda.load(CUDA, lower="tensor").k
    unchecked[1, 8](x, 4)
    np.testing.assert_array_equal(x, expected)


def test_what_is_left_out():
    silent = reactant.cuda.load(CUDA, check=True, defines=["NDEBUG"]).k
    x = np.array([0, 1, 2, 8.5], np.float32)
    silent[1, 8](x, 4)
    assert x[0] == 5.75
    assert "assert" not in str(reactant.cuda.load(CUDA).k[1, 8].record(x, 4).llvm)


def test_traps():
    source = 'extern "C" __global__ void k(float *x) { if (x[threadIdx.x] < 0) __trap(); x[threadIdx.x] = 1; }\n'
    with pytest.raises(reactant.UnsupportedError, match="(?s)<source>:1.*A kernel cannot stop the program"):
        reactant.cuda.load(source, "k")[1, 4](np.zeros(4, np.float32))
    k = reactant.cuda.load(source, "k", check=True)
    k[1, 4](np.zeros(4, np.float32))
    with pytest.raises(KernelFailure, match="'k' fails, at <source>:1: trap"):
        k[1, 4](-np.ones(4, np.float32))


@pytest.mark.parametrize("language, header", [("c", "<assert.h>"), ("c++", "<cassert>")])
def test_of_c(language, header):
    source = (f"#include {header}\n" + 'extern "C" ' * (language == "c++") + "int f(const int *x, int n) {\n"
              "    int s = 0;\n    for (int i = 0; i < n; i++) {\n        assert(x[i] >= 0);\n        s += x[i];\n"
              "    }\n    return s;\n}\n")
    x = np.array([1, 2, -1], np.int32)
    assert reactant.c.load(source, "f", language=language)(x, 3) == 2
    checked = reactant.c.load(source, "f", language=language, check=True)
    assert checked(x, 2) == 3
    with pytest.raises(AssertionError, match=r"'f' fails, at <source>:5: assert\(x\[i\] >= 0\)"):
        checked(x, 3)


@pytest.mark.slow
def test_of_numba():
    cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda")

    @cuda.jit(device=True)
    def doubled(a):
        if a < 0:
            raise ValueError("negative")
        assert a < 100, "too large"
        return a * 2

    @cuda.jit
    def k(x, n):
        i = cuda.grid(1)
        if i < n:
            assert x[i] != 5
            x[i] = doubled(x[i])
    checked = reactant.kernel(k, check=True)[1, 8]
    for bad, text in ((3, None), (5, "assert x.i. != 5"), (-1, 'raise ValueError."negative".'),
                      (200, "assert a < 100, .too large."), (3, None)):
        x = np.array([0.0, 1, 2, bad])
        unchecked = x.copy()        # as on a GPU: the thread is over
        reactant.kernel(k)[1, 8](unchecked, 4)
        np.testing.assert_array_equal(unchecked, [0, 2, 4, bad if text else 2 * bad])
        if text is None:
            checked(x, 4)
            assert x[3] == 2 * bad
        else:
            with pytest.raises(KernelFailure, match=rf"'k' fails, at .*test_assertions.py:\d+: {text}"):
                checked(x, 4)


def test_calls_after_the_first():
    """jax calls those directly, and makes another exception of a failing program."""
    k = reactant.cuda.load('extern "C" __global__ void k(float *x, int *at) { x[at[threadIdx.x]] = 1; }\n', "k",
                           check=True)
    inside, outside = np.arange(4, dtype=np.int32), np.array([0, 1, 9, 2], np.int32)
    for at in (inside, outside, inside, inside, outside):
        if at is outside:
            with pytest.raises(OutOfBounds, match="writes outside 'x'"):
                k[1, 4](np.zeros(4, np.float32), at)
        else:
            k[1, 4](np.zeros(4, np.float32), at)
