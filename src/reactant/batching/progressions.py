"""Batched whole numbers that go evenly: element k is start + k * step, as a loop's counter and what is affine in it."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.induction import range_of, scalar
from reactant.ir.types import dtype_of, shape_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Progression:
    """start + k * step; `start` is a number, or a 0-d value of the new program."""

    start: int | ir.Value
    step: int

    def at(self, k: int) -> int | ir.Value:
        """Element k."""
        return self.start + k * self.step if isinstance(self.start, int) else ops.add(self.start, k * self.step)

    def ends(self, size: int) -> tuple[int, int] | None:
        """Least and greatest element, where the start is a known number."""
        if not isinstance(self.start, int):
            return None
        last = self.start + (size - 1) * self.step
        return min(self.start, last), max(self.start, last)


def starts_inside(old: ir.Value, progression: Progression, size: int, most: int) -> bool:
    """Whether all elements are known to lie in 0..most. `old`: the value in the old program, all of whose iterations
    (of the loop being batched) its range holds for."""
    ends = progression.ends(size) or range_of(old)
    return ends is not None and ends[0] >= 0 and ends[1] <= most


Known = Callable[[ir.Value], "Progression | ir.Value | int | None"]
"""What is known of an old value: a progression, a 0-d value or number that is the same for all elements, or None."""


def progression_of(op: ir.Operation, known: Known, size: int) -> Progression | None:
    """The progression that an op makes of one; None where it makes none."""
    handler = _HANDLERS.get(op.name)
    if handler is None or shape_of(op.results[0]) or dtype_of(op.results[0]).kind not in "iu":
        return None
    return handler(op, [known(v) for v in op.operands], size)


def number_or_value(old: ir.Value, new: ir.Value) -> int | ir.Value:
    """A constant as a number, everything else as it is."""
    found = scalar(old)
    return new if found is None else found


def _plus(a: int | ir.Value, b: int | ir.Value, sign: int = 1) -> int | ir.Value:
    if isinstance(a, int) and isinstance(b, int):
        return a + sign * b
    if isinstance(a, int) and a == 0 and sign == 1:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return ops.add(a, b) if sign == 1 else ops.subtract(a, b)


def _add(op: ir.Operation, operands: list, size: int) -> Progression | None:
    a, b = operands
    if isinstance(a, Progression) and isinstance(b, Progression):
        return Progression(_plus(a.start, b.start), a.step + b.step)
    if isinstance(b, Progression):
        a, b = b, a
    return None if b is None or not isinstance(a, Progression) else Progression(_plus(a.start, b), a.step)


def _subtract(op: ir.Operation, operands: list, size: int) -> Progression | None:
    a, b = operands
    if a is None or b is None:
        return None
    first, second = (x.start if isinstance(x, Progression) else x for x in (a, b))
    step = (a.step if isinstance(a, Progression) else 0) - (b.step if isinstance(b, Progression) else 0)
    return Progression(_plus(first, second, -1), step)


def _multiply(op: ir.Operation, operands: list, size: int) -> Progression | None:
    a, b = operands if isinstance(operands[0], Progression) else operands[::-1]
    if not isinstance(a, Progression) or not isinstance(b, int):
        return None
    start = a.start * b if isinstance(a.start, int) else ops.multiply(a.start, b)
    return Progression(start, a.step * b)


def _convert(op: ir.Operation, operands: list, size: int) -> Progression | None:
    """Only where no element wraps around before."""
    a, old = operands[0], op.operands[0]
    if not isinstance(a, Progression) or dtype_of(old).kind not in "iu":
        return None
    ends = a.ends(size) or range_of(old)
    if ends is None or any(not np.iinfo(d).min <= n <= np.iinfo(d).max for n in ends for d in (
            dtype_of(old), dtype_of(op.results[0]))):
        return None
    return Progression(a.start if isinstance(a.start, int) else ops.convert(a.start, dtype_of(op.results[0])), a.step)


_HANDLERS = {"stablehlo.add": _add, "stablehlo.subtract": _subtract, "stablehlo.multiply": _multiply,
             "stablehlo.convert": _convert}
