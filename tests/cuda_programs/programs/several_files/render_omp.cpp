// The same picture by OpenMP: rows are handed out as threads get free.
#include "scene.h"

static inline float distance_to_scene(const Scene &s, Vec p) {
    float nearest = p.y;
    for (int k = 0; k < s.balls; ++k) nearest = std::min(nearest, length(p - s.ball[k].centre) - s.ball[k].radius);
    return nearest;
}

static inline Vec normal_at(const Scene &s, Vec p) {
    const float e = 1e-2f;
    return unit({distance_to_scene(s, p + Vec{e, 0, 0}) - distance_to_scene(s, p - Vec{e, 0, 0}),
                 distance_to_scene(s, p + Vec{0, e, 0}) - distance_to_scene(s, p - Vec{0, e, 0}),
                 distance_to_scene(s, p + Vec{0, 0, e}) - distance_to_scene(s, p - Vec{0, 0, e})});
}

static float march(const Scene &s, Vec from, Vec direction, int &count) {
    float t = 0.02f;
    for (int k = 0; k < MOST_MARCHES && t < FAR; ++k) {
        const float d = distance_to_scene(s, from + t * direction);
        ++count;
        if (d < NEAR_ENOUGH) return t;
        t += d;
    }
    return FAR;
}

static float brightness_of(const Scene &s, Vec p, Vec direction, int &count) {
    const Vec n = normal_at(s, p);
    float light = std::max(dot(n, s.light), 0.0f);
    if (light > 0 && march(s, p + 0.02f * n, s.light, count) < FAR) light = 0;
    const Vec half = unit(s.light - direction);
    const float shine = std::max(dot(n, half), 0.0f), s2 = shine * shine, s4 = s2 * s2;
    return 0.1f + 0.7f * light + 0.2f * (light > 0 ? s4 * s4 : 0);
}

void render(const Scene &scene, std::vector<float> &image, int width, int height, Statistics &statistics,
            double &kernel_ms) {
    const double begun = milliseconds();
    unsigned long long marches = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : marches)
    for (int y = 0; y < height; ++y) {
        int count = 0;
        for (int x = 0; x < width; ++x) {
            const Vec direction = ray_of(x, y, width, height);
            const float t = march(scene, EYE, direction, count);
            image[size_t(y) * width + x] =
                t < FAR ? brightness_of(scene, EYE + t * direction, direction, count) : 0.0f;
        }
        marches += count;
    }
    kernel_ms = milliseconds() - begun;
    statistics.marches = marches;
    for (float v : image) statistics.brightness += v;
}
