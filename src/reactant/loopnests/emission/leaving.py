"""Reductions that are decided by the first element of a kind: the place of the first that is true, `any`, `all`.

A loop that only looks whether there is one goes by steps and leaves after the step that has it; what the reduction
comes to is then that of one step. The first of 100,000 float64 that crosses a level, the 90,000th: 75 us as a reduction
of all places, 25 so.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.analysis.monoids import monoid
from reactant.loopnests.emission.affine import ZERO, Affine, symbol
from reactant.loopnests.emission.loop_parts import Piece
from reactant.loopnests.emission.loops import Loops
from reactant.loopnests.emission.numbers import Number

STEP = 256
"""Elements after which it may leave."""
LEAST = 3 * STEP


def applies(nest: Loops, d: int, length: int) -> bool:
    """Whether all that the loop of dimension `d`, with so many iterations, does is a reduction of this kind."""
    if len(nest.roots) != 1 or len(nest.sums) != 1 or nest.together is not None or length < LEAST \
            or any(n > 1 for n in nest.shape[d + 1:]):
        return False
    s = nest.sums[0]
    return s.inner <= d and not s.through_memory and _decisive(s.root.node, nest.shape, d) is not None


def _decisive(node: Node, shape: tuple[int, ...], d: int) -> tuple[Node, bool] | None:
    """The truth values of which the first one that is so, along dimension `d`, decides a reduction."""
    kind = monoid(node)
    if len(node.operands) != 2:
        return None
    x = node.operands[0]
    if kind in ("or", "and") and x.dtype == np.bool_:
        return x, kind == "or"
    if kind != "minimum" or x.kind != "select" or x.dtype.kind not in "iu" or x.shape != shape:
        return None
    mask, places, rest = x.operands
    if mask.shape != shape or places.kind != "iota" or decoded(places, "iota_dimension") != d or rest.splat is None \
            or rest.splat < shape[d] - 1:
        return None
    return mask, True


def write(nest: Loops, d: int, piece: Piece, index: tuple[Affine, ...]) -> Piece:
    """Write the loop that looks for an element; the step in which it is, or the last one, is what is left to do."""

    w, root = nest.w, nest.sums[0].root
    found: Any = _decisive(root.node, nest.shape, d)
    truth, wanted = found
    low, high, one, step = w.affine(piece.low), w.affine(piece.high), w.index(1), w.index(STEP)
    false, true = w.constant(False, np.dtype(bool)), w.constant(True, np.dtype(bool))
    begin, first, counter, seen, inside = (w.fresh(name) for name in ("k", "k", "i", "a", "k"))

    def define(text: str) -> str:
        name = w.define(w.fresh("v"))
        w.line(f"{name} = {text}")
        return name

    w.loop(f"{first} = scf.while ({begin} = {low}) : (index) -> index {{", (begin,))
    end = define(f"arith.minsi {define(f'arith.addi {begin}, {step} : index')}, {high} : index")
    there = w.fresh("r")
    w.loop(f"{there} = scf.for {counter} = {begin} to {end} step {one} iter_args({seen} = {false}) -> (i1) {{",
           (counter, seen))
    with nest.e.remembering():
        at = (*index, nest.counter_at(piece, counter), *(ZERO for _ in nest.shape[d + 1:]))
        here: Number = nest.e.at(truth, nest.index_of(root, at))
        name = nest.a.name(here)
        if not wanted:
            name = define(f"arith.xori {name}, {true} : i1")
        w.line(f"scf.yield {define(f'arith.ori {seen}, {name} : i1')} : i1")
    w.finish("} {native.independent}")
    w.define(there)
    more = define(f"arith.cmpi slt, {end}, {high} : index")
    on = define(f"arith.andi {define(f'arith.xori {there}, {true} : i1')}, {more} : i1")
    for line in (f"scf.condition({on}) {begin} : index", "} do {", f"^bb0({inside}: index):"):
        w.line(line)
    w.line(f"scf.yield {define(f'arith.addi {inside}, {step} : index')} : index")
    w.finish()
    w.define(first)
    last = define(f"arith.minsi {define(f'arith.addi {first}, {step} : index')}, {high} : index")
    w.facts.ranges[first] = piece.range
    w.facts.ranges[last] = (piece.range[0], piece.range[1] + 1)
    return Piece(symbol(first), symbol(last), piece.range, piece.known_low, piece.known_high)
