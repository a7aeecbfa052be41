// CUDA's half precision: __half, __half2, their operators and functions, on the compiler's own 16-bit floats.
#pragma once
#include "reactant_names_aside.h"

struct __half_raw { unsigned short x; };
struct __half {
    _Float16 __v;
    __half() = default;
    __attribute__((host, device)) constexpr __half(const __half_raw &r) : __v(__builtin_bit_cast(_Float16, r.x)) {}
#define __RT_HALF_FROM(T) __attribute__((host, device)) constexpr __half(T x) : __v((_Float16)x) {}
    __RT_HALF_FROM(float) __RT_HALF_FROM(double) __RT_HALF_FROM(short) __RT_HALF_FROM(unsigned short) __RT_HALF_FROM(int)
    __RT_HALF_FROM(unsigned) __RT_HALF_FROM(long) __RT_HALF_FROM(unsigned long) __RT_HALF_FROM(long long)
    __RT_HALF_FROM(unsigned long long) __RT_HALF_FROM(_Float16)
    __attribute__((host, device)) constexpr operator float() const { return (float)__v; }
#define __RT_HALF_TO(T) __attribute__((host, device)) explicit constexpr operator T() const { return (T)(float)__v; }
    __RT_HALF_TO(bool) __RT_HALF_TO(char) __RT_HALF_TO(signed char) __RT_HALF_TO(unsigned char) __RT_HALF_TO(short)
    __RT_HALF_TO(unsigned short) __RT_HALF_TO(int) __RT_HALF_TO(unsigned) __RT_HALF_TO(long) __RT_HALF_TO(unsigned long)
    __RT_HALF_TO(long long) __RT_HALF_TO(unsigned long long)
    __attribute__((host, device)) constexpr operator __half_raw() const { return __half_raw{__builtin_bit_cast(unsigned short, __v)}; }
};
typedef __half half;
typedef __half nv_half;
#define __RT_H static __inline__ __attribute__((host, device, always_inline, unused))
__RT_H __half __rt_half(_Float16 v) { __half h; h.__v = v; return h; }

#define __RT_HALF_OPERATOR(O)                                                                                  \
    __RT_H __half operator O(const __half &a, const __half &b) { return __rt_half((_Float16)(a.__v O b.__v)); } \
    __RT_H __half &operator O##=(__half &a, const __half &b) { a.__v = (_Float16)(a.__v O b.__v); return a; }
__RT_HALF_OPERATOR(+) __RT_HALF_OPERATOR(-) __RT_HALF_OPERATOR(*) __RT_HALF_OPERATOR(/)
#define __RT_HALF_COMPARISON(O) __RT_H bool operator O(const __half &a, const __half &b) { return a.__v O b.__v; }
__RT_HALF_COMPARISON(==) __RT_HALF_COMPARISON(!=) __RT_HALF_COMPARISON(<) __RT_HALF_COMPARISON(<=)
__RT_HALF_COMPARISON(>) __RT_HALF_COMPARISON(>=)
__RT_H __half operator-(const __half &a) { return __rt_half(-a.__v); }
__RT_H __half operator+(const __half &a) { return a; }
__RT_H __half &operator++(__half &a) { a.__v = (_Float16)(a.__v + (_Float16)1); return a; }
__RT_H __half &operator--(__half &a) { a.__v = (_Float16)(a.__v - (_Float16)1); return a; }

#define __RT_HALF_BINARY(N, O)                                                                                 \
    __RT_H __half __h##N(__half a, __half b) { return __rt_half((_Float16)(a.__v O b.__v)); }                  \
    __RT_H __half __h##N##_rn(__half a, __half b) { return __rt_half((_Float16)(a.__v O b.__v)); }             \
    __RT_DEVICE __half __h##N##_sat(__half a, __half b) { return __half(saturate((float)(_Float16)(a.__v O b.__v))); }
__RT_HALF_BINARY(add, +) __RT_HALF_BINARY(sub, -) __RT_HALF_BINARY(mul, *)
__RT_H __half __hdiv(__half a, __half b) { return a / b; }
__RT_H __half __hneg(__half a) { return -a; }
__RT_DEVICE __half __habs(__half a) { return __half(fabsf(a)); }
__RT_DEVICE __half __hfma(__half a, __half b, __half c) { return __half((float)((double)(float)a * (double)(float)b + (double)(float)c)); }
__RT_DEVICE __half __hfma_sat(__half a, __half b, __half c) { return __half(saturate((float)__hfma(a, b, c))); }
__RT_DEVICE __half __hfma_relu(__half a, __half b, __half c) { return __half(fmaxf((float)__hfma(a, b, c), 0.0f)); }
__RT_DEVICE __half __hmax(__half a, __half b) { return __half(fmaxf(a, b)); }
__RT_DEVICE __half __hmin(__half a, __half b) { return __half(fminf(a, b)); }
__RT_DEVICE __half __hmax_nan(__half a, __half b) { return a != a || b != b ? __half(__builtin_nanf("")) : __hmax(a, b); }
__RT_DEVICE __half __hmin_nan(__half a, __half b) { return a != a || b != b ? __half(__builtin_nanf("")) : __hmin(a, b); }
#define __RT_HALF_TEST(N, O)                                                                                   \
    __RT_H bool __h##N(__half a, __half b) { return a.__v O b.__v; }                                           \
    __RT_H bool __h##N##u(__half a, __half b) { return a.__v != a.__v || b.__v != b.__v || a.__v O b.__v; }
__RT_HALF_TEST(eq, ==) __RT_HALF_TEST(lt, <) __RT_HALF_TEST(le, <=) __RT_HALF_TEST(gt, >) __RT_HALF_TEST(ge, >=)
__RT_H bool __hne(__half a, __half b) { return a.__v < b.__v || a.__v > b.__v; }
__RT_H bool __hneu(__half a, __half b) { return a.__v != b.__v; }
__RT_H bool __hisnan(__half a) { return a.__v != a.__v; }
__RT_DEVICE int __hisinf(__half a) { float f = a; return __builtin_isinf(f) ? (f > 0 ? 1 : -1) : 0; }

#define __RT_HALF_UNARY(N) __RT_DEVICE __half h##N(__half a) { return __half(N##f((float)a)); }
__RT_HALF_UNARY(sin) __RT_HALF_UNARY(cos) __RT_HALF_UNARY(exp) __RT_HALF_UNARY(exp2) __RT_HALF_UNARY(exp10)
__RT_HALF_UNARY(log) __RT_HALF_UNARY(log2) __RT_HALF_UNARY(log10) __RT_HALF_UNARY(sqrt) __RT_HALF_UNARY(rsqrt)
__RT_HALF_UNARY(floor) __RT_HALF_UNARY(ceil) __RT_HALF_UNARY(trunc) __RT_HALF_UNARY(rint) __RT_HALF_UNARY(tanh)
__RT_DEVICE __half htanh_approx(__half a) { return htanh(a); }
__RT_DEVICE __half hrcp(__half a) { return __half(1.0f / (float)a); }

__RT_H __half __float2half(float x) { return __half(x); }
__RT_H __half __float2half_rn(float x) { return __half(x); }
__RT_H __half __double2half(double x) { return __half(x); }
__RT_H float __half2float(__half x) { return (float)x; }
__RT_H unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x.__v); }
__RT_H short __half_as_short(__half x) { return __builtin_bit_cast(short, x.__v); }
__RT_H __half __ushort_as_half(unsigned short x) { return __rt_half(__builtin_bit_cast(_Float16, x)); }
__RT_H __half __short_as_half(short x) { return __rt_half(__builtin_bit_cast(_Float16, x)); }
#define __RT_HALF_CONVERT(M, R)                                                                                \
    __RT_DEVICE int __half2int_##M(__half x) { return (int)R((float)x); }                                      \
    __RT_DEVICE unsigned __half2uint_##M(__half x) { return (unsigned)R((float)x); }                           \
    __RT_DEVICE short __half2short_##M(__half x) { return (short)R((float)x); }                                \
    __RT_DEVICE unsigned short __half2ushort_##M(__half x) { return (unsigned short)R((float)x); }             \
    __RT_DEVICE long long __half2ll_##M(__half x) { return (long long)R((float)x); }                           \
    __RT_DEVICE unsigned long long __half2ull_##M(__half x) { return (unsigned long long)R((float)x); }
__RT_HALF_CONVERT(rn, rintf) __RT_HALF_CONVERT(rd, floorf) __RT_HALF_CONVERT(ru, ceilf) __RT_HALF_CONVERT(rz, truncf)
__RT_DEVICE signed char __half2char_rz(__half x) { return (signed char)truncf((float)x); }
__RT_DEVICE unsigned char __half2uchar_rz(__half x) { return (unsigned char)truncf((float)x); }
__RT_H __half __int2half_rn(int x) { return __half(x); }
__RT_H __half __uint2half_rn(unsigned x) { return __half(x); }
__RT_H __half __short2half_rn(short x) { return __half(x); }
__RT_H __half __ushort2half_rn(unsigned short x) { return __half(x); }
__RT_H __half __ll2half_rn(long long x) { return __half(x); }
__RT_H __half __ull2half_rn(unsigned long long x) { return __half(x); }
__RT_DEVICE __half __shfl_sync(unsigned mask, __half v, int lane, int width = 32) { return __ushort_as_half((unsigned short)__shfl_sync(mask, (int)__half_as_ushort(v), lane, width)); }
__RT_DEVICE __half __shfl_up_sync(unsigned mask, __half v, unsigned d, int width = 32) { return __ushort_as_half((unsigned short)__shfl_up_sync(mask, (int)__half_as_ushort(v), d, width)); }
__RT_DEVICE __half __shfl_down_sync(unsigned mask, __half v, unsigned d, int width = 32) { return __ushort_as_half((unsigned short)__shfl_down_sync(mask, (int)__half_as_ushort(v), d, width)); }
__RT_DEVICE __half __shfl_xor_sync(unsigned mask, __half v, int m, int width = 32) { return __ushort_as_half((unsigned short)__shfl_xor_sync(mask, (int)__half_as_ushort(v), m, width)); }
__RT_DEVICE __half atomicAdd(__half *p, __half v) { return __rt_half(__atomic_fetch_add(&p->__v, v.__v, __ATOMIC_RELAXED)); }

struct __attribute__((aligned(4))) __half2 { __half x, y; };
typedef __half2 half2;
__RT_H __half2 make_half2(__half x, __half y) { __half2 r; r.x = x; r.y = y; return r; }
__RT_H __half2 __halves2half2(__half x, __half y) { return make_half2(x, y); }
__RT_H __half2 __half2half2(__half x) { return make_half2(x, x); }
__RT_H __half2 __float2half2_rn(float x) { return make_half2(__half(x), __half(x)); }
__RT_H __half2 __floats2half2_rn(float x, float y) { return make_half2(__half(x), __half(y)); }
__RT_H float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
__RT_H __half __low2half(__half2 v) { return v.x; }
__RT_H __half __high2half(__half2 v) { return v.y; }
__RT_H float __low2float(__half2 v) { return (float)v.x; }
__RT_H float __high2float(__half2 v) { return (float)v.y; }
#define __RT_HALF2(N, O)                                                                                       \
    __RT_H __half2 __h##N##2(__half2 a, __half2 b) { return make_half2(a.x O b.x, a.y O b.y); }                \
    __RT_H __half2 operator O(const __half2 &a, const __half2 &b) { return make_half2(a.x O b.x, a.y O b.y); } \
    __RT_H __half2 &operator O##=(__half2 &a, const __half2 &b) { a = a O b; return a; }
__RT_HALF2(add, +) __RT_HALF2(sub, -) __RT_HALF2(mul, *)
__RT_H __half2 __h2div(__half2 a, __half2 b) { return make_half2(a.x / b.x, a.y / b.y); }
__RT_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return make_half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
__RT_H __half2 __float22half2_rn(float2 v) { return make_half2(__half(v.x), __half(v.y)); }
__RT_H __half2 __low2half2(__half2 v) { return make_half2(v.x, v.x); }
__RT_H __half2 __high2half2(__half2 v) { return make_half2(v.y, v.y); }
__RT_H __half2 __lowhigh2highlow(__half2 v) { return make_half2(v.y, v.x); }
__RT_H __half2 __lows2half2(__half2 a, __half2 b) { return make_half2(a.x, b.x); }
__RT_H __half2 __highs2half2(__half2 a, __half2 b) { return make_half2(a.y, b.y); }
__RT_H __half2 __hneg2(__half2 a) { return make_half2(-a.x, -a.y); }
__RT_H __half2 operator-(const __half2 &a) { return __hneg2(a); }
__RT_DEVICE __half2 __habs2(__half2 a) { return make_half2(__habs(a.x), __habs(a.y)); }
#define __RT_HALF2_BOTH(N) __RT_DEVICE __half2 __h##N##2(__half2 a, __half2 b) { return make_half2(__h##N(a.x, b.x), __h##N(a.y, b.y)); }
__RT_HALF2_BOTH(max) __RT_HALF2_BOTH(min)
#define __RT_HALF2_TEST(N)                                                                                     \
    __RT_H __half2 __h##N##2(__half2 a, __half2 b) { return make_half2(__half((int)__h##N(a.x, b.x)), __half((int)__h##N(a.y, b.y))); } \
    __RT_H bool __hb##N##2(__half2 a, __half2 b) { return __h##N(a.x, b.x) && __h##N(a.y, b.y); }
__RT_HALF2_TEST(eq) __RT_HALF2_TEST(ne) __RT_HALF2_TEST(lt) __RT_HALF2_TEST(le) __RT_HALF2_TEST(gt) __RT_HALF2_TEST(ge)
#define __RT_HALF2_UNARY(N) __RT_DEVICE __half2 h2##N(__half2 a) { return make_half2(h##N(a.x), h##N(a.y)); }
__RT_HALF2_UNARY(sin) __RT_HALF2_UNARY(cos) __RT_HALF2_UNARY(exp) __RT_HALF2_UNARY(exp2) __RT_HALF2_UNARY(exp10)
__RT_HALF2_UNARY(log) __RT_HALF2_UNARY(log2) __RT_HALF2_UNARY(log10) __RT_HALF2_UNARY(sqrt) __RT_HALF2_UNARY(rsqrt)
__RT_HALF2_UNARY(floor) __RT_HALF2_UNARY(ceil) __RT_HALF2_UNARY(trunc) __RT_HALF2_UNARY(rint) __RT_HALF2_UNARY(rcp)
__RT_DEVICE __half2 atomicAdd(__half2 *p, __half2 v) { return make_half2(atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)); }
#include "reactant_names_back.h"
