"""Where threads meet: shuffles and votes of a warp, reductions at a barrier of the block.

A warp is 32 consecutive threads: the axes whose threads lie within one are put side by side as one dimension of at most
32 lanes, and what is exchanged is a slice, a reversal or a gather along it. Where no axes make up warps (12 x 10
threads), all threads of a block are put side by side and cut into warps, the last one filled up.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.kernels.lockstep.accesses import Scattered, Term, Window
from reactant.kernels.lockstep.conditions import Given
from reactant.kernels.lockstep.context import Context
from reactant.kernels.lockstep.data import Axis, Domain, Form, Lanes, Run, Shuffled, Span, of_atom
from reactant.kernels.lockstep.lanes import (
    apply,
    broadcast,
    condition_lanes,
    fitted,
    form_lanes,
    laid_over,
    live,
    ordered,
)
from reactant.kernels.lockstep.machine import Machine
from reactant.kernels.lockstep.reading import read
from reactant.kernels.lockstep.values import Integer, Refused, Value, as_lanes, known_number, of_lanes
from reactant.support.records import dataclass

WARP = 32


class UnevenWarps(Refused):
    """The last warp of a block has fewer lanes."""


@dataclass(frozen=True)
class Warps:
    """The warps that lie along `axes` (slowest first): `count` of them with `lanes` each; the last one lacks some where
    the axes have fewer places."""

    axes: tuple[Axis, ...]
    lanes: int
    count: int = 1

    @property
    def threads(self) -> int:
        return size([a.extent for a in self.axes])

    @property
    def rows(self) -> list[int]:
        """The dimension that tells warps apart, if there is one."""
        return [self.count] if self.count > 1 else []


def warps_of(machine: Machine) -> Warps:
    """The warps of a block; splits axes that cross warps."""
    machine.block_axes()
    reach = 1
    for d in range(3):
        extent = machine.block[d]
        if reach * extent <= WARP:
            reach *= extent
            continue
        inside = WARP // reach
        if WARP % reach or extent % inside:
            return _all_threads(machine)
        if inside > 1:
            machine.split(d, inside)
        break
    threads = machine.thread_axes()
    strides = {a: a.radix * size(list(machine.block)[:a.dimension]) for a in threads}
    found = [a for a in threads if strides[a] < WARP]
    if any(strides[a] * a.extent > WARP for a in found):
        return _all_threads(machine)
    found.sort(key=lambda a: -strides[a])
    return Warps(tuple(found), size([a.extent for a in found]))


def _all_threads(machine: Machine) -> Warps:
    """All threads of a block as warps, whatever their axes."""
    axes = tuple(machine.thread_axes())
    threads = size(list(machine.block))
    if machine.fills_warps or size([a.extent for a in axes]) != threads:
        raise UnevenWarps(f"blocks of {tuple(machine.block)} threads do not divide into warps")
    return Warps(axes, WARP, -(-threads // WARP))


def _thread_number(axes: Sequence[Axis]) -> Form:
    total, stride = Form(), 1
    for a in reversed(axes):
        total, stride = total + of_atom(a).times(stride), stride * a.extent
    return total


def _whole(domain: Domain, axes: Sequence[Axis]) -> dict[Axis, Span]:
    return {**domain, **{a: Span(0, a.extent) for a in axes}}


def _side_by_side(x: Lanes, warps: Warps, context: Context, fill: object) -> tuple[ir.Value, list[Axis]]:
    """(value with a last dimension over the threads along the axes of warps, the axes of its other dimensions)."""
    domain, axes = context.domain, warps.axes
    others = [a for a in x.axes if a not in axes and domain[a].count > 1]
    small = [a for a in (*others, *axes) if domain[a].count > 1 or a in axes]
    value = broadcast(x, small, domain)
    low, high, interior = [], [], []
    for a in small:
        span = domain[a] if a in axes else Span(0, domain[a].count)
        extent = a.extent if a in axes else span.count
        low.append(span.low)
        interior.append(span.step - 1 if span.count > 1 else 0)
        high.append(extent - 1 - span.last)
    value = ops.pad(value, fill, low, high, interior)
    return ops.reshape(value, [*(domain[a].count for a in others), warps.threads]), others


def _over_warps(x: Lanes, warps: Warps, context: Context, fill: object) -> tuple[ir.Value, list[Axis]]:
    """(value with last dimensions over warps, where there are several, and their lanes; the axes of the others)."""
    value, others = _side_by_side(x, warps, context, fill)
    *lead, threads = shape_of(value)
    missing = warps.count * warps.lanes - threads
    if missing:
        value = ops.pad(value, fill, [0] * (len(lead) + 1), [0] * len(lead) + [missing], [0] * (len(lead) + 1))
    return ops.reshape(value, [*lead, *warps.rows, warps.lanes]), others


def _from_warps(value: ir.Value, others: Sequence[Axis], warps: Warps, context: Context) -> Lanes:
    domain = _whole(context.domain, warps.axes)
    lead, lanes = [domain[a].count for a in others], warps.count * warps.lanes
    if lanes != warps.threads:
        value = ops.slice(ops.reshape(value, [*lead, lanes]), [0] * (len(lead) + 1), [*lead, warps.threads])
    value = ops.reshape(value, [*lead, *(a.extent for a in warps.axes)])
    return laid_over(value, [*others, *warps.axes], domain)


def _of_each_warp(value: ir.Value, others: Sequence[Axis], warps: Warps, context: Context) -> Lanes:
    """A value that has no dimension over lanes."""
    if warps.count == 1:
        return laid_over(value, others, context.domain)
    shape = shape_of(value)
    return _from_warps(ops.broadcast_in_dim(value, [*shape, warps.lanes], range(len(shape))), others, warps, context)


def _known_lanes(content: np.ndarray, warps: Warps, context: Context) -> Lanes:
    """A constant of each thread along the axes of warps."""
    value = ops.constant(content.reshape([a.extent for a in warps.axes]))
    return laid_over(value, list(warps.axes), _whole(context.domain, warps.axes))


def shuffle(machine: Machine, op: ir.Operation, context: Context) -> list[Value]:
    """`gpu.shuffle`: (the value of another lane, whether there is one). A lane's own where the other would be outside
    its segment; 0 where that one does not take part (CUDA leaves it open; so GPUs do, and programs rely on it)."""
    mode = attr.enumerator(op.attributes["mode"])
    warps = warps_of(machine)
    given = _lanes_of(machine, op.operands[0], context)
    everywhere = bool(context.mask.known)
    x = fitted(given, context.domain)
    if not everywhere:
        x = apply(_or_zero, [condition_lanes(context.mask, context.domain), x], context.domain)
    offset, width = machine.integer(op.operands[1]), known_number(machine.get(op.operands[2]))
    if width is None or width not in (1, 2, 4, 8, 16, 32):
        raise Refused("a shuffle's width is not known now")
    if warps.lanes < width and warps.lanes & (warps.lanes - 1):
        warps = _all_threads(machine)
    lanes = warps.lanes
    by, segment = offset.form.known, min(width, lanes)
    if by is not None and (mode != "xor" or 0 <= by < width) and lanes % segment == 0:
        value, others = _over_warps(x, warps, context, 0)
        shape = shape_of(value)
        moved = _moved(ops.reshape(value, [*shape[:-1], lanes // segment, segment]), mode, by, width)
        found = _from_warps(ops.reshape(moved, shape), others, warps, context)
        inside, missing = _partners(mode, by, width, warps.threads)
        if missing.any():
            found = apply(_or_zero, [_known_lanes(~missing, warps, context), found], context.domain)
        full = everywhere and all(context.domain[a].count == a.extent for a in warps.axes)
        if mode in ("down", "xor") and full and warps.count == 1 and segment == lanes == warps.threads \
                and by & (by - 1) == 0 and by:
            exchanged = machine.get(op.operands[0])
            form = exchanged.form if isinstance(exchanged, Integer) else None
            found = replace(found, shuffled=Shuffled(given, x, mode, by, warps.axes, form))
        return [of_lanes(found, op.results[0].type), Given(_known_lanes(inside, warps, context))]
    return _looked_up(op, x, mode, offset, width, warps, context)


def _or_zero(here: ir.Value, value: ir.Value) -> ir.Value:
    return ops.select(here, value, ops.splat(0, value))


def _partners(mode: str, by: int, width: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """For each thread, whether the lane it asks is inside its segment, and whether that lane is missing: there are no
    such threads."""
    place = np.arange(threads)
    start = place - place % width
    source = {"idx": start + by % width, "xor": place ^ by, "down": place + by, "up": place - by}[mode]
    inside = (source < start + width) & ((source >= start) | (mode == "xor"))
    return inside, inside & (source >= threads)


def _lanes_of(machine: Machine, value: ir.Value, context: Context) -> Lanes:
    """The lanes of a value; those that a run-time number is, where it is one."""
    found = machine.get(value)
    if isinstance(found, Integer) and len(found.form.terms) == 1 and not found.form.constant:
        (atom, factor), = found.form.terms
        if isinstance(atom, Run) and factor == 1 and atom.lanes.dtype.itemsize * 8 == found.width:
            return atom.lanes
    return found if isinstance(found, Lanes) else machine.lanes(value, context)


def _moved(value: ir.Value, mode: str, by: int, width: int) -> ir.Value:
    """Exchange along the last dimension, one segment."""
    *lead, n = shape_of(value)
    rank = len(lead) + 1

    def part(low: int, high: int) -> ir.Value:
        return ops.slice(value, [0] * (rank - 1) + [low], [*lead, high])
    if mode == "idx":
        source = min(by % width, n - 1)
        return ops.broadcast_in_dim(part(source, source + 1), [*lead, n], range(rank))
    if by <= 0 or by >= n:
        return value
    if mode == "xor":
        bits = n.bit_length() - 1
        cube = ops.reshape(value, [*lead, *[2] * bits])
        dims = [rank - 1 + bits - 1 - k for k in range(bits) if by >> k & 1]
        return ops.reshape(ops.reverse(cube, dims), [*lead, n])
    if mode == "down":
        return ops.concatenate([part(by, n), part(n - by, n)], rank - 1)
    return ops.concatenate([part(0, by), part(0, n - by)], rank - 1)


def _looked_up(op: ir.Operation, x: Lanes, mode: str, offset: Integer, width: int, warps: Warps,
               context: Context) -> list[Value]:
    """A shuffle whose distance is only known at run time, or is different in each lane."""
    domain, axes = context.domain, warps.axes
    lane = form_lanes(_thread_number(axes), np.dtype(np.int32), domain)
    by = as_lanes(Integer(offset.form, offset.width), domain)
    by = apply(lambda v: ops.convert(v, np.int32), [by], domain)
    start = apply(lambda v: ops.and_(v, -width), [lane], domain)
    target = {"idx": lambda i, d, s: ops.add(s, ops.and_(d, width - 1)), "xor": lambda i, d, s: ops.xor(i, d),
              "down": lambda i, d, s: ops.add(i, d), "up": lambda i, d, s: ops.subtract(i, d)}[mode]
    source = apply(target, [lane, by, start], domain)

    def is_inside(t: ir.Value, s: ir.Value) -> ir.Value:
        found = ops.compare(t, ops.add(s, width - 1), "LE")
        return found if mode == "xor" else ops.and_(ops.compare(t, s, "GE"), found)
    inside = apply(is_inside, [source, start], domain)
    source = apply(ops.select, [inside, source, lane], domain)
    there = apply(lambda t: ops.compare(t, warps.threads - 1, "LE"), [source], domain)
    source = apply(lambda t: ops.minimum(t, warps.threads - 1), [source], domain)
    value, others = _side_by_side(x, warps, context, 0)
    forms = [of_atom(a) for a in others] + [of_atom(Run(source, (0, warps.threads - 1)))]
    shared = set(others) & set(source.axes)
    places: list[Any] = [Scattered(of_atom(a)) if a in shared else
                         Window(0, (Term(a, 1, domain[a].count, False),)) for a in others]
    if shared:                                       # places count from the start of the span
        forms = [_from_zero(a, domain) for a in others] + forms[-1:]
    found = apply(_or_zero, [there, read(value, forms, [*places, Scattered(forms[-1])], domain)], domain)
    return [of_lanes(found, op.results[0].type), Given(inside)]


def _from_zero(axis: Axis, domain: Domain) -> Form:
    span = domain[axis]
    if span.step != 1:
        raise Refused("a shuffle of every second warp")
    return of_atom(axis).plus(-span.low)


# ---- votes ---------------------------------------------------------------------------------------------------------

def meet(machine: Machine, op: ir.Operation, name: str, context: Context) -> Any:
    """A collective call."""
    if name in ("barrier.warp", "barrier.grid"):
        return None
    if name.startswith("barrier."):
        return _at_barrier(machine, op, name.removeprefix("barrier."), context)
    if name == "activemask":
        return of_lanes(_ballot(machine, Lanes(ops.constant(True)), context), op.results[0].type)
    mask = known_number(machine.get(op.operands[0]))
    predicate = machine.get(op.operands[1])
    if name.startswith("match."):
        return _match(machine, op, name, context)
    x = as_lanes(predicate, context.domain)
    if name == "vote.ballot":
        bits = _ballot(machine, x, context, mask, op.operands[0])
        return of_lanes(bits, op.results[0].type)
    yes = _ballot(machine, x, context, mask, op.operands[0])
    no = _ballot(machine, apply(ops.not_, [x], context.domain), context, mask, op.operands[0])
    if name == "vote.any":
        return Given(apply(lambda v: ops.compare(v, 0, "NE"), [yes], context.domain))
    if name == "vote.all":
        return Given(apply(lambda v: ops.compare(v, 0, "EQ"), [no], context.domain))
    if name == "vote.uni":
        return Given(apply(lambda a, b: ops.or_(ops.compare(a, 0, "EQ"), ops.compare(b, 0, "EQ")), [yes, no],
                           context.domain))
    raise Refused(f"'{name}' has no tensor form", op)


def _ballot(machine: Machine, x: Lanes, context: Context, mask: int | None = -1,
            mask_value: ir.Value | None = None) -> Lanes:
    """The bits of the lanes that are here and whose truth is true."""
    warps, domain = warps_of(machine), context.domain
    here = condition_lanes(context.mask, domain)
    x = apply(ops.and_, [x, here], domain)
    value, others = _over_warps(x, warps, context, False)
    lanes = shape_of(value)[-1]
    bits = ops.constant((np.uint32(1) << np.arange(lanes, dtype=np.uint32)).view(np.int32))
    last = len(shape_of(value)) - 1
    bits = ops.broadcast_in_dim(bits, shape_of(value), [last])
    chosen = ops.select(value, bits, ops.splat(0, bits))
    found = _of_each_warp(ops.reduce(chosen, 0, [last], "or"), others, warps, context)
    if mask_value is not None and mask != -1:
        wanted = machine.lanes(mask_value, context)
        found = apply(ops.and_, [found, wanted], domain)
    return found


def _match(machine: Machine, op: ir.Operation, name: str, context: Context) -> Value:
    """Which lanes of the warp hold the same value."""
    warps, domain = warps_of(machine), context.domain
    x = machine.lanes(op.operands[1], context)
    here = _over(condition_lanes(context.mask, domain), x, domain)
    value, others = _over_warps(_over(x, here, domain), warps, context, 0)
    here, _ = _over_warps(here, warps, context, False)
    shape = shape_of(value)
    n, rank = shape[-1], len(shape)
    pair = [*shape, n]
    mine = ops.broadcast_in_dim(value, pair, range(rank))
    theirs = ops.broadcast_in_dim(value, pair, [*range(rank - 1), rank])
    other_here = ops.broadcast_in_dim(here, pair, [*range(rank - 1), rank])
    same = ops.and_(ops.compare(mine, theirs, "EQ"), other_here)
    bits = ops.constant((np.uint32(1) << np.arange(n, dtype=np.uint32)).view(np.int32))
    bits = ops.broadcast_in_dim(bits, pair, [rank])
    word = ops.reduce(ops.select(same, bits, ops.splat(0, bits)), 0, [rank], "or")
    found = _from_warps(word, others, warps, context)
    wanted = machine.lanes(op.operands[0], context)
    found = apply(ops.and_, [found, wanted], domain)
    if name.startswith("match.all"):
        all_here = _ballot(machine, Lanes(ops.constant(True)), context, None, op.operands[0])
        found = apply(lambda a, b: ops.select(ops.compare(a, b, "EQ"), a, ops.splat(0, a)), [found, all_here], domain)
    return of_lanes(found, op.results[0].type)


def _over(mask: Lanes, x: Lanes, domain: Domain) -> Lanes:
    """A mask over at least the axes of x."""
    axes = live({*mask.axes, *x.axes}, domain)
    return Lanes(broadcast(mask, axes, domain), axes, tuple(domain[a] for a in axes))


def _at_barrier(machine: Machine, op: ir.Operation, name: str, context: Context) -> Value:
    """How many threads of the block have a predicate, or whether all, or any."""
    domain, threads = context.domain, machine.thread_axes()
    x = machine.lanes(op.operands[0], context)
    truth = apply(lambda v: ops.compare(v, 0, "NE"), [x], domain)
    here = condition_lanes(context.mask, domain)
    if name == "and":
        truth = apply(lambda t, h: ops.or_(t, ops.not_(h)), [truth, here], domain)
    else:
        truth = apply(ops.and_, [truth, here], domain)
    missing = size([domain[a].count for a in threads if a not in truth.axes])
    dims = [k for k, a in enumerate(truth.axes) if a in threads]
    kept = [a for a in truth.axes if a not in threads]
    spans = tuple(domain[a] for a in kept)
    if name == "count":
        numbers = ops.convert(truth.value, np.int32)
        total = ops.reduce(numbers, 0, dims, "add") if dims else numbers
        total = ops.multiply(total, missing) if missing > 1 else total
        return of_lanes(Lanes(total, ordered(kept), spans), op.results[0].type)
    found = ops.reduce(truth.value, name == "and", dims, name) if dims else truth.value
    return of_lanes(Lanes(ops.convert(found, np.int32), ordered(kept), spans), op.results[0].type)
