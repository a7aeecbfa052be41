"""What lists whose elements stand in rows do besides growing: insert, remove, sort, slices, at run-time places.

Each is computed on all rows at once: from the first one on, elements move by select and shift.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.python_numbers import bounds
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor, python_number
from reactant.frontends.control import element_copies
from reactant.frontends.control.branches import StagedRaise
from reactant.frontends.control.generated import Generated
from reactant.frontends.control.snapshots import Mismatch, capture, kind_of, padded, value_of
from reactant.frontends.control.trees import Kind, Tree
from reactant.frontends.numpy.sorting import keys_of, order_of_keys
from reactant.frontends.session.abstract import AbstractList
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ag__
from reactant.ir import ops
from reactant.ir.types import shape_of

Rows = list[ir.Value | None]


class Changes(AbstractList):
    """Of a list in rows; `content` and `replace` get and set them, `begin_change` refuses what cannot be, `is_empty`
    says whether nothing is known of any element."""

    __slots__ = ()
    stands_for: type
    tree: Tree | None
    kinds: list[Kind | None]
    room: int       # how many rows there are
    shared: bool    # whether elements that are lists may be elsewhere, too

    def begin_change(self) -> None:
        raise NotImplementedError

    def begin_look(self) -> None:
        """Like `begin_change`, for what only reads."""

    def is_empty(self) -> bool:
        raise NotImplementedError

    def content(self) -> tuple[Rows, ir.Value]:
        """The rows, the first element in the first one, and how many elements there are."""
        raise NotImplementedError

    def replace(self, rows: Rows, count: ir.Value) -> None:
        raise NotImplementedError

    def put(self, tree: Tree, place: ir.Value | None = None) -> None:
        """Append an element, or insert it."""
        raise NotImplementedError

    @property
    def named(self) -> str:
        return self.stands_for.__name__

    def copy(self) -> Any:
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> Any:
        found = self.view()
        return found if type(found) is list else found.of_rows(*found.content())

    # -- at a place

    def insert(self, index: Any, item: Any) -> None:
        self.begin_change()
        self.take_in(item)
        element_copies.moved(self)
        self.keep(item)
        self.put(capture(item), None if self.is_empty() else within(index, self.content()[1]))

    def __setitem__(self, index: Any, item: Any) -> None:
        self.begin_store(index)
        if self.is_empty():
            return nothing_there(f"{self.named} assignment index out of range")
        count = self.how_many()
        place = counted(index, count)
        require(inside(place, count), IndexError, f"{self.named} assignment index out of range")
        element_copies.moved(self)
        self.keep(item, place)
        self.store(place, item)

    def settle(self) -> None:
        """Arrays in here are elsewhere, too, from now on."""

    def keep(self, item: Any, place: Any = None) -> None:
        """An element comes to stand at a place, of whose lists others may know."""
        if element_copies.has_containers(tree := capture(item)):
            self.shared |= element_copies.is_copy(tree)  # type: ignore[misc]  # a slot of subclasses
            element_copies.register(item, self, place)

    def begin_store(self, index: Any) -> None:
        """Refuse what cannot be set."""
        raise NotImplementedError

    def store(self, place: Any, item: Any) -> None:
        """Let another element stand at a place that is one."""
        raise NotImplementedError

    def how_many(self) -> ir.Value:
        """How many elements there are."""
        return self.content()[1]

    def take_in(self, item: Any) -> None:
        """Note whose the arrays of an element are."""

    def append(self, item: Any) -> None:
        raise NotImplementedError

    def pop_at(self, index: Any) -> Any:
        """`pop(index)`."""
        self.begin_change()
        if self.is_empty():
            return nothing_there(f"pop from empty {self.named}")
        element_copies.moved(self)
        rows, count = self.content()
        require(ops.compare(count, 0, "GT"), IndexError, f"pop from empty {self.named}")
        place = counted(index, count)
        require(inside(place, count), IndexError, "pop index out of range")
        found = self.element_of(rows, place)
        self.replace(*without(rows, count, place, ops.add(place, 1)))
        return found

    def element_of(self, rows: Rows, place: ir.Value) -> Any:
        raise NotImplementedError

    def __delitem__(self, index: Any) -> None:
        self.begin_change()
        if self.is_empty():
            if not isinstance(index, slice):
                nothing_there(f"{self.named} assignment index out of range")
            return
        element_copies.moved(self)
        rows, count = self.content()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise UnsupportedError("Elements of a list of run-time length, deleted by a slice with a step.",
                                       hint="Build a new list in a loop.", code="list-of-run-time-length")
            low = ops.constant(0, np.int64) if index.start is None else within(index.start, count)
            high = count if index.stop is None else within(index.stop, count)
            high = ops.maximum(low, high)
        else:
            low = counted(index, count)
            require(inside(low, count), IndexError, f"{self.named} assignment index out of range")
            high = ops.add(low, 1)
        self.replace(*without(rows, count, low, high))

    def remove(self, item: Any) -> None:
        self.begin_change()
        element_copies.moved(self)
        place = self.place_of(item, f"{self.named}.remove(x): x not in {self.named}")
        rows, count = self.content()
        self.replace(*without(rows, count, place, ops.add(place, 1)))

    def view(self) -> Any:
        """The list as it is now."""
        raise NotImplementedError

    # -- all of it

    def reverse(self) -> None:
        self.begin_change()
        element_copies.moved(self)
        if not self.is_empty():
            rows, count = self.content()
            self.replace([row and reversed_rows(row, count) for row in rows], count)

    def rotate(self, n: Any = 1) -> None:
        self.begin_change()
        element_copies.moved(self)
        if self.is_empty():
            return
        rows, count = self.content()
        n = n.value() if is_tensor(n) else ops.constant(n, np.int64)
        few = ops.maximum(count, 1)
        by = ops.remainder(n, few)
        by = ops.select(ops.compare(by, 0, "LT"), ops.add(by, few), by)
        self.replace([row and chosen_before(by, shifted(row, ops.subtract(count, by)), shifted(
            row, ops.subtract(self.room, by))) for row in rows], count)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        self.begin_change()
        element_copies.moved(self)
        if not self.is_empty():
            rows, count = self.content()
            self.replace(self.sorted_rows(rows, count, key, reverse), count)

    def sorted_rows(self, rows: Rows, count: ir.Value, key: Any, reverse: Any) -> Rows:
        """Stable, as Python sorts."""
        if is_tensor(reverse):
            raise UnsupportedError("sort(reverse=...) by a run-time value.",
                                   hint="Make it static, or reverse the list with `if`.",
                                   code="list-of-run-time-length")
        columns, kinds = (rows, self.kinds) if key is None else self.keyed(key)
        if any(kind is not None and (kind.kind == ARRAY or kind.dtype.kind == "c") for kind in kinds):
            raise UnsupportedError("A list of run-time length is sorted whose elements are no real numbers, or "
                                   "tuples of such.", hint="Sort an array of keys: order = np.argsort(keys).",
                                   code="list-of-run-time-length")
        if reverse:     # equal ones stay in their order
            rows, columns = ([row and reversed_rows(row, count) for row in each] for each in (rows, columns))
        behind = ops.convert(ops.not_(those_before(count, self.room)), np.int8)
        order = Tensor.of_value(order_of_keys([behind, *(k for c in columns if c is not None for k in keys_of(c))], 0))
        rows = [row and Tensor.of_value(row)[order].value() for row in rows]
        return [row and reversed_rows(row, count) for row in rows] if reverse else rows

    def keyed(self, key: Any) -> tuple[Rows, list[Kind | None]]:
        """What a function gives of each element."""
        found = Generated(self.view(), lambda item: ag__.call(key, item), None).listed()
        if not isinstance(found, Changes):
            raise UnsupportedError("A list of run-time length is sorted by a key that is not a number of each "
                                   "element.", hint="Give a key that is a number: key=lambda row: row[0].",
                                   code="list-of-run-time-length")
        rows = found.content()[0]
        return [row and padded(row, self.room) for row in rows], found.kinds

    # -- questions

    def matches(self, item: Any) -> ir.Value | None:
        """Which rows hold an element that is equal to this; None where none can be."""
        rows, count = self.content()
        tree = capture(item)
        if self.tree is None or not self.tree.alike(tree):
            return None
        found = those_before(count, self.room)
        for row, kind, own, part in zip(rows, self.kinds, self.tree.leaves(), tree.leaves(), strict=True):
            if kind is None or row is None:
                if own.value is not part.value and own.value != part.value:
                    return None
                continue
            try:
                other = kind_of(part)
            except Mismatch:
                return None     # an integer beyond 64 bits
            if other is None:
                return None
            if ARRAY in (kind.kind, other.kind):
                raise UnsupportedError("Arrays in a list of run-time length are compared.", hint="Compare numbers.",
                                       code="list-of-run-time-length")
            whole = Tensor.of_value(row) == Tensor.of_value(value_of(part, other), other.kind)
            found = ops.and_(found, whole.value())
        return found

    def ag__truth(self) -> Any:
        return self.has_elements()

    def ag__has(self, item: Any) -> Any:
        """`item in list`."""
        self.begin_look()
        found = None if self.is_empty() else self.matches(item)
        return False if found is None else python_number(ops.reduce(found, False, [0], "or"))

    def place_of(self, item: Any, message: str) -> ir.Value:
        """The first place of an element, which has to be there."""
        self.begin_look()
        mask = None if self.is_empty() else self.matches(item)
        if mask is None:
            return nothing_there(message, ValueError)
        require(ops.reduce(mask, False, [0], "or"), ValueError, message)
        return np.argmax(Tensor.of_value(mask)).value()

    def index(self, item: Any, *bounds: Any) -> Any:
        if bounds:
            raise UnsupportedError("index() with bounds, of a list of run-time length.",
                                   hint="Slice the list first, or loop over it.", code="list-of-run-time-length")
        place = self.place_of(item, f"{self.named}.index(x): x not in {self.named}")
        return python_number(place, (0, max(self.room - 1, 0)))

    def count(self, item: Any) -> Any:
        self.begin_look()
        mask = None if self.is_empty() else self.matches(item)
        return 0 if mask is None else python_number(
            ops.reduce(ops.convert(mask, np.int64), 0, [0], "add"), (0, self.room))


# ---- places ----------------------------------------------------------------------------------------------------

def _value(index: Any) -> ir.Value:
    if is_tensor(index):
        if index.dtype.kind not in "iub" or index.shape:
            raise TypeError("list indices must be integers or slices")
        return ops.convert(index.value(), np.int64)
    return ops.constant(operator.index(index), np.int64)


def counted(index: Any, count: ir.Value) -> ir.Value:
    """A place counted from the start."""
    if isinstance(index, ir.Value):
        return index
    value, known = _value(index), bounds(index)
    if known is not None and known[0] >= 0:
        return value
    return ops.select(ops.compare(value, 0, "LT"), ops.add(value, count), value)


def within(index: Any, count: ir.Value) -> ir.Value:
    """A bound of a slice: a place, or the nearest end."""
    return ops.clamp(ops.constant(0, np.int64), counted(index, count), count)


def inside(place: ir.Value, count: ir.Value) -> ir.Value:
    return ops.and_(ops.compare(place, 0, "GE"), ops.compare(place, count, "LT"))


def require(holds: ir.Value, error: type[Exception], message: str) -> None:
    current_trace().check(holds, lambda: error(message))


def nothing_there(message: str, error: type[Exception] = IndexError) -> Any:
    """There is no element: what follows is never used."""
    require(ops.constant(False), error, message)
    raise StagedRaise


# ---- rows ------------------------------------------------------------------------------------------------------

def shifted(rows: ir.Value, start: ir.Value) -> ir.Value:
    """The rows from `start` on, and then those before it; 0 <= start <= the number of rows."""
    shape = list(shape_of(rows))
    zeros = [ops.constant(0, np.int64) for _ in shape[1:]]
    return ops.dynamic_slice(ops.concatenate([rows, rows], 0), [start, *zeros], shape)


def those_before(place: ir.Value, room: int) -> ir.Value:
    """Which of so many places come before this one."""
    return ops.compare(ops.iota((room,), np.int64, 0), ops.broadcast_in_dim(place, (room,), []), "LT")


def chosen_before(place: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
    """The rows of `first` before a place, those of `second` from there on."""
    before = those_before(place, shape_of(first)[0])
    return ops.select(ops.broadcast_in_dim(before, shape_of(first), [0]), first, second)


def without(rows: Rows, count: ir.Value, low: ir.Value, high: ir.Value) -> tuple[Rows, ir.Value]:
    """The rows, and their number, without those from `low` up to `high`."""
    gone = ops.subtract(high, low)
    return [row and chosen_before(low, row, shifted(row, gone)) for row in rows], ops.subtract(count, gone)


def opened(row: ir.Value, place: ir.Value) -> ir.Value:
    """The rows with one more at a place."""
    last = ops.constant(shape_of(row)[0] - 1, np.int64)
    return chosen_before(place, row, shifted(row, last))


def reversed_rows(row: ir.Value, count: ir.Value) -> ir.Value:
    return shifted(ops.reverse(row, [0]), ops.subtract(shape_of(row)[0], count))
