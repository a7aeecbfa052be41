"""Scatters: a loop over the updates in order, each combined with what is at its place.

Many updates of a small result, combined in a way that has no order, are done in chunks by several threads.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reactant.ir.types import real_dtype
from reactant.loopnests.affine import ZERO, Affine, linear, number, symbol
from reactant.loopnests.elements import Buffer
from reactant.loopnests.graph import Node, decoded
from reactant.loopnests.nests import identity_of, monoid
from reactant.loopnests.numbers import BOOL, Number
from reactant.loopnests.writer import parallel_end

if TYPE_CHECKING:
    from reactant.loopnests.control import Compiler


CHUNKS = 8
"""Copies of a small result that several threads scatter into."""
MOST_COPIED, LEAST_UPDATES = 4096, 1 << 16
"""Elements of such a result at most, and updates at least."""


def emit_scatter(compiler: Compiler, node: Node, buffer: Buffer) -> None:
    """Write the scatter of one operand, which is in `buffer` already."""
    identity = _identity(node)
    if identity is None:
        with compiler.e.remembering():
            _updates(compiler, node, buffer, ZERO, 0, (ZERO, number(node.operands[2].shape[0])
                                                       if node.operands[2].shape else ZERO))
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


def _in_chunks(compiler: Compiler, node: Node, buffer: Buffer, identity: object) -> None:
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
        _updates(compiler, node, copies, base, 0, (low, e.clamped(low + length, 0, count)))
    w.finish(parallel_end(8 * node.operands[2].size / chunks) if compiler.parallel else "}")
    with e.remembering():
        place = counter(compiler, ZERO, number(node.size), (0, node.size - 1))
        total = current(compiler, buffer, place)
        for k in range(chunks):
            part = current(compiler, copies, place + k * node.size)
            total = e.combined(node.blocks[0], [total], [part])[0]
        e.store(total, buffer, place)
        w.finish()


def counter(compiler: Compiler, low: Affine, high: Affine, range_: tuple[int, int]) -> Affine:
    """Open a loop; its counter."""
    w = compiler.w
    name = w.fresh("i")
    ends = w.affine(low), w.affine(high), w.index(1)
    w.loop(f"scf.for {name} = {ends[0]} to {ends[1]} step {ends[2]} {{", (name,))
    w.facts.ranges[name] = range_
    return symbol(name)


def _updates(compiler: Compiler, node: Node, buffer: Buffer, base: Affine, first: int,
             ends: tuple[Affine, Affine]) -> None:
    """The loop over updates (of the first dimension, from one end to the other) in order, into a copy of the result
    that starts at `base`."""
    w, e, a = compiler.w, compiler.e, compiler.a
    updates = node.operands[2]
    counters = []
    for d, extent in enumerate(updates.shape):
        if extent == 1:
            counters.append(ZERO)
        else:
            low, high = ends if d == first else (ZERO, number(extent))
            counters.append(counter(compiler, low, high, (0, extent - 1)))
    places = _places(compiler, node, tuple(counters))
    inside = a.constant(True, BOOL)
    for place, extent in zip(places, node.shape, strict=True):
        inside = e._and(inside, place, number(extent - 1) - place)
    update = e.at(updates, tuple(counters))
    if inside.value is not False:
        if inside.value is None:
            w.loop(f"scf.if {a.name(inside)} {{")
        at = linear(tuple(places), node.shape) + base
        combined = e.combined(node.blocks[0], [current(compiler, buffer, at)], [update])[0]
        e.store(combined, buffer, at)
        if inside.value is None:
            w.finish()
    for extent in updates.shape:
        if extent != 1:
            w.finish()


def current(compiler: Compiler, buffer: Buffer, place: Affine) -> Number:
    """What is at a place now: read anew every time."""
    w = compiler.w
    place = place + buffer.offset

    def read(where: Affine, dtype: np.dtype) -> Number:
        at = w.affine(where)
        name = w.define(w.fresh("m"))
        w.line(f"{name} = memref.load {buffer.name}[{at}] : {buffer.type}")
        return Number(dtype, name)
    if buffer.dtype.kind == "c":
        part = real_dtype(buffer.dtype)
        return compiler.a.pair(read(place.times(2), part), read(place.times(2) + 1, part), buffer.dtype)
    made = read(place, buffer.dtype)
    if buffer.dtype.kind != "b":
        return made
    name = made.name or ""
    return Number(BOOL, w.pure(f"arith.trunci {name} : i8 to i1", (name,)))


def _places(compiler: Compiler, node: Node, index: tuple[Affine, ...]) -> list[Affine]:
    """Where in the operand an update goes."""
    e, a = compiler.e, compiler.a
    indices = node.operands[1]
    n = decoded(node, "scatter_dimension_numbers")
    batch = [i for d, i in enumerate(index) if d not in n.update_window_dims]
    offsets = iter([index[d] for d in n.update_window_dims])
    places = []
    for d in range(len(node.shape)):
        place = ZERO
        if d in n.scatter_dims_to_operand_dims:
            at = list(batch)
            if n.index_vector_dim < len(indices.shape):
                at.insert(n.index_vector_dim, number(n.scatter_dims_to_operand_dims.index(d)))
            place = a.as_index(e.at(indices, tuple(at)))
        if d in n.input_batching_dims:
            source = n.scatter_indices_batching_dims[n.input_batching_dims.index(d)]
            place = batch[source - (source > n.index_vector_dim)]
        elif d not in n.inserted_window_dims:
            place = place + next(offsets)
        places.append(place)
    return places

