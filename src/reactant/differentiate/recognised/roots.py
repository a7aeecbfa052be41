"""Even functions of roots, which are smooth where the root is 0: cos(sqrt(s)), r sin(r), sinc(r).

A root r is sqrt(s), |x| of real or complex numbers, hypot(x, y), and arccos(x) and arccosh(x), whose squares are smooth
at 1. `mark` follows odd functions of a root to the first values that are even in it, and puts barriers over (value, s,
r, parameters) there: the derivative h'(r) / (2 r) in s is h''(0) / 2 where r is 0. That is even in r again, and marked
when it is differentiated itself.
"""
from __future__ import annotations

import math
from collections.abc import Collection

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, plus, rule_of, times
from reactant.differentiate.recognised.cones import (
    ELEMENTWISE,
    EVEN,
    LARGEST,
    NEITHER,
    ODD,
    Cone,
    cone_of,
    has_rules,
    parity_of,
    with_slope,
)
from reactant.differentiate.recognised.samples import flat
from reactant.differentiate.recognised.signs import HYPOT, put_barrier, square_of
from reactant.differentiate.recognised.smooth import SINC
from reactant.ir import modules, ops
from reactant.ir.bounds import least
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of

EVEN_FUNCTION = "reactant.even_function"
"""Marks a barrier over (h(r), r**2, r, parameters)."""
SQUARE_OF_ANGLE = "reactant.square_of_angle"
"""Marks a barrier over (arccos(x)**2 or arccosh(x)**2, the angle, x), and says the sign: of arccosh +1."""
SMALL = 1e-6
STEPS = 24
"""How many ops, one behind the other, a flat function of a root may have."""
KINKS = {"abs", "sign", "divide", "power", "remainder"}
"""Ops with a kink or a pole at 0."""
NODES = tuple((0.5 + 0.5 * x, w) for x, w in ((-math.sqrt(0.6), 5 / 18), (0.0, 8 / 18), (math.sqrt(0.6), 5 / 18)))
"""Points and weights of Gauss's quadrature over 0..1."""
ALIKE = 1e-2
"""How little second derivatives differ, relatively, between 0 and a root that is near it."""


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every such function in a module."""
    for op in [op for op in modules.walk(module) if _is_root(op)]:
        root = op.results[0]
        found = _flat_values(root)
        if found:
            square = _square(op)
            for value in found:
                last = value.owner.operation
                with last.location, ir.InsertionPoint(last):
                    r, s = (ops.reshape(x, shape_of(value)) for x in (root, square))
                put_barrier(last, [value, s, r, root], {EVEN_FUNCTION: ir.UnitAttr.get()})
    for op in [op for op in modules.walk(module) if EVEN_FUNCTION in op.attributes]:       # all marks are there now
        cone = _function(op.operands[0], op.operands[3])
        results = list(op.operands)         # as it was, where other marks make it too long
        if cone is not None:
            values = [*op.operands, *cone.parameters]
            with op.location, ir.InsertionPoint(op):
                made = ops.create(op.name, [v.type for v in values], values, {EVEN_FUNCTION: ir.UnitAttr.get()})
            results = list(made.results)
        for old, new in zip(op.results, results, strict=False):
            old.replace_all_uses_with(new)
        op.erase()


def _function(value: ir.Value, root: ir.Value) -> Cone | None:
    cone = cone_of(value, root)
    return cone if cone is not None and has_rules(cone) else None


def _is_root(op: ir.Operation) -> bool:
    word = op.name.partition(".")[2]
    if word == "optimization_barrier":
        return HYPOT in op.attributes
    if word == "sqrt":
        return is_float(dtype_of(op.result)) and least(op.operands[0]) < SMALL
    if word == "abs":
        return is_float(dtype_of(op.result)) and least(op.operands[0]) < SMALL if is_float(dtype_of(op.operands[0])) \
            else is_complex(dtype_of(op.operands[0]))
    return word in ("acos", "acosh") and is_float(dtype_of(op.result))


def _square(op: ir.Operation) -> ir.Value:
    """The square of a root, behind it, without the root."""
    word, root = op.name.partition(".")[2], op.results[0]
    with op.location, ir.InsertionPoint.after(op):
        if word in ("acos", "acosh"):
            square = ops.multiply(root, root)
            sign = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1 if word == "acosh" else -1)
            values = [square, root, op.operands[0]]
            return ops.create("stablehlo.optimization_barrier", [v.type for v in values], values,
                              {SQUARE_OF_ANGLE: sign}).operation.results[0]
        if word == "sqrt":
            return op.operands[0]
        if word == "optimization_barrier":
            return ops.add(*(ops.multiply(x, x) for x in list(op.operands)[1:]))
        if is_float(dtype_of(op.operands[0])):
            return ops.multiply(op.operands[0], op.operands[0])
        found = square_of(root)
        assert found is not None
        return found


def _near(root: ir.Value) -> dict[ir.Value, None]:
    """What is computed element by element from a root in few steps."""
    block, reached, level = root.owner.operation.block, {root: None}, {root: None}
    for _ in range(STEPS):
        users = [use.owner.operation for value in level for use in value.uses]
        level = {op.results[0]: None for op in users if op.name in ELEMENTWISE and op.block == block
                 and op.results[0] not in reached and is_float(dtype_of(op.results[0]))}
        reached |= level
        if not level or len(reached) > 4 * LARGEST:
            break
    return reached


def _flat_values(root: ir.Value) -> list[ir.Value]:
    """The first values on each path that are even in a root, or as flat where that is 0, if they are near to it."""
    reached = _near(root)
    known = {root: ODD}

    def parity(value: ir.Value) -> int:
        if value not in reached:
            return EVEN
        if value not in known:
            op = value.owner.operation
            given = [parity(x) for x in op.operands]
            known[value] = _parity(op, given) if NEITHER not in given or _is_barrier(op) else NEITHER
        return known[value]

    flats = flat(root, reached, [v for v in reached if parity(v) == NEITHER])

    def is_flat(value: ir.Value) -> bool:
        return parity(value) == EVEN or value in flats

    return [v for v in reached if is_flat(v) and not _is_marked(v) and _is_made_of(v, root, reached)
            and any(x in reached and not is_flat(x) for x in v.owner.operation.operands)]


def _is_made_of(value: ir.Value, root: ir.Value, reached: Collection[ir.Value]) -> bool:
    """Whether a value has a derivative in a root, by what was looked at and what is constant between comparisons."""
    cone, moved = _function(value, root), {root}
    if cone is None:
        return False
    for op in cone.body:
        if is_float(dtype_of(op.results[0])) and any(x in moved for x in op.operands):
            if op.results[0] not in reached:
                return False
            moved.add(op.results[0])
    return True


def _parity(op: ir.Operation, given: list[int]) -> int:
    """`parity_of`, but NEITHER where the function has a kink or pole at 0; NumPy's choices for infinities count as
    nothing."""
    if _is_barrier(op):
        return EVEN if SINC in op.attributes and given[1] == ODD else NEITHER
    if op.name == "stablehlo.select":
        for number in (1, 2):
            known = ops.constant_value(op.operands[number])
            if known is not None and known.dtype.kind == "f" and not np.isfinite(known).any():
                return given[3 - number]
    if op.name.partition(".")[2] in KINKS and ODD in given:
        poles = op.name == "stablehlo.divide" and given[1] == EVEN
        return parity_of(op, given) if poles else NEITHER
    return parity_of(op, given)


def _is_barrier(op: ir.Operation) -> bool:
    return op.name == "stablehlo.optimization_barrier"


def _is_marked(value: ir.Value) -> bool:
    """Whether a barrier says already what the derivative is (squares)."""
    uses = [use.owner.operation for use in value.uses]
    return any(op.name == "stablehlo.optimization_barrier" and op.operands[0] == value for op in uses)


# ---- the derivative --------------------------------------------------------------------------------------------------

def even_tangent(call: Call, tangents: Tangents) -> ir.Value | None:
    """Of h(r): h'(r) / (2 r) times that of r**2; where r is 0, h''(0) / 2."""
    old = call.op.operands
    cone = cone_of(old[0], old[3])
    assert cone is not None
    root = call.operands[3]
    given = dict(zip(cone.parameters, call.operands[4:], strict=True))
    moved = None
    if tangents[1] is not None:
        first = with_slope(lambda: cone.build(root, given), root)[1]
        shape = shape_of(first)
        r = ops.reshape(root, shape)
        zero = ops.compare(r, 0, "EQ")
        twice = ops.select(zero, ops.splat(1, r), ops.multiply(r, 2))
        slope = _near_zero(cone, root, given, zero, ops.divide(first, twice))
        moved = times(slope, tangents[1], strong=True)
    return plus(moved, _along_parameters(cone, root, given, tangents[4:]))


def _near_zero(cone: Cone, root: ir.Value, given: dict[ir.Value, ir.Value], zero: ir.Value, away: ir.Value) -> ir.Value:
    """h'(r) / (2 r) as half of the integral of h''(t r) over t from 0 to 1, where r is 0, and where the function is so
    smooth that both are the same: the quotient's own derivatives are differences of nearly equal numbers there."""
    def curvature(r: ir.Value) -> ir.Value:
        return with_slope(lambda: with_slope(lambda: cone.build(r, given), r)[1], r)[1]

    found = [curvature(ops.multiply(root, ops.splat(node, root))) for node, _ in NODES]
    total = None
    for second, (_, weight) in zip(found, NODES, strict=True):
        total = plus(total, ops.multiply(second, ops.splat(weight / 2, second)))
    assert total is not None
    smooth = _close(away, total, 4 * float(ml_dtypes.finfo(dtype_of(away)).eps))
    for second in (found[0], found[-1]):
        smooth = ops.and_(smooth, _close(second, found[1], ALIKE))
    return ops.select(ops.or_(zero, smooth), total, away)


def _close(x: ir.Value, y: ir.Value, part: float) -> ir.Value:
    return ops.compare(ops.abs(ops.subtract(x, y)), ops.multiply(ops.abs(y), part), "LE")


def _along_parameters(cone: Cone, root: ir.Value, given: dict[ir.Value, ir.Value], tangents: Tangents,
                      ) -> ir.Value | None:
    known = {x: t for x, t in zip(cone.parameters, tangents, strict=True) if t is not None}
    if not known:
        return None
    mapping = {cone.base: root, **given}
    for op in cone.body:
        copy = modules.clone_with(op, mapping)
        moved = [known.get(x) for x in op.operands]
        if any(t is not None for t in moved) and is_float(dtype_of(op.results[0])):
            found = rule_of(op).forward(Call(op, list(copy.operands), list(copy.results)), moved)
            known.update({r: t for r, t in zip(op.results, found, strict=True) if t is not None})
    return known.get(cone.value)


NEAR, TERMS = 0.25, 24
"""Where the derivative of the square of an angle is by its series, and how many terms of that."""


def angle_slope(call: Call) -> ir.Value:
    """2 arccosh(x) / sqrt(x**2 - 1) = -(arccos(x)**2)' = 2 F(1, 1; 3/2; (1 - x) / 2), near 1 by that series."""
    _, angle, x = call.operands
    u = ops.multiply(ops.subtract(ops.splat(1, x), x), 0.5)
    near = ops.compare(ops.abs(u), NEAR / 2, "LT")
    small = ops.select(near, u, ops.splat(0, u))
    series = ops.splat(1, x)
    for n in range(TERMS, 0, -1):
        series = ops.add(ops.multiply(ops.multiply(series, small), ops.splat(n / (n + 0.5), x)), ops.splat(1, x))
    sign = int(ir.IntegerAttr(call.op.attributes[SQUARE_OF_ANGLE]).value)
    away = ops.select(near, ops.splat(0.5 - sign * 0.25 + (2 if sign > 0 else 0), x), x)
    below = ops.sqrt(ops.multiply(ops.multiply(ops.subtract(away, 1), ops.add(away, 1)), ops.splat(sign, x)))
    far = ops.divide(ops.select(near, ops.splat(1, angle), angle), below)
    return ops.multiply(ops.select(near, series, far), ops.splat(np.float64(2 * sign), x))
