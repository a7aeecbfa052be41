"""Systems of equations: what triangular solves, LU and Cholesky factorizations read, and solves that need none.

JAX writes a triangular solve as a LAPACK call (`lapack_dtrsm_ffi`) on a CPU, as `stablehlo.triangular_solve` elsewhere:
`TriangularSolve.of` reads both. A routine reads one triangle of its matrix, so masks in front of it go; a product with
an inverse is a solve, and a solve with a structured matrix needs no factorization.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import decode
from reactant.ir.types import dtype_of, is_complex, shape_of, size
from reactant.rewrite import Site, match, once, one_of, producer, rewrite, users, variables
from reactant.rewrite.site import Producer, captures, operation, readers
from reactant.simplify.contraction import dot
from reactant.simplify.evaluation import content_of
from reactant.simplify.structured import diagonal_of, entries, identity_mask

a, b, c, d, p = variables("a b c d p")
TRSM, SOLVE = "stablehlo.custom_call", "stablehlo.triangular_solve"
FLIPPED = {"N": "T", "T": "N"}
TRACED = 1 << 14
"""Elements of arrays through which the rows of a right-hand side are followed."""


# ---- the two ways to write one -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class TriangularSolve:
    """x with op(a) x = b (left) or x op(a) = b; op is nothing (N), the transpose (T) or the adjoint (C)."""
    op: ir.Operation
    a: ir.Value
    b: ir.Value
    left: bool
    lower: bool
    unit: bool
    turn: str

    @staticmethod
    def of(value: ir.Value) -> TriangularSolve | None:
        op = operation(value)
        if op is None:
            return None
        if op.name == SOLVE:
            turn = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}[str(decode(op.attributes["transpose_a"]))]
            left, lower, unit = (bool(decode(op.attributes[n])) for n in ("left_side", "lower", "unit_diagonal"))
        elif op.name == TRSM and _target(op)[len("lapack_x"):] == "trsm_ffi":
            told = {e.name: chr(ir.IntegerAttr(e.attr).value & 255) for e in ir.DictAttr(
                op.attributes["mhlo.backend_config"])}
            turn, left, lower, unit = told["trans_x"], told["side"] == "L", told["uplo"] == "L", told["diag"] == "U"
        else:
            return None
        return TriangularSolve(op, op.operands[0], op.operands[1], left, lower, unit, turn)

    def build(self) -> ir.Value:
        """The same solve of the matrices that stand here now."""
        if self.op.name == SOLVE:
            turn = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[self.turn]
            return ops.triangular_solve(self.a, self.b, left_side=self.left, lower=self.lower, unit_diagonal=self.unit,
                                        transpose_a=turn)
        told = {"diag": "NU"[self.unit], "side": "RL"[self.left], "trans_x": self.turn, "uplo": "UL"[self.lower]}
        letter = ir.IntegerType.get_unsigned(8)
        kept = {n: self.op.attributes[n] for n in self.op.attributes if n != "sdy.sharding_rule"}
        kept["mhlo.backend_config"] = ir.DictAttr.get({n: ir.IntegerAttr.get(letter, ord(v)) for n, v in told.items()})
        return ops.create(self.op.name, [self.b.type], [self.a, self.b], kept).result


def _target(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["call_target_name"]).value


def solve() -> Any:
    """The pattern of a triangular solve (and of other calls of two operands)."""
    return one_of((TRSM, SOLVE), a, b, template="t")


def _swap(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def lapack_solve(matrix: ir.Value, right: ir.Value, **options: Any) -> ir.Value:
    """A triangular solve as JAX writes it on a CPU, for examples."""
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[dtype_of(matrix).name]
    told = {"diag": "N", "side": "L", "trans_x": "N", "uplo": "L"} | options
    config = ", ".join(f"{n} = {ord(v)} : ui8" for n, v in told.items())
    layout = "dense<[0, 1]> : tensor<2xindex>"
    attributes = {"mhlo.backend_config": ir.Attribute.parse(f"{{{config}}}"),
                  "operand_layouts": ir.Attribute.parse(f"[{layout}, {layout}]"),
                  "result_layouts": ir.Attribute.parse(f"[{layout}]"),
                  "api_version": ir.Attribute.parse("4 : i32")}
    return ops.custom_call(f"lapack_{letter}trsm_ffi", [matrix, right], [right.type], attributes=attributes)[0]


def _both(build: Any) -> tuple:
    """Examples with either way of writing a solve."""
    return (lambda a: build(a, lapack_solve),
            lambda a: build(a, lambda m, r, **o: ops.triangular_solve(
                m, r, left_side=o.get("side", "L") == "L", lower=o.get("uplo", "L") == "L",
                unit_diagonal=o.get("diag", "N") == "U", transpose_a="NO_TRANSPOSE")))


def _steady(a: Any, n: int = 4) -> ir.Value:
    """A well-conditioned matrix, for examples: 3 on the diagonal, numbers in (-1, 1) elsewhere."""
    return ops.select(identity_mask(n), 3.0, ops.tanh(a(n, n, dtype="float64")))


def _side(a: Any, *shape: int) -> ir.Value:
    return ops.tanh(a(*shape, dtype="float64"))


# ---- what a solve reads --------------------------------------------------------------------------------------------

def _lower_mask(n: int, lower: bool) -> ir.Value:
    return ops.compare(ops.iota((n, n), np.int32, 0), ops.iota((n, n), np.int32, 1), "GE" if lower else "LE")


@rewrite(solve(), example=_both(lambda a, f: f(ops.select(_lower_mask(4, True), m := _steady(a), ops.splat(0, m)),
                                               _side(a, 4, 3))),
         counter=_both(lambda a, f: f(ops.select(_lower_mask(4, False), m := _steady(a), ops.splat(0, m)),
                                      _side(a, 4, 3))))
def solve_reads_one_triangle(a, b, t, result):
    """a triangular solve with a masked matrix = with the matrix, where the mask lets the triangle through"""
    found = TriangularSolve.of(result)
    inner = None if found is None else _behind_mask(found.a, found.lower, found.unit)
    return None if inner is None else replace(found, a=inner).build()


def _behind_mask(value: ir.Value, lower: bool, unit: bool = False) -> ir.Value | None:
    """The matrix behind a mask that only hides what is not read: the other triangle, a unit diagonal."""
    made = producer(value)
    if made is None or made.name != "stablehlo.select":
        return None
    mask = content_of(made.operands[0], exact=True)
    if mask is None or mask.ndim < 2 or not mask.size:
        return None
    offset = int(unit)
    read = (np.tril if lower else np.triu)(np.ones(mask.shape[-2:], bool), -offset if lower else offset)
    if mask[..., read].all():
        return made.operands[1]
    return made.operands[2] if not mask[..., read].any() else None


@rewrite(solve(), example=_both(lambda a, f: f(ops.transpose(_steady(a), (1, 0)), _side(a, 4, 3))),
         counter=_both(lambda a, f: f(_steady(a), _side(a, 4, 3))))
def solve_with_transpose(a, b, t, result):
    """a solve with the transpose of a matrix = the transposed solve with its other triangle"""
    found = TriangularSolve.of(result)
    made = producer(a)
    if found is None or found.turn not in FLIPPED or made is None or made.name != "stablehlo.transpose" \
            or tuple(made["permutation"]) != _swap(len(shape_of(a))):
        return None
    return replace(found, a=made.operands[0], lower=not found.lower, turn=FLIPPED[found.turn]).build()


@rewrite(match.transpose(once(one_of((TRSM, SOLVE), a, match.transpose(b, permutation=p), template="t")),
                         permutation=d),
         example=lambda a: ops.transpose(lapack_solve(_steady(a), ops.transpose(_side(a, 3, 4), (1, 0))), (1, 0)),
         counter=lambda a: ops.transpose(lapack_solve(_steady(a), _side(a, 4, 3)), (1, 0)))
def solve_between_transposes(a, b, p, d, t):
    """transpose(solve(a, transpose(b))) = the solve from the other side"""
    found = TriangularSolve.of(t._op.results[0])
    if found is None or found.turn not in FLIPPED or tuple(p) != _swap(len(p)) or tuple(d) != _swap(len(p)):
        return None
    return replace(found, b=b, left=not found.left, turn=FLIPPED[found.turn]).build()


@rewrite(solve(), changes="rounding", assumes="finite",
         example=_both(lambda a, f: f(ops.select(identity_mask(5), ops.broadcast_in_dim(ops.add(ops.abs(
             a(5, dtype="float64")), 1.0), (5, 5), (0,)), 0.0), _side(a, 5, 3))),
         counter=_both(lambda a, f: f(_steady(a), _side(a, 4, 3))))
def solve_with_diagonal(a, b, t, result):
    """a triangular solve with diag(v) = division by v"""
    found = TriangularSolve.of(result)
    diagonal = None if found is None or is_complex(dtype_of(a)) else entries(a)
    if diagonal is None:
        return None
    return b if found.unit else divided(b, diagonal, found.left)


def divided(right: ir.Value, diagonal: ir.Value | np.ndarray, left: bool) -> ir.Value:
    """`right` over a diagonal, row by row (left) or column by column."""
    if isinstance(diagonal, np.ndarray) and diagonal.ndim == 0:
        return right if diagonal == 1 else ops.divide(right, ops.splat(diagonal, right))
    vector = ops.constant(diagonal) if isinstance(diagonal, np.ndarray) else diagonal
    vector = diagonal_of(vector) if len(shape_of(vector)) == 2 else vector
    return ops.divide(right, ops.broadcast_in_dim(vector, shape_of(right), (0 if left else 1,)))


# ---- products with inverses ----------------------------------------------------------------------------------------

@rewrite(dot(once(one_of((TRSM, SOLVE), a, b, template="s")), c), dtypes="inexact", changes="rounding",
         example=(lambda a: ops.dot_general(lapack_solve(_steady(a), _side(a, 4, 4)), _side(a, 4, 2),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(lapack_solve(_steady(a), _side(a, 4, 4), uplo="U"), _side(a, 4),
                                            contracting_dims=((1,), (0,)))),
         counter=(lambda a: ops.dot_general(lapack_solve(_steady(a), _side(a, 4, 2)), _side(a, 2, 4),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(lapack_solve(_steady(a), _side(a, 4, 4)), _side(a, 4, 2),
                                            contracting_dims=((0,), (0,)))))
def solve_instead_of_inverse(a, b, s, c, d, t, result_shape, result_dtype):
    """solve(a, b) @ c = solve(a, b @ c) where c has fewer columns than b: inv(a) @ c is a solve"""
    found = TriangularSolve.of(s._op.results[0])
    if found is None or not found.left or d.batching_dims[0] or tuple(d.contracting_dims[0]) != (1,) \
            or len(shape_of(b)) != 2 or len(shape_of(c)) > 2 or len(d.contracting_dims[1]) != 1 \
            or not dtype_of(a) == dtype_of(c) == result_dtype:
        return None
    k = d.contracting_dims[1][0]
    columns = size(shape_of(c)) // max(shape_of(c)[k], 1)
    if columns >= shape_of(b)[1]:
        return None
    matrix = c if len(shape_of(c)) == 2 else ops.reshape(c, (shape_of(c)[0], 1))
    matrix = ops.transpose(matrix, (1, 0)) if k == 1 else matrix
    rows = one_hot_rows(b)
    right = ops.dot_general(b, matrix, contracting_dims=((1,), (0,))) if rows is None else take_rows(matrix, rows)
    return ops.reshape(replace(found, b=right).build(), result_shape)


@rewrite(dot(c, once(one_of((TRSM, SOLVE), a, b, template="s"))), dtypes="inexact", changes="rounding",
         example=lambda a: ops.dot_general(_side(a, 2, 4), lapack_solve(_steady(a), _side(a, 4, 4)),
                                           contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(_side(a, 5, 4), lapack_solve(_steady(a), _side(a, 4, 4)),
                                           contracting_dims=((1,), (0,))))
def solve_from_the_right(a, b, s, c, d, t, result_shape, result_dtype):
    """c @ solve(a, b) = solve from the right(a, c) @ b where c has fewer rows than b has columns"""
    found = TriangularSolve.of(s._op.results[0])
    if found is None or not found.left or d.batching_dims[0] or tuple(d.contracting_dims[1]) != (0,) \
            or len(shape_of(b)) != 2 or len(shape_of(c)) > 2 or len(d.contracting_dims[0]) != 1 \
            or not dtype_of(a) == dtype_of(c) == result_dtype:
        return None
    k = d.contracting_dims[0][0]
    rows = size(shape_of(c)) // max(shape_of(c)[k], 1)
    if rows >= shape_of(b)[1]:
        return None
    matrix = c if len(shape_of(c)) == 2 else ops.reshape(c, (1, shape_of(c)[0]))
    matrix = ops.transpose(matrix, (1, 0)) if len(shape_of(c)) == 2 and k == 0 else matrix
    solved = replace(found, b=matrix, left=False).build()
    return ops.reshape(ops.dot_general(solved, b, contracting_dims=((1,), (0,))), result_shape)


# ---- rows in another order -----------------------------------------------------------------------------------------

def take_rows(matrix: ir.Value, places: ir.Value) -> ir.Value:
    """Rows of a matrix at the indices of a column of places."""
    count = shape_of(places)[0]
    return ops.gather(matrix, ops.reshape(places, (count, 1)), offset_dims=[1], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=1, slice_sizes=[1, shape_of(matrix)[1]])


def _views(value: ir.Value, limit: int = 12) -> tuple[list[Producer], ir.Value]:
    """The reshapes, transposes and gathers that make a value, last first, and what they begin with."""
    chain: list[Producer] = []
    while len(chain) < limit:
        made = producer(value)
        if made is not None and made.name == "stablehlo.select":    # NaN for places outside
            outside = ops.constant_value(made.operands[2])
            if outside is None or dtype_of(value).kind not in "fc" or not np.isnan(outside).all():
                break
            value = made.operands[1]
            continue
        if made is None or made.name not in ("stablehlo.reshape", "stablehlo.transpose", "stablehlo.gather"):
            break
        chain.append(made)
        value = made.operands[0]
    return chain, value


def _through(chain: Sequence[Producer], array: np.ndarray, order: np.ndarray) -> np.ndarray | None:
    """What views make of an array, where a gather along one whole dimension takes the places `order`."""
    for made in reversed(chain):
        shape = shape_of(made.results[0])
        if made.name == "stablehlo.reshape":
            array = array.reshape(shape)
        elif made.name == "stablehlo.transpose":
            array = np.transpose(array, made["permutation"])
        else:
            d = made["dimension_numbers"]
            along = list(d.collapsed_slice_dims)
            indices = shape_of(made.operands[1])
            if len(along) != 1 or list(d.start_index_map) != along or list(d.operand_batching_dims) \
                    or size(indices) != len(order) or d.index_vector_dim != len(indices) - 1 or len(indices) != 2 \
                    or tuple(made["slice_sizes"]) != tuple(1 if i == along[0] else n
                                                           for i, n in enumerate(array.shape)) \
                    or array.shape[along[0]] != len(order):
                return None
            place = next(i for i in range(len(shape)) if i not in list(d.offset_dims))
            array = np.moveaxis(np.take(array, order, along[0]), along[0], place)
    return array


def one_hot_rows(value: ir.Value) -> ir.Value | None:
    """The places p (one column of integers) where row i of a matrix is one at p[i], if it is an identity with its rows
    in another order."""
    shape = shape_of(value)
    if len(shape) != 2 or shape[0] != shape[1] or size(shape) > TRACED or shape[0] < 2:
        return None
    chain, start = _views(value)
    gathers = [made for made in chain if made.name == "stablehlo.gather"]
    content = content_of(start) if len(gathers) == 1 else None
    if content is None:
        return None
    order = np.random.default_rng(shape[0]).permutation(shape[0])
    found = _through(chain, np.asarray(content), order)
    same = found is not None and found.shape == shape and np.array_equal(found, np.eye(shape[0])[order])
    return gathers[0].operands[1] if same else None


def permuted_rows(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """(matrix, places) where a value is the matrix with its rows taken at the places."""
    shape = shape_of(value)
    if len(shape) != 2 or size(shape) > TRACED or shape[0] < 2:
        return None
    chain, _ = _views(value)
    where = [i for i, made in enumerate(chain) if made.name == "stablehlo.gather"]
    if len(where) != 1:
        return None
    order = np.random.default_rng(shape[0]).permutation(shape[0])
    for end in range(where[0] + 1, len(chain) + 1):
        source = chain[end - 1].operands[0]
        if shape_of(source) != shape:
            continue
        numbers = np.arange(size(shape)).reshape(shape)
        found = _through(chain[:end], numbers, order)
        if found is not None and np.array_equal(found, numbers[order]):
            return source, chain[where[0]].operands[1]
    return None


# ---- solves through LU ---------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Solution:
    """x with m x = b, by the LU factorization `factor`."""
    m: ir.Value
    b: ir.Value
    factor: ir.Operation


def solution(value: ir.Value) -> Solution | None:
    """The system of equations whose solution a value is, where it is found by LU as JAX writes it."""
    outer = TriangularSolve.of(value)
    inner = None if outer is None else TriangularSolve.of(outer.b)
    if inner is None or not (outer.left and inner.left and inner.lower and inner.unit) or outer.lower or outer.unit \
            or (outer.turn, inner.turn) != ("N", "N") or users(outer.b) != 1:
        return None
    factor = _factor(outer.a)
    if factor is None or _factor(inner.a) != factor:
        return None
    rows = permuted_rows(inner.b)
    if rows is None or not depends_on(rows[1], factor):
        return None
    return Solution(factor.operands[0], rows[0], factor)


def _factor(value: ir.Value) -> ir.Operation | None:
    """The LU factorization that made a matrix, before it was made NaN for a failure."""
    made = operation(value)
    if made is not None and made.name == "stablehlo.select":
        made = operation(made.operands[1])
    return made if made is not None and made.name == TRSM and _target(made)[len("lapack_x"):] == "getrf_ffi" else None


def depends_on(value: ir.Value, op: ir.Operation, depth: int = 12) -> bool:
    """Whether a value is computed from the second result of an op, and nothing else that varies."""
    made = operation(value)
    if made is None or not depth:
        return False
    if made == op:
        return value == op.results[1]
    inner = captures(made) if len(made.regions) else ()     # a loop applies the pivots one after the other
    return any(depends_on(v, op, depth - 1) for v in (*made.operands, *inner))


def structure(value: ir.Value) -> tuple[str, Any] | None:
    """What is known of a square matrix: ("diagonal", v), ("lower" or "upper", m), ("orthogonal", None)."""
    if len(shape_of(value)) != 2 or is_complex(dtype_of(value)):
        return None
    diagonal = entries(value)
    if diagonal is not None:
        return "diagonal", diagonal
    made = operation(value)
    if made is None:
        return None
    if made.name == "stablehlo.transpose":
        inner = structure(made.operands[0])
        turned = {"lower": "upper", "upper": "lower", "orthogonal": "orthogonal"}
        return None if inner is None or inner[0] not in turned else (turned[inner[0]], None)
    if made.name == "stablehlo.select":
        return triangle_of(value)
    if made.name == TRSM and _target(made)[len("lapack_x"):] == "orgqr_ffi":
        return "orthogonal", None
    return None


def triangle_of(value: ir.Value) -> tuple[str, Any] | None:
    """("lower" or "upper", None) for a matrix with zeros masked in above or below the diagonal."""
    made = producer(value)
    if made is None or made.name != "stablehlo.select":
        return None
    mask = content_of(made.operands[0], exact=True)
    if mask is None or mask.ndim != 2:
        return None
    for side, number in ((2, mask), (1, ~mask)):
        zero = ops.constant_value(made.operands[side])
        if zero is not None and not zero.any():
            if not np.triu(number, 1).any():
                return "lower", None
            if not np.tril(number, -1).any():
                return "upper", None
    return None


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
    found = solution(result)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] not in ("lower", "upper"):
        return None
    outer, lower = TriangularSolve.of(result), kind[0] == "lower"
    solved = replace(outer, a=found.m, b=found.b, lower=lower).build()
    # LU multiplies what stands below by zeros, and so spreads what is not finite.
    rows, columns = shape_of(found.b)
    spread = found.b if lower else ops.slice(found.b, (0, 0), (rows - 1, columns))
    sound = ops.reduce(ops.is_finite(spread), ops.constant(True), (0,), "and")
    sound = ops.and_(sound, ops.broadcast_in_dim(_sound(found.m), (columns,), ()))
    return ops.select(ops.broadcast_in_dim(sound, (rows, columns), (1,)), solved, np.nan)


def _sound(matrix: ir.Value) -> ir.Value:
    """Whether a matrix is finite beside its diagonal (0-d)."""
    beside = ops.select(identity_mask(shape_of(matrix)[0]), 0, matrix)
    return ops.reduce(ops.is_finite(beside), ops.constant(True), (0, 1), "and")


@rewrite(solve(), changes="rounding", example=_DIAGONAL, counter=_ANY)
def solve_by_division(a, b, t, result):
    """solve(diag(v), b) by LU = b / v; NaN in a column of b with a number that is not finite, and where v has a zero"""
    found = solution(result)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] != "diagonal":
        return None
    rows, columns = shape_of(found.b)
    if isinstance(kind[1], np.ndarray) and not (kind[1] != 0).all():
        return ops.splat(np.nan, found.b)
    quotient = divided(found.b, kind[1], True)
    sound = ops.reduce(ops.is_finite(found.b), ops.constant(True), (0,), "and")
    if not isinstance(kind[1], np.ndarray):
        vector = diagonal_of(kind[1]) if len(shape_of(kind[1])) == 2 else kind[1]
        regular = ops.compare(ops.abs(vector), 0, "GT")
        regular = ops.reduce(regular, ops.constant(True), (0,), "and")
        sound = ops.and_(sound, ops.broadcast_in_dim(regular, (columns,), ()))
    return ops.select(ops.broadcast_in_dim(sound, (rows, columns), (1,)), quotient, np.nan)


_ORTHOGONAL = _LU.format(matrix="""%qr:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%steady) {has_side_effect = false,
    api_version = 4 : i32, mhlo.backend_config = {}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>)
  %m = stablehlo.custom_call @lapack_dorgqr_ffi(%qr#0, %qr#1) {has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {}} : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4x4xf64>""")


@rewrite(solve(), changes="rounding", example=_ORTHOGONAL, counter=_ANY)
def solve_with_orthogonal(a, b, t, result):
    """solve(q, b) = transpose(q) @ b for the q of a QR factorization"""
    found = solution(result)
    kind = None if found is None else structure(found.m)
    if kind is None or kind[0] != "orthogonal":
        return None
    return ops.dot_general(found.m, found.b, contracting_dims=((0,), (0,)))


# ---- determinants --------------------------------------------------------------------------------------------------

def _determinant_only(op: ir.Operation) -> bool:
    """Whether all that is read of an LU factorization is the diagonal and which pivots moved."""
    return all(_only_diagonal(op.results[0], reader._op, 4) for reader in readers(op.results[0])) \
        and all(_only_moves(reader._op, 4) for reader in readers(op.results[1])) \
        and all(_only_success(reader._op) for reader in readers(op.results[2]))


def _only_diagonal(value: ir.Value, op: ir.Operation, depth: int) -> bool:
    if op.name == "stablehlo.select" and depth and op.operands[1] == value:
        return all(_only_diagonal(op.results[0], reader._op, depth - 1) for reader in readers(op.results[0]))
    if op.name == "stablehlo.reshape" and len(shape_of(op.results[0])) == 1:
        return all(reader.name == "stablehlo.slice" and tuple(reader["start_indices"]) == (0,)
                   and tuple(reader["strides"]) == (shape_of(value)[1] + 1,) for reader in readers(op.results[0]))
    if op.name != "stablehlo.gather" or op.operands[0] != value:
        return False
    d, indices = decode(op.attributes["dimension_numbers"]), content_of(op.operands[1], exact=True)
    return indices is not None and tuple(d.collapsed_slice_dims) == (0, 1) == tuple(d.start_index_map) \
        and d.index_vector_dim == indices.ndim - 1 == 1 and bool((indices[:, 0] == indices[:, 1]).all())


def _only_moves(op: ir.Operation, depth: int) -> bool:
    if op.name == "stablehlo.compare":
        return str(decode(op.attributes["comparison_direction"])) in ("NE", "EQ")
    if op.name in ("stablehlo.add", "stablehlo.subtract", "stablehlo.convert", "stablehlo.reshape") and depth:
        return all(_only_moves(reader._op, depth - 1) for reader in readers(op.results[0]))
    return False


def _only_success(op: ir.Operation) -> bool:
    """Whether a failure of LU is only looked for below zero: an exact zero on the diagonal is none."""
    if op.name == "stablehlo.reshape":
        return all(_only_success(reader._op) for reader in readers(op.results[0]))
    return op.name == "stablehlo.compare" and str(decode(op.attributes["comparison_direction"])) == "GE"


def _getrf(op: ir.Operation) -> bool:
    return _target(op)[len("lapack_x"):] == "getrf_ffi" and len(shape_of(op.operands[0])) == 2 \
        and shape_of(op.operands[0])[0] == shape_of(op.operands[0])[1]


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
    if not _getrf(site.op):
        return None
    made = producer(site.operands[0])
    if made is None or made.name != "stablehlo.transpose" or not _determinant_only(site.op):
        return None
    attributes = {n: site.op.attributes[n] for n in site.op.attributes}
    return list(ops.create(site.op.name, [r.type for r in site.results], made.operands, attributes).results)


@rewrite("stablehlo.custom_call", changes="rounding",
         example=_DETERMINANT.format(matrix=_UPPER[_UPPER.index("%le ="):_UPPER.index("  %lu:3")]),
         counter=(_DETERMINANT.format(matrix="%m = stablehlo.add %steady, %none : tensor<4x4xf64>"), _UPPER))
def determinant_of_triangle(site: Site):
    """det(tril(a)) = the product of the diagonal of a: it needs no LU factorization"""
    if not _getrf(site.op):
        return None
    kind = structure(site.operands[0])
    if kind is None or kind[0] not in ("lower", "upper", "diagonal") or not _determinant_only(site.op):
        return None
    matrix, (places, info) = site.operands[0], site.results[1:]
    if kind[0] != "diagonal":
        matrix = ops.select(_sound(matrix), matrix, np.nan)
    still = ops.add(ops.iota(shape_of(places), dtype_of(places), 0), 1)
    return [matrix, still, ops.splat(0, info)]


# ---- Cholesky ------------------------------------------------------------------------------------------------------

def _potrf(matrix: ir.Value, lower: bool = True) -> list[ir.Value]:
    """A Cholesky factorization as JAX writes it on a CPU, for examples."""
    config = ir.Attribute.parse(f"{{uplo = {ord('UL'[lower])} : ui8}}")
    return ops.custom_call("lapack_dpotrf_ffi", [matrix], [matrix.type, ops.tensor_type((), np.dtype(np.int32))],
                           attributes={"mhlo.backend_config": config, "api_version": ir.Attribute.parse("4 : i32")})


def _definite(a: Any) -> ir.Value:
    m = _steady(a)
    return ops.dot_general(m, m, contracting_dims=((1,), (1,)))


def _tril(value: ir.Value) -> ir.Value:
    return ops.select(_lower_mask(4, True), value, ops.splat(0, value))


@rewrite("stablehlo.custom_call", example=lambda a: _tril(_potrf(_tril(_definite(a)))[0]),
         counter=lambda a: _tril(_potrf(_definite(a))[0]))
def cholesky_reads_one_triangle(site: Site):
    """cholesky(tril(a)) = cholesky(a)"""
    if not _target(site.op).endswith("potrf_ffi"):
        return None
    told = {e.name: e.attr for e in ir.DictAttr(site.op.attributes["mhlo.backend_config"])}
    inner = _behind_mask(site.operands[0], chr(ir.IntegerAttr(told["uplo"]).value & 255) == "L")
    if inner is None:
        return None
    attributes = {n: site.op.attributes[n] for n in site.op.attributes}
    return list(ops.create(site.op.name, [r.type for r in site.results], [inner], attributes).results)
