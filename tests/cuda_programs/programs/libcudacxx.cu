// libcu++ in device code: atomics of several widths and scopes, and the standard library's types.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "checks.h"

struct Counters {
    cuda::atomic<int, cuda::thread_scope_device> sum, most, bits, changes;
    cuda::atomic<unsigned long long, cuda::thread_scope_device> wide;
    cuda::std::atomic<unsigned> whole;
    float real;
    int least;
};

__global__ void start(Counters *c) {
    new (c) Counters;
    c->sum = 0, c->most = -1, c->bits = 0, c->changes = 0, c->wide = 0, c->whole = 0, c->real = 0, c->least = 1 << 30;
}
__global__ void count(Counters *c) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    c->sum.fetch_add(i, cuda::std::memory_order_relaxed);
    c->most.fetch_max(i);
    c->bits.fetch_or(1 << (i % 31), cuda::memory_order_relaxed);
    c->wide += 1ull << 33;
    ++c->whole;
    cuda::atomic_ref<float, cuda::thread_scope_device>(c->real).fetch_add(0.5f);
    cuda::atomic_ref<int, cuda::thread_scope_block>(c->least).fetch_min(i + 3);
    int old = c->changes.load();
    while (!c->changes.compare_exchange_weak(old, old + 2)) {}
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
__global__ void types(float *out) {
    cuda::std::array<float, 4> a{1, 2, 3, 4};
    const cuda::std::complex<float> z = cuda::std::complex<float>(1, 2) * cuda::std::complex<float>(3, -1);
    const cuda::std::optional<int> some = threadIdx.x < 5 ? cuda::std::optional<int>(7) : cuda::std::nullopt;
    const auto pair = cuda::std::make_tuple(2.5f, 3);
    static_assert(cuda::std::is_same<cuda::std::decay_t<decltype(cuda::std::get<1>(pair))>, int>::value, "");
    float sum = 0;
    for (float x : a) sum += x;
    out[threadIdx.x] = sum + z.real() * 100 + some.value_or(1) * 1000 + cuda::std::get<0>(pair) + (cuda::std::numeric_limits<int>::max() > 0);
}

typedef cuda::barrier<cuda::thread_scope_block> Barrier;
__global__ void turns(int *x, const int *given, int rounds) {
    __shared__ Barrier barrier;
    __shared__ int line[64];
    const auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, line, given, cuda::aligned_size_t<16>(sizeof line), barrier);
    barrier.arrive_and_wait();
    for (int k = 0; k < rounds; ++k) {
        const int next = line[(threadIdx.x + 1) % 64];
        Barrier::arrival_token token = barrier.arrive();
        const int more = next + 1;                      // between: others still read
        barrier.wait(cuda::std::move(token));
        line[threadIdx.x] = more;
        barrier.arrive_and_wait();
    }
    x[threadIdx.x] = line[threadIdx.x];
}
__global__ void too_few() {
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, 32);
    __syncthreads();
    if (threadIdx.x < 32) barrier.arrive_and_wait();
}

static void barriers() {
    int *x, *given;
    CHECK(cudaMallocManaged(&x, 256) == cudaSuccess && cudaMallocManaged(&given, 256) == cudaSuccess);
    for (int i = 0; i < 64; ++i) given[i] = 10 * i;
    turns<<<1, 64>>>(x, given, 5);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < 64; ++i) SAME(x[i], 10 * ((i + 5) % 64) + 5);
}
static void few() {
    too_few<<<1, 64>>>();
    CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
}

static void atomics() {
    Counters *c;
    CHECK(cudaMallocManaged(&c, sizeof *c) == cudaSuccess);
    start<<<1, 1>>>(c);
    count<<<10, 100>>>(c);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    SAME(c->sum.load(), 499500);
    SAME(c->most.load(), 999);
    SAME(c->bits.load(), 0x7fffffff);
    SAME(c->changes.load(), 2000);
    CHECK(c->wide.load() == 1000ull << 33);
    SAME(c->whole.load(), 1000u);
    SAME(c->real, 500.0f);
    SAME(c->least, 3);
}
static void standard() {
    float *out;
    CHECK(cudaMallocManaged(&out, 8 * sizeof(float)) == cudaSuccess);
    types<<<1, 8>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    SAME(out[0], 7513.5f);
    SAME(out[7], 1513.5f);
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"atomics", atomics}, {"standard", standard}, {"barriers", barriers}, {"few", few}};
    return run_subjects(subjects, 4, argc, argv);
}
