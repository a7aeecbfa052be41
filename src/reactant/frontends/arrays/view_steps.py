"""Steps from a memory to a view of it: slices, transposes, other shapes, diagonals, parts of complex numbers."""
from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.layouts import broadcast, reshaped, row_major_strides
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of
from reactant.support.records import dataclass


class Step:
    """One link of a view chain. `shape` is the view's shape; `writable` is false where NumPy's view is read-only."""

    shape: Shape
    writable = True
    keeps = True
    """Whether a write leaves elements of the parent as they are; else it does without the parent's value."""
    numpy_has_it = True
    """Whether it is a view that NumPy has of a known array, too."""

    def read(self, parent: ir.Value) -> ir.Value:
        raise NotImplementedError

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        """The parent, of shape `whole`, with this view's elements replaced by `new`."""
        raise NotImplementedError

    def is_apart(self, other: Step) -> bool:
        """Whether the two views of one parent surely share no element."""
        return False

    def undoes(self, last: Step, whole: Shape) -> bool:
        """Whether it shows all of `last` as that step's parent, of shape `whole`, has it."""
        return False

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        """The same view of a concrete array."""
        raise NotImplementedError

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        """Element strides of the view, given those of the parent (decides later what is a view and what is a copy)."""
        raise NotImplementedError


@dataclass(frozen=True)
class SliceStep(Step):
    """Basic slicing with known bounds: per dimension the first index, the count and the (possibly negative) step."""

    starts: Shape
    shape: Shape
    steps: Shape

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Steps are looked up by very often."""
        return hash((self.starts, self.shape, self.steps))

    @cached_property
    def bounds(self) -> tuple[Shape, Shape, Shape, tuple[int, ...]]:
        """Low and high ends, positive strides, and the dimensions to be reversed."""
        low, high, stride, flipped = [], [], [], []
        for d, (a, n, s) in enumerate(zip(self.starts, self.shape, self.steps, strict=True)):
            first, last = (a, a + (n - 1) * s) if s > 0 else (a + (n - 1) * s, a)
            if n == 0:
                first = last = 0
            elif s < 0 and n > 1:
                flipped.append(d)
            low.append(first)
            high.append(last + 1 if n else 0)
            stride.append(abs(s) if n > 1 else 1)
        return tuple(low), tuple(high), tuple(stride), tuple(flipped)

    def is_apart(self, other: Step) -> bool:
        if type(other) is not SliceStep:
            return False
        for low, high, start, end in zip(*self.bounds[:2], *other.bounds[:2], strict=True):
            if high <= start or end <= low:
                return True
        return False

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(last) is SliceStep and self.shape == whole and self.bounds[3] == last.bounds[3]

    def covers(self, other: SliceStep) -> bool:
        """Whether a write to this view replaces all of the other one. (Views with gaps only cover themselves.)"""
        low, high, stride, _ = self.bounds
        return max(stride, default=1) == 1 and all(
            a <= b and d <= c for a, c, b, d in zip(low, high, *other.bounds[:2], strict=True))

    def read(self, parent: ir.Value) -> ir.Value:
        low, high, stride, flipped = self.bounds
        found = ops.slice(parent, low, high, stride)
        return ops.reverse(found, flipped) if flipped else found

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        if 0 in self.shape:
            return parent
        low, high, stride, flipped = self.bounds
        new = ops.reverse(new, flipped) if flipped else new
        if self.shape == whole:
            return new
        return _interleaved(parent, new, low, stride)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        key = []
        for a, n, s in zip(self.starts, self.shape, self.steps, strict=True):
            stop = a + n * s
            key.append(slice(0, 0) if n == 0 else slice(a, None if stop < 0 else stop, s))
        return parent[(*key, ...)]

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(a * s for a, s in zip(strides, self.steps, strict=True))


def _interleaved(parent: ir.Value, new: ir.Value, low: Shape, stride: Shape) -> ir.Value:
    """The parent with `new` at every `stride`th place from `low` on.

    A dimension with gaps is seen as rows of `stride` elements, of which one column is written: no mask is as large as
    the array. Where the last row would leave the parent, its element is written alone.
    """
    whole, shape = shape_of(parent), shape_of(new)
    for d, (n, a, count, s) in enumerate(zip(whole, low, shape, stride, strict=True)):
        if s > 1 and n < count * s:
            ends = [list(shape), [0] * len(shape)]
            ends[0][d], ends[1][d] = count - 1, count - 1
            rest = tuple(count - 1 if k == d else 0 for k in range(len(shape)))
            first = ops.slice(new, (0,) * len(shape), ends[0])
            last = ops.slice(new, rest, shape)
            at = tuple(a + (count - 1) * s if k == d else b for k, b in enumerate(low))
            single = tuple(1 if k == d else b for k, b in enumerate(stride))
            parent = _interleaved(parent, first, low, stride if count > 2 else single)
            return _interleaved(parent, last, at, single)
    if max(stride) == 1:
        return _updated(parent, new, low)
    start, columns, rows, narrow = [], [], [], []
    for n, a, count, s in zip(whole, low, shape, stride, strict=True):
        if s == 1:
            start.append(a)
            columns.append(0)
            rows.append(count)
            narrow.append(count)
            continue
        column = a % s if n % s == 0 and count * s == n else max(0, a + count * s - n)
        start.append(a - column)
        columns += [0, column]
        rows += [count, s]
        narrow += [count, 1]
    extent = tuple(count * s for count, s in zip(shape, stride, strict=True))
    end = [a + n for a, n in zip(start, extent, strict=True)]
    region = parent if extent == whole else ops.slice(parent, start, end)
    written = _updated(ops.reshape(region, rows), ops.reshape(new, narrow), columns)
    return _updated(parent, ops.reshape(written, extent), start)


def _updated(parent: ir.Value, new: ir.Value, low: Iterable[int]) -> ir.Value:
    """The parent with a window written."""
    if shape_of(new) == shape_of(parent):
        return new
    starts = {a: ops.constant(a, np.int64) for a in low}
    return ops.dynamic_update_slice(parent, new, [starts[a] for a in low])


@dataclass(frozen=True)
class DynamicSliceStep(Step):
    """A window whose start is known at run time. `starts` are Values (0-d int64, in bounds) or ints."""

    starts: tuple[object, ...]
    shape: Shape
    numpy_has_it = False

    def _starts(self) -> list[ir.Value]:
        return [ops.constant(s, np.int64) if isinstance(s, int) else s for s in self.starts]

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.dynamic_slice(parent, self._starts(), self.shape)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.dynamic_update_slice(parent, new, self._starts())

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return strides


@dataclass(frozen=True)
class TransposeStep(Step):
    """A permutation of dimensions."""

    permutation: Shape
    shape: Shape
    keeps = False

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.transpose(parent, self.permutation)

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(last) is TransposeStep and all(last.permutation[p] == d for d, p in enumerate(self.permutation))

    def write(self, parent: ir.Value | None, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.transpose(new, tuple(int(i) for i in np.argsort(self.permutation)))

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return parent.transpose(self.permutation)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(strides[p] for p in self.permutation)


@dataclass(frozen=True)
class ReshapeStep(Step):
    """Another shape over the same elements in row-major order (newaxis, ravel, dropped unit dimensions, reshape)."""

    shape: Shape
    new_strides: Shape
    keeps = False

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(self) is type(last) is ReshapeStep and self.shape == whole

    def read(self, parent: ir.Value) -> ir.Value:
        return reshaped(parent, self.shape)

    def write(self, parent: ir.Value | None, new: ir.Value, whole: Shape) -> ir.Value:
        return reshaped(new, whole)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return parent.reshape(self.shape, copy=False) if isinstance(parent, np.ndarray) else parent.reshape(self.shape)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return self.new_strides


@dataclass(frozen=True)
class GatheredStep(ReshapeStep):
    """A shape over elements that lie in any order in memory: to read and write through, where NumPy would copy."""

    numpy_has_it = False


@dataclass(frozen=True)
class BroadcastStep(Step):
    """`np.broadcast_to`: read-only, as NumPy's."""

    shape: Shape
    dimensions: Shape
    writable = False

    def read(self, parent: ir.Value) -> ir.Value:
        return broadcast(parent, self.shape)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return np.broadcast_to(parent, self.shape)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        lead = len(self.shape) - len(parent)
        kept = tuple(s if n == m else 0 for s, n, m in zip(strides, parent, self.shape[lead:], strict=True))
        return (0,) * lead + kept


@dataclass(frozen=True)
class DiagonalStep(Step):
    """The diagonal `offset` of the last two dimensions, as a new last dimension. NumPy's own is read-only;
    `writeable` ones come from `fill_diagonal` and `einsum('ii->i')`."""

    offset: int
    shape: Shape
    writable: bool = False

    def _index(self) -> ir.Value:
        n = self.shape[-1]
        row, column = (0, self.offset) if self.offset >= 0 else (-self.offset, 0)
        return ops.constant(np.stack([np.arange(n) + row, np.arange(n) + column], axis=1).reshape(n, 2))

    def read(self, parent: ir.Value) -> ir.Value:
        lead = shape_of(parent)[:-2]
        rank = len(lead)
        if 0 in shape_of(parent) or 0 in self.shape:
            return ops.constant(0, dtype_of(parent), self.shape)
        return ops.gather(parent, self._index(), offset_dims=range(rank), collapsed_slice_dims=[rank, rank + 1],
                          start_index_map=[rank, rank + 1], index_vector_dim=1, slice_sizes=[*lead, 1, 1],
                          indices_are_sorted=True)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        rank = len(whole) - 2
        if 0 in self.shape:
            return parent
        return ops.scatter(parent, self._index(), new, "second", update_window_dims=range(rank),
                           inserted_window_dims=[rank, rank + 1], scatter_dims_to_operand_dims=[rank, rank + 1],
                           index_vector_dim=1, indices_are_sorted=True, unique_indices=True)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        view = parent.diagonal(self.offset, -2, -1)
        if self.writable:
            view.flags.writeable = True
        return view

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return (*strides[:-2], strides[-2] + strides[-1])


@dataclass(frozen=True)
class ComplexPartStep(Step):
    """`.real` or `.imag` of a complex array."""

    part: str
    shape: Shape

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.real(parent) if self.part == "real" else ops.imag(parent)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.complex(new, ops.imag(parent)) if self.part == "real" else ops.complex(ops.real(parent), new)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return getattr(parent, self.part)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(2 * s for s in strides)


def followed(steps: tuple[Step, ...], more: Iterable[Step], whole: Shape) -> tuple[Step, ...]:
    """The steps of a view of a view in a memory of shape `whole`. What shows the same adds none, and what undoes the
    last one takes it away: a loop may turn an array round in each iteration."""
    for step in more:
        before = steps[-2].shape if len(steps) > 1 else whole
        if steps and step.undoes(steps[-1], before):
            steps = steps[:-1]
        elif not (steps and type(step) is ReshapeStep and step.shape == steps[-1].shape):
            steps = (*steps, step)
    return steps


@lru_cache(maxsize=65536)
def row_steps(shape: Shape, k: int) -> tuple[Step, ...]:
    """The steps from a memory of this shape to its row k."""
    rest = shape[1:]
    whole = SliceStep((k, *(0 for _ in rest)), (1, *rest), (1,) * len(shape))
    return whole, ReshapeStep(rest, row_major_strides(rest))
