// What one thread draws of a generator, all distributions in turn: as doubles, which hold every number exactly.
#pragma once

constexpr int SAMPLES = 96, CASES = 12;

struct Draws {
    double *to;
    __device__ void keep(double x) { *to++ = x; }
};

template <class State> __device__ void draw(State *s, Draws &d) {
    for (int i = 0; i < 6; ++i) d.keep(curand(s));
    for (int i = 0; i < 5; ++i) d.keep(curand_uniform(s));
    for (int i = 0; i < 5; ++i) d.keep(curand_normal(s));
    for (int i = 0; i < 3; ++i) d.keep(curand_uniform_double(s));
    for (int i = 0; i < 3; ++i) d.keep(curand_normal_double(s));
    for (int i = 0; i < 3; ++i) d.keep(curand_log_normal(s, 0.5f, 1.25f));
    for (int i = 0; i < 3; ++i) d.keep(curand_log_normal_double(s, 0.5, 1.25));
    const float2 f = curand_normal2(s);
    d.keep(f.x), d.keep(f.y);
    const double2 g = curand_normal2_double(s);
    d.keep(g.x), d.keep(g.y);
    for (int i = 0; i < 4; ++i) d.keep(curand_poisson(s, 3.0));
    for (int i = 0; i < 2; ++i) d.keep(curand_poisson(s, 5000.0));
    skipahead(1000, s);
    d.keep(curand(s));
    skipahead_sequence(3, s);
    d.keep(curand(s)), d.keep(curand_normal(s));
}

__device__ inline void draw_four(curandStatePhilox4_32_10_t *s, Draws &d) {
    for (int k = 0; k < 2; ++k) {
        const uint4 u = curand4(s);
        d.keep(u.x), d.keep(u.y), d.keep(u.z), d.keep(u.w);
        float4 f = curand_uniform4(s);
        d.keep(f.x), d.keep(f.y), d.keep(f.z), d.keep(f.w);
        f = curand_normal4(s);
        d.keep(f.x), d.keep(f.y), d.keep(f.z), d.keep(f.w);
        f = curand_log_normal4(s, 0.5f, 1.25f);
        d.keep(f.x), d.keep(f.y), d.keep(f.z), d.keep(f.w);
        const double2 g = curand_uniform2_double(s);
        d.keep(g.x), d.keep(g.y);
        const double4 e = curand_normal4_double(s);
        d.keep(e.x), d.keep(e.y), d.keep(e.z), d.keep(e.w);
        curand(s);
    }
}

__device__ inline void case_of(int k, unsigned long long *seed, unsigned long long *sequence, unsigned long long *offset) {
    *seed = k < 4 ? 0 : k < 8 ? 1234 : 0x123456789abcdefull;
    *sequence = k % 4 == 0 ? 0 : k % 4 == 1 ? 1 : k % 4 == 2 ? 77 : 0x1234567890ull;
    *offset = k % 3 == 0 ? 0 : k % 3 == 1 ? 5 : 0x300000007ull;
}

template <class State> __device__ void sample(int k, double *to) {
    unsigned long long seed, sequence, offset;
    case_of(k, &seed, &sequence, &offset);
    State state;
    curand_init(seed, sequence, offset, &state);
    Draws draws{to + k * SAMPLES};
    draw(&state, draws);
}
__device__ inline void sample_four(int k, double *to) {
    unsigned long long seed, sequence, offset;
    case_of(k, &seed, &sequence, &offset);
    curandStatePhilox4_32_10_t state;
    curand_init(seed, sequence, offset, &state);
    Draws draws{to + k * SAMPLES};
    draw_four(&state, draws);
}
