"""Sums of many wide numbers of two limbs, in lanes: rows are added to a row of accumulators, element by element.

An accumulator is s - c - d: the sum of the first limbs as it is rounded, the sum of what that and the second limbs
leave out, and what the latter leaves out in turn (Kahan's and Neumaier's sums, once more). That takes 15 operations
where a sum of two wide numbers takes 20, and no renormalisation; errors are those of the second limbs' sums, at most
u^2 |s| for each row (u: half a last place of a limb). Lanes are many enough for vectors of any processor, and few
enough to stay in its caches; one kernel adds them up.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.precision import error_free, wide
from reactant.precision.wide import Wide

LANES = 8192
"""Accumulators that are added to at once."""
WAYS = 32
"""Lanes that are added up in a row."""
PLACE = np.dtype(np.int64)


def total(x: Wide) -> Wide:
    """The sum over the first dimension, which has at least one element. x: of two limbs."""
    low = None if wide.is_zero(x.limbs[1]) else x.limbs[1]
    rest = size(x.shape[1:])
    lanes = max(1, LANES // max(rest, 1))
    if x.shape[0] > 2 * lanes and rest:
        state = _by_rows(x.head, low, lanes)
    else:
        state = [x.head, wide.zeros(x.head) if low is None else ops.negate(low), wide.zeros(x.head)]
    s, c, d = (ops.reshape(part, x.shape[1:]) for part in _added_up(state))
    return _settled(s, c, d)


def _settled(s: ir.Value, c: ir.Value, d: ir.Value) -> Wide:
    with wide.finite():
        high, excess = error_free.difference_and_excess(s, c)
        found = Wide(error_free.settled(high, ops.add(excess, d)))
    return wide.signed(found, s)


def _accumulated(state: Sequence[ir.Value], s: ir.Value, c: ir.Value | None, d: ir.Value | None) -> list[ir.Value]:
    """A state and another one."""
    high, excess = error_free.sum_and_excess(state[0], s)
    more = excess if c is None else ops.add(excess, c)
    low, left = error_free.sum_and_excess(state[1], more)
    return [high, low, ops.subtract(state[2] if d is None else ops.add(state[2], d), left)]


def _by_rows(head: ir.Value, low: ir.Value | None, lanes: int) -> list[ir.Value]:
    """The state of all lanes; what fills no row begins it."""
    count, *rest = whole = shape_of(head)
    rows, over = divmod(count, lanes)
    row, zeros = (lanes, *rest), [0] * len(rest)

    def begin(x: ir.Value, missing: float) -> ir.Value:
        if not over:
            return ops.constant(missing, dtype_of(x), row)
        last = ops.slice(x, (rows * lanes, *zeros), whole)
        return ops.pad(last, missing, (0, *zeros), (lanes - over, *zeros), (0, *zeros))
    nothing = wide.zeros(ops.constant(0.0, dtype_of(head), row))
    start = [begin(head, -0.0), nothing if low is None else ops.negate(begin(low, 0.0)), nothing]
    origin = [ops.constant(0, PLACE)] * len(rest)

    def going(k: ir.Value, *state: ir.Value) -> ir.Value:
        return ops.compare(k, rows, "LT")

    def turn(k: ir.Value, *state: ir.Value) -> list[ir.Value]:
        place = [ops.multiply(k, ops.splat(lanes, k)), *origin]
        s = ops.dynamic_slice(head, place, row)
        c = None if low is None else ops.negate(ops.dynamic_slice(low, place, row))
        return [ops.add(k, ops.splat(1, k)), *_accumulated(state, s, c, None)]
    return ops.while_([ops.constant(0, PLACE), *start], going, turn)[1:]


def _added_up(state: list[ir.Value]) -> list[ir.Value]:
    """The states of all lanes as that of one."""
    fill = (-0.0, 0.0, 0.0)
    while (count := shape_of(state[0])[0]) > 1:
        rest = shape_of(state[0])[1:]
        ways = min(WAYS, count)
        block = -(-count // ways)
        zeros = [0] * len(rest)
        parts = [ops.reshape(ops.pad(part, missing, (0, *zeros), (ways * block - count, *zeros), (0, *zeros)),
                             (ways, block, *rest)) for part, missing in zip(state, fill, strict=True)]
        state = ops.reduce(parts, list(fill), [0], lambda *v: _accumulated(v[:3], *v[3:]))
    return state
