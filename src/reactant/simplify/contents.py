"""Arithmetic on the contents of constants: NumPy, in the IR's semantics, quick for splats of any size."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops


def is_splat(array: np.ndarray) -> bool:
    """Whether an array is known to be uniform from its strides (as `constant_value` gives splats)."""
    return array.size > 0 and not any(array.strides)


def apply(function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """`function` on arrays of one shape, without warnings; on one element where all are splats."""
    with np.errstate(all="ignore"):
        if all(map(is_splat, arrays)):
            element = np.asarray(function(*(a[(0,) * a.ndim] for a in arrays)))
            return np.broadcast_to(element, arrays[0].shape)
        return function(*arrays)


def dense(array: np.ndarray, dtype: np.dtype) -> ir.Value:
    """A constant with the content of `array` in `dtype`."""
    return ops.constant(array.astype(dtype) if array.dtype != dtype else array)


def every(predicate: Callable[[np.ndarray], np.ndarray], array: np.ndarray) -> bool:
    """Whether all elements satisfy `predicate`; looks at one element of a splat. False for empty arrays."""
    if not array.size:
        return False
    with np.errstate(all="ignore"):
        return bool(np.all(predicate(array[(0,) * array.ndim] if is_splat(array) else array)))


def constant_starts(starts: Sequence[ir.Value], whole: Sequence[int], window: Sequence[int]) -> list[int] | None:
    """The starts of a dynamic slice or update as it clamps them, if all are constants."""
    result = []
    for value, n, m in zip(starts, whole, window, strict=True):
        number = ops.constant_value(value)
        if number is None:
            return None
        result.append(max(0, min(int(number), n - m)))
    return result
