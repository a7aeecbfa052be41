"""The elementwise function that a value is of another value, the *base*: its derivative, whether it is even or odd.

What is not computed element by element from the base is a parameter of the function.
"""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.differentiate.declare import CONSTANT, RULES, Call, differentiable, rule_of, transposing, zeros
from reactant.differentiate.recognised.signs import SAME
from reactant.ir import creation, modules, ops
from reactant.ir.types import shape_of
from reactant.support.records import dataclass

LARGEST = 96
"""How many ops of a function are looked at."""
ELEMENTWISE = ops.ELEMENTWISE | {f"stablehlo.{n}" for n in ("bitcast_convert", "optimization_barrier", "reshape")}
EVEN, ODD, NEITHER = 1, -1, 0
OF_ODD = {"sine": ODD, "stablehlo.tan": ODD, "tan": ODD, "tanh": ODD, "sinh": ODD, "asin": ODD, "atan": ODD,
          "asinh": ODD, "atanh": ODD, "erf": ODD, "erf_inv": ODD, "cbrt": ODD, "negate": ODD, "convert": ODD,
          "sign": ODD, "bessel_i1e": ODD, "cosine": EVEN, "cosh": EVEN, "abs": EVEN, "square": EVEN, "is_finite": EVEN}
"""Functions of one argument that are odd or even: what they make of an odd one."""


@dataclass(frozen=True)
class Cone:
    """The ops from `base` to `value`, in order, and what else they read."""

    base: ir.Value
    value: ir.Value
    body: tuple[ir.Operation, ...]
    parameters: tuple[ir.Value, ...]

    def build(self, base: ir.Value, parameters: dict[ir.Value, ir.Value]) -> ir.Value:
        """The value of another base and other parameters, at the insertion point."""
        mapping = {self.base: base, **parameters}
        for op in self.body:
            creation.note(modules.clone_with(op, mapping))
        return mapping.get(self.value, self.value)

    def parity(self) -> int:
        """EVEN or ODD where the function is for all parameters; comparisons count as even."""
        known = {self.base: ODD}
        for op in self.body:
            known[op.results[0]] = parity_of(op, [known.get(x, EVEN) for x in op.operands])
        return known.get(self.value, EVEN)


def cone_of(value: ir.Value, base: ir.Value) -> Cone | None:
    """The function that `value` is of `base`, of the same extents; None where it is too long to tell. The function may
    be constant: of a value that is not computed element by element from the base."""
    shape, depends, body = _extents(base), {base: True}, list[ir.Operation]()

    def visit(v: ir.Value) -> bool:
        if v in depends:
            return depends[v]
        op = ops.maker(v)
        depends[v] = False
        if op is not None and op.name in ELEMENTWISE and _extents(v) == shape and v == op.results[0] \
                and len(depends) < 4 * LARGEST:
            read = list(op.operands)[1:] if SAME in op.attributes else list(op.operands)
            depends[v] = any([visit(x) for x in read])
            if depends[v]:
                body.append(op)
        return depends[v]

    visit(value)
    if len(body) > LARGEST or len(depends) >= 4 * LARGEST:
        return None
    read = dict.fromkeys(x for op in body for x in op.operands if not depends.get(x))
    if not body and value != base:
        read = {value: None}
    return Cone(base, value, tuple(body), tuple(read))


def _extents(value: ir.Value) -> tuple[int, ...]:
    return tuple(n for n in shape_of(value) if n != 1)


def with_slope(build: Callable[[], ir.Value], base: ir.Value) -> tuple[ir.Value, ir.Value]:
    """What a function builds of a base, and its derivative in that, by the rules of the ops it is made of."""
    made: list[ir.Operation] = []
    before = creation.record(made)
    try:
        value = build()
    finally:
        creation.record(before)
        if before is not None:
            before.extend(made)
    known = {base: ops.splat(1, base)}
    with transposing(False):
        for op in made:
            given = [known.get(x) for x in op.operands]
            if any(t is not None for t in given) and op.name not in CONSTANT and any(map(differentiable, op.results)):
                moved = rule_of(op).forward(Call(op, list(op.operands), list(op.results)), given)
                known.update({r: t for r, t in zip(op.results, moved, strict=True) if t is not None})
    return value, known[value] if value in known else zeros(value)


def has_rules(cone: Cone) -> bool:
    """Whether all ops of a function have derivatives."""
    return all(op.name in RULES or op.name in CONSTANT or not differentiable(op.results[0]) for op in cone.body)


def parity_of(op: ir.Operation, given: list[int]) -> int:
    """EVEN, ODD or NEITHER: what an op makes of operands that are."""
    word = op.name.partition(".")[2]
    if all(each == EVEN for each in given) or word == "compare":
        return EVEN
    if NEITHER in given:
        return NEITHER
    if word in OF_ODD:
        return OF_ODD[word]
    if word in ("optimization_barrier", "reshape"):
        return given[0]
    if word in ("multiply", "divide"):
        return given[0] * given[1]
    if word in ("add", "subtract", "maximum", "minimum") and given[0] == given[1] and word[0] != "m":
        return given[0]
    if word == "select" and given[1] == given[2]:
        return given[1]
    if word == "power" and given[0] == ODD:
        known = ops.constant_value(op.operands[1])
        if known is not None and known.dtype.kind == "f" and known.size and not (known % 1).any():
            return EVEN if not (known % 2).any() else ODD if (known % 2).all() else NEITHER
    return NEITHER
