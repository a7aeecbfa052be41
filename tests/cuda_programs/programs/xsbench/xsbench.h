// Macroscopic cross sections of neutrons: for a random energy and material, what all its nuclides add up to.
#pragma once
#include "../common.h"

constexpr int MATERIALS = 12, CHANNELS = 5, MOST_NUCLIDES = 34;

struct GridPoint { double energy, total, elastic, absorption, fission, nu_fission; };

struct Data {
    int nuclides, points;
    std::vector<GridPoint> grids;                    // nuclide by nuclide, sorted by energy
    std::vector<int> counts, members;                // of materials: MOST_NUCLIDES each
    std::vector<double> densities;

    Data(int nuclides, int points, long seed) : nuclides(nuclides), points(points), grids(size_t(nuclides) * points),
                                                counts{34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9},
                                                members(MATERIALS * MOST_NUCLIDES), densities(members.size()) {
        for (int n = 0; n < nuclides; ++n) {
            GridPoint *g = &grids[size_t(n) * points];
            for (int k = 0; k < points; ++k) {
                const size_t i = (size_t(n) * points + k) * 6;
                g[k] = {(k + random_unit(seed, i)) / points, random_unit(seed, i + 1), random_unit(seed, i + 2),
                        random_unit(seed, i + 3), random_unit(seed, i + 4), random_unit(seed, i + 5)};
            }
        }
        for (int m = 0; m < MATERIALS; ++m)
            for (int k = 0; k < counts[m]; ++k) {
                members[m * MOST_NUCLIDES + k] = int((k * 7 + random_bits(seed + 1, m)) % nuclides);
                densities[m * MOST_NUCLIDES + k] = random_unit(seed + 2, m * MOST_NUCLIDES + k);
            }
    }
};

// Materials by how often neutrons are in them.
HOST_DEVICE inline int material_of(double u) {
    const double share[MATERIALS] = {0.140, 0.052, 0.275, 0.134, 0.154, 0.064,
                                     0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
    double sum = 0;
    for (int m = 0; m < MATERIALS - 1; ++m) {
        sum += share[m];
        if (u < sum) return m;
    }
    return 0;
}

// Adds what one nuclide brings: its grid is searched, the two points around the energy are interpolated.
HOST_DEVICE inline void add_nuclide(double *macro, const GridPoint *grid, int points, double energy, double density) {
    int low = 0, high = points - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (grid[middle].energy > energy) high = middle;
        else low = middle;
    }
    const GridPoint a = grid[low], b = grid[low + 1];
    const double f = (b.energy - energy) / (b.energy - a.energy);
    macro[0] += density * (b.total - f * (b.total - a.total));
    macro[1] += density * (b.elastic - f * (b.elastic - a.elastic));
    macro[2] += density * (b.absorption - f * (b.absorption - a.absorption));
    macro[3] += density * (b.fission - f * (b.fission - a.fission));
    macro[4] += density * (b.nu_fission - f * (b.nu_fission - a.nu_fission));
}

// The number of the largest channel, from 1.
HOST_DEVICE inline int largest(const double *macro) {
    int best = 0;
    for (int k = 1; k < CHANNELS; ++k)
        if (macro[k] > macro[best]) best = k;
    return best + 1;
}

HOST_DEVICE inline void look_up(double *macro, const GridPoint *grids, const int *counts, const int *members,
                                const double *densities, int points, long seed, int number) {
    const double energy = random_unit(seed + 3, number);
    const int m = material_of(random_unit(seed + 4, number));
    for (int k = 0; k < CHANNELS; ++k) macro[k] = 0;
    for (int k = 0; k < counts[m]; ++k)
        add_nuclide(macro, grids + size_t(members[m * MOST_NUCLIDES + k]) * points, points, energy,
                    densities[m * MOST_NUCLIDES + k]);
}

// By another search.
inline long reference(const Data &d, int lookups, long seed) {
    long sum = 0;
    for (int i = 0; i < lookups; ++i) {
        const double energy = random_unit(seed + 3, i);
        const int m = material_of(random_unit(seed + 4, i));
        double macro[CHANNELS] = {};
        for (int k = 0; k < d.counts[m]; ++k) {
            const GridPoint *g = &d.grids[size_t(d.members[m * MOST_NUCLIDES + k]) * d.points];
            const long above = std::upper_bound(g, g + d.points, energy, [](double e, const GridPoint &p) {
                return e < p.energy;
            }) - g;
            const long low = std::min(std::max(above - 1, 0l), d.points - 2l);
            const double t = (energy - g[low].energy) / (g[low + 1].energy - g[low].energy);
            const double *a = &g[low].total, *b = &g[low + 1].total;
            for (int c = 0; c < CHANNELS; ++c)
                macro[c] += d.densities[m * MOST_NUCLIDES + k] * ((1 - t) * a[c] + t * b[c]);
        }
        sum += largest(macro);
    }
    return sum;
}
