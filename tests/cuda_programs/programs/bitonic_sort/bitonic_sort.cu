// bitonic_sort LOG2_N SEED [--check]: short distances in shared memory, long ones a kernel each.
#include "bitonic_sort.h"
#include "../cuda_check.h"

constexpr int THREADS = 256, INSIDE = 2 * THREADS;

__device__ inline void exchange(unsigned &a, unsigned &b, bool upward) {
    if ((a > b) == upward) {
        const unsigned t = a;
        a = b;
        b = t;
    }
}

// Sequences of INSIDE numbers, sorted up and down in alternation.
__global__ void sort_inside(unsigned *keys) {
    __shared__ unsigned s[INSIDE];
    const int t = threadIdx.x;
    unsigned *own = keys + size_t(blockIdx.x) * INSIDE;
    s[t] = own[t];
    s[t + THREADS] = own[t + THREADS];
    for (int size = 2; size <= INSIDE; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            const int low = 2 * t - (t & (distance - 1));
            const bool upward = size < INSIDE ? (low & size) == 0 : (blockIdx.x & 1) == 0;
            exchange(s[low], s[low + distance], upward);
        }
    __syncthreads();
    own[t] = s[t];
    own[t + THREADS] = s[t + THREADS];
}

__global__ void merge_far(unsigned *keys, unsigned size, unsigned distance) {
    const unsigned t = blockIdx.x * THREADS + threadIdx.x;
    const unsigned low = 2 * t - (t & (distance - 1));
    exchange(keys[low], keys[low + distance], (low & size) == 0);
}

// All distances below INSIDE of one size.
__global__ void merge_inside(unsigned *keys, unsigned size) {
    __shared__ unsigned s[INSIDE];
    const unsigned t = threadIdx.x, first = blockIdx.x * INSIDE;
    s[t] = keys[first + t];
    s[t + THREADS] = keys[first + t + THREADS];
    const bool upward = (first & size) == 0;
    for (unsigned distance = THREADS; distance > 0; distance /= 2) {
        __syncthreads();
        const unsigned low = 2 * t - (t & (distance - 1));
        exchange(s[low], s[low + distance], upward);
    }
    __syncthreads();
    keys[first + t] = s[t];
    keys[first + t + THREADS] = s[t + THREADS];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const unsigned n = 1u << std::max(10l, arguments.number(0, 14));
    std::vector<unsigned> keys(n);
    make_inputs(arguments.number(1, 1), keys);
    const std::vector<unsigned> before = keys;

    const double begun = milliseconds();
    unsigned *device;
    CUDA_CHECK(cudaMalloc(&device, n * sizeof(unsigned)));
    CUDA_CHECK(cudaMemcpy(device, keys.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    sort_inside<<<n / INSIDE, THREADS>>>(device);
    for (unsigned size = 2 * INSIDE; size <= n && size; size *= 2) {
        for (unsigned distance = size / 2; distance >= INSIDE; distance /= 2)
            merge_far<<<n / INSIDE, THREADS>>>(device, size, distance);
        merge_inside<<<n / INSIDE, THREADS>>>(device, size);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(keys.data(), device, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(before, keys, arguments.check);
}
