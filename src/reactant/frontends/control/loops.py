"""Loops over run-time values: one `stablehlo.while` for a `while` or `for` whose body is traced once.

What the body changes is carried: the run-time parts of variables that are read again, arrays that are written in place
(by their storages, so that views stay views), the contents of changed objects, and the outcomes of run-time checks. The
body is traced again when a trace shows that more has to be carried, or that a number changes its type (`demands`). What
turns out not to change is taken out again.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Set
from types import FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends.arrays import value_facts
from reactant.frontends.arrays.reach import bind_directly, is_owned, look, may_be_written, reachable_storages
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import Stood, fewer_memories
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number, wrap
from reactant.frontends.control import (
    branches,
    carried_permutations,
    container_aliasing,
    definite_assignment,
    extent_recurrences,
    loop_arrays,
    loop_building,
    loop_conditions,
    loop_identity,
    loop_lists,
    loop_optional,
    loop_storages,
    sized_arrays,
)
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.carriers import Carrier
from reactant.frontends.control.demands import AsArray, AsRows, Demands, MoreUse, Noted, Peel, Unroll, again_if
from reactant.frontends.control.iteration import FAR
from reactant.frontends.control.joins import Branching, Broken, Keep, Leaf, Plan, unify
from reactant.frontends.control.loop_arrays import LoopArrays, chosen_array, same_memory, written_in_place
from reactant.frontends.control.loop_carried import (
    Carried,
    Slot,
    identities,
    is_unusable,
    may_be,
    mismatch,
    numeric_kind,
    operations_in,
    parts_of,
    truth_of,
    uses_only,
)
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import (
    Made,
    MaybeBound,
    Mismatch,
    Variables,
    capture,
    is_rows,
    joined,
    kind_of,
    value_of,
    with_leaves,
)
from reactant.frontends.control.trees import ABSENT, Held, Kind, Known, Tree, originals
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.retracing import AsItself, Retrace, Unmet, settle
from reactant.frontends.session.trace import Failure, Trace, current_trace
from reactant.frontends.source import source_map
from reactant.frontends.source.operators import UNSET, VALUE, Interrupted, handlers_out_of_reach
from reactant.ir import ops

ATTEMPTS = 24
"""Most times a loop body is traced before the loop is given up."""


class Loop(LoopState):
    """A loop being staged. `body(k)` runs one iteration. A `for` has a trip `count` (known or not) and begins at index
    `start`; a `while` has a `test()`, its outcome `first` before the loop, and `again(*flags)`: the test, unless one of
    the flags is set."""

    ag__internal = True

    def __init__(self, functions: Iterable[FunctionType | None], body: Callable[[Any], None], flags: tuple[str, ...],
                 live: tuple[str, ...], dead: tuple[str, ...], rebound: tuple[str, ...], *, count: Any = None,
                 test: Callable[[], Any] | None = None, first: Any = None,
                 again: Callable[..., Any] | None = None, start: int = 0, appended: tuple[str, ...] = (),
                 exclusive: Set[str] = frozenset(), read: tuple[str, ...] = ()):
        self.trace: Trace = current_trace()
        fewer_memories()
        self.outer = self.trace.region.block
        self.functions = [f for f in functions if f is not None]
        self.variables = Variables(self.functions, live, dead)
        bind_directly(self.variables.cells.values())
        self.body, self.flags, self.count, self.test, self.first = body, flags, count, test, first
        self.start, self.again = start, again
        self.count_value = loop_conditions.limit(self.trace, count) if is_tensor(count) else None
        cells = self.variables.cells
        heap = functools.cache(lambda: look(cells.values()))
        self.owned = {n: is_owned(cells.get(n), heap) for n in live}
        self.lent = loop_arrays.begun_around(self, heap)      # arrays that only the loop around knows, besides
        self.given: set[Storage] = set()                # loops inside may have written these in place
        self.rebound = rebound
        self.begin_again()
        reached = reachable_storages(self.functions)
        self.storages: list[Storage] = [s for s in reached if may_be_written(s)]
        self.expected = loop_storages.written_before(self, reached)
        self.storages += self.expected
        self.array_lists: dict[str, Any] = {}
        self.array_places: dict[str, Any] = {}
        self.test_in_body = self.needs_guard = False
        self.attempts = 0
        self.guard: Slot | None = None      # whether no check has failed in the iterations before
        self.operations = 0
        self.reject: Callable[[], bool] = lambda: False
        self.policy, self.unrolls = "", False
        # for values from earlier iterations; a loop that can be peeled has them from the first one
        self.waits = True
        self.lists: Carrier = meaning.array_lists(self)
        self.growth = meaning.growth(self, appended, exclusive, read)

    def begin_again(self) -> None:
        """What is known of the variables follows from their values before the loop alone."""
        self.before = self.variables.snapshot()
        self.entries = {n: loop_identity.entry(self, n, v) for n, v in self.before.items()}
        self.demands = Demands({n: self.first_kinds(n, n in self.rebound) for n in self.entries},
                               loop_lists.fresh(self), set(self.rebound))
        self.extents = sized_arrays.Extents()

    def first_kinds(self, name: str, rebound: bool) -> list[Kind | None]:
        """Numbers are run-time values from the start; arrays and containers where the body binds the name anew."""
        kinds: list[Kind | None] = []
        entry = self.entries[name]
        if name in self.flags:
            return [None]       # an iteration only begins while no flag is set
        for leaf in entry.leaves():
            kind = numeric_kind(leaf)
            by_object = kind is not None and (kind.kind == ARRAY or entry is not leaf) and not rebound
            kinds.append(None if by_object or kind is None else kind)
        return kinds

    # -- attempts

    def stage(self) -> ir.Value | None:
        """Trace until what is carried no longer changes, then build the op and set the variables. Returns the index
        that a `for` has come to."""
        trace, copies = self.trace, dict(self.trace.copies)
        try:
            settle(self.attempt, self.meets)
            return None if self.counter is None else self.counter.result
        except BaseException:
            trace.copies = copies       # it may be run in another way
            raise
        finally:
            self.growth.release()
            self.lists.release()
            vars(self).clear()      # who asks later who else holds a list or an array shall not count this

    def attempt(self) -> None:
        """Trace the body and build the op, or leave with what shows that this is to be done otherwise."""
        noted, scratch = self.growth.marks(), branches.scratch_blocks(2)
        try:
            self.trace_and_build(scratch)
        except BaseException:
            self.growth.reset(noted)
            self.variables.restore(self.before)
            raise
        finally:
            scratch.erase()

    def meets(self, found: BaseException) -> bool:
        """Whether another attempt may do better than the one that has left with this."""
        demand = found.demand if isinstance(found, (Retrace, Unmet)) else None
        if isinstance(demand, (AsRows, AsArray)):       # each is another list
            if demand.loop is self:
                (self.growth if type(demand) is AsRows else self.lists).take_over(demand)
            return demand.loop is self
        if type(demand) is not Noted and not (type(demand) is MoreUse and self.growth.gives_more(demand)):
            if self.expected and not isinstance(found, KeyboardInterrupt):
                loop_storages.expect_nothing(self)
            elif not (type(demand) is AsItself and loop_identity.keep(self, self.rebound)):
                return False
        self.attempts += 1
        if self.attempts == ATTEMPTS:
            raise ControlFlowError("The variables of this loop keep changing their types from one iteration to the "
                                   "next.", hint="Give each variable one type before the loop: total = 0.0, not 0.",
                                   code="loop-variable-changes-type")
        return True

    def trace_and_build(self, scratch: ir.Operation) -> None:
        """One attempt."""
        self.block = scratch.regions[0].blocks.append()
        self.slots: list[Slot] = []
        self.counter = None
        if self.count is not None:
            self.counter = self.slot(ops.constant(self.start, np.int64))
        with ir.InsertionPoint(self.outer):
            self.guard = self.slot(ops.constant(True)) if self.needs_guard else None
        self.carried = {n: Carried(self.entries[n], self.demands.kinds[n]) for n in self.variables.live}
        self.storage_slots = {s: self.slot(s.read()) for s in self.storages}
        self.presumed: list[tuple[Storage, Stood]] = []     # memories that must turn out not to be written
        try:
            branch = self.trace_body()
        except NameError as error:
            for loop in (self, *reversed(self.trace.loops)):
                if error.name in loop.demands.unset:
                    raise loop.demands.unset[error.name] from None
            if self.entries.get(error.name) is not ABSENT:
                raise
            if self.waits and error.name not in self.demands.awaited:
                self.demands.awaited.add(error.name)
                raise Retrace(Noted()) from None
            raise Retrace(Peel(ControlFlowError(f"'{error.name}' is read in a loop that runs inside compiled code "
                                                "before it is assigned there.", hint="Assign it before the loop.",
                                                code="unassigned-in-loop"))) from None
        if self.unrolls and any(isinstance(s := branch.states.get(f), Known) and s.value is True for f in self.flags):
            raise Retrace(Unroll())     # no iteration comes after the first
        kept = loop_identity.kept_after_all(self, branch)
        self.variables.restore(self.before)
        again_if(loop_identity.keep(self, kept))
        self.operations = operations_in(self.block)
        again_if(self.growth.more() or loop_storages.more(self, branch) or self.growth.adopt_grown(branch)
                 or self.more_objects(branch))
        self.growth.require_inside(branch)
        plans = self.advance(branch)
        again_if(loop_identity.more(self, branch, plans))
        self.arrays = LoopArrays(self, branch)
        self.arrays.check()
        followed = [*self.arrays.rotations, *self.arrays.departures.values()]
        if followed and self.test is not None and not self.test_in_body:
            self.test_in_body = True    # where what it reads is watched
            raise Retrace(Noted())
        for each in followed:
            each.carry(self)
        self.growth.carry(branch)
        self.arrays.carry_views()
        for storage, slot in self.storage_slots.items():
            slot.after = branch.written.get(storage, slot.body)
        for storage, stood in self.presumed:
            if self.storage_slots[storage].after != self.storage_slots[storage].body:
                raise stood.error()
        loop_conditions.guard(self, branch)
        checks = loop_conditions.checks(self, branch)
        if not loop_conditions.build(self, scratch, checks, loop_conditions.going(self, branch)):
            self.test_in_body = True
            raise Retrace(Noted())
        if self.reject():
            raise Retrace(Unroll())
        with source_map.location():
            loop_building.build(self, scratch)
        with container_aliasing.filled_later():
            self.finish(plans, branch, checks)

    def trace_body(self) -> Branch:
        """One iteration, traced; `touched` gets the arrays from before the loop that it reaches by other ways than the
        variables carried by value."""
        self.touched: set[Storage] = set()
        with contextlib.ExitStack() as stack:
            self.trace.loops.append(self)
            stack.callback(self.trace.loops.pop)
            def prepare() -> None:
                with container_aliasing.filled_later():
                    self.prepare()
                memories = [leaf.tensor.storage for n, carried in self.carried.items()
                            for leaf, kind in zip(carried.leaves(), carried.kinds, strict=False)
                            if kind is not None and kind.kind == ARRAY and isinstance(leaf, Held)]
                stack.enter_context(carried_permutations.watching(memories, self.touched))

            stack.enter_context(self.lists.standing_in())
            try:
                return branches.run(self.block, self.iteration, self.variables, self.before, prepare)
            except Interrupted:
                raise handlers_out_of_reach() from None

    def slot(self, init: ir.Value) -> Slot:
        made = Slot(init, self.block.add_argument(init.type, ir.Location.current))
        self.slots.append(made)
        return made

    def prepare(self) -> None:
        """Give variables and storages the values they have at the start of an iteration."""
        for storage, slot in self.storage_slots.items():
            Storage.write(storage, slot.body)
        for flag in self.flags:
            self.variables.set(flag, False)
        self.extents.shared = []
        extent_recurrences.begin_iteration(self)
        for name, carried in self.carried.items():
            carried.slots, carried.objects = [], []
            if name in self.demands.unset:
                self.variables.set(name, ABSENT)
            elif name in self.demands.awaited and carried.entry is ABSENT:
                self.variables.set(name, MaybeBound(name, False, ABSENT))
            if name in self.demands.unset or carried.entry is ABSENT or all(k is None for k in carried.kinds):
                if name in self.demands.fresh:
                    self.variables.set(name, [])
                continue
            for position, (leaf, kind) in enumerate(zip(carried.leaves(), carried.kinds, strict=True)):
                if kind is None:
                    carried.slots.append(None)
                    carried.objects.append(leaf.object)
                    continue
                slot = self.extents.slot(self, name, position, self.initial(leaf, kind))
                carried.slots.append(slot)
                carried.objects.append(self.at_start(name, position, leaf, kind, slot.body))
            carried.same = loop_identity.unchanged(self, name)
            value = with_leaves(carried.entry, iter(carried.objects), carried.same)
            may_be(value, carried.entry, self.demands.later.get(name), self.carried)
            carried.known = list(identities(carried.entry, value))
            self.variables.set(name, value)

    def initial(self, leaf: Tree, kind: Kind) -> ir.Value:
        """The leaf before the loop, built outside of it."""
        with ir.InsertionPoint(self.outer):
            return value_of(leaf, kind)

    def at_start(self, name: str, position: int, leaf: Tree, kind: Kind, value: ir.Value) -> Tensor:
        strides = leaf.tensor.strides_ if isinstance(leaf, Held) and kind.kind == ARRAY else None
        return Tensor.of_value(value, kind.kind, strides, interval=self.assumed(name, position, kind))

    def assumed(self, name: str, position: int, kind: Kind) -> tuple[int, int] | None:
        """Integer bounds assumed for a carried number: what only grows stays above where it began."""
        way = self.demands.ways.get((name, position), "up")
        if kind.kind != PYTHON or kind.dtype.kind != "i" or kind.interval is None or way == "any":
            return None
        low, high = kind.interval
        return (low, FAR) if way == "up" else (-FAR, high)

    def iteration(self) -> Any:
        """One iteration; with the test in the body, whether another one follows. What it raises, whatever the values
        are, it raises only in a run that comes to it."""
        self.body_region = self.trace.region
        body = self.body if self.expected or self.trace.attempts else branches.failing_at_run_time(
            self.body, unbound_names=False)     # which earlier iterations may bind
        with self.growth.collecting():
            if self.counter is not None:
                top = self.count - 1 if type(self.count) is int else FAR
                iteration = self.start, max(top, self.start)
                with value_facts.between(self.counter.body, iteration):
                    body(python_number(self.counter.body, iteration))
                    extent_recurrences.end_iteration(self)
                return ABSENT
            body(None)
            return self.again(*[self.variables.get(f) for f in self.flags]) if self.test_in_body else ABSENT  # type: ignore[misc]  # given with it

    # -- what is carried

    def more_objects(self, branch: Branch) -> bool:
        """Lists, dicts, objects and outer variables that the body changed become variables of the loop."""
        inside = {id(o) for tree in branch.states.values() for o in originals(tree)}
        inside |= branches.dropped(branch)
        if inside and branch.objects:       # what was there before is not new for being bound to another name
            inside -= loop_identity.outside(self).union(*(map(id, originals(e)) for e in self.entries.values()))
        found = False
        for change, after in branch.objects:
            # a container that the body made, or that began the iteration as a variable, may hold what only the body has
            if id(change.container) in inside or branches.holds_from(change.before, (branch.region,)) \
                    or isinstance(unify(branches.contents_tree(change.before), after), Keep):
                continue
            name = self.variables.add_container(change)
            self.before[name] = self.variables.get(name)
            self.entries[name] = capture(self.before[name])
            self.demands.kinds[name] = self.first_kinds(name, False)
            found = True
        return found

    def advance(self, branch: Branch) -> dict[str, Plan]:
        """What each variable is after an iteration, unless something has to be carried differently."""
        plans: dict[str, Plan] = {}
        settled = True
        for name, carried in self.carried.items():
            if name not in branch.states:
                settled &= self.unbound_again(name, carried)
                continue
            if isinstance(after := branch.states[name], Known) and is_unusable(after.value):
                settled &= self.spoiled(name, after.value)
                plans[name] = Keep(after.value)
                continue
            if name in self.demands.awaited and carried.entry is ABSENT:
                self.carry_as(name, *definite_assignment.unbound_like(self, name, branch.states[name]))
                settled = False
                continue
            if carried.entry is ABSENT or carried.entry.is_(UNSET) or name in self.flags or name in self.demands.unset:
                definite_assignment.begin(self, name, carried, branch.states[name])
                continue
            entry, kinds = self.carried_as(name, carried.entry, branch.states[name])
            if entry is not carried.entry:
                self.carry_as(name, entry, kinds)
                settled = False
                continue
            plan = plans[name] = unify(carried.entry, branch.states[name], name)
            if isinstance(plan, Broken):
                raise Retrace(Peel(mismatch(self, name, plan)))
            if not loop_identity.kept(carried.entry, plan) >= carried.same:
                self.demands.replaced.add(name)
                settled = False
                continue
            settled &= self.settle(name, carried, plan, branch)
        again_if(not settled)
        return plans

    def carry_as(self, name: str, entry: Tree, kinds: list[Kind | None]) -> None:
        """Begin with that, from the next attempt on."""
        self.entries[name], self.demands.kinds[name] = entry, kinds

    def carried_as(self, name: str, entry: Tree, after: Tree) -> tuple[Tree, list[Kind | None]]:
        """The tree to begin with, and its kinds, where what a variable is after an iteration asks for another one."""
        made, kinds = extent_recurrences.carried_as(self, name, entry, after)
        if made is entry and not extent_recurrences.follows(entry):
            made, kinds = loop_optional.carried_as(self, name, entry, after, self.demands.kinds[name])
        return (made, kinds) if made is not entry else loop_lists.as_rows(entry, after, self.demands.kinds[name])

    def unbound_again(self, name: str, carried: Carried) -> bool:
        """A variable that stays bound as it was. Where its array is written, it is carried by its memory after all."""
        settled = True
        for position, (start, slot) in enumerate(zip(carried.objects, carried.slots, strict=True)):
            if slot is None:
                continue
            settled &= self.extents.become(name, position, slot, slot.body)
            if start.kind == ARRAY and written_in_place(self, start, slot):
                carried.kinds[position] = None
                settled = False
        return settled

    def spoiled(self, name: str, value: Any) -> bool:
        """A variable that an iteration leaves without a value: the next one must not read what it was before the
        loop."""
        if self.entries[name] is ABSENT or name in self.demands.unset:
            return True
        if name == VALUE:       # where a path does not return, it is what an earlier `return` gave
            raise value.make_error()
        self.demands.unset[name] = value.make_error()
        return False

    def settle(self, name: str, carried: Carried, plan: Plan, branch: Branch) -> bool:
        """Compare kinds at the start of the iteration with those after it, and set what the slots become."""
        parts = list(parts_of(plan, carried.entry))
        if len(parts) != len(carried.kinds) or any(isinstance(part, Branching) for part in parts):
            raise Retrace(Peel(mismatch(self, name, Broken("values of different structure"))))
        same = True
        for position, (part, kind) in enumerate(zip(parts, carried.kinds, strict=True)):
            if isinstance(part, Keep):
                known = self.demands.by_memory
                if kind is not None and same_memory(part.value, branch) and (name, position) not in known:
                    known.add((name, position))
                    carried.kinds[position], same = None, False
                continue
            try:
                wanted = part.kind if kind is None else joined(kind, part.kind)
            except Mismatch as problem:
                raise Retrace(Peel(mismatch(self, name, Broken(str(problem))))) from None
            if is_rows(kind):       # there is room for so many
                wanted = dataclasses.replace(wanted, shape=kind.shape)
            if kind is None or wanted != kind:
                entry = numeric_kind(carried.leaves()[position])
                carried.kinds[position] = dataclasses.replace(wanted, interval=entry.interval if entry else None)
                same = False
            elif not self.bounded(name, position, kind, part.second):
                same = False
        if not same:
            return False
        for position, (part, slot) in enumerate(zip(parts, carried.slots or [None] * len(parts), strict=True)):
            if slot is not None:
                with ir.InsertionPoint(self.block):
                    after = value_of(part.second, carried.kinds[position]) if isinstance(part, Leaf) else slot.init
                same &= self.extents.become(name, position, slot, after)
        return same

    def bounded(self, name: str, position: int, kind: Kind, after: Tree) -> bool:
        """Whether the bounds assumed for a number hold after the iteration; else weaker ones for the next attempt."""
        assumed = self.assumed(name, position, kind)
        if assumed is None or after is None:        # of what is None after an iteration
            return True
        found = kind_of(after).interval
        slack = 2**40      # a counter that moves by less in each iteration never gets to FAR
        if found is not None and found[0] >= assumed[0] - (slack if assumed[0] == -FAR else 0) \
                and found[1] <= assumed[1] + (slack if assumed[1] == FAR else 0):
            return True
        falls = found is not None and kind.interval is not None and found[1] <= kind.interval[1]
        way = self.demands.ways.get((name, position), "up")
        self.demands.ways[name, position] = "down" if way == "up" and falls else "any"
        return False

    def is_known(self) -> bool:
        """Whether the body only computes with numbers known now, so that Python can do it."""
        known = {self.counter.body} if self.counter is not None else set()
        for carried in self.carried.values():
            if carried.late is None:
                known.update(slot.body for slot, leaf in zip(carried.slots, carried.leaves(), strict=False)
                             if slot is not None and isinstance(leaf, Known))
        return not any(s.after != s.body for s in self.storage_slots.values()) and uses_only(self.block, known)

    # -- after the loop

    def finish(self, plans: dict[str, Plan], branch: Branch, checks: list[loop_conditions.Check]) -> None:
        for storage, slot in self.storage_slots.items():
            if slot in self.slots:
                Storage.write(storage, slot.result)
        self.ran = self.has_run()
        extent_recurrences.finish(self)
        for rotation in self.arrays.rotations:
            rotation.finish(self)
        for departure in self.arrays.departures.values():
            departure.finish()
        outside = loop_identity.outside(self) if self.surely_runs() and any(
            isinstance(plan, Branching) for plan in plans.values()) else None
        rotated = {n for rotation in self.arrays.rotations for n in rotation.tensors}
        made = Made()       # for those that the last iteration has left
        for name, plan in plans.items():
            if name in rotated:
                continue
            if isinstance(plan, Keep):
                self.variables.set(name, plan.value)
                continue
            carried = self.carried[name]
            parts = parts_of(plan, carried.entry)
            values = [self.after(name, part, leaf, position) for position, (part, leaf) in enumerate(
                zip(parts, carried.leaves(), strict=True))]
            last = made.among(loop_identity.ends(carried.entry, plan, self.surely_runs()))
            value = with_leaves(carried.entry, iter(values), loop_identity.kept(carried.entry, plan), last)
            self.variables.set(name, loop_identity.after(value, carried.entry, plan, plans, outside))
        for name, carried in self.carried.items():
            if carried.late is not None and name not in rotated:
                self.variables.set(name, definite_assignment.end(self, name, carried, made, plans))
        self.guard_overlaps()
        self.growth.finish(made)
        self.lists.finish(made)
        for slot, error, told in checks:
            self.trace.checks.append((slot.result, Failure(error, [s.result for s in told]), self.trace.region))

    def guard_overlaps(self) -> None:
        """Arrays that may be one, in a way that is not followed, guard each other."""
        guarded = self.arrays.guarded
        pairs = [*self.arrays.overlaps(), *self.arrays.begun_as_one()]
        watched = [(guarded[name], leaf.tensor.storage)      # all are read before one begins to watch
                   for pair in pairs for name, other in (pair, pair[::-1]) if name in guarded
                   for leaf in capture(self.variables.get(other)).leaves() if isinstance(leaf, Held)]
        for storage, other in watched:
            storage.watch(other)
        for storage in guarded.values():
            storage.look()

    def surely_runs(self) -> bool:
        """Whether it is known that there is at least one iteration."""
        return self.first is True or type(self.count) is int and self.count > self.start

    def has_run(self) -> ir.Value | bool:
        """Whether there is at least one iteration."""
        if self.surely_runs():
            return True
        if self.counter is None:
            return truth_of(capture(self.first))
        if type(self.count) is int:
            return self.count > self.start
        return ops.compare(self.count_value, self.start, "GT")

    def after(self, name: str, part: Plan, entry: Tree, position: int) -> Any:
        """What a leaf of a variable is after the loop."""
        carried = self.carried[name]
        if isinstance(part, Keep):
            return part.value
        slot, kind = carried.slots[position], carried.kinds[position]
        if slot not in self.slots and kind.kind != ARRAY and not is_rows(kind):
            return entry.object     # an array may be another one with the same content
        if kind.kind != ARRAY:
            return Tensor.of_value(slot.result, kind.kind, interval=self.assumed(name, position, kind))
        if (name, position) in self.arrays.departures:
            return self.arrays.departures[name, position].after(slot.result)
        tensor = self.arrays.after(name, part.second, slot.result)
        # Its content is the entry's where the loop never ran.
        held = part.second.tensor if isinstance(part.second, Held) else None
        by_value = tensor is not held and id(held) not in self.arrays.views
        if self.ran is True or self.owned.get(name) and by_value:
            return tensor
        before = entry.tensor if isinstance(entry, Held) else wrap(entry.value)     # an array from outside of the trace
        return chosen_array(self.ran, tensor, before, slot.result)
