// What CUB's blocks and warps do together, within kernels, against the C++ library.
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>
#include <vector>

#include "checks.h"

constexpr int threads = 128, items = 4, all = threads * items;

template <cub::BlockReduceAlgorithm algorithm> __global__ void block_sum(const int *x, int *out) {
    typedef cub::BlockReduce<int, threads, algorithm> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    const int sum = Reduce(storage).Sum(x[blockIdx.x * threads + threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <cub::BlockScanAlgorithm algorithm> __global__ void block_scan(const int *x, int *out, int *totals) {
    typedef cub::BlockScan<int, threads, algorithm> Scan;
    __shared__ typename Scan::TempStorage storage;
    int values[items], total;
    for (int k = 0; k < items; ++k) values[k] = x[blockIdx.x * all + threadIdx.x * items + k];
    Scan(storage).ExclusiveSum(values, values, total);
    for (int k = 0; k < items; ++k) out[blockIdx.x * all + threadIdx.x * items + k] = values[k];
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

__global__ void block_sort(const unsigned *x, unsigned *out) {
    typedef cub::BlockRadixSort<unsigned, threads, items> Sort;
    typedef cub::BlockLoad<unsigned, threads, items, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockStore<unsigned, threads, items, cub::BLOCK_STORE_TRANSPOSE> Store;
    __shared__ union { typename Sort::TempStorage sort; typename Load::TempStorage load; typename Store::TempStorage store; } storage;
    unsigned values[items];
    Load(storage.load).Load(x + blockIdx.x * all, values);
    __syncthreads();
    Sort(storage.sort).Sort(values);
    __syncthreads();
    Store(storage.store).Store(out + blockIdx.x * all, values);
}

__global__ void warps(const int *x, int *sums, int *scans) {
    typedef cub::WarpReduce<int> Reduce;
    typedef cub::WarpScan<int> Scan;
    __shared__ typename Reduce::TempStorage reducing[threads / 32];
    __shared__ typename Scan::TempStorage scanning[threads / 32];
    const int warp = threadIdx.x / 32, i = blockIdx.x * threads + threadIdx.x;
    const int sum = Reduce(reducing[warp]).Sum(x[i]);
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
    int scanned;
    Scan(scanning[warp]).InclusiveSum(x[i], scanned);
    scans[i] = scanned;
}

template <class T> static T *device(int n) {
    T *made = nullptr;
    CHECK(cudaMallocManaged(&made, n * sizeof(T)) == cudaSuccess);
    return made;
}
static void run(const char *what) {
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) ++checks_failed, printf("%s: %s\n", what, cudaGetErrorString(error));
}

static const int blocks = 5;

static void reduce() {
    int *x = device<int>(blocks * threads), *out = device<int>(blocks);
    for (int i = 0; i < blocks * threads; ++i) x[i] = i * 7919 % 1000 - 300;
    for (int which = 0; which < 3; ++which) {
        if (which == 0) block_sum<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<blocks, threads>>>(x, out);
        if (which == 1) block_sum<cub::BLOCK_REDUCE_RAKING><<<blocks, threads>>>(x, out);
        if (which == 2) block_sum<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<blocks, threads>>>(x, out);
        run("reduce");
        for (int b = 0; b < blocks; ++b) SAME(out[b], std::accumulate(x + b * threads, x + (b + 1) * threads, 0));
    }
}

static void scan() {
    int *x = device<int>(blocks * all), *out = device<int>(blocks * all), *totals = device<int>(blocks);
    for (int i = 0; i < blocks * all; ++i) x[i] = i * 7919 % 1000 - 300;
    for (int which = 0; which < 2; ++which) {
        if (which == 0) block_scan<cub::BLOCK_SCAN_WARP_SCANS><<<blocks, threads>>>(x, out, totals);
        else block_scan<cub::BLOCK_SCAN_RAKING><<<blocks, threads>>>(x, out, totals);
        run("scan");
        for (int b = 0; b < blocks; ++b) {
            int sum = 0;
            for (int i = b * all; i < (b + 1) * all; sum += x[i++]) SAME(out[i], sum);
            SAME(totals[b], sum);
        }
    }
}

static void sort() {
    unsigned *x = device<unsigned>(blocks * all), *out = device<unsigned>(blocks * all);
    for (int i = 0; i < blocks * all; ++i) x[i] = unsigned(i) * 2654435761u;
    block_sort<<<blocks, threads>>>(x, out);
    run("sort");
    for (int b = 0; b < blocks; ++b) {
        std::vector<unsigned> wanted(x + b * all, x + (b + 1) * all);
        std::sort(wanted.begin(), wanted.end());
        CHECK(std::equal(wanted.begin(), wanted.end(), out + b * all));
    }
}

static void warp() {
    int *x = device<int>(blocks * threads), *sums = device<int>(blocks * threads / 32), *scans = device<int>(blocks * threads);
    for (int i = 0; i < blocks * threads; ++i) x[i] = i * 7919 % 1000 - 300;
    warps<<<blocks, threads>>>(x, sums, scans);
    run("warp");
    for (int w = 0; w < blocks * threads / 32; ++w) {
        int sum = 0;
        for (int i = 32 * w; i < 32 * w + 32; ++i) SAME(scans[i], sum += x[i]);
        SAME(sums[w], sum);
    }
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"reduce", reduce}, {"scan", scan}, {"sort", sort}, {"warp", warp}};
    return run_subjects(subjects, 4, argc, argv);
}
