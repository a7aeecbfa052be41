"""Atomics whose value before is used: the lanes take their iterations in their own order (one that a GPU may
choose)."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.kernels.lockstep.accesses import window_of
from reactant.kernels.lockstep.combining import combine, identity
from reactant.kernels.lockstep.conditions import TRUE
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Axis, Domain, Form, Lanes, of_atom
from reactant.kernels.lockstep.forms import axes_of
from reactant.kernels.lockstep.lanes import (
    apply,
    broadcast,
    condition_lanes,
    form_lanes,
    laid_over,
    live,
    number,
    select,
)
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.memory import Memory
from reactant.kernels.lockstep.reading import INDEX
from reactant.kernels.lockstep.values import Refused, Value, as_lanes, of_lanes

MOST_IN_A_ROW = 1 << 14
"""Lanes that take their iterations in a loop; more are better off as native code."""


def values_before(memory: Memory, form: Form, value: Lanes, context: Context, kind: str) -> Lanes:
    """What each lane finds, if lanes combine `value` into memory one after the other."""
    window = window_of(form, context.domain)
    if window is not None and kind != "assign":
        return _at_shared_places(memory, form, value, context, kind, {t.axis for t in window.terms})
    return _at_any_places(memory, form, value, context, kind)


def _at_shared_places(memory: Memory, form: Form, value: Lanes, context: Context, kind: str,
                      placed: set[Axis]) -> Lanes:
    """Places known by axes: the lanes along the other axes come one after the other at each."""
    domain = context.domain
    mask = None if context.mask.known else condition_lanes(context.mask, domain)
    memory.own_copies(set(memory.private))
    placed = placed | {a for a in memory.axes if a in domain}
    along = live((a for a in domain if a not in placed), domain)
    kept = live((a for a in placed if a in domain), domain)
    count = size([domain[a].count for a in along])
    if not value.axes and mask is None and kind == "add":
        line = ops.convert(ops.iota((count,), INDEX, 0), value.dtype)
        so_far = ops.multiply(line, ops.broadcast_in_dim(value.value, (count,), ()))
        so_far = ops.broadcast_in_dim(so_far, [*(domain[a].count for a in kept), count], [len(kept)])
    else:
        each = value if mask is None else select(mask, value, number(identity(kind, value.dtype), value.dtype), domain)
        laid = ops.reshape(broadcast(each, [*kept, *along], domain), [*(domain[a].count for a in kept), count])
        so_far = before(laid, kind)
    so_far = ops.reshape(so_far, [domain[a].count for a in (*kept, *along)])
    earlier = laid_over(so_far, [*kept, *along], domain)
    old = memory.load(form, context)
    found = apply(lambda x, y: combine(kind, x, y), [old, earlier], domain)
    memory.combine(form, value, context, kind, identity(kind, value.dtype))
    return found


def _shifted(x: ir.Value, by: int, fill: object) -> ir.Value:
    """Moved along the last dimension."""
    shape = shape_of(x)
    rank = len(shape)
    part = ops.slice(x, [0] * rank, [*shape[:-1], max(0, shape[-1] - by)])
    low = [0] * (rank - 1) + [min(by, shape[-1])]
    return ops.pad(part, fill, low, [0] * rank)


def before(x: ir.Value, kind: str) -> ir.Value:
    """What the elements before each along the last dimension come to: an exclusive scan."""
    nothing = identity(kind, ops.dtype_of(x))
    total, by = x, 1
    while by < shape_of(x)[-1]:
        total = combine(kind, _shifted(total, by, nothing), total)
        by *= 2
    return _shifted(total, 1, nothing)


def _at_any_places(memory: Memory, form: Form, value: Lanes, context: Context, kind: str) -> Lanes:
    """Sort the lanes by place; scan each run of equal places."""
    domain = context.domain
    memory.own_copies(set(memory.private))
    axes = live(domain, domain)
    shape = [domain[a].count for a in axes]
    count = size(shape)
    key = form
    factor = memory.elements
    for a in reversed(memory.axes):
        key, factor = key + of_atom(a).times(factor), factor * a.extent
    keys = ops.reshape(broadcast(form_lanes(key, INDEX, domain), axes, domain), (count,))
    if not context.mask.known:
        chosen = ops.reshape(broadcast(condition_lanes(context.mask, domain), axes, domain), (count,))
        keys = ops.select(chosen, keys, ops.splat(factor, keys))
    values = ops.reshape(broadcast(value, axes, domain), (count,))
    keys, order, values = ops.sort([keys, ops.iota((count,), INDEX, 0), values], 0, "LT")
    previous = _shifted(keys, 1, -1)
    first = ops.compare(keys, previous, "NE")
    flat = ops.reshape(memory.value, (factor,))
    old = _taken(flat, keys)
    if kind == "assign":
        found = ops.select(first, old, _shifted(values, 1, np.zeros((), value.dtype)[()]))
    else:
        found = combine(kind, old, _runs_before(values, first, kind))
        found = ops.select(first, old, found)
    _, found = ops.sort([order, found], 0, "LT")
    if kind == "assign":
        after = ops.pad(ops.slice(keys, (1,), (count,)), -1, (0,), (1,))
        last = ops.select(ops.compare(keys, after, "NE"), keys, ops.splat(factor, keys))
        flat = ops.scatter(flat, ops.reshape(last, (count, 1)), values, "second", update_window_dims=[],
                           inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1)
        memory.value = ops.reshape(flat, shape_of(memory.value))
    else:
        memory.combine(form, value, context, kind, identity(kind, value.dtype))
    return laid_over(ops.reshape(found, shape), axes, domain)


def one_after_another(machine: Machine, op: ir.Operation, memory: Memory, form: Form, context: Context) -> Value:
    """Any atomic whose outcome hangs on the order: a loop over the lanes, one an iteration."""
    domain = context.domain
    axes = live(domain, domain)
    count = size([domain[a].count for a in axes])
    if machine.records or count > MOST_IN_A_ROW:
        raise Refused("lanes meet in an atomic operation whose outcome depends on their order", op)
    memory.own_copies(set(memory.private))
    key, factor = form, memory.elements
    for a in reversed(memory.axes):
        key, factor = key + of_atom(a).times(factor), factor * a.extent
    block, type_ = op.regions[0].blocks[0], op.results[0].type
    inside = {v for inner in block.operations for v in inner.results} | set(block.arguments)
    captured = list(dict.fromkeys(v for inner in block.operations for v in inner.operands if v not in inside))
    kept = {v: machine.values[v] for v in captured}
    lanes = [form_lanes(key, INDEX, domain), condition_lanes(context.mask, domain),
             *(as_lanes(kept[v], domain) for v in captured)]
    lists = [ops.reshape(broadcast(x, axes, domain), (count,)) for x in lanes]

    def iteration(i: ir.Value, flat: ir.Value, found: ir.Value) -> list[ir.Value]:
        place, active, *others = (ops.reshape(ops.dynamic_slice(x, [i], (1,)), ()) for x in lists)
        old = ops.reshape(ops.dynamic_slice(flat, [place], (1,)), ())
        machine.values[block.arguments[0]] = of_lanes(Lanes(old), type_)
        machine.values.update({v: of_lanes(Lanes(x), v.type) for v, x in zip(captured, others, strict=True)})
        (new,) = machine.block_of(block, Context({}, TRUE, False))
        result = ops.select(active, as_lanes(new, {}).value, old)
        return [ops.add(i, 1), ops.dynamic_update_slice(flat, ops.reshape(result, (1,)), [place]),
                ops.dynamic_update_slice(found, ops.reshape(old, (1,)), [i])]
    start = [ops.constant(0, INDEX), ops.reshape(memory.value, (factor,)), ops.constant(0, memory.dtype, (count,))]
    _, flat, found = ops.while_(start, lambda i, *_: ops.compare(i, count, "LT"), iteration)
    machine.values.update(kept)
    memory.value = ops.reshape(flat, shape_of(memory.value))
    return of_lanes(laid_over(ops.reshape(found, [domain[a].count for a in axes]), axes, domain), type_)


def _taken(flat: ir.Value, keys: ir.Value) -> ir.Value:
    count = shape_of(keys)[0]
    return ops.gather(flat, ops.reshape(keys, (count, 1)), offset_dims=[], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=1, slice_sizes=[1])


def _runs_before(values: ir.Value, first: ir.Value, kind: str) -> ir.Value:
    """What the elements before each in its run come to."""
    nothing = identity(kind, ops.dtype_of(values))
    total, begun, by = values, first, 1
    while by < shape_of(values)[0]:
        total = ops.select(begun, total, combine(kind, _shifted(total, by, nothing), total))
        begun = ops.or_(begun, _shifted(begun, by, True))
        by *= 2
    return ops.select(first, ops.broadcast_in_dim(ops.constant(nothing), shape_of(values), ()),
                      _shifted(total, 1, nothing))


__all__ = ["TRUE", "Domain", "axes_of", "before", "combine", "values_before"]
