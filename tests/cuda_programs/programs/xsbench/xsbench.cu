// xsbench LOOKUPS NUCLIDES POINTS SEED [--check]: a thread per look-up; sums by warp shuffles and atomics.
#include "xsbench.h"
#include "../cuda_check.h"

__global__ void look_ups(const GridPoint *grids, const int *counts, const int *members, const double *densities,
                         int points, int lookups, long seed, unsigned long long *verification, double *sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    double macro[CHANNELS] = {};
    unsigned long long own = 0;
    if (i < lookups) {
        look_up(macro, grids, counts, members, densities, points, seed, i);
        own = largest(macro);
    }
    for (int offset = 16; offset > 0; offset /= 2) own += __shfl_xor_sync(0xffffffffu, own, offset);
    for (int k = 0; k < CHANNELS; ++k)
        for (int offset = 16; offset > 0; offset /= 2) macro[k] += __shfl_xor_sync(0xffffffffu, macro[k], offset);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(verification, own);
        for (int k = 0; k < CHANNELS; ++k) atomicAdd(&sums[k], macro[k]);
    }
}

template <class T> T *on_device(const std::vector<T> &values) {
    T *p;
    CUDA_CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int lookups = arguments.number(0, 20000);
    const long seed = arguments.number(3, 1);
    const Data data(std::max(34l, arguments.number(1, 68)), arguments.number(2, 1000), seed);

    const double begun = milliseconds();
    GridPoint *grids = on_device(data.grids);
    int *counts = on_device(data.counts), *members = on_device(data.members);
    double *densities = on_device(data.densities), *sums = on_device(std::vector<double>(CHANNELS));
    unsigned long long *device_verification = on_device(std::vector<unsigned long long>(1));
    const double kernel_begun = milliseconds();
    look_ups<<<(lookups + 255) / 256, 256>>>(grids, counts, members, densities, data.points, lookups, seed,
                                             device_verification, sums);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    unsigned long long verification;
    std::vector<double> macro(CHANNELS);
    CUDA_CHECK(cudaMemcpy(&verification, device_verification, sizeof verification, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(macro.data(), sums, CHANNELS * sizeof(double), cudaMemcpyDeviceToHost));
    for (void *p : {(void *)grids, (void *)counts, (void *)members, (void *)densities, (void *)sums,
                    (void *)device_verification})
        CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    result("verification", double(verification));
    results("macro", macro);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect("verification", long(verification) == reference(data, lookups, seed));
}
