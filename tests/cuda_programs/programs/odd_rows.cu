// Threads with even numbers in rows that begin with an odd one: t + 1 is t | 1 for them, not for the row's first.
#include <cstdio>
__host__ __device__ inline void body(int g, int t, int *y, float *z, int n) {
    int a = t, c = 1;
    if (t & 1) {
        y[g] += a;
        return;
    }
    for (int q = 0; q < c % ((g & 7) + 1); ++q) {
        for (int r = 0; r < (n & 7); ++r) a += r;
        for (int r = 0; r < 3; ++r) {
            z[g] = 1;
            a += r;
        }
        c += q;
    }
    y[g] = c + t;
    y[g] += a;
}
__global__ void kernel(int *y, float *z, int n) {
    const int all = blockDim.x * blockDim.y, t = threadIdx.y * blockDim.x + threadIdx.x;
    body(blockIdx.x * all + t, t, y, z, n);
}
__global__ void behind(const int *x, int *y, int n) {  // indices below 0 of threads that are not in the branch
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 2 && i < n) y[(unsigned)(i - 3)] = x[(unsigned)(i - 3)] + x[(unsigned)(i - 1)];
}
int main() {
    const int threads = 5 * 99;
    int *x, *y, here[threads], bad = 0;
    float *z, there[threads];
    cudaMallocManaged(&x, sizeof here);
    cudaMallocManaged(&y, sizeof here);
    cudaMallocManaged(&z, sizeof there);
    for (int n : {1, 13, 64}) {
        for (int i = 0; i < threads; ++i) x[i] = i * i, y[i] = here[i] = 5;
        kernel<<<5, dim3(33, 3)>>>(y, z, n);
        cudaDeviceSynchronize();
        for (int g = 0; g < threads; ++g) {
            body(g, g % 99, here, there, n);
            bad += y[g] != here[g];
        }
        behind<<<8, 64>>>(x, y, threads - n);
        cudaDeviceSynchronize();
        for (int i = 0; i < threads - n - 3; ++i) bad += y[i] != x[i] + x[i + 2];
    }
    printf("%d of %d differ\n", bad, 6 * threads);
}
