"""Integer ops that known ranges decide: comparisons, clamping, wrap-around of negative indices, remainders.

The ranges come from constants, iota, bounds such as clamp and remainder, and from the counters of loops
(`induction.range_of`).
"""
from __future__ import annotations

import numpy as np

from reactant.ir import ops
from reactant.ir.induction import Range, range_of
from reactant.ir.types import dtype_of
from reactant.rewrite import match, named, rewrite, splat, variables

x, y, low, high, p, d = variables("x y low high p d")


def decided(direction: str, a: Range, b: Range) -> bool | None:
    """What a comparison of any number of range `a` with any of range `b` gives; None where it depends."""
    if direction in ("GT", "GE"):
        return decided("LT" if direction == "GT" else "LE", b, a)
    if direction == "LT":
        return True if a[1] < b[0] else False if a[0] >= b[1] else None
    if direction == "LE":
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    apart, same = a[1] < b[0] or b[1] < a[0], a[0] == a[1] == b[0] == b[1]
    if direction == "EQ":
        return False if apart else True if same else None
    return True if apart else False if same else None


def _clamped(a, bound: int = 5):
    return ops.clamp(0, a(4), bound)


def _in_loop(direction: str, bound: int):
    def build(a):
        seen = ops.splat(0, a(4))
        zero = ops.constant(0, np.int32)

        def iteration(i, total):
            ok = ops.broadcast_in_dim(ops.compare(i, bound, direction), (4,), ())
            return [ops.add(i, 1), ops.add(total, ops.convert(ok, dtype_of(total)))]
        return ops.while_([zero, seen], lambda i, _: ops.compare(i, 3, "LT"), iteration)[1]
    return build


@rewrite(match.compare(x, y, comparison_direction=d), dtypes="integer",
         example=(lambda a: ops.compare(_clamped(a), 7, "LT"),
                  lambda a: ops.compare(ops.iota((4,), a.dtype, 0), 4, "GE"),
                  lambda a: ops.compare(_clamped(a), 6, "EQ"), lambda a: ops.compare(_clamped(a), 0, "GE"),
                  _in_loop("GE", 0), _in_loop("LE", 2), _in_loop("NE", 3)),
         counter=(lambda a: ops.compare(_clamped(a), 5, "LT"), lambda a: ops.compare(_clamped(a), 0, "GT"),
                  lambda a: ops.compare(a(4), 0, "GT"), _in_loop("LT", 2)))
def compare_decided_by_range(x, y, d, result_shape):
    """a comparison of integers that their ranges decide"""
    b = range_of(y)     # the bound, often a number
    a = None if b is None else range_of(x)
    known = None if a is None or b is None else decided(d, a, b)
    return None if known is None else ops.constant(known, np.bool_, result_shape)


@rewrite(match.maximum(x, y), dtypes="integer", example=lambda a: ops.maximum(_clamped(a), 0),
         counter=lambda a: ops.maximum(_clamped(a), 2))
def maximum_of_apart(x, y):
    """max(x, y) = x where no element of y can be greater"""
    a, b = range_of(x), range_of(y)
    if a is None or b is None:
        return None
    return x if a[0] >= b[1] else y if b[0] >= a[1] else None


@rewrite(match.minimum(x, y), dtypes="integer", example=lambda a: ops.minimum(_clamped(a), 5),
         counter=lambda a: ops.minimum(_clamped(a), 2))
def minimum_of_apart(x, y):
    """min(x, y) = x where no element of y can be less"""
    a, b = range_of(x), range_of(y)
    if a is None or b is None:
        return None
    return x if a[1] <= b[0] else y if b[1] <= a[0] else None


@rewrite(match.clamp(low, x, high), dtypes="integer", example=lambda a: ops.clamp(0, _clamped(a), 6),
         counter=lambda a: ops.clamp(1, _clamped(a), 6))
def clamp_within_bounds(low, x, high):
    """clamp(low, x, high) = x where x cannot leave the bounds"""
    a, b, c = range_of(low), range_of(x), range_of(high)
    return x if a is not None and b is not None and c is not None and a[1] <= b[0] and b[1] <= c[0] else None


@rewrite(match.remainder(x, y), dtypes="integer", example=lambda a: ops.remainder(_clamped(a), 6),
         counter=lambda a: ops.remainder(_clamped(a), 5))
def remainder_below_divisor(x, y):
    """x % y = x for 0 <= x < y"""
    a, b = range_of(x), range_of(y)
    return x if a is not None and b is not None and a[0] >= 0 and a[1] < b[0] else None


@rewrite(match.divide(x, y), dtypes="integer", example=lambda a: ops.divide(_clamped(a), 6),
         counter=lambda a: ops.divide(_clamped(a), 5))
def divide_below_divisor(x, y):
    """x / y = 0 for integers 0 <= x < y"""
    a, b = range_of(x), range_of(y)
    return 0 if a is not None and b is not None and a[0] >= 0 and a[1] < b[0] else None


def _multiple(a, op, offset: int | None = None, divisor: int = 3):
    """(3 x + offset) / divisor or its remainder, for x from 0 to 5."""
    product = ops.multiply(_clamped(a), 3)
    return op(product if offset is None else ops.add(product, offset), divisor)


@rewrite(match.divide(named("v", match.multiply(x, splat("c"))), splat("d")), dtypes="integer",
         example=lambda a: _multiple(a, ops.divide),
         counter=(lambda a: _multiple(a, ops.divide, None, 2), lambda a: ops.divide(ops.multiply(a(4), 3), 3)))
def quotient_of_multiple(v, x, c, d):
    """(x c) / c = x where no product wraps around"""
    return x if c == d != 0 and range_of(v) is not None else None


@rewrite(match.divide(match.add(named("v", match.multiply(x, splat("c"))), splat("e")), splat("d")), dtypes="integer",
         example=lambda a: _multiple(a, ops.divide, 2), counter=lambda a: _multiple(a, ops.divide, 3))
def quotient_of_multiple_and_rest(v, x, c, e, d):
    """(x c + e) / c = x for x >= 0 and 0 <= e < c where nothing wraps around"""
    return x if _with_rest(v, c, e, d) else None


@rewrite(match.remainder(named("v", match.multiply(x, splat("c"))), splat("d")), dtypes="integer",
         example=(lambda a: _multiple(a, ops.remainder), lambda a: ops.remainder(ops.multiply(_clamped(a), 6), 3)),
         counter=(lambda a: _multiple(a, ops.remainder, None, 2), lambda a: ops.remainder(ops.multiply(a(4), 3), 3)))
def remainder_of_multiple(v, x, c, d):
    """(x c) % d = 0 where d divides c and no product wraps around"""
    return 0 if d != 0 and int(c) % int(d) == 0 and range_of(v) is not None else None


@rewrite(match.remainder(match.add(named("v", match.multiply(x, splat("c"))), splat("e")), splat("d")),
         dtypes="integer", example=lambda a: _multiple(a, ops.remainder, 2),
         counter=lambda a: _multiple(a, ops.remainder, 3))
def remainder_of_multiple_and_rest(v, x, c, e, d):
    """(x c + e) % c = e for x >= 0 and 0 <= e < c where nothing wraps around"""
    return int(e) if _with_rest(v, c, e, d) else None


def _with_rest(v, c, e, d) -> bool:
    """Whether v + e for a multiple v of c lies between v and the next multiple, both in range."""
    found = range_of(v) if c == d and 0 <= e < c else None
    return found is not None and found[0] >= 0 and found[1] + int(e) <= np.iinfo(dtype_of(v)).max


@rewrite(match.abs(x), dtypes="integer", example=lambda a: ops.abs(_clamped(a)))
def abs_of_positive(x):
    """abs(x) = x for x >= 0"""
    a = range_of(x)
    return x if a is not None and a[0] >= 0 else None


@rewrite(match.sign(x), dtypes="integer", example=lambda a: ops.sign(ops.add(_clamped(a), 1)))
def sign_of_positive(x):
    """sign(x) = 1 for x > 0"""
    a = range_of(x)
    return 1 if a is not None and a[0] > 0 else None


@rewrite(match.convert(match.convert(x)), dtypes="integer",
         example=lambda a: ops.convert(ops.convert(_clamped(a), np.int64), a.dtype))
def convert_there_and_back_in_range(x, result_type):
    """convert(convert(x)) = x where it returns to the type of x and no element is lost on the way"""
    return x if x.type == result_type and range_of(x) is not None and _holds(x) else None


def _holds(x) -> bool:
    """Whether every integer type holds the range of x."""
    found = range_of(x)
    return found is not None and 0 <= found[0] and found[1] <= np.iinfo(np.int8).max
