// dwt2d WIDTH HEIGHT LEVELS TIMES SEED [--check]: rows through shared memory, columns straight; level by level.
#include "dwt2d.h"
#include "../cuda_check.h"

constexpr int PAIRS = 128;                           // pairs of samples of a row that a block transforms

__global__ void rows(const int *in, int *out, int width, int pitch) {
    __shared__ int sample[2 * PAIRS + 3], high[PAIRS + 1];
    const int t = threadIdx.x, first = blockIdx.x * PAIRS, lows = (width + 1) / 2;
    const int *line = in + size_t(blockIdx.y) * pitch;
    int *to = out + size_t(blockIdx.y) * pitch;
    // sample[i] is that at 2 * first - 2 + i
    for (int i = t; i < 2 * PAIRS + 3; i += PAIRS) sample[i] = line[mirrored(min(2 * first - 2 + i, width), width)];
    __syncthreads();
    // high[i] is that of pair first - 1 + i; left of the line the first one again (as the mirror has it)
    for (int i = t; i < PAIRS + 1; i += PAIRS) high[i] = high_of(sample[2 * i], sample[2 * i + 1], sample[2 * i + 2]);
    __syncthreads();
    const int k = first + t;
    if (k < lows) {
        const int before = high[k > 0 ? t : 1], after = 2 * k + 1 < width ? high[t + 1] : high[t];
        to[k] = low_of(before, sample[2 * t + 2], after);
        if (2 * k + 1 < width) to[lows + k] = high[t + 1];
    }
}

__global__ void columns(const int *in, int *out, int width, int height, int pitch) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y * blockDim.y + threadIdx.y;
    const int lows = (height + 1) / 2;
    if (x >= width || k >= lows) return;
    auto at = [&](int y) { return in[size_t(mirrored(y, height)) * pitch + x]; };
    const int middle = at(2 * k);
    int before = high_of(at(2 * k - 2), at(2 * k - 1), middle);
    int after = high_of(middle, at(2 * k + 1), at(2 * k + 2));
    if (k == 0) before = after;
    if (2 * k + 1 < height) out[size_t(lows + k) * pitch + x] = after;
    else after = before;
    out[size_t(k) * pitch + x] = low_of(before, middle, after);
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int width = arguments.number(0, 512), height = arguments.number(1, 512);
    const int levels = arguments.number(2, 3), times = arguments.number(3, 1);
    const std::vector<int> image = make_image(width, height, arguments.number(4, 1));
    std::vector<int> transformed(image.size());
    const size_t bytes = image.size() * sizeof(int);

    const double begun = milliseconds();
    int *original, *data, *between;
    CUDA_CHECK(cudaMalloc(&original, bytes));
    CUDA_CHECK(cudaMalloc(&data, bytes));
    CUDA_CHECK(cudaMalloc(&between, bytes));
    CUDA_CHECK(cudaMemcpy(original, image.data(), bytes, cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    for (int time = 0; time < times; ++time) {
        int w = width, h = height;
        for (int level = 0; level < levels && w > 1 && h > 1; ++level) {
            rows<<<dim3(((w + 1) / 2 + PAIRS - 1) / PAIRS, h), PAIRS>>>(level ? data : original, between, w, width);
            const dim3 block(32, 8);
            columns<<<dim3((w + 31) / 32, ((h + 1) / 2 + 7) / 8), block>>>(between, data, w, h, width);
            w = (w + 1) / 2;
            h = (h + 1) / 2;
        }
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(transformed.data(), data, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(original));
    CUDA_CHECK(cudaFree(data));
    CUDA_CHECK(cudaFree(between));
    const double total_ms = milliseconds() - begun;

    results("transformed", transformed);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(transformed, image, width, height, levels);
}
