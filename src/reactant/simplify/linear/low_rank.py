"""A diagonal matrix plus a product of few columns: systems by Sherman, Morrison and Woodbury, and determinants.

(d + u v')^-1 = d^-1 - d^-1 u (1 + v' d^-1 u)^-1 v' d^-1 and det(d + u v') = det(d) det(1 + v' d^-1 u), where d is
diagonal and u has k columns: n k^2 operations in place of n^3.

Both lose accuracy where d is much worse conditioned than d + u v' (Yip, SIAM J. Sci. Stat. Comput. 7, 1986): with the
smallest element of d near zero, the two terms nearly cancel. So they change "association" and are off by default, and
d is looked at when the program runs: unless its elements are within a factor of 1 / sqrt(eps) of each other, it is LU.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_of, size
from reactant.rewrite import Site, producer, rewrite, variables
from reactant.simplify.linear.bands import bands_of
from reactant.simplify.linear.block_systems import system
from reactant.simplify.linear.factorizations import again, determinant, determinant_only, is_lu, solution, solved_by
from reactant.simplify.linear.solving import TriangularSolve, side_of, solve
from reactant.simplify.linear.structured import diagonal_of, identity_mask

a, b = variables("a b")
FEWER = 4
"""The product has at most one column in so many rows of the matrix."""


class Updated(NamedTuple):
    """diag(d) + left @ right."""
    diagonal: Callable[[], ir.Value]
    left: Callable[[], ir.Value]        # [n, k]
    right: Callable[[], ir.Value]       # [k, n]
    rank: int
    number: np.ndarray | None
    """What stands everywhere on the diagonal, where that is known."""


def updated(matrix: ir.Value) -> Updated | None:
    """A square matrix as a diagonal one and a product of few columns, from how it is made."""
    made = producer(matrix)
    if made is None or made.name not in ("stablehlo.add", "stablehlo.subtract") or is_complex(dtype_of(matrix)) \
            or len(shape_of(matrix)) != 2 or shape_of(matrix)[0] != shape_of(matrix)[1]:
        return None
    pairs = [made.operands] if made.name == "stablehlo.subtract" else [made.operands, made.operands[::-1]]
    for one, other in pairs:
        bands, product = bands_of(one), _product(other)
        if bands is None or set(bands.lines) != {0} or product is None or FEWER * product[2] > shape_of(matrix)[0]:
            continue
        line, (left, right, rank) = bands.lines[0], product
        return Updated(line.build, left if made.name == "stablehlo.add" else _negated(left), right, rank, line.number)
    return None


def _negated(build: Callable[[], ir.Value]) -> Callable[[], ir.Value]:
    return lambda: ops.negate(build())


def _product(value: ir.Value) -> tuple[Callable[[], ir.Value], Callable[[], ir.Value], int] | None:
    """(left, right, k) of a product of matrices that sums over k, or of the outer product of two vectors."""
    made = producer(value)
    if made is None:
        return None
    if made.name == "stablehlo.dot_general":
        d, (x, y) = made["dot_dimension_numbers"], made.operands
        if d.batching_dims[0] or len(shape_of(x)) != 2 or len(shape_of(y)) != 2 or len(d.contracting_dims[0]) != 1 \
                or not dtype_of(x) == dtype_of(y) == dtype_of(value):
            return None
        (k,), (m,) = d.contracting_dims
        return (lambda: ops.transpose(x, (1, 0)) if k == 0 else x), \
            (lambda: ops.transpose(y, (1, 0)) if m == 1 else y), shape_of(x)[k]
    if made.name != "stablehlo.multiply":
        return None
    found = {}
    for factor in made.operands:
        spread = producer(factor)
        if spread is None or spread.name != "stablehlo.broadcast_in_dim":
            return None
        wide = [k for k, n in enumerate(shape_of(spread.operands[0])) if n != 1]
        if len(wide) != 1:
            return None
        found[spread["broadcast_dimensions"][wide[0]]] = spread.operands[0]
    if set(found) != {0, 1}:
        return None
    return (lambda: ops.reshape(found[0], (size(shape_of(found[0])), 1))), \
        (lambda: ops.reshape(found[1], (1, size(shape_of(found[1]))))), 1


def _even(diagonal: ir.Value) -> ir.Value:
    """Whether the elements of a vector are within a factor of 1 / sqrt(eps) of each other (0-d; not if one is NaN)."""
    sizes, dtype = ops.abs(diagonal), dtype_of(diagonal)
    least = ops.reduce(sizes, ops.constant(np.inf, dtype), (0,), "minimum")
    most = ops.reduce(sizes, ops.constant(0, dtype), (0,), "maximum")
    enough = ops.multiply(most, ops.constant(np.sqrt(np.finfo(dtype).eps), dtype))
    return ops.and_(ops.compare(least, enough, "GT"), ops.compare(most, ops.constant(np.inf, dtype), "LT"))


def _capacitance(found: Updated, over: ir.Value) -> ir.Value:
    """1 + right @ (left over the diagonal), [k, k]."""
    inner = ops.dot_general(found.right(), over, contracting_dims=((1,), (0,)))
    return ops.add(ops.convert(identity_mask(found.rank), dtype_of(inner)), inner)


def _over(value: ir.Value, diagonal: ir.Value) -> ir.Value:
    return ops.divide(value, ops.broadcast_in_dim(diagonal, shape_of(value), (0,)))


def _known_even(number: np.ndarray | None) -> bool:
    return number is not None and bool(np.isfinite(number)) and number != 0


def _matrix(a: Any, subtract: bool = False) -> ir.Value:
    """1 + u v', for examples."""
    u, v = (side_of(a, 8, 2) for _ in range(2))
    product = ops.dot_general(u, v, contracting_dims=((1,), (1,)))
    return (ops.subtract if subtract else ops.add)(
        ops.multiply(ops.convert(identity_mask(8), np.float64), 40.0), product)


def _outer(a: Any) -> ir.Value:
    """diag(d) + u v' of vectors, for examples."""
    d = ops.add(ops.abs(side_of(a, 8)), 9.0)
    u, v = (ops.broadcast_in_dim(side_of(a, 8), (8, 8), (k,)) for k in (0, 1))
    return ops.add(ops.select(identity_mask(8), ops.broadcast_in_dim(d, (8, 8), (0,)), 0.0), ops.multiply(u, v))


@rewrite(solve(), changes="association", assumes="finite",
         example=(lambda a: system(_matrix(a), side_of(a, 8, 3)), lambda a: system(_matrix(a, True), side_of(a, 8, 1))),
         counter=lambda a: system(ops.add(side_of(a, 8, 8), side_of(a, 8, 8)), side_of(a, 8, 2)))
def solve_with_low_rank(a, b, t, result):
    """solve(diag(d) + u v', b) = b/d - (u/d) solve(1 + v' (u/d), v' (b/d)); by LU where d varies too much"""
    system = solution(result)
    found = None if system is None else updated(system.m)
    if system is None or found is None:
        return None
    outer, right = TriangularSolve.of(result), system.b
    diagonal = found.diagonal()

    def short() -> ir.Value:
        over, inner = _over(found.left(), diagonal), _over(right, diagonal)
        small = _capacitance(found, over)
        middle = ops.dot_general(found.right(), inner, contracting_dims=((1,), (0,)))
        if found.rank == 1:
            solved = ops.divide(middle, ops.broadcast_in_dim(ops.reshape(small, (1,)), shape_of(middle), (0,)))
        else:
            solved = solved_by(system.factor, outer, small, middle)
        return ops.subtract(inner, ops.dot_general(over, solved, contracting_dims=((1,), (0,))))
    if _known_even(found.number):
        return short()
    # behind a barrier, the matrix is not seen to have structure again
    return ops.if_(_even(diagonal), lambda: [short()], lambda: [solved_by(
        system.factor, outer, ops.optimization_barrier(system.m)[0], right)], [result.type])[0]


@rewrite("stablehlo.custom_call", changes="association", assumes="finite",
         example=(lambda a: determinant(_matrix(a)), lambda a: determinant(_matrix(a, True))),
         counter=(lambda a: determinant(_outer(a)),
                  lambda a: determinant(ops.add(side_of(a, 8, 8), side_of(a, 8, 8)))))
def determinant_with_low_rank(site: Site):
    """det(c 1 + u v') = c^n det(1 + v' u / c), for a known number c"""
    found = updated(site.operands[0]) if is_lu(site.op) else None
    if found is None or not _known_even(found.number) or not determinant_only(site.op):
        return None
    diagonal, n = found.diagonal(), shape_of(site.operands[0])[0]
    small = _capacitance(found, _over(found.left(), diagonal))
    factors, places, info = again(site.op, small)
    one = ops.constant(1, dtype_of(diagonal), (n - found.rank,))
    diagonal = ops.multiply(diagonal, ops.concatenate([diagonal_of(factors), one], 0))
    still = ops.add(ops.iota((n - found.rank,), dtype_of(places), 0), found.rank + 1)
    return [ops.broadcast_in_dim(diagonal, shape_of(site.operands[0]), (0,)), ops.concatenate([places, still], 0), info]
