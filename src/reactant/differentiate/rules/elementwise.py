"""Element by element. Conventions at branch points:

abs and sign at 0 have derivative 0; maximum and minimum give each of two equal operands half; clamp gives all to the
clamped operand where it equals a bound; rounding, comparison and real sign are constant; a zero tangent or cotangent
times an infinite or undefined partial (log or sqrt at 0) is zero.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import (
    STRONG,
    Call,
    Contribution,
    Tangents,
    constant,
    derivative,
    elementwise,
    is_transposing,
    linear,
    number,
    plus,
    pulled,
    times,
    zeros,
)
from reactant.differentiate.facts.masks import kept_zero
from reactant.differentiate.recognised.signs import slope_of_norm
from reactant.differentiate.rules.bodies import body_of
from reactant.ir import ops
from reactant.ir.bounds import least
from reactant.ir.types import dtype_of, is_complex, shape_of

constant("ceil", "floor", "round_nearest_afz", "round_nearest_even", "compare", "is_finite", "chlo.is_inf", "and", "or",
         "xor", "not", "shift_left", "shift_right_arithmetic", "shift_right_logical", "popcnt", "count_leading_zeros",
         "iota", "rng_bit_generator", "get_dimension_size", "partition_id", "replica_id", "chlo.is_neg_inf",
         "chlo.is_pos_inf", "chlo.mulhi", "chlo.constant", "chlo.constant_like", "create_token", "after_all")


# ---- one operand ---------------------------------------------------------------------------------------------------

SMALL = 1e-6
"""What is never below this is far from zero."""
LEAST_DIVISOR = {np.dtype(np.float64): 1e-30}
"""By dtype, what is far enough from zero to divide by (else `SMALL`): only what is near the greatest number overflows.
(Weights of reconstructions divide by squares + 1e-20: a third of the divisions of an ocean model.)"""


def _near_zero(call: Call) -> bool:
    """Whether the operand may be near zero."""
    return least(call.inputs[0]) < SMALL


def _over(top: Any, bottom: ir.Value) -> ir.Value:
    return ops.divide(number(top, bottom), bottom)


def _one_minus_square(x: ir.Value) -> ir.Value:
    """(1 - x)(1 + x), which keeps its digits near 1."""
    return ops.multiply(ops.subtract(number(1, x), x), ops.add(x, 1))


def _root_of_one_minus_square(x: ir.Value) -> ir.Value:
    return ops.multiply(*_roots(x, (1, -1), (1, 1))) if is_complex(dtype_of(x)) else ops.sqrt(_one_minus_square(x))


def _root_of_one_plus_square(x: ir.Value) -> ir.Value:
    """Of complex numbers sqrt(1 - i x) sqrt(1 + i x)."""
    if not is_complex(dtype_of(x)):
        return ops.sqrt(ops.add(ops.multiply(x, x), 1))
    return ops.multiply(*_roots(ops.complex(ops.negate(ops.imag(x)), ops.real(x)), (1, -1), (1, 1)))


def _roots(x: ir.Value, *lines: tuple[int, int]) -> list[ir.Value]:
    """sqrt(c + s x) of each line (c, s), s = 1 or -1. Of complex numbers on the side of the cut that the sign of their
    imaginary part says, of a zero too: on a cut a product of roots is that of one side, the root of a product is not.
    """
    if not is_complex(dtype_of(x)):
        return [ops.sqrt(ops.add(ops.multiply(x, s), c)) for c, s in lines]
    re, im = ops.real(x), ops.imag(x)
    below = ops.compare(ops.bitcast_convert(im, f"int{8 * dtype_of(im).itemsize}"), 0, "LT")
    upper = ops.select(below, ops.negate(im), im)
    found = []
    for c, s in lines:
        root = ops.sqrt(ops.complex(ops.add(ops.multiply(re, s), c), upper))
        side = below if s == 1 else ops.not_(below)
        found.append(ops.complex(ops.real(root), ops.select(side, ops.negate(ops.imag(root)), ops.imag(root))))
    return found


elementwise("sine", lambda y, x: ops.cosine(x))
elementwise("cosine", lambda y, x: ops.negate(ops.sine(x)))
for _name in ("stablehlo.tan", "chlo.tan"):
    elementwise(_name, lambda y, x: ops.add(ops.multiply(y, y), 1))
elementwise("tanh", lambda y, x: _one_minus_square(y))
elementwise("exponential", lambda y, x: y)
elementwise("exponential_minus_one", lambda y, x: ops.add(y, 1))
elementwise("log", lambda y, x: _over(1, x), singular=_near_zero)
elementwise("log_plus_one", lambda y, x: _over(1, ops.add(x, 1)), singular=True)
elementwise("logistic", lambda y, x: ops.multiply(y, ops.subtract(number(1, y), y)))
elementwise("negate", lambda y, x: -1)
elementwise("rsqrt", lambda y, x: ops.multiply(ops.divide(y, x), -0.5), singular=_near_zero)
elementwise("cbrt", lambda y, x: _over(1 / 3, ops.multiply(y, y)), singular=_near_zero)
elementwise("square", lambda y, x: ops.multiply(x, 2))
elementwise("cosh", lambda y, x: ops.sinh(x))
elementwise("sinh", lambda y, x: ops.cosh(x))
elementwise("acos", lambda y, x: _over(-1, _root_of_one_minus_square(x)), singular=True)
elementwise("asin", lambda y, x: _over(1, _root_of_one_minus_square(x)), singular=True)
elementwise("atan", lambda y, x: _over(1, ops.add(ops.multiply(x, x), 1)), singular=True)
elementwise("acosh", lambda y, x: _over(1, ops.multiply(*_roots(x, (-1, 1), (1, 1)))), singular=True)
elementwise("asinh", lambda y, x: _over(1, _root_of_one_plus_square(x)), singular=True)
elementwise("atanh", lambda y, x: _over(1, _one_minus_square(x)), singular=True)
elementwise("erf", lambda y, x: ops.multiply(ops.exponential(ops.negate(ops.multiply(x, x))), 2 / math.sqrt(math.pi)))
elementwise("erfc", lambda y, x: ops.multiply(ops.exponential(ops.negate(ops.multiply(x, x))), -2 / math.sqrt(math.pi)))
elementwise("erf_inv", lambda y, x: ops.multiply(ops.exponential(ops.multiply(y, y)), math.sqrt(math.pi) / 2),
            singular=True)
elementwise("lgamma", lambda y, x: ops.digamma(x), singular=True)
elementwise("digamma", lambda y, x: _trigamma(x), singular=True)


def _trigamma(x: ir.Value) -> ir.Value:
    """XLA's is wrong left of -9 and 0 where the square of x overflows: the reflection there, and the first terms."""
    left, far = ops.compare(x, 0, "LT"), ops.compare(x, 2.0**27, "GT")
    rest = ops.subtract(x, ops.round_nearest_even(x))
    sine = ops.sine(ops.multiply(rest, math.pi))
    reflected = ops.select(left, ops.subtract(number(1, x), x), x)
    inside = ops.polygamma(number(1, x), ops.select(far, 1, reflected))
    of_left = ops.subtract(ops.divide(number(math.pi**2, x), ops.multiply(sine, sine)), inside)
    of_far = ops.divide(ops.add(ops.divide(number(0.5, x), x), 1), x)
    return ops.select(left, of_left, ops.select(far, of_far, inside))


def _root_times(call: Call, g: ir.Value, product: Any) -> ir.Value | None:
    """g / (2 y). At 0 that is infinite; of a sum of squares it is 0: the root is a norm, smallest there."""
    y = call.results[0]
    if _near_zero(call) and not is_complex(dtype_of(y)) and _is_sum_of_squares(call.inputs[0], CHAIN):
        return product(slope_of_norm(y, 0.5), g)
    return product(_over(0.5, y), g, _near_zero(call))


CHAIN = 12
"""How many ops of a sum of squares are looked at, one behind the other."""
MOVED = ("reshape", "broadcast_in_dim", "transpose", "slice", "reverse", "convert")


def _is_sum_of_squares(value: ir.Value, depth: int) -> bool:
    op = ops.made_by(value, "multiply", "add", "divide", "reduce", "dot_general", *MOVED) if depth else None
    if op is None:
        return False
    word, first = op.name.partition(".")[2], op.operands[0]
    if word in MOVED:
        return _is_sum_of_squares(first, depth - 1)
    second = op.operands[1]
    if word == "add":
        return _is_sum_of_squares(first, depth - 1) and _is_sum_of_squares(second, depth - 1)
    if word == "dot_general":
        return first == second and not shape_of(value)
    if word == "multiply" and first == second:
        return True
    known = ops.constant_value(second)
    if word == "reduce":
        return body_of(op) == "add" and known is not None and not known.any() and _is_sum_of_squares(first, depth - 1)
    return known is not None and bool((known > 0).all()) and _is_sum_of_squares(first, depth - 1)


def _abs_forward(call: Call, tangents: Tangents) -> Tangents:
    """Real: sign(x) t. Complex: Re(conj(sign(z)) t)."""
    z, t = call.operands[0], tangents[0]
    if not is_complex(dtype_of(z)):
        return [ops.multiply(ops.sign(z), t)]
    return [ops.real(ops.multiply(ops.conj(ops.sign(z)), t))]


def _sign_forward(call: Call, tangents: Tangents) -> Tangents:
    """Real: constant. Complex y = z/|z|: (t - y Re(conj(y) t)) / |z|, and 0 at 0."""
    z, y, t = call.operands[0], call.results[0], tangents[0]
    if not is_complex(dtype_of(z)):
        return [None]
    size = ops.abs(z)
    radial = ops.real(ops.multiply(ops.conj(y), t))
    moved = ops.subtract(t, ops.multiply(y, ops.complex(radial, zeros(radial))))
    safe = ops.select(ops.compare(size, 0, "EQ"), number(1, size), size)
    result = ops.divide(moved, ops.complex(safe, zeros(safe)))
    return [ops.select(ops.compare(size, 0, "EQ"), zeros(result), result)]


derivative("sqrt", lambda call, tangents: [_root_times(call, tangents[0], times)],
           lambda call, g, wanted: [_root_times(call, g[0], pulled)])
derivative("abs", _abs_forward)
derivative("sign", _sign_forward)


# ---- two operands --------------------------------------------------------------------------------------------------

def _difference(call: Call, tangents: Tangents) -> Tangents:
    left, right = tangents
    return [plus(left, None if right is None else ops.negate(right)) if left is None or right is None
            else ops.subtract(left, right)]


elementwise("add", lambda y, a, b: 1, lambda y, a, b: 1)
derivative("subtract", _difference, lambda call, g, wanted: [g[0], ops.negate(g[0]) if wanted[1] else None])


def _is_mask(value: ir.Value) -> bool:
    """Whether a factor is of zeros and ones for a reason that can be read off the program: it chooses."""
    while (op := ops.made_by(value, "reshape", "broadcast_in_dim")) is not None:
        value = op.operands[0]
    known, op = ops.constant_value(value), ops.made_by(value, "convert")
    if known is not None:
        return bool(np.isin(known, (0, 1)).all() and not known.all())
    return op is not None and dtype_of(op.operands[0]).kind == "b"


def _multiply_forward(call: Call, tangents: Tangents) -> Tangents:
    found = None
    for own, t in enumerate(tangents):
        if t is not None:
            other = call.operands[1 - own]
            found = plus(found, ops.select(ops.compare(other, 0, "NE"), t, zeros(t))
                         if _is_mask(call.inputs[1 - own]) else call.again([t, other] if own == 0 else [other, t])[0])
    return [found]


def _multiply_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    return [_product(call, g[0], 1 - own) if want else None for own, want in enumerate(wanted)]


def _product(call: Call, g: ir.Value, other: int) -> ir.Value | None:
    """A factor times a cotangent."""
    factor, old = call.operands[other], call.inputs[other]
    if STRONG in call.op.attributes:
        return pulled(factor, g, strong=True)
    if _is_mask(old):
        return ops.select(ops.compare(factor, 0, "NE"), g, zeros(g))
    return pulled(factor, g)


derivative("multiply", _multiply_forward, _multiply_reverse)


def _divide_forward(call: Call, tangents: Tangents) -> Tangents:
    """(ta - y tb) / b."""
    b, (ta, tb) = call.operands[1], tangents
    top = ta if tb is None else plus(ta, ops.negate(ops.multiply(call.results[0], tb)))
    return [_guarded(top, ops.divide(top, b), call)]


def _divide_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    b, safe = call.operands[1], _divides(call)
    left = ops.divide(g[0], b)
    left = left if safe else kept_zero(g[0], left)
    return [left, ops.negate(ops.multiply(call.results[0], left)) if not wanted[1] or safe
            else pulled(ops.negate(ops.divide(call.results[0], b)), g[0], strong=True)]


def _guarded(top: ir.Value, quotient: ir.Value, call: Call) -> ir.Value:
    """The quotient, but 0 / 0 is 0."""
    if _divides(call) or is_transposing():
        return quotient
    return ops.select(ops.compare(top, zeros(top), "EQ"), zeros(top), quotient)


def _divides(call: Call) -> bool:
    """Whether the divisor is certainly not zero."""
    divisor = call.inputs[1]
    known = ops.constant_value(divisor)
    return bool((known != 0).all()) if known is not None \
        else least(divisor) >= LEAST_DIVISOR.get(dtype_of(divisor), SMALL)


derivative("divide", _divide_forward, _divide_reverse)


def _power_base(y: ir.Value, x: ir.Value, p: ir.Value) -> ir.Value:
    """p x^(p-1), and 0 for p = 0."""
    slope = ops.multiply(p, ops.power(x, ops.subtract(p, 1)))
    return ops.select(ops.compare(p, zeros(p), "EQ"), zeros(p), slope)


def _power_exponent(y: ir.Value, x: ir.Value, p: ir.Value) -> ir.Value:
    """y log(x), and 0 where x and y are 0."""
    at_zero = ops.compare(x, zeros(x), "EQ")
    slope = ops.multiply(y, ops.log(ops.select(at_zero, number(1, x), x)))
    return slope


def _angle_slope(a: ir.Value, b: ir.Value) -> ir.Value:
    """b / (a**2 + b**2), by the quotient of the two, which neither overflows nor vanishes."""
    wide = ops.compare(ops.abs(b), ops.abs(a), "GE")
    large, small = ops.select(wide, b, a), ops.select(wide, a, b)
    ratio = ops.divide(small, large)
    inverse = _over(1, ops.multiply(large, ops.add(ops.multiply(ratio, ratio), 1)))
    return ops.select(wide, inverse, ops.multiply(ratio, inverse))


def _whole_quotient(y: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """-trunc(a / b), from the remainder: (y - a) / b, rounded."""
    return ops.round_nearest_even(ops.divide(ops.subtract(y, a), b))


def _steep_power(call: Call) -> bool:
    """Whether a slope may be infinite: not for powers up to the square of what is not near zero."""
    p = ops.constant_value(call.inputs[1])
    return _near_zero(call) or p is None or p.dtype.kind == "c" or not ((p >= 0) & (p <= 2)).all()


elementwise("power", _power_base, _power_exponent, singular=_steep_power)
elementwise("atan2", lambda y, a, b: _angle_slope(a, b), lambda y, a, b: ops.negate(_angle_slope(b, a)), singular=True)
elementwise("next_after", lambda y, a, b: 1, None)
elementwise("remainder", lambda y, a, b: 1, _whole_quotient)


def _extreme(name: str, direction: str) -> None:
    """The larger or the smaller of two, by choices: what is not taken stays out, also where its slope is infinite."""
    def shared(call: Call, own: int, t: ir.Value) -> ir.Value:
        mine, other = call.operands[own], call.operands[1 - own]
        share = ops.select(ops.compare(mine, other, "EQ"), number(0.5, mine), number(1, mine))
        return ops.select(ops.compare(mine, other, direction), ops.multiply(share, t), zeros(t))

    def forward(call: Call, tangents: Tangents) -> Tangents:
        return [plus(*(None if t is None else shared(call, own, t) for own, t in enumerate(tangents)))]

    def reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
        return [shared(call, own, g[0]) if want else None for own, want in enumerate(wanted)]

    derivative(name, forward, reverse)


_extreme("maximum", "GE")
_extreme("minimum", "LE")


# ---- choosing ------------------------------------------------------------------------------------------------------

def _select_forward(call: Call, tangents: Tangents) -> Tangents:
    filled = (zeros(x) if t is None else t for x, t in zip(call.inputs[1:], tangents[1:], strict=True))
    return [ops.select(call.operands[0], *filled)]


def _select_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    p, zero = call.operands[0], zeros(g[0])
    return [None, ops.select(p, g[0], zero) if wanted[1] else None, ops.select(p, zero, g[0]) if wanted[2] else None]


derivative("select", _select_forward, _select_reverse)


def _full(bound: ir.Value, like: ir.Value) -> ir.Value:
    return ops.broadcast_in_dim(bound, shape_of(like), ()) if not shape_of(bound) else bound


def _clamp_choices(call: Call) -> list[ir.Value]:
    """For each operand, where the result is that operand: low, x, high."""
    low, x, high = (_full(v, call.op.results[0]) for v in call.operands)
    above, below = ops.compare(x, high, "GT"), ops.compare(x, low, "LT")
    return [ops.and_(below, ops.not_(above)), ops.not_(ops.or_(above, below)), above]


def _clamp_forward(call: Call, tangents: Tangents) -> Tangents:
    found = None
    for where, t in zip(_clamp_choices(call), tangents, strict=True):
        if t is not None:
            t = _full(t, call.op.results[0])
            found = plus(found, ops.select(where, t, zeros(t)))
    return [found]


derivative("clamp", _clamp_forward)


# ---- types ---------------------------------------------------------------------------------------------------------

linear("convert", lambda call, g: [_converted_back(call, g)])
linear("reduce_precision", lambda call, g: [g])
linear("real", lambda call, g: [ops.complex(g, zeros(g))])
linear("imag", lambda call, g: [ops.complex(zeros(g), ops.negate(g))])
linear("complex", lambda call, g: [ops.real(g), ops.negate(ops.imag(g))])
linear("conj", lambda call, g: [ops.conj(g)])


def _converted_back(call: Call, g: ir.Value) -> ir.Value:
    target = dtype_of(call.inputs[0])
    if is_complex(dtype_of(g)) and not is_complex(target):
        g = ops.real(g)
    return ops.convert(g, target)
