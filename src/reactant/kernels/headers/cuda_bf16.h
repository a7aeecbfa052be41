// CUDA's bfloat16: stored in 16 bits, computed in float.
#pragma once
#include "reactant_names_aside.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat16 {
    __bf16 __v;
    __nv_bfloat16() = default;
    __attribute__((host, device)) constexpr __nv_bfloat16(const __nv_bfloat16_raw &r) : __v(__builtin_bit_cast(__bf16, r.x)) {}
    __attribute__((host, device)) constexpr operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__builtin_bit_cast(unsigned short, __v)}; }
    __attribute__((host, device)) __nv_bfloat16(float x) : __v((__bf16)x) {}
    __attribute__((host, device)) __nv_bfloat16(double x) : __v((__bf16)(float)x) {}
    __attribute__((host, device)) __nv_bfloat16(int x) : __v((__bf16)(float)x) {}
    __attribute__((host, device)) __nv_bfloat16(unsigned x) : __v((__bf16)(float)x) {}
    __attribute__((host, device)) __nv_bfloat16(long long x) : __v((__bf16)(float)x) {}
    __attribute__((host, device)) operator float() const { return (float)__v; }
};
typedef __nv_bfloat16 nv_bfloat16;
#define __RT_BF static __inline__ __attribute__((host, device, always_inline, unused))
#define __RT_BF_OPERATOR(N, O)                                                                                 \
    __RT_BF __nv_bfloat16 operator O(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { return __nv_bfloat16((float)a O (float)b); } \
    __RT_BF __nv_bfloat16 &operator O##=(__nv_bfloat16 &a, const __nv_bfloat16 &b) { a = a O b; return a; }    \
    __RT_BF __nv_bfloat16 __h##N(__nv_bfloat16 a, __nv_bfloat16 b) { return a O b; }
__RT_BF_OPERATOR(add, +) __RT_BF_OPERATOR(sub, -) __RT_BF_OPERATOR(mul, *) __RT_BF_OPERATOR(div, /)
#define __RT_BF_COMPARISON(O) __RT_BF bool operator O(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { return (float)a O (float)b; }
__RT_BF_COMPARISON(==) __RT_BF_COMPARISON(!=) __RT_BF_COMPARISON(<) __RT_BF_COMPARISON(<=) __RT_BF_COMPARISON(>) __RT_BF_COMPARISON(>=)
__RT_BF __nv_bfloat16 operator-(const __nv_bfloat16 &a) { return __nv_bfloat16(-(float)a); }
__RT_BF __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
__RT_BF __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
__RT_BF float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
__RT_BF __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
__RT_BF __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
__RT_BF __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return __nv_bfloat16(x); }
__RT_BF unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return __builtin_bit_cast(unsigned short, x); }
__RT_BF short __bfloat16_as_short(__nv_bfloat16 x) { return __builtin_bit_cast(short, x); }
__RT_BF __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __builtin_bit_cast(__nv_bfloat16, x); }
__RT_BF __nv_bfloat16 __short_as_bfloat16(short x) { return __builtin_bit_cast(__nv_bfloat16, x); }
#define __RT_BF_D static __inline__ __attribute__((device, always_inline, unused))
#define __RT_BF_ROUNDED(M, R)                                                                                  \
    __RT_BF_D int __bfloat162int_##M(__nv_bfloat16 x) { return (int)R((float)x); }                             \
    __RT_BF_D unsigned __bfloat162uint_##M(__nv_bfloat16 x) { return (unsigned)R((float)x); }
__RT_BF_ROUNDED(rn, rintf) __RT_BF_ROUNDED(rd, floorf) __RT_BF_ROUNDED(ru, ceilf) __RT_BF_ROUNDED(rz, truncf)
__RT_BF __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
__RT_BF_D __nv_bfloat16 __habs(__nv_bfloat16 a) { return fabsf(a); }
__RT_BF_D __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return fmaf(a, b, c); }
__RT_BF_D __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return fmaxf(a, b); }
__RT_BF_D __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return fminf(a, b); }
__RT_BF bool __hisnan(__nv_bfloat16 a) { return a != a; }
__RT_BF int __hisinf(__nv_bfloat16 a) { float f = a; return __builtin_isinf(f) ? (f > 0 ? 1 : -1) : 0; }
#define __RT_BF_TEST(N, O) __RT_BF bool __h##N(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a O (float)b; }
__RT_BF_TEST(eq, ==) __RT_BF_TEST(lt, <) __RT_BF_TEST(le, <=) __RT_BF_TEST(gt, >) __RT_BF_TEST(ge, >=)
__RT_BF bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b || a > b; }
#define __RT_BF_UNARY(N) __RT_BF_D __nv_bfloat16 h##N(__nv_bfloat16 a) { return N##f((float)a); }
__RT_BF_UNARY(sin) __RT_BF_UNARY(cos) __RT_BF_UNARY(exp) __RT_BF_UNARY(exp2) __RT_BF_UNARY(exp10)
__RT_BF_UNARY(log) __RT_BF_UNARY(log2) __RT_BF_UNARY(log10) __RT_BF_UNARY(sqrt) __RT_BF_UNARY(rsqrt)
__RT_BF_UNARY(floor) __RT_BF_UNARY(ceil) __RT_BF_UNARY(trunc) __RT_BF_UNARY(rint) __RT_BF_UNARY(tanh)
__RT_BF_D __nv_bfloat16 hrcp(__nv_bfloat16 a) { return 1.0f / (float)a; }
#define __RT_BF_SHUFFLE(N, T)                                                                                  \
    __RT_BF_D __nv_bfloat16 N(unsigned mask, __nv_bfloat16 v, T lane, int width = 32) {                        \
        return __ushort_as_bfloat16((unsigned short)N(mask, (int)__bfloat16_as_ushort(v), lane, width));       \
    }
__RT_BF_SHUFFLE(__shfl_sync, int) __RT_BF_SHUFFLE(__shfl_up_sync, unsigned)
__RT_BF_SHUFFLE(__shfl_down_sync, unsigned) __RT_BF_SHUFFLE(__shfl_xor_sync, int)

struct __attribute__((aligned(4))) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __nv_bfloat162 nv_bfloat162;
__RT_BF __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { __nv_bfloat162 r; r.x = x; r.y = y; return r; }
__RT_BF __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return make_bfloat162(x, y); }
__RT_BF __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return make_bfloat162(x, x); }
__RT_BF __nv_bfloat162 __float2bfloat162_rn(float x) { return make_bfloat162(x, x); }
__RT_BF __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return make_bfloat162(x, y); }
__RT_BF __nv_bfloat162 __float22bfloat162_rn(float2 v) { return make_bfloat162(v.x, v.y); }
__RT_BF float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2((float)v.x, (float)v.y); }
__RT_BF __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
__RT_BF __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
__RT_BF float __low2float(__nv_bfloat162 v) { return (float)v.x; }
__RT_BF float __high2float(__nv_bfloat162 v) { return (float)v.y; }
#define __RT_BF2(N, O)                                                                                         \
    __RT_BF __nv_bfloat162 __h##N##2(__nv_bfloat162 a, __nv_bfloat162 b) { return make_bfloat162(a.x O b.x, a.y O b.y); } \
    __RT_BF __nv_bfloat162 operator O(const __nv_bfloat162 &a, const __nv_bfloat162 &b) { return make_bfloat162(a.x O b.x, a.y O b.y); } \
    __RT_BF __nv_bfloat162 &operator O##=(__nv_bfloat162 &a, const __nv_bfloat162 &b) { a = a O b; return a; }
__RT_BF2(add, +) __RT_BF2(sub, -) __RT_BF2(mul, *)
__RT_BF __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return make_bfloat162(a.x / b.x, a.y / b.y); }
#define __RT_BF2_BOTH(N) __RT_BF_D __nv_bfloat162 __h##N##2(__nv_bfloat162 a, __nv_bfloat162 b) { return make_bfloat162(__h##N(a.x, b.x), __h##N(a.y, b.y)); }
__RT_BF2_BOTH(max) __RT_BF2_BOTH(min)
__RT_BF_D __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return make_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
#include "reactant_names_back.h"
