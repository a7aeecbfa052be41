"""Meaning of the operations of `arith` and `math` as Python expressions, for `interpret`."""
from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import rounding

Expression = Callable[[ir.Operation, list[str], str, str], str]


def width_of(kind: str) -> int:
    """Bits of an integer type."""
    return 64 if kind == "index" else int(kind[1:])


def wrapped(formula: str, kind: str) -> str:
    """The formula's integer as one of `kind`: signed, or 0 and 1 for i1."""
    width = width_of(kind)
    if width == 1:
        return f"({formula}) & 1"
    half = 1 << (width - 1)
    return f"((({formula}) + {half}) & {2 * half - 1}) - {half}"


def unsigned(formula: str, kind: str) -> str:
    """The bits of an integer as a number of at least 0."""
    return f"({formula} & {(1 << width_of(kind)) - 1})"


def rounded(formula: str, kind: str) -> str:
    """The formula's float as one of `kind`."""
    return formula if kind == "f64" else f"r_{kind}({formula})"


def signed_bit(formula: str, kind: str) -> str:
    """i1 as -1 and 0 where an operation reads it signed."""
    return f"(-{formula})" if kind == "i1" else formula


def _integer(formula: str) -> Expression:
    return lambda op, x, kind, result: wrapped(formula.format(*x), result)


def _signed(formula: str) -> Expression:
    return lambda op, x, kind, result: wrapped(formula.format(*(signed_bit(v, kind) for v in x)), result)


def _unsigned(formula: str) -> Expression:
    return lambda op, x, kind, result: wrapped(
        formula.format(*(unsigned(v, kind) for v in x), w=width_of(kind)), result)


def _float(formula: str) -> Expression:
    return lambda op, x, kind, result: rounded(formula.format(*x), result)


def _plain(formula: str) -> Expression:
    return lambda op, x, kind, result: formula.format(*x)


COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="]
FLOAT_COMPARISONS = ["False", "{0} == {1}", "{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}",
                     "({0} < {1} or {0} > {1})", "({0} == {0} and {1} == {1})", "not ({0} < {1} or {0} > {1})",
                     "not {0} <= {1}", "not {0} < {1}", "not {0} >= {1}", "not {0} > {1}", "{0} != {1}",
                     "not ({0} == {0} and {1} == {1})", "True"]


def _compare_integers(op: ir.Operation, x: list[str], kind: str, result: str) -> str:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    a, b = (unsigned(v, kind) for v in x) if predicate >= 6 else (signed_bit(v, kind) for v in x)
    return f"int({a} {COMPARISONS[predicate]} {b})"


def _compare_floats(op: ir.Operation, x: list[str], kind: str, result: str) -> str:
    return f"int({FLOAT_COMPARISONS[ir.IntegerAttr(op.attributes['predicate']).value].format(*x)})"


def _bitcast(op: ir.Operation, x: list[str], kind: str, result: str) -> str:
    return f"bits_to_{result}({x[0]})" if result[0] in "fb" else f"{kind}_to_bits({x[0]})"


EXPRESSIONS: dict[str, Expression] = {
    "arith.addi": _integer("{0} + {1}"), "arith.subi": _integer("{0} - {1}"), "arith.muli": _integer("{0} * {1}"),
    "arith.andi": _integer("{0} & {1}"), "arith.ori": _integer("{0} | {1}"), "arith.xori": _integer("{0} ^ {1}"),
    "arith.divsi": _signed("quotient({0}, {1})"), "arith.remsi": _signed("remainder({0}, {1})"),
    "arith.floordivsi": _signed("({0} // {1} if {1} else 0)"),
    "arith.ceildivsi": _signed("(-(-{0} // {1}) if {1} else 0)"),
    "arith.divui": _unsigned("({0} // {1} if {1} else 0)"), "arith.remui": _unsigned("({0} % {1} if {1} else 0)"),
    "arith.ceildivui": _unsigned("(-(-{0} // {1}) if {1} else 0)"),
    "arith.shli": _unsigned("({0} << {1} if {1} < {w} else 0)"),
    "arith.shrui": _unsigned("({0} >> {1} if {1} < {w} else 0)"),
    "arith.shrsi": lambda op, x, kind, result: wrapped(
        f"{signed_bit(x[0], kind)} >> min({unsigned(x[1], kind)}, {width_of(kind) - 1})", result),
    "arith.maxsi": _signed("max({0}, {1})"), "arith.minsi": _signed("min({0}, {1})"),
    "arith.maxui": _unsigned("max({0}, {1})"), "arith.minui": _unsigned("min({0}, {1})"),
    "arith.cmpi": _compare_integers, "arith.cmpf": _compare_floats,
    "arith.select": _plain("{1} if {0} else {2}"),
    "arith.extsi": _signed("{0}"), "arith.extui": _unsigned("{0}"), "arith.trunci": _integer("{0}"),
    "arith.index_cast": _signed("{0}"), "arith.index_castui": _unsigned("{0}"),
    "arith.bitcast": _bitcast,
    "arith.addf": _float("{0} + {1}"), "arith.subf": _float("{0} - {1}"), "arith.mulf": _float("{0} * {1}"),
    "arith.divf": _float("divide({0}, {1})"), "arith.remf": _float("modulo({0}, {1})"), "arith.negf": _plain("-{0}"),
    "arith.maximumf": _plain("maximum({0}, {1})"), "arith.minimumf": _plain("minimum({0}, {1})"),
    "arith.maxnumf": _plain("maxnum({0}, {1})"), "arith.minnumf": _plain("minnum({0}, {1})"),
    "arith.extf": _plain("{0}"), "arith.truncf": _float("{0}"),
    "arith.sitofp": lambda op, x, kind, result: f"to_{result}({signed_bit(x[0], kind)})",
    "arith.uitofp": lambda op, x, kind, result: f"to_{result}({unsigned(x[0], kind)})",
    "arith.fptosi": lambda op, x, kind, result: wrapped(f"whole({x[0]})", result),
    "arith.fptoui": lambda op, x, kind, result: wrapped(f"whole({x[0]})", result),
    "math.absi": _integer("abs({0})"), "math.absf": _plain("abs({0})"),
    "math.ipowi": _integer("power({0}, {1})"),
    "math.ctpop": lambda op, x, kind, result: wrapped(f"{unsigned(x[0], kind)}.bit_count()", result),
    "math.ctlz": lambda op, x, kind, result: wrapped(f"{width_of(kind)} - {unsigned(x[0], kind)}.bit_length()", result),
    "math.cttz": lambda op, x, kind, result: f"trailing({unsigned(x[0], kind)}, {width_of(kind)})",
    "math.fma": lambda op, x, kind, result: f"fma_{kind}({', '.join(x)})",
    "math.fpowi": _float("numpy.power(numpy.float64({0}), {1}).item()"),
    "math.copysign": _plain("copysign({0}, {1})"),
    "math.isnan": _plain("int({0} != {0})"), "math.isinf": _plain("int(abs({0}) == inf)"),
    "math.isfinite": _plain("int({0} - {0} == 0)"),
    "math.erf": _float("erf({0})"), "math.erfc": _float("erfc({0})"),
    "math.rsqrt": _float("divide(1.0, numpy.sqrt({0}).item())"),
    "math.powf": _float("numpy.power(numpy.float64({0}), {1}).item()"),
    "math.atan2": _float("numpy.arctan2({0}, {1}).item()"),
    "math.roundeven": _plain("numpy.rint({0}).item()"),
    "math.round": _plain("copysign(numpy.floor(abs({0}) + 0.5).item() if abs({0}) < 4503599627370496.0 and "
                         "abs({0}) != 0.49999999999999994 else (0.0 if abs({0}) < 1 else abs({0})), {0})"),
}
EXPRESSIONS.update({f"math.{name}": _float(f"numpy.{function}(numpy.float64({{0}})).item()") for name, function in {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}.items()})


def _divide(a: float, b: float) -> float:
    return float(np.divide(a, b))


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b) if b else 0


def _whole(x: float) -> int:
    """Toward zero; what a type cannot hold is saturated at 64 bits, NaN is 0."""
    if x != x:
        return 0
    if math.isinf(x):
        return (1 << 63) - 1 if x > 0 else -(1 << 63)
    return int(x)


def _fused(kind: Callable[[Any], Any]) -> Callable[[float, float, float], float]:
    def fma(a: float, b: float, c: float) -> float:
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if not exact:
            return a * b + c
        return nearest(exact, kind)
    return fma


def nearest(exact: Fraction, kind: Callable[[Any], Any]) -> float:
    """The float of `kind` next to an exact number (through float64 rounded to odd, so it is rounded once)."""
    try:
        value = float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)
    if kind is float or Fraction(value) == exact:
        return float(kind(value))
    bits = struct.unpack("<q", struct.pack("<d", value))[0]
    if not bits & 1:  # rounded to even: the neighbour on the other side of the exact number is odd
        bits += 1 if (abs(exact) > abs(Fraction(value))) else -1
        value = struct.unpack("<d", struct.pack("<q", bits))[0]
    return float(kind(value))


def _single(x: float) -> float:
    return ctypes.c_float(x).value


def _max_number(a: float, b: float) -> float:
    return b if a != a else a if b != b else max(a, b)


def _min_number(a: float, b: float) -> float:
    return b if a != a else a if b != b else min(a, b)


def _pack(source: str, target: str) -> Callable[[Any], Any]:
    return lambda x: struct.unpack("<" + target, struct.pack("<" + source, x))[0]


def _scipy(name: str) -> Callable[..., float]:
    def call(*operands: float) -> float:
        from scipy import special
        return float(getattr(special, name)(*operands))
    return call


def _bfloat(x: float) -> float:
    return float(rounding.astype(np.asarray(x), rounding.BFLOAT16))


def _to_single(x: int) -> float:
    return nearest(Fraction(x), _single)


HELPERS: dict[str, Any] = {
    "numpy": np, "inf": math.inf, "copysign": math.copysign,
    "erf": math.erf, "erfc": math.erfc,
    "r_f32": _single, "r_f16": lambda x: float(np.float16(x)), "r_bf16": _bfloat,
    "to_f64": float, "to_f32": _to_single, "to_f16": lambda x: float(np.float16(x)),
    "to_bf16": _bfloat,
    "divide": _divide, "quotient": _quotient, "remainder": _remainder, "whole": _whole,
    "modulo": lambda a, b: float(np.fmod(a, b)),
    "power": lambda a, b: a ** b if b >= 0 else (0 if abs(a) != 1 else a ** (-b)),
    "trailing": lambda x, w: (x & -x).bit_length() - 1 if x else w,
    "maximum": lambda a, b: float(np.maximum(a, b)), "minimum": lambda a, b: float(np.minimum(a, b)),
    "maxnum": _max_number, "minnum": _min_number,
    "umax": lambda a, b: max(a, b, key=lambda x: x & (1 << 64) - 1),
    "umin": lambda a, b: min(a, b, key=lambda x: x & (1 << 64) - 1),
    "fma_f64": _fused(float), "fma_f32": _fused(_single), "fma_f16": _fused(np.float16),
    "fma_bf16": _fused(_bfloat),
    "bits_to_f32": _pack("i", "f"), "bits_to_f64": _pack("q", "d"), "bits_to_f16": _pack("h", "e"),
    "bits_to_bf16": lambda x: float(np.int16(x).view(ml_dtypes.bfloat16)),
    "f32_to_bits": lambda x: int(np.float32(x).view(np.int32)), "f64_to_bits": _pack("d", "q"),
    "f16_to_bits": lambda x: int(np.float16(x).view(np.int16)),
    "bf16_to_bits": lambda x: int(np.asarray(x, ml_dtypes.bfloat16).view(np.int16)),
    "c_lgamma": _scipy("gammaln"), "c_tgamma": _scipy("gamma"), "c_j0": _scipy("j0"), "c_j1": _scipy("j1"),
    "c_y0": _scipy("y0"), "c_y1": _scipy("y1"), "c_jn": _scipy("jn"), "c_yn": _scipy("yn"),
    "c_erfinv": _scipy("erfinv"), "c_erfcinv": _scipy("erfcinv"), "c_normcdfinv": _scipy("ndtri"),
    "c_erfcx": _scipy("erfcx"), "c_remainder": math.remainder, "c_nextafter": math.nextafter,
}
"""What the generated source calls."""
