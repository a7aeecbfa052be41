// Marching along rays, light and shadow.
#include "shading.cuh"
#include "shapes.cuh"

__device__ float march(Vec from, Vec direction, int &count) {
    float t = 0.02f;
    for (int k = 0; k < MOST_MARCHES && t < FAR; ++k) {
        const float d = distance_to_scene(from + t * direction);
        ++count;
        if (d < NEAR_ENOUGH) return t;
        t += d;
    }
    return FAR;
}

__device__ float brightness_of(Vec p, Vec direction, int &count) {
    const Vec n = normal_at(p);
    float light = fmaxf(dot(n, device_scene.light), 0.0f);
    if (light > 0 && march(p + 0.02f * n, device_scene.light, count) < FAR) light = 0;
    const Vec half = unit(device_scene.light - direction);
    const float shine = fmaxf(dot(n, half), 0.0f), s2 = shine * shine, s4 = s2 * s2;
    return 0.1f + 0.7f * light + 0.2f * (light > 0 ? s4 * s4 : 0);
}
