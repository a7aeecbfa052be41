// needleman_wunsch N GAP SEED [--check]: tiles along anti-diagonals; in a tile, threads go along its anti-diagonals.
#include "needleman_wunsch.h"
#include "../cuda_check.h"

constexpr int B = 16;

__constant__ int similarity[LETTERS * LETTERS];

__global__ void borders(int *scores, int n, int gap) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) scores[i] = scores[size_t(i) * (n + 1)] = -i * gap;
}

// Tiles (row, column) with row + column = wave.
__global__ void tiles(int *scores, const int *a, const int *b, int n, int gap, int wave, int first_row) {
    __shared__ int s[B + 1][B + 1];
    __shared__ int ra[B], rb[B];
    const int t = threadIdx.x;
    const int row = (first_row + blockIdx.x) * B, column = (wave - first_row - int(blockIdx.x)) * B;
    const size_t width = n + 1;
    int *corner = scores + row * width + column;
    ra[t] = a[row + t];
    rb[t] = b[column + t];
    if (t == 0) s[0][0] = corner[0];
    s[0][t + 1] = corner[t + 1];
    s[t + 1][0] = corner[(t + 1) * width];
    __syncthreads();
    for (int k = 0; k < 2 * B - 1; ++k) {
        const int j = k - t;                       // thread t has row t of the tile
        if (j >= 0 && j < B)
            s[t + 1][j + 1] = max(s[t][j] + similarity[ra[t] * LETTERS + rb[j]], max(s[t][j + 1], s[t + 1][j]) - gap);
        __syncthreads();
    }
    for (int i = 1; i <= B; ++i) corner[i * width + t + 1] = s[i][t + 1];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = (arguments.number(0, 512) + B - 1) / B * B, gap = arguments.number(1, 10);
    std::vector<int> similar(LETTERS * LETTERS), a(n), b(n);
    make_inputs(n, arguments.number(2, 1), similar, a, b);
    std::vector<int> scores(size_t(n + 1) * (n + 1));
    const size_t bytes = scores.size() * sizeof(int);

    const double begun = milliseconds();
    int *device, *device_a, *device_b;
    CUDA_CHECK(cudaMalloc(&device, bytes));
    CUDA_CHECK(cudaMalloc(&device_a, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&device_b, n * sizeof(int)));
    CUDA_CHECK(cudaMemcpyToSymbol(similarity, similar.data(), sizeof similarity));
    CUDA_CHECK(cudaMemcpy(device_a, a.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b, b.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    borders<<<(n + 1 + 255) / 256, 256>>>(device, n, gap);
    const int across = n / B;
    for (int wave = 0; wave < 2 * across - 1; ++wave) {
        const int first = std::max(0, wave - across + 1), count = std::min(wave, across - 1) - first + 1;
        tiles<<<count, B>>>(device, device_a, device_b, n, gap, wave, first);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(scores.data(), device, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device));
    CUDA_CHECK(cudaFree(device_a));
    CUDA_CHECK(cudaFree(device_b));
    const double total_ms = milliseconds() - begun;

    result("score", scores.back());
    results("scores", scores);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect_close("scores", scores, reference(similar, a, b, n, gap), 0);
}
