// CUDA's bfloat16: stored in 16 bits, computed in float.
#pragma once

struct __nv_bfloat16 {
    __bf16 __v;
    __nv_bfloat16() = default;
    __attribute__((host, device)) __nv_bfloat16(float x) : __v((__bf16)x) {}
    __attribute__((host, device)) __nv_bfloat16(double x) : __v((__bf16)(float)x) {}
    __attribute__((host, device)) __nv_bfloat16(int x) : __v((__bf16)(float)x) {}
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
