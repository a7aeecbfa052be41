"""Lists that grow under conditions: rows of arrays, and how many of them there are.

While a loop is traced that appends in a branch, in a loop inside, or with a `break` about, a `Grower` stands for the
list. It owns ordinary memories, one for each run-time part of an element and one for the count, so that every kind of
control flow carries and merges them. How many elements a turn appends is often known all the same (`i % 10 == 0`):
then the list is a plain list again after the loop. Else it is a `RunTimeList`.
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
from reactant.frontends.aliases import has_dynamic_steps, roots_of
from reactant.frontends.array_lists import ArrayList
from reactant.frontends.carried import leaves, with_leaves
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


def refusal(why: str) -> ListError:
    return ListError(f"A list grows {why}, inside a loop that runs inside compiled code. Store into an array "
                     f"that is made before the loop: out = np.zeros(n); out[i] = ...")


class Grower:
    """A list that can only be appended to, from anywhere in a loop."""

    __slots__ = ("capacity", "changed", "count", "exact", "former", "found", "held", "kinds", "loop", "most", "name",
                 "rows", "start", "tree")                       # so no plain object, whose attributes are state

    def __init__(self, loop: Loop, name: str, target: Any):
        self.loop, self.name = loop, name
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
        self.begin()

    ag__depth = property(lambda self: effects.depth())      # control flow sees what happens to the memories

    def begin(self) -> None:
        """A turn begins to be traced."""
        self.most: int | None = 0               # how many elements all turns append, at most
        self.changed = False
        self.held: list[tuple[Storage, int]] = []    # arrays that others see too, with their versions

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
            if has_dynamic_steps(tree.tensor) or tree.tensor.storage.region is not self.loop.body_region:
                raise refusal("by an array that other code sees (append a copy: x.copy())")
            self.held += [(root, root.version) for root in roots_of(tree.tensor.storage)]

    def is_only_here(self, x: Any, top: bool) -> bool:
        """Whether nobody but the call of `append` holds an object."""
        return sys.getrefcount(x) <= _references()[top]

    def end(self) -> None:
        """The turn has been traced."""
        if any(root.version != version for root, version in self.held) \
                or len({root for root, _ in self.held}) != len(self.held):
            raise refusal("by an array that is written later (append a copy: x.copy())")

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
        if self.exact or self.capacity == max(count, 1):
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
            self.count = Storage((), np.dtype(np.int64), ops.constant(0, np.int64) if self.former is None else
                                 self.former.count.value())
        loop.storages += [s for s in (*self.rows, self.count) if s is not None]

    def initial(self, position: int, kind: Kind) -> ir.Value:
        """The rows before the loop."""
        fresh = ops.constant(0, kind.dtype, (self.capacity - self.start, *kind.shape))
        if self.former is None:
            return fresh
        return ops.concatenate([ops.convert(self.former.rows[position].read(), kind.dtype), fresh], 0)

    def require_memory(self) -> None:
        """Only so much is set aside for what may not come."""
        total = sum(self.capacity * size(k.shape) * k.dtype.itemsize for k in self.kinds if k is not None)
        if total > MOST_BYTES:
            raise refusal(f"under a condition that only the run knows, by up to {total / 2**30:.1f} GiB")

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


def marks(trace: Trace) -> list[tuple[Grower, int | None, int]]:
    """What has been noted so far of growing lists, for `reset` when a loop inside is traced again."""
    return [(g, g.most, len(g.held)) for g in trace.growers]


def reset(noted: list[tuple[Grower, int | None, int]]) -> None:
    for grower, most, held in noted:
        grower.most = most
        del grower.held[held:]


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


__all__ = ["Grower", "ListError", "marks", "refusal", "reset", "turns_since"]
