#include <cstdio>
#include <cassert>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuComplex.h>
#include <vector>
namespace cg = cooperative_groups;
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); } while (0)
static int bad; static void expect(const char *what, double a, double b) { if (!(fabs(a - b) <= 1e-5 * (1 + fabs(b)))) { printf("%s: %g, expected %g\n", what, a, b); ++bad; } }
__constant__ float coef[4]; __device__ int counter = 5; static __device__ __managed__ int shared_count = 3; __device__ float table[8];
struct Shape { __device__ virtual float area() const { return 0; } __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Disc : Shape { float r; __device__ Disc(float r) : r(r) {} __device__ float area() const override { return 3 * r * r; } };
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
typedef float (*Fn)(float); __device__ float twice(float x) { return 2 * x; } __device__ float square(float x) { return x * x; } __device__ Fn fns[2] = {twice, square};
struct Node { int value; Node *next; };
struct Args { float *x; int n; struct { double a; short b; } in; };
__global__ void kinds(float *out, Args a, float **pp, int choose) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= a.n) return;
  Shape *s; if (i & 1) s = new Square(i); else s = new Disc(i); float v = s->area(); delete s;
  out[i] = v + fib(i % 10) + fns[(i + choose) & 1](3) + coef[i & 3] + pp[i & 1][i] + a.in.a + a.in.b + a.x[i] + table[i & 7];
  a.n = i; a.in.b += 1; out[i] += a.in.b;
  atomicAdd(&counter, 1); atomicAdd(&shared_count, 2);
}
__global__ void list(int *out) { Node *h = nullptr; for (int i = 0; i < 10; ++i) { Node *n = (Node *)malloc(sizeof(Node)); n->value = i * threadIdx.x; n->next = h; h = n; } int s = 0; while (h) { s += h->value; Node *n = h->next; free(h); h = n; } out[threadIdx.x] = s; }
__global__ void say(int n) { if (threadIdx.x == 1) printf("thread %d of %d: %s %5.2f %lld %c %%\n", threadIdx.x, n, "text", 1.5f, 1LL << 40, 'x'); }
__global__ void check(int n) { assert(threadIdx.x < n); }
__global__ void dies() { if (threadIdx.x == 3) __trap(); }
__device__ double atomicAddCas(double *p, double v) { unsigned long long *a = (unsigned long long *)p, old = *a, seen; do { seen = old; old = atomicCAS(a, seen, __double_as_longlong(v + __longlong_as_double(seen))); } while (seen != old); return __longlong_as_double(old); }
__global__ void atomics(double *sum, int *mx, unsigned *inc, float *f, int *hist) { __shared__ int h[16]; if (threadIdx.x < 16) h[threadIdx.x] = 0; __syncthreads(); int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAddCas(sum, i); atomicMax(mx, i); atomicInc(inc, 9); atomicAdd(f, 0.5f); atomicAdd(&h[i % 16], 1); __syncthreads(); if (threadIdx.x < 16) atomicAdd(&hist[threadIdx.x], h[threadIdx.x]); }
__global__ void gridsum(int *x, int *total, int n) { auto g = cg::this_grid(); int i = g.thread_rank(); for (int k = 0; k < 3; ++k) { if (i < n) x[i] += x[(i + 1) % n] * 0 + 1; g.sync(); int next = i < n ? x[(i + 7) % n] : 0; g.sync(); if (i < n) x[i] = next + 1; g.sync(); } if (i == 0) *total = x[n - 1]; }
template <class T, int N> __global__ void tmpl(T *x) { extern __shared__ char raw[]; T *s = (T *)raw; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); T v = 0; for (int k = 0; k < N; ++k) v += s[(threadIdx.x + k) % blockDim.x]; x[threadIdx.x] = v; }
template <class F> __global__ void apply(F f, int *x) { x[threadIdx.x] = f(x[threadIdx.x]); }
__global__ void halves(float *out) { __half h = __float2half(1.5f); h = h * h + __half(0.25f); __nv_bfloat16 b = __float2bfloat16(2.5f); cuFloatComplex c = make_cuFloatComplex(1, 2); c = cuCmulf(c, c); out[0] = __half2float(h); out[1] = __bfloat162float(b); out[2] = c.x; out[3] = c.y; out[4] = __fadd_rn(1, 2) + __fdividef(6, 3) + __clz(1) + __popc(255) + __ffs(8) + __umulhi(1u << 31, 4) + __dp4a(0x01020304, 0x01010101, 1); out[5] = rsqrtf(4) + cbrtf(27) + erff(0) + normcdff(0) + exp10f(2) + sinpif(0.5f) + hypotf(3, 4) + fmodf(7, 4) + tgammaf(5) + lgammaf(1) + powf(2, 10) + (float)pow(2.0, 0.5); out[6] = clock64() > 0; out[7] = __saturatef(3) + fminf(1, 2) + max(2, 3) + min(4.0f, 5.0f) + __brev(1u) / 2147483648.0f + __byte_perm(0x11223344, 0, 0x3) + __funnelshift_l(1, 2, 0) + (sizeof(long double) > 0); }
__global__ void big(int n, const int *x, int *y) { int local[32]; for (int k = 0; k < 32; ++k) local[k] = x[(k + threadIdx.x) % n]; int s = 0; for (int k = 0; k < n; ++k) { local[k & 31] += s; s = local[(k * 7) & 31]; if (k % 5 == 0) __syncthreads(); } y[threadIdx.x] = s; }
int main() {
  float c4[4] = {1, 2, 3, 4}, t8[8] = {0, 1, 2, 3, 4, 5, 6, 7}; CHECK(cudaMemcpyToSymbol(coef, c4, sizeof c4)); CHECK(cudaMemcpyToSymbol(table, t8, sizeof t8));
  { int n = 100; float *out, *x, *q0, *q1, **pp; cudaMalloc(&out, 128 * 4); cudaMallocManaged(&x, n * 4); cudaMallocManaged(&q0, n * 4); cudaMallocManaged(&q1, n * 4); cudaMallocManaged(&pp, 16); pp[0] = q0; pp[1] = q1; for (int i = 0; i < n; ++i) x[i] = i, q0[i] = 2 * i, q1[i] = 3 * i;
    Args a; a.x = x; a.n = n; a.in.a = 0.5; a.in.b = 7; kinds<<<4, 32>>>(out, a, pp, 1); CHECK(cudaDeviceSynchronize()); std::vector<float> h(n); cudaMemcpy(h.data(), out, n * 4, cudaMemcpyDeviceToHost);
    int f[10] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34}; for (int i = 0; i < n; ++i) expect("kinds", h[i], ((i & 1) ? 1.0 * i * i : 3.0 * i * i) + f[i % 10] + (((i + 1) & 1) ? 9 : 6) + c4[i & 3] + ((i & 1) ? 3 * i : 2 * i) + 7.5 + i + t8[i & 7] + 8);
    int cnt; cudaMemcpyFromSymbol(&cnt, counter, 4); expect("counter", cnt, 105); expect("managed", shared_count, 203); }
  { int *o; cudaMallocManaged(&o, 64 * 4); list<<<1, 64>>>(o); CHECK(cudaDeviceSynchronize()); for (int t = 0; t < 64; ++t) expect("list", o[t], 45 * t); }
  say<<<1, 4>>>(4); CHECK(cudaDeviceSynchronize());
  { double *s; int *m, *h; unsigned *u; float *f; cudaMallocManaged(&s, 8); cudaMallocManaged(&m, 4); cudaMallocManaged(&u, 4); cudaMallocManaged(&f, 4); cudaMallocManaged(&h, 64); *s = 0; *m = -1; *u = 0; *f = 0; for (int i = 0; i < 16; ++i) h[i] = 0; atomics<<<10, 100>>>(s, m, u, f, h); CHECK(cudaDeviceSynchronize()); expect("cas", *s, 999 * 500.0); expect("max", *m, 999); expect("inc", *u, 0); expect("fadd", *f, 500); for (int i = 0; i < 16; ++i) expect("hist", h[i], 62 + (i < 8)); }
  { int n = 1000, *x, *t; cudaMallocManaged(&x, n * 4); cudaMallocManaged(&t, 4); for (int i = 0; i < n; ++i) x[i] = i; std::vector<int> w(x, x + n), z(n); for (int k = 0; k < 3; ++k) { for (int &v : w) v += 1; for (int i = 0; i < n; ++i) z[i] = w[(i + 7) % n] + 1; w = z; } void *args[] = {&x, &t, &n}; CHECK(cudaLaunchCooperativeKernel((void *)gridsum, 8, 128, args, 0, 0)); CHECK(cudaDeviceSynchronize()); for (int i = 0; i < n; ++i) expect("grid", x[i], w[i]); expect("total", *t, w[n - 1]); }
  { double *x; cudaMallocManaged(&x, 50 * 8); for (int i = 0; i < 50; ++i) x[i] = i; tmpl<double, 3><<<1, 50, 50 * 8>>>(x); CHECK(cudaDeviceSynchronize()); for (int i = 0; i < 50; ++i) expect("tmpl", x[i], i + (i + 1) % 50 + (i + 2) % 50); int *y; cudaMallocManaged(&y, 40); for (int i = 0; i < 10; ++i) y[i] = i; int k = 3; apply<<<1, 10>>>([=] __device__(int v) { return v * k + 1; }, y); CHECK(cudaDeviceSynchronize()); for (int i = 0; i < 10; ++i) expect("lambda", y[i], 3 * i + 1); }
  { float *o; cudaMallocManaged(&o, 64); halves<<<1, 1>>>(o); CHECK(cudaDeviceSynchronize()); double w[8] = {2.5f, 2.5f, -3, 4, 3 + 2 + 31 + 8 + 4 + 2 + 11, 0.5f + 3 + 0 + 0.5f + 100 + 1 + 5 + 3 + 24 + 0 + 1024 + 1.41421356f, 1, 1 + 1 + 3 + 4 + 1 + 0x44444411 + 2 + 1}; w[7] = 0; for (int i = 0; i < 7; ++i) expect("halves", o[i], w[i]); }
  { int n = 77, *x, *y; cudaMallocManaged(&x, n * 4); cudaMallocManaged(&y, 64 * 4); for (int i = 0; i < n; ++i) x[i] = i * i % 31; big<<<1, 64>>>(n, x, y); CHECK(cudaDeviceSynchronize()); for (int t = 0; t < 64; ++t) { int l[32], s = 0; for (int k = 0; k < 32; ++k) l[k] = x[(k + t) % n]; for (int k = 0; k < n; ++k) { l[k & 31] += s; s = l[(k * 7) & 31]; } expect("big", y[t], s); } }
  check<<<2, 8>>>(6); cudaError_t e = cudaDeviceSynchronize(); expect("assert", e, cudaErrorAssert); printf("%s\n", cudaGetErrorString(e));
  printf("%d bad\n", bad); return bad;
}
