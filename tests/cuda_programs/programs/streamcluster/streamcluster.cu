// streamcluster POINTS DIMENSIONS CANDIDATES SEED [--check]: a thread per point, 64-bit atomics, the candidate's
// coordinates in dynamic shared memory.
#include "streamcluster.h"
#include "../cuda_check.h"

constexpr int THREADS = 256;

__global__ void gains(const float *x, const float *cost, const int *centre, const int *place, float *distance,
                      long long *lower, unsigned long long *moved, int points, int dimensions, int candidate) {
    extern __shared__ float coordinates[];
    __shared__ unsigned long long block_moved;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (int d = t; d < dimensions; d += blockDim.x) coordinates[d] = x[size_t(d) * points + candidate];
    if (t == 0) block_moved = 0;
    __syncthreads();
    if (i < points) {
        float sum = 0;
        for (int d = 0; d < dimensions; ++d) {
            const float v = x[size_t(d) * points + i] - coordinates[d];
            sum += v * v;
        }
        distance[i] = sum;
        const long long difference = (long long)floor(double(sum - cost[i]) / QUANTUM);
        if (difference < 0) atomicAdd(&block_moved, (unsigned long long)-difference);
        else atomicAdd((unsigned long long *)&lower[place[centre[i]]], (unsigned long long)difference);
    }
    __syncthreads();
    if (t == 0 && block_moved) atomicAdd(moved, block_moved);
}

__global__ void move_points(float *cost, int *centre, const int *place, const char *closed, const float *distance,
                            int points, int candidate) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points && (distance[i] < cost[i] || closed[place[centre[i]]])) {
        centre[i] = candidate;
        cost[i] = distance[i];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const long seed = arguments.number(3, 1);
    Problem p(arguments.number(0, 8192), arguments.number(1, 32), arguments.number(2, 40), seed);
    Problem other = p;
    const int n = p.points;
    const size_t most = p.candidates + 1;

    const double begun = milliseconds();
    float *x, *cost, *distance;
    int *centre, *place;
    long long *lower;
    unsigned long long *moved;
    char *device_closed;
    CUDA_CHECK(cudaMalloc(&x, p.x.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&cost, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&distance, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&centre, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&place, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&lower, most * sizeof(long long)));
    CUDA_CHECK(cudaMalloc(&moved, sizeof(unsigned long long)));
    CUDA_CHECK(cudaMalloc(&device_closed, most));
    CUDA_CHECK(cudaMemcpy(x, p.x.data(), p.x.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(cost, p.cost.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(centre, p.centre.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    std::vector<int> open{0}, places(n, -1);
    places[0] = 0;
    CUDA_CHECK(cudaMemcpy(place, places.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    const int blocks = (n + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    for (int k = 0; k < p.candidates; ++k) {
        const int c = p.candidate(k, seed);
        if (places[c] >= 0) continue;
        CUDA_CHECK(cudaMemset(lower, 0, open.size() * sizeof(long long)));
        CUDA_CHECK(cudaMemset(moved, 0, sizeof(unsigned long long)));
        gains<<<blocks, THREADS, p.dimensions * sizeof(float)>>>(x, cost, centre, place, distance, lower, moved, n,
                                                                  p.dimensions, c);
        std::vector<long long> host_lower(open.size());
        unsigned long long host_moved;
        CUDA_CHECK(cudaMemcpy(host_lower.data(), lower, open.size() * sizeof(long long), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(&host_moved, moved, sizeof host_moved, cudaMemcpyDeviceToHost));
        std::vector<double> stay;
        for (long long v : host_lower) stay.push_back(v * QUANTUM);
        std::vector<char> closed(open.size());
        if (p.gain(host_moved * QUANTUM, stay, open, closed) <= 0) continue;
        CUDA_CHECK(cudaMemcpy(device_closed, closed.data(), closed.size(), cudaMemcpyHostToDevice));
        move_points<<<blocks, THREADS>>>(cost, centre, place, device_closed, distance, n, c);
        std::vector<int> kept;
        for (size_t m = 0; m < open.size(); ++m) {
            places[open[m]] = -1;
            if (!closed[m]) kept.push_back(open[m]);
        }
        kept.push_back(c);
        open.swap(kept);
        for (size_t m = 0; m < open.size(); ++m) places[open[m]] = int(m);
        CUDA_CHECK(cudaMemcpy(place, places.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(p.cost.data(), cost, n * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(p.centre.data(), centre, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (void *q : {(void *)x, (void *)cost, (void *)distance, (void *)centre, (void *)place, (void *)lower,
                    (void *)moved, (void *)device_closed})
        CUDA_CHECK(cudaFree(q));
    const double total_ms = milliseconds() - begun;

    const double total = p.total(open.size());
    result("centres", open.size());
    result("total", total);
    results("cost", p.cost);
    print_times(kernel_ms, total_ms);
    if (arguments.check) {
        int centres;
        const double wanted = reference(other, seed, centres);
        expect_close("total", &total, &wanted, 1, 1e-5);
        expect("centres", centres == int(open.size()));
    }
}
