// Device functions of shading.cu.
#pragma once
#include "scene.h"

__device__ float march(Vec from, Vec direction, int &count);
__device__ float brightness_of(Vec p, Vec direction, int &count);
