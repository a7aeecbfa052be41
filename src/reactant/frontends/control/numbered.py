"""Objects that are chosen by a run-time number: each has one in its trace, the same wherever it is met.

Texts, functions, types and members of enumerations; lists, dicts, sets and objects, too, where one is changed that
control flow has taken (`Trace.by_number`).
"""
from __future__ import annotations

import enum
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from reactant.frontends.arrays.tensor import TRACED_TEXT, Tensor, python_number
from reactant.frontends.control import container_aliasing
from reactant.frontends.session.trace import Trace, current_trace
from reactant.ir import ops

OBJECTS = (str, bytes, FunctionType, BuiltinFunctionType, type, np.ufunc, np.dtype, enum.Enum, type(np.sum))
"""What is chosen from; what the program changes is not among it."""
MOST = 16
"""More alternatives of one name are refused."""

MOST_CONTAINERS = 64
"""The same of what can be changed."""


def is_choosable(value: Any) -> bool:
    return value is None or isinstance(value, OBJECTS) and not (isinstance(value, str) and TRACED_TEXT in value) \
        or is_by_number(value) and is_from_before(value)


def is_by_number(value: Any) -> bool:
    """Whether this is a container that is chosen as itself."""
    trace = Trace.current()
    return trace is not None and bool(trace.by_number) and container_aliasing.kind_of(value) in trace.by_number


def is_from_before(value: Any) -> bool:
    """Whether a container was there before the branches or the loop that end here."""
    trace = current_trace()
    numbered = zip(trace.alternatives, trace.numbered_in, strict=True)
    return any(value is other and region.encloses(trace.region) for other, region in numbered) \
        or id(value) in container_aliasing.reached(everywhere=True)


def lasting(possible: tuple[int, ...]) -> bool:
    """Whether no one of these is a container that a branch has made, which has ended."""
    known = current_trace().alternatives
    return all(not is_by_number(known[number]) or is_from_before(known[number]) for number in possible)


def content_of_one(tree: Any) -> Any:
    """The container that a tree of alternatives stands for, where it is one that is chosen as itself; else None."""
    if getattr(tree, "kind", "") != "alternative" or len(tree.key) > 1:
        return None
    value = current_trace().alternatives[tree.key[0]]
    return value if is_by_number(value) else None


def most(possible: tuple[int, ...]) -> int:
    """How many alternatives there may be of one name."""
    known = current_trace().alternatives
    return MOST_CONTAINERS if any(is_by_number(known[number]) for number in possible) else MOST


def number_of(value: Any) -> int:
    """The number of an object in this trace."""
    trace = current_trace()
    known = trace.alternatives
    for number, other in enumerate(known):
        if value is other or type(value) is type(other) and isinstance(value, (str, bytes)) and value == other:
            if trace.region.encloses(trace.numbered_in[number]):
                trace.numbered_in[number] = trace.region
            return number
    known.append(value)
    trace.undecided = True
    trace.numbered_in.append(trace.region)
    return len(known) - 1


def numbers_at(items: Sequence[Any], place: Tensor) -> tuple[tuple[int, ...], Tensor]:
    """The numbers of these objects, and that of the one at the place."""
    numbers = [number_of(item) for item in items]
    return tuple(sorted(numbers)), translated(dict(enumerate(numbers)), place)


def translated(table: dict[int, int], number: Tensor) -> Tensor:
    """What a run-time number becomes by a table."""
    low, high, value = min(table), max(table), number.value()
    shift = table[low] - low
    if all(found == key + shift for key, found in table.items()):
        made = ops.add(value, shift) if shift else value
    else:
        known = ops.constant(np.array([table.get(key, 0) for key in range(low, high + 1)]))
        made = ops.reshape(ops.dynamic_slice(known, [ops.subtract(value, low)], [1]), ())
    return python_number(made, (min(table.values()), max(table.values())))
