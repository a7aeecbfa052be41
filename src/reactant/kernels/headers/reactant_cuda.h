// The CUDA language for clang without a CUDA toolkit: keywords, built-in variables, vector types, atomics, warps, mathematics.
// Included before every CUDA source. What threads do together goes to functions named reactant.*, which later steps know.
#pragma once
#include "reactant_names_aside.h"
#define __REACTANT__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __forceinline__ __inline__ __attribute__((always_inline))
#ifdef __REACTANT_PROGRAM__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#else
#define __launch_bounds__(...)
#endif
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__ const
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define __NVCC__ 1

#define __RT_DEVICE static __inline__ __attribute__((device, always_inline, unused))
#define __RT_DEVICE_MEMBER __inline__ __attribute__((device, always_inline))
#define __RT_BOTH static __inline__ __attribute__((host, device, always_inline, unused))

typedef __SIZE_TYPE__ size_t;

// ---- vector types ----
#define __RT_VECTOR(T, N, A)                                                                                   \
    struct __attribute__((aligned(A))) N##1 { T x; };                                                          \
    __RT_BOTH N##1 make_##N##1(T x) { N##1 r; r.x = x; return r; }
#define __RT_VECTOR2(T, N, A)                                                                                  \
    struct __attribute__((aligned(A))) N##2 { T x, y; };                                                       \
    __RT_BOTH N##2 make_##N##2(T x, T y) { N##2 r; r.x = x; r.y = y; return r; }
#define __RT_VECTOR3(T, N, A)                                                                                  \
    struct __attribute__((aligned(A))) N##3 { T x, y, z; };                                                    \
    __RT_BOTH N##3 make_##N##3(T x, T y, T z) { N##3 r; r.x = x; r.y = y; r.z = z; return r; }
#define __RT_VECTOR4(T, N, A)                                                                                  \
    struct __attribute__((aligned(A))) N##4 { T x, y, z, w; };                                                 \
    __RT_BOTH N##4 make_##N##4(T x, T y, T z, T w) { N##4 r; r.x = x; r.y = y; r.z = z; r.w = w; return r; }
#define __RT_VECTORS(T, N, S, A4) __RT_VECTOR(T, N, S) __RT_VECTOR2(T, N, 2 * S) __RT_VECTOR3(T, N, S) __RT_VECTOR4(T, N, A4)
__RT_VECTORS(signed char, char, 1, 4)
__RT_VECTORS(unsigned char, uchar, 1, 4)
__RT_VECTORS(short, short, 2, 8)
__RT_VECTORS(unsigned short, ushort, 2, 8)
__RT_VECTORS(int, int, 4, 16)
__RT_VECTORS(unsigned int, uint, 4, 16)
__RT_VECTORS(long, long, 8, 16)
__RT_VECTORS(unsigned long, ulong, 8, 16)
__RT_VECTORS(long long, longlong, 8, 16)
__RT_VECTORS(unsigned long long, ulonglong, 8, 16)
__RT_VECTORS(float, float, 4, 16)
__RT_VECTORS(double, double, 8, 16)

struct dim3 {
    unsigned int x, y, z;
    __attribute__((host, device)) constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    __attribute__((host, device)) constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __attribute__((host, device)) constexpr operator uint3() const { return uint3{x, y, z}; }
};

// ---- built-in variables ----
#define __RT_REGISTER(F, R)                                                                                    \
    __declspec(property(get = __get_##F)) unsigned int F;                                                      \
    static __inline__ __attribute__((device, always_inline)) unsigned int __get_##F(void) { return __nvvm_read_ptx_sreg_##R(); }
#define __RT_REGISTERS(T, R)                                                                                   \
    struct T {                                                                                                 \
        __RT_REGISTER(x, R##_x) __RT_REGISTER(y, R##_y) __RT_REGISTER(z, R##_z)                                \
        __device__ operator dim3() const { return dim3(x, y, z); }                                             \
        __device__ operator uint3() const { return make_uint3(x, y, z); }                                      \
    };
__RT_REGISTERS(__rt_thread_index, tid)
__RT_REGISTERS(__rt_block_index, ctaid)
__RT_REGISTERS(__rt_block_size, ntid)
__RT_REGISTERS(__rt_grid_size, nctaid)
extern const __device__ __attribute__((weak)) __rt_thread_index threadIdx;
extern const __device__ __attribute__((weak)) __rt_block_index blockIdx;
extern const __device__ __attribute__((weak)) __rt_block_size blockDim;
extern const __device__ __attribute__((weak)) __rt_grid_size gridDim;
__attribute__((device)) constexpr int warpSize = 32;

// ---- barriers and fences ----
extern "C" {
__attribute__((device, convergent)) int __rt_barrier_count(int) __asm__("reactant.barrier.count");
__attribute__((device, convergent)) int __rt_barrier_and(int) __asm__("reactant.barrier.and");
__attribute__((device, convergent)) int __rt_barrier_or(int) __asm__("reactant.barrier.or");
__attribute__((device, convergent)) void __rt_barrier_warp(unsigned) __asm__("reactant.barrier.warp");
__attribute__((device, convergent)) void __rt_barrier_grid() __asm__("reactant.barrier.grid");
__attribute__((device, convergent)) unsigned __rt_activemask() __asm__("reactant.activemask");
__attribute__((device, convergent)) unsigned __rt_ballot(unsigned, bool) __asm__("reactant.vote.ballot");
__attribute__((device, convergent)) bool __rt_any(unsigned, bool) __asm__("reactant.vote.any");
__attribute__((device, convergent)) bool __rt_all(unsigned, bool) __asm__("reactant.vote.all");
__attribute__((device, convergent)) bool __rt_uni(unsigned, bool) __asm__("reactant.vote.uni");
__attribute__((device, convergent)) unsigned __rt_match32(unsigned, unsigned) __asm__("reactant.match.any.i32");
__attribute__((device, convergent)) unsigned __rt_match64(unsigned, unsigned long long) __asm__("reactant.match.any.i64");
__attribute__((device, convergent)) unsigned __rt_match_all32(unsigned, unsigned) __asm__("reactant.match.all.i32");
__attribute__((device, convergent)) unsigned __rt_match_all64(unsigned, unsigned long long) __asm__("reactant.match.all.i64");
}
__RT_DEVICE int __syncthreads_count(int p) { return __rt_barrier_count(p); }
__RT_DEVICE int __syncthreads_and(int p) { return __rt_barrier_and(p); }
__RT_DEVICE int __syncthreads_or(int p) { return __rt_barrier_or(p); }
__RT_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __rt_barrier_warp(mask); }
__RT_DEVICE void __threadfence() { __nvvm_membar_gl(); }
__RT_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
__RT_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
__RT_DEVICE void __nanosleep(unsigned) {}

// ---- warps ----
__RT_DEVICE unsigned __activemask() { return __rt_activemask(); }
__RT_DEVICE unsigned __ballot_sync(unsigned mask, int p) { return __rt_ballot(mask, p != 0); }
__RT_DEVICE int __any_sync(unsigned mask, int p) { return __rt_any(mask, p != 0); }
__RT_DEVICE int __all_sync(unsigned mask, int p) { return __rt_all(mask, p != 0); }
__RT_DEVICE int __uni_sync(unsigned mask, int p) { return __rt_uni(mask, p != 0); }
__RT_DEVICE unsigned __ballot(int p) { return __rt_ballot(0xffffffffu, p != 0); }
__RT_DEVICE int __any(int p) { return __rt_any(0xffffffffu, p != 0); }
__RT_DEVICE int __all(int p) { return __rt_all(0xffffffffu, p != 0); }

#define __RT_SHUFFLE_DECLARE(M, S, T)                                                                          \
    extern "C" __attribute__((device, convergent)) T __rt_shuffle_##M##_##S(unsigned, T, int, int)             \
        __asm__("reactant.shuffle." #M "." #S);
#define __RT_SHUFFLE_TYPES(M) __RT_SHUFFLE_DECLARE(M, i32, int) __RT_SHUFFLE_DECLARE(M, i64, long long)        \
    __RT_SHUFFLE_DECLARE(M, f32, float) __RT_SHUFFLE_DECLARE(M, f64, double)
__RT_SHUFFLE_TYPES(idx) __RT_SHUFFLE_TYPES(up) __RT_SHUFFLE_TYPES(down) __RT_SHUFFLE_TYPES(xor)
#define __RT_SHUFFLE(N, L, M, S, T, V)                                                                         \
    __RT_DEVICE T N##_sync(unsigned mask, T value, L lane, int width = 32) {                                   \
        return (T)__rt_shuffle_##M##_##S(mask, (V)value, (int)lane, width); }                                  \
    __RT_DEVICE T N(T value, L lane, int width = 32) {                                                         \
        return (T)__rt_shuffle_##M##_##S(0xffffffffu, (V)value, (int)lane, width); }
#define __RT_SHUFFLES(N, L, M)                                                                                 \
    __RT_SHUFFLE(N, L, M, i32, int, int) __RT_SHUFFLE(N, L, M, i32, unsigned int, int)                         \
    __RT_SHUFFLE(N, L, M, i64, long, long long) __RT_SHUFFLE(N, L, M, i64, unsigned long, long long)           \
    __RT_SHUFFLE(N, L, M, i64, long long, long long) __RT_SHUFFLE(N, L, M, i64, unsigned long long, long long) \
    __RT_SHUFFLE(N, L, M, f32, float, float) __RT_SHUFFLE(N, L, M, f64, double, double)
__RT_SHUFFLES(__shfl, int, idx)
__RT_SHUFFLES(__shfl_up, unsigned int, up)
__RT_SHUFFLES(__shfl_down, unsigned int, down)
__RT_SHUFFLES(__shfl_xor, int, xor)
#define __RT_MATCH(T, W)                                                                                       \
    __RT_DEVICE unsigned __match_any_sync(unsigned mask, T v) { T c = v; unsigned W##b = 0; (void)W##b;        \
        return sizeof(T) == 4 ? __rt_match32(mask, *(unsigned *)&c) : __rt_match64(mask, sizeof(T) == 4 ? 0 : *(unsigned long long *)&c); } \
    __RT_DEVICE unsigned __match_all_sync(unsigned mask, T v, int *p) { T c = v;                               \
        unsigned r = sizeof(T) == 4 ? __rt_match_all32(mask, *(unsigned *)&c) : __rt_match_all64(mask, sizeof(T) == 4 ? 0 : *(unsigned long long *)&c); \
        *p = r != 0; return r; }
__RT_MATCH(int, a) __RT_MATCH(unsigned int, a) __RT_MATCH(float, a)
__RT_MATCH(long, a) __RT_MATCH(unsigned long, a) __RT_MATCH(long long, a) __RT_MATCH(unsigned long long, a) __RT_MATCH(double, a)
#ifndef __REACTANT_PROGRAM__
#define __RT_WARP_REDUCE(N, T, E)                                                                              \
    __RT_DEVICE T __reduce_##N##_sync(unsigned mask, T v) {                                                    \
        T r = 0; bool first = true;                                                                            \
        for (int lane = 0; lane < 32; ++lane) {                                                                \
            T o = __shfl_sync(mask, v, lane);                                                                  \
            if (mask >> lane & 1) { r = first ? o : (T)(E); first = false; }                                   \
        }                                                                                                      \
        return r; }
__RT_WARP_REDUCE(add, int, r + o) __RT_WARP_REDUCE(add, unsigned, r + o)
__RT_WARP_REDUCE(min, int, o < r ? o : r) __RT_WARP_REDUCE(min, unsigned, o < r ? o : r)
__RT_WARP_REDUCE(max, int, o > r ? o : r) __RT_WARP_REDUCE(max, unsigned, o > r ? o : r)
__RT_WARP_REDUCE(and, unsigned, r & o) __RT_WARP_REDUCE(or, unsigned, r | o) __RT_WARP_REDUCE(xor, unsigned, r ^ o)
#endif

// ---- atomics ----
#define __RT_ATOMIC(N, B, T)                                                                                   \
    __RT_DEVICE T N(T *p, T v) { return B(p, v, __ATOMIC_RELAXED); }                                           \
    __RT_DEVICE T N##_block(T *p, T v) { return B(p, v, __ATOMIC_RELAXED); }                                   \
    __RT_DEVICE T N##_system(T *p, T v) { return B(p, v, __ATOMIC_RELAXED); }
#define __RT_ATOMIC_INTEGERS(N, B) __RT_ATOMIC(N, B, int) __RT_ATOMIC(N, B, unsigned int)                      \
    __RT_ATOMIC(N, B, long) __RT_ATOMIC(N, B, unsigned long) __RT_ATOMIC(N, B, long long) __RT_ATOMIC(N, B, unsigned long long)
__RT_ATOMIC_INTEGERS(atomicAdd, __atomic_fetch_add)
__RT_ATOMIC(atomicAdd, __atomic_fetch_add, float)
__RT_ATOMIC(atomicAdd, __atomic_fetch_add, double)
__RT_ATOMIC_INTEGERS(atomicSub, __atomic_fetch_sub)
__RT_ATOMIC_INTEGERS(atomicMin, __atomic_fetch_min)
__RT_ATOMIC_INTEGERS(atomicMax, __atomic_fetch_max)
__RT_ATOMIC_INTEGERS(atomicAnd, __atomic_fetch_and)
__RT_ATOMIC_INTEGERS(atomicOr, __atomic_fetch_or)
__RT_ATOMIC_INTEGERS(atomicXor, __atomic_fetch_xor)
__RT_ATOMIC_INTEGERS(atomicExch, __atomic_exchange_n)
#define __RT_ATOMIC_SCOPED(T, N, BODY)                                                                         \
    __RT_DEVICE T N(T *p, T v) BODY __RT_DEVICE T N##_block(T *p, T v) BODY __RT_DEVICE T N##_system(T *p, T v) BODY
#define __RT_EXCHANGE { __typeof__(v) r; __atomic_exchange(p, &v, &r, __ATOMIC_RELAXED); return r; }
__RT_ATOMIC_SCOPED(float, atomicExch, __RT_EXCHANGE)
__RT_ATOMIC_SCOPED(double, atomicExch, __RT_EXCHANGE)
__RT_ATOMIC_SCOPED(unsigned, atomicInc, { return __nvvm_atom_inc_gen_ui(p, v); })
__RT_ATOMIC_SCOPED(unsigned, atomicDec, { return __nvvm_atom_dec_gen_ui(p, v); })
#define __RT_CAS(T)                                                                                            \
    __RT_DEVICE T atomicCAS(T *p, T compare, T v) {                                                            \
        __atomic_compare_exchange_n(p, &compare, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return compare; } \
    __RT_DEVICE T atomicCAS_block(T *p, T compare, T v) { return atomicCAS(p, compare, v); }                   \
    __RT_DEVICE T atomicCAS_system(T *p, T compare, T v) { return atomicCAS(p, compare, v); }
__RT_CAS(int) __RT_CAS(unsigned int) __RT_CAS(long) __RT_CAS(unsigned long) __RT_CAS(long long) __RT_CAS(unsigned long long) __RT_CAS(unsigned short)

// ---- reads that bypass or prefer a cache, and address spaces ----
#define __RT_READ(N) template <class T> __RT_DEVICE T N(const T *p) { return *p; }
__RT_READ(__ldg) __RT_READ(__ldcg) __RT_READ(__ldca) __RT_READ(__ldcs) __RT_READ(__ldlu) __RT_READ(__ldcv)
#define __RT_WRITE(N) template <class T> __RT_DEVICE void N(T *p, T v) { *p = v; }
__RT_WRITE(__stwb) __RT_WRITE(__stcg) __RT_WRITE(__stcs) __RT_WRITE(__stwt)

// ---- integers ----
__RT_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
__RT_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__RT_DEVICE int __clz(int x) { return __builtin_clzg((unsigned)x, 32); }
__RT_DEVICE int __clzll(long long x) { return __builtin_clzg((unsigned long long)x, 64); }
__RT_DEVICE int __ffs(int x) { return x ? __builtin_ctz((unsigned)x) + 1 : 0; }
__RT_DEVICE int __ffsll(long long x) { return x ? __builtin_ctzll((unsigned long long)x) + 1 : 0; }
__RT_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__RT_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__RT_DEVICE int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__RT_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__RT_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__RT_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
__RT_DEVICE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
__RT_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)(((unsigned __int128)a * b) >> 64); }
__RT_DEVICE int __sad(int a, int b, unsigned c) { return (int)((a > b ? (unsigned)a - b : (unsigned)b - a) + c); }
__RT_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
__RT_DEVICE int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
__RT_DEVICE unsigned __uhadd(unsigned a, unsigned b) { return (a & b) + ((a ^ b) >> 1); }
__RT_DEVICE int __rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
__RT_DEVICE unsigned __urhadd(unsigned a, unsigned b) { return (a | b) - ((a ^ b) >> 1); }
template <class B> __RT_DEVICE int __rt_dot4(int a, int b, int c) {
    for (int k = 0; k < 32; k += 8) c += (int)(B)(a >> k) * (int)(B)(b >> k);
    return c;
}
__RT_DEVICE int __dp4a(int a, int b, int c) { return __rt_dot4<signed char>(a, b, c); }
__RT_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return __rt_dot4<unsigned char>(a, b, c); }
__RT_DEVICE int __dp2a_lo(int a, int b, int c) { return c + (short)a * (signed char)b + (a >> 16) * (signed char)(b >> 8); }
__RT_DEVICE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
__RT_DEVICE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { return c + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255); }
__RT_DEVICE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }

// numbers of 8 or 16 bits in one word; `x` and `y` are those of one place
#define __RT_LANES(NAME, T, BITS, VALUE)                                                                       \
    __RT_DEVICE unsigned NAME(unsigned a, unsigned b) {                                                        \
        unsigned r = 0;                                                                                        \
        for (int k = 0; k < 32; k += BITS) {                                                                   \
            int x = (T)(a >> k), y = (T)(b >> k);                                                              \
            r |= ((unsigned)(VALUE) & ((1u << BITS) - 1)) << k;                                                \
        }                                                                                                      \
        return r;                                                                                              \
    }
#define __RT_LIMITED(V, LO, HI) ((V) < (LO) ? (LO) : (V) > (HI) ? (HI) : (V))
#define __RT_LANES_COMPARED(N, W, BITS, T, O) __RT_LANES(__vcmp##N##W, T, BITS, x O y ? -1 : 0) __RT_LANES(__vset##N##W, T, BITS, x O y)
#define __RT_LANES_ALL(W, BITS, S, U)                                                                          \
    __RT_LANES(__vadd##W, U, BITS, x + y) __RT_LANES(__vsub##W, U, BITS, x - y)                                \
    __RT_LANES(__vaddss##W, S, BITS, __RT_LIMITED(x + y, -(1 << (BITS - 1)), (1 << (BITS - 1)) - 1))           \
    __RT_LANES(__vsubss##W, S, BITS, __RT_LIMITED(x - y, -(1 << (BITS - 1)), (1 << (BITS - 1)) - 1))           \
    __RT_LANES(__vaddus##W, U, BITS, __RT_LIMITED(x + y, 0, (1 << BITS) - 1))                                  \
    __RT_LANES(__vsubus##W, U, BITS, __RT_LIMITED(x - y, 0, (1 << BITS) - 1))                                  \
    __RT_LANES(__vavgs##W, S, BITS, (x + y + (x + y >= 0)) >> 1) __RT_LANES(__vavgu##W, U, BITS, (x + y + 1) >> 1)                  \
    __RT_LANES(__vhaddu##W, U, BITS, (x + y) >> 1)                                                             \
    __RT_LANES(__vabsdiffs##W, S, BITS, x > y ? x - y : y - x) __RT_LANES(__vabsdiffu##W, U, BITS, x > y ? x - y : y - x) \
    __RT_LANES(__vmaxs##W, S, BITS, x > y ? x : y) __RT_LANES(__vmaxu##W, U, BITS, x > y ? x : y)              \
    __RT_LANES(__vmins##W, S, BITS, x < y ? x : y) __RT_LANES(__vminu##W, U, BITS, x < y ? x : y)              \
    __RT_LANES_COMPARED(eq, W, BITS, U, ==) __RT_LANES_COMPARED(ne, W, BITS, U, !=)                            \
    __RT_LANES_COMPARED(ges, W, BITS, S, >=) __RT_LANES_COMPARED(geu, W, BITS, U, >=)                          \
    __RT_LANES_COMPARED(gts, W, BITS, S, >) __RT_LANES_COMPARED(gtu, W, BITS, U, >)                            \
    __RT_LANES_COMPARED(les, W, BITS, S, <=) __RT_LANES_COMPARED(leu, W, BITS, U, <=)                          \
    __RT_LANES_COMPARED(lts, W, BITS, S, <) __RT_LANES_COMPARED(ltu, W, BITS, U, <)                            \
    __RT_DEVICE unsigned __vneg##W(unsigned a) { return __vsub##W(0, a); }                                     \
    __RT_DEVICE unsigned __vnegss##W(unsigned a) { return __vsubss##W(0, a); }                                 \
    __RT_DEVICE unsigned __vabs##W(unsigned a) { return __vabsdiffs##W(a, 0); }                                \
    __RT_DEVICE unsigned __vabsss##W(unsigned a) { return __vmaxs##W(a, __vnegss##W(a)); }                     \
    __RT_DEVICE unsigned __rt_sum##W(unsigned a) {                                                             \
        unsigned s = 0;                                                                                        \
        for (int k = 0; k < 32; k += BITS) s += (U)(a >> k);                                                   \
        return s;                                                                                              \
    }                                                                                                          \
    __RT_DEVICE unsigned __vsads##W(unsigned a, unsigned b) { return __rt_sum##W(__vabsdiffs##W(a, b)); }      \
    __RT_DEVICE unsigned __vsadu##W(unsigned a, unsigned b) { return __rt_sum##W(__vabsdiffu##W(a, b)); }
__RT_LANES_ALL(2, 16, short, unsigned short) __RT_LANES_ALL(4, 8, signed char, unsigned char)
__RT_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long v = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) r |= (unsigned)(v >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
__RT_DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) { s &= 31; return s ? hi << s | lo >> (32 - s) : hi; }
__RT_DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) { s &= 31; return s ? lo >> s | hi << (32 - s) : lo; }
__RT_DEVICE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned s) { return s < 32 ? __funnelshift_l(lo, hi, s) : lo; }
__RT_DEVICE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned s) { return s < 32 ? __funnelshift_r(lo, hi, s) : hi; }

#define __RT_MINMAX(A, B, R)                                                                                   \
    __RT_DEVICE R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                                          \
    __RT_DEVICE R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
#define __RT_MINMAX2(A, B, R) __RT_MINMAX(A, B, R) __RT_MINMAX(B, A, R)
__RT_MINMAX(int, int, int) __RT_MINMAX(unsigned, unsigned, unsigned) __RT_MINMAX(long, long, long)
__RT_MINMAX(unsigned long, unsigned long, unsigned long) __RT_MINMAX(long long, long long, long long)
__RT_MINMAX(unsigned long long, unsigned long long, unsigned long long)
__RT_MINMAX2(int, unsigned, unsigned) __RT_MINMAX2(int, long, long) __RT_MINMAX2(int, long long, long long)
__RT_MINMAX2(int, unsigned long, unsigned long) __RT_MINMAX2(int, unsigned long long, unsigned long long)
__RT_MINMAX2(unsigned, long, long) __RT_MINMAX2(unsigned, unsigned long, unsigned long)
__RT_MINMAX2(unsigned, long long, long long) __RT_MINMAX2(unsigned, unsigned long long, unsigned long long)
__RT_MINMAX2(long, unsigned long, unsigned long) __RT_MINMAX2(long, long long, long long)
__RT_MINMAX2(long long, unsigned long long, unsigned long long) __RT_MINMAX2(unsigned long, unsigned long long, unsigned long long)
__RT_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
__RT_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
__RT_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
__RT_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }
#define __RT_MINMAX_FLOAT(A, B, R)                                                                             \
    __RT_DEVICE R min(A a, B b) { return min((R)a, (R)b); } __RT_DEVICE R max(A a, B b) { return max((R)a, (R)b); } \
    __RT_DEVICE R min(B a, A b) { return min((R)a, (R)b); } __RT_DEVICE R max(B a, A b) { return max((R)a, (R)b); }
__RT_MINMAX_FLOAT(float, double, double) __RT_MINMAX_FLOAT(int, float, float) __RT_MINMAX_FLOAT(int, double, double)
__RT_MINMAX_FLOAT(unsigned, float, float) __RT_MINMAX_FLOAT(unsigned, double, double)
__RT_DEVICE unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
__RT_DEVICE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
__RT_DEVICE long long llmin(long long a, long long b) { return b < a ? b : a; }
__RT_DEVICE long long llmax(long long a, long long b) { return a < b ? b : a; }
__RT_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
__RT_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
__RT_DEVICE int abs(int x) { return x < 0 ? -x : x; }
__RT_DEVICE long labs(long x) { return x < 0 ? -x : x; }
__RT_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }
__RT_DEVICE long abs(long x) { return x < 0 ? -x : x; }
__RT_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
__RT_DEVICE float abs(float x) { return __builtin_fabsf(x); }
__RT_DEVICE double abs(double x) { return __builtin_fabs(x); }

#include "reactant_cuda_math.h"

// ---- refused later, with the kernel's line ----
extern "C" {
__attribute__((device)) int printf(const char *, ...);
__attribute__((device)) void *malloc(size_t);
__attribute__((device)) void free(void *);
}
extern "C" {
__attribute__((device, always_inline)) inline void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
__attribute__((device, always_inline)) inline void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
__attribute__((device, always_inline)) inline void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }
}

// ---- the host side of a file: declared, never run ----
extern "C" __attribute__((host, device)) void __reactant_assertion(const char *);
extern "C" __attribute__((device)) void __reactant_trap(void);
#define __trap() __reactant_trap()
#define __brkpt() __reactant_trap()
#include "assert.h"
#ifndef __REACTANT_PROGRAM__
typedef struct CUstream_st *cudaStream_t;
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, struct CUstream_st * = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, struct CUstream_st * = 0);
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#endif
#include "cuda_runtime.h"
#include "reactant_names_back.h"
