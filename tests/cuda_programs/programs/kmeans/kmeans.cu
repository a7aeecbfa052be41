// kmeans POINTS CLUSTERS STEPS SEED [--check]: centres in constant memory, sums by atomics in shared memory first.
#include "kmeans.h"
#include "../cuda_check.h"

constexpr int THREADS = 256;

__constant__ float centre[MAX_CLUSTERS * FEATURES];

__global__ void assign(const float *features, int *member, int points, int clusters) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= points) return;
    float x[FEATURES];
    for (int f = 0; f < FEATURES; ++f) x[f] = features[f * points + i];
    float nearest = 3e38f;
    int best = 0;
    for (int c = 0; c < clusters; ++c) {
        float d = 0;
        for (int f = 0; f < FEATURES; ++f) {
            const float y = x[f] - centre[c * FEATURES + f];
            d += y * y;
        }
        if (d < nearest) { nearest = d; best = c; }
    }
    member[i] = best;
}

__global__ void accumulate(const float *features, const int *member, double *sums, int *counts, int points,
                           int clusters) {
    __shared__ float sum[MAX_CLUSTERS * FEATURES];
    __shared__ int count[MAX_CLUSTERS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    for (int k = t; k < clusters * FEATURES; k += THREADS) sum[k] = 0;
    if (t < clusters) count[t] = 0;
    __syncthreads();
    if (i < points) {
        const int c = member[i];
        atomicAdd(&count[c], 1);
        for (int f = 0; f < FEATURES; ++f) atomicAdd(&sum[c * FEATURES + f], features[f * points + i]);
    }
    __syncthreads();
    for (int k = t; k < clusters * FEATURES; k += THREADS) atomicAdd(&sums[k], double(sum[k]));
    if (t < clusters) atomicAdd(&counts[t], count[t]);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int points = arguments.number(0, 20000), clusters = std::min(long(MAX_CLUSTERS), arguments.number(1, 16));
    const int steps = arguments.number(2, 10);
    std::vector<float> features(size_t(points) * FEATURES), centres(clusters * FEATURES);
    std::vector<int> member(points), counts(clusters);
    std::vector<double> sums(clusters * FEATURES);
    make_inputs(points, clusters, arguments.number(3, 1), features, centres);
    std::vector<float> wanted = centres;

    const double begun = milliseconds();
    float *device_features;
    int *device_member, *device_counts;
    double *device_sums;
    CUDA_CHECK(cudaMalloc(&device_features, features.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_member, points * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&device_counts, clusters * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&device_sums, sums.size() * sizeof(double)));
    CUDA_CHECK(cudaMemcpy(device_features, features.data(), features.size() * sizeof(float), cudaMemcpyHostToDevice));
    const int blocks = (points + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    for (int step = 0; step < steps; ++step) {
        CUDA_CHECK(cudaMemcpyToSymbol(centre, centres.data(), centres.size() * sizeof(float)));
        CUDA_CHECK(cudaMemset(device_sums, 0, sums.size() * sizeof(double)));
        CUDA_CHECK(cudaMemset(device_counts, 0, clusters * sizeof(int)));
        assign<<<blocks, THREADS>>>(device_features, device_member, points, clusters);
        accumulate<<<blocks, THREADS>>>(device_features, device_member, device_sums, device_counts, points, clusters);
        CUDA_CHECK(cudaMemcpy(sums.data(), device_sums, sums.size() * sizeof(double), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(counts.data(), device_counts, clusters * sizeof(int), cudaMemcpyDeviceToHost));
        new_centres(centres, sums.data(), counts.data(), clusters);
    }
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(member.data(), device_member, points * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_features));
    CUDA_CHECK(cudaFree(device_member));
    CUDA_CHECK(cudaFree(device_counts));
    CUDA_CHECK(cudaFree(device_sums));
    const double total_ms = milliseconds() - begun;

    results("centres", centres);
    results("member", member);
    print_times(kernel_ms, total_ms);
    if (arguments.check) {
        reference(features, wanted, member, points, clusters, steps);
        expect_close("centres", centres, wanted, 1e-3);
    }
}
