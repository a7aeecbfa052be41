"""`numpy.linalg` on matrices whose size is only known at run time, such as `H[:k, :k]`.

They are the leading block of a matrix of static size. The rest of it is an identity, zeros, or a diagonal beyond all
eigenvalues: what that adds to a result is known, and lies outside of the result's extents.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir
from numpy.linalg import LinAlgError

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Number,
    Range,
    aligned,
    as_number,
    require_equal,
    with_extents,
)
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import Tensor, python_number, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import compact, on_bounded
from reactant.ir import ops
from reactant.ir.types import shape_of

_NOT_SQUARE = "Last 2 dimensions of the array must be square"


def _bounded(a: Any) -> Bounded:
    return a if type(a) is Bounded else Bounded(wrap(a), [None] * wrap(a).ndim)


def _matrices(a: Any) -> Bounded:
    """A stack of matrices that begin at the first row and column of their frames."""
    found = _bounded(a)
    if found.ndim < 2:
        raise LinAlgError(f"{found.ndim}-dimensional array given. Array must be at least two-dimensional")
    if any(e is not None for e in found.extents[:-2]):
        raise UnsupportedError("Stacks of a run-time number of matrices are not supported in compiled code.",
                               hint=ADVICE, code="array-of-run-time-size")
    for d in (found.ndim - 2, found.ndim - 1):
        if found.extents[d] is not None:
            found = compact(found, d)
    return found


def _square(a: Any) -> Bounded:
    """Square matrices in square frames."""
    found = _matrices(a)
    require_equal(found.length(-2), found.length(-1), _NOT_SQUARE, LinAlgError)
    shape = found.frame.shape
    n = min(shape[-2:])
    size = Range(0, found.length(-1 if shape[-1] == n else -2))
    window = found.frame[..., :n, :n]
    return Bounded(window, [*found.extents[:-2], size, size])


def _with_identity(a: Bounded) -> Tensor:
    """The whole matrix, ones on the diagonal outside."""
    eye = np.eye(a.frame.shape[-1], dtype=a.dtype)
    return np.where(Tensor.of_value(a.valid()), a.frame, eye)


def _block(frame: Tensor, like: Bounded, *more: Any) -> Bounded:
    return Bounded(frame, [*like.extents[:-2], *more])


def _least(a: Number, b: Number) -> Number:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ops.minimum(as_number(a), as_number(b))


def _largest_size(a: Bounded) -> Tensor:
    return python_number(ops.maximum(*(as_number(a.length(d)) for d in (-2, -1))))


@on_bounded(np.linalg.solve)
def solve(a: Any, b: Any) -> Bounded:
    matrix = _square(a)
    right = _bounded(b)
    at = 0 if right.ndim == 1 else right.ndim - 2
    require_equal(matrix.length(-1), right.length(at), "solve: the right side has another length than the matrix")
    n, size = matrix.frame.shape[-1], matrix.extents[-1]
    extents, shape = list(right.extents), list(right.frame.shape)
    extents[at], shape[at] = size, n
    moved = Bounded(Tensor.of_value(aligned(_sized(right, at), extents, tuple(shape))), extents)
    found = np.linalg.solve(_with_identity(matrix), moved.filled(0))
    return Bounded(found, [None] * (found.ndim - len(extents[at:])) + extents[at:])


def _sized(a: Bounded, d: int) -> Bounded:
    """With an extent for dimension `d`, so that one element is no unit to be broadcast."""
    extents = list(a.extents)
    extents[d] = extents[d] or Range(0, a.frame.shape[d])
    return Bounded(a.frame, extents)


@on_bounded(np.linalg.inv)
def inv(a: Bounded) -> Bounded:
    matrix = _square(a)
    return _block(np.linalg.inv(_with_identity(matrix)), matrix, *matrix.extents[-2:])


@on_bounded(np.linalg.det)
def det(a: Bounded) -> Any:
    return np.linalg.det(_with_identity(_square(a)))


@on_bounded(np.linalg.slogdet)
def slogdet(a: Bounded) -> Any:
    return np.linalg.slogdet(_with_identity(_square(a)))


@on_bounded(np.linalg.matrix_power)
def matrix_power(a: Bounded, n: int) -> Bounded:
    matrix = _square(a)
    return _block(np.linalg.matrix_power(_with_identity(matrix), n), matrix, *matrix.extents[-2:])


@on_bounded(np.linalg.cholesky)
def cholesky(a: Bounded, /, *, upper: bool = False) -> Bounded:
    matrix = _square(a)
    return _block(np.linalg.cholesky(_with_identity(matrix), upper=upper), matrix, *matrix.extents[-2:])


@on_bounded(np.linalg.eigh)
def eigh(a: Bounded, UPLO: str = "L") -> Any:
    matrix = _square(a)
    found = np.linalg.eigh(_with_far_values(matrix, UPLO), UPLO)
    values, vectors = found
    return type(found)(_block(values, matrix, matrix.extents[-1]), _block(vectors, matrix, *matrix.extents[-2:]))


@on_bounded(np.linalg.eigvalsh)
def eigvalsh(a: Bounded, UPLO: str = "L") -> Bounded:
    matrix = _square(a)
    return _block(np.linalg.eigvalsh(_with_far_values(matrix, UPLO), UPLO), matrix, matrix.extents[-1])


def _with_far_values(a: Bounded, triangle: str) -> Tensor:
    """The whole matrix with eigenvalues outside that are larger than those inside, which come first then."""
    part = np.abs((np.tril if triangle.upper() == "L" else np.triu)(a.filled(0)))
    part = part + np.tril(np.swapaxes(part, -1, -2), -1) + np.triu(np.swapaxes(part, -1, -2), 1)
    most = np.max(np.sum(part, axis=-1, keepdims=True), axis=-2, keepdims=True, initial=0)    # Gershgorin's bound
    far = np.where(most > 0, 2 * most, 1).astype(a.dtype)
    return np.where(Tensor.of_value(a.valid()), a.frame, far * np.eye(a.frame.shape[-1], dtype=a.dtype))


@on_bounded(np.linalg.svdvals)
def svdvals(x: Bounded, /) -> Bounded:
    matrix = _matrices(x)
    return _block(np.linalg.svdvals(matrix.filled(0)), matrix, Range(0, _least(matrix.length(-2), matrix.length(-1))))


@on_bounded(np.linalg.svd)
def svd(a: Bounded, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Bounded:
    if compute_uv or hermitian:
        raise UnsupportedError("numpy.linalg.svd of a matrix of run-time size gives singular values only: "
                               "compute_uv=False.", hint=ADVICE, code="array-of-run-time-size")
    return svdvals(a)


@on_bounded(np.linalg.matrix_rank)
def matrix_rank(A: Bounded, tol: object = None, hermitian: bool = False, *, rtol: object = None) -> Any:
    matrix = _matrices(A)
    if tol is None and rtol is None:
        rtol = _largest_size(matrix) * np.finfo(np.result_type(matrix.dtype, np.float32)).eps
    return np.linalg.matrix_rank(matrix.filled(0), tol, hermitian, rtol=rtol)


@on_bounded(np.linalg.pinv)
def pinv(a: Bounded, rcond: Any = 1e-15) -> Bounded:
    matrix = _matrices(a)
    return _block(np.linalg.pinv(matrix.filled(0), rcond), matrix, *reversed(matrix.extents[-2:]))


class _Residuals(Storage):
    """What `lstsq` cannot give."""

    __slots__ = ()

    def read(self) -> ir.Value:
        raise UnsupportedError("The residuals of numpy.linalg.lstsq with a matrix of run-time size: how many there "
                               "are depends on it.", hint="Compute np.sum(np.abs(b - a @ x)**2, axis=0) instead.",
                               code="array-of-run-time-size")


@on_bounded(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple:
    matrix = _matrices(a)
    right = _bounded(b)
    require_equal(matrix.length(0), right.length(0), "Incompatible dimensions", LinAlgError)
    rows = matrix.frame.shape[0]
    extents = [Range(0, matrix.length(0)), *right.extents[1:]]
    moved = Bounded(Tensor.of_value(aligned(_sized(right, 0), extents, (rows, *right.frame.shape[1:]))), extents)
    if rcond is None:
        rcond = _largest_size(matrix) * np.finfo(np.float64).eps
    x, _, rank, s = np.linalg.lstsq(matrix.filled(0), moved.filled(0), rcond)
    residuals = Tensor(_Residuals((0,), s.dtype, value=None))
    return (with_extents(x, [matrix.extents[1], *right.extents[1:]]), residuals, rank,
            Bounded(s, [Range(0, _least(matrix.length(0), matrix.length(1)))]))


@on_bounded(np.diag)
def diag(v: Bounded, k: int = 0) -> Bounded:
    """A matrix with this diagonal, or the diagonal of a matrix."""
    if v.ndim == 1:
        dense = compact(v)
        size = Range(0, ops.add(as_number(dense.length()), abs(k)))
        return Bounded(np.diag(dense.filled(0), k), [size, size])
    dense = _matrices(v)
    rows, columns = (as_number(dense.length(d)) for d in (0, 1))
    found = np.diag(dense.frame, k).copy()
    length = ops.minimum(ops.add(rows, min(k, 0)), ops.subtract(columns, max(k, 0)))
    return Bounded(found, [Range(0, ops.clamp(0, length, shape_of(found.value())[0]))])


def _triangle(function: Any) -> Any:
    def run(m: Bounded, k: int = 0) -> Bounded:
        dense = _matrices(m)
        return Bounded(function(dense.frame, k), dense.extents)
    return run


for _function in (np.tril, np.triu):
    on_bounded(_function)(_triangle(_function))
