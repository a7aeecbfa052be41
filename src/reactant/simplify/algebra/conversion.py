"""convert, bitcast_convert, reduce_precision: conversions that cancel or can be one.

A conversion is lossless where every value of the source type is a value of the target type; only such ones vanish.
"""
from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, is_float
from reactant.rewrite import match, named, rewrite, splat, variables

x, y, v, d = variables("x y v d")
c = splat("c")


@cache
def lossless(source: np.dtype, target: np.dtype) -> bool:
    """Whether every value of `source` is a value of `target` (NaN, infinities, -0.0 included)."""
    if source == target:
        return True
    if is_complex(source) or is_complex(target):
        return is_complex(source) and is_complex(target) and source.itemsize <= target.itemsize
    if source.kind == "b":
        return True
    if is_float(target):
        limits = ml_dtypes.finfo(target)
        if is_float(source):
            inner = ml_dtypes.finfo(source)
            return inner.nmant <= limits.nmant and inner.maxexp <= limits.maxexp and inner.minexp >= limits.minexp \
                and not target.name.startswith("float8_e4m3")
        return _bits(source) <= limits.nmant + 1 and _bits(source) < limits.maxexp
    if is_float(source) or target.kind == "b":
        return False
    inner, outer = ml_dtypes.iinfo(source), ml_dtypes.iinfo(target)
    return int(outer.min) <= int(inner.min) and int(inner.max) <= int(outer.max)


def _bits(dtype: np.dtype) -> int:
    """Bits of magnitude of an integer type."""
    return int(ml_dtypes.iinfo(dtype).max).bit_length()


def _is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iu" or dtype.name in ("int4", "uint4")


@rewrite(match.convert(x), example=lambda a: ops.create("stablehlo.convert", [(v := a(3)).type], [v]).result,
         counter=lambda a: ops.convert(a(3), "float16"), by_types=True)
def convert_to_same_dtype(x, result_dtype):
    """convert(x, dtype of x) = x"""
    return x if dtype_of(x) == result_dtype else None


@rewrite(match.convert(named("v", match.convert(x))),
         example=(lambda a: ops.convert(ops.convert(a(6, dtype="float32"), "float64"), "float32"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int8"), "int32"), "float64"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int32"), "int16"), "uint8"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="bool"), "float32"), "int32"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="uint8"), "int16"), "int64")),
         counter=(lambda a: ops.convert(ops.convert(a(6, dtype="float64"), "float32"), "float64"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int64"), "float32"), "int64"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int32"), "int8"), "int32"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int32"), "bool"), "int32"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int8"), "float32"), "uint8"),
                  lambda a: ops.convert(ops.convert(a(6, dtype="int32"), "float64"), "int8")))
def convert_of_convert(v, x, result_dtype):
    """convert(convert(x)) = convert(x) where the first loses nothing, or both only drop high bits"""
    source, between = dtype_of(x), dtype_of(v)
    integers = _is_integer(source) and _is_integer(result_dtype)
    narrowing = integers and _is_integer(between) and source.itemsize >= between.itemsize >= result_dtype.itemsize
    saturating = integers and is_float(between)         # floats saturate where integers wrap around
    lost = saturating and not lossless(source, result_dtype)
    return ops.convert(x, result_dtype) if narrowing or lossless(source, between) and not lost else None


@rewrite(match.bitcast_convert(x),
         example=lambda a: ops.create("stablehlo.bitcast_convert", [(v := a(3)).type], [v]).result,
         counter=lambda a: ops.bitcast_convert(a(3, dtype="float32"), "int32"), by_types=True)
def bitcast_to_same_dtype(x, result_dtype):
    """bitcast_convert(x, dtype of x) = x"""
    return x if dtype_of(x) == result_dtype else None


@rewrite(match.bitcast_convert(match.bitcast_convert(x)),
         example=(lambda a: ops.bitcast_convert(ops.bitcast_convert(a(6, dtype="float32"), "int32"), "uint32"),
                  lambda a: ops.bitcast_convert(ops.bitcast_convert(a(6, dtype="float64"), "uint32"), "float64")))
def bitcast_of_bitcast(x, result_dtype):
    """bitcast_convert(bitcast_convert(x)) = bitcast_convert(x)"""
    return x if dtype_of(x) == result_dtype else ops.bitcast_convert(x, result_dtype)


@rewrite(match.compare(named("v", match.convert(x)), match.convert(y), comparison_direction=d),
         example=lambda a: ops.compare(ops.convert(a(6, dtype="int8"), "int32"),
                                       ops.convert(a(6, dtype="int8"), "int32"), "LT"),
         counter=(lambda a: ops.compare(ops.convert(a(6, dtype="int32"), "int8"),
                                        ops.convert(a(6, dtype="int32"), "int8"), "LT"),
                  lambda a: ops.compare(ops.convert(a(6, dtype="int8"), "int32"),
                                        ops.convert(a(6, dtype="uint8"), "int32"), "LT")))
def compare_of_converts(v, x, y, d):
    """compare(convert(x), convert(y)) = compare(x, y) for lossless conversions of integers"""
    source = dtype_of(x)
    if source != dtype_of(y) or not (_is_integer(source) or source.kind == "b") or not lossless(source, dtype_of(v)):
        return None
    return ops.compare(x, y, d)


@rewrite(match.compare(named("v", match.convert(x)), c, comparison_direction=d),
         example=(lambda a: ops.compare(ops.convert(a(6, dtype="bool"), "int32"), 0, "NE"),
                  lambda a: ops.compare(ops.convert(a(6, dtype="bool"), "float64"), 1, "EQ"),
                  lambda a: ops.compare(ops.convert(a(6, dtype="bool"), "int32"), 0, "EQ"),
                  lambda a: ops.compare(ops.convert(a(6, dtype="bool"), "float32"), 0.5, "GT")))
def compare_of_converted_predicate(v, x, c, d, result_shape):
    """compare(convert(p), c) = p, not p, true or false"""
    if dtype_of(x).kind != "b" or dtype_of(v).kind not in "iuf":
        return None
    compare = ops.COMPARISONS[d]
    on_false, on_true = bool(compare(c.dtype.type(0), c)), bool(compare(c.dtype.type(1), c))
    if on_false == on_true:
        return ops.constant(on_true, bool, result_shape)
    return x if on_true else ops.not_(x)


@rewrite(match.real(match.convert(x)), example=lambda a: ops.real(ops.convert(a(6, dtype="float32"), "complex64")),
         counter=lambda a: ops.real(ops.convert(a(6, dtype="complex128"), "complex64")))
def real_of_convert(x, result_dtype):
    """real(convert(x, complex)) = convert(x) for real x"""
    return None if is_complex(dtype_of(x)) else ops.convert(x, result_dtype)


@rewrite(match.imag(match.convert(x)), example=lambda a: ops.imag(ops.convert(a(6, dtype="float32"), "complex64")),
         counter=lambda a: ops.imag(ops.convert(a(6, dtype="complex128"), "complex64")))
def imag_of_convert(x):
    """imag(convert(x, complex)) = 0 for real x"""
    return None if is_complex(dtype_of(x)) else 0



@rewrite(match.is_finite(named("v", match.convert(x))),
         example=lambda a: ops.is_finite(ops.convert(a(6, dtype="int32"), "float32")),
         counter=(lambda a: ops.is_finite(ops.convert(a(6, dtype="int32"), "float16")),
                  lambda a: ops.is_finite(ops.convert(a(6, dtype="float32"), "float64"))))
def integers_are_finite(x, v, result_shape):
    """is_finite(convert(x)) is true for integers that are all below the largest float"""
    source, target = dtype_of(x), dtype_of(v)
    return ops.constant(True, np.bool_, result_shape) if source.kind == "b" or _is_integer(source) and _bits(source) \
        < ml_dtypes.finfo(target).maxexp else None
