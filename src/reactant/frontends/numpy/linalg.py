"""`numpy.linalg`: solving, determinants, factorizations, eigenvalues, norms and what is built of them.

As NumPy, everything is computed in double precision and cast back, so float32 results agree. A matrix that LAPACK
rejects raises `LinAlgError` after the call. Where NumPy's result dtype or size depends on the values there is one
answer for all: `eig` and `eigvals` are always complex; the residuals of `lstsq` are those of full rank, and using them
raises after the call if the rank was not full.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from numpy.linalg import LinAlgError

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import layouts
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.implements import implements, of_concrete
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy import decompositions, pseudo_inverses
from reactant.frontends.session.jax_calls import call_jax
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import real_dtype

SlogdetResult, QRResult, SVDResult, EigResult, EighResult = (
    type(f(np.eye(1))) for f in (np.linalg.slogdet, np.linalg.qr, np.linalg.svd, np.linalg.eig, np.linalg.eigh))


# ---- arguments -------------------------------------------------------------------------------------------------

def _stack(a: object, square: bool = False) -> Tensor:
    """A stack of matrices; NumPy's errors for other shapes."""
    a = wrap(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return a


def _dtypes(*arrays: Tensor) -> tuple[np.dtype, np.dtype]:
    """(what is computed in, what is returned): double precision, and single only if every array is single."""
    single, is_complex = True, False
    for a in arrays:
        if a.dtype.kind in "fc":
            if a.dtype == np.float16:
                raise TypeError("array type float16 is unsupported in linalg")
            is_complex |= a.dtype.kind == "c"
            single &= a.dtype in (np.float32, np.complex64)
        else:
            single = False
    work = np.dtype(np.complex128 if is_complex else np.float64)
    return work, np.dtype((np.complex64 if is_complex else np.float32) if single else work)


def _new(value: ir.Value, dtype: np.dtype | None = None, scalar: bool = False) -> Tensor:
    value = value if dtype is None else cast(value, dtype)
    return Tensor.of_value(value, SCALAR if scalar and not value.type.rank else ARRAY)


def _require(ok: ir.Value, text: str) -> None:
    current_trace().check(ok, lambda: LinAlgError(text))


def _of_empty(function: Callable, *arrays: Tensor, **options: object) -> Any:
    """The result for arrays without elements (or that yield none), which is NumPy's: content does not matter."""
    stand_ins = [np.zeros(a.shape, a.dtype) for a in arrays]
    for stand_in in stand_ins:
        if stand_in.ndim >= 2 and stand_in.shape[-1] == stand_in.shape[-2]:
            stand_in[...] = np.eye(stand_in.shape[-1])
    return of_concrete(function(*stand_ins, **options))


# ---- equations and determinants --------------------------------------------------------------------------------

@implements(np.linalg.solve)
def solve(a: object, b: object) -> Tensor:
    a, b = _stack(a, square=True), wrap(b)
    vector = b.ndim == 1
    work, result = _dtypes(a, b)
    if b.ndim == 0 or b.shape[-1 if vector else -2] != a.shape[-1]:
        _of_empty(np.linalg.solve, a, b)      # raises NumPy's error
    if not a.size or not b.size:
        return _of_empty(np.linalg.solve, a, b)
    right = np.expand_dims(b, -1) if vector else b
    batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    values = [layouts.broadcast(cast(x.value(), work), (*batch, *x.shape[-2:])) for x in (a, right)]
    x, ok = call_jax(decompositions.solve, *values)
    _require(ok, "Singular matrix")
    x = ops.reshape(x, (*batch, a.shape[-1])) if vector else x
    return _new(x, result)


@implements(np.linalg.inv)
def inv(a: object) -> Tensor:
    a = _stack(a, square=True)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.inv, a)
    x, each = _inverses(a, work)
    _require(_all(each), "Singular matrix")
    return _new(x, result)


def _inverses(a: Tensor, work: np.dtype) -> tuple[ir.Value, ir.Value]:
    """Inverses and one flag a matrix."""
    identity = layouts.broadcast(ops.constant(np.eye(a.shape[-1], dtype=work)), a.shape)
    x, each = call_jax(decompositions.solve_each, cast(a.value(), work), identity)
    return x, each


def _all(flags: ir.Value) -> ir.Value:
    return ops.reduce(flags, True, range(flags.type.rank), "and")


@implements(np.linalg.slogdet)
def slogdet(a: object) -> Any:
    a = _stack(a, square=True)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.slogdet, a)
    sign, logarithm = call_jax(decompositions.slogdet, cast(a.value(), work))
    return SlogdetResult(_new(sign, result, scalar=True), _new(logarithm, real_dtype(result), scalar=True))


@implements(np.linalg.det)
def det(a: object) -> Tensor:
    """Sign times exponential of the log-determinant, as NumPy: no overflow on the way."""
    a = _stack(a, square=True)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.det, a)
    sign, logarithm = call_jax(decompositions.slogdet, cast(a.value(), work))
    return _new(ops.multiply(sign, cast(ops.exponential(logarithm), work)), result, scalar=True)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: object, b: object, axes: Sequence[int] | None = None) -> Tensor:
    a, b = wrap(a), wrap(b)
    if axes is not None:
        order = [d for d in range(a.ndim) if d not in axes]
        a = np.transpose(a, [*order, *axes])
    shape = a.shape[-(a.ndim - b.ndim):]
    count = int(np.prod(shape, dtype=np.int64))
    if a.size != count ** 2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return np.reshape(solve(np.reshape(a, (count, count)), np.ravel(b)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: object, ind: int = 2) -> Tensor:
    a = wrap(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = (*a.shape[ind:], *a.shape[:ind])
    count = int(np.prod(a.shape[ind:], dtype=np.int64))
    return np.reshape(inv(np.reshape(a, (count, -1))), shape)


@implements(np.linalg.matrix_power)
def matrix_power(a: object, n: int) -> Tensor:
    """Square and multiply; negative powers invert first."""
    a = _stack(a, square=True)
    try:
        n = n.__index__()
    except AttributeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        return _new(layouts.broadcast(ops.constant(np.eye(a.shape[-1], dtype=a.dtype)), a.shape))
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else np.matmul(result, a)
        n >>= 1
        a = np.matmul(a, a) if n else a
    return result.copy()


# ---- factorizations --------------------------------------------------------------------------------------------

@implements(np.linalg.cholesky)
def cholesky(a: object, /, *, upper: bool = False) -> Tensor:
    a = _stack(a, square=True)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.cholesky, a, upper=upper)
    factor, ok = call_jax(decompositions.cholesky, cast(a.value(), work), upper=bool(upper))
    _require(ok, "Matrix is not positive definite")
    return _new(factor, result)


@implements(np.linalg.qr)
def qr(a: object, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        if mode in ("f", "full", "e", "economic"):
            raise UnsupportedError(f"np.linalg.qr: the deprecated mode {mode!r} is not supported in compiled code.",
                                   hint="Use 'reduced', 'complete', 'r' or 'raw'.", code="argument-not-supported")
        raise ValueError(f"Unrecognized mode '{mode}'")
    a = _stack(a)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.qr, a, mode=mode)
    value = cast(a.value(), work)
    if mode in ("r", "raw"):
        packed, tau = (_new(x, result) for x in call_jax(decompositions.qr_packed, value))
        if mode == "raw":
            return np.swapaxes(packed, -1, -2).copy(), tau
        return np.triu(packed[..., :min(a.shape[-2:]), :])
    return QRResult(*(_new(x, result) for x in call_jax(decompositions.qr, value, full_matrices=mode == "complete")))


@implements(np.linalg.svd)
def svd(a: object, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    a = _stack(a, square=bool(hermitian))
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.svd, a, full_matrices=full_matrices, compute_uv=compute_uv, hermitian=hermitian)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if compute_uv:
        *parts, ok = call_jax(decompositions.svd, cast(a.value(), work), full_matrices=bool(full_matrices))
    else:
        *parts, ok = call_jax(decompositions.singular_values, cast(a.value(), work))
    _require(ok, "SVD did not converge")
    if not compute_uv:
        return _new(parts[0], real_dtype(result))
    u, s, vh = parts
    return SVDResult(_new(u, result), _new(s, real_dtype(result)), _new(vh, result))


def _hermitian_svd(a: Tensor, compute_uv: bool) -> Any:
    """By eigenvalues: singular values are their magnitudes, the signs go into V."""
    if not compute_uv:
        return np.flip(np.sort(np.abs(eigvalsh(a)), axis=-1), -1)
    values, u = eigh(a)
    order = np.flip(np.argsort(np.abs(values), axis=-1), -1)
    sign = np.take_along_axis(np.copysign(1.0, values), order, -1)
    u = np.take_along_axis(u, np.expand_dims(order, -2), -1)
    vh = np.conjugate(np.swapaxes(u * np.expand_dims(sign, -2).astype(u.dtype), -1, -2))
    return SVDResult(u, np.take_along_axis(np.abs(values), order, -1), vh)


@implements(np.linalg.svdvals)
def svdvals(x: object, /) -> Tensor:
    return svd(x, compute_uv=False)


@implements(np.linalg.eigh)
def eigh(a: object, UPLO: str = "L") -> Any:
    triangle = UPLO.upper()
    if triangle not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    a = _stack(a, square=True)
    work, result = _dtypes(a)
    if not a.size:
        return _of_empty(np.linalg.eigh, a)
    values, vectors, ok = call_jax(decompositions.eigh, cast(a.value(), work), lower=triangle == "L")
    _require(ok, "Eigenvalues did not converge")
    return EighResult(_new(values, real_dtype(result)), _new(vectors, result))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: object, UPLO: str = "L") -> Tensor:
    return eigh(a, UPLO).eigenvalues


@implements(np.linalg.eig)
def eig(a: object) -> Any:
    """Always complex: NumPy's result is real only if every eigenvalue happens to be."""
    a = _stack(a, square=True)
    if not a.size:
        return EigResult(*(x.astype(_complex_dtype(a)) for x in _of_empty(np.linalg.eig, a)))
    values, vectors = _eigen(a, vectors=True)
    return EigResult(values, vectors)


@implements(np.linalg.eigvals)
def eigvals(a: object) -> Tensor:
    """Always complex, as `eig`."""
    a = _stack(a, square=True)
    if not a.size:
        return _of_empty(np.linalg.eigvals, a).astype(_complex_dtype(a))
    return _eigen(a, vectors=False)[0]


def _complex_dtype(a: Tensor) -> np.dtype:
    return np.result_type(_dtypes(a)[1], np.complex64)


def _eigen(a: Tensor, vectors: bool) -> list[Tensor]:
    *found, finite, ok = call_jax(decompositions.eig, cast(a.value(), _dtypes(a)[0]), vectors=vectors)
    _require(finite, "Array must not contain infs or NaNs")
    _require(ok, "Eigenvalues did not converge")
    return [_new(x, _complex_dtype(a)) for x in found]


# ---- least squares, rank, pseudo-inverse ------------------------------------------------------------------------

class _FullRankStorage(st.Storage):
    """Residuals of `lstsq`: reading them requires full rank at run time (NumPy's would be empty otherwise)."""

    __slots__ = ("full_rank",)

    def read(self) -> ir.Value:
        if self.full_rank is not None:
            current_trace().check(self.full_rank, lambda: UnsupportedError(
                "np.linalg.lstsq: the matrix is rank-deficient, so NumPy's residuals are empty; compiled code "
                "decided on their size before it ran.", hint="Compute np.sum(np.abs(b - a @ x)**2, axis=0) instead.",
                code="size-decided-at-run-time"))
        return super().read()


@implements(np.linalg.lstsq)
def lstsq(a: object, b: object, rcond: object = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """By singular values: x = V diag(1/s) U^H b over the s above rcond * max(s); minimum norm where rank-deficient."""
    a, b = wrap(a), wrap(b)
    right = np.expand_dims(b, -1) if b.ndim == 1 else b
    for x in (a, right):
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    (m, n), columns = a.shape, right.shape[-1]
    if m != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    work, result = _dtypes(a, b)
    if not a.size:
        return _of_empty(np.linalg.lstsq, a, b)
    u, s, vh, ok = call_jax(decompositions.svd, cast(a.value(), work), full_matrices=False)
    _require(ok, "SVD did not converge in Linear Least Squares")
    u, s, vh = (Tensor.of_value(x) for x in (u, s, vh))
    cutoff = s[0] * (np.finfo(work).eps * max(m, n) if rcond is None else rcond)
    large = s > cutoff
    rank = np.sum(large, dtype=np.int32)
    inverse = np.where(large, 1 / np.where(large, s, 1.0), 0.0)
    right = right.astype(work)
    x = np.matmul(np.conjugate(vh.T), inverse[:, None] * np.matmul(np.conjugate(u.T), right))
    residuals = np.zeros(0, real_dtype(result))
    if m > n:
        off = right - np.matmul(a.astype(work), x)
        sums = np.sum(np.abs(off) ** 2, axis=0).astype(real_dtype(result))
        storage = _FullRankStorage((columns,), sums.dtype, value=sums.value())
        storage.full_rank = (rank == n).value()
        residuals = Tensor(storage)
    x = (x[:, 0] if b.ndim == 1 else x).astype(result)
    return x, residuals, rank, s.astype(real_dtype(result))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: object, tol: object = None, hermitian: bool = False, *, rtol: object = None) -> Tensor:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = wrap(A)
    if a.ndim < 2:
        return np.any(a != 0).astype(np.int64)
    s = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        cutoff = np.expand_dims(wrap(tol), -1)
    else:
        relative = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.expand_dims(wrap(rtol), -1)
        cutoff = np.max(s, axis=-1, keepdims=True, initial=0) * relative
    return np.sum(s > cutoff, axis=-1, dtype=np.int64)


@implements(np.linalg.pinv)
def pinv(a: object, rcond: object = None, hermitian: bool = False, *, rtol: object = np._NoValue) -> Tensor:
    a = wrap(a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    if a.ndim >= 2 and 0 in a.shape[-2:]:
        return _of_empty(np.linalg.pinv, a)
    u, s, vh = svd(np.conjugate(a), full_matrices=False, hermitian=hermitian)
    limit = wrap(rcond)
    cutoff = (np.expand_dims(limit, -1) if limit.ndim else rcond) * np.max(s, axis=-1, keepdims=True)
    large = s > cutoff
    inverse = np.where(large, 1 / np.where(large, s, s.dtype.type(1)), s.dtype.type(0))
    found = np.matmul(np.swapaxes(vh, -1, -2), np.expand_dims(inverse, -1) * np.swapaxes(u, -1, -2))
    known = ops.constant_value(limit.value())
    rounding = known is not None and (known <= max(8, *a.shape[-2:]) * np.finfo(s.dtype).eps).all()
    if hermitian or a.dtype != found.dtype or not rounding:     # hermitian: of one triangle
        return found                            # beyond rounding, what is left out has its part in the derivative
    return Tensor.of_value(pseudo_inverses.with_slope(a.value(), found.value()))


@implements(np.linalg.cond)
def cond(x: object, p: object = None) -> Tensor:
    x = wrap(x)
    if x.ndim >= 2 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        _stack(x, square=True)
        work, result = _dtypes(x)
        inverse, each = _inverses(x, work)
        mask = layouts.broadcast(ops.reshape(each, (*x.shape[:-2], 1, 1)), x.shape)
        inverse = Tensor.of_value(ops.select(mask, inverse, np.nan))
        ratio = (norm(x, p, (-2, -1)) * norm(inverse, p, (-2, -1))).astype(real_dtype(result))
    known = np.isnan(ratio) & ~np.any(np.isnan(x), axis=(-2, -1))
    return np.where(known, ratio.dtype.type(np.inf), ratio)[()]


# ---- norms -----------------------------------------------------------------------------------------------------

@implements(np.linalg.norm)
def norm(x: object, ord: object = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = wrap(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    rank = x.ndim
    if axis is None:
        if ord is None or (ord in ("f", "fro") and rank == 2) or (ord == 2 and rank == 1):
            return _euclidean(x, tuple(range(rank)), keepdims)
        axis = tuple(range(rank))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    axes = tuple(np.lib.array_utils.normalize_axis_index(a, rank) for a in axis)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _matrix_norm(x, ord, axes, keepdims)


def _euclidean(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    squares = x.real ** 2 + x.imag ** 2 if x.dtype.kind == "c" else x * x
    return np.sqrt(np.sum(squares, axis=axes, keepdims=keepdims))


def _vector_norm(x: Tensor, ord: object, axis: int, keepdims: bool) -> Tensor:
    options = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return _euclidean(x, (axis,), keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, initial=0, **options)
    if ord == -np.inf:
        return np.min(size, **options)
    if ord == 0:
        return np.sum((x != 0).astype(size.dtype), **options)
    if ord == 1:
        return np.sum(size, **options)
    return np.sum(size ** ord, **options) ** (1 / ord)


def _matrix_norm(x: Tensor, ord: object, axes: tuple[int, int], keepdims: bool) -> Tensor:
    row, column = axes
    if ord in (None, "f", "fro"):
        return _euclidean(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        s = svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        found = {"nuc": np.sum, 2: np.max, -2: np.min}[ord](s, axis=-1, **({"initial": 0} if ord == 2 else {}))
    elif ord in (1, -1):
        found = _extreme_of_sums(x, row, column, largest=ord == 1)
    elif ord in (np.inf, -np.inf):
        found = _extreme_of_sums(x, column, row, largest=ord == np.inf)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return np.expand_dims(found, axes) if keepdims else found


def _extreme_of_sums(x: Tensor, summed: int, other: int, largest: bool) -> Tensor:
    sums = np.sum(np.abs(x), axis=summed)
    axis = other - (other > summed)
    return np.max(sums, axis=axis, initial=0) if largest else np.min(sums, axis=axis)


@implements(np.linalg.vector_norm)
def vector_norm(x: object, /, *, axis: object = None, keepdims: bool = False, ord: object = 2) -> Tensor:
    x = wrap(x)
    order = list(range(x.ndim))
    if axis is None:
        found = norm(np.ravel(x), ord=ord)
        return np.reshape(found, (1,) * x.ndim) if keepdims else found
    if not isinstance(axis, tuple):
        return norm(x, ord=ord, axis=axis, keepdims=keepdims)
    axes = [np.lib.array_utils.normalize_axis_index(a, x.ndim) for a in axis]
    rest = [d for d in order if d not in axes]
    flat = np.reshape(np.transpose(x, [*axes, *rest]), (-1, *(x.shape[d] for d in rest)))
    found = norm(flat, ord=ord, axis=0)
    return np.expand_dims(found, tuple(axes)) if keepdims else found


@implements(np.linalg.matrix_norm)
def matrix_norm(x: object, /, *, keepdims: bool = False, ord: object = "fro") -> Tensor:
    return norm(x, axis=(-2, -1), keepdims=keepdims, ord=ord)
