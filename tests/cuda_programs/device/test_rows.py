"""Blocks side by side as one block."""
import pytest

from reactant.cuda_programs.device.rows import side_by_side
from reactant.cuda_programs.device.text import function
from tests.cuda_programs.device.random_threads import program

KERNELS = """
#include <cstdio>
__global__ void any(int *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n) y[j * n + i] += 3 * i + j;
}
__global__ void known(int *y, int n) {
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && threadIdx.y < 1000) y[j * n + i] += 3 * i + j;
}
__global__ void wide(int *y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x, j = size_t(blockIdx.y) * blockDim.y + threadIdx.y;
    if (i >= n) return;
    int own[5];
    for (int k = 0; k < 5; ++k) own[(k + i) % 5] = k;
    y[j * n + i] += 3 * int(i) + int(j) + own[i % 5];
}
__global__ void before(int *y, int n, int first) {
    const int i = threadIdx.x + first + blockIdx.x * blockDim.x - first, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n) y[j * n + i] += 3 * i + j;
}
int main() {
    int *y, bad = 0, ran = 0;
    const dim3 blocks[] = {dim3(32), dim3(32, 4), dim3(5, 3), dim3(48), dim3(1, 8), dim3(1024), dim3(100, 2)};
    for (dim3 block : blocks) for (int n : {1, 95, 1000}) for (int which = 0; which < 4; ++which) {
        if (which == 1 && block.x != 32) continue;
        const dim3 grid((n + block.x - 1) / block.x, 3);
        const int rows = 3 * block.y;
        cudaMallocManaged(&y, rows * n * sizeof(int));
        cudaMemset(y, 0, rows * n * sizeof(int));
        if (which == 0) any<<<grid, block>>>(y, n);
        if (which == 1) known<<<grid, block>>>(y, n);
        if (which == 2) wide<<<grid, block>>>(y, n);
        if (which == 3) before<<<grid, block>>>(y, n, 1 << 30);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        for (int j = 0; j < rows; ++j) for (int i = 0; i < n; ++i)
            bad += y[j * n + i] != 3 * i + j + (which == 2 ? (i % 5 + 5 - i % 5) % 5 : 0);
        ++ran;
        cudaFree(y);
    }
    printf("%d bad in %d\\n", bad, ran);
}
"""


def sides(*lines):
    """What is made of a kernel with these lines."""
    made = function("define void @k() {\nbb:\n  " + "\n  ".join([*lines, "ret void"]) + "\n}\n")
    return side_by_side(made), made.blocks["bb"][:-1]


def test_numbers_of_threads_in_rows():
    side, lines = sides("%p = mul nuw i32 %r.ctaid.x, %r.ntid.x", "%q = add nuw nsw i32 %r.tid.x, %n",
                        "%i = add nsw i32 %p, %q", "%c = icmp slt i32 %i, %m")
    assert side is not None and side.threads is None
    assert lines[1] == "%q = add i32 %r.tid.x, %n"      # flags of a part of it are gone
    side, lines = sides("%p = shl nuw nsw i32 %r.ctaid.x, 6", "%i = or disjoint i32 %p, %r.tid.x",
                        "%j = sext i32 %i to i64")
    assert side is not None and side.threads == 64 and lines[1] == "%i = add i32 %p, %r.tid.x"


@pytest.mark.parametrize("lines", [
    ["%c = icmp eq i32 %r.tid.x, 0"],                                                        # a thread of a block
    ["%p = mul i32 %r.ctaid.x, %r.ntid.x", "%i = sub i32 %p, %r.tid.x", "%c = icmp slt i32 %i, %n"],
    ["%p = mul i32 %r.ctaid.x, %r.nctaid.x", "%i = add i32 %p, %r.tid.x", "%c = icmp slt i32 %i, %n"],
    ["%p = shl i32 %r.ctaid.x, 6", "%i = add i32 %p, %r.tid.x", "%q = shl i32 %r.ctaid.x, 5",
     "%j = add i32 %q, %r.tid.x", "%k = mul i32 %i, %j"],                                    # of 64 and of 32 threads
    ["%p = mul i32 %r.ctaid.x, %r.ntid.x", "%q = add i32 %r.tid.x, %n", "%w = sext i32 %q to i64",
     "%v = sext i32 %p to i64", "%i = add i64 %w, %v"]])                                    # may wrap around in 32 bits
def test_other_numbers(lines):
    assert sides(*lines)[0] is None


def test_kernels_of_rows(tmp_path, ran):
    source = tmp_path / "rows.cu"
    source.write_text(KERNELS)
    assert ran("-O1", str(source)).strip() == "0 bad in 69"


def random_rows(folder, ran, seed, count):
    source = folder / "random.cu"
    source.write_text(program(seed, count, rows=True))
    said = ran("-fmad=false", "-O1", "-w", "-Xcompiler", "-ffp-contract=off", "-Xcompiler", "-fwrapv", str(source))
    assert said.startswith("0 of "), said


def test_random_rows(tmp_path, ran):
    random_rows(tmp_path, ran, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_random_rows(tmp_path, ran, seed):
    random_rows(tmp_path, ran, seed, 12)
