"""The cores of `linalg`: factorizations of stacks of matrices as JAX functions, spliced in by `call_jax`.

Each takes stacks (batch..., m, n) in double precision, as NumPy computes, and returns its results with, last, a 0-d
flag: whether LAPACK succeeded for every matrix.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from reactant.frontends.session.jax_calls import geqrf

Arrays = tuple[jax.Array, ...]


def _diagonal(a: jax.Array) -> jax.Array:
    return jnp.diagonal(a, axis1=-2, axis2=-1)


def solve(a: jax.Array, b: jax.Array) -> Arrays:
    """x with a x = b, by LU with partial pivoting; fails at an exact zero on the diagonal of U, as LAPACK's gesv."""
    x, ok = solve_each(a, b)
    return x, jnp.all(ok)


def solve_each(a: jax.Array, b: jax.Array) -> Arrays:
    """As `solve`, with one flag a matrix."""
    lu, _, permutation = lax.linalg.lu(a)
    b = jnp.take_along_axis(b, permutation[..., None], -2)
    b = lax.linalg.triangular_solve(lu, b, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(lu, b, left_side=True, lower=False), jnp.all(_diagonal(lu) != 0, -1)


def slogdet(a: jax.Array) -> Arrays:
    """Sign (or phase) and logarithm of the absolute determinant; (0, -inf) for singular matrices. No flag."""
    lu, pivots, _ = lax.linalg.lu(a)
    diagonal = _diagonal(lu)
    swaps = jnp.sum(pivots != jnp.arange(a.shape[-1], dtype=pivots.dtype), -1)
    size = jnp.abs(diagonal)
    zero = jnp.any(size == 0, -1)
    sizes = jnp.where(size == 0, 1, size)
    phases = lax.complex(diagonal.real / sizes, diagonal.imag / sizes) if jnp.iscomplexobj(a) else diagonal / sizes
    sign = jnp.prod(phases, -1) * (1 - 2 * (swaps % 2))
    logarithm = jnp.sum(jnp.log(size), -1)
    return jnp.where(zero, 0, sign), jnp.where(zero, -jnp.inf, logarithm)


def cholesky(a: jax.Array, upper: bool) -> Arrays:
    """Lower L with L L^H = a from the lower triangle of `a`, or upper U with U^H U = a from the upper one."""
    a = _adjoint(a) if upper else a
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    failed = jnp.all(jnp.isnan(_diagonal(factor)), -1) & ~jnp.any(jnp.isnan(a), (-2, -1))
    return _adjoint(factor) if upper else factor, ~jnp.any(failed)


def _adjoint(a: jax.Array) -> jax.Array:
    return jnp.conj(jnp.swapaxes(a, -1, -2))


def qr(a: jax.Array, full_matrices: bool) -> Arrays:
    return lax.linalg.qr(a, full_matrices=full_matrices)


def qr_packed(a: jax.Array) -> Arrays:
    """LAPACK's geqrf: R above the diagonal, Householder vectors below, and their factors tau."""
    return geqrf(a)


def svd(a: jax.Array, full_matrices: bool) -> Arrays:
    u, s, vh = lax.linalg.svd(a, full_matrices=full_matrices, compute_uv=True)
    return u, s, vh, ~jnp.any(jnp.isnan(s))


def singular_values(a: jax.Array) -> Arrays:
    s = lax.linalg.svd(a, compute_uv=False)
    return s, ~jnp.any(jnp.isnan(s))


def eigh(a: jax.Array, lower: bool) -> Arrays:
    """Ascending eigenvalues and eigenvectors from one triangle."""
    vectors, values = lax.linalg.eigh(a, lower=lower, symmetrize_input=False)
    return values, vectors, ~jnp.any(jnp.isnan(values))


def eig(a: jax.Array, vectors: bool) -> Arrays:
    """Eigenvalues (complex) and, on request, right eigenvectors; two flags: input finite, converged."""
    found = lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=vectors)
    finite = jnp.all(jnp.isfinite(a))
    return *found, finite, ~finite | ~jnp.any(jnp.isnan(found[0]))
