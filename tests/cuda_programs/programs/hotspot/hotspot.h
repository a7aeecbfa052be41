// Heat in a chip: an explicit step of the heat equation on a grid with power sources and leakage to the ambient.
#pragma once
#include "../common.h"

struct Coefficients { float x, y, z, source, ambient; };

// Thermal resistances and capacity of a piece of silicon 16 mm wide and 0.5 mm thick, in the largest stable step.
inline Coefficients coefficients(int rows, int columns) {
    const float chip = 0.016f, thickness = 0.0005f, conductivity = 100, heat = 1.75e6f, factor = 0.5f;
    const float dy = chip / rows, dx = chip / columns;
    const float capacity = factor * heat * thickness * dx * dy;
    const float rx = dx / (2 * conductivity * thickness * dy), ry = dy / (2 * conductivity * thickness * dx);
    const float rz = thickness / (conductivity * dx * dy);
    const float step = 0.001f / (3e6f / (factor * thickness * heat));
    return {step / (capacity * rx), step / (capacity * ry), step / (capacity * rz), step / capacity, 80.0f};
}

inline void make_inputs(int rows, int columns, long seed, std::vector<float> &temperature, std::vector<float> &power) {
    for (int i = 0; i < rows * columns; ++i) {
        temperature[i] = 320 + 20 * random_float(seed, i);
        power[i] = 1e-6f * random_float(seed + 1, i);
    }
}

// Plain and serial.
inline std::vector<float> reference(std::vector<float> t, const std::vector<float> &power, int rows, int columns,
                                    int steps) {
    const Coefficients c = coefficients(rows, columns);
    std::vector<float> next(t.size());
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
                const int k = i * columns + j;
                const float n = t[i > 0 ? k - columns : k], s = t[i < rows - 1 ? k + columns : k];
                const float w = t[j > 0 ? k - 1 : k], e = t[j < columns - 1 ? k + 1 : k];
                next[k] = t[k] + c.y * (n + s - 2 * t[k]) + c.x * (w + e - 2 * t[k]) + c.z * (c.ambient - t[k]) +
                          c.source * power[k];
            }
        t.swap(next);
    }
    return t;
}
