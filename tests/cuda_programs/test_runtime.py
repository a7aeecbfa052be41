"""The runtime API as its documentation has it: programs/api.cu, a subject a test."""
import os
import shutil

import pytest

SUBJECTS = ("memory", "pitched", "symbols", "launches", "streams", "graphs", "device", "arrays")


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_calls_do_what_is_documented(ran, subject, threads):
    env = os.environ | {"REACTANT_CUDA_THREADS": threads}
    assert ran("api.cu", given=[subject], env=env) == f"{subject} done\n"


FAILURES = {
    "assert": ("cudaErrorAssert cudaErrorAssert\n", ",0,0], thread: [2,0,0] Assertion `x[threadIdx.x] == 0` failed."),
    "wild": ("cudaErrorIllegalAddress cudaErrorIllegalAddress\n", "kernel _Z4wildPi: an illegal memory access"),
    "trap": ("cudaErrorLaunchFailure cudaErrorLaunchFailure\n", ""),
    "threads": ("cudaErrorInvalidConfiguration cudaSuccess\n", "a block of 2000 x 1 x 1 threads; it has 1 to 1024"),
    "memory": ("cudaErrorInvalidValue cudaSuccess\n", "bytes at"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_are_errors_with_reasons(ran, failure):
    out, reason = FAILURES[failure]
    said = ran("failures.cu", given=[failure], env=os.environ | {"REACTANT_CUDA_CHECK": "1"})
    assert said.startswith(out) and reason in said


def test_what_nvcc_includes_by_itself_is_there(ran):
    assert ran("implicit.cu", given=["a"], status=3) == "7 2147483647 42 4 ok\n"


@pytest.mark.parametrize("types", ["SOME", *(pytest.param(t, marks=pytest.mark.slow) for t in ("HALVES", "INTEGERS"))])
def test_products_of_small_matrices_by_warps(ran, types):
    assert ran("matrix_products.cu", f"-D{types}") == ""


def test_kernels_print(ran):
    said = ran("printing.cu").splitlines()
    assert sorted(said) == sorted(
        [f"block {b} thread {t}: {t} -3 4294967295 3.500 1e+20 text % x" for b in range(2) for t in range(3)]
        + ["long 1099511627776 ff c  7|"])


def test_launches_written_in_pieces_and_headers_of_tools(ran):
    assert ran("spaced.cu") == ""


@pytest.mark.skipif(shutil.which("g++") is None, reason="OpenMP is the machine's compiler's")
def test_openmp_of_plain_sources(ran):
    assert ran("threads.cpp", "-Xcompiler", "-fopenmp") == ""


@pytest.mark.parametrize("subject", ["planes", "linear", "cubes"])
def test_textures_address_and_filter_as_documented(ran, subject):
    assert ran("textures.cu", given=[subject]) == f"{subject} done\n"


@pytest.mark.parametrize("standard", [pytest.param("c++14", marks=pytest.mark.slow), "c++17",
                                      pytest.param("c++20", marks=pytest.mark.slow)])
def test_the_standard_library_on_both_sides(ran, standard):
    said = ran("standard_library.cu", f"-std={standard}").splitlines()
    assert said[0].startswith("worst ") and float(said[0].split()[1]) < 1e-5
    assert said[1:] == ["1", "0.841 1.02e+03 3.5 2 0.5 4 2.72 1.5 4 3 3.14 1 1 1 2 3 ", "caught", "163", "1 1"]


SMALL = """
#include <cstdio>
#include <filesystem>
__global__ void add(float *x, int n, int times) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; i < n && k < times; ++k) x[i] += 1 / (1 + x[i]);
}
static long threads() {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}
int main() {
    float *x;
    cudaMalloc(&x, 4096 * sizeof(float));
    cudaMemset(x, 0, 4096 * sizeof(float));
    for (int k = 0; k < 100; ++k) add<<<16, 256>>>(x, 4096, 1);
    cudaDeviceSynchronize();
    printf("%ld", threads());
    for (int k = 0; k < 3; ++k) add<<<16, 256>>>(x, 4096, 20000);
    cudaDeviceSynchronize();
    printf(" %ld\\n", threads());
    return cudaDeviceSynchronize();
}
"""


def test_small_launches_wake_no_threads(tmp_path, ran):
    source = tmp_path / "small.cu"
    source.write_text(SMALL)
    assert ran(str(source), env=os.environ | {"REACTANT_CUDA_THREADS": "2"}) == "1 2\n"
