// CUDA's complex numbers: pairs of floats.
#pragma once
#ifdef __REACTANT_PROGRAM__
#include_next <cuComplex.h>         // of whole programs, for both sides
#else
#include "reactant_names_aside.h"

#define __RT_COMPLEX(C, T, V, S)                                                                               \
    typedef V C;                                                                                               \
    __RT_BOTH C make_##C(T x, T y) { return make_##V(x, y); }                                                  \
    __RT_BOTH T cuCreal##S(C a) { return a.x; }                                                                \
    __RT_BOTH T cuCimag##S(C a) { return a.y; }                                                                \
    __RT_BOTH C cuConj##S(C a) { return make_##V(a.x, -a.y); }                                                 \
    __RT_BOTH C cuCadd##S(C a, C b) { return make_##V(a.x + b.x, a.y + b.y); }                                 \
    __RT_BOTH C cuCsub##S(C a, C b) { return make_##V(a.x - b.x, a.y - b.y); }                                 \
    __RT_BOTH C cuCmul##S(C a, C b) { return make_##V(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }         \
    __RT_BOTH C cuCdiv##S(C a, C b) {                                                                          \
        T n = b.x * b.x + b.y * b.y;                                                                           \
        return make_##V((a.x * b.x + a.y * b.y) / n, (a.y * b.x - a.x * b.y) / n); }                           \
    __RT_DEVICE T cuCabs##S(C a) { return sqrt(a.x * a.x + a.y * a.y); }
__RT_COMPLEX(cuFloatComplex, float, float2, f)
__RT_COMPLEX(cuDoubleComplex, double, double2, )
typedef cuFloatComplex cuComplex;
__RT_BOTH cuComplex make_cuComplex(float x, float y) { return make_float2(x, y); }
#include "reactant_names_back.h"
#endif
