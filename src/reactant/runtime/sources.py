"""Arrays that are read part by part: memory maps, `.npy` files, and what has a shape, a dtype and slices (zarr, HDF5).

None of these libraries is loaded for it.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from reactant.runtime.storage import require_held
from reactant.support.records import dataclass

Index = tuple[slice, ...]


@dataclass(frozen=True)
class Source:
    """An array elsewhere: `part` reads some of it, which is its own memory or NumPy's."""

    shape: tuple[int, ...]
    dtype: np.dtype
    part: Callable[[Index], Any]


def source_of(value: Any) -> Source | None:
    """What an argument of `reactant.array` reads its parts from; None for one that is read as a whole.

    Raises `TypeError` for a path of what is no `.npy` file, `OSError` where nothing can be read there.
    """
    if isinstance(value, (str, os.PathLike)):
        return _of_file(os.fspath(value))
    if isinstance(value, np.memmap):
        return Source(value.shape, value.dtype, value.__getitem__)
    if isinstance(value, (np.ndarray, np.generic, jax.Array)) or not hasattr(type(value), "__getitem__"):
        return None
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if not isinstance(shape, tuple) or not all(isinstance(n, (int, np.integer)) for n in shape):
        return None
    try:
        kind = np.dtype(dtype)      # type: ignore[arg-type]
    except TypeError:
        return None
    return None if dtype is None else Source(tuple(map(int, shape)), kind, value.__getitem__)


def _of_file(path: str) -> Source:
    """A `.npy` file, which is opened for each part: what has been read of it is not kept in memory."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise TypeError(f"reactant.array: {path} is no .npy file. Of other files, open an array (zarr.open_array, "
                            f"h5py.File(...)[name]) and give that.")
    whole = np.load(path, mmap_mode="r")
    return Source(whole.shape, whole.dtype, lambda index: np.load(path, mmap_mode="r")[index])


def reading(source: Source, dtype: Any) -> tuple[Callable[[Index], np.ndarray], np.dtype]:
    """A function that gives parts of a source in a dtype (the source's where it is None), and which that is. Raises
    `TypeError` where no device holds it."""
    kind = np.dtype(source.dtype if dtype is None else dtype)
    require_held(kind)

    def part(index: Index) -> np.ndarray:
        extents = tuple(s.stop - s.start for s in index)
        if 0 in extents:
            return np.empty(extents, kind)
        return np.asarray(source.part(index)).astype(kind, copy=False)
    return part, kind
