"""Loops over run-time values: one `stablehlo.while` for a `while` or `for` whose body is traced once.

What the body changes is carried: the run-time parts of variables that are read again, arrays that are written in place
(by their storages, so that views stay views), the contents of changed objects, and the outcomes of run-time checks. The
body is traced again when a trace shows that more has to be carried, or that a number changes its type. What turns out
not to change is taken out again.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ControlFlowError
from reactant.frontends import branches, effects
from reactant.frontends.aliases import (
    ChosenStorage,
    GuardedStorage,
    as_storage,
    has_dynamic_steps,
    is_owned,
    may_be_one,
    reachable_storages,
    roots_of,
)
from reactant.frontends.branches import Branch
from reactant.frontends.iteration import FAR
from reactant.frontends.numpy.storage import Storage
from reactant.frontends.numpy.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number
from reactant.frontends.operators import UNSET, Unusable
from reactant.frontends.state import (
    ABSENT,
    Branching,
    Broken,
    Held,
    Keep,
    Kind,
    Known,
    Leaf,
    MaybeBound,
    Mismatch,
    Node,
    Plan,
    Tree,
    Variables,
    capture,
    joined,
    kind_of,
    originals,
    rebuilt,
    unify,
    value_of,
)
from reactant.frontends.trace import Trace, current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of

ATTEMPTS = 24
"""Most times a loop body is traced before the loop is given up."""


class Unroll(Exception):
    """The rule for unrolling says so."""


class NeedsPeeling(Exception):
    """The loop can be staged once its first iteration has run on its own; `error` says why not before."""

    def __init__(self, error: ControlFlowError):
        super().__init__(str(error))
        self.error = error


@dataclass(eq=False)
class Slot:
    """One carried value: what it is before the loop, in the blocks, and after an iteration."""

    init: ir.Value
    body: ir.Value
    after: ir.Value | None = None
    test: ir.Value | None = None
    result: ir.Value | None = None


@dataclass
class Carried:
    """A variable at the start of an iteration: the tree it has before the loop, and a kind for each leaf that is a
    run-time value there (None: that leaf stays the object it is)."""

    entry: Tree
    kinds: list[Kind | None]
    late: Tree | None = None          # first bound in the body: whether it is, after an iteration
    bound: Slot | None = None         # whether an iteration has bound it
    slots: list[Slot | None] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)

    def leaves(self) -> list[Tree]:
        return list(_leaves(self.entry))


def _leaves(tree: Tree) -> Iterator[Tree]:
    if type(tree) is Node:
        for child in tree.children:
            yield from _leaves(child)
    else:
        yield tree


def _with_leaves(tree: Tree, leaves: Iterator[Any]) -> Any:
    if type(tree) is Node:
        return rebuilt(tree, [_with_leaves(c, leaves) for c in tree.children])
    return next(leaves)


class Loop:
    """A loop being staged. `body(k)` runs one iteration. A `for` has a trip `count` (known or not) and begins at index
    `start`; a `while` has a `test()`, its outcome `first` before the loop, and `again(*flags)`: the test, unless one of
    the flags is set."""

    def __init__(self, functions: Iterable[FunctionType | None], body: Callable[[Any], None], flags: tuple[str, ...],
                 live: tuple[str, ...], dead: tuple[str, ...], rebound: tuple[str, ...], *, count: Any = None,
                 test: Callable[[], Any] | None = None, first: Any = None,
                 again: Callable[..., Any] | None = None, start: int = 0):
        self.trace: Trace = current_trace()
        self.outer = self.trace.region.block
        self.functions = [f for f in functions if f is not None]
        self.variables = Variables(self.functions, live, dead)
        self.body, self.flags, self.count, self.test, self.first = body, flags, count, test, first
        self.start, self.again = start, again
        self.count_value = count.value() if is_tensor(count) else None
        self.owned = {n: is_owned(self.variables.cells.get(n)) for n in live}
        self.before = self.variables.snapshot()
        self.entries = {n: capture(v) for n, v in self.before.items()}
        self.kinds: dict[str, list[Kind | None]] = {n: self.first_kinds(n, n in rebound) for n in live}
        self.growth: dict[tuple[str, int], str] = {}
        self.storages: list[Storage] = reachable_storages(self.functions)
        self.test_in_body = False
        self.operations = 0
        self.reject: Callable[[], bool] = lambda: False

    def first_kinds(self, name: str, rebound: bool) -> list[Kind | None]:
        """Numbers are run-time values from the start; arrays and containers where the body binds the name anew."""
        kinds: list[Kind | None] = []
        entry = self.entries[name]
        if name in self.flags:
            return [None]       # an iteration only begins while no flag is set
        for leaf in _leaves(entry):
            kind = _numeric_kind(leaf)
            by_object = kind is not None and (kind.kind == ARRAY or entry is not leaf) and not rebound
            kinds.append(None if by_object or kind is None else kind)
        return kinds

    # -- attempts

    def stage(self) -> None:
        """Trace until what is carried no longer changes, then build the op and set the variables."""
        for _ in range(ATTEMPTS):
            scratch = branches.scratch_blocks(2)
            try:
                if self.attempt(scratch):
                    return
            except BaseException:
                self.variables.restore(self.before)
                raise
            finally:
                scratch.erase()
        raise ControlFlowError("The variables of this loop keep changing their types from one iteration to the next.")

    def attempt(self, scratch: ir.Operation) -> bool:
        self.block = scratch.regions[0].blocks.append()
        self.slots: list[Slot] = []
        self.counter = None
        if self.count is not None:
            self.counter = self.slot(ops.constant(self.start, np.int64))
        self.carried = {n: Carried(self.entries[n], self.kinds[n]) for n in self.variables.live}
        self.storage_slots = {s: self.slot(s.read()) for s in self.storages}
        try:
            branch = branches.run(self.block, self.iteration, self.variables, self.before, self.prepare)
        except NameError as error:
            if self.entries.get(error.name) is not ABSENT:
                raise
            raise NeedsPeeling(ControlFlowError(
                f"'{error.name}' is read in a loop that runs inside compiled code before it is assigned there. Assign "
                f"it before the loop.")) from None
        self.variables.restore(self.before)
        self.operations = operations_in(self.block)
        if self.more_storages(branch) or self.more_objects(branch):
            return False
        plans = self.advance(branch)
        if plans is None:
            return False
        self.check_aliases(branch)
        for storage, slot in self.storage_slots.items():
            slot.after = branch.written.get(storage, slot.body)
        checks = self.checks(branch)
        going = self.going(branch)
        if not self.condition(scratch, checks, going):
            self.test_in_body = True
            return False
        if self.reject():
            raise Unroll
        self.build(scratch)
        self.finish(plans, branch, checks)
        return True

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
        for name, carried in self.carried.items():
            carried.slots, carried.objects = [], []
            if carried.entry is ABSENT or all(k is None for k in carried.kinds):
                continue
            for position, (leaf, kind) in enumerate(zip(carried.leaves(), carried.kinds, strict=True)):
                if kind is None:
                    carried.slots.append(None)
                    carried.objects.append(python_object(leaf))
                    continue
                slot = self.slot(self.initial(leaf, kind))
                carried.slots.append(slot)
                carried.objects.append(self.at_start(name, position, leaf, kind, slot.body))
            self.variables.set(name, _with_leaves(carried.entry, iter(carried.objects)))

    def initial(self, leaf: Tree, kind: Kind) -> ir.Value:
        """The leaf before the loop, built outside of it."""
        with ir.InsertionPoint(self.outer):
            return value_of(leaf, kind)

    def at_start(self, name: str, position: int, leaf: Tree, kind: Kind, value: ir.Value) -> Tensor:
        strides = leaf.tensor.strides_ if type(leaf) is Held and kind.kind == ARRAY else None
        return Tensor.of_value(value, kind.kind, strides, interval=self.assumed(name, position, kind))

    def assumed(self, name: str, position: int, kind: Kind) -> tuple[int, int] | None:
        """Integer bounds assumed for a carried number: what only grows stays above where it began."""
        way = self.growth.get((name, position), "up")
        if kind.kind != PYTHON or kind.dtype.kind != "i" or kind.interval is None or way == "any":
            return None
        low, high = kind.interval
        return (low, FAR) if way == "up" else (-FAR, high)

    def iteration(self) -> Any:
        """One iteration; with the test in the body, whether another one follows."""
        if self.counter is not None:
            top = self.count - 1 if type(self.count) is int else FAR
            self.body(python_number(self.counter.body, (self.start, max(top, self.start))))
            return ABSENT
        self.body(None)
        return self.again(*[self.variables.get(f) for f in self.flags]) if self.test_in_body else ABSENT

    # -- what is carried

    def more_storages(self, branch: Branch) -> bool:
        """Arrays that turned out to be written."""
        new = [s for s in branch.written if s not in self.storage_slots and branch.preexisting(s)]
        self.storages += new
        return bool(new)

    def more_objects(self, branch: Branch) -> bool:
        """Lists, dicts, objects and outer variables that the body changed become variables of the loop."""
        inside = {id(o) for tree in branch.states.values() for o in originals(tree)}
        found = False
        for change, after in branch.objects:
            if type(unify(branches.contents_tree(change.before), after)) is Keep or id(change.container) in inside \
                    or effects.is_dropped(change):
                continue
            name = self.variables.add_container(change)
            self.owned[name] = False
            self.before[name] = self.variables.get(name)
            self.entries[name] = capture(self.before[name])
            self.kinds[name] = self.first_kinds(name, False)
            found = True
        return found

    def advance(self, branch: Branch) -> dict[str, Plan] | None:
        """What each variable is after an iteration; None when something has to be carried differently."""
        plans: dict[str, Plan] = {}
        settled = True
        for name, carried in self.carried.items():
            if name not in branch.states:
                settled &= self.unbound_again(carried)
                continue
            if carried.entry is ABSENT or _is_unset(carried.entry) or name in self.flags:
                self.late(name, carried, branch.states[name])
                continue
            plan = plans[name] = unify(carried.entry, branch.states[name], name)
            if type(plan) is Broken:
                raise NeedsPeeling(self.mismatch(name, plan.reason))
            if type(plan) is Keep and is_unusable(plan.value):
                continue
            settled &= self.settle(name, carried, plan)
        return plans if settled else None

    def unbound_again(self, carried: Carried) -> bool:
        """A variable that stays bound as it was. Where its array is written, it is carried by its memory after all."""
        settled = True
        for position, (start, slot) in enumerate(zip(carried.objects, carried.slots, strict=True)):
            if slot is None:
                continue
            slot.after = slot.body
            if start.kind == ARRAY and start.storage.version > 0:
                carried.kinds[position] = None
                settled = False
        return settled

    def late(self, name: str, carried: Carried, after: Tree) -> None:
        """A variable that is first bound in the body: the loop begins with zeros that nothing reads."""
        defined, after = (after.children[0], after.children[1]) if type(after) is Node and after.kind == "maybe" \
            else (Known(True), after)
        carried.entry, carried.late, carried.kinds = after, defined, []
        for leaf in _leaves(after):
            kind = _numeric_kind(leaf)
            carried.kinds.append(kind)
            if kind is None:
                carried.slots.append(None)
                continue
            with ir.InsertionPoint(self.outer):
                init = truth_of(self.entries[name]) if name in self.flags else ops.constant(0, kind.dtype, kind.shape)
            slot = self.slot(init)
            carried.slots.append(slot)
            with ir.InsertionPoint(self.block):
                slot.after = self.if_defined(defined, value_of(leaf, kind), slot.body)
        if type(defined) is Held:
            with ir.InsertionPoint(self.outer):
                carried.bound = self.slot(ops.constant(False))
            with ir.InsertionPoint(self.block):
                carried.bound.after = ops.or_(carried.bound.body, truth_of(defined))

    @staticmethod
    def if_defined(defined: Tree, new: ir.Value, old: ir.Value) -> ir.Value:
        return ops.select(truth_of(defined), new, old) if type(defined) is Held else new

    def mismatch(self, name: str, reason: str) -> ControlFlowError:
        if name in self.variables.containers:
            return ControlFlowError(
                f"A loop that runs inside compiled code changes {effects.describe(self.variables.containers[name])} in "
                f"a way that a loop cannot carry: it gets other elements, keys or attributes, or their types change. "
                f"Use an array made before the loop, or a local variable.")
        return ControlFlowError(
            f"'{name}' changes its type in a loop that runs inside compiled code: before the loop and after an "
            f"iteration it holds {reason}. Give it its final type before the loop.")

    def settle(self, name: str, carried: Carried, plan: Plan) -> bool:
        """Compare kinds at the start of the iteration with those after it, and set what the slots become."""
        parts = list(_parts(plan, carried.entry))
        if len(parts) != len(carried.kinds):
            raise NeedsPeeling(self.mismatch(name, "values of different structure"))
        same = True
        for position, (part, kind) in enumerate(zip(parts, carried.kinds, strict=True)):
            if type(part) is Keep:
                continue
            try:
                wanted = part.kind if kind is None else joined(kind, part.kind)
            except Mismatch as problem:
                raise NeedsPeeling(self.mismatch(name, str(problem))) from None
            if kind is None or wanted != kind:
                entry = _numeric_kind(carried.leaves()[position])
                carried.kinds[position] = dataclasses.replace(wanted, interval=entry.interval if entry else None)
                same = False
            elif not self.bounded(name, position, kind, part.second):
                same = False
        if not same:
            return False
        for position, (part, slot) in enumerate(zip(parts, carried.slots, strict=True)):
            if slot is not None:
                with ir.InsertionPoint(self.block):
                    slot.after = value_of(part.second, carried.kinds[position]) if type(part) is Leaf else slot.init
        return True

    def bounded(self, name: str, position: int, kind: Kind, after: Tree) -> bool:
        """Whether the bounds assumed for a number hold after the iteration; else weaker ones for the next attempt."""
        assumed = self.assumed(name, position, kind)
        if assumed is None:
            return True
        found = kind_of(after).interval
        slack = 2**40      # a counter that moves by less in each iteration never gets to FAR
        if found is not None and found[0] >= assumed[0] - (slack if assumed[0] == -FAR else 0) \
                and found[1] <= assumed[1] + (slack if assumed[1] == FAR else 0):
            return True
        falls = found is not None and found[1] <= kind.interval[1]
        way = self.growth.get((name, position), "up")
        self.growth[name, position] = "down" if way == "up" and falls else "any"
        return False

    # -- arrays bound to names

    def check_aliases(self, branch: Branch) -> None:
        """A variable that is bound anew is carried by value. That is only right where nothing is written into the
        array it was bound to while something else can see that array."""
        self.ends = self.bindings(branch)
        changed = {s for s, slot in self.storage_slots.items() if branch.written.get(s, slot.body) != slot.body}
        written = {name for storage, name in self.starts.items() if storage.version > 0}
        for name in {*self.starts.values()}:
            names, outside = self.origins(name, branch)
            for other in sorted(names):
                if self.entry_storages(other) & changed or name in written and not self.owned[other]:
                    raise NeedsPeeling(ControlFlowError(
                        f"'{other}' is bound to another array in a loop that runs inside compiled code, and the array "
                        f"it was bound to before is written in place while others can see it. Start from a copy: "
                        f"{other} = {other}.copy()."))
            if outside & changed or outside and name in written:
                raise ControlFlowError(
                    f"'{name}' may be bound to an array from outside of the loop, and that array is written in the "
                    f"loop. Bind it to a copy.")
        for first, second in self.overlaps():
            if {first, second} & written:
                raise ControlFlowError(
                    f"'{first}' and '{second}' may be bound to one array in a loop that runs inside compiled code, and "
                    f"it is written in place in a later iteration. Bind one of them to a copy.")

    def bindings(self, branch: Branch) -> dict[str, set[Storage]]:
        """For each variable carried by value, the arrays it may be bound to after an iteration."""
        self.starts = {o.storage: name for name, c in self.carried.items() if c.late is None
                       for o, kind in zip(c.objects, c.kinds, strict=False)
                       if kind is not None and is_tensor(o) and o.kind == ARRAY}
        ends: dict[str, set[Storage]] = {}
        self.end_tensors: dict[str, list[Tensor]] = {}
        for name, carried in self.carried.items():
            if name in branch.states:
                tensors = [leaf.tensor for leaf in _leaves(branch.states[name]) if type(leaf) is Held]
            else:
                tensors = [o for o in carried.objects if is_tensor(o)]
            self.end_tensors[name] = [t for t in tensors if t.kind == ARRAY]
            ends[name] = {root for t in self.end_tensors[name] for root in roots_of(t.storage)}
        return ends

    def origins(self, name: str, branch: Branch) -> tuple[set[str], set[Storage]]:
        """Whose arrays from before the loop `name` may be bound to at the start of some iteration; and which arrays
        from outside, bound in the body."""
        names, outside, waiting = set(), set(), [name]
        while waiting:
            current = waiting.pop()
            if current in names:
                continue
            names.add(current)
            for root in self.ends[current]:
                if root in self.starts:
                    waiting.append(self.starts[root])
                elif branch.preexisting(root):
                    outside.add(root)
        return names, outside

    def entry_storages(self, name: str) -> set[Storage]:
        return {root for leaf in _leaves(self.entries[name]) if type(leaf) is Held and leaf.tensor.kind == ARRAY
                for root in roots_of(leaf.tensor.storage)}

    def overlaps(self) -> Iterator[tuple[str, str]]:
        """Pairs of variables that may be bound to one array after an iteration."""
        names = sorted(n for n, roots in self.ends.items() if roots)
        for position, first in enumerate(names):
            for second in names[position + 1:]:
                if any(may_be_one(a.storage, b.storage) for a in self.end_tensors[first]
                       for b in self.end_tensors[second]):
                    yield first, second

    # -- checks and test

    def checks(self, branch: Branch) -> list[tuple[Slot, Callable[[], BaseException]]]:
        """Slots that hold whether each check has held so far; only the first failure of all counts."""
        found = []
        with ir.InsertionPoint(self.block):
            slots = []
            for _ in branch.checks:
                with ir.InsertionPoint(self.outer):
                    init = ops.constant(True)
                slots.append(self.slot(init))
            alive = None
            for slot in slots:
                alive = slot.body if alive is None else ops.and_(alive, slot.body)
            for slot, (ok, error) in zip(slots, branch.checks, strict=True):
                counted = ok if len(slots) == 1 else ops.or_(ok, ops.not_(alive))
                slot.after = ops.and_(slot.body, counted)
                alive = ops.and_(alive, ok)
                found.append((slot, error))
        return found

    def going(self, branch: Branch) -> Slot | None:
        if not self.test_in_body:
            return None
        with ir.InsertionPoint(self.outer):
            init = truth_of(capture(self.first))
        slot = self.slot(init)
        with ir.InsertionPoint(self.block):
            slot.after = ops.constant(False) if branch.raised else truth_of(branch.outcome)
        return slot

    def condition(self, scratch: ir.Operation, checks: list, going: Slot | None) -> bool:
        """Build the block that decides about another iteration; False when the test does more than to decide."""
        block = scratch.regions[1].blocks.append()
        for slot in self.slots:
            slot.test = block.add_argument(slot.init.type, ir.Location.current)
        terms: list[ir.Value] = []
        with ir.InsertionPoint(block):
            if self.counter is not None:
                limit = ops.constant(self.count, np.int64) if self.count_value is None else self.count_value
                terms.append(ops.compare(self.counter.test, limit, "LT"))
            elif going is not None:
                terms.append(going.test)
            if going is None:
                for flag in self.flags:
                    flag_slots = self.carried[flag].slots if flag in self.carried else []
                    if flag_slots and flag_slots[0] is not None:
                        terms.append(ops.not_(flag_slots[0].test))
                    elif type(self.entries.get(flag)) is Held:
                        terms.append(ops.not_(truth_of(self.entries[flag])))
            if self.counter is None:
                terms += [slot.test for slot, _ in checks]
        if self.counter is None and going is None:
            outcome = self.tested(block)
            if outcome is None:
                return False
            terms.append(outcome)
        with ir.InsertionPoint(block):
            together = terms[0]
            for term in terms[1:]:
                together = ops.and_(together, term)
            ops.create("stablehlo.return", [], [together])
        if self.counter is not None:
            with ir.InsertionPoint(self.block):
                self.counter.after = ops.add(self.counter.body, ops.constant(1, np.int64))
        return True

    def tested(self, block: ir.Block) -> ir.Value | None:
        """The test inside the condition block; None when it assigns, writes or checks something."""
        writes = {s: slot.test for s, slot in self.storage_slots.items()}

        def prepare() -> None:
            for storage, value in writes.items():
                Storage.write(storage, value)
            for name, carried in self.carried.items():
                if not carried.slots or carried.late is not None:
                    continue
                objects = [python_object(leaf) if slot is None else self.at_start(name, i, leaf, kind, slot.test)
                           for i, (leaf, kind, slot) in enumerate(
                               zip(carried.leaves(), carried.kinds, carried.slots, strict=True))]
                self.variables.set(name, _with_leaves(carried.entry, iter(objects)))

        branch = branches.run(block, self.test, self.variables, self.before, prepare)
        self.variables.restore(self.before)
        same = all(writes.get(s) == v for s, v in branch.written.items())
        if branch.states or branch.objects or branch.checks or branch.raised or not same:
            return None
        with ir.InsertionPoint(block):
            return truth_of(branch.outcome)

    def is_known(self) -> bool:
        """Whether the body only computes with numbers known now, so that Python can do it."""
        known = {self.counter.body} if self.counter is not None else set()
        for carried in self.carried.values():
            if carried.late is None:
                known.update(slot.body for slot, leaf in zip(carried.slots, carried.leaves(), strict=False)
                             if slot is not None and type(leaf) is Known)
        return not any(s.after != s.body for s in self.storage_slots.values()) and _uses_only(self.block, known)

    # -- the op

    def build(self, scratch: ir.Operation) -> None:
        self.drop_invariant()
        blocks = scratch.regions[0].blocks[0], scratch.regions[1].blocks[0]
        with ir.InsertionPoint(self.block):
            ops.create("stablehlo.return", [], [s.after for s in self.slots])
        op = ops.create("stablehlo.while", [s.init.type for s in self.slots], [s.init for s in self.slots], regions=2)
        for region, block in zip(op.regions, reversed(blocks), strict=True):
            block.append_to(region)
        for slot, result in zip(self.slots, op.results, strict=True):
            slot.result = result

    def drop_invariant(self) -> None:
        """Values that an iteration leaves as they are need not be carried."""
        while True:
            kept: list[Slot] = []
            dropped: list[int] = []
            for position, slot in enumerate(self.slots):
                if slot.after is None or slot.after in (slot.body, slot.init):
                    dropped.append(position)
                else:
                    kept.append(slot)
            if not dropped:
                return
            for position in dropped:
                slot = self.slots[position]
                for other in kept:
                    if other.after == slot.body:
                        other.after = slot.init
                slot.body.replace_all_uses_with(slot.init)
                slot.test.replace_all_uses_with(slot.init)
                slot.result = slot.init
            for position in reversed(dropped):
                slot = self.slots[position]
                slot.body.owner.erase_argument(position)
                slot.test.owner.erase_argument(position)
            self.slots = kept

    # -- after the loop

    def finish(self, plans: dict[str, Plan], branch: Branch, checks: list[tuple[Slot, Callable]]) -> None:
        for storage, slot in self.storage_slots.items():
            if slot in self.slots:
                Storage.write(storage, slot.result)
        self.ran = self.has_run()
        self.shared: dict[int, Storage] = {}
        self.guarded: dict[str, GuardedStorage] = {}
        self.overlapping = {n for pair in self.overlaps() if not self.identical(*pair) for n in pair}
        for name, carried in self.carried.items():
            if carried.late is not None:
                self.variables.set(name, self.first_bound(name, carried, branch))
            elif name in plans:
                plan = plans[name]
                if type(plan) is Keep:
                    self.variables.set(name, plan.value)
                    continue
                parts = _parts(plan, carried.entry)
                values = [self.after(name, part, leaf, position, branch) for position, (part, leaf) in enumerate(
                    zip(parts, carried.leaves(), strict=True))]
                self.variables.set(name, _with_leaves(carried.entry, iter(values)))
        for first, second in self.overlaps():
            for name, other in ((first, second), (second, first)):
                if name in self.guarded:
                    for leaf in _leaves(capture(self.variables.get(other))):
                        if type(leaf) is Held:
                            self.guarded[name].watch(leaf.tensor.storage)
        for slot, error in checks:
            self.trace.checks.append((slot.result, error, self.trace.region))

    def identical(self, first: str, second: str) -> bool:
        """Whether two variables are always bound to one and the same whole array made in the body."""
        ends = {(id(t.storage), bool(t.steps), len(roots_of(t.storage))) for n in (first, second)
                for t in self.end_tensors[n]}
        return len(ends) == 1 and ends.pop()[1:] == (False, 1)

    def has_run(self) -> ir.Value | bool:
        """Whether there is at least one iteration."""
        if self.first is True:
            return True
        if self.counter is None:
            return truth_of(capture(self.first))
        if type(self.count) is int:
            return self.count > self.start
        return ops.compare(self.count_value, self.start, "GT")

    def first_bound(self, name: str, carried: Carried, branch: Branch) -> Any:
        values = [python_object(leaf) if slot is None else self.array_after(name, leaf, slot.result, branch)
                  if kind.kind == ARRAY else Tensor.of_value(slot.result, kind.kind)
                  for leaf, kind, slot in zip(_leaves(carried.entry), carried.kinds, carried.slots, strict=True)]
        value = _with_leaves(carried.entry, iter(values))
        if _is_unset(self.entries[name]) or name in self.flags:
            return value
        bound = self.ran if carried.bound is None else carried.bound.result
        return value if bound is True else MaybeBound(name, python_number(bound), value)

    def after(self, name: str, part: Plan, entry: Tree, position: int, branch: Branch) -> Any:
        """What a leaf of a variable is after the loop."""
        carried = self.carried[name]
        slot, kind = carried.slots[position], carried.kinds[position]
        if type(part) is Keep:
            return part.value
        if slot not in self.slots:
            return python_object(entry)
        if kind.kind != ARRAY:
            return Tensor.of_value(slot.result, kind.kind, interval=self.assumed(name, position, kind))
        tensor = self.array_after(name, part.second, slot.result, branch)
        if self.ran is True or self.owned[name]:
            return tensor
        same_layout = tensor.strides_ == entry.tensor.strides_
        chosen = ChosenStorage(self.ran, as_storage(tensor), as_storage(entry.tensor), slot.result)
        return Tensor(chosen, strides=tensor.strides_ if same_layout else None)

    def array_after(self, name: str, leaf: Tree, result: ir.Value, branch: Branch) -> Tensor:
        """The array a variable was bound to by the last iteration: one from outside, one that some variable was bound
        to before that iteration, or one made in it (arrays that share memory go on sharing it)."""
        if type(leaf) is not Held:
            return Tensor.of_value(result)
        tensor = leaf.tensor
        roots = roots_of(tensor.storage)
        known = [root for root in roots if root in self.starts or branch.preexisting(root)]
        if not known and name not in self.overlapping:
            if tensor.steps:
                return Tensor.of_value(result)
            storage = self.shared.setdefault(id(tensor.storage), Storage(tensor.shape, tensor.dtype, value=result))
            return Tensor(storage, strides=tensor.strides_)
        if len(roots) == 1 and known and known[0] not in self.starts and not has_dynamic_steps(tensor):
            return tensor
        sources = [root for root in known if root not in self.starts]
        for root in known:
            if root in self.starts:
                names, outside = self.origins(self.starts[root], branch)
                sources += [s for n in names if not self.owned[n] for s in self.entry_storages(n)] + list(outside)
        storage = self.guarded[name] = GuardedStorage(name, sources, result)
        return Tensor(storage, strides=tensor.strides_)


# ---- helpers ---------------------------------------------------------------------------------------------------

def _numeric_kind(leaf: Tree) -> Kind | None:
    try:
        return kind_of(leaf)
    except Mismatch:
        return None     # an integer beyond 64 bits stays what it is


def _is_unset(tree: Tree) -> bool:
    return type(tree) is Known and tree.value is UNSET


def is_unusable(value: Any) -> bool:
    return type(value) is Unusable


def python_object(leaf: Tree) -> Any:
    """The object a leaf was captured from."""
    return leaf.tensor if type(leaf) is Held else leaf.value if type(leaf) is Known else leaf


def _parts(plan: Plan, entry: Tree) -> Iterator[Plan]:
    """The plan of each leaf of `entry`."""
    if type(entry) is not Node:
        yield plan
    elif type(plan) is Branching and len(plan.children) == len(entry.children):
        for child, tree in zip(plan.children, entry.children, strict=True):
            yield from _parts(child, tree)
    elif type(plan) is Keep:
        for leaf in _leaves(entry):
            yield Keep(python_object(leaf))


def truth_of(tree: Tree) -> ir.Value:
    """Python's truth of a number or one-element array as a 0-d boolean."""
    if type(tree) is Known:
        return ops.constant(bool(tree.value))
    value = ops.reshape(tree.value, ())
    return value if dtype_of(value).kind == "b" else ops.compare(value, 0, "NE")


def operations_in(block: ir.Block) -> int:
    """Operations in a block and the blocks inside it; constants and terminators are free."""
    count = 0
    for op in block.operations:
        if op.name not in ("stablehlo.constant", "stablehlo.return"):
            count += 1
        for region in op.regions:
            for inner in region.blocks:
                count += operations_in(inner)
    return count


def _uses_only(block: ir.Block, known: set[ir.Value]) -> bool:
    """Whether the operations use nothing but each other, constants and `known` values."""
    for op in block.operations:
        for operand in op.operands:
            if operand not in known and ops.constant_value(operand) is None:
                return False
        known.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                known.update(inner.arguments)
                if not _uses_only(inner, known):
                    return False
    return True
