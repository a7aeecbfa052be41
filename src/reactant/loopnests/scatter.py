"""Scatters: a loop over the updates in order, each combined with what is at its place."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reactant.ir.types import real_dtype
from reactant.loopnests.affine import ZERO, Affine, linear, number, symbol
from reactant.loopnests.elements import Buffer
from reactant.loopnests.graph import Node, decoded
from reactant.loopnests.numbers import BOOL, INDEX, Number

if TYPE_CHECKING:
    from reactant.loopnests.control import Compiler


def emit_scatter(compiler: Compiler, node: Node, buffer: Buffer) -> None:
    """Write the scatter of one operand, which is in `buffer` already."""
    w, e, a = compiler.w, compiler.e, compiler.a
    _, indices, updates = node.operands
    counters = []
    with e.remembering():
        for extent in updates.shape:
            if extent == 1:
                counters.append(ZERO)
                continue
            name = w.fresh("i")
            w.loop(f"scf.for {name} = {w.index(0)} to {w.index(extent)} step {w.index(1)} {{", (name,))
            w.facts.ranges[name] = (0, extent - 1)
            counters.append(symbol(name))
        places = _places(compiler, node, tuple(counters))
        inside = a.constant(True, BOOL)
        for place, extent in zip(places, node.shape, strict=True):
            inside = e._and(inside, place, number(extent - 1) - place)
        update = e.at(updates, tuple(counters))
        if inside.value is not False:
            if inside.value is None:
                w.loop(f"scf.if {a.name(inside)} {{")
            place = linear(tuple(places), node.shape)
            combined = e.combined(node.blocks[0], [current(compiler, buffer, place)], [update])[0]
            e.store(combined, buffer, place)
            if inside.value is None:
                w.finish()
        for extent in updates.shape:
            if extent != 1:
                w.finish()
    buffer.version += 1
    buffer.level = w.depth


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


__all__ = ["INDEX", "current", "emit_scatter"]
