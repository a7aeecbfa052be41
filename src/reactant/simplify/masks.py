"""Masks of matrices that are true between two diagonals: `i >= j`, `i + 1 == j`, and what is combined of such.

They are read from how they are computed, so the size of a matrix does not matter; small constants are looked at.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite.site import producer

DEPTH = 8
CONSTANT_ELEMENTS = 1 << 16
"""Constants of more elements are not looked at."""


class Mask(NamedTuple):
    """True at [i, j] where low <= j - i <= high."""
    low: int
    high: int

    @property
    def diagonal(self) -> int | None:
        """The one diagonal that is true, if it is one."""
        return self.low if self.low == self.high else None


class _Affine(NamedTuple):
    """i * row + j * column + offset at [i, j]; no value on the way leaves the range of its type."""
    row: int
    column: int
    offset: int


def _affine(value: ir.Value, shape: Sequence[int], depth: int = DEPTH) -> _Affine | None:
    """Integers of a shape that grow evenly along rows and columns."""
    made = producer(value)
    if made is None or not depth or dtype_of(value).kind not in "iu":
        return None
    word = made.name.removeprefix("stablehlo.")
    found: _Affine | None = None
    if word == "iota":
        along = made["iota_dimension"]
        found = _Affine(int(along == 0), int(along == 1), 0)
    elif word == "constant":
        content = ops.constant_value(value)
        if content is not None and content.size and not any(content.strides):
            found = _Affine(0, 0, int(content.flat[0]))
    elif word == "broadcast_in_dim":
        found = _line(made.operands[0], made["broadcast_dimensions"], depth)
    elif word == "convert":
        found = _affine(made.operands[0], shape, depth - 1)
    elif word in ("add", "subtract"):
        left, right = (_affine(v, shape, depth - 1) for v in made.operands)
        sign = 1 if word == "add" else -1
        if left is not None and right is not None:
            found = _Affine(*(a + sign * b for a, b in zip(left, right, strict=True)))
    elif word == "negate":
        inner = _affine(made.operands[0], shape, depth - 1)
        found = None if inner is None else _Affine(*(-a for a in inner))
    if found is None:
        return None
    corners = [found.offset + found.row * i + found.column * j for i in (0, shape[0] - 1) for j in (0, shape[1] - 1)]
    limits = np.iinfo(dtype_of(value))
    return found if limits.min <= min(corners) and max(corners) <= limits.max else None


def _line(value: ir.Value, places: Sequence[int], depth: int) -> _Affine | None:
    """A vector that is repeated along the other dimension of a matrix."""
    if len(shape_of(value)) != 1:
        return None
    found = _affine(value, (*shape_of(value), 1), depth - 1)
    if found is None:
        return None
    return _Affine(found.row, 0, found.offset) if places[0] == 0 else _Affine(0, found.row, found.offset)


def mask_of(value: ir.Value, depth: int = DEPTH) -> Mask | None:
    """The diagonals between which a boolean matrix is true, if it is true there and nowhere else."""
    shape, made = shape_of(value), producer(value)
    if len(shape) != 2 or made is None or not depth or 0 in shape:
        return None
    word = made.name.removeprefix("stablehlo.")
    if word == "compare":
        return _compared(made.operands, made["comparison_direction"], shape)
    if word == "constant":
        return _known(value)
    if word == "and":
        left, right = (mask_of(v, depth - 1) for v in made.operands)
        return None if left is None or right is None else Mask(max(left.low, right.low), min(left.high, right.high))
    if word == "not":
        inner = mask_of(made.operands[0], depth - 1)
        return None if inner is None else outside(inner, shape)
    if word == "transpose" and tuple(made["permutation"]) == (1, 0):
        inner = mask_of(made.operands[0], depth - 1)
        return None if inner is None else Mask(-inner.high, -inner.low)
    return None


def _whole(shape: Sequence[int]) -> Mask:
    return Mask(1 - shape[0], shape[1] - 1)


def outside(mask: Mask, shape: Sequence[int]) -> Mask | None:
    """Where a mask is false, if that is on one side of it."""
    whole = _whole(shape)
    if mask.low <= whole.low:
        return Mask(mask.high + 1, whole.high)
    return Mask(whole.low, mask.low - 1) if mask.high >= whole.high else None


def _compared(operands: Sequence[ir.Value], direction: str, shape: Sequence[int]) -> Mask | None:
    left, right = (_affine(v, shape) for v in operands)
    if left is None or right is None:
        return None
    row, column, offset = (a - b for a, b in zip(left, right, strict=True))
    if column not in (1, -1) or row != -column:
        return None
    if column == -1:        # i - j + offset against zero is j - i - offset against zero the other way round
        offset, direction = -offset, direction.translate(str.maketrans("LG", "GL"))
    whole = _whole(shape)
    bounds = {"EQ": (-offset, -offset), "LE": (whole.low, -offset), "LT": (whole.low, -offset - 1),
              "GE": (-offset, whole.high), "GT": (1 - offset, whole.high)}.get(direction)
    return None if bounds is None else Mask(max(bounds[0], whole.low), min(bounds[1], whole.high))


def _known(value: ir.Value) -> Mask | None:
    if size(shape_of(value)) > CONSTANT_ELEMENTS:
        return None
    content = ops.constant_value(value)
    if content is None or content.dtype != bool or not content.any():
        return None
    rows, columns = np.nonzero(content)
    found = Mask(int((columns - rows).min()), int((columns - rows).max()))
    i, j = np.ogrid[:content.shape[0], :content.shape[1]]
    return found if np.array_equal(content, (found.low <= j - i) & (j - i <= found.high)) else None
