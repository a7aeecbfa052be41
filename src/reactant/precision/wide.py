"""Arithmetic of wide numbers: sums of limbs, the greatest first, each at most half of the last place of the one before.

`Wide` has the operators, so that series and functions read as their equations do. Two limbs have the short forms of
Joldes, Muller and Popescu (2017), with the signs of `error_free`; three and more are summed level by level (Hida, Li
and Bailey, 2001). Where the first limb is infinite or NaN the others are 0.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.precision import error_free, numerals
from reactant.precision.numerals import Number

_guarded = True


@contextmanager
def finite(known: bool = True) -> Iterator[None]:
    """Inside, all numbers are known to be finite, and what becomes of the signs of zeros does not matter: nothing is
    looked at for their sake."""
    global _guarded
    before, _guarded = _guarded, _guarded and not known
    try:
        yield
    finally:
        _guarded = before


class Wide:
    """An array of wide numbers: its limbs, arrays of one shape and dtype. Operands of its operators are wide numbers
    of any number of limbs (the result has as many as the one that has most), arrays of single limbs, and numbers, which
    are as exact as the limbs are."""

    __slots__ = ("limbs",)

    def __init__(self, limbs: Sequence[ir.Value]):
        self.limbs = tuple(limbs)

    @property
    def head(self) -> ir.Value:
        """The first limb: the number, rounded."""
        return self.limbs[0]

    @property
    def count(self) -> int:
        """How many limbs."""
        return len(self.limbs)

    @property
    def dtype(self) -> np.dtype:
        """Of the limbs."""
        return dtype_of(self.limbs[0])

    @property
    def shape(self) -> Shape:
        """Of the array."""
        return shape_of(self.limbs[0])

    def each(self, function: Callable[[ir.Value], ir.Value]) -> Wide:
        """What a function that moves or scales elements makes of the limbs."""
        return Wide([function(limb) for limb in self.limbs])

    def of(self, number: Number, count: int | None = None) -> Wide:
        """A constant like this."""
        return constant(number, self.dtype, self.shape, count or self.count)

    def first(self, count: int) -> Wide:
        """With so many limbs: without the last ones, or with zeros."""
        missing = count - self.count
        return self if not missing else Wide((*self.limbs, *[zeros(self.head)] * missing) if missing > 0
                                             else self.limbs[:count])

    def times_power(self, factor: float | ir.Value) -> Wide:
        """The product with a power of two, exact but at the ends of the range."""
        return self.each(lambda limb: ops.multiply(limb, factor))

    def __neg__(self) -> Wide:
        return self.each(ops.negate)

    def __add__(self, other: Operand) -> Wide:
        return add(self, _wide(other, self))

    def __radd__(self, other: Operand) -> Wide:
        return add(self, _wide(other, self))

    def __sub__(self, other: Operand) -> Wide:
        return subtract(self, _wide(other, self))

    def __rsub__(self, other: Operand) -> Wide:
        return subtract(_wide(other, self), self)

    def __mul__(self, other: Operand) -> Wide:
        return multiply(self, _wide(other, self))

    def __rmul__(self, other: Operand) -> Wide:
        return multiply(self, _wide(other, self))

    def __truediv__(self, other: Operand) -> Wide:
        return divide(self, _wide(other, self))

    def __rtruediv__(self, other: Operand) -> Wide:
        return divide(_wide(other, self), self)


Operand: TypeAlias = "Wide | ir.Value | Number"


def constant(number: Number, dtype: np.dtype, shape: Shape, count: int) -> Wide:
    """A number as limbs."""
    return Wide([ops.constant(limb, dtype, shape) for limb in numerals.limbs_of(number, dtype, count)])


def zeros(like: ir.Value) -> ir.Value:
    """0.0 in each place."""
    return ops.constant(0, dtype_of(like), shape_of(like))


def is_zero(x: ir.Value) -> bool:
    """Whether an array is known to be zeros of any sign."""
    made = ops.maker(x)
    while made is not None and made.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.pad",
                                             "stablehlo.slice", "stablehlo.transpose"):
        x, made = made.operands[0], ops.maker(made.operands[0])
    content = ops.constant_value(x)
    return content is not None and not np.any(ops.distinct(content))


def _wide(operand: Operand, like: Wide) -> Wide:
    """An operand as limbs; as one where that is all it has."""
    if isinstance(operand, Wide):
        return operand
    if isinstance(operand, ir.Value):
        return Wide([operand])
    alone = Fraction(float(numerals.limbs_of(operand, like.dtype, 1)[0])) == Fraction(operand) \
        if operand == operand and abs(operand) != float("inf") else True
    return constant(operand, like.dtype, like.shape, 1 if alone else like.count)


def choose(predicate: ir.Value, yes: Wide, no: Wide) -> Wide:
    """`select` of each limb."""
    count = max(yes.count, no.count)
    return Wide([ops.select(predicate, one, other) for one, other in
                 zip(yes.first(count).limbs, no.first(count).limbs, strict=True)])


def guarded(found: Wide, plain: ir.Value, ok: ir.Value | None = None) -> Wide:
    """The result where it is a number, elsewhere what limbs alone give: infinities and NaN. ok: where it is."""
    if not _guarded:
        return found
    ok = ops.is_finite(plain) if ok is None else ok
    return Wide([ops.select(ok, found.head, plain), *(ops.select(ok, limb, 0.0) for limb in found.limbs[1:])])


def settled(x: Sequence[ir.Value], excess: ir.Value) -> Wide:
    """One limb less a small correction, as two."""
    return Wide(error_free.settled(x, excess))


# ---- sums ----------------------------------------------------------------------------------------------------------

def add(x: Wide, y: Wide) -> Wide:
    """x + y: two limbs to 3 u^2 (u: half a last place of a limb)."""
    if x.count < y.count:
        x, y = y, x
    return _sum_of_two(x, y, False) if x.count <= 2 else _sum(x, y)


def subtract(x: Wide, y: Wide) -> Wide:
    """x - y."""
    if x.count <= 2 and y.count <= x.count:
        return _sum_of_two(x, y, True)
    if max(x.count, y.count) == 2:
        return _sum_of_two(-y, x, False)
    return _sum(x, -y) if x.count >= y.count else _sum(-y, x)


def _sum_of_two(x: Wide, y: Wide, minus: bool) -> Wide:
    """20 operations, 3 more where infinities may occur; of one limb and one 6, of two and one 10."""
    pair = error_free.difference_and_excess if minus else error_free.sum_and_excess
    s, e = pair(x.head, y.head)
    if x.count == 1:
        return guarded(Wide([s, ops.negate(e)]), s)
    if y.count == 1:
        return guarded(Wide(error_free.settled(s, ops.subtract(e, x.limbs[1]))), s)
    t, rest = pair(x.limbs[1], y.limbs[1])
    v, e = error_free.less_excess(s, ops.subtract(e, t))
    return guarded(Wide(error_free.settled(v, ops.add(e, rest))), s)


def quick_sum(x: Wide, y: Wide) -> Wide:
    """x + y of two limbs in 11 operations, where the signs are equal or |y| is much smaller than |x|."""
    s, e = error_free.sum_and_excess(x.head, y.head)
    if x.count == 1:
        return Wide([s, ops.negate(e)])
    low = x.limbs[1] if y.count == 1 else ops.add(x.limbs[1], y.limbs[1])
    return Wide(error_free.settled(s, ops.subtract(e, low)))


def ordered_sum(x: Wide, y: Wide) -> Wide:
    """x + y of at most two limbs in 8 operations, where |x| >= |y| throughout, or x is 0, and y never takes most of
    x away."""
    h = ops.add(x.head, y.head)
    error = ops.subtract(y.head, ops.subtract(h, x.head))
    for limbs in (x.limbs[1:], y.limbs[1:]):
        for limb in limbs:
            error = ops.add(error, limb)
    high = ops.add(h, error)
    return Wide([high, ops.subtract(error, ops.subtract(high, h))])


def _sum(x: Wide, y: Wide) -> Wide:
    levels = [[limb] for limb in x.limbs]
    for level, limb in zip(levels, y.limbs, strict=False):
        level.append(limb)
    return signed(collected(levels, x.count), ops.add(x.head, y.head))


def signed(found: Wide, plain: ir.Value) -> Wide:
    """`guarded`, where zeros have lost their signs too."""
    if not _guarded:
        return found
    zero = ops.and_(ops.compare(found.head, 0.0, "EQ"), ops.compare(plain, 0.0, "EQ"))
    return guarded(found, plain, ops.and_(ops.is_finite(plain), ops.not_(zero)))


def sum_and_error(x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """s, e: x + y = s + e exactly."""
    s = ops.add(x, y)
    part = ops.subtract(s, x)
    return s, ops.add(ops.subtract(x, ops.subtract(s, part)), ops.subtract(y, part))


def collected(levels: Sequence[Sequence[ir.Value]], count: int) -> Wide:
    """The sum of terms, of which those of level k are about u^k times as large as those of level 0, as limbs. What
    their sums leave out goes to the next level; the last one is simply added up."""
    work = [list(level) for level in levels]
    while len(work) < count + 1:
        work.append([])
    terms = []
    for k in range(count):
        level = work[k]
        while len(level) > 1:
            s, e = sum_and_error(level.pop(), level.pop())
            level.append(s)
            work[k + 1].append(e)
        terms += level
    last = [term for level in work[count:] for term in level]
    if last:
        terms.append(_plain_sum(last))
    return renormalised(terms, count)


def _plain_sum(terms: Sequence[ir.Value]) -> ir.Value:
    total = terms[-1]
    for term in reversed(terms[:-1]):
        total = ops.add(term, total)
    return total


def renormalised(terms: Sequence[ir.Value], count: int) -> Wide:
    """Terms that may overlap, and cancel, as limbs: the sum from the last one up leaves errors, of which the same is
    done, and once more for those that have been moved up."""
    work = list(terms)
    found: list[ir.Value] = []
    while len(found) < count and work:
        if len(found) == count - 1:
            found.append(_plain_sum(work))
            break
        total, errors = work[-1], []
        for term in reversed(work[:-1]):
            total, e = sum_and_error(term, total)
            errors.append(e)
        found.append(total)
        work = errors[::-1]
    while len(found) < count:
        found.append(zeros(found[0]))
    for first in range(count - 1):
        for k in range(count - 2, first - 1, -1):
            found[k], found[k + 1] = sum_and_error(found[k], found[k + 1])
    return Wide(found)


# ---- products ------------------------------------------------------------------------------------------------------

def multiply(x: Wide, y: Wide) -> Wide:
    """x * y: two limbs to 5 u^2 in 21 operations, 3 more where infinities may occur."""
    if x.count < y.count:
        x, y = y, x
    if x.count == 1:
        p, e = error_free.product_and_excess(x.head, y.head)
        return guarded(Wide(error_free.settled(p, e)), p)
    if x.count > 2:
        return _product(x, y)
    p, e = error_free.product_and_excess(x.head, y.head)
    if y.count > 1:
        e = ops.subtract(e, ops.multiply(x.head, y.limbs[1]))
    e = ops.subtract(e, ops.multiply(x.limbs[1], y.head))
    return guarded(Wide(error_free.settled(p, e)), p)


def _product(x: Wide, y: Wide) -> Wide:
    levels: list[list[ir.Value]] = [[] for _ in range(x.count + 1)]
    for i, one in enumerate(x.limbs):
        for j, other in enumerate(y.limbs):
            if i + j < x.count:
                p, e = error_free.product_and_excess(one, other)
                levels[i + j].append(p)
                levels[i + j + 1].append(ops.negate(e))
            elif i + j == x.count:
                levels[i + j].append(error_free.rounded(ops.multiply(one, other)))
    return signed(collected(levels, x.count), error_free.rounded(ops.multiply(x.head, y.head)))


def square(x: Wide) -> Wide:
    """x * x: two limbs in 17 operations."""
    if x.count != 2:
        return multiply(x, x)
    p, e = error_free.square_and_excess(x.head)
    e = ops.subtract(e, ops.multiply(ops.add(x.head, x.head), x.limbs[1]))
    return guarded(Wide(error_free.settled(p, e)), p)


def divide(x: Wide, y: Wide) -> Wide:
    """x / y, by quotients of first limbs and what they leave: two limbs to 10 u^2 in 26 operations, 7 more where
    infinities may occur."""
    count = max(x.count, y.count, 2)
    quotient = ops.divide(x.head, y.head)
    if count == 2:
        return _divided(_quotient_of_two(x, y, quotient), quotient)
    with finite():
        parts, rest = [quotient], x.first(count)
        for _ in range(count):
            rest = rest - y * parts[-1]
            parts.append(ops.divide(rest.head, y.head))
        found = renormalised(parts, count)
    return _divided(found, quotient)


def _quotient_of_two(x: Wide, y: Wide, quotient: ir.Value) -> Wide:
    """What the quotient of first limbs leaves of x is a float of one limb (Joldes, Muller and Popescu, 2017)."""
    p, e = error_free.product_and_excess(y.head, quotient)
    rest = ops.add(ops.subtract(x.head, p), e)
    lower = x.limbs[1] if x.count > 1 else None
    if y.count > 1:
        part = ops.multiply(y.limbs[1], quotient)
        lower = ops.negate(part) if lower is None else ops.subtract(lower, part)
    if lower is not None:
        rest = ops.add(rest, lower)
    low = ops.divide(rest, y.head)
    high = ops.add(quotient, low)
    return Wide([high, ops.subtract(low, ops.subtract(high, quotient))])


def _divided(found: Wide, quotient: ir.Value) -> Wide:
    """The quotient where the corrections are numbers, and it is not 0 itself: 0 keeps its sign."""
    if not _guarded:
        return found
    good = ops.and_(ops.is_finite(found.head), ops.compare(quotient, 0.0, "NE"))
    return guarded(found, quotient, good)


def sqrt(x: Wide) -> Wide:
    """The square root: that of the first limb, and Newton's corrections."""
    root = ops.sqrt(x.head)
    with finite():
        found = Wide([root])
        half = ops.divide(0.5, root)
        steps = {1: 1, 2: 1}.get(x.count, x.count)
        for step in range(steps):
            now = min(step + 2, x.count)
            rest = x - (square(found.first(now)) if found.count > 1 else multiply(found, found)).first(x.count)
            found = found.first(now) + ops.multiply(rest.head, half)
    good = ops.and_(ops.is_finite(found.head), ops.compare(root, 0.0, "NE"))
    return guarded(found, root, good) if _guarded else found
