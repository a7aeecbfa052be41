// CUDA's 8-bit floats: e4m3 (no infinities, NaN is 0x7f) and e5m2; rounded to nearest even, saturated to finite values.
#pragma once
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "reactant_names_aside.h"

#define __CUDA_FP8_TYPES_EXIST__ 1
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;
#define __RT_F8 static __inline__ __attribute__((host, device, always_inline, unused))

__RT_F8 __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    const int mantissa = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    const unsigned most = kind == __NV_E4M3 ? 0x7e : 0x7b;
    const unsigned long long bits = __builtin_bit_cast(unsigned long long, x), size = bits & 0x7fffffffffffffffull;
    const unsigned sign = (unsigned)(bits >> 56) & 0x80;
    if (size > 0x7ff0000000000000ull) return kind == __NV_E4M3 ? 0x7f : 0x7e;
    int exponent = (int)(size >> 52) - 1023;
    if (exponent > 20) exponent = 20;
    if (exponent < 1 - bias) exponent = 1 - bias;
    // The value in units of the last digit, as a whole number: adding 2^52 rounds it to nearest even.
    const double unit = __builtin_bit_cast(double, (unsigned long long)(1023 - (exponent - mantissa)) << 52);
    const double absolute = __builtin_bit_cast(double, size);
    double scaled = absolute * unit;
    if (scaled > 1024) scaled = 1024;
    const double rounded = scaled + 4503599627370496.0;
    const unsigned whole = (unsigned)(rounded - 4503599627370496.0);
    const unsigned code = whole + ((unsigned)(exponent + bias - 1) << mantissa);
    if (code > most) return (__nv_fp8_storage_t)(sign | (saturate == __NV_SATFINITE ? most : kind == __NV_E4M3 ? 0x7f : 0x7c));
    return (__nv_fp8_storage_t)(sign | code);
}
__RT_F8 __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return __nv_cvt_double_to_fp8(x, s, k); }
__RT_F8 float __rt_fp8_to_float(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    const int mantissa = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
    const unsigned size = x & 0x7f, exponent = size >> mantissa, rest = size & ((1u << mantissa) - 1);
    const unsigned sign = (unsigned)(x & 0x80) << 24;
    if (kind == __NV_E4M3 ? size == 0x7f : size > 0x7c) return __builtin_bit_cast(float, 0x7fffffffu);
    if (kind == __NV_E5M2 && size == 0x7c) return __builtin_bit_cast(float, sign | 0x7f800000u);
    const unsigned power = (unsigned)((exponent ? (int)exponent : 1) - bias - mantissa + 127) << 23;
    const float value = (float)(exponent ? rest + (1u << mantissa) : rest) * __builtin_bit_cast(float, power);
    return sign ? -value : value;
}
__RT_F8 __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t k) { return (__half_raw)__half(__rt_fp8_to_float(x, k)); }
__RT_F8 __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return __nv_cvt_double_to_fp8((float)__half(x), s, k); }
__RT_F8 __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return __nv_cvt_double_to_fp8((float)__nv_bfloat16(x), s, k); }
#define __RT_FP8(NAME, KIND)                                                                                   \
    struct NAME {                                                                                              \
        __nv_fp8_storage_t __x;                                                                                \
        NAME() = default;                                                                                      \
        __attribute__((host, device)) explicit NAME(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {} \
        __attribute__((host, device)) explicit NAME(float x) : NAME((double)x) {}                              \
        __attribute__((host, device)) explicit NAME(__half x) : NAME((double)(float)x) {}                      \
        __attribute__((host, device)) explicit NAME(__nv_bfloat16 x) : NAME((double)(float)x) {}               \
        __attribute__((host, device)) explicit NAME(int x) : NAME((double)x) {}                                \
        __attribute__((host, device)) explicit NAME(unsigned x) : NAME((double)x) {}                           \
        __attribute__((host, device)) explicit operator float() const { return __rt_fp8_to_float(__x, KIND); } \
        __attribute__((host, device)) explicit operator double() const { return __rt_fp8_to_float(__x, KIND); } \
        __attribute__((host, device)) explicit operator __half() const { return __half(__rt_fp8_to_float(__x, KIND)); } \
        __attribute__((host, device)) explicit operator __nv_bfloat16() const { return __nv_bfloat16(__rt_fp8_to_float(__x, KIND)); } \
    };
__RT_FP8(__nv_fp8_e4m3, __NV_E4M3)
__RT_FP8(__nv_fp8_e5m2, __NV_E5M2)
#include "reactant_names_back.h"
