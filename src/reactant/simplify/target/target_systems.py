"""The last stage: systems and products of structured matrices, where the target has a routine that fits.

LAPACK's `gtsv` eliminates with partial pivoting, as LU of the whole matrix does: it takes the same pivots and is as
accurate, in 8 n operations rather than n^3. Derivatives and batches are made before, of the system as it was.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import DotDimensions, dot_dimension_numbers
from reactant.ir.types import dtype_of, is_complex, shape_of, size, tensor_type
from reactant.rewrite import Site, match, once, one_of, rewrite, splat, users, variables
from reactant.rewrite.pattern import Template
from reactant.rewrite.site import operation
from reactant.simplify.facts.contractions import free_dimensions
from reactant.simplify.facts.nan_guards import finite, finite_columns, in_sound_columns
from reactant.simplify.facts.target_costs import costs
from reactant.simplify.linear.bands import Banded, bands_of, diagonals
from reactant.simplify.linear.block_systems import system
from reactant.simplify.linear.contraction import dot, product_shape
from reactant.simplify.linear.factorizations import solution
from reactant.simplify.linear.products import hot, one_hot
from reactant.simplify.linear.reduction import reduced
from reactant.simplify.linear.solving import side_of, solve, steady
from reactant.simplify.linear.structured import chain_from_the_left, chain_from_the_right
from reactant.simplify.linear.sums import summed_factors
from reactant.simplify.linear.toeplitz import convolved, factors, toeplitz

x, y, u, v, d, p, q, a, b = variables("x y u v d p q a b")


def _line(matrix: Banded, offset: int, like: ir.Value) -> ir.Value:
    """A diagonal as `gtsv` wants it: as long as the matrix has rows, by row, with a zero where it has none."""
    n = matrix.shape[0]
    line = matrix.lines.get(offset)
    if line is None:
        return ops.constant(0, dtype_of(like), (n,))
    first, last = matrix.rows(offset)
    return ops.pad(line.build(), 0, (first,), (n - last,))


def tridiagonal_solve(low: ir.Value, middle: ir.Value, up: ir.Value, right: ir.Value) -> list[ir.Value]:
    """LAPACK's routine as JAX calls it: (solution, 0 for success); element i of `low` stands left of the diagonal."""
    letter = {"float32": "s", "float64": "d"}[dtype_of(right).name]
    layouts = ["dense<0> : tensor<1xindex>"] * 3 + ["dense<[0, 1]> : tensor<2xindex>"]
    attributes = {"mhlo.backend_config": ir.Attribute.parse("{}"), "api_version": ir.Attribute.parse("4 : i32"),
                  "operand_layouts": ir.Attribute.parse(f"[{', '.join(layouts)}]"),
                  "result_layouts": ir.Attribute.parse(f"[{', '.join(layouts)}, dense<> : tensor<0xindex>]")}
    operands = [low, middle, up, right]
    made = ops.custom_call(f"lapack_{letter}gtsv_ffi", operands,
                           [*(v.type for v in operands), tensor_type((), np.dtype(np.int32))], attributes=attributes)
    return [made[3], made[4]]


def _tridiagonal(a: Any, side: int = 16) -> ir.Value:
    """A tridiagonal matrix of float64 with a large diagonal, for examples."""
    return ops.add(diagonals(a, -1, 1, side=side), ops.multiply(ops.convert(ops.compare(
        ops.iota((side, side), np.int32, 0), ops.iota((side, side), np.int32, 1), "EQ"), np.float64), 4.0))


class _Small:
    """Numbers between -1 and 1 in float64, for examples."""
    dtype = np.dtype(np.float64)

    def __init__(self, a: Any):
        self.a = a

    def __call__(self, *shape: int) -> ir.Value:
        return side_of(self.a, *shape)


@rewrite(solve(), changes="rounding",
         example=lambda a: system(_tridiagonal(_Small(a)), side_of(a, 16, 2)),
         counter=lambda a: system(steady(a, 16), side_of(a, 16, 2)))
def tridiagonal_system(a, b, t, result):
    """solve(m, b) by LU for m of three diagonals = LAPACK's gtsv; NaN where something is not finite or m singular"""
    table = costs()
    if table is None or not table.banded_solve or is_complex(dtype_of(a)) or shape_of(a)[:1] < (table.banded_solve,):
        return None
    found = solution(result)
    matrix = None if found is None else bands_of(found.m)
    if found is None or matrix is None or not {-1, 0, 1} >= set(matrix.lines) or matrix.shape[0] != matrix.shape[1]:
        return None
    right = found.b
    low, middle, up = (_line(matrix, k, right) for k in (-1, 0, 1))
    solved, info = tridiagonal_solve(low, middle, up, right)
    sound = ops.and_(ops.compare(info, 0, "EQ"), finite(low, middle, up))
    return in_sound_columns(finite_columns(right), solved, sound)


@rewrite(dot(x, y), dtypes="float", changes="rounding", made_by=("stablehlo.gather", "stablehlo.transpose"),
         example=lambda a: ops.dot_general(toeplitz(a, 24, 25), a(25), contracting_dims=((1,), (0,))),
         counter=(lambda a: ops.dot_general(toeplitz(a, 16, 16), a(16), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(toeplitz(a, 24, 24), a(24, 2), contracting_dims=((1,), (0,)))))
def toeplitz_product_is_convolution(x, y, d, t, result_dtype):
    """c[i - j] @ y = the convolution of c with a vector y, where the matrix need not be made"""
    table = costs()
    if table is None or not table.toeplitz_as_convolution or min(len(shape_of(x)), len(shape_of(y))) != 1:
        return None
    found = factors(x, y, d, result_dtype)
    if found is None or found[0].spread is not None or min(found[0].shape) < table.toeplitz_as_convolution:
        return None
    return convolved(found[0], found[1]())


# ---- what LAPACK's routines are known to give ------------------------------------------------------------------

def _routine(value: ir.Value, name: str) -> ir.Operation | None:
    """The call of one of LAPACK's routines that gives a value."""
    made = operation(value)
    return made if made is not None and ops.target_of(made)[len("lapack_x"):] == name else None


def _factored(a: Any) -> list[ir.Value]:
    matrix = side_of(a, 4, 4)
    return ops.custom_call("lapack_dgetrf_ffi", [matrix], [matrix.type, tensor_type((4,), np.dtype(np.int32)),
                                                           tensor_type((), np.dtype(np.int32))],
                           attributes={"mhlo.backend_config": ir.Attribute.parse("{}"),
                                       "api_version": ir.Attribute.parse("4 : i32")})


@rewrite(match.compare(x, splat("c"), comparison_direction=d), dtypes="integer",
         made_by=("stablehlo.custom_call", "stablehlo.reshape"),
         example=lambda a: ops.compare(_factored(a)[2], 0, "GE"),
         counter=lambda a: ops.compare(_factored(a)[2], 0, "GT"))
def lu_is_given_what_it_takes(x, c, d, result_shape):
    """whether LAPACK's LU refused an argument (info < 0): never, these have the shapes that it takes"""
    made = operation(x)
    while made is not None and made.name == "stablehlo.reshape":
        x, made = made.operands[0], operation(made.operands[0])
    made = _routine(x, "getrf_ffi")
    if made is None or made.results[2] != x or c != 0 or d not in ("GE", "LT"):
        return None
    return ops.constant(d == "GE", np.bool_, result_shape)


_EIGENVALUES = """(%a: tensor<4x4xf64>) -> tensor<4xf64> {{
  %v, %w, %info = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {{has_side_effect = false, api_version = 4 : i32,
    mhlo.backend_config = {{mode = {mode} : ui8, uplo = 76 : ui8}}}}
    : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>, tensor<i32>)
  return %w : tensor<4xf64>
}}"""


@rewrite("stablehlo.custom_call", changes="rounding", example=_EIGENVALUES.format(mode=ord("V")),
         counter=_EIGENVALUES.format(mode=ord("N")))
def eigenvalues_alone(site: Site):
    """eigenvalues of a symmetric matrix whose eigenvectors nobody reads: by the routine that makes none"""
    op = site.op
    if not ops.target_of(op).endswith(("syevd_ffi", "heevd_ffi")) or users(op.results[0]):
        return None
    told = {e.name: e.attr for e in ir.DictAttr(op.attributes["mhlo.backend_config"])}
    if told["mode"].value != ord("V"):
        return None
    told["mode"] = ir.IntegerAttr.get(told["mode"].type, ord("N"))
    attributes = {n: op.attributes[n] for n in op.attributes}
    attributes["mhlo.backend_config"] = ir.DictAttr.get(told)
    return list(ops.create(op.name, [r.type for r in op.results], list(op.operands), attributes).results)


# ---- sums by class -------------------------------------------------------------------------------------------------

@rewrite(dot(x, y), dtypes="float", changes="rounding", made_by=("stablehlo.convert",),
         example=(lambda a: ops.dot_general(hot(a, 40, 9), a(40, 5), contracting_dims=((0,), (0,))),
                  lambda a: ops.dot_general(a(5, 2, 4, 6), hot(a, 6, 4, 2, 9),
                                            contracting_dims=((3, 2), (0, 1)), batching_dims=((1,), (2,)))),
         counter=(lambda a: ops.dot_general(hot(a, 40, 9), a(9, 5), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(hot(a, 3, 40, 9), a(40, 5), contracting_dims=((1,), (0,))),
                  lambda a: ops.dot_general(hot(a, 40, 3), a(40, 50), contracting_dims=((0,), (0,)))))
def class_sums_are_added(x, y, d, t, result_shape, result_dtype):
    """one_hot(i).T @ y = zeros to which the rows of y are added at the places i, where all of y is finite"""
    table = costs()
    if table is None or not table.class_sums or not dtype_of(x) == dtype_of(y) == result_dtype \
            or result_dtype.itemsize < 4:       # products of short numbers are summed in longer ones
        return None
    for side, (factor, other) in enumerate(((x, y), (y, x))):
        found = one_hot(factor)
        if found is None or free_dimensions(d, side, len(shape_of(factor))) != [found[1]]:
            continue
        classes = shape_of(factor)[found[1]]
        if CLASSES <= classes <= np.iinfo(dtype_of(found[0])).max \
                and classes * size(shape_of(other)) >= table.class_sums:
            return _added(*found, other, d, side, t, result_shape)
    return None


CLASSES = 8
"""Sums of fewer are multiplied as fast as they are added."""


def _added(places: ir.Value, along: int, other: ir.Value, d: DotDimensions, side: int, t: Template,
           result_shape: Sequence[int]) -> ir.Value:
    mine = [k - (k > along) for k in (*d.batching_dims[side], *d.contracting_dims[side])]
    b, n = len(d.batching_dims[0]), len(mine)
    free = free_dimensions(d, 1 - side, len(shape_of(other)))
    places = ops.transpose(places, mine)
    values = ops.transpose(other, [*d.batching_dims[1 - side], *d.contracting_dims[1 - side], *free])
    rows, columns = range(b), range(n, n + len(free))
    classes = result_shape[b if side == 0 else -1]

    def added() -> list[ir.Value]:
        zeros = ops.constant(0, dtype_of(values), (*shape_of(values)[:b], classes, *shape_of(values)[n:]))
        total = ops.scatter(zeros, ops.reshape(places, (*shape_of(places), 1)), values, "add", index_vector_dim=n,
                            update_window_dims=columns, inserted_window_dims=[b], scatter_dims_to_operand_dims=[b],
                            input_batching_dims=rows, scatter_indices_batching_dims=rows)
        return [total if side == 0 else ops.transpose(total, [*rows, *range(b + 1, b + 1 + len(free)), b])]

    def multiplied() -> list[ir.Value]:
        # behind barriers, the rows are made only here, and not seen to be one-hot again
        shape = (*shape_of(places), classes)
        spread = ops.broadcast_in_dim(ops.optimization_barrier(places)[0], shape, range(n))
        chosen = ops.convert(ops.compare(spread, ops.iota(shape, dtype_of(places), n), "EQ"), dtype_of(values))
        factors, over = [ops.optimization_barrier(chosen)[0], values], (tuple(rows), tuple(range(b, n)))
        return [t.build(factors if side == 0 else factors[::-1], result_shape,
                        dot_dimension_numbers=dot_dimension_numbers((over[0], over[0]), (over[1], over[1])))]
    return ops.if_(finite(values), added, multiplied, [t.op.results[0].type])[0]


# ---- products in another order -------------------------------------------------------------------------------
# Where the result is finite in the cheap order, all that went into it is, and the order is the only difference. Else
# the products are made as they were written: an infinity and a zero that meet are NaN.

def _if_finite(cheap: ir.Value | None, x: ir.Value, y: ir.Value, d: DotDimensions, template: Template,
               written: Callable[[ir.Value], ir.Value]) -> ir.Value | None:
    """The cheap form if it is finite throughout, else what `written` makes of x @ y, which no rule sees there."""
    if cheap is None:
        return None

    def as_written() -> list[ir.Value]:
        product = template.build((x, y), product_shape(x, y, d))
        return [written(ops.optimization_barrier(product)[0])]
    return ops.if_(finite(cheap), lambda: [cheap], as_written, [cheap.type])[0]


def _multiplied(x: ir.Value, y: ir.Value, d: DotDimensions) -> int:
    """Products of numbers in a product of matrices."""
    shared = {*d.contracting_dims[1], *d.batching_dims[1]}
    return size(shape_of(x)) * size([n for k, n in enumerate(shape_of(y)) if k not in shared])


def _saves(x: ir.Value, y: ir.Value, p: DotDimensions) -> bool:
    table = costs()
    return table is not None and _multiplied(x, y, p) > table.other_order


@rewrite(one_of(("stablehlo.dot_general",), once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=p,
                                                         template="s")), u, dot_dimension_numbers=d, template="t"),
         dtypes="float", changes="rounding",
         example=lambda a: ops.dot_general(ops.dot_general(
             side_of(a, 11, 10), side_of(a, 10, 12), contracting_dims=((1,), (0,))), side_of(a, 12),
             contracting_dims=((1,), (0,))),
         counter=lambda a: ops.dot_general(ops.dot_general(a(8, 9), a(9, 7), contracting_dims=((1,), (0,))), a(7),
                                           contracting_dims=((1,), (0,))))
def chain_from_the_right_if_finite(x, y, p, u, d, t, s, result_shape):
    """(x @ y) @ u = x @ (y @ u) if that is finite"""
    if not _saves(x, y, p):
        return None
    cheap = chain_from_the_right(x, y, p, u, d, t, s)
    return _if_finite(cheap, x, y, p, s, lambda product: t.build((product, u), result_shape))


@rewrite(one_of(("stablehlo.dot_general",), u, once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=p,
                                                            template="s")), dot_dimension_numbers=d, template="t"),
         dtypes="float", changes="rounding",
         example=lambda a: ops.dot_general(side_of(a, 12), ops.dot_general(
             side_of(a, 12, 10), side_of(a, 10, 11), contracting_dims=((1,), (0,))), contracting_dims=((0,), (0,))),
         counter=lambda a: ops.dot_general(a(9), ops.dot_general(a(9, 8), a(8, 7), contracting_dims=((1,), (0,))),
                                           contracting_dims=((0,), (0,))))
def chain_from_the_left_if_finite(x, y, p, u, d, t, s, result_shape):
    """u @ (x @ y) = (u @ x) @ y if that is finite"""
    if not _saves(x, y, p):
        return None
    cheap = chain_from_the_left(x, y, p, u, d, t, s)
    return _if_finite(cheap, x, y, p, s, lambda product: t.build((u, product), result_shape))


@rewrite(reduced(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=q, template="s"))),
         dtypes="float", changes="rounding",
         example=lambda a: ops.reduce(ops.dot_general(side_of(a, 11, 10), side_of(a, 10, 12), contracting_dims=(
             (1,), (0,))), ops.constant(0.0), (0, 1), "add"),
         counter=lambda a: ops.reduce(ops.dot_general(a(6, 7), a(7, 8), contracting_dims=((1,), (0,))),
                                      ops.constant(0, a.dtype), (0, 1), "add"))
def sum_of_products_if_finite(x, y, q, s, v, d, t, result_shape, result_dtype):
    """sum(x @ y) = sum(x) @ sum(y) if that is finite"""
    if not _saves(x, y, q):
        return None
    cheap = summed_factors(x, y, q, s, v, d, t, result_shape, result_dtype)
    return _if_finite(cheap, x, y, q, s, lambda product: ops.reduce(product, v, d, "add"))
