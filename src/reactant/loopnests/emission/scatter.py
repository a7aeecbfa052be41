"""Scatters: a loop over the updates in order, each combined with what is at its place.

Many updates of a small result, combined in a way that has no order, are done in chunks by several threads.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from reactant.ir.types import real_dtype
from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.analysis.monoids import identity_of, monoid
from reactant.loopnests.emission.affine import ZERO, Affine, linear, number, symbol
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.elements import Buffer, Elements
from reactant.loopnests.emission.loop_parts import Piece
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.numbers import BOOL, Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import parallel_end

CHUNKS = 8
"""Copies of a small result that several threads scatter into."""
MOST_COPIED, LEAST_UPDATES = 4096, 1 << 16
"""Elements of such a result at most, and updates at least."""


def emit_scatter(compiler: Buffers, node: Node, buffer: Buffer, updates: Updates | None = None) -> None:
    """Write the scatter of one operand, which is in `buffer` already; updates: the loop, where it is not over all."""
    identity, updates = None if updates else _identity(node), updates or Updates(compiler, node, buffer)
    if identity is None or updates.cut_at_run_time():
        with compiler.e.remembering():
            updates.emit()
    else:
        _in_chunks(compiler, node, buffer, identity)
    buffer.version += 1
    buffer.level = compiler.w.depth


def _identity(node: Node) -> object | None:
    """What copies of the result start from, where updates may be combined in any order and it pays."""
    updates = node.operands[2]
    kind = monoid(node)
    exact = node.dtype.kind in "iub" or node.dtype.kind == "f" and kind in ("maximum", "minimum")
    if kind is None or not exact or node.size > MOST_COPIED or updates.size < LEAST_UPDATES \
            or updates.shape[0] < CHUNKS or 0 in decoded(node, "scatter_dimension_numbers").update_window_dims:
        return None
    found: object | None = identity_of(kind, node.dtype)
    return found


def _in_chunks(compiler: Buffers, node: Node, buffer: Buffer, identity: object) -> None:
    """Parts of the updates go to copies of the result, which are combined at the end."""
    w, e, a = compiler.w, compiler.e, compiler.a
    count = node.operands[2].shape[0]
    length = -(-count // CHUNKS)
    chunks = -(-count // length)
    copies = compiler.scratch(node.dtype, chunks * node.size)
    start = a.constant(identity, node.dtype)
    chunk = w.fresh("i")
    w.loop(f"scf.parallel ({chunk}) = ({w.index(0)}) to ({w.index(chunks)}) step ({w.index(1)}) {{"
           if compiler.parallel else
           f"scf.for {chunk} = {w.index(0)} to {w.index(chunks)} step {w.index(1)} {{", (chunk,))
    w.facts.ranges[chunk] = (0, chunks - 1)
    base = symbol(chunk).times(node.size)
    with e.remembering():
        place = counter(compiler, ZERO, number(node.size), (0, node.size - 1))
        e.store(start, copies, base + place)
        w.finish()
        low = symbol(chunk).times(length)
        Updates(compiler, node, copies, base, (low, e.clamped(low + length, 0, count))).emit()
    w.finish(parallel_end(8 * node.operands[2].size / chunks) if compiler.parallel else "}")
    with e.remembering():
        place = counter(compiler, ZERO, number(node.size), (0, node.size - 1))
        total = current(e, buffer, place)
        for k in range(chunks):
            part = current(e, copies, place + k * node.size)
            total = e.combined(node.blocks[0], [total], [part])[0]
        e.store(total, buffer, place)
        w.finish()


def counter(compiler: Buffers, low: Affine, high: Affine, range_: tuple[int, int]) -> Affine:
    """Open a loop; its counter."""
    w = compiler.w
    name = w.fresh("i")
    ends = w.affine(low), w.affine(high), w.index(1)
    w.loop(f"scf.for {name} = {ends[0]} to {ends[1]} step {ends[2]} {{", (name,))
    w.facts.ranges[name] = range_
    return symbol(name)


class Updates(Nest):
    """The loop over updates in order, into a copy of the result that starts at `base`. The first dimension goes from
    one end to another, where they are told."""

    def __init__(self, compiler: Buffers, node: Node, buffer: Buffer, base: Affine = ZERO,
                 ends: tuple[Affine, Affine] | None = None) -> None:
        super().__init__(compiler.e, node.operands[2].shape, [], {}, compiler.scratch, False)
        self.node, self.buffer, self.base, self.ends = node, buffer, base, ends

    def emit(self) -> dict[Node, list[Number]]:
        pieces = self.pieces()
        if self.ends is not None:
            pieces[0] = [Piece(*self.ends, (0, self.shape[0] - 1))]
        return self._dimension(0, (), pieces, {}, False)

    def cut_at_run_time(self) -> bool:
        """Whether only some of the updates, known at run time, go anywhere."""
        return any(p.low.terms or p.high.terms for pieces in self.pieces()[:1] for p in pieces)

    def _values(self, index: tuple[Affine, ...]) -> list[tuple[Root, list[Number]]]:
        update_at(self.e, self.node, index)
        return []

    def body(self, index: tuple[Affine, ...], accumulators: dict[Any, list[Number]]) -> dict[Any, list[Number]]:
        made = update_at(self.e, self.node, index)
        if made is None:
            return accumulators
        where, goes, update = made
        if goes.value is None:
            self.w.loop(f"scf.if {self.a.name(goes)} {{")
        at = linear(tuple(where), self.node.shape) + self.base
        combined = self.e.combined(self.node.blocks[0], [current(self.e, self.buffer, at)], [update])[0]
        self.e.store(combined, self.buffer, at)
        if goes.value is None:
            self.w.finish()
        return accumulators

    def _rests(self, index: tuple[Affine, ...]) -> bool:
        return update_at(self.e, self.node, index) is None

    def _closing(self, d: int) -> str:
        return "}"


def update_at(e: Elements, node: Node, index: tuple[Affine, ...]) -> tuple[list[Affine], Number, Number] | None:
    """Where an update goes, whether that is inside, and the update; None where nothing changes."""
    update = e.at(node.operands[2], index)
    if _changes_nothing(e, node, update):
        return None
    where, goes = _places(e, node, index)
    return None if goes.value is False else (where, goes, update)


def _changes_nothing(e: Elements, node: Node, update: Number) -> bool:
    """Whether what an update is combined with stays as it is."""
    kind = monoid(node)
    values = [part.value for part in update.parts or (update,)]
    if kind is None or None in values or update.parts and kind != "add":
        return False
    if kind == "add" and update.dtype.kind in "fc":
        return all(v == 0 and math.copysign(1.0, v) < 0 for v in values) or \
            not any(values) and e.zeros.unsigned(node.operands[0])
    nothing = identity_of(kind, update.dtype)
    return nothing is not None and bool(values[0] == nothing)


def current(e: Elements, buffer: Buffer, place: Affine) -> Number:
    """What is at a place now: read anew every time."""
    w = e.w
    place = place + buffer.offset

    def read(where: Affine, dtype: np.dtype) -> Number:
        at = w.affine(where)
        name = w.define(w.fresh("m"))
        w.line(f"{name} = memref.load {buffer.name}[{at}] : {buffer.type}")
        return Number(dtype, name)
    if buffer.dtype.kind == "c":
        part = real_dtype(buffer.dtype)
        return e.a.pair(read(place.times(2), part), read(place.times(2) + 1, part), buffer.dtype)
    made = read(place, buffer.dtype)
    if buffer.dtype.kind != "b":
        return made
    name = made.name or ""
    return Number(BOOL, w.pure(f"arith.trunci {name} : i8 to i1", (name,)))


def _places(e: Elements, node: Node, index: tuple[Affine, ...]) -> tuple[list[Affine], Number]:
    """Where in the operand an update goes, and whether its window lies inside: of one that does not, XLA (and
    `jax.lax.scatter`) leaves out the whole, where StableHLO's specification leaves out the elements outside."""
    indices = node.operands[1]
    n = decoded(node, "scatter_dimension_numbers")
    batch = [i for d, i in enumerate(index) if d not in n.update_window_dims]
    offsets = iter([(index[d], node.operands[2].shape[d]) for d in n.update_window_dims])
    found, inside = [], e.a.constant(True, BOOL)
    for d, extent in enumerate(node.shape):
        place, window = ZERO, 1
        if d in n.scatter_dims_to_operand_dims:
            at = list(batch)
            if n.index_vector_dim < len(indices.shape):
                at.insert(n.index_vector_dim, number(n.scatter_dims_to_operand_dims.index(d)))
            place = e.a.as_index(e.at(indices, tuple(at)))
        start = place
        if d in n.input_batching_dims:
            source = n.scatter_indices_batching_dims[n.input_batching_dims.index(d)]
            start = place = batch[source - (source > n.index_vector_dim)]
        elif d not in n.inserted_window_dims:
            offset, window = next(offsets)
            place = start + offset
        inside = e._and(inside, start, number(extent - window) - start)
        found.append(place)
    return found, inside

