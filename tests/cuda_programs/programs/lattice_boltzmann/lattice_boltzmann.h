// A fluid in a square whose lid moves: lattice Boltzmann (nine velocities, one relaxation time), walls bounce back.
#pragma once
#include "../common.h"

constexpr int Q = 9;
constexpr float LID = 0.1f;

inline float equilibrium(int q, float density, float ux, float uy) {
    const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float w[Q] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    const float cu = 3 * (cx[q] * ux + cy[q] * uy);
    return w[q] * density * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
}

inline std::vector<float> make_fluid(int n) {
    std::vector<float> f(size_t(Q) * n * n);
    for (int q = 0; q < Q; ++q) std::fill_n(&f[size_t(q) * n * n], size_t(n) * n, equilibrium(q, 1, 0, 0));
    return f;
}

// What has come in, relaxed towards equilibrium: written out for the nine directions.
HOST_DEVICE inline void collide(float *f, float omega) {
    const float density = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8], one = 1 / density;
    const float ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) * one;
    const float uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) * one;
    const float base = 1 - 1.5f * (ux * ux + uy * uy);
    const float a = omega * density * (4 / 9.f), b = omega * density * (1 / 9.f), c = omega * density * (1 / 36.f);
    const float keep = 1 - omega, x = 3 * ux, y = 3 * uy, s = x + y, d = x - y;
    f[0] = keep * f[0] + a * base;
    f[1] = keep * f[1] + b * (base + x + 0.5f * x * x);
    f[2] = keep * f[2] + b * (base + y + 0.5f * y * y);
    f[3] = keep * f[3] + b * (base - x + 0.5f * x * x);
    f[4] = keep * f[4] + b * (base - y + 0.5f * y * y);
    f[5] = keep * f[5] + c * (base + s + 0.5f * s * s);
    f[6] = keep * f[6] + c * (base - d + 0.5f * d * d);
    f[7] = keep * f[7] + c * (base - s + 0.5f * s * s);
    f[8] = keep * f[8] + c * (base + d + 0.5f * d * d);
}

// One cell near or far from walls: pulls from its neighbours, or what bounced back from a wall, then collides.
HOST_DEVICE inline void cell(const float *from, float *to, int n, int x, int y, float omega) {
    const size_t plane = size_t(n) * n;
    const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const int opposite[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    const float push[Q] = {0, 0, 0, 0, 0, 6 / 36.f, -6 / 36.f, -6 / 36.f, 6 / 36.f};     // of the lid
    float f[Q];
#pragma unroll
    for (int q = 0; q < Q; ++q) {
        const int sx = x - cx[q], sy = y - cy[q];
        if (sx < 0 || sx >= n || sy < 0 || sy >= n)
            f[q] = from[opposite[q] * plane + size_t(y) * n + x] + (sy >= n ? push[q] * LID : 0);
        else
            f[q] = from[q * plane + size_t(sy) * n + sx];
    }
    collide(f, omega);
#pragma unroll
    for (int q = 0; q < Q; ++q) to[q * plane + size_t(y) * n + x] = f[q];
}

inline std::vector<float> reference(int n, int steps, float omega) {
    std::vector<float> f = make_fluid(n), next(f.size());
    for (int step = 0; step < steps; ++step) {
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) cell(f.data(), next.data(), n, x, y, omega);
        f.swap(next);
    }
    return f;
}

inline void finish(const std::vector<float> &f, int n, int steps, float omega, bool check) {
    std::vector<float> ux(size_t(n) * n);
    double mass = 0;
    const size_t plane = size_t(n) * n;
    for (size_t k = 0; k < plane; ++k) {
        float density = 0;
        for (int q = 0; q < Q; ++q) density += f[q * plane + k];
        const float *g = &f[k];
        ux[k] = (g[plane] - g[3 * plane] + g[5 * plane] - g[6 * plane] - g[7 * plane] + g[8 * plane]) / density;
        mass += density;
    }
    result("mass", mass);
    results("ux", ux);
    if (!check) return;
    expect("mass", std::fabs(mass / plane - 1) < 1e-3);
    expect_close("f", f, reference(n, steps, omega), 1e-4);
}
