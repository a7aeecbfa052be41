// Distances to the surfaces of the scene.
#include "shapes.cuh"

__constant__ Scene device_scene;
__device__ unsigned long long marches;

static __device__ float distance_to_ball(const Ball &b, Vec p) { return length(p - b.centre) - b.radius; }

__device__ float distance_to_scene(Vec p) {
    float nearest = p.y;                             // the plane
    for (int k = 0; k < device_scene.balls; ++k) nearest = fminf(nearest, distance_to_ball(device_scene.ball[k], p));
    return nearest;
}

__device__ Vec normal_at(Vec p) {
    const float e = 1e-2f;
    return unit({distance_to_scene(p + Vec{e, 0, 0}) - distance_to_scene(p - Vec{e, 0, 0}),
                 distance_to_scene(p + Vec{0, e, 0}) - distance_to_scene(p - Vec{0, e, 0}),
                 distance_to_scene(p + Vec{0, 0, e}) - distance_to_scene(p - Vec{0, 0, e})});
}
