// CUDA C++ on the host, thread by thread: what the tests believe in. Threads of a block are coroutines (ucontext) that
// take turns at barriers and warp operations; blocks run one after the other.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__ static inline
#define __shared__ static
#define __constant__ static
#define __forceinline__
#define __restrict__

struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, blockDim, gridDim;

enum { MOST = 1024, STACK = 65536 };
static ucontext_t scheduler, contexts[MOST];
static char *stacks[MOST];
static uint3 places[MOST];
static bool finished[MOST];
static int count, current, waiting, generation;
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

template <class T> static T from_lane(T value, int source) {      // source: a lane of this warp; outside, the own value
    memcpy(&slots[current], &value, sizeof(T));
    warp_meets();
    int lane = current / 32 * 32 + source;
    T found = value;
    if (source >= 0 && source < 32 && lane < count) memcpy(&found, &slots[lane], sizeof(T));
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

template <class T> static T atomicAdd(T *p, T v) { T old = *p; *p = old + v; return old; }
template <class T> static T atomicMax(T *p, T v) { T old = *p; if (v > old) *p = v; return old; }
template <class T> static T atomicMin(T *p, T v) { T old = *p; if (v < old) *p = v; return old; }
template <class T> static T atomicExch(T *p, T v) { T old = *p; *p = v; return old; }

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
                if (!finished[current]) {
                    threadIdx = places[current];
                    swapcontext(&scheduler, &contexts[current]);
                }
    }
}
