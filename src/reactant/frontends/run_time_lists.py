"""Lists of which only the run knows how long they are: `if error > tolerance: kept.append(x)` in a loop.

The elements stand in rows of arrays, after those that were there before the loop. What needs no known length works:
`len`, an element by its place, `for`, sums and extremes, and NumPy's functions, which see an array of run-time size.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.calls import OURS
from reactant.frontends.carried import leaves, with_leaves
from reactant.frontends.nested import mapped
from reactant.frontends.numpy import bounded
from reactant.frontends.numpy.bounded import Bounded, Range
from reactant.frontends.numpy.storage import Storage
from reactant.frontends.numpy.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.state import Held, Kind, Known, Tree, capture, value_of
from reactant.frontends.trace import current_trace
from reactant.ir import ops

if TYPE_CHECKING:
    from reactant.frontends.growing import Grower

_ADVICE = ("How long this list is depends on run-time values. Make an array of it (np.array(items)), take its length, "
           "elements, sums; or store into an array that is made before the loop and count: out[count] = x; count += 1.")


class RunTimeList:
    """A list with a run-time length: `prefix` are the elements from before the loop."""

    __slots__ = ("capacity", "count", "guarded", "kinds", "prefix", "region", "rows", "tree")       # so no plain object
    partial = True      # to NumPy's functions, which see what `as_array` gives
    __array_priority__ = 2000.0

    def __init__(self, prefix: list[Any], tree: Tree, kinds: list[Kind | None], rows: list[Storage | None],
                 count: ir.Value, guarded: Callable[[ir.Value], Tensor] | None, least: int = 0):
        self.prefix, self.tree, self.kinds, self.rows, self.guarded = prefix, tree, kinds, rows, guarded
        self.capacity = next((s.shape[0] for s in rows if s is not None), 0)
        self.count = python_number(count, (least, self.capacity))
        self.region = current_trace().region

    @staticmethod
    def of(target: list | RunTimeList, grower: Grower, guarded: Callable[[ir.Value], Tensor] | None) -> RunTimeList:
        """What `target` has become after a loop."""
        prefix = target.prefix if type(target) is RunTimeList else [] if grower.given else list(target)
        before = target.guarded if type(target) is RunTimeList else None
        both = guarded if before is None or guarded is None else lambda v: before(guarded(v).value())
        return RunTimeList(prefix, grower.tree, grower.kinds, grower.rows, grower.count.read(), both or before)

    # -- length and elements

    @property
    def shape(self) -> tuple[Any]:
        if self.region.closed:
            raise UnsupportedError("A list of run-time length is used outside of the loop or branch in which it was "
                                   "made. Take what is needed of it there. " + _ADVICE)
        return (self.count + len(self.prefix) if self.prefix else self.count,)

    def length(self) -> Any:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise UnsupportedError("A slice of a list of run-time length. " + _ADVICE)
        if type(index) is int and 0 <= index < len(self.prefix):
            return self.prefix[index]
        total = self.length()
        known = index.interval if is_tensor(index) else (int(index), int(index))
        place = index if known is not None and known[0] >= 0 else \
            index + total if known is not None and known[1] < 0 else None
        if place is None:
            raise UnsupportedError("An index whose sign only the run knows, into a list of run-time length. " + _ADVICE)
        inside = np.logical_and(place >= 0, place < total)
        current_trace().check(bounded.wrap(inside).value(), lambda: IndexError("list index out of range"))
        return self.at(place)

    def at(self, place: Any) -> Any:
        """The element at a run-time place, counted from the start, which is inside."""
        if not self.capacity:
            raise IndexError("list index out of range")
        parts = []
        for position, (part, kind) in enumerate(zip(leaves(self.tree), self.kinds, strict=True)):
            if kind is None:
                parts.append(part.value)
                continue
            whole = self.column(position)
            found = whole[place] if is_tensor(place) or place >= 0 else whole[place]
            value = found.value()
            arrays = kind.kind == ARRAY
            parts.append(self.guarded(value) if arrays and self.guarded is not None else
                         Tensor.of_value(value, kind.kind))
        return with_leaves(self.tree, iter(parts))

    def column(self, position: int) -> Tensor:
        """One part of all elements, those of the prefix first; what lies behind the last one means nothing."""
        kind, rows = self.kinds[position], self.rows[position]
        values = []
        for item in self.prefix:
            part = list(leaves(capture(item)))
            if len(part) != len(self.kinds) or not isinstance(part[position], (Held, Known)):
                raise UnsupportedError("A list of run-time length holds elements of different structure.")
            value = value_of(part[position], kind)
            values.append(ops.reshape(value, (1, *kind.shape)))
        return Tensor.of_value(ops.concatenate([*values, rows.read()], 0))

    def as_array(self) -> Bounded:
        """What `np.array` makes of it."""
        if any(kind is None for kind in self.kinds):
            raise UnsupportedError("An array of elements that are not numbers.")
        columns = [self.column(k) for k in range(len(self.kinds))]
        frame = columns[0] if type(self.tree) in (Held, Known) else np.stack(columns, axis=1)
        total = self.length()
        extent = Range(0, bounded.as_number(total if type(total) is int else total.value()))
        return Bounded(frame, [extent, *[None] * (frame.ndim - 1)])

    def append(self, item: Any) -> None:
        from reactant.frontends.growing import refusal
        raise refusal("that has a run-time length, outside of a loop")

    # -- builtins

    def total(self, start: Any) -> Any:
        """`sum(items, start)`."""
        return start + self.reduced(np.sum)

    def extreme(self, function: Callable) -> Any:
        """`max(items)`, `min(items)`: the builtin is `function`."""
        try:
            function([])
        except ValueError as error:
            message = str(error)
        current_trace().check(bounded.wrap(self.length() > 0).value(), lambda: ValueError(message))
        return self.reduced({max: np.max, min: np.min}[function])

    def reduced(self, function: Callable) -> Any:
        """A reduction over numbers or arrays."""
        if type(self.tree) not in (Held, Known) or function is not np.sum and self.kinds[0] and self.kinds[0].shape:
            raise UnsupportedError("This list of run-time length holds no numbers. " + _ADVICE)
        found = function(self.as_array(), axis=0)
        python = self.kinds[0] is not None and self.kinds[0].kind == PYTHON
        return Tensor.of_value(bounded.wrap(found).value(), PYTHON) if python else found

    # -- NumPy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return getattr(ufunc, method)(*as_arrays(inputs), **as_arrays(kwargs))

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return function(*as_arrays(args), **as_arrays(kwargs))

    # -- what cannot be

    def __len__(self) -> int:
        raise UnsupportedError("The length of this list is needed while compiling. " + _ADVICE)

    def __iter__(self) -> Iterator:
        raise UnsupportedError("Iterating over this list where it cannot become a loop. " + _ADVICE)

    def __bool__(self) -> bool:
        raise UnsupportedError("The truth of this list: write len(items) > 0. " + _ADVICE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise UnsupportedError(f"list.{name} of a list of run-time length. {_ADVICE}")


def as_arrays(tree: Any) -> Any:
    """Lists of run-time length as arrays, in nested arguments."""
    return mapped(tree, lambda x: x.as_array() if type(x) is RunTimeList else x)


OURS.add(RunTimeList)
