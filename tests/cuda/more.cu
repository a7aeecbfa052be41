// What host code does with numbers on their way to the device and back.
#include <vector>
#include <numeric>
#include <cmath>
#include <cstring>
struct Params { float scale; int n; };
__constant__ float weights[3];
__global__ void blur(const float *in, float *out, Params p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    float left = i > 0 ? in[i - 1] : 0.0f, right = i + 1 < p.n ? in[i + 1] : 0.0f;
    out[i] = p.scale * (weights[0] * left + weights[1] * in[i] + weights[2] * right);
}
__global__ void total(const float *x, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i] * x[i]);
}
__global__ void pick(float *x, const int *order, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[order[i]] = sinf(x[order[i]]);
}
__global__ void count_down(int *left) { if (threadIdx.x == 0) *left -= 1; }

namespace app {
// writes the mean square to *result
void mean_square(const float *x, int n, float scale, const float *w, float *result) {
    std::vector<float> scaled(n);
    for (int i = 0; i < n; ++i) scaled[i] = 2.0f * x[i] + (i % 2 ? 1.0f : 0.5f * x[0]);
    float host_weights[3];
    std::memcpy(host_weights, w, sizeof host_weights);
    host_weights[1] *= expf(w[2]);
    cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights);
    float *a, *b, *c, *sum;
    cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, n * 4); cudaMalloc(&sum, 4);
    cudaMemcpy(a, scaled.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemset(sum, 0, 4);
    Params p{0.25f, n};
    blur<<<(n + 63) / 64, 64>>>(a, b, p);
    cudaMemcpy(c, b, n * 4, cudaMemcpyDeviceToDevice);
    total<<<(n + 63) / 64, 64>>>(c, sum, n);
    float s;
    cudaMemcpy(&s, sum, 4, cudaMemcpyDeviceToHost);
    *result = std::sqrt(scale * s / n);
    cudaFree(a); cudaFree(b); cudaFree(c); cudaFree(sum);
}
}
extern "C" double loops(const double *x, int n, int *rounds) {     // device flag read by the host
    int *left, host = 5;
    cudaMalloc(&left, 4);
    cudaMemcpy(left, &host, 4, cudaMemcpyHostToDevice);
    *rounds = 0;
    while (host > 0) { count_down<<<1, 32>>>(left); cudaMemcpy(&host, left, 4, cudaMemcpyDeviceToHost); ++*rounds; }
    cudaFree(left);
    double s = 0;
    for (int i = 0; i < n; ++i) s += x[i] * *rounds;
    return s;
}
extern "C" float by_value(float a) {
    float *x, *y; cudaMalloc(&x, 32); cudaMalloc(&y, 32);
    Params p{a, 8};
    blur<<<1, 32>>>(x, y, p);
    float r; cudaMemcpy(&r, y, 4, cudaMemcpyDeviceToHost); return r;
}
extern "C" float bits(float a) { int i; float b = a; memcpy(&i, &b, 4); i += 1; memcpy(&b, &i, 4); return b; }
extern "C" float unknown(float a) { return erff(a); }
extern "C" float managed(float a) {
    float *x;
    cudaMallocManaged(&x, 32);
    x[0] = a;
    return x[0];
}
__device__ float bumps;
__global__ void bump(float *x) { bumps += x[threadIdx.x]; }
extern "C" float counted(float a) {
    float *x;
    cudaMalloc(&x, 4);
    cudaMemcpy(x, &a, 4, cudaMemcpyHostToDevice);
    bump<<<1, 1>>>(x);
    return a;
}
