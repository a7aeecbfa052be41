"""QR as LAPACK packs it: Householder vectors V below the diagonal and their factors tau, with
Q = H_1 ... H_k = I - V T V^H, T = (I + diag(tau) S)^-1 diag(tau), S the strict upper triangle of V^H V.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, meaning, refused
from reactant.differentiate.rules.decompositions import routine
from reactant.differentiate.rules.indexing import taken
from reactant.differentiate.rules.matrices import (
    diagonal,
    flag,
    of_columns,
    of_rows,
    padded,
    part,
    rotation_of,
    triangle,
    with_unit_diagonal,
)
from reactant.ir import ops
from reactant.ir.lapack import lapack_solve
from reactant.ir.matrices import adjoint, matmul
from reactant.ir.types import shape_of


def _vectors(packed: ir.Value, k: int) -> ir.Value:
    """V, (m, k)"""
    return with_unit_diagonal(triangle(part(packed, (0, shape_of(packed)[-2]), (0, k)), True, 0.0))


def _factor(v: ir.Value, taus: ir.Value, right: ir.Value) -> ir.Value:
    """T right"""
    products = triangle(matmul(adjoint(v), v), False, 0.0)
    system = ops.multiply(of_rows(taus, shape_of(products)), products)
    return lapack_solve(system, ops.multiply(of_rows(taus, shape_of(right)), right), left_side=True,
                                lower=False, unit_diagonal=True)


def _product(call: Call) -> list[ir.Value]:
    """The first n columns of H_1 ... H_k."""
    packed, taus = call.operands
    n, k = shape_of(packed)[-1], shape_of(taus)[-1]
    v = _vectors(packed, k)
    top = adjoint(part(v, (0, n), (0, k)))
    moved = matmul(v, _factor(v, taus, top))
    return [ops.subtract(with_unit_diagonal(ops.splat(0, moved)), moved)]


def _applied(call: Call) -> list[ir.Value]:
    """Q C, Q^H C, C Q or C Q^H"""
    packed, taus, c = call.operands
    v = _vectors(packed, shape_of(taus)[-1])
    back = _factor(v, taus, adjoint(v))                   # T V^H
    left, right = (adjoint(back), adjoint(v)) if flag(call, "transpose") else (v, back)
    moved = matmul(left, matmul(right, c)) if flag(call, "left") else matmul(matmul(c, left), right)
    return [ops.subtract(c, moved)]


def _packed_tangent(packed: ir.Value, taus: ir.Value, t: ir.Value) -> tuple[ir.Value, ir.Value]:
    """V is the lower factor of Q - I = V U without pivoting (U = -T V^H, so that tau = -diag(U)), and moves with Q as
    the factors of LU do."""
    m, n = shape_of(t)[-2:]
    k = min(m, n)
    v = _vectors(packed, k)
    upper = ops.negate(_factor(v, taus, adjoint(part(v, (0, k), (0, k)))))              # U
    product = matmul(v, upper)
    q = ops.add(product, with_unit_diagonal(ops.splat(0, product)))
    dq, dr, rotation = rotation_of(q, triangle(part(packed, (0, k), (0, k)), False, 1.0), part(t, (0, m), (0, k)))
    # H_k is the identity where its tau is 0 (the last one of a square real matrix): it has nothing below the diagonal
    square = shape_of(upper)
    still = ops.compare(of_columns(taus, square), ops.splat(0, upper), "EQ")
    divisor = ops.select(still, with_unit_diagonal(upper), upper)
    turned = lapack_solve(divisor, dq, left_side=False, lower=False)
    top = lapack_solve(v if m == k else part(v, (0, k), (0, k)), part(turned, (0, k), (0, k)), left_side=True,
                               lower=True, unit_diagonal=True)
    dv = triangle(ops.subtract(turned, matmul(v, triangle(top, False, 1.0))), True, 0.0)
    found = ops.add(dv, padded(dr, m, k))
    if n > k:
        rest = ops.subtract(matmul(adjoint(q), part(t, (0, m), (k, n))),
                            matmul(rotation, part(packed, (0, k), (k, n))))
        found = ops.concatenate([found, rest], len(shape_of(t)) - 1)
    return found, ops.multiply(diagonal(top), taus)


def _packed_forward(call: Call, tangents: Tangents) -> Tangents:
    return list(_packed_tangent(call.results[0], call.results[1], tangents[0]))


def _pivoted_forward(call: Call, tangents: Tangents) -> Tangents:
    """A P = Q R; the order of the columns does not change, almost everywhere."""
    t = tangents[0]
    shape = shape_of(t)
    order = ops.subtract(call.results[1], 1)
    moved = taken(t, of_columns(order, shape), len(shape) - 1)
    packed, taus = _packed_tangent(call.results[0], call.results[2], moved)
    return [packed, None, taus]


routine("geqrf", _packed_forward)
routine("geqp3", _pivoted_forward)
for _letter, _kind in zip("sdcz", ("or", "or", "un", "un"), strict=True):
    meaning(f"stablehlo.custom_call@lapack_{_letter}{_kind}gqr_ffi", _product)
    meaning(f"stablehlo.custom_call@lapack_{_letter}{_kind}mqr_ffi", _applied)

refused("The Schur, Hessenberg and tridiagonal forms of a matrix have no rule here (nor in jax). Use eigh, eig, svd, "
        "qr or a function of the matrix.",
        *(f"stablehlo.custom_call@lapack_{letter}{name}_ffi" for letter in "sdcz" for name in ("gees", "gehrd")),
        *(f"stablehlo.custom_call@lapack_{letter}{kind}trd_ffi"
          for letter, kind in zip("sdcz", ("sy", "sy", "he", "he"), strict=True)))
