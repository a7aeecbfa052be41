// Macroscopic cross sections where particles collide: one thread a look-up.
#include "lookup.h"

extern "C" __global__ void look_up(int lookups, int points, int largest, int most, const double *energy,
                                   const int *material, const int *count, const int *nuclides, const double *density,
                                   const double *grid, const double *sections, double *macroscopic) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lookups) return;
    double sum[CHANNELS];
    look_up_one(energy[i], material[i], points, largest, most, count, nuclides, density, grid, sections, sum);
    for (int c = 0; c < CHANNELS; ++c) macroscopic[i * CHANNELS + c] = sum[c];
}
