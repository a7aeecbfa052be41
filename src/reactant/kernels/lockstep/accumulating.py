"""Memory that a loop only adds to (`acc[i] += a * b`, the registers of a blocked product): all iterations at once.

Where every access of a loop to a memory is part of such an update, at a place that does not depend on the iteration,
what is loaded is a partial result, and a store hands on what it gathered. After the loop that is combined, and written
once. """
from __future__ import annotations

from dataclasses import field, replace

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.kernels.lockstep.accesses import window_of
from reactant.kernels.lockstep.combining import identity
from reactant.kernels.lockstep.conditions import both, terms_of
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Form, Lanes
from reactant.kernels.lockstep.forms import axes_of
from reactant.kernels.lockstep.gathering import (
    KINDS,
    Access,
    NotAtOnce,
    Record,
    combined,
    never_meet,
    note_read,
    note_write,
    reduced,
)
from reactant.kernels.lockstep.lanes import condition_lanes, number, select
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory, repeated
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import Partial, Value
from reactant.support.records import dataclass

UPDATES = {*KINDS, "arith.subf", "arith.subi", "math.fma", "arith.select"}
"""Ops that a stored value may be made by from a loaded one."""


@dataclass(eq=False)
class Place:
    """What a load took a partial result from."""

    memory: Memory
    form: Form


@dataclass(frozen=True)
class Update:
    """What lanes add to a place of memory."""

    form: Form
    kind: str
    part: Lanes
    context: Context


@dataclass(eq=False)
class Updates:
    """What a loop has added to a memory so far, in a block of the tensor program, and what it has loaded and not yet
    stored. depth: how many loops are around, with itself."""

    block: ir.Block
    depth: int
    found: list[Update] = field(default_factory=list)
    open: list[Place] = field(default_factory=list)


# ---- which memory --------------------------------------------------------------------------------------------------

def updated_memories(machine: Machine, op: ir.Operation) -> set[Memory]:
    """The memories to which a loop does nothing but such updates, at places that do not depend on the iteration."""
    loads, stores = [], []
    others: set[ir.Value] = set()
    for each in modules.walk(op):
        if each.name == "memref.load":
            loads.append(each)
        elif each.name == "memref.store":
            stores.append(each)
        else:
            others.update(v for v in each.operands if isinstance(v.type, ir.MemRefType))
    iterations = {a for region in op.regions for block in region for a in block.arguments}
    found: set[Memory] = set()
    for memory in {s.operands[1] for s in stores} - others:
        here = [s for s in stores if s.operands[1] == memory]
        taken = [load for load in loads if load.operands[0] == memory]
        updated = {_updated(s) for s in here}
        if updated == {load.results[0] for load in taken} \
                and not _varies([load.operands[1] for load in taken], iterations):
            found.add(machine.memory(memory))
    return {m for m in found if not isinstance(m, Tile)}


def _updated(store: ir.Operation) -> ir.Value | None:
    """What a store updates, as a load gives it."""
    left = [store.operands[0]]
    for _ in range(16):
        if not left:
            return None
        value = left.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if op.name == "memref.load" and op.operands[0] == store.operands[1] and op.operands[1] == store.operands[2]:
            return op.results[0]
        if op.name in UPDATES:
            left += list(op.operands)
    return None


def _varies(values: list[ir.Value], iterations: set[ir.Value]) -> bool:
    """Whether values may be computed from what changes with the iteration."""
    seen: set[ir.Value] = set()
    while values:
        value = values.pop()
        if value in iterations:
            return True
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        if value.owner.name == "memref.load" or len(value.owner.operation.regions):
            return True
        values += list(value.owner.operands)
    return False


# ---- while the loop runs -------------------------------------------------------------------------------------------

def updates_of(machine: Machine, memory: Memory) -> Updates | None:
    """Where updates of a memory go now: to the innermost loop that gathers them."""
    for record in reversed(machine.records):
        if memory in record.updates:
            return record.updates[memory]
    return None


def load(updates: Updates, memory: Memory, form: Form, op: ir.Operation) -> Value:
    """A load is what the iterations before have gathered."""
    _in_one_block(updates, op)
    place = Place(memory, form)
    updates.open.append(place)
    return Partial(place)


def store(machine: Machine, updates: Updates, memory: Memory, form: Form, value: Value, context: Context,
          op: ir.Operation) -> None:
    """A store hands on what was gathered since the load."""
    _in_one_block(updates, op)
    if not isinstance(value, Partial) or not isinstance(value.key, Place) or value.key.memory is not memory \
            or value.key.form != form or value.key not in updates.open:
        raise NotAtOnce(f"its iterations meet in {memory.name}", op)
    updates.open.remove(value.key)
    if any((other.form - form).known in (None, 0) for other in updates.open):
        raise NotAtOnce(f"its iterations meet in {memory.name}", op)
    for part in value.parts if value.kind else ():
        _add(machine, updates, Update(form, value.kind or "", part, context), op)


def _add(machine: Machine, updates: Updates, update: Update, op: ir.Operation) -> None:
    """Note an update of a loop. The iterations of loops inside it that run at once, too, have places of their own, or
    are combined."""
    if any(u.kind != update.kind for u in updates.found):
        raise NotAtOnce("a place of memory is combined in different ways", op)
    window = window_of(update.form, update.context.domain)
    for record in reversed(machine.records[updates.depth:]):
        if record.axis not in axes_of(update.form):
            update = _over_iterations(update, record, op)
        elif window is None or not any(t.axis is record.axis for t in window.terms) \
                and update.context.domain[record.axis].count > 1:
            raise NotAtOnce("its iterations may add to one place", op)
    updates.found.append(update)


def _in_one_block(updates: Updates, op: ir.Operation) -> None:
    if ir.InsertionPoint.current.block != updates.block:
        raise NotAtOnce("its iterations add to memory in a run-time loop", op)


# ---- after it ------------------------------------------------------------------------------------------------------

def finish(machine: Machine, record: Record, op: ir.Operation) -> None:
    """Combine what all iterations of a loop, which is over, have added."""
    for memory, updates in record.updates.items():
        outer, zero = updates_of(machine, memory), only_zero(memory.value)
        written: list[Access] = []
        for update in updates.found:
            total = _over_iterations(update, record, op)
            if outer is not None:
                _add(machine, outer, total, op)
            else:
                here = Access(total.form, total.context, True)
                _write(machine, memory, total, zero and all(never_meet(here, other) for other in written))
                written.append(here)


def _over_iterations(update: Update, record: Record, op: ir.Operation) -> Update:
    """An update by all iterations together."""
    axis, part, domain = record.axis, update.part, update.context.domain
    if axis in axes_of(update.form):
        raise NotAtOnce("its iterations add to places of their own", op)
    terms = terms_of(update.context.mask)
    turning = [t for t in terms if axis in t.axes()]
    wide = {**domain, **part.domain}
    if turning:
        nothing = number(identity(update.kind, part.dtype), part.dtype)
        part = select(condition_lanes(both(*turning), wide), part, nothing, wide)
    if axis not in part.axes:
        part = repeated(part, domain[axis].count, update.kind, wide)
    context = Context({a: s for a, s in domain.items() if a is not axis}, both(*(t for t in terms if t not in turning)),
                      update.context.certain and not turning)
    return replace(update, part=reduced(op, part, update.kind, context, record), context=context)


def _write(machine: Machine, memory: Memory, update: Update, onto_zero: bool) -> None:
    note_read(machine.records, memory, update.form, update.context)
    note_write(machine.records, memory, update.form, update.context)
    part = update.part
    if update.kind != "add" or not onto_zero:
        part = combined(update.kind, memory.load(update.form, update.context), part, update.context)
    memory.store(update.form, part, update.context)
    memory.note_number(None, None, None, update.context)


_PLACED = ("reshape", "broadcast_in_dim", "slice", "transpose", "concatenate", "pad", "reverse", "dynamic_update_slice")


def only_zero(value: ir.Value, depth: int = 200) -> bool:
    """Whether a value surely holds nothing but 0, not -0: sums start with it anyway."""
    known = ops.constant_value(value)
    if known is not None:
        return not np.ascontiguousarray(known).view(np.uint8).any()
    made = ops.made_by(value, *_PLACED)
    return made is not None and depth > 0 and all(
        only_zero(v, depth - 1) for v in list(made.operands)[:2 if made.name.endswith("update_slice") else None])
