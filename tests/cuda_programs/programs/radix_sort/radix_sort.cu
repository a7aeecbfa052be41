// radix_sort N SEED [--check]: digits of four bits: counts of blocks, a scan of them, ranks inside warps by ballots.
#include "radix_sort.h"
#include "../cuda_check.h"

constexpr int BITS = 4, DIGITS = 1 << BITS, THREADS = 256, WARPS = THREADS / 32, SCAN = 512;

__global__ void count_digits(const unsigned *keys, unsigned *counts, int n, int shift) {
    __shared__ unsigned count[DIGITS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    if (t < DIGITS) count[t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&count[keys[i] >> shift & (DIGITS - 1)], 1u);
    __syncthreads();
    if (t < DIGITS) counts[t * gridDim.x + blockIdx.x] = count[t];
}

// Exclusive sums, by one block that goes over all counts.
__global__ void scan_counts(unsigned *counts, int n) {
    __shared__ unsigned warp_sums[SCAN / 32], carried;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) carried = 0;
    __syncthreads();
    for (int first = 0; first < n; first += SCAN) {
        const int i = first + t;
        const unsigned own = i < n ? counts[i] : 0;
        unsigned sum = own;
        for (int offset = 1; offset < 32; offset *= 2) {
            const unsigned before = __shfl_up_sync(0xffffffffu, sum, offset);
            if (lane >= offset) sum += before;
        }
        if (lane == 31) warp_sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            unsigned s = lane < SCAN / 32 ? warp_sums[lane] : 0;
            for (int offset = 1; offset < SCAN / 32; offset *= 2) {
                const unsigned before = __shfl_up_sync(0xffffffffu, s, offset);
                if (lane >= offset) s += before;
            }
            if (lane < SCAN / 32) warp_sums[lane] = s;
        }
        __syncthreads();
        const unsigned before = carried + (warp > 0 ? warp_sums[warp - 1] : 0) + sum - own;
        if (i < n) counts[i] = before;
        __syncthreads();
        if (t == 0) carried += warp_sums[SCAN / 32 - 1];
        __syncthreads();
    }
}

__global__ void scatter(const unsigned *keys, const unsigned *values, unsigned *to_keys, unsigned *to_values,
                        const unsigned *starts, int n, int shift) {
    __shared__ unsigned warp_counts[WARPS][DIGITS];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * THREADS + t;
    const unsigned key = i < n ? keys[i] : 0, digit = key >> shift & (DIGITS - 1);
    if (lane < DIGITS) warp_counts[warp][lane] = 0;
    __syncwarp();
    unsigned same = __ballot_sync(0xffffffffu, i < n);              // lanes with the same digit
    for (int bit = 0; bit < BITS; ++bit) {
        const unsigned ones = __ballot_sync(0xffffffffu, digit >> bit & 1);
        same &= digit >> bit & 1 ? ones : ~ones;
    }
    const unsigned rank = __popc(same & ((1u << lane) - 1));
    if (i < n && rank == 0) warp_counts[warp][digit] = __popc(same);
    __syncthreads();
    if (t < DIGITS) {
        unsigned sum = starts[t * gridDim.x + blockIdx.x];
        for (int w = 0; w < WARPS; ++w) {
            const unsigned here = warp_counts[w][t];
            warp_counts[w][t] = sum;
            sum += here;
        }
    }
    __syncthreads();
    if (i < n) {
        const unsigned to = warp_counts[warp][digit] + rank;
        to_keys[to] = key;
        to_values[to] = values[i];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 20000);
    std::vector<unsigned> keys(n), values(n);
    make_inputs(arguments.number(1, 1), keys, values);
    const std::vector<unsigned> before = keys;

    const double begun = milliseconds();
    const size_t bytes = n * sizeof(unsigned);
    const int blocks = (n + THREADS - 1) / THREADS;
    unsigned *from_keys, *from_values, *to_keys, *to_values, *counts;
    for (unsigned **p : {&from_keys, &from_values, &to_keys, &to_values}) CUDA_CHECK(cudaMalloc(p, bytes));
    CUDA_CHECK(cudaMalloc(&counts, size_t(blocks) * DIGITS * sizeof(unsigned)));
    CUDA_CHECK(cudaMemcpy(from_keys, keys.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(from_values, values.data(), bytes, cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int shift = 0; shift < 32; shift += BITS) {
        count_digits<<<blocks, THREADS>>>(from_keys, counts, n, shift);
        scan_counts<<<1, SCAN>>>(counts, blocks * DIGITS);
        scatter<<<blocks, THREADS>>>(from_keys, from_values, to_keys, to_values, counts, n, shift);
        std::swap(from_keys, to_keys);
        std::swap(from_values, to_values);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(keys.data(), from_keys, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(values.data(), from_values, bytes, cudaMemcpyDeviceToHost));
    for (unsigned *p : {from_keys, from_values, to_keys, to_values, counts}) CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(before, keys, values, arguments.check);
}
