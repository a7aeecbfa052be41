"""Lists that a loop only appends to.

While the body is traced, a `Collector` stands for the list. What an iteration appends becomes a row of arrays that the
loop carries; after the loop the list gets its elements, which read these rows. `outlining` finds the names: all the
body does with them is `name.append(...)`. Where an iteration may append nothing, or appends in a loop inside, the body
is traced again with a `growing.Grower` in the list's place. """
from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import LeakError
from reactant.frontends.arrays.reach import globals_of, reachable
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import GuardedStorage, PerhapsAgain, has_dynamic_steps, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.arrays.view_steps import row_steps
from reactant.frontends.control import container_aliasing, loop_identity, mutation_log
from reactant.frontends.control.branches import contents_tree
from reactant.frontends.control.carriers import Carrier
from reactant.frontends.control.demands import POPS, READS, AsRows, MoreUse, Noted, again_if
from reactant.frontends.control.list_places import Place, place_of
from reactant.frontends.control.list_refusals import refusal
from reactant.frontends.control.loop_carried import Slot, computes_from, held_before
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import Made, capture, with_leaves
from reactant.frontends.control.trees import ABSENT, CONTAINERS, MUTABLE, Held, Known, Node, Tree, originals
from reactant.frontends.control.trip_increments import counts, increments
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.frontends.values.array_lists import ArrayList
from reactant.frontends.values.collectors import MOST_COLLECTED, Collector, extend
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.list_builder import Grower
from reactant.frontends.values.repeated import is_repeated
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.frontends.control.branch import Branch



@dataclass
class Row:
    """One run-time part of what an iteration appends: where its rows are carried, and how elements are made of the
    result."""

    slot: Slot
    element: Callable[[int, ir.Value], Any] | None      # of the iteration and its row; None: a number, read when needed
    kind: str = ARRAY
    memory: Storage | None = None


@means("growth")
class Growth(Carrier):
    """The lists of one loop."""

    ag__internal = True

    def __init__(self, loop: LoopState, names: tuple[str, ...], exclusive: Set[str], read: tuple[str, ...] = ()):
        self.loop, self.exclusive = loop, set(exclusive)
        self.places: dict[str, Place] = {}      # of lists that are no variables
        self.lists: dict[str, Any] = {}
        self.known: set[int] = set()
        self.growers: dict[str, Grower] = {}
        self.lengths: dict[str, int | None] = {}        # of lists that elements are taken from
        self.iterations: dict[str, list[int] | None] = {}     # in which each element is appended, where that is known
        self.repeated: set[Any] = set()
        self.simple = type(loop.count) is int and not loop.flags     # every iteration is known to run
        cells = loop.variables.cells
        for name in (*names, *read):
            value = loop.variables.get(name) if name in cells else ABSENT
            if type(value) is Collector and (not self.simple or self.count > MOST_COLLECTED):
                raise Retrace(MoreUse(value))
            if type(value) in (list, deque, Collector, RunTimeList):
                self.lists[name] = value
        if self.lists:
            held = [c.cell_contents for n, c in cells.items() if loop.variables.get(n) is not ABSENT]
            self.known, _ = reachable(held)
            outside = [x for f in loop.functions for x in globals_of(f)]
            _, times = reachable([*held, *outside], everywhere=True)
            self.lists = {n: v for n, v in self.lists.items() if times[id(v)] == 1}
            for name, value in self.lists.items():
                if not self.simple or type(value) in (RunTimeList, deque) or name in read:
                    self.growers[name] = Grower(loop, name, value)
        self.collectors: dict[str, Collector] = {}
        self.trees: dict[str, list[Tree]] = {}
        # what is from before the loop, of elements of its first iteration
        self.firsts: dict[tuple[int, ...], Any] = {}
        self.rows: dict[str, list[list[Row | Any]]] = {}

    @property
    def count(self) -> int:
        return self.loop.count - self.loop.start

    @contextlib.contextmanager
    def standing_in(self) -> Iterator[None]:
        """While the test of a loop is traced in the block that decides."""
        try:
            for name, grower in self.growers.items():
                self.put(name, grower)
            yield
        finally:
            for name, value in self.lists.items():
                if name not in self.places:
                    self.put(name, value)

    def is_known(self) -> bool:
        """Whether what becomes of the lists follows from what is known now, so that Python can find out."""
        loop = self.loop
        mine = {s for g in self.growers.values() for s in (*g.rows, g.filled, g.head) if s is not None
                and g.use >= POPS}
        given = {s for g in self.growers.values() if all(isinstance(x, Known) for t in g.given for x in t.leaves())
                 for s in (*g.rows, g.filled, g.head) if s is not None}
        slots = [loop.storage_slots[s] for s in mine]
        starts = {loop.storage_slots[s] for s in given} | {
            s for s in loop.slots if ops.constant_value(s.init) is not None and s.after is not None}
        while starts:
            known = {s.body for s in starts}
            spread(loop.block, known)
            left = {s for s in starts if _is_known(s.after, known)}
            if left == starts:
                break
            starts = left
        return starts.issuperset(slots)

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """While the body is traced: each list's variable holds what collects."""
        active = current_trace().growers
        before, self.collectors = len(active), {}
        try:
            for name in self.lists:
                if name in self.growers:
                    self.growers[name].begin()
                    active.append(self.growers[name])
                    self.put(name, self.growers[name])
                else:
                    self.collectors[name] = Collector()
                    self.put(name, self.collectors[name])
            yield
            for grower in self.growers.values():
                grower.end()
            self.trees = {n: [capture(i) for i in c.items] for n, c in self.collectors.items()}
            self.collectors = {}
        finally:
            del active[before:]
            for name, value in self.lists.items():
                if name not in self.places:
                    self.put(name, value)

    # -- lists that are no variables

    def put(self, name: str, value: Any) -> None:
        if name in self.places:
            self.places[name].put(value)
        else:
            cell = self.loop.variables.cells[name]
            Place(cell, cell, None).put(value)

    def adopt(self, target: list) -> bool:
        """Let something stand for a list that is found in one place only, until `release`."""
        place = place_of(target, self.loop)
        if place is None:
            return False
        mutation_log.touch(place.owner)
        name = f"<list #{len(self.places)}>"
        self.lists[name], self.places[name] = place.get(), place
        self.growers[name] = Grower(self.loop, name, self.lists[name])
        self.exclusive.add(name)
        place.put(self.growers[name])
        self.loop.begin_again()
        return True

    def marks(self) -> list[tuple[Grower, int | None, int, int]]:
        """What has been noted so far of growing lists, for `reset` when a loop inside is traced again."""
        return [(g, g.most, len(g.held), len(g.passed)) for g in self.loop.trace.growers]

    def reset(self, noted: list[tuple[Grower, int | None, int, int]]) -> None:
        """An attempt has failed, or is to be made again."""
        for grower, most, held, passed in noted:
            grower.most = most
            del grower.held[held:], grower.passed[passed:]

    def take_over(self, demand: AsRows) -> None:
        if not self.adopt(demand.target):
            raise demand.error
        for held, key in demand.others:
            if type(held[key]) is list:
                self.adopt(held[key])

    def gives_more(self, demand: MoreUse) -> bool:
        """Whether one of these lists is used for more, which the next attempt knows."""
        name = next((n for n, x in {**self.growers, **self.collectors}.items() if x is demand.stand_in), None)
        if name is None:
            return False
        before = self.growers.get(name)
        if before is not None and before.use >= demand.use and before.more():
            return True
        self.growers[name] = Grower(self.loop, name, self.lists[name], demand.use, before)
        if name in self.places:
            self.places[name].put(self.growers[name])
            self.loop.begin_again()
        return True

    def release(self) -> None:
        for name, place in self.places.items():
            if type(place.get()) is Grower:
                place.put(self.lists[name])
        vars(self).clear()      # as of the loop

    def adopt_grown(self, branch: Branch) -> bool:
        """Whether the body appended to lists that are no variables, which it now has to be traced again for."""
        older = reachable(held_before(self.loop))[0]
        found = False
        for change, after in branch.objects:
            grew = type(change.container) is list and isinstance(after, Node) \
                and len(after.original) != len(change.before)
            if grew and id(change.container) in older:
                found |= self.adopt(change.container)
        return found

    def require_inside(self, branch: Branch) -> None:
        """What stands for a list is in its one place after the iteration."""
        if not self.growers:
            return
        pairs = [(self.loop.entries.get(n, ABSENT), after) for n, after in branch.states.items()]
        for change, after in branch.objects:
            with contextlib.suppress(LeakError):        # made in the iteration: others would hold it
                pairs.append((contents_tree(change.before), after))
        for before, after in pairs:
            if _mentions(after, self.growers) > _mentions(before, self.growers):
                raise refusal("renamed")

    # -- lists that grow under conditions

    def more(self) -> bool:
        """Whether the body has to be traced again, with other memories."""
        return any([grower.more() for grower in self.growers.values()])

    def settle(self, branch: Branch) -> None:
        """Find out how many elements there are after the loop, where that is known, so that there are as many rows."""
        loop = self.loop
        for name, grower in self.growers.items():
            if grower.filled is None:       # nothing is ever appended
                continue
            for root in {root for root, _ in grower.held} | {*grower.shown} | grower.outside():
                self.require_unwritten(branch, root)
            self.iterations[name] = None
            before = loop.storage_slots[grower.filled].body
            after = branch.written.get(grower.filled, before)
            iterations = self.known_iterations() if type(self.lists[name]) is not RunTimeList else None
            if iterations is not None and grower.use >= POPS:
                found = counts(loop.counter.body, iterations, before, after, len(grower.given))
                self.lengths[name] = None if found is None else int(found[-1])
                if (self.lengths[name] or 0) > grower.capacity:      # more than `list_capacity`
                    grower.make(self.lengths[name])
                    raise Retrace(Noted())
            elif iterations is not None:
                steps = self.appended(grower, iterations, before, after)
                if steps is not None:
                    self.iterations[name] = np.repeat(iterations, steps).tolist()
                    again_if(grower.shrink(int(steps.sum())))
                    continue
            if name not in self.exclusive and self.lengths.get(name) is None:
                raise refusal("seen")
            grower.require_memory()

    def appended(self, grower: Grower, iterations: np.ndarray, before: ir.Value, after: ir.Value) -> np.ndarray | None:
        """How many elements each iteration appends, where that is known."""
        if grower.use < READS:
            return increments(self.loop.counter.body, iterations, before, after)
        # it may decide something
        found = counts(self.loop.counter.body, iterations, before, after, len(grower.given))
        return None if found is None else np.diff(found)

    def known_iterations(self) -> np.ndarray | None:
        """The indices that the loop runs through, where they do not depend on run-time values."""
        loop = self.loop
        if type(loop.count) is not int:
            return None
        iterations = np.arange(loop.start, loop.count)
        for flag in loop.flags:
            slots = loop.carried[flag].slots if flag in loop.carried else []
            if isinstance(loop.entries.get(flag), Held):
                return None
            if slots and slots[0] is not None and slots[0].after is not None:
                ends = increments(loop.counter.body, iterations, slots[0].body, slots[0].after)
                if ends is None:
                    return None
                iterations = iterations[:np.argmax(ends) + 1] if ends.any() else iterations
        return iterations

    def has_run_time_lengths(self) -> bool:
        """Whether it is known only at run time how long a list gets: then its loop is not unrolled."""
        return any(iterations is None and self.lengths.get(name) is None
                   for name, iterations in self.iterations.items())

    def require_unwritten(self, branch: Branch, root: Any) -> None:
        """Elements that are arrays which others hold, too, can be told apart as long as nobody writes into them."""
        loop = self.loop
        variable = loop.arrays.starts.get(root)
        if variable is not None:
            bad = variable in loop.arrays.in_place or not isinstance(loop.entries[variable], Held)
        elif branch.preexisting(root):
            slot = loop.storage_slots.get(root)
            bad = slot is not None and branch.written.get(root, slot.body) != slot.body
        else:
            bad = bool({n for n, ends in loop.arrays.ends.items() if root in ends} & loop.arrays.in_place)
        if bad:
            raise refusal("written later")

    def sources(self, root: Any, iteration: int | None) -> list[Any]:
        """After the loop: the arrays that may be the same as an element that was appended in `iteration` (None: in
        any)."""
        loop = self.loop
        variable = loop.arrays.starts.get(root)
        if variable is not None:
            return self.sources_of_start(variable, iteration)
        if self.branch.preexisting(root):
            return [root]
        holders = {n for n, ends in loop.arrays.ends.items() if root in ends}
        last = iteration is None or iteration == loop.count - 1 or bool(loop.flags)
        held = [t for t in map(loop.variables.get, holders if last else ()) if is_tensor(t) and t.kind == ARRAY]
        return [*self.still_held(holders), *(r for t in held for r in roots_of(t.storage))]

    def sources_of_start(self, variable: str, iteration: int | None) -> list[Any]:
        """`sources` of the array that a variable begins an iteration with: what it is before the loop, then what
        variables were bound to at the end of the iteration before."""
        arrays, found = self.loop.arrays, []
        if iteration in (None, self.loop.start):
            found += arrays.entry_storages(variable)
        if iteration != self.loop.start:
            names, outside = arrays.origins(variable)
            found += [*outside, *(s for name in arrays.passed_on(variable) for s in arrays.entry_storages(name))]
            made = {root for name in names for root in arrays.ends[name]}
            found += self.still_held({variable, *(name for name, ends in arrays.ends.items() if ends & made)})
        return found

    def finish_grown(self) -> None:
        for name, grower in self.growers.items():
            if grower.filled is None:
                continue
            target, iterations = self.lists[name], self.iterations[name]

            def also(iteration: int | None, grower: Grower = grower) -> list[Storage]:
                roots = [*(root for root, _ in grower.held), *grower.shown, *grower.outside()]
                return [s for root in roots for s in self.sources(root, iteration)]

            def guarded(iteration: int | None, name: str = name) -> Callable[[ir.Value], Tensor] | None:
                found = also(iteration)      # noqa: B023
                return (lambda value: _guarded(name, found, value)) if found else None
            if (length := self.lengths.get(name)) is not None:
                grower.straighten()
                mutation_log.touch(target)
                target.clear()
                extend(target, [grower.element(k, guarded(None)) for k in range(length)])
            elif iterations is None:
                container_aliasing.about_to_change(target)
                made = RunTimeList.of(target, grower, guarded(None))
                made.watch(also(None), name)
                self.put(name, made)
            else:
                extend(target, [grower.element(len(grower.given) + k, guarded(iteration))
                                for k, iteration in enumerate(iterations)])

    # -- rows

    def carry(self, branch: Branch) -> None:
        """Add what is appended to what the loop carries."""
        self.branch = branch
        self.settle(branch)
        self.repeated, self.firsts = self.in_two_places(), {}
        for name, trees in self.trees.items():
            for tree in trees:
                if not self.is_handed_on(tree):
                    self.require_fresh(tree)
            self.rows[name] = [[self.row(name, leaf) for leaf in tree.leaves()] for tree in trees]

    def in_two_places(self) -> set[Any]:
        """Arrays made in the loop that may be elements twice: appended twice in an iteration, or in two iterations
        since a variable keeps them."""
        arrays = self.loop.arrays
        times = Counter(root for trees in self.trees.values() for tree in trees for leaf in tree.leaves()
                        if leaf.array is not None for root in roots_of(leaf.tensor.storage)
                        if root in arrays.starts or not self.branch.preexisting(root))
        found = {root for root, number in times.items() if number > 1}
        for start in times.keys() & arrays.starts.keys():
            names, _ = arrays.origins(arrays.starts[start])
            if kept := {root for name in names for root in arrays.ends[name] if root in times} - {start}:
                found |= {start, *kept}
        return found

    def require_fresh(self, tree: Tree) -> None:
        if isinstance(tree, Node):
            if tree.kind == "maybe" or tree.kind != "tuple" and id(tree.original) in self.known:
                raise refusal("seen object")
            if tree.kind in CONTAINERS and (container_aliasing.is_linked(tree.original) or self.begun_with(tree)):
                raise refusal("held object")
            for child in tree.children:
                self.require_fresh(child)

    def begun_with(self, tree: Tree) -> list[str]:
        """The variables that hold this, or a container of which it is a part, when an iteration begins: it may be an
        element of an iteration before, too."""
        parts = list(tree.leaves())
        if not parts or not all(isinstance(leaf, Held) for leaf in parts):
            return []
        values = [leaf.value for leaf in parts]
        return [name for name, c in self.loop.carried.items()
                if values in loop_identity.begun_with(c.entry, iter(c.slots))]

    def is_handed_on(self, tree: Tree) -> bool:
        """Whether an element is what a variable holds when an iteration begins, and each iteration binds the variable
        to another one, which nothing else holds at its end: then it is an element of one iteration only. `firsts` gets
        the first."""
        if tree.kind not in MUTABLE:
            return False
        names, elements = self.begun_with(tree), [t for trees in self.trees.values() for t in trees]
        entry = self.loop.carried[names[0]].entry if len(names) == 1 else None
        if not isinstance(entry, Node) or any(isinstance(child, Node) for child in tree.children) \
                or sum(names == self.begun_with(other) for other in elements) > 1:
            return False
        after = self.branch.states.get(names[0], ABSENT)
        if after.kind != tree.kind or container_aliasing.is_linked(after.original) \
                or id(after.original) in self.known:
            return False
        held = Counter(id(x) for t in (*self.branch.states.values(), *elements) for x in originals(t))
        if held[id(after.original)] > 1 or held[id(tree.original)] > 1:
            return False
        self.firsts[id(tree.original),] = entry.original
        return True

    def row(self, name: str, leaf: Tree) -> Row | Any:
        """How the elements of this part are made; a known value is the same in every iteration."""
        if isinstance(leaf, Known):
            if type(leaf.value) is ArrayList:
                raise refusal("written list")
            if not is_repeated(leaf.value, self.loop):
                raise refusal("made anew")
            return leaf.value
        if not isinstance(leaf, Held):
            raise refusal("no value")
        tensor = leaf.tensor
        if tensor.kind != ARRAY:
            return Row(self.carried(leaf.value), None, tensor.kind)
        roots = roots_of(tensor.storage)
        if len(roots) == 1 and not roots & self.repeated:
            root = next(iter(roots))
            if root in self.loop.arrays.starts:
                return self.start_row(name, leaf, self.loop.arrays.starts[root])
            if self.branch.preexisting(root):
                return self.outer_row(name, leaf, root)
        return self.made_row(name, leaf, roots)

    def start_row(self, name: str, leaf: Held, variable: str) -> Row:
        """The array that a variable begins the iteration with: in the first one, the array from before the loop."""
        entry = self.loop.entries[variable]
        if variable in self.loop.arrays.in_place or not isinstance(entry, Held) or has_dynamic_steps(leaf.tensor):
            raise refusal("written later")
        first = entry.tensor if not leaf.tensor.steps else None

        def element(k: int, value: ir.Value) -> Tensor:
            if k == 0 and first is not None:
                return first
            return _guarded(name, self.sources_of_start(variable, self.loop.start + k), value)
        return Row(self.carried(leaf.value), element)

    def outer_row(self, name: str, leaf: Held, root: Any) -> Row | Any:
        """An array from before the loop, or a part of it that depends on the iteration."""
        if not has_dynamic_steps(leaf.tensor):
            return leaf.tensor
        slot = self.loop.storage_slots.get(root)
        if slot is not None and self.branch.written.get(root, slot.body) != slot.body:
            raise refusal("written parts")
        return Row(self.carried(leaf.value), lambda k, v: _guarded(name, [root], v))

    def made_row(self, name: str, leaf: Held, roots: set[Any]) -> Row:
        """An array made in the iteration, one of several, or one that is an element in two places. Where a variable is
        bound to it at the end, it is the last iteration's element, too."""
        for root in roots:
            self.require_unwritten(self.branch, root)
        once = self.loop.arrays.is_made(leaf.tensor.storage) and not roots & self.repeated

        def element(k: int, value: ir.Value) -> Tensor:
            if k == self.count - 1 and (last := self.held_at_end(leaf)) is not None:
                return last
            sources = [s for root in roots for s in self.sources(root, self.loop.start + k)]
            return _guarded(name, sources, value) if once else Tensor(PerhapsAgain(name, sources, value))
        return Row(self.carried(leaf.value), element)

    def held_at_end(self, leaf: Held) -> Tensor | None:
        """What the last iteration appended, where a variable is bound to the whole array that it is, or is a part
        of."""
        tensor = leaf.tensor
        for name, ends in self.loop.arrays.end_tensors.items():
            held = self.loop.variables.get(name)
            if len(ends) == 1 and ends[0].storage is tensor.storage and not ends[0].steps and is_tensor(held) \
                    and held.kind == ARRAY and not held.steps and not has_dynamic_steps(tensor):
                return _seen_through(held, tensor)
        left = self.loop.arrays.left.get(tensor.storage)        # by a list, dict or object
        return None if left is None or has_dynamic_steps(tensor) else _seen_through(left, tensor)

    def still_held(self, names: set[str]) -> list[Any]:
        """The arrays of variables that may, after the loop, be bound to what one of `names` was bound to in an
        iteration."""
        found: list[Storage] = []
        arrays = self.loop.arrays
        for name in arrays.ends:
            held = self.loop.variables.get(name)
            if arrays.passed_on(name) & names and is_tensor(held) and held.kind == ARRAY:
                found += roots_of(held.storage)
        return found

    def carried(self, value: ir.Value) -> Slot:
        """A slot of as many rows as there are iterations, of which each iteration writes its own."""
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

    def finish(self, last: Made) -> None:
        """`last`: the containers that the last iteration has left."""
        iterations = [last if k == self.count - 1 else Made() for k in range(self.count)] if self.rows else []
        if iterations:
            iterations[0].found.update(self.firsts)
        for name, rows in self.rows.items():
            elements = [with_leaves(tree, iter([self.made(row, k) for row in parts]), made=made)
                        for k, made in enumerate(iterations)
                        for tree, parts in zip(self.trees[name], rows, strict=True)]
            extend(self.lists[name], elements)
        self.finish_grown()

    def made(self, row: Row | Any, k: int) -> Any:
        if type(row) is not Row:
            return row
        whole = row.slot.result
        if row.element is None:
            row.memory = row.memory or Storage(shape_of(whole), dtype_of(whole), whole)
            return Tensor(row.memory, row_steps(row.memory.shape, k), kind=row.kind)
        shape = list(shape_of(whole))
        low, high = [0] * len(shape), shape[:]
        low[0], high[0] = k, k + 1
        return row.element(k, ops.reshape(ops.slice(whole, low, high), shape[1:]))


def _seen_through(whole: Tensor, view: Tensor) -> Tensor:
    """The part of an array that a view shows of another one."""
    for step in view.steps:
        whole = whole.view(step)
    return whole


def _is_known(value: ir.Value, known: set[ir.Value]) -> bool:
    return value in known or ops.constant_value(value) is not None


def spread(block: ir.Block, known: set[ir.Value]) -> None:
    """Add the values in a block that are computed from nothing but `known` ones."""
    for op in block.operations:
        if op.name != "stablehlo.if" or not _is_known(op.operands[0], known):
            computes_from(op, known)
            continue
        ends = []
        for region in op.regions:
            inside = set(known)
            spread(region.blocks[0], inside)
            *_, last = region.blocks[0].operations
            ends.append([_is_known(value, inside) for value in last.operands])
        known.update(r for r, *sides in zip(op.results, *ends, strict=True) if all(sides))


def _mentions(tree: Tree, growers: dict[str, Grower]) -> int:
    return sum(isinstance(leaf, Known) and any(leaf.value is g for g in growers.values()) for leaf in tree.leaves())


def _guarded(name: str, sources: list, value: ir.Value) -> Tensor:
    """An array that may be one of `sources`."""
    return Tensor(GuardedStorage(name, sources, value)) if sources else Tensor.of_value(value)
