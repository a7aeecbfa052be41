// Forces between particles that are in the same or neighbouring boxes of a cube (a short-range potential exp(-a r^2)).
#pragma once
#include "../common.h"

constexpr int PER_BOX = 64;                          // particles
constexpr float ALPHA2 = 2 * 0.5f * 0.5f;

struct Vector4 { float x, y, z, v; };                // in positions, v is half the squared distance from the origin

inline void make_inputs(int boxes, long seed, std::vector<Vector4> &position, std::vector<float> &charge) {
    for (int b = 0; b < boxes * boxes * boxes; ++b)
        for (int i = 0; i < PER_BOX; ++i) {
            const size_t k = size_t(b) * PER_BOX + i;
            Vector4 &p = position[k];
            p.x = b % boxes + random_float(seed, 3 * k);
            p.y = b / boxes % boxes + random_float(seed, 3 * k + 1);
            p.z = b / (boxes * boxes) + random_float(seed, 3 * k + 2);
            p.v = 0.5f * (p.x * p.x + p.y * p.y + p.z * p.z);
            charge[k] = 0.1f + 0.9f * random_float(seed + 1, k);
        }
}

// The boxes around each one, itself first; -1 where there are fewer than 27.
inline std::vector<int> neighbour_boxes(int boxes) {
    std::vector<int> found(size_t(boxes) * boxes * boxes * 27, -1);
    for (int b = 0; b < boxes * boxes * boxes; ++b) {
        const int x = b % boxes, y = b / boxes % boxes, z = b / (boxes * boxes);
        int count = 0;
        found[size_t(b) * 27 + count++] = b;
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const int ox = x + dx, oy = y + dy, oz = z + dz;
                    if ((dx || dy || dz) && std::min({ox, oy, oz}) >= 0 && std::max({ox, oy, oz}) < boxes)
                        found[size_t(b) * 27 + count++] = (oz * boxes + oy) * boxes + ox;
                }
    }
    return found;
}

HOST_DEVICE inline void interact(Vector4 &sum, float ax, float ay, float az, float av, float bx, float by, float bz,
                                 float bv, float q) {
    const float r2 = 2 * (av + bv - (ax * bx + ay * by + az * bz));
    const float v = expf(-ALPHA2 * r2), f = 2 * v * q;
    sum.v += q * v;
    sum.x += f * (ax - bx);
    sum.y += f * (ay - by);
    sum.z += f * (az - bz);
}

// The forces on particles of some boxes, straight from positions.
inline void check(const std::vector<Vector4> &position, const std::vector<float> &charge,
                  const std::vector<Vector4> &force, int boxes) {
    const std::vector<int> near = neighbour_boxes(boxes);
    std::vector<float> got, wanted;
    const int all = boxes * boxes * boxes;
    for (int b = 0; b < all; b += std::max(1, all / 29)) {
        const size_t i = size_t(b) * PER_BOX + b % PER_BOX;
        double sum[4] = {};
        for (int k = 0; k < 27 && near[size_t(b) * 27 + k] >= 0; ++k)
            for (int j = 0; j < PER_BOX; ++j) {
                const size_t o = size_t(near[size_t(b) * 27 + k]) * PER_BOX + j;
                const double dx = double(position[i].x) - position[o].x, dy = double(position[i].y) - position[o].y;
                const double dz = double(position[i].z) - position[o].z;
                const double v = charge[o] * std::exp(-ALPHA2 * (dx * dx + dy * dy + dz * dz));
                sum[0] += v;
                sum[1] += 2 * v * dx;
                sum[2] += 2 * v * dy;
                sum[3] += 2 * v * dz;
            }
        for (double s : sum) wanted.push_back(float(s));
        for (float s : {force[i].v, force[i].x, force[i].y, force[i].z}) got.push_back(s);
    }
    expect_close("force", got, wanted, 1e-3);
}
