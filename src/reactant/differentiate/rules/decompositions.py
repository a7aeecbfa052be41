"""LAPACK's routines as jax calls them on CPU: triangular and tridiagonal solves, Cholesky, LU."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import (
    Call,
    Contribution,
    Tangents,
    derivative,
    plus,
    times,
    zeros,
)
from reactant.differentiate.recognised.determinants import DETERMINANT
from reactant.differentiate.recognised.factors import DIAGONAL, ORTHOGONAL, reads_only
from reactant.differentiate.recognised.prepare import SOLUTION
from reactant.differentiate.recognised.roots import EVEN_FUNCTION, SQUARE_OF_ANGLE, angle_slope, even_tangent
from reactant.differentiate.recognised.signs import HYPOT, PRODUCT, SAME, finite_factor, slope_of_norm, unless_zero
from reactant.differentiate.recognised.smooth import LOG_OF_SUM, SINC, slope_of_sinc, slopes
from reactant.differentiate.recognised.spectral import FUNCTION
from reactant.differentiate.rules import cofactors
from reactant.differentiate.rules.contraction import cholesky_tangent, solve_cotangents, solve_tangent
from reactant.differentiate.rules.indexing import taken
from reactant.differentiate.rules.matrices import (
    diagonal,
    diagonal_only,
    factors_tangent,
    of_rows,
    padded,
    part,
    setting,
    triangle,
    with_diagonal,
    with_unit_diagonal,
)
from reactant.differentiate.rules.spectral import function_tangent
from reactant.ir import ops
from reactant.ir.cusolver import permutation
from reactant.ir.lapack import TRANSPOSES, lapack_solve
from reactant.ir.matrices import matmul, swapped
from reactant.ir.types import dtype_of, shape_of

UPPER, LEFT, UNIT = (ord(letter) for letter in "ULU")
NAMES_OF_TRANSPOSES = {ord(letter): name for name, letter in TRANSPOSES.items()}


def routine(name: str, forward: Any, reverse: Any = None, letters: str = "sdcz") -> None:
    """The rule of a routine in single, double, complex and double complex."""
    for letter in letters:
        derivative(f"stablehlo.custom_call@lapack_{letter}{name}_ffi", forward, reverse)


# ---- triangular solves ---------------------------------------------------------------------------------------------

def _solve_options(call: Call) -> dict[str, Any]:
    return {"left_side": setting(call, "side") == LEFT, "lower": setting(call, "uplo") != UPPER,
            "unit_diagonal": setting(call, "diag") == UNIT,
            "transpose_a": NAMES_OF_TRANSPOSES[setting(call, "trans_x")]}


routine("trsm", lambda call, tangents: solve_tangent(call, tangents, _solve_options(call)),
         lambda call, g, wanted: solve_cotangents(call, g, wanted, _solve_options(call)))


# ---- factorizations ------------------------------------------------------------------------------------------------

def _cholesky_forward(call: Call, tangents: Tangents) -> Tangents:
    """The other triangle of the result is that of the operand."""
    lower = setting(call, "uplo") != UPPER
    moved = cholesky_tangent(triangle(call.results[0], lower, 1.0), tangents[0], lower, lapack_solve)
    return [ops.add(moved, triangle(tangents[0], not lower, 0.0)), None]


def _rows(pivots: ir.Value, count: int, original: ir.Value) -> ir.Value:
    """The permutation of `count` rows that LAPACK's swaps make: (batch..., count). original: the pivots in the program
    that is differentiated."""
    if (there := permutation(pivots, count, original)) is not None:
        return there
    swaps = shape_of(pivots)[-1]
    if len(shape_of(pivots)) == 1:
        return _rows_of_one(pivots, count)
    shape = (*shape_of(pivots)[:-1], count)
    last = len(shape) - 1
    columns = ops.iota(shape, "int32", last)
    if swaps < count:
        rest = ops.slice(columns, [0] * last + [swaps], shape)
        pivots = ops.concatenate([pivots, ops.add(rest, 1)], last)

    def at(values: ir.Value, where: ir.Value) -> ir.Value:
        """The element of each row that `where` marks, at all places of the row."""
        found = ops.reduce(ops.select(where, values, 0), 0, [last], "add")
        return ops.broadcast_in_dim(found, shape, range(last))

    def swap(i: ir.Value, order: ir.Value) -> list[ir.Value]:
        here = ops.compare(columns, ops.broadcast_in_dim(i, shape, ()), "EQ")
        there = ops.compare(columns, ops.subtract(at(pivots, here), 1), "EQ")
        return [ops.add(i, 1), ops.select(here, at(order, there), ops.select(there, at(order, here), order))]

    return ops.while_([ops.constant(0, "int32"), columns], lambda i, _: ops.compare(i, swaps, "LT"), swap)[1]


def _rows_of_one(pivots: ir.Value, count: int) -> ir.Value:
    def swap(i: ir.Value, order: ir.Value) -> list[ir.Value]:
        j = ops.subtract(ops.reshape(ops.dynamic_slice(pivots, [i], (1,)), ()), 1)
        here, there = ops.dynamic_slice(order, [i], (1,)), ops.dynamic_slice(order, [j], (1,))
        order = ops.dynamic_update_slice(order, there, [i])
        return [ops.add(i, 1), ops.dynamic_update_slice(order, here, [j])]

    start = [ops.constant(0, "int32"), ops.iota((count,), "int32", 0)]
    return ops.while_(start, lambda i, _: ops.compare(i, shape_of(pivots)[0], "LT"), swap)[1]


def _permuted(pivots: ir.Value, x: ir.Value, back: bool, original: ir.Value) -> ir.Value:
    """P x, or P^T x; original: see `_rows`."""
    shape = shape_of(x)
    rows = _rows(pivots, shape[-2], original)
    if back:                                                    # where each row has gone
        places = ops.iota(shape_of(rows), "int32", len(shape) - 2)
        rows = ops.sort([rows, places], len(shape) - 2)[1]
    return taken(x, ops.broadcast_in_dim(rows, shape, range(len(shape) - 1)), len(shape) - 2)


def _lu_factors(packed: ir.Value) -> tuple[ir.Value, ir.Value]:
    """L (its diagonal left to be read as ones) and U; the one that is not square is continued by the identity."""
    shape = shape_of(packed)
    m, n = shape[-2:]
    k = min(m, n)
    low_factor = padded(triangle(part(packed, (0, m), (0, k)), True, 0.0), m, m)
    up_factor = padded(triangle(part(packed, (0, k), (0, n)), False, 1.0), n, n)
    if n > m:
        more = ops.reshape(ops.compare(ops.iota((n,), "int32", 0), m, "GE"), (n,))
        ones = ops.broadcast_in_dim(more, shape_of(up_factor), [len(shape) - 1])
        up_factor = ops.select(ones, with_unit_diagonal(up_factor), up_factor)
    return low_factor, up_factor


def _lu_forward(call: Call, tangents: Tangents) -> Tangents:
    """P A = L U: with M = L^-1 P A' U^-1, L' = L low(M) and U' = up(M) U, packed as L and U are."""
    low_factor, up_factor = _lu_factors(call.results[0])
    middle = lapack_solve(low_factor, _permuted(call.results[1], tangents[0], False, call.op.results[1]),
                          left_side=True, lower=True, unit_diagonal=True)
    middle = lapack_solve(up_factor, middle, left_side=False, lower=False)
    low, up = triangle(middle, True, 0.0), triangle(middle, False, 1.0)
    return [ops.add(ops.add(matmul(low_factor, low), low), matmul(up, up_factor)), None, None]


def _lu_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
    """The transpose. Of determinants, which read only the diagonal of U, M gets diag(G U^T) = diag(G) diag(U)."""
    if g[0] is None:
        return [None]
    low_factor, up_factor = _lu_factors(call.results[0])
    if reads_only(call.op.results[0], DIAGONAL):
        middle = diagonal_only(ops.multiply(g[0], call.results[0]))
    else:
        low, up = ops.add(matmul(swapped(low_factor), g[0]), g[0]), matmul(g[0], swapped(up_factor))
        middle = ops.add(triangle(low, True, 0.0), triangle(up, False, 1.0))
    moved = lapack_solve(up_factor, middle, left_side=False, lower=False, transpose_a="TRANSPOSE")
    moved = lapack_solve(low_factor, moved, left_side=True, lower=True, unit_diagonal=True, transpose_a="TRANSPOSE")
    return [_permuted(call.results[1], moved, True, call.op.results[1])]


NEARLY_ZERO = 2.0**-64


def _regular(packed: ir.Value, pivots: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Packed L and U without zeros on the diagonal, and the determinants of that, (batch...)."""
    u = diagonal(packed)
    shape, last, dtype = shape_of(u), len(shape_of(u)) - 1, dtype_of(u)
    size = ops.abs(u)
    zero, largest = ops.compare(size, 0, "EQ"), ops.reduce(size, 0.0, [last], "maximum")
    largest = ops.select(ops.compare(largest, 0, "EQ"), ops.splat(1, largest), largest)
    small = ops.broadcast_in_dim(ops.multiply(largest, ops.splat(NEARLY_ZERO, largest)), shape, range(last))
    u, size = ops.select(zero, ops.convert(small, dtype), u), ops.select(zero, small, size)
    swapped = ops.compare(pivots, ops.add(ops.iota(shape, np.int32, last), 1), "NE")
    phase = ops.divide(u, ops.convert(size, dtype))
    phase = ops.reduce(ops.select(swapped, ops.negate(phase), phase), 1, [last], "multiply")
    total = ops.exponential(ops.reduce(ops.log(size), 0, [last], "add"))
    return with_diagonal(packed, u), ops.multiply(phase, ops.convert(total, dtype))


def _determinant(packed: ir.Value, pivots: ir.Value) -> ir.Value:
    return _regular(packed, pivots)[1]


def _cofactors(call: Call) -> ir.Value:
    """d det A / d A: det A A^-T, by what `_regular` says of singular matrices."""
    packed, determinant = _regular(*call.operands[1:3])
    shape = shape_of(packed)
    scale = ops.broadcast_in_dim(determinant, shape[:-1], range(len(shape) - 2))
    moved = lapack_solve(packed, with_diagonal(zeros(packed), scale), left_side=True, lower=False,
                         transpose_a="TRANSPOSE")
    moved = lapack_solve(packed, moved, left_side=True, lower=True, unit_diagonal=True, transpose_a="TRANSPOSE")
    factorization = call.op.operands[1].owner.operation
    return cofactors.marked(_permuted(call.operands[2], moved, True, call.op.operands[2]), call.operands[3],
                            factorization, _determinant)


def _determinant_tangent(call: Call, t: ir.Value) -> ir.Value:
    moved = ops.multiply(_cofactors(call), t)
    last = len(shape_of(t)) - 1
    return ops.reduce(moved, 0, [last - 1, last], "add")


def _determinant_cotangent(call: Call, g: ir.Value) -> ir.Value:
    found = _cofactors(call)
    shape = shape_of(found)
    return ops.multiply(ops.broadcast_in_dim(g, shape, range(len(shape) - 2)), found)


# ---- barriers, and the solutions that they mark ---------------------------------------------------------------------

def _barrier_forward(call: Call, tangents: Tangents) -> Tangents:
    """Of a solution: A x = b has x' = A^-1 (b' - A' x)."""
    if LOG_OF_SUM in call.op.attributes:
        moved = [None if t is None else ops.multiply(slope, t)
                 for slope, t in zip(slopes(call), tangents[1:], strict=True)]
        return [plus(*moved), *tangents[1:]]
    if FUNCTION in call.op.attributes:
        return [function_tangent(call, tangents), *tangents[1:]]
    if EVEN_FUNCTION in call.op.attributes:
        return [even_tangent(call, tangents), *tangents[1:]]
    if SQUARE_OF_ANGLE in call.op.attributes:
        return [None if tangents[2] is None else ops.multiply(angle_slope(call), tangents[2]), *tangents[1:]]
    if SINC in call.op.attributes:
        return [None if tangents[1] is None else ops.multiply(slope_of_sinc(call), tangents[1]), tangents[1]]
    if SAME in call.op.attributes:
        return [tangents[1], tangents[1]]
    if HYPOT in call.op.attributes:
        scale, found = slope_of_norm(call.operands[0]), None
        for part, t in zip(call.operands[1:], tangents[1:], strict=True):
            found = plus(found, None if t is None else times(ops.multiply(part, scale), t, strong=True))
        return [found, *tangents[1:]]
    if DETERMINANT in call.op.attributes:
        return [None if tangents[3] is None else _determinant_tangent(call, tangents[3]), *tangents[1:]]
    if PRODUCT in call.op.attributes:
        _, f, v = call.operands
        _, tf, tv = tangents
        return [plus(None if tv is None else ops.multiply(finite_factor(f, v), tv),
                     None if tf is None else unless_zero(v, ops.multiply(v, tf))), tf, tv]
    if ORTHOGONAL in call.op.attributes:
        packed, q, _ = call.operands
        return [None, None, None] if tangents[2] is None else [*factors_tangent(packed, q, tangents[2]), tangents[2]]
    found = [t if t is None else ops.optimization_barrier(t)[0] for t in tangents]
    if SOLUTION in call.op.attributes:
        x, _, factor, pivots, _ = call.operands
        right, ta = tangents[1], tangents[4]
        if ta is not None:
            right = plus(right, ops.negate(matmul(_permuted(pivots, ta, False, call.op.operands[3]), x)))
        if right is None:
            return [None, *found[1:]]
        right = lapack_solve(factor, right, left_side=True, lower=True, unit_diagonal=True)
        found[0] = lapack_solve(factor, right, left_side=True, lower=False)
    return found


def _barrier_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]
                     ) -> list[Contribution] | None:
    if LOG_OF_SUM in call.op.attributes:
        assert g[1] is None and g[2] is None, "only its first result is used"
        return [None, *(ops.multiply(slope, g[0]) if want else None
                        for slope, want in zip(slopes(call), wanted[1:], strict=True))]
    if SINC in call.op.attributes:
        return [None, plus(None if g[0] is None else ops.multiply(slope_of_sinc(call), g[0]), g[1])]
    if SAME in call.op.attributes:
        return [None, plus(*g)]
    if HYPOT in call.op.attributes:
        assert g[1] is None and g[2] is None, "only its first result is used"
        scale = slope_of_norm(call.operands[0])
        return [None, *(times(ops.multiply(part, scale), g[0], strong=True) if want else None
                        for part, want in zip(call.operands[1:], wanted[1:], strict=True))]
    if DETERMINANT in call.op.attributes:
        return [None, g[1], None, plus(None if g[0] is None else _determinant_cotangent(call, g[0]), g[3])]
    if PRODUCT in call.op.attributes:
        assert g[1] is None and g[2] is None, "only its first result is used"
        _, f, v = call.operands
        return [None, unless_zero(v, ops.multiply(v, g[0])) if wanted[1] else None,
                ops.multiply(finite_factor(f, v), g[0]) if wanted[2] else None]
    if any(each in call.op.attributes for each in (ORTHOGONAL, FUNCTION, EVEN_FUNCTION, SQUARE_OF_ANGLE)):
        return None
    found: list[Contribution] = [None if each is None else ops.optimization_barrier(each)[0] for each in g]
    if SOLUTION in call.op.attributes and g[0] is not None:
        x, _, factor, pivots, _ = call.operands
        right = lapack_solve(factor, g[0], left_side=True, lower=False, transpose_a="TRANSPOSE")
        right = lapack_solve(factor, right, left_side=True, lower=True, unit_diagonal=True, transpose_a="TRANSPOSE")
        found[0] = None
        found[1] = plus(right, g[1]) if wanted[1] else None
        if wanted[4]:
            product = ops.negate(matmul(_permuted(pivots, right, True, call.op.operands[3]), swapped(x)))
            found[4] = plus(product, g[4])
    return found


derivative("optimization_barrier", _barrier_forward, _barrier_reverse)


# ---- tridiagonal systems -------------------------------------------------------------------------------------------

def _shifted(x: ir.Value, by: int) -> ir.Value:
    """Element i + by at place i of the last dimension, zero beyond."""
    shape = shape_of(x)
    start, limit, low, high = [0] * len(shape), list(shape), [0] * len(shape), [0] * len(shape)
    if by > 0:
        start[-1], high[-1] = by, by
    else:
        limit[-1], low[-1] = shape[-1] + by, -by
    return ops.pad(ops.slice(x, start, limit), 0, low, high)


def _beside(x: ir.Value, by: int) -> ir.Value:
    """Row i + by at row i, zero beyond."""
    return swapped(_shifted(swapped(x), by))


def _tridiagonal_forward(call: Call, tangents: Tangents) -> Tangents:
    """T X = B: T X' = B' - T' X, with row i of T: (low_i, mid_i, up_i)."""
    x = call.results[3]
    right = tangents[3]
    for t, by in zip(tangents[:3], (-1, 0, 1), strict=True):
        if t is not None:
            right = plus(right, ops.negate(ops.multiply(of_rows(t, shape_of(x)), _beside(x, by) if by else x)))
    return [None, None, None, call.again([*call.operands[:3], right])[3], None]


def _tridiagonal_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution]:
    low, middle, up = call.operands[:3]
    right = call.again([_shifted(up, -1), middle, _shifted(low, 1), g[3]])[3]
    x, rank = call.results[3], len(shape_of(g[3]))
    found: list[Contribution] = []
    for by, want in zip((-1, 0, 1), wanted, strict=False):
        product = ops.multiply(right, _beside(x, by) if by else x) if want else None
        found.append(ops.negate(ops.reduce(product, 0, [rank - 1], "add")) if want else None)
    return [*found, right if wanted[3] else None]


routine("potrf", _cholesky_forward)
routine("getrf", _lu_forward, _lu_reverse)
routine("gtsv", _tridiagonal_forward, _tridiagonal_reverse)
