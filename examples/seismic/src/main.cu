// ./seismic [points in x] [points in z] [steps] [picture.ppm]
#include <chrono>
#include <cmath>
#include <vector>

#include "device.cuh"
#include "picture.h"

namespace {

float ricker(float time, float frequency) {
    const float a = float(M_PI) * frequency * (time - 1.2f / frequency);
    return (1 - 2 * a * a) * std::exp(-a * a);
}

// Four layers, the third of which rises in the middle.
float speed_at(const Grid &grid, int x, int z) {
    const float depth = float(z) / grid.nz, bump = 0.12f * std::exp(-std::pow((float(x) / grid.nx - 0.5f) * 6, 2.0f));
    return depth < 0.2f ? 1500.0f : depth < 0.45f ? 2200.0f : depth < 0.75f - bump ? 2800.0f : 4200.0f;
}

int argument(int count, char **given, int k, int otherwise) { return count > k ? std::atoi(given[k]) : otherwise; }

}  // namespace

int main(int count, char **given) {
    Grid grid{argument(count, given, 1, 800), argument(count, given, 2, 500), 5.0f, 0.0f};
    const int steps = argument(count, given, 3, 1200), spacing = 4;
    const int receivers = (grid.nx - 2 * SPONGE) / spacing;
    if (grid.nx < 3 * SPONGE || grid.nz < 2 * SPONGE || steps < 1) {
        fprintf(stderr, "at least %d x %d points and one step\n", 3 * SPONGE, 2 * SPONGE);
        return 2;
    }
    grid.dt = 0.4f * grid.h / 4200.0f;

    std::vector<float> speed(grid.points(), 1500.0f);
    for (int z = 0; z < grid.nz; ++z)
        for (int x = 0; x < grid.nx; ++x) speed[grid.at(x, z)] = speed_at(grid, x, z);

    const float coefficients[HALO + 1] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    CHECK(cudaMemcpyToSymbol(second_derivative, coefficients, sizeof coefficients));
    const size_t bytes = grid.points() * sizeof(float);
    float *now, *before, *d_speed, *d_traces, *traces;
    double *sum, total = 0;
    CHECK(cudaMalloc(&now, bytes));
    CHECK(cudaMalloc(&before, bytes));
    CHECK(cudaMalloc(&d_speed, bytes));
    CHECK(cudaMalloc(&d_traces, sizeof(float) * steps * receivers));
    CHECK(cudaMallocHost(&traces, sizeof(float) * steps * receivers));
    CHECK(cudaMalloc(&sum, sizeof(double)));
    CHECK(cudaMemset(now, 0, bytes));
    CHECK(cudaMemset(before, 0, bytes));
    CHECK(cudaMemset(sum, 0, sizeof(double)));
    CHECK(cudaMemcpy(d_speed, speed.data(), bytes, cudaMemcpyHostToDevice));

    cudaStream_t stream;
    cudaEvent_t begun, ended;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begun));
    CHECK(cudaEventCreate(&ended));
    const dim3 block(32, 8), blocks((grid.nx + 31) / 32, (grid.nz + 7) / 8);
    const size_t shared = (32 + 2 * HALO) * (8 + 2 * HALO) * sizeof(float);
    CHECK(cudaEventRecord(begun, stream));
    for (int turn = 0; turn < steps; ++turn) {
        step<<<blocks, block, shared, stream>>>(grid, now, before, d_speed);
        inject<<<1, 1, 0, stream>>>(grid, before, grid.nx / 2, 4, ricker(turn * grid.dt, 12.0f));
        std::swap(now, before);
        record<<<(receivers + 127) / 128, 128, 0, stream>>>(grid, now, d_traces, receivers, spacing, turn);
    }
    energy<<<64, 256, 0, stream>>>(grid, now, before, d_speed, sum);
    CHECK(cudaEventRecord(ended, stream));
    CHECK(cudaMemcpyAsync(traces, d_traces, sizeof(float) * steps * receivers, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(&total, sum, sizeof total, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGetLastError());

    float milliseconds = 0, loudest = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begun, ended));
    for (int k = 0; k < steps * receivers; ++k) loudest = std::fmax(loudest, std::fabs(traces[k]));
    printf("energy %.6e\nloudest %.6e\n", total, double(loudest));
    printf("%d x %d points, %d steps: %.1f ms, %.0f million points a second\n", grid.nx, grid.nz, steps,
           double(milliseconds), double(grid.nx) * grid.nz * steps / milliseconds / 1e3);
    if (count > 4) {
        std::vector<float> field(grid.points());
        CHECK(cudaMemcpy(field.data(), now, bytes, cudaMemcpyDeviceToHost));
        write_picture(given[4], field.data(), speed.data(), grid.nx, grid.nz, grid.pitch(), grid.at(0, 0));
    }
    for (void *memory : {(void *)now, (void *)before, (void *)d_speed, (void *)d_traces, (void *)sum}) cudaFree(memory);
    cudaFreeHost(traces);
}
