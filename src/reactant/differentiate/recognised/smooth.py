"""Smooth functions that are computed by pieces with kinks, which cancel in the value but not in its derivatives.

log(exp a + exp b) is max(a, b) + log1p(exp(-|a - b|)), often behind a choice for equal infinities (`logaddexp`,
softplus, logistic losses). Where a = b the conventions for max and |x| lose the second derivative, a choice the first.
`mark` finds the form, and puts a barrier over (result, a, b) there; its derivative is by the logistic function, smooth
to any order. `unmark` takes the barriers away.

sin(x) / x behind a choice for 0 gets such a barrier too, over (result, x): near 0 its derivative is by its series.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.recognised.signs import bare, by_equality, made_by, put_barrier
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_float, shape_of
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.differentiate.declare import Call

LOG_OF_SUM = "reactant.log_of_sum"
"""Marks a barrier over (log(exp(u a) + exp(u b)) / u, a, b), and says u: 1, or log 2."""


SINC = "reactant.sinc"
"""Marks a barrier over (sin(x) / x, x)."""
NEAR, TERMS = 0.5, 10
"""Where the derivative of sin(x) / x is by its series, and how many terms of that."""


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every such function in a module."""
    for op in [op for op in modules.walk(module) if op.name == "stablehlo.select" and is_float(dtype_of(op.result))]:
        x = _argument_of_sinc(op)
        if x is not None:
            put_barrier(op, [op.result, ops.reshape(x, shape_of(op.result))], {SINC: ir.UnitAttr.get()})
    for op in [op for op in modules.walk(module) if op.name == "stablehlo.add" and is_float(dtype_of(op.result))]:
        found = _found(op)
        if found is None:
            continue
        last = _chosen(op, found)
        with last.location, ir.InsertionPoint(last):
            a, b = (ops.reshape(v, shape_of(op.result)) for v in (found.a, found.b or found.a))
            values = [last.results[0], a, ops.negate(b) if found.b is None else b]
        put_barrier(last, values, {LOG_OF_SUM: ir.FloatAttr.get_f64(found.unit)})


def _argument_of_sinc(op: ir.Operation) -> ir.Value | None:
    """x, where the op is select(x == 0, 1, sin(y) / z), and y and z are x or select(x == 0, anything, x)."""
    choice = by_equality(op)
    made = None if choice is None else made_by(choice[3], "divide")
    sine = None if made is None else made_by(made.operands[0], "sine")
    if choice is None or sine is None or made is None \
            or not np.array_equal(_constant(choice[2]), 1) or not np.array_equal(_constant(choice[1]), 0):
        return None

    def is_safe(value: ir.Value) -> bool:
        chosen = made_by(value, "select")
        safe = None if chosen is None else by_equality(chosen)
        return bare(value if safe is None or safe[:2] != choice[:2] else safe[3]) == bare(choice[0])

    return choice[0] if is_safe(sine.operands[0]) and is_safe(made.operands[1]) else None


def slope_of_sinc(call: Call) -> ir.Value:
    """(cos x - y) / x; near 0 the series -x/3 + x**3/30 - ..., which loses no digits and has all derivatives."""
    y, x = call.results[0], call.operands[1]
    square = ops.multiply(x, x)
    near = ops.compare(ops.abs(x), NEAR, "LT")
    series = None
    for k in range(TERMS, 0, -1):
        term = ops.splat((-1) ** k * 2 * k / math.factorial(2 * k + 1), x)
        series = term if series is None else ops.add(ops.multiply(series, square), term)
    far = ops.select(near, ops.splat(1, x), x)
    return ops.select(near, ops.multiply(series, x), ops.divide(ops.subtract(ops.cosine(far), y), far))


def unmark(module: ir.Module, *marks: str) -> None:
    """Take such marks away: the barriers that have them."""
    for op in [op for op in modules.walk(module) if any(mark in op.attributes for mark in marks)]:
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


def slopes(call: Call) -> tuple[ir.Value, ir.Value]:
    """The partials of what a marked barrier is of, in a and in b."""
    _, a, b = call.operands
    gap = ops.subtract(a, b)
    gap = ops.select(ops.compare(gap, gap, "NE"), ops.splat(0, gap), gap)               # of equal infinities
    unit = ir.FloatAttr(call.op.attributes[LOG_OF_SUM]).value
    if unit != 1:
        gap = ops.multiply(gap, ops.splat(unit, gap))
    return ops.logistic(gap), ops.logistic(ops.negate(gap))


Gap = Any
"""A difference up to its sign, to be compared: (x, s, c) for s x + c, or a set of two values."""


@dataclass
class _Found:
    """log(exp(unit a) + exp(unit b)) / unit; b is -a where it is None."""

    a: ir.Value
    b: ir.Value | None
    unit: float
    gap: Gap


def _found(op: ir.Operation) -> _Found | None:
    for big, rest in (tuple(op.operands), tuple(op.operands)[::-1]):
        unit, size = _tail(rest)
        larger = None if size is None else made_by(big, "maximum", "abs")
        if size is None or larger is None:
            continue
        if larger.name == "stablehlo.abs":
            a, b = larger.operands[0], None
            base, sign, offset = _line(a)
            gap: Gap = _positive(base, 2 * sign, 2 * offset)
        else:
            a, b = larger.operands
            gap = _gap(a, b)
        if gap is not None and gap == _gap_of(size):
            return _Found(a, b, unit, gap)
    return None


def _tail(value: ir.Value) -> tuple[float, ir.Value | None]:
    """(unit, x), where the value is log1p(exp(-unit |x|)) / unit."""
    size = _through(value, "log_plus_one", "exponential", "negate", "abs")
    if size is not None:
        return 1.0, size
    made = made_by(value, "divide", "multiply")
    given = None if made is None else _constant(made.operands[1])
    raised = None if made is None else _through(made.operands[0], "log_plus_one")
    power = None if raised is None else made_by(raised, "power")
    if made is None or given is None or power is None or not np.array_equal(_constant(power.operands[0]), 2):
        return 1.0, None
    unit = given if made.name == "stablehlo.divide" else 1 / given
    known = np.ndim(unit) == 0 and np.isclose(unit, np.log(2.0), rtol=1e-3)
    return float(np.log(2.0)), _through(power.operands[1], "negate", "abs") if known else None


def _chosen(op: ir.Operation, found: _Found) -> ir.Operation:
    """The op itself, or the choice of something else where a = b or a - b is no number that it goes into."""
    users = [use.owner.operation for use in op.result.uses]
    if len(users) != 1 or users[0].name != "stablehlo.select" or users[0].operands[2] != op.result:
        return op
    question = made_by(users[0].operands[0], "compare")
    if question is None:
        return op
    left, right = question.operands
    direction = attr.decode(question.attributes["comparison_direction"])
    same = direction == "EQ" and _gap(left, right) == found.gap
    undefined = direction == "NE" and left == right and (
        _gap_of(left) == found.gap or bare(left) in map(bare, (found.a, found.b or found.a)))
    return users[0] if same or undefined else op


def _gap(u: ir.Value, v: ir.Value) -> Gap:
    """u - v; None for a constant."""
    (x, scale, offset), (y, other, constant) = _line(u), _line(v)
    first, second = _constant(u), _constant(v)
    if first is not None:
        return None if second is not None else _positive(y, other, constant - first)
    if second is not None:
        return _positive(x, scale, offset - second)
    return _positive(x, scale - other, offset - constant) if x == y else frozenset((bare(u), bare(v)))


def _gap_of(value: ir.Value) -> Gap:
    """What a value is that may be a difference."""
    made = made_by(value, "subtract")
    return _positive(*_line(value)) if made is None else _gap(*made.operands)


def _positive(base: ir.Value, scale: float, offset: Any) -> Gap:
    offset = np.asarray(offset if scale > 0 else -offset) + 0.0          # without -0.0
    return base, abs(scale), float(offset) if offset.ndim == 0 else offset.tobytes()


def _line(value: ir.Value) -> tuple[ir.Value, float, Any]:
    """(x, s, c), where the value is s x + c, for a number s and a number or array c."""
    scale, offset, value = 1.0, np.float64(0), bare(value)
    while (made := made_by(value, "negate", "add", "subtract", "multiply")) is not None:
        left, right = list(made.operands)[0], list(made.operands)[-1]
        sign, known, constant = (-1 if made.name == "stablehlo.subtract" else 1), _constant(left), _constant(right)
        if made.name == "stablehlo.negate":
            scale, value = -scale, left
        elif made.name == "stablehlo.multiply":
            if constant is None or np.ndim(constant):
                break
            scale, value = scale * constant, left
        elif left == right and sign == 1:
            scale, value = 2 * scale, left
        elif constant is not None:
            offset, value = offset + scale * sign * constant, left
        elif known is not None:
            offset, scale, value = offset + scale * known, scale * sign, right
        else:
            break
        value = bare(value)
    return value, scale, offset


def _constant(value: ir.Value) -> Any:
    """A constant as a number where all elements are equal, else as an array of one dimension; None for no constant."""
    known = ops.constant_value(bare(value))
    if known is None or not known.size:
        return None
    known = np.asarray(known, np.float64).ravel()
    return known[0] if np.all(known == known[0]) else known


def _through(value: ir.Value, *names: str) -> ir.Value | None:
    """The operand of the last of some ops, each made of the next."""
    for name in names:
        made = made_by(value, name)
        if made is None:
            return None
        value = made.operands[0]
    return value
