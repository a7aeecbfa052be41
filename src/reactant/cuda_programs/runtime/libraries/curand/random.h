// What the files of cuRAND share. The generators and distributions are those of kernels, compiled for the host.
#pragma once
#include <cmath>
#include <vector>

#include "common/libraries.h"
#include "curand.h"

extern "C" {
void reactant_xorwow_begin(unsigned long long, unsigned long long, unsigned long long, unsigned int *);
void reactant_xorwow_skip(unsigned long long, int, unsigned int *);
void reactant_mrg32k3a_begin(unsigned long long, unsigned long long, unsigned long long, unsigned int *);
void reactant_mrg32k3a_skip(unsigned long long, int, unsigned int *);
unsigned int reactant_poisson_at(double, double);
}

static inline void sincospi(double x, double *sine, double *cosine) {
    const double rest = x - 2 * __builtin_floor(x / 2), quarter = __builtin_floor(2 * rest + 0.5);   // in quarter turns
    const double angle = 3.14159265358979323846 * (rest - quarter / 2), s = __builtin_sin(angle), c = __builtin_cos(angle);
    switch ((int)quarter & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s;
    }
}

// Acklam's rational approximation of the normal distribution's inverse (2003), and a step of Halley's method.
static inline double reactant_normal_at(double p) {
    const double q = p < 0.5 ? p : 1 - p;
    double x;
    if (q > 0.02425) {
        const double t = q - 0.5, r = t * t;
        x = (((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r + 138.3577518672690) * r
              - 30.66479806614716) * r + 2.506628277459239) * t
            / (((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r + 66.80131188771972) * r
                - 13.28068155288572) * r + 1);
    } else {
        const double t = std::sqrt(-2 * std::log(q));
        x = (((((-0.007784894002430293 * t - 0.3223964580411365) * t - 2.400758277161838) * t - 2.549732539343734) * t
              + 4.374664141464968) * t + 2.938163982698783)
            / ((((0.007784695709041462 * t + 0.3224671290700398) * t + 2.445134137142996) * t + 3.754408661907416) * t + 1);
    }
    const double error = 0.5 * std::erfc(-x / 1.4142135623730951) - q;
    const double step = error * 2.5066282746310002 * std::exp(x * x / 2);
    x -= step / (1 + x * step / 2);
    return p < 0.5 ? x : -x;
}
static inline double erfcinv(double y) { return -reactant_normal_at(y / 2) / 1.4142135623730951; }

#define REACTANT_RANDOM static inline __attribute__((unused))
#define REACTANT_RANDOM_OUTSIDE extern "C"
#include "reactant_libraries/random_distributions.hpp"

namespace reactant::random {
using namespace reactant::libraries;
// The direction numbers of the first dimensions, 32 each; nullptr: they are not here.
const unsigned int *directions(unsigned dimensions);
constexpr unsigned MOST_DIMENSIONS = 20000;
}

#define NEED_GENERATOR(GENERATOR) if (!(GENERATOR)) return CURAND_STATUS_NOT_INITIALIZED
