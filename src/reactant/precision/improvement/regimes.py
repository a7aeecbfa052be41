"""Which form of an expression where: ranges of one of its leaves, by dynamic programming over measured errors.

Source: Panchekha and others, "Automatically improving accuracy for floating point expressions", PLDI 2015, section 4.8.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.precision.improvement import truth
from reactant.precision.improvement.candidates import Candidate, measured
from reactant.precision.improvement.expressions import (
    Array,
    Expression,
    cost,
    emitted,
    in_floats,
    shown,
)

MOST_PIECES, LEAST_GAIN = 4, 0.25
"""Of ranges, and bits of mean error that a further one has to win."""
STEPS = 12
"""Halvings of the gap between two samples in which forms change."""


class Piecewise(NamedTuple):
    """Forms by ranges of a leaf: the first where it is below `bounds[0]`, ..., the last elsewhere, and for NaN."""

    leaf: int
    bounds: tuple[float, ...]
    pieces: tuple[Expression, ...]

    def cost(self, dtype: np.dtype) -> float:
        """Estimated nanoseconds per element: all forms are computed, and one is taken."""
        return sum(cost(each, dtype) for each in self.pieces) + 0.1 * len(self.bounds)

    def in_floats(self, given: Sequence[Array], dtype: np.dtype) -> Array:
        """Its values for arrays of leaves."""
        shape = np.shape(given[0])
        values = [np.broadcast_to(in_floats(each, given, dtype)[each], shape) for each in self.pieces]
        found = values[-1]
        for bound, value in zip(self.bounds[::-1], values[-2::-1], strict=True):
            found = np.where(np.asarray(given[self.leaf], dtype) < dtype.type(bound), value, found)
        return np.asarray(found, dtype)

    def emitted(self, given: Sequence[ir.Value], dtype: np.dtype) -> ir.Value:
        """Operations at the insertion point that compute it."""
        known: dict[Expression, ir.Value] = {}
        values = [emitted(each, given, dtype, known) for each in self.pieces]
        found = values[-1]
        for bound, value in zip(self.bounds[::-1], values[-2::-1], strict=True):
            below = ops.compare(given[self.leaf], ops.splat(dtype.type(bound), given[self.leaf]), "LT")
            found = ops.select(below, value, found)
        return found

    def shown(self, names: Sequence[str]) -> str:
        """As one would write it."""
        texts = [shown(each, names) for each in self.pieces]
        tests = [f" if {names[self.leaf]} < {bound:.6g}" for bound in self.bounds]
        return " else ".join([*(text + test for text, test in zip(texts, tests, strict=False)), texts[-1]])


def whole(expression: Expression) -> Piecewise:
    """One form everywhere."""
    return Piecewise(0, (), (expression,))


def best_pieces(original: Expression, found: Sequence[Candidate], given: Sequence[Array], dtype: np.dtype) -> Piecewise:
    """The form, or forms by ranges of one leaf, with the least mean error on samples."""
    best, least = whole(found[0].expression), float(found[0].errors.mean())
    for leaf_number, values in enumerate(given):
        order = np.argsort(values, kind="stable")
        ends, chosen, error = _segments([each.errors[order] for each in found], np.asarray(values)[order])
        if error + LEAST_GAIN * len(ends) < least:
            bounds = [_bound(original, found[chosen[k]], found[chosen[k + 1]], given, order, end, leaf_number, dtype)
                      for k, end in enumerate(ends)]
            pieces = tuple(found[k].expression for k in chosen)
            best, least = Piecewise(leaf_number, tuple(bounds), pieces), error + LEAST_GAIN * len(ends)
    return best


def _segments(errors: Sequence[Array], values: Array) -> tuple[list[int], list[int], float]:
    """Where sorted samples are cut, which form each part takes, and the mean error with that. Parts end only where the
    leaf changes."""
    count = len(values)
    sums = np.concatenate([np.zeros((len(errors), 1)), np.cumsum(errors, axis=1)], axis=1)
    places = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(values) > 0) + 1, [count]]))
    if len(places) > 130:
        places = places[np.linspace(0, len(places) - 1, 130).round().astype(int)]
    # between each two places, the best form and its errors
    between = sums[:, places][:, None, :] - sums[:, places][:, :, None]
    form, price = between.argmin(0), between.min(0)
    penalty = LEAST_GAIN * count
    total, came = price[0].copy(), [np.zeros(len(places), int)]
    best_total, best_pieces_ = total[-1], 1
    totals = [total]
    for pieces in range(2, MOST_PIECES + 1):
        step = np.where(np.tri(len(places), k=0, dtype=bool), np.inf, totals[-1][:, None] + price)
        came.append(step.argmin(0))
        totals.append(step.min(0))
        if totals[-1][-1] + penalty * (pieces - 1) < best_total + penalty * (best_pieces_ - 1):
            best_total, best_pieces_ = totals[-1][-1], pieces
    ends, at = [], len(places) - 1
    for level in range(best_pieces_ - 1, 0, -1):
        at = int(came[level][at])
        ends.append(at)
    ends = ends[::-1]
    edges = [0, *ends, len(places) - 1]
    chosen = [int(form[a, b]) for a, b in zip(edges, edges[1:], strict=False)]
    return [int(places[end]) for end in ends], chosen, float(best_total) / count


def _bound(original: Expression, left: Candidate, right: Candidate, given: Sequence[Array], order: Array, end: int,
           leaf_number: int, dtype: np.dtype) -> float:
    """Where, between two neighbouring samples, the second form becomes the better one."""
    low, high = (dtype.type(given[leaf_number][order[k]]) for k in (end - 1, end))
    row = [np.asarray(each)[order[end]:order[end] + 1] for each in given]
    for _ in range(STEPS):
        middle = _between(low, high)
        if middle in (low, high):
            break
        row[leaf_number] = np.array([middle], dtype)
        real = truth.in_reals(original, row, dtype)[0][original]
        errors = [measured(each.expression, row, real, dtype).errors[0] for each in (left, right)]
        if errors[0] <= errors[1]:
            low = middle
        else:
            high = middle
    return float(high)


def _between(low: np.generic, high: np.generic) -> np.generic:
    """The float in the middle of all floats between two."""
    kind = np.int64 if low.dtype.itemsize == 8 else np.int32
    whole_numbers = [int(truth.ordinal(np.array([each]))[0]) for each in (low, high)]
    middle = sum(whole_numbers) // 2
    bits = np.array([middle if middle >= 0 else np.iinfo(kind).min - middle], dtype=kind)
    return bits.view(low.dtype)[0]

