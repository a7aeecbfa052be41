"""Functions of numbers with a power of two: by identities where it can be told from the rest, else of the numbers
without it.

What a function leaves of numbers that float32 does not reach is known for most: sin x is x for small x, and so are
others; arctan x does not change beyond. Where it is not, results are infinite or NaN, which is noted as other results
beyond the range are.
"""
from __future__ import annotations

import math
from fractions import Fraction

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.locations import file_and_line
from reactant.precision import exponential, numerals, wide
from reactant.precision.ranges import GROWING, Place, largest
from reactant.precision.scaled import numbers
from reactant.precision.scaled.conversion import ScaledConversion, declare
from reactant.precision.scaled.numbers import Scaled
from reactant.precision.wide import Wide

SMALL = -60
"""Exponents below: x^2 is nothing beside 1 in any format of limbs here."""
ODD = {"stablehlo.sine": 1.0, "stablehlo.tan": 1.0, "chlo.asin": 1.0, "chlo.atan": 1.0, "chlo.sinh": 1.0,
       "stablehlo.tanh": 1.0, "chlo.asinh": 1.0, "chlo.atanh": 1.0, "stablehlo.exponential_minus_one": 1.0,
       "stablehlo.log_plus_one": 1.0}
"""Functions that are their argument where it is small."""


@declare(*ODD)
def odd(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """The argument itself where all of it is small."""
    found = plainly(c, op, x)
    small = ops.compare(x.exponent, SMALL, "LT")
    chosen = wide.choose(_spread(small, x), x.mantissa, found.mantissa)
    return Scaled(chosen, ops.select(small, x.exponent, found.exponent))


def _spread(predicate: ir.Value, x: Scaled) -> ir.Value:
    return ops.broadcast_in_dim(predicate, x.shape, ())


@declare("cosine", "logistic", "chlo.cosh", "chlo.acos", "chlo.acosh", "chlo.erfc")
def plainly(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """The function of numbers without a power: those that are too small are as good as 0."""
    given = numbers.plain(x)
    found: Wide = c.on_mantissas(op, [given])[0]
    if c.watch is not None:
        there = ops.is_finite(x.mantissa.head)
        beyond = ops.and_(ops.and_(there, ops.not_(ops.is_finite(given.head))), ops.not_(ops.is_finite(found.head)))
        name = op.name.split(".")[1]
        genuine = GROWING.get(name)
        if name in GROWING:
            grown = ops.and_(ops.is_finite(given.head), ops.not_(ops.is_finite(found.head)))
            if genuine is not None:
                grown = ops.and_(grown, ops.not_(genuine(math.log(largest(c.source)), given)))
            beyond = ops.or_(beyond, grown)
        c.watch.note(beyond, Place(name, file_and_line(op.location)))
    return numbers.normalised(found, numbers.whole(0))


@declare("exponential")
def exp(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """2^k exp(x - k log 2), k so that the greatest result is about 1."""
    given = numbers.plain(x)
    dtype = given.dtype
    head = ops.select(ops.is_finite(given.head), given.head, ops.splat(-largest(dtype), given.head))
    top = ops.reduce(head, -largest(dtype), range(len(x.shape)), "maximum") if x.shape else head
    bounded = ops.minimum(ops.maximum(top, ops.constant(-1500.0, dtype)), ops.constant(1500.0, dtype))
    k = ops.round_nearest_even(ops.multiply(bounded, 1 / math.log(2)))
    log2 = wide.constant(numerals.log(Fraction(2)), dtype, x.shape, x.mantissa.count + 1)
    moved = given.first(given.count + 1) - log2 * ops.broadcast_in_dim(k, x.shape, ())
    return numbers.normalised(exponential.exp(moved.first(given.count)), ops.convert(k, numbers.EXPONENT))


@declare("log")
def log(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """log m + e log 2 where x itself is beyond the limbs: near 1 that would lose digits."""
    given = numbers.plain(x)
    size = ops.abs(given.head)
    near = ops.and_(ops.compare(size, 2.0**-60, "GE"), ops.compare(size, 2.0**60, "LE"))
    part = exponential.log(wide.choose(near, given, x.mantissa))
    exponent = ops.select(ops.compare(x.exponent, numbers.NOTHING, "EQ"), 0, x.exponent)
    power = ops.broadcast_in_dim(ops.convert(exponent, given.dtype), x.shape, ())
    rest = wide.constant(numerals.log(Fraction(2)), given.dtype, x.shape, given.count) * power
    return numbers.normalised(wide.choose(near, part, part + rest), numbers.whole(0))


@declare("cbrt")
def cbrt(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """The root of an exponent that three divides."""
    three = numbers.whole(3)
    rest = ops.remainder(ops.add(ops.remainder(x.exponent, three), three), three)
    found = c.on_mantissas(op, [numbers.shifted(x.mantissa, rest)])[0]
    return numbers.normalised(found, ops.divide(ops.subtract(x.exponent, rest), three))


@declare("floor", "ceil", "round_nearest_even", "round_nearest_afz")
def rounded(c: ScaledConversion, op: ir.Operation, x: Scaled) -> Scaled:
    """Large numbers are whole; of small ones the sign is what matters."""
    given = numbers.plain(x)
    lost = ops.and_(ops.compare(given.head, 0.0, "EQ"), ops.compare(x.mantissa.head, 0.0, "NE"))
    tiny = Wide([ops.multiply(ops.sign(x.mantissa.head), 2.0**-100)]).first(given.count)
    whole = c.on_mantissas(op, [wide.choose(lost, tiny, given)])[0]
    large = ops.compare(ops.abs(given.head), 2.0**100, "GE")
    zero = ops.splat(0.0, given.head)
    inside = Wide([ops.select(large, zero, limb) for limb in whole.limbs])
    outside = Wide([ops.select(large, limb, zero) for limb in x.mantissa.limbs])
    return numbers.add(numbers.normalised(inside, numbers.whole(0)), numbers.normalised(outside, x.exponent))
