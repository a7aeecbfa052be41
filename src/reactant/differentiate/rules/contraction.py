"""Products of matrices, Fourier transforms, factorizations."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, bilinear, derivative, linear
from reactant.differentiate.facts.masks import chosen_factor
from reactant.differentiate.rules.matrices import solver_of, triangle
from reactant.ir import ops
from reactant.ir.matrices import adjoint, matmul, swapped
from reactant.ir.types import dtype_of, is_complex, shape_of, size

# ---- dot_general ---------------------------------------------------------------------------------------------------

def _free(rank: int, *used: Sequence[int]) -> list[int]:
    return [d for d in range(rank) if not any(d in dims for dims in used)]


def _transpose_side(call: Call, g: ir.Value, side: int) -> ir.Value:
    """The cotangent of one factor: g contracted with the other factor over its free dimensions."""
    numbers = call.attributes["dot_dimension_numbers"]
    mine, other = side, 1 - side
    batch, contract = numbers.batching_dims, numbers.contracting_dims
    wanted, factor = call.inputs[mine], call.operands[other]
    free_mine = _free(len(shape_of(wanted)), batch[mine], contract[mine])
    free_other = _free(len(shape_of(factor)), batch[other], contract[other])
    count = len(batch[mine])
    offset = count + (len(free_mine) if side == 0 else 0)          # where the other's free dimensions are in g
    in_g = [offset + i for i in range(len(free_other))]
    factor = chosen_factor(g, factor, {**dict(zip(in_g, free_other, strict=True)), **dict(enumerate(batch[other]))})
    made = ops.dot_general(g, ops.convert(factor, dtype_of(g)), contracting_dims=(in_g, free_other),
                           batching_dims=(list(range(count)), list(batch[other])),
                           precision=call.op.attributes["precision_config"]
                           if "precision_config" in call.op.attributes else None)
    # now: batch, free of mine, contracted dimensions in the order of the factor
    order = sorted(contract[other])
    contracted = [contract[mine][contract[other].index(d)] for d in order]
    have = [*batch[mine], *free_mine, *contracted]
    return ops.convert(ops.transpose(made, [have.index(d) for d in range(len(have))]), dtype_of(wanted))


bilinear("dot_general", lambda call, g: _transpose_side(call, g, 0), lambda call, g: _transpose_side(call, g, 1))


# ---- fft -----------------------------------------------------------------------------------------------------------

def _fft_transpose(call: Call, g: ir.Value) -> list[ir.Value]:
    """With cotangents that pair without conjugation, FFT and IFFT are their own transposes."""
    kind, lengths = str(call.op.attributes["fft_type"]).split()[-1].rstrip(">"), call.attributes["fft_length"]
    if kind in ("FFT", "IFFT"):
        return [ops.fft(g, kind, lengths)]
    half = lengths[-1] // 2 + 1
    weights = np.full(half, 2.0)             # the frequencies that stand for their negatives, too
    weights[0] = 1
    if lengths[-1] % 2 == 0:
        weights[-1] = 1
    if kind == "RFFT":
        return [ops.fft(_weighted(ops.conj(g), size(lengths) / weights), "IRFFT", lengths)]
    return [_weighted(ops.conj(ops.fft(g, "RFFT", lengths)), weights / size(lengths))]


def _weighted(spectrum: ir.Value, weights: np.ndarray) -> ir.Value:
    """A factor for each element of the last dimension."""
    shape = shape_of(spectrum)
    scale = ops.constant(weights.astype(dtype_of(spectrum)))
    return ops.multiply(spectrum, ops.broadcast_in_dim(scale, shape, [len(shape) - 1]))


linear("fft", _fft_transpose)


# ---- triangular matrices -------------------------------------------------------------------------------------------

Solver = Callable[..., ir.Value]
"""As `ops.triangular_solve`."""


def cholesky_tangent(factor: ir.Value, t: ir.Value, lower: bool, solve: Solver) -> ir.Value:
    """L' = L phi(L^-1 A' L^-H), phi: the lower triangle with half the diagonal. A' is made of the triangle that is
    read; the imaginary part of the diagonal is not read."""
    low = factor if lower else adjoint(factor)
    t = triangle(t if lower else adjoint(t), True, 0.5)
    t = ops.add(t, adjoint(t))
    solved = solve(low, t, left_side=True, lower=True)
    solved = adjoint(solve(low, adjoint(solved), left_side=True, lower=True))
    moved = matmul(low, triangle(solved, True, 0.5))
    return moved if lower else adjoint(moved)


def _cholesky_forward(call: Call, tangents: Tangents) -> Tangents:
    lower = bool(call.attributes.get("lower", False))
    factor = triangle(call.results[0], lower, 1.0)
    return [cholesky_tangent(factor, tangents[0], lower, ops.triangular_solve)]


def _solve_options(call: Call) -> dict[str, Any]:
    given = call.attributes
    return {"left_side": given["left_side"], "lower": given["lower"], "unit_diagonal": given["unit_diagonal"],
            "transpose_a": str(call.op.attributes["transpose_a"]).split()[-1].rstrip(">")}


_OF_TRANSPOSE = {"NO_TRANSPOSE": lambda m: m, "TRANSPOSE": swapped, "ADJOINT": adjoint}


def solve_tangent(call: Call, tangents: Tangents, options: dict[str, Any]) -> Tangents:
    """op(A) X = B: op(A) X' = B' - op(A') X."""
    ta, right = tangents
    if ta is not None:
        x = call.results[0]
        ta = triangle(ta, options["lower"], 0.0 if options["unit_diagonal"] else 1.0)
        ta = _OF_TRANSPOSE[options["transpose_a"]](ta)
        product = matmul(ta, x) if options["left_side"] else matmul(x, ta)
        right = ops.negate(product) if right is None else ops.subtract(right, product)
    return [solver_of(call)(call.operands[0], right, **options)]


def solve_cotangents(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool],
                     options: dict[str, Any]) -> list[ir.Value | None]:
    """B's cotangent solves with the transpose of op(A); A's is minus its product with X, on the triangle."""
    a, kind, left_side = call.operands[0], options["transpose_a"], options["left_side"]
    conjugated = kind == "ADJOINT" and is_complex(dtype_of(a))
    used = ops.conj(a) if conjugated else a
    back = "TRANSPOSE" if kind == "NO_TRANSPOSE" else "NO_TRANSPOSE"
    right = solver_of(call)(used, g[0], **{**options, "transpose_a": back})
    left = None
    if wanted[0]:
        x = call.results[0]
        product = matmul(right, swapped(x)) if left_side else matmul(swapped(x), right)
        product = product if kind == "NO_TRANSPOSE" else swapped(product)
        product = ops.conj(product) if conjugated else product
        left = ops.negate(triangle(product, options["lower"], 0.0 if options["unit_diagonal"] else 1.0))
    return [left, right if wanted[1] else None]


derivative("cholesky", _cholesky_forward)
derivative("triangular_solve", lambda call, tangents: solve_tangent(call, tangents, _solve_options(call)),
           lambda call, g, wanted: solve_cotangents(call, g, wanted, _solve_options(call)))
