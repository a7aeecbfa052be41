// Points on a moving wall are followed from picture to picture: where does each point's patch correlate best?
#pragma once
#include "../common.h"

constexpr int PATCH = 17, REACH = 8, SHIFTS = 2 * REACH + 1, WINDOW = PATCH + 2 * REACH;
constexpr float RENEWAL = 0.1f;                      // of a patch by what was found

// A pattern of waves that moves and widens.
inline float brightness(float x, float y, int frame, long seed, size_t k) {
    const float px = x - 1.3f * frame, py = y - 2.1f * frame;
    const float waves = 40 * std::sin(0.31f * px) * std::cos(0.27f * py);
    return 100 + waves + 30 * std::sin(0.053f * px * 0.11f * py + 0.2f * px) + 10 * random_float(seed, k);
}

inline std::vector<float> make_video(int size, int frames, long seed) {
    std::vector<float> video(size_t(size) * size * frames);
    for (int f = 0; f < frames; ++f)
        for (int y = 0; y < size; ++y)
            for (int x = 0; x < size; ++x) {
                const size_t k = (size_t(f) * size + y) * size + x;
                video[k] = brightness(x, y, f, seed, k);
            }
    return video;
}

struct Point { int x, y; };

inline std::vector<Point> make_points(int points, int size, int frames) {
    std::vector<Point> p(points);
    const int room = std::max(1, size - 2 * WINDOW - 3 * frames);
    for (int i = 0; i < points; ++i)
        p[i] = {WINDOW + int(random_bits(3, i) % room), WINDOW + int(random_bits(4, i) % room)};
    return p;
}

HOST_DEVICE inline int inside(int k, int size) { return k < 0 ? 0 : k >= size ? size - 1 : k; }

// The patch around a point, less its mean.
inline void patch_of(const float *picture, int size, Point p, float *patch) {
    double sum = 0;
    for (int y = 0; y < PATCH; ++y)
        for (int x = 0; x < PATCH; ++x) {
            const float v = picture[inside(p.y + y - PATCH / 2, size) * size + inside(p.x + x - PATCH / 2, size)];
            patch[y * PATCH + x] = v;
            sum += v;
        }
    for (int k = 0; k < PATCH * PATCH; ++k) patch[k] -= float(sum / (PATCH * PATCH));
}

// The correlation of a patch (its mean is 0) with a place of the window, normalised by that place's variance.
HOST_DEVICE inline float correlation(const float *patch, const float *window, int shift_x, int shift_y) {
    float product = 0, sum = 0, squares = 0;
    for (int y = 0; y < PATCH; ++y)
        for (int x = 0; x < PATCH; ++x) {
            const float v = window[(shift_y + y) * WINDOW + shift_x + x] - 100;
            product += patch[y * PATCH + x] * v;
            sum += v;
            squares += v * v;
        }
    const float variance = squares - sum * sum / (PATCH * PATCH);
    return product / sqrtf(variance > 1 ? variance : 1.0f);
}

inline std::vector<Point> reference(const std::vector<float> &video, std::vector<Point> points, int size, int frames) {
    std::vector<float> patches(points.size() * PATCH * PATCH), window(WINDOW * WINDOW);
    for (size_t i = 0; i < points.size(); ++i) patch_of(video.data(), size, points[i], &patches[i * PATCH * PATCH]);
    for (int f = 1; f < frames; ++f) {
        const float *picture = &video[size_t(f) * size * size];
        for (size_t i = 0; i < points.size(); ++i) {
            float *patch = &patches[i * PATCH * PATCH];
            const int left = points[i].x - WINDOW / 2, top = points[i].y - WINDOW / 2;
            for (int y = 0; y < WINDOW; ++y)
                for (int x = 0; x < WINDOW; ++x)
                    window[y * WINDOW + x] = picture[inside(top + y, size) * size + inside(left + x, size)];
            float best = -1e30f;
            int where = 0;
            for (int s = 0; s < SHIFTS * SHIFTS; ++s) {
                const float c = correlation(patch, window.data(), s % SHIFTS, s / SHIFTS);
                if (c > best) { best = c; where = s; }
            }
            const int sx = where % SHIFTS, sy = where / SHIFTS;
            points[i].x += sx - REACH;
            points[i].y += sy - REACH;
            float sum = 0;
            for (int y = 0; y < PATCH; ++y)
                for (int x = 0; x < PATCH; ++x) sum += window[(sy + y) * WINDOW + sx + x];
            for (int y = 0; y < PATCH; ++y)
                for (int x = 0; x < PATCH; ++x) {
                    const float v = window[(sy + y) * WINDOW + sx + x] - sum / (PATCH * PATCH);
                    patch[y * PATCH + x] += RENEWAL * (v - patch[y * PATCH + x]);
                }
        }
    }
    return points;
}
