// Heart muscle cells: Noble's equations of Purkinje fibres (1962), four variables each, classical Runge-Kutta steps.
#pragma once
#include "../common.h"

struct Cell { float v, m, h, n; };                   // potential (mV), gates

// x / (1 - exp(-x)), also where x is small.
HOST_DEVICE inline float slope(float x) { return fabsf(x) < 1e-3f ? 1 + x / 2 : x / (1 - expf(-x)); }

HOST_DEVICE inline Cell rates(const Cell &c, float stimulus, float sodium) {
    const float v = c.v;
    const float am = 1.5f * slope((v + 48) / 15), bm = 0.6f * slope(-(v + 8) / 5);
    const float ah = 0.17f * expf(-(v + 90) / 20), bh = 1 / (1 + expf(-(v + 42) / 10));
    const float an = 0.001f * slope((v + 50) / 10), bn = 0.002f * expf(-(v + 90) / 80);
    const float gk = 1.2f * expf(-(v + 90) / 50) + 0.015f * expf((v + 90) / 60) + 1.2f * c.n * c.n * c.n * c.n;
    const float gna = sodium * c.m * c.m * c.m * c.h + 0.14f;
    const float current = gna * (v - 40) + gk * (v + 100) + 0.075f * (v + 60);
    return {(stimulus - current) / 12, am * (1 - c.m) - bm * c.m, ah * (1 - c.h) - bh * c.h, an * (1 - c.n) - bn * c.n};
}

HOST_DEVICE inline Cell moved(const Cell &c, const Cell &d, float step) {
    return {c.v + step * d.v, c.m + step * d.m, c.h + step * d.h, c.n + step * d.n};
}

// One step of `step` milliseconds.
HOST_DEVICE inline Cell runge_kutta(const Cell &c, float stimulus, float sodium, float step) {
    const Cell a = rates(c, stimulus, sodium), b = rates(moved(c, a, step / 2), stimulus, sodium);
    const Cell d = rates(moved(c, b, step / 2), stimulus, sodium), e = rates(moved(c, d, step), stimulus, sodium);
    const float s = step / 6;
    return {c.v + s * (a.v + 2 * b.v + 2 * d.v + e.v), c.m + s * (a.m + 2 * b.m + 2 * d.m + e.m),
            c.h + s * (a.h + 2 * b.h + 2 * d.h + e.h), c.n + s * (a.n + 2 * b.n + 2 * d.n + e.n)};
}

// The stimulus at a time step: some microamperes in the first two milliseconds.
HOST_DEVICE inline float stimulus_at(int step, float strength) { return step * 0.05f < 2 ? strength : 0; }
constexpr float STEP = 0.05f;

inline void make_inputs(int cells, long seed, std::vector<float> &state, std::vector<float> &strength,
                        std::vector<float> &sodium) {
    for (int i = 0; i < cells; ++i) {
        state[i] = -78 + random_float(seed, i);
        state[cells + i] = 0.05f;
        state[2 * cells + i] = 0.8f;
        state[3 * cells + i] = 0.01f;
        strength[i] = 40 + 40 * random_float(seed + 1, i);
        sodium[i] = 380 + 40 * random_float(seed + 2, i);
    }
}

inline void check(const std::vector<float> &first, const std::vector<float> &last, const std::vector<float> &strength,
                  const std::vector<float> &sodium, int cells, int steps) {
    std::vector<float> got, wanted;
    for (int i = 0; i < cells; i += std::max(1, cells / 50)) {
        Cell c = {first[i], first[cells + i], first[2 * cells + i], first[3 * cells + i]};
        for (int step = 0; step < steps; ++step) c = runge_kutta(c, stimulus_at(step, strength[i]), sodium[i], STEP);
        got.push_back(last[i]);
        wanted.push_back(c.v);
    }
    expect_close("potential", got, wanted, 1e-2);
}
