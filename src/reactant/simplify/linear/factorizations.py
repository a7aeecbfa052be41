"""LU and Cholesky factorizations as JAX writes them on a CPU: solves and determinants of matrices with structure need
none, and the factorization of a product, a multiple or a transpose is made of others.

A determinant reads the diagonal of an LU factorization and which pivots moved. A rule that knows these without the
factorization puts them in its place.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import creation, ops
from reactant.ir.attributes import decode
from reactant.ir.types import dtype_of, is_complex, shape_of
from reactant.rewrite import Site, producer, rewrite, users
from reactant.rewrite.site import captures, operation, readers
from reactant.simplify.facts.evaluation import content_of
from reactant.simplify.facts.masks import mask_of, support
from reactant.simplify.facts.nan_guards import finite_columns, finite_matrices, in_sound_columns
from reactant.simplify.linear.bands import bands_of
from reactant.simplify.linear.solving import (
    TRSM,
    TriangularSolve,
    behind_mask,
    divided,
    lapack_solve,
    lower_mask,
    one_hot_rows,
    permuted_rows,
    side_of,
    solve,
    steady,
    steady_batch,
    swap,
    take_rows,
)
from reactant.simplify.linear.structured import as_vector, diagonal_of, entries, identity_mask
from reactant.support.records import dataclass

# ---- solves through LU ---------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Solution:
    """x with m x = b, by the LU factorization `factor`: b is `right`, or if `turned` its transpose; the identity where
    that is None. All of these may be batches."""
    m: ir.Value
    right: ir.Value | None
    factor: ir.Operation
    turned: bool = False

    @property
    def b(self) -> ir.Value:
        """The right-hand side; an identity and a transpose are built."""
        *batch, side, _ = shape_of(self.m)
        if self.right is not None:
            return ops.transpose(self.right, swap(len(batch) + 2)) if self.turned else self.right
        return ops.convert(identity_mask(side, batch), dtype_of(self.m))


def solution(value: ir.Value, batched: bool = False) -> Solution | None:
    """The system of equations whose solution a value is, where it is found by LU as JAX writes it; if `batched`, also
    that of a batch of systems."""
    made = operation(value) if batched or len(shape_of(value)) == 2 else None
    found: Solution | None = None if made is None else creation.found("solution", made, lambda _: _solution(value))
    return found


def _solution(value: ir.Value) -> Solution | None:
    outer = TriangularSolve.of(value)
    inner = None if outer is None else TriangularSolve.of(outer.b)
    if inner is None or not (outer.left and inner.left and inner.lower and inner.unit) or outer.lower or outer.unit \
            or (outer.trans, inner.trans) != ("N", "N") or users(outer.b) != 1:
        return None
    factor = _factor(outer.a)
    if factor is None or _factor(inner.a) != factor:
        return None
    rows = permuted_rows(inner.b)
    if rows is None:
        places = one_hot_rows(inner.b)
        rows = None if places is None else (None, places, False)
    if rows is None or not depends_on(rows[1], factor):
        return None
    return Solution(factor.operands[0], rows[0], factor, rows[2])


def _factor(value: ir.Value) -> ir.Operation | None:
    """The LU factorization that made a matrix, before it was made NaN for a failure."""
    made = operation(value)
    if made is not None and made.name == "stablehlo.select":
        made = operation(made.operands[1])
    return made if made is not None and ops.target_of(made)[len("lapack_x"):] == "getrf_ffi" else None


def depends_on(value: ir.Value, op: ir.Operation, depth: int = 12, tried: dict[int, int] | None = None) -> bool:
    """Whether a value is computed from the second result of an op, and nothing else that varies. `tried`: how deep was
    looked behind a value in vain."""
    made = operation(value)
    tried = {} if tried is None else tried
    if made is None or not depth or tried.get(hash(value), 0) >= depth:
        return False
    if made == op:
        return value == op.results[1]
    inner = captures(made) if len(made.regions) else ()     # a loop applies the pivots one after the other
    if any(depends_on(v, op, depth - 1, tried) for v in (*made.operands, *inner)):
        return True
    tried[hash(value)] = depth
    return False


def structure(value: ir.Value) -> tuple[str, Any] | None:
    """What is known of a square matrix, or of each of a batch: ("diagonal", v) as `entries` says it, ("lower" or
    "upper", None), ("orthogonal", None)."""
    if is_complex(dtype_of(value)):
        return None
    diagonal = entries(value)
    return ("diagonal", diagonal) if diagonal is not None else triangle_of(value) or _orthogonal(value)


def _orthogonal(value: ir.Value) -> tuple[str, Any] | None:
    made = operation(value)
    if made is not None and made.name == "stablehlo.transpose" \
            and tuple(decode(made.attributes["permutation"])) == swap(len(shape_of(value))):
        return _orthogonal(made.operands[0])
    if made is not None and made.name == TRSM and ops.target_of(made)[len("lapack_x"):] == "orgqr_ffi":
        return "orthogonal", None
    return None


def triangle_of(value: ir.Value) -> tuple[str, Any] | None:
    """("lower" or "upper", None) for a matrix that has zeros above or below the diagonal, ("diagonal", the matrix) for
    both."""
    within = support(value)
    if within is None or within.low < 0 < within.high:
        return None
    if within.low >= 0 >= within.high:
        return "diagonal", value
    return "lower" if within.high <= 0 else "upper", None


_LU = """(%a: tensor<4x4xf64>, %b: tensor<4x3xf64>) -> tensor<4x3xf64> {{
  %one = stablehlo.constant dense<1> : tensor<4xi32>
  %first = stablehlo.iota dim = 0 : tensor<4xi32>
  %row = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %column = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %three = stablehlo.constant dense<3.0> : tensor<4x4xf64>
  %none = stablehlo.constant dense<0.0> : tensor<4x4xf64>
  %on = stablehlo.compare EQ, %row, %column : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %small = stablehlo.tanh %a : tensor<4x4xf64>
  %steady = stablehlo.select %on, %three, %small : tensor<4x4xi1>, tensor<4x4xf64>
  %right = stablehlo.tanh %b : tensor<4x3xf64>
  {matrix}
  %lu:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%m) {{has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {{}}}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xi32>, tensor<i32>)
  %pivots = stablehlo.subtract %lu#1, %one : tensor<4xi32>
  %places = stablehlo.reshape %pivots : (tensor<4xi32>) -> tensor<4x1xi32>
  %p = "stablehlo.gather"(%right, %places) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}}>
    : (tensor<4x3xf64>, tensor<4x1xi32>) -> tensor<4x3xf64>
  %y = stablehlo.custom_call @lapack_dtrsm_ffi(%lu#0, %p) {{has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {{diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}}}}
    : (tensor<4x4xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%lu#0, %y) {{has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {{diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}}}}
    : (tensor<4x4xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %x : tensor<4x3xf64>
}}"""
_ANY = _LU.format(matrix="%m = stablehlo.add %steady, %none : tensor<4x4xf64>")
_DIAGONAL = _LU.format(matrix="%m = stablehlo.select %on, %steady, %none : tensor<4x4xi1>, tensor<4x4xf64>")
_UPPER = _LU.format(matrix="%le = stablehlo.compare LE, %row, %column : (tensor<4x4xi32>, tensor<4x4xi32>) -> "
                    "tensor<4x4xi1>\n%m = stablehlo.select %le, %steady, %none : tensor<4x4xi1>, tensor<4x4xf64>")


@rewrite(solve(), changes="rounding", example=_UPPER, counter=_ANY)
def solve_with_triangle(a, b, t, result):
    """solve(tril(m), b) by LU = one triangular solve"""
    found = solution(result, batched=True)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] not in ("lower", "upper"):
        return None
    outer, lower = TriangularSolve.of(result), kind[0] == "lower"
    solved = replace(outer, a=found.m, b=found.b, lower=lower).build()
    # LU multiplies what stands below by zeros, and so spreads what is not finite.
    *batch, rows, columns = shape_of(found.b)
    spread = found.b if lower else ops.slice(found.b, (0,) * len(shape_of(found.b)), (*batch, rows - 1, columns))
    return in_sound_columns(finite_columns(spread), solved, _sound(found.m))


def _sound(matrix: ir.Value) -> ir.Value:
    """Whether a matrix is finite beside its diagonal (0-d); of each matrix of a batch."""
    *batch, side, _ = shape_of(matrix)
    return finite_matrices(ops.select(identity_mask(side, batch), 0, matrix))


@rewrite(solve(), changes="rounding", example=_DIAGONAL, counter=_ANY)
def solve_by_division(a, b, t, result):
    """solve(diag(v), b) by LU = b / v; NaN in a column of b with a number that is not finite, and where v has a zero"""
    found = solution(result, batched=True)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] != "diagonal":
        return None
    if isinstance(kind[1], np.ndarray) and not (kind[1] != 0).all():
        return ops.splat(np.nan, found.b)
    regular = None
    if not isinstance(kind[1], np.ndarray):
        vector = as_vector(kind[1], len(shape_of(found.m)))
        regular = ops.reduce(ops.compare(ops.abs(vector), 0, "GT"), ops.constant(True), (len(shape_of(vector)) - 1,),
                             "and")
    return in_sound_columns(finite_columns(found.b), divided(found.b, kind[1], True), regular)


_ORTHOGONAL = _LU.format(matrix="""%qr:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%steady) {has_side_effect = false,
    api_version = 4 : i32, mhlo.backend_config = {}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>)
  %m = stablehlo.custom_call @lapack_dorgqr_ffi(%qr#0, %qr#1) {has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {}} : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4x4xf64>""")


@rewrite(solve(), changes="rounding", example=_ORTHOGONAL, counter=_ANY)
def solve_with_orthogonal(a, b, t, result):
    """solve(q, b) = transpose(q) @ b for the q of a QR factorization"""
    found = solution(result, batched=True)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] != "orthogonal":
        return None
    batch = len(shape_of(found.m)) - 2
    return ops.dot_general(found.m, found.b, contracting_dims=((batch,), (batch,)),
                           batching_dims=(range(batch), range(batch)))


# ---- determinants --------------------------------------------------------------------------------------------------

def determinant_only(op: ir.Operation) -> bool:
    """Whether all that is read of an LU factorization is the diagonal and which pivots moved."""
    return all(_only_diagonal(op.results[0], reader.op, 4) for reader in readers(op.results[0])) \
        and all(_only_moves(reader.op, 4) for reader in readers(op.results[1])) \
        and all(_only_success(reader.op) for reader in readers(op.results[2]))


def _only_diagonal(value: ir.Value, op: ir.Operation, depth: int) -> bool:
    if op.name == "stablehlo.select" and depth and op.operands[1] == value:
        return all(_only_diagonal(op.results[0], reader.op, depth - 1) for reader in readers(op.results[0]))
    if op.name == "stablehlo.reshape":
        *batch, side, _ = shape_of(value)
        return shape_of(op.results[0]) == (*batch, side * side) and all(
            reader.name == "stablehlo.slice" and tuple(reader["strides"]) == (*(1 for _ in batch), side + 1)
            and reader["start_indices"][-1] == 0 for reader in readers(op.results[0]))
    if op.name != "stablehlo.gather" or op.operands[0] != value:
        return False
    d, indices = decode(op.attributes["dimension_numbers"]), content_of(op.operands[1], exact=True)
    return indices is not None and tuple(d.collapsed_slice_dims) == (0, 1) == tuple(d.start_index_map) \
        and d.index_vector_dim == indices.ndim - 1 == 1 and bool((indices[:, 0] == indices[:, 1]).all())


def _only_moves(op: ir.Operation, depth: int) -> bool:
    if op.name == "stablehlo.compare":
        return str(decode(op.attributes["comparison_direction"])) in ("NE", "EQ")
    if op.name in ("stablehlo.add", "stablehlo.subtract", "stablehlo.convert", "stablehlo.reshape") and depth:
        return all(_only_moves(reader.op, depth - 1) for reader in readers(op.results[0]))
    return False


def _only_success(op: ir.Operation) -> bool:
    """Whether a failure of LU is only looked for below zero: an exact zero on the diagonal is none."""
    if op.name == "stablehlo.reshape":
        return all(_only_success(reader.op) for reader in readers(op.results[0]))
    return op.name == "stablehlo.compare" and str(decode(op.attributes["comparison_direction"])) == "GE"


def is_lu(op: ir.Operation, batched: bool = False) -> bool:
    """Whether an op is the LU factorization of a square matrix, or if `batched`, perhaps of a batch."""
    if ops.target_of(op)[len("lapack_x"):] != "getrf_ffi":
        return False
    *batch, rows, columns = shape_of(op.operands[0])
    return rows == columns and (batched or not batch)


_DETERMINANT = _LU.split("  %pivots =")[0].replace(", %b: tensor<4x3xf64>", "").replace("4x3xf64", "f64").replace(
    "  %right = stablehlo.tanh %b : tensor<f64>\n", "") + """  %pivots = stablehlo.subtract %lu#1, %one : tensor<4xi32>
  %moved = stablehlo.compare NE, %pivots, %first : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %ones = stablehlo.constant dense<1.0> : tensor<4xf64>
  %minus = stablehlo.constant dense<-1.0> : tensor<4xf64>
  %signs = stablehlo.select %moved, %minus, %ones : tensor<4xi1>, tensor<4xf64>
  %i = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %diagonal = "stablehlo.gather"(%lu#0, %i) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
    start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}}>
    : (tensor<4x4xf64>, tensor<4x2xi32>) -> tensor<4xf64>
  %factors = stablehlo.multiply %diagonal, %signs : tensor<4xf64>
  %start = stablehlo.constant dense<1.0> : tensor<f64>
  %det = stablehlo.reduce(%factors init: %start) applies stablehlo.multiply across dimensions = [0]
    : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %det : tensor<f64>
}}"""


@rewrite("stablehlo.custom_call", changes="rounding",
         example=_DETERMINANT.format(matrix="%m = stablehlo.transpose %steady, dims = [1, 0] : (tensor<4x4xf64>) -> "
                                     "tensor<4x4xf64>"),
         counter=(_DETERMINANT.format(matrix="%m = stablehlo.add %steady, %none : tensor<4x4xf64>"), _ANY))
def determinant_of_transpose(site: Site):
    """det(transpose(a)) = det(a)"""
    if not is_lu(site.op, batched=True):
        return None
    made = producer(site.operands[0])
    if made is None or made.name != "stablehlo.transpose" or not determinant_only(site.op) \
            or made["permutation"] != swap(len(made["permutation"])):
        return None
    attributes = {n: site.op.attributes[n] for n in site.op.attributes}
    return list(ops.create(site.op.name, [r.type for r in site.results], made.operands, attributes).results)


@rewrite("stablehlo.custom_call", changes="rounding",
         example=_DETERMINANT.format(matrix=_UPPER[_UPPER.index("%le ="):_UPPER.index("  %lu:3")]),
         counter=(_DETERMINANT.format(matrix="%m = stablehlo.add %steady, %none : tensor<4x4xf64>"), _UPPER))
def determinant_of_triangle(site: Site):
    """det(tril(a)) = the product of the diagonal of a: it needs no LU factorization"""
    if not is_lu(site.op, batched=True):
        return None
    kind = structure(site.operands[0])
    if kind is None or kind[0] not in ("lower", "upper", "diagonal") or not determinant_only(site.op):
        return None
    matrix, (places, info) = site.operands[0], site.results[1:]
    if kind[0] != "diagonal":
        sound = ops.broadcast_in_dim(_sound(matrix), shape_of(matrix), range(len(shape_of(info))))
        matrix = ops.select(sound, matrix, np.nan)
    return [matrix, unmoved(places), ops.splat(0, info)]


def unmoved(places: ir.Value) -> ir.Value:
    """The pivots of a factorization, or of a batch, that exchanges no rows."""
    return ops.add(ops.iota(shape_of(places), dtype_of(places), len(shape_of(places)) - 1), 1)


def again(op: ir.Operation, matrix: ir.Value) -> list[ir.Value]:
    """The same factorization (LU: matrix, pivots, success) of another square matrix, which may be of another size."""
    attributes = {n: op.attributes[n] for n in op.attributes if n != "sdy.sharding_rule"}
    places, info = (r.type for r in op.results[1:])
    if matrix.type != op.operands[0].type:
        places = ops.tensor_type(shape_of(matrix)[:-1], dtype_of(op.results[1]))
    return list(ops.create(op.name, [matrix.type, places, info], [matrix], attributes).results)


def solved_by(op: ir.Operation, outer: TriangularSolve, matrix: ir.Value, right: ir.Value) -> ir.Value:
    """x with matrix x = right by LU: the routines of the factorization `op` and of the solve `outer` for another
    matrix."""
    factors, places, _ = again(op, matrix)
    count = ops.constant(0, np.int32)
    order = ops.iota(shape_of(places), np.int32, 0)

    def exchanged(k: ir.Value, order: ir.Value, places: ir.Value) -> list[ir.Value]:
        other = ops.subtract(ops.reshape(ops.dynamic_slice(places, [k], [1]), ()), 1)
        here, there = (ops.dynamic_slice(order, [i], [1]) for i in (k, other))
        order = ops.dynamic_update_slice(ops.dynamic_update_slice(order, there, [k]), here, [other])
        return [ops.add(k, 1), order, places]
    _, order, _ = ops.while_([count, order, places], lambda k, *_: ops.compare(k, shape_of(places)[0], "LT"),
                             exchanged)
    below = replace(outer, a=factors, b=take_rows(right, order), lower=True, unit=True, trans="N", left=True).build()
    return replace(outer, a=factors, b=below, lower=False, unit=False, trans="N", left=True).build()


def _alone(diagonal: ir.Value, like: ir.Value) -> ir.Value:
    """A matrix of which only the diagonal is looked at."""
    return ops.broadcast_in_dim(diagonal, shape_of(like), range(len(shape_of(diagonal))))


def factored(matrix: ir.Value) -> list[ir.Value]:
    """An LU factorization as JAX writes it on a CPU, for examples: the factors, places counted from 1, success."""
    (*batch, n, _), whole = shape_of(matrix), np.dtype(np.int32)
    return ops.custom_call("lapack_dgetrf_ffi", [matrix], [matrix.type, ops.tensor_type((*batch, n), whole),
                                                           ops.tensor_type(tuple(batch), whole)],
                           attributes={"mhlo.backend_config": ir.Attribute.parse("{}"),
                                       "api_version": ir.Attribute.parse("4 : i32")})


def moved(places: ir.Value) -> ir.Value:
    """Which pivots of a factorization, or of a batch, exchange rows."""
    return ops.compare(ops.subtract(places, 1), ops.iota(shape_of(places), dtype_of(places), len(shape_of(places)) - 1),
                       "NE")


def determinant(matrix: ir.Value) -> ir.Value:
    factors, places, _ = factored(matrix)
    diagonal = diagonal_of(factors)
    return ops.reduce(ops.select(moved(places), ops.negate(diagonal), diagonal), ops.constant(1.0),
                      (len(shape_of(places)) - 1,), "multiply")


def _inverse(matrix: ir.Value) -> ir.Value:
    factors, places, _ = factored(matrix)
    rows = take_rows(ops.convert(identity_mask(shape_of(matrix)[0]), dtype_of(matrix)), ops.subtract(places, 1))
    return lapack_solve(factors, lapack_solve(factors, rows, diag="U"), uplo="U")


def _product(left: ir.Value, right: ir.Value, k: int = 1, m: int = 0) -> ir.Value:
    return ops.dot_general(left, right, contracting_dims=((k,), (m,)))


@rewrite("stablehlo.custom_call", changes="rounding",
         example=(lambda a: determinant(_product(steady(a), steady(a))),
                  lambda a: determinant(_product(steady(a), steady(a), 0, 1)),
                  lambda a: determinant(ops.dot_general(steady_batch(a), steady_batch(a), contracting_dims=((2,), (2,)),
                                                        batching_dims=((0,), (0,))))),
         counter=(lambda a: determinant(steady(a)), lambda a: factored(_product(steady(a), steady(a))),
                  lambda a: determinant(_product(a(4, 3, dtype="float64"), a(3, 4, dtype="float64")))))
def determinant_of_product(site: Site):
    """det(a @ b) = det(a) det(b): the elements of two diagonals, multiplied"""
    if not is_lu(site.op, batched=True) or users(site.operands[0]) != 1:
        return None
    made = producer(site.operands[0])
    if made is None or made.name != "stablehlo.dot_general" or not determinant_only(site.op):
        return None
    batch, d = tuple(range(len(shape_of(site.operands[0])) - 2)), made["dot_dimension_numbers"]
    if tuple(d.batching_dims) != (batch, batch) or len(d.contracting_dims[0]) != 1 \
            or any(v.type != site.operands[0].type for v in made.operands):
        return None
    left, right = (again(site.op, v) for v in made.operands)
    factors = diagonal_of(right[0])
    factors = ops.select(moved(right[1]), ops.negate(factors), factors)
    return [ops.multiply(left[0], _alone(factors, left[0])), left[1], ops.minimum(left[2], right[2])]


@rewrite("stablehlo.custom_call", changes="rounding", assumes="finite",
         example=(lambda a: determinant(ops.multiply(steady(a), 3)), lambda a: determinant(ops.negate(steady(a))),
                  lambda a: determinant(ops.multiply(ops.broadcast_in_dim(side_of(a, 4), (4, 4), (1,)), steady(a))),
                  lambda a: determinant(ops.multiply(steady(a), ops.broadcast_in_dim(side_of(a), (4, 4), ()))),
                  lambda a: determinant(ops.multiply(steady_batch(a), ops.broadcast_in_dim(side_of(a, 3, 4), (3, 4, 4),
                                                                                           (0, 2))))),
         counter=(lambda a: determinant(ops.multiply(steady(a), side_of(a, 4, 4))),
                  lambda a: determinant(ops.multiply(steady_batch(a), ops.broadcast_in_dim(side_of(a, 4, 4), (3, 4, 4),
                                                                                           (1, 2))))))
def determinant_of_multiple(site: Site):
    """det(v[:, None] * a) = det(a) times the product of v, likewise for columns, c a and -a"""
    made = producer(site.operands[0]) if is_lu(site.op, batched=True) and users(site.operands[0]) == 1 else None
    if made is None or made.name not in ("stablehlo.multiply", "stablehlo.negate") or not determinant_only(site.op):
        return None
    if made.name == "stablehlo.negate":
        matrix, *rest = again(site.op, made.operands[0])
        return [ops.negate(matrix), *rest]
    for inner, scale in (made.operands, made.operands[::-1]):
        spread, number = producer(scale), ops.constant_value(scale)
        if number is not None and number.size and not any(number.strides):
            matrix, *rest = again(site.op, inner)
            return [ops.multiply(matrix, ops.splat(number.flat[0], matrix)), *rest]
        if spread is None or spread.name != "stablehlo.broadcast_in_dim":
            continue
        row = len(shape_of(inner)) - 2
        places = [min(place, row) for place in spread["broadcast_dimensions"]]      # of rows as of columns
        if len({*places}) == len(places):
            matrix, *rest = again(site.op, inner)
            return [ops.multiply(matrix, ops.broadcast_in_dim(spread.operands[0], shape_of(matrix), places)), *rest]
    return None


@rewrite("stablehlo.custom_call", changes="rounding", example=lambda a: determinant(_inverse(steady(a))),
         counter=lambda a: determinant(lapack_solve(steady(a), steady(a))))
def determinant_of_inverse(site: Site):
    """det(inv(a)) = 1 / det(a); NaN where a is singular"""
    outer = TriangularSolve.of(site.operands[0]) if is_lu(site.op) else None
    inner = None if outer is None else TriangularSolve.of(outer.b)
    if outer is None or inner is None or not (outer.left and inner.left and inner.lower and inner.unit) \
            or outer.lower or outer.unit or (outer.trans, inner.trans) != ("N", "N"):
        return None
    factor, places = _factor(outer.a), one_hot_rows(inner.b)
    if factor is None or places is None or _factor(inner.a) != factor or not depends_on(places, factor) \
            or not determinant_only(site.op):
        return None
    diagonal = diagonal_of(outer.a)
    regular = ops.reduce(ops.compare(ops.abs(diagonal), 0, "GT"), ops.constant(True), (0,), "and")
    inverted = ops.divide(ops.splat(1, diagonal), diagonal)
    inverted = ops.select(ops.broadcast_in_dim(regular, shape_of(diagonal), ()), inverted, np.nan)
    return [_alone(inverted, outer.a), factor.results[1], ops.splat(0, site.results[2])]


# ---- Cholesky ------------------------------------------------------------------------------------------------------

def potrf(matrix: ir.Value, lower: bool = True) -> list[ir.Value]:
    """A Cholesky factorization as JAX writes it on a CPU, for examples."""
    config = ir.Attribute.parse(f"{{uplo = {ord('UL'[lower])} : ui8}}")
    return ops.custom_call("lapack_dpotrf_ffi", [matrix], [matrix.type, ops.tensor_type((), np.dtype(np.int32))],
                           attributes={"mhlo.backend_config": config, "api_version": ir.Attribute.parse("4 : i32")})


def definite(a: Any) -> ir.Value:
    m = steady(a)
    return ops.dot_general(m, m, contracting_dims=((1,), (1,)))


def _tril(value: ir.Value) -> ir.Value:
    return ops.select(lower_mask(4, True), value, ops.splat(0, value))


@rewrite("stablehlo.custom_call", example=lambda a: _tril(potrf(_tril(definite(a)))[0]),
         counter=lambda a: _tril(potrf(definite(a))[0]))
def cholesky_reads_one_triangle(site: Site):
    """cholesky(tril(a)) = cholesky(a)"""
    if not ops.target_of(site.op).endswith("potrf_ffi"):
        return None
    told = {e.name: e.attr for e in ir.DictAttr(site.op.attributes["mhlo.backend_config"])}
    inner = behind_mask(site.operands[0], chr(ir.IntegerAttr(told["uplo"]).value & 255) == "L")
    if inner is None:
        return None
    attributes = {n: site.op.attributes[n] for n in site.op.attributes}
    return list(ops.create(site.op.name, [r.type for r in site.results], [inner], attributes).results)


@rewrite("stablehlo.custom_call", changes="rounding",
         example=lambda a: checked_root(ops.select(identity_mask(4), ops.broadcast_in_dim(
             a(4, dtype="float64"), (4, 4), (0,)), 0.0)),
         counter=lambda a: potrf(definite(a))[0])
def cholesky_of_diagonal(site: Site):
    """cholesky(diag(v)) = diag(sqrt(v)); no success where an element is not positive"""
    found = bands_of(site.operands[0]) if is_cholesky(site.op) else None
    if found is None or set(found.lines) != {0} or found.scaled:
        return None
    vector = found.lines[0].build()
    good = ops.reduce(ops.compare(vector, 0, "GT"), ops.constant(True), (0,), "and")
    root = ops.select(identity_mask(shape_of(vector)[0]), _alone(ops.sqrt(vector), site.operands[0]), 0)
    return [root, ops.select(good, ops.splat(0, site.results[1]), 1)]


@rewrite("stablehlo.custom_call", changes="rounding",
         example=lambda a: checked_root(_gram(_tril(steady(a)))),
         counter=(lambda a: checked_root(_gram(steady(a))), lambda a: potrf(_gram(_tril(steady(a))))[0]))
def cholesky_of_gram(site: Site):
    """cholesky(l @ l.T) = l for lower triangular l, its columns turned so that the diagonal is positive"""
    made = producer(_half_of_double(site.operands[0])) if is_cholesky(site.op) and uses_lower(site.op) else None
    if made is None or made.name != "stablehlo.dot_general" or made.operands[0] != made.operands[1]:
        return None
    d, root = made["dot_dimension_numbers"], made.operands[0]
    if d.batching_dims[0] or tuple(d.contracting_dims) != ((1,), (1,)) or root.type != site.operands[0].type \
            or triangle_of(root) != ("lower", None) or not read_below(site.results[0], site.results[1], 4):
        return None
    diagonal = diagonal_of(root)
    good = ops.and_(ops.reduce(ops.compare(ops.abs(diagonal), 0, "GT"), ops.constant(True), (0,), "and"),
                    ops.reduce(ops.is_finite(root), ops.constant(True), (0, 1), "and"))
    signs = ops.broadcast_in_dim(ops.sign(diagonal), shape_of(root), (1,))
    return [ops.multiply(root, signs), ops.select(good, ops.splat(0, site.results[1]), 1)]


def _half_of_double(value: ir.Value) -> ir.Value:
    """x of (x + x) / 2: symmetric matrices as JAX writes them."""
    made = producer(value)
    if made is not None and made.name in ("stablehlo.multiply", "stablehlo.divide"):
        number, double = ops.constant_value(made.operands[1]), producer(made.operands[0])
        half = 0.5 if made.name == "stablehlo.multiply" else 2
        if number is not None and (number == half).all() and double is not None and double.name == "stablehlo.add" \
                and double.operands[0] == double.operands[1]:
            return double.operands[0]
    return value


def is_cholesky(op: ir.Operation) -> bool:
    return ops.target_of(op).endswith("potrf_ffi") and len(shape_of(op.operands[0])) == 2 \
        and not is_complex(dtype_of(op.operands[0]))


def uses_lower(op: ir.Operation) -> bool:
    told = {e.name: e.attr for e in ir.DictAttr(op.attributes["mhlo.backend_config"])}
    return chr(ir.IntegerAttr(told["uplo"]).value & 255) == "L"


def read_below(value: ir.Value, info: ir.Value, depth: int) -> bool:
    """Whether nothing above the diagonal of a matrix is read, and of success only whether it is zero."""
    for reader in readers(value):
        if reader.name != "stablehlo.select" or reader.operands[1] != value or not depth:
            return False
        mask = mask_of(reader.operands[0])
        if (mask is None or mask.high > 0) and not read_below(reader.results[0], info, depth - 1):
            return False
    return all(_only_zero(reader.op, 3) for reader in readers(info))


def _only_zero(op: ir.Operation, depth: int) -> bool:
    if op.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim") and depth:
        return all(_only_zero(reader.op, depth - 1) for reader in readers(op.results[0]))
    if op.name != "stablehlo.compare" or str(decode(op.attributes["comparison_direction"])) not in ("EQ", "NE"):
        return False
    number = ops.constant_value(op.operands[1])
    return number is not None and not number.any()


def _gram(value: ir.Value) -> ir.Value:
    return ops.dot_general(value, value, contracting_dims=((1,), (1,)))


def checked_root(matrix: ir.Value) -> ir.Value:
    """cholesky(matrix) as JAX writes it, for examples."""
    root, info = potrf(matrix)
    good = ops.broadcast_in_dim(ops.compare(info, 0, "EQ"), shape_of(root), ())
    return _tril(ops.select(good, root, ops.splat(np.nan, root)))
