"""Triangular systems of equations: what a solve reads, and products with inverses.

JAX writes a triangular solve as a LAPACK call (`lapack_dtrsm_ffi`) on a CPU, as `stablehlo.triangular_solve` elsewhere:
`TriangularSolve.of` reads both. A routine reads one triangle of its matrix, so masks in front of it go; a product with
an inverse is a solve. LU and Cholesky factorizations are in `factorizations`.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, decode
from reactant.ir.lapack import LETTERS, TRANSPOSES
from reactant.ir.types import dtype_of, is_complex, shape_of, size
from reactant.rewrite import match, once, one_of, producer, rewrite, splat, variables
from reactant.rewrite.site import Producer, operation
from reactant.simplify.facts.evaluation import content_of
from reactant.simplify.facts.masks import mask_of
from reactant.simplify.facts.nan_guards import finite_columns, in_sound_columns
from reactant.simplify.linear.contraction import dot
from reactant.simplify.linear.structured import as_vector, entries, identity_mask
from reactant.support.records import dataclass

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
    trans: str

    @staticmethod
    def of(value: ir.Value) -> TriangularSolve | None:
        op = operation(value)
        if op is None:
            return None
        if op.name == SOLVE:
            trans = TRANSPOSES[str(decode(op.attributes["transpose_a"]))]
            left, lower, unit = (bool(decode(op.attributes[n])) for n in ("left_side", "lower", "unit_diagonal"))
        elif op.name == TRSM and ops.target_of(op)[len("lapack_x"):] == "trsm_ffi":
            told = _told(op.attributes["mhlo.backend_config"])
            trans, left, lower, unit = told["trans_x"], told["side"] == "L", told["uplo"] == "L", told["diag"] == "U"
        else:
            return None
        return TriangularSolve(op, op.operands[0], op.operands[1], left, lower, unit, trans)

    def build(self) -> ir.Value:
        """The same solve of the matrices that stand here now."""
        if self.op.name == SOLVE:
            trans = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[self.trans]
            return ops.triangular_solve(self.a, self.b, left_side=self.left, lower=self.lower, unit_diagonal=self.unit,
                                        transpose_a=trans)
        told = {"diag": "NU"[self.unit], "side": "RL"[self.left], "trans_x": self.trans, "uplo": "UL"[self.lower]}
        letter = ir.IntegerType.get_unsigned(8)
        kept = {n: self.op.attributes[n] for n in self.op.attributes if n != "sdy.sharding_rule"}
        kept["mhlo.backend_config"] = ir.DictAttr.get({n: ir.IntegerAttr.get(letter, ord(v)) for n, v in told.items()})
        return ops.create(self.op.name, [self.b.type], [self.a, self.b], kept).result


@cache
def _told(configuration: ir.Attribute) -> dict[str, str]:
    """The letters that LAPACK's routine is given."""
    return {e.name: chr(ir.IntegerAttr(e.attr).value & 255) for e in ir.DictAttr(configuration)}


def solve() -> Any:
    """The pattern of a triangular solve (and of other calls of two operands)."""
    return one_of((TRSM, SOLVE), a, b, template="t")


def swap(rank: int) -> tuple[int, ...]:
    """The permutation that transposes each matrix of a batch."""
    return (*range(rank - 2), rank - 1, rank - 2)


def lapack_solve(matrix: ir.Value, right: ir.Value, **options: Any) -> ir.Value:
    """A triangular solve as JAX writes it on a CPU, for examples."""
    letter = LETTERS[dtype_of(matrix).name]
    told = {"diag": "N", "side": "L", "trans_x": "N", "uplo": "L"} | options
    config = ", ".join(f"{n} = {ord(v)} : ui8" for n, v in told.items())
    rank = len(shape_of(right))
    layout = f"dense<{[rank - 2, rank - 1, *reversed(range(rank - 2))]}> : tensor<{rank}xindex>"
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


def steady(a: Any, n: int = 4) -> ir.Value:
    """A well-conditioned matrix, for examples: 3 on the diagonal, numbers in (-1, 1) elsewhere."""
    return ops.select(identity_mask(n), 3.0, ops.tanh(a(n, n, dtype="float64")))


def steady_batch(a: Any) -> ir.Value:
    """Three such matrices."""
    on = ops.broadcast_in_dim(identity_mask(4), (3, 4, 4), (1, 2))
    return ops.select(on, 3.0, ops.tanh(a(3, 4, 4, dtype="float64")))


def side_of(a: Any, *shape: int) -> ir.Value:
    return ops.tanh(a(*shape, dtype="float64"))


# ---- what a solve reads --------------------------------------------------------------------------------------------

def lower_mask(n: int, lower: bool) -> ir.Value:
    return ops.compare(ops.iota((n, n), np.int32, 0), ops.iota((n, n), np.int32, 1), "GE" if lower else "LE")


@rewrite(solve(), example=_both(lambda a, f: f(ops.select(lower_mask(4, True), m := steady(a), ops.splat(0, m)),
                                               side_of(a, 4, 3))),
         counter=_both(lambda a, f: f(ops.select(lower_mask(4, False), m := steady(a), ops.splat(0, m)),
                                      side_of(a, 4, 3))))
def solve_reads_one_triangle(a, b, t, result):
    """a triangular solve with a masked matrix = with the matrix, where the mask lets the triangle through"""
    found = TriangularSolve.of(result)
    inner = None if found is None else behind_mask(found.a, found.lower, found.unit)
    return None if inner is None else replace(found, a=inner).build()


def behind_mask(value: ir.Value, lower: bool, unit: bool = False) -> ir.Value | None:
    """The matrix behind a mask that only hides what is not read: the other triangle, a unit diagonal."""
    made = producer(value)
    if made is None or made.name != "stablehlo.select":
        return None
    offset, between = int(unit), mask_of(made.operands[0])
    if between is not None:
        rows, columns = shape_of(value)[-2:]
        if between.low <= 1 - rows and between.high >= -offset if lower else \
                between.high >= columns - 1 and between.low <= offset:
            return made.operands[1]
        return made.operands[2] if (between.low > -offset if lower else between.high < offset) else None
    mask = content_of(made.operands[0], exact=True)
    if mask is None or mask.ndim < 2 or not mask.size:
        return None
    read = (np.tril if lower else np.triu)(np.ones(mask.shape[-2:], bool), -offset if lower else offset)
    if mask[..., read].all():
        return made.operands[1]
    return made.operands[2] if not mask[..., read].any() else None


@rewrite(solve(), example=_both(lambda a, f: f(ops.transpose(steady(a), (1, 0)), side_of(a, 4, 3))),
         counter=_both(lambda a, f: f(steady(a), side_of(a, 4, 3))))
def solve_with_transpose(a, b, t, result):
    """a solve with the transpose of a matrix = the transposed solve with its other triangle"""
    found = TriangularSolve.of(result)
    made = producer(a)
    if found is None or found.trans not in FLIPPED or made is None or made.name != "stablehlo.transpose" \
            or tuple(made["permutation"]) != swap(len(shape_of(a))):
        return None
    return replace(found, a=made.operands[0], lower=not found.lower, trans=FLIPPED[found.trans]).build()


@rewrite(one_of((TRSM, SOLVE), a, match.multiply(b, splat("c")), template="t"), dtypes="inexact", changes="rounding",
         example=_both(lambda a, f: f(steady(a), ops.multiply(side_of(a, 4, 3), 0.3))),
         counter=_both(lambda a, f: f(steady(a), ops.multiply(side_of(a, 4, 3), 0.0))))
def solve_of_multiple(a, b, c, t):
    """solve(a, c b) = c solve(a, b): the solution may be there already (that of a derivative, often)"""
    found = TriangularSolve.of(t.op.results[0])
    if found is None or not np.isfinite(c) or not 1e-3 <= abs(c) <= 1e3:
        return None
    solved = replace(found, b=b).build()
    return ops.multiply(solved, ops.splat(c, solved))


@rewrite(match.transpose(once(one_of((TRSM, SOLVE), a, match.transpose(b, permutation=p), template="t")),
                         permutation=d),
         example=lambda a: ops.transpose(lapack_solve(steady(a), ops.transpose(side_of(a, 3, 4), (1, 0))), (1, 0)),
         counter=lambda a: ops.transpose(lapack_solve(steady(a), side_of(a, 4, 3)), (1, 0)))
def solve_between_transposes(a, b, p, d, t):
    """transpose(solve(a, transpose(b))) = the solve from the other side"""
    found = TriangularSolve.of(t.op.results[0])
    if found is None or found.trans not in FLIPPED or tuple(p) != swap(len(p)) or tuple(d) != swap(len(p)):
        return None
    return replace(found, b=b, left=not found.left, trans=FLIPPED[found.trans]).build()


@rewrite(solve(), changes="rounding", assumes="finite",
         example=_both(lambda a, f: f(ops.select(identity_mask(5), ops.broadcast_in_dim(ops.add(ops.abs(
             a(5, dtype="float64")), 1.0), (5, 5), (0,)), 0.0), side_of(a, 5, 3))) + _both(
                 lambda a, f: f(ops.select(identity_mask(5, (2,)), ops.broadcast_in_dim(ops.add(ops.abs(
                     a(2, 5, dtype="float64")), 1.0), (2, 5, 5), (0, 1)), 0.0), side_of(a, 2, 5, 3))),
         counter=_both(lambda a, f: f(steady(a), side_of(a, 4, 3))))
def solve_with_diagonal(a, b, t, result):
    """a triangular solve with diag(v) = division by v"""
    found = TriangularSolve.of(result)
    diagonal = None if found is None or is_complex(dtype_of(a)) else entries(a)
    if diagonal is None:
        return None
    return b if found.unit else divided(b, diagonal, found.left)


def divided(right: ir.Value, diagonal: ir.Value | np.ndarray, left: bool) -> ir.Value:
    """`right`, a matrix or a batch, over a diagonal (`entries`), row by row (left) or column by column."""
    if isinstance(diagonal, np.ndarray) and diagonal.ndim == 0:
        return right if diagonal == 1 else ops.divide(right, ops.splat(diagonal, right))
    rank = len(shape_of(right))
    places = (*range(rank - 2), rank - 2 if left else rank - 1)
    return ops.divide(right, ops.broadcast_in_dim(as_vector(diagonal, rank), shape_of(right), places))


# ---- products with inverses ----------------------------------------------------------------------------------------

def _inverse_of(value: ir.Value, c: ir.Value, d: DotDimensions, side: int,
                dtype: np.dtype) -> tuple[TriangularSolve, ir.Value] | None:
    """The solve that is multiplied, as factor `side` of a product, and the other factor as a batch of matrices of which
    the contracted dimension is the first (side 0) or the second (side 1)."""
    found = TriangularSolve.of(value)
    batch = len(shape_of(value)) - 2
    if found is None or not found.left or batch < 0 or d.batching_dims[side] != tuple(range(batch)) \
            or d.contracting_dims[side] != (batch + 1 - side,) or not dtype_of(found.a) == dtype_of(c) == dtype:
        return None
    shape, (k,) = shape_of(c), d.contracting_dims[1 - side]
    free = [i for i in range(len(shape)) if i != k and i not in d.batching_dims[1 - side]]
    if len(free) > 1:
        return None
    order = [*d.batching_dims[1 - side], *([k, *free] if side == 0 else [*free, k])]
    ends = (shape[k], size([shape[i] for i in free]))
    return found, ops.reshape(ops.transpose(c, order), (*(shape[i] for i in d.batching_dims[1 - side]),
                                                        *(ends if side == 0 else ends[::-1])))


def _narrower(c: ir.Value, d: DotDimensions, side: int, b: ir.Value) -> bool:
    """Whether the other factor has fewer columns (or rows) than the solve."""
    columns = size(shape_of(c)) // max(size([shape_of(c)[k] for k in (
        *d.batching_dims[1 - side], *d.contracting_dims[1 - side])]), 1)
    return len(shape_of(b)) >= 2 and columns < shape_of(b)[-1]


def _applied(found: TriangularSolve, matrix: ir.Value) -> ir.Value:
    """The solve for its right-hand side times a matrix."""
    b = found.b
    batch = len(shape_of(b)) - 2
    if not batch and isinstance(entries(b), np.ndarray) and (entries(b) == 1).all():
        # the inverse itself: zeros in it make NaN of what is not finite
        solved = replace(found, b=matrix).build()
        return in_sound_columns(finite_columns(matrix), solved)
    places = one_hot_rows(b)
    if places is not None:
        return replace(found, b=take_rows(matrix, places)).build()
    every = tuple(range(batch))
    return replace(found, b=ops.dot_general(b, matrix, contracting_dims=((batch + 1,), (batch,)),
                                            batching_dims=(every, every))).build()


@rewrite(dot(once(one_of((TRSM, SOLVE), a, b, template="s")), c), dtypes="inexact", changes="rounding",
         example=(lambda a: ops.dot_general(lapack_solve(steady(a), side_of(a, 4, 4)), side_of(a, 4, 2),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(lapack_solve(steady(a), side_of(a, 4, 4), uplo="U"), side_of(a, 4),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(lapack_solve(steady(a), ops.convert(identity_mask(4), "float64")),
                                            side_of(a, 4, 2), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(ops.triangular_solve(steady_batch(a), side_of(a, 3, 4, 4)),
                                            side_of(a, 2, 3, 4), contracting_dims=((2,), (2,)),
                                            batching_dims=((0,), (1,)))),
         counter=(lambda a: ops.dot_general(lapack_solve(steady(a), side_of(a, 4, 2)), side_of(a, 2, 4),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(lapack_solve(steady(a), side_of(a, 4, 4)), side_of(a, 4, 2),
                                            contracting_dims=((0,), (0,)))))
def solve_instead_of_inverse(a, b, s, c, d, t, result_shape, result_dtype):
    """solve(a, b) @ c = solve(a, b @ c) where c has fewer columns than b: inv(a) @ c is a solve"""
    if not _narrower(c, d, 0, b):
        return None
    found = _inverse_of(s.op.results[0], c, d, 0, result_dtype)
    return None if found is None else ops.reshape(_applied(*found), result_shape)


@rewrite(dot(c, once(one_of((TRSM, SOLVE), a, b, template="s"))), dtypes="inexact", changes="rounding",
         example=(lambda a: ops.dot_general(side_of(a, 2, 4), lapack_solve(steady(a), side_of(a, 4, 4)),
                                            contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(side_of(a, 3, 4),
                                            ops.triangular_solve(steady_batch(a), side_of(a, 3, 4, 4)),
                                            contracting_dims=((1,), (1,)), batching_dims=((0,), (0,)))),
         counter=lambda a: ops.dot_general(side_of(a, 5, 4), lapack_solve(steady(a), side_of(a, 4, 4)),
                                           contracting_dims=((1,), (0,))))
def solve_from_the_right(a, b, s, c, d, t, result_shape, result_dtype):
    """c @ solve(a, b) = solve from the right(a, c) @ b where c has fewer rows than b has columns"""
    if not _narrower(c, d, 1, b):
        return None
    found = _inverse_of(s.op.results[0], c, d, 1, result_dtype)
    if found is None:
        return None
    solved, batch = replace(found[0], b=found[1], left=False).build(), len(shape_of(b)) - 2
    every = tuple(range(batch))
    return ops.reshape(ops.dot_general(solved, b, contracting_dims=((batch + 1,), (batch,)),
                                       batching_dims=(every, every)), result_shape)


# ---- rows in another order -----------------------------------------------------------------------------------------

def take_rows(matrix: ir.Value, places: ir.Value) -> ir.Value:
    """Rows of a matrix, or of every matrix of a batch, at the indices of a column of places."""
    *batch, _, columns = shape_of(matrix)
    places = ops.reshape(places, (*batch, size(shape_of(places)) // max(size(batch), 1), 1))
    n, every = len(batch), range(len(batch))
    return ops.gather(matrix, places, offset_dims=[n + 1], collapsed_slice_dims=[n], operand_batching_dims=every,
                      start_indices_batching_dims=every, start_index_map=[n], index_vector_dim=n + 1,
                      slice_sizes=[*(1 for _ in batch), 1, columns])


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
            if order.ndim == 2:
                array = _taken_in_batch(array, order, made, shape)
                if array is None:
                    return None
                continue
            if len(along) != 1 or list(d.start_index_map) != along or list(d.operand_batching_dims) \
                    or size(indices) != len(order) or d.index_vector_dim != len(indices) - 1 or len(indices) != 2 \
                    or tuple(made["slice_sizes"]) != tuple(1 if i == along[0] else n
                                                           for i, n in enumerate(array.shape)) \
                    or array.shape[along[0]] != len(order):
                return None
            place = next(i for i in range(len(shape)) if i not in list(d.offset_dims))
            array = np.moveaxis(np.take(array, order, along[0]), along[0], place)
    return array


def _taken_in_batch(array: np.ndarray, order: np.ndarray, made: Producer, shape: Sequence[int]) -> np.ndarray | None:
    """What a gather along one whole dimension takes of every array of a batch (the first dimension)."""
    d, indices = made["dimension_numbers"], shape_of(made.operands[1])
    along, sizes = list(d.collapsed_slice_dims), list(made["slice_sizes"])
    if len(along) != 1 or list(d.start_index_map) != along or list(d.operand_batching_dims) != [0] \
            or list(d.start_indices_batching_dims) != [0] or d.index_vector_dim != 2 or indices != (*order.shape, 1) \
            or array.shape[along[0]] != order.shape[1] or array.shape[0] != len(order) \
            or any(n != (1 if k in (0, *along) else array.shape[k]) for k, n in enumerate(sizes)):
        return None
    taken = np.stack([np.moveaxis(np.take(one, places, along[0] - 1), along[0] - 1, 0)
                      for one, places in zip(array, order, strict=True)])      # [batch, place, the rest]
    here = [k for k in range(len(shape)) if k not in list(d.offset_dims)]
    return np.moveaxis(taken, (0, 1), here)


def one_hot_rows(value: ir.Value) -> ir.Value | None:
    """The places p (one column of integers) where row i of a matrix is one at p[i], if it is an identity with its rows
    in another order; likewise for every matrix of a batch."""
    shape = shape_of(value)
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or size(shape) > TRACED or shape[-1] < 2:
        return None
    chain, start = _views(value)
    gathers = [made for made in chain if made.name == "stablehlo.gather"]
    content = content_of(start) if len(gathers) == 1 else None
    if content is None:
        return None
    side = shape[-1]
    order = _some_order(side) if len(shape) == 2 else _some_orders(shape[0], side)
    found = _through(chain, np.asarray(content), order)
    same = found is not None and found.shape == shape and np.array_equal(found, np.eye(side)[order])
    return gathers[0].operands[1] if same else None


@cache
def _some_order(count: int) -> np.ndarray:
    """0 to `count` - 1 in an order that nobody would choose."""
    return np.random.default_rng(count).permutation(count)


@cache
def _some_orders(rows: int, count: int) -> np.ndarray:
    """Several such orders."""
    rng = np.random.default_rng(rows)
    return np.stack([rng.permutation(count) for _ in range(rows)])


def permuted_rows(value: ir.Value) -> tuple[ir.Value, ir.Value, bool] | None:
    """(matrix, places, turned) where a value is the matrix (if `turned`, its transpose) with its rows taken at the
    places; likewise for every matrix of a batch."""
    shape = shape_of(value)
    if len(shape) not in (2, 3) or size(shape) > TRACED or shape[-2] < 2:
        return None
    chain, _ = _views(value)
    where = [i for i, made in enumerate(chain) if made.name == "stablehlo.gather"]
    if len(where) != 1:
        return None
    *batch, rows, columns = shape
    order = _some_orders(*batch, rows) if batch else _some_order(rows)
    for end in range(where[0] + 1, len(chain) + 1):
        source = chain[end - 1].operands[0]
        for turned in (False, True):
            if shape_of(source) != ((*batch, columns, rows) if turned else shape):
                continue
            numbers = np.arange(size(shape)).reshape(shape_of(source))
            found = _through(chain[:end], numbers, order)
            whole = np.swapaxes(numbers, -1, -2) if turned else numbers
            if found is not None and np.array_equal(found, np.take_along_axis(whole, order[..., None], -2)):
                return source, chain[where[0]].operands[1], turned
    return None
