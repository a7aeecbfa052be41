"""`np.lib.stride_tricks.as_strided`: any strides over the memory of an array, as a view.

Where each stride is a multiple of one of the array's own, the view is made axis by axis, of slices, reshapes and
shifted slices, which XLA fuses into what follows; otherwise one gather reads it from the flat array.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import layouts, view_steps
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.arrays.windows import SLICED
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of, size
from reactant.runtime.layout import are_distinct
from reactant.support.records import dataclass

_PLAIN = (view_steps.SliceStep, view_steps.TransposeStep, view_steps.ReshapeStep, view_steps.BroadcastStep)


@implements(np.lib.stride_tricks.as_strided, creation=True, aliases=True)
def as_strided(x: object, shape: object = None, strides: object = None, subok: bool = False,
               writeable: bool = True) -> Tensor:
    """Strides are in bytes. Raises where the view would leave the memory of the array (NumPy reads what is there)."""
    a = wrap(x)
    if a.storage.dtype != a.dtype or not all(isinstance(s, _PLAIN) for s in a.steps):
        raise UnsupportedError("as_strided of this kind of view is not supported in compiled code.",
                               hint="Apply it to a copy.", code="memory-of-traced-array")
    counts = a.shape if shape is None else shape_tuple(shape)
    if any(n < 0 for n in counts):
        raise ValueError("negative dimensions are not allowed")
    bytes_ = a.strides if strides is None else shape_tuple(strides)
    if len(bytes_) != len(counts):
        raise ValueError(f"mismatch in length of strides and shape: {len(bytes_)} and {len(counts)}")
    if any(b % a.itemsize for b in bytes_):
        raise UnsupportedError("as_strided with strides that are no multiple of the element size is not supported in "
                               "compiled code.", hint="Use slices, or np.lib.stride_tricks.sliding_window_view.",
                               code="memory-of-traced-array")
    step = StridedStep(counts, _offset(a), tuple(b // a.itemsize if n > 1 else 0
                                                 for b, n in zip(bytes_, counts, strict=True)), a.storage.shape)
    low, high = step.reach()
    if 0 not in counts and (low < 0 or high >= size(a.storage.shape)):
        raise ValueError(f"as_strided reaches elements {low} to {high} of an array of {size(a.storage.shape)}: outside "
                         "of its memory.")
    if a.storage.layout not in (None, layouts.row_major_strides(a.storage.shape)):
        return as_strided(_as_laid_out(a), counts, bytes_, writeable=False)
    return Tensor(a.storage, (step,), strides=step.steps, writeable=writeable and a.writeable)


def _offset(a: Tensor) -> int:
    """Where the first element lies in the memory of the storage, counted in elements."""
    layout = a.storage.layout or layouts.row_major_strides(a.storage.shape)
    probe = np.lib.stride_tricks.as_strided(layouts.PROBE, a.storage.shape, layout)
    start = probe.__array_interface__["data"][0]
    for step in a.steps:
        probe = step.numpy(probe)
    return probe.__array_interface__["data"][0] - start


def _as_laid_out(a: Tensor) -> Tensor:
    """A row-major array with the memory of `a`'s column-major storage: read-only here."""
    layout = a.storage.layout
    order = sorted(range(len(layout)), key=[-n for n in layout].__getitem__)
    flat = Tensor.of_value(ops.reshape(ops.transpose(a.storage.read(), order), (size(a.storage.shape),)))
    return flat[_offset(a):]


@dataclass(frozen=True)
class StridedStep(view_steps.Step):
    """Element `i` is `offset + sum(i * steps)` of the flat parent, which is row-major and has the shape `whole`."""

    shape: Shape
    offset: int
    steps: Shape
    whole: Shape

    def reach(self) -> tuple[int, int]:
        """The first and the last element of the flat parent that is read."""
        ends = [(n - 1) * s for n, s in zip(self.shape, self.steps, strict=True)]
        return self.offset + sum(min(e, 0) for e in ends), self.offset + sum(max(e, 0) for e in ends)

    def _positions(self) -> ir.Value:
        index = ops.constant(self.offset, np.int64, self.shape)
        for d, s in enumerate(self.steps):
            if s:
                index = ops.add(index, ops.multiply(ops.iota(self.shape, np.int64, d), s))
        return ops.reshape(index, (*self.shape, 1))

    def read(self, parent: ir.Value) -> ir.Value:
        if 0 in self.shape:
            return ops.constant(0, dtype_of(parent), self.shape)
        groups = self._by_axis()
        if groups is not None:
            return self._assembled(parent, groups)
        flat, rank = ops.reshape(parent, (size(self.whole),)), len(self.shape)
        return ops.gather(flat, self._positions(), offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0],
                          index_vector_dim=rank, slice_sizes=[1])

    def _by_axis(self) -> list[tuple[int, list[int], list[int]]] | None:
        """Per axis of the parent: the first index, the dimensions of the view that run along it and their steps there.
        None where a stride is no multiple of an axis' own or a row would run into the next."""
        own = layouts.row_major_strides(self.whole)
        first = np.unravel_index(self.offset, self.whole) if self.whole else ()
        groups: list[tuple[int, list[int], list[int]]] = [(int(i), [], []) for i in first]
        for d, s in enumerate(self.steps):
            if s:
                axis = next((k for k, c in enumerate(own) if self.whole[k] > 1 and abs(s) >= c and s % c == 0), None)
                if axis is None:
                    return None
                groups[axis][1].append(d)
                groups[axis][2].append(s // own[axis])
        for (start, dimensions, steps), n in zip(groups, self.whole, strict=True):
            ends = [(self.shape[d] - 1) * m for d, m in zip(dimensions, steps, strict=True)]
            if start + sum(min(e, 0) for e in ends) < 0 or start + sum(max(e, 0) for e in ends) >= n:
                return None
        return groups

    def _assembled(self, parent: ir.Value, groups: list[tuple[int, list[int], list[int]]]) -> ir.Value:
        made = parent
        order: list[int] = []
        for start, dimensions, steps in groups:
            position = len(order)
            made = _along(made, position, start, [self.shape[d] for d in dimensions], steps)
            order += dimensions
        held = [d for d, s in enumerate(self.steps) if s]
        made = ops.transpose(made, [order.index(d) for d in held])
        return ops.broadcast_in_dim(made, self.shape, held)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        if 0 in self.shape:
            return parent
        self._require_distinct()
        flat, rank = ops.reshape(parent, (size(self.whole),)), len(self.shape)
        written = ops.scatter(flat, self._positions(), new, "second", update_window_dims=[], inserted_window_dims=[0],
                              scatter_dims_to_operand_dims=[0], index_vector_dim=rank, unique_indices=True)
        return ops.reshape(written, self.whole)

    def _require_distinct(self) -> None:
        if are_distinct(self.shape, self.steps):
            return
        raise UnsupportedError("Writing through as_strided where elements overlap is not supported in compiled code.",
                               hint="Write through slices of the array.", code="memory-of-traced-array")

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        flat = parent.reshape(-1)[self.offset:]
        return np.lib.stride_tricks.as_strided(flat, self.shape, [s * parent.itemsize for s in self.steps])

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return self.steps


def _along(value: ir.Value, axis: int, start: int, counts: list[int], steps: list[int]) -> ir.Value:
    """`axis` replaced by dimensions of `counts` which step along it by `steps` from `start`."""
    shape = shape_of(value)
    before, after = shape[:axis], shape[axis + 1:]

    def cut(first: int, count: int, step: int) -> ir.Value:
        low = first if step > 0 else first + (count - 1) * step
        high = low + (count - 1) * abs(step) + 1
        whole = [slice(0, n, 1) for n in shape]
        whole[axis] = slice(low, high, abs(step))
        found = ops.slice(value, [s.start for s in whole], [s.stop for s in whole], [s.step for s in whole])
        return found if step > 0 else ops.reverse(found, [axis])

    if not counts:
        return ops.reshape(cut(start, 1, 1), (*before, *after))
    if len(counts) == 1:
        return cut(start, counts[0], steps[0])
    if all(m == n * k for m, n, k in zip(steps, counts[1:], steps[1:], strict=False)):     # blocks side by side
        return ops.reshape(cut(start, int(np.prod(counts)), steps[-1]), (*before, *counts, *after))
    longest = max(range(len(counts)), key=lambda d: counts[d])
    others = [d for d in range(len(counts)) if d != longest]
    if size([counts[d] for d in others]) > SLICED:
        index = np.full(counts, start)
        for d, m in enumerate(steps):
            index += np.arange(counts[d]).reshape([-1 if k == d else 1 for k in range(len(counts))]) * m
        offsets = [*range(axis), *range(axis + len(counts), axis + len(counts) + len(after))]
        return ops.gather(value, ops.constant(index[..., None]), offset_dims=offsets, collapsed_slice_dims=[axis],
                          start_index_map=[axis], index_vector_dim=len(counts),
                          slice_sizes=[1 if d == axis else n for d, n in enumerate(shape)])
    parts = [cut(start + sum(i * steps[d] for i, d in zip(at, others, strict=True)), counts[longest], steps[longest])
             for at in np.ndindex(*(counts[d] for d in others))]
    stacked = ops.concatenate([ops.reshape(p, (*before, 1, counts[longest], *after)) for p in parts], axis)
    stacked = ops.reshape(stacked, (*before, *(counts[d] for d in others), counts[longest], *after))
    made = [*others, longest]
    inside = [axis + made.index(d) for d in range(len(counts))]
    return ops.transpose(stacked, [*range(axis), *inside, *range(axis + len(counts), len(shape_of(stacked)))])
