"""Reading and writing the windows that the iterations of a loop touch, all at once.

A window that goes evenly along one dimension is a slice; others are gathered and scattered. Windows are known to lie
inside their array (`accesses.window_of`), and those that are written to be apart.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.accesses import Affine, Window, affine_starts
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

INDEX = np.dtype(np.int64)


def start_at(start: Affine, iteration: int) -> ir.Value:
    """The start in a known iteration."""
    return _with_symbols(start, ops.constant(start.offset + start.step * iteration, INDEX))


def starts_of_all(start: Affine, count: int) -> ir.Value:
    """The start in every iteration: (count,)."""
    iterations = ops.iota((count,), INDEX, 0)
    if start.step != 1:
        iterations = ops.multiply(iterations, start.step)
    if start.offset:
        iterations = ops.add(iterations, start.offset)
    if not start.symbols:
        return iterations
    return ops.add(iterations, ops.broadcast_in_dim(_with_symbols(start, None), (count,), ()))


def _with_symbols(start: Affine, total: ir.Value | None) -> ir.Value:
    for symbol, coefficient in sorted(start.symbols, key=lambda pair: hash(pair[0])):
        value = ops.convert(symbol, INDEX)
        term = value if coefficient == 1 else ops.multiply(value, coefficient)
        total = term if total is None else ops.add(total, term)
    assert total is not None
    return total


def moving(window: Window) -> list[int]:
    """The dimensions in which the window moves."""
    return [d for d, start in enumerate(affine_starts(window)) if start.step]


class _Block:
    """The part of an array that evenly moving windows cover: along dimension d, `count` windows of `extent`, `pace`
    apart, backwards where `back`."""

    def __init__(self, window: Window, d: int, count: int):
        start = affine_starts(window)[d]
        self.d, self.count, self.extent = d, count, window.sizes[d]
        self.pace, self.back = abs(start.step), start.step < 0
        self.reach = (count - 1) * self.pace + self.extent
        self.sizes = [*window.sizes[:d], self.reach, *window.sizes[d + 1:]]
        self.window, self.rank = window, len(window.sizes)

    def starts(self) -> list[ir.Value]:
        first = self.count - 1 if self.back else 0
        return [start_at(start, first if d == self.d else 0) for d, start in enumerate(affine_starts(self.window))]

    def split(self, block: ir.Value) -> ir.Value:
        """(count, *sizes) from the block."""
        d = self.d
        if self.extent != self.pace:           # elements, with gaps
            block = ops.slice(block, [0] * self.rank, self.sizes,
                              [self.pace if e == d else 1 for e in range(self.rank)])
        if self.extent == 1:
            split, whole = block, self.window.sizes
        else:
            split = ops.reshape(block, (*self.sizes[:d], self.count, self.extent, *self.sizes[d + 1:]))
            whole = ()
        if self.back:
            split = ops.reverse(split, [d])
        moved = ops.transpose(split, [d, *(e for e in range(len(shape_of(split))) if e != d)])
        return ops.reshape(moved, (self.count, *whole)) if whole else moved

    def joined(self, parts: ir.Value) -> ir.Value:
        """The windows side by side along d, without what lies in gaps: [..., count * extent, ...]."""
        d, rank = self.d, self.rank
        if self.extent == 1:
            parts, rank = ops.reshape(parts, [n for e, n in enumerate(shape_of(parts)) if e != d + 1]), rank - 1
        placed = ops.transpose(parts, [*range(1, d + 1), 0, *range(d + 1, rank + 1)])
        if self.back:
            placed = ops.reverse(placed, [d])
        return ops.reshape(placed, (*self.sizes[:d], self.count * self.extent, *self.sizes[d + 1:]))


def _block_of(window: Window, count: int) -> _Block | None:
    """Where windows go evenly along one dimension without overlap, element by element or side by side."""
    dimensions = moving(window)
    if len(dimensions) != 1:
        return None
    found = _Block(window, dimensions[0], count)
    return found if found.extent in (1, found.pace) else None


def read_windows(array: ir.Value, window: Window, count: int) -> ir.Value:
    """(count, *sizes): what each iteration's window holds."""
    block = _block_of(window, count)
    if block is not None:
        return block.split(ops.dynamic_slice(array, block.starts(), block.sizes))
    return ops.gather(array, _rows(window, count), offset_dims=range(1, 1 + len(window.sizes)),
                      collapsed_slice_dims=(), start_index_map=range(len(window.sizes)), index_vector_dim=1,
                      slice_sizes=window.sizes)


def write_windows(array: ir.Value, parts: ir.Value, window: Window, count: int) -> ir.Value:
    """The array with each iteration's window replaced by its part of (count, *sizes)."""
    block = _block_of(window, count)
    if block is None:
        return ops.scatter(array, _rows(window, count), parts, "second", inserted_window_dims=(),
                           update_window_dims=range(1, 1 + len(window.sizes)), index_vector_dim=1,
                           scatter_dims_to_operand_dims=range(len(window.sizes)), unique_indices=True)
    new, d = block.joined(parts), block.d
    if block.reach != shape_of(new)[d]:
        old = ops.dynamic_slice(array, block.starts(), block.sizes)
        interior = [block.pace - 1 if e == d else 0 for e in range(block.rank)]
        mask = ops.compare(ops.remainder(ops.iota((block.reach,), INDEX, 0), block.pace), 0, "EQ")
        new = ops.select(ops.broadcast_in_dim(mask, block.sizes, [d]),
                         ops.pad(new, 0, [0] * block.rank, [0] * block.rank, interior), old)
    return new if shape_of(new) == shape_of(array) else ops.dynamic_update_slice(array, new, block.starts())


def write_last(array: ir.Value, part: ir.Value, window: Window) -> ir.Value:
    """The array with a window that does not move replaced."""
    return ops.dynamic_update_slice(array, part, [start_at(start, 0) for start in affine_starts(window)])


def read_fixed(array: ir.Value, window: Window) -> ir.Value:
    """What a window that does not move holds."""
    return ops.dynamic_slice(array, [start_at(start, 0) for start in affine_starts(window)], window.sizes)


def _rows(window: Window, count: int) -> ir.Value:
    """The starts as one array (count, rank)."""
    return ops.concatenate([ops.reshape(starts_of_all(start, count), (count, 1))
                            for start in affine_starts(window)], 1)


def at(parts: ir.Value, iteration: ir.Value | int) -> ir.Value:
    """parts[iteration] of (count, *shape)."""
    shape: Sequence[int] = shape_of(parts)[1:]
    if isinstance(iteration, int):
        low, high = [iteration, *[0] * len(shape)], [iteration + 1, *shape]
        return ops.reshape(ops.slice(parts, low, high), shape)
    zero = ops.constant(0, dtype_of(iteration))
    return ops.reshape(ops.dynamic_slice(parts, [iteration, *[zero] * len(shape)], (1, *shape)), shape)
