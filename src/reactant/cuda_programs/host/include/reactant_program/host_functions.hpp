// Functions that nvcc has for host code in the global namespace: min and max, and those of CUDA's own that host code may call.
#pragma once
#define REACTANT_HOST static __inline__ __attribute__((host, unused))
// Newer C libraries declare some of them, and not all have them.
#define REACTANT_HOST_C extern "C" __inline__ __attribute__((host, always_inline))
#define REACTANT_EXTREMES(A, B, R)                                                                                     \
    REACTANT_HOST R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                                                \
    REACTANT_HOST R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
#define REACTANT_EXTREMES2(A, B, R) REACTANT_EXTREMES(A, B, R) REACTANT_EXTREMES(B, A, R)
REACTANT_EXTREMES(int, int, int)
REACTANT_EXTREMES(unsigned, unsigned, unsigned)
REACTANT_EXTREMES(long, long, long)
REACTANT_EXTREMES(unsigned long, unsigned long, unsigned long)
REACTANT_EXTREMES(long long, long long, long long)
REACTANT_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
REACTANT_EXTREMES2(int, unsigned, unsigned)
REACTANT_EXTREMES2(int, long, long)
REACTANT_EXTREMES2(int, unsigned long, unsigned long)
REACTANT_EXTREMES2(int, long long, long long)
REACTANT_EXTREMES2(int, unsigned long long, unsigned long long)
REACTANT_EXTREMES2(unsigned, long, long)
REACTANT_EXTREMES2(unsigned, unsigned long, unsigned long)
REACTANT_EXTREMES2(unsigned, long long, long long)
REACTANT_EXTREMES2(unsigned, unsigned long long, unsigned long long)
REACTANT_EXTREMES2(long, unsigned long, unsigned long)
REACTANT_EXTREMES2(long long, unsigned long long, unsigned long long)
#define REACTANT_EXTREMES_FLOAT(A, B, R, MIN, MAX)                                                                     \
    REACTANT_HOST R min(A a, B b) { return MIN((R)a, (R)b); }                                                          \
    REACTANT_HOST R max(A a, B b) { return MAX((R)a, (R)b); }
REACTANT_EXTREMES_FLOAT(float, float, float, __builtin_fminf, __builtin_fmaxf)
REACTANT_EXTREMES_FLOAT(double, double, double, __builtin_fmin, __builtin_fmax)
REACTANT_EXTREMES_FLOAT(float, double, double, __builtin_fmin, __builtin_fmax)
REACTANT_EXTREMES_FLOAT(double, float, double, __builtin_fmin, __builtin_fmax)
REACTANT_HOST unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
REACTANT_HOST unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
REACTANT_HOST_C float rsqrtf(float x) noexcept { return 1.0f / __builtin_sqrtf(x); }
REACTANT_HOST_C double rsqrt(double x) noexcept { return 1.0 / __builtin_sqrt(x); }
REACTANT_HOST float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
REACTANT_HOST float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
REACTANT_HOST double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
REACTANT_HOST_C float sinpif(float x) noexcept { return (float)__builtin_sin(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
REACTANT_HOST_C double sinpi(double x) noexcept { return __builtin_sin(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
REACTANT_HOST_C float cospif(float x) noexcept { return (float)__builtin_cos(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
REACTANT_HOST_C double cospi(double x) noexcept { return __builtin_cos(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
REACTANT_HOST float normcdff(float x) { return (float)(0.5 * __builtin_erfc(-x * 0.70710678118654752440)); }
REACTANT_HOST double normcdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752440); }
REACTANT_HOST float fdividef(float x, float y) { return x / y; }
#undef REACTANT_EXTREMES
#undef REACTANT_EXTREMES2
#undef REACTANT_EXTREMES_FLOAT
