// Explicit steps of the heat equation, and sums that are finished on the host.
#include <cstdio>
#include <cstdlib>
#include <cmath>

__global__ void step(const double *u, double *v, int n, double r) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) v[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1]);
    else if (i < n) v[i] = u[i];
}

__global__ void energy(const double *u, double *partial, int n) {
    __shared__ double sums[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? u[i] * u[i] : 0.0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

// Heat in a rod: `steps` explicit steps in place; returns the sum of squares at the end.
extern "C" double heat(double *rod, int n, int steps, double alpha, double dt, double dx) {
    double r = alpha * dt / (dx * dx);
    double *u, *v, *partial;
    int blocks = (n + 127) / 128;
    cudaMalloc(&u, n * sizeof(double));
    cudaMalloc(&v, n * sizeof(double));
    cudaMalloc(&partial, blocks * sizeof(double));
    cudaMemcpy(u, rod, n * sizeof(double), cudaMemcpyHostToDevice);
    for (int k = 0; k < steps; ++k) {
        step<<<blocks, 128>>>(u, v, n, r);
        double *w = u; u = v; v = w;
    }
    energy<<<blocks, 128>>>(u, partial, n);
    double *host = (double *)malloc(blocks * sizeof(double)), sum = 0.0;
    cudaMemcpy(host, partial, blocks * sizeof(double), cudaMemcpyDeviceToHost);
    for (int b = 0; b < blocks; ++b) sum += host[b];
    cudaMemcpy(rod, u, n * sizeof(double), cudaMemcpyDeviceToHost);
    free(host);
    cudaFree(u); cudaFree(v); cudaFree(partial);
    return sum;
}

// Rounds until a counter on the device is 0, which the host reads each time; nothing that repeats without a look.
__global__ void count_down(int *left) { if (threadIdx.x == 0) *left -= 1; }

extern "C" int rounds(int from) {
    int *left, host = from, made = 0;
    cudaMalloc(&left, sizeof(int));
    cudaMemcpy(left, &host, sizeof(int), cudaMemcpyHostToDevice);
    while (host > 0) {
        count_down<<<1, 32>>>(left);
        cudaMemcpy(&host, left, sizeof(int), cudaMemcpyDeviceToHost);
        ++made;
    }
    cudaFree(left);
    return made;
}

extern "C" void shift(const double *from, double *to, int n) { for (int i = 0; i < n; ++i) to[i] = from[i]; }
extern "C" void quits(int status) { exit(status); }
extern "C" void crashes() { *(volatile int *)0 = 1; }
extern "C" const char *title(const char *of) { return of[0] == 'h' ? "heat" : "?"; }
extern "C" void *raw() { return nullptr; }
static void hidden() {}
namespace space { float half(float x) { hidden(); return x / 2; } }
void twice(int) {}
void twice(float) {}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, steps = argc > 2 ? atoi(argv[2]) : 100;
    double *rod = (double *)malloc(n * sizeof(double));
    for (int i = 0; i < n; ++i) rod[i] = sin(0.01 * i);
    printf("%.15g\n", heat(rod, n, steps, 0.4, 1.0, 1.0));
}
