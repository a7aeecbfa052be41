// Lloyd's algorithm: points in clusters around k centres. Features are stored feature by feature.
#pragma once
#include "../common.h"

constexpr int FEATURES = 16, MAX_CLUSTERS = 32;

inline void make_inputs(int points, int clusters, long seed, std::vector<float> &features,
                        std::vector<float> &centres) {
    for (int f = 0; f < FEATURES; ++f)
        for (int i = 0; i < points; ++i) {
            const int blob = random_bits(seed, i) % clusters;
            features[size_t(f) * points + i] = 10 * random_float(seed + 1, blob * FEATURES + f) +
                                               2 * random_float(seed + 2, size_t(f) * points + i);
        }
    for (int c = 0; c < clusters; ++c)
        for (int f = 0; f < FEATURES; ++f)
            centres[c * FEATURES + f] = features[size_t(f) * points + size_t(c) * points / clusters];
}

inline void new_centres(std::vector<float> &centres, const double *sums, const int *counts, int clusters) {
    for (int c = 0; c < clusters; ++c)
        for (int f = 0; f < FEATURES; ++f)
            if (counts[c]) centres[c * FEATURES + f] = float(sums[c * FEATURES + f] / counts[c]);
}

inline void reference(const std::vector<float> &features, std::vector<float> &centres, std::vector<int> &member,
                      int points, int clusters, int steps) {
    for (int step = 0; step < steps; ++step) {
        std::vector<double> sums(clusters * FEATURES);
        std::vector<int> counts(clusters);
        for (int i = 0; i < points; ++i) {
            float nearest = 3e38f;
            for (int c = 0; c < clusters; ++c) {
                float d = 0;
                for (int f = 0; f < FEATURES; ++f) {
                    const float x = features[size_t(f) * points + i] - centres[c * FEATURES + f];
                    d += x * x;
                }
                if (d < nearest) { nearest = d; member[i] = c; }
            }
            ++counts[member[i]];
            for (int f = 0; f < FEATURES; ++f) sums[member[i] * FEATURES + f] += features[size_t(f) * points + i];
        }
        new_centres(centres, sums.data(), counts.data(), clusters);
    }
}
