// Random chains of launches over the same memory, of kernels whose blocks keep to their own elements, and of others. What
// comes out is the same whether launches are joined.
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef unsigned int Number;
constexpr int N = 40000, ROOM = 41000, BUFFERS = 6;
struct Parts { const Number *from; Number *to; int n, between; };

#define EACH const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return

__global__ void product(const Number *x, Number *y, int n) { EACH; y[i] = x[i] * 3 + y[i]; }
__global__ void fill(const Number *, Number *y, int n) { EACH; y[i] = i * 77; }
__global__ void neighbours(const Number *x, Number *y, int n) {
    EACH;
    y[i] = x[i] + x[i ? i - 1 : 0] + 2 * x[i + 1 < n ? i + 1 : i];
}
__global__ void reversed(const Number *x, Number *y, int n) { EACH; y[n - 1 - i] = x[i] + 1; }
__global__ void moved(const Number *x, Number *y, int n) { EACH; if (i > 0) y[i - 1] = x[i] * 5; }
__global__ void gathered(const Number *x, Number *y, int n) { EACH; y[i] = x[unsigned(i) * 7919u % unsigned(n)] ^ 9; }
__global__ void strided(const Number *x, Number *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + y[i] / 2;
}
__global__ void pairs(const Number *x, Number *y, int n) {
    const unsigned start = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (unsigned k = start; k < start + 2 && k < unsigned(n); ++k) y[k] = x[k] + k;
}
__global__ void of_blocks(const Number *x, Number *y, int n) {
    __shared__ Number sums[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int width = 1; width < blockDim.x; width *= 2) {
        const Number other = threadIdx.x + width < blockDim.x ? sums[threadIdx.x + width] : 0;
        __syncthreads();
        sums[threadIdx.x] += other;
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
__global__ void by_blocks(const Number *x, Number *y, int n) { EACH; y[i] += x[blockIdx.x]; }
__global__ void within(const Number *x, Number *y, int n) {
    const int i = blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) y[i] = x[j] + 4;
}
__global__ void counted(const Number *x, Number *y, int n) { EACH; atomicAdd(&y[x[i] % 8], 1u); }
__global__ void of_parts(Parts parts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= parts.n) return;
    for (int k = 0; k < 2; ++k) parts.to[i + k * parts.between] = parts.from[i + k * parts.between] * 3 + k;
}
__global__ void walked(const Number *x, Number *y, int n) {
    EACH;
    const Number *p = x + i;
    Number sum = 0;
    for (int k = 0; k < 3 && i + k * 50 < n; ++k, p += 50) sum += *p;
    y[i] = sum;
}
__device__ Number kept[ROOM];
__global__ void into_variable(const Number *x, Number *, int n) { EACH; kept[i] = x[i] + 6; }
__global__ void out_of_variable(const Number *, Number *y, int n) { EACH; y[i] ^= kept[i]; }
__global__ void planes(const Number *x, Number *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i < n / 2) y[j * (n / 2) + i] = x[j * (n / 2) + i] + j;
}

typedef void Kernel(const Number *, Number *, int);
static Kernel *const kernels[] = {product, fill, neighbours, reversed, moved, gathered, strided, pairs, of_blocks, by_blocks,
                                  within, counted, walked, into_variable, out_of_variable, planes};
constexpr int KERNELS = sizeof kernels / sizeof *kernels;

int main(int argc, char **argv) {
    srand(argc > 1 ? atoi(argv[1]) : 1);
    const int chains = argc > 2 ? atoi(argv[2]) : 100;
    Number *buffers[BUFFERS], *whole;
    std::vector<Number> host(ROOM);
    cudaStream_t streams[2] = {nullptr, nullptr};
    cudaStreamCreate(&streams[1]);
    for (int k = 0; k < 3; ++k) cudaMalloc(&buffers[k], ROOM * sizeof(Number));
    cudaMalloc(&whole, 4 * ROOM * sizeof(Number));
    for (int k = 3; k < BUFFERS; ++k) buffers[k] = whole + (k - 3) * ROOM + k;       // parts of one allocation
    for (int k = 0; k < ROOM; ++k) host[k] = rand();
    for (Number *buffer : buffers) cudaMemcpy(buffer, host.data(), (N + 100) * sizeof(Number), cudaMemcpyHostToDevice);
    Number sum = 0;
    for (int chain = 0; chain < chains; ++chain) {
        const int threads = rand() % 3 ? 64 : 256, n = N - rand() % 3 * 7, likely = rand() % KERNELS;
        const int all = (n + threads - 1) / threads, blocks = rand() % 3 ? all : all / 3 + 1;
        for (int k = 0; k < 12; ++k) {
            const int source = rand() % BUFFERS, target = (source + 1 + rand() % (BUFFERS - 1)) % BUFFERS;
            Number *from = buffers[source], *to = buffers[target];      // others than each other: threads do not race
            const int which = rand() % 3 ? rand() % KERNELS : likely;
            if (rand() % 20 == 0) from += 3, to += 5;
            if (rand() % 16 == 0) of_parts<<<blocks, threads>>>(Parts{from, to, n / 3, n / 3 + rand() % 2 * 40});
            else if (kernels[which] == planes) planes<<<dim3(blocks, 2), threads>>>(from, to, n);
            else kernels[which]<<<blocks, threads, 0, streams[rand() % 8 == 0]>>>(from, to, n);
            if (rand() % 12 == 0) cudaMemsetAsync(buffers[rand() % BUFFERS], rand() % 256, 4 * (rand() % N));
            if (rand() % 12 == 0)
                cudaMemcpyAsync(buffers[rand() % BUFFERS], buffers[rand() % 3], N, cudaMemcpyDeviceToDevice);
        }
        for (int k = 0; k < BUFFERS; ++k) {
            cudaMemcpy(host.data(), buffers[k], (N + 50) * sizeof(Number), cudaMemcpyDeviceToHost);
            for (int i = 0; i < N + 50; ++i) sum = sum * 31 + host[i];
            if (chain % 10 == 9) cudaMemcpy(buffers[k], host.data() + k, N * sizeof(Number), cudaMemcpyHostToDevice);
        }
    }
    printf("%u %s\n", sum, cudaGetErrorString(cudaDeviceSynchronize()));
    return cudaGetLastError() != cudaSuccess;
}
