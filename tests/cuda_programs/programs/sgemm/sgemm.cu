// sgemm M N K SEED [--check]: cuBLAS (column by column, so B A), and a kernel with tiles in shared memory.
#include <cublas_v2.h>

#include "sgemm.h"
#include "../cuda_check.h"

#define CUBLAS_CHECK(call)                                                                                 \
    do {                                                                                                   \
        const cublasStatus_t status_ = (call);                                                             \
        if (status_ != CUBLAS_STATUS_SUCCESS) {                                                            \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, int(status_));              \
            std::exit(2);                                                                                  \
        }                                                                                                  \
    } while (0)

constexpr int TILE = 64, DEPTH = 16, EACH = 4, SIDE = TILE / EACH;       // 16 x 16 threads, 4 x 4 results each

__global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta) {
    __shared__ float as[DEPTH][TILE + 4], bs[DEPTH][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * SIDE + tx;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[EACH][EACH] = {};
    for (int first = 0; first < k; first += DEPTH) {
        for (int e = t; e < TILE * DEPTH; e += SIDE * SIDE) {
            const int i = e / DEPTH, p = e % DEPTH;
            as[p][i] = row + i < m && first + p < k ? a[size_t(row + i) * k + first + p] : 0;
        }
        for (int e = t; e < TILE * DEPTH; e += SIDE * SIDE) {
            const int p = e / TILE, j = e % TILE;
            bs[p][j] = column + j < n && first + p < k ? b[size_t(first + p) * n + column + j] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < DEPTH; ++p) {
            float x[EACH], y[EACH];
#pragma unroll
            for (int i = 0; i < EACH; ++i) x[i] = as[p][ty * EACH + i];
#pragma unroll
            for (int j = 0; j < EACH; ++j) y[j] = bs[p][tx * EACH + j];
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            const int r = row + ty * EACH + i, s = column + tx * EACH + j;
            if (r < m && s < n) c[size_t(r) * n + s] = alpha * sum[i][j] + beta * c[size_t(r) * n + s];
        }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int m = arguments.number(0, 200), n = arguments.number(1, 200), k = arguments.number(2, 200);
    std::vector<float> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n), library(c.size()), own(c.size());
    make_inputs(arguments.number(3, 1), a, b, c);

    const double begun = milliseconds();
    float *device_a, *device_b, *device_c, *device_d;
    const size_t c_bytes = c.size() * sizeof(float);
    CUDA_CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_b, b.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_c, c_bytes));
    CUDA_CHECK(cudaMalloc(&device_d, c_bytes));
    CUDA_CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_c, c.data(), c_bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_d, c.data(), c_bytes, cudaMemcpyHostToDevice));
    cublasHandle_t handle;
    CUBLAS_CHECK(cublasCreate(&handle));
    const double kernel_begun = milliseconds();
    CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &ALPHA, device_b, n, device_a, k, &BETA,
                             device_c, n));
    const dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), block(SIDE, SIDE);
    multiply<<<grid, block>>>(device_a, device_b, device_d, m, n, k, ALPHA, BETA);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(library.data(), device_c, c_bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(own.data(), device_d, c_bytes, cudaMemcpyDeviceToHost));
    CUBLAS_CHECK(cublasDestroy(handle));
    for (float *p : {device_a, device_b, device_c, device_d}) CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(m, n, k, a, b, c, library, own, arguments.check);
}
