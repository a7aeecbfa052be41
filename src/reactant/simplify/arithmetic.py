"""add, subtract, multiply, divide, negate, power, remainder, abs, sign, maximum, minimum.

What holds for floats is exact in IEEE arithmetic, -0.0, NaN and infinities included, unless the rule says otherwise:
x + 0.0 is not x (for -0.0), x - x and x * 0.0 are not 0. Integers wrap around, so their ring laws hold.
"""
from __future__ import annotations

import numpy as np

from reactant.ir import ops
from reactant.rewrite import constant, equations, match, named, one_of, producer, rewrite, splat, variables

x, y, z, v = variables("x y z v")
c, d = constant("c"), constant("d")

COMMUTATIVE = tuple(f"stablehlo.{n}" for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))


@rewrite(one_of(COMMUTATIVE, named("v", match.constant()), y, template="t"),
         example=lambda a: ops.add(ops.splat(3, x := a(4)), x))
def constant_on_the_right(v, y, t, result_shape):
    """op(c, y) = op(y, c): canonical order, so that no rule needs a commuted twin"""
    other = producer(y)
    return None if other is not None and other.name == "stablehlo.constant" else t.build((y, v), result_shape)


# ---- identities ----------------------------------------------------------------------------------------------------

equations(
    dtypes="real",
    add_negative_zero=(match.add(x, -0.0), x),
    subtract_zero=(match.subtract(x, 0), x),
    multiply_by_one=(match.multiply(x, 1), x),
    divide_by_one=(match.divide(x, 1), x),
    multiply_by_minus_one=(match.multiply(x, -1), match.negate(x)),
    abs_of_abs=(match.abs(match.abs(x)), match.abs(x)),
    square_of_abs=(match.multiply(match.abs(x), match.abs(x)), match.multiply(x, x)),
)
equations(
    negate_of_negate=(match.negate(match.negate(x)), x),
    maximum_of_itself=(match.maximum(x, x), x),
    minimum_of_itself=(match.minimum(x, x), x),
    maximum_of_maximum=(match.maximum(match.maximum(x, y), y), match.maximum(x, y)),
    minimum_of_minimum=(match.minimum(match.minimum(x, y), y), match.minimum(x, y)),
)
equations(
    dtypes="number",
    add_of_negate=(match.add(x, match.negate(y)), match.subtract(x, y)),
    subtract_of_negate=(match.subtract(x, match.negate(y)), match.add(x, y)),
    product_of_negates=(match.multiply(match.negate(x), match.negate(y)), match.multiply(x, y)),
)
equations(
    dtypes="float",
    quotient_of_negates=(match.divide(match.negate(x), match.negate(y)), match.divide(x, y)),
    divide_by_minus_one=(match.divide(x, -1), match.negate(x)),
    abs_of_negate=(match.abs(match.negate(x)), match.abs(x)),
    abs_of_square=(match.abs(match.multiply(x, x)), match.multiply(x, x)),
    abs_of_square_root=(match.abs(match.sqrt(match.abs(x))), match.sqrt(match.abs(x))),
    abs_of_exponential=(match.abs(match.exponential(x)), match.exponential(x)),
    power_one=(match.power(x, 1), x),
    power_zero=(match.power(x, 0), 1),
)
equations(
    dtypes="integer",
    add_zero=(match.add(x, 0), x),
    multiply_by_zero=(match.multiply(x, 0), 0),
    subtract_itself=(match.subtract(x, x), 0),
    add_then_subtract=(match.subtract(match.add(x, y), y), x),
    subtract_then_add=(match.add(match.subtract(x, y), y), x),
    subtract_sum_from_term=(match.subtract(x, match.add(x, y)), match.negate(y)),
    subtract_difference_from_term=(match.subtract(x, match.subtract(x, y)), y),
    negate_of_subtract=(match.negate(match.subtract(x, y)), match.subtract(y, x)),
    sum_of_products=(match.add(match.multiply(x, y), match.multiply(x, z)), match.multiply(x, match.add(y, z))),
    difference_of_products=(match.subtract(match.multiply(x, y), match.multiply(x, z)),
                            match.multiply(x, match.subtract(y, z))),
    remainder_by_one=(match.remainder(x, 1), 0),
    maximum_absorbs_minimum=(match.maximum(x, match.minimum(x, y)), x),
    minimum_absorbs_maximum=(match.minimum(x, match.maximum(x, y)), x),
)
equations(
    dtypes="float", assumes="finite",
    add_positive_zero=(match.add(x, 0.0), x),
    multiply_by_positive_zero=(match.multiply(x, 0.0), 0),
    subtract_float_itself=(match.subtract(x, x), 0),
)
equations(
    dtypes="float", assumes="finite", changes="rounding",
    power_half=(match.power(match.abs(x), 0.5), match.sqrt(match.abs(x))),
    power_three_halves=(match.power(match.abs(x), 1.5), match.multiply(match.abs(x), match.sqrt(match.abs(x)))),
)
equations(
    dtypes="float", changes="rounding",
    power_two=(match.power(x, 2), match.multiply(x, x)),
    power_three=(match.power(x, 3), match.multiply(match.multiply(x, x), x)),
    power_minus_one=(match.power(x, -1), match.divide(1, x)),
)


@rewrite(match.power(x, 4), dtypes="float", changes="rounding")
def power_four(x):
    """power(x, 4) = (x x) (x x)"""
    square = ops.multiply(x, x)
    return ops.multiply(square, square)


# ---- constants that meet -------------------------------------------------------------------------------------------

def _dense(array: np.ndarray, like: np.ndarray) -> object:
    """A constant with the content of `array` in the dtype of `like`."""
    return ops.constant(array.astype(like.dtype, copy=False))


def _apply(function: np.ufunc, *arrays: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return function(*arrays)


@rewrite(match.subtract(x, c), dtypes="real")
def subtract_constant(x, c):
    """x - c = x + (-c)"""
    return ops.add(x, _dense(_apply(np.negative, c), c))


@rewrite(match.multiply(match.negate(x), c), dtypes="real")
def multiply_negate_by_constant(x, c):
    """(-x) c = x (-c)"""
    return ops.multiply(x, _dense(_apply(np.negative, c), c))


@rewrite(match.negate(match.multiply(x, c)), dtypes="real")
def negate_of_multiply_by_constant(x, c):
    """-(x c) = x (-c)"""
    return ops.multiply(x, _dense(_apply(np.negative, c), c))


@rewrite(match.divide(match.negate(x), c), dtypes="float")
def divide_negate_by_constant(x, c):
    """(-x) / c = x / (-c)"""
    return ops.divide(x, _dense(-c, c))


@rewrite(match.negate(match.divide(x, c)), dtypes="float")
def negate_of_divide_by_constant(x, c):
    """-(x / c) = x / (-c)"""
    return ops.divide(x, _dense(-c, c))


@rewrite(match.divide(x, c), dtypes="float", example=lambda a: ops.divide(a(4), ops.constant([2, .5, -4, 8.], a.dtype)),
         counter=(lambda a: ops.divide(a(4), 3), lambda a: ops.divide(a(4), 2.0**-126 / 8 if a.dtype == "f4" else 0)))
def divide_by_power_of_two(x, c):
    """x / 2**k = x * 2**-k, where both are normal numbers"""
    limits = _limits(c.dtype)
    if limits is None or not c.size:
        return None
    mantissa, _ = np.frexp(c)
    size = np.abs(c)
    if not (np.abs(mantissa) == 0.5).all() or not ((size >= limits.tiny) & (size <= 1 / limits.tiny)).all():
        return None
    return ops.multiply(x, _dense(1 / c, c))


def _limits(dtype: np.dtype) -> np.finfo | None:
    return np.finfo(dtype) if dtype.kind == "f" else None


@rewrite(match.add(match.add(x, c), d), dtypes="integer")
def add_of_add_constants(x, c, d):
    """(x + c) + d = x + (c + d)"""
    return ops.add(x, _dense(_apply(np.add, c, d), c))


@rewrite(match.multiply(match.multiply(x, c), d), dtypes="integer")
def multiply_of_multiply_constants(x, c, d):
    """(x c) d = x (c d)"""
    return ops.multiply(x, _dense(_apply(np.multiply, c, d), c))


@rewrite(match.add(match.subtract(c, x), d), dtypes="integer")
def add_to_constant_minus(x, c, d):
    """(c - x) + d = (c + d) - x"""
    return ops.subtract(_dense(_apply(np.add, c, d), c), x)


@rewrite(match.subtract(c, match.subtract(d, x)), dtypes="integer")
def constant_minus_constant_minus(x, c, d):
    """c - (d - x) = x + (c - d)"""
    return ops.add(x, _dense(_apply(np.subtract, c, d), c))


@rewrite(match.subtract(c, match.add(x, d)), dtypes="integer")
def constant_minus_sum(x, c, d):
    """c - (x + d) = (c - d) - x"""
    return ops.subtract(_dense(_apply(np.subtract, c, d), c), x)


@rewrite(match.multiply(match.add(x, c), d), dtypes="integer")
def multiply_sum_by_constant(x, c, d):
    """(x + c) d = x d + c d"""
    return ops.add(ops.multiply(x, _dense(d, d)), _dense(_apply(np.multiply, c, d), c))


@rewrite(match.add(match.multiply(x, c), x), dtypes="integer")
def add_multiple_and_itself(x, c):
    """x c + x = x (c + 1)"""
    return ops.multiply(x, _dense(_apply(np.add, c, np.ones_like(c)), c))


@rewrite(match.maximum(match.maximum(x, c), d), dtypes="real")
def maximum_of_maximum_constants(x, c, d):
    """max(max(x, c), d) = max(x, max(c, d))"""
    return ops.maximum(x, _dense(_zero_aware(np.maximum, c, d), c))


@rewrite(match.minimum(match.minimum(x, c), d), dtypes="real")
def minimum_of_minimum_constants(x, c, d):
    """min(min(x, c), d) = min(x, min(c, d))"""
    return ops.minimum(x, _dense(_zero_aware(np.minimum, c, d), c))


def _zero_aware(function: np.ufunc, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """maximum/minimum that order -0.0 below 0.0, as the IR does."""
    picked = function(c, d)
    if c.dtype.kind != "f":
        return picked
    negative = np.logical_and if function is np.maximum else np.logical_or
    zero = (c == 0) & (d == 0)
    return np.where(zero, np.where(negative(np.signbit(c), np.signbit(d)), -0.0, 0.0), picked).astype(c.dtype)


@rewrite(match.add(match.add(x, c), d), dtypes="float", changes="association")
def add_of_add_float_constants(x, c, d):
    """(x + c) + d = x + (c + d)"""
    return ops.add(x, _dense(_apply(np.add, c, d), c))


@rewrite(match.multiply(match.multiply(x, c), d), dtypes="float", changes="association")
def multiply_of_multiply_float_constants(x, c, d):
    """(x c) d = x (c d)"""
    return ops.multiply(x, _dense(_apply(np.multiply, c, d), c))


@rewrite(match.divide(match.sqrt(x), x), dtypes="float", changes="rounding", assumes="finite",
         example=lambda a: ops.divide(ops.sqrt(p := ops.add(ops.abs(a(4)), 1)), p))
def square_root_over_itself(x):
    """sqrt(x) / x = rsqrt(x)"""
    return ops.rsqrt(x)
