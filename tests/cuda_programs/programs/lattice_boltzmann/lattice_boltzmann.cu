// lattice_boltzmann N STEPS [--check]: a thread per cell, direction by direction in memory.
#include "lattice_boltzmann.h"
#include "../cuda_check.h"

__global__ void step(const float *__restrict__ from, float *__restrict__ to, int n, float omega) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) cell(from, to, n, x, y, omega);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 128), steps = arguments.number(1, 50);
    const float omega = 1.2f;
    std::vector<float> f = make_fluid(n);
    const size_t bytes = f.size() * sizeof(float);

    const double begun = milliseconds();
    float *from, *to;
    CUDA_CHECK(cudaMalloc(&from, bytes));
    CUDA_CHECK(cudaMalloc(&to, bytes));
    CUDA_CHECK(cudaMemcpy(from, f.data(), bytes, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    const dim3 block(64, 4), grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    for (int k = 0; k < steps; ++k) {
        step<<<grid, block>>>(from, to, n, omega);
        std::swap(from, to);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float kernel_ms;
    CUDA_CHECK(cudaEventElapsedTime(&kernel_ms, start, stop));
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaMemcpy(f.data(), from, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(from));
    CUDA_CHECK(cudaFree(to));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(f, n, steps, omega, arguments.check);
}
