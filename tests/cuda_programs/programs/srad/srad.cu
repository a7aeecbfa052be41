// srad ROWS COLUMNS STEPS SEED [--check]: statistics by a reduction in shared memory, then two stencils.
#include "srad.h"
#include "../cuda_check.h"

constexpr int TILE = 16, THREADS = 256;

// Sums of the pixels and of their squares: strided sums of threads, then halves of the block, then one atomic each.
__global__ void statistics(const float *image, int count, double *sums) {
    __shared__ double sum[THREADS], squares[THREADS];
    const int t = threadIdx.x;
    double s = 0, q = 0;
    for (int i = blockIdx.x * THREADS + t; i < count; i += gridDim.x * THREADS) {
        const double v = image[i];
        s += v;
        q += v * v;
    }
    sum[t] = s;
    squares[t] = q;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            squares[t] += squares[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&sums[0], sum[0]);
        atomicAdd(&sums[1], squares[0]);
    }
}

__global__ void coefficients(const float *image, float *c, float *north, float *south, float *west, float *east,
                             int rows, int columns, float q0) {
    const int j = blockIdx.x * TILE + threadIdx.x, i = blockIdx.y * TILE + threadIdx.y;
    if (i >= rows || j >= columns) return;
    const int k = i * columns + j;
    const float v = image[k];
    const float dn = image[i > 0 ? k - columns : k] - v, ds = image[i < rows - 1 ? k + columns : k] - v;
    const float dw = image[j > 0 ? k - 1 : k] - v, de = image[j < columns - 1 ? k + 1 : k] - v;
    c[k] = diffusion(v, dn, ds, dw, de, q0);
    north[k] = dn;
    south[k] = ds;
    west[k] = dw;
    east[k] = de;
}

__global__ void update(float *image, const float *c, const float *north, const float *south, const float *west,
                       const float *east, int rows, int columns, float lambda) {
    const int j = blockIdx.x * TILE + threadIdx.x, i = blockIdx.y * TILE + threadIdx.y;
    if (i >= rows || j >= columns) return;
    const int k = i * columns + j;
    const float here = c[k], below = c[i < rows - 1 ? k + columns : k], right = c[j < columns - 1 ? k + 1 : k];
    const float divergence = here * north[k] + below * south[k] + here * west[k] + right * east[k];
    image[k] += 0.25f * lambda * divergence;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int rows = arguments.number(0, 256), columns = arguments.number(1, 256);
    const int steps = arguments.number(2, 20), count = rows * columns;
    const float lambda = 0.5f;
    std::vector<float> image(count);
    make_inputs(rows, columns, arguments.number(3, 1), image);
    const std::vector<float> first = image;

    const double begun = milliseconds();
    const size_t bytes = count * sizeof(float);
    float *device_image, *c, *differences[4];
    double *sums;
    CUDA_CHECK(cudaMalloc(&device_image, bytes));
    CUDA_CHECK(cudaMalloc(&c, bytes));
    for (float *&d : differences) CUDA_CHECK(cudaMalloc(&d, bytes));
    CUDA_CHECK(cudaMalloc(&sums, 2 * sizeof(double)));
    CUDA_CHECK(cudaMemcpy(device_image, image.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    const int blocks = std::min(128, (count + THREADS - 1) / THREADS);
    const double kernel_begun = milliseconds();
    for (int step = 0; step < steps; ++step) {
        double host_sums[2];
        CUDA_CHECK(cudaMemset(sums, 0, sizeof host_sums));
        statistics<<<blocks, THREADS>>>(device_image, count, sums);
        CUDA_CHECK(cudaMemcpy(host_sums, sums, sizeof host_sums, cudaMemcpyDeviceToHost));
        const double mean = host_sums[0] / count, variance = host_sums[1] / count - mean * mean;
        coefficients<<<grid, block>>>(device_image, c, differences[0], differences[1], differences[2], differences[3],
                                      rows, columns, float(variance / (mean * mean)));
        update<<<grid, block>>>(device_image, c, differences[0], differences[1], differences[2], differences[3], rows,
                                columns, lambda);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;

    CUDA_CHECK(cudaMemcpy(image.data(), device_image, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_image));
    CUDA_CHECK(cudaFree(c));
    for (float *d : differences) CUDA_CHECK(cudaFree(d));
    CUDA_CHECK(cudaFree(sums));
    const double total_ms = milliseconds() - begun;

    results("image", image);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect_close("image", image, reference(first, rows, columns, steps, lambda), 1e-4);
}
