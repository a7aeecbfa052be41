"""Second derivatives of determinants, by singular values: exact for singular matrices of any rank.

With A = U diag(s) V^H, d = det(U V^H), P_i the product of all s but s_i, P_ij that of all but two, the cofactors are
d conj(U) diag(P_i) V^T, and along X, with N = U^H X V, they change by d conj(U) K V^T, where K_ij = -P_ij N_ji and
K_ii is the sum of P_ij N_jj. That is symmetric in the direction and what it is paired with: its own transpose.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.differentiate.declare import attributes_of
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.differentiate.rules.matrices import (
    diagonal,
    of_columns,
    of_rows,
    with_diagonal,
    without_diagonal,
)
from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.lapack import lapack_svd
from reactant.ir.matrices import adjoint, conjugate, matmul, swapped
from reactant.ir.types import Shape, dtype_of, shape_and_dtype, shape_of, tensor_type


def marked(cofactors: ir.Value, matrices: ir.Value, factorization: ir.Operation,
           determinant: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """The cofactors of matrices, with their derivative. `determinant` makes theirs of what such a `factorization`
    gives."""
    shape, dtype = shape_and_dtype(matrices.type)
    attributes = attributes_of(factorization)
    rule = _rule(shape, dtype, tuple(r.type for r in factorization.results), tuple(attributes.items()), determinant)
    module = requests.module_of(ir.InsertionPoint.current.block.owner.operation)
    callee = requests.private_function(module, [matrices.type] * 2, lambda given: [given[1]], "cofactors")
    constant = requests.stop_gradient(cofactors)
    return requests.custom(rule, callee, [matrices, constant], [matrices.type])[0]


@cache
def _rule(shape: Shape, dtype: np.dtype, results: tuple[ir.Type, ...],
          attributes: tuple[tuple[str, ir.Attribute], ...],
          determinant: Callable[[ir.Value, ir.Value], ir.Value]) -> requests.CustomRule:
    """One for all matrices of a shape: rules are kept."""
    def determinant_of(a: ir.Value) -> ir.Value:
        made = ops.create("stablehlo.custom_call", list(results), [a], dict(attributes))
        return determinant(*list(made.results)[:2])

    def moved(operands: int) -> Callable[[], ir.Module]:
        @cache
        def make() -> ir.Module:
            with building():
                made, block = new_function([tensor_type(shape, dtype)] * 4)
                with ir.InsertionPoint(block):
                    a, direction = block.arguments[0], block.arguments[2 if operands == 1 else 3]
                    change = _moved(a, direction, determinant_of)
                    finish(made, [change] if operands == 1 else [change, ops.splat(0, change)])
                return made
        return make

    return requests.CustomRule("cofactors", moved(1), moved(2))


def _moved(a: ir.Value, direction: ir.Value, determinant: Callable[[ir.Value], ir.Value]) -> ir.Value:
    s, u, vh = lapack_svd(a)
    shape, dtype = shape_of(a), dtype_of(a)
    products = ops.convert(without_diagonal(_products_but_two(s, shape)), dtype)
    turned = matmul(matmul(adjoint(u), direction), adjoint(vh))
    inner = ops.negate(ops.multiply(products, swapped(turned)))
    beside = ops.multiply(products, of_columns(diagonal(turned), shape))
    inner = with_diagonal(inner, ops.reduce(beside, 0, [len(shape) - 1], "add"))
    phase = ops.broadcast_in_dim(determinant(matmul(u, vh)), shape, range(len(shape) - 2))
    return ops.multiply(phase, matmul(matmul(conjugate(u), inner), conjugate(vh)))


def _products_but_two(s: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    """P_ij for i != j: by quotients, but for the two smallest, which are last."""
    n, last = shape[-1], len(shape) - 2
    place = ops.iota(shape_of(s), "int32", last)
    one = ops.splat(1, s)
    large = ops.compare(place, n - 2, "LT")
    product = ops.reduce(ops.select(large, s, one), 1, [last], "multiply")
    divisible = ops.and_(large, ops.compare(s, 0, "NE"))                  # else all products are zero
    quotient = ops.select(divisible, ops.divide(one, ops.select(divisible, s, one)),
                          ops.select(large, ops.splat(0, s), one))
    found = ops.multiply(of_rows(quotient, shape), of_columns(quotient, shape))
    for number in (n - 2, n - 1):
        mine = ops.compare(place, number, "EQ")
        value = ops.reduce(ops.select(mine, s, ops.splat(0, s)), 0, [last], "add")
        without = ops.or_(of_rows(mine, shape), of_columns(mine, shape))
        spread = ops.broadcast_in_dim(value, shape, range(last))
        found = ops.multiply(found, ops.select(without, ops.splat(1, spread), spread))
    return ops.multiply(found, ops.broadcast_in_dim(product, shape, range(last)))
