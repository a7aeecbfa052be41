// fft ROWS TIMES SEED [--check]: a block per row, a thread per four numbers; stages exchange through shared memory.
#include "fft.h"
#include "../cuda_check.h"

__device__ void transform(Complex *v, Complex *shared, const Complex *roots, int t, float sign) {
    int length = 1;
    for (int stage = 0; stage < STAGES; ++stage, length *= 4) {
        const int k = t % length;
        for (int r = 1; r < 4; ++r) {
            Complex w = __ldg(&roots[r * k * (QUARTER / length)]);
            w.im *= -sign;
            v[r] = v[r] * w;
        }
        butterfly(v, sign);
        if (stage == STAGES - 1) break;
        const int to = (t / length) * length * 4 + k;
        __syncthreads();
        for (int r = 0; r < 4; ++r) shared[to + r * length] = v[r];
        __syncthreads();
        for (int r = 0; r < 4; ++r) v[r] = shared[t + r * QUARTER];
    }
}

__global__ void filter_rows(Complex *data, const Complex *roots, const float *filter) {
    __shared__ Complex shared[N];
    const int t = threadIdx.x;
    Complex *row = data + size_t(blockIdx.x) * N, v[4];
    for (int r = 0; r < 4; ++r) v[r] = row[t + r * QUARTER];
    transform(v, shared, roots, t, -1);
    for (int r = 0; r < 4; ++r) {
        const float f = filter[t + r * QUARTER];
        v[r] = {v[r].re * f, v[r].im * f};
    }
    transform(v, shared, roots, t, 1);
    for (int r = 0; r < 4; ++r) row[t + r * QUARTER] = v[r];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 64), times = arguments.number(1, 2);
    std::vector<Complex> data(size_t(rows) * N), roots(N);
    std::vector<float> filter(N);
    make_inputs(rows, arguments.number(2, 1), data, roots, filter);
    const std::vector<Complex> first = data;

    const double begun = milliseconds();
    const size_t bytes = data.size() * sizeof(Complex);
    Complex *device, *device_roots;
    float *device_filter;
    CUDA_CHECK(cudaMalloc(&device, bytes));
    CUDA_CHECK(cudaMalloc(&device_roots, N * sizeof(Complex)));
    CUDA_CHECK(cudaMalloc(&device_filter, N * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(device, data.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_roots, roots.data(), N * sizeof(Complex), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_filter, filter.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int k = 0; k < times; ++k) filter_rows<<<rows, QUARTER>>>(device, device_roots, device_filter);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(data.data(), device, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    CUDA_CHECK(cudaFree(device_roots));
    CUDA_CHECK(cudaFree(device_filter));
    const double total_ms = milliseconds() - begun;

    results("data", &data[0].re, 2 * data.size());
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(first, data, filter, rows, times);
}
