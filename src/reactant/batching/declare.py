"""How the batched form of an op is said. Declaring registers it; the forms are

    elementwise("sine", "add")                       operands of one shape: batched together
    leading("fft", "cholesky")                       the op itself: dimensions in front of its own are a batch to it
    shifted("transpose", permutation=batch_first)    the op itself, with attributes that speak of one more dimension
    batch("dot_general", rule)                       anything else: rule(call) gives the batched results

Everywhere the batch is dimension 0. An op without a form runs once for each element of the batch, in a loop.
"""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ReactantError
from reactant.ir import attributes as attr
from reactant.ir import creation, modules, ops
from reactant.ir.types import dtype_of, shape_of, tensor_type
from reactant.support import foreign


class NotBatchable(ReactantError, NotImplementedError):
    """An op that depends on batched values has no batched form, not even as a loop; names the op."""

    code = "not-batchable"


class Call:
    """An op being batched. `operands` are values of the new program; operand i has a leading batch dimension of `size`
    where `batched[i]`, and the shape it has in the old op where not."""

    def __init__(self, op: ir.Operation, operands: Sequence[ir.Value], batched: Sequence[bool], size: int,
                 progressions: Sequence[Any] = (), values: dict[ir.Value, ir.Value] | None = None):
        self.op, self.operands, self.batched, self.size = op, list(operands), tuple(batched), size
        self.progressions, self.values = list(progressions) or [None] * len(self.operands), values or {}

    @property
    def inputs(self) -> list[ir.Value]:
        """The old op's operands: to look at types, never to build with."""
        return list(self.op.operands)

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """All attributes as Python values."""
        names = (named.name if hasattr(named, "name") else named for named in self.op.attributes)
        return {name: attr.decode(self.op.attributes[name]) for name in names}

    def full(self, number: int) -> ir.Value:
        """Operand `number` with the batch in front, repeated where it does not depend on it."""
        return self.operands[number] if self.batched[number] else repeated(self.operands[number], self.size)

    def again(self, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> list[ir.Value]:
        """The results of the same op on other operands, each with the batch in front, some attributes replaced."""
        copy = modules.clone_with(self.op, ChainMap({}, self.values))     # a copy of all values would take long
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        for name, attribute in attributes.items():
            copy.attributes[name] = attribute
        for result in copy.results:
            result.set_type(batched_type(result, self.size))
        creation.note(copy)
        return list(copy.results)


Rule = Callable[[Call], "Sequence[ir.Value] | None"]
"""The batched results of an op, or None: one element after the other."""

RULES: dict[str, Rule] = {}


def full_name(name: str) -> str:
    """The op's name with its dialect; "stablehlo.custom_call@target" for the custom calls of one target."""
    return name if "." in name else f"stablehlo.{name}"


def batch(name: str, rule: Rule) -> None:
    """The batched form of an op as a function of its call."""
    name = full_name(name)
    if name in RULES:
        raise ValueError(f"the batched form of {name} is declared twice")
    foreign.note()
    RULES[name] = rule


def rule_of(op: ir.Operation) -> Rule | None:
    """The rule of an op; None where it has none."""
    name = op.name
    if name == "stablehlo.custom_call":
        name += f"@{attr.decode(op.attributes['call_target_name'])}"
    return RULES.get(name)


# ---- helpers of rules ----------------------------------------------------------------------------------------------

def batched_type(value: ir.Value, size: int) -> ir.Type:
    """The type of a value with the batch in front. Raises `NotBatchable` for what is no tensor of static shape."""
    if not isinstance(value.type, ir.RankedTensorType) or not value.type.has_static_shape:
        raise NotBatchable(f"a value of type {value.type} cannot be batched: only tensors of static shape can.")
    return tensor_type((size, *shape_of(value)), dtype_of(value))


def repeated(value: ir.Value, size: int) -> ir.Value:
    """The value `size` times, along a new leading dimension."""
    shape = shape_of(value)
    return ops.broadcast_in_dim(value, (size, *shape), range(1, 1 + len(shape)))


def spread(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A number for each element of the batch, (size,), at all places of (size, *shape)."""
    return ops.broadcast_in_dim(value, (*shape_of(value), *shape), (0,))


def after(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Dimensions when there is one more in front."""
    return tuple(d + 1 for d in dimensions)


def batch_first(dimensions: Sequence[int]) -> tuple[int, ...]:
    """The batch, then the dimensions as they are when there is one more in front."""
    return (0, *after(dimensions))


def front(number: int) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """The entry `number` for the batch, the others as they are."""
    return lambda values: (number, *values)


# ---- the forms -----------------------------------------------------------------------------------------------------

def elementwise(*names: str) -> None:
    """Operands of the shape of the result. Those that are 0-d where the result is not (a predicate of select, bounds of
    clamp) stay so if they are not batched."""
    def rule(call: Call) -> Sequence[ir.Value]:
        shape = shape_of(call.op.results[0])
        operands = []
        for number, old in enumerate(call.inputs):
            if shape_of(old) == shape:
                operands.append(call.full(number))
            else:
                value = call.operands[number]
                operands.append(spread(value, shape) if call.batched[number] else value)
        return call.again(operands)

    for name in names:
        batch(name, rule)


def leading(*names: str) -> None:
    """Ops for which all dimensions but the last few are a batch already."""
    for name in names:
        batch(name, lambda call: call.again([call.full(n) for n in range(len(call.operands))]))


def shifted(name: str, operands: int | None = None, **changes: Callable[[Any], Any]) -> None:
    """The op with some attributes changed, each by a function of its old value (integers or tuples of them). The first
    `operands` operands (all when None) get the batch; if another one has it, the elements are taken one by one."""
    def rule(call: Call) -> Sequence[ir.Value] | None:
        count = len(call.operands) if operands is None else operands
        if any(call.batched[count:]):
            return None
        changed = {each: encoded(change(call.attributes[each])) for each, change in changes.items()
                   if each in call.attributes}
        return call.again([*(call.full(n) for n in range(count)), *call.operands[count:]], **changed)

    batch(name, rule)


def encoded(value: Any) -> ir.Attribute:
    """An attribute from an int or a tuple of ints."""
    return attr.integer(value) if isinstance(value, int) else attr.integers(tuple(int(v) for v in value))
