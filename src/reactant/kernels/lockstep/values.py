"""What an SSA value of a kernel is in lock step: an integer form, a condition, lanes of floats, memory, or a partial
result of a loop that runs all its iterations at once."""
from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.ir.types import dtype_of_element
from reactant.kernels.lockstep.conditions import Given, Known
from reactant.kernels.lockstep.data import Condition, Domain, Form, Lanes, Range, Run, of_atom
from reactant.kernels.lockstep.forms import is_static, range_of, within
from reactant.kernels.lockstep.lanes import condition_lanes, fitted, form_lanes
from reactant.kernels.lockstep.memory import Memory
from reactant.support.records import dataclass


class Refused(Exception):
    """The kernel is no tensor program; says why. `op`, once known, names the line."""

    def __init__(self, reason: str, op: ir.Operation | None = None):
        super().__init__(reason)
        self.reason, self.op = reason, op


@dataclass(frozen=True)
class Integer:
    """An integer of `width` bits: a form, right modulo 2**width; `exact` where it is known not to wrap."""

    form: Form
    width: int
    exact: bool = True

    def sure(self, domain: Domain) -> bool:
        """Whether the form itself is the (signed) number."""
        return within(range_of(self.form, domain), *limits(self.width))


@dataclass(frozen=True)
class Partial:
    """What a loop has gathered so far in a carried value: the start, and `parts` combined with it by `kind`."""

    key: object
    kind: str | None = None
    parts: tuple[Lanes, ...] = ()


Value: TypeAlias = Integer | Condition | Lanes | Memory | Partial


def limits(width: int) -> tuple[int, int]:
    return -(1 << width - 1), (1 << width - 1) - 1


def width_of(type_: ir.Type) -> int:
    return 64 if isinstance(type_, ir.IndexType) else ir.IntegerType(type_).width


def integer_dtype(width: int) -> np.dtype:
    if width not in (8, 16, 32, 64):
        raise Refused(f"integers of {width} bits have no tensors")
    return np.dtype(f"int{width}")


def is_boolean(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and ir.IntegerType(type_).width == 1


def is_integer(type_: ir.Type) -> bool:
    return isinstance(type_, (ir.IndexType, ir.IntegerType))


def dtype_of_type(type_: ir.Type) -> np.dtype:
    """The NumPy type of a scalar MLIR type; index is int64."""
    if isinstance(type_, ir.IndexType):
        return np.dtype(np.int64)
    try:
        return dtype_of_element(type_)
    except KeyError:
        raise Refused(f"values of type {type_} have no tensors") from None


def of_lanes(lanes: Lanes, type_: ir.Type, bounds: Range = None) -> Value:
    """Lanes as the value of an MLIR type."""
    if is_boolean(type_):
        return Given(lanes)
    if is_integer(type_):
        width = width_of(type_)
        known = bounds if bounds is not None else None if width == 64 else limits(width)
        return Integer(of_atom(Run(lanes, known)), width)
    return lanes


def constant(number: int, width: int) -> Integer:
    low, _ = limits(width)
    return Integer(Form((number - low) % (1 << width) + low), width)


def as_lanes(value: Value, domain: Domain) -> Lanes:
    """A value as a tensor in a domain."""
    if isinstance(value, Integer):
        return form_lanes(value.form, integer_dtype(value.width), domain)
    if isinstance(value, Condition):
        return condition_lanes(value, domain)
    if isinstance(value, Lanes):
        return fitted(value, domain)
    if isinstance(value, Partial):
        raise Refused("a carried value of a loop is used in the loop")
    raise Refused("memory is used as a value")


NESTED = 400
"""Size of forms and conditions beyond which they become tensors: what depends twice on itself in every iteration of a
loop (the state of a `switch`, a remainder) would double its form each time."""


def flat(value: Value, type_: ir.Type, domain: Domain) -> Value:
    """The value, as lanes where its form is too large."""
    if isinstance(value, Integer) and value.form.size > NESTED:
        bounds = range_of(value.form, domain)
        known = bounds if within(bounds, *limits(value.width)) else None
        return of_lanes(as_lanes(value, domain), type_, known)
    if isinstance(value, Condition) and value.size > NESTED:
        return of_lanes(as_lanes(value, domain), type_)
    return value


def is_static_value(value: Value) -> bool:
    if isinstance(value, Integer):
        return is_static(value.form)
    return isinstance(value, Condition) and value.is_static()


def known_number(value: Value) -> int | None:
    """The number, where a value is one that is known now."""
    if isinstance(value, Integer):
        return value.form.known
    if isinstance(value, Known):
        return int(value.value)
    return None
