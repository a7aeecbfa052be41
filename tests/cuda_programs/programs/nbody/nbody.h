// Bodies that attract one another (all pairs, softened), in steps of leapfrog.
#pragma once
#include "../common.h"

constexpr float SOFTENING = 1e-3f, STEP = 1e-3f;

struct Body { float x, y, z, mass; };

inline void make_inputs(int n, long seed, std::vector<Body> &body, std::vector<Body> &velocity) {
    for (int i = 0; i < n; ++i) {
        const float angle = 6.2831853f * random_float(seed, i), radius = 0.1f + random_float(seed + 1, i);
        const float z = 0.2f * random_float(seed + 2, i) - 0.1f;
        body[i] = {radius * std::cos(angle), radius * std::sin(angle), z, 1.0f / n};
        velocity[i] = {-0.5f * std::sin(angle), 0.5f * std::cos(angle), 0, 0};
    }
}

inline void check(std::vector<Body> body, std::vector<Body> velocity, const std::vector<Body> &got, int steps) {
    const int n = int(body.size());
    std::vector<Body> next(n);
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < n; ++i) {
            double ax = 0, ay = 0, az = 0;
            for (int j = 0; j < n; ++j) {
                const float dx = body[j].x - body[i].x, dy = body[j].y - body[i].y, dz = body[j].z - body[i].z;
                const float r2 = dx * dx + dy * dy + dz * dz + SOFTENING;
                const float s = body[j].mass / (r2 * std::sqrt(r2));
                ax += dx * s;
                ay += dy * s;
                az += dz * s;
            }
            velocity[i].x += STEP * float(ax);
            velocity[i].y += STEP * float(ay);
            velocity[i].z += STEP * float(az);
            next[i] = {body[i].x + STEP * velocity[i].x, body[i].y + STEP * velocity[i].y,
                       body[i].z + STEP * velocity[i].z, body[i].mass};
        }
        body.swap(next);
    }
    expect_close("positions", &got[0].x, &body[0].x, 4 * size_t(n), 1e-4);
}
