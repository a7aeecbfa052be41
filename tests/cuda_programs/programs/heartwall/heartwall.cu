// heartwall POINTS SIZE FRAMES SEED [--check]: a block per point: its window in shared memory, a thread per shift, the
// best by a reduction.
#include "heartwall.h"
#include "../cuda_check.h"

constexpr int THREADS = 256;

__global__ void track(const float *picture, int size, Point *points, float *patches) {
    __shared__ float window[WINDOW * WINDOW], patch[PATCH * PATCH], best[THREADS], mean;
    __shared__ int where[THREADS];
    const int t = threadIdx.x;
    const Point p = points[blockIdx.x];
    float *own = patches + blockIdx.x * PATCH * PATCH;
    for (int k = t; k < WINDOW * WINDOW; k += THREADS) {
        const int y = p.y - WINDOW / 2 + k / WINDOW, x = p.x - WINDOW / 2 + k % WINDOW;
        window[k] = picture[inside(y, size) * size + inside(x, size)];
    }
    for (int k = t; k < PATCH * PATCH; k += THREADS) patch[k] = own[k];
    __syncthreads();

    float highest = -1e30f;
    int at = 0;
    for (int s = t; s < SHIFTS * SHIFTS; s += THREADS) {
        const float c = correlation(patch, window, s % SHIFTS, s / SHIFTS);
        if (c > highest) { highest = c; at = s; }
    }
    best[t] = highest;
    where[t] = at;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half && (best[t + half] > best[t] || (best[t + half] == best[t] && where[t + half] < where[t]))) {
            best[t] = best[t + half];
            where[t] = where[t + half];
        }
        __syncthreads();
    }
    const int sx = where[0] % SHIFTS, sy = where[0] / SHIFTS;
    if (t == 0) {
        points[blockIdx.x] = {p.x + sx - REACH, p.y + sy - REACH};
        float sum = 0;
        for (int y = 0; y < PATCH; ++y)
            for (int x = 0; x < PATCH; ++x) sum += window[(sy + y) * WINDOW + sx + x];
        mean = sum / (PATCH * PATCH);
    }
    __syncthreads();
    for (int k = t; k < PATCH * PATCH; k += THREADS) {
        const float v = window[(sy + k / PATCH) * WINDOW + sx + k % PATCH] - mean;
        own[k] = patch[k] + RENEWAL * (v - patch[k]);
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int count = arguments.number(0, 50), size = arguments.number(1, 192), frames = arguments.number(2, 10);
    const std::vector<float> video = make_video(size, frames, arguments.number(3, 1));
    std::vector<Point> points = make_points(count, size, frames);
    const std::vector<Point> first = points;

    const double begun = milliseconds();
    std::vector<float> patches(size_t(count) * PATCH * PATCH);
    for (int i = 0; i < count; ++i) patch_of(video.data(), size, points[i], &patches[size_t(i) * PATCH * PATCH]);
    const size_t picture_bytes = size_t(size) * size * sizeof(float);
    float *picture, *device_patches;
    Point *device_points;
    CUDA_CHECK(cudaMalloc(&picture, picture_bytes));
    CUDA_CHECK(cudaMalloc(&device_patches, patches.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_points, count * sizeof(Point)));
    CUDA_CHECK(cudaMemcpy(device_patches, patches.data(), patches.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_points, points.data(), count * sizeof(Point), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int f = 1; f < frames; ++f) {
        CUDA_CHECK(cudaMemcpy(picture, &video[size_t(f) * size * size], picture_bytes, cudaMemcpyHostToDevice));
        track<<<count, THREADS>>>(picture, size, device_points, device_patches);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(points.data(), device_points, count * sizeof(Point), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(picture));
    CUDA_CHECK(cudaFree(device_patches));
    CUDA_CHECK(cudaFree(device_points));
    const double total_ms = milliseconds() - begun;

    results("points", &points[0].x, 2 * points.size());
    print_times(kernel_ms, total_ms);
    if (arguments.check)
        expect_close("points", &points[0].x, &reference(video, first, size, frames)[0].x, 2 * points.size(), 0.02);
}
