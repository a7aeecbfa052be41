// Particles are sorted into cells; what each cell holds is counted and added up; the densest cells are picked out.
#pragma once
#include "../common.h"

struct Summary { double energy; int occupied, dense; float heaviest; };

inline void make_inputs(int particles, long seed, std::vector<float> &x, std::vector<float> &y,
                        std::vector<float> &mass) {
    for (int i = 0; i < particles; ++i) {
        const float r = random_float(seed, i);
        x[i] = r * r;
        y[i] = random_float(seed + 1, i);
        mass[i] = 0.5f + random_float(seed + 2, i);
    }
}

HOST_DEVICE inline int cell_of(float x, float y, int side) {
    int i = int(x * side), j = int(y * side);
    i = i < side ? i : side - 1;
    j = j < side ? j : side - 1;
    return j * side + i;
}

inline void reference(const std::vector<float> &x, const std::vector<float> &y, const std::vector<float> &mass,
                      int side, std::vector<int> &starts, std::vector<float> &cell_mass) {
    std::vector<int> counts(side * side);
    std::vector<double> sums(side * side);
    for (size_t i = 0; i < x.size(); ++i) {
        const int c = cell_of(x[i], y[i], side);
        ++counts[c];
        sums[c] += mass[i];
    }
    starts.assign(side * side, 0);
    for (int c = 1; c < side * side; ++c) starts[c] = starts[c - 1] + counts[c - 1];
    cell_mass.assign(sums.begin(), sums.end());
}

inline void finish(const std::vector<float> &x, const std::vector<float> &y, const std::vector<float> &mass, int side,
                   const std::vector<int> &starts, const std::vector<float> &cell_mass, const Summary &s, bool check) {
    result("energy", s.energy);
    result("occupied", s.occupied);
    result("dense", s.dense);
    result("heaviest", s.heaviest);
    results("starts", starts);
    results("cell_mass", cell_mass);
    if (!check) return;
    std::vector<int> wanted_starts;
    std::vector<float> wanted_mass;
    reference(x, y, mass, side, wanted_starts, wanted_mass);
    expect_close("starts", starts, wanted_starts, 0);
    expect_close("cell_mass", cell_mass, wanted_mass, 1e-4);
    double energy = 0;
    for (size_t i = 0; i < x.size(); ++i) energy += 0.5 * double(mass[i]) * (x[i] * x[i] + y[i] * y[i]);
    expect_close("energy", &s.energy, &energy, 1, 1e-6);
}
