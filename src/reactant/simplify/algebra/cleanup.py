"""Constant folding. (Equal ops are merged between sweeps by MLIR's cse, dead ones dropped by the engine.)

Folding follows the IR: integers wrap around, division truncates, x / 0 = -1 and x % 0 = x for integers, -0.0 < 0.0 in
maximum, NaN goes through. What IEEE defines is exact; transcendental functions are folded in float64 and rounded once,
which may differ from XLA's approximation in the last place. Sizes are bounded so that the program does not grow.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reactant.ir import ops, rounding
from reactant.ir.types import is_float, size
from reactant.rewrite import constant, match, one_of, producer, rest, rewrite, splat, variables
from reactant.simplify.facts.contents import apply, dense, is_splat

LIMIT = 16_384
"""Elements a folded constant may have, unless it is a splat."""
GROWTH = 1_024
"""Elements a constant may have that is made larger by folding (a broadcast, a pad)."""

x, t, d, p, xs = variables("x t d p xs")
starts, limits, strides, low, high, interior = variables("starts limits strides low high interior")
a, b, c = constant("a"), constant("b"), constant("c")


def _sign(v: np.ndarray) -> np.ndarray:
    """sign, with -0.0 and NaN kept."""
    return np.where((v == 0) | np.isnan(v), v, np.sign(v)) if v.dtype.kind == "f" else np.sign(v)


def _round_away(v: np.ndarray) -> np.ndarray:
    """Round half away from zero."""
    whole = np.trunc(v)
    return np.copysign(np.where(np.abs(v - whole) >= 0.5, whole + np.sign(v), whole), v)


def _divide(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    if v.dtype.kind not in "iu":
        return np.divide(v, w)
    if v.dtype.kind == "u":
        return np.where(w == 0, np.array(np.iinfo(v.dtype).max, v.dtype), v // np.where(w == 0, 1, w).astype(v.dtype))
    safe = np.where((w == 0) | (w == -1), 1, w).astype(v.dtype)
    quotient = (v - np.fmod(v, safe)) // safe
    return np.where(w == 0, -1, np.where(w == -1, np.negative(v), quotient)).astype(v.dtype)


def _remainder(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    if v.dtype.kind not in "iu":
        return np.fmod(v, w)
    special = (w == 0) | (w == -1) if v.dtype.kind == "i" else w == 0
    result = np.fmod(v, np.where(special, 1, w).astype(v.dtype))
    return np.where(w == 0, v, np.where(special, 0, result)).astype(v.dtype)


def _extreme(function: np.ufunc, pick_second: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def extreme(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        if v.dtype.kind in "biu":
            return function(v, w)
        return np.where((v == 0) & (w == 0), np.where(pick_second(v), w, v), function(v, w))
    return extreme


def _shift(function: np.ufunc, kind: str) -> Callable[..., np.ndarray]:
    """A shift that reads its operand as signed ("i") or unsigned ("u"); shifts too far leave 0 or the sign."""
    def shift(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        base = v.view(f"{kind}{v.dtype.itemsize}")
        outside = (w < 0) | (w >= 8 * v.dtype.itemsize)
        moved = function(base, np.where(outside, 0, w).astype(base.dtype))
        return np.where(outside, np.where(base < 0, -1, 0).astype(base.dtype), moved).view(v.dtype)
    return shift


EXACT_UNARY: dict[str, Callable[..., np.ndarray]] = {
    "negate": np.negative, "abs": np.abs, "sign": _sign, "floor": np.floor, "ceil": np.ceil, "not": np.invert,
    "round_nearest_even": np.rint, "round_nearest_afz": _round_away, "sqrt": np.sqrt, "is_finite": np.isfinite,
}
EXACT_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": _divide, "remainder": _remainder,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "maximum": _extreme(np.maximum, np.signbit), "minimum": _extreme(np.minimum, lambda v: ~np.signbit(v)),
    "shift_left": _shift(np.left_shift, "u"), "shift_right_logical": _shift(np.right_shift, "u"),
    "shift_right_arithmetic": _shift(np.right_shift, "i"),
}
ROUNDED_UNARY: dict[str, Callable[..., np.ndarray]] = {
    "exponential": np.exp, "exponential_minus_one": np.expm1, "log": np.log, "log_plus_one": np.log1p,
    "sine": np.sin, "cosine": np.cos, "tan": np.tan, "tanh": np.tanh, "cbrt": np.cbrt,
    "rsqrt": lambda v: 1 / np.sqrt(v), "logistic": lambda v: 1 / (1 + np.exp(-v)),
}
ROUNDED_BINARY: dict[str, Callable[..., np.ndarray]] = {"power": np.power, "atan2": np.arctan2}


def _names(table: dict[str, object]) -> tuple[str, ...]:
    return tuple(f"stablehlo.{name}" for name in table)


def _small(*arrays: np.ndarray) -> bool:
    return all(is_splat(array) or array.size <= LIMIT for array in arrays)


def _folded(function: Callable[..., np.ndarray], dtype: np.dtype, *arrays: np.ndarray) -> object:
    return dense(apply(function, *arrays), dtype)


# ---- elementwise ---------------------------------------------------------------------------------------------------

@rewrite(one_of(_names(EXACT_UNARY), c, template="t"), dtypes="ordered")
def fold_unary(c, t, result_dtype):
    """f(constant) = constant for functions IEEE defines exactly"""
    name = t.name.partition(".")[2]
    if not _small(c) or c.dtype.name in ("int4", "uint4"):
        return None
    return _folded(EXACT_UNARY[name], result_dtype, c)


@rewrite(one_of(_names(EXACT_BINARY), a, b, template="t"), dtypes="ordered")
def fold_binary(a, b, t, result_dtype):
    """f(constant, constant) = constant for functions IEEE defines exactly"""
    name = t.name.partition(".")[2]
    if not _small(a, b) or a.dtype.name in ("int4", "uint4"):
        return None
    return _folded(EXACT_BINARY[name], result_dtype, a, b)


@rewrite(one_of(_names(ROUNDED_UNARY), c, template="t"), changes="rounding", dtypes="float")
def fold_transcendental_unary(c, t, result_dtype):
    """f(constant) = constant, computed in float64 and rounded"""
    if not _small(c):
        return None
    function = ROUNDED_UNARY[t.name.partition(".")[2]]
    return _folded(lambda v: function(v.astype(np.float64)), result_dtype, c)


@rewrite(one_of(_names(ROUNDED_BINARY), a, b, template="t"), changes="rounding", dtypes="float")
def fold_transcendental_binary(a, b, t, result_dtype):
    """f(constant, constant) = constant, computed in float64 and rounded"""
    if not _small(a, b):
        return None
    function = ROUNDED_BINARY[t.name.partition(".")[2]]
    return _folded(lambda v, w: function(v.astype(np.float64), w.astype(np.float64)), result_dtype, a, b)


@rewrite(match.compare(a, b, comparison_direction=d, compare_type=t),
         example=lambda a: ops.compare(ops.constant([1, 2, 3], a.dtype), ops.constant([3, 2, 1], a.dtype), "LE"),
         counter=lambda a: ops.compare(ops.constant([1.], "float32"), ops.constant([1.], "float32"), "LE", True))
def fold_compare(a, b, d, t):
    """compare(constant, constant) = constant"""
    if not _small(a, b) or t == "TOTALORDER" or a.dtype.kind == "c" and d not in ("EQ", "NE"):
        return None
    return _folded(ops.COMPARISONS[d], np.dtype(bool), a, b)


@rewrite(match.convert(c), example=(lambda a: ops.convert(ops.constant([0, 1, 2, 300], "int32"), "float32"),
                                    lambda a: ops.convert(ops.constant([0., -1.75, 2e4], "float32"), "int16"),
                                    lambda a: ops.convert(ops.constant([0, -1, 300], "int32"), "uint8"),
                                    lambda a: ops.convert(ops.constant([0, 1.5, np.nan], "float64"), "bfloat16"),
                                    lambda a: ops.convert(ops.constant([0, 1.5, np.nan], "float64"), "bool")),
         counter=(lambda a: ops.convert(ops.constant([3e9, 1.], "float32"), "int32"),
                  lambda a: ops.convert(ops.constant([np.nan, 1.], "float32"), "int32")))
def fold_convert(c, result_dtype):
    """convert(constant) = constant, unless a float does not fit the integers"""
    if not _small(c):
        return None
    inexact, source_inexact = is_float(result_dtype) or result_dtype.kind == "c", is_float(c.dtype)
    if c.dtype.kind == "c" and result_dtype.kind != "c":
        return None
    if source_inexact and not inexact and result_dtype.kind != "b":
        if result_dtype.name in ("int4", "uint4"):
            return None
        bounds = np.iinfo(result_dtype)
        wide = c.astype(np.float64)
        with np.errstate(all="ignore"):
            if not ((np.trunc(wide) >= float(bounds.min)) & (wide < float(bounds.max))).all():
                return None
    if result_dtype.kind == "b":
        return _folded(lambda v: v != 0, result_dtype, c)
    if result_dtype.name in ("int4", "uint4") or c.dtype.name in ("int4", "uint4"):
        return None
    return _folded(lambda v: rounding.astype(v, result_dtype), result_dtype, c)


@rewrite(match.select(c, a, b), example=lambda a: ops.select(
    ops.constant([True, False]), ops.constant([1, 1], a.dtype), ops.constant([0, 1], a.dtype)))
def fold_select(c, a, b, result_dtype):
    """select(constant, constant, constant) = constant"""
    if not _small(a, b, c):
        return None
    return dense(np.where(c, a, b), result_dtype)


@rewrite(match.complex(a, b), example=lambda a: ops.complex(ops.constant([1., 2], "float32"),
                                                            ops.constant([np.inf, 3], "float32")))
def fold_complex(a, b, result_dtype):
    """complex(constant, constant) = constant"""
    if not _small(a, b):
        return None
    result = np.empty(a.shape, result_dtype)
    result.real, result.imag = a, b
    return dense(result, result_dtype)


@rewrite(one_of(("stablehlo.real", "stablehlo.imag"), c, template="t"), dtypes="complex")
def fold_complex_part(c, t, result_dtype):
    """real(constant) = constant, imag(constant) = constant"""
    if not _small(c):
        return None
    return _folded(np.real if t.name == "stablehlo.real" else np.imag, result_dtype, c)


# ---- shape ---------------------------------------------------------------------------------------------------------

def _vector(a: Callable[..., object], *shape: int) -> object:
    """A constant of `shape` for examples."""
    return ops.constant(np.arange(size(shape)).reshape(shape).astype(a.dtype))


@rewrite(match.reshape(c), example=(lambda a: ops.reshape(_vector(a, 2, 3), (6,)),
                                    lambda a: ops.reshape(ops.constant(1, a.dtype, (150, 150)), (22_500,))))
def fold_reshape(c, result_shape, result_dtype):
    """reshape(constant) = constant"""
    return dense(_reshaped(c, result_shape), result_dtype)


def _reshaped(c: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(c[(0,) * c.ndim], shape) if is_splat(c) else c.reshape(shape)


@rewrite(match.transpose(c, permutation=p), example=lambda a: ops.transpose(_vector(a, 2, 3), (1, 0)))
def fold_transpose(c, p, result_dtype):
    """transpose(constant) = constant"""
    return dense(c.transpose(p), result_dtype) if _small(c) else None


@rewrite(match.broadcast_in_dim(c, broadcast_dimensions=d),
         example=(lambda a: ops.broadcast_in_dim(ops.constant(1, a.dtype), (150, 150), ()),
                  lambda a: ops.broadcast_in_dim(_vector(a, 3), (2, 3), (1,))),
         counter=lambda a: ops.broadcast_in_dim(_vector(a, 3), (3000, 3), (1,)))
def fold_broadcast(c, d, result_shape, result_dtype):
    """broadcast_in_dim(constant) = constant, if it is a splat or small"""
    if is_splat(c) or c.size == 1:
        return ops.constant(c[(0,) * c.ndim], result_dtype, result_shape)
    if size(result_shape) > GROWTH:
        return None
    order = sorted(range(len(d)), key=lambda i: d[i])
    spread = [1] * len(result_shape)
    for i in range(len(d)):
        spread[d[i]] = c.shape[i]
    return dense(np.broadcast_to(c.transpose(order).reshape(spread), result_shape), result_dtype)


@rewrite(match.reverse(c, dimensions=d), example=lambda a: ops.reverse(_vector(a, 2, 3), (1,)))
def fold_reverse(c, d, result_dtype):
    """reverse(constant) = constant"""
    return dense(c if is_splat(c) else np.flip(c, d), result_dtype) if _small(c) else None


@rewrite(match.slice(c, start_indices=starts, limit_indices=limits, strides=strides),
         example=lambda a: ops.slice(_vector(a, 6), (1,), (6,), (2,)))
def fold_slice(c, starts, limits, strides, result_shape, result_dtype):
    """slice(constant) = constant"""
    if not is_splat(c) and size(result_shape) > LIMIT:
        return None
    return dense(c[tuple(map(slice, starts, limits, strides))], result_dtype)


@rewrite(match.pad(c, splat("x"), edge_padding_low=low, edge_padding_high=high, interior_padding=interior),
         example=(lambda a: ops.pad(_vector(a, 3), ops.constant(1, a.dtype), (1,), (2,), (1,)),
                  lambda a: ops.pad(ops.constant(1, a.dtype, (50, 50)), ops.constant(1, a.dtype), (1, 1), (2, 2))),
         counter=lambda a: ops.pad(_vector(a, 3), ops.constant(1, a.dtype), (-1,), (2000,)))
def fold_pad(c, x, low, high, interior, result_shape, result_dtype):
    """pad(constant, constant) = constant"""
    if is_splat(c) and c[(0,) * c.ndim].tobytes() == x.tobytes():
        return ops.constant(x, result_dtype, result_shape)
    if size(result_shape) > GROWTH or min((*low, *high), default=0) < 0:
        return None
    result = np.full(result_shape, x, result_dtype)
    result[tuple(slice(n, n + (m - 1) * (k + 1) + 1 if m else n, k + 1)
                 for n, m, k in zip(low, c.shape, interior, strict=True))] = c
    return dense(result, result_dtype)


@rewrite(match.concatenate(rest("xs"), dimension=d), made_by=("stablehlo.constant",),
         example=lambda a: ops.concatenate([_vector(a, 2), _vector(a, 3)], 0),
         counter=lambda a: ops.concatenate([_vector(a, 2), a(3)], 0))
def fold_concatenate(xs, d, result_shape, result_dtype):
    """concatenate(constants) = constant"""
    made = [producer(v) for v in xs]
    if any(m is None or m.name != "stablehlo.constant" for m in made) or size(result_shape) > LIMIT:
        return None
    return dense(np.concatenate([ops.constant_value(v) for v in xs], d), result_dtype)


@rewrite(match.iota(iota_dimension=d), example=lambda a: ops.iota((1, 3), a.dtype, 0),
         counter=lambda a: ops.iota((3,), a.dtype, 0), dtypes=None, by_types=True)
def iota_of_extent_one(d, result_shape):
    """iota along a dimension of extent 1 = 0"""
    return 0 if result_shape[d] <= 1 else None


