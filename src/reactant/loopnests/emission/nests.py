"""Nests of loops, with the reductions that have a way of their own: of columns, and of several rows at once."""
from __future__ import annotations

from reactant.loopnests.emission import column_sums, leaving, row_sums
from reactant.loopnests.emission.affine import Affine
from reactant.loopnests.emission.loop_parts import Piece
from reactant.loopnests.emission.loops import Loops


class Nest(Loops):
    """Writes the loops of one step."""

    def by_columns(self, pieces: list[list[Piece]]) -> bool:
        if not column_sums.applies(self):
            return False
        column_sums.ColumnSums(self, pieces).emit()
        return True

    def by_rows(self, d: int, piece: Piece, index: tuple[Affine, ...], pieces: list[list[Piece]],
                parallel: bool) -> Piece | None:
        if row_sums.applies(self, d) or row_sums.columns_together(self, d):
            return row_sums.write(self, d, piece, index, pieces, parallel)
        return piece

    def leaves_early(self, d: int, length: int) -> bool:
        return leaving.applies(self, d, length)

    def by_steps(self, d: int, piece: Piece, index: tuple[Affine, ...]) -> Piece:
        return leaving.write(self, d, piece, index)
