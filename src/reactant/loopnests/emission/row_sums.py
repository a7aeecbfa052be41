"""Reductions over trailing dimensions in which all rows share some numbers: a matrix times a vector.

Several rows are summed together, so that what they share is read once for all of them. A row alone reads two numbers
for each product, of which one comes from a cache that a long row has just washed out: 6000 x 6000 float64 by a vector
takes 10.7 ms row by row, and 7.4 in fours, as the sum of the matrix does (NumPy: 8.5 to 10).

With a few vectors at once it is four rows by four columns: 3000 x 3000 by 3000 x 4 takes 3.5 ms (8.9 without, as XLA
6.4, NumPy 3.5).
"""
from __future__ import annotations

from reactant.ir.types import size
from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.emission.affine import Affine, number, symbol
from reactant.loopnests.emission.loop_parts import Piece
from reactant.loopnests.emission.loops import Loops
from reactant.loopnests.emission.numbers import ELEMENTWISE, Number
from reactant.loopnests.emission.roots import Root
from reactant.loopnests.emission.writer import parallel_end
from reactant.native import engine

TOGETHER = 4
"""Rows that are summed together."""
LEAST_TERMS = 16
"""Numbers that each row has at least: what is left of a row is no vector (float32 vectors in a loop by a matrix of 24
x 24 0.13 us and 0.06, 32 x 32 0.20 and 0.08, 48 x 48 0.49 and 0.11)."""
MOST_EXPENSE = 6
"""Operations for each number: more need the registers."""
MOST_TOTALS = 8
"""Results carried in registers."""
MOST_IN_TILES = 16
"""The same for some rows by some columns."""
MOST_COLUMNS = 16
"""Columns of a product of matrices that is a few products with vectors: one of more is XLA's."""
MOST_STEPS = 8


def columns_together(nest: Loops, d: int) -> int:
    """How many columns are summed together with rows, the dimension of which is `d`; 0 where they are not."""
    if d + 2 >= len(nest.shape) or not 1 < nest.shape[d + 1] <= MOST_COLUMNS or engine.vector_bytes() < 64:
        return 0
    columns = min(nest.shape[d + 1], TOGETHER)
    # what all rows share differs from column to column, and the other way round
    shared = all(any(_shared(o, k, nest.shape) for s in nest.sums for o in s.root.node.operands[:len(s.dtypes)])
                 for k in (d, d + 1))
    return columns if shared and applies(nest, d, columns) else 0


def applies(nest: Loops, d: int, columns: int = 1) -> bool:
    """Whether dimension `d` counts rows, and all that a nest does is to sum them, with numbers that they share; or sums
    of rows and some columns, which the next dimension counts."""
    sums, inner = nest.sums, d + 1 + (columns > 1)
    if not sums or len(sums) != len(nest.roots) or inner >= len(nest.shape) or nest.shape[d] < TOGETHER \
            or size(nest.shape[inner:]) < LEAST_TERMS or nest.cut_inside:
        return False
    totals = sum(2 if t.kind == "c" else 1 for s in sums for t in s.dtypes)
    return (totals * TOGETHER * columns <= (MOST_TOTALS if columns == 1 else MOST_IN_TILES)
            and all(s.inner == inner and not s.through_memory and s.target is not None for s in sums)
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


def write(nest: Loops, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
          parallel: bool) -> Piece | None:
    """Write the loop over whole groups of rows of a piece; what remains of it comes back."""
    w = nest.w
    length = piece.high + piece.low.times(-1)
    if length.fixed is None or length.fixed < TOGETHER:
        return piece
    whole = length.fixed // TOGETHER * TOGETHER
    low, high, step = w.affine(piece.low), w.affine(piece.low + whole), w.index(TOGETHER)
    counter = w.fresh("i")
    w.loop(f"scf.parallel ({counter}) = ({low}) to ({high}) step ({step}) {{" if parallel else
           f"scf.for {counter} = {low} to {high} step {step} {{", (counter,))
    # a counter of groups: the facts about single rows hold for the last row of the group too
    w.facts.ranges[counter] = (piece.range[0], max(piece.range[1] - TOGETHER + 1, piece.range[0]))
    w.facts.know(counter, piece.known_low, None if piece.known_high is None else piece.known_high + (1 - TOGETHER))
    row, columns = symbol(counter), columns_together(nest, d)
    with nest.e.remembering():
        if columns:
            for first in range(0, nest.shape[d + 1], columns):
                with nest.e.remembering():
                    _group(nest, d, row, index, pieces, range(first, min(first + columns, nest.shape[d + 1])))
        else:
            _group(nest, d, row, index, pieces)
    w.finish(parallel_end(nest.work * TOGETHER / nest.shape[d]) if parallel else "}")
    if whole == length.fixed:
        return None
    return Piece(piece.low + whole, piece.high, (min(piece.range[0] + whole, piece.range[1]), piece.range[1]),
                 None if piece.known_low is None else piece.known_low + whole, piece.known_high)


def _group(nest: Loops, d: int, row: Affine, index: tuple[Affine, ...], pieces: list[list[Piece]],
           columns: range | None = None) -> None:
    """The sums of some rows, or of some rows and columns."""
    after: list[tuple[Affine, ...]] = [()] if columns is None else [(number(c),) for c in columns]
    places = [(*index, row + k, *column) for k in range(TOGETHER) for column in after]
    totals: dict[tuple[int, Root], list[Number]] = {
        (k, s.root): list(s.init) for k in range(len(places)) for s in nest.sums}
    inner = len(places[0])
    nest.together = places
    for piece in pieces[inner]:
        totals = nest.loop(inner, piece, places[0], pieces, totals, False)
    nest.together = None
    for s in nest.sums:
        for k, place in enumerate(places):
            nest.deliver(s, place, totals[k, s.root])
