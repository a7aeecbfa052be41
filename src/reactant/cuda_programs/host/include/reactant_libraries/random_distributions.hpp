// The distributions of cuRAND on the bits of its generators: uniform in (0, 1], normal by Box and Muller, Poisson.
#pragma once
#include "random_generators.hpp"

REACTANT_RANDOM_OUTSIDE unsigned int reactant_poisson_at(double uniform, double lambda);

#define REACTANT_2_32 2.3283064e-10f
#define REACTANT_2_53 1.1102230246251565e-16

// ---- uniform ----

REACTANT_RANDOM float reactant_uniform(unsigned int x) { return x * REACTANT_2_32 + REACTANT_2_32 / 2; }
REACTANT_RANDOM double reactant_uniform_double(unsigned int x) { return x * 0x1p-32 + 0x1p-32; }
// 53 bits of two words.
REACTANT_RANDOM double reactant_uniform_double(unsigned int x, unsigned int y) {
    const unsigned long long z = (unsigned long long)x ^ ((unsigned long long)y << 21);
    return z * REACTANT_2_53 + REACTANT_2_53 / 2;
}

template <class State> REACTANT_RANDOM float curand_uniform(State *state) { return reactant_uniform(curand(state)); }
REACTANT_RANDOM float curand_uniform(curandStateMRG32k3a_t *state) {
    return (float)(reactant_mrg32k3a(state) * 2.3283065498378288e-10);
}
REACTANT_RANDOM double curand_uniform_double(curandStateXORWOW_t *state) {
    const unsigned int x = curand(state), y = curand(state);
    return reactant_uniform_double(x, y);
}
REACTANT_RANDOM double curand_uniform_double(curandStatePhilox4_32_10_t *state) {
    return reactant_uniform_double(curand(state));
}
REACTANT_RANDOM double curand_uniform_double(curandStateMRG32k3a_t *state) {
    return reactant_mrg32k3a(state) * 2.3283065498378288e-10;
}
REACTANT_RANDOM double curand_uniform_double(curandStateSobol32_t *state) { return reactant_uniform_double(curand(state)); }
REACTANT_RANDOM float4 curand_uniform4(curandStatePhilox4_32_10_t *state) {
    const uint4 x = curand4(state);
    return make_float4(reactant_uniform(x.x), reactant_uniform(x.y), reactant_uniform(x.z), reactant_uniform(x.w));
}
REACTANT_RANDOM double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state) {
    const uint4 x = curand4(state);
    return make_double2(reactant_uniform_double(x.x, x.y), reactant_uniform_double(x.z, x.w));
}
REACTANT_RANDOM double4 curand_uniform4_double(curandStatePhilox4_32_10_t *state) {
    const uint4 x = curand4(state), y = curand4(state);
    return make_double4(reactant_uniform_double(x.x, x.y), reactant_uniform_double(x.z, x.w),
                        reactant_uniform_double(y.x, y.y), reactant_uniform_double(y.z, y.w));
}

// ---- normal: pairs of a radius and an angle ----

REACTANT_RANDOM float2 reactant_normals(unsigned int x, unsigned int y) {
    const float turn = REACTANT_2_32 * 6.2831855f, u = x * REACTANT_2_32 + REACTANT_2_32 / 2, v = y * turn + turn / 2;
    const float radius = sqrtf(-2.0f * logf(u));
    return make_float2(radius * sinf(v), radius * cosf(v));
}
REACTANT_RANDOM double2 reactant_normals_double(double radius_of, double half_turns) {
    double sine, cosine;
    sincospi(half_turns, &sine, &cosine);
    const double radius = sqrt(-2.0 * log(radius_of));
    return make_double2(radius * sine, radius * cosine);
}
REACTANT_RANDOM double2 reactant_normals_double(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1) {
    const unsigned long long y = (unsigned long long)y0 ^ ((unsigned long long)y1 << 21);
    return reactant_normals_double(reactant_uniform_double(x0, x1), y * (2 * REACTANT_2_53) + REACTANT_2_53);
}

template <class State> REACTANT_RANDOM float2 curand_normal2(State *state) {
    const unsigned int x = curand(state), y = curand(state);
    return reactant_normals(x, y);
}
REACTANT_RANDOM float2 curand_normal2(curandStateMRG32k3a_t *state) {
    const float u = curand_uniform(state), v = curand_uniform(state) * 6.2831855f, radius = sqrtf(-2.0f * logf(u));
    return make_float2(radius * sinf(v), radius * cosf(v));
}
template <class State> REACTANT_RANDOM double2 curand_normal2_double(State *state) {
    const unsigned int x0 = curand(state), x1 = curand(state), y0 = curand(state), y1 = curand(state);
    return reactant_normals_double(x0, x1, y0, y1);
}
REACTANT_RANDOM double2 curand_normal2_double(curandStateMRG32k3a_t *state) {
    const double u = curand_uniform_double(state), v = curand_uniform_double(state);
    return reactant_normals_double(u, 2 * v);
}
REACTANT_RANDOM float4 curand_normal4(curandStatePhilox4_32_10_t *state) {
    const uint4 x = curand4(state);
    const float2 a = reactant_normals(x.x, x.y), b = reactant_normals(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
REACTANT_RANDOM double4 curand_normal4_double(curandStatePhilox4_32_10_t *state) {
    const uint4 x = curand4(state), y = curand4(state);
    const double2 a = reactant_normals_double(x.x, x.y, x.z, x.w), b = reactant_normals_double(y.x, y.y, y.z, y.w);
    return make_double4(a.x, a.y, b.x, b.y);
}
// One of a pair; the other is kept for the next call, of the same distribution alone: `kind` says which.
enum { REACTANT_NORMAL_LEFT = 1, REACTANT_LOG_NORMAL_LEFT = 2 };
template <class State, class Pair> REACTANT_RANDOM float reactant_one_of(State *state, int kind, Pair pair) {
    if (state->boxmuller_flag == kind) {
        state->boxmuller_flag = 0;
        return state->boxmuller_extra;
    }
    const float2 both = pair();
    state->boxmuller_flag = kind;
    state->boxmuller_extra = both.y;
    return both.x;
}
template <class State, class Pair> REACTANT_RANDOM double reactant_one_of_double(State *state, int kind, Pair pair) {
    if (state->boxmuller_flag_double == kind) {
        state->boxmuller_flag_double = 0;
        return state->boxmuller_extra_double;
    }
    const double2 both = pair();
    state->boxmuller_flag_double = kind;
    state->boxmuller_extra_double = both.y;
    return both.x;
}
template <class State> REACTANT_RANDOM float curand_normal(State *state) {
    return reactant_one_of(state, REACTANT_NORMAL_LEFT, [=] { return curand_normal2(state); });
}
template <class State> REACTANT_RANDOM double curand_normal_double(State *state) {
    return reactant_one_of_double(state, REACTANT_NORMAL_LEFT, [=] { return curand_normal2_double(state); });
}
// Quasirandom numbers are turned into normal ones each by itself.
REACTANT_RANDOM float curand_normal(curandStateSobol32_t *state) {
    return (float)(-1.4142135623730951 * erfcinv(2.0 * reactant_uniform(curand(state))));
}
REACTANT_RANDOM double curand_normal_double(curandStateSobol32_t *state) {
    return -1.4142135623730951 * erfcinv(curand(state) * 0x1p-31 + 0x1p-32);
}

// ---- lognormal ----

template <class State> REACTANT_RANDOM float2 curand_log_normal2(State *state, float mean, float deviation) {
    const float2 z = curand_normal2(state);
    return make_float2(expf(mean + deviation * z.x), expf(mean + deviation * z.y));
}
template <class State> REACTANT_RANDOM double2 curand_log_normal2_double(State *state, double mean, double deviation) {
    const double2 z = curand_normal2_double(state);
    return make_double2(exp(mean + deviation * z.x), exp(mean + deviation * z.y));
}
template <class State> REACTANT_RANDOM float curand_log_normal(State *state, float mean, float deviation) {
    return reactant_one_of(state, REACTANT_LOG_NORMAL_LEFT, [=] { return curand_log_normal2(state, mean, deviation); });
}
template <class State> REACTANT_RANDOM double curand_log_normal_double(State *state, double mean, double deviation) {
    return reactant_one_of_double(state, REACTANT_LOG_NORMAL_LEFT,
                                  [=] { return curand_log_normal2_double(state, mean, deviation); });
}
REACTANT_RANDOM float curand_log_normal(curandStateSobol32_t *state, float mean, float deviation) {
    return expf(mean + deviation * curand_normal(state));
}
REACTANT_RANDOM double curand_log_normal_double(curandStateSobol32_t *state, double mean, double deviation) {
    return exp(mean + deviation * curand_normal_double(state));
}
REACTANT_RANDOM float4 curand_log_normal4(curandStatePhilox4_32_10_t *state, float mean, float deviation) {
    const float4 z = curand_normal4(state);
    return make_float4(expf(mean + deviation * z.x), expf(mean + deviation * z.y), expf(mean + deviation * z.z),
                       expf(mean + deviation * z.w));
}
REACTANT_RANDOM double4 curand_log_normal4_double(curandStatePhilox4_32_10_t *state, double mean, double deviation) {
    const double4 z = curand_normal4_double(state);
    return make_double4(exp(mean + deviation * z.x), exp(mean + deviation * z.y), exp(mean + deviation * z.z),
                        exp(mean + deviation * z.w));
}

// ---- Poisson: products of uniform numbers (Knuth) for small means, the inverse of the distribution, normal for large ----

REACTANT_RANDOM unsigned int reactant_rounded(double x) { return x < 0 ? 0u : (unsigned int)(x + 0.5); }
template <class State> REACTANT_RANDOM unsigned int curand_poisson(State *state, double lambda) {
    if (lambda < 64) {
        unsigned int count = 0;
        float product = expf((float)lambda);
        do {
            ++count;
            product *= curand_uniform(state);
        } while (product > 1.0f);
        return count - 1;
    }
    if (lambda > 4000) return reactant_rounded(lambda + sqrt(lambda) * curand_normal_double(state));
    return reactant_poisson_at(reactant_uniform_double(curand(state)), lambda);
}
REACTANT_RANDOM unsigned int curand_poisson(curandStateSobol32_t *state, double lambda) {
    return reactant_poisson_at(reactant_uniform_double(curand(state)), lambda);
}
REACTANT_RANDOM uint4 curand_poisson4(curandStatePhilox4_32_10_t *state, double lambda) {
    uint4 found;
    if (lambda < 64) {
        unsigned int count[4];
        for (int k = 0; k < 4; ++k) count[k] = curand_poisson(state, lambda);
        found.x = count[0], found.y = count[1], found.z = count[2], found.w = count[3];
    } else if (lambda > 4000) {
        const double4 z = curand_normal4_double(state);
        const double root = sqrt(lambda);
        found.x = reactant_rounded(lambda + root * z.x), found.y = reactant_rounded(lambda + root * z.y);
        found.z = reactant_rounded(lambda + root * z.z), found.w = reactant_rounded(lambda + root * z.w);
    } else {
        const uint4 x = curand4(state);
        found.x = reactant_poisson_at(reactant_uniform_double(x.x), lambda);
        found.y = reactant_poisson_at(reactant_uniform_double(x.y), lambda);
        found.z = reactant_poisson_at(reactant_uniform_double(x.z), lambda);
        found.w = reactant_poisson_at(reactant_uniform_double(x.w), lambda);
    }
    return found;
}
