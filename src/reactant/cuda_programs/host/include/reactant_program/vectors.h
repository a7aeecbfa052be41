/* Vector types and dim3 for sources that are not CUDA (.c and .cpp files that call the runtime). In CUDA sources the
   language header has them. */
#ifndef REACTANT_PROGRAM_VECTORS_H
#define REACTANT_PROGRAM_VECTORS_H
#include <stddef.h>
#ifndef __CUDACC__
#ifndef __host__
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#endif
#ifdef __cplusplus
#define REACTANT_MAKE(T, N, PARAMETERS, VALUES) static inline N make_##N PARAMETERS { N r = VALUES; return r; }
#else
#define REACTANT_MAKE(T, N, PARAMETERS, VALUES) static inline struct N make_##N PARAMETERS { struct N r = VALUES; return r; }
#endif
#define REACTANT_LIST(...) {__VA_ARGS__}
#define REACTANT_VECTORS(T, N, S, A4)                                                                                  \
    struct __attribute__((aligned(S))) N##1 { T x; }; typedef struct N##1 N##1;                                        \
    struct __attribute__((aligned(2 * S > 16 ? 16 : 2 * S))) N##2 { T x, y; }; typedef struct N##2 N##2;               \
    struct __attribute__((aligned(S))) N##3 { T x, y, z; }; typedef struct N##3 N##3;                                  \
    struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; }; typedef struct N##4 N##4;                              \
    REACTANT_MAKE(T, N##1, (T x), REACTANT_LIST(x))                                                                    \
    REACTANT_MAKE(T, N##2, (T x, T y), REACTANT_LIST(x, y))                                                            \
    REACTANT_MAKE(T, N##3, (T x, T y, T z), REACTANT_LIST(x, y, z))                                                    \
    REACTANT_MAKE(T, N##4, (T x, T y, T z, T w), REACTANT_LIST(x, y, z, w))
REACTANT_VECTORS(signed char, char, 1, 4)
REACTANT_VECTORS(unsigned char, uchar, 1, 4)
REACTANT_VECTORS(short, short, 2, 8)
REACTANT_VECTORS(unsigned short, ushort, 2, 8)
REACTANT_VECTORS(int, int, 4, 16)
REACTANT_VECTORS(unsigned int, uint, 4, 16)
REACTANT_VECTORS(long, long, 8, 16)
REACTANT_VECTORS(unsigned long, ulong, 8, 16)
REACTANT_VECTORS(long long, longlong, 8, 16)
REACTANT_VECTORS(unsigned long long, ulonglong, 8, 16)
REACTANT_VECTORS(float, float, 4, 16)
REACTANT_VECTORS(double, double, 8, 16)
struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
typedef struct dim3 dim3;
#endif
#endif
