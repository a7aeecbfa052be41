"""Products of matrices and vectors by numpy.linalg's names, and its views."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.linalg import LinAlgError

from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, wrap


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[object], *, out: Tensor | None = None) -> Tensor:
    """A chain of products in the order that needs the fewest multiplications."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    matrices = [wrap(a) for a in arrays]
    first, last = matrices[0].ndim, matrices[-1].ndim
    if first == 1:
        matrices[0] = matrices[0][None, :]
    if last == 1:
        matrices[-1] = matrices[-1][:, None]
    for a in matrices:
        if a.ndim != 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    result = _chain(matrices, _cheapest_splits([*(a.shape[0] for a in matrices), matrices[-1].shape[1]]), 0,
                    len(matrices) - 1)
    if first == 1 and last == 1:
        result = result[0, 0]
    elif first == 1 or last == 1:
        result = np.ravel(result)
    if out is None:
        return result
    out[...] = result
    return out


def _cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors i..j (dynamic programming); factor i has shape (sizes[i], sizes[i + 1])."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return split


def _chain(matrices: list[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = split[i, j]
    return np.matmul(_chain(matrices, split, i, k), _chain(matrices, split, k + 1, j))


@implements(np.linalg.outer)
def outer(x1: object, x2: object, /) -> Tensor:
    x1, x2 = wrap(x1), wrap(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and "
                         f"x2.ndim={x2.ndim}.")
    return np.multiply(x1[:, None], x2[None, :])


@implements(np.linalg.cross)
def cross(x1: object, x2: object, /, *, axis: int = -1) -> Tensor:
    x1, x2 = wrap(x1), wrap(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
                         f"{x1.shape[axis]} and {x2.shape[axis]} dimensional instead.")
    a, b = np.moveaxis(x1, axis, 0), np.moveaxis(x2, axis, 0)
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, axis=axis)


@implements(np.linalg.vecdot)
def vecdot(x1: object, x2: object, /, *, axis: int = -1) -> Tensor:
    return np.vecdot(wrap(x1), x2, axis=axis)


@implements(np.linalg.matmul)
def matmul(x1: object, x2: object, /) -> Tensor:
    return np.matmul(wrap(x1), x2)


@implements(np.linalg.tensordot)
def tensordot(x1: object, x2: object, /, *, axes: object = 2) -> Tensor:
    return np.tensordot(wrap(x1), x2, axes=axes)


@implements(np.linalg.diagonal, aliases=True)
def diagonal(x: object, /, *, offset: int = 0) -> Tensor:
    return np.diagonal(wrap(x), offset, -2, -1)


@implements(np.linalg.trace)
def trace(x: object, /, *, offset: int = 0, dtype: object = None) -> Tensor:
    return np.trace(wrap(x), offset, -2, -1, dtype)


@implements(np.linalg.matrix_transpose, np.matrix_transpose, aliases=True)
def matrix_transpose(x: object, /) -> Tensor:
    x = wrap(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return np.swapaxes(x, -1, -2)
