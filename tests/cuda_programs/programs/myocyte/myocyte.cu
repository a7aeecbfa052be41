// myocyte CELLS STEPS SEED [--check]: a thread per cell, which stays in registers for many steps.
#include "myocyte.h"
#include "../cuda_check.h"

constexpr int PER_LAUNCH = 50;

__global__ void steps_of(float *state, const float *strength, const float *sodium, float *highest, int cells, int first,
                         int last) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    Cell c = {state[i], state[cells + i], state[2 * cells + i], state[3 * cells + i]};
    const float s = strength[i], g = sodium[i];
    float top = highest[i];
    for (int step = first; step < last; ++step) {
        c = runge_kutta(c, stimulus_at(step, s), g, STEP);
        top = fmaxf(top, c.v);
    }
    state[i] = c.v;
    state[cells + i] = c.m;
    state[2 * cells + i] = c.h;
    state[3 * cells + i] = c.n;
    highest[i] = top;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int cells = arguments.number(0, 2048), steps = arguments.number(1, 400);
    std::vector<float> state(4 * size_t(cells)), strength(cells), sodium(cells), highest(cells, -100.0f);
    make_inputs(cells, arguments.number(2, 1), state, strength, sodium);
    const std::vector<float> first = state;

    const double begun = milliseconds();
    const size_t bytes = cells * sizeof(float);
    float *device_state, *device_strength, *device_sodium, *device_highest;
    CUDA_CHECK(cudaMalloc(&device_state, 4 * bytes));
    CUDA_CHECK(cudaMalloc(&device_strength, bytes));
    CUDA_CHECK(cudaMalloc(&device_sodium, bytes));
    CUDA_CHECK(cudaMalloc(&device_highest, bytes));
    CUDA_CHECK(cudaMemcpy(device_state, state.data(), 4 * bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_strength, strength.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_sodium, sodium.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_highest, highest.data(), bytes, cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; k += PER_LAUNCH)
        steps_of<<<(cells + 127) / 128, 128>>>(device_state, device_strength, device_sodium, device_highest, cells, k,
                                               std::min(k + PER_LAUNCH, steps));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(state.data(), device_state, 4 * bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(highest.data(), device_highest, bytes, cudaMemcpyDeviceToHost));
    for (float *p : {device_state, device_strength, device_sodium, device_highest}) CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    results("state", state);
    results("highest", highest);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(first, state, strength, sodium, cells, steps);
}
