"""Run-time Python integers have 64 bits: an operation whose result may need more is checked when the program runs.

What is known of the operands (`Tensor.interval`) decides which operations need that: counters, indices, sizes do not.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import value_facts
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

Bounds: TypeAlias = "tuple[int, int]"
LEAST, MOST = -2**63, 2**63 - 1
ALL = (LEAST, MOST)
WHOLE = 2**62
"""A float that becomes an integer is below this: two such can be added."""
ROOT = 3037000499
"""The greatest integer whose square has 64 bits."""
NEAR = 2.0**62
"""A product and its value in float64 differ by less where it fits into 64 bits, and by more where it has wrapped."""


ADVICE = ("A run-time Python integer needs more than 64 bits here, which is what compiled code has for it. Take "
          "remainders of smaller factors, use NumPy integers (np.int64(x), np.uint64(x): they wrap), or a float.")


class Overflow:
    """The exception of a check, by the line of the user's that it is for."""

    def __init__(self) -> None:
        self.frame = source_map.user_frame()

    def __call__(self) -> OverflowError:
        return OverflowError(ADVICE)


def require(ok: ir.Value) -> None:
    """Check at run time; what one line needs is one check."""
    trace, error = current_trace(), Overflow()
    last = trace.overflow
    if last is not None and trace.checks and trace.checks[-1] is last[0] and last[1].frame == error.frame \
            and last[0][2] is trace.region:
        trace.checks.pop()
        ok, error = ops.and_(last[0][0], ok), last[1]
    count = len(trace.checks)
    trace.check(ok, error)
    trace.overflow = (trace.checks[-1], error) if len(trace.checks) > count else None


def require_exact(ufunc: np.ufunc, a: Bounds | None, b: Bounds | None, x: ir.Value, y: ir.Value, result: ir.Value
                  ) -> None:
    """Check `result = ufunc(x, y)` of two int64, of which bounds may be known."""
    find = CHECKS.get(ufunc)
    if find is not None and (ok := find(a or ALL, b or ALL, x, y, result)) is not None:
        require(ok)


def within(known: Bounds | None, value: ir.Value, dtype: np.dtype) -> tuple[bool, bool]:
    """Whether a run-time integer, of which bounds may be known, is surely not below, and not beyond, what an integer
    dtype holds."""
    limits, own = np.iinfo(dtype), dtype_of(value)
    all_of_them = (0, 1) if own.kind == "b" else (np.iinfo(own).min, np.iinfo(own).max)
    low, high = known or value_facts.bounds(value) or all_of_them
    return low >= limits.min, high <= limits.max


def require_held(value: ir.Value, known: Bounds | None, dtype: np.dtype) -> None:
    """Check that an integer dtype holds a run-time number, truncated."""
    limits, trace = np.iinfo(dtype), current_trace()
    if dtype_of(value).kind == "f":
        value, room = ops.convert(value, np.float64), int(dtype.itemsize < 8)    # which rounds away in 64 bits
        inside = ops.and_(ops.compare(value, float(limits.min) - room, "GT" if room else "GE"),
                          ops.compare(value, float(limits.max) + room, "LT"))
        missing = ops.compare(value, value, "NE")
        trace.check(_all(ops.not_(missing)), lambda: ValueError("cannot convert float NaN to integer"))
        trace.check(_all(ops.or_(inside, missing)), lambda: OverflowError(f"float out of bounds for {dtype}"))
        return
    above, below = within(known, value, dtype)
    tests = [] if above else [ops.compare(value, int(limits.min), "GE")]
    tests += [] if below else [ops.compare(value, int(limits.max), "LE")]
    if tests:
        trace.check(_all(functools.reduce(ops.and_, tests)),
                    lambda: OverflowError(f"Python integer out of bounds for {dtype}"))


def _all(tests: ir.Value) -> ir.Value:
    return ops.reduce(tests, True, range(len(shape_of(tests))), "and") if shape_of(tests) else tests


def is_wide(x: object) -> bool:
    """Whether it is an integer, known now, of more than 64 bits."""
    return type(x) is int and not _fits(x)


def narrowed(ufunc: np.ufunc, x: ir.Value, wide: int) -> int | None:
    """For `x % wide` and `x & wide` the number that does the same to x, which is checked to be positive; None for `x`
    itself."""
    if wide < 0 or ufunc not in (np.remainder, np.bitwise_and):
        raise OverflowError(ADVICE)
    require(ops.compare(x, 0, "GE"))
    return None if ufunc is np.remainder else wide & MOST


def require_negatable(a: Bounds | None, x: ir.Value) -> None:
    """Check that -x fits."""
    if (a or ALL)[0] == LEAST:
        require(ops.compare(x, LEAST, "NE"))


def _fits(*bounds: int) -> bool:
    return LEAST <= min(bounds) and max(bounds) <= MOST


def _sum(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    if _fits(a[0] + b[0], a[1] + b[1]):
        return None
    if b[0] >= 0 or b[1] <= 0:
        return ops.compare(result, x, "GE" if b[0] >= 0 else "LE")
    if a[0] >= 0 or a[1] <= 0:
        return ops.compare(result, y, "GE" if a[0] >= 0 else "LE")
    return ops.compare(ops.and_(ops.xor(x, result), ops.xor(y, result)), 0, "GE")


def _difference(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    if _fits(a[0] - b[1], a[1] - b[0]):
        return None
    if b[0] >= 0 or b[1] <= 0:
        return ops.compare(result, x, "LE" if b[0] >= 0 else "GE")
    return ops.compare(ops.and_(ops.xor(x, y), ops.xor(x, result)), 0, "GE")


def _product(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    if _fits(*(p * q for p in a for q in b)):
        return None
    for factor, other in ((b, x), (a, y)):
        if factor[0] == factor[1]:
            low, high = _room(factor[0])
            return ops.and_(ops.compare(other, low, "GE"), ops.compare(other, high, "LE"))
    return _near(result, ops.multiply(_float(x), _float(y)))


def _room(factor: int) -> Bounds:
    """Which integers times a factor fit."""
    ends = (LEAST, MOST) if factor > 0 else (MOST, LEAST)
    return -(-ends[0] // factor), min(ends[1] // factor, MOST)


def _power(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    highest = max(abs(a[0]), abs(a[1]))
    if highest <= 1 or b[1] * highest.bit_length() < 63:
        return None
    return _near(result, ops.power(_float(x), _float(y)))


def _shifted(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    if b[0] >= 0 and b[1] < 64 and _fits(*(p << q for p in a for q in b)):
        return None
    back = ops.compare(ops.shift_right_arithmetic(result, y), x, "EQ")
    return ops.or_(ops.and_(back, ops.compare(y, 63, "LE")), ops.compare(x, 0, "EQ"))


def _quotient(a: Bounds, b: Bounds, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value | None:
    if a[0] > LEAST or not b[0] <= -1 <= b[1]:
        return None
    return ops.or_(ops.compare(x, LEAST, "NE"), ops.compare(y, -1, "NE"))


def _float(x: ir.Value) -> ir.Value:
    return ops.convert(x, np.float64)


def _near(result: ir.Value, value: ir.Value) -> ir.Value:
    return ops.compare(ops.abs(ops.subtract(_float(result), value)), NEAR, "LT")


CHECKS: dict[np.ufunc, Callable[[Bounds, Bounds, ir.Value, ir.Value, ir.Value], ir.Value | None]] = {
    np.add: _sum, np.subtract: _difference, np.multiply: _product, np.power: _power, np.left_shift: _shifted,
    np.floor_divide: _quotient}
"""For each operation, the condition under which its result is right; None where it always is."""
