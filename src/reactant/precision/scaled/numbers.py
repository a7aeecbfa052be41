"""Arrays of wide numbers times a power of two, which is a number of the program at run time.

The exponent is chosen by the greatest element of each array where it is made: that one has a mantissa between 1 and 2.
An element loses digits from about 2^-75 of the greatest on, and is 0 from 2^-149 on. Exponents of products add; sums
are aligned to the greater one. All powers are applied exactly, in two steps that are floats of the limbs each.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.precision import entries, trees, wide
from reactant.precision.wide import Wide

EXPONENT = np.dtype(np.int32)
NOTHING = -100_000
"""The exponent of zeros: less than all others."""
_FIELDS = {"float32": (np.dtype(np.int32), 23, 0xff), "float64": (np.dtype(np.int64), 52, 0x7ff)}
"""Integers of a float's bits, where its exponent begins, and which bits it has then."""


class Scaled:
    """mantissa * 2^exponent. Wide numbers of one array, and a number of `EXPONENT`."""

    __slots__ = ("exponent", "mantissa")

    def __init__(self, mantissa: Wide, exponent: ir.Value):
        self.mantissa, self.exponent = mantissa, exponent

    @property
    def shape(self) -> Shape:
        """Of the array."""
        return self.mantissa.shape

    @property
    def limbs(self) -> tuple[ir.Value, ...]:
        """What carries it: the limbs, and the exponent last."""
        return (*self.mantissa.limbs, self.exponent)

    def each(self, function: Callable[[ir.Value], ir.Value]) -> Scaled:
        """What a function that moves elements makes of the mantissas."""
        return Scaled(self.mantissa.each(function), self.exponent)


def whole(number: int) -> ir.Value:
    """An exponent that is known."""
    return ops.constant(number, EXPONENT)


def power_of_two(exponent: ir.Value, dtype: np.dtype) -> ir.Value:
    """2^exponent, a normal number."""
    bits, shift, mask = _FIELDS[dtype.name]
    field = ops.convert(ops.add(exponent, mask // 2), bits)
    return ops.bitcast_convert(ops.shift_left(field, ops.splat(shift, field)), dtype)


def times_power(x: ir.Value, exponent: ir.Value) -> ir.Value:
    """x * 2^exponent, rounded once; exponents as far as twice those of the format."""
    dtype, shape = dtype_of(x), shape_of(x)
    end = _FIELDS[dtype.name][2] - 3        # both halves are exponents of normal numbers
    bounded = ops.minimum(ops.maximum(exponent, whole(-end)), whole(end))
    half = ops.shift_right_arithmetic(bounded, whole(1))
    for part in (half, ops.subtract(bounded, half)):
        x = ops.multiply(x, ops.broadcast_in_dim(power_of_two(part, dtype), shape, ()))
    return x


def shifted(x: Wide, exponent: ir.Value) -> Wide:
    """The product with a power of two."""
    return x.each(lambda limb: times_power(limb, exponent))


def exponents(x: ir.Value) -> ir.Value:
    """Of each element; `NOTHING` of zeros and of what is not finite. Subnormal numbers count as the least normal."""
    bits, shift, mask = _FIELDS[dtype_of(x).name]
    raw = ops.bitcast_convert(ops.abs(x), bits)
    field = ops.convert(ops.shift_right_logical(raw, ops.splat(shift, raw)), EXPONENT)
    known = ops.and_(ops.is_finite(x), ops.compare(x, 0.0, "NE"))
    return ops.select(known, ops.subtract(field, mask // 2), NOTHING)


def greatest(found: ir.Value) -> ir.Value:
    """Of exponents."""
    shape = shape_of(found)
    return ops.reduce(found, NOTHING, range(len(shape)), "maximum") if shape else found


def normalised(x: Wide, exponent: ir.Value) -> Scaled:
    """The product with 2^exponent, with the exponent of its greatest element."""
    x = trees.computed_once(x)
    top = greatest(exponents(x.head))
    nothing = ops.compare(top, NOTHING, "EQ")
    move = ops.select(nothing, 0, top)
    return Scaled(shifted(x, ops.negate(move)), ops.select(nothing, NOTHING, ops.add(exponent, move)))


def split(x: ir.Value, limb: np.dtype, count: int) -> Scaled:
    """A float as limbs, of its own exponent."""
    top = greatest(exponents(x))
    move = ops.select(ops.compare(top, NOTHING, "EQ"), 0, top)
    found = Scaled(entries.split(times_power(x, ops.negate(move)), limb, count), top)
    # a subnormal array's mantissa is less than 1 then, and a rounded one may be 2
    return normalised(found.mantissa, ops.select(ops.compare(top, NOTHING, "EQ"), 0, top))


def join(x: Scaled, dtype: np.dtype) -> ir.Value:
    """As a float: infinite, or 0, as the format says."""
    return times_power(entries.join(x.mantissa, dtype), x.exponent)


def constant(array: np.ndarray, limb: np.dtype, count: int) -> Scaled:
    """A constant, scaled where the program is compiled."""
    distinct = ops.distinct(array)
    with np.errstate(all="ignore"):
        finite = np.abs(distinct[np.isfinite(distinct) & (distinct != 0)])
    if not finite.size:
        return Scaled(entries.constant_array(array, limb, count), whole(NOTHING))
    exponent = int(np.frexp(finite.max())[1]) - 1
    moved = np.ldexp(np.ldexp(distinct, -exponent // 2), -exponent - -exponent // 2)
    content = np.broadcast_to(moved, array.shape) if distinct.size == 1 and array.size != 1 \
        else moved.reshape(array.shape)
    return Scaled(entries.constant_array(content, limb, count), whole(exponent))


def aligned(numbers: Sequence[Scaled]) -> tuple[list[Wide], ir.Value]:
    """The mantissas for the greatest of their exponents, and that."""
    top = numbers[0].exponent
    for other in numbers[1:]:
        top = ops.maximum(top, other.exponent)
    if len(numbers) == 1:
        return [numbers[0].mantissa], top
    return [shifted(x.mantissa, ops.subtract(x.exponent, top)) for x in numbers], top


def plain(x: Scaled) -> Wide:
    """Without a power: infinite, or less exact and 0, where the limbs' range ends."""
    return shifted(x.mantissa, x.exponent)


# ---- arithmetic ----------------------------------------------------------------------------------------------------

def add(x: Scaled, y: Scaled) -> Scaled:
    """x + y"""
    (a, b), top = aligned([x, y])
    return normalised(wide.add(a, b), top)


def subtract(x: Scaled, y: Scaled) -> Scaled:
    """x - y"""
    (a, b), top = aligned([x, y])
    return normalised(wide.subtract(a, b), top)


def multiply(x: Scaled, y: Scaled) -> Scaled:
    """x * y, of factors between which the exponent of the greatest product is shared."""
    top = greatest(_known(exponents(x.mantissa.head), exponents(y.mantissa.head), ops.add))
    a, b, move = _apart(x, y, top, -1)
    return normalised(wide.multiply(a, b), ops.add(ops.add(x.exponent, y.exponent), move))


def divide(x: Scaled, y: Scaled) -> Scaled:
    """x / y, the same way."""
    top = greatest(_known(exponents(x.mantissa.head), exponents(y.mantissa.head), ops.subtract))
    a, b, move = _apart(x, y, top, 1)
    return normalised(wide.divide(a, b), ops.add(ops.subtract(x.exponent, y.exponent), move))


def _known(a: ir.Value, b: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """What two exponents become, where both are of numbers."""
    both = ops.and_(ops.compare(a, NOTHING, "NE"), ops.compare(b, NOTHING, "NE"))
    return ops.select(both, combine(a, b), NOTHING)


def _apart(x: Scaled, y: Scaled, top: ir.Value, sign: int) -> tuple[Wide, Wide, ir.Value]:
    """Mantissas that are moved so that the greatest result is about 1, each by a half, and by how much."""
    move = ops.select(ops.compare(top, NOTHING, "EQ"), 0, top)
    half = ops.shift_right_arithmetic(move, whole(1))
    rest = ops.subtract(move, half)
    second = rest if sign > 0 else ops.negate(rest)
    return shifted(x.mantissa, ops.negate(half)), shifted(y.mantissa, second), move


def product(x: Scaled) -> Scaled:
    """Of all elements along the first dimension, of which there is one at least, in a tree."""
    while (count := x.shape[0]) > 1:
        half = count // 2
        first, second = (_part(x, k * half, (k + 1) * half) for k in (0, 1))
        found = multiply(first, second)
        if count % 2:
            (a, b), top = aligned([found, _part(x, count - 1, count)])
            found = Scaled(Wide([ops.concatenate([one, other], 0)
                                 for one, other in zip(a.limbs, b.limbs, strict=True)]), top)
        x = found
    return x.each(lambda limb: ops.reshape(limb, shape_of(limb)[1:]))


def _part(x: Scaled, start: int, stop: int) -> Scaled:
    rest = x.shape[1:]
    return x.each(lambda limb: ops.slice(limb, (start, *[0] * len(rest)), (stop, *rest)))


def sqrt(x: Scaled) -> Scaled:
    """The square root, of an even exponent."""
    odd = ops.and_(x.exponent, whole(1))
    root = wide.sqrt(shifted(x.mantissa, odd))
    return Scaled(root, ops.shift_right_arithmetic(ops.subtract(x.exponent, odd), whole(1)))
