// Random chains of launches over parts of memory that overlap between launches, and within one only where each thread
// keeps to its own elements: through loops of all forms, rows, columns, variables of the device, memory that is
// allocated between. What comes out is the same whether launches are joined. argv: seed, chains, and anything to be told
// of each launch.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef unsigned int Number;
constexpr int N = 6000, ROOM = 5 * N, SPARE = 4096;

#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define TAKEN const Number *x, Number *y, int n, int m
#define EACH const int i = I; if (i >= n) return
struct Parts { const Number *from; Number *to; int n, stride; long long shift; };
__device__ Number scalar, table[ROOM + SPARE];
__constant__ Number fixed[64];

// Elementwise: may be in place.
__global__ void e_product(TAKEN) { EACH; y[i] = x[i] * 3 + y[i]; }
__global__ void e_long(TAKEN) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] ^= x[i] + i;
}
__global__ void e_unsigned(TAKEN) {
    const unsigned i = I;
    if (i < unsigned(n)) y[i] = x[i] - i * m;
}
__global__ void e_grid(TAKEN) {
    for (unsigned i = I; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 7 + m;
}
__global__ void e_grid_long(TAKEN) {
    for (size_t i = I; i < size_t(n); i += size_t(gridDim.x) * blockDim.x) y[i] = x[i] * 5 + i;
}
__global__ void e_reversed_blocks(TAKEN) {
    const int i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 9 + blockIdx.x;
}
__global__ void e_reversed(TAKEN) { const int i = n - 1 - int(I); if (i >= 0) y[i] += x[i] * 3; }
__global__ void e_rows(TAKEN) {           // a block: a row of m
    const int row = blockIdx.x;
    for (int k = threadIdx.x; k < m; k += blockDim.x) if (row * m + k < n) y[row * m + k] = x[row * m + k] + k;
}
__global__ void e_rows_pointer(TAKEN) {
    x += blockIdx.x * m, y += blockIdx.x * m;
    const int most = min(m, n - int(blockIdx.x) * m);
    for (int k = threadIdx.x; k < most; k += blockDim.x) y[k] = x[k] * 2 + k;
}
__global__ void e_one_thread(TAKEN) {     // one thread goes through its block's part
    if (threadIdx.x) return;
    const int start = blockIdx.x * m, end = min(n, start + m);
    for (int k = start; k < end; ++k) y[k] = x[k] + y[k] * 3;
}
__global__ void e_down(TAKEN) {
    if (threadIdx.x) return;
    const int start = blockIdx.x * m;
    for (int k = min(n, start + m) - 1; k >= start; --k) y[k] = x[k] * 11 + 1;
}
__global__ void e_walk(TAKEN) {
    const int start = I * 4;
    const Number *p = x + start, *end = x + min(n, start + 4);
    Number *q = y + start;
    while (p < end) *q++ = *p++ * 13;
}
__global__ void e_ne(TAKEN) {
    const int start = I * 3;
    if (start + 3 > n) return;
    for (int k = start; k != start + 3; ++k) y[k] = x[k] + 17;
}
__global__ void e_four(TAKEN) {
    const int i = I;
    if (i * 4 + 3 < n) for (int k = 0; k < 4; ++k) y[4 * i + k] = x[4 * i + k] * (k + 3);
}
__global__ void e_two_d(TAKEN) {
    const int t = threadIdx.y * blockDim.x + threadIdx.x, i = blockIdx.x * (blockDim.x * blockDim.y) + t;
    if (i < n) y[i] = x[i] + t;
}
__global__ void e_bytes(TAKEN) {
    const int i = I;
    if (i < 4 * n) ((unsigned char *)y)[i] = ((const unsigned char *)x)[i] + 3;
}
__global__ void e_atomic(TAKEN) { EACH; atomicAdd(&y[i], x[i] * 3); }
__global__ void e_shared(TAKEN) {
    __shared__ Number s[256];
    const int i = I;
    s[threadIdx.x] = i < n ? x[i] : 7;
    __syncthreads();
    const Number v = s[blockDim.x - 1 - threadIdx.x] + s[threadIdx.x];
    if (i < n) y[i] = v + y[i];
}
__global__ void e_or(TAKEN) {
    const int i = (blockIdx.x << 6) | (threadIdx.x & 63);
    if (i < n && threadIdx.x < 64) y[i] = x[i] | 5;
}
__global__ void e_fixed(TAKEN) { EACH; y[i] = x[i] * fixed[i & 63]; }
__global__ void e_scalar(TAKEN) { EACH; y[i] += x[i] + scalar; }

// Others read elsewhere: x is apart from y.
__global__ void o_neighbours(TAKEN) { EACH; y[i] = x[i] + x[i ? i - 1 : 0] + 2 * x[i + 1 < n ? i + 1 : i]; }
__global__ void o_reversed(TAKEN) { EACH; y[n - 1 - i] = x[i] + 1; }
__global__ void o_moved(TAKEN) { EACH; if (i >= m) y[i - m] = x[i] * 5; }
__global__ void o_moved_up(TAKEN) { EACH; if (i + m < n) y[i + m] = x[i] * 5; }
__global__ void o_read_ahead(TAKEN) { EACH; if (i + m < n) y[i] = x[i + m] * 5; }
__global__ void o_strides(TAKEN) { EACH; const long long at = (long long)i * m; if (at < n) y[at] = x[i]; }
__global__ void o_negative(TAKEN) { EACH; const int at = i * -m; if (n - 1 + at >= 0) (y + n - 1)[at] = x[i] + 3; }
__global__ void o_gathered(TAKEN) { EACH; y[i] = x[unsigned(i) * 7919u % unsigned(n)] ^ 9; }
__global__ void o_blocks(TAKEN) { EACH; y[i] += x[blockIdx.x]; }
__global__ void o_of_block(TAKEN) { if (threadIdx.x == 0 && blockIdx.x < n) y[blockIdx.x] = x[blockIdx.x * 3 % n]; }
__global__ void o_window(TAKEN) {
    EACH; Number sum = 0;
    for (int k = -m; k <= m; ++k) if (i + k >= 0 && i + k < n) sum += x[i + k];
    y[i] = sum;
}
__global__ void o_columns(TAKEN) {         // down columns of rows of 64
    EACH; Number sum = 0;
    if (i < 64) for (int k = i; k < n; k += 64) { sum += x[k]; y[k] = sum; }
}
__global__ void o_matrix(TAKEN) {
    const int c = threadIdx.x, r = blockIdx.x, w = blockDim.x;
    Number sum = 0;
    if (r * w + c >= n) return;
    for (int k = 0; k < m; ++k)
        for (int l = 0; l < 2; ++l) {
            const int at = (r + k) * w + c + l;
            if (at < n) sum += x[at];
        }
    y[r * w + c] = sum;
}
__global__ void o_parts(Parts p) {
    const int i = I;
    if (i >= p.n) return;
    for (int k = 0; k < 3; ++k)
        if (i + (long long)k * p.stride < N) p.to[i + k * p.stride] = p.from[i + k * p.stride + p.shift] * 3 + k;
}
__global__ void o_to_table(TAKEN) { EACH; table[i + m] = x[i] + 6; }
__global__ void o_from_table(TAKEN) { EACH; y[i] ^= table[i]; }
__global__ void o_scalar(TAKEN) { EACH; if (i == m) scalar = x[i]; }
__global__ void o_count(TAKEN) { EACH; atomicAdd(&y[x[i] % 8], 1u); }
__global__ void o_choose(TAKEN) { EACH; const Number *p = m & 1 ? x : x + m; y[i] = p[i < n - m ? i : 0] + 1; }
__global__ void o_zero_loop(TAKEN) {
    EACH; Number sum = 0;
    for (unsigned k = m; k < 8u; k += 3) sum += x[(i + k) < n ? i + k : 0];
    y[i] = sum;
}
__global__ void o_triangle(TAKEN) {        // a block's inner loop begins where the outer is
    const int base = blockIdx.x * 16;
    if (base + 16 > n) return;
    for (int a = 0; a < 4; ++a)
        for (int b = a; b < 4; ++b) if (threadIdx.x == 0) y[base + a * 4 + b] = x[base + b * 4 + a] + a;
}
__global__ void o_while(TAKEN) {
    int i = I;
    do { if (i < n) y[i] = x[i] * 21; i += 64 * gridDim.x * 4; } while (i < n);
}

typedef void Kernel(const Number *, Number *, int, int);
static Kernel *const elementwise[] = {
    e_product, e_long, e_unsigned, e_grid, e_grid_long, e_reversed_blocks, e_reversed, e_rows, e_rows_pointer,
    e_one_thread, e_down, e_walk, e_ne, e_four, e_two_d, e_bytes, e_atomic, e_shared, e_or, e_fixed, e_scalar};
static Kernel *const other[] = {
    o_neighbours, o_reversed, o_moved, o_moved_up, o_read_ahead, o_strides, o_negative, o_gathered, o_blocks,
    o_of_block, o_window, o_columns, o_matrix, o_to_table, o_from_table, o_scalar, o_count, o_choose, o_zero_loop,
    o_triangle, o_while};
constexpr int E = sizeof elementwise / sizeof *elementwise, O = sizeof other / sizeof *other;

static unsigned long long state;
static int pick(int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return int((state >> 33) % n);
}

int main(int argc, char **argv) {
    state = argc > 1 ? atoi(argv[1]) : 1;
    const int chains = argc > 2 ? atoi(argv[2]) : 30;
    const bool tell = argc > 3;
    Number *slab, *apart[2], *fixed_at, *table_at;
    std::vector<Number> host(ROOM + 2 * SPARE);
    cudaStream_t streams[2] = {nullptr, nullptr};
    cudaStreamCreate(&streams[1]);
    cudaMalloc(&slab, (ROOM + 2 * SPARE) * 4);
    for (Number *&a : apart) cudaMalloc(&a, (ROOM + 2 * SPARE) * 4);
    cudaGetSymbolAddress((void **)&fixed_at, fixed);
    cudaGetSymbolAddress((void **)&table_at, table);
    for (Number &h : host) h = pick(1 << 30);
    for (Number *a : {slab, apart[0], apart[1]}) cudaMemcpy(a, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(fixed, host.data(), sizeof fixed);
    Number sum = 0;
    for (int chain = 0; chain < chains; ++chain) {
        const int blocks_of_chain = 20 + pick(60), threads_of_chain = 64 << pick(3);
        for (int k = 0; k < 14; ++k) {
            const int threads = pick(4) ? threads_of_chain : 64 << pick(3);
            const int blocks = pick(6) ? blocks_of_chain : 20 + pick(60);
            const int n = pick(3) ? N - pick(3) * 7 : blocks * threads < N ? blocks * threads : N;
            const int m = 1 + pick(pick(2) ? 4 : 100);
            const bool in_place = pick(3) == 0;
            Number *where[] = {slab, slab, slab, apart[0], apart[1], table_at};
            Number *base = where[pick(6)], *to_base = pick(2) ? base : where[pick(6)];
            const int odd[] = {0, 0, 0, 64, 1, 3, threads, threads * 2, 128};
            int from_at = pick(4) * N + odd[pick(9)] * pick(3), to_at = pick(4) * N + odd[pick(9)] * pick(3);
            Number *from = base + from_at, *to = to_base + to_at;
            cudaStream_t stream = streams[pick(8) == 0];
            if (from < to + N && to < from + N) to = from;
            const bool same = from == to;
            const int which = same ? pick(E) : pick(2) ? pick(E) : E + pick(O);
            Kernel *kernel = which < E ? elementwise[which] : other[which - E];
            if (kernel == o_to_table && base == table_at) continue;
            if (kernel == o_from_table && to_base == table_at) continue;
            dim3 block(threads);
            if (kernel == e_two_d) block = dim3(16, threads / 16);
            if (tell)
                printf("chain %d kernel %d <<<%d, %d>>> from %ld to %ld n %d m %d\n", chain, which, blocks, threads,
                       long(from - slab), long(to - slab), n, m);
            if (pick(20) == 0 && !same)
                o_parts<<<blocks, block, 0, stream>>>(Parts{from, to, n / 4, n / 4 + pick(2) * 40, 0});
            else kernel<<<blocks, block, 0, stream>>>(from, to, n, m);
            switch (pick(40)) {
            case 0: cudaMemsetAsync(slab + pick(ROOM), pick(256), 4 * pick(N / 2), stream); break;
            case 1:
                cudaMemcpyAsync(apart[pick(2)] + pick(N), slab + pick(ROOM - N), N, cudaMemcpyDeviceToDevice, stream);
                break;
            case 2:
                cudaMemcpyAsync(fixed_at, slab + pick(ROOM), sizeof fixed, cudaMemcpyDeviceToDevice, stream);
                break;
            case 3: e_product<<<1, 64>>>(slab + pick(ROOM), fixed_at, 64, 1); break;
            case 4: e_product<<<blocks, 64>>>(slab + pick(ROOM), fixed_at, 64, 1); break;
            case 5:
                cudaMemcpyToSymbolAsync(scalar, slab + pick(ROOM), 4, 0, cudaMemcpyDeviceToDevice);
                break;
            case 6: {
                Number *more;
                cudaMalloc(&more, N * 4);
                cudaMemsetAsync(more, 1, N * 4);
                o_neighbours<<<blocks, block>>>(more, slab + pick(ROOM - N), N, 1);
                cudaFree(more);
                break;
            }
            case 7: e_product<<<blocks, 2048>>>(slab, slab, N, 1); cudaGetLastError(); break;
            case 8: {
                Number *more;
                cudaMallocAsync(&more, N * 4, stream);
                cudaMemsetAsync(more, 1, N * 4, stream);
                e_product<<<blocks, block, 0, stream>>>(more, slab + pick(ROOM - N), N, 1);
                cudaFreeAsync(more, stream);
                break;
            }
            }
        }
        for (Number *a : {slab, apart[0], apart[1], table_at}) {
            cudaMemcpy(host.data(), a, (ROOM + SPARE) * 4, cudaMemcpyDeviceToHost);
            Number of_this = 0;
            for (int i = 0; i < ROOM + SPARE; ++i) of_this = of_this * 31 + host[i];
            if (tell) printf("chain %d: %u\n", chain, of_this);
            sum = sum * 17 + of_this;
        }
    }
    printf("%u %s\n", sum, cudaGetErrorString(cudaDeviceSynchronize()));
    return cudaGetLastError() != cudaSuccess;
}
