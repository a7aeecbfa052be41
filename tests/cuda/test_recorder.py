"""What is compiled of a program, and what it does itself."""
import pytest

import reactant

PRINTS = r"""
__global__ void fill(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }
__global__ void said(float *x) { if (threadIdx.x == 0) printf("x is %g\n", x[5]); }
__device__ int counter;
__global__ void counted() { atomicAdd(&counter, 1); }
int main() {
    float *x, *pinned;
    int count;
    cudaMallocManaged(&x, 400);
    for (int i = 0; i < 100; ++i) x[i] = i;
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    cudaDeviceSynchronize();
    x[5] *= 2;
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    said<<<1, 32>>>(x);
    counted<<<4, 32>>>();
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    cudaMallocHost(&pinned, 400);
    for (int k = 0; k < 20; ++k) fill<<<1, 128>>>(x, 100);
    cudaMemcpy(pinned, x, 400, cudaMemcpyDeviceToHost);
    printf("%g %g %d\n", x[5], pinned[6], count);
    return 7;
}
"""


def test_looks_at_each_step(heat):
    """Sequences that come again and again are compiled after a while, and stay right."""
    assert heat.rounds(7) == 7
    told = heat.explain()
    assert "count_down" in told and "too seldom" in told


@pytest.mark.slow
def test_managed_memory_and_what_is_not_raised(tmp_path):
    """Compiled loops, the program's own code and the host take turns at one piece of memory."""
    (tmp_path / "turns.cu").write_text(PRINTS)
    program = reactant.cuda.program(tmp_path / "turns.cu")
    done = program.main(capture=True)
    assert (done.returncode, done.stdout) == (7, "x is 70\n90 66 128\n")
    told = program.explain()
    assert "20 times (fill)" in told and "said" in told and "lives in the host's process" in told
    with pytest.raises(reactant.UnsupportedError, match=r"The kernel 'said', launched at turns.cu:15"):
        reactant.cuda.program(tmp_path / "turns.cu", lower="tensor").main(capture=True)


TOUCHES = r"""
__global__ void add(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }
extern "C" float touched(int n) {
    float *x, last[3];
    cudaMalloc(&x, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));
    for (int k = 0; k < 20; ++k) add<<<1, 512>>>(x, n);
    float sum = x[0] + x[n - 1];
    x[1] = 100;
    for (int k = 0; k < 20; ++k) add<<<1, 512>>>(x, n);
    cudaDeviceSynchronize();
    sum += x[1] * 1000;
    for (int k = 0; k < 20; ++k) add<<<1, 512>>>(x, n);
    x[2] = 7;
    cudaMemcpy(last, x, sizeof last, cudaMemcpyDeviceToHost);
    cudaFree(x);
    return sum + last[0] * 1e4f + last[2] * 1e6f;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["tensor", "native"])
def test_libraries_of_the_host_work_on_the_memory_of_the_device(lower, tmp_path):
    """Thrust and cuBLAS do, and see what launches before them wrote, and launches behind them what they wrote."""
    (tmp_path / "touched.cu").write_text(TOUCHES)
    program = reactant.cuda.program(tmp_path / "touched.cu", lower=lower)
    assert program.touched(500) == 40 + 120_000 + 60e4 + 7e6
    program.close()
