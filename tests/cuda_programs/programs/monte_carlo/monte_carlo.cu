// monte_carlo PATHS STEPS SEED [--check]: a thread per path, its own subsequence of cuRAND's Philox generator.
#include <curand_kernel.h>

#include "monte_carlo.h"
#include "../cuda_check.h"

constexpr int THREADS = 256;

__global__ void paths_of(Option o, int paths, int steps, unsigned long long seed, Sums *sums) {
    __shared__ double payoffs[THREADS], squares[THREADS], lasts[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    double payoff = 0, last = 0;
    if (i < paths) {
        curandStatePhilox4_32_10_t state;
        curand_init(seed, i, 0, &state);
        const float dt = o.time / steps, drift = (o.rate - 0.5f * o.volatility * o.volatility) * dt;
        const float spread = o.volatility * sqrtf(dt);
        float logarithm = 0, sum = 0;
        for (int k = 0; k < steps; k += 4) {
            const float4 z = curand_normal4(&state);
            const float each[4] = {z.x, z.y, z.z, z.w};
            for (int n = 0; n < 4; ++n) {
                logarithm += drift + spread * each[n];
                sum += expf(logarithm);
            }
        }
        payoff = fmaxf(o.start * sum / steps - o.strike, 0);
        last = o.start * expf(logarithm);
    }
    payoffs[t] = payoff;
    squares[t] = payoff * payoff;
    lasts[t] = last;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            payoffs[t] += payoffs[t + half];
            squares[t] += squares[t + half];
            lasts[t] += lasts[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&sums->payoff, payoffs[0]);
        atomicAdd(&sums->squares, squares[0]);
        atomicAdd(&sums->last, lasts[0]);
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int paths = arguments.number(0, 20000), steps = (arguments.number(1, 32) + 3) / 4 * 4;

    const double begun = milliseconds();
    Sums *device, sums;
    CUDA_CHECK(cudaMalloc(&device, sizeof(Sums)));
    CUDA_CHECK(cudaMemset(device, 0, sizeof(Sums)));
    const double kernel_begun = milliseconds();
    paths_of<<<(paths + THREADS - 1) / THREADS, THREADS>>>(OPTION, paths, steps, arguments.number(2, 1), device);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(&sums, device, sizeof(Sums), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(sums, paths, arguments.check);
}
