"""Masks of matrices that are true between two diagonals: `i >= j`, `i + 1 == j`, and what is combined of such; between
which diagonals matrices are not zero (`support`).

They are read from how they are computed, so the size of a matrix does not matter; small constants are looked at. Of a
batch of matrices, in the last two dimensions, the mask is the same for each.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite.site import Producer, producer

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
    """Integers of a shape that grow evenly along rows and columns, alike in all matrices of a batch."""
    made = producer(value)
    if made is None or not depth or dtype_of(value).kind not in "iu":
        return None
    word = made.name.removeprefix("stablehlo.")
    found: _Affine | None = None
    if word == "iota":
        along = made["iota_dimension"] - len(shape)
        found = _Affine(int(along == -2), int(along == -1), 0) if along >= -2 else None
    elif word == "constant":
        content = ops.constant_value(value)
        if content is not None and content.size and not any(content.strides):
            found = _Affine(0, 0, int(content.flat[0]))
    elif word == "broadcast_in_dim":
        inner = same_matrices(made, shape)
        found = _line(made.operands[0], [p - len(shape) for p in made["broadcast_dimensions"]], depth) \
            if inner is None else _affine(inner, shape_of(inner), depth - 1)
    elif word == "convert":
        found = _affine(made.operands[0], shape, depth - 1)
    elif word in ("add", "subtract"):
        left, right = (_affine(v, shape, depth - 1) for v in made.operands)
        sign = 1 if word == "add" else -1
        if left is not None and right is not None:
            found = _Affine(*(a + sign * b for a, b in zip(left, right, strict=True)))
    elif word == "negate":
        positive = _affine(made.operands[0], shape, depth - 1)
        found = None if positive is None else _Affine(*(-a for a in positive))
    if found is None:
        return None
    corners = [found.offset + found.row * i + found.column * j for i in (0, shape[-2] - 1) for j in (0, shape[-1] - 1)]
    limits = np.iinfo(dtype_of(value))
    return found if limits.min <= min(corners) and max(corners) <= limits.max else None


def _line(value: ir.Value, places: Sequence[int], depth: int) -> _Affine | None:
    """A vector that is repeated along the other dimension of a matrix."""
    if len(shape_of(value)) != 1 or places[0] < -2:
        return None
    found = _affine(value, (*shape_of(value), 1), depth - 1)
    if found is None:
        return None
    return _Affine(found.row, 0, found.offset) if places[0] == -2 else _Affine(0, found.row, found.offset)


def mask_of(value: ir.Value, depth: int = DEPTH) -> Mask | None:
    """The diagonals between which a boolean matrix is true, if it is true there and nowhere else; likewise for every
    matrix of a batch, if these are the same for all."""
    shape, made = shape_of(value), producer(value)
    if len(shape) < 2 or made is None or not depth or 0 in shape:
        return None
    word = made.name.removeprefix("stablehlo.")
    inner = same_matrices(made, shape)
    if inner is not None:
        return mask_of(inner, depth - 1)
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
    return _turned(made, shape, lambda inner: mask_of(inner, depth - 1))


def _turned(made: Producer, shape: Sequence[int], of: Callable[[ir.Value], Mask | None]) -> Mask | None:
    """What `of` says of the transposes of a value's matrices, for these."""
    inner = turned_matrices(made, shape)
    found = None if inner is None else of(inner)
    return None if found is None else Mask(-found.high, -found.low)


def same_matrices(made: Producer, shape: Sequence[int]) -> ir.Value | None:
    """What holds the same matrices as a value, each perhaps once, where the value repeats them or numbers or orders
    them otherwise."""
    inner = made.operands[0] if made.operands else None
    if inner is not None and made.name == "stablehlo.reshape":
        return inner if len(shape_of(inner)) > 1 and shape_of(inner)[-2:] == tuple(shape[-2:]) else None
    return _arranged(made, shape, (-2, -1))


def turned_matrices(made: Producer, shape: Sequence[int]) -> ir.Value | None:
    """What holds the transposes of a value's matrices, likewise."""
    return _arranged(made, shape, (-1, -2))


def _arranged(made: Producer, shape: Sequence[int], ends: tuple[int, int]) -> ir.Value | None:
    """The operand of a transpose or broadcast whose last two dimensions become these, whole."""
    inner, rank = made.operands[0] if made.operands else None, len(shape)
    if made.name == "stablehlo.transpose":
        to = [made["permutation"].index(k) - rank for k in (rank - 2, rank - 1)]
    elif made.name == "stablehlo.broadcast_in_dim":
        to = [k - rank for k in made["broadcast_dimensions"][-2:]]
    else:
        return None
    return inner if tuple(to) == ends and shape_of(inner)[-2:] == (shape[ends[0]], shape[ends[1]]) else None


def _whole(shape: Sequence[int]) -> Mask:
    return Mask(1 - shape[-2], shape[-1] - 1)


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
    content = content.reshape(-1, *content.shape[-2:])
    rows, columns = np.nonzero(content[0])
    if not len(rows):
        return None
    found = Mask(int((columns - rows).min()), int((columns - rows).max()))
    i, j = np.ogrid[:content.shape[1], :content.shape[2]]
    within = (found.low <= j - i) & (j - i <= found.high)
    return found if (content == within).all() else None


# ---- where matrices are not zero -----------------------------------------------------------------------------------

ZERO_AT_ZERO = ("negate", "abs", "sign", "sqrt", "sine", "tan", "tanh", "floor", "ceil", "convert",
                "exponential_minus_one", "log_plus_one", "cbrt", "real", "imag")


def support(value: ir.Value, depth: int = DEPTH) -> Mask | None:
    """Diagonals outside of which a matrix, or every matrix of a batch, is zero (of either sign) whatever numbers it is
    made of; None where nothing is known."""
    shape, made = shape_of(value), producer(value)
    if len(shape) < 2 or made is None or not depth or 0 in shape:
        return None
    word = made.name.removeprefix("stablehlo.")
    inner = same_matrices(made, shape)
    if inner is not None:
        return support(inner, depth - 1)
    if word == "select":
        return _selected_support(made, shape, depth)
    if word == "constant":
        return _known_support(value)
    if dtype_of(value).kind == "b":
        return mask_of(value, depth)
    if word in ("transpose", "broadcast_in_dim"):
        return _turned(made, shape, lambda inner: support(inner, depth - 1))
    if word in ZERO_AT_ZERO:
        return support(made.operands[0], depth - 1)
    if word in ("multiply", "divide"):
        number = ops.constant_value(made.operands[1])
        if number is not None and np.isfinite(number).all() and (word == "multiply" or number.all()):
            return support(made.operands[0], depth - 1)
    if word in ("add", "subtract", "multiply", "maximum", "minimum"):     # zero where both are
        left = support(made.operands[0], depth - 1)
        right = None if left is None else support(made.operands[1], depth - 1)
        return None if left is None or right is None else Mask(min(left.low, right.low), max(left.high, right.high))
    return None


def _selected_support(made: Producer, shape: Sequence[int], depth: int) -> Mask | None:
    mask = mask_of(made.operands[0], depth - 1)
    parts = []
    for side, stays in ((1, mask), (2, None if mask is None else outside(mask, shape))):
        found = support(made.operands[side], depth - 1) or _whole(shape)
        if stays is not None:
            found = Mask(max(found.low, stays.low), min(found.high, stays.high))
        if found.low <= found.high:
            parts.append(found)
    if not parts:
        return Mask(1, 0)
    found = Mask(min(p.low for p in parts), max(p.high for p in parts))
    return None if found == _whole(shape) else found


def _known_support(value: ir.Value) -> Mask | None:
    content = ops.constant_value(value)
    if content is None:
        return None
    if not any(content.strides):
        return None if content.flat[0] else Mask(1, 0)
    if content.size > CONSTANT_ELEMENTS:
        return None
    *_, rows, columns = np.nonzero(content)
    return Mask(int((columns - rows).min()), int((columns - rows).max())) if len(rows) else Mask(1, 0)
