// Results, and some pixels by rays that are met by formula.
#include "scene.h"

// How far along a ray the nearest surface is; FAR where there is none.
static double hit(const Scene &s, Vec from, Vec direction) {
    double nearest = direction.y < 0 ? -from.y / direction.y : double(FAR);
    for (int k = 0; k < s.balls; ++k) {
        const Vec to = s.ball[k].centre - from;
        const double b = dot(to, direction), c = dot(to, to) - s.ball[k].radius * s.ball[k].radius, d = b * b - c;
        if (d > 0 && b - std::sqrt(d) > 0) nearest = std::min(nearest, b - std::sqrt(d));
    }
    return nearest;
}

void finish(const Scene &scene, const std::vector<float> &image, int width, int height, const Statistics &statistics,
            bool check) {
    result("brightness", statistics.brightness);
    result("marches", double(statistics.marches));
    results("image", image);
    if (!check) return;
    long wrong = 0, looked_at = 0;
    for (int y = 0; y < height; y += 7)
        for (int x = 0; x < width; x += 7, ++looked_at)
            wrong += (hit(scene, EYE, ray_of(x, y, width, height)) < FAR * 0.9) != (image[size_t(y) * width + x] > 0);
    expect("surfaces", wrong <= looked_at / 25);     // marching may stop short along edges
}
