"""What follows from the shape and the dtype of an array."""
from __future__ import annotations

import numpy as np

from reactant.ir.types import Shape, size


class Sized:
    """Of what has a `shape` and a `dtype`, as ndarrays have it."""

    __slots__ = ()

    shape: Shape
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return size(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize
