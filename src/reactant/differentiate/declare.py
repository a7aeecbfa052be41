"""How the derivative of an op is said. Declaring registers it; the forms are

    elementwise("sine", lambda y, x: ops.cosine(x))          partials, one per operand, of the result and the operands
    linear("transpose", lambda call, g: [...])               the op itself on tangents; its transpose on a cotangent
    bilinear("dot_general", left, right)                     linear in each of two operands; both transposes
    constant("floor", "compare")                             nothing flows through
    derivative("sort", forward, reverse=None)                anything else: tangents from tangents
    meaning("map", build)                                    other ops, whose derivatives are its own
    refused("why, and what to do", "infeed")                 has none; the error says why

A `derivative` without `reverse` is transposed by the engine: what `forward` builds is linear in the tangents, and each
op it builds has a transpose of its own.

Complex numbers: tangents are complex, df = f'(z) dz; cotangents pair with them as Re(sum(g * t)), without conjugation
(jax's convention), so holomorphic ops have the same partial in both modes.
"""
from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.facts.masks import kept_zero
from reactant.errors import NotDifferentiable, Reason, Span
from reactant.ir import attributes as attr
from reactant.ir import creation, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of
from reactant.support import foreign
from reactant.support.records import dataclass

WRITE_ANOTHER = "Rewrite the line with operations that have one, or keep differentiated values out of it."


@dataclass(frozen=True)
class Into:
    """A contribution to an adjoint that is cheaper to put into what is there than to add: `put(adjoint)`."""

    put: Callable[[ir.Value], ir.Value]


@dataclass(frozen=True)
class Part:
    """A contribution to an adjoint that is zero but for a window from `starts` on, which is `value`."""

    starts: tuple[int, ...]
    value: ir.Value

    @property
    def window(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Where it lies: starts and extents."""
        return self.starts, shape_of(self.value)


Tangents: TypeAlias = Sequence[ir.Value | None]
Contribution: TypeAlias = ir.Value | Into | Part | None


class Call:
    """An op being differentiated: `operands` and `results` are values of the module under construction.

    Reading one may mean keeping or recomputing it: for a shape or a type read `inputs`, the operands of the old op.
    """

    def __init__(self, op: ir.Operation, operands: Sequence[ir.Value], results: Sequence[ir.Value]):
        self.op, self.operands, self.results = op, operands, results

    @property
    def inputs(self) -> list[ir.Value]:
        """The old op's operands: to look at types, never to build with."""
        return list(self.op.operands)

    @property
    def name(self) -> str:
        return self.op.name

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """All attributes as Python values."""
        return {name: attr.decode(self.op.attributes[name]) for name in _attribute_names(self.op)}

    def again(self, operands: Sequence[ir.Value]) -> list[ir.Value]:
        """The results of the same op on other operands of the same types."""
        copy = self.op.clone().operation
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        creation.note(copy)
        return list(copy.results)

    def refuse(self, why: str, hint: str = WRITE_ANOTHER) -> NotDifferentiable:
        """The error to raise where this op cannot be differentiated."""
        return NotDifferentiable(f"'{self.name}' cannot be differentiated: {why}", hint=hint,
                                 span=span_of(self.op))


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """All attributes as they are."""
    return {name: op.attributes[name] for name in _attribute_names(op)}


def _attribute_names(op: ir.Operation) -> list[str]:
    return [named.name if hasattr(named, "name") else named for named in op.attributes]


def span_of(op: ir.Operation) -> Span | None:
    """The user's line an op comes from."""
    return Span.at(file_and_line(op.location))


@dataclass(frozen=True)
class Rule:
    """The derivative of one op in both modes. No `reverse`, or one that gives None: transpose what `forward` builds."""

    name: str
    forward: Callable[[Call, Tangents], Tangents]
    reverse: Callable[[Call, Sequence[ir.Value | None], Sequence[bool]], Sequence[Contribution] | None] | None = None


RULES: dict[str, Rule] = {}
CONSTANT: set[str] = {"stablehlo.constant"}
REFUSED: dict[str, str] = {}
NATIVE_CALLS: dict[str, Reason] = {}
"""Name (`native_name`) of a call of native code -> what it is, and why it has no derivative."""
NATIVE_FORMS: dict[str, Callable[[list[ir.Value]], list[ir.Value]]] = {}
"""Name of a call of native code that was chosen for its speed -> its results from its operands as tensor operations;
those are differentiated."""


def full_name(name: str) -> str:
    """The op's name with its dialect; "stablehlo.custom_call@target" for the custom calls of one target."""
    return name if "." in name else f"chlo.{name}" if name in ops.CHLO_UNARY + ops.CHLO_BINARY else f"stablehlo.{name}"


def _register(rule: Rule) -> None:
    if rule.name in RULES or rule.name in CONSTANT or rule.name in REFUSED:
        raise ValueError(f"the derivative of {rule.name} is declared twice")
    foreign.note()
    RULES[rule.name] = rule


def rule_of(op: ir.Operation) -> Rule:
    """The rule of an op on an active path. Raises `NotDifferentiable`."""
    name = op.name
    if name == "stablehlo.custom_call":
        name += f"@{attr.decode(op.attributes['call_target_name'])}"
    rule = RULES.get(name)
    if rule is None:
        if op.name == "stablehlo.custom_call" and (called := native_name(op)) in NATIVE_CALLS:
            raise NotDifferentiable(NATIVE_CALLS[called].fact, hint=NATIVE_CALLS[called].hint, span=span_of(op))
        raise NotDifferentiable(f"'{name}' has no derivative rule.", hint=REFUSED.get(name, WRITE_ANOTHER),
                                span=span_of(op))
    return rule


def native_name(op: ir.Operation) -> str:
    """What a custom call runs: its target, or the kernel that its configuration names (launches of PTX)."""
    given = op.attributes["backend_config"] if "backend_config" in op.attributes else None
    if isinstance(given, ir.DictAttr) and "name" in given:
        return str(attr.decode(given["name"]))
    return str(attr.decode(op.attributes["call_target_name"]))


# ---- helpers of rules ----------------------------------------------------------------------------------------------

def differentiable(value: ir.Value) -> bool:
    """Whether a value is of a type that has tangents: float or complex."""
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    return is_float(dtype_of(value)) or is_complex(dtype_of(value))


def zeros(like: ir.Value) -> ir.Value:
    return ops.splat(0, like)


def plus(a: ir.Value | None, b: ir.Value | None) -> ir.Value | None:
    """The sum, where None is zero."""
    return b if a is None else a if b is None else ops.add(a, b)


def times(factor: Any, g: ir.Value, strong: bool = False) -> ir.Value | None:
    """factor * g of a tangent. A factor 1, -1 or None (zero) costs nothing; `strong`: zero times an infinite factor is
    zero."""
    if factor is None:
        return None
    if isinstance(factor, (int, float)):
        return g if factor == 1 else ops.negate(g) if factor == -1 else ops.multiply(g, ops.splat(factor, g))
    product = ops.multiply(factor, g)
    if strong and _transposing:
        product.owner.operation.attributes[STRONG] = attr.boolean(True)
    elif strong:
        product = ops.select(ops.compare(g, zeros(g), "EQ"), zeros(g), product)
    return product


def pulled(factor: Any, g: ir.Value, strong: bool = False) -> ir.Value | None:
    """factor * g of a cotangent, and zero where nothing was chosen (see `masks`), also times what is infinite or no
    number; `strong`: values are tested, too, where no choice can be read off the program."""
    product = times(factor, g)
    if product is None or isinstance(factor, (int, float)):
        return product
    known = ops.constant_value(factor)
    return product if known is not None and np.isfinite(known).all() else kept_zero(g, product, exact=not strong)


STRONG = "reactant.strong"
"""Marks a product whose transpose takes zero times an infinite factor as zero."""
_transposing = False


def is_transposing() -> bool:
    """Whether the tangents are stand-ins: what is built is only read to be transposed, so it must not ask whether they
    are zero."""
    return _transposing


@contextmanager
def transposing(is_so: bool = True) -> Iterator[None]:
    """What rules build inside is transposed, or is not."""
    global _transposing
    before, _transposing = _transposing, is_so
    try:
        yield
    finally:
        _transposing = before


def total(g: ir.Value, shape: Sequence[int] = ()) -> ir.Value:
    """The sum of all elements where `shape` is that of a scalar; `g` itself where it has that shape already."""
    if shape_of(g) == tuple(shape):
        return g
    return ops.reduce(g, 0, range(len(shape_of(g))), "add")


# ---- the forms -----------------------------------------------------------------------------------------------------

def elementwise(name: str, *partials: Callable[..., Any] | None,
                singular: bool | Callable[[Call], bool] = False) -> None:
    """Partials by operand, each of (result, *operands): a value, a number, or None for "constant in this operand".

    singular: a partial can be infinite or NaN at finite arguments (log at 0), always or in calls of which that holds.
    There a zero tangent, or a cotangent of what was not chosen, times it is zero: what `where` masks out stays out.
    """
    def strong(call: Call) -> bool:
        return singular(call) if callable(singular) else singular

    def forward(call: Call, tangents: Tangents) -> Tangents:
        found = None
        for partial, tangent in zip(partials, tangents, strict=True):
            if tangent is not None and partial is not None:
                found = plus(found, times(_evaluated(partial, call), tangent, strong(call)))
        return [found]

    def reverse(call: Call, cotangents: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
        g = cotangents[0]
        return [pulled(_evaluated(partial, call), g, strong(call))
                if want and partial is not None and g is not None else None
                for partial, want in zip(partials, wanted, strict=True)]

    _register(Rule(full_name(name), forward, reverse))


def _evaluated(partial: Callable[..., Any], call: Call) -> Any:
    """The partial; parameters it does not read are not looked up."""
    read = _parameters_read(partial)
    return partial(*((call.results[0] if number == 0 else call.operands[number - 1]) if number in read else None
                     for number in range(len(call.operands) + 1)))


@cache
def _parameters_read(function: Callable[..., Any]) -> frozenset[int]:
    """Positions of the parameters that the code of a function reads."""
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    read: set[str] = set()
    for each in dis.get_instructions(function):
        read.update(each.argval if isinstance(each.argval, tuple) else [str(each.argval)])
    return frozenset(number for number, name in enumerate(names) if name in read)


def linear(name: str, transpose: Callable[[Call, ir.Value], Sequence[Contribution]]) -> None:
    """An op that is linear in all its operands that have tangents, together. `transpose(call, g)` gives a contribution
    per operand (None for indices); those not wanted are dead code."""
    def forward(call: Call, tangents: Tangents) -> Tangents:
        return call.again([(t if t is not None else zeros(x)) if differentiable(x) else x
                           for x, t in zip(call.operands, tangents, strict=True)])

    def reverse(call: Call, cotangents: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
        return [each if want else None for each, want in zip(transpose(call, cotangents[0]), wanted, strict=True)]

    _register(Rule(full_name(name), forward, reverse))


Transpose = Callable[[Call, ir.Value], ir.Value]


def bilinear(name: str, left: Transpose, right: Transpose) -> None:
    """An op linear in each of two operands: `left(call, g)` is the cotangent of the first, `right` of the second."""
    def forward(call: Call, tangents: Tangents) -> Tangents:
        (x, y), (dx, dy) = call.operands, tangents
        return [plus(None if dx is None else call.again([dx, y])[0], None if dy is None else call.again([x, dy])[0])]

    def reverse(call: Call, cotangents: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
        return [each(call, cotangents[0]) if want else None for each, want in zip((left, right), wanted, strict=True)]

    _register(Rule(full_name(name), forward, reverse))


def constant(*names: str) -> None:
    """Ops whose results do not change with their operands, almost everywhere."""
    CONSTANT.update(full_name(name) for name in names)


def derivative(name: str, forward: Callable[[Call, Tangents], Tangents],
               reverse: Callable[..., Sequence[Contribution] | None] | None = None) -> None:
    """Tangents of the results from those of the operands (None is zero), and the same for cotangents.

    `reverse(call, cotangents, wanted)` gives a contribution per operand, or None: transpose what `forward` builds."""
    _register(Rule(full_name(name), forward, reverse))


def meaning(name: str, build: Callable[[Call], Sequence[ir.Value]]) -> None:
    """An op that is made of others: `build(call)` gives its results from `call.operands`."""
    _register(Rule(full_name(name), lambda call, tangents: tangents_of(call, tangents, build)))


def tangents_of(call: Call, tangents: Tangents, build: Callable[[Call], Sequence[ir.Value]]) -> Tangents:
    """The tangents of what `build(call)` makes of the operands of a call, by the rules of the ops it is made of."""
    made: list[ir.Operation] = []
    before = creation.record(made)
    try:
        results = build(call)
    finally:
        creation.record(before)
    known: dict[ir.Value, ir.Value] = {}
    for number, t in enumerate(tangents):      # an operand given twice varies once: the first place has its tangent
        if t is not None:
            known.setdefault(call.operands[number], t)
    for op in made:
        given = [known.get(x) for x in op.operands]
        if any(t is not None for t in given) and op.name not in CONSTANT and any(map(differentiable, op.results)):
            moved = rule_of(op).forward(Call(op, list(op.operands), list(op.results)), given)
            known.update({r: t for r, t in zip(op.results, moved, strict=True) if t is not None})
    return [known.get(r) for r in results]


def refused(why: str, *names: str) -> None:
    """Ops without a derivative, and what the error says about it."""
    REFUSED.update(dict.fromkeys(map(full_name, names), why))


def number(value: float, like: ir.Value) -> ir.Value:
    """A splat of the type of `like`."""
    return ops.splat(np.asarray(value), like)
