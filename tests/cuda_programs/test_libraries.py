"""Thrust, CUB, libcu++, nvrtc and the driver API in whole programs, each against the C++ library or by hand."""
import importlib.metadata

import pytest


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
@pytest.mark.parametrize("subject", ["elementwise", "reductions", "scans", "selections", "sorts", "ordered", "policies"])
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
@pytest.mark.parametrize("subject", ["atomics", "standard"])
def test_libcudacxx(ran, subject):
    assert ran("libcudacxx.cu", given=[subject]) == f"{subject} done\n"


@pytest.mark.parametrize("subject", ["launches", "errors"])
def test_kernels_compiled_while_the_program_runs(ran, subject):
    said = ran("compiled_later.cpp", "-lcuda", "-lnvrtc", given=[subject])
    assert said.splitlines()[0] == f"{subject} done"
    assert ("this is PTX for GPUs" in said) == (subject == "errors")


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-ptx", "-cubin", "-fatbin"])
def test_modules_from_files(built, ran, option, tmp_path, monkeypatch):
    source = tmp_path / "square.cu"
    source.write_text("__global__ void square(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= x[threadIdx.x]; }\n")
    module = built(str(source), option)
    assert ("sm_80" in module.read_text()) == (option == "-ptx")
    monkeypatch.setenv("MODULE", str(module))
    assert ran("compiled_later.cpp", "-lcuda", "-lnvrtc", given=["file"]) == "file done\n"
