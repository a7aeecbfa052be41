"""How a loop knows whether to go on: the block of its `while` op that decides, and what iterations hand to it.

The test runs in that block where it does nothing but to decide, else at the end of the body, which carries its outcome.
Flags of `break` and `return`, and checks that have failed, end a loop too.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control import branches
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.demands import MoreUse, Noted
from reactant.frontends.control.iteration import FAR
from reactant.frontends.control.loop_carried import Slot, truth_of
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import capture, with_leaves
from reactant.frontends.control.trees import ABSENT, Held
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import Region, Trace, told_by
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of

Check: TypeAlias = tuple[Slot, Callable[..., BaseException], list[Slot]]
"""Whether a check has held so far, its error, and what that tells."""


def checks(loop: LoopState, branch: Branch) -> list[Check]:
    """Slots that hold whether each check has held so far; only the first failure of all counts."""
    found = []
    with ir.InsertionPoint(loop.block):
        slots = []
        for _ in branch.checks:
            with ir.InsertionPoint(loop.outer):
                init = ops.constant(True)
            slots.append(loop.slot(init))
        alive = None
        for slot in slots:
            alive = slot.body if alive is None else ops.and_(alive, slot.body)
        for slot, (ok, error) in zip(slots, branch.checks, strict=True):
            counted = ok if len(slots) == 1 else ops.or_(ok, ops.not_(alive))
            slot.after = ops.and_(slot.body, counted)
            alive = ops.and_(alive, ok)
            found.append((slot, error, [_first_told(loop, slot, value) for value in told_by(error)]))
    return found


def _first_told(loop: LoopState, held: Slot, value: ir.Value) -> Slot:
    """Carries a value as it was in the iteration in which its check has failed."""
    with ir.InsertionPoint(loop.outer):
        slot = loop.slot(ops.splat(0, value))
    slot.after = ops.select(held.body, value, slot.body)
    return slot


def going(loop: LoopState, branch: Branch) -> Slot | None:
    """The slot of the test's outcome, where the test runs at the end of the body."""
    if not loop.test_in_body:
        return None
    with ir.InsertionPoint(loop.outer):
        init = truth_of(capture(loop.first))
    slot = loop.slot(init)
    with ir.InsertionPoint(loop.block):
        slot.after = ops.constant(False) if branch.raised else truth_of(branch.outcome)
    return slot


def build(loop: LoopState, scratch: ir.Operation, checks: list[Check], going: Slot | None) -> bool:
    """Build the block that decides about another iteration; False when the test does more than to decide."""
    block = scratch.regions[1].blocks.append()
    for slot in loop.slots:
        slot.test = block.add_argument(slot.init.type, ir.Location.current)
    terms: list[ir.Value] = []
    with ir.InsertionPoint(block):
        endless = loop.counter is None or type(loop.count) is int and loop.count >= FAR
        if not endless:
            limit = ops.constant(loop.count, np.int64) if loop.count_value is None else loop.count_value
            terms.append(ops.compare(loop.counter.test, limit, "LT"))
        elif going is not None:
            terms.append(going.test)
        if going is None:
            for flag in loop.flags:
                flag_slots = loop.carried[flag].slots if flag in loop.carried else []
                if flag_slots and flag_slots[0] is not None:
                    terms.append(ops.not_(flag_slots[0].test))
                elif isinstance(loop.entries.get(flag), Held):
                    terms.append(ops.not_(truth_of(loop.entries[flag])))
        if endless:
            terms += [slot.test for slot, *_ in checks]
    if loop.counter is None and going is None:
        outcome = _tested(loop, block)
        if outcome is None:
            return False
        terms.append(outcome)
    with ir.InsertionPoint(block):
        together = terms[0] if terms else ops.constant(True)
        for term in terms[1:]:
            together = ops.and_(together, term)
        ops.create("stablehlo.return", [], [together])
    if loop.counter is not None:
        with ir.InsertionPoint(loop.block):
            loop.counter.after = ops.add(loop.counter.body, ops.constant(1, np.int64))
    return True


# ---- loops behind checks -----------------------------------------------------------------------------------------

def all_hold(trace: Trace) -> ir.Value | None:
    """Whether every check so far has held, on the way to what is being built now; None where there is none."""
    together = None
    for loop in trace.loops:
        if loop.guard is not None:
            together = _both(together, loop.guard.body)
    regions = [trace.region]
    while regions[-1].parent is not None:
        regions.append(regions[-1].parent)
    for region in reversed(regions):
        if not region.closed:
            together = _both(together, _hold_in(trace, region))
    return together


def _hold_in(trace: Trace, region: Region) -> ir.Value | None:
    """Whether every check of a region has held: what is new since somebody asked, and what that got. (A program of many
    loops has many checks before each.)"""
    oks = [ok for ok, _, where in trace.checks if where is region]
    first, together = region.held
    if oks[:len(first)] != first:
        first, together = [], None
    with contextlib.nullcontext() if region is trace.region else ir.InsertionPoint(region.block):
        for ok in oks[len(first):]:
            together = _both(together, ok)
    region.held = oks, together
    return together


def _both(first: ir.Value | None, second: ir.Value | None) -> ir.Value | None:
    return second if first is None else first if second is None else ops.and_(first, second)


def limit(trace: Trace, count: Tensor) -> ir.Value:
    """The trips of a loop over a run-time range: none where a check before it has failed, if they may be many."""
    holds = all_hold(trace) if count.interval is None or count.interval[1] >= FAR else None
    return count.value() if holds is None else ops.select(holds, count.value(), ops.constant(0, count.dtype))


def stop_after_failure(loop: LoopState, op: ir.Operation) -> None:
    """A loop that only its values end does not run where a check before it has failed: Python would not have come
    there, and with such values it may never end."""
    if is_counted(op):
        return
    with ir.InsertionPoint(op):
        holds = all_hold(loop.trace)
    if holds is not None:
        decision = op.regions[0].blocks[0].operations[-1]
        with ir.InsertionPoint(decision):
            decision.operands[0] = ops.and_(decision.operands[0], holds)


def is_counted(op: ir.Operation) -> bool:
    """Whether a `while` ends whatever its values are: an integer that each iteration moves towards a fixed limit."""
    test, body = (region.blocks[0] for region in op.regions)
    conditions = [test.operations[-1].operands[0]]
    arguments = {argument: k for k, argument in enumerate(test.arguments)}
    while conditions:
        made = conditions.pop().owner
        if isinstance(made, ir.Block):
            continue
        made = made.operation
        if made.name == "stablehlo.and":
            conditions += made.operands
        elif made.name == "stablehlo.compare":
            left, right = made.operands
            direction = attr.enumerator(made.attributes["comparison_direction"])
            if right in arguments:
                left, right = right, left
                direction = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}.get(direction, direction)
            way = {"LT": 1, "LE": 1, "GT": -1, "GE": -1}.get(direction)
            if left in arguments and way and _is_fixed(right, test) and _step(body, arguments[left]) * way > 0:
                return True
    return False


def _is_fixed(value: ir.Value, test: ir.Block) -> bool:
    """Whether a value in the condition of a loop is the same in every iteration: a constant, or from outside."""
    if isinstance(value.owner, ir.Block):
        return value.owner != test
    return ops.constant_value(value) is not None or value.owner.operation.block != test


def _step(body: ir.Block, position: int) -> int:
    """What an iteration adds to a carried integer; 0 where that is not a constant."""
    after, argument = body.operations[-1].operands[position], body.arguments[position]
    if isinstance(after.owner, ir.Block) or dtype_of(argument).kind != "i":
        return 0
    made = after.owner.operation
    sign = {"stablehlo.add": 1, "stablehlo.subtract": -1}.get(made.name)
    if sign is None or argument not in made.operands:
        return 0
    if made.operands[0] != argument:
        if sign < 0:
            return 0
        step = ops.constant_value(made.operands[0])
    else:
        step = ops.constant_value(made.operands[1])
    return 0 if step is None else sign * int(step)


def runs_on(block: ir.Block) -> bool:
    """Whether there is a loop in it that only its values end."""
    return any(op.name == "stablehlo.while" and not is_counted(op.operation)
               or any(runs_on(inner) for region in op.regions for inner in region.blocks) for op in block.operations)


def guard(loop: LoopState, branch: Branch) -> None:
    """Set what the guard becomes. Iterations after one in which a check fails have to know it where those of a counted
    loop go on, and what they hold must end."""
    if loop.guard is not None:
        with ir.InsertionPoint(loop.block):
            loop.guard.after = loop.guard.body
            for ok, _ in branch.checks:
                loop.guard.after = ops.and_(loop.guard.after, ok)
    elif loop.counter is not None and branch.checks and runs_on(loop.block):
        loop.needs_guard = True
        raise Retrace(Noted())


def _tested(loop: LoopState, block: ir.Block) -> ir.Value | None:
    """The test inside the condition block; None when it assigns, writes or checks something."""
    writes = {s: slot.test for s, slot in loop.storage_slots.items()}

    def prepare() -> None:
        for storage, value in writes.items():
            Storage.write(storage, value)
        for name, carried in loop.carried.items():
            if name in loop.demands.unset:
                loop.variables.set(name, ABSENT)
            if not carried.slots or carried.late is not None:
                continue
            objects = [leaf.object if slot is None else loop.at_start(name, i, leaf, kind, slot.test)
                       for i, (leaf, kind, slot) in enumerate(
                           zip(carried.leaves(), carried.kinds, carried.slots, strict=True))]
            loop.variables.set(name, with_leaves(carried.entry, iter(objects), carried.same))

    try:
        with loop.lists.standing_in(), loop.growth.standing_in():
            branch = branches.run(block, loop.test, loop.variables, loop.before, prepare)
    except NameError as error:
        if error.name in loop.demands.unset:
            return None
        raise
    except Retrace as found:
        if type(found.demand) is not MoreUse:
            raise
        return None     # where the test stands in the body, the list learns what is done with it
    finally:
        loop.variables.restore(loop.before)
    same = all(writes.get(s) == v for s, v in branch.written.items())
    if branch.states or branch.objects or branch.checks or branch.raised or not same:
        return None
    with ir.InsertionPoint(block):
        return truth_of(branch.outcome)
