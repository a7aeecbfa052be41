"""Systems of equations and determinants of matrices that are put together of blocks among zeros.

LU with partial pivoting of a block-diagonal matrix never looks beyond a block, so its factors are those of the
blocks. Of a block-triangular one it may take pivots from other blocks. Substituting block by block leaves a residual of
the size of a rounding error all the same: each diagonal block is no worse conditioned than the whole matrix (its
inverse is a part of the inverse). So all rules here keep the accuracy of LU. Where an elimination would carry NaN from
block to block, what is not finite makes NaN of everything it would have met.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_of
from reactant.rewrite import Site, rewrite, users, variables
from reactant.simplify.facts.nan_guards import finite, finite_columns, if_sound, in_sound_columns
from reactant.simplify.linear.blocks import blocks_of
from reactant.simplify.linear.factorizations import (
    again,
    determinant,
    determinant_only,
    factored,
    is_lu,
    solution,
    solved_by,
)
from reactant.simplify.linear.solving import TriangularSolve, lapack_solve, side_of, solve, steady, take_rows
from reactant.simplify.linear.structured import diagonal_of

a, b = variables("a b")
LEAST = 4
"""Smallest side of a matrix that is divided."""


# ---- where a matrix may be divided ---------------------------------------------------------------------------------

def division(matrix: ir.Value) -> tuple[int, bool, bool] | None:
    """(k, zeros below, zeros above): rows and columns from k on stand apart from those before, where the block below
    or above the diagonal is zero; the k next to the middle, block-diagonal divisions first."""
    shape = shape_of(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < LEAST or is_complex(dtype_of(matrix)):
        return None
    blocks = blocks_of(matrix)
    if not blocks:
        return None
    n = shape[0]
    found = []
    for k in {edge for block in blocks for span in (block.rows, block.columns) for edge in (span.start, span.stop)}:
        if not 0 < k < n:
            continue
        below = not any(block.rows.stop > k and block.columns.start < k for block in blocks)
        above = not any(block.rows.start < k and block.columns.stop > k for block in blocks)
        if below or above:
            found.append((not (below and above), abs(2 * k - n), k, below, above))
    if not found:
        return None
    _, _, k, below, above = min(found)
    return k, below, above


def parts(matrix: ir.Value, k: int) -> list[list[ir.Value]]:
    """The four parts of a square matrix that is divided at k."""
    n = shape_of(matrix)[0]
    spans = ((0, k), (k, n))
    return [[ops.slice(matrix, (r[0], c[0]), (r[1], c[1])) for c in spans] for r in spans]


# ---- examples ------------------------------------------------------------------------------------------------------

def _beside(above: ir.Value, below: ir.Value, corner: ir.Value | None = None) -> ir.Value:
    """Two blocks on a diagonal, a third below the first."""
    k, m = shape_of(above)[0], shape_of(below)[0]
    lower = ops.pad(below, 0, (0, k), (0, 0)) if corner is None else ops.concatenate([corner, below], 1)
    return ops.concatenate([ops.pad(above, 0, (0, 0), (0, m)), lower], 0)


def _triangle(a: Any) -> ir.Value:
    return _beside(steady(a), steady(a), side_of(a, 4, 4))


def system(matrix: ir.Value, right: ir.Value) -> ir.Value:
    """solve(matrix, right) as JAX writes it, for examples."""
    factors, places, _ = factored(matrix)
    rows = take_rows(right, ops.subtract(places, 1))
    return lapack_solve(factors, lapack_solve(factors, rows, diag="U"), uplo="U")


# ---- block-diagonal ------------------------------------------------------------------------------------------------

@rewrite("stablehlo.custom_call", changes="rounding",
         example=lambda a: system(_beside(steady(a), steady(a, 5)), side_of(a, 9, 2)),
         counter=(lambda a: system(_triangle(a), side_of(a, 8, 2)), lambda a: system(steady(a), side_of(a, 4, 2))))
def factors_of_blocks(site: Site):
    """lu(a block-diagonal matrix) = the LU factorizations of its blocks; NaN where one is not finite"""
    found = division(site.operands[0]) if is_lu(site.op) else None
    if found is None or not (found[1] and found[2]):
        return None
    matrix, k = site.operands[0], found[0]
    (first, _), (_, second) = parts(matrix, k)
    one, two = again(site.op, first), again(site.op, second)
    sound = finite(one[0], two[0])
    n = shape_of(matrix)[0]
    factors = ops.concatenate([ops.pad(if_sound(sound, one[0]), 0, (0, 0), (0, n - k)),
                               ops.pad(if_sound(sound, two[0]), 0, (0, k), (0, 0))], 0)
    places = ops.concatenate([one[1], ops.add(two[1], k)], 0)
    failed = ops.compare(two[2], 0, "GT")
    later = ops.select(failed, ops.add(two[2], k), two[2])
    return [factors, places, ops.select(ops.compare(one[2], 0, "EQ"), later, one[2])]


@rewrite(solve(), changes="rounding",
         example=(lambda a: lapack_solve(_beside(steady(a), steady(a, 5)), side_of(a, 9, 2)),
                  lambda a: lapack_solve(_beside(steady(a), steady(a, 5)), side_of(a, 9, 2), uplo="U", diag="U"),
                  lambda a: lapack_solve(_beside(steady(a), steady(a)), side_of(a, 8, 2), trans_x="T")),
         counter=(lambda a: lapack_solve(_triangle(a), side_of(a, 8, 2)),
                  lambda a: lapack_solve(_beside(steady(a), steady(a)), side_of(a, 2, 8), side="R")))
def triangle_of_blocks(a, b, t, result):
    """a triangular solve with a matrix of which the block between two triangles is zero = two solves"""
    outer = TriangularSolve.of(result)
    found = division(a) if outer is not None and outer.left and len(shape_of(b)) == 2 else None
    if found is None or not found[1 if outer.lower else 2]:
        return None
    k, (n, columns) = found[0], shape_of(b)
    (first, _), (_, second) = parts(a, k)
    halves = [replace(outer, a=first, b=ops.slice(b, (0, 0), (k, columns))).build(),
              replace(outer, a=second, b=ops.slice(b, (k, 0), (n, columns))).build()]
    # what is substituted first is multiplied by the zeros
    early = 0 if outer.lower == (outer.trans == "N") else 1
    halves[1 - early] = in_sound_columns(finite_columns(halves[early]), halves[1 - early])
    return ops.concatenate(halves, 0)


# ---- block-triangular ----------------------------------------------------------------------------------------------

@rewrite(solve(), changes="rounding", example=lambda a: system(_triangle(a), side_of(a, 8, 2)),
         counter=lambda a: system(steady(a, 8), side_of(a, 8, 2)))
def solve_with_block_triangle(a, b, t, result):
    """solve([[p, 0], [q, r]], b) by LU = x = solve(p, b[:k]), solve(r, b[k:] - q x); NaN beside what is not finite"""
    found = solution(result)
    cut = None if found is None or users(found.factor.results[0]) > 2 else division(found.m)
    if cut is None or (cut[1] and cut[2]):
        return None
    outer, matrix, right = TriangularSolve.of(result), found.m, found.b
    k, above = cut[0], cut[1]
    grid = parts(matrix, k)
    n, columns = shape_of(right)
    sides = [ops.slice(right, (0, 0), (k, columns)), ops.slice(right, (k, 0), (n, columns))]
    early = 1 if above else 0                     # what needs nothing of the other half
    late = 1 - early
    halves: list[ir.Value] = [right, right]
    halves[early] = solved_by(found.factor, outer, grid[early][early], sides[early])
    rest = ops.subtract(sides[late], ops.dot_general(grid[late][early], halves[early], contracting_dims=((1,), (0,))))
    halves[late] = solved_by(found.factor, outer, grid[late][late], rest)
    whole = ops.concatenate(halves, 0)
    return in_sound_columns(finite_columns(whole), whole)


@rewrite("stablehlo.custom_call", changes="rounding", example=lambda a: determinant(_triangle(a)),
         counter=(lambda a: determinant(steady(a, 8)), lambda a: factored(_triangle(a))))
def determinant_of_block_triangle(site: Site):
    """det([[p, 0], [q, r]]) = det(p) det(r)"""
    found = division(site.operands[0]) if is_lu(site.op) else None
    if found is None or (found[1] and found[2]) or not determinant_only(site.op):
        return None
    matrix, k = site.operands[0], found[0]
    grid = parts(matrix, k)
    one, two = again(site.op, grid[0][0]), again(site.op, grid[1][1])
    diagonal = ops.concatenate([diagonal_of(one[0]), diagonal_of(two[0])], 0)
    beside = grid[0][1] if found[1] else grid[1][0]
    diagonal = if_sound(finite(beside), diagonal)
    return [ops.broadcast_in_dim(diagonal, shape_of(matrix), (0,)), ops.concatenate([one[1], ops.add(two[1], k)], 0),
            ops.minimum(one[2], two[2])]
