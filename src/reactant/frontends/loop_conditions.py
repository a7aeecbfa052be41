"""How a loop knows whether to go on: the block of its `while` op that decides, and what turns hand to it.

The test runs in that block where it does nothing but to decide, else at the end of the body, which carries its outcome.
Flags of `break` and `return`, and checks that have failed, end a loop too.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends import array_lists, branches
from reactant.frontends.branches import Branch
from reactant.frontends.carried import Slot, python_object, truth_of, with_leaves
from reactant.frontends.growing import Deeper
from reactant.frontends.numpy.storage import Storage
from reactant.frontends.state import ABSENT, Held, capture
from reactant.ir import ops

if TYPE_CHECKING:
    from reactant.frontends.loops import Loop

Check: TypeAlias = tuple[Slot, Callable[[], BaseException]]
"""Whether a check has held so far, and its error."""


def checks(loop: Loop, branch: Branch) -> list[Check]:
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
            found.append((slot, error))
    return found


def going(loop: Loop, branch: Branch) -> Slot | None:
    """The slot of the test's outcome, where the test runs at the end of the body."""
    if not loop.test_in_body:
        return None
    with ir.InsertionPoint(loop.outer):
        init = truth_of(capture(loop.first))
    slot = loop.slot(init)
    with ir.InsertionPoint(loop.block):
        slot.after = ops.constant(False) if branch.raised else truth_of(branch.outcome)
    return slot


def build(loop: Loop, scratch: ir.Operation, checks: list[Check], going: Slot | None) -> bool:
    """Build the block that decides about another iteration; False when the test does more than to decide."""
    block = scratch.regions[1].blocks.append()
    for slot in loop.slots:
        slot.test = block.add_argument(slot.init.type, ir.Location.current)
    terms: list[ir.Value] = []
    with ir.InsertionPoint(block):
        if loop.counter is not None:
            limit = ops.constant(loop.count, np.int64) if loop.count_value is None else loop.count_value
            terms.append(ops.compare(loop.counter.test, limit, "LT"))
        elif going is not None:
            terms.append(going.test)
        if going is None:
            for flag in loop.flags:
                flag_slots = loop.carried[flag].slots if flag in loop.carried else []
                if flag_slots and flag_slots[0] is not None:
                    terms.append(ops.not_(flag_slots[0].test))
                elif type(loop.entries.get(flag)) is Held:
                    terms.append(ops.not_(truth_of(loop.entries[flag])))
        if loop.counter is None:
            terms += [slot.test for slot, _ in checks]
    if loop.counter is None and going is None:
        outcome = _tested(loop, block)
        if outcome is None:
            return False
        terms.append(outcome)
    with ir.InsertionPoint(block):
        together = terms[0]
        for term in terms[1:]:
            together = ops.and_(together, term)
        ops.create("stablehlo.return", [], [together])
    if loop.counter is not None:
        with ir.InsertionPoint(loop.block):
            loop.counter.after = ops.add(loop.counter.body, ops.constant(1, np.int64))
    return True


def _tested(loop: Loop, block: ir.Block) -> ir.Value | None:
    """The test inside the condition block; None when it assigns, writes or checks something."""
    writes = {s: slot.test for s, slot in loop.storage_slots.items()}

    def prepare() -> None:
        for storage, value in writes.items():
            Storage.write(storage, value)
        for name, carried in loop.carried.items():
            if name in loop.unset:
                loop.variables.set(name, ABSENT)
            if not carried.slots or carried.late is not None:
                continue
            objects = [python_object(leaf) if slot is None else loop.at_start(name, i, leaf, kind, slot.test)
                       for i, (leaf, kind, slot) in enumerate(
                           zip(carried.leaves(), carried.kinds, carried.slots, strict=True))]
            loop.variables.set(name, with_leaves(carried.entry, iter(objects)))

    try:
        with array_lists.standing_in(loop), loop.growth.standing_in():
            branch = branches.run(block, loop.test, loop.variables, loop.before, prepare)
    except NameError as error:
        if error.name in loop.unset:
            return None
        raise
    except Deeper:      # where the test stands in the body, the list learns what is done with it
        return None
    finally:
        loop.variables.restore(loop.before)
    same = all(writes.get(s) == v for s, v in branch.written.items())
    if branch.states or branch.objects or branch.checks or branch.raised or not same:
        return None
    with ir.InsertionPoint(block):
        return truth_of(branch.outcome)
