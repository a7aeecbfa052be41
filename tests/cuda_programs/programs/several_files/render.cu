// The kernel, and the host function that launches it.
#include "shading.cuh"
#include "shapes.cuh"
#include "../cuda_check.h"

__global__ void draw(float *image, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int count = 0;
    if (x < width && y < height) {
        const Vec direction = ray_of(x, y, width, height);
        const float t = march(EYE, direction, count);
        image[y * width + x] = t < FAR ? brightness_of(EYE + t * direction, direction, count) : 0.0f;
    }
    const int lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
    for (int offset = 16; offset > 0; offset /= 2) count += __shfl_down_sync(0xffffffffu, count, offset);
    if (lane == 0) atomicAdd(&marches, (unsigned long long)count);
}

void render(const Scene &scene, std::vector<float> &image, int width, int height, Statistics &statistics,
            double &kernel_ms) {
    const unsigned long long none = 0;
    float *device;
    CUDA_CHECK(cudaMalloc(&device, image.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpyToSymbol(device_scene, &scene, sizeof scene));
    CUDA_CHECK(cudaMemcpyToSymbol(marches, &none, sizeof none));
    const double begun = milliseconds();
    const dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
    draw<<<grid, block>>>(device, width, height);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    kernel_ms = milliseconds() - begun;
    CUDA_CHECK(cudaMemcpy(image.data(), device, image.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpyFromSymbol(&statistics.marches, marches, sizeof none));
    CUDA_CHECK(cudaFree(device));
    for (float v : image) statistics.brightness += v;
}
