// A particle filter follows a bright disc that moves through noisy pictures: predict, weigh, normalise, resample.
#pragma once
#include "../common.h"

constexpr int RADIUS = 5;

struct Disc { std::vector<int> dx, dy; };                        // its pixels

inline Disc make_disc() {
    Disc d;
    for (int y = -RADIUS; y <= RADIUS; ++y)
        for (int x = -RADIUS; x <= RADIUS; ++x)
            if (x * x + y * y <= RADIUS * RADIUS) { d.dx.push_back(x); d.dy.push_back(y); }
    return d;
}

// All pictures: a disc of value 228 on 100, with noise; it begins in the middle and goes right and down.
inline std::vector<unsigned char> make_video(int size, int frames, long seed) {
    std::vector<unsigned char> video(size_t(size) * size * frames);
    for (int f = 0; f < frames; ++f)
        for (int y = 0; y < size; ++y)
            for (int x = 0; x < size; ++x) {
                const size_t k = (size_t(f) * size + y) * size + x;
                const int cx = size / 2 + f, cy = size / 2 + 2 * f;
                const bool inside = (x - cx) * (x - cx) + (y - cy) * (y - cy) <= RADIUS * RADIUS;
                video[k] = (unsigned char)((inside ? 228 : 100) + 25 * (random_float(seed, k) - 0.5f));
            }
    return video;
}

// A normal number for each particle, frame and coordinate (Box and Muller).
HOST_DEVICE inline float normal(uint64_t seed, uint64_t index) {
    const float u = 1 - random_float(seed, 2 * index), v = random_float(seed, 2 * index + 1);
    return sqrtf(-2 * logf(u)) * cosf(6.2831853f * v);
}

HOST_DEVICE inline void predict(float &x, float &y, uint64_t seed, int frame, int particle, int particles) {
    const uint64_t index = uint64_t(frame) * particles + particle;
    x += 1 + 1.5f * normal(seed + 11, index);
    y += 2 + 1.0f * normal(seed + 12, index);
}

// The logarithm of the likelihood: pixels of the disc are more like 228 than like 100.
HOST_DEVICE inline float likelihood(const unsigned char *picture, int size, const int *dx, const int *dy, int pixels,
                                    float x, float y) {
    const int ix = int(rintf(x)), iy = int(rintf(y));
    int sum = 0;
    for (int k = 0; k < pixels; ++k) {
        int px = ix + dx[k], py = iy + dy[k];
        px = px < 0 ? 0 : px >= size ? size - 1 : px;
        py = py < 0 ? 0 : py >= size ? size - 1 : py;
        const int value = picture[py * size + px];
        sum += (value - 100) * (value - 100) - (value - 228) * (value - 228);
    }
    return sum / (50.0f * 50.0f * pixels);
}
