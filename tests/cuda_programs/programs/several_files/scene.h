// A scene of balls over a plane, drawn by marching along rays by the distance to the nearest surface.
#pragma once
#include "vec.h"

constexpr int MOST_BALLS = 16, MOST_MARCHES = 64;
constexpr float NEAR_ENOUGH = 1e-3f, FAR = 30;

struct Ball { Vec centre; float radius; };

struct Scene {
    int balls;
    Ball ball[MOST_BALLS];
    Vec light;                                       // a direction
};

inline Scene make_scene(int balls, long seed) {
    Scene s = {};
    s.balls = std::min(balls, MOST_BALLS);
    for (int k = 0; k < s.balls; ++k)
        s.ball[k] = {{6 * random_float(seed, 3 * k) - 3, 0.3f + 2 * random_float(seed, 3 * k + 1),
                      4 + 5 * random_float(seed, 3 * k + 2)}, 0.3f + 0.7f * random_float(seed + 1, k)};
    s.light = unit({0.5f, 0.8f, -0.4f});
    return s;
}

// The direction of the ray through a pixel; the eye is at (0, 1, -3).
HOST_DEVICE inline Vec ray_of(int px, int py, int width, int height) {
    return unit({(px + 0.5f - width * 0.5f) / height, (height * 0.5f - py - 0.5f) / height, 1});
}
constexpr Vec EYE = {0, 1, -3};

// What files of this project have for one another.
struct Statistics { double brightness; unsigned long long marches; };
void render(const Scene &scene, std::vector<float> &image, int width, int height, Statistics &statistics,
            double &kernel_ms);
void finish(const Scene &scene, const std::vector<float> &image, int width, int height, const Statistics &statistics,
            bool check);
