"""Reductions of known segments of an axis: what `ufunc.reduceat` makes of its indices, in few operations.

Equal blocks are one reshape and one reduction. Others are gathered by length, those of up to twice a length together:
as many operations as there are powers of two among the lengths, and work in proportion to the elements.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of

Reduce = Callable[[ir.Value, int, ir.Value | None], ir.Value]
"""Reduces a dimension of a value, of which a mask may leave elements out."""


def ends_of(bounds: Sequence[int], extent: int) -> list[int]:
    """Where the segments end that begin at `bounds`: at the next one's beginning; one element, where that is before."""
    return [max(after, first + 1) for first, after in zip(bounds, [*bounds[1:], extent], strict=True)]


def equal_blocks(bounds: Sequence[int]) -> int:
    """The length of segments that lie side by side and are all equally long, but for the last one; 0 for others."""
    if len(bounds) < 3:
        return 0
    length = bounds[1] - bounds[0]
    return length if length > 0 and all(b - a == length for a, b in zip(bounds, bounds[1:], strict=False)) else 0


def reduced_blocks(value: ir.Value, bounds: Sequence[int], length: int, axis: int, reduce: Reduce) -> ir.Value:
    """Blocks of one length, the last one as long as it is."""
    shape, extent = shape_of(value), shape_of(value)[axis]
    count = len(bounds) if extent - bounds[-1] == length else len(bounds) - 1
    whole = _part(value, axis, bounds[0], bounds[0] + count * length)
    blocks = ops.reshape(whole, (*shape[:axis], count, length, *shape[axis + 1:]))
    found = [reduce(blocks, axis + 1, None) if length > 1 else whole]
    if count < len(bounds):
        last = reduce(_part(value, axis, bounds[-1], extent), axis, None)
        found.append(ops.reshape(last, (*shape[:axis], 1, *shape[axis + 1:])))
    return ops.concatenate(found, axis) if len(found) > 1 else found[0]


def reduced_by_length(value: ir.Value, bounds: Sequence[int], axis: int, reduce: Reduce) -> ir.Value:
    """Segments of any lengths, wherever they lie."""
    extent = shape_of(value)[axis]
    first = np.array(bounds)
    lengths = np.array(ends_of(bounds, extent)) - first
    sizes = np.array([int(n - 1).bit_length() for n in lengths.tolist()])
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    found = [_gathered(value, first[g], lengths[g], axis, reduce) for g in groups]
    if len(groups) == 1:
        return found[0]
    joined, shape = ops.concatenate(found, axis), shape_of(found[0])
    place = ops.constant(np.argsort(np.concatenate(groups))[:, None])
    return ops.gather(joined, place, offset_dims=[d for d in range(len(shape)) if d != axis],
                      collapsed_slice_dims=[axis], start_index_map=[axis], index_vector_dim=1,
                      slice_sizes=[1 if d == axis else n for d, n in enumerate(shape)])


def _gathered(value: ir.Value, first: np.ndarray, lengths: np.ndarray, axis: int, reduce: Reduce) -> ir.Value:
    """Segments as rows of the longest one's length."""
    shape, count, width = shape_of(value), len(first), int(lengths.max())
    start = np.minimum(first, shape[axis] - width)
    rows = ops.gather(value, ops.constant(start[:, None]), offset_dims=[d if d < axis else d + 1
                                                                        for d in range(len(shape))],
                      collapsed_slice_dims=[], start_index_map=[axis], index_vector_dim=1,
                      slice_sizes=[width if d == axis else n for d, n in enumerate(shape)])
    if width == 1:
        return ops.reshape(rows, (*shape[:axis], count, *shape[axis + 1:]))
    if (lengths == width).all():
        return reduce(rows, axis + 1, None)
    place, grid = ops.iota((count, width), np.int64, 1), (count, width)
    low, high = (ops.broadcast_in_dim(ops.constant(v), grid, [0]) for v in (first - start, first - start + lengths))
    inside = ops.and_(ops.compare(place, low, "GE"), ops.compare(place, high, "LT"))
    return reduce(rows, axis + 1, ops.broadcast_in_dim(inside, shape_of(rows), [axis, axis + 1]))


def _part(value: ir.Value, axis: int, first: int, last: int) -> ir.Value:
    shape = shape_of(value)
    return ops.slice(value, [first if d == axis else 0 for d in range(len(shape))],
                     [last if d == axis else n for d, n in enumerate(shape)])
