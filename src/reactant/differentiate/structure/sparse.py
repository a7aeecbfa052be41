"""Colouring: columns of a Jacobian that share no row are computed as one.

Greedy distance-2 colouring (Curtis, Powell, Reid 1974; Coleman, More 1983), in the order of the columns and again with
the fullest first; the better of both is taken.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.support.records import dataclass


@dataclass(frozen=True)
class Colouring:
    """`colours[j]`: the group of column j (of row j with `by_rows`); `count` groups."""

    colours: np.ndarray
    count: int
    by_rows: bool

    def seeds(self, dtype: Any = float) -> np.ndarray:
        """(count, columns): the sum of the unit vectors of each group."""
        made = np.zeros((self.count, len(self.colours)), dtype)
        made[self.colours, np.arange(len(self.colours))] = 1
        return made

    def places(self, pattern: Any) -> np.ndarray:
        """Where the values of the pattern's entries, in its order, are in the product of the matrix with the seeds,
        flat: (count, rows), or (count, columns) with `by_rows`."""
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        if self.by_rows:
            return self.colours[rows] * pattern.shape[1] + pattern.indices
        return self.colours[pattern.indices] * pattern.shape[0] + rows


def colour(pattern: Any, mode: str = "auto") -> Colouring:
    """Groups of columns (mode "forward"), of rows ("reverse"), or whichever are fewer."""
    found = []
    if mode != "reverse":
        colours, count = _columns(pattern)
        found.append(Colouring(colours, count, False))
    if mode != "forward":
        colours, count = _columns(pattern.T.tocsr())
        found.append(Colouring(colours, count, True))
    return min(found, key=lambda each: (each.count, each.by_rows))


def _columns(pattern: Any) -> tuple[np.ndarray, int]:
    by_column = pattern.tocsc()
    fill = np.diff(by_column.indptr)
    least = int(np.diff(pattern.indptr).max(initial=0))              # the columns of one row are all different
    best = _greedy(pattern, by_column, np.arange(pattern.shape[1]))
    if best.max(initial=-1) + 1 > least:
        other = _greedy(pattern, by_column, np.argsort(-fill, kind="stable"))
        best = min(best, other, key=lambda colours: colours.max(initial=-1))
    return best, max(int(best.max(initial=-1)) + 1, 1)


def _greedy(pattern: Any, by_column: Any, order: np.ndarray) -> np.ndarray:
    """For each column in turn the first colour that no column with a common row has."""
    colours = np.full(pattern.shape[1], -1)
    used: list[set[int]] = [set() for _ in range(pattern.shape[0])]   # colours that each row has
    pointers, rows = by_column.indptr, by_column.indices
    for column in order.tolist():
        mine = rows[pointers[column]:pointers[column + 1]].tolist()
        colour = 0
        while any(colour in used[row] for row in mine):
            colour += 1
        for row in mine:
            used[row].add(colour)
        colours[column] = colour
    return colours
