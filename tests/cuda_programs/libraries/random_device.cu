// random_device RESULTS: what threads draw of the device's generators; and a kernel in the usual style.
#include <curand_kernel.h>

#include "numbers.h"
#include "random_samples.h"

__global__ void philox(double *to) { sample<curandStatePhilox4_32_10_t>(threadIdx.x, to); }
__global__ void philox_four(double *to) { sample_four(threadIdx.x, to); }
__global__ void xorwow(double *to) { sample<curandState>(threadIdx.x, to); }
__global__ void mrg32k3a(double *to) { sample<curandStateMRG32k3a>(threadIdx.x, to); }

// States in memory, as programs have them: initialised by one kernel, used by others.
__global__ void prepare(curandState *states, unsigned long long seed) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, &states[i]);
}
__global__ void step(curandState *states, float *sums, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandState own = states[i];
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += curand_uniform(&own);
    sums[i] += sum;
    states[i] = own;
}
__global__ void poisson(unsigned *to, double mean) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(3, i, 0, &state);
    to[i] = curand_poisson(&state, mean);
}

template <class Kernel> void run(const char *name, Kernel kernel) {
    double *to = on_device(std::vector<double>(SAMPLES * CASES));
    kernel<<<1, CASES>>>(to);
    GOOD(cudaDeviceSynchronize());
    save(name, to, SAMPLES * CASES);
}

int main(int, char **arguments) {
    results() = std::fopen(arguments[1], "wb");
    run("philox", philox);
    run("philox_four", philox_four);
    run("xorwow", xorwow);
    run("mrg32k3a", mrg32k3a);
    curandState *states;
    float *sums = on_device(std::vector<float>(1024));
    GOOD(cudaMalloc(&states, 1024 * sizeof(curandState)));
    prepare<<<8, 128>>>(states, 1234);
    for (int k = 0; k < 3; ++k) step<<<8, 128>>>(states, sums, 100);
    GOOD(cudaDeviceSynchronize());
    save("sums", sums, 1024);
    unsigned *counts = on_device(std::vector<unsigned>(8192));
    poisson<<<64, 128>>>(counts, 300.0);
    GOOD(cudaDeviceSynchronize());
    save("poisson", counts, 8192);
    std::fclose(results());
}
