// nbody N STEPS SEED [--check]: a thread per body; tiles of bodies go through shared memory.
#include "nbody.h"
#include "../cuda_check.h"

constexpr int TILE = 256;

__global__ void accelerate(const float4 *body, float4 *velocity, int n) {
    __shared__ float4 tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    const float4 own = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < n; first += TILE) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);       // no mass
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; ++k) {
            const float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            const float s = tile[k].w * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        __syncthreads();
    }
    if (i < n) {
        velocity[i].x += STEP * ax;
        velocity[i].y += STEP * ay;
        velocity[i].z += STEP * az;
    }
}

__global__ void move(float4 *body, const float4 *velocity, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    body[i].x += STEP * velocity[i].x;
    body[i].y += STEP * velocity[i].y;
    body[i].z += STEP * velocity[i].z;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 2000), steps = arguments.number(1, 5);
    std::vector<Body> body(n), velocity(n);
    make_inputs(n, arguments.number(2, 1), body, velocity);
    const std::vector<Body> first = body, first_velocity = velocity;

    const double begun = milliseconds();
    const size_t bytes = n * sizeof(float4);
    float4 *device_body, *device_velocity;
    CUDA_CHECK(cudaMalloc(&device_body, bytes));
    CUDA_CHECK(cudaMalloc(&device_velocity, bytes));
    CUDA_CHECK(cudaMemcpy(device_body, body.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_velocity, velocity.data(), bytes, cudaMemcpyHostToDevice));
    const int blocks = (n + TILE - 1) / TILE;
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; ++k) {
        accelerate<<<blocks, TILE>>>(device_body, device_velocity, n);
        move<<<blocks, TILE>>>(device_body, device_velocity, n);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(body.data(), device_body, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_body));
    CUDA_CHECK(cudaFree(device_velocity));
    const double total_ms = milliseconds() - begun;

    results("positions", &body[0].x, 4 * size_t(n));
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(first, first_velocity, body, steps);
}
