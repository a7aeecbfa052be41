// What --check finds, a subject a kernel: `./wrong SUBJECT`. Lines that end in "// here" are where it is wrong.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

__constant__ float table[4];
__device__ int counter;
__device__ float total;

__global__ void beyond(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }              // here
__global__ void before(float *x) { x[0] += x[int(threadIdx.x) - 1]; }                          // here
__global__ void misaligned(char *x) { *(double *)(x + 4) = 1; }                                 // here
__global__ void in_local(float *x, int k) {
    float values[8];
    for (int i = 0; i < 8; ++i) values[i] = x[i];
    x[0] = values[k];                                                                           // here
}
__global__ void in_shared(float *x, int k) {
    __shared__ float values[32];
    values[threadIdx.x] = 1;
    values[threadIdx.x + (threadIdx.x == 31 ? k : 0)] = 2;                                    // here
    x[threadIdx.x] = values[threadIdx.x];
}
__global__ void in_dynamic(float *x, int k) {
    extern __shared__ float values[];
    float *mine = k > 100 ? values + 1 : values + k;
    mine[threadIdx.x] = 1;                                                                      // here
    x[threadIdx.x] = mine[threadIdx.x];
}
__global__ void in_constant(float *x, int k) { x[0] = table[k]; }                               // here
__global__ void heap(float *x) {
    float *own = new float[4];
    own[3] = x[0];
    x[0] = own[3];
    delete[] own;
    x[0] = own[3];                                                                              // here
}

__global__ void between_blocks(float *x) {
    x[threadIdx.x] = float(blockIdx.x);                                                         // here
}
__global__ void atomic_and_plain(int *x) {
    if (threadIdx.x == 0) x[0] = 5;                                                             // here
    else atomicAdd(x, 1);
}
template <bool synchronised> __global__ void in_warp(float *x) {
    __shared__ float values[32];
    values[threadIdx.x] = x[threadIdx.x];                                                       // here
    if (synchronised) __syncwarp();
    x[threadIdx.x] = values[31 - threadIdx.x];
}
template <bool fenced> __global__ void last_block(float *x, float *sums) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = x[blockIdx.x];                                                       // here
        if (fenced) __threadfence();
        last = atomicAdd(&counter, 1) == int(gridDim.x) - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0)
        for (int b = 0; b < int(gridDim.x); ++b) total += sums[b];
}
template <bool met> __global__ void whole_grid(float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = i;                                                                                   // here
    if (met) cooperative_groups::this_grid().sync();
    x[n + i] = x[n - 1 - i];
}
__global__ void unset(float *x) {
    __shared__ float values[64];
    if (threadIdx.x) values[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = values[63 - threadIdx.x];                                                  // here
}
__global__ void flag(int *x) { *x = 1; }
__global__ void histogram(const float *x, int *bins) {
    __shared__ int own[8];
    if (threadIdx.x < 8) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[int(x[threadIdx.x]) & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main(int, char **given) {
    const auto is = [&](const char *name) { return !strcmp(given[1], name); };
    float *x = nullptr, *y = nullptr, onstack[64] = {};
    cudaMalloc(&x, 256 * sizeof(float));
    cudaMalloc(&y, 256 * sizeof(float));
    cudaMemset(x, 0, 256 * sizeof(float));
    int *integers = (int *)y;
    cudaMemset(y, 0, 256 * sizeof(float));
    if (is("beyond")) beyond<<<5, 64>>>(x);
    if (is("null")) beyond<<<1, 64>>>(nullptr);
    if (is("host")) beyond<<<1, 64>>>(onstack);
    if (is("freed")) cudaFree(y), beyond<<<1, 64>>>(y);
    if (is("before")) before<<<1, 64>>>(x);
    if (is("misaligned")) misaligned<<<1, 1>>>((char *)x);
    if (is("in_local")) in_local<<<1, 1>>>(x, 8);
    if (is("in_shared")) in_shared<<<1, 32>>>(x, 1);
    if (is("in_dynamic")) in_dynamic<<<1, 32, 128>>>(x, 2);
    if (is("in_constant")) in_constant<<<1, 1>>>(x, 4);
    if (is("heap")) heap<<<1, 1>>>(x);
    if (is("between_blocks")) between_blocks<<<2, 8>>>(x);
    if (is("atomic_and_plain")) atomic_and_plain<<<1, 8>>>(integers);
    if (is("in_warp")) in_warp<false><<<1, 32>>>(x);
    if (is("in_warp right")) in_warp<true><<<1, 32>>>(x);
    if (is("last_block")) last_block<false><<<4, 32>>>(x, y);
    if (is("last_block right")) last_block<true><<<4, 32>>>(x, y);
    void *arguments[] = {&x};
    if (is("whole_grid")) whole_grid<false><<<2, 32>>>(x);
    if (is("whole_grid right"))
        cudaLaunchCooperativeKernel((void *)whole_grid<true>, dim3(2), dim3(32), arguments, 0, nullptr);
    if (is("unset")) unset<<<1, 64>>>(x);
    if (is("flag")) flag<<<2, 32>>>(integers);
    if (is("histogram right")) histogram<<<3, 64>>>(x, integers);
    if (is("threads")) flag<<<1, 2000>>>(integers);                                             // called
    if (is("copy")) cudaMemcpy(x, onstack, 2000, cudaMemcpyHostToDevice);                       // called
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
