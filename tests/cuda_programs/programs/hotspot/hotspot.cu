// hotspot ROWS COLUMNS STEPS SEED [--check]: temperatures of a chip; tiles with a border in shared memory.
#include "hotspot.h"
#include "../cuda_check.h"

constexpr int TILE = 16;

__global__ void step(const float *temperature, const float *power, float *next, int rows, int columns, Coefficients c) {
    __shared__ float tile[TILE + 2][TILE + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int j = blockIdx.x * TILE + tx, i = blockIdx.y * TILE + ty;
    const int ic = min(i, rows - 1), jc = min(j, columns - 1);

    tile[ty + 1][tx + 1] = temperature[ic * columns + jc];
    if (ty == 0) tile[0][tx + 1] = temperature[max(ic - 1, 0) * columns + jc];
    if (ty == TILE - 1) tile[TILE + 1][tx + 1] = temperature[min(ic + 1, rows - 1) * columns + jc];
    if (tx == 0) tile[ty + 1][0] = temperature[ic * columns + max(jc - 1, 0)];
    if (tx == TILE - 1) tile[ty + 1][TILE + 1] = temperature[ic * columns + min(jc + 1, columns - 1)];
    __syncthreads();

    if (i < rows && j < columns) {
        const float t = tile[ty + 1][tx + 1];
        const float n = tile[ty][tx + 1], s = i < rows - 1 ? tile[ty + 2][tx + 1] : t;
        const float w = tile[ty + 1][tx], e = j < columns - 1 ? tile[ty + 1][tx + 2] : t;
        next[i * columns + j] = t + c.y * (n + s - 2 * t) + c.x * (w + e - 2 * t) + c.z * (c.ambient - t) +
                                c.source * power[i * columns + j];
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 512), columns = arguments.number(1, 512);
    const int steps = arguments.number(2, 60);
    const size_t bytes = size_t(rows) * columns * sizeof(float);
    std::vector<float> temperature(size_t(rows) * columns), power(temperature.size());
    make_inputs(rows, columns, arguments.number(3, 1), temperature, power);
    const std::vector<float> first = temperature;

    const double begun = milliseconds();
    float *from, *to, *device_power;
    CUDA_CHECK(cudaMalloc(&from, bytes));
    CUDA_CHECK(cudaMalloc(&to, bytes));
    CUDA_CHECK(cudaMalloc(&device_power, bytes));
    CUDA_CHECK(cudaMemcpy(from, temperature.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_power, power.data(), bytes, cudaMemcpyHostToDevice));

    const Coefficients c = coefficients(rows, columns);
    const dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    for (int k = 0; k < steps; ++k) {
        step<<<grid, block>>>(from, device_power, to, rows, columns, c);
        std::swap(from, to);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float kernel_ms;
    CUDA_CHECK(cudaEventElapsedTime(&kernel_ms, start, stop));

    CUDA_CHECK(cudaMemcpy(temperature.data(), from, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(from));
    CUDA_CHECK(cudaFree(to));
    CUDA_CHECK(cudaFree(device_power));
    const double total_ms = milliseconds() - begun;

    results("temperature", temperature);
    print_times(kernel_ms, total_ms);
    if (arguments.check)
        expect_close("temperature", temperature, reference(first, power, rows, columns, steps), 1e-5);
}
