"""What the operations do that need more than the values of their operands: indices of threads, memory, control flow."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.kernels.lockstep import accumulating, control, loops, warp_collectives
from reactant.kernels.lockstep.atomics import atomic
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Choice, Condition, Form, Lanes
from reactant.kernels.lockstep.forms import at_domain, axes_of, floor_division, is_static
from reactant.kernels.lockstep.gathering import note_read, note_write
from reactant.kernels.lockstep.machine import DIMENSIONS, Handler, Machine, Split, thread_of
from reactant.kernels.lockstep.mathematics import call, kept_in_range
from reactant.kernels.lockstep.memory import Memory, OutOfRange, outside
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import (
    Integer,
    Value,
    constant,
    is_integer,
    of_lanes,
    width_of,
)


def _thread_id(machine: Machine, op: ir.Operation, context: Context) -> Value:
    return Integer(thread_of(machine, DIMENSIONS.index(attr.enumerator(op.attributes["dimension"]))), 64)


def _block_id(machine: Machine, op: ir.Operation, context: Context) -> Value:
    d = DIMENSIONS.index(attr.enumerator(op.attributes["dimension"]))
    if machine.grid[d] == 1:
        return Integer(Form(), 64)
    return Integer(floor_division(machine.thread[d], machine.block[d], machine.start.domain), 64)


def _alloca(machine: Machine, op: ir.Operation, context: Context) -> Value:
    shared = ir.MemRefType(op.results[0].type).memory_space is not None
    return machine.new_shared(op) if shared else machine.new_memory(op, frozenset(machine.axes))


def _table(machine: Machine, op: ir.Operation, context: Context) -> Value:
    assert machine.tables is not None
    content = machine.tables(attr.decode(op.attributes["name"]))
    return Memory("table", content.dtype, content.size, content.shape, ops.constant(content), content=content)


def _load(machine: Machine, op: ir.Operation, context: Context) -> Value:
    memory = machine.memory(op.operands[0])
    form, split = _place_of_load(machine, memory, op.operands[1], context)
    if memory.content is not None and form.known is not None and 0 <= form.known < memory.elements:
        return _of_table(memory.content[form.known], op.results[0].type)
    updates = accumulating.updates_of(machine, memory)
    if updates is not None:
        return accumulating.load(updates, memory, form, op)
    note_read(machine.records, memory, form, context)
    known = memory.number_at(form.known)
    if known is not None:
        return known
    try:
        lanes = _loaded(machine, memory, form, context)
        if split is not None:
            machine.put_off.append((lanes.value, split))
        return of_lanes(lanes, op.results[0].type)
    except OutOfRange as problem:
        raise outside(op, problem, "reads") from None


def _place_of_load(machine: Machine, memory: Memory, index: ir.Value, context: Context) -> tuple[Form, Split | None]:
    """The place, and how threads have to be told apart if what is there is needed for more than a tile."""
    if isinstance(memory, Tile):
        return at_domain(machine.integer(index).form, context.domain), None
    try:
        return machine.access(index, context), None
    except Split as split:
        if not machine.staging or memory.scratch:
            raise
        return at_domain(machine.integer(index).form, context.domain), split


def _of_table(number: np.generic, type_: ir.Type) -> Value:
    """An element of a constant table."""
    return constant(int(number), width_of(type_)) if is_integer(type_) else Lanes(ops.constant(number))


def _loaded(machine: Machine, memory: Memory, form: Form, context: Context, depth: int = 3) -> Lanes:
    """What is read, case by case where the place is a choice that index arithmetic would have to tell."""
    cases = _cases(machine, memory, form, context, depth, writing=False)
    if cases is None:
        found = memory.load(form, context)
        for record in machine.records:
            table = memory.content is not None or (memory.numbers is not None and memory.numbers.own == memory.value)
            if record.axis in memory.overlapping or (table and record.axis in axes_of(form)):
                record.overlapping = True
        return found
    condition, arms = cases
    parts = [(arm, _loaded(machine, memory, at_domain(form, arm.domain), arm, depth - 1)) for arm in arms]
    whole = control.placed(condition, context, parts[0], parts[1])
    origin = memory.origin_of(form, context)
    return replace(whole, parts=tuple((arm.domain, x) for arm, x in parts), origin=origin)


def _stored(machine: Machine, memory: Memory, form: Form, value: Lanes, context: Context, depth: int = 3) -> None:
    cases = _cases(machine, memory, form, context, depth, writing=True)
    if cases is None:
        memory.store(form, value, context)
        return
    for arm in cases[1]:
        part = next((x for domain, x in value.parts if domain == arm.domain), value)
        _stored(machine, memory, at_domain(form, arm.domain), part, arm, depth - 1)


def _cases(machine: Machine, memory: Memory, form: Form, context: Context, depth: int,
           writing: bool) -> tuple[Condition, list[Context]] | None:
    """A condition on which the place of an access hangs, and the lanes for and against; None where it is simple."""
    choice = next((a for a, _ in form.terms if isinstance(a, Choice) and a.condition.is_static()), None)
    if choice is None or not depth or not is_static(form) or memory.simple(form, context, writing):
        return None
    arms = [machine.narrowed(context, c) for c in (choice.condition, choice.condition.negated())]
    found = [arm for arm in arms if arm is not None]
    if len(found) < 2 or all(arm.domain == context.domain for arm in found):
        return None
    return choice.condition, found


def _store(machine: Machine, op: ir.Operation, context: Context) -> None:
    memory = machine.memory(op.operands[1])
    if isinstance(memory, Tile):
        memory.keep(machine.integer(op.operands[2]).form, machine.get(op.operands[0]), machine.records, context)
        return
    machine.settle_mask(context)
    form = machine.access(op.operands[2], context)
    updates = accumulating.updates_of(machine, memory)
    if updates is not None:
        accumulating.store(machine, updates, memory, form, machine.get(op.operands[0]), context, op)
        return
    value = machine.lanes(op.operands[0], context)
    note_write(machine.records, memory, form, context)
    try:
        before = memory.known_numbers()
        _stored(machine, memory, form, value, context)
        given = machine.get(op.operands[0])
        static = isinstance(given, Integer) and is_static(given.form) and not machine.records
        memory.note_number(before, form.known, given if static else None, context)
    except OutOfRange as problem:
        raise outside(op, problem, "writes") from None


def _call(machine: Machine, op: ir.Operation, context: Context) -> Any:
    callee = attr.decode(op.attributes["callee"])
    if callee.startswith("reactant."):
        return warp_collectives.meet(machine, op, callee.removeprefix("reactant."), context)
    operands = [machine.get(v) for v in op.operands]
    operands = kept_in_range(callee, operands, context, lambda: machine.wanted(op.results[0]))
    return call(op, callee, operands, context.domain)


OPERATIONS: dict[str, Handler] = {
    "gpu.thread_id": _thread_id, "gpu.block_id": _block_id, "gpu.barrier": lambda machine, op, context: None,
    "gpu.shuffle": warp_collectives.shuffle, "memref.alloca": _alloca, "memref.get_global": _table,
    "memref.load": _load, "memref.store": _store, "memref.atomic_rmw": atomic, "memref.generic_atomic_rmw": atomic,
    "scf.if": control.branch, "scf.index_switch": control.switch, "scf.for": loops.counted,
    "scf.while": loops.conditional, "func.call": _call,
}
"""Operations that need more than the values of their operands."""
