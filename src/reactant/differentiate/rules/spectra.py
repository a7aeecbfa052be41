"""Eigenvalues and singular values, as jax calls LAPACK for them on CPU.

Vectors of equal eigenvalues (singular values) have no derivative: it comes out infinite or NaN. That of the values
alone is finite.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Contribution, Tangents, number, plus
from reactant.differentiate.rules.decompositions import UPPER, routine
from reactant.differentiate.rules.matrices import (
    again_with,
    diagonal,
    diagonal_only,
    of_columns,
    of_rows,
    setting,
    triangle,
    with_unit_diagonal,
    without_diagonal,
)
from reactant.ir import ops
from reactant.ir.cusolver import reads_first
from reactant.ir.matrices import adjoint, conjugate, matmul
from reactant.ir.types import dtype_of, is_complex, shape_of, tensor_type

THIN, NOTHING, VECTORS = (ord(letter) for letter in "SNV")


def _gaps(columns: ir.Value, rows: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    """columns_j - rows_i at (i, j), and 1 on the diagonal."""
    return with_unit_diagonal(ops.subtract(of_columns(columns, shape), of_rows(rows, shape)))


def _divided(a: ir.Value, gaps: ir.Value) -> ir.Value:
    """a_ij / gaps_ij off the diagonal, zero on it."""
    return without_diagonal(ops.divide(a, ops.convert(gaps, dtype_of(a))))


# ---- symmetric matrices --------------------------------------------------------------------------------------------

def _symmetric_forward(call: Call, tangents: Tangents) -> Tangents:
    """A = V diag(w) V^H: with M = V^H A' V, w' = diag(M) and V' = V (M / (w_j - w_i)), off the diagonal. A' is made of
    the triangle that is read."""
    lower = setting(call, "uplo") != UPPER
    values, t = call.results[1], triangle(tangents[0], lower, 0.5)
    vectors = call.results[0] if setting(call, "mode") == VECTORS else again_with(call, mode=VECTORS)[0]
    middle = matmul(matmul(adjoint(vectors), ops.add(t, adjoint(t))), vectors)
    moved = diagonal(middle)
    turned = _divided(middle, _gaps(values, values, shape_of(t)))
    return [matmul(vectors, turned), ops.real(moved) if is_complex(dtype_of(moved)) else moved, None]


def _symmetric_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution] | None:
    """Of values alone: V diag(g) V^H, a function of the matrix (see `differentiate.spectral`)."""
    if g[0] is not None or g[1] is None:
        return None
    vectors = call.results[0] if setting(call, "mode") == VECTORS else again_with(call, mode=VECTORS)[0]
    weights = ops.convert(of_columns(ops.multiply(g[1], 2), shape_of(vectors)), dtype_of(vectors))
    found = matmul(ops.multiply(vectors, weights), adjoint(vectors))
    return [triangle(conjugate(found), setting(call, "uplo") != UPPER, 0.5)]


routine("syevd", _symmetric_forward, _symmetric_reverse, letters="sd")
routine("heevd", _symmetric_forward, _symmetric_reverse, letters="cz")


# ---- any square matrix ---------------------------------------------------------------------------------------------

def _vectors_tangent(vectors: ir.Value, middle: ir.Value, values: ir.Value) -> ir.Value:
    """V' of A V = V diag(w), from M = V^-1 A' V: V (M / (w_j - w_i)), and as LAPACK scales V: of unit length, the
    largest component real."""
    shape = shape_of(vectors)
    rows = len(shape) - 2
    moved = matmul(vectors, _divided(middle, _gaps(values, values, shape)))
    along = ops.reduce(ops.real(ops.multiply(ops.conj(vectors), moved)), 0, [rows], "add")
    moved = ops.subtract(moved, ops.multiply(vectors, _as_complex(of_columns(along, shape))))
    re, im = ops.real(vectors), ops.imag(vectors)
    size = ops.select(ops.compare(im, number(0, im), "EQ"), ops.abs(re), number(-1, re))
    largest = ops.compare(size, of_columns(ops.reduce(size, -np.inf, [rows], "maximum"), shape), "EQ")
    count = ops.reduce(ops.convert(largest, dtype_of(re)), 0, [rows], "add")
    angles = ops.select(largest, ops.divide(ops.imag(moved), ops.select(largest, re, number(1, re))), number(0, re))
    angle = of_columns(ops.divide(ops.reduce(angles, 0, [rows], "add"), count), shape)
    return ops.subtract(moved, ops.multiply(vectors, ops.complex(number(0, angle), angle)))


def _as_complex(x: ir.Value) -> ir.Value:
    return ops.complex(x, number(0, x))


def _eigen_forward(call: Call, tangents: Tangents) -> Tangents:
    """w' = diag(V^-1 A' V), where V^-1 comes of the left vectors: U^H V is diagonal. Those are right ones of A^H."""
    real = not is_complex(dtype_of(tangents[0]))
    results = again_with(call, compute_left=VECTORS, compute_right=VECTORS)
    values = ops.complex(*results[:2]) if real else results[0]
    left, right = results[-3:-1]
    t = _as_complex(tangents[0]) if real else tangents[0]
    shape, rows = shape_of(t), len(shape_of(t)) - 2
    overlap = ops.reduce(ops.multiply(ops.conj(left), right), 0, [rows], "add")
    middle = ops.divide(matmul(matmul(adjoint(left), t), right), of_rows(overlap, shape))
    moved = diagonal(middle)
    opposite = ops.divide(matmul(matmul(adjoint(right), adjoint(t)), left), of_rows(ops.conj(overlap), shape))
    vectors = [_vectors_tangent(left, opposite, ops.conj(values)) if setting(call, "compute_left") == VECTORS else None,
               _vectors_tangent(right, middle, values) if setting(call, "compute_right") == VECTORS else None]
    return [*([ops.real(moved), ops.imag(moved)] if real else [moved]), *vectors, None]


routine("geev", _eigen_forward)


# ---- singular values -----------------------------------------------------------------------------------------------

def _singular_forward(call: Call, tangents: Tangents) -> Tangents:
    """A = U S V^H: with M = U^H A' V, s' = Re diag(M); U^H U' and V^H V' divide the parts of M S and S M by
    s_j^2 - s_i^2; what A' has outside of U's (V's) range is divided by s. What of a complex vector's phase is free goes
    to U. Vectors beyond the first min(m, n) are arbitrary, but for a single real one."""
    t: ir.Value = tangents[0]
    mode = setting(call, "mode")
    m, n = shape_of(t)[-2:]
    k = min(m, n)
    _, s, u, vh, _ = call.results
    if mode == NOTHING:
        _, s, u, vh, _ = _thin(call)
    whole_u, whole_v = u, adjoint(vh)
    for number_of_result, dim in ((2, -1), (3, -2)):
        result = call.op.results[number_of_result]
        extent, rank = shape_of(result)[dim], len(shape_of(result))
        alone = extent == k + 1 and not is_complex(dtype_of(t))
        if mode != NOTHING and not alone and not reads_first(result, rank + dim, k):
            raise call.refuse("full_matrices=True has vectors beyond the first min(m, n), which are arbitrary.",
                              "Use full_matrices=False, or only the first of them.")
    batch = shape_of(t)[:-2]
    u = ops.slice(u, [0] * len(shape_of(u)), [*batch, m, k])
    v = adjoint(ops.slice(vh, [0] * len(shape_of(vh)), [*batch, k, n]))
    middle = matmul(matmul(adjoint(u), t), v)
    moved = diagonal(middle)
    moved = ops.real(moved) if is_complex(dtype_of(moved)) else moved
    if mode == NOTHING:
        return [None, moved, None, None, None]
    square = shape_of(middle)
    gaps = with_unit_diagonal(ops.multiply(ops.subtract(of_columns(s, square), of_rows(s, square)),
                                           ops.add(of_columns(s, square), of_rows(s, square))))
    columns, rows = (ops.convert(each, dtype_of(t)) for each in (of_columns(s, square), of_rows(s, square)))
    back = adjoint(middle)
    iteration_u = _divided(ops.add(ops.multiply(middle, columns), ops.multiply(rows, back)), gaps)
    iteration_v = _divided(ops.add(ops.multiply(rows, middle), ops.multiply(back, columns)), gaps)
    if is_complex(dtype_of(t)):
        phase = ops.imag(diagonal_only(middle))
        iteration_u = ops.add(iteration_u, ops.divide(ops.complex(number(0, phase), phase), columns))
    du = plus(matmul(u, iteration_u), _outside(u, matmul(t, v), s) if m > k else None)
    dv = plus(matmul(v, iteration_v), _outside(v, matmul(adjoint(t), u), s) if n > k else None)
    return [None, moved, _with_rest(du, u, whole_u), adjoint(_with_rest(dv, v, whole_v)), None]


def _with_rest(du: ir.Value, u: ir.Value, whole: ir.Value) -> ir.Value:
    """U' with that of the vectors beyond: of a single one, which stays orthogonal to U; nobody reads that of more."""
    shape, k = shape_of(whole), shape_of(u)[-1]
    rank, beyond = len(shape), shape[-1] - k
    if beyond != 1:
        return ops.pad(du, 0, [0] * rank, [*[0] * (rank - 1), beyond]) if beyond else du
    rest = ops.slice(whole, [*[0] * (rank - 1), k], shape)
    return ops.concatenate([du, ops.negate(matmul(u, matmul(adjoint(du), rest)))], rank - 1)


def _thin(call: Call) -> list[ir.Value]:
    """The results with the first min(m, n) vectors, of a call for values alone."""
    kind = call.inputs[0].type
    *batch, m, n = shape_of(call.inputs[0])
    k, dtype = min(m, n), dtype_of(call.inputs[0])
    vectors = [tensor_type((*batch, m, k), dtype), tensor_type((*batch, k, n), dtype)]
    return again_with(call, [kind, call.op.results[1].type, *vectors, call.op.results[4].type], mode=THIN)


def _outside(u: ir.Value, moved: ir.Value, s: ir.Value) -> ir.Value:
    """(1 - U U^H) moved / s"""
    rest = ops.subtract(moved, matmul(u, matmul(adjoint(u), moved)))
    return ops.divide(rest, ops.convert(of_columns(s, shape_of(rest)), dtype_of(rest)))


def _singular_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution] | None:
    """Of values alone: conj(U diag(g) V^H), a function of the matrix (see `differentiate.spectral`)."""
    if g[1] is None or any(each is not None for number, each in enumerate(g) if number != 1):
        return None
    _, _, u, vh, _ = _thin(call) if setting(call, "mode") == NOTHING else call.results
    (m, n), batch = shape_of(call.inputs[0])[-2:], shape_of(call.inputs[0])[:-2]
    k, zero = min(m, n), [0] * (len(batch) + 2)
    u, vh = ops.slice(u, zero, [*batch, m, k]), ops.slice(vh, zero, [*batch, k, n])
    weights = ops.convert(of_columns(g[1], shape_of(u)), dtype_of(u))
    return [conjugate(matmul(ops.multiply(u, weights), vh))]


routine("gesdd", _singular_forward, _singular_reverse)
routine("gesvd", _singular_forward, _singular_reverse)
