"""LAPACK's routines as jax calls them on CPU: triangular solves, Cholesky, LU, symmetric eigenvalues."""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, derivative
from reactant.differentiate.rules.contraction import (
    adjoint,
    cholesky_tangent,
    matmul,
    solve_cotangents,
    solve_tangent,
    triangle,
)
from reactant.differentiate.rules.indexing import taken
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_of

UPPER, LEFT, UNIT = (ord(letter) for letter in "ULU")
TRANSPOSES = {ord("N"): "NO_TRANSPOSE", ord("T"): "TRANSPOSE", ord("C"): "ADJOINT"}


def _routine(name: str, forward: Any, reverse: Any = None, letters: str = "sdcz") -> None:
    for letter in letters:
        derivative(f"stablehlo.custom_call@lapack_{letter}{name}_ffi", forward, reverse)


def _setting(call: Call, name: str) -> int:
    return int(ir.IntegerAttr(ir.DictAttr(call.op.attributes["mhlo.backend_config"])[name]).value)


# ---- triangular solves ---------------------------------------------------------------------------------------------

def _solve_options(call: Call) -> dict[str, Any]:
    return {"left_side": _setting(call, "side") == LEFT, "lower": _setting(call, "uplo") != UPPER,
            "unit_diagonal": _setting(call, "diag") == UNIT, "transpose_a": TRANSPOSES[_setting(call, "trans_x")]}


_routine("trsm", lambda call, tangents: solve_tangent(call, tangents, _solve_options(call)),
         lambda call, g, wanted: solve_cotangents(call, g, wanted, _solve_options(call)))


# ---- factorizations ------------------------------------------------------------------------------------------------

def _cholesky_forward(call: Call, tangents: Tangents) -> Tangents:
    """The other triangle of the result is that of the operand."""
    lower = _setting(call, "uplo") != UPPER
    moved = cholesky_tangent(triangle(call.results[0], lower, 1.0), tangents[0], lower)
    return [ops.add(moved, triangle(tangents[0], not lower, 0.0)), None]


def _rows(pivots: ir.Value) -> ir.Value:
    """The permutation of rows that LAPACK's swaps make: (batch..., n)."""
    shape = shape_of(pivots)
    last = len(shape) - 1
    columns = ops.iota(shape, "int32", last)

    def at(values: ir.Value, where: ir.Value) -> ir.Value:
        """The element of each row that `where` marks, at all places of the row."""
        found = ops.reduce(ops.select(where, values, 0), 0, [last], "add")
        return ops.broadcast_in_dim(found, shape, range(last))

    def swap(i: ir.Value, order: ir.Value) -> list[ir.Value]:
        here = ops.compare(columns, ops.broadcast_in_dim(i, shape, ()), "EQ")
        there = ops.compare(columns, ops.subtract(at(pivots, here), 1), "EQ")
        return [ops.add(i, 1), ops.select(here, at(order, there), ops.select(there, at(order, here), order))]

    return ops.while_([ops.constant(0, "int32"), columns], lambda i, _: ops.compare(i, shape[-1], "LT"), swap)[1]


def _lu_forward(call: Call, tangents: Tangents) -> Tangents:
    """P A = L U: with M = L^-1 P A' U^-1, L' = L low(M) and U' = up(M) U, packed as L and U are."""
    packed, t = call.results[0], tangents[0]
    shape = shape_of(t)
    if shape[-1] != shape[-2]:
        raise call.refuse("only square matrices.")
    order = ops.broadcast_in_dim(_rows(call.results[1]), shape, range(len(shape) - 1))
    moved = taken(t, order, len(shape) - 2)
    middle = ops.triangular_solve(packed, moved, left_side=True, lower=True, unit_diagonal=True)
    middle = ops.triangular_solve(packed, middle, left_side=False, lower=False)
    low, up = triangle(middle, True, 0.0), triangle(middle, False, 1.0)
    lower = ops.add(matmul(triangle(packed, True, 0.0), low), low)
    return [ops.add(lower, matmul(up, triangle(packed, False, 1.0))), None, None]


def _eigen_forward(call: Call, tangents: Tangents) -> Tangents:
    """A = V diag(w) V^H: with M = V^H A' V, w' = diag(M) and V' = V (M / (w_j - w_i)), off the diagonal. A' is made of
    the triangle that is read. Vectors of equal eigenvalues have no derivative: it comes out infinite or NaN."""
    lower = _setting(call, "uplo") != UPPER
    vectors, t = call.results[0], triangle(tangents[0], lower, 0.5)
    middle = matmul(matmul(adjoint(vectors), ops.add(t, adjoint(t))), vectors)
    shape, values = shape_of(t), call.results[1]
    rank, batch = len(shape), list(range(len(shape) - 2))
    eye = np.broadcast_to(np.eye(shape[-1], dtype=dtype_of(t)), shape)
    diagonal = ops.reduce(ops.multiply(middle, ops.constant(eye)), 0, [rank - 1], "add")
    gaps = ops.subtract(ops.broadcast_in_dim(values, shape, [*batch, rank - 1]),
                        ops.broadcast_in_dim(values, shape, [*batch, rank - 2]))
    gaps = ops.add(gaps, ops.constant(eye.real.astype(dtype_of(values))))
    turned = ops.multiply(ops.divide(middle, ops.convert(gaps, dtype_of(t))), ops.constant(1 - eye))
    if is_complex(dtype_of(diagonal)):
        diagonal = ops.real(diagonal)
    return [matmul(vectors, turned), diagonal, None]


_routine("potrf", _cholesky_forward)
_routine("getrf", _lu_forward)
_routine("syevd", _eigen_forward, letters="sd")
_routine("heevd", _eigen_forward, letters="cz")
