"""`scipy.linalg`: what it asks of LAPACK, by the factorizations of `numpy.linalg` and JAX's triangular solves.

One matrix at a time. What says how (`overwrite_a`, `lapack_driver`...) is ignored, what would say something else is
refused; not finite input raises after the call, where `check_finite` is on.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from jax import lax

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import Tensor, python_number, wrap
from reactant.frontends.session.jax_calls import call_jax
from reactant.frontends.session.trace import current_trace

TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
SYMMETRIC = {"sym": False, "symmetric": False, "her": True, "hermitian": True, "pos": True, "positive definite": True}


# ---- arguments -------------------------------------------------------------------------------------------------

def _matrix(a: Any, check_finite: bool, square: bool = False, rank: int = 2) -> Tensor:
    """A matrix in double precision, checked."""
    a = wrap(a)
    if a.ndim != rank:
        raise UnsupportedError(f"scipy.linalg of an array of {a.ndim} dimensions is not supported in compiled code, "
                               f"where it takes {rank}.", hint="Use np.linalg for stacks of matrices.",
                               code="argument-not-supported")
    if square and a.shape[0] != a.shape[1]:
        raise ValueError(f"expected a square matrix, got shape {a.shape}")
    if check_finite and a.dtype.kind in "fc":
        _require_finite(a)
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _right(b: Any, check_finite: bool, rows: int) -> Tensor:
    b = wrap(b)
    if b.ndim not in (1, 2) or b.shape[0] != rows:
        raise ValueError(f"incompatible dimensions: {rows} rows, and a right-hand side of shape {b.shape}")
    return _matrix(b, check_finite, rank=b.ndim)


def _same_precision(result: Any, *given: Any) -> Any:
    """As LAPACK computes: in single precision where all that was given is."""
    if not all(wrap(g).dtype in (np.float32, np.complex64) for g in given):
        return result
    if isinstance(result, tuple):
        return tuple(_same_precision(r, *given) for r in result)
    return result.astype({"f": np.float32, "c": np.complex64}.get(result.dtype.kind, result.dtype))


def _compute(function: Callable, *arrays: Tensor) -> list[Tensor]:
    return [Tensor.of_value(v) for v in call_jax(function, *(a.value() for a in arrays))]


def _require(ok: Any, text: str) -> None:
    current_trace().check(wrap(ok).value(), lambda: np.linalg.LinAlgError(text))


def _require_finite(x: Tensor) -> None:
    current_trace().check(wrap(np.all(np.isfinite(x))).value(),
                          lambda: ValueError("array must not contain infs or NaNs"))


def _common(*arrays: Tensor) -> list[Tensor]:
    dtype = np.result_type(*(a.dtype for a in arrays))
    return [a.astype(dtype) for a in arrays]


# ---- triangles -------------------------------------------------------------------------------------------------

def _triangular(a: Tensor, b: Tensor, trans: int, lower: bool, unit: bool) -> Tensor:
    a, b = _common(a, b)

    def solve(a: jax.Array, b: jax.Array) -> tuple[jax.Array]:
        columns = b if b.ndim == 2 else b[:, None]
        x = lax.linalg.triangular_solve(a, columns, left_side=True, lower=lower, transpose_a=trans > 0,
                                        conjugate_a=trans == 2, unit_diagonal=unit)
        return (x.reshape(b.shape),)
    return _compute(solve, a, b)[0]


def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, check_finite: bool = True) -> Any:
    matrix = _matrix(a, check_finite, square=True)
    right = _right(b, check_finite, matrix.shape[0])
    if not unit_diagonal:
        _require(np.all(np.diagonal(matrix) != 0), "singular matrix: resolution failed at the diagonal")
    return _same_precision(_triangular(matrix, right, TRANSPOSED[trans], bool(lower), bool(unit_diagonal)), a, b)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    matrix = _matrix(a, check_finite, square=True)
    return _same_precision(np.linalg.cholesky(matrix, upper=not lower), a)


@cache
def _zeros_beside_factors() -> bool:
    return np.lib.NumpyVersion(version("scipy")) >= "1.18.0"


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Before SciPy 1.18 the other triangle keeps what `a` has there, as LAPACK leaves it; since then it is zero."""
    matrix = _matrix(a, check_finite, square=True)
    factor = np.linalg.cholesky(matrix, upper=not lower)
    if _zeros_beside_factors():
        return _same_precision(factor, a), lower
    mine = np.tri(matrix.shape[0], dtype=bool) if lower else np.tri(matrix.shape[0], dtype=bool).T
    return _same_precision(np.where(mine, factor, matrix), a), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = c_and_lower
    factor = _matrix(c, check_finite, square=True)
    x = _right(b, check_finite, factor.shape[0])
    for trans in ((0, 2) if lower else (2, 0)):
        x = _triangular(factor, x, trans, bool(lower), False)
    return _same_precision(x, c, b)


# ---- LU --------------------------------------------------------------------------------------------------------

def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    packed, pivots = _compute(lambda x: lax.linalg.lu(x)[:2], _matrix(a, check_finite))
    return _same_precision(packed, a), pivots.astype(np.int32)


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    packed = _matrix(lu_and_piv[0], check_finite, square=True)
    x, way = _right(b, check_finite, packed.shape[0]), TRANSPOSED[trans]
    order, = _compute(lambda p: (lax.linalg.lu_pivots_to_permutation(p, packed.shape[0]),),
                      wrap(lu_and_piv[1]).astype(np.int32))
    order = order.astype(np.int64)
    if way == 0:
        x = _triangular(packed, _triangular(packed, x[order], 0, True, True), 0, False, False)
    else:
        x = _triangular(packed, _triangular(packed, x, way, False, False), way, True, True)[np.argsort(order)]
    return _same_precision(x, lu_and_piv[0], b)


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
       p_indices: bool = False) -> Any:
    matrix = _matrix(a, check_finite)
    m, n = matrix.shape
    packed, _, order = _compute(lax.linalg.lu, matrix)
    k = min(m, n)
    low, up = np.tril(packed[:, :k], -1) + np.eye(m, k), np.triu(packed[:k])
    back = np.argsort(order.astype(np.int64))
    if permute_l:
        return _same_precision((low[back], up), a)
    if p_indices:
        return back.astype(np.int32), *_same_precision((low, up), a)
    places = (back[:, None] == np.arange(m)).astype(np.float64)
    return _same_precision((places, low, up), a)


def solve(a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
          check_finite: bool = True, assume_a: str | None = None, transposed: bool = False) -> Any:
    matrix = _matrix(a, check_finite, square=True)
    right = _right(b, check_finite, matrix.shape[0])
    if transposed and matrix.dtype.kind == "c":
        raise UnsupportedError("scipy.linalg.solve with `transposed` takes real matrices only, in SciPy as here: "
                               "give it a.T instead.",
                               hint="Leave it out, or call it outside of the compiled function.",
                               code="argument-not-supported")
    if assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(a, b, int(transposed), assume_a[0] == "l", check_finite=check_finite)
    if assume_a in SYMMETRIC:        # one triangle is read
        half = np.tril(matrix, -1) if lower else np.triu(matrix, 1)
        mirror = np.conj(half.T) if SYMMETRIC[assume_a] else half.T
        matrix = half + mirror + np.diag(np.diagonal(matrix))
    elif assume_a not in (None, "gen", "general"):
        raise UnsupportedError(f"scipy.linalg.solve with assume_a={assume_a!r} is not supported in compiled code.",
                               hint="Leave it out.", code="argument-not-supported")
    return _same_precision(np.linalg.solve(matrix.T if transposed else matrix, right), a, b)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: str | None = None,
        lower: bool = False) -> Any:
    if assume_a not in (None, "gen", "general"):
        raise UnsupportedError("scipy.linalg.inv with assume_a is not supported in compiled code.",
                               hint="Leave it out.", code="argument-not-supported")
    return _same_precision(np.linalg.inv(_matrix(a, check_finite, square=True)), a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Always in double precision, as SciPy's."""
    return np.linalg.det(_matrix(a, check_finite, square=True))


# ---- eigenvalues, singular values, QR --------------------------------------------------------------------------

def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, type: int = 1, check_finite: bool = True,  # noqa: A002
         subset_by_index: Any = None, subset_by_value: Any = None, driver: str | None = None) -> Any:
    matrix = _matrix(a, check_finite, square=True)
    if b is not None or subset_by_value is not None:
        raise UnsupportedError("scipy.linalg.eigh of two matrices, or of a range of values, is not supported in "
                               "compiled code.", hint="Leave it out, or call it outside of the compiled function.",
                               code="argument-not-supported")
    first, last = (0, matrix.shape[0] - 1) if subset_by_index is None else map(int, subset_by_index)
    if eigvals_only:
        return _same_precision(np.linalg.eigvalsh(matrix, "L" if lower else "U")[first:last + 1], a)
    values, vectors = np.linalg.eigh(matrix, "L" if lower else "U")
    return _same_precision((values[first:last + 1], vectors[:, first:last + 1]), a)


def eigvalsh(a: Any, b: Any = None, **options: Any) -> Any:
    return eigh(a, b, eigvals_only=True, **options)


def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True,
            homogeneous_eigvals: bool = False) -> Any:
    if b is not None or homogeneous_eigvals:
        raise UnsupportedError("scipy.linalg.eigvals of two matrices is not supported in compiled code.",
                               hint="Leave it out, or call it outside of the compiled function.",
                               code="argument-not-supported")
    return _same_precision(np.linalg.eigvals(_matrix(a, check_finite, square=True)), a)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd") -> Any:
    matrix = _matrix(a, check_finite)
    if not compute_uv:
        return _same_precision(np.linalg.svd(matrix, compute_uv=False), a)
    return _same_precision(tuple(np.linalg.svd(matrix, full_matrices)), a)


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return svd(a, compute_uv=False, check_finite=check_finite)


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> Any:
    if pivoting or mode not in ("full", "economic", "r"):
        raise UnsupportedError(f"scipy.linalg.qr with pivoting or mode={mode!r} is not supported in compiled code.",
                               hint="Leave it out, or call it outside of the compiled function.",
                               code="argument-not-supported")
    found = np.linalg.qr(_matrix(a, check_finite), "reduced" if mode == "economic" else "complete")
    return _same_precision((found[1],) if mode == "r" else tuple(found), a)


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    u, s, vh = np.linalg.svd(_matrix(a, check_finite), full_matrices=False)
    eps = np.finfo(wrap(a).dtype if wrap(a).dtype.kind in "fc" else np.float64).eps
    limit = (0.0 if atol is None else atol) + np.max(s, initial=0.0) * (
        max(wrap(a).shape) * eps if rtol is None else rtol)
    kept = s > limit
    inverse = _same_precision(np.conj((u * np.where(kept, 1 / np.where(kept, s, 1), 0)) @ vh).T, a)
    return (inverse, np.sum(kept)) if return_rank else inverse


def lstsq(a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False,
          check_finite: bool = True, lapack_driver: str | None = None) -> Any:
    """Residuals as those of `np.linalg.lstsq`: of full rank, which using them requires at run time."""
    if lapack_driver not in (None, "gelsd", "gelss"):
        raise UnsupportedError(f"scipy.linalg.lstsq with lapack_driver={lapack_driver!r} is not supported in "
                               "compiled code.", hint="Leave it out, or call it outside of the compiled function.",
                               code="argument-not-supported")
    matrix = _matrix(a, check_finite)
    right = _right(b, check_finite, matrix.shape[0])
    single = all(wrap(x).dtype in (np.float32, np.complex64) for x in (a, b))
    limit = np.finfo(np.float32 if single else np.float64).eps if cond is None else cond
    x, residuals, rank, s = np.linalg.lstsq(matrix, right, limit)
    if right.ndim == 1 and residuals.size:
        residuals = np.reshape(residuals, ())
    x, residuals, s = _same_precision((x, residuals, s), a, b)
    return x, residuals, python_number(wrap(rank).astype(np.int64).value(), (0, min(matrix.shape))), s


def expm(A: Any) -> Any:  # noqa: N803
    from jax.scipy.linalg import expm  # its package is loaded by the first use
    found, = _compute(lambda x: (expm(x, max_squarings=64),), _matrix(A, False, square=True))
    return _same_precision(found, A)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:  # noqa: A002
    x = wrap(a)
    if check_finite and x.dtype.kind in "fc":
        _require_finite(x)
    return np.linalg.norm(x, ord, axis, keepdims)


FUNCTIONS: dict[str, Callable] = {f.__name__: f for f in (
    solve_triangular, cholesky, cho_factor, cho_solve, lu_factor, lu_solve, lu, solve, inv, det, eigh, eigvalsh,
    eigvals, svd, svdvals, qr, pinv, lstsq, expm, norm)}

ARRAY_API: dict[str, Callable] = {"solve": np.linalg.solve}
"""What `array_api_compat` does not take from NumPy: right-hand sides are a vector where they have one dimension, as in
NumPy 2."""

__all__ = ["ARRAY_API", "FUNCTIONS"]
