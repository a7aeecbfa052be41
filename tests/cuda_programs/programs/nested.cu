// Kernels that launch kernels: recursion, launches after barriers, kernels of other files, what goes wrong.
#include "checks.h"

#include <algorithm>
#include <vector>

__global__ void far_away(double by, char c, int *x);

// Quicksort: a thread divides its range, and launches the two parts.
__global__ void sort(int *x, int first, int last) {
    if (last - first < 8) {
        for (int i = first + 1; i < last; ++i)
            for (int k = i; k > first && x[k] < x[k - 1]; --k) { int t = x[k]; x[k] = x[k - 1], x[k - 1] = t; }
        return;
    }
    const int pivot = x[(first + last) / 2];
    int i = first, j = last - 1;
    while (i <= j) {
        while (x[i] < pivot) ++i;
        while (x[j] > pivot) --j;
        if (i <= j) { int t = x[i]; x[i++] = x[j], x[j--] = t; }
    }
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (first < j + 1) sort<<<1, 1, 0, stream>>>(x, first, j + 1);
    if (i < last) sort<<<1, 1>>>(x, i, last);
    cudaStreamDestroy(stream);
}

struct Part { short n; double scale; };
__global__ void scaled(int *x, Part part, int width) {
    extern __shared__ int line[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    line[threadIdx.x] = x[row * width + i];
    __syncthreads();
    if (i < part.n) x[row * width + i] = int(part.scale * line[blockDim.x - 1 - threadIdx.x]);
}
// All threads of a block fill, one of them launches when all have, and all see what came of it.
__global__ void filled(int *x, int width, int *sums) {
    int *mine = x + blockIdx.x * 2 * width;
    for (int i = threadIdx.x; i < 2 * width; i += blockDim.x) mine[i] = i + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        scaled<<<dim3(width / 32, 2), 32, 32 * sizeof(int)>>>(mine, Part{short(width), 2.0}, width);
        cudaDeviceSynchronize();
    }
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < 2 * width; i += blockDim.x) sum += mine[i];
    atomicAdd(&sums[blockIdx.x], sum);
}

__device__ int depth_of(int *x, int n) {        // recursive, and knows its thread after a launch
    if (n == 0) {
        far_away<<<1, 4>>>(1.5, 2, x + 4 * threadIdx.x);
        return threadIdx.x;
    }
    return 100 + depth_of(x, n - 1);
}
__global__ void recursive(int *x, int *depths) { depths[threadIdx.x] = depth_of(x, 3); }

__global__ void wrong(int *error) {
    far_away<<<1, 2000>>>(1, 1, nullptr);
    error[0] = cudaGetLastError();
    error[1] = cudaGetLastError();
}

template <class T> static T *managed(int n) {
    T *made = nullptr;
    CHECK(cudaMallocManaged(&made, n * sizeof(T)) == cudaSuccess);
    return made;
}

int main() {
    const int n = 1000, width = 64, blocks = 6;
    int *x = managed<int>(n), *y = managed<int>(2 * width * blocks), *sums = managed<int>(blocks), *depths = managed<int>(8);
    std::vector<int> wanted(n);
    for (int i = 0; i < n; ++i) wanted[i] = x[i] = i * 7919 % 1009;
    sort<<<1, 1>>>(x, 0, n);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    std::sort(wanted.begin(), wanted.end());
    CHECK(std::equal(wanted.begin(), wanted.end(), x));

    for (int b = 0; b < blocks; ++b) sums[b] = 0;
    filled<<<blocks, 48>>>(y, width, sums);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int b = 0; b < blocks; ++b) {
        SAME(y[b * 2 * width], 2 * (31 + b));
        SAME(y[b * 2 * width + width + 40], 2 * (width + 55 + b));
        SAME(sums[b], 2 * width * (2 * width - 1) + 2 * b * 2 * width);
    }

    for (int i = 0; i < 32; ++i) x[i] = i;
    recursive<<<1, 8>>>(x, depths);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < 32; ++i) SAME(x[i], i + 3);
    for (int i = 0; i < 8; ++i) SAME(depths[i], 300 + i);

    wrong<<<1, 1>>>(depths);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    SAME(depths[0], (int)cudaErrorInvalidConfiguration);
    SAME(depths[1], 0);
    printf("done\n");
    return checks_failed != 0;
}
