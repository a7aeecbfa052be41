// What single instructions of PTX do, for `ptx_emulation.py`; included after fuzz/emulated_cuda.h.
#include <fenv.h>

template <class T> static T as(uint64_t x) { T y; memcpy(&y, &x, sizeof y); return y; }
template <class T> static uint64_t bits(T x) {
    if (T(-1) < T(0) && T(0.5) == T(0)) return (uint64_t)(int64_t)x;          // signed integers fill the register
    uint64_t y = 0;
    memcpy(&y, &x, sizeof x);
    return y;
}

static double fma(float a, double b, double c) = delete;
static float fma(float a, float b, float c) { return fmaf(a, b, c); }
static float rint(float x) { return rintf(x); }
static float trunc(float x) { return truncf(x); }
static float floor(float x) { return floorf(x); }
static float ceil(float x) { return ceilf(x); }
static float exp2(float x) { return exp2f(x); }
static float log2(float x) { return log2f(x); }
static float tanh(float x) { return tanhf(x); }
static float copysign(float x, float y) { return copysignf(x, y); }
static float root(float x) { return sqrtf(x); }
static double root(double x) { return sqrt(x); }
static float absolute(float x) { return fabsf(x); }
static double absolute(double x) { return fabs(x); }
template <class T> static T absolute(T x) { return x < 0 ? -x : x; }
static float least(float a, float b) { return fminf(a, b); }
static double least(double a, double b) { return fmin(a, b); }
template <class T> static T least(T a, T b) { return b < a ? b : a; }
static float greatest(float a, float b) { return fmaxf(a, b); }
static double greatest(double a, double b) { return fmax(a, b); }
template <class T> static T greatest(T a, T b) { return a < b ? b : a; }
template <class T> static T with_nan(T x, T a, T b) { return a != a ? a : b != b ? b : x; }

static int leading(uint32_t x) { return x ? __builtin_clz(x) : 32; }
static int leading(uint64_t x) { return x ? __builtin_clzll(x) : 64; }
static uint32_t reversed(uint32_t x) { return __builtin_bitreverse32(x); }
static uint64_t reversed(uint64_t x) { return __builtin_bitreverse64(x); }

template <class T> static T extracted(T x, unsigned start, unsigned count) {
    const unsigned width = 8 * sizeof(T);
    if (count == 0) return 0;
    T shifted = start >= width ? (x < 0 ? -1 : 0) : x >> start;
    if (count >= width || (start + count >= width && T(-1) < 0)) return shifted;
    return (T)((shifted << (width - count))) >> (width - count);
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selectors) {
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t made = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned s = selectors >> 4 * i & 15, byte = both >> 8 * (s & 7) & 255;
        if (s & 8) byte = byte & 128 ? 255 : 0;
        made |= byte << 8 * i;
    }
    return made;
}

template <class T, class F> static T saturated(F x) {
    const bool sign = T(-1) < T(0);
    const int width = 8 * sizeof(T);
    const T most = sign ? (T)(((uint64_t)1 << (width - 1)) - 1) : (T)~(T)0;
    const T lowest = sign ? (T)(-most - 1) : 0;
    if (x != x) return 0;
    if ((double)x >= ldexp(1.0, sign ? width - 1 : width)) return most;
    if ((double)x <= (double)lowest) return lowest;
    return (T)x;
}

template <class F> static auto rounding(int mode, F compute) -> decltype(compute()) {
    fesetround(mode);
    auto x = compute();
    fesetround(FE_TONEAREST);
    return x;
}

static int source_lane(char mode, uint32_t b, uint32_t c, bool &in) {
    int lane = current % 32, segment = c >> 8 & 31, clamp = c & 31, by = b & 31;
    int most = (lane & segment) | (clamp & ~segment), start = lane & segment, j;
    if (mode == 'u') { j = lane - by; in = j >= most; }
    else if (mode == 'd') { j = lane + by; in = j <= most; }
    else if (mode == 'b') { j = lane ^ by; in = j <= most; }
    else { j = start | (by & ~segment & 31); in = j <= most; }
    return in ? j : lane;
}

template <class T> static uint32_t matching(uint32_t mask, T x) {
    uint32_t found = 0;
    for (int lane = 0; lane < 32; ++lane) {
        T other = from_lane(x, lane);           // all lanes meet here, whatever they find
        uint32_t here = __ballot_sync(mask, true);
        found |= (uint32_t)(other == x && (here & mask) >> lane & 1) << lane;
    }
    return found;
}
