// Products of small matrices by warps (nvcuda::wmma): each type and shape, in both orders, beside plain sums. Says what differs.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <mma.h>
using namespace nvcuda;
template <class T> struct Kind { using S = T; }; template <> struct Kind<wmma::precision::tf32> { using S = float; };
template <int M, int N, int K, class T, class C, class LA, class LB>
__global__ void product(const typename Kind<T>::S *a, const typename Kind<T>::S *b, C *c, int la, int lb, int lc) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa; wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb; wmma::fragment<wmma::accumulator, M, N, K, C> fc, fd;
  int w = (threadIdx.y * blockDim.x + threadIdx.x) / 32;
  C *mine = c + w * 1024;
  wmma::load_matrix_sync(fa, a, la); wmma::load_matrix_sync(fb, b, lb); wmma::load_matrix_sync(fc, mine, lc, wmma::mem_col_major);
  for (int e = 0; e < fa.num_elements; ++e) if (sizeof(fa.x[0]) == 4) fa.x[e] = fa.x[e];
  wmma::mma_sync(fd, fa, fb, fc); wmma::mma_sync(fd, fa, fb, fd);
  for (int e = 0; e < fd.num_elements; ++e) fd.x[e] = fd.x[e] + fd.x[e];
  wmma::store_matrix_sync(mine, fd, lc, wmma::mem_col_major);
}
template <int M, int N, int K, class T, class C, class LA, class LB> void check(const char *name, bool ra, bool rb) {
  using S = typename Kind<T>::S;
  int la = (ra ? K : M) + 8, lb = (rb ? N : K) + 8, lc = M + 4;
  std::vector<S> a(64 * 64), b(64 * 64); std::vector<C> c(2048), r(2048);
  for (int i = 0; i < 64 * 64; ++i) a[i] = S((i * 7) % 5), b[i] = S((i * 5) % 7);
  for (int i = 0; i < 2048; ++i) c[i] = C(i % 17);
  S *da, *db; C *dc; cudaMalloc(&da, a.size() * sizeof(S)); cudaMalloc(&db, b.size() * sizeof(S)); cudaMalloc(&dc, 2048 * sizeof(C));
  cudaMemcpy(da, a.data(), a.size() * sizeof(S), cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), b.size() * sizeof(S), cudaMemcpyHostToDevice); cudaMemcpy(dc, c.data(), 2048 * sizeof(C), cudaMemcpyHostToDevice);
  product<M, N, K, T, C, LA, LB><<<1, dim3(16, 4)>>>(da, db, dc, la, lb, lc);
  cudaMemcpy(r.data(), dc, 2048 * sizeof(C), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int w = 0; w < 2; ++w) for (int i = 0; i < M; ++i) for (int j = 0; j < N; ++j) {
    double s = (double)(float)c[w * 1024 + j * lc + i], p = 0;
    for (int k = 0; k < K; ++k) p += (double)(float)a[ra ? i * la + k : k * la + i] * (double)(float)b[rb ? k * lb + j : j * lb + k];
    worst = std::fmax(worst, std::fabs(2 * (s + 2 * p) - (double)(float)r[w * 1024 + j * lc + i]));
  }
  if (worst != 0 || cudaGetLastError() != cudaSuccess) printf("%s %dx%dx%d differs by %g\n", name, M, N, K, worst);
}
template <class T, class C> void shapes(const char *name) {
  check<16, 16, 16, T, C, wmma::row_major, wmma::col_major>(name, true, false);
  check<32, 8, 16, T, C, wmma::col_major, wmma::row_major>(name, false, true);
  check<8, 32, 16, T, C, wmma::row_major, wmma::row_major>(name, true, true);
}
template <class T, class C> __global__ void filled(T a, T b, C c, C *out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, C> fc;
  wmma::fill_fragment(fa, a); wmma::fill_fragment(fb, b); wmma::fill_fragment(fc, c); wmma::mma_sync(fc, fa, fb, fc, true);
  if (threadIdx.x == 0) *out = fc.x[0];
}
template <class T, class C> void saturates(T a, T b, C c, C expected) {
  C *out; cudaMallocManaged(&out, sizeof(C));
  filled<T, C><<<1, 32>>>(a, b, c, out); cudaDeviceSynchronize();
  if ((double)(float)*out != (double)(float)expected) printf("%g, not %g\n", (double)(float)*out, (double)(float)expected);
}
int main() {
#ifdef HALVES
  shapes<half, float>("half"); shapes<__nv_bfloat16, float>("bfloat16");
  check<16, 16, 16, half, half, wmma::row_major, wmma::row_major>("small half", true, true);
#elif defined INTEGERS
  shapes<signed char, int>("char"); shapes<unsigned char, int>("unsigned char");
  saturates<signed char, int>(-100, 100, -2147483000, -2147483647 - 1);
#else
  saturates<half, float>(INFINITY, 1.0f, 0.0f, 3.402823466e38f); saturates<half, float>(INFINITY, 0.0f, 0.0f, 0.0f);
  check<16, 16, 16, half, float, wmma::row_major, wmma::col_major>("half", true, false);
  check<8, 32, 16, signed char, int, wmma::col_major, wmma::row_major>("char", false, true);
  check<16, 16, 8, wmma::precision::tf32, float, wmma::col_major, wmma::col_major>("tf32", false, false);
  check<8, 8, 4, double, double, wmma::row_major, wmma::col_major>("double", true, false);
#endif
}
