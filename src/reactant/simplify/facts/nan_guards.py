"""NaN where it belongs, for rules that leave out work which carries NaN and infinities from element to element."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of


def finite(*values: ir.Value) -> ir.Value:
    """Whether all elements are finite (0-d)."""
    first, *others = (ops.reduce(ops.is_finite(v), ops.constant(True), range(len(shape_of(v))), "and") for v in values)
    for each in others:
        first = ops.and_(first, each)
    return first


def finite_matrices(matrix: ir.Value) -> ir.Value:
    """Whether all elements of a matrix are finite (0-d); of each matrix of a batch."""
    rank = len(shape_of(matrix))
    return ops.reduce(ops.is_finite(matrix), ops.constant(True), (rank - 2, rank - 1), "and")


def finite_columns(matrix: ir.Value) -> ir.Value:
    """Whether all elements of each column are finite, of each matrix of a batch."""
    return ops.reduce(ops.is_finite(matrix), ops.constant(True), (len(shape_of(matrix)) - 2,), "and")


def if_sound(sound: ir.Value, value: ir.Value) -> ir.Value:
    """A value where a truth holds (0-d), else NaN."""
    return ops.select(sound, value, np.nan)


def in_sound_columns(columns: ir.Value, matrix: ir.Value, everywhere: ir.Value | None = None) -> ir.Value:
    """A matrix in the columns that are sound if all else is (`everywhere`, 0-d), and NaN elsewhere; likewise for each
    matrix of a batch."""
    *batch, _, width = shape_of(matrix)
    every = range(len(batch))
    if everywhere is not None:
        columns = ops.and_(columns, ops.broadcast_in_dim(everywhere, (*batch, width), every))
    return ops.select(ops.broadcast_in_dim(columns, shape_of(matrix), (*every, len(batch) + 1)), matrix, np.nan)
