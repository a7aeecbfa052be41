// An ensemble of oscillators with a force law as a template parameter, moved and measured by generic loops.
#pragma once
#include "../common.h"

struct Hooke {
    float stiffness;
    HOST_DEVICE float operator()(float x) const { return -stiffness * x; }
};
struct Duffing {
    float linear, cubic;
    HOST_DEVICE float operator()(float x) const { return -linear * x - cubic * x * x * x; }
};
struct Morse {                                       // by a rational function in place of the exponential
    float depth;
    HOST_DEVICE float operator()(float x) const {
        const float q = 1 / (1 + x * x);
        return -2 * depth * x * q * q;
    }
};

// One step of velocity Verlet.
template <class Force> HOST_DEVICE inline void verlet(const Force &force, float &x, float &v, float step) {
    v += 0.5f * step * force(x);
    x += step * v;
    v += 0.5f * step * force(x);
}

struct Plus { template <class T> HOST_DEVICE T operator()(T a, T b) const { return a + b; } };
struct Largest { template <class T> HOST_DEVICE T operator()(T a, T b) const { return a < b ? b : a; } };

inline void make_inputs(long seed, std::vector<float> &x, std::vector<float> &v) {
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = 2 * random_float(seed, i) - 1;
        v[i] = random_float(seed + 1, i) - 0.5f;
    }
}

template <class Force> void reference(const Force &force, std::vector<float> &x, std::vector<float> &v, int steps) {
    for (size_t i = 0; i < x.size(); ++i)
        for (int k = 0; k < steps; ++k) verlet(force, x[i], v[i], 0.01f);
}
