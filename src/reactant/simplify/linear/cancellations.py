"""What cancels in linear algebra: orthogonal factors with their transposes, matrices with their inverses; scales of a
matrix that is factored.

The results have smaller errors than the programs they stand for (an identity is exact, the product of a matrix and its
computed inverse is one but for errors times the condition number), but others. Where LU meets a singular matrix, there
is nothing here that says so. So all of these assume finite numbers.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, tensor_type
from reactant.rewrite import Producer, Site, one_of, producer, rewrite, variables
from reactant.rewrite.site import operation
from reactant.simplify.linear.block_systems import system
from reactant.simplify.linear.contraction import dot
from reactant.simplify.linear.factorizations import (
    checked_root,
    definite,
    is_cholesky,
    potrf,
    read_below,
    solution,
    uses_lower,
)
from reactant.simplify.linear.products import are_transposed
from reactant.simplify.linear.solving import TRSM, side_of, solve, steady
from reactant.simplify.linear.structured import identity_mask, is_identity_mask

x, y, q, d, p, a, b = variables("x y q d p a b")


def orthonormal(value: ir.Value, k: int) -> bool:
    """Whether a matrix has orthonormal columns (k = 0) or rows (k = 1): the q of a QR factorization."""
    made, shape = operation(value), shape_of(value)
    if made is None or made.name != TRSM or len(shape) != 2:
        return False
    return ops.target_of(made)[len("lapack_x"):] == "orgqr_ffi" and (k == 0 or shape[0] == shape[1])


def _q(a: Any, rows: int = 5, columns: int = 3) -> ir.Value:
    """The q of a QR factorization as JAX calls it, for examples."""
    matrix = side_of(a, rows, columns)
    plain = {"mhlo.backend_config": ir.Attribute.parse("{}"), "api_version": ir.Attribute.parse("4 : i32")}
    reflectors = ops.custom_call("lapack_dgeqrf_ffi", [matrix], [
        matrix.type, tensor_type((columns,), np.dtype(np.float64))], attributes=plain)
    return ops.custom_call("lapack_dorgqr_ffi", reflectors, [matrix.type], attributes=plain)[0]


def _dot(left: ir.Value, right: ir.Value, k: int = 1, m: int = 0) -> ir.Value:
    return ops.dot_general(left, right, contracting_dims=((k,), (m,)))


# ---- orthogonal factors --------------------------------------------------------------------------------------------

@rewrite(dot(q, q), dtypes="float", changes="rounding", assumes="finite", made_by=(TRSM,),
         example=(lambda a: _dot(w := _q(a), w, 0, 0), lambda a: _dot(w := _q(a, 4, 4), w, 1, 1)),
         counter=(lambda a: _dot(w := _q(a), w, 1, 1), lambda a: _dot(w := _q(a, 4, 4), w)))
def orthogonal_product_is_identity(q, d, t, result_dtype):
    """q.T @ q = identity for the q of a QR factorization"""
    k = d.contracting_dims[0]
    if d.batching_dims[0] or len(k) != 1 or k != d.contracting_dims[1] or not orthonormal(q, k[0]):
        return None
    return ops.convert(identity_mask(shape_of(q)[1 - k[0]]), result_dtype)


@rewrite(one_of(("stablehlo.dot_general",), q, one_of(("stablehlo.dot_general",), q, y, dot_dimension_numbers=p),
                dot_dimension_numbers=d, template="t"), dtypes="float", changes="rounding", assumes="finite",
         made_by=(TRSM,),
         example=(lambda a: _dot(w := _q(a), _dot(w, side_of(a, 3, 2)), 0, 0),
                  lambda a: _dot(w := _q(a, 4, 4), _dot(w, side_of(a, 4), 0, 0))),
         counter=lambda a: _dot(w := _q(a), _dot(w, side_of(a, 5, 2), 0, 0)))
def orthogonal_factors_cancel(q, y, p, d, t, result_shape):
    """q.T @ (q @ y) = y for the q of a QR factorization"""
    if p.batching_dims[0] or d.batching_dims[0] or len(p.contracting_dims[0]) != 1 or p.contracting_dims[1] != (0,) \
            or d.contracting_dims != ((1 - p.contracting_dims[0][0],), (0,)) or shape_of(y) != tuple(result_shape):
        return None
    return y if orthonormal(q, d.contracting_dims[0][0]) else None


# ---- inverses ------------------------------------------------------------------------------------------------------

@rewrite(dot(x, y), dtypes="float", changes="association", assumes="finite",
         made_by=(TRSM, "stablehlo.triangular_solve"),
         example=lambda a: _dot(m := steady(a), system(m, side_of(a, 4, 2))),
         counter=(lambda a: _dot(steady(a), system(steady(a), side_of(a, 4, 2))),
                  lambda a: _dot(m := steady(a), system(m, side_of(a, 4, 4)), 0)))
def product_with_own_solution(x, y, d, t):
    """a @ solve(a, b) = b, a @ inv(a) = identity"""
    if d.batching_dims[0] or d.contracting_dims != ((1,), (0,)) or len(shape_of(y)) != 2:
        return None
    found = solution(y)
    return found.b if found is not None and found.m == x else None


@rewrite(solve(), dtypes="float", changes="association", assumes="finite",
         example=lambda a: system(m := steady(a), _dot(m, side_of(a, 4, 2))),
         counter=lambda a: system(m := steady(a), _dot(side_of(a, 4, 4), m)))
def solution_of_own_product(a, b, t, result):
    """solve(a, a @ b) = b"""
    found = solution(result)
    made = None if found is None or found.right is None else producer(found.right)
    if made is not None and made.name == "stablehlo.reshape" and len(shape_of(made.operands[0])) == 1:
        made = producer(made.operands[0])           # a vector
    if found is None or made is None or made.name != "stablehlo.dot_general" \
            or made["dot_dimension_numbers"].batching_dims[0]:
        return None
    sides = [0, 1] if not found.turned else [1, 0]          # a @ b, or b.T @ a.T
    matrix, other = (made.operands[k] for k in sides)
    over, under = (tuple(made["dot_dimension_numbers"].contracting_dims[k]) for k in sides)
    if matrix != found.m or over != (1,) or len(under) != 1 or len(shape_of(other)) > 2:
        return None
    return ops.reshape(ops.transpose(other, (1, 0)) if under == (1,) else other, shape_of(result))


@rewrite(solve(), dtypes="float", changes="association", assumes="finite",
         example=lambda a: system(system(steady(a), one := ops.convert(identity_mask(4), np.float64)), one),
         counter=lambda a: system(steady(a), ops.convert(identity_mask(4), np.float64)))
def inverse_of_inverse(a, b, t, result):
    """inv(inv(a)) = a"""
    found = solution(result)
    inner = solution(found.m) if found is not None and _of_identity(found.right) else None
    return inner.m if inner is not None and _of_identity(inner.right) else None


def _of_identity(right: ir.Value | None) -> bool:
    """Whether a system has the identity on its right."""
    if right is None:
        return True
    made = producer(right)
    return made is not None and made.name == "stablehlo.convert" and is_identity_mask(made.operands[0])


# ---- scales --------------------------------------------------------------------------------------------------------

def _scaled(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """(v, a) of v[:, None] * a * v[None, :], in any order."""
    factors: list[ir.Value] = []
    left = [value]
    while left and len(factors) < 4:
        each = left.pop()
        made = producer(each)
        if made is not None and made.name == "stablehlo.multiply":
            left += made.operands
        else:
            factors.append(each)
    if len(factors) != 3:
        return None
    spread = {i: made for i, v in enumerate(factors) if (made := producer(v)) is not None
              and made.name == "stablehlo.broadcast_in_dim" and len(made["broadcast_dimensions"]) == 1}
    if len(spread) != 2:
        return None
    (i, one), (j, two) = spread.items()
    if one.operands[0] != two.operands[0] or {*one["broadcast_dimensions"], *two["broadcast_dimensions"]} != {0, 1}:
        return None
    inner, = (v for k, v in enumerate(factors) if k not in (i, j))
    return one.operands[0], inner


def _mean(made: Producer | None) -> ir.Value | None:
    """a of (a + a.T) / 2."""
    if made is None or made.name != "stablehlo.multiply":
        return None
    number, total = ops.constant_value(made.operands[1]), producer(made.operands[0])
    if number is None or not (number == 0.5).all() or total is None or total.name != "stablehlo.add" \
            or not are_transposed(*total.operands):
        return None
    turned = producer(total.operands[1])
    return total.operands[0] if turned is not None and turned.name == "stablehlo.transpose" \
        and turned.operands[0] == total.operands[0] else total.operands[1]


def _scale(a: Any, matrix: ir.Value) -> ir.Value:
    v = ops.add(side_of(a, 4), 2.0)
    rows, columns = (ops.broadcast_in_dim(v, (4, 4), (k,)) for k in (0, 1))
    return ops.multiply(ops.multiply(rows, matrix), columns)


@rewrite("stablehlo.custom_call", changes="rounding", assumes="finite",
         example=(lambda a: checked_root(_scale(a, definite(a))),
                  lambda a: checked_root(ops.multiply(ops.add(w := _scale(a, definite(a)), ops.transpose(w, (1, 0))),
                                                       0.5))),
         counter=(lambda a: checked_root(definite(a)), lambda a: potrf(_scale(a, definite(a)))[0]))
def cholesky_of_scaled(site: Site):
    """cholesky(v[:, None] a v[None, :]) = v[:, None] cholesky(a) sign(v)[None, :]: what is scaled is a triangle"""
    if not ops.target_of(site.op).endswith("potrf_ffi") or not is_cholesky(site.op) or not uses_lower(site.op):
        return None
    matrix = site.operands[0]
    mean = _mean(producer(matrix))
    found = _scaled(matrix if mean is None else mean)
    if found is None or not read_below(site.results[0], site.results[1], 4):
        return None
    vector, inner = found
    if mean is not None:
        inner = ops.multiply(ops.add(inner, ops.transpose(inner, (1, 0))), 0.5)
    attributes = {n: site.op.attributes[n] for n in site.op.attributes}
    root, info = ops.create(site.op.name, [r.type for r in site.results], [inner], attributes).results
    rows = ops.broadcast_in_dim(vector, shape_of(root), (0,))
    signs = ops.broadcast_in_dim(ops.sign(vector), shape_of(root), (1,))
    regular = ops.reduce(ops.compare(ops.abs(vector), 0, "GT"), ops.constant(True), (0,), "and")
    return [ops.multiply(ops.multiply(rows, root), signs), ops.select(regular, info, ops.splat(1, info))]
