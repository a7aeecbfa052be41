// The same look-ups as a C++ programmer writes them for CPUs, and their derivative by densities, by hand.
#include "lookup.h"
#include <vector>

extern "C" void look_up(int lookups, int points, int largest, int most, const double *energy, const int *material,
                        const int *count, const int *nuclides, const double *density, const double *grid,
                        const double *sections, double *macroscopic) {
#pragma omp parallel for
    for (int i = 0; i < lookups; ++i)
        look_up_one(energy[i], material[i], points, largest, most, count, nuclides, density, grid, sections,
                    macroscopic + i * CHANNELS);
}

// The sum of weight * absorption, and its derivative by each density.
extern "C" double rate_and_gradient(int lookups, int points, int largest, int most, const double *energy,
                                    const int *material, const int *count, const int *nuclides, const double *density,
                                    const double *grid, const double *sections, const double *weight, int materials,
                                    double *slope) {
    const int entries = materials * most;
    double rate = 0;
    for (int k = 0; k < entries; ++k) slope[k] = 0;
#pragma omp parallel for reduction(+ : rate, slope[ : entries])
    for (int i = 0; i < lookups; ++i)
        for (int k = 0; k < count[material[i]]; ++k) {
            const int entry = material[i] * most + k, nuclide = nuclides[entry];
            const double *energies = grid + nuclide * points;
            const int at = interval_of(energies, points, largest, energy[i]);
            const double part = (energy[i] - energies[at]) / (energies[at + 1] - energies[at]);
            const double *below = sections + (nuclide * points + at) * CHANNELS + 2;
            const double of_one = weight[i] * (below[0] + part * (below[CHANNELS] - below[0]));
            rate += density[entry] * of_one;
            slope[entry] += of_one;
        }
    return rate;
}
