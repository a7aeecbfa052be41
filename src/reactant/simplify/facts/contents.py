"""Arithmetic on the contents of constants: NumPy, in the IR's semantics, quick for splats of any size."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops


def is_splat(array: np.ndarray) -> bool:
    """Whether an array is known to be uniform from its strides (as `constant_value` gives splats)."""
    return array.size > 0 and not any(array.strides)


def apply(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """`function` on arrays of one shape, without warnings; on one element where all are splats."""
    if all(map(is_splat, arrays)):
        elements = [a[(0,) * a.ndim] for a in arrays]
        element = _of_element(function, *((e.dtype, e.tobytes()) for e in elements)) if type(function) is np.ufunc \
            else _quietly(function, *elements)
        return np.broadcast_to(element, arrays[0].shape)
    return _quietly(function, *arrays)


def _quietly(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(function(*arrays))


@lru_cache(maxsize=4096)
def _of_element(function: Callable[..., np.ndarray], *elements: tuple[np.dtype, bytes]) -> np.ndarray:
    """A function of single elements, each given by its bytes: programs are full of the same few numbers."""
    return _quietly(function, *(np.frombuffer(raw, dtype)[0] for dtype, raw in elements))


def dense(array: np.ndarray, dtype: np.dtype) -> ir.Value:
    """A constant with the content of `array` in `dtype`."""
    return ops.constant(array.astype(dtype) if array.dtype != dtype else array)


def every(predicate: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> bool:
    """Whether all elements satisfy `predicate`, a function of a module; looks at one element of a splat. False for
    empty arrays."""
    if is_splat(array):
        element = array[(0,) * array.ndim]
        return bool(_of_element(predicate, (element.dtype, element.tobytes())))
    return bool(array.size and np.all(_quietly(predicate, array)))
