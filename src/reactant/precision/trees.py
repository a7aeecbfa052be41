"""Reductions in a tree of elementwise operations: errors grow with its depth, not with the number of elements, and
processors work on many elements at once."""
from __future__ import annotations

import operator
from collections.abc import Callable

from reactant.ir import ops
from reactant.precision import sums
from reactant.precision.error_free import LEAST_DIGITS, digits
from reactant.precision.values import Number, WideComplex

BRANCHES = 8
"""Elements that are taken together in one pass over memory."""


def reduced(x: Number, combine: Callable[[Number, Number], Number]) -> Number:
    """What remains of the first dimension, which has at least one element."""
    rest: tuple[int, ...] = x.shape[1:]
    count: int = x.shape[0]
    while count > 1:
        ways = min(BRANCHES, count)
        block, over = divmod(count, ways)
        parts = [_part(x, k * block, (k + 1) * block) for k in range(ways)]
        while len(parts) > 1:
            parts = [combine(*parts[k:k + 2]) if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), 2)]
        left = _part(x, ways * block, count) if over else None
        x = computed_once(parts[0])
        if left is not None:
            x = _joined(x, left)
        count = block + over
    return x.each(lambda limb: ops.reshape(limb, rest))


def total(x: Number) -> Number:
    """The sum over the first dimension, in lanes where there are two limbs."""
    if isinstance(x, WideComplex):
        return WideComplex(total(x.re), total(x.im))
    if x.count == 2 and digits(x.dtype) >= LEAST_DIGITS:
        return sums.total(x)
    return reduced(x, operator.add)


def _part(x: Number, start: int, stop: int) -> Number:
    rest: tuple[int, ...] = x.shape[1:]
    return x.each(lambda limb: ops.slice(limb, (start, *[0] * len(rest)), (stop, *rest)))


def computed_once(x: Number) -> Number:
    """Behind a barrier: what reads several limbs would compute all of it for each of them."""
    limbs = iter(ops.optimization_barrier(*x.limbs))
    return x.each(lambda limb: next(limbs))


def _joined(x: Number, y: Number) -> Number:
    others = iter(y.limbs)
    return x.each(lambda limb: ops.concatenate([limb, next(others)], 0))
