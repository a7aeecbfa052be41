"""Kernels in CUDA C++ and what they compute, in NumPy: the inputs of `test_stages`.

`CASES` is a list of (name, grid, block, arguments, dynamic shared bytes, expected): `expected` maps the number of an
argument to its content after the launch.
"""
from __future__ import annotations

import numpy as np

SOURCE = r"""
#define GLOBAL extern "C" __global__ void
GLOBAL axpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }
GLOBAL grid_stride(double* y, const double* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i]; }
GLOBAL heat1d(double* out, const double* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0 || i >= n - 1) return;
  out[i] = in[i] + 0.1 * (in[i - 1] - 2 * in[i] + in[i + 1]); }
GLOBAL heat2d(float* out, const float* in, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
    out[y * w + x] = 0.25f * (in[(y - 1) * w + x] + in[(y + 1) * w + x] + in[y * w + x - 1] + in[y * w + x + 1]); }
GLOBAL flat3d(double* out, const double* in, int nx, int ny, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= nx * ny * nz) return;
  int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
  if (x && y && z && x < nx - 1 && y < ny - 1 && z < nz - 1)
    out[i] = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny] - 6 * in[i]; }
GLOBAL transpose(float* out, const float* in, int h, int w) {
  __shared__ float tile[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 8 + threadIdx.x; y = blockIdx.x * 8 + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y]; }
GLOBAL matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[8][8]; __shared__ float sb[8][8];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty; float sum = 0;
  for (int t = 0; t < (n + 7) / 8; ++t) {
    sa[ty][tx] = y < n && t * 8 + tx < n ? a[y * n + t * 8 + tx] : 0;
    sb[ty][tx] = x < n && t * 8 + ty < n ? b[(t * 8 + ty) * n + x] : 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += sa[ty][k] * sb[k][tx];
    __syncthreads(); }
  if (x < n && y < n) c[y * n + x] = sum; }
GLOBAL reduce_divergent(const int* x, int* out, int n) {
  __shared__ int s[64]; int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0; __syncthreads();
  for (int k = 1; k < 64; k *= 2) { if (t % (2 * k) == 0) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) atomicAdd(out, s[0]); }
GLOBAL reduce_halving(const float* x, float* out) {
  extern __shared__ float s[]; int t = threadIdx.x; s[t] = x[blockIdx.x * blockDim.x + t]; __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0]; }
GLOBAL reduce_warp(const int* x, int* out) {
  int v = x[blockIdx.x * blockDim.x + threadIdx.x]; __shared__ int partial[2];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0] + partial[1]; }
GLOBAL scan_inclusive(int* x) {
  __shared__ int s[64]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
  for (int o = 1; o < 64; o *= 2) { int v = t >= o ? s[t - o] : 0; __syncthreads(); s[t] += v; __syncthreads(); }
  x[t] = s[t]; }
GLOBAL scan_warp(int* x) {
  int lane = threadIdx.x & 31, v = x[threadIdx.x];
  for (int o = 1; o < 32; o *= 2) { int u = __shfl_up_sync(0xffffffffu, v, o); if (lane >= o) v += u; }
  x[threadIdx.x] = v; }
GLOBAL histogram(const unsigned char* x, int* bins, int n) {
  __shared__ int s[16]; if (threadIdx.x < 16) s[threadIdx.x] = 0; __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&s[x[i] & 15], 1);
  __syncthreads(); if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]); }
GLOBAL spmv(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; double sum = 0;
  for (int k = start[r]; k < start[r + 1]; ++k) sum += value[k] * x[column[k]]; y[r] = sum; }
GLOBAL nbody(const float4* p, float4* f, int n) {
  __shared__ float4 s[16]; int i = blockIdx.x * 16 + threadIdx.x; float4 me = p[i], sum = make_float4(0, 0, 0, 0);
  for (int t = 0; t < n / 16; ++t) { s[threadIdx.x] = p[t * 16 + threadIdx.x]; __syncthreads();
    for (int j = 0; j < 16; ++j) { float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
      float d = dx * dx + dy * dy + dz * dz + 0.01f, q = s[j].w / (d * sqrtf(d));
      sum.x += dx * q; sum.y += dy * q; sum.z += dz * q; } __syncthreads(); }
  f[i] = sum; }
GLOBAL mandelbrot(int* out, int w, int h, int most) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return; double cx = -2 + 3.0 * px / w, cy = -1.5 + 3.0 * py / h, x = 0, y = 0; int k = 0;
  while (x * x + y * y <= 4 && k < most) { double t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; ++k; }
  out[py * w + px] = k; }
GLOBAL random_walk(unsigned* out, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; unsigned s = i * 747796405u + 2891336453u;
  for (int k = 0; k < steps; ++k) { s = s * 747796405u + 2891336453u;
    unsigned w = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u; s ^= (w >> 22) ^ w; } out[i] = s; }
GLOBAL philox_like(unsigned long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; unsigned c = i, d = 7;
  for (int r = 0; r < 7; ++r) { unsigned hi = __umulhi(0xD2511F53u, c), lo = 0xD2511F53u * c; c = hi ^ d; d = lo + r; }
  out[i] = ((unsigned long long)c << 32) | d; }
GLOBAL lbm_collide(float* f, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= cells) return; float v[9], rho = 0, ux = 0, uy = 0;
  const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float w[9] = {4/9.f, 1/9.f, 1/9.f, 1/9.f, 1/9.f, 1/36.f, 1/36.f, 1/36.f, 1/36.f};
  for (int k = 0; k < 9; ++k) { v[k] = f[k * cells + i]; rho += v[k]; ux += ex[k] * v[k]; uy += ey[k] * v[k]; }
  ux /= rho; uy /= rho;
  for (int k = 0; k < 9; ++k) { float e = ex[k] * ux + ey[k] * uy;
    f[k * cells + i] = v[k] + 0.5f * (w[k] * rho * (1 + 3 * e + 4.5f * e * e - 1.5f * (ux * ux + uy * uy)) - v[k]); } }
GLOBAL by_case(int* out, const int* kind, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int v = i;
  switch (kind[i]) { case 0: v *= 2; break; case 1: v += 100; case 2: v -= 3; break; case 7: v = -v; break;
    case 9: return; default: v = 0; } out[i] = v; }
GLOBAL find_first(const int* x, int* where, int n, int wanted) {
  int row = blockIdx.x * blockDim.x + threadIdx.x; if (row >= n) return;
  for (int k = 0; k < 10; ++k) if (x[row * 10 + k] == wanted) { where[row] = k; return; } where[row] = -1; }
GLOBAL break_continue(const int* x, int* out, int n) {
  int row = threadIdx.x, sum = 0;
  for (int k = 0; k < n; ++k) { int v = x[row * n + k]; if (v < 0) break; if (v % 3 == 0) continue; sum += v; }
  out[row] = sum; }
GLOBAL local_sort(float* x, int n) {
  float v[6]; int i = threadIdx.x; for (int k = 0; k < 6; ++k) v[k] = x[i * 6 + k];
  for (int a = 1; a < n; ++a) { float key = v[a]; int b = a - 1; while (b >= 0 && v[b] > key) { v[b + 1] = v[b]; --b; }
    v[b + 1] = key; } for (int k = 0; k < 6; ++k) x[i * 6 + k] = v[k]; }
GLOBAL binary_search(const int* sorted, int n, const int* wanted, int* place, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= m) return; int lo = 0, hi = n;
  while (lo < hi) { int mid = lo + (hi - lo) / 2; if (sorted[mid] < wanted[i]) lo = mid + 1; else hi = mid; }
  place[i] = lo; }
GLOBAL bitonic(int* x) {
  __shared__ int s[32]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
  for (int k = 2; k <= 32; k *= 2) for (int j = k / 2; j > 0; j /= 2) { int o = t ^ j;
    if (o > t && ((t & k) == 0) == (s[t] > s[o])) { int u = s[t]; s[t] = s[o]; s[o] = u; } __syncthreads(); }
  x[t] = s[t]; }
GLOBAL collatz(int* steps, int n) {
  int i = threadIdx.x; if (i >= n) return; long long v = i + 1; int k = 0;
  while (v != 1) { v = v % 2 ? 3 * v + 1 : v / 2; ++k; } steps[i] = k; }
GLOBAL tridiagonal(const double* a, const double* b, const double* c, double* d, int n, int systems) {
  int s = threadIdx.x; if (s >= systems) return; double cp[8], dp[8]; cp[0] = c[s] / b[s]; dp[0] = d[s] / b[s];
  for (int i = 1; i < n; ++i) { int q = i * systems + s; double m = 1 / (b[q] - a[q] * cp[i - 1]);
    cp[i] = c[q] * m; dp[i] = (d[q] - a[q] * dp[i - 1]) * m; }
  d[(n - 1) * systems + s] = dp[n - 1];
  for (int i = n - 2; i >= 0; --i) { dp[i] -= cp[i] * dp[i + 1]; d[i * systems + s] = dp[i]; } }
GLOBAL deposit(const float* position, float* grid, int particles, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= particles) return;
  int c = (int)floorf(position[i]); float w = position[i] - c; atomicAdd(&grid[c % cells], 1 - w);
  atomicAdd(&grid[(c + 1) % cells], w); }
GLOBAL floyd(int* d, int n, int k) { int i = blockIdx.x, j = threadIdx.x;
  if (j < n) { int t = d[i * n + k] + d[k * n + j]; if (t < d[i * n + j]) d[i * n + j] = t; } }
GLOBAL convolve_halo(float* out, const float* in, int n) {
  __shared__ float s[34]; int t = threadIdx.x, i = blockIdx.x * 32 + t; s[t + 1] = i < n ? in[i] : 0;
  if (t == 0) s[0] = i > 0 ? in[i - 1] : 0; if (t == 31) s[33] = i + 1 < n ? in[i + 1] : 0; __syncthreads();
  if (i < n) out[i] = 0.25f * s[t] + 0.5f * s[t + 1] + 0.25f * s[t + 2]; }
GLOBAL break_between_barriers(const int* x, int* out, int n) {
  __shared__ int stop; __shared__ int total; int t = threadIdx.x; if (t == 0) { stop = 0; total = 0; } __syncthreads();
  for (int k = 0; k < n; ++k) { if (x[k] < 0 && t == 0) stop = 1; __syncthreads(); if (stop) break;
    atomicAdd(&total, x[k] * (t + 1)); __syncthreads(); } if (t == 0) out[0] = total; }
GLOBAL votes(const int* x, unsigned* out) {
  int t = threadIdx.x; unsigned b = __ballot_sync(0xffffffffu, x[t] > 4);
  out[t] = b; if (__any_sync(0xffffffffu, x[t] > 8)) out[t] += 1000;
  if (__all_sync(0xffffffffu, x[t] >= 0)) out[t] += 5;
  out[t] ^= __popc(b) + __ffs(b) + __clz(b); }
GLOBAL counted_barrier(const int* x, int* out) { out[threadIdx.x] = __syncthreads_count(x[threadIdx.x] > 3); }
GLOBAL atomics(int* a, unsigned* b, const int* x) {
  int v = x[threadIdx.x]; atomicMax(&a[0], v); atomicMin(&a[1], v); atomicAnd(&a[2], v); atomicOr(&a[3], v);
  atomicXor(&a[4], v); atomicSub(&a[5], v); atomicInc(&b[0], 10u); atomicDec(&b[1], 10u); atomicCAS(&a[6], 0, v + 1); }
GLOBAL cas_maximum(float* best, const float* x) {
  float v = x[threadIdx.x]; int* p = (int*)best; int old = *p, seen;
  do { seen = old; old = atomicCAS(p, seen, __float_as_int(fmaxf(v, __int_as_float(seen)))); } while (seen != old); }
GLOBAL cas_guarded(float* best, const float* x) {
  float v = x[threadIdx.x]; int* p = (int*)best; int old = *p;
  while (v > __int_as_float(old)) {
    int seen = old; old = atomicCAS(p, seen, __float_as_int(v)); if (old == seen) break; } }
GLOBAL float_bits(const float* x, int* out) { int i = threadIdx.x;
  out[i] = __float_as_int(x[i]) >> 23; out[i + 8] = *(const int*)(x + i); }
GLOBAL bytes_of_words(const unsigned* x, unsigned char* out) { int i = threadIdx.x;
  const unsigned char* b = (const unsigned char*)x; out[i] = b[(i ^ 3)]; }
struct Particle { float x, y; int id; double mass; };
GLOBAL records(Particle* p, double* total) { int i = threadIdx.x; p[i].x += p[i].y; p[i].id *= 2;
  atomicAdd(total, p[i].mass); }
GLOBAL choose_buffer(float* a, float* b, int which) {
  float* p = which == 1 ? a : b; float* q = threadIdx.x % 2 ? a : b; p[threadIdx.x] += 1; q[threadIdx.x + 8] += 2; }
GLOBAL walking_pointers(const float* x, float* out, int n) {
  const float* p = x + threadIdx.x * n; const float* e = p + n; float s = 0; for (; p != e; ++p) s += *p;
  out[threadIdx.x] = s; }
__constant__ float weights[5] = {1, 4, 6, 4, 1};
GLOBAL constant_table(const float* x, float* out, int n) { int i = threadIdx.x; float s = 0;
  for (int k = -2; k <= 2; ++k) { int j = i + k; j = j < 0 ? 0 : j >= n ? n - 1 : j; s += weights[k + 2] * x[j]; }
  out[i] = s / 16; }
GLOBAL count_down(double* x, int n) { double s = 0; for (int i = n; i-- > 0;) s = s * 0.5 + x[i];
  x[threadIdx.x + n] = s; }
GLOBAL strided_loops(int* out, int n) { int s = 0;
  for (int i = threadIdx.x; i <= n; i += 3) for (int j = i; j > -n; j -= 2) s += i * j; out[threadIdx.x] = s; }
GLOBAL half_precision_free(const short* x, long long* out) { int i = threadIdx.x; long long v = x[i];
  out[i] = v * v * v * v + (v < 0 ? -1 : __popcll(v)) + (unsigned char)v; }
GLOBAL black_scholes(const float* s, const float* k, const float* t, float* call, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float r = 0.02f, v = 0.3f, q = sqrtf(t[i]);
  float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * q), d2 = d1 - v * q;
  call[i] = s[i] * normcdff(d1) - k[i] * expf(-r * t[i]) * normcdff(d2); }
GLOBAL bfs_level(const int* start, const int* edge, int* level, int* changed, int now, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x; if (v >= n || level[v] != now) return;
  for (int e = start[v]; e < start[v + 1]; ++e) if (level[edge[e]] < 0) { level[edge[e]] = now + 1; *changed = 1; } }
GLOBAL jumps(int* out, const int* x, int n) {
  int i = threadIdx.x, v = x[i], k = 0; if (v & 1) goto inside;
again: v += 3; if (v > 60) goto done;
inside: v += k; if (++k < n) goto again;
done: out[i] = v; }
GLOBAL ping_pong(float* a, float* b, float* c, int n) {
  __shared__ float s[16], u[16]; float* buffers[3] = {a, b, c}; float *now = s, *next = u; int t = threadIdx.x;
  now[t] = a[t]; __syncthreads();
  for (int k = 0; k < n; ++k) { next[t] = now[(t + 1) & 15] + 1; __syncthreads();
    float* other = now; now = next; next = other; }
  buffers[t % 3][t] = now[t]; }
GLOBAL high_halves(unsigned long long* out, const unsigned long long* x) { int i = threadIdx.x;
  out[i] = __umul64hi(x[i], 0x9E3779B97F4A7C15ull) + __mul64hi((long long)x[i], 12345) + __mulhi((int)x[i], -77777); }
GLOBAL nested_exits(int* out, const int* x, int n) {
  int i = threadIdx.x, s = 0;
  for (int a = 0; a < n; ++a) { for (int b = 0; b < n; ++b) { int v = x[(i + a * b) & 15]; if (v == 7) goto out_of_both;
      if (v == 5) { out[i] = -1; return; } if (v == 3) break; s += v; } s ^= a; }
out_of_both: out[i] = s; }
"""


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def cases() -> list[tuple]:
    """(name, grid, block, arguments, dynamic shared bytes, {argument: expected content})."""
    r, found = _rng(), []

    def case(name: str, grid: object, block: object, arguments: list, expected: dict, shared: int = 0) -> None:
        found.append((name, grid, block, arguments, shared, expected))

    def f(*shape: int) -> np.ndarray:
        return r.random(shape).astype(np.float32)

    def d(*shape: int) -> np.ndarray:
        return r.random(shape)

    def i(low: int, high: int, *shape: int) -> np.ndarray:
        return r.integers(low, high, shape).astype(np.int32)
    x, y = f(100), f(100)
    case("axpy", 4, 32, [y, x, 0.5, 100], {0: y + np.float32(0.5) * x})
    x = d(100)
    case("grid_stride", 2, 16, [np.zeros(100), x, 100], {0: x * x})
    x, out = d(70), np.zeros(70)
    want = out.copy()
    want[1:-1] = x[1:-1] + 0.1 * (x[:-2] - 2 * x[1:-1] + x[2:])
    case("heat1d", 3, 32, [out, x, 70], {0: want})
    x = f(13, 21)
    want = np.zeros_like(x)
    want[1:-1, 1:-1] = np.float32(0.25) * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    case("heat2d", (3, 2), (8, 8), [np.zeros_like(x), x, 13, 21], {0: want})
    x = d(5, 6, 7)
    want = np.zeros_like(x)
    want[1:-1, 1:-1, 1:-1] = (x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
                              + x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] - 6 * x[1:-1, 1:-1, 1:-1])
    case("flat3d", 7, 32, [np.zeros_like(x), x, 7, 6, 5], {0: want})
    x = f(11, 19)
    case("transpose", (3, 2), (8, 8), [np.zeros((19, 11), np.float32), x, 11, 19], {0: x.T})
    a, b = f(19, 19), f(19, 19)
    case("matmul", (3, 3), (8, 8), [a, b, np.zeros_like(a), 19], {2: a @ b})
    x = i(0, 50, 150)
    case("reduce_divergent", 3, 64, [x, np.zeros(1, np.int32), 150], {1: [x.sum()]})
    x = f(4, 32)
    case("reduce_halving", 4, 32, [x, np.zeros(4, np.float32)], {1: x.sum(1)}, 128)
    x = i(0, 50, 3, 64)
    case("reduce_warp", 3, 64, [x, np.zeros(3, np.int32)], {1: x.sum(1)})
    x = i(0, 50, 64)
    case("scan_inclusive", 1, 64, [x], {0: np.cumsum(x)})
    x = i(0, 50, 32)
    case("scan_warp", 1, 32, [x], {0: np.cumsum(x)})
    x = r.integers(0, 256, 300).astype(np.uint8)
    case("histogram", 3, 32, [x, np.zeros(16, np.int32), 300], {1: np.bincount(x & 15, minlength=16)})
    rows = i(0, 6, 20)
    start = np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)
    column, value, x = i(0, 20, start[-1]), d(start[-1]), d(20)
    want = np.array([value[s:e] @ x[column[s:e]] for s, e in zip(start[:-1], start[1:], strict=True)])
    case("spmv", 1, 32, [start, column, value, x, np.zeros(20), 20], {4: want})
    p = f(32, 4)
    delta = p[None, :, :3] - p[:, None, :3]
    dist = (delta ** 2).sum(-1) + np.float32(0.01)
    force = (delta * (p[None, :, 3] / dist ** 1.5)[..., None]).sum(1)
    case("nbody", 2, 16, [p, np.zeros_like(p), 32], {1: np.concatenate([force, np.zeros((32, 1))], 1)})
    py, px = np.mgrid[:9, :11]
    c, z, want = -2 + 3 * px / 11 + 1j * (-1.5 + 3 * py / 9), np.zeros((9, 11), complex), np.zeros((9, 11), int)
    for _ in range(20):
        inside = abs(z) ** 2 <= 4
        want += inside
        z = np.where(inside, z * z + c, z)
    case("mandelbrot", (2, 2), (8, 8), [np.zeros((9, 11), np.int32), 11, 9, 20], {0: want})
    s = (np.arange(40, dtype=np.uint32) * np.uint32(747796405)) + np.uint32(2891336453)
    for _ in range(5):
        s = s * np.uint32(747796405) + np.uint32(2891336453)
        w = ((s >> ((s >> np.uint32(28)) + np.uint32(4))) ^ s) * np.uint32(277803737)
        s = s ^ ((w >> np.uint32(22)) ^ w)
    case("random_walk", 2, 32, [np.zeros(40, np.uint32), 40, 5], {0: s})
    c, e = np.arange(20, dtype=np.uint64), np.full(20, 7, np.uint64)
    for k in range(7):
        product = c * np.uint64(0xD2511F53)
        low = np.uint64(0xFFFFFFFF)
        c, e = (product >> np.uint64(32)) ^ e, ((product & low) + np.uint64(k)) & low
    case("philox_like", 1, 32, [np.zeros(20, np.uint64), 20], {0: c << np.uint64(32) | e})
    v = f(9, 12) + 1
    ex, ey = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])[:, None], np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])[:, None]
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)[:, None]
    rho = v.sum(0)
    ux, uy = (ex * v).sum(0) / rho, (ey * v).sum(0) / rho
    e = ex * ux + ey * uy
    want = v + 0.5 * (w * rho * (1 + 3 * e + 4.5 * e * e - 1.5 * (ux * ux + uy * uy)) - v)
    case("lbm_collide", 1, 16, [v, 12], {0: want})
    kind = np.array([0, 1, 2, 7, 9, 3, 1, 0], np.int32)
    case("by_case", 1, 8, [np.full(8, 55, np.int32), kind, 8], {0: [0, 98, -1, -3, 55, 0, 103, 14]})
    x = i(0, 20, 12, 10)
    case("find_first", 1, 16, [x, np.zeros(12, np.int32), 12, 4],
         {1: [list(row).index(4) if 4 in row else -1 for row in x]})
    x = i(-2, 9, 8, 12)
    want = []
    for row in x:
        stop = np.argmax(row < 0) if (row < 0).any() else 12
        want.append(sum(v for v in row[:stop] if v % 3))
    case("break_continue", 1, 8, [x, np.zeros(8, np.int32), 12], {1: want})
    x = f(5, 6)
    case("local_sort", 1, 5, [x, 6], {0: np.sort(x, 1)})
    x, wanted = np.sort(i(0, 90, 37)), i(0, 90, 20)
    case("binary_search", 1, 32, [x, 37, wanted, np.zeros(20, np.int32), 20], {3: np.searchsorted(x, wanted)})
    x = i(0, 90, 32)
    case("bitonic", 1, 32, [x], {0: np.sort(x)})
    want = []
    for n in range(1, 21):
        k = 0
        while n != 1:
            n, k = (3 * n + 1 if n % 2 else n // 2), k + 1
        want.append(k)
    case("collatz", 1, 32, [np.zeros(20, np.int32), 20], {0: want})
    a, b, c, e = d(8, 5), d(8, 5) + 4, d(8, 5), d(8, 5)
    want = np.stack([np.linalg.solve(np.diag(b[:, k]) + np.diag(a[1:, k], -1) + np.diag(c[:-1, k], 1), e[:, k])
                     for k in range(5)], 1)
    case("tridiagonal", 1, 8, [a, b, c, e, 8, 5], {3: want})
    x = f(60) * 11
    want = np.zeros(12)
    np.add.at(want, np.floor(x).astype(int) % 12, 1 - (x - np.floor(x)))
    np.add.at(want, (np.floor(x).astype(int) + 1) % 12, x - np.floor(x))
    case("deposit", 2, 32, [x, np.zeros(12, np.float32), 60, 12], {1: want})
    x = i(1, 90, 9, 9)
    case("floyd", 9, 16, [x, 9, 4], {0: np.minimum(x, x[:, 4:5] + x[4:5])})
    x = f(75)
    padded = np.pad(x, 1)
    case("convolve_halo", 3, 32, [np.zeros_like(x), x, 75],
         {0: 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]})
    x = np.array([3, 1, 4, -1, 5, 9], np.int32)
    case("break_between_barriers", 1, 32, [x, np.zeros(1, np.int32), 6], {1: [8 * 32 * 33 // 2]})
    x = i(0, 9, 32)
    bits = int(sum(1 << k for k in range(32) if x[k] > 4))
    mixed = bin(bits).count("1") + (bits & -bits).bit_length() + (32 - bits.bit_length())
    case("votes", 1, 32, [x, np.zeros(32, np.uint32)], {1: np.full(32, ((bits + 5) & 0xFFFFFFFF) ^ mixed)})
    case("counted_barrier", 1, 32, [x, np.zeros(32, np.int32)], {1: np.full(32, (x > 3).sum())})
    x = i(1, 90, 24)
    want = [x.max(), x.min(), np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x), -x.sum(),
            x[0] + 1]
    case("atomics", 1, 24, [np.array([0, 99, -1, 0, 0, 0, 0], np.int32), np.array([0, 5], np.uint32), x],
         {0: want, 1: [24 % 11, (5 - 24) % 11]})
    x = f(32) - 0.5
    case("cas_maximum", 1, 32, [np.full(1, -9, np.float32), x], {0: [x.max()]})
    case("cas_guarded", 1, 32, [np.full(1, -9, np.float32), x], {0: [x.max()]})
    x = f(8)
    case("float_bits", 1, 8, [x, np.zeros(16, np.int32)],
         {1: np.concatenate([x.view(np.int32) >> 23, x.view(np.int32)])})
    x = r.integers(0, 2**32, 4).astype(np.uint32)
    case("bytes_of_words", 1, 16, [x, np.zeros(16, np.uint8)], {1: x.view(np.uint8)[np.arange(16) ^ 3]})
    x = f(2, 16)
    one, two = x[0].copy(), x[1].copy()
    one[:8] += 1
    two[8:] += np.where(np.arange(8) % 2, 0, 2)
    one[8:] += np.where(np.arange(8) % 2, 2, 0)
    case("choose_buffer", 1, 8, [x[0].copy(), x[1].copy(), 1], {0: one, 1: two})
    x = f(6, 9)
    case("walking_pointers", 1, 6, [x, np.zeros(6, np.float32), 9], {1: x.sum(1)})
    x = f(16)
    padded = np.pad(x, 2, mode="edge")
    case("constant_table", 1, 16, [x, np.zeros_like(x), 16],
         {1: sum(w * padded[k:k + 16] for k, w in enumerate([1, 4, 6, 4, 1])) / 16})
    x = d(12)
    s = 0.0
    for v in x[7::-1]:
        s = s * 0.5 + v
    case("count_down", 1, 4, [x, 8], {0: np.concatenate([x[:8], np.full(4, s)])})
    case("strided_loops", 1, 8, [np.zeros(8, np.int32), 9],
         {0: [sum(a * b for a in range(t, 10, 3) for b in range(a, -9, -2)) for t in range(8)]})
    x = r.integers(-300, 300, 16).astype(np.int16)
    case("half_precision_free", 1, 16, [x, np.zeros(16, np.int64)],
         {1: [int(v) ** 4 + (-1 if v < 0 else int(v).bit_count()) + (int(v) & 255) for v in x]})
    s, k, t = f(40) * 50 + 10, f(40) * 50 + 10, f(40) * 3 + 0.1
    from scipy.special import ndtr
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    case("black_scholes", 2, 32, [s, k, t, np.zeros_like(s), 40],
         {3: s * ndtr(d1) - k * np.exp(-0.02 * t) * ndtr(d1 - 0.3 * np.sqrt(t))})
    start, edge = np.array([0, 2, 3, 5, 5], np.int32), np.array([1, 2, 3, 0, 3], np.int32)
    case("bfs_level", 1, 32, [start, edge, np.array([0, -1, -1, -1], np.int32), np.zeros(1, np.int32), 0, 4],
         {2: [0, 1, 1, -1], 3: [1]})
    x = i(0, 50, 16)
    want = []
    for v in x:
        k, enter = 0, bool(v & 1)
        while True:
            if not enter:
                v += 3
                if v > 60:
                    break
            enter = False
            v += k
            k += 1
            if k >= 6:
                break
        want.append(v)
    case("jumps", 1, 16, [np.zeros(16, np.int32), x, 6], {0: want})
    x = i(0, 40, 16)
    case("nested_exits", 1, 16, [np.zeros(16, np.int32), x, 5], {0: [_nested_exits(k, x, 5) for k in range(16)]})
    x = f(16)
    case("ping_pong", 1, 16, [x, np.zeros_like(x), np.zeros_like(x), 5],
         {place: np.where(np.arange(16) % 3 == place, np.roll(x, -5) + 5, x if not place else 0) for place in range(3)})
    x = r.integers(0, 2**64, 8, dtype=np.uint64)
    case("high_halves", 1, 8, [np.zeros(8, np.uint64), x], {0: np.array([_high_halves(int(v)) for v in x], np.uint64)})
    return found


def _high_halves(x: int) -> int:
    signed, narrow = (x + 2**63) % 2**64 - 2**63, (x + 2**31) % 2**32 - 2**31
    return ((x * 0x9E3779B97F4A7C15 >> 64) + (signed * 12345 >> 64) + (narrow * -77777 >> 32)) % 2**64


def _nested_exits(thread: int, x: np.ndarray, n: int) -> int:
    total = 0
    for a in range(n):
        for b in range(n):
            v = int(x[(thread + a * b) & 15])
            if v == 7:
                return total
            if v == 5:
                return -1
            if v == 3:
                break
            total += v
        total ^= a
    return total
