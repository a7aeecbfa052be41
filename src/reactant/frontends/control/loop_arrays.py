"""Which arrays a loop's variables are bound to, from one iteration to the next and after the loop.

A variable that the body binds anew is carried by value, as a copy of whatever it was bound to. NumPy's name points to
memory: that differs where one of the arrays it may be is written while another name can see it. `check` refuses those,
but for names that pass their arrays around (`carried_permutations`).
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.reach import is_owned, look
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import (
    ChosenStorage,
    GuardedStorage,
    MovedTogether,
    Picked,
    ViewStorage,
    as_storage,
    may_be_one,
    roots_of,
)
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.arrays.view_steps import DynamicSliceStep
from reactant.frontends.control import carried_permutations, rebinding
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.carried_permutations import Rotation
from reactant.frontends.control.demands import Noted, Peel
from reactant.frontends.control.loop_carried import Carried, Slot, if_defined, is_held_once, is_in_one_place
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.rebinding import Departure
from reactant.frontends.control.snapshots import kind_of
from reactant.frontends.control.trees import Held, Known, Tree
from reactant.frontends.session.heap import Heap
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.source.operators import VALUE
from reactant.ir import ops
from reactant.ir.types import dtype_of


def written_in_place(loop: LoopState, start: Tensor, slot: Slot) -> bool:
    """Whether the array a variable begins an iteration with has other content at its end. (Loops and branches inside
    that only may write it put back what it was.)"""
    return start.storage in loop.given or start.storage.version > 0 and start.storage.value != slot.body


def begun_around(loop: LoopState, heap: Callable[[], Heap]) -> dict[str, Storage]:
    """The arrays of variables that the loop around began its iteration with, and that nobody else refers to."""
    found: dict[str, Storage] = {}
    for around in loop.trace.loops[-1:]:
        begun = [id(o) for c in around.carried.values() for o in c.objects]
        for name, owned in loop.owned.items():
            # what it carries and the snapshot of its variables refer to such an array
            if not owned and is_owned(cell := loop.variables.cells.get(name), heap, records=2) and cell is not None \
                    and begun.count(id(cell.cell_contents)) == 1:
                found[name] = cell.cell_contents.storage
    return found


def same_memory(value: object, branch: Branch) -> bool:
    """Whether an array that a variable is bound to as before, perhaps by an equal view, is written in the body."""
    return is_tensor(value) and value.kind == ARRAY and not roots_of(value.storage).isdisjoint(branch.written)


def chosen_array(condition: ir.Value | bool, first: Tensor, second: Tensor, value: ir.Value | None = None) -> Tensor:
    """The array that is `first` where the condition holds at run time; `value`: its content, where that is known."""
    if condition is False or first.storage is second.storage and first.steps == second.steps:
        return second
    content = ops.select(condition, first.value(), second.value()) if value is None else value
    same_layout = first.strides_ == second.strides_
    return Tensor(ChosenStorage(condition, as_storage(first), as_storage(second), content),
                  strides=first.strides_ if same_layout else None)


def by_value(tree: Tree, carried: Carried) -> list[Tensor]:
    """The arrays of a variable that are carried by value; what is in the other places of a container stays there."""
    found = list(tree.leaves())
    whole = carried.late is not None or len(found) != len(carried.kinds)
    return [leaf.array for leaf, kind in zip(found, [None] * len(found) if whole else carried.kinds, strict=True)
            if leaf.array is not None and (whole or kind is not None)]


class View:
    """A part of an array from outside of the loop, or one of several, as the iteration said that bound a name to it."""

    def __init__(self, arrays: LoopArrays, tensor: Tensor, defined: Tree):
        self.loop, self.arrays, self.tensor, self.defined = arrays.loop, arrays, tensor, defined
        self.slots: dict[ir.Value, Slot] = {}
        self.carry(tensor)

    def carry(self, tensor: Tensor) -> None:
        """Carry the places and conditions."""
        for step in tensor.steps:
            for place in step.starts if isinstance(step, DynamicSliceStep) else ():
                if not isinstance(place, int):
                    self.slot(place)
        storage = tensor.storage
        if type(storage) is ViewStorage:
            self.carry(storage.tensor)
        elif type(storage) is ChosenStorage and not self.arrays.branch.preexisting(storage):
            self.slot(storage.predicate)
            self.carry(Tensor(storage.first))
            self.carry(Tensor(storage.second))

    def slot(self, value: ir.Value) -> None:
        if value in self.slots:
            return
        with ir.InsertionPoint(self.loop.outer):
            slot = self.slots[value] = self.loop.slot(ops.constant(0, dtype_of(value)))
        with ir.InsertionPoint(self.loop.block):
            slot.after = if_defined(self.defined, value, slot.body)

    def after(self, tensor: Tensor | None = None) -> Tensor:
        """What it is after the loop."""
        t = self.tensor if tensor is None else tensor
        steps = tuple(
            DynamicSliceStep(tuple(a if isinstance(a, int) else self.slots[a].result for a in step.starts), step.shape)
            if isinstance(step, DynamicSliceStep) else step for step in t.steps)
        return Tensor(self.memory(t.storage), steps, strides=t.strides_, dtype=t.dtype, writeable=t.writeable)

    def memory(self, storage: Storage) -> Storage:
        if type(storage) is ViewStorage:
            return as_storage(self.after(storage.tensor))
        if type(storage) is ChosenStorage and not self.arrays.branch.preexisting(storage):
            return ChosenStorage(self.slots[storage.predicate].result, self.memory(storage.first),
                                 self.memory(storage.second))
        return storage


class LoopArrays:
    """The arrays of one traced body: `starts` are those variables begin an iteration with, `ends` (by name) those they
    may be bound to at its end."""

    def __init__(self, loop: LoopState, branch: Branch):
        self.loop, self.branch = loop, branch
        self.starts: dict[Storage, str] = {}
        self.end_tensors: dict[str, list[Tensor]] = {}
        self.ends = self.bindings()
        self.shared: dict[int, Storage] = {}
        self.left: dict[Storage, Tensor] = {}       # what stands for those that the last iteration has surely left
        self.guarded: dict[str, GuardedStorage] = {}
        self.rotations: list[Rotation] = []
        self.departures: dict[tuple[str, int], Departure] = {}
        self.in_place: set[str] = set()
        self.views: dict[int, View] = {}
        pairs = [*self.overlaps()]
        self.paired = {n for pair in pairs for n in pair}
        self.overlapping = {n for pair in pairs if not self.identical(*pair) for n in pair}

    def check(self) -> None:
        """A variable that is bound anew is carried by value. That is only right where nothing is written into the
        array it was bound to while something else can see that array."""
        written = self.branch.written
        changed = {s for s, slot in self.loop.storage_slots.items() if written.get(s, slot.body) != slot.body}
        in_place = self.in_place = {name for name, c in self.loop.carried.items() if c.late is None
                    for o, kind, slot in zip(c.objects, c.kinds, c.slots, strict=False)
                    if kind is not None and is_tensor(o) and o.kind == ARRAY and written_in_place(self.loop, o, slot)}
        for name, roots in self.ends.items():
            if any(type(root) is Picked for root in roots):     # unrolled, it is known which one
                raise ControlFlowError(f"Which element of a list '{name}' is bound to after a loop is known only at "
                                       "run time.", hint="Bind it to a copy, or keep the number of the element.",
                                       code="one-of-several-arrays")
        shown = {other for name in self.starts.values() for other in self.origins(name)[0]
                 if self.entry_storages(other) & changed} - {VALUE}
        others = {other for name in self.starts.values() for other in self.origins(name)[0]
                  if name in in_place and not self.is_owned(other)} - {VALUE, *shown}
        seen = sorted(shown | others)   # where the function has returned before (VALUE), the loop does not run
        self.rotations = carried_permutations.find(self, seen) if seen else []
        if seen and not self.rotations and (shown or not all([self.is_given(other) for other in sorted(others)])):
            self.departures = rebinding.find(self, seen)
            if not self.departures:
                if not self.made_run_time_values(seen):
                    self.refuse(seen[0], Retrace(Peel(ControlFlowError(
                        f"'{seen[0]}' is bound to another array in a loop that runs inside compiled code, and the "
                        "array it was bound to before is written in place while others can see it.",
                        hint=f"Start from a copy: {seen[0]} = {seen[0]}.copy().", code="one-of-several-arrays"))))
                raise Retrace(Noted())
        for name in {*self.starts.values()}:
            _, outside = self.origins(name)
            if outside & changed or outside and name in in_place:
                self.refuse(name, ControlFlowError(f"'{name}' may be bound to an array from outside of the loop, and "
                                                   "that array is written in the loop.", hint="Bind it to a copy.",
                                                   code="one-of-several-arrays"))
                raise Retrace(Noted())
        for name, carried in self.loop.carried.items():
            if isinstance(carried.late, Held) and name != VALUE and any(
                    roots_of(t.storage) & changed for t in self.end_tensors[name] if not self.is_followed(t.storage)):
                raise ControlFlowError(f"'{name}' may be bound to one of several arrays in some iterations of a "
                                       "loop, and another iteration writes into them.", hint="Bind it to a copy.",
                                       code="one-of-several-arrays")
        for first, second in self.overlaps():
            if {first, second} & in_place:
                raise ControlFlowError(f"'{first}' and '{second}' may be bound to one array in a loop that runs "
                                       "inside compiled code, and it is written in place in a later iteration.",
                                       hint="Bind one of them to a copy.", code="one-of-several-arrays")

    def is_owned(self, name: str) -> bool:
        """Whether nothing else refers to the arrays that a variable, list, dict or object has before the loop."""
        loop, entry = self.loop, self.loop.entries[name]
        arrays = by_value(entry, loop.carried[name])
        if arrays and loop.demands.stand_ins.issuperset(array.storage for array in arrays):
            return True
        if name in loop.variables.containers and name not in loop.owned:
            heap = look()
            loop.owned[name] = all([is_held_once(array, heap) for array in arrays]) and all([
                is_in_one_place(inner, heap) for inner in entry.nodes() if inner is not entry])
        return loop.owned[name]

    def is_given(self, name: str) -> bool:
        """Whether nothing but the loop around refers to the array that a variable has before the loop: it is told that
        this array may have been written."""
        storage = self.loop.lent.get(name)
        if storage is not None:
            self.loop.owned[name] = True
            self.loop.trace.loops[-1].given.add(storage)
        return storage is not None

    def refuse(self, name: str, error: BaseException) -> None:
        """Raise `error`, unless it may be that no iteration reads what the variable is bound to before: then the body
        is traced again without that, and `error` raised where it is read."""
        loop = self.loop
        entry, after = loop.entries[name], self.branch.states.get(name)
        if name in loop.demands.unset or not isinstance(entry, Held) or not isinstance(after, Held) \
                or kind_of(entry) != kind_of(after):
            raise loop.demands.unset.get(name, error)
        loop.demands.unset[name] = error

    def is_followed(self, storage: Storage) -> bool:
        """Whether it consists of parts of arrays from outside of the loop."""
        if type(storage) is ViewStorage:
            return self.is_followed(storage.tensor.storage)
        if type(storage) is ChosenStorage and not self.branch.preexisting(storage):
            return storage.family is None and self.is_followed(storage.first) and self.is_followed(storage.second)
        return type(storage) in (Storage, ChosenStorage) and storage not in self.starts \
            and self.branch.preexisting(storage)

    def carry_views(self) -> None:
        """Carry where the parts of arrays from outside are that variables may be bound to after the loop."""
        for name, carried in self.loop.carried.items():
            tree = carried.entry if carried.late is not None else self.branch.states.get(name)
            for array in () if tree is None else tree.arrays():
                if self.is_followed(array.storage):
                    defined = Known(True) if carried.late is None else carried.late
                    self.views[id(array)] = View(self, array, defined)

    def made_run_time_values(self, names: Iterable[str]) -> bool:
        """Give up what is known of the variables' arrays: reading known contents goes unnoticed."""
        known = {s for name in names for s in self.entry_storages(name)
                 if type(s) is Storage and s.data is not None and not s.constant}
        for storage in known:
            storage.write(storage.read())
        return bool(known)

    def bindings(self) -> dict[str, set[Storage]]:
        """For each variable carried by value, the arrays it may be bound to after an iteration."""
        self.starts = {o.storage: name for name, c in self.loop.carried.items() if c.late is None
                       for o, kind in zip(c.objects, c.kinds, strict=False)
                       if kind is not None and is_tensor(o) and o.kind == ARRAY}
        ends: dict[str, set[Storage]] = {}
        for name, carried in self.loop.carried.items():
            if name in self.branch.states:
                self.end_tensors[name] = by_value(self.branch.states[name], carried)
            else:
                self.end_tensors[name] = [o for o in carried.objects if is_tensor(o) and o.kind == ARRAY]
            ends[name] = {root for t in self.end_tensors[name] for root in roots_of(t.storage)}
        return ends

    def origins(self, name: str) -> tuple[set[str], set[Storage]]:
        """Whose arrays from before the loop `name` may be bound to at the start of some iteration; and which arrays
        from outside, bound in the body."""
        names = {name, *self.passed_on(name)}
        return names, {root for each in names for root in self.ends[each]
                       if root not in self.starts and self.branch.preexisting(root)}

    def passed_on(self, name: str) -> set[str]:
        """The variables that, at the start of an iteration, may be bound to what `name` is bound to after it or
        later."""
        found: set[str] = set()
        waiting = [self.starts[r] for r in self.ends[name] if r in self.starts]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting += [self.starts[r] for r in self.ends[current] if r in self.starts]
        return found

    def entry_storages(self, name: str) -> set[Storage]:
        return {root for array in by_value(self.loop.entries[name], self.loop.carried[name])
                for root in roots_of(array.storage)}

    def overlaps(self) -> Iterator[tuple[str, str]]:
        """Pairs of variables that may be bound to one array after an iteration."""
        names = sorted(n for n, roots in self.ends.items() if roots)
        for position, first in enumerate(names):
            for second in names[position + 1:]:
                if any(may_be_one(a.storage, b.storage) for a in self.end_tensors[first]
                       for b in self.end_tensors[second]):
                    yield first, second

    def begun_as_one(self) -> Iterator[tuple[str, str]]:
        """Pairs of variables that iterations may have bound to what were two views of one array before the loop."""
        names = {name for name in self.starts.values() if self.entry_storages(name)}
        origins = {name: self.origins(name)[0] & names for name in names}
        for first, second in itertools.combinations(sorted(names), 2):
            if any(self.entry_storages(a) & self.entry_storages(b) for a in origins[first] for b in origins[second]
                   if a != b):
                yield first, second

    def identical(self, first: str, second: str) -> bool:
        """Whether two variables are always bound to one and the same whole array made in the body."""
        ends = {(id(t.storage), bool(t.steps), type(t.storage) is MovedTogether or self.is_made(t.storage))
                for n in (first, second) for t in self.end_tensors[n]}
        return len(ends) == 1 and ends.pop()[1:] == (False, True)

    def is_made(self, storage: Storage) -> bool:
        """Whether it is one array, or one of several that were made in the body."""
        roots = roots_of(storage)
        return len(roots) == 1 or not any(root in self.starts or self.branch.preexisting(root) for root in roots)

    def after(self, name: str, leaf: Tree, result: ir.Value) -> Tensor:
        """The array a variable was bound to by the last iteration: one from outside, one that some variable was bound
        to before that iteration, or one made in it (arrays that share memory go on sharing it)."""
        if not isinstance(leaf, Held):
            return Tensor.of_value(result)
        made = self.made_after(name, leaf.tensor, result)
        if self.loop.carried[name].bound is None and not leaf.tensor.steps:
            self.left.setdefault(leaf.tensor.storage, made)
        return made

    def made_after(self, name: str, tensor: Tensor, result: ir.Value) -> Tensor:
        if id(tensor) in self.views:
            return self.views[id(tensor)].after()
        roots = roots_of(tensor.storage)
        known = [root for root in roots if root in self.starts or self.branch.preexisting(root)]
        sources = [root for root in known if root not in self.starts]
        for root in known:
            if root in self.starts:
                names, outside = self.origins(self.starts[root])
                sources += [s for n in names if not self.loop.owned.get(n) for s in self.entry_storages(n)]
                sources += outside
        if name not in (self.paired if known else self.overlapping) and not sources:
            if tensor.steps:
                return Tensor.of_value(result)
            storage = self.shared.setdefault(id(tensor.storage), Storage(tensor.shape, tensor.dtype, value=result))
            storage.joined = True
            return Tensor(storage, strides=tensor.strides_)
        storage = self.guarded[name] = GuardedStorage(name, sources, result)
        return Tensor(storage, strides=tensor.strides_)
