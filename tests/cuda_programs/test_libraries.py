"""Thrust, CUB, libcu++, nvrtc and the driver API in whole programs, each against the C++ library or by hand."""
import importlib.metadata

import pytest

from reactant.cuda_programs.driver import command


def cccl():
    try:
        return importlib.metadata.version("nvidia-cuda-cccl-cu12").startswith("12.9.")
    except importlib.metadata.PackageNotFoundError:
        return False


needs_cccl = pytest.mark.skipif(not cccl(), reason="NVIDIA's headers are not installed (the extra `cuda`)")


@needs_cccl
def test_thrust(ran):
    assert ran("thrust_small.cu", "--extended-lambda") == "done\n"


@needs_cccl
@pytest.mark.slow
@pytest.mark.parametrize("subject", ("elementwise", "reductions", "scans", "selections", "sorts", "ordered",
                                     "policies"))
def test_thrust_algorithms(ran, subject):
    assert ran("thrust_algorithms.cu", "--extended-lambda", given=[subject]) == f"{subject} done\n"


@needs_cccl
@pytest.mark.slow
@pytest.mark.parametrize("subject", ["reduce", "scan", "sort", "select", "histogram", "others"])
def test_cub_for_the_device(ran, subject):
    assert ran("cub_device.cu", "-w", given=[subject]) == f"{subject} done\n"


@needs_cccl
@pytest.mark.slow
@pytest.mark.parametrize("subject", ["reduce", "scan", "sort", "warp"])
def test_cub_in_blocks(ran, subject):
    assert ran("cub_block.cu", given=[subject]) == f"{subject} done\n"


@needs_cccl
@pytest.mark.slow
@pytest.mark.parametrize("subject", ["atomics", "standard", "barriers"])
def test_libcudacxx(ran, subject):
    assert ran("libcudacxx.cu", given=[subject]) == f"{subject} done\n"


@needs_cccl
@pytest.mark.slow
def test_a_barrier_of_some_threads_is_an_error(ran):
    said = ran("libcudacxx.cu", given=["few"])
    assert "cuda::barrier: it is not of all threads of the block" in said and "few done" in said


@pytest.mark.parametrize("subject", ["launches", "errors"])
def test_kernels_compiled_while_the_program_runs(ran, subject):
    said = ran("compiled_later.cpp", "-lcuda", "-lnvrtc", given=[subject])
    assert said.splitlines()[0] == f"{subject} done"
    assert ("this is PTX for GPUs" in said) == (subject == "errors")


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-ptx", "-cubin", "-fatbin"])
def test_modules_from_files(built, ran, option, tmp_path, monkeypatch):
    source = tmp_path / "square.cu"
    source.write_text("__global__ void square(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n")
    module = built(str(source), option)
    assert ("sm_80" in module.read_text()) == (option == "-ptx")
    monkeypatch.setenv("MODULE", str(module))
    assert ran("compiled_later.cpp", "-lcuda", "-lnvrtc", given=["file"]) == "file done\n"


@pytest.mark.slow
def test_kernels_that_launch_kernels(ran):
    assert ran("nested.cu", "nested_other.cu", "-rdc=true") == "done\n"


def test_launches_of_device_code_need_relocatable_code(tmp_path, capsys):
    source = tmp_path / "nested.cu"
    source.write_text("__global__ void child() {}\n__global__ void parent() {\n    child<<<1, 1>>>();\n}\n")
    assert command.main(["-c", str(source), "-o", str(tmp_path / "nested.o")]) != 0
    said = capsys.readouterr().err
    assert "nested.cu:3:10: error:" in said and "requires relocatable device code" in said


@needs_cccl
@pytest.mark.slow
def test_a_function_of_cub_that_is_not_there_is_named(tmp_path, capsys):
    source = tmp_path / "spmv.cu"
    source.write_text("""#include <cub/device/device_spmv.cuh>
int main() {
    size_t bytes = 0;
    float *x = nullptr;
    int *i = nullptr;
    return cub::DeviceSpmv::CsrMV(nullptr, bytes, x, i, i, x, x, 1, 1, 1);
}
""")
    assert command.main(["-c", str(source), "-o", str(tmp_path / "spmv.o")]) != 0
    assert "DispatchSpmv" in capsys.readouterr().err
