"""Polynomials as coefficient arrays, highest power first: `polyval`, `polyfit`, sums, derivatives and integrals."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.errors import Reason
from reactant.frontends.arrays.implements import implements, refuse
from reactant.frontends.arrays.tensor import Tensor, wrap


@implements(np.polyval)
def polyval(p: object, x: object) -> Tensor:
    """By Horner's rule."""
    p, x = wrap(p), wrap(x)
    y: Any = np.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


def _aligned(a1: object, a2: object, combine: np.ufunc) -> Tensor:
    """Coefficient arrays of different lengths, filled up in front with zeros."""
    a, b = np.atleast_1d(wrap(a1)), np.atleast_1d(wrap(a2))
    n = max(a.shape[0], b.shape[0])
    a, b = (np.concatenate([np.zeros(n - c.shape[0], c.dtype), c]) if c.shape[0] < n else c for c in (a, b))
    return combine(a, b)


@implements(np.polyadd)
def polyadd(a1: object, a2: object) -> Tensor:
    return _aligned(a1, a2, np.add)


@implements(np.polysub)
def polysub(a1: object, a2: object) -> Tensor:
    return _aligned(a1, a2, np.subtract)


refuse(Reason("np.polymul drops leading coefficients that are zero, so the size of the result depends on the values.",
              "Use np.convolve(a, b).", "size-decided-at-run-time"), np.polymul)


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Tensor:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = wrap(p)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * np.arange(n, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: object = None) -> Tensor:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(wrap(k))
    if constants.shape[0] == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = wrap(p)
    for step in range(m):
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), constants[step:step + 1]])
    return p


@implements(np.poly)
def poly(seq_of_zeros: object) -> Tensor:
    """Coefficients of the polynomial with these roots (of a square matrix: its characteristic polynomial)."""
    zeros = np.atleast_1d(wrap(seq_of_zeros))
    zeros = zeros if zeros.dtype.char in "fdFD" else zeros.astype(float)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        if zeros.dtype.kind == "c":
            raise _COMPLEX_ROOTS.error()
        return _expanded(np.linalg.eigvals(zeros)).real     # a real matrix has its roots in conjugate pairs
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.dtype.kind == "c":
        raise _COMPLEX_ROOTS.error()
    return _expanded(zeros) if zeros.shape[0] else np.ones(1)


_COMPLEX_ROOTS = Reason("np.poly of complex roots: whether the coefficients are real depends on the values.",
                        "Multiply the factors with np.convolve.", "type-depends-on-values")


def _expanded(zeros: Tensor) -> Any:
    """The product of (x - z)."""
    coefficients: Any = np.ones(1, zeros.dtype)
    for k in range(zeros.shape[0]):
        lower = coefficients * zeros[k]
        nothing = np.zeros(1, lower.dtype)
        coefficients = np.concatenate([coefficients, nothing]) - np.concatenate([nothing, lower])
    return coefficients


@implements(np.polyfit)
def polyfit(x: object, y: object, deg: int, rcond: float | None = None, full: bool = False, w: object = None,
            cov: object = False) -> Any:
    """Least squares on the scaled Vandermonde matrix. A rank-deficient fit does not warn: a compiled program cannot."""
    x, y = wrap(x) + 0.0, wrap(y) + 0.0
    order = int(deg) + 1
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None:
        w = wrap(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    c, residuals, rank, s, left, scale = scaled_fit(x, y, order, rcond, w)
    if full:
        return c, residuals, rank, s, rcond
    return (c, _covariance(left, scale, residuals, cov, x.shape[0], order, y.ndim)) if cov else c


def scaled_fit(x: Any, y: Any, order: int, rcond: Any, w: Any) -> tuple:
    """Coefficients, what else `np.linalg.lstsq` gives, the scaled matrix and its scale."""
    left, right = np.vander(x, order), y
    if w is not None:
        left = left * w[:, None]
        right = right * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, residuals, rank, s = np.linalg.lstsq(left, right, rcond)
    return (c.T / scale).T, residuals, rank, s, left, scale


def _covariance(left: Tensor, scale: Tensor, residuals: Tensor, cov: object, points: int, order: int,
                rank: int) -> Tensor:
    base = np.linalg.inv(np.matmul(left.T, left)) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    else:
        if points <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (points - order)
    return base * factor if rank == 1 else base[:, :, None] * factor
