"""`if` over a run-time condition: both branches are traced, what they leave differently becomes results of one op.

Results are, in this order: the run-time parts of variables and of changed objects, the content of arrays that a branch
wrote (through any view), and the outcomes of run-time checks. Branches of a few scalar operations are not branches at
all: both are computed and selected from.
"""
from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError, LeakError, ReactantError
from reactant.frontends.arrays.reach import bind_directly, reachable
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import ChosenStorage, fewer_memories, has_dynamic_steps
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.control import container_aliasing, element_copies, mutation_log, program_errors
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.branch_arrays import BranchArrays, Maker
from reactant.frontends.control.demands import InOneIteration
from reactant.frontends.control.exit_liveness import Leaving
from reactant.frontends.control.joins import (
    Branching,
    Broken,
    Keep,
    Leaf,
    Plan,
    assembled,
    described,
    leaves_of,
    one_sided,
    unify,
    unusable,
)
from reactant.frontends.control.loop_carried import needs_grower
from reactant.frontends.control.mutation_log import Change, Recorder
from reactant.frontends.control.snapshots import Variables, capture, kind_of, value_of
from reactant.frontends.control.trees import ABSENT, Held, Kind, Known, Node, Tree, originals
from reactant.frontends.session.heap import Heap, Root
from reactant.frontends.session.retracing import RUN_TIME_KEYS, Unmet
from reactant.frontends.session.trace import Failure, Region, Trace, current_trace, told_by
from reactant.frontends.source import source_map
from reactant.frontends.source.operators import UNSET, Interrupted, Left
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size

SELECTED_OPERATIONS = 24
"""Both branches of an `if` are computed and selected from when they have at most this many operations, all scalar."""




class StagedRaise(BaseException):
    """The branch being traced raises at run time; the check for it is recorded."""


def scratch_blocks(count: int) -> ir.Operation:
    """A detached op whose regions hold blocks under construction until they are moved into the final op."""
    return ir.Operation.create("stablehlo.case", regions=count, ip=False)


def run(block: ir.Block, body: Callable[[], Any], variables: Variables, before: dict[str, Any],
        prepare: Callable[[], None] | None = None) -> Branch:
    """Trace `body()` into `block`. Afterwards variables, objects and storages are as they were before."""
    trace = current_trace()
    first_check, copies, orders = len(trace.checks), dict(trace.copies), len(trace.orders)
    computed = len(trace.pending)
    branch = Branch(block)
    try:
        with trace.inside(block) as region, mutation_log.recorded(variables.handled()) as recorder:
            branch.region = region
            if prepare is not None:
                prepare()
                before = variables.snapshot()
            trace.around.append((before, variables.cells.values()))
            try:
                branch.outcome = capture(body())
            except StagedRaise:
                branch.raised = True
            except BaseException as error:
                _let_go(error)
                raise
            finally:
                trace.around.pop()
            branch.states = {n: capture(v) for n, v in variables.snapshot().items()
                             if variables.changed(n, before[n], v)}
            branch.objects = _captured_changes(recorder)
            branch.preexisting = _age(region)
        branch.written = {s: v for s, v in region.written.items() if type(s) is not ChosenStorage}
        branch.checks = [(ok, error) for ok, error, _ in trace.checks[first_check:]]
    except BaseException:
        trace.copies = copies       # it may be traced in another way
        del trace.orders[orders:]
        raise
    finally:
        del trace.checks[first_check:]
        del trace.pending[computed:]        # of what an exception has left
        region.saved, region.written = {}, {}       # they would keep arrays alive
        variables.clear_dead()
    return branch


def _let_go(error: BaseException | None) -> None:
    """Forget what the frames held that an exception has left: where generators are closed by that, what their `finally`
    changes is still noted, and taken back."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _age(region: Region) -> Callable[[Storage], bool]:
    saved = set(map(id, region.saved))
    return lambda storage: storage.region is not region or id(storage) in saved


def _captured_changes(recorder: Recorder) -> list[tuple[Change, Tree]]:
    return recorder.undo(contents_tree)


def contents_tree(held: Any) -> Tree:
    """The content of a changed object as a tree; variables that are not bound become absent."""
    if isinstance(held, set):
        return Known(frozenset(held))
    if isinstance(held, list):
        return capture([ABSENT if v is mutation_log.UNBOUND else v for v in held])
    return capture(dict(held))


def holds_from(held: Any, regions: tuple[Region | None, ...]) -> bool:
    """Whether the content of an object is, in part, arrays of these regions."""
    return any(is_tensor(x) and x.storage.region in regions
               for x in (held.values() if isinstance(held, dict) else held))


def dropped(branch: Branch) -> set[int]:
    """Identities of the containers that a branch or body has changed and that nothing reaches after it: they were made
    in it and are gone."""
    left = [c for c in branch.objects if not isinstance(c[0].container, mutation_log.GlobalVariable)]
    if not left:
        return set()
    heap = Heap().look()
    for tree in (*branch.states.values(), branch.outcome):
        for x in _referred(tree):
            heap.note(Root("variable"), x)
    return {id(change.container) for change, _ in heap.follow(left, _referred)}


def _referred(tree: Tree) -> Iterator[Any]:
    if isinstance(tree, Node):
        yield tree.original
        for child in tree.children:
            yield from _referred(child)
    elif isinstance(tree, Known):
        yield tree.value


# ---- the statement ---------------------------------------------------------------------------------------------

def staged_if(predicate: ir.Value, then: Callable | None, orelse: Callable | None, live: tuple[str, ...] = (),
              dead: tuple[str, ...] = (), functions: tuple = (), left: Left = (None, None)) -> Any:
    """Trace both sides; returns what their values are together (for conditional expressions)."""
    trace = current_trace()
    fewer_memories()
    variables = Variables(functions, live, dead)
    bind_directly(variables.cells.values())
    before = variables.snapshot()
    # Nothing after the `if` reads the dead variables: a side may.
    only_inside = {name: variables.get(name) for name in variables.dead}
    scratch = scratch_blocks(2)
    try:
        sides, copies, after = [], trace.copies, []
        for region, function in zip(scratch.regions, (then, orelse), strict=True):
            variables.restore(only_inside)
            trace.copies = dict(copies)
            side = failing_at_run_time(function) if function else lambda: None
            sides.append(run(region.blocks.append(), side, variables, before))
            after.append(trace.copies)
            variables.restore(before)
        element_copies.meet(*after)
        with source_map.location():
            meeting = Meeting(trace, predicate, variables, before, sides[0], sides[1], left)
            try:
                return meeting.finish()
            finally:
                meeting.clear()
    except BaseException:
        variables.restore(before)
        variables.restore(only_inside)      # it may be tried in another way
        raise
    finally:
        scratch.erase()


def failing_at_run_time(function: Callable, *more: type[Exception], unbound_names: bool = True) -> Callable:
    """A branch, or the body of a loop, in which NumPy raises (an index out of range, shapes that do not fit, `more`),
    or that uses None as a value, which may be what a loop has not yet given one, or calls a number, fails only when it
    is taken; one that reads `unbound_names`, too, or asks for a key or an attribute that is not there: where later
    iterations of a loop add it, the loop is not carried as it is."""
    failures: tuple[type[Exception], ...] = (
        LookupError, ValueError, ArithmeticError, NameError, TypeError, AttributeError, ImportError, *more)

    def side(*given: Any) -> Any:
        try:
            return function(*given)
        except ReactantError:
            raise
        except Interrupted:
            return UNSET
        except failures as error:
            kind, arguments = type(error), error.args
            trace = current_trace()
            if isinstance(error, (TypeError, AttributeError, KeyError, ImportError)) and not isinstance(error, more) \
                    and not program_errors.misuses_known(error) and not program_errors.misses(error):
                raise
            if isinstance(error, NameError) and not program_errors.misses(error):
                if not (unbound_names and (type(error) is program_errors.LateRead or _is_unbound(error, trace))):
                    raise
                kind, arguments = UnboundLocalError, (program_errors.unbound(error.name) if error.name else str(error),)
            if trace.attempts:
                trace.attempts[-1].raised(lambda: kind(*arguments))
                return UNSET
            trace.record(ops.constant(False), lambda: kind(*arguments))
            raise StagedRaise from None
    return side


def _is_unbound(error: NameError, trace: Trace) -> bool:
    """Whether the error is about a variable that has no value on this path, which no loop around it may give it."""
    return "cannot access" in str(error) and not any(
        error.name in loop.demands.unset or loop.entries.get(error.name) is ABSENT for loop in trace.loops)


class Meeting:
    """Where two traced branches become one op."""

    def __init__(self, trace: Trace, predicate: ir.Value, variables: Variables, before: dict[str, Any], then: Branch,
                 orelse: Branch, left: Left = (None, None)):
        self.trace, self.predicate, self.variables, self.before = trace, predicate, variables, before
        self.then, self.orelse = then, orelse
        self.leaving = [None if names is None else Leaving(branch, names)
                        for names, branch in zip(left, (then, orelse), strict=True)]
        self.operands: tuple[list[ir.Value], list[ir.Value]] = ([], [])

    def clear(self) -> None:
        """Cycles would keep containers and memories alive, and references to them are counted."""
        vars(getattr(self, "arrays", self)).clear()
        vars(self).clear()

    def finish(self) -> Any:
        names = [n for n in self.variables.live if n in self.then.states or n in self.orelse.states]
        plans = {n: self.variable(n) for n in names}
        outcome = self.unified(self.then.outcome, self.orelse.outcome, "")
        objects = self.objects()
        if not self.trace.loops:
            self.refuse_growing(objects)
        numeric = [leaf for p in (*plans.values(), outcome, *(p for _, p in objects)) for leaf in leaves_of(p)]
        self.arrays = BranchArrays(self, numeric)
        makers = {id(leaf): self.leaf(leaf) for leaf in numeric}
        written = self.written()
        checks = self.checks()
        if self.then.raised and self.orelse.raised:
            self.record(checks, self.build())
            raise StagedRaise
        results = self.build()
        for storage, position in written.items():
            Storage.write(storage, results[position])
        made: dict[int, Any] = {}

        def make(leaf: Leaf) -> Any:
            if id(leaf) not in made:
                made[id(leaf)] = makers[id(leaf)](results)
            return made[id(leaf)]

        found: dict[tuple[int, int], Any] = {}
        with container_aliasing.filled_later():
            for name, plan in plans.items():
                self.variables.set(name, self.unusable(name, plan) if isinstance(plan, Broken)
                                   else assembled(plan, make, found))
            for change, plan in objects:
                self.refill(change, plan, make, found)
        self.record(checks, results)
        if isinstance(outcome, Broken):
            raise outcome.error(
                f"The two sides of an expression that is decided at run time differ: {outcome.reason}.",
                "Give both sides one type and shape.", "branches-differ")
        return assembled(outcome, make, found)

    # -- what the results are

    def unified(self, a: Tree, b: Tree, name: str) -> Plan:
        """`unify`, where a branch that raises has whatever the other one has."""
        if self.then.raised:
            a = b
        elif self.orelse.raised:
            b = a
        if a is b:
            return survivor(a, (self.orelse if self.then.raised else self.then).preexisting)
        if (text := described(a, b)) is not None:
            return Keep(text)
        return unify(a, b, name)

    def variable(self, name: str) -> Plan:
        old = capture(self.before[name])
        sides = [branch.states[name] if name in branch.states else branch.after(old)
                 for branch in (self.then, self.orelse)]
        return self.unless_left(self.unified(sides[0], sides[1], name), sides, lambda side: name not in side.left)

    def unless_left(self, plan: Plan, trees: Sequence[Tree], lost: Callable[[Leaving], bool]) -> Plan:
        """What differs, as the other side has it where nobody reads it on a path that leaves."""
        if isinstance(plan, Broken):
            for side, leaving in enumerate(self.leaving):
                if leaving is not None and lost(leaving):
                    return one_sided(trees[1 - side], second=side == 0)
        return plan

    def unusable(self, name: str, plan: Broken) -> Any:
        return unusable(name, plan, "an `if` that is decided at run time")

    def objects(self) -> list[tuple[Change, Plan]]:
        """Plans for the contents of the objects that a branch changed."""
        found: dict[int, tuple[Change, list[Tree | None]]] = {}
        for side, branch in enumerate((self.then, self.orelse)):
            for change, after in branch.objects:
                key = id(change.container) if not isinstance(change.container, mutation_log.GlobalVariable) else \
                    hash((id(change.container.namespace), change.container.name))
                found.setdefault(key, (change, [None, None]))[1][side] = after
        plans = []
        for change, sides in found.values():
            try:
                a, b = (branch.after(contents_tree(change.before)) if s is None else s
                        for s, branch in zip(sides, (self.then, self.orelse), strict=True))
            except LeakError:
                if not holds_from(change.before, (self.then.region, self.orelse.region)):
                    raise
                continue        # it held what a branch made when it was first changed: so the branch made it as well
            plan = self.unified(a, b, change.name)
            if not self.trace.loops:        # in loops, lists grow
                plan = self.unless_left(plan, (a, b), lambda side: side.loses(change))      # noqa: B023
            if isinstance(plan, Broken) and isinstance(a, Node) and a.kind == b.kind:
                plan = Broken("they leave different elements, keys or attributes in it")
            plans.append((change, plan))
        return plans

    def leaf(self, leaf: Leaf) -> Maker:
        """Add the results for a run-time part; returns what makes its Python value of the op's results."""
        kind = leaf.kind
        if kind.kind == ARRAY and isinstance(leaf.first, Held) and isinstance(leaf.second, Held):
            return self.arrays.add(leaf)
        if kind.kind == ARRAY and isinstance(leaf.first or leaf.second, Held) and None in (leaf.first, leaf.second):
            return self.arrays.add_one_sided(leaf)
        position = self.result(self.in_branch(self.then, leaf.first, kind),
                               self.in_branch(self.orelse, leaf.second, kind))
        return lambda results: Tensor.of_value(results[position], kind.kind, interval=kind.interval)

    def in_branch(self, branch: Branch, leaf: Tree | None, kind: Kind) -> ir.Value:
        with ir.InsertionPoint(branch.block):
            if branch.raised and leaf is not None:
                return ops.constant(0, kind.dtype, kind.shape)
            return value_of(leaf, kind)

    def result(self, then: ir.Value, orelse: ir.Value) -> int:
        self.operands[0].append(then)
        self.operands[1].append(orelse)
        return len(self.operands[0]) - 1

    def written(self) -> dict[Storage, int]:
        places = {}
        for storage in {**self.then.written, **self.orelse.written}:
            values = [branch.written.get(storage) for branch in (self.then, self.orelse)]
            if {v for v in values if v is not None} == {storage.read()}:
                continue        # a loop inside that only may have written it has put back what it was
            entry = storage.read() if any(v is None for v in values) or self.then.raised or self.orelse.raised else None
            values = [entry if v is None or branch.raised else v
                      for v, branch in zip(values, (self.then, self.orelse), strict=True)]
            places[storage] = self.result(*values)
        return places

    def checks(self) -> list[tuple[int, Callable[..., BaseException], list[int]]]:
        found = []
        for side, branch in enumerate((self.then, self.orelse)):
            for ok, error in branch.checks:
                with ir.InsertionPoint((self.orelse, self.then)[side].block):
                    fine = ops.constant(True)
                    other = [ops.splat(0, v) for v in told_by(error)]
                found.append((self.result(*((ok, fine) if side == 0 else (fine, ok))), error, [
                    self.result(*((v, none) if side == 0 else (none, v)))
                    for v, none in zip(told_by(error), other, strict=True)]))
        return found

    def record(self, checks: list[tuple[int, Callable[..., BaseException], list[int]]], results: Any) -> None:
        for position, error, told in checks:
            self.trace.check(results[position], Failure(error, [results[p] for p in told]))

    # -- the op

    def build(self) -> list[ir.Value]:
        if not self.operands[0]:
            return []
        blocks = self.then.block, self.orelse.block
        if all(map(_selectable, blocks)) and sum(_length(b) for b in blocks) <= SELECTED_OPERATIONS \
                and all(size(shape_of(v)) <= 1 or a == v for a, v in zip(*self.operands, strict=True)):
            return self.select(blocks)
        for block, operands in zip(blocks, self.operands, strict=True):
            with ir.InsertionPoint(block):
                ops.create("stablehlo.return", [], operands)
        op = ops.create("stablehlo.if", [v.type for v in self.operands[0]], [self.predicate], regions=2)
        for region, block in zip(op.regions, blocks, strict=True):
            block.append_to(region)
        return list(op.results)

    def select(self, blocks: tuple[ir.Block, ir.Block]) -> list[ir.Value]:
        anchor = ops.constant(False)
        for block in blocks:
            for op in list(block.operations):
                op.move_before(anchor.owner)
        return [a if a == b else self._selected(a, b) for a, b in zip(*self.operands, strict=True)]

    def _selected(self, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype_of(a).kind == "b" and not shape_of(a):
            known = [ops.constant_value(v) for v in (a, b)]
            if known[0] is not None and bool(known[0]):
                return ops.or_(self.predicate, b)
            if known[1] is not None and not bool(known[1]):
                return ops.and_(self.predicate, a)
        return ops.select(self.predicate, a, b)

    def made_inside(self, change: Change) -> bool:
        """Whether the object was made in the branch: it is gone, or part of what a variable was bound to."""
        if id(change.container) in reachable([self.variables.get(n) for n in self.variables.cells])[0]:
            return False
        branches = self.then, self.orelse
        if any(id(change.container) in dropped(branch) for branch in branches) or any(
                change.container is part for branch in branches for tree in branch.states.values()
                for part in originals(tree)):
            return True
        # what a conditional expression gives, and what such values were made of: no variable holds it (yet)
        return not change.before and id(change.container) not in container_aliasing.reached(everywhere=True)

    def refuse_growing(self, objects: list[tuple[Change, Plan]]) -> None:
        """Nothing has been done yet that would have to be taken back."""
        for change, plan in objects:
            if isinstance(plan, Broken) and type(change.container) is list and not self.made_inside(change):
                raise self.different(change, plan, functools.partial(Unmet, InOneIteration()))

    @staticmethod
    def different(change: Change, plan: Broken,
                  kind: Callable[..., ControlFlowError] = ControlFlowError) -> ControlFlowError:
        return kind(f"An `if` that is decided at run time changes {mutation_log.describe(change)} differently in its "
                    f"branches: {plan.reason}.",
                    hint="Use an array, or variables that are assigned in both branches.", code="branches-differ")

    def refill(self, change: Change, plan: Plan, make: Callable[[Leaf], Any],
               found: dict[tuple[int, int], Any]) -> None:
        if isinstance(plan, Broken):
            if self.made_inside(change):
                return
            error = self.different(change, plan)
            needs_grower(change.container, error)
            if isinstance(change.container, (dict, set)):
                self.trace.demands.add(RUN_TIME_KEYS)
            raise error
        content = assembled(plan, make, found, copied=True)
        mutation_log.touch(change.container, change.name)
        hold(change, content)


def hold(change: Change, content: Any) -> None:
    """Make a changed object hold what `contents_tree` has told of it."""
    if isinstance(content, frozenset):
        content = set(content)
    if isinstance(content, list):
        content = [mutation_log.UNBOUND if v is ABSENT else v for v in content]
    mutation_log.refill(change.container, content)


def survivor(tree: Tree, preexisting: Callable[[Storage], bool]) -> Plan:
    """The plan for a value of the only branch that goes on: arrays from outside stay what they are."""
    if isinstance(tree, Node):
        return Branching(tree, [survivor(c, preexisting) for c in tree.children])
    if isinstance(tree, Held):
        if tree.tensor.kind == ARRAY and preexisting(tree.tensor.storage) and not has_dynamic_steps(tree.tensor):
            return Keep(tree.tensor)
        return Leaf(kind_of(tree), tree, tree)
    return Keep(tree.value if isinstance(tree, Known) else tree)


def _length(block: ir.Block) -> int:
    return len(block.operations)


def _selectable(block: ir.Block) -> bool:
    """Whether the block only computes on single elements, without loops, branches or calls."""
    for op in block.operations:
        if op.name != "stablehlo.constant" and op.name not in ops.ELEMENTWISE and op.name not in _CHEAP:
            return False
        if any(size(shape_of(r)) > 1 for r in op.results):
            return False
    return True


_CHEAP = {"stablehlo.reshape", "stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.concatenate",
          "stablehlo.broadcast_in_dim"}
