// CUDA's mathematical functions, in both precisions and as overloads.
#pragma once

#define __RT_UNARY(N, D, F)                                                                                    \
    __RT_DEVICE double N(double x) { return D(x); } __RT_DEVICE float N(float x) { return F(x); }              \
    __RT_DEVICE float N##f(float x) { return F(x); } __RT_DEVICE double N(int x) { return D((double)x); }
#define __RT_UNARY_BUILTIN(N) __RT_UNARY(N, __builtin_##N, __builtin_##N##f)
__RT_UNARY_BUILTIN(sin) __RT_UNARY_BUILTIN(cos) __RT_UNARY_BUILTIN(tan) __RT_UNARY_BUILTIN(asin) __RT_UNARY_BUILTIN(acos)
__RT_UNARY_BUILTIN(atan) __RT_UNARY_BUILTIN(sinh) __RT_UNARY_BUILTIN(cosh) __RT_UNARY_BUILTIN(tanh)
__RT_UNARY_BUILTIN(exp) __RT_UNARY_BUILTIN(exp2) __RT_UNARY_BUILTIN(log) __RT_UNARY_BUILTIN(log2) __RT_UNARY_BUILTIN(log10)
__RT_UNARY_BUILTIN(sqrt) __RT_UNARY_BUILTIN(floor) __RT_UNARY_BUILTIN(ceil) __RT_UNARY_BUILTIN(trunc) __RT_UNARY_BUILTIN(rint)
__RT_UNARY_BUILTIN(nearbyint) __RT_UNARY_BUILTIN(fabs) __RT_UNARY_BUILTIN(round)

#define __RT_LIBRARY(N)                                                                                        \
    extern "C" __device__ __attribute__((const)) double __rt_##N(double) __asm__(#N);                          \
    extern "C" __device__ __attribute__((const)) float __rt_##N##f(float) __asm__(#N "f");                     \
    __RT_UNARY(N, __rt_##N, __rt_##N##f)
__RT_LIBRARY(exp10) __RT_LIBRARY(expm1) __RT_LIBRARY(log1p) __RT_LIBRARY(cbrt) __RT_LIBRARY(erf) __RT_LIBRARY(erfc)
__RT_LIBRARY(lgamma) __RT_LIBRARY(tgamma) __RT_LIBRARY(asinh) __RT_LIBRARY(acosh) __RT_LIBRARY(atanh) __RT_LIBRARY(j0)
__RT_LIBRARY(j1) __RT_LIBRARY(y0) __RT_LIBRARY(y1) __RT_LIBRARY(rsqrt) __RT_LIBRARY(rcbrt) __RT_LIBRARY(sinpi)
__RT_LIBRARY(cospi) __RT_LIBRARY(normcdf) __RT_LIBRARY(erfinv) __RT_LIBRARY(erfcinv) __RT_LIBRARY(normcdfinv)
__RT_LIBRARY(erfcx) __RT_LIBRARY(logb)

#define __RT_BINARY(N, D, F)                                                                                   \
    __RT_DEVICE double N(double x, double y) { return D(x, y); } __RT_DEVICE float N(float x, float y) { return F(x, y); } \
    __RT_DEVICE float N##f(float x, float y) { return F(x, y); }                                               \
    __RT_DEVICE double N(double x, float y) { return D(x, y); } __RT_DEVICE double N(float x, double y) { return D(x, y); } \
    __RT_DEVICE double N(double x, int y) { return D(x, y); } __RT_DEVICE double N(int x, double y) { return D(x, y); } \
    __RT_DEVICE float N(float x, int y) { return F(x, (float)y); }
#define __RT_BINARY_BUILTIN(N) __RT_BINARY(N, __builtin_##N, __builtin_##N##f)
__RT_BINARY_BUILTIN(pow) __RT_BINARY_BUILTIN(atan2) __RT_BINARY_BUILTIN(fmin) __RT_BINARY_BUILTIN(fmax)
__RT_BINARY_BUILTIN(copysign)
#define __RT_LIBRARY2(N)                                                                                       \
    extern "C" __device__ __attribute__((const)) double __rt_##N(double, double) __asm__(#N);                  \
    extern "C" __device__ __attribute__((const)) float __rt_##N##f(float, float) __asm__(#N "f");              \
    __RT_BINARY(N, __rt_##N, __rt_##N##f)
__RT_LIBRARY2(fmod) __RT_LIBRARY2(hypot) __RT_LIBRARY2(fdim) __RT_LIBRARY2(remainder) __RT_LIBRARY2(nextafter) __RT_LIBRARY2(rhypot)
__RT_DEVICE double fdivide(double x, double y) { return x / y; }
__RT_DEVICE float fdividef(float x, float y) { return x / y; }
__RT_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
__RT_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__RT_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__RT_DEVICE double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
__RT_DEVICE float norm3df(float x, float y, float z) { return hypotf(hypotf(x, y), z); }
__RT_DEVICE double norm4d(double x, double y, double z, double w) { return hypot(hypot(x, y), hypot(z, w)); }
__RT_DEVICE float norm4df(float x, float y, float z, float w) { return hypotf(hypotf(x, y), hypotf(z, w)); }
__RT_DEVICE double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
__RT_DEVICE float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
__RT_DEVICE double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
__RT_DEVICE float rnorm4df(float x, float y, float z, float w) { return 1.0f / norm4df(x, y, z, w); }
__RT_DEVICE double norm(int n, const double *x) { double r = 0; for (int i = 0; i < n; ++i) r = hypot(r, x[i]); return r; }
__RT_DEVICE float normf(int n, const float *x) { float r = 0; for (int i = 0; i < n; ++i) r = hypotf(r, x[i]); return r; }
__RT_DEVICE double rnorm(int n, const double *x) { return 1.0 / norm(n, x); }
__RT_DEVICE float rnormf(int n, const float *x) { return 1.0f / normf(n, x); }
__RT_DEVICE double nan(const char *) { return __builtin_nan(""); }
__RT_DEVICE float nanf(const char *) { return __builtin_nanf(""); }
extern "C" __device__ double __rt_remquo(double, double, int *) __asm__("remquo");
extern "C" __device__ float __rt_remquof(float, float, int *) __asm__("remquof");
__RT_DEVICE double remquo(double x, double y, int *q) { return __rt_remquo(x, y, q); }
__RT_DEVICE float remquo(float x, float y, int *q) { return __rt_remquof(x, y, q); }
__RT_DEVICE float remquof(float x, float y, int *q) { return __rt_remquof(x, y, q); }
extern "C" __device__ __attribute__((const)) double __rt_ldexp(double, int) __asm__("ldexp");
extern "C" __device__ __attribute__((const)) float __rt_ldexpf(float, int) __asm__("ldexpf");
__RT_DEVICE double ldexp(double x, int e) { return __rt_ldexp(x, e); }
__RT_DEVICE float ldexp(float x, int e) { return __rt_ldexpf(x, e); }
__RT_DEVICE float ldexpf(float x, int e) { return __rt_ldexpf(x, e); }
__RT_DEVICE double scalbn(double x, int e) { return __rt_ldexp(x, e); }
__RT_DEVICE float scalbnf(float x, int e) { return __rt_ldexpf(x, e); }
extern "C" __device__ __attribute__((const)) double __rt_jn(int, double) __asm__("jn");
extern "C" __device__ __attribute__((const)) double __rt_yn(int, double) __asm__("yn");
__RT_DEVICE double jn(int n, double x) { return __rt_jn(n, x); }
__RT_DEVICE double yn(int n, double x) { return __rt_yn(n, x); }
extern "C" __device__ __attribute__((const)) float __rt_jnf(int, float) __asm__("jnf");
extern "C" __device__ __attribute__((const)) float __rt_ynf(int, float) __asm__("ynf");
__RT_DEVICE float jnf(int n, float x) { return __rt_jnf(n, x); }
__RT_DEVICE float ynf(int n, float x) { return __rt_ynf(n, x); }
extern "C" __device__ double __rt_frexp(double, int *) __asm__("frexp");
extern "C" __device__ float __rt_frexpf(float, int *) __asm__("frexpf");
__RT_DEVICE double frexp(double x, int *e) { return __rt_frexp(x, e); }
__RT_DEVICE float frexp(float x, int *e) { return __rt_frexpf(x, e); }
__RT_DEVICE float frexpf(float x, int *e) { return __rt_frexpf(x, e); }
extern "C" __device__ double __rt_modf(double, double *) __asm__("modf");
extern "C" __device__ float __rt_modff(float, float *) __asm__("modff");
__RT_DEVICE double modf(double x, double *w) { return __rt_modf(x, w); }
__RT_DEVICE float modf(float x, float *w) { return __rt_modff(x, w); }
__RT_DEVICE float modff(float x, float *w) { return __rt_modff(x, w); }
extern "C" __device__ __attribute__((const)) int __rt_ilogb(double) __asm__("ilogb");
extern "C" __device__ __attribute__((const)) int __rt_ilogbf(float) __asm__("ilogbf");
__RT_DEVICE int ilogb(double x) { return __rt_ilogb(x); }
__RT_DEVICE int ilogbf(float x) { return __rt_ilogbf(x); }
__RT_DEVICE void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
__RT_DEVICE void sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
__RT_DEVICE void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
__RT_DEVICE void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
__RT_DEVICE float saturate(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
__RT_DEVICE float __saturatef(float x) { return saturate(x); }
__RT_DEVICE long lrint(double x) { return (long)rint(x); }
__RT_DEVICE long lrintf(float x) { return (long)rintf(x); }
__RT_DEVICE long long llrint(double x) { return (long long)rint(x); }
__RT_DEVICE long long llrintf(float x) { return (long long)rintf(x); }
__RT_DEVICE long lround(double x) { return (long)round(x); }
__RT_DEVICE long lroundf(float x) { return (long)roundf(x); }
__RT_DEVICE long long llround(double x) { return (long long)round(x); }
__RT_DEVICE long long llroundf(float x) { return (long long)roundf(x); }

#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#undef isnormal
#define __RT_TEST(N, B) __RT_DEVICE bool N(double x) { return B(x); } __RT_DEVICE bool N(float x) { return B(x); }
__RT_TEST(isnan, __builtin_isnan) __RT_TEST(isinf, __builtin_isinf) __RT_TEST(isfinite, __builtin_isfinite)
__RT_TEST(signbit, __builtin_signbit) __RT_TEST(isnormal, __builtin_isnormal)
__RT_DEVICE int __isnanf(float x) { return __builtin_isnan(x); }
__RT_DEVICE int __isinff(float x) { return __builtin_isinf(x); }
__RT_DEVICE int __isnan(double x) { return __builtin_isnan(x); }
__RT_DEVICE int __isinf(double x) { return __builtin_isinf(x); }
__RT_DEVICE int finite(double x) { return __builtin_isfinite(x); }
__RT_DEVICE int __finitef(float x) { return __builtin_isfinite(x); }

// ---- fast versions: the exact ones are as fast here ----
__RT_DEVICE float __sinf(float x) { return sinf(x); }
__RT_DEVICE float __cosf(float x) { return cosf(x); }
__RT_DEVICE float __tanf(float x) { return tanf(x); }
__RT_DEVICE float __tanhf(float x) { return tanhf(x); }
__RT_DEVICE float __expf(float x) { return expf(x); }
__RT_DEVICE float __exp10f(float x) { return exp10f(x); }
__RT_DEVICE float __logf(float x) { return logf(x); }
__RT_DEVICE float __log2f(float x) { return log2f(x); }
__RT_DEVICE float __log10f(float x) { return log10f(x); }
__RT_DEVICE float __powf(float x, float y) { return powf(x, y); }
__RT_DEVICE float __fdividef(float x, float y) { return x / y; }
__RT_DEVICE void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }

#define __RT_ROUNDED(R)                                                                                        \
    __RT_DEVICE float __fadd_##R(float x, float y) { return x + y; }                                           \
    __RT_DEVICE float __fsub_##R(float x, float y) { return x - y; }                                           \
    __RT_DEVICE float __fmul_##R(float x, float y) { return x * y; }                                           \
    __RT_DEVICE float __fdiv_##R(float x, float y) { return x / y; }                                           \
    __RT_DEVICE float __frcp_##R(float x) { return 1.0f / x; }                                                 \
    __RT_DEVICE float __fsqrt_##R(float x) { return sqrtf(x); }                                                \
    __RT_DEVICE float __fmaf_##R(float x, float y, float z) { return fmaf(x, y, z); }                          \
    __RT_DEVICE double __dadd_##R(double x, double y) { return x + y; }                                        \
    __RT_DEVICE double __dsub_##R(double x, double y) { return x - y; }                                        \
    __RT_DEVICE double __dmul_##R(double x, double y) { return x * y; }                                        \
    __RT_DEVICE double __ddiv_##R(double x, double y) { return x / y; }                                        \
    __RT_DEVICE double __drcp_##R(double x) { return 1.0 / x; }                                                \
    __RT_DEVICE double __dsqrt_##R(double x) { return sqrt(x); }                                               \
    __RT_DEVICE double __fma_##R(double x, double y, double z) { return fma(x, y, z); }
__RT_ROUNDED(rn)
__RT_DEVICE float __frsqrt_rn(float x) { return rsqrtf(x); }

// ---- conversions ----
#define __RT_TO_INTEGER(M, D, F)                                                                               \
    __RT_DEVICE int __float2int_##M(float x) { return (int)F(x); }                                             \
    __RT_DEVICE unsigned __float2uint_##M(float x) { return (unsigned)F(x); }                                  \
    __RT_DEVICE long long __float2ll_##M(float x) { return (long long)F(x); }                                  \
    __RT_DEVICE unsigned long long __float2ull_##M(float x) { return (unsigned long long)F(x); }               \
    __RT_DEVICE int __double2int_##M(double x) { return (int)D(x); }                                           \
    __RT_DEVICE unsigned __double2uint_##M(double x) { return (unsigned)D(x); }                                \
    __RT_DEVICE long long __double2ll_##M(double x) { return (long long)D(x); }                                \
    __RT_DEVICE unsigned long long __double2ull_##M(double x) { return (unsigned long long)D(x); }
__RT_TO_INTEGER(rn, rint, rintf) __RT_TO_INTEGER(rd, floor, floorf) __RT_TO_INTEGER(ru, ceil, ceilf) __RT_TO_INTEGER(rz, trunc, truncf)
__RT_DEVICE float __int2float_rn(int x) { return (float)x; }
__RT_DEVICE float __uint2float_rn(unsigned x) { return (float)x; }
__RT_DEVICE float __ll2float_rn(long long x) { return (float)x; }
__RT_DEVICE float __ull2float_rn(unsigned long long x) { return (float)x; }
__RT_DEVICE double __int2double_rn(int x) { return (double)x; }
__RT_DEVICE double __uint2double_rn(unsigned x) { return (double)x; }
__RT_DEVICE double __ll2double_rn(long long x) { return (double)x; }
__RT_DEVICE double __ull2double_rn(unsigned long long x) { return (double)x; }
__RT_DEVICE float __double2float_rn(double x) { return (float)x; }
__RT_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__RT_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__RT_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__RT_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__RT_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__RT_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__RT_DEVICE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__RT_DEVICE int __double2loint(double x) { return (int)__double_as_longlong(x); }
__RT_DEVICE double __hiloint2double(int hi, int lo) { return __longlong_as_double((long long)hi << 32 | (unsigned)lo); }

// What kernels find without asking, because nvcc reads <math.h>, <limits.h> and <float.h> first.
#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define HUGE_VALF __builtin_inff()
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INT_MAX
#define CHAR_BIT 8
#define SHRT_MAX __SHRT_MAX__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2u + 1u)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-__LONG_LONG_MAX__ - 1)
#define ULLONG_MAX (__LONG_LONG_MAX__ * 2ull + 1ull)
#endif
#ifndef FLT_MAX
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#endif
