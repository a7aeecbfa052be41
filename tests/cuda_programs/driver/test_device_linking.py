"""Device code of several files: functions in which threads meet, archives, -dlink, and what nobody defines."""
import shutil
import subprocess
from pathlib import Path

import pytest

from reactant.cuda_programs.device.merging import DeviceLinkError
from reactant.cuda_programs.driver import command, library
from reactant.cuda_programs.driver.device_linking import Code, unpacked
from reactant.cuda_programs.driver.toolchain import toolchain

KERNEL = """
extern __constant__ int factor[2];
extern __device__ int calls;
__device__ int reversed(int value);
static __device__ int mine(int x) { return x + 1; }
__global__ void k(int *x) {
    x[threadIdx.x] = mine(reversed(x[threadIdx.x])) * factor[1];
    if (threadIdx.x == 0) atomicAdd(&calls, 1);
}
int main() {
    int values[64], counted;
    const int factors[2] = {0, 3};
    for (int i = 0; i < 64; ++i) values[i] = i;
    int *x;
    cudaMalloc(&x, sizeof values);
    cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(factor, factors, sizeof factors);
    k<<<1, 64>>>(x);
    cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&counted, calls, sizeof counted);
    printf("%d %d %d %s\\n", values[0], values[63], counted, cudaGetErrorName(cudaGetLastError()));
}
"""
HELPER = """
__constant__ int factor[2];
__device__ int calls;
static __device__ int mine(int x) { return 1000 * x; }
__device__ int reversed(int value) {
    __shared__ int all[64];
    all[threadIdx.x] = value;
    __syncthreads();
    return all[63 - threadIdx.x] + mine(0);
}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kernel.cu").write_text(KERNEL)
    Path("helper.cu").write_text(HELPER)
    for name in ("kernel", "helper"):
        assert command.main(["-dc", f"{name}.cu", "-o", f"{name}.o"]) == 0


def said(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_one_program_of_several_files(files, capfd):
    assert command.main(["kernel.o", "helper.o", "-o", "program"]) == 0
    assert said("./program") == "192 3 1 cudaSuccess\n"
    assert b"_Z1kPi.block64.1.1" in Path("program").read_bytes()       # its threads meet in another file
    assert command.main(["-lib", "helper.o", "-o", "libhelper.a"]) == 0
    for libraries in (["libhelper.a"], ["-L.", "-lhelper"]):
        assert command.main(["-rdc=true", "kernel.o", *libraries, "-o", "with"]) == 0
        assert said("./with") == "192 3 1 cudaSuccess\n"
    with pytest.raises(DeviceLinkError, match="variable .*, which no file defines"):
        command.main(["kernel.o", "-o", "alone"])
    Path("only.cu").write_text("__device__ int lost(int);\n__global__ void k(int *x) { *x = lost(*x); }\n"
                               "int main() {}\n")
    with pytest.raises(DeviceLinkError, match="calls _Z4losti, which no file defines"):
        command.main(["-rdc=true", "only.cu", "-o", "only"])


@pytest.mark.skipif(shutil.which("g++") is None, reason="no other linker")
def test_another_linker_after_the_device_link(files):
    library_folder = library.home(toolchain()) / "lib64"
    link = ["g++", "kernel.o", "helper.o", f"-L{library_folder}", "-lcudart", "-lpthread", "-ldl", "-o", "program"]
    done = subprocess.run(link, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "reactant_device_code_is_not_linked" in done.stderr
    assert command.main(["-dlink", "kernel.o", "helper.o", "-o", "link.o"]) == 0
    subprocess.run([*link[:3], "link.o", *link[3:]], check=True)
    assert said("./program") == "192 3 1 cudaSuccess\n"
    assert command.main(["kernel.o", "helper.o", "link.o", "-o", "again"]) == 0
    assert said("./again") == "192 3 1 cudaSuccess\n"


def test_codes_lie_one_after_the_other_in_a_section():
    codes = [Code("define void @k() {}", "race"), Code("; é", "", shapes={"k": [(64, 1, 1)]})]
    assert unpacked(codes[0].packed() + b"\0" * 5 + codes[1].packed()) == codes
