"""Lists of numbers, also nested ones of equal lengths, at places known only at run time: `table[i][j] = x` in a loop.

A read takes the element out of an array of all of them. For writes in a loop the list's variable holds, while the body
is traced, an `ArrayList`: one memory that the loop carries as a whole. After the loop the lists, which are the same
objects as before, get their elements, each read from the memory when it is needed. Numbers of several types become the
widest of them, as NumPy promotes.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConcreteValueNeeded, UnsupportedError
from reactant.frontends.arrays import creation
from reactant.frontends.arrays.indexing import element_steps
from reactant.frontends.arrays.reach import globals_of, reachable
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.carriers import Carrier
from reactant.frontends.control.demands import AsArray
from reactant.frontends.control.list_places import Place, place_of
from reactant.frontends.control.loop_carried import held_before
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import Mismatch, capture, joined, kind_of, value_of
from reactant.frontends.control.trees import Kind
from reactant.frontends.session import recording
from reactant.frontends.session.abstract import Abstract
from reactant.frontends.session.calls import OURS
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ARITHMETIC, ag__
from reactant.frontends.values import dynamic_index
from reactant.frontends.values.list_items import ArrayListItems
from reactant.ir import ops
from reactant.ir.types import Shape
from reactant.support import named_tuples

MOST_ELEMENTS = 2**18
"""Longer lists than this are not turned into arrays and back."""


class ArrayList(Abstract):
    """A list of numbers, or of such lists, in one memory; `places` are the indices that lead to it. With a `source` it
    shows what these lists held when it was made."""

    __slots__ = ("ended", "kind", "memory", "places", "root", "seen", "shape", "shown", "source")   # so no plain object
    stands_for = list
    ag__shows_one_of = True     # of several lists: which one it is, its places say
    ag__depth = property(lambda self: recording.depth())      # control flow sees what happens to the memory

    def ag__items(self) -> ArrayListItems:
        return ArrayListItems(self)

    def ag__same(self, other: Any) -> Any:
        return same(self, other)

    def __init__(self, memory: Tensor, kind: Kind, source: list, shown: bool, places: tuple = (),
                 root: ArrayList | None = None):
        self.memory, self.kind, self.source, self.shown, self.places = memory, kind, source, shown, places
        self.shape = memory.shape[len(places):]
        self.root = root or self
        self.ended = False                                              # whether the lists have their elements back
        self.seen = list(_elements(source)) if shown and root is None else []

    def require_current(self) -> None:
        """What stands for a part of a list may be kept in a variable for longer than it stands for it."""
        root = self.root
        now = _elements(root.source) if root.shown else ()
        if root.ended or any(a is not b for a, b in zip(root.seen, now, strict=False)):
            raise UnsupportedError("A row of a list of lists, taken at a place only known at run time, is used "
                                   "after the list has changed or its loop has ended.",
                                   hint="Take it from the list again.", code="list-of-run-time-length")

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        self.require_current()
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        places = (*self.places, index)
        if len(self.shape) > 1:
            _require_index(index, len(self))
            row = ArrayList(self.memory, self.kind, self.source, self.shown, places, self.root)
            kind = type(_first(self.source, len(places)))
            return row if kind is list else _one_of(named_tuples.make(kind, row))
        found = self.memory[places]
        return Tensor.of_value(found.value(), self.kind.kind) if is_tensor(found) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.require_current()
        if isinstance(index, slice) or len(self.shape) > 1:
            raise _refusal("gets other lists as elements")
        kind = _number(value)
        wanted = joined(self.kind, kind)
        if self.shown:
            return self.write_out(index, value, wanted)
        if wanted != self.kind:
            needs_array(self.source, wanted)
        self.memory[(*self.places, index)] = value

    def write_out(self, index: Any, value: Any, kind: Kind) -> None:
        """Where no loop is to be traced again, all lists get their elements anew."""
        source = self.source
        needs_array(source, kind, or_none=_are_different_lists(source))
        whole, kind = _stacked(source, kind)
        memory = Tensor.of_value(whole)
        memory[(*self.places, index)] = value
        fill(source, memory.storage, kind)
        # Other parts that have been taken are of the old one, and out of date.
        self.memory, self.kind, self.root = memory, kind, ArrayList(memory, kind, source, True)

    def as_array(self) -> Tensor:
        self.require_current()
        return self.memory[self.places].copy() if self.places else self.memory.copy()

    def __contains__(self, item: Any) -> Any:
        return any(x is item or x == item for x in self)

    __hash__ = None  # type: ignore[assignment]  # as lists

    def copy(self) -> list:
        return list(self)

    def __add__(self, other: list) -> list:
        return [*self, *other]

    def __radd__(self, other: list) -> list:
        return [*other, *self]

    def __mul__(self, times: int) -> list:
        return ag__.Mult([*self], times)    # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise _refusal(f"is changed by list.{name}")


def _compared(kind: str) -> Callable[[ArrayList, Any], Any]:
    def compare(self: ArrayList, other: Any) -> Any:
        return getattr(ag__, kind)([*self], [*other]) if isinstance(other, (list, ArrayList)) else NotImplemented
    return compare


for _kind in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"):
    setattr(ArrayList, f"__{ARITHMETIC[_kind].__name__}__", _compared(_kind))
OURS.add(ArrayList)


def _refusal(what: str) -> UnsupportedError:
    return UnsupportedError(f"A list {what} in a loop that also indexes it by run-time values.",
                            hint="Use an array: table = np.zeros((n, m)).", code="list-of-run-time-length")


def _require_index(index: Any, length: int) -> None:
    if is_tensor(index):
        inside = ops.and_(ops.compare(index.value(), -length, "GE"), ops.compare(index.value(), length, "LT"))
        if index.interval is None or index.interval[0] < -length or index.interval[1] >= length:
            current_trace().check(inside, lambda: IndexError("list index out of range"))
    elif not -length <= index < length:
        raise IndexError("list index out of range")


# ---- what a list holds -----------------------------------------------------------------------------------------

def _number(x: Any) -> Kind:
    """The kind of an element; raises `Mismatch` for what is no number."""
    kind = kind_of(capture(x)) if not isinstance(x, (list, dict)) else None
    if kind is None or kind.kind == ARRAY:
        raise Mismatch("elements that are not numbers")
    return kind


def _shape(items: Any) -> Shape:
    """The lengths of nested lists; raises `Mismatch` where they, or their classes, differ."""
    inner = [x for x in items if _is_sequence(x)]
    if not inner:
        return (len(items),)
    shapes = {_shape(x) for x in inner}
    if len(inner) != len(items) or len(shapes) > 1 or len(set(map(type, inner))) > 1 or not _is_plain(inner[0]):
        raise Mismatch("lists of different lengths")
    return (len(items), *shapes.pop())


def _is_sequence(x: Any) -> bool:
    return type(x) is not Tensor and isinstance(x, (list, tuple))       # what a tensor says that it is takes longer


def _is_plain(row: Any) -> bool:
    """Whether it is a list, or a tuple, that is its elements and nothing else."""
    return type(row) in (list, tuple) or isinstance(row, tuple) and not named_tuples.beside(row)


def _holds_lists(row: tuple) -> bool:
    return any(isinstance(x, list) or isinstance(x, tuple) and _holds_lists(x) for x in row)


def _first(items: Any, depth: int) -> Any:
    """An element at that depth."""
    for _ in range(depth):
        items = items[0]
    return items


def _are_different_lists(items: Any) -> bool:
    """Whether the innermost sequences are lists, each in one place."""
    rows = [items]
    while isinstance(rows[0][0], (list, tuple)):
        rows = [inner for row in rows for inner in row]
    return all(type(row) is list for row in rows) and len({id(row) for row in rows}) == len(rows)


def _elements(items: Any) -> Iterator[Any]:
    for x in items:
        if _is_sequence(x):
            yield from _elements(x)
        else:
            yield x


def _stacked(items: Any, wanted: Kind | None = None) -> tuple[ir.Value, Kind]:
    """All elements as one array; raises `Mismatch` where they are none."""
    shape = _shape(items)
    elements = list(items) if len(shape) == 1 else list(_elements(items))
    if not elements or len(elements) > MOST_ELEMENTS:
        raise Mismatch("no elements, or too many")
    kind = wanted
    for each in {(type(x), x.dtype, x.kind) if is_tensor(x) else type(x): x for x in elements}.values():
        found = _number(each)
        kind = found if kind is None else joined(kind, found)
    assert kind is not None
    whole = creation.elements_of_one(elements, shape)
    if whole is not None:
        return ops.convert(whole, kind.dtype), kind
    if not any(map(is_tensor, elements)):
        return ops.constant(np.array(elements, kind.dtype).reshape(shape)), kind
    return current_trace().joined([value_of(capture(x), kind) for x in elements], shape), kind


# ---- access ----------------------------------------------------------------------------------------------------

def get(items: list | tuple, index: Tensor) -> Any:
    """`items[index]`, the index known only at run time."""
    try:
        return _taken(items, index)
    except Mismatch:
        return dynamic_index.get(items, index) if dynamic_index.fit(items, index) else \
            items[index]            # raises: a list index must be known


def _taken(items: list | tuple, index: Tensor) -> Any:
    """`items[index]` of numbers and sequences of such; the elements of tuples keep their types."""
    first = items[0] if items else None
    if isinstance(first, tuple) and first and not _holds_lists(first) and len(_shape(items)) > 1:
        columns = zip(*items, strict=True)
        return _one_of(named_tuples.make(type(first), [_taken(column, index) for column in columns]))
    value, kind = _stacked(items)
    return ArrayList(Tensor.of_value(value), kind, items, True)[index]


def _one_of(made: tuple) -> tuple:
    """A tuple that stands for one of those in a list."""
    container_aliasing.note_tuple(made)
    return made


def same(left: Any, right: Any) -> Any:
    """`left is right` of parts of lists, at least one; None where that cannot be told."""
    numbers: dict[int, int] = {}
    places = [_number_of_list(each, numbers) for each in (left, right)]
    if None in places:
        return None
    return ag__.Eq(*places)


def _number_of_list(part: Any, numbers: dict[int, int]) -> Any:
    """A number for each list, and that of the one which this is; None where more than its place decides."""
    depth, lists = 0, [part]
    if type(part) is ArrayList:
        part.require_current()
        depth, lists = len(part.places), [part.source]
    for _ in range(depth):
        lists = [inner for each in lists for inner in each]
    if any(map(container_aliasing.is_linked, lists)):
        return None
    known = np.array([numbers.setdefault(id(each), len(numbers)) for each in lists])
    return int(known[0]) if depth == 0 else creation.as_tensor(known.reshape(part.memory.shape[:depth]))[part.places]


def put(value: Any, items: list, index: Tensor) -> None:
    """`items[index] = value`, the index known only at run time."""
    try:
        elements, kind = replaced(items, index, value)
    except Mismatch:
        if dynamic_index.fit([*items, value], index):
            return dynamic_index.put(value, items, index)
        items[index] = value        # raises: a list index must be known
        return
    needs_array(items, kind, or_none=True)
    mutation_log.touch(items)
    items[:] = elements


def replaced(items: list, index: Tensor, value: Any) -> tuple[list, Kind]:
    """Numbers with another one at a run-time place; raises `Mismatch` where there are others."""
    kind = _number(value)
    if len(_shape(items)) > 1:
        raise Mismatch("a list for an element")
    whole, kind = _stacked(items, kind)
    memory = Tensor.of_value(whole)
    memory[(index,)] = value
    return _in_memory(memory.storage, kind), kind


def fill(items: list, memory: Storage, kind: Kind, places: tuple = ()) -> None:
    """Let nested lists hold the elements of a memory."""
    if len(places) + 1 < len(memory.shape):
        for k, inner in enumerate(items):
            fill(inner, memory, kind, (*places, k))
    else:
        mutation_log.touch(items)
        items[:] = _in_memory(memory, kind, places)


def _in_memory(memory: Storage, kind: Kind, places: tuple = ()) -> list[Tensor]:
    """The elements of the innermost list that the places lead to, read where they are needed."""
    return [Tensor(memory, element_steps(memory.shape, (*places, k)), kind=kind.kind) for k in range(memory.shape[-1])]


def needs_array(target: list, kind: Kind, or_none: bool = False) -> None:
    """Have the outermost loop traced again that `target` is older than, with an array in its place."""
    error = ConcreteValueNeeded("A list index", "A list index or a size must be known while tracing.")
    for loop in current_trace().loops:
        if id(target) in reachable(held_before(loop))[0]:
            raise Retrace(AsArray(loop, target, kind, error))
    if not or_none:
        raise error


# ---- loops -----------------------------------------------------------------------------------------------------

def _held_lists(loop: LoopState) -> list[tuple[str, list]]:
    """The variables of the loop that are lists, and are not bound in it."""
    variables = loop.variables
    held = [(n, variables.get(n)) for n in variables.cells if n not in variables.live and n not in variables.dead]
    return [(n, value) for n, value in held if type(value) is list and n not in loop.array_lists]


def _stand_in(loop: LoopState, name: str, source: list, found: AsArray) -> None:
    try:
        before = loop.array_lists.get(name)
        if not all(_is_alone(loop, x) for x in source if type(x) is list):
            raise found.error
        with ir.InsertionPoint(loop.outer):
            whole, kind = _stacked(source, found.kind if before is None else joined(before.kind, found.kind))
    except Mismatch:
        raise found.error from None
    if before is not None:
        loop.storages = [s for s in loop.storages if s is not before.memory.storage]
    memory = Tensor.of_value(whole)
    made = loop.array_lists[name] = ArrayList(memory, kind, source, False)
    loop.storages.append(memory.storage)
    if name in loop.array_places:
        loop.array_places[name].put(made)
        loop.begin_again()


def _place(loop: LoopState, found: AsArray) -> Place | None:
    """The one place of a list that is no variable, or of the outermost list around it."""
    target = found.target
    while True:
        place = place_of(target, loop)
        if place is None or not isinstance(place.owner, list):
            return place
        target = place.owner


def _holds(items: list, target: list) -> bool:
    """Whether a list is among these, at any depth."""
    return any(x is target or type(x) is list and _holds(x, target) for x in items)


def _is_alone(loop: LoopState, source: list) -> bool:
    """Whether nobody else sees the list while the loop runs, and it holds each of its lists once."""
    variables = loop.variables
    held = [variables.get(n) for n in variables.cells]
    outside = [x for f in loop.functions for x in globals_of(f)]
    _, times = reachable([*held, *outside], everywhere=True)
    waiting = [source]
    while waiting:
        current = waiting.pop()
        if times.get(id(current), 1) != 1:
            return False
        waiting += [x for x in current if type(x) is list]
    return True


@means("array_lists")
class ArrayLists(Carrier):
    """The lists that one loop writes at run-time indices."""

    ag__internal = True

    def __init__(self, loop: LoopState):
        self.loop = loop

    def take_over(self, found: AsArray) -> None:
        """Put an array in the place of a list that a loop writes into; raises where others could see the difference."""
        loop = self.loop
        for name, source in [(n, a.source) for n, a in loop.array_lists.items()] + _held_lists(loop):
            if found.target is source or _holds(source, found.target):
                if name in loop.array_lists or _is_alone(loop, source):
                    return _stand_in(loop, name, source, found)
                break
        source = None
        place = _place(loop, found)
        if place is None:
            raise found.error
        mutation_log.touch(place.owner)
        name = f"<array #{len(loop.array_places)}>"
        loop.array_places[name] = place
        try:
            _stand_in(loop, name, place.get(), found)
        except BaseException:
            del loop.array_places[name]
            raise

    @contextlib.contextmanager
    def standing_in(self) -> Iterator[None]:
        """While the body is traced: the variables hold the arrays."""
        loop = self.loop
        cells = loop.variables.cells
        try:
            for name, made in loop.array_lists.items():
                made.ended = False
                if name not in loop.array_places:
                    cells[name].cell_contents = made
            yield
        finally:
            for name, made in loop.array_lists.items():
                made.ended = True
                if name not in loop.array_places:
                    cells[name].cell_contents = made.source

    def finish(self, made: Any) -> None:
        """After the loop, the lists hold what the memories hold."""
        for each in self.loop.array_lists.values():
            fill(each.source, Storage(each.memory.shape, each.memory.dtype, each.memory.value()), each.kind)

    def release(self) -> None:
        """Lists that are no variables are in their places again."""
        for name, place in self.loop.array_places.items():
            if type(place.get()) is ArrayList:
                place.put(self.loop.array_lists[name].source)


__all__ = ["ArrayList", "fill", "get", "put"]
