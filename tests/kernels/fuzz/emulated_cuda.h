// CUDA C++ on the host, thread by thread: what the tests believe in. Threads of a block are coroutines (ucontext) that
// take turns at barriers and warp operations; blocks run one after the other.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __host__
#define __device__ inline
#define __shared__ static
#define __constant__ static
#define __forceinline__
#define __restrict__
#define __launch_bounds__(...)

struct uint3 { unsigned x, y, z; };
struct uint2 { unsigned x, y; };
static uint3 blockIdx, blockDim, gridDim;

enum { MOST = 1024, STACK = 65536 };
static ucontext_t scheduler, contexts[MOST];
static char *stacks[MOST];
static uint3 places[MOST];
static bool finished[MOST];
static volatile int current;         // changes whenever another coroutine runs
static int count, waiting, generation;
#define threadIdx places[current]
static int warp_waiting[MOST / 32], warp_generation[MOST / 32];
static uint64_t slots[MOST];
static void (*body)(void **);
static void **parameters;
static uint64_t dynamic_memory[8192];

static void give_way() { int me = current; swapcontext(&contexts[me], &scheduler); }

static int living(int first, int last) {
    int n = 0;
    for (int i = first; i < last; ++i) n += !finished[i];
    return n;
}

static void meet(int *here, int *turn, int first, int last) {
    int mine = *turn;
    ++*here;
    while (*turn == mine) {
        if (*here >= living(first, last)) { *here = 0; ++*turn; break; }
        give_way();
    }
}

static void __syncthreads() { meet(&waiting, &generation, 0, count); }

static void warp_meets() {
    int w = current / 32, last = (w + 1) * 32 < count ? (w + 1) * 32 : count;
    meet(&warp_waiting[w], &warp_generation[w], w * 32, last);
}

template <class T> static T from_lane(T value, int source) {      // source: a lane of this warp; 0 where it is missing
    memcpy(&slots[current], &value, sizeof(T));
    warp_meets();
    int lane = current / 32 * 32 + source;
    T found = T();
    if (lane < count && !finished[lane]) memcpy(&found, &slots[lane], sizeof(T));
    warp_meets();
    return found;
}
template <class T> static T __shfl_sync(unsigned, T v, int source, int width = 32) {
    int lane = current % 32;
    return from_lane(v, lane / width * width + source % width);
}
template <class T> static T __shfl_up_sync(unsigned, T v, unsigned d, int width = 32) {
    int lane = current % 32;
    return from_lane(v, (int)(lane % width) - (int)d < 0 ? lane : lane - (int)d);
}
template <class T> static T __shfl_down_sync(unsigned, T v, unsigned d, int width = 32) {
    int lane = current % 32;
    return from_lane(v, lane % width + (int)d >= width ? lane : lane + (int)d);
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int m, int width = 32) {
    int lane = current % 32, other = lane ^ m;
    return from_lane(v, other / width > lane / width ? lane : other);
}
static unsigned __ballot_sync(unsigned, bool p) {
    slots[current] = p;
    warp_meets();
    unsigned votes = 0;
    for (int lane = 0; lane < 32; ++lane) {
        int other = current / 32 * 32 + lane;
        if (other < count && !finished[other] && slots[other]) votes |= 1u << lane;
    }
    warp_meets();
    return votes;
}
static bool __any_sync(unsigned m, bool p) { return __ballot_sync(m, p) != 0; }
static bool __all_sync(unsigned m, bool p) { return __ballot_sync(m, !p) == 0; }

template <class T> static unsigned __match_any_sync(unsigned, T v) {
    slots[current] = 0;
    memcpy(&slots[current], &v, sizeof(T));
    warp_meets();
    unsigned same = 0;
    for (int lane = 0; lane < 32; ++lane) {
        int other = current / 32 * 32 + lane;
        if (other < count && !finished[other] && slots[other] == slots[current]) same |= 1u << lane;
    }
    warp_meets();
    return same;
}
static unsigned __activemask() { return __ballot_sync(0xffffffffu, true); }
static void __syncwarp(unsigned = 0xffffffffu) { warp_meets(); }
static int __syncthreads_count(int p) {
    slots[current] = p != 0;
    __syncthreads();
    int n = 0;
    for (int t = 0; t < count; ++t) n += !finished[t] && slots[t];
    __syncthreads();
    return n;
}
static int __syncthreads_or(int p) { return __syncthreads_count(p) != 0; }
static int __syncthreads_and(int p) { return __syncthreads_count(!p) == 0; }

template <class T> struct same_as { typedef T type; };
#define ATOMIC(name, update) \
    template <class T> static T atomic##name(T *p, typename same_as<T>::type v) { T old = *p; *p = update; return old; }
ATOMIC(Add, old + v)
ATOMIC(Sub, old - v)
ATOMIC(Max, v > old ? v : old)
ATOMIC(Min, v < old ? v : old)
ATOMIC(Exch, v)
ATOMIC(And, old & v)
ATOMIC(Or, old | v)
ATOMIC(Xor, old ^ v)
ATOMIC(Inc, old >= v ? 0 : old + 1)
ATOMIC(Dec, old == 0 || old > v ? v : old - 1)
template <class T> static T atomicCAS(T *p, typename same_as<T>::type is, typename same_as<T>::type v) {
    T old = *p;
    if (old == is) *p = v;
    return old;
}

enum { warpSize = 32 };
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(uint64_t x) { return __builtin_popcountll(x); }
static int __ffs(int x) { return __builtin_ffs(x); }
static int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
static int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
template <class To, class From> static To same_bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
static int __float_as_int(float x) { return same_bits<int>(x); }
static unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static float __int_as_float(int x) { return same_bits<float>(x); }
static float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static double __longlong_as_double(long long x) { return same_bits<double>(x); }
template <class T> static T __ldg(const T *p) { return *p; }
template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }
static float min(float a, float b) { return fminf(a, b); }
static float max(float a, float b) { return fmaxf(a, b); }
static double min(double a, double b) { return fmin(a, b); }
static double max(double a, double b) { return fmax(a, b); }
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
#define __expf expf
#define __logf logf
#define __sinf sinf
#define __cosf cosf
static float __fdividef(float x, float y) { return x / y; }
static float __saturatef(float x) { return fminf(fmaxf(x, 0), 1); }
#define VECTORS(T, name) \
    struct name##2 { T x, y; }; struct name##3 { T x, y, z; }; struct alignas(sizeof(T) > 4 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; }; \
    static name##2 make_##name##2(T x, T y) { return {x, y}; } \
    static name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    static name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(int, int)
VECTORS(float, float)
VECTORS(double, double)
VECTORS(unsigned char, uchar)

static void one_thread() {
    body(parameters);
    finished[current] = true;
    for (;;) give_way();
}

static void run_kernel(void (*kernel)(void **), void **arguments, unsigned grid[3], unsigned block[3]) {
    body = kernel;
    parameters = arguments;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    count = (int)(block[0] * block[1] * block[2]);
    for (unsigned b = 0; b < grid[0] * grid[1] * grid[2]; ++b) {
        blockIdx = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
        waiting = generation = 0;
        memset(warp_waiting, 0, sizeof warp_waiting);
        for (int t = 0; t < count; ++t) {
            if (!stacks[t]) stacks[t] = (char *)malloc(STACK);
            places[t] = {t % block[0], t / block[0] % block[1], t / block[0] / block[1]};
            finished[t] = false;
            getcontext(&contexts[t]);
            contexts[t].uc_stack.ss_sp = stacks[t];
            contexts[t].uc_stack.ss_size = STACK;
            makecontext(&contexts[t], one_thread, 0);
        }
        while (living(0, count))
            for (current = 0; current < count; ++current)
                if (!finished[current]) swapcontext(&scheduler, &contexts[current]);
    }
}
