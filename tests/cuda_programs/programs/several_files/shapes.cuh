// Device functions and variables of shapes.cu.
#pragma once
#include "scene.h"

extern __constant__ Scene device_scene;
extern __device__ unsigned long long marches;

__device__ float distance_to_scene(Vec p);
__device__ Vec normal_at(Vec p);
