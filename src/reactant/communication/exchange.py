"""Exchanges: several arrays at once, one dimension after the other, so that corners come along with borders.

What goes the same way along the same axes travels together, arrays of one dtype in one `collective_permute`.
"""
from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant.communication.blocks import Demand, Grid, Span, positions
from reactant.communication.emission import Part, Writer, between, cut
from reactant.communication.messages import FROM_ONE, Round, rounds, steps, told_to_all
from reactant.communication.plan import Box, Plan, part_of
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.support.records import dataclass


@dataclass(eq=False)
class Moving:
    """A value of which devices have `core` and want `wanted`, in a box of it."""

    value: ir.Value
    box: Box
    part: Part
    core: Demand
    wanted: Demand


@dataclass(eq=False)
class _Iteration:
    """One dimension of one value in an exchange."""

    value: ir.Value
    starts: np.ndarray
    """Where what is sent begins,"""
    dimension: int
    target: np.ndarray
    """and where what is wanted does."""
    length: int
    where: np.ndarray
    held: Span
    """What of it devices have themselves."""
    rounds: list[Round]
    arrived: list[ir.Value] = field(default_factory=list)


def exchange(w: Writer, plan: Plan, moving: Sequence[Moving]) -> list[Part]:
    """Write the exchange of some values; their parts then."""
    values = [m.part.value for m in moving]
    starts = [list(m.part.starts) for m in moving]
    left = [sorted(m.wanted.spans) for m in moving]
    while any(left):
        axes = next(plan.grids(m.value)[d[0]].axes for m, d in zip(moving, left, strict=True) if d)    # type: ignore
        iterations = {}
        for k, m in enumerate(moving):
            d = next((d for d in left[k] if plan.grids(m.value)[d].axes == axes), None)    # type: ignore[union-attr]
            if d is not None:
                left[k].remove(d)
                iterations[k] = _iteration(plan, m, values[k], starts[k][d], d)
        _send(w, list(iterations.values()), axes)
        for k, iteration in iterations.items():
            values[k], starts[k][iteration.dimension] = _assembled(w, iteration), iteration.target
    return [Part(v, tuple(s)) for v, s in zip(values, starts, strict=True)]


def _iteration(plan: Plan, m: Moving, value: ir.Value, starts: np.ndarray | None, d: int) -> _Iteration:
    grid, extent = plan.grids(m.value)[d], shape_of(m.value)[d]
    assert isinstance(grid, Grid) and starts is not None
    span = m.wanted.spans[d].only(m.wanted.where)
    if len(m.wanted.spans) > 1:     # what is sent on along other dimensions has to be there
        span = span.alike(positions(plan.mesh, grid.axes))
    target, length = part_of(grid, span)
    held = m.core.spans[d]
    found = rounds(plan.mesh, grid, extent, span, d in m.wanted.cyclic, held.within(0, extent))
    local = Span(np.maximum(span.low, held.low), np.minimum(span.high, held.high))
    whole = told_to_all(found)
    return _Iteration(value, starts, d, target, length, span.some, local, found if whole is None else [whole])


def _send(w: Writer, iterations: Sequence[_Iteration], axes: tuple[str, ...]) -> None:
    """Write the messages of all iterations; each learns what has arrived, round by round."""
    for iteration in iterations:
        iteration.arrived = [iteration.value] * len(iteration.rounds)
    groups: dict[tuple[int, np.dtype, bytes], list[tuple[_Iteration, int]]] = {}
    for iteration in iterations:
        for k, each in enumerate(iteration.rounds):
            way = each.source.tobytes() + each.gets.tobytes() if each.hop == FROM_ONE else b""
            groups.setdefault((each.hop, dtype_of(iteration.value), way), []).append((iteration, k))
    for (hop, _, _), sent in _merged(groups):
        pieces = [_piece(w, iteration, iteration.rounds[k]) for iteration, k in sent]
        if hop > 0:
            slots, pieces = _overlaid(w, [iteration.rounds[k] for iteration, k in sent], pieces)
        else:
            slots = list(range(len(pieces)))
        if hop == FROM_ONE:
            for pairs, gets in steps(w.mesh, axes, sent[0][0].rounds[sent[0][1]]):
                taken = w.table(gets)
                pieces = [ops.select(ops.compare(taken, 1, "EQ"), new, old)
                          for new, old in zip(_together(w, pieces, pairs), pieces, strict=True)]
        elif hop:
            pairs = sorted({pair for iteration, k in sent for pair in iteration.rounds[k].pairs()})
            pieces = _together(w, pieces, pairs)
        for (iteration, k), slot in zip(sent, slots, strict=True):
            iteration.arrived[k] = pieces[slot]


_Key = tuple[int, np.dtype, bytes]


def _merged(groups: Mapping[_Key, list[tuple[_Iteration, int]]]) -> list[tuple[_Key, list[tuple[_Iteration, int]]]]:
    """Messages of the same shapes that go different ways in one, where no device sends or gets two."""
    found: list[tuple[_Key, list[tuple[_Iteration, int]], list, np.ndarray, np.ndarray]] = []
    for key, sent in groups.items():
        rounds_ = [iteration.rounds[k] for iteration, k in sent]
        sends, gets = (np.logical_or.reduce(each) for each in zip(*((r.sends(), r.gets) for r in rounds_), strict=True))
        shapes = sorted(_shape(iteration, r) for (iteration, _), r in zip(sent, rounds_, strict=True))
        for k, (other, others, alike, s, g) in enumerate(found):
            if key[0] > 0 and other[0] > 0 and key[1] == other[1] and shapes == alike \
                    and not (s & sends | g & gets).any():
                found[k] = other, others + sent, alike, s | sends, g | gets
                break
        else:
            found.append((key, sent, shapes, sends, gets))
    return [(key, sent) for key, sent, *_ in found]


def _shape(iteration: _Iteration, each: Round) -> tuple[int, ...]:
    """Of what is sent in a round."""
    return tuple(each.most if d == iteration.dimension else n for d, n in enumerate(shape_of(iteration.value)))


def _piece(w: Writer, iteration: _Iteration, each: Round) -> ir.Value:
    """What is sent in a round."""
    return w.window(iteration.value, iteration.dimension, each.at_source(each.first) - iteration.starts, each.most,
                    each.sends())


def _overlaid(w: Writer, each: Sequence[Round], pieces: Sequence[ir.Value]) -> tuple[list[int], list[ir.Value]]:
    """Pieces of one shape that no device sends two of, in one place: which each is in, and the places."""
    slots: list[int] = []
    places: list[tuple[ir.Value, np.ndarray]] = []
    for iteration, piece in zip(each, pieces, strict=True):
        sends = iteration.sends()
        for k, (other, others) in enumerate(places):
            if other.type == piece.type and not (sends & others).any():
                chosen = ops.compare(w.table(sends), 1, "EQ")
                places[k] = ops.select(chosen, piece, other), sends | others
                slots.append(k)
                break
        else:
            slots.append(len(places))
            places.append((piece, sends))
    return slots, [place for place, _ in places]


def _together(w: Writer, pieces: Sequence[ir.Value], pairs: Sequence[tuple[int, int]]) -> list[ir.Value]:
    if len(pieces) == 1:
        return [w.permute(pieces[0], pairs)]
    sizes = [int(np.prod(shape_of(p))) for p in pieces]
    flat = w.permute(ops.concatenate([ops.reshape(p, (n,)) for p, n in zip(pieces, sizes, strict=True)], 0), pairs)
    ends = np.cumsum(sizes)
    return [ops.reshape(cut(flat, 0, int(end - n), int(end)), shape_of(p))
            for p, n, end in zip(pieces, sizes, ends, strict=True)]


def _assembled(w: Writer, iteration: _Iteration) -> ir.Value:
    """What a device has and what has arrived, in one array."""
    d, own = iteration.dimension, iteration.held.some & iteration.where
    made = w.window(iteration.value, d, iteration.target - iteration.starts, iteration.length,
                    own) if own.any() else None
    fixed = [_fixed(iteration, each) for each in iteration.rounds]
    if made is not None and all(f is not None for f in fixed) and _apart(fixed, iteration.rounds):   # type: ignore[arg-type]
        return _joined(made, iteration, fixed)       # type: ignore[arg-type]
    place = ops.iota((iteration.length,), np.int64, 0)
    for each, arrived in zip(iteration.rounds, iteration.arrived, strict=True):
        offset = each.target - iteration.target
        spread = w.window(arrived, d, -offset, iteration.length, each.gets)
        if made is None:
            made = spread
            continue
        chosen = between(place, w.table(np.where(each.gets, offset, iteration.length)),
                         w.table(np.where(each.gets, offset + each.length, 0)))
        made = ops.select(ops.broadcast_in_dim(chosen, shape_of(made), (d,)), spread, made)
    if made is None:
        shape = shape_of(iteration.value)
        made = w.nothing(shape[:d] + (iteration.length,) + shape[d + 1:], dtype_of(iteration.value))
    return made


def _fixed(iteration: _Iteration, each: Round) -> int | None:
    """Where all devices may put what arrives in a round, those that get nothing or less, too; else None."""
    offsets = (each.target - iteration.target)[each.gets]
    if not (offsets == offsets[0]).all():
        return None
    offset = int(offsets[0])
    if offset + each.most > iteration.length:
        return None
    low, high = iteration.held.low - iteration.target, iteration.held.high - iteration.target
    begin = offset + np.where(each.gets, each.length, 0)
    clash = iteration.where & (high > low) & (np.minimum(high, offset + each.most) > np.maximum(low, begin))
    return None if clash.any() else offset


def _apart(offsets: Sequence[int], rounds_: Sequence[Round]) -> bool:
    """Whether what arrives in rounds never lies over one another."""
    ordered = sorted((o, o + r.most) for o, r in zip(offsets, rounds_, strict=True))
    return all(a[1] <= b[0] for a, b in itertools.pairwise(ordered))


def _joined(made: ir.Value, iteration: _Iteration, offsets: Sequence[int]) -> ir.Value:
    d, at, pieces = iteration.dimension, 0, []
    for offset, each, arrived in sorted(zip(offsets, iteration.rounds, iteration.arrived, strict=True),
                                        key=lambda t: t[0]):
        if offset > at:
            pieces.append(cut(made, d, at, offset))
        pieces.append(arrived)
        at = offset + each.most
    if at < iteration.length:
        pieces.append(cut(made, d, at, iteration.length))
    return ops.concatenate(pieces, d) if len(pieces) > 1 else pieces[0]


def gathered(w: Writer, plan: Plan, value: ir.Value, part: Part, dimensions: frozenset[int]) -> Part:
    """A value of which every device has all of some dimensions."""
    found, starts = part.value, list(part.starts)
    for d in sorted(dimensions):
        grid, extent, begin = plan.grids(value)[d], shape_of(value)[d], starts[d]
        assert isinstance(grid, Grid) and begin is not None
        owned = grid.owned(extent)
        first, length = part_of(grid, owned)
        if not extent:
            found = w.window(found, d, first - begin, length, owned.some)
        elif 2 * extent < length * w.mesh.size(grid.axes):
            found = _from_few(w, found, d, grid, owned, begin, extent)
        else:
            own = w.window(found, d, first - begin, length, owned.some)
            found = _in_order(w.gather(own, d, grid.axes), d, _runs(w, grid, owned, first, length))
        starts[d] = None
    return Part(found, tuple(starts))


def _from_few(w: Writer, x: ir.Value, d: int, grid: Grid, owned: Span, begin: np.ndarray, extent: int) -> ir.Value:
    """All of a dimension of which most devices have nothing. One who has all of it tells the others."""
    x = w.window(x, d, -begin, extent, owned.some)
    if (owned.only(owned.some).high[owned.some] - owned.low[owned.some] == extent).all():
        everyone, groups = np.ones(w.mesh.devices, np.int64), w.groups(grid.axes)
        source = np.empty(w.mesh.devices, np.int64)
        for group in groups:
            source[group] = group[owned.some[group]][0]
        told = Round(FROM_ONE, 0 * everyone, 0 * everyone, extent * (source != np.arange(len(source))), source)
        for pairs, gets in steps(w.mesh, grid.axes, told):
            x = ops.select(ops.compare(w.table(gets), 1, "EQ"), w.permute(x, pairs), x)
        return x
    own = between(ops.iota((extent,), np.int64, 0), w.table(owned.low), w.table(owned.high))
    return w.united(x, ops.broadcast_in_dim(own, shape_of(x), (d,)), grid.axes)


def _runs(w: Writer, grid: Grid, owned: Span, begin: np.ndarray, length: int) -> list[tuple[int, int]]:
    """[begin, end) in what was gathered of all elements, in order."""
    found: list[tuple[int, int]] = []
    for place, device in sorted(enumerate(w.groups(grid.axes)[0]), key=lambda each: int(owned.low[each[1]])):
        low, high = int(owned.low[device]), int(owned.high[device])
        if high > low:
            at = place * length + low - int(begin[device])
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], at + high - low)
            else:
                found.append((at, at + high - low))
    return found


def _in_order(x: ir.Value, d: int, runs: Sequence[tuple[int, int]]) -> ir.Value:
    pieces = [cut(x, d, low, high) for low, high in runs]
    return ops.concatenate(pieces, d) if len(pieces) != 1 else pieces[0]
