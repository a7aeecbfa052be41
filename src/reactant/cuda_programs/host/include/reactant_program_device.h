// What device code of whole programs has beyond reactant_cuda.h: clocks, textures and surfaces, launch bounds.
#pragma once
#include "reactant_names_aside.h"

#undef __launch_bounds__
#define __RT_FIRST_OF(first, ...) first
#define __launch_bounds__(...) __attribute__((launch_bounds(__RT_FIRST_OF(__VA_ARGS__, 0))))

// ---- clocks ----
extern "C" __device__ __inline__ __attribute__((always_inline)) clock_t clock(void) noexcept { return (clock_t)__nvvm_read_ptx_sreg_clock64(); }
__RT_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
__RT_DEVICE unsigned long long globaltimer() { return __nvvm_read_ptx_sreg_globaltimer(); }
__RT_DEVICE unsigned __pm0() { return 0; }

// ---- placement, and addresses of one kind of memory: all are the same here ----
__device__ inline void *operator new(size_t, void *at) noexcept { return at; }
__device__ inline void *operator new[](size_t, void *at) noexcept { return at; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
#define __RT_SPACE(NAME)                                                                                       \
    __RT_DEVICE size_t __cvta_generic_to_##NAME(const void *p) { return (size_t)p; }                           \
    __RT_DEVICE void *__cvta_##NAME##_to_generic(size_t p) { return (void *)p; }
__RT_SPACE(shared) __RT_SPACE(global) __RT_SPACE(local) __RT_SPACE(constant)

// ---- kernels that launch kernels: a launch is over when it returns, and so there is nothing to wait for ----
#ifdef __CUDACC_RDC__
extern "C" {
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t bytes);
__device__ cudaError_t cudaLaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block, unsigned int shared, cudaStream_t stream);
__device__ inline cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
__device__ cudaError_t cudaGetLastError(void);
__device__ cudaError_t cudaPeekAtLastError(void);
__device__ inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) { return *stream = 0, flags == cudaStreamNonBlocking ? cudaSuccess : cudaErrorInvalidValue; }
__device__ inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
}
#define cudaStreamFireAndForget ((cudaStream_t)0x4)
#endif

// ---- textures: the runtime answers with four elements, floats or 32-bit integers ----
extern "C" {
__device__ void reactant_texture(unsigned long long, int, float, float, float, int, float, void *);
__device__ void reactant_texture_fetch(unsigned long long, long long, void *);
__device__ void reactant_texture_gather(unsigned long long, float, float, int, void *);
__device__ void *reactant_surface(unsigned long long, int, long long, long long, long long, int, unsigned long long, int);
}
union __rt_four { float real[4]; int number[4]; };
template <class T> struct __rt_texel;
#define __RT_TEXEL_OF(T, N, FIELD)                                                                             \
    template <> struct __rt_texel<T> { __RT_DEVICE_MEMBER static T of(const __rt_four &f) { return (T)f.FIELD[0]; } };                 \
    template <> struct __rt_texel<N##1> { __RT_DEVICE_MEMBER static N##1 of(const __rt_four &f) { return make_##N##1((T)f.FIELD[0]); } }; \
    template <> struct __rt_texel<N##2> { __RT_DEVICE_MEMBER static N##2 of(const __rt_four &f) { return make_##N##2((T)f.FIELD[0], (T)f.FIELD[1]); } }; \
    template <> struct __rt_texel<N##4> { __RT_DEVICE_MEMBER static N##4 of(const __rt_four &f) {                 \
        return make_##N##4((T)f.FIELD[0], (T)f.FIELD[1], (T)f.FIELD[2], (T)f.FIELD[3]); } };
__RT_TEXEL_OF(float, float, real)
__RT_TEXEL_OF(signed char, char, number)
__RT_TEXEL_OF(unsigned char, uchar, number)
__RT_TEXEL_OF(short, short, number)
__RT_TEXEL_OF(unsigned short, ushort, number)
__RT_TEXEL_OF(int, int, number)
__RT_TEXEL_OF(unsigned int, uint, number)
template <> struct __rt_texel<char> { __RT_DEVICE_MEMBER static char of(const __rt_four &f) { return (char)f.number[0]; } };
template <class T> __RT_DEVICE T __rt_read_texture(unsigned long long texture, int kind, float x, float y, float z, int layer, float level) {
    __rt_four four;
    reactant_texture(texture, kind, x, y, z, layer, level, &four);
    return __rt_texel<T>::of(four);
}
#define __RT_TEXTURE(NAME, PARAMETERS, ARGUMENTS)                                                              \
    template <class T> __RT_DEVICE T NAME PARAMETERS { return __rt_read_texture<T> ARGUMENTS; }
#define __RT_TEXTURE_INTO(NAME, PARAMETERS, ARGUMENTS)                                                         \
    template <class T> __RT_DEVICE void NAME PARAMETERS { *to = __rt_read_texture<T> ARGUMENTS; }
#define __RT_TEXTURES(NAME, P, A) __RT_TEXTURE(NAME, (cudaTextureObject_t texture, __RT_ALL P), (texture, __RT_ALL A)) \
    __RT_TEXTURE_INTO(NAME, (T *to, cudaTextureObject_t texture, __RT_ALL P), (texture, __RT_ALL A))
#define __RT_ALL(...) __VA_ARGS__
__RT_TEXTURES(tex1D, (float x), (1, x, 0, 0, 0, 0))
__RT_TEXTURES(tex2D, (float x, float y), (2, x, y, 0, 0, 0))
__RT_TEXTURES(tex3D, (float x, float y, float z), (3, x, y, z, 0, 0))
__RT_TEXTURES(tex1DLayered, (float x, int layer), (4, x, 0, 0, layer, 0))
__RT_TEXTURES(tex2DLayered, (float x, float y, int layer), (5, x, y, 0, layer, 0))
__RT_TEXTURES(texCubemap, (float x, float y, float z), (6, x, y, z, 0, 0))
__RT_TEXTURES(texCubemapLayered, (float x, float y, float z, int layer), (7, x, y, z, layer, 0))
__RT_TEXTURES(tex1DLod, (float x, float level), (1, x, 0, 0, 0, level))
__RT_TEXTURES(tex2DLod, (float x, float y, float level), (2, x, y, 0, 0, level))
__RT_TEXTURES(tex3DLod, (float x, float y, float z, float level), (3, x, y, z, 0, level))
__RT_TEXTURES(tex2DLayeredLod, (float x, float y, int layer, float level), (5, x, y, 0, layer, level))
template <class T> __RT_DEVICE T tex1Dfetch(cudaTextureObject_t texture, int index) {
    __rt_four four;
    reactant_texture_fetch(texture, index, &four);
    return __rt_texel<T>::of(four);
}
template <class T> __RT_DEVICE void tex1Dfetch(T *to, cudaTextureObject_t texture, int index) { *to = tex1Dfetch<T>(texture, index); }
template <class T> __RT_DEVICE T tex2Dgather(cudaTextureObject_t texture, float x, float y, int component = 0) {
    __rt_four four;
    reactant_texture_gather(texture, x, y, component, &four);
    return __rt_texel<T>::of(four);
}

// ---- surfaces: x in bytes ----
#define __RT_SURFACE(DIMENSIONS, KIND, PARAMETERS, X, Y, Z, LAYER)                                             \
    template <class T> __RT_DEVICE T surf##DIMENSIONS##read(cudaSurfaceObject_t surface, __RT_ALL PARAMETERS,  \
                                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        const T *at = (const T *)reactant_surface(surface, KIND, X, Y, Z, LAYER, sizeof(T), (int)mode == 2 ? 0 : (int)mode == 1 ? 1 : 2); \
        return at ? *at : T();                                                                                 \
    }                                                                                                          \
    template <class T> __RT_DEVICE void surf##DIMENSIONS##read(T *to, cudaSurfaceObject_t surface, __RT_ALL PARAMETERS, \
                                                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        const T *at = (const T *)reactant_surface(surface, KIND, X, Y, Z, LAYER, sizeof(T), (int)mode == 2 ? 0 : (int)mode == 1 ? 1 : 2); \
        *to = at ? *at : T();                                                                                  \
    }                                                                                                          \
    template <class T> __RT_DEVICE void surf##DIMENSIONS##write(T value, cudaSurfaceObject_t surface, __RT_ALL PARAMETERS, \
                                                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
        T *at = (T *)reactant_surface(surface, KIND, X, Y, Z, LAYER, sizeof(T), (int)mode == 2 ? 0 : (int)mode == 1 ? 1 : 2); \
        if (at) *at = value;                                                                                   \
    }
__RT_SURFACE(1D, 1, (int x), x, 0, 0, 0)
__RT_SURFACE(2D, 2, (int x, int y), x, y, 0, 0)
__RT_SURFACE(3D, 3, (int x, int y, int z), x, y, z, 0)
__RT_SURFACE(1DLayered, 4, (int x, int layer), x, 0, 0, layer)
__RT_SURFACE(2DLayered, 5, (int x, int y, int layer), x, y, 0, layer)

// ---- reductions of warps in one step ----
#define __RT_REDUCED(NAME, SYMBOL, T)                                                                          \
    extern "C" __attribute__((device, convergent)) unsigned __rt_reduce_##SYMBOL(unsigned, unsigned) __asm__("reactant.reduce." NAME);
__RT_REDUCED("add", add, unsigned) __RT_REDUCED("min.i", min_i, int) __RT_REDUCED("max.i", max_i, int)
__RT_REDUCED("min.u", min_u, unsigned) __RT_REDUCED("max.u", max_u, unsigned) __RT_REDUCED("and", and, unsigned)
__RT_REDUCED("or", or, unsigned) __RT_REDUCED("xor", xor, unsigned)
__RT_DEVICE int __reduce_add_sync(unsigned mask, int v) { return (int)__rt_reduce_add(mask, (unsigned)v); }
__RT_DEVICE unsigned __reduce_add_sync(unsigned mask, unsigned v) { return __rt_reduce_add(mask, v); }
__RT_DEVICE int __reduce_min_sync(unsigned mask, int v) { return (int)__rt_reduce_min_i(mask, (unsigned)v); }
__RT_DEVICE unsigned __reduce_min_sync(unsigned mask, unsigned v) { return __rt_reduce_min_u(mask, v); }
__RT_DEVICE int __reduce_max_sync(unsigned mask, int v) { return (int)__rt_reduce_max_i(mask, (unsigned)v); }
__RT_DEVICE unsigned __reduce_max_sync(unsigned mask, unsigned v) { return __rt_reduce_max_u(mask, v); }
__RT_DEVICE unsigned __reduce_and_sync(unsigned mask, unsigned v) { return __rt_reduce_and(mask, v); }
__RT_DEVICE unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __rt_reduce_or(mask, v); }
__RT_DEVICE unsigned __reduce_xor_sync(unsigned mask, unsigned v) { return __rt_reduce_xor(mask, v); }
#include "reactant_names_back.h"
