// lud N SEED [--check]: blocked: the diagonal tile, the tiles in its row and column, then all tiles behind them.
#include "lud.h"
#include "../cuda_check.h"

constexpr int B = 16;

__global__ void diagonal(float *a, int n, int first) {
    __shared__ float tile[B][B + 1];
    const int t = threadIdx.x;
    float *corner = a + size_t(first) * n + first;
    for (int i = 0; i < B; ++i) tile[i][t] = corner[size_t(i) * n + t];
    __syncthreads();
    for (int k = 0; k < B - 1; ++k) {
        if (t > k) {
            tile[t][k] /= tile[k][k];
            for (int j = k + 1; j < B; ++j) tile[t][j] -= tile[t][k] * tile[k][j];
        }
        __syncthreads();
    }
    for (int i = 0; i < B; ++i) corner[size_t(i) * n + t] = tile[i][t];
}

// Half of the threads of a block solve for a tile right of the diagonal one, the others for a tile below it.
__global__ void perimeter(float *a, int n, int first) {
    __shared__ float d[B][B + 1], row[B][B + 1], column[B][B + 1];
    const int t = threadIdx.x % B;
    const bool upper = threadIdx.x < B;
    const int other = first + (blockIdx.x + 1) * B;
    float *corner = a + size_t(first) * n + first;
    float *right = a + size_t(first) * n + other, *below = a + size_t(other) * n + first;
    for (int i = 0; i < B; ++i) {
        if (upper) {
            d[i][t] = corner[size_t(i) * n + t];
            row[i][t] = right[size_t(i) * n + t];
        } else {
            column[i][t] = below[size_t(i) * n + t];
        }
    }
    __syncthreads();
    if (upper) {
        for (int i = 1; i < B; ++i) {
            float sum = row[i][t];
            for (int k = 0; k < i; ++k) sum -= d[i][k] * row[k][t];
            row[i][t] = sum;
        }
    } else {
        for (int j = 0; j < B; ++j) {
            float sum = column[t][j];
            for (int k = 0; k < j; ++k) sum -= column[t][k] * d[k][j];
            column[t][j] = sum / d[j][j];
        }
    }
    __syncthreads();
    for (int i = 0; i < B; ++i) {
        if (upper) right[size_t(i) * n + t] = row[i][t];
        else below[size_t(i) * n + t] = column[i][t];
    }
}

__global__ void interior(float *a, int n, int first) {
    __shared__ float row[B][B], column[B][B];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = first + (blockIdx.y + 1) * B + ty, j = first + (blockIdx.x + 1) * B + tx;
    row[ty][tx] = a[size_t(first + ty) * n + j];
    column[ty][tx] = a[size_t(i) * n + first + tx];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < B; ++k) sum += column[ty][k] * row[k][tx];
    a[size_t(i) * n + j] -= sum;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = (arguments.number(0, 256) + B - 1) / B * B;
    std::vector<float> a(size_t(n) * n);
    make_inputs(n, arguments.number(1, 1), a);
    const std::vector<float> first = a;
    const size_t bytes = a.size() * sizeof(float);

    const double begun = milliseconds();
    float *device;
    CUDA_CHECK(cudaMalloc(&device, bytes));
    CUDA_CHECK(cudaMemcpy(device, a.data(), bytes, cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int k = 0; k < n; k += B) {
        diagonal<<<1, B>>>(device, n, k);
        const int rest = (n - k) / B - 1;
        if (rest > 0) {
            perimeter<<<rest, 2 * B>>>(device, n, k);
            interior<<<dim3(rest, rest), dim3(B, B)>>>(device, n, k);
        }
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(a.data(), device, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    const double total_ms = milliseconds() - begun;

    results("lu", a);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(a, first, n);
}
