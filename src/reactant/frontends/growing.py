"""Lists that grow under conditions: rows of arrays, and how many of them there are.

While a loop is traced that appends in a branch, in a loop inside, or with a `break` about, a `Grower` stands for the
list. It owns ordinary memories, one for each run-time part of an element and one for the count, so that every kind of
control flow carries and merges them. How many elements a turn appends is often known all the same (`i % 10 == 0`):
then the list is a plain list again after the loop. Else it is a `RunTimeList`. Where the loop also reads the list, the
rows begin with the elements from before the loop, and what it sees of them is a `RunTimeList`.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends import calls, effects
from reactant.frontends.aliases import GuardedStorage, has_dynamic_steps, roots_of
from reactant.frontends.array_lists import ArrayList
from reactant.frontends.carried import NeedsPeeling, leaves, with_leaves
from reactant.frontends.nested import mapped
from reactant.frontends.numpy.python_numbers import bounds
from reactant.frontends.numpy.storage import Storage, row_steps
from reactant.frontends.numpy.tensor import ARRAY, Tensor
from reactant.frontends.operators import ag__
from reactant.frontends.run_time_lists import RunTimeList
from reactant.frontends.state import Held, Kind, Known, Mismatch, Node, Tree, capture, joined, kind_of, value_of
from reactant.frontends.trace import Trace, current_trace
from reactant.ir import ops
from reactant.ir.types import size

if TYPE_CHECKING:
    from reactant.frontends.loops import Loop

MOST_BYTES = 2**30
"""More memory than this is not set aside for elements that may never be appended."""


class ListError(ControlFlowError):
    """A list grows in a way that a loop cannot carry."""


class Deeper(BaseException):
    """What stands for a list does too little: it is appended to in a branch or in a loop inside, or `reads` it."""

    def __init__(self, stand_in: Any, reads: bool = False):
        self.stand_in, self.reads = stand_in, reads


class Element(GuardedStorage):
    """An array read from a list that grows: what it holds never changes."""

    __slots__ = ()

    def read(self) -> ir.Value:
        return Storage.read(self)

    def write(self, value: ir.Value) -> None:
        raise refusal("of which an element is written in place")


_SEEN = "by an array that other code sees (append a copy: x.copy())"


def refusal(why: str) -> ListError:
    return ListError(f"A list grows {why}, inside a loop that runs inside compiled code. Store into an array "
                     f"that is made before the loop: out = np.zeros(n); out[i] = ...")


class Grower:
    """A list that is appended to, from anywhere in a loop, and perhaps read (`reads`)."""

    __slots__ = ("capacity", "changed", "count", "exact", "former", "found", "given", "held", "kinds", "loop", "most",
                 "name", "passed", "reads", "rows", "start", "tree")    # so no plain object, whose attributes are state
    partial = True      # to NumPy's functions, which see what `as_array` gives
    __array_priority__ = 2000.0

    def __init__(self, loop: Loop, name: str, target: Any, reads: bool = False):
        self.loop, self.name, self.reads = loop, name, reads
        self.given: list[Tree] = []           # the elements from before the loop, where they are rows, too
        self.former = target if type(target) is RunTimeList else None
        self.tree: Tree | None = None           # of the first element met: the structure of all
        self.kinds: list[Kind | None] = []      # of its parts; None where a part is known and always the same
        if self.former is not None:
            self.tree, self.kinds = self.former.tree, list(self.former.kinds)
        self.start = 0 if self.former is None else self.former.capacity
        self.rows: list[Storage | None] = []
        self.count: Storage | None = None
        self.capacity = 0
        self.exact = False                      # whether the capacity is the number of elements
        if reads and type(target) is list:
            self.begin_with(target)
        self.begin()

    ag__depth = property(lambda self: effects.depth())      # control flow sees what happens to the memories

    def begin(self) -> None:
        """A turn begins to be traced."""
        self.most: int | None = 0               # how many elements all turns append, at most
        self.changed = False
        self.held: list[tuple[Storage, int]] = []    # arrays that others see too, with their versions
        self.passed: list[tuple[Storage, int]] = []  # arrays made in a branch, that a parameter refers to for now

    def begin_with(self, target: list) -> None:
        """The rows begin with the elements of a list."""
        if not target:
            raise NeedsPeeling(refusal("that is read before anything is in it"))
        self.given, self.start = [capture(x) for x in target], len(target)
        for tree in self.given:
            self.fit(tree, list(leaves(tree)))
        self.make(0)

    def outside(self) -> set[Storage]:
        """The memories of arrays that were in the list before, and now are rows."""
        return {root for tree in self.given for leaf in leaves(tree) if _is_array(leaf)
                for root in roots_of(leaf.tensor.storage)}

    # -- appending

    def append(self, item: Any) -> None:
        tree = capture(item)
        self.require_fresh(tree, True)
        self.put(tree)

    def put(self, tree: Tree) -> None:
        turns = turns_since(self.loop)
        self.most = None if turns is None or self.most is None else self.most + turns
        parts = list(leaves(tree))
        self.fit(tree, parts)
        if self.changed or self.count is None:
            return
        place = self.count.read()
        for storage, part, kind in zip(self.rows, parts, self.kinds, strict=True):
            if storage is not None and kind is not None:
                zeros = [ops.constant(0, np.int64) for _ in kind.shape]
                row = ops.reshape(value_of(part, kind), (1, *kind.shape))
                storage.write(ops.dynamic_update_slice(storage.read(), row, [place, *zeros]))
        self.count.write(ops.add(place, 1))

    def extend(self, items: list | tuple) -> None:
        while items:
            self.append(items[0])
            items = items[1:]

    def __iadd__(self, items: list | tuple) -> Grower:
        self.extend(items)
        return self

    def fit(self, tree: Tree, parts: list[Tree]) -> None:
        """Make the elements' kinds hold this one too."""
        if self.tree is None:
            self.tree, self.changed = tree, True
            self.kinds = [_kind(part) for part in parts]
            return
        if not _alike(self.tree, tree):
            raise refusal("by elements of different structure")
        for position, (first, part) in enumerate(zip(leaves(self.tree), parts, strict=True)):
            kind, other = self.kinds[position], _kind(part)
            if kind is None or other is None:
                if kind is not other or first.value is not part.value and first.value != part.value:
                    raise refusal("by different objects that are no numbers or arrays")
                continue
            try:
                wanted = joined(kind, other)
            except Mismatch as problem:
                raise refusal(f"by {problem}") from None
            if wanted != kind:
                self.kinds[position], self.changed = wanted, True

    def require_fresh(self, tree: Tree, top: bool) -> None:
        """Arrays that nobody else holds are rows from now on; of others it is noted whose they are. `top`: it is the
        element itself, not a part of it."""
        if type(tree) is Known and type(tree.value) is ArrayList:
            raise refusal("by a list that the loop also writes into (append a copy: list(x))")
        if type(tree) is Node:
            if tree.kind not in ("tuple", "list"):
                raise refusal(f"by objects of type {type(tree.original).__name__} under conditions")
            alone = self.is_only_here(tree.original, top)
            if not alone and (tree.kind == "list" or any(_is_array(leaf) for leaf in leaves(tree))):
                raise refusal(f"by a {tree.kind} that other code sees, under conditions")
            for child in tree.children:
                self.require_fresh(child, False)
        elif _is_array(tree) and not (self.is_only_here(tree.tensor, top) and _is_whole(tree.tensor)):
            memory = tree.tensor.storage
            if has_dynamic_steps(tree.tensor) or memory.region is not self.loop.body_region:
                if type(memory) is not Storage or tree.tensor.steps:
                    raise refusal(_SEEN)
                self.passed.append((memory, memory.version))
                return
            self.held += [(root, root.version) for root in roots_of(tree.tensor.storage)]

    def is_only_here(self, x: Any, top: bool) -> bool:
        """Whether nobody but the call of `append` holds an object."""
        return sys.getrefcount(x) <= _references()[top]

    def end(self) -> None:
        """The turn has been traced."""
        if any(root.version != version for root, version in self.held) \
                or len({root for root, _ in self.held}) != len(self.held):
            raise refusal("by an array that is written later (append a copy: x.copy())")
        while self.passed:
            memory, version = self.passed.pop()
            if memory.version != version or sys.getrefcount(memory) > 2:
                raise refusal(_SEEN)

    # -- memories

    def more(self) -> bool:
        """Whether the memories had to be made, or made anew, after a trace of the body."""
        if self.tree is None:
            return False
        if self.most is None:
            raise refusal("in a loop of which only the run knows how often it runs")
        if not self.changed and self.count is not None and (self.exact or self.most + self.start <= self.capacity):
            return False
        self.exact = False
        self.make(self.most)
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
        loop.storages = [s for s in loop.storages if s not in self.rows and s is not self.count]
        self.capacity = max(capacity, 1) + self.start
        with ir.InsertionPoint(loop.outer):
            self.rows = [None if kind is None else Storage((self.capacity, *kind.shape), kind.dtype,
                                                           self.initial(position, kind))
                         for position, kind in enumerate(self.kinds)]
            self.count = Storage((), np.dtype(np.int64), ops.constant(len(self.given), np.int64)
                                 if self.former is None else self.former.count.value())
        loop.storages += [s for s in (*self.rows, self.count) if s is not None]

    def initial(self, position: int, kind: Kind) -> ir.Value:
        """The rows before the loop."""
        fresh = ops.constant(0, kind.dtype, (self.capacity - self.start, *kind.shape))
        if self.former is None:
            return ops.concatenate([*self.rows_before(position, kind), fresh], 0)
        return ops.concatenate([ops.convert(self.former.rows[position].read(), kind.dtype), fresh], 0)

    def rows_before(self, position: int, kind: Kind) -> list[ir.Value]:
        parts = [list(leaves(tree))[position] for tree in self.given]
        if parts and kind.kind != ARRAY and all(type(part) is Known for part in parts):
            return [ops.constant(np.array([part.value for part in parts], kind.dtype))]
        return [ops.reshape(value_of(part, kind), (1, *kind.shape)) for part in parts]

    def require_memory(self) -> None:
        """Only so much is set aside for what may not come."""
        total = sum(self.capacity * size(k.shape) * k.dtype.itemsize for k in self.kinds if k is not None)
        if total > MOST_BYTES:
            raise refusal(f"under a condition that only the run knows, by up to {total / 2**30:.1f} GiB")

    # -- reading

    def view(self) -> RunTimeList:
        """The list as it is now."""
        if self.count is None or not self.reads and self.former is None:
            raise Deeper(self, True)
        sources = [s for s in self.rows if s is not None]
        return RunTimeList([], self.tree, self.kinds, self.rows, self.count.read(),
                           lambda value: Tensor(Element(self.name, sources, value)), len(self.given))

    shape = property(lambda self: self.view().shape)

    def __getitem__(self, index: Any) -> Any:
        return self.view()[index]

    def __bool__(self) -> bool:
        self.view()
        if not self.given:
            raise refusal("whose truth decides")
        return True

    def as_array(self) -> Any:
        return self.view().as_array()

    def total(self, start: Any) -> Any:
        return self.view().total(start)

    def extreme(self, function: Callable) -> Any:
        return self.view().extreme(function)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        return getattr(ufunc, method)(*_viewed(inputs), **_viewed(kwargs))

    def __array_function__(self, function: Callable, types: object, args: tuple, kwargs: dict) -> Any:
        return function(*_viewed(args), **_viewed(kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise refusal(f"and is changed by list.{name}")

    # -- elements

    def element(self, k: int, guarded: Callable[[ir.Value], Tensor] | None) -> Any:
        """The element at a known place, after the loop; `guarded` makes arrays that others may be bound to."""
        parts = []
        for part, kind, storage in zip(leaves(self.tree), self.kinds, self.rows, strict=True):
            if storage is None or kind is None:
                parts.append(part.value)
                continue
            found = Tensor(storage, row_steps(storage.shape, k), kind=kind.kind)     # read when it is needed
            parts.append(found if guarded is None or kind.kind != ARRAY else guarded(found.value()))
        return with_leaves(self.tree, iter(parts))


calls.OURS.add(Grower)


def _refused(self: Grower, *operands: Any) -> Any:
    raise refusal("with which the loop does more than to append, or read elements")


for _name in ("add", "radd", "mul", "rmul", "imul", "eq", "lt", "le", "gt", "ge", "contains", "iter", "reversed",
              "setitem", "delitem"):
    setattr(Grower, f"__{_name}__", _refused)
Grower.__hash__ = object.__hash__


def _viewed(tree: Any) -> Any:
    """Lists that grow as they are now, in nested arguments."""
    return mapped(tree, lambda x: x.view() if type(x) is Grower else x)


def _kind(part: Tree) -> Kind | None:
    try:
        return kind_of(part)
    except Mismatch as problem:
        raise refusal(f"by {problem}") from None


def _alike(a: Tree, b: Tree) -> bool:
    """Whether two trees have one structure."""
    if type(a) is Node or type(b) is Node:
        return type(a) is type(b) and a.kind == b.kind and a.key == b.key and all(
            _alike(x, y) for x, y in zip(a.children, b.children, strict=True))
    return (type(a) in (Held, Known)) and type(b) in (Held, Known)


# ---- how often, and who holds what ------------------------------------------------------------------------------

def turns_since(loop: Loop) -> int | None:
    """How often what is traced now runs at most while `loop` runs; None where no bound is known."""
    active = current_trace().loops
    total = 1
    for each in active[active.index(loop):]:
        known = None if each.count is None else bounds(each.count)
        if known is None or known[1] - each.start >= 2**40:
            return None
        total *= max(known[1] - each.start, 0)
    return total


def marks(trace: Trace) -> list[tuple[Grower, int | None, int, int]]:
    """What has been noted so far of growing lists, for `reset` when a loop inside is traced again."""
    return [(g, g.most, len(g.held), len(g.passed)) for g in trace.growers]


def reset(noted: list[tuple[Grower, int | None, int, int]]) -> None:
    for grower, most, held, passed in noted:
        grower.most = most
        del grower.held[held:], grower.passed[passed:]


def _is_array(tree: Tree) -> bool:
    return type(tree) is Held and tree.tensor.kind == ARRAY


def _is_whole(tensor: Tensor) -> bool:
    """Whether the memory is the tensor's alone."""
    return not tensor.steps and type(tensor.storage) is Storage and sys.getrefcount(tensor.storage) <= 2


class _Probe(Grower):
    """Finds out how many references the way to `append` holds, to an element and to a part of one."""

    def __init__(self) -> None:
        self.found = [0, 0]

    def put(self, tree: Tree) -> None:
        pass

    def is_only_here(self, x: Any, top: bool) -> bool:
        self.found[top] = sys.getrefcount(x)
        return True


calls.OURS.add(_Probe)


@lru_cache(maxsize=1)
def _references() -> list[int]:
    probe = _Probe()
    ag__.call(probe.append, (Tensor.of_array(np.zeros(1)),))
    return probe.found


__all__ = ["Deeper", "Grower", "ListError", "marks", "refusal", "reset", "turns_since"]
