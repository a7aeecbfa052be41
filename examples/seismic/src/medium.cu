// Properties of the ground and of its edges.
#include "device.cuh"

__constant__ float second_derivative[HALO + 1];

// 1 inside, towards 0.92 at the left, right and lower edge; the surface reflects.
__device__ float damping(const Grid &grid, int x, int z) {
    const int inside = min(min(x, grid.nx - 1 - x), grid.nz - 1 - z);
    if (inside >= SPONGE) return 1.0f;
    const float depth = float(SPONGE - inside) / SPONGE;
    return expf(-0.08f * depth * depth);
}
