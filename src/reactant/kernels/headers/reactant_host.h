// What nvcc includes by itself, for host code that counts on it; included where a source does not compile without.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <limits.h>
#include <float.h>
#include <stdint.h>
#include "reactant_names_aside.h"
// <math.h> of the C++ library is slow to read.
#define __RT_HOST_1(N) double N(double) noexcept; float N##f(float) noexcept;
#define __RT_HOST_2(N) double N(double, double) noexcept; float N##f(float, float) noexcept;
extern "C" {
__RT_HOST_1(sin) __RT_HOST_1(cos) __RT_HOST_1(tan) __RT_HOST_1(asin) __RT_HOST_1(acos) __RT_HOST_1(atan) __RT_HOST_1(sinh)
__RT_HOST_1(cosh) __RT_HOST_1(tanh) __RT_HOST_1(asinh) __RT_HOST_1(acosh) __RT_HOST_1(atanh) __RT_HOST_1(exp) __RT_HOST_1(exp2)
__RT_HOST_1(expm1) __RT_HOST_1(log) __RT_HOST_1(log2) __RT_HOST_1(log10) __RT_HOST_1(log1p) __RT_HOST_1(sqrt) __RT_HOST_1(cbrt)
__RT_HOST_1(floor) __RT_HOST_1(ceil) __RT_HOST_1(trunc) __RT_HOST_1(round) __RT_HOST_1(rint) __RT_HOST_1(nearbyint)
__RT_HOST_1(fabs) __RT_HOST_1(erf) __RT_HOST_1(erfc) __RT_HOST_1(tgamma) __RT_HOST_1(lgamma)
__RT_HOST_2(pow) __RT_HOST_2(atan2) __RT_HOST_2(fmod) __RT_HOST_2(fmin) __RT_HOST_2(fmax) __RT_HOST_2(hypot) __RT_HOST_2(copysign)
__RT_HOST_2(fdim) __RT_HOST_2(remainder)
}
#undef __RT_HOST_1
#undef __RT_HOST_2
#define __RT_HOST_MINMAX(T) \
    static inline __attribute__((host)) T min(T a, T b) { return b < a ? b : a; } \
    static inline __attribute__((host)) T max(T a, T b) { return a < b ? b : a; }
__RT_HOST_MINMAX(int) __RT_HOST_MINMAX(unsigned) __RT_HOST_MINMAX(long) __RT_HOST_MINMAX(unsigned long)
__RT_HOST_MINMAX(long long) __RT_HOST_MINMAX(unsigned long long) __RT_HOST_MINMAX(float) __RT_HOST_MINMAX(double)
#undef __RT_HOST_MINMAX
#include "reactant_names_back.h"
