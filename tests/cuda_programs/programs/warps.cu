#include <algorithm>
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
// What is asked of warps and of blocks whose threads part, against plain loops.
template <class T> struct Managed {
    typedef T value_type;
    Managed() {}
    template <class U> Managed(const Managed<U> &) {}
    T *allocate(size_t n) { void *p; cudaMallocManaged(&p, n * sizeof(T)); return (T *)p; }
    void deallocate(T *p, size_t) { cudaFree(p); }
};
template <class T, class U> bool operator==(const Managed<T> &, const Managed<U> &) { return true; }
template <class T, class U> bool operator!=(const Managed<T> &, const Managed<U> &) { return false; }
template <class T> using vec = std::vector<T, Managed<T>>;
template <class K, class... A> void launch(K kernel, int grid, int block, int, A... a) {
    kernel<<<grid, block>>>(a...);
    if (cudaError_t e = cudaDeviceSynchronize()) printf("%s\n", cudaGetErrorString(e));
}
namespace cg = cooperative_groups;
extern "C" {
__global__ void warps(const int *x, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int v = i < n ? x[i] : 0, s = v;
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  int p = v; for (int o = 1; o < 32; o *= 2) { int q = __shfl_up_sync(~0u, p, o); if (lane >= o) p += q; }
  unsigned b = __ballot_sync(~0u, v & 1); int any = __any_sync(~0u, v == 7), all = __all_sync(~0u, v >= 0);
  int r = __shfl_sync(~0u, v, (lane * 7 + 3) & 31); int m = __match_any_sync(~0u, v & 3); int w8 = __shfl_xor_sync(~0u, v, 3, 8);
  int red = __reduce_add_sync(~0u, v);
  int h = 0; if (lane < 13) h = __shfl_sync(__activemask(), v, 2) + __popc(__activemask());
  int *o = out + i * 10; o[0] = s; o[1] = p; o[2] = b; o[3] = any * 2 + all; o[4] = r; o[5] = m; o[6] = w8; o[7] = red; o[8] = h; o[9] = __popc(__ballot_sync(~0u, lane > 3));
}
__global__ void blockreduce(const float *x, float *y, int n) {
  __shared__ float part[32]; int tid = threadIdx.x, lane = tid & 31, wid = tid >> 5; int i = blockIdx.x * blockDim.x + tid;
  float v = i < n ? x[i] : 0; for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (lane == 0) part[wid] = v; __syncthreads();
  v = tid < blockDim.x / 32 ? part[lane] : 0; if (wid == 0) { for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o); if (lane == 0) y[blockIdx.x] = v; }
}
__global__ void diverge(int *out, int n) {
  __shared__ int s[128]; int t = threadIdx.x; s[t] = t; 
  if (t >= n) return;
  __syncthreads();
  int acc = 0; for (int k = 0; k < 5; ++k) { acc += s[(t + k) % n]; __syncthreads(); s[t] += k; __syncthreads(); }
  int c = __syncthreads_count(t & 1);
  out[t] = acc * 100 + c + 1000000 * __syncthreads_or(t == 3);
}
__global__ void oldwarp(int *out) { __shared__ volatile int s[64]; int t = threadIdx.x; s[t] = t; __syncthreads();
  if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; } if (t == 0) out[blockIdx.x] = s[0]; }
__global__ void tiles(int *out) { auto b = cg::this_thread_block(); auto t = cg::tiled_partition<8>(b); int v = b.thread_rank(); for (int o = 4; o > 0; o /= 2) v += t.shfl_xor(v, o); out[b.thread_rank()] = v;
  auto g = cg::coalesced_threads(); if (b.thread_rank() % 3 == 0) { auto c = cg::coalesced_threads(); out[b.thread_rank()] += 1000 * c.size() + 100000 * c.thread_rank(); } }
}
static int bad; static void expect(const char *w, int i, long a, long b) { if (a != b && bad++ < 20) printf("%s[%d]: %ld, expected %ld\n", w, i, a, b); }
int main() {
 for (int B : {32, 64, 96, 128, 256, 33, 48, 7}) { int blocks = 3, N = B * blocks, n = N - 5; vec<int> x(N), o(N * 10); for (int i = 0; i < N; ++i) x[i] = (i * 37 + 11) % 101; 
  launch(warps, blocks, B, 0, x.data(), o.data(), n);
  for (int b = 0; b < blocks; ++b) for (int t = 0; t < B; ++t) { int i = b * B + t, lane = t & 31, f = i - lane, e = std::min(32, B - (t - lane)); auto V = [&](int l) { int j = f + l; return j < n ? x[j] : 0; };
   auto *r = &o[i * 10]; vec<int> s(32, 0); for (int l = 0; l < e; ++l) s[l] = V(l); if (e == 32) { for (int q = 16; q; q >>= 1) { auto c = s; for (int l = 0; l < 32; ++l) s[l] = c[l] + (l + q < 32 ? c[l + q] : c[l]); } expect("down", i, r[0], s[lane]); }
   int p = 0; for (int l = 0; l <= lane; ++l) p += V(l); expect("scan", i, r[1], p); unsigned bal = 0; int any = 0, all = 1, m = 0, red = 0; for (int l = 0; l < e; ++l) { bal |= (V(l) & 1) << l; any |= V(l) == 7; all &= V(l) >= 0; m |= ((V(l) & 3) == (V(lane) & 3)) << l; red += V(l); }
   expect("ballot", i, (unsigned)r[2], bal); expect("any", i, r[3], any * 2 + all); int src = (lane * 7 + 3) & 31; if (src < e) expect("idx", i, r[4], V(src)); expect("match", i, r[5], m); int xs = lane ^ 3; if (xs < e) expect("xor8", i, r[6], V(xs)); if (e == 32) expect("reduce", i, r[7], red);
   expect("part", i, r[8], lane < 13 ? V(2) * (e > 2) + std::min(13, e) : 0); expect("ballot2", i, r[9], std::max(0, e - 4)); } }
 { int n = 10000, b = (n + 255) / 256; vec<float> x(n), y(b); for (int i = 0; i < n; ++i) x[i] = i % 17; launch(blockreduce, b, 256, 0, x.data(), y.data(), n); float s = 0, w = 0; for (float v : y) s += v; for (float v : x) w += v; expect("blockreduce", 0, s, w); 
   }
 for (int n : {128, 100, 64, 1}) { vec<int> o(128, -1); launch(diverge, 1, 128, 0, o.data(), n); vec<int> s(128), acc(128); for (int t = 0; t < 128; ++t) s[t] = t; for (int k = 0; k < 5; ++k) { for (int t = 0; t < n; ++t) acc[t] += s[(t + k) % n]; for (int t = 0; t < n; ++t) s[t] += k; } for (int t = 0; t < n; ++t) expect("diverge", t, o[t], acc[t] * 100 + n / 2 + 1000000 * (n > 3)); if (n < 128) expect("ret", n, o[n], -1); }
 { vec<int> o(1); launch(oldwarp, 1, 64, 0, o.data()); expect("oldwarp", 0, o[0], 64 * 63 / 2); }
 { vec<int> o(64); launch(tiles, 1, 64, 0, o.data()); for (int t = 0; t < 64; ++t) { int f = t / 8 * 8, s = 8 * f + 28; int w = t / 32 * 32, c = 0, rank = 0; for (int l = w; l < w + 32; ++l) if (l % 3 == 0) { ++c; rank += l < t; } expect("tiles", t, o[t], s + (t % 3 == 0 ? 1000 * c + 100000 * rank : 0)); } }
 printf("%d bad\n", bad);
 return bad != 0;
}
