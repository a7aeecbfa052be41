"""Floating-point arithmetic and mathematics of a kernel on lanes."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.kernels.lockstep.arithmetic import FLOAT_DIRECTIONS, Handler, elementwise, unsigned
from reactant.kernels.lockstep.conditions import Known, both
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Condition, Domain, Lanes
from reactant.kernels.lockstep.lanes import (
    MOST_SUMMANDS,
    apply,
    condition_lanes,
    fitted,
    negated,
    number,
    select,
    summands_of,
)
from reactant.kernels.lockstep.trees import tree
from reactant.kernels.lockstep.values import Refused, Value, as_lanes, dtype_of_type, integer_dtype, of_lanes, width_of

Build = Callable[..., ir.Value]


def plain(build: Build) -> Handler:
    return lambda op, operands, domain: elementwise(build, op, operands, domain)


def _multiply(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    """A product remembers its factors: a sum of products may be a contraction."""
    x, y = (as_lanes(v, domain) for v in operands)
    step = tree("multiply", x, y, domain)
    if step is not None:
        return step
    found = apply(ops.multiply, [x, y], domain)
    return Lanes(found.value, found.axes, found.spans, (x, y))


def _combining(build: Build, kind: str) -> Handler:
    """An op that may combine the halves of a tree."""
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
        x, y = operands
        found = tree(kind, x, y, domain)
        if found is not None:
            return found
        return _with_summands(elementwise(build, op, operands, domain), kind, x, y)
    return handler


def _subtract(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    found = elementwise(ops.subtract, op, operands, domain)
    return _with_summands(found, "add", x, negated(y, domain)) if summands_of(x) and summands_of(y) else found


def _with_summands(found: Value, kind: str, x: object, y: object) -> Value:
    """A sum of products remembers them: each may be a contraction where a loop adds them up."""
    parts = *summands_of(x), *summands_of(y)
    if kind == "add" and isinstance(found, Lanes) and summands_of(x) and summands_of(y) \
            and len(parts) <= MOST_SUMMANDS:
        return replace(found, summands=parts)
    return found


# ---- pieces --------------------------------------------------------------------------------------------------------

def is_nan(x: ir.Value) -> ir.Value:
    return ops.compare(x, x, "NE")


def sign_bit(x: ir.Value) -> ir.Value:
    bits = ops.bitcast_convert(x, f"int{8 * dtype_of(x).itemsize}")
    return ops.compare(bits, 0, "LT")


def truncate(x: ir.Value) -> ir.Value:
    return ops.select(sign_bit(x), ops.ceil(x), ops.floor(x))


def copy_sign(x: ir.Value, y: ir.Value) -> ir.Value:
    size = ops.abs(x)
    return ops.select(sign_bit(y), ops.negate(size), size)


def _ignoring_nan(build: Build) -> Build:
    return lambda x, y: ops.select(is_nan(x), y, ops.select(is_nan(y), x, build(x, y)))


def _scaled_log(base: float) -> Build:
    """log x / log base, exact for whole powers: what lies within two units of the last place of one is one."""
    def build(x: ir.Value) -> ir.Value:
        raw = ops.divide(ops.log(x), float(np.log(base)))
        whole = ops.round_nearest_even(raw)
        size = ops.maximum(ops.abs(whole), 1.0)
        near = ops.compare(ops.abs(ops.subtract(raw, whole)),
                           ops.multiply(size, 2 * float(np.finfo(dtype_of(x)).eps)), "LE")
        return ops.select(near, whole, raw)
    return build


def _fused(x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return ops.add(ops.multiply(x, y), z)


def _trailing_zeros(x: ir.Value) -> ir.Value:
    return ops.popcnt(ops.and_(ops.not_(x), ops.subtract(x, 1)))


def _integer_power(x: ir.Value, n: ir.Value) -> ir.Value:
    return ops.power(x, ops.convert(n, dtype_of(x)))


def _whole(signed: bool) -> Handler:
    """As on a GPU: NaN is 0, beyond the limits of 32 (64) bits is the limit, fewer bits are the low ones."""
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
        width = width_of(op.results[0].type)
        dtype = integer_dtype(width) if width > 1 else np.dtype(np.int32)

        def build(x: ir.Value) -> ir.Value:
            if signed or width == 1:
                whole = ops.convert(x, np.int64 if width == 64 else np.int32)
                return ops.compare(whole, 0, "NE") if width == 1 else ops.convert(whole, dtype)
            if width < 64:
                whole = ops.convert(x, np.int64)
                return ops.convert(ops.minimum(ops.maximum(whole, 0), (1 << 32) - 1), dtype)
            positive = ops.bitcast_convert(ops.convert(x, np.uint64), np.int64)
            return ops.select(ops.compare(x, 0.0, "GT"), positive, ops.splat(0, positive))
        return elementwise(build, op, operands, domain)
    return handler


def _compare(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    predicate = int(attr.decode(op.attributes["predicate"]))
    if predicate in (0, 15):
        return Known(predicate == 15)
    return elementwise(lambda x, y: _float_comparison(x, y, predicate), op, operands, domain)


def _float_comparison(x: ir.Value, y: ir.Value, predicate: int) -> ir.Value:
    if predicate in FLOAT_DIRECTIONS:
        return ops.compare(x, y, FLOAT_DIRECTIONS[predicate])
    if predicate in (7, 14):                                             # ord, uno
        ordered = ops.and_(ops.compare(x, x, "EQ"), ops.compare(y, y, "EQ"))
        return ordered if predicate == 7 else ops.not_(ordered)
    if predicate == 6:                                                   # one
        return ops.or_(ops.compare(x, y, "LT"), ops.compare(x, y, "GT"))
    if predicate == 8:                                                   # ueq
        return ops.not_(ops.or_(ops.compare(x, y, "LT"), ops.compare(x, y, "GT")))
    return ops.not_(ops.compare(x, y, {9: "LE", 10: "LT", 11: "GE", 12: "GT"}[predicate]))


def _bitcast(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    dtype = dtype_of_type(op.results[0].type)
    if isinstance(operands[0], Condition):
        raise Refused("a truth value is reinterpreted as bits", op)
    return elementwise(lambda x: ops.bitcast_convert(x, dtype), op, operands, domain)


def _extended_multiply(signed: bool) -> Callable[..., tuple[Value, Value]]:
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> tuple[Value, Value]:
        width = width_of(op.results[0].type)
        x, y = (as_lanes(v, domain) for v in operands)
        low = apply(ops.multiply, [x, y], domain)
        high = apply(lambda a, b: _high_word(a, b, width, signed), [x, y], domain)
        return of_lanes(low, op.results[0].type), of_lanes(high, op.results[1].type)
    return handler


def _high_word(a: ir.Value, b: ir.Value, width: int, signed: bool) -> ir.Value:
    """The upper half of a product of twice the width."""
    if width < 64:
        wide = f"int{2 * width}"
        extend = (lambda v: ops.convert(v, wide)) if signed else (
            lambda v: ops.and_(ops.convert(v, wide), (1 << width) - 1))
        return ops.convert(ops.shift_right_logical(ops.multiply(extend(a), extend(b)), width), f"int{width}")
    low = 0xFFFFFFFF
    al, bl = ops.and_(a, low), ops.and_(b, low)
    ah, bh = ops.shift_right_logical(a, 32), ops.shift_right_logical(b, 32)
    cross = ops.add(ops.multiply(ah, bl), ops.shift_right_logical(ops.multiply(al, bl), 32))
    other = ops.add(ops.multiply(al, bh), ops.and_(cross, low))
    high = ops.add(ops.shift_right_logical(cross, 32), ops.shift_right_logical(other, 32))
    high = ops.add(ops.multiply(ah, bh), high)
    if signed:
        zero = ops.splat(0, a)
        high = ops.subtract(high, ops.select(ops.compare(a, 0, "LT"), b, zero))
        high = ops.subtract(high, ops.select(ops.compare(b, 0, "LT"), a, zero))
    return high


def _carrying_add(op: ir.Operation, operands: list[Any], domain: Domain) -> tuple[Value, Value]:
    x, y = (as_lanes(v, domain) for v in operands)
    total = apply(ops.add, [x, y], domain)
    less = unsigned(lambda a, b: ops.compare(a, b, "LT"))
    return of_lanes(total, op.results[0].type), of_lanes(apply(less, [total, x], domain), op.results[1].type)


FLOATS: dict[str, Any] = {
    "arith.addf": _combining(ops.add, "add"), "arith.subf": _subtract, "arith.mulf": _multiply,
    "arith.divf": plain(ops.divide), "arith.remf": plain(ops.remainder), "arith.negf": plain(ops.negate),
    "arith.maximumf": _combining(ops.maximum, "maximum"), "arith.minimumf": _combining(ops.minimum, "minimum"),
    "arith.maxnumf": _combining(_ignoring_nan(ops.maximum), "maxnum"),
    "arith.minnumf": _combining(_ignoring_nan(ops.minimum), "minnum"),
    "arith.cmpf": _compare, "arith.bitcast": _bitcast,
    "arith.fptosi": _whole(True), "arith.fptoui": _whole(False),
    "arith.mulsi_extended": _extended_multiply(True), "arith.mului_extended": _extended_multiply(False),
    "arith.addui_extended": _carrying_add,
    "math.fma": plain(_fused), "math.copysign": plain(copy_sign), "math.trunc": plain(truncate),
    "math.exp2": plain(lambda x: ops.power(ops.splat(2, x), x)), "math.log2": plain(_scaled_log(2)),
    "math.log10": plain(_scaled_log(10)), "math.powf": plain(ops.power), "math.fpowi": plain(_integer_power),
    "math.isnan": plain(is_nan), "math.isinf": plain(lambda x: ops.compare(ops.abs(x), float("inf"), "EQ")),
    "math.isfinite": plain(ops.is_finite), "math.cttz": plain(_trailing_zeros),
    **{f"math.{name}": plain(build) for name, build in {
        "absf": ops.abs, "sqrt": ops.sqrt, "rsqrt": ops.rsqrt, "cbrt": ops.cbrt, "exp": ops.exponential,
        "expm1": ops.exponential_minus_one, "log": ops.log, "log1p": ops.log_plus_one, "sin": ops.sine,
        "cos": ops.cosine, "tan": ops.tan, "asin": ops.asin, "acos": ops.acos, "atan": ops.atan,
        "atan2": ops.atan2, "sinh": ops.sinh, "cosh": ops.cosh, "tanh": ops.tanh, "asinh": ops.asinh,
        "acosh": ops.acosh, "atanh": ops.atanh, "erf": ops.erf, "erfc": ops.erfc, "floor": ops.floor,
        "ceil": ops.ceil, "round": ops.round_nearest_afz, "roundeven": ops.round_nearest_even,
        "ctpop": ops.popcnt, "ctlz": ops.count_leading_zeros}.items()},
}
"""Operations of floats (and of the bits of integers) by name."""


def _to_type(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    dtype = dtype_of_type(op.results[0].type)
    return elementwise(lambda x: ops.convert(x, dtype), op, operands, domain)


FLOATS["arith.extf"] = FLOATS["arith.truncf"] = _to_type


def _remainder_ieee(x: ir.Value, y: ir.Value) -> ir.Value:
    """x - n y with n the whole number next to x / y, ties to even (C's `remainder`)."""
    size, rest = ops.abs(y), ops.remainder(ops.abs(x), ops.abs(y))           # 0 <= rest < |y|
    twice = ops.add(rest, rest)
    odd = ops.compare(ops.remainder(ops.abs(x), ops.add(size, size)), size, "GE")
    more = ops.or_(ops.compare(twice, size, "GT"), ops.and_(ops.compare(twice, size, "EQ"), odd))
    found = ops.select(more, ops.subtract(rest, size), rest)
    return ops.select(sign_bit(x), ops.negate(found), found)


def _gamma(x: ir.Value) -> ir.Value:
    """exp(lgamma x) with the sign that gamma has: alternating between the poles of negative x."""
    size = ops.exponential(ops.lgamma(x))
    floor = ops.floor(x)
    odd = ops.compare(ops.remainder(floor, 2.0), 0.0, "NE")
    negative = ops.and_(ops.compare(x, 0.0, "LT"), odd)
    pole = ops.and_(ops.compare(x, 0.0, "LT"), ops.compare(floor, x, "EQ"))
    return ops.select(pole, float("nan"), ops.select(negative, ops.negate(size), size))


FUNCTIONS: dict[str, Build] = {
    "lgamma": ops.lgamma, "tgamma": _gamma, "nextafter": ops.next_after, "remainder": _remainder_ieee,
    "erfinv": ops.erf_inv,
}
"""Functions of C by name (with f at the end for float32)."""


def call(op: ir.Operation, callee: str, operands: list[Any], domain: Domain) -> Value:
    """A mathematical function."""
    build = FUNCTIONS.get(callee) or FUNCTIONS.get(callee.removesuffix("f"))
    if build is None:
        raise Refused(f"the function {callee} has no tensor form", op)
    return elementwise(build, op, operands, domain)


PARTIAL = {name: (place, safe) for place, safe, names in (
    (0, 0.5, ("sqrt", "rsqrt", "cbrt", "rcbrt", "log", "log1p", "log2", "log10", "asin", "acos", "atanh", "powf", "pow",
              "fpowi", "atan2", "exp", "exp2", "exp10", "expm1", "sinh", "cosh", "tan", "lgamma", "tgamma")),
    (0, 2.0, ("acosh",)), (1, 0.5, ("arith.divf", "arith.remf"))) for name in names}
"""Functions that are no finite number everywhere: the operand that decides, and one for which they are."""


def kept_in_range(name: str, operands: list[Any], context: Context, wanted: Callable[[], Condition]) -> list[Any]:
    """The operands, with a number inside the function's range in lanes that do not need the result (`wanted`): what
    branches that are not taken compute has to be finite, because derivatives multiply it by zero."""
    place, safe = PARTIAL.get(name.removesuffix("f") if name not in PARTIAL else name, (0, None))
    if safe is None or not isinstance(operands[place], Lanes):
        return operands
    x, mask = fitted(operands[place], context.domain), both(context.mask, wanted()).at_domain(context.domain)
    if mask.known is not None or ops.constant_value(x.value) is not None or not mask.axes() <= set(x.axes):
        return operands
    kept = select(condition_lanes(mask, context.domain), x, number(safe, x.dtype), context.domain)
    return [*operands[:place], kept, *operands[place + 1:]]
