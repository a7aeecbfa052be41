"""CUDA C++ files: dialects, headers, lines, and which errors are shown."""
import warnings

import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")


def load(source, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return reactant.cuda.load(source, **more)


def test_dialects():
    """C++20 in device code, what C++17 took away, and functions without attributes."""
    twenty = load("""
        template <class T> concept Number = requires(T a) { a + a; };
        template <Number T> __device__ T sum(T a, T b) { return a + b; }
        __global__ void k(int *x) { x[0] = sum(x[0], 1); }""")
    old = load("__global__ void k(int *x) { register int one = 1; x[0] += one; } void f() throw(int);")
    constant = load("constexpr int one() { return 1; } __global__ void k(int *x) { x[0] += one(); }")
    asked = load("__global__ void k(int *x) { x[0] += __cplusplus / 100; }", options=["-std=c++20"])
    x = np.zeros(1, np.int32)
    for module in (twenty, old, constant, asked):
        module.k[1, 1](x)
    assert x[0] == 3 + 202002 // 100


def test_nvcc_is_told_apart():
    module = load("""
        #if !defined(__CUDACC__) || !defined(__NVCC__)
        #error "not CUDA"
        #endif
        #include <cassert>
        __global__ void k(int *x) { assert(x); x[0] = 1; }
        void run(int *x, int n) { assert(n > 0); k<<<n, 1>>>(x); }""")
    x = np.zeros(1, np.int32)
    module.k[1, 1](x)
    assert x[0] == 1


@pytest.mark.parametrize("header", ["omp.h", "mpi.h", "nvtx3/nvToolsExt.h", "cublas_v2.h"])
def test_headers_of_host_libraries_may_be_missing(header):
    assert list(load(f"#include <{header}>\n__global__ void k(int *x) {{ x[0] = 1; }}\n")) == ["k"]


def test_lines_stay_right_and_headers_are_the_users(tmp_path):
    (tmp_path / "shared.h").write_text("#pragma once\nvoid save(unknown_t file);\n"
                                       "__device__ inline float twice(float x) { return x *\n 2; }\n")
    (tmp_path / "a.cu").write_text('#include "shared.h"\n#include "gone/config.h"\n\nvoid run() {\n  unknown(\n  1);\n'
                                   "}\n"
                                   "__global__ void k(float *x) {\n  x[threadIdx.x] = twice(x[threadIdx.x]);\n}\n")
    with pytest.warns(UserWarning, match="gone/config.h"):
        module = reactant.cuda.load(tmp_path / "a.cu")
    x = np.ones(3, np.float32)
    assert module.k.way_in.line == 8 and module.k.way_in.source.endswith("a.cu")
    module.k[1, 3](x)
    assert np.array_equal(x, np.full(3, 2, np.float32))
    with pytest.raises(reactant.errors.ReactantError, match=r"a\.cu:9"):
        module.k[1, 32](x)
