// backprop INPUTS STEPS SEED [--check]: a block of 16 x 16 threads sums 16 inputs for all hidden units by halves.
#include "backprop.h"
#include "../cuda_check.h"

constexpr int B = 16;

__global__ void layer_forward(const float *input, const float *weights, float *partial, int inputs) {
    __shared__ float nodes[B], products[B][HIDDEN];
    const int j = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * B + ty;
    if (j == 0) nodes[ty] = i <= inputs ? input[i] : 0;
    __syncthreads();
    products[ty][j] = i <= inputs ? weights[i * HIDDEN + j] * nodes[ty] : 0;
    __syncthreads();
    for (int half = B / 2; half > 0; half /= 2) {
        if (ty < half) products[ty][j] += products[ty + half][j];
        __syncthreads();
    }
    if (ty == 0) partial[blockIdx.x * HIDDEN + j] = products[0][j];
}

__global__ void adjust(const float *deltas, const float *input, float *weights, float *changes, int inputs) {
    const int j = threadIdx.x, i = blockIdx.x * B + threadIdx.y;
    if (i > inputs) return;
    const int k = i * HIDDEN + j;
    const float change = RATE * deltas[j] * input[i] + MOMENTUM * changes[k];
    weights[k] += change;
    changes[k] = change;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int inputs = arguments.number(0, 65536), steps = arguments.number(1, 5);
    Network network(inputs, arguments.number(2, 1));
    Network other = network;

    const double begun = milliseconds();
    const int blocks = (inputs + 1 + B - 1) / B;
    const size_t bytes = network.weights.size() * sizeof(float);
    float *input, *weights, *changes, *partial, *device_deltas;
    CUDA_CHECK(cudaMalloc(&input, (inputs + 1) * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&weights, bytes));
    CUDA_CHECK(cudaMalloc(&changes, bytes));
    CUDA_CHECK(cudaMalloc(&partial, blocks * HIDDEN * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_deltas, HIDDEN * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(input, network.input.data(), (inputs + 1) * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(weights, network.weights.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(changes, 0, bytes));

    const double kernel_begun = milliseconds();
    std::vector<float> host_partial(size_t(blocks) * HIDDEN);
    float error = 0;
    for (int step = 0; step < steps; ++step) {
        layer_forward<<<blocks, dim3(HIDDEN, B)>>>(input, weights, partial, inputs);
        CUDA_CHECK(cudaMemcpy(host_partial.data(), partial, host_partial.size() * sizeof(float),
                              cudaMemcpyDeviceToHost));
        double sums[HIDDEN] = {};
        float deltas[HIDDEN];
        for (int b = 0; b < blocks; ++b)
            for (int j = 0; j < HIDDEN; ++j) sums[j] += host_partial[size_t(b) * HIDDEN + j];
        error = network.output_layer(sums, deltas);
        CUDA_CHECK(cudaMemcpy(device_deltas, deltas, sizeof deltas, cudaMemcpyHostToDevice));
        adjust<<<blocks, dim3(HIDDEN, B)>>>(device_deltas, input, weights, changes, inputs);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(network.weights.data(), weights, bytes, cudaMemcpyDeviceToHost));
    for (float *p : {input, weights, changes, partial, device_deltas}) CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    result("error", error);
    results("weights", network.weights);
    print_times(kernel_ms, total_ms);
    if (arguments.check) {
        const float wanted = reference(other, inputs, steps);
        expect_close("error", &error, &wanted, 1, 1e-4);
        expect_close("weights", network.weights, other.weights, 1e-4);
    }
}
