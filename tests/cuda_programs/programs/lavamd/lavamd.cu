// lavamd BOXES SEED [--check]: a block per box, a thread per particle; the other box's particles in shared memory.
#include "lavamd.h"
#include "../cuda_check.h"

__global__ void forces(const float4 *position, const float *charge, const int *near, float4 *force) {
    __shared__ float4 other[PER_BOX];
    __shared__ float q[PER_BOX];
    const int t = threadIdx.x, box = blockIdx.x;
    const float4 p = position[box * PER_BOX + t];
    Vector4 sum = {0, 0, 0, 0};
    for (int k = 0; k < 27; ++k) {
        const int b = near[box * 27 + k];
        if (b < 0) break;
        other[t] = position[b * PER_BOX + t];
        q[t] = charge[b * PER_BOX + t];
        __syncthreads();
        for (int j = 0; j < PER_BOX; ++j)
            interact(sum, p.x, p.y, p.z, p.w, other[j].x, other[j].y, other[j].z, other[j].w, q[j]);
        __syncthreads();
    }
    force[box * PER_BOX + t] = make_float4(sum.x, sum.y, sum.z, sum.v);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int boxes = arguments.number(0, 6), all = boxes * boxes * boxes;
    const size_t particles = size_t(all) * PER_BOX;
    std::vector<Vector4> position(particles), force(particles);
    std::vector<float> charge(particles);
    make_inputs(boxes, arguments.number(1, 1), position, charge);

    const double begun = milliseconds();
    const std::vector<int> near = neighbour_boxes(boxes);
    float4 *device_position, *device_force;
    float *device_charge;
    int *device_near;
    CUDA_CHECK(cudaMalloc(&device_position, particles * sizeof(float4)));
    CUDA_CHECK(cudaMalloc(&device_force, particles * sizeof(float4)));
    CUDA_CHECK(cudaMalloc(&device_charge, particles * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_near, near.size() * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(device_position, position.data(), particles * sizeof(float4), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_charge, charge.data(), particles * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_near, near.data(), near.size() * sizeof(int), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    forces<<<all, PER_BOX>>>(device_position, device_charge, device_near, device_force);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(force.data(), device_force, particles * sizeof(float4), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_position));
    CUDA_CHECK(cudaFree(device_force));
    CUDA_CHECK(cudaFree(device_charge));
    CUDA_CHECK(cudaFree(device_near));
    const double total_ms = milliseconds() - begun;

    results("force", &force[0].x, 4 * particles);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(position, charge, force, boxes);
}
