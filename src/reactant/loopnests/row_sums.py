"""Reductions over trailing dimensions in which all rows share some numbers: a matrix times a vector.

Several rows are summed together, so that what they share is read once for all of them. A row alone reads two numbers
for each product, of which one comes from a cache that a long row has just washed out: 6000 x 6000 float64 by a vector
takes 10.7 ms row by row, and 7.4 in fours, as the sum of the matrix does (NumPy: 8.5 to 10).
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from reactant.ir.types import size
from reactant.loopnests.affine import Affine, symbol
from reactant.loopnests.graph import Node, decoded
from reactant.loopnests.numbers import ELEMENTWISE, Number
from reactant.loopnests.writer import parallel_end

if TYPE_CHECKING:
    from reactant.loopnests.nests import Nest, Piece
    from reactant.loopnests.plan import Root

TOGETHER = 4
"""Rows that are summed together."""
LEAST_TERMS = 64
"""Numbers that each row has at least: the first and the last of a row are not vectors."""
MOST_EXPENSE = 6
"""Operations for each number: more need the registers."""
MOST_TOTALS = 8
"""Results carried in registers."""
MOST_STEPS = 8


def applies(nest: Nest, d: int) -> bool:
    """Whether dimension `d` counts rows, and all that a nest does is to sum them, with numbers that they share."""
    sums = nest.sums
    if not sums or len(sums) != len(nest.roots) or d + 1 >= len(nest.shape) or nest.shape[d] < TOGETHER \
            or size(nest.shape[d + 1:]) < LEAST_TERMS:
        return False
    totals = sum(2 if t.kind == "c" else 1 for s in sums for t in s.dtypes)
    return (totals * TOGETHER <= MOST_TOTALS
            and all(s.inner == d + 1 and not s.through_memory and s.target is not None for s in sums)
            and all(s.root.expense <= MOST_EXPENSE for s in sums)
            and any(_shared(o, d, nest.shape) for s in sums for o in s.root.node.operands[:len(s.dtypes)]))


def _shared(node: Node, d: int, shape: tuple[int, ...], steps: int = MOST_STEPS) -> bool:
    """Whether an element of a value is made of numbers that are the same for all rows and differ within one."""
    if node.shape != shape or not steps:
        return False
    if node.kind == "broadcast_in_dim":
        dimensions = decoded(node, "broadcast_dimensions")
        own = {place for place, n in zip(dimensions, node.operands[0].shape, strict=True) if n > 1}
        return d not in own and any(place > d for place in own)
    return node.kind in ELEMENTWISE and any(_shared(o, d, shape, steps - 1) for o in node.operands)


def write(nest: Nest, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
          parallel: bool) -> Piece | None:
    """Write the loop over whole groups of rows of a piece; what remains of it comes back."""
    w = nest.w
    length = piece.high + piece.low.times(-1)
    if length.fixed is None or length.fixed < TOGETHER:
        return piece
    from reactant.loopnests.nests import Piece

    whole = length.fixed // TOGETHER * TOGETHER
    low, high, step = w.affine(piece.low), w.affine(piece.low + whole), w.index(TOGETHER)
    counter = w.fresh("i")
    w.loop(f"scf.parallel ({counter}) = ({low}) to ({high}) step ({step}) {{" if parallel else
           f"scf.for {counter} = {low} to {high} step {step} {{", (counter,))
    # a counter of groups: the facts about single rows hold for the last row of the group too
    w.facts.ranges[counter] = (piece.range[0], max(piece.range[1] - TOGETHER + 1, piece.range[0]))
    if piece.known_low is not None:
        w.facts.lower[counter] = piece.known_low
    if piece.known_high is not None:
        w.facts.upper[counter] = piece.known_high + (1 - TOGETHER)
    with nest.e.remembering():
        _group(nest, d, symbol(counter), index, pieces)
    w.finish(parallel_end(nest.work * TOGETHER / nest.shape[d]) if parallel else "}")
    if whole == length.fixed:
        return None
    return Piece(piece.low + whole, piece.high, (min(piece.range[0] + whole, piece.range[1]), piece.range[1]),
                 None if piece.known_low is None else piece.known_low + whole, piece.known_high)


def _group(nest: Nest, d: int, row: Affine, index: tuple[Affine, ...], pieces: list[list[Piece]]) -> None:
    """The sums of some rows."""
    rows = [row + k for k in range(TOGETHER)]
    totals: dict[tuple[int, Root], list[Number]] = {
        (k, s.root): list(s.init) for k in range(TOGETHER) for s in nest.sums}
    nest.together = (d, rows)
    for piece in pieces[d + 1]:
        totals = nest.loop(d + 1, piece, (*index, row), pieces, totals, False)
    nest.together = None
    for s in nest.sums:
        for k, each in enumerate(rows):
            nest.deliver(s, (*index, each), totals[k, s.root])
