/* CUDA's complex numbers: pairs of floats or doubles; for host and device, C and C++. */
#ifndef REACTANT_CU_COMPLEX_H
#define REACTANT_CU_COMPLEX_H
#include <math.h>
#include "reactant_program_api.h"

#ifdef __CUDACC__
#define REACTANT_COMPLEX_FUNCTION static __inline__ __attribute__((host, device, unused))
#else
#define REACTANT_COMPLEX_FUNCTION static __inline__ __attribute__((unused))
#endif
/* Quotients and absolute values scale first: their squares must not overflow. */
#define REACTANT_COMPLEX_TYPE(C, T, V, S, FABS, SQRT)                                                                  \
    typedef struct V C;                                                                                                \
    REACTANT_COMPLEX_FUNCTION C make_##C(T x, T y) { C made; made.x = x; made.y = y; return made; }                    \
    REACTANT_COMPLEX_FUNCTION T cuCreal##S(C a) { return a.x; }                                                        \
    REACTANT_COMPLEX_FUNCTION T cuCimag##S(C a) { return a.y; }                                                        \
    REACTANT_COMPLEX_FUNCTION C cuConj##S(C a) { return make_##C(a.x, -a.y); }                                         \
    REACTANT_COMPLEX_FUNCTION C cuCadd##S(C a, C b) { return make_##C(a.x + b.x, a.y + b.y); }                         \
    REACTANT_COMPLEX_FUNCTION C cuCsub##S(C a, C b) { return make_##C(a.x - b.x, a.y - b.y); }                         \
    REACTANT_COMPLEX_FUNCTION C cuCmul##S(C a, C b) { return make_##C(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
    REACTANT_COMPLEX_FUNCTION C cuCfma##S(C a, C b, C c) { return cuCadd##S(cuCmul##S(a, b), c); }                     \
    REACTANT_COMPLEX_FUNCTION C cuCdiv##S(C a, C b) {                                                                  \
        T scale = 1 / (FABS(b.x) + FABS(b.y)), ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
        T n = 1 / (bx * bx + by * by);                                                                                 \
        return make_##C((ax * bx + ay * by) * n, (ay * bx - ax * by) * n);                                             \
    }                                                                                                                  \
    REACTANT_COMPLEX_FUNCTION T cuCabs##S(C a) {                                                                       \
        T x = FABS(a.x), y = FABS(a.y), large = x > y ? x : y, small = x > y ? y : x;                                  \
        if (large == 0 || large > (T)1e300 * (T)1e300 || small != small) return x + y;                                 \
        small /= large;                                                                                                \
        return large * SQRT(1 + small * small);                                                                        \
    }
REACTANT_COMPLEX_TYPE(cuFloatComplex, float, float2, f, fabsf, sqrtf)
REACTANT_COMPLEX_TYPE(cuDoubleComplex, double, double2, , fabs, sqrt)
typedef cuFloatComplex cuComplex;
REACTANT_COMPLEX_FUNCTION cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
REACTANT_COMPLEX_FUNCTION cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return make_cuDoubleComplex(a.x, a.y); }
REACTANT_COMPLEX_FUNCTION cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return make_cuFloatComplex((float)a.x, (float)a.y);
}
#undef REACTANT_COMPLEX_TYPE
#undef REACTANT_COMPLEX_FUNCTION
#endif
