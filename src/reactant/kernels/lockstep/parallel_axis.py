"""A counted loop as one more axis of the lanes: all its iterations at once.

Its carried values must be reductions (then a sum of products is a contraction), counters, what the iteration before
made without them (`shifted`), or not depend on earlier iterations; its iterations must not meet in memory, except that
each may have its own copy of what it writes before it reads (the tiles of a blocked algorithm). """
from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.kernels.lockstep.accesses import window_of
from reactant.kernels.lockstep.accumulating import Updates, finish, only_zero, updated_memories, updates_of
from reactant.kernels.lockstep.combining import identity
from reactant.kernels.lockstep.conditions import at_least
from reactant.kernels.lockstep.context import Context, zero_outside
from reactant.kernels.lockstep.control import padded
from reactant.kernels.lockstep.data import Axis, Condition, Domain, Form, Lanes, Span, of_atom
from reactant.kernels.lockstep.forms import at_domain, axes_of, is_static, range_of
from reactant.kernels.lockstep.gathering import (
    NotAtOnce,
    Record,
    SplitIterations,
    combined,
    extended,
    independent,
    reduced,
)
from reactant.kernels.lockstep.lanes import condition_lanes, fitted, number, select
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory, repeated
from reactant.kernels.lockstep.shifted import Carried, Shifts
from reactant.kernels.lockstep.values import (
    Integer,
    Partial,
    Refused,
    Value,
    as_lanes,
    known_number,
    of_lanes,
)


def all_iterations_at_once(machine: Machine, op: ir.Operation, context: Context, lower: Form, upper: Form, stride: int,
                      inits: list[Value]) -> list[Value]:
    """The results of an `scf.for`. Raises `NotAtOnce`.

    Shared and local memory that the iterations write may be each iteration's own, or one for all of them."""
    updated = updated_memories(machine, op)
    scratch = {memory for memory in written_memories(machine, op)
               if memory.private and memory not in updated and updates_of(machine, memory) is None}
    before, bounds = snapshot(machine), (lower, upper, stride)

    def attempt(own: set[Memory]) -> list[Value]:
        try:
            return _all_iterations(machine, op, context, bounds, inits, own, updated)
        except Outermost:
            restore(machine, before)
            return _all_iterations(machine, op, context, bounds, inits, own, updated, outermost=True)
    if scratch:
        try:
            return attempt(scratch)
        except Refused:
            restore(machine, before)
    return attempt(set())


Snapshot = tuple[list[tuple[Memory, tuple]], list[tuple[Record, tuple]]]


def snapshot(machine: Machine) -> Snapshot:
    """What memory holds, and what loops around have noted."""
    return ([(m, (m.value, m.axes, m.private, m.unknown, m.written, m.stages, m.numbers, m.kept))
             for m in machine.memories], [(r, r.notes()) for r in machine.records])


def restore(machine: Machine, before: Snapshot) -> None:
    """Undo what a run did that cannot be used."""
    memories, records = before
    del machine.memories[len(memories):]
    for memory, found in memories:
        memory.value, memory.axes, memory.private, memory.unknown, memory.written, *notes = found
        memory.stages, memory.numbers, memory.kept = notes
    for record, noted in records:
        record.take_back(noted)


class Outermost(Exception):
    """The iterations write planes of an array: they are to be the first dimension, not the last."""


def _all_iterations(machine: Machine, op: ir.Operation, context: Context, limits: tuple[Form, Form, int],
               inits: list[Value], scratch: set[Memory], updated: set[Memory],
               outermost: bool = False) -> list[Value]:
    lower, upper, stride = limits
    bounds = range_of(upper - lower, context.domain)
    if bounds is None or not is_static(lower) or not is_static(upper):
        raise NotAtOnce("its number of iterations is not known", op)
    most = max(0, -(-bounds[1] // stride))
    if most < 2 or bounds[0] < 1 - stride and not axes_of(upper - lower):
        raise NotAtOnce("it hardly iterations", op)
    if contains(op, ("reactant.barrier.grid",), calls=True):
        raise NotAtOnce("it meets the whole grid", op)
    merged = _grid_stride(context, lower, upper, stride) if not len(op.results) and not scratch and not updated \
        else None
    if merged is not None and not _names_its_thread(machine, op, merged[0]):
        before = snapshot(machine)
        try:
            return _as_larger_grid(machine, op, context, lower, *merged)
        except (Refused, KeyError):
            restore(machine, before)
    depth = len(machine.records)
    axis = Axis(f"iteration{depth}", most, (depth - 9 if outermost else depth + 9, machine.fresh()))
    domain = {**context.domain, axis: Span(0, most)}
    variable = lower + of_atom(axis).times(stride)
    inner = machine.narrowed(Context(domain, context.mask, context.certain), at_least(upper, variable.plus(1)))
    if inner is None:
        raise NotAtOnce("it does not iteration", op)
    uneven = inner.domain[axis] != domain[axis] or inner.mask != context.mask.at_domain(inner.domain)
    written = written_memories(machine, op)
    record = Record(axis, written, inner)
    for memory in scratch:
        record.own.add(memory)
        memory.private = memory.private | {axis}
    for memory in updated:
        record.updates[memory] = Updates(ir.InsertionPoint.current.block, len(machine.records) + 1)
    machine.records.append(record)
    try:
        results = _run(machine, op, context, inner, record, (variable, stride), inits, uneven)
    finally:
        machine.records.remove(record)
    if record.overlapping:
        raise NotAtOnce("its iterations read overlapping parts of an array, or tables", op)
    for memory in written:
        if not independent(record, memory, uneven):
            raise NotAtOnce(f"its iterations meet in {memory.name}", op)
        if memory in record.own:
            _keep_last(memory, axis, uneven, op)
    if not outermost and _writes_planes(record):
        raise Outermost
    finish(machine, record, op)
    return results


def _writes_planes(record: Record) -> bool:
    """Whether iterations are further apart than all lanes in what they write."""
    found = [access.form for memory, accesses in record.accesses.items() if not memory.private
             for access in accesses if access.writes]
    for form in found:
        steps = {t: abs(c) for t, c in form.terms if isinstance(t, Axis)}
        if len(steps) < 2 or max(steps, key=steps.__getitem__) is not record.axis:
            return False
    return bool(found)


def _grid_stride(context: Context, lower: Form, upper: Form, stride: int) -> tuple[set[Axis], int] | None:
    """The axes and the number of iterations of a loop that starts at the thread's number and steps by that of
    threads."""
    window, known = window_of(lower, context.domain), (upper - Form(lower.constant)).known
    if window is None or window.dynamic is not None or not window.dense or known is None or window.count != stride \
            or not context.mask.known:
        return None
    axes = {t.axis for t in window.terms}
    if any(context.domain[a].count != a.extent for a in axes) or not axes or known < 1:
        return None
    return axes, known


def _names_its_thread(machine: Machine, op: ir.Operation, axes: set[Axis]) -> bool:
    """Whether a loop uses its threads' numbers otherwise than by its own."""
    inside = {r for each in modules.walk(op) for r in each.results}
    inside |= {a for each in (op, *modules.walk(op)) for region in each.regions for block in region
               for a in block.arguments}
    for each in modules.walk(op):
        if each.name in ("gpu.thread_id", "gpu.block_id", "gpu.lane_id"):
            return True
        for value in set(each.operands) - inside:
            found = machine.values.get(value)
            varying = axes_of(found.form) if isinstance(found, Integer) else found.axes() \
                if isinstance(found, Condition) else set(found.axes) if isinstance(found, Lanes) else set()
            if varying & axes:
                return True
    return False


def _as_larger_grid(machine: Machine, op: ir.Operation, context: Context, lower: Form, axes: set[Axis],
                    iterations: int) -> list[Value]:
    """A grid-stride loop without carried values is a launch of as many threads as there are iterations in all."""
    strides, before = [1], snapshot(machine)
    while True:
        parts = _axes_of_iterations(machine, iterations, strides)
        try:
            return _in_larger_grid(machine, op, context, lower, axes, parts)
        except SplitIterations as split:
            if split.axis not in parts:
                raise
            restore(machine, before)
            strides = sorted({*strides, parts[split.axis] * split.radix}, reverse=True)


def _axes_of_iterations(machine: Machine, iterations: int, strides: Sequence[int]) -> dict[Axis, int]:
    """Axes that count iterations together, each with its stride: every one divides that before it, the first the
    iterations."""
    found: dict[Axis, int] = {}
    above = iterations
    for stride in strides:
        place = len(machine.records) + len(found)
        found[Axis(f"iteration{place}", above // stride, (9 + place, machine.fresh()))] = stride
        above = stride
    return found


def _in_larger_grid(machine: Machine, op: ir.Operation, context: Context, lower: Form, axes: set[Axis],
                    parts: dict[Axis, int]) -> list[Value]:
    domain = {a: s for a, s in context.domain.items() if a not in axes} | {a: Span(0, a.extent) for a in parts}
    inner, written = Context(domain, context.mask, context.certain), written_memories(machine, op)
    records = [Record(axis, written, inner) for axis in parts]
    variable = Form(lower.constant)
    for axis, stride in parts.items():
        variable = variable + of_atom(axis).times(stride)
    machine.records.extend(records)
    machine.iterations.update(parts)
    try:
        machine.values[op.regions[0].blocks[0].arguments[0]] = Integer(variable, 64)
        machine.block_of(op.regions[0].blocks[0], inner)
    finally:
        machine.iterations.difference_update(parts)
        for record in records:
            machine.records.remove(record)
    for record in records:
        if record.overlapping or not all(independent(record, memory, False) for memory in written):
            raise NotAtOnce("its iterations meet", op)
    return []


def _run(machine: Machine, op: ir.Operation, context: Context, inner: Context, record: Record,
         counter: tuple[Form, int], inits: list[Value], uneven: bool) -> list[Value]:
    (variable, stride), block = counter, op.regions[0].blocks[0]
    arguments, end = list(block.arguments), list(block.operations)[-1]
    iteration = of_atom(record.axis)
    machine.values[arguments[0]] = Integer(variable, 64)
    steps = [_increment(machine, op, argument, passed) for argument, passed in
             zip(arguments[1:], end.operands, strict=True)]
    for argument, init, step in zip(arguments[1:], inits, steps, strict=True):
        if step is not None and isinstance(init, Integer):
            machine.values[argument] = Integer(init.form + iteration.times(step), init.width, init.exact)
        else:
            machine.values[argument] = Partial(argument)
    carried = {argument: Carried(init, passed, step if isinstance(init, Integer) else None)
               for argument, init, passed, step in zip(arguments[1:], inits, end.operands, steps, strict=True)}
    machine.values.update(Shifts(machine, op, record, variable, stride, carried).known(inner))
    found = machine.block_of(block, inner)
    results: list[Value] = []
    for argument, init, step, value, result in zip(arguments[1:], inits, steps, found, op.results, strict=True):
        if step is not None and isinstance(init, Integer):
            if uneven:
                raise NotAtOnce("a counter of a loop that lanes leave at different times", op)
            results.append(Integer(init.form.plus(record.axis.extent * step), init.width, init.exact))
        elif isinstance(value, Partial):
            if value.key is not argument:
                raise NotAtOnce("carried values of a loop change places", op)
            results.append(_reduced(machine, op, init, value, context, inner, record, result.type))
        else:
            results.append(_last(op, value, init, inner, record, uneven, result.type))
    return results


def _increment(machine: Machine, op: ir.Operation, argument: ir.Value, passed: ir.Value) -> int | None:
    """By how much a carried integer grows each iteration."""
    if isinstance(passed.owner, ir.Block) or passed.owner.name != "arith.addi" \
            or passed.owner.operation.parent.operation != op:
        return None
    x, y = passed.owner.operands
    other = y if x == argument else x if y == argument else None
    if other is None or sum(1 for _ in argument.uses) == 0:
        return None
    if not isinstance(other.owner, ir.Block) and other.owner.name == "arith.constant":
        return int(ir.IntegerAttr(other.owner.attributes["value"]).value)
    found = machine.values.get(other)
    inside = not isinstance(other.owner, ir.Block) and other.owner.operation.parent.operation == op
    return known_number(found) if found is not None and not inside else None


def _last(op: ir.Operation, value: Value, init: Value, inner: Context, record: Record, uneven: bool,
          type_: ir.Type) -> Value:
    """A carried value that an iteration does not take from the iteration before: that of the last one."""
    if uneven:
        raise NotAtOnce("lanes leave it at different times", op)
    last = {**inner.domain, record.axis: Span(inner.domain[record.axis].last, 1)}
    if isinstance(value, Integer) and is_static(value.form):
        return Integer(at_domain(value.form, last), value.width, value.exact)
    return of_lanes(fitted(as_lanes(value, inner.domain), last), type_)


def _reduced(machine: Machine, op: ir.Operation, init: Value, value: Partial, context: Context, inner: Context,
             record: Record, type_: ir.Type) -> Value:
    """The start combined with what all iterations add. Inside another such loop the sum waits for that one."""
    if value.kind is None:
        return init
    parts = [_where_it_iterations(part, value.kind, context, inner, record) for part in value.parts]
    if isinstance(init, Partial):
        for part in parts:
            init = extended(init, value.kind, part)
        return init
    total: Lanes | None = as_lanes(init, context.domain)
    assert total is not None
    if value.kind == "add" and only_zero(total.value):
        total = None                                             # sums start with it anyway
    for part in parts:
        found = reduced(op, part, value.kind, context, record)
        total = found if total is None else combined(value.kind, total, found, context)
    return of_lanes(total, type_) if total is not None else init


def _where_it_iterations(part: Lanes, kind: str, context: Context, inner: Context, record: Record) -> Lanes:
    """Nothing, for lanes that have left the loop."""
    domain = {**inner.domain, **part.domain}
    outside = [a for a in context.domain if inner.domain[a] != context.domain[a]]
    if inner.mask != context.mask.at_domain(inner.domain) and not (
            kind == "add" and zero_outside(part, inner, context)):
        nothing = number(identity(kind, part.dtype), part.dtype)
        part = select(condition_lanes(inner.mask, inner.domain), part, nothing, domain)
    if outside or (record.axis not in part.axes and inner.domain[record.axis].count > 1):
        part = _widened(part, kind, context, inner, record)
    return part


def _widened(part: Lanes, kind: str, context: Context, inner: Context, record: Record) -> Lanes:
    """A part over the axis of the loop, and over all lanes of the context, with nothing in what is new."""
    domain = {**inner.domain, **part.domain}
    outside = [a for a in context.domain if inner.domain[a] != context.domain[a]]
    if not outside:
        return repeated(part, inner.domain[record.axis].count, kind, domain)
    axes = sorted({*part.axes, *outside, record.axis}, key=lambda a: a.order)
    wide = {**domain, **{a: context.domain[a] for a in outside}, record.axis: Span(0, record.axis.extent)}
    small = {**domain, record.axis: inner.domain[record.axis]}
    axes = [a for a in axes if wide[a].count > 1]
    nothing = number(identity(kind, part.dtype), part.dtype)
    return padded(part, nothing, axes, small, wide)


# ---- memory --------------------------------------------------------------------------------------------------------

WRITERS = {"memref.store": 1, "memref.atomic_rmw": 1, "memref.generic_atomic_rmw": 0}


def written_memories(machine: Machine, op: ir.Operation) -> set[Memory]:
    """The memory that ops inside may write."""
    found: set[Memory] = set()
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                place = WRITERS.get(inner.operation.name)
                if place is not None:
                    found.add(machine.memory(inner.operands[place]))
                found |= written_memories(machine, inner.operation)
    return found


def contains(op: ir.Operation, names: Sequence[str], calls: bool = False) -> bool:
    """Whether there is an op (or, with `calls`, a call) of such a name inside."""
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                name = inner.operation.name
                if calls and name == "func.call":
                    name = ir.FlatSymbolRefAttr(inner.attributes["callee"]).value
                if name in names or contains(inner.operation, names, calls):
                    return True
    return False


def _keep_last(memory: Memory, axis: Axis, uneven: bool, op: ir.Operation) -> None:
    """After the loop memory holds what the last iteration left."""
    memory.private = memory.private - {axis}
    memory.stages = memory.numbers = None
    if axis not in memory.axes:
        return
    if uneven:
        raise NotAtOnce("lanes leave it at different times and it keeps memory of their own", op)
    k = memory.axes.index(axis)
    shape = [*(a.extent for a in memory.axes), *memory.shape]
    last = ops.slice(memory.value, [n - 1 if d == k else 0 for d, n in enumerate(shape)], shape)
    memory.axes = tuple(a for a in memory.axes if a is not axis)
    memory.value = ops.reshape(last, shape[:k] + shape[k + 1:])


__all__ = ["Domain", "NotAtOnce", "all_iterations_at_once", "contains", "written_memories"]
