"""Lists that a loop only appends to, the same number of elements in every turn.

While the body is traced, a `Collector` stands for the list. What a turn appends becomes a row of arrays that the loop
carries; after the loop the list gets its elements, which read these rows. `outlining` finds the names: all the body
does with them is `name.append(...)`.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends import effects
from reactant.frontends.aliases import GuardedStorage, globals_of, has_dynamic_steps, reachable, roots_of
from reactant.frontends.carried import Slot, leaves, with_leaves
from reactant.frontends.numpy.tensor import ARRAY, Tensor
from reactant.frontends.state import ABSENT, Held, Known, Node, Tree, capture
from reactant.frontends.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

if TYPE_CHECKING:
    from reactant.frontends.branches import Branch
    from reactant.frontends.loops import Loop


class Collector:
    """A list that can only be appended to, in the region it belongs to."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.region = current_trace().region

    def append(self, item: Any) -> None:
        if current_trace().region is not self.region:
            raise _refusal("in a branch that is decided at run time")
        self.items.append(item)


def _refusal(why: str) -> ControlFlowError:
    return ControlFlowError(f"A list grows {why}, inside a loop that runs inside compiled code. Store into an array "
                            f"that is made before the loop: out = np.zeros(n); out[i] = ...")


@dataclass
class Row:
    """One run-time part of what a turn appends: where its rows are carried, and how elements are made of the result."""

    slot: Slot
    element: Callable[[int, ir.Value], Any]


class Growth:
    """The lists of one loop."""

    def __init__(self, loop: Loop, names: tuple[str, ...]):
        self.loop = loop
        self.lists: dict[str, Any] = {}
        self.known: set[int] = set()
        cells = loop.variables.cells
        for name in names if type(loop.count) is int and not loop.flags else ():
            value = loop.variables.get(name) if name in cells else ABSENT
            if type(value) in (list, Collector):
                self.lists[name] = value
        if self.lists:
            held = [c.cell_contents for n, c in cells.items() if loop.variables.get(n) is not ABSENT]
            self.known, _ = reachable(held)
            outside = [x for f in loop.functions for x in globals_of(f)]
            _, times = reachable([*held, *outside], everywhere=True)
            self.lists = {n: v for n, v in self.lists.items() if times[id(v)] == 1}
        self.collectors: dict[str, Collector] = {}
        self.trees: dict[str, list[Tree]] = {}
        self.rows: dict[str, list[list[Row | Any]]] = {}

    @property
    def count(self) -> int:
        return self.loop.count - self.loop.start

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """While the body is traced: each list's variable holds a collector."""
        cells = self.loop.variables.cells
        try:
            for name in self.lists:
                cells[name].cell_contents = self.collectors[name] = Collector()
            yield
            self.trees = {n: [capture(i) for i in c.items] for n, c in self.collectors.items()}
        finally:
            for name, value in self.lists.items():
                cells[name].cell_contents = value

    # -- rows

    def carry(self, branch: Branch) -> None:
        """Add what is appended to what the loop carries."""
        self.branch = branch
        arrays = [r for trees in self.trees.values() for t in trees for leaf in leaves(t)
                  if type(leaf) is Held and leaf.tensor.kind == ARRAY for r in roots_of(leaf.tensor.storage)
                  if not branch.preexisting(r) and r not in self.loop.arrays.starts]
        if len(arrays) != len(set(arrays)):
            raise _refusal("by the same array in two places")
        for name, trees in self.trees.items():
            for tree in trees:
                self.require_fresh(tree)
            self.rows[name] = [[self.row(name, leaf) for leaf in leaves(tree)] for tree in trees]

    def require_fresh(self, tree: Tree) -> None:
        if type(tree) is Node:
            if tree.kind == "maybe" or tree.kind != "tuple" and id(tree.original) in self.known:
                raise _refusal("by an object that other code sees")
            for child in tree.children:
                self.require_fresh(child)

    def row(self, name: str, leaf: Tree) -> Row | Any:
        """How the elements of this part are made; a known value is the same in every turn."""
        if type(leaf) is Known:
            return leaf.value
        if type(leaf) is not Held:
            raise _refusal("by something that has no value on some paths")
        tensor = leaf.tensor
        if tensor.kind != ARRAY:
            return Row(self.carried(leaf.value), lambda k, v: Tensor.of_value(v, tensor.kind))
        roots = roots_of(tensor.storage)
        if len(roots) != 1:
            raise _refusal("by one of several arrays")
        root = next(iter(roots))
        if root in self.loop.arrays.starts:
            return self.start_row(name, leaf, self.loop.arrays.starts[root])
        if self.branch.preexisting(root):
            return self.outer_row(name, leaf, root)
        return self.fresh_row(name, leaf, root)

    def start_row(self, name: str, leaf: Held, variable: str) -> Row:
        """The array that a variable begins the turn with: in the first one, the array from before the loop."""
        entry = self.loop.entries[variable]
        if variable in self.loop.arrays.in_place or type(entry) is not Held or has_dynamic_steps(leaf.tensor):
            raise _refusal("by an array that is written in place later")
        first = entry.tensor if not leaf.tensor.steps else None
        before = list(roots_of(entry.tensor.storage))

        def element(k: int, value: ir.Value) -> Tensor:
            if k == 0 and first is not None:
                return first
            return _guarded(name, [*(before if k == 0 else ()), *self.still_held({variable})], value)
        return Row(self.carried(leaf.value), element)

    def outer_row(self, name: str, leaf: Held, root: Any) -> Row | Any:
        """An array from before the loop, or a part of it that depends on the turn."""
        if not has_dynamic_steps(leaf.tensor):
            return leaf.tensor
        slot = self.loop.storage_slots.get(root)
        if slot is not None and self.branch.written.get(root, slot.body) != slot.body:
            raise _refusal("by parts of an array that the loop writes")
        return Row(self.carried(leaf.value), lambda k, v: _guarded(name, [root], v))

    def fresh_row(self, name: str, leaf: Held, root: Any) -> Row:
        """An array made in the turn. Where a variable is bound to it at the end, it is the last turn's element, too."""
        holders = [n for n, ends in self.loop.arrays.ends.items() if root in ends]
        if set(holders) & self.loop.arrays.in_place:
            raise _refusal("by an array that is written in place in the next iteration")

        def element(k: int, value: ir.Value) -> Tensor:
            if k < self.count - 1:
                return _guarded(name, self.still_held(set(holders)), value)
            held = [t for t in map(self.loop.variables.get, holders) if type(t) is Tensor and t.kind == ARRAY]
            for t in held:
                if not t.steps and t.shape == root.shape and not has_dynamic_steps(leaf.tensor):
                    for step in leaf.tensor.steps:
                        t = t.view(step)
                    return t
            return _guarded(name, [r for t in held for r in roots_of(t.storage)], value)
        return Row(self.carried(leaf.value), element)

    def still_held(self, names: set[str]) -> list[Any]:
        """The arrays of variables that may, after the loop, be bound to what one of `names` was bound to in a turn."""
        ends, starts = self.loop.arrays.ends, self.loop.arrays.starts
        found = []
        for name in ends:
            seen: set[str] = set()
            waiting = [starts[r] for r in ends[name] if r in starts]
            while waiting:
                current = waiting.pop()
                if current not in seen:
                    seen.add(current)
                    waiting += [starts[r] for r in ends[current] if r in starts]
            held = self.loop.variables.get(name)
            if seen & names and type(held) is Tensor and held.kind == ARRAY:
                found += roots_of(held.storage)
        return found

    def carried(self, value: ir.Value) -> Slot:
        """A slot of as many rows as there are turns, of which each turn writes its own."""
        loop, shape = self.loop, shape_of(value)
        with ir.InsertionPoint(loop.outer):
            init = ops.constant(0, dtype_of(value), (self.count, *shape))
        slot = loop.slot(init)
        with ir.InsertionPoint(loop.block):
            zero = ops.constant(0, np.int64)
            at = ops.subtract(loop.counter.body, loop.start) if loop.start else loop.counter.body
            row = ops.reshape(value, (1, *shape))
            slot.after = ops.dynamic_update_slice(slot.body, row, [at, *[zero] * len(shape)])
        return slot

    # -- after the loop

    def finish(self) -> None:
        for name, rows in self.rows.items():
            elements = [with_leaves(tree, iter([self.made(row, k) for row in parts]))
                        for k in range(self.count) for tree, parts in zip(self.trees[name], rows, strict=True)]
            target = self.lists[name]
            if type(target) is Collector:
                for e in elements:
                    target.append(e)
            else:
                effects.touch(target)
                target.extend(elements)

    def made(self, row: Row | Any, k: int) -> Any:
        if type(row) is not Row:
            return row
        whole = row.slot.result
        shape = list(shape_of(whole))
        low, high = [0] * len(shape), shape[:]
        low[0], high[0] = k, k + 1
        return row.element(k, ops.reshape(ops.slice(whole, low, high), shape[1:]))


def _guarded(name: str, sources: list, value: ir.Value) -> Tensor:
    """An array that may be one of `sources`."""
    return Tensor(GuardedStorage(name, sources, value)) if sources else Tensor.of_value(value)
