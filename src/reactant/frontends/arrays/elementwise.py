"""What each ufunc's inner loop is in StableHLO: values of one shape, already cast to the loop's dtypes, in; values out.

`LOOPS` maps a ufunc to `f(values, dtypes)`, where `dtypes` are those of inputs then outputs. NumPy's conventions at the
edges (division by zero of integers, signs of remainders, NaN in maximum) are built in here. What XLA:CPU decides and no
loop can change: denormal numbers count as zero, and a product that is only added to something is fused with the sum.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.frontends.arrays import complex_functions as cf
from reactant.frontends.arrays.complex_functions import copy_sign, with_signed_zero
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_float, is_half, shape_of

Loop = Callable[[Sequence[ir.Value], tuple[np.dtype, ...]], "ir.Value | Sequence[ir.Value]"]


def loop(ufunc: np.ufunc) -> Loop:
    """The loop of `ufunc`, or `UnsupportedError` naming it."""
    found = LOOPS.get(ufunc)
    if found is None:
        return meaning.special_function(ufunc)      # JAX's are loaded by the first use
    return found


def checked(ufunc: np.ufunc, values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> None:
    """Add the run-time checks a call of `ufunc` needs. Apart from the loops, which also run inside other regions."""
    if ufunc is np.power and dtypes[0].kind == "i":
        _require_non_negative(values[1])


def _direct(build: Callable) -> Loop:
    return lambda values, dtypes: build(*values)


def _by_kind(**cases: Callable) -> Loop:
    """A loop by the kind of the first input; `else_` takes the rest."""
    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
        kind = "f" if is_float(dtypes[0]) else dtypes[0].kind
        return cases[kind if kind in cases else "else_"](*values)
    return run


def _function(real: Callable, of_complex: Callable) -> Loop:
    """A function of one variable; float16 is computed in float32 and rounded once."""
    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
        if dtypes[0].kind == "c":
            return of_complex(*values)
        if dtypes[0] == np.float16:
            return ops.convert(real(*(ops.convert(v, np.float32) for v in values)), np.float16)
        return real(*values)
    return run


def _real(build: Callable) -> Loop:
    return _function(build, build)


def _zeros(x: ir.Value) -> ir.Value:
    return ops.splat(0, x)


# ---- comparison ------------------------------------------------------------------------------------------------

def _comparison(direction: str) -> Loop:
    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
        x, y = values
        if dtypes[0] != dtypes[1]:
            return _signed_against_unsigned(x, y, direction)
        if dtypes[0].kind == "c" and direction not in ("EQ", "NE"):
            # complex numbers order by real part, then imaginary part
            a, b = ops.real(x), ops.real(y)
            strict = direction[:1] + "T"
            tie = ops.and_(ops.compare(a, b, "EQ"), ops.compare(ops.imag(x), ops.imag(y), direction))
            return ops.or_(ops.and_(ops.compare(a, b, strict), _no_nan_imag(x, y)), tie)
        return ops.compare(x, y, direction)
    return run


def _signed_against_unsigned(x: ir.Value, y: ir.Value, direction: str) -> ir.Value:
    """int64 with uint64, exactly: a negative number is below every unsigned one."""
    signed, below = (x, ("LT", "LE", "NE")) if dtype_of(x).kind == "i" else (y, ("GT", "GE", "NE"))
    alike = ops.compare(ops.convert(x, np.uint64), ops.convert(y, np.uint64), direction)
    return ops.select(ops.compare(signed, 0, "LT"), ops.splat(direction in below, alike), alike)


def _no_nan_imag(x: ir.Value, y: ir.Value) -> ir.Value:
    ix, iy = ops.imag(x), ops.imag(y)
    return ops.and_(ops.compare(ix, ix, "EQ"), ops.compare(iy, iy, "EQ"))


def is_nan(x: ir.Value) -> ir.Value:
    """Elementwise NaN test; false for integers and bool."""
    kind = dtype_of(x).kind
    if kind == "c":
        return ops.or_(is_nan(ops.real(x)), is_nan(ops.imag(x)))
    return ops.compare(x, x, "NE") if kind not in "biu" else ops.constant(False, bool, shape_of(x))


def is_inf(x: ir.Value) -> ir.Value:
    kind = dtype_of(x).kind
    if kind == "c":
        return ops.or_(is_inf(ops.real(x)), is_inf(ops.imag(x)))
    return ops.compare(ops.abs(x), np.inf, "EQ") if kind not in "biu" else ops.constant(False, bool, shape_of(x))


def is_finite(x: ir.Value) -> ir.Value:
    kind = dtype_of(x).kind
    if kind == "c":
        return ops.and_(ops.is_finite(ops.real(x)), ops.is_finite(ops.imag(x)))
    return ops.is_finite(x) if kind not in "biu" else ops.constant(True, bool, shape_of(x))


def _extreme(build: Callable, direction: str, ignore_nan: bool) -> Loop:
    """maximum/minimum (NaN wins) and fmax/fmin (NaN loses); complex numbers order lexicographically."""
    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
        x, y = values
        if dtypes[0].kind in "biu" or (is_float(dtypes[0]) and not ignore_nan):
            return build(x, y)
        if is_float(dtypes[0]):
            return ops.select(is_nan(x), y, ops.select(is_nan(y), x, build(x, y)))
        first = _comparison(direction)([x, y], dtypes)
        if ignore_nan:
            return ops.select(is_nan(y), x, ops.select(is_nan(x), y, ops.select(first, x, y)))
        return ops.select(ops.or_(is_nan(x), ops.and_(first, ops.not_(is_nan(y)))), x, y)
    return run


# ---- sums and products with constants --------------------------------------------------------------------------

def _rounded(x: ir.Value) -> ir.Value:
    """`x` with the note that it is rounded here: no work, but XLA merges no constants across it."""
    info = np.finfo(dtype_of(x))
    return ops.reduce_precision(x, info.nexp, info.nmant)


def _apart(build: Callable, family: tuple[type, ...]) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """(x + a) + b stays so for constants a and b: XLA would compute x + (a + b), which loses x + 1e16 - 1e16 and lets
    the product of two small factors vanish. Constants stand on the right, where rules look for them."""
    commutes = build is ops.add or build is ops.multiply

    def guarded(x: ir.Value, made: Any) -> ir.Value:
        while type(made) in _MOVES:
            made = made.operands[0].owner
        return _rounded(x) if type(made) in family and any([_is_known(v.owner) for v in made.operands]) else x

    def run(x: ir.Value, y: ir.Value) -> ir.Value:
        first, second = x.owner, y.owner
        if _is_known(second):
            x = guarded(x, first)
        elif _is_known(first):
            y = guarded(y, second)
            return build(y, x) if commutes else build(x, y)
        return build(x, y)
    return run


def _is_known(made: Any) -> bool:
    """Whether what made a value is a constant, or the broadcast of one."""
    kind = type(made)
    return kind is stablehlo.ConstantOp or \
        kind is stablehlo.BroadcastInDimOp and type(made.operands[0].owner) is stablehlo.ConstantOp


_SUMS = (stablehlo.AddOp, stablehlo.SubtractOp)
_PRODUCTS = (stablehlo.MulOp, stablehlo.DivOp)
_MOVES = {stablehlo.ReshapeOp, stablehlo.TransposeOp, stablehlo.ReverseOp, stablehlo.SliceOp,
          stablehlo.BroadcastInDimOp, stablehlo.NegOp}
"""Ops XLA moves constants through."""


# ---- division --------------------------------------------------------------------------------------------------

def _nonzero_divisor(y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(is zero, divisor with zeros replaced by one)."""
    zero = ops.compare(y, 0, "EQ")
    return zero, ops.select(zero, 1, y)


def _floor_divide_signed(x: ir.Value, y: ir.Value) -> ir.Value:
    zero, safe = _nonzero_divisor(y)
    quotient = ops.divide(x, safe)
    inexact = ops.compare(ops.multiply(quotient, safe), x, "NE")      # cheaper than a second division
    opposite = ops.compare(ops.xor(x, safe), 0, "LT")
    floored = ops.select(ops.and_(inexact, opposite), ops.subtract(quotient, 1), quotient)
    return ops.select(zero, 0, floored)      # NumPy: integer division by zero gives 0 (with a warning)


def _floor_divide_unsigned(x: ir.Value, y: ir.Value) -> ir.Value:
    zero, safe = _nonzero_divisor(y)
    return ops.select(zero, 0, ops.divide(x, safe))


def _remainder_signed(x: ir.Value, y: ir.Value) -> ir.Value:
    zero, safe = _nonzero_divisor(y)
    rest = ops.remainder(x, safe)
    shift = ops.and_(ops.compare(rest, 0, "NE"), ops.compare(ops.xor(rest, safe), 0, "LT"))
    return ops.select(zero, 0, ops.select(shift, ops.add(rest, safe), rest))


def _remainder_unsigned(x: ir.Value, y: ir.Value) -> ir.Value:
    zero, safe = _nonzero_divisor(y)
    return ops.select(zero, 0, ops.remainder(x, safe))


def _remainder_float(x: ir.Value, y: ir.Value) -> ir.Value:
    """Python's modulo: the sign of the divisor, also on zero results."""
    rest = ops.remainder(x, y)
    differ = ops.compare(ops.compare(rest, 0, "LT"), ops.compare(y, 0, "LT"), "NE")
    signed = with_signed_zero(rest, y)
    return ops.select(ops.and_(ops.compare(rest, 0, "NE"), differ), ops.add(rest, y), signed)


def _floor_divide_float(x: ir.Value, y: ir.Value) -> ir.Value:
    """floor(x / y) computed from the exact remainder, as NumPy's npy_divmod does; halves in float32, rounded once."""
    if is_half(dtype := dtype_of(x)):
        return ops.convert(_floor_divide_float(ops.convert(x, np.float32), ops.convert(y, np.float32)), dtype)
    rest = ops.remainder(x, y)
    quotient = ops.divide(ops.subtract(x, rest), y)
    differ = ops.and_(ops.compare(rest, 0, "NE"),
                      ops.compare(ops.compare(y, 0, "LT"), ops.compare(rest, 0, "LT"), "NE"))
    quotient = ops.select(differ, ops.subtract(quotient, 1), quotient)
    floor = ops.floor(quotient)
    floor = ops.select(ops.compare(ops.subtract(quotient, floor), 0.5, "GT"), ops.add(floor, 1), floor)
    exact = ops.select(ops.compare(quotient, 0, "NE"), floor, copy_sign(_zeros(x), ops.divide(x, y)))
    return ops.select(ops.compare(y, 0, "EQ"), ops.divide(x, y), exact)


def _fmod(x: ir.Value, y: ir.Value) -> ir.Value:
    if is_float(dtype_of(x)):
        return ops.remainder(x, y)
    zero, safe = _nonzero_divisor(y)
    return ops.select(zero, 0, ops.remainder(x, safe))


def _clip(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
    """min(max(x, low), high); NaN in any of them wins."""
    x, low, high = values
    return LOOPS[np.minimum]([LOOPS[np.maximum]([x, low], dtypes), high], dtypes)


def _divmod(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> list[ir.Value]:
    return [LOOPS[np.floor_divide](values, dtypes), LOOPS[np.remainder](values, dtypes)]


# ---- powers ----------------------------------------------------------------------------------------------------

def _power(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
    x, y = values
    constant = uniform_constant(y) if dtypes[0].kind in "fc" else None
    if constant is not None and constant.size and (constant == constant.reshape(-1)[0]).all():
        fast = _constant_power(x, constant.reshape(-1)[0], dtypes[0].kind)
        if fast is not None:
            return fast
    if dtypes[0].kind == "b":
        return ops.or_(x, ops.not_(y))
    if dtypes[0].kind in "iu":
        return _integer_power(x, y)
    if dtypes[0].kind == "c":       # XLA's is NaN where the exponent is complex
        vanishes = ops.and_(ops.compare(x, 0, "EQ"), ops.compare(ops.real(y), 0, "GT"))
        return ops.select(vanishes, ops.splat(0, x), ops.power(x, y))
    return ops.power(x, y)


def _constant_power(x: ir.Value, exponent: complex, kind: str) -> ir.Value | None:
    """NumPy computes these exponents by simpler operations; so does the compiled program (same rounding)."""
    if exponent == 2:
        return ops.multiply(x, x)
    if exponent == 1:
        return x
    if kind == "c" and exponent.imag == 0 and exponent.real == int(exponent.real) and abs(exponent) < 100:
        return cf.integer_power(x, int(exponent.real))
    if kind == "f" and exponent == 0:
        return ops.splat(1, x)
    if kind == "f" and exponent == -1:
        return ops.divide(ops.splat(1, x), x)
    if kind == "f" and exponent == 0.5:
        return ops.sqrt(x)
    return None


def _integer_power(x: ir.Value, y: ir.Value) -> ir.Value:
    """Square and multiply with wrap-around; as many rounds as the greatest exponent has bits."""
    known = uniform_constant(y)
    if known is not None and known.size and (known == known.reshape(-1)[0]).all():
        return _known_integer_power(x, int(known.reshape(-1)[0]))
    left = y if dtype_of(y).kind == "u" else ops.bitcast_convert(y, np.dtype(f"u{dtype_of(y).itemsize}"))

    def going(result: ir.Value, base: ir.Value, left: ir.Value) -> ir.Value:
        return ops.reduce(ops.compare(left, 0, "NE"), False, range(len(shape_of(left))), "or")

    def iteration(result: ir.Value, base: ir.Value, left: ir.Value) -> list[ir.Value]:
        odd = ops.compare(ops.and_(left, 1), 0, "NE")
        return [ops.select(odd, ops.multiply(result, base), result), ops.multiply(base, base),
                ops.shift_right_logical(left, 1)]
    return ops.while_([ops.splat(1, x), x, left], going, iteration)[0]


def _known_integer_power(x: ir.Value, exponent: int) -> ir.Value:
    result, base = None, x
    while exponent:
        if exponent & 1:
            result = base if result is None else ops.multiply(result, base)
        exponent >>= 1
        base = ops.multiply(base, base) if exponent else base
    return ops.splat(1, x) if result is None else result


def _require_non_negative(exponent: ir.Value) -> None:
    """Negative integer powers of integers raise in NumPy; here at once when known, after the call otherwise."""
    text = "Integers to negative integer powers are not allowed."
    constant = uniform_constant(exponent)
    if constant is not None:
        if (constant < 0).any():
            raise ValueError(text)
        return
    ok = ops.reduce(ops.compare(exponent, 0, "GE"), True, range(len(shape_of(exponent))), "and")
    current_trace().check(ok, lambda: ValueError(text))


def uniform_constant(value: ir.Value) -> np.ndarray | None:
    """The known elements of a constant, or of a broadcast one (not broadcast), else None."""
    made = value.owner
    kind = type(made)
    if kind is stablehlo.BroadcastInDimOp:
        return ops.constant_value(made.operands[0])
    if kind is not stablehlo.ConstantOp:
        return None
    known = ops.constant_value(value)
    return known if known is None or any(known.strides) or not known.size else known[(slice(1),) * known.ndim]


# ---- other formulas --------------------------------------------------------------------------------------------

def sign_bit(x: ir.Value) -> ir.Value:
    """Whether floats are negative, -0.0 and NaN by their sign bit."""
    bits = np.dtype(f"i{dtype_of(x).itemsize}")
    return ops.compare(ops.bitcast_convert(x, bits), 0, "LT")


def _sign(x: ir.Value) -> ir.Value:
    kind = dtype_of(x).kind
    if kind == "c":
        return cf.sign(x)
    if kind == "u":
        return ops.convert(ops.compare(x, 0, "NE"), dtype_of(x))
    if kind == "i":
        return ops.sign(x)
    return ops.select(is_nan(x), x, ops.select(ops.compare(x, 0, "EQ"), 0, ops.sign(x)))     # 0.0 for -0.0, as NumPy


def _heaviside(x: ir.Value, y: ir.Value) -> ir.Value:
    step = ops.select(ops.compare(x, 0, "LT"), _zeros(x), ops.splat(1, x))
    return ops.select(is_nan(x), x, ops.select(ops.compare(x, 0, "EQ"), y, step))


def _log_add_exp(x: ir.Value, y: ir.Value) -> ir.Value:
    """log(exp(x) + exp(y)) without overflow; equal infinities stay."""
    big, gap = ops.maximum(x, y), ops.subtract(x, y)
    usual = ops.add(big, ops.log_plus_one(ops.exponential(ops.negate(ops.abs(gap)))))
    return ops.select(ops.compare(gap, gap, "NE"), ops.add(x, y), usual)


def _log_add_exp2(x: ir.Value, y: ir.Value) -> ir.Value:
    big, gap = ops.maximum(x, y), ops.subtract(x, y)
    power = _exp2(ops.negate(ops.abs(gap)))
    usual = ops.add(big, ops.divide(ops.log_plus_one(power), float(np.log(2.0))))
    return ops.select(ops.compare(x, y, "EQ"), ops.add(x, 1.0), usual)


def _exp2(x: ir.Value) -> ir.Value:
    return ops.power(ops.splat(2, x), x)


def _scaled_log(base: float) -> Callable:
    def build(x: ir.Value) -> ir.Value:
        """log x / log base; a result within two units of the last place of a whole number is that number, so that
        powers of the base are exact as in NumPy."""
        guess = ops.divide(ops.log(x), float(np.log(base)))
        near = ops.round_nearest_even(guess)
        slack = ops.multiply(ops.abs(guess), 2 * float(np.finfo(dtype_of(x)).eps))
        return ops.select(ops.compare(ops.abs(ops.subtract(guess, near)), slack, "LE"), near, guess)
    return build


def _magnitude(x: ir.Value) -> ir.Value:
    """|x| as an unsigned integer, which holds that of the lowest number too."""
    return x if dtype_of(x).kind == "u" else ops.bitcast_convert(ops.abs(x), np.dtype(f"u{dtype_of(x).itemsize}"))


def _common_divisor(a: ir.Value, b: ir.Value) -> ir.Value:
    """Euclid's algorithm on unsigned numbers, in lock step."""
    def going(a: ir.Value, b: ir.Value) -> ir.Value:
        return ops.reduce(ops.compare(b, 0, "NE"), False, range(len(shape_of(b))), "or")

    def iteration(a: ir.Value, b: ir.Value) -> list[ir.Value]:
        zero, safe = _nonzero_divisor(b)
        return [ops.select(zero, a, b), ops.select(zero, b, ops.remainder(a, safe))]
    return ops.while_([a, b], going, iteration)[0]


def _gcd(x: ir.Value, y: ir.Value) -> ir.Value:
    return ops.bitcast_convert(_common_divisor(_magnitude(x), _magnitude(y)), dtype_of(x))


def _lcm(x: ir.Value, y: ir.Value) -> ir.Value:
    a, b = _magnitude(x), _magnitude(y)
    zero, safe = _nonzero_divisor(_common_divisor(a, b))
    return ops.bitcast_convert(ops.select(zero, 0, ops.multiply(ops.divide(a, safe), b)), dtype_of(x))


def _shift(build: Callable, fill: Callable) -> Loop:
    """Shifts by the width or more give NumPy's results (0, or the sign)."""
    def run(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
        x, y = values
        width = 8 * dtypes[0].itemsize
        inside = ops.compare(y, width, "LT")
        if dtypes[0].kind == "i":
            inside = ops.and_(inside, ops.compare(y, 0, "GE"))
        return ops.select(inside, build(x, ops.select(inside, y, 0)), fill(x))
    return run


def _shift_right(x: ir.Value, y: ir.Value) -> ir.Value:
    return (ops.shift_right_arithmetic if dtype_of(x).kind == "i" else ops.shift_right_logical)(x, y)


def _sign_fill(x: ir.Value) -> ir.Value:
    return ops.select(ops.compare(x, 0, "LT"), -1, _zeros(x)) if dtype_of(x).kind == "i" else _zeros(x)


def _modf(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> list[ir.Value]:
    (x,) = values
    whole = _truncate(x)
    part = ops.select(is_inf(x), _zeros(x), ops.subtract(x, whole))
    return [with_signed_zero(part, x), whole]


def _truncate(x: ir.Value) -> ir.Value:
    if not is_float(dtype_of(x)):
        return x
    return ops.select(sign_bit(x), ops.ceil(x), ops.floor(x))


def _float_only(build: Callable) -> Callable:
    """Rounding functions leave integers and bool as they are."""
    return lambda x: build(x) if is_float(dtype_of(x)) else x


def _rint(x: ir.Value) -> ir.Value:
    if dtype_of(x).kind == "c":
        return ops.complex(ops.round_nearest_even(ops.real(x)), ops.round_nearest_even(ops.imag(x)))
    return ops.round_nearest_even(x)


def _frexp(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> list[ir.Value]:
    """x = mantissa * 2**exponent with |mantissa| in [0.5, 1); from the bits, subnormals scaled up first."""
    (x,) = values
    dtype = dtype_of(x)
    info, bits = np.finfo(dtype), np.dtype(f"i{dtype.itemsize}")
    tiny = ops.compare(ops.abs(x), float(info.smallest_normal), "LT")
    lift = info.nmant + 2
    scaled = ops.select(tiny, ops.multiply(x, float(2.0 ** lift)), x)
    raw = ops.bitcast_convert(scaled, bits)
    mask = (1 << info.nexp) - 1
    stored = ops.and_(ops.shift_right_logical(raw, info.nmant), mask)
    bias = mask // 2 - 1
    exponent = ops.subtract(ops.subtract(stored, bias), ops.select(tiny, bits.type(lift), _zeros(stored)))
    keep = ops.and_(raw, int(~(mask << info.nmant)))
    mantissa = ops.bitcast_convert(ops.or_(keep, int(bias << info.nmant)), dtype)
    special = ops.or_(ops.compare(x, 0, "EQ"), ops.not_(ops.is_finite(x)))
    return [ops.select(special, x, mantissa),
            ops.convert(ops.select(special, _zeros(exponent), exponent), dtypes[2])]


def _ldexp(values: Sequence[ir.Value], dtypes: tuple[np.dtype, ...]) -> ir.Value:
    """x * 2**n in three exact factors, so that neither overflow nor underflow comes early."""
    x, n = values
    if dtypes[0] == np.float16:
        single = (np.dtype(np.float32), dtypes[1], np.dtype(np.float32))
        return ops.convert(_ldexp([ops.convert(x, np.float32), n], single), np.float16)
    limit = 3 * np.finfo(dtypes[0]).maxexp
    n = ops.clamp(-limit, ops.convert(n, np.int64), limit)
    third = ops.divide(n, 3)
    rest = ops.subtract(n, ops.multiply(third, 2))
    two = ops.splat(2, x)
    first = ops.power(two, ops.convert(third, dtypes[0]))
    return ops.multiply(ops.multiply(ops.multiply(x, first), first), ops.power(two, ops.convert(rest, dtypes[0])))


def _spacing(x: ir.Value) -> ir.Value:
    if dtype_of(x) == np.float16:       # NumPy's half looks upwards, its other floats away from zero
        return ops.select(ops.is_finite(x), ops.subtract(ops.next_after(x, ops.splat(np.inf, x)), x), np.nan)
    x = ops.select(ops.compare(x, 0.0, "EQ"), 0.0, x)       # that of -0.0 is positive
    away = ops.next_after(x, copy_sign(ops.splat(np.inf, x), x))
    return ops.select(ops.is_finite(x), ops.subtract(away, x), np.nan)


def _reciprocal(x: ir.Value) -> ir.Value:
    if dtype_of(x).kind == "c":
        return cf.reciprocal(x)
    if dtype_of(x).kind in "iu":
        zero, safe = _nonzero_divisor(x)
        # what NumPy's loops leave for 1 / 0
        lowest = np.iinfo(dtype_of(x)).min if dtype_of(x).kind == "i" and dtype_of(x).itemsize >= 4 else 0
        return ops.select(zero, lowest, ops.divide(ops.splat(1, x), safe))
    return ops.divide(ops.splat(1, x), x)


def _conjugate(x: ir.Value) -> ir.Value:
    return ops.complex(ops.real(x), ops.negate(ops.imag(x))) if dtype_of(x).kind == "c" else x


def _absolute(x: ir.Value) -> ir.Value:
    kind = dtype_of(x).kind
    return x if kind in "bu" else cf.absolute(x) if kind == "c" else ops.abs(x)


def _truth(x: ir.Value) -> ir.Value:
    return x if dtype_of(x).kind == "b" else ops.compare(x, 0, "NE")


def _logical(build: Callable) -> Loop:
    return lambda values, dtypes: build(*(_truth(v) for v in values))


_RADIAN = float(np.pi / 180)

_FUNCTIONS: dict[np.ufunc, tuple[Callable, Callable]] = {
    np.sqrt: (ops.sqrt, cf.sqrt), np.exp: (ops.exponential, cf.exp), np.exp2: (_exp2, cf.exp2),
    np.expm1: (ops.exponential_minus_one, cf.expm1), np.log: (ops.log, cf.log),
    np.log2: (_scaled_log(2), cf.scaled_log(2)), np.log10: (_scaled_log(10), cf.scaled_log(10)),
    np.log1p: (cf.real_log1p, cf.log1p), np.sin: (ops.sine, cf.sin), np.cos: (ops.cosine, cf.cos),
    np.tan: (ops.tan, cf.tan), np.arcsin: (ops.asin, cf.arcsin), np.arccos: (ops.acos, cf.arccos),
    np.arctan: (ops.atan, cf.arctan), np.sinh: (cf.real_sinh, cf.sinh), np.cosh: (cf.real_cosh, cf.cosh),
    np.tanh: (ops.tanh, cf.tanh), np.arcsinh: (ops.asinh, cf.arcsinh), np.arccosh: (ops.acosh, cf.arccosh),
    np.arctanh: (cf.real_arctanh, cf.arctanh),
}
"""Functions of one variable, real and complex."""

LOOPS: dict[np.ufunc, Loop] = {
    np.add: _by_kind(b=ops.or_, f=_apart(ops.add, _SUMS), else_=ops.add),
    np.subtract: _by_kind(f=_apart(ops.subtract, _SUMS), else_=ops.subtract),
    np.multiply: _by_kind(b=ops.and_, f=_apart(ops.multiply, _PRODUCTS), else_=ops.multiply),
    np.divide: _by_kind(c=cf.divide, f=_apart(ops.divide, _PRODUCTS), else_=ops.divide),
    np.floor_divide: _by_kind(i=_floor_divide_signed, u=_floor_divide_unsigned, f=_floor_divide_float),
    np.remainder: _by_kind(i=_remainder_signed, u=_remainder_unsigned, f=_remainder_float),
    np.fmod: _direct(_fmod), np.divmod: _divmod, np.power: _power, np.float_power: _power,
    np.negative: _direct(ops.negate), np.positive: _direct(lambda x: x), np.absolute: _direct(_absolute),
    np.fabs: _direct(ops.abs), np.sign: _direct(_sign), np.conjugate: _direct(_conjugate),
    np.square: _direct(lambda x: ops.multiply(x, x)), np.cbrt: _real(ops.cbrt),
    np.reciprocal: _direct(_reciprocal), np.logaddexp: _real(_log_add_exp), np.logaddexp2: _real(_log_add_exp2),
    np.arctan2: _real(ops.atan2), np.hypot: _real(cf.real_hypot),
    np.degrees: _direct(lambda x: ops.multiply(x, float(180 / np.pi))),
    np.rad2deg: _direct(lambda x: ops.multiply(x, float(180 / np.pi))),
    np.radians: _direct(lambda x: ops.multiply(x, _RADIAN)), np.deg2rad: _direct(lambda x: ops.multiply(x, _RADIAN)),
    np.equal: _comparison("EQ"), np.not_equal: _comparison("NE"), np.less: _comparison("LT"),
    np.less_equal: _comparison("LE"), np.greater: _comparison("GT"), np.greater_equal: _comparison("GE"),
    np.logical_and: _logical(ops.and_), np.logical_or: _logical(ops.or_), np.logical_xor: _logical(ops.xor),
    np.logical_not: _logical(ops.not_),
    np.maximum: _extreme(ops.maximum, "GE", False), np.minimum: _extreme(ops.minimum, "LE", False),
    np.fmax: _extreme(ops.maximum, "GE", True), np.fmin: _extreme(ops.minimum, "LE", True),
    np.isnan: _direct(is_nan), np.isinf: _direct(is_inf), np.isfinite: _direct(is_finite),
    np.signbit: _direct(sign_bit), np.copysign: _direct(copy_sign), np.nextafter: _direct(ops.next_after),
    np.spacing: _direct(_spacing), np.modf: _modf, np.frexp: _frexp, np.ldexp: _ldexp,
    np.heaviside: _direct(_heaviside),
    np.floor: _direct(_float_only(ops.floor)), np.ceil: _direct(_float_only(ops.ceil)), np.trunc: _direct(_truncate),
    np.rint: _direct(_rint),
    np._core.umath.clip: _clip,      # the ufunc behind np.clip
    np.bitwise_and: _direct(ops.and_), np.bitwise_or: _direct(ops.or_), np.bitwise_xor: _direct(ops.xor),
    np.invert: _direct(ops.not_), np.left_shift: _shift(ops.shift_left, _zeros),
    np.right_shift: _shift(_shift_right, _sign_fill),
    np.bitwise_count: lambda values, dtypes: ops.popcnt(ops.abs(values[0]) if dtypes[0].kind == "i" else values[0]),
    np.gcd: _direct(_gcd), np.lcm: _direct(_lcm),
}
LOOPS |= {ufunc: _function(*forms) for ufunc, forms in _FUNCTIONS.items()}
