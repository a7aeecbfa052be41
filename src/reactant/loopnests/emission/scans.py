"""Cumulative sums and their like: windows that reach back to the beginning, each result from the one before."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import is_float, shape_of, size
from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.analysis.monoids import identity_of, monoid
from reactant.loopnests.emission.affine import Affine, linear, number, symbol
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.loop_parts import Piece
from reactant.loopnests.emission.loops import PARALLEL_WORK
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.scatter import current

_ATTRIBUTES = ("window_dimensions", "padding", "window_strides", "base_dilations", "window_dilations")


def is_scan(op: ir.Operation) -> bool:
    """Whether a reduce_window of one array is cumulative along one dimension, forwards or backwards."""
    if len(op.results) != 1:
        return False
    extents = shape_of(op.operands[0])
    window, padding, *steps = (attr.decode(op.attributes[n]) if n in op.attributes else None for n in _ATTRIBUTES)
    return _scanned(extents, window, padding, *steps) is not None and _begins_with_nothing(op)  # type: ignore[arg-type]


def _begins_with_nothing(op: ir.Operation) -> bool:
    """Whether what windows begin with, and padding is made of, may be combined once, not for each place in front: it
    changes nothing, or only once. Of bodies of several ops that is believed of infinities alone."""
    body = [child.operation.name.partition(".")[2] for child in op.regions[0].blocks[0]]
    if len(body) == 2 and body[0] in ("maximum", "minimum", "and", "or"):
        return True
    start = ops.constant_value(op.operands[1])
    if start is None or start.ndim:
        return False
    if len(body) > 2:
        return is_float(start.dtype) and bool(np.isinf(start))
    nothing = 1 if body[0] == "multiply" else identity_of(body[0], start.dtype)
    return nothing is not None and bool(start == nothing)


def _scanned(extents: tuple[int, ...], window: tuple[int, ...], padding: object,
             *steps: object) -> tuple[int, bool] | None:
    """(dimension, backwards) of a cumulative window, else None."""
    wide = [d for d, n in enumerate(window) if n != 1]
    if len(wide) != 1 or padding is None or any(s is not None and set(s) != {1} for s in steps):  # type: ignore
        return None
    d = wide[0]
    if window[d] < extents[d]:                      # a wider one sees more of the padding, which changes nothing
        return None
    rows = [(int(low), int(high)) for low, high in padding]  # type: ignore[attr-defined]
    if any(rows[k] != (0, 0) for k in range(len(rows)) if k != d):
        return None
    if rows[d] == (window[d] - 1, 0):
        return d, False
    return (d, True) if rows[d] == (0, window[d] - 1) else None


def emit_scan(compiler: Buffers, node: Node, buffer: Buffer) -> None:
    """Write the loops of a cumulative op; the result goes to `buffer`."""
    w, e, operand = compiler.w, compiler.e, node.operands[0]
    window, padding, *steps = (decoded(node, n) for n in _ATTRIBUTES)
    found = _scanned(operand.shape, window, padding, *steps)
    assert found is not None
    d, backwards = found
    if size(node.shape[d + 1:]) == 1:
        with e.remembering():
            Scan(compiler, node, buffer, d, backwards).emit()
    else:
        _in_rows(compiler, node, buffer, d, backwards)
    buffer.version += 1
    buffer.level = w.depth


class Scan(Nest):
    """A scan along the last dimension, carried in registers. It passes over what changes nothing and nobody needs."""

    def __init__(self, compiler: Buffers, node: Node, buffer: Buffer, along: int, backwards: bool) -> None:
        super().__init__(compiler.e, node.shape, [], {}, compiler.scratch, compiler.parallel)
        frame = compiler.frames[-1]
        self.root = frame.plan.steps[frame.position].roots[0]
        self.node, self.buffer, self.along, self.backwards = node, buffer, along, backwards
        self.work = float(node.size * (1 + self.root.expense))
        start, kind = node.operands[1].splat, monoid(node)
        self.nothing = None
        if kind is not None and start is not None and node.dtype.kind != "c" \
                and not (kind == "add" and math.copysign(1.0, start) < 0):
            self.nothing = identity_of(kind, node.dtype)

    def emit(self) -> dict[Node, list[Number]]:
        self._dimension(0, (), self.pieces(), {}, self.parallel and self.work >= PARALLEL_WORK)
        return {}

    def _dimension(self, d: int, index: tuple[Affine, ...], pieces: list[list[Piece]],
                   accumulators: dict[Any, list[Number]], parallel: bool) -> dict[Any, list[Number]]:
        if d != self.along:
            return super()._dimension(d, index, pieces, accumulators, parallel)
        super()._dimension(d, index, pieces, {self.root: [self.e.at(self.node.operands[1], ())]}, False)
        return accumulators

    def _at(self, index: tuple[Affine, ...]) -> tuple[Affine, ...]:
        if not self.backwards:
            return index
        return tuple(number(self.shape[d] - 1) - i if d == self.along else i for d, i in enumerate(index))

    def _values(self, index: tuple[Affine, ...]) -> list[tuple[Root, list[Number]]]:
        at = self._at(index)
        return [] if self.unneeded(self.root, at) else [(self.root, [self.e.at(self.node.operands[0], at)])]

    def body(self, index: tuple[Affine, ...], accumulators: dict[Any, list[Number]]) -> dict[Any, list[Number]]:
        at, before = self._at(index), accumulators[self.root]
        element = [self.e.at(self.node.operands[0], at)]
        made = self.e.combined(self.node.blocks[0], *((element, before) if self.backwards else (before, element)))
        self.e.store(made[0], self.buffer, linear(at, self.shape))
        return {self.root: made}

    def nothing_to_do(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]]) -> bool:
        return d == self.along and self.root.needed is not None and self.nothing is not None \
            and super().nothing_to_do(d, piece, index, pieces)

    def _rests(self, index: tuple[Affine, ...]) -> bool:
        at = self._at(index)
        return self.unneeded(self.root, at) and self.e.at(self.node.operands[0], at).value == self.nothing

    def _closing(self, d: int) -> str:
        return "}"


def _in_rows(compiler: Buffers, node: Node, buffer: Buffer, d: int, backwards: bool) -> None:
    """A scan along another dimension, row by row: each from the one before, read anew."""
    w, e = compiler.w, compiler.e
    operand, init = node.operands
    extent = node.shape[d]
    outer = [k for k in range(len(node.shape)) if k < d]
    inner = [k for k in range(len(node.shape)) if k > d]
    with e.remembering():
        start = e.at(init, ())
        index: dict[int, Affine] = {}
        tails = [_open(compiler, k, 0, node.shape[k], index, parallel=number_ == 0)
                 for number_, k in enumerate(outer)]
        # the first result, then each from the one before
        for first in (True, False):
            if not first and extent == 1:
                continue
            with e.remembering():
                own: list[str] = []
                if first:
                    index[d] = number(extent - 1 if backwards else 0)
                else:
                    own.append(_open(compiler, d, 1, extent, index, parallel=False))
                    if backwards:
                        index[d] = number(extent - 1) - index[d]
                own += [_open(compiler, k, 0, node.shape[k], index, parallel=False) for k in inner]
                place = tuple(index[k] for k in range(len(node.shape)))
                element = e.at(operand, place)
                before = start if first else current(compiler.e, buffer, linear(
                    tuple(i + (1 if backwards else -1) if k == d else i for k, i in enumerate(place)), node.shape))
                pair = ([element], [before]) if backwards else ([before], [element])
                e.store(e.combined(node.blocks[0], *pair)[0], buffer, linear(place, node.shape))
                for tail in reversed(own):
                    w.finish(tail)
        for tail in reversed(tails):
            w.finish(tail)


def _open(compiler: Buffers, d: int, low: int, extent: int, index: dict[int, Affine], parallel: bool) -> str:
    """Open a loop over a dimension; how it is closed."""
    w = compiler.w
    name = w.fresh("i")
    ends = w.index(low), w.index(extent), w.index(1)
    parallel = parallel and compiler.parallel
    w.loop(f"scf.parallel ({name}) = ({ends[0]}) to ({ends[1]}) step ({ends[2]}) {{" if parallel else
           f"scf.for {name} = {ends[0]} to {ends[1]} step {ends[2]} {{", (name,))
    w.facts.ranges[name] = (low, max(extent - 1, low))
    index[d] = symbol(name)
    return "scf.reduce }" if parallel else "}"
