"""`np.lib.stride_tricks.sliding_window_view`: every window of an array, as a read-only view."""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import view_steps
from reactant.frontends.arrays.dynamic.bounded import guarded_copy
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.ir import ops
from reactant.ir.types import Shape, shape_of
from reactant.support.records import dataclass

SLICED = 64
"""Windows up to this length are shifted slices side by side, which XLA fuses into what follows; longer a gather."""


@dataclass(frozen=True)
class WindowStep(view_steps.Step):
    """Windows of `length` along `axis`, as a new last dimension."""

    axis: int
    length: int
    shape: Shape
    writable = False

    def read(self, parent: ir.Value) -> ir.Value:
        rank, count = len(self.shape) - 1, self.shape[self.axis]
        if self.length <= SLICED:
            whole, parts = shape_of(parent), []
            for k in range(self.length):
                start = [0] * rank
                start[self.axis] = k
                limit = [*whole[:self.axis], k + count, *whole[self.axis + 1:]]
                parts.append(ops.reshape(ops.slice(parent, start, limit), (*self.shape[:-1], 1)))
            return ops.concatenate(parts, rank)
        index = np.arange(count)[:, None] + np.arange(self.length)
        sizes = [1 if d == self.axis else n for d, n in enumerate(shape_of(parent))]
        offsets = [d for d in range(rank) if d != self.axis]
        return ops.gather(parent, ops.constant(index[..., None]), offset_dims=offsets, collapsed_slice_dims=[self.axis],
                          start_index_map=[self.axis], index_vector_dim=2, slice_sizes=sizes)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return np.lib.stride_tricks.sliding_window_view(parent, self.length, self.axis)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return (*strides, strides[self.axis])


@implements(np.lib.stride_tricks.sliding_window_view, aliases=True)
def sliding_window_view(x: object, window_shape: Any, axis: Any = None, *, subok: bool = False,
                        writeable: bool = False) -> Tensor:
    """Windows that may be written into are copies, which may not while the array is in use."""
    a = whole = wrap(x)
    window = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if any(w < 0 for w in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = list(range(a.ndim))
        if len(window) != a.ndim:
            raise ValueError(f"Since axis is None, must provide window_shape for all dimensions of `x`; got "
                             f"{len(window)} window_shape elements and `x.ndim` is {a.ndim}.")
    else:
        axes = [np.lib.array_utils.normalize_axis_index(d, a.ndim) for d in
                (axis if isinstance(axis, tuple) else (axis,))]
        if len(window) != len(axes):
            raise ValueError(f"Must provide matching length window_shape and axis; got {len(window)} window_shape "
                             f"elements and {len(axes)} axes elements.")
    for d, w in zip(axes, window, strict=True):
        if a.shape[d] < w:
            raise ValueError("window shape cannot be larger than input array shape")
        count = a.shape[d] - int(w) + 1
        a = a.view(WindowStep(d, int(w), (*a.shape[:d], count, *a.shape[d + 1:], int(w))))
    return guarded_copy(a, whole) if writeable else a
