"""Atomic operations: scatters that combine. Where the value before is used, the lanes go in their order."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.kernels.lockstep.accesses import Window, window_of
from reactant.kernels.lockstep.combining import identity
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Form, Lanes
from reactant.kernels.lockstep.gathering import combined, note_read, note_write
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory, OutOfRange, outside
from reactant.kernels.lockstep.sequences import one_after_another, values_before
from reactant.kernels.lockstep.staged_indices import NotStaged
from reactant.kernels.lockstep.tiles import Tile
from reactant.kernels.lockstep.values import Refused, Value, as_lanes, of_lanes

KINDS = {0: "add", 1: "add", 2: "and", 3: "assign", 4: "maximum", 5: "maxnum", 6: "maximum", 7: "unsigned maximum",
         8: "minimum", 9: "minnum", 10: "minimum", 11: "unsigned minimum", 12: "multiply", 13: "multiply", 14: "or",
         15: "xor"}
"""`memref.atomic_rmw` by the number of its kind."""

BODIES = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "multiply", "arith.muli": "multiply",
          "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor", "arith.maxsi": "maximum",
          "arith.minsi": "minimum", "arith.maximumf": "maximum", "arith.minimumf": "minimum",
          "arith.maxnumf": "maxnum", "arith.minnumf": "minnum", "arith.maxui": "unsigned maximum",
          "arith.minui": "unsigned minimum"}


def atomic(machine: Machine, op: ir.Operation, context: Context) -> Value | None:
    """`memref.atomic_rmw` and `memref.generic_atomic_rmw`; the result is the value before."""
    generic = op.name == "memref.generic_atomic_rmw"
    target, index = list(op.operands)[:2] if generic else list(op.operands)[1:3]
    memory = machine.memory(target)
    if isinstance(memory, Tile):
        raise NotStaged
    machine.settle_mask(context)
    form = machine.access(index, context)
    kind, value = _of_body(machine, op) if generic else (KINDS[int(attr.decode(op.attributes["kind"]))], op.operands[0])
    bits = kind is not None and kind != "assign" and value.type != op.results[0].type   # type: ignore[union-attr]
    used = any(True for _ in op.results[0].uses)
    try:
        if kind is None:
            return _one_each(machine, op, memory, form, context)
        assert value is not None
        lanes = machine.lanes(value, context)
        if not used and kind != "assign":
            note_write(machine.records, memory, form, context, f"{kind} of bits" if bits else kind)
            with memory.seen_as(lanes.dtype):
                memory.combine(form, lanes, context, kind, identity(kind, lanes.dtype))
            return lanes if bits else of_lanes(lanes, op.results[0].type)           # nobody reads it
        if bits:
            return _one_each(machine, op, memory, form, context)
        if injective(memory, form, context):
            return _one_each(machine, op, memory, form, context, kind, lanes)
        if machine.records:
            raise Refused("the value before an atomic is used in a loop that may run all its iterations at once")
        return of_lanes(values_before(memory, form, lanes, context, kind), op.results[0].type)
    except OutOfRange as problem:
        raise outside(op, problem, "writes") from None


def _of_body(machine: Machine, op: ir.Operation) -> tuple[str | None, ir.Value | None]:
    """The kind of an atomic whose body combines the old value with one from outside; None for others."""
    block = op.regions[0].blocks[0]
    *body, end = (inner.operation for inner in block.operations)
    (old,) = block.arguments
    if end.operands[0] in machine.values and not body:
        return "assign", end.operands[0]
    if len(body) == 3 and body[0].name == body[2].name == "arith.bitcast" and body[0].operands[0] == old \
            and body[2].operands[0] == body[1].results[0] and end.operands[0] == body[2].results[0] \
            and body[0].results[0].type == body[1].results[0].type:     # numbers of another kind in the same bits
        old, end, body = body[0].results[0], body[2], body[1:2]
    if len(body) == 1 and body[0].name in BODIES and end.operands[0] == body[0].results[0]:
        x, y = body[0].operands
        other = y if x == old else x if y == old else None
        if other is not None and other != old:
            return BODIES[body[0].name], other
    return None, None


def injective(memory: Memory, form: Form, context: Context) -> bool:
    """Whether no two lanes meet in one place."""
    domain = context.domain
    window = window_of(form, domain)
    if not isinstance(window, Window):
        return False
    placed = {t.axis for t in window.terms} | set(memory.private)
    return all(a in placed for a, s in domain.items() if s.count > 1)


def _one_each(machine: Machine, op: ir.Operation, memory: Memory, form: Form, context: Context,
              kind: str | None = None, value: Lanes | None = None) -> Value:
    """Lanes that do not meet: read, compute, write."""
    if not injective(memory, form, context):
        return one_after_another(machine, op, memory, form, context)
    type_ = op.results[0].type
    note_read(machine.records, memory, form, context)
    old = memory.load(form, context)
    if kind is not None and value is not None:
        new = value if kind == "assign" else combined(kind, old, value, context)
    else:
        block = op.regions[0].blocks[0]
        machine.values[block.arguments[0]] = of_lanes(old, type_)
        (found,) = machine.block_of(block, context)
        new = as_lanes(found, context.domain)
    note_write(machine.records, memory, form, context)
    memory.store(form, new, context)
    return of_lanes(old, type_)


__all__ = ["KINDS", "atomic", "injective"]
