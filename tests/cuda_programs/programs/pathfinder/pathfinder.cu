// pathfinder COLUMNS ROWS TIMES SEED [--check]: a block goes several rows down in shared memory, its borders twice.
#include "pathfinder.h"
#include "../cuda_check.h"

constexpr int THREADS = 256, HEIGHT = 20, INSIDE = THREADS - 2 * HEIGHT;

__global__ void rows_down(const int *wall, const int *from, int *to, int columns, int first_row, int rows) {
    __shared__ int previous[THREADS], next[THREADS];
    const int t = threadIdx.x;
    const int j = int(blockIdx.x) * INSIDE + t - HEIGHT;
    const bool inside = j >= 0 && j < columns;
    const int left = max(t - 1, max(0, t - j)), right = min(t + 1, min(THREADS - 1, t - j + columns - 1));
    if (inside) previous[t] = from[j];
    __syncthreads();
    for (int k = 0; k < rows; ++k) {
        if (inside && t > k && t < THREADS - 1 - k)
            next[t] = wall[size_t(first_row + k) * columns + j] +
                      min(previous[t], min(previous[left], previous[right]));
        __syncthreads();
        if (inside && t > k && t < THREADS - 1 - k) previous[t] = next[t];
        __syncthreads();
    }
    if (inside && t >= HEIGHT && t < THREADS - HEIGHT) to[j] = previous[t];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int columns = arguments.number(0, 20000), rows = arguments.number(1, 100), times = arguments.number(2, 1);
    std::vector<int> wall(size_t(columns) * rows), cost(columns);
    make_inputs(arguments.number(3, 1), wall);

    const double begun = milliseconds();
    int *device_wall, *from, *to;
    CUDA_CHECK(cudaMalloc(&device_wall, wall.size() * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&from, columns * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&to, columns * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(device_wall, wall.data(), wall.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(from, device_wall, columns * sizeof(int), cudaMemcpyDeviceToDevice));
    const double kernel_begun = milliseconds();
    for (int r = 1, count; r < rows * times; r += count) {
        count = std::min(HEIGHT, rows - r % rows);
        rows_down<<<(columns + INSIDE - 1) / INSIDE, THREADS>>>(device_wall, from, to, columns, r % rows, count);
        std::swap(from, to);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(cost.data(), from, columns * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_wall));
    CUDA_CHECK(cudaFree(from));
    CUDA_CHECK(cudaFree(to));
    const double total_ms = milliseconds() - begun;

    result("cheapest", *std::min_element(cost.begin(), cost.end()));
    results("cost", cost);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect_close("cost", cost, reference(wall, columns, rows, times), 0);
}
