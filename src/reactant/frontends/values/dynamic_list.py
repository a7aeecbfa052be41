"""Lists whose length is known only at run time: `if error > tolerance: kept.append(x)` in a loop.

The elements stand in rows of arrays, after those that were there before the loop. What needs no known length works:
`len`, an element by its place, `for`, sums and extremes, and NumPy's functions, which see an array of run-time size.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import Reason, UnsupportedError
from reactant.frontends.arrays.dynamic import bounded
from reactant.frontends.arrays.dynamic.bounded import Bounded, Range
from reactant.frontends.arrays.nested import mapped
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import PerhapsAgain, Stood, roots_of
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing, element_copies
from reactant.frontends.control.demands import InOneIteration
from reactant.frontends.control.list_refusals import refusal
from reactant.frontends.control.loop_carried import needs_grower
from reactant.frontends.control.snapshots import (
    REBUILT,
    ROWS,
    SNAPSHOTS,
    Mismatch,
    capture,
    joined,
    kind_of,
    padded,
    row_kind,
    value_of,
    with_leaves,
)
from reactant.frontends.control.trees import Held, Kind, Known, Node, Tree
from reactant.frontends.session.calls import OURS
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.retracing import Unmet
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ag__
from reactant.frontends.values.list_changes import (
    Changes,
    counted,
    opened,
    require,
    reversed_rows,
    shifted,
    within,
)
from reactant.frontends.values.list_items import ListItems
from reactant.frontends.values.rows import RowsKey, ring_place, straightened, too_long
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

_ADVICE = ("How long this list is depends on run-time values. Make an array of it (np.array(items)), take its length, "
           "elements, sums; or store into an array that is made before the loop and count: out[count] = x; count += 1.")


def _stacked(tree: Tree, columns: Iterator[Tensor]) -> Tensor:
    """One array of the parts of all elements: lists in an element are dimensions behind that of the elements."""
    if isinstance(tree, (Held, Known)):
        return next(columns)
    if tree.kind not in ("list", "tuple"):
        raise UnsupportedError("An array of elements that are not numbers.",
                               hint="Append numbers, arrays or tuples of one structure.",
                               code="list-of-run-time-length")
    return np.stack([_stacked(child, columns) for child in tree.children], axis=1)


_WRITTEN = Reason("This writes into an array that is, or was, an element of a list whose length is only known at run "
                  "time, and that is in several places.", "Write into a copy: x.copy().", "one-of-several-arrays")


class RunTimeList(Changes):
    """A list with a run-time length: `prefix` are the elements from before the loop."""

    __slots__ = ("capacity", "filled", "guarded", "head", "kinds", "maxlen", "owner", "prefix", "region", "rows",
                 "shared", "stands_for", "tree", "watches")     # so no plain object
    partial = True      # to NumPy's functions, which see what `as_array` gives
    __array_priority__ = 2000.0

    def __init__(self, prefix: list[Any], tree: Tree, kinds: list[Kind | None], rows: list[Storage | None],
                 count: ir.Value, guarded: Callable[[ir.Value], Tensor] | None, least: int = 0,
                 stands_for: type = list, head: ir.Value | None = None, capacity: int = 0):
        """`capacity`: how many elements there may be where they are all known, and so in no row."""
        self.prefix, self.tree, self.kinds, self.rows, self.guarded = prefix, tree, kinds, rows, guarded
        self.capacity = next((s.shape[0] for s in rows if s is not None), capacity)
        self.stands_for, self.head = stands_for, head       # the rows are a ring that begins at `head`
        self.maxlen: int | None = None      # of a deque: more elements push out the first ones
        self.filled = python_number(count, (least, self.capacity))
        self.region = current_trace().region
        self.owner: Any = None          # the list that a change of an element changes, where it is another one
        self.shared = False
        self.watches: list[Stood] = []

    def watch(self, sources: Iterable[Storage], name: str = "rows") -> None:
        if sources := list(sources):
            self.watches.append(Stood(name, sources))

    def ag__parts(self) -> list[Any]:
        """What is reached through it: not the element that its structure is known from, which is a row now."""
        return [*self.prefix, self.owner, *(s for s in self.rows if s is not None)]

    def has_arrays(self) -> bool:
        return any(kind is not None and kind.kind == ARRAY for kind in self.kinds)

    def settle(self) -> None:
        """Arrays in here are elsewhere, too, from now on: they can be read."""
        if self.has_arrays():
            self.guarded = self.guarded or (lambda value: Tensor(PerhapsAgain("rows", [], value)))
            for row in self.rows:
                if row is not None:
                    row.constant = _WRITTEN

    @staticmethod
    def of(target: list | RunTimeList, grower: Any, guarded: Callable[[ir.Value], Tensor] | None) -> RunTimeList:
        """What `target` has become after a loop."""
        if type(target) is RunTimeList:
            target.settle()
        prefix = target.prefix if type(target) is RunTimeList else [] if grower.given else list(target)
        before = target.guarded if type(target) is RunTimeList else None
        both = guarded if before is None or guarded is None else lambda v: before(guarded(v).value())
        grower.straighten()
        made = RunTimeList(prefix, grower.tree, _wider(grower.kinds, prefix), grower.rows, grower.filled.read(),
                           both or before, stands_for=grower.stands_for, capacity=grower.capacity)
        if type(target) is RunTimeList:
            made.shared, made.watches = target.shared, target.watches
        made.maxlen = grower.maxlen
        return made

    # -- length and elements

    @property
    def shape(self) -> tuple[Any]:
        if self.region.closed:
            raise UnsupportedError("A list of run-time length is used outside of the loop or branch in which it was "
                                   "made.", hint="Take what is needed of it there.", code="list-of-run-time-length")
        return (self.filled + len(self.prefix) if self.prefix else self.filled,)

    def length(self) -> Any:
        return self.shape[0]

    def ag__items(self) -> ListItems:
        return ListItems(self)

    def has_elements(self) -> Any:
        """Its truth."""
        return self.length() > 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.part(index)
        if type(index) is int and 0 <= index < len(self.prefix):
            return self.prefix[index]
        total = self.length()
        known = index.interval if is_tensor(index) else (int(index), int(index))
        if known is not None and (known[0] >= 0 or known[1] < 0):
            place = index if known[0] >= 0 else index + total
        else:
            place = ag__.if_exp(index < 0, lambda: index + total, lambda: index)
        inside = np.logical_and(place >= 0, place < total)
        current_trace().check(bounded.wrap(inside).value(), lambda: IndexError("list index out of range"))
        return self.at(place)

    def at(self, place: Any, stays: bool = True) -> Any:
        """The element at a run-time place, counted from the start, which is inside. `stays`: in the list."""
        if not self.capacity:
            raise IndexError("list index out of range")
        parts = []
        views = stays and self.guarded is None and self.has_arrays() and self.has_views()
        for position, (part, kind) in enumerate(zip(self.tree.leaves(), self.kinds, strict=True)):
            if kind is None:
                parts.append(part.value)
                continue
            if views and kind.kind == ARRAY:
                parts.append(Tensor(self.rows[position])[place if is_tensor(place) else int(place)])
                continue
            if self.head is None:
                value = self.column(position)[place].value()
            else:
                at = place.value() if is_tensor(place) else ops.constant(place, np.int64)
                row = ring_place(self.head, at, self.capacity)
                value = Tensor.of_value(self.rows[position].read())[python_number(row, (0, self.capacity - 1))].value()
            arrays, value = kind.kind == ARRAY, ops.convert(value, kind.dtype)    # where more has become known of them
            parts.append(self.guarded(value) if arrays and self.guarded is not None else
                         Tensor.of_value(value, kind.kind))
        found = with_leaves(self.tree, iter(parts))
        if stays and element_copies.has_containers(self.tree):
            element_copies.register(found, self if self.owner is None else self.owner, place)
        return found

    def has_views(self) -> bool:
        """Whether arrays that are elements can be views of the rows, where they then all are."""
        if self.prefix and self.region is current_trace().region:
            self.replace(*self.content())
        exact = all(row is None or kind is None or row.dtype == kind.dtype
                    for row, kind in zip(self.rows, self.kinds, strict=True))
        if self.prefix or self.head is not None or not exact:
            self.settle()
        return self.guarded is None

    def column(self, position: int) -> Tensor:
        """One part of all elements, those of the prefix first; what lies behind the last one means nothing."""
        for each in self.watches:
            each.require_unwritten()
        kind, rows = self.kinds[position], self.rows[position]
        values = []
        for item in self.prefix:
            part = list(capture(item).leaves())
            if len(part) != len(self.kinds) or not isinstance(part[position], (Held, Known)):
                raise UnsupportedError("A list of run-time length holds elements of different structure.",
                                       hint="Append numbers, arrays or tuples of one structure.",
                                       code="list-of-run-time-length")
            if _wider([kind], [part[position]]) != [kind]:
                raise UnsupportedError("A list of run-time length holds elements of different kinds.",
                                       hint="Append numbers, arrays or tuples of one structure.",
                                       code="list-of-run-time-length")
            value = value_of(part[position], kind)
            values.append(ops.reshape(value, (1, *kind.shape)))
        grown = ops.convert(straightened(rows.read(), self.head), kind.dtype)
        return Tensor.of_value(ops.concatenate([*values, grown], 0))

    def as_array(self) -> Bounded:
        """What `np.array` makes of it."""
        if any(kind is None for kind in self.kinds):
            raise UnsupportedError("An array of elements that are not numbers.",
                                   hint="Append numbers, arrays or tuples of one structure.",
                                   code="list-of-run-time-length")
        frame = _stacked(self.tree, iter([self.column(k) for k in range(len(self.kinds))]))
        total = self.length()
        extent = Range(0, bounded.as_number(total if type(total) is int else total.value()))
        return Bounded(frame, [extent, *[None] * (frame.ndim - 1)])

    def part(self, index: slice) -> RunTimeList:
        """A slice."""
        step = 1 if index.step is None else index.step
        if type(step) is not int or step not in (1, -1) or step < 0 and (index.start, index.stop) != (None, None):
            raise UnsupportedError("A slice of a list of run-time length with a step.", hint=_ADVICE,
                                   code="list-of-run-time-length")
        rows, count = self.content()
        element_copies.share(self)
        if step < 0:
            rows = [row and reversed_rows(row, count) for row in rows]
        elif (index.start, index.stop) != (None, None):
            low = ops.constant(0, np.int64) if index.start is None else within(index.start, count)
            high = count if index.stop is None else within(index.stop, count)
            rows, count = [row and shifted(row, low) for row in rows], ops.maximum(ops.subtract(high, low), 0)
        return self.of_rows(rows, count)

    def of_rows(self, rows: list[ir.Value | None], count: ir.Value,
                kinds: list[Kind | None] | None = None) -> RunTimeList:
        """Another list of such elements (of these kinds)."""
        memories = [row and Storage(shape_of(row), dtype_of(row), row) for row in rows]
        made = RunTimeList([], self.tree, kinds or self.kinds, memories, count, self.guarded,
                           stands_for=self.stands_for, capacity=self.room)
        made.shared, made.watches = self.shared, self.watches
        return made

    def as_node(self) -> Tree:
        """What control flow carries and merges: the length and the rows, where the elements are numbers."""
        if any(kind is None or kind.kind == ARRAY for kind in self.kinds) or self.region.closed \
                or self.maxlen is not None:
            return Known(self)
        if (self.prefix or self.head is not None) and self.region is current_trace().region:
            self.replace(*self.content())
        self.leave_prefix()
        rows, count = self.content()
        memories = self.rows if not self.prefix and self.head is None else \
            [Storage(shape_of(row), dtype_of(row), row) for row in rows]
        return Node("rows", RowsKey(self.tree, self.stands_for), [
            capture(python_number(count, (0, self.room))),
            *(Held(Tensor(memory, kind=ROWS[kind.kind]), row, row)
              for memory, row, kind in zip(memories, rows, self.kinds, strict=True))], self)

    def copy(self) -> RunTimeList:
        element_copies.share(self)
        made = self.of_rows(*self.content())
        made.maxlen = self.maxlen
        return made

    # -- changes, in the region that it was made in

    def view(self) -> RunTimeList:
        return self

    def is_empty(self) -> bool:
        return False

    def content(self) -> tuple[list[ir.Value | None], ir.Value]:
        total = self.length()
        rows = [None if kind is None else self.column(k).value() for k, kind in enumerate(self.kinds)]
        return rows, total.value() if is_tensor(total) else ops.constant(total, np.int64)

    def element_of(self, rows: list[ir.Value | None], place: ir.Value) -> Any:
        return self.of_rows(rows, place).at(python_number(place, (0, self.capacity)), False)

    room = property(lambda self: len(self.prefix) + self.capacity)

    def begin_change(self) -> None:
        container_aliasing.about_to_change(self)
        if self.region is not current_trace().region:
            error = Unmet(InOneIteration(), "A list of run-time length changes in a branch, or in a loop, after the "
                                            "loop that it has grown in, where others may know it.", hint=_ADVICE,
                          code="list-of-run-time-length")
            needs_grower(self, error)
            raise error

    def leave_prefix(self) -> None:
        """Its elements become rows: who knows a list among them by another name must not change it."""
        for item in self.prefix:
            element_copies.register(item)
        if self.prefix and self.has_arrays():
            self.watch(root for item in self.prefix for leaf in capture(item).leaves() if isinstance(leaf, Held)
                       for root in roots_of(leaf.tensor.storage))
            self.settle()

    def replace(self, rows: list[ir.Value | None], count: ir.Value, kinds: list[Kind | None] | None = None) -> None:
        self.leave_prefix()
        self.settle()
        new = self.of_rows(rows, count, kinds)
        self.kinds = new.kinds
        self.prefix, self.rows, self.filled, self.capacity, self.head = [], new.rows, new.filled, new.capacity, None

    def begin_store(self, index: Any) -> None:
        if isinstance(index, slice):
            raise UnsupportedError("A slice of a list of run-time length gets other elements.", hint=_ADVICE,
                                   code="list-of-run-time-length")

    def store(self, place: Any, item: Any) -> None:
        """The rows are memories of its own, which control flow carries."""
        tree = capture(item)
        container_aliasing.about_to_change(self)
        if not self.takes(tree):
            raise UnsupportedError("A list of run-time length gets an element of another kind.", hint=_ADVICE,
                                   code="list-of-run-time-length")
        if self.prefix or self.head is not None:
            self.begin_change()
            self.replace(*self.content())
        at = counted(place, self.content()[1])
        for row, kind, part in zip(self.rows, self.kinds, tree.leaves(), strict=True):
            if row is not None:
                row.write(ops.dynamic_update_slice(row.read(), ops.reshape(value_of(part, kind), (1,)), [at]))

    def takes(self, tree: Tree) -> bool:
        """Whether these are numbers, and a new one would be of their kind."""
        if not self.tree.alike(tree):
            return False
        try:
            return all(k is not None and k.kind != ARRAY and (other := kind_of(part)) is not None
                       and joined(k, other) == k for k, part in zip(self.kinds, tree.leaves(), strict=True))
        except Mismatch:
            return False

    def append(self, item: Any) -> None:
        self.begin_change()
        self.keep(item, self.content()[1])
        self.put(capture(item))

    def put(self, tree: Tree, place: ir.Value | None = None) -> None:
        """One row more."""
        parts = list(tree.leaves())
        if not self.takes(tree):
            raise refusal("outside of a loop")
        rows, count = self.content()
        if place is not None and self.maxlen is not None:
            require(ops.compare(count, self.maxlen, "LT"), IndexError, "deque already at its maximum size")
        place = count if place is None else place
        wider = [row and opened(padded(row, shape_of(row)[0] + 1), place) for row in rows]
        self.replace([row and ops.dynamic_update_slice(row, ops.reshape(value_of(part, kind), (1,)), [place])
                      for row, part, kind in zip(wider, parts, self.kinds, strict=True)], ops.add(count, 1))
        self.trim()

    def trim(self) -> None:
        """Of a deque that is too long, the first elements drop out."""
        if self.maxlen is not None:
            rows, count = self.content()
            over = ops.maximum(ops.subtract(count, self.maxlen), 0)
            self.replace([row and shifted(row, over) for row in rows], ops.minimum(count, self.maxlen))

    def sizes(self) -> list[ir.Value]:
        """The values that its length depends on."""
        return [self.filled.value()] if is_tensor(self.filled) else []

    def pop(self, index: Any = -1) -> Any:
        return self.pop_at(index)

    def popleft(self) -> Any:
        return self.pop_at(0)

    def extend(self, items: Any) -> None:
        if type(items) in (list, tuple, RunTimeList) and items is not self and self.stands_for is list:
            self += list(items) if type(items) is tuple else items
            return
        for item in items:
            self.append(item)

    # -- one list behind another

    def __add__(self, other: Any) -> RunTimeList:
        rows, count, kinds = self.followed_by(other)
        return self.of_rows(rows, count, kinds)

    def __mul__(self, times: Any) -> RunTimeList:
        if type(times) is not int or times < 1:
            raise UnsupportedError(f"A list of run-time length times {times}.", hint=_ADVICE,
                                   code="list-of-run-time-length")
        found = self.copy()
        for _ in range(times - 1):
            found = found + self
        return found

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> RunTimeList:
        first = self.alike(other)
        return self.copy() if first is None else first + self

    def __iadd__(self, other: Any) -> RunTimeList:
        rows, count, kinds = self.followed_by(other)
        self.begin_change()
        self.replace(rows, count, kinds)
        self.trim()
        return self

    def followed_by(self, other: Any) -> tuple[list[ir.Value | None], ir.Value, list[Kind | None]]:
        """The rows, the length and the kinds of the list with the elements of another one behind its own."""
        second, (rows, count) = self.alike(other), self.content()
        if second is None:
            return rows, count, self.kinds
        element_copies.share(self, second)
        more, length = second.content()
        places = [[count, *(ops.constant(0, np.int64) for _ in kind.shape)] if kind else [] for kind in self.kinds]
        rows = [row and ops.dynamic_update_slice(padded(row, self.room + second.room), new, place)
                for row, new, place in zip(rows, more, places, strict=True)]
        return rows, ops.add(count, length), [a and b and joined(a, b)
                                              for a, b in zip(self.kinds, second.kinds, strict=True)]

    def alike(self, other: Any) -> RunTimeList | None:
        """Another list in rows, with elements of the kinds of this one; None where it is empty."""
        if self.stands_for is deque:
            raise UnsupportedError("Deques of run-time length are joined.",
                                   hint="Append the elements of one in a loop.", code="list-of-run-time-length")
        found = _rows_of(other) if type(other) is list and other else other
        if not isinstance(found, (list, RunTimeList)) or self.stands_for is not list:
            raise TypeError(f"can only concatenate list (not \"{type(other).__name__}\") to list")
        if type(found) is list and not found:
            return None
        if type(found) is not RunTimeList or not self.tree.alike(found.tree) or any(
                a is None or b is None or (a.kind == ARRAY, a.dtype, a.shape) != (b.kind == ARRAY, b.dtype, b.shape)
                for a, b in zip(self.kinds, found.kinds, strict=True)):
            raise UnsupportedError("Two lists with elements of different kinds are joined, whose lengths are only "
                                   "known at run time.", hint=_ADVICE, code="list-of-run-time-length")
        return found

    # -- builtins

    def total(self, start: Any) -> Any:
        """`sum(items, start)`."""
        return start + self.reduced(np.sum)

    def extreme(self, function: Callable, key: Callable | None = None, **default: Any) -> Any:
        """`max(items)`, `min(items)`: the builtin is `function`."""
        if default:
            return ag__.if_exp(self.length() > 0, lambda: self.extreme(function, key), lambda: default["default"])
        try:
            function([])
        except ValueError as error:
            message = str(error)
        current_trace().check(bounded.wrap(self.length() > 0).value(), lambda: ValueError(message))
        return self.reduced({max: np.max, min: np.min}[function]) if key is None else self.best(function is max, key)

    def best(self, largest: bool, key: Callable) -> Any:
        """The first element with the largest or smallest key; there is one."""
        best = self.at(0)
        record = ag__.call(key, best)

        def body(item: Any) -> None:
            def then() -> None:
                nonlocal best, record
                best, record = item, found

            nonlocal best, record
            found = ag__.call(key, item)
            ag__.if_stmt(found > record if largest else found < record, then, None, ("best", "record"), ())

        ag__.for_stmt(self, body, (), ("best", "record"), (), ("best", "record"))
        return best

    def reduced(self, function: Callable) -> Any:
        """A reduction over numbers or arrays."""
        if not isinstance(self.tree, (Held, Known)) or function is not np.sum and self.kinds[0] and self.kinds[0].shape:
            raise UnsupportedError("This list of run-time length holds no numbers.", hint=_ADVICE,
                                   code="list-of-run-time-length")
        found = function(self.as_array(), axis=0)
        python = self.kinds[0] is not None and self.kinds[0].kind == PYTHON
        return Tensor.of_value(bounded.wrap(found).value(), PYTHON) if python else found

    def ordered(self, key: Callable | None = None, reverse: bool = False) -> RunTimeList:
        """`sorted(items)`."""
        rows, count = self.content()
        element_copies.share(self)
        found = self.of_rows(self.sorted_rows(rows, count, key, reverse), count)
        found.stands_for = list
        return found

    # -- NumPy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return getattr(ufunc, method)(*as_arrays(inputs), **as_arrays(kwargs))

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return function(*as_arrays(args), **as_arrays(kwargs))

    # -- what cannot be

    def __repr__(self) -> str:
        raise UnsupportedError("The text of this list.", hint=_ADVICE, code="list-of-run-time-length")

    def __len__(self) -> int:
        raise UnsupportedError("The length of this list is needed while compiling.", hint=_ADVICE,
                               code="list-of-run-time-length")

    def __iter__(self) -> Iterator:
        raise UnsupportedError("Iterating over this list where it cannot become a loop.", hint=_ADVICE,
                               code="list-of-run-time-length")

    def __bool__(self) -> bool:
        raise UnsupportedError("The truth of this list.", hint="Write len(items) > 0.", code="list-of-run-time-length")

    def __getattr__(self, name: str) -> Any:
        kind = self.stands_for.__name__
        if name.startswith("__") or not hasattr(self.stands_for, name):
            raise AttributeError(f"'{kind}' object has no attribute '{name}'")
        raise UnsupportedError(f"{kind}.{name} of a {kind} of run-time length.", hint=_ADVICE,
                               code="list-of-run-time-length")


SNAPSHOTS[RunTimeList] = lambda value, inside: RunTimeList.as_node(value)


def _rebuilt(node: Node, children: list[Any]) -> RunTimeList:
    """The list of a length and rows."""
    key, (count, *rows) = node.key, children
    value = count.value() if is_tensor(count) else ops.constant(count, np.int64)
    if key.most is not None:
        current_trace().record(ops.compare(value, key.most, "LE"), too_long(key.most))
    return RunTimeList([], key.tree, [row_kind(Kind(r.kind, r.dtype, r.shape)) for r in rows],
                       [Storage(r.shape, r.dtype, r.value()) for r in rows], value, None, stands_for=key.stands_for)


REBUILT["rows"] = _rebuilt


def _wider(kinds: list[Kind | None], items: Iterable[Any]) -> list[Kind | None]:
    """Kinds that also hold the parts of these elements, or trees of such; where none does, one of theirs."""
    found = list(kinds)
    for item in items:
        parts = list((item if isinstance(item, (Held, Known)) else capture(item)).leaves())
        for k, (kind, part) in enumerate(zip(found, parts, strict=False)):
            try:
                other = kind_of(part)
                found[k] = kind if kind is None or other is None else joined(kind, other)
            except Mismatch:
                found[k] = kind_of(part)
    return found


def _rows_of(items: list) -> RunTimeList:
    found = meaning.rows_of(items)
    if found is None:
        raise UnsupportedError("A list of run-time length is joined with one whose elements are no numbers, or "
                               "tuples of such, of one structure.", hint=_ADVICE, code="list-of-run-time-length")
    return found


def as_arrays(tree: Any) -> Any:
    """Lists of run-time length as arrays, in nested arguments."""
    return mapped(tree, lambda x: x.as_array() if type(x) is RunTimeList else x)


OURS.add(RunTimeList)
