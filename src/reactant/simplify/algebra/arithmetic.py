"""add, subtract, multiply, divide, negate, power, remainder, abs, sign, maximum, minimum.

What holds for floats is exact in IEEE arithmetic, -0.0, NaN and infinities included, unless the rule says otherwise:
x + 0.0 is not x (for -0.0), x - x and x * 0.0 are not 0. Integers wrap around, so their ring laws hold.
"""
from __future__ import annotations

from functools import cache

import numpy as np

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.rewrite import SWAPPED, constant, equations, match, one_of, producer, rewrite, splat, variables
from reactant.simplify.facts.contents import apply, dense, every

x, y, z, v = variables("x y z v")
c, d = constant("c"), constant("d")

COMMUTATIVE = tuple(f"stablehlo.{n}" for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))


@rewrite(one_of(COMMUTATIVE, match.constant(), y), example=lambda a: ops.add(ops.splat(3, x := a(4)), x))
def constant_on_the_right(y):
    """op(c, y) = op(y, c): canonical order, so that no rule needs a commuted twin"""
    other = producer(y)
    return None if other is not None and other.name == "stablehlo.constant" else SWAPPED


# ---- identities ----------------------------------------------------------------------------------------------------

equations(
    dtypes="real",
    add_negative_zero=(match.add(x, -0.0), x),
    subtract_zero=(match.subtract(x, 0), x),
    multiply_by_one=(match.multiply(x, 1), x),
    divide_by_one=(match.divide(x, 1), x),
    multiply_by_minus_one=(match.multiply(x, -1), match.negate(x)),
    abs_of_abs=(match.abs(match.abs(x)), match.abs(x)),
)


@rewrite(match.abs(match.multiply(x, splat("c"))), dtypes="float",
         example=lambda a: ops.abs(ops.multiply(a(3), -0.7)), counter=lambda a: ops.abs(ops.multiply(a(3), 0.7)))
def abs_of_negative_multiple(x, c):
    """abs(x * c) = abs(x * -c) for a negative c: the same for both signs"""
    return ops.abs(ops.multiply(x, ops.splat(-c, x))) if c < 0 else None


@rewrite(match.multiply(match.convert(x), splat("c")), dtypes="real",
         example=(lambda a: ops.multiply(ops.convert(a(4, dtype="bool"), a.dtype), 3),
                  lambda a: ops.multiply(ops.convert(a(4, dtype="bool"), "float32"), -2.5),
                  lambda a: ops.multiply(ops.convert(a(4, dtype="bool"), "float32"), np.inf)),
         counter=(lambda a: ops.multiply(ops.convert(a(4, dtype="int8"), "float32"), 2.5),
                  lambda a: ops.multiply(ops.convert(a(4, dtype="bool"), "int32"), 1)))
def multiple_of_predicate(x, c, result_shape):
    """convert(p) c = select(p, c, 0 c) for a boolean p"""
    if dtype_of(x).kind != "b" or c == 1:
        return None
    with np.errstate(invalid="ignore"):
        nothing = np.asarray(c * c.dtype.type(0), c.dtype)
    return ops.select(x, ops.constant(c, c.dtype, result_shape), ops.constant(nothing, c.dtype, result_shape))


@rewrite(match.multiply(match.abs(x), match.abs(x)), dtypes="real",
         example=lambda a: ops.multiply(y := ops.abs(a(3)), y),
         counter=lambda a: ops.multiply(y := ops.abs(a(3, dtype="complex128")), y))
def square_of_abs(x):
    """|x| |x| = x x, for real x"""
    return None if dtype_of(x).kind == "c" else ops.multiply(x, x)


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
    maximum_with_lowest=(match.maximum(x, -np.inf), x),
    minimum_with_highest=(match.minimum(x, np.inf), x),
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

@rewrite(match.subtract(x, c), dtypes="real")
def subtract_constant(x, c):
    """x - c = x + (-c)"""
    return ops.add(x, dense(apply(np.negative, c), c.dtype))


@rewrite(match.multiply(match.negate(x), c), dtypes="real")
def multiply_negate_by_constant(x, c):
    """(-x) c = x (-c)"""
    return ops.multiply(x, dense(apply(np.negative, c), c.dtype))


@rewrite(match.negate(match.multiply(x, c)), dtypes="real")
def negate_of_multiply_by_constant(x, c):
    """-(x c) = x (-c)"""
    return ops.multiply(x, dense(apply(np.negative, c), c.dtype))


@rewrite(match.divide(match.negate(x), c), dtypes="float")
def divide_negate_by_constant(x, c):
    """(-x) / c = x / (-c)"""
    return ops.divide(x, dense(apply(np.negative, c), c.dtype))


@rewrite(match.negate(match.divide(x, c)), dtypes="float")
def negate_of_divide_by_constant(x, c):
    """-(x / c) = x / (-c)"""
    return ops.divide(x, dense(apply(np.negative, c), c.dtype))


@rewrite(match.divide(x, c), dtypes="float", example=lambda a: ops.divide(a(4), ops.constant([2, .5, -4, 8.], a.dtype)),
         counter=(lambda a: ops.divide(a(4), 3), lambda a: ops.divide(a(4), 2.0**-126 / 8 if a.dtype == "f4" else 0)),
         by_types=True)
def divide_by_power_of_two(x, c):
    """x / 2**k = x * 2**-k, where both are normal numbers"""
    if c.dtype.kind != "f" or not every(_is_power_of_two, c):
        return None
    return ops.multiply(x, dense(apply(np.reciprocal, c), c.dtype))


def _is_power_of_two(c: np.ndarray) -> np.ndarray:
    """A power of two that has a normal reciprocal."""
    tiny, size = _tiny(c.dtype), np.abs(c)
    return (np.frexp(size)[0] == 0.5) & (size >= tiny) & (size <= 1 / tiny)


@cache
def _tiny(dtype: np.dtype) -> np.floating:
    return np.finfo(dtype).tiny


@rewrite(match.add(match.add(x, c), d), dtypes="integer")
def add_of_add_constants(x, c, d):
    """(x + c) + d = x + (c + d)"""
    return ops.add(x, dense(apply(np.add, c, d), c.dtype))


@rewrite(match.multiply(match.multiply(x, c), d), dtypes="integer")
def multiply_of_multiply_constants(x, c, d):
    """(x c) d = x (c d)"""
    return ops.multiply(x, dense(apply(np.multiply, c, d), c.dtype))


@rewrite(match.add(match.subtract(c, x), d), dtypes="integer")
def add_to_constant_minus(x, c, d):
    """(c - x) + d = (c + d) - x"""
    return ops.subtract(dense(apply(np.add, c, d), c.dtype), x)


@rewrite(match.subtract(c, match.subtract(d, x)), dtypes="integer")
def constant_minus_constant_minus(x, c, d):
    """c - (d - x) = x + (c - d)"""
    return ops.add(x, dense(apply(np.subtract, c, d), c.dtype))


@rewrite(match.subtract(c, match.add(x, d)), dtypes="integer")
def constant_minus_sum(x, c, d):
    """c - (x + d) = (c - d) - x"""
    return ops.subtract(dense(apply(np.subtract, c, d), c.dtype), x)


@rewrite(match.multiply(match.add(x, c), d), dtypes="integer")
def multiply_sum_by_constant(x, c, d):
    """(x + c) d = x d + c d"""
    return ops.add(ops.multiply(x, dense(d, d.dtype)), dense(apply(np.multiply, c, d), c.dtype))


@rewrite(match.add(match.multiply(x, c), x), dtypes="integer")
def add_multiple_and_itself(x, c):
    """x c + x = x (c + 1)"""
    return ops.multiply(x, dense(apply(np.add, c, np.ones_like(c)), c.dtype))


@rewrite(match.maximum(match.maximum(x, c), d), dtypes="real")
def maximum_of_maximum_constants(x, c, d):
    """max(max(x, c), d) = max(x, max(c, d))"""
    return ops.maximum(x, dense(apply(_maximum, c, d), c.dtype))


@rewrite(match.minimum(match.minimum(x, c), d), dtypes="real")
def minimum_of_minimum_constants(x, c, d):
    """min(min(x, c), d) = min(x, min(c, d))"""
    return ops.minimum(x, dense(apply(_minimum, c, d), c.dtype))


def _maximum(c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """maximum with 0.0 above -0.0, as the IR has it."""
    if c.dtype.kind in "iu":
        return np.maximum(c, d)
    return np.where((c == 0) & (d == 0) & np.signbit(c), d, np.maximum(c, d))


def _minimum(c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """minimum with -0.0 below 0.0, as the IR has it."""
    if c.dtype.kind in "iu":
        return np.minimum(c, d)
    return np.where((c == 0) & (d == 0) & np.signbit(c), c, np.minimum(c, d))


@rewrite(match.add(match.add(x, c), d), dtypes="float", changes="association")
def add_of_add_float_constants(x, c, d):
    """(x + c) + d = x + (c + d)"""
    return ops.add(x, dense(apply(np.add, c, d), c.dtype))


@rewrite(match.multiply(match.multiply(x, c), d), dtypes="float", changes="association")
def multiply_of_multiply_float_constants(x, c, d):
    """(x c) d = x (c d)"""
    return ops.multiply(x, dense(apply(np.multiply, c, d), c.dtype))


@rewrite(match.divide(match.sqrt(x), x), dtypes="float", changes="rounding", assumes="finite",
         example=lambda a: ops.divide(ops.sqrt(p := ops.add(ops.abs(a(4)), 1)), p))
def square_root_over_itself(x):
    """sqrt(x) / x = rsqrt(x)"""
    return ops.rsqrt(x)
