// gaussian N SEED [--check]: for each column a kernel for the factors and one for the rest of the matrix.
#include "gaussian.h"
#include "../cuda_check.h"

__global__ void factors(const float *a, float *m, int n, int k) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x + k + 1;
    if (i < n) m[i] = a[size_t(i) * n + k] / a[size_t(k) * n + k];
}

__global__ void eliminate(float *a, float *b, const float *m, int n, int k) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x + k, i = blockIdx.y * blockDim.y + threadIdx.y + k + 1;
    if (i >= n || j >= n) return;
    a[size_t(i) * n + j] -= m[i] * a[size_t(k) * n + j];
    if (j == k) b[i] -= m[i] * b[k];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 256);
    std::vector<float> a(size_t(n) * n), b(n);
    make_inputs(n, arguments.number(1, 1), a, b);
    const std::vector<float> first = a, right = b;

    const double begun = milliseconds();
    float *device_a, *device_b, *m;
    CUDA_CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_b, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&m, n * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    const dim3 block(32, 8);
    for (int k = 0; k < n - 1; ++k) {
        const int rows = n - 1 - k, columns = n - k;
        factors<<<(rows + 255) / 256, 256>>>(device_a, m, n, k);
        const dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
        eliminate<<<grid, block>>>(device_a, device_b, m, n, k);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(a.data(), device_a, a.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(b.data(), device_b, n * sizeof(float), cudaMemcpyDeviceToHost));
    const std::vector<float> x = back_substituted(a, b, n);
    CUDA_CHECK(cudaFree(device_a));
    CUDA_CHECK(cudaFree(device_b));
    CUDA_CHECK(cudaFree(m));
    const double total_ms = milliseconds() - begun;

    results("x", x);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(first, right, x, n);
}
