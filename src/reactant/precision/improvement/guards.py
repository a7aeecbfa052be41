"""Where a form may stand for an expression: values of parts of it, or of its leaves, that are in a range."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision.improvement.expressions import Array, Expression, cost, emitted, in_floats, leaf, shown

COMPARISON = 0.05
"""Nanoseconds per element of a test of a value that is there."""


class Guard(NamedTuple):
    """The values of an expression of the leaves are from low, a finite number, to high; never so for NaN."""

    of: Expression
    low: float
    high: float

    def shown(self, names: Sequence[str]) -> str:
        """As one would write it."""
        text = shown(self.of, names)
        if self.low == -self.high:
            return f"abs({text}) <= {self.high:.3g}"
        if self.high == np.inf:
            return f"{text} >= {self.low:.3g}"
        return f"{self.low:.3g} <= {text} <= {self.high:.3g}"


def of_leaves(low: Sequence[float], high: Sequence[float]) -> tuple[Guard, ...]:
    """One guard for each leaf."""
    return tuple(Guard(leaf(k), *each) for k, each in enumerate(zip(low, high, strict=True)))


def together(several: Sequence[Guard]) -> tuple[Guard, ...]:
    """What has to hold of each expression, once."""
    found: dict[Expression, Guard] = {}
    for each in several:
        other = found.get(each.of, each)
        found[each.of] = Guard(each.of, max(each.low, other.low), min(each.high, other.high))
    return tuple(found.values())


def holding(guards: Sequence[Guard], given: Sequence[Array], dtype: np.dtype) -> Array:
    """For which samples all hold, computed in a float format."""
    found = np.ones(np.shape(given[0]), bool)
    for each in guards:
        value = in_floats(each.of, given, dtype)[each.of]
        found &= (value >= dtype.type(each.low)) & (value <= dtype.type(each.high))
    return found


def price(guards: Sequence[Guard], dtype: np.dtype) -> float:
    """Estimated nanoseconds per element of testing them."""
    return sum(cost(each.of, dtype) + COMPARISON * (1 if each.low == -each.high or each.high == np.inf else 2)
               for each in guards)


def tested(guards: Sequence[Guard], given: Sequence[ir.Value], dtype: np.dtype) -> ir.Value:
    """Operations at the insertion point that say where all hold."""
    known: dict[Expression, ir.Value] = {}
    found = None
    for each in guards:
        value = emitted(each.of, given, dtype, known)
        for bound, direction in ((each.low, "GE"), (each.high, "LE")):
            if bound == np.inf or each.low == -each.high and direction == "GE":
                continue
            compared = ops.abs(value) if each.low == -each.high else value
            holds = ops.compare(compared, ops.splat(dtype.type(bound), value), direction)
            found = holds if found is None else ops.and_(found, holds)
    assert found is not None
    return found


def tested_again(guards: Sequence[Guard], given: Sequence[ir.Value], dtype: np.dtype) -> ir.Value:
    """The same by other operations, which are not found equal: to compute them again costs less than to keep an array
    of truth values from one branch to another."""
    known: dict[Expression, ir.Value] = {}
    found = None
    for each in guards:
        value = emitted(each.of, given, dtype, known)
        low, high = (ops.splat(dtype.type(bound), value) for bound in (each.low, each.high))
        holds = ops.compare(ops.clamp(low, value, high), value, "EQ")
        found = holds if found is None else ops.and_(found, holds)
    assert found is not None
    return found
