// The macroscopic cross sections of a material at an energy, for the kernel and for yardstick.cpp.
#pragma once

#ifdef __CUDACC__
#define HERE __host__ __device__ inline
#else
#define HERE inline
#endif

constexpr int CHANNELS = 4;     // total, elastic, absorption, fission

// The last interval of a rising grid whose lower end is at most `energy`: as many steps for all, a power of two apart.
HERE int interval_of(const double *grid, int points, int largest, double energy) {
    int low = 0;
    for (int step = largest; step > 0; step /= 2) {
        const int next = low + step;
        if (next < points - 1 && grid[next] <= energy) low = next;
    }
    return low;
}

// Densities, 1/(barn cm), times microscopic cross sections, barn, summed over a material's nuclides: 1/cm.
HERE void look_up_one(double energy, int material, int points, int largest, int most, const int *count,
                      const int *nuclides, const double *density, const double *grid, const double *sections,
                      double *sum) {
    for (int c = 0; c < CHANNELS; ++c) sum[c] = 0;
    for (int k = 0; k < count[material]; ++k) {
        const int nuclide = nuclides[material * most + k];
        const double *energies = grid + nuclide * points;
        const int at = interval_of(energies, points, largest, energy);
        const double part = (energy - energies[at]) / (energies[at + 1] - energies[at]);
        const double *below = sections + (nuclide * points + at) * CHANNELS;
        for (int c = 0; c < CHANNELS; ++c)
            sum[c] += density[material * most + k] * (below[c] + part * (below[c + CHANNELS] - below[c]));
    }
}
