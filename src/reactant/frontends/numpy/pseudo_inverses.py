"""The derivative of pseudo-inverses, without that of the singular vectors they are made of."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.frontends.numpy.known_derivatives import Values, with_derivative
from reactant.ir import ops
from reactant.ir.matrices import adjoint, conjugate, matmul, swapped


def with_slope(a: ir.Value, p: ir.Value) -> ir.Value:
    """The pseudo-inverse p of a stack of matrices, as a function of them."""
    return with_derivative("pinv", [a], [p], _tangents, _cotangents)[0]


def _tangents(inputs: Values, results: Values, tangents: Values) -> list[ir.Value]:
    """-P A' P + P P^H A'^H (1 - A P) + (1 - P A) A'^H P^H P: of constant rank, also where singular values are equal
    (Golub and Pereyra, 1973)."""
    (a,), (p,), t = inputs, results, tangents[0]
    back, moved = adjoint(p), adjoint(t)
    left, right = matmul(p, matmul(back, moved)), matmul(matmul(moved, back), p)
    found = ops.subtract(ops.subtract(left, matmul(matmul(left, a), p)), matmul(matmul(p, t), p))
    return [ops.add(found, ops.subtract(right, matmul(p, matmul(a, right))))]


def _cotangents(inputs: Values, results: Values, cotangents: Values) -> list[ir.Value]:
    """The transpose of the tangents, which pair with cotangents as Re(sum(g t))."""
    (a,), (p,), g = inputs, results, swapped(cotangents[0])
    back = adjoint(p)
    left = matmul(matmul(ops.subtract(g, matmul(matmul(a, p), g)), p), back)
    right = matmul(matmul(back, p), ops.subtract(g, matmul(matmul(g, p), a)))
    return [ops.subtract(conjugate(ops.add(left, right)), swapped(matmul(matmul(p, g), p)))]
