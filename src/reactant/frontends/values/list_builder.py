"""Lists that grow under conditions: rows of arrays, and how many of them there are.

While a loop is traced that appends in a branch, in a loop inside, or with a `break` about, a `Grower` stands for the
list. It owns ordinary memories, one for each run-time part of an element and one for the count, so that every kind of
control flow carries and merges them. How many elements an iteration appends is often known all the same (`i % 10 ==
0`): then the list is a plain list again after the loop. Else it is a `RunTimeList`. Where the loop also reads the list,
the rows begin with the elements from before the loop, and what it sees of them is a `RunTimeList`. """
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.nested import mapped
from reactant.frontends.arrays.python_numbers import bounds
from reactant.frontends.arrays.reach import begun_with, look
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import GuardedStorage, has_dynamic_steps, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor, python_number
from reactant.frontends.arrays.view_steps import row_steps
from reactant.frontends.control import element_copies
from reactant.frontends.control.branches import StagedRaise
from reactant.frontends.control.demands import APPENDS, POPS, READS, SHIFTS, MoreUse
from reactant.frontends.control.iteration import Items, RangeItems
from reactant.frontends.control.list_refusals import ListError, refusal
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import Mismatch, capture, joined, kind_of, value_of, with_leaves
from reactant.frontends.control.trees import Kind, Known, Node, Tree
from reactant.frontends.session import calls, recording
from reactant.frontends.session.heap import Heap, Root
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ag__
from reactant.frontends.values.array_lists import ArrayList
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.list_changes import Changes, counted, opened, require
from reactant.frontends.values.list_items import ListItems
from reactant.frontends.values.optional import present
from reactant.frontends.values.repeated import is_repeated
from reactant.frontends.values.rows import ring_place, straightened, too_long
from reactant.ir import ops
from reactant.ir.types import size
from reactant.options import CompileOptions

MOST_BYTES = 2**30
"""More memory than this is not set aside for elements that may never be appended."""


class Element(GuardedStorage):
    """An array read from a list that grows: what it holds never changes."""

    __slots__ = ()

    def read(self) -> ir.Value:
        return Storage.read(self)

    def write(self, value: ir.Value) -> None:
        raise refusal("element written")




class Grower(Changes):
    """A list or deque that is appended to, from anywhere in a loop, and perhaps used for more.

    Where elements are taken off its beginning, the rows are a ring: the elements are those from `head` on.
    """

    __slots__ = ("capacity", "changed", "exact", "filled", "former", "found", "given", "head", "held", "kinds",
                 "limited", "loop", "maxlen", "most", "name", "passed", "rows", "shared", "shown", "start",
                 "stands_for", "tree", "use")      # so no plain object, whose attributes are state
    partial = True      # to NumPy's functions, which see what `as_array` gives
    __array_priority__ = 2000.0
    __hash__ = object.__hash__

    def __init__(self, loop: LoopState, name: str, target: Any, use: int = APPENDS,
                 less: Grower | None = None):
        self.stands_for = target.stands_for if type(target) is RunTimeList else type(target)
        self.maxlen = getattr(target, "maxlen", None)
        if self.stands_for is deque:
            use = SHIFTS if self.maxlen is not None else max(use, READS)
        self.loop, self.name, self.use = loop, name, use
        self.shared = type(target) is RunTimeList and target.shared
        self.given: list[Tree] = []           # the elements from before the loop, where they are rows, too
        self.former = target if type(target) is RunTimeList else None
        if self.former is not None and self.former.prefix and use >= READS:
            self.former.begin_change()
            self.former.replace(*self.former.content())     # all elements are rows
        self.tree: Tree | None = None           # of the first element met: the structure of all
        self.kinds: list[Kind | None] = []      # of its parts; None where a part is known and always the same
        if self.former is not None:
            self.tree, self.kinds = self.former.tree, list(self.former.kinds)
        self.start = 0 if self.former is None else self.former.capacity
        self.rows: list[Storage | None] = []
        self.filled: Storage | None = None
        self.head: Storage | None = None
        self.most: int | None = 0
        self.capacity = 0
        self.exact = False                      # whether the capacity is the number of elements
        self.limited = False                    # whether there may be more elements than the capacity
        if use >= READS and self.former is None:
            self.begin_with(target)
        self.begin()
        if less is not None and less.tree is not None:
            self.learn(less)

    def learn(self, less: Grower) -> None:
        """Begin with what another one has found out that did less: it did not know the elements from before."""
        if self.tree is not None and not self.tree.alike(less.tree):
            raise refusal("structure")
        try:
            self.kinds = [kind if kind is None or other is None else joined(kind, other)
                          for kind, other in zip(self.kinds or less.kinds, less.kinds, strict=True)]
        except Mismatch as problem:
            raise refusal("kinds", problem=problem) from None
        self.tree, self.most, self.changed = self.tree or less.tree, less.most, True
        self.more()

    ag__depth = property(lambda self: recording.depth())      # control flow sees what happens to the memories

    def begin(self) -> None:
        """An iteration begins to be traced."""
        self.most = 0               # how many elements all iterations append, at most
        self.changed = False
        self.held: list[tuple[Storage, int]] = []    # arrays that others see too, with their versions
        self.shown: list[Storage] = []          # older arrays of which an iteration appends parts
        self.passed: list[tuple[Storage, int]] = []  # arrays made in a branch, that a parameter refers to for now

    def begin_with(self, target: list | deque) -> None:
        """The rows begin with the elements of a list. Of one without any, nothing is known before some are appended:
        in the trace that finds out which it is what it is before the loop, empty."""
        if not target:
            return
        self.given, self.start = [capture(x) for x in target], len(target)
        for item in target:
            element_copies.register(item)       # who knows such a list by another name must not change it
        for tree in self.given:
            self.fit(tree, list(tree.leaves()))
        self.make(0)

    def ag__parts(self) -> list[Any]:
        """What is reached through it: not the elements from before, which are rows now."""
        return [self.former, *(s for s in self.rows if s is not None)]

    def outside(self) -> set[Storage]:
        """The memories of arrays that were in the list before, and now are rows."""
        return {root for tree in self.given for leaf in tree.leaves() if _is_array(leaf)
                for root in roots_of(leaf.tensor.storage)}

    # -- appending

    def append(self, item: Any) -> None:
        tree = capture(present(item))
        self.require_fresh(tree, item)
        self.put(tree)

    def put(self, tree: Tree, place: ir.Value | None = None, first: bool = False) -> None:
        """Append an element; insert it at a place; or let it be the first one."""
        iterations = iterations_since(self.loop)
        self.most = None if iterations is None or self.most is None else self.most + iterations
        parts = list(tree.leaves())
        self.fit(tree, parts)
        if self.changed or self.filled is None:
            return
        count = self.filled.read()
        full = None if self.maxlen is None else ops.compare(count, self.maxlen, "EQ")
        if self.limited:
            current_trace().record(ops.compare(count, self.capacity, "LT"), too_long(self.capacity))
        if first:       # of a full one, the last one drops out
            row = self.place(ops.constant(self.capacity - 1, np.int64))
            self.head.write(row)
        elif place is not None:
            row = place
            self.open(place)
        else:
            row = self.place(count)
        self.write(row, parts)
        self.filled.write(ops.add(count, 1) if full is None else ops.select(full, count, ops.add(count, 1)))
        if full is not None and not first:      # the first one drops out of a full one
            self.head.write(ops.select(full, self.place(ops.constant(1, np.int64)), self.head.read()))

    def open(self, place: ir.Value) -> None:
        """Make room at a place: what is there moves on."""
        if self.maxlen is not None:
            require(ops.compare(self.filled.read(), self.maxlen, "LT"), IndexError, "deque already at its maximum size")
        self.replace([row and opened(row, place) for row in self.content()[0]], self.filled.read())

    def appendleft(self, item: Any) -> None:
        self.require_use(SHIFTS)
        element_copies.moved(self)
        tree = capture(item)
        self.require_fresh(tree, item)
        self.put(tree, first=True)

    def extendleft(self, items: Any) -> None:
        self.each(self.appendleft, items)

    @staticmethod
    def each(put: Callable[[Any], None], items: Any) -> None:
        if not isinstance(items, (list, tuple)):
            return ag__.for_stmt(items, lambda item: put(item), (), (), (), ())
        while items:
            put(items[0])
            items = items[1:]

    def write(self, place: ir.Value, parts: list[Tree]) -> None:
        for storage, part, kind in zip(self.rows, parts, self.kinds, strict=True):
            if storage is not None and kind is not None:
                zeros = [ops.constant(0, np.int64) for _ in kind.shape]
                row = ops.reshape(value_of(part, kind), (1, *kind.shape))
                storage.write(ops.dynamic_update_slice(storage.read(), row, [place, *zeros]))

    def place(self, position: ir.Value) -> ir.Value:
        """The row of the element at a position."""
        return position if self.head is None else ring_place(self.head.read(), position, self.capacity)

    def extend(self, items: Any) -> None:
        self.each(self.append, items)

    def __iadd__(self, items: Any) -> Grower:
        self.extend(items)
        return self

    def is_empty(self) -> bool:
        """Whether nothing has been appended yet, as far as is known."""
        if self.filled is None and self.tree is not None:
            raise Retrace(MoreUse(self, self.use))
        return self.filled is None

    # -- taking

    def pop(self, index: Any = -1) -> Any:
        if type(index) is not int or index not in (-1, 0):
            return self.pop_at(index)
        return self.taken("pop from an empty deque" if self.stands_for is deque else "pop from empty list", index == 0)

    def popleft(self) -> Any:
        return self.taken("pop from an empty deque", True)

    def taken(self, message: str, first: bool) -> Any:
        """The last or first element, which is in there no longer."""
        self.require_use(SHIFTS if first else POPS)
        element_copies.moved(self)
        if self.is_empty():
            current_trace().check(ops.constant(False), lambda: IndexError(message))
            raise StagedRaise
        count = self.filled.read()
        current_trace().check(ops.compare(count, 0, "GT"), lambda: IndexError(message))
        left = ops.subtract(count, 1)
        element = self.view().at(python_number(ops.constant(0, np.int64) if first else left, (0, self.capacity)), False)
        self.filled.write(left)
        if first:
            self.head.write(self.place(ops.constant(1, np.int64)))
        return element

    def require_use(self, use: int) -> None:
        if self.use < use:
            if not vars(self.loop):     # it has ended, and something still holds this
                raise refusal("that gets another name or place")
            raise Retrace(MoreUse(self, use))

    def clear(self) -> None:
        self.require_use(POPS)
        element_copies.moved(self)
        if not self.is_empty():
            self.filled.write(ops.constant(0, np.int64))

    def fit(self, tree: Tree, parts: list[Tree]) -> None:
        """Make the elements' kinds hold this one too."""
        if self.tree is None:
            self.tree, self.changed = tree, True
            self.kinds = [_kind(part) for part in parts]
            return
        if not self.tree.alike(tree):
            raise refusal("structure")
        for position, (first, part) in enumerate(zip(self.tree.leaves(), parts, strict=True)):
            kind, other = self.kinds[position], _kind(part)
            if kind is None or other is None:
                if kind is not other or first.value is not part.value and first.value != part.value:
                    raise refusal("objects")
                continue
            try:
                wanted = joined(kind, other)
            except Mismatch as problem:
                raise refusal("kinds", problem=problem) from None
            if wanted != kind:
                self.kinds[position], self.changed = wanted, True

    def require_fresh(self, tree: Tree, item: Any) -> None:
        """Arrays that nobody else holds are rows from now on; of others it is noted whose they are."""
        parts = isinstance(tree, Node) or _is_array(tree)
        self.require_own(tree, Heap().look(*begun_with(), (Root("appended"), item)) if parts else None)

    def require_own(self, tree: Tree, heap: Heap | None) -> None:
        """`require_fresh` of a part."""
        if isinstance(tree, Known) and type(tree.value) is ArrayList:
            raise refusal("written list")
        if isinstance(tree, Known) and not is_repeated(tree.value, self.loop):
            raise refusal("made anew")
        if isinstance(tree, Node):
            if tree.kind not in ("tuple", "list"):
                raise refusal("objects of a class", kind=type(tree.original).__name__)
            alone = heap.knows_one(tree.original) and not element_copies.is_copy(tree)
            if not alone and (tree.kind == "list" or any(_is_array(leaf) for leaf in tree.leaves())):
                raise refusal("seen container", kind=tree.kind)
            for child in tree.children:
                self.require_own(child, heap)
        elif _is_array(tree) and not (heap.knows_one(tree.tensor) and _is_alone(tree.tensor, heap)):
            memory = tree.tensor.storage
            if has_dynamic_steps(tree.tensor) or memory.region is not self.loop.body_region:
                if memory in self.loop.storage_slots or memory.region.encloses(self.loop.body_region.parent):
                    self.shown.append(memory)
                    return
                if type(memory) is not Storage or tree.tensor.steps:
                    raise refusal("seen array")
                self.passed.append((memory, memory.version))
                return
            self.held += [(root, root.version) for root in roots_of(tree.tensor.storage)]

    def end(self) -> None:
        """The iteration has been traced."""
        if any(root.version != version for root, version in self.held) \
                or len({root for root, _ in self.held}) != len(self.held):
            raise refusal("written later")
        if self.passed:
            heap = look()
            if any(memory.version != version or heap.reaches(memory) for memory, version in self.passed):
                raise refusal("seen array")
            self.passed.clear()

    # -- memories

    def more(self) -> bool:
        """Whether the memories had to be made, or made anew, after a trace of the body."""
        if self.tree is None:
            return False
        limit = (current_trace().options or CompileOptions()).list_capacity
        limited = self.maxlen is None and (self.most is None or self.use >= POPS and self.most > limit)
        wanted = limit if limited else self.most if self.maxlen is None else self.maxlen
        settled = limited == self.limited and (self.exact or wanted + self.start <= self.capacity)
        if not self.changed and self.filled is not None and settled:
            return False
        self.exact, self.limited = False, limited
        self.make(wanted)
        return True

    def shrink(self, count: int) -> bool:
        """The number of elements is known: whether the memories were made anew with that many rows."""
        if self.exact or self.capacity == max(count, 1) + self.start:
            self.exact = True
            return False
        self.make(count)
        self.exact = True
        return True

    def make(self, capacity: int) -> None:
        loop = self.loop
        loop.storages = [s for s in loop.storages if s not in (*self.rows, self.filled, self.head)]
        self.capacity = max(capacity, 1) + self.start
        with ir.InsertionPoint(loop.outer):
            self.rows = [None if kind is None else Storage((self.capacity, *kind.shape), kind.dtype,
                                                           self.initial(position, kind))
                         for position, kind in enumerate(self.kinds)]
            self.filled = Storage((), np.dtype(np.int64), ops.constant(len(self.given), np.int64)
                                 if self.former is None else self.former.filled.value())
            self.head = None if self.use < SHIFTS else Storage((), np.dtype(np.int64), ops.constant(0, np.int64))
        loop.storages += [s for s in (*self.rows, self.filled, self.head) if s is not None]

    def initial(self, position: int, kind: Kind) -> ir.Value:
        """The rows before the loop."""
        fresh = ops.constant(0, kind.dtype, (self.capacity - self.start, *kind.shape))
        if self.former is None:
            return ops.concatenate([*self.rows_before(position, kind), fresh], 0)
        return ops.concatenate([ops.convert(self.former.rows[position].read(), kind.dtype), fresh], 0)

    def rows_before(self, position: int, kind: Kind) -> list[ir.Value]:
        parts = [list(tree.leaves())[position] for tree in self.given]
        if parts and kind.kind != ARRAY and all(isinstance(part, Known) for part in parts):
            return [ops.constant(np.array([part.value for part in parts], kind.dtype))]
        return [ops.reshape(value_of(part, kind), (1, *kind.shape)) for part in parts]

    def require_memory(self) -> None:
        """Only so much is set aside for what may not come."""
        total = sum(self.capacity * size(k.shape) * k.dtype.itemsize for k in self.kinds if k is not None)
        if total > MOST_BYTES:
            raise refusal("room", room=total / 2**30)

    # -- reading

    def view(self) -> Any:
        """The list as it is now."""
        self.begin_look()
        if self.is_empty():
            return []
        sources = [s for s in self.rows if s is not None]
        rows = [s and Storage(s.shape, s.dtype, s.read()) for s in self.rows]
        found = RunTimeList([], self.tree, self.kinds, rows, self.filled.read(),
                            lambda value: Tensor(Element(self.name, sources, value)),
                            len(self.given) if self.use < POPS else 0, self.stands_for,
                            None if self.head is None else self.head.read(), self.capacity)
        found.owner, found.maxlen = self, self.maxlen
        return found

    shape = property(lambda self: (len(v),) if type(v := self.view()) is list else v.shape)

    def __getitem__(self, index: Any) -> Any:
        found = self.view()
        if type(found) is list:
            if isinstance(index, slice):
                return []
            current_trace().check(ops.constant(False), lambda: IndexError("list index out of range"))
            raise StagedRaise
        return found[index]

    def begin_store(self, index: Any) -> None:
        self.begin_change()
        if isinstance(index, slice) or any(kind is None or kind.kind == ARRAY for kind in self.kinds):
            raise refusal("elements replaced")

    def how_many(self) -> ir.Value:
        return self.filled.read()

    def store(self, place: Any, item: Any) -> None:
        """Let another element stand at a place that is one."""
        self.begin_change()
        tree = capture(item)
        parts = list(tree.leaves())
        self.fit(tree, parts)
        if not self.changed:
            self.write(self.place(counted(place, self.filled.read())), parts)

    def ag__items(self) -> Items:
        seen = self.view()
        return RangeItems(0, 0, 1) if type(seen) is list else ListItems(seen, self)

    def has_elements(self) -> Any:
        found = self.view()
        return bool(found) if type(found) is list else found.has_elements()

    def __bool__(self) -> bool:
        raise refusal("truth")

    def as_array(self) -> Any:
        return self.view().as_array()

    def total(self, start: Any) -> Any:
        found = self.view()
        return start if type(found) is list else found.total(start)

    def extreme(self, function: Callable, key: Callable | None = None, **default: Any) -> Any:
        found = self.view()
        if type(found) is list:
            if default:
                return default["default"]
            raise StagedRaise
        return found.extreme(function, key, **default)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return getattr(ufunc, method)(*_viewed(inputs), **_viewed(kwargs))

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return function(*_viewed(args), **_viewed(kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise refusal("method", name=f"list.{name}")

    # -- changes of all rows

    room = property(lambda self: self.capacity)

    def begin_change(self) -> None:
        self.require_use(POPS)

    def begin_look(self) -> None:
        if self.former is None or self.former.prefix:
            self.require_use(READS)

    def take_in(self, item: Any) -> None:
        self.require_fresh(capture(item), item)

    def content(self) -> tuple[list[ir.Value | None], ir.Value]:
        start = self.head and self.head.read()
        return [row and straightened(row.read(), start) for row in self.rows], self.filled.read()

    def replace(self, rows: list[ir.Value | None], count: ir.Value) -> None:
        for row, value in zip(self.rows, rows, strict=True):
            if row is not None:
                row.write(value)
        if self.head is not None:
            self.head.write(ops.constant(0, np.int64))
        self.filled.write(count)

    def element_of(self, rows: list[ir.Value | None], place: ir.Value) -> Any:
        return self.view().element_of(rows, place)

    def ordered(self, key: Callable | None = None, reverse: bool = False) -> Any:
        """`sorted(items)`."""
        found = self.view()
        return found if type(found) is list else found.ordered(key=key, reverse=reverse)

    def copy(self) -> Any:
        found = self.view()
        return found if type(found) is list else found.copy()

    def straighten(self) -> None:
        """Let the rows begin with the first element."""
        if self.head is not None:
            start = self.head.read()
            self.rows = [s and Storage(s.shape, s.dtype, straightened(s.read(), start)) for s in self.rows]
            self.head = None

    @staticmethod
    def given_to(name: str) -> ListError:
        """What C code says that needs a list."""
        return refusal("method", name=name)

    # -- elements

    def element(self, k: int, guarded: Callable[[ir.Value], Tensor] | None) -> Any:
        """The element at a known place, after the loop; `guarded` makes arrays that others may be bound to."""
        parts = []
        for part, kind, storage in zip(self.tree.leaves(), self.kinds, self.rows, strict=True):
            if storage is None or kind is None:
                parts.append(part.value)
                continue
            found = Tensor(storage, row_steps(storage.shape, k), kind=kind.kind)     # read when it is needed
            parts.append(found if guarded is None or kind.kind != ARRAY else guarded(found.value()))
        return with_leaves(self.tree, iter(parts))


calls.OURS.add(Grower)


def _refused(self: Grower, *operands: Any) -> Any:
    raise refusal("other use")


for _name in ("add", "radd", "mul", "rmul", "imul", "eq", "lt", "le", "gt", "ge", "contains", "iter", "reversed"):
    setattr(Grower, f"__{_name}__", _refused)


def shown(x: Any) -> Any:
    """A list that grows as it is now; anything else as it is."""
    return x.view() if type(x) is Grower else x


def _viewed(tree: Any) -> Any:
    """Lists that grow as they are now, in nested arguments."""
    return mapped(tree, shown)


def _kind(part: Tree) -> Kind | None:
    try:
        return kind_of(part)
    except Mismatch as problem:
        raise refusal("kinds", problem=problem) from None


# ---- how often, and who holds what ------------------------------------------------------------------------------

def iterations_since(loop: LoopState) -> int | None:
    """How often what is traced now runs at most while `loop` runs; None where no bound is known."""
    active = current_trace().loops
    total = 1
    for each in active[active.index(loop):]:
        known = None if each.count is None else bounds(each.count)
        if known is None or known[1] - each.start >= 2**40:
            return None
        total *= max(known[1] - each.start, 0)
    return total


def _is_array(tree: Tree) -> bool:
    return tree.array is not None


def _is_alone(tensor: Tensor, heap: Heap) -> bool:
    """Whether the memory is the tensor's alone: also a view is as good as a copy then."""
    memory = tensor.storage
    return type(memory) is Storage and memory.argument is None and heap.knows_one(memory)


__all__ = ["Grower", "iterations_since", "shown"]
