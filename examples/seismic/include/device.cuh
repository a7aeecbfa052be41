// What the device code of several files shares.
#pragma once
#include "seismic.h"

extern __constant__ float second_derivative[HALO + 1];      // coefficients of the stencil, without 1 / h^2

__device__ float damping(const Grid &grid, int x, int z);

__global__ void step(Grid grid, const float *now, float *before, const float *speed);
__global__ void inject(Grid grid, float *pressure, int x, int z, float amount);
__global__ void record(Grid grid, const float *pressure, float *traces, int receivers, int spacing, int turn);
__global__ void energy(Grid grid, const float *now, const float *before, const float *speed, double *sum);
