"""Sizes, signs, extremes, whole parts and remainders of wide numbers."""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.precision import entries, wide
from reactant.precision.error_free import LARGEST_EXPONENT
from reactant.precision.wide import Wide


def absolute(x: Wide) -> Wide:
    """|x|."""
    negative = ops.compare(x.head, 0.0, "LT")
    return Wide([ops.abs(x.head), *(ops.select(negative, ops.negate(limb), limb) for limb in x.limbs[1:])])


def sign(x: Wide) -> Wide:
    """-1, 0 or 1; zeros and NaN stay."""
    return Wide([ops.sign(x.head)]).first(x.count)


def _is_nan(x: Wide) -> ir.Value:
    return ops.compare(x.head, x.head, "NE")


def _extreme(x: Wide, y: Wide, chosen: str) -> Wide:
    """The greater or lesser, the first where they are equal but for the signs of zeros; NaN where one is."""
    heads = ops.maximum(x.head, y.head) if chosen == "GT" else ops.minimum(x.head, y.head)
    first = ops.or_(entries.compare(x, y, chosen), _is_nan(x))
    found = wide.choose(first, x, y)
    return Wide([heads, *found.limbs[1:]])


def maximum(x: Wide, y: Wide) -> Wide:
    """The greater of two; NaN where one is NaN."""
    return _extreme(x, y, "GT")


def minimum(x: Wide, y: Wide) -> Wide:
    """The lesser of two; NaN where one is NaN."""
    return _extreme(x, y, "LT")


def _whole(x: Wide, whole: Callable[[ir.Value], ir.Value]) -> Wide:
    """Limb by limb: a limb counts only where those before are whole."""
    limbs, before = [whole(x.head)], None
    for previous, limb in zip(x.limbs, x.limbs[1:], strict=False):
        same = ops.compare(limbs[-1], previous, "EQ")
        before = same if before is None else ops.and_(before, same)
        limbs.append(ops.select(before, whole(limb), 0.0))
    with wide.finite():
        found = wide.renormalised(limbs, x.count)
    return _kept(found, limbs[0])


def _kept(found: Wide, plain: ir.Value) -> Wide:
    """With infinities, NaN and signs of zeros as the first limb has them."""
    zero = ops.and_(ops.compare(found.head, 0.0, "EQ"), ops.compare(plain, 0.0, "EQ"))
    ok = ops.and_(ops.is_finite(plain), ops.not_(zero))
    return Wide([ops.select(ok, found.head, plain), *(ops.select(ok, limb, 0.0) for limb in found.limbs[1:])])


def floor(x: Wide) -> Wide:
    """The greatest whole number that is not above x."""
    return _whole(x, ops.floor)


def ceil(x: Wide) -> Wide:
    """The least whole number that is not below x."""
    return _whole(x, ops.ceil)


def truncate(x: Wide) -> Wide:
    """The whole part, towards zero."""
    return wide.choose(ops.compare(x.head, 0.0, "LT"), ceil(x), floor(x))


def _nearest(x: Wide, whole: Callable[[ir.Value], ir.Value]) -> Wide:
    """The nearest whole number: where the first limb is half way, the next one says which."""
    rounded = whole(x.head)
    rest = ops.subtract(x.head, rounded)
    up = ops.and_(ops.compare(rest, 0.5, "EQ"), ops.compare(x.limbs[1], 0.0, "GT"))
    down = ops.and_(ops.compare(rest, -0.5, "EQ"), ops.compare(x.limbs[1], 0.0, "LT"))
    moved = ops.select(up, ops.add(rounded, 1.0), ops.select(down, ops.subtract(rounded, 1.0), rounded))
    head_whole = ops.compare(rest, 0.0, "EQ")
    lower = Wide(x.limbs[1:])
    lower = _nearest(lower, whole) if lower.count > 1 else lower.each(whole)
    with wide.finite():
        found = wide.renormalised([moved, *(ops.select(head_whole, limb, 0.0) for limb in lower.limbs)], x.count)
    return _kept(found, rounded)


def round_nearest_even(x: Wide) -> Wide:
    """The nearest whole number, of two the even one."""
    return _nearest(x, ops.round_nearest_even)


def round_nearest_away(x: Wide) -> Wide:
    """The nearest whole number, of two the one away from zero. The lower limbs are rounded as the whole is."""
    negative = ops.compare(x.head, 0.0, "LT")
    size = absolute(x)

    def half_up(limb: ir.Value) -> ir.Value:
        low = ops.floor(limb)
        return ops.select(ops.compare(ops.subtract(limb, low), 0.5, "GE"), ops.add(low, 1.0), low)
    found = _nearest(size, half_up)
    head = ops.round_nearest_afz(x.head)
    found = wide.choose(negative, -found, found)
    return _kept(found, head)


def is_whole(x: Wide) -> ir.Value:
    """Whether there is nothing behind the point: then there is nothing in any limb."""
    found = ops.compare(x.head, ops.floor(x.head), "EQ")
    for limb in x.limbs[1:]:
        found = ops.and_(found, ops.compare(limb, ops.floor(limb), "EQ"))
    return found


STEPS = 24
"""Steps of a remainder at most: each takes more than half of a limb's digits off the quotient."""


def remainder(x: Wide, y: Wide) -> Wide:
    """x - y trunc(x / y), exact as long as what is left fits into two limbs more."""
    count = x.count + 2
    size, divisor = absolute(x), absolute(y)
    good = ops.and_(ops.is_finite(x.head), ops.and_(ops.is_finite(y.head), ops.compare(y.head, 0.0, "NE")))
    divisor = wide.choose(good, divisor, divisor.of(1.0))
    start = wide.choose(good, size, size.of(0.0)).first(count)

    def above(*limbs: ir.Value) -> ir.Value:
        left = entries.compare(Wide(limbs), divisor.first(count), "GE")
        return any_of(left)

    def step(*limbs: ir.Value) -> list[ir.Value]:
        rest = Wide(limbs)
        quotient = ops.divide(rest.head, divisor.head)
        # a whole number of few digits that is not too large; at least one where the rest is not below
        whole = ops.maximum(ops.floor(ops.multiply(quotient, 1 - 2.0**-6)), 1.0)
        whole = ops.select(ops.is_finite(whole), whole, _huge(whole))
        left = entries.compare(rest, divisor.first(count), "GE")
        with wide.finite():
            lower = rest - divisor.first(count) * whole
        return list(wide.choose(left, lower, rest).limbs)

    found = Wide(ops.while_(list(start.limbs), above, step)).first(x.count)
    found = wide.choose(ops.compare(x.head, 0.0, "LT"), -found, found)
    zero = ops.compare(found.head, 0.0, "EQ")
    found = Wide([ops.select(zero, ops.multiply(ops.sign(x.head), 0.0), found.head), *found.limbs[1:]])
    plain = ops.remainder(x.head, y.head)       # NaN, or x where y is infinite
    found = wide.choose(good, found, Wide([plain]).first(x.count))
    infinite = ops.and_(ops.is_finite(x.head), ops.compare(ops.abs(y.head), float("inf"), "EQ"))
    return wide.choose(infinite, x, found)


def _huge(like: ir.Value) -> ir.Value:
    return ops.splat(2.0**(LARGEST_EXPONENT[dtype_of(like).name] - 1), like)


def any_of(predicate: ir.Value) -> ir.Value:
    """Whether it holds anywhere."""
    shape = shape_of(predicate)
    return ops.reduce(predicate, False, range(len(shape)), "or") if shape else predicate
