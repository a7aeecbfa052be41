"""Where numbers become limbs and limbs become numbers: arguments, results, constants, conversions of dtypes."""
from __future__ import annotations

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of
from reactant.precision import error_free, numerals, wide
from reactant.precision.wide import Wide

EXPONENT_BITS = {"float64": 11, "float32": 8, "bfloat16": 8, "float16": 5}


def split(x: ir.Value, limb: np.dtype, count: int) -> Wide:
    """A float as limbs: exact, but for what is below their least number or beyond their digits."""
    dtype = dtype_of(x)
    if dtype == limb or error_free.digits(dtype) <= error_free.digits(limb):
        return Wide([ops.convert(x, limb)]).first(count)
    limbs, rest = [], x
    # rounding to five bits of exponent would make zeros of what float16 has below 6e-5
    exponent = EXPONENT_BITS[dtype.name if limb == np.float16 else limb.name]
    for _ in range(count):
        rounded = ops.reduce_precision(rest, exponent, error_free.digits(limb) - 1)
        limbs.append(ops.convert(rounded, limb))
        finite = ops.is_finite(limbs[-1] if limb == np.float16 else rounded)
        rest = ops.select(finite, ops.subtract(rest, rounded), 0.0)
    return Wide(limbs)


def join(x: Wide, dtype: np.dtype) -> ir.Value:
    """Limbs as a float of more, or as many, digits; rounded to those."""
    limbs = [ops.convert(limb, dtype) for limb in x.limbs]
    if error_free.digits(x.dtype) >= error_free.digits(dtype):
        return limbs[0]
    total = limbs[-1]
    for limb in reversed(limbs[:-1]):
        total = ops.add(limb, total)
    return ops.select(ops.compare(limbs[0], 0.0, "EQ"), limbs[0], total)


def narrowed(x: Wide, dtype: np.dtype) -> ir.Value:
    """The nearest float of another format."""
    if error_free.digits(dtype) > error_free.digits(x.dtype):
        return join(x, dtype)
    if error_free.digits(dtype) == error_free.digits(x.dtype) and dtype == x.dtype:
        return x.head
    return ops.convert(rounded_to_odd(x), dtype)


def rounded_to_odd(x: Wide) -> ir.Value:
    """The first limb, or its neighbour towards zero, whose last digit says that something is left: then it can be
    rounded to fewer digits as the whole would be."""
    head, rest = x.head, x.limbs[1]
    bits = error_free.bits_of(head)
    below = ops.compare(ops.multiply(ops.sign(head), ops.sign(rest)), 0.0, "LT")
    inexact = ops.compare(rest, 0.0, "NE")
    one = ops.splat(1, bits)
    truncated = ops.select(below, ops.subtract(bits, one), bits)
    made = ops.bitcast_convert(ops.or_(truncated, one), x.dtype)
    return ops.select(ops.and_(inexact, ops.is_finite(head)), made, head)


def constant_array(array: np.ndarray, limb: np.dtype, count: int) -> Wide:
    """A constant array, or one number everywhere, as limbs."""
    distinct = ops.distinct(array)
    parts = numerals.split_array(distinct, limb, count)
    if distinct.size == 1:
        return Wide([ops.constant(part.reshape(())[()], limb, array.shape) for part in parts])
    return Wide([ops.constant(part.reshape(array.shape), limb) for part in parts])


# ---- integers ------------------------------------------------------------------------------------------------------

def from_integer(x: ir.Value, limb: np.dtype, count: int) -> Wide:
    """An integer or truth as limbs, to the last digit that they have."""
    dtype, digits = dtype_of(x), error_free.digits(limb)
    width = 1 if dtype.kind == "b" else 8 * dtype.itemsize
    if width <= digits:
        return Wide([ops.convert(x, limb)]).first(count)
    parts, rest, shift = [], x, 0
    while width - shift > digits:       # from the lowest digits up; the highest part has the sign
        low = ops.and_(rest, ops.splat((1 << digits) - 1, rest))
        parts.append(ops.multiply(ops.convert(low, limb), 2.0**shift) if shift else ops.convert(low, limb))
        move = ops.shift_right_arithmetic if dtype.kind == "i" else ops.shift_right_logical
        rest, shift = move(rest, ops.splat(digits, rest)), shift + digits
    parts.append(ops.multiply(ops.convert(rest, limb), 2.0**shift))
    with wide.finite():
        found = wide.renormalised(parts[::-1], max(count, 2))
        return wide.collected([[limb] for limb in found.limbs], count) if count > 2 else found


def to_integer(x: Wide, dtype: np.dtype) -> ir.Value:
    """The whole part as an integer, the nearest one where it is too large; 0 for NaN. x: whole numbers, of any
    limbs."""
    if dtype.kind == "b":
        return ops.compare(x.head, 0.0, "NE")
    info = np.iinfo(dtype) if dtype.kind in "iu" and dtype.itemsize > 0 and dtype.name in np.sctypeDict \
        else ml_dtypes.iinfo(dtype)
    middle = np.dtype(np.int64) if dtype.itemsize == 8 or dtype == np.uint32 else np.dtype(np.int32)
    if dtype == np.uint64:
        middle = np.dtype(np.uint64)
    total = None
    for limb in x.limbs:
        if middle == np.uint64:
            size = ops.abs(limb)
            part = _doubled(size, middle)
            part = ops.select(ops.compare(limb, 0.0, "LT"), ops.negate(part), part)
        else:
            part = _doubled(limb, middle)
        total = part if total is None else ops.add(total, part)
    found = ops.convert(total, dtype)
    low, high = (wide.constant(int(bound), x.dtype, x.shape, x.count) for bound in (info.min, info.max))
    # the bounds as limbs may be rounded outwards: there the bound itself is meant
    found = ops.select(compare(x, high, "GE"), ops.splat(int(info.max), found), found)
    found = ops.select(compare(x, low, "LE"), ops.splat(int(info.min), found), found)
    return ops.select(ops.compare(x.head, x.head, "NE"), ops.splat(0, found), found)


def _doubled(limb: ir.Value, dtype: np.dtype) -> ir.Value:
    """A whole number as an integer, also 2 to the power of its bits less one, of which a sum may take something away:
    such numbers are even."""
    if error_free.LARGEST_EXPONENT[dtype_of(limb).name] < 8 * dtype.itemsize - 1:
        return ops.convert(limb, dtype)
    large = ops.compare(ops.abs(limb), 2.0**(8 * dtype.itemsize - 2), "GE")
    halved = ops.convert(ops.multiply(limb, ops.select(large, ops.splat(0.5, limb), 1.0)), dtype)
    return ops.shift_left(halved, ops.convert(large, dtype))


# ---- comparisons ---------------------------------------------------------------------------------------------------

def compare(x: Wide, y: Wide, direction: str) -> ir.Value:
    """`compare` of numbers: by the first limbs, or the next where those are equal. False with NaN, but for NE."""
    if direction in ("GT", "GE"):
        return compare(y, x, {"GT": "LT", "GE": "LE"}[direction])
    if direction in ("EQ", "NE"):
        join_ = ops.and_ if direction == "EQ" else ops.or_
        found = ops.compare(x.head, y.head, direction)
        for a, b in zip(x.limbs[1:], y.limbs[1:], strict=True):
            found = join_(found, ops.compare(a, b, direction))
        return found
    found = ops.compare(x.limbs[-1], y.limbs[-1], direction)
    for a, b in zip(x.limbs[-2::-1], y.limbs[-2::-1], strict=True):
        found = ops.or_(ops.compare(a, b, "LT"), ops.and_(ops.compare(a, b, "EQ"), found))
    return found


def total_order(x: Wide, y: Wide, direction: str) -> ir.Value:
    """`compare` in total order: -NaN, -inf ... -0.0, 0.0 ... inf, NaN."""
    if direction in ("GT", "GE"):
        return total_order(y, x, {"GT": "LT", "GE": "LE"}[direction])
    heads = [ops.compare(x.head, y.head, each, total_order=True) for each in ("LT", "EQ")]
    rest = compare(Wide(x.limbs[1:]), Wide(y.limbs[1:]), {"NE": "EQ"}.get(direction, direction))
    same = ops.and_(heads[1], rest)
    if direction in ("EQ", "NE"):
        return same if direction == "EQ" else ops.not_(same)
    return ops.or_(heads[0], same)


