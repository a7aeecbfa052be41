"""Functions of matrices (see `differentiate.spectral`), by divided differences (Daleckii and Krein)."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, number
from reactant.differentiate.recognised.cones import cone_of, with_slope
from reactant.differentiate.recognised.spectral import ANY, FUNCTION, SYMMETRIC
from reactant.differentiate.rules.matrices import (
    of_columns,
    of_rows,
    setting,
    triangle,
    with_diagonal,
    without_diagonal,
)
from reactant.ir import ops
from reactant.ir.matrices import adjoint, matmul
from reactant.ir.types import dtype_of, is_complex, shape_of


def function_tangent(call: Call, tangents: Tangents) -> ir.Value:
    """Of F = U diag(g) V^H, from those of A = U diag(s) V^H and of g: with M = U^H A' V = S + K (S^H = S, K^H = -K) it
    is U (S_ij (g_j - g_i) / (s_j - s_i) + K_ij (g_j + g_i) / (s_j + s_i)) V^H off the diagonal, g' on it."""
    _, _, left, values, right, g = call.operands[:6]
    ta, tg = tangents[1], tangents[5]
    decomposition = call.op.operands[2].owner.operation
    symmetric = ops.target_of(decomposition).endswith(SYMMETRIC)
    right = right if symmetric else adjoint(right)
    shape = (*shape_of(values), shape_of(values)[-1])
    if ta is None:
        ta = ops.splat(0, call.operands[1])
    diagonal = _zeros(shape[:-1], left) if tg is None else ops.convert(tg, dtype_of(left))
    slopes = _Slopes(call, values, g, tg is not None)
    if symmetric:
        lower = setting(Call(decomposition, (), ()), "uplo") != ord("U")
        t = triangle(ta, lower, 0.5)
        middle = matmul(matmul(adjoint(left), ops.add(t, adjoint(t))), left)
        inner = with_diagonal(ops.multiply(without_diagonal(slopes.differences(shape, left)), middle), diagonal)
        return matmul(matmul(left, inner), adjoint(right))
    middle = matmul(matmul(adjoint(left), ta), right)
    half = ops.splat(0.5, middle)
    even = ops.multiply(ops.add(middle, adjoint(middle)), half)
    odd = ops.multiply(ops.subtract(middle, adjoint(middle)), half)
    sums = slopes.sums(shape, left)
    sums = sums if is_complex(dtype_of(sums)) else without_diagonal(sums)             # there is nothing: not NaN
    inner = ops.add(with_diagonal(ops.multiply(without_diagonal(slopes.differences(shape, left)), even), diagonal),
                    ops.multiply(sums, odd))
    found = matmul(matmul(left, inner), adjoint(right))
    m, n = shape_of(ta)[-2:]
    k = shape[-1]
    quotient = slopes.quotients(left)
    if m > k:
        outside = ops.subtract(matmul(ta, right), matmul(left, middle))
        found = ops.add(found, matmul(ops.multiply(outside, of_columns(quotient, shape_of(outside))), adjoint(right)))
    if n > k:
        outside = ops.subtract(matmul(adjoint(left), ta), matmul(middle, adjoint(right)))
        found = ops.add(found, matmul(left, ops.multiply(of_rows(quotient, shape_of(outside)), outside)))
    return found


def _zeros(shape: tuple[int, ...], like: ir.Value) -> ir.Value:
    return ops.constant(np.zeros((), dtype_of(like)), dtype_of(like), shape)


class _Slopes:
    """Divided differences of g over the values, (batch..., k), where they are equal its slope. Where nobody can tell
    what that is (g varies with all values), they are NaN."""

    def __init__(self, call: Call, values: ir.Value, g: ir.Value, varies: bool):
        self.values, self.g, self.varies = values, g, varies
        self.slope: ir.Value | None = None
        count = int(ir.IntegerAttr(call.op.attributes[FUNCTION]).value)
        if count != ANY:
            cone = cone_of(call.op.operands[5], call.op.operands[3])
            assert cone is not None and len(cone.parameters) == count
            given = dict(zip(cone.parameters, call.operands[6:6 + count], strict=True))
            self.slope = with_slope(lambda: cone.build(values, given), values)[1]

    def _pairs(self, x: ir.Value, shape: tuple[int, ...]) -> tuple[ir.Value, ir.Value]:
        return of_rows(x, shape), of_columns(x, shape)

    def _unknown(self, like: ir.Value) -> ir.Value:
        return ops.splat(np.nan if self.varies else 0, like)

    def differences(self, shape: tuple[int, ...], like: ir.Value) -> ir.Value:
        """(g_j - g_i) / (s_j - s_i). By the mean of the slopes, where that loses fewer digits."""
        (si, sj), (gi, gj) = self._pairs(self.values, shape), self._pairs(self.g, shape)
        precision = np.finfo(dtype_of(self.values)).eps
        gap, last = ops.subtract(sj, si), len(shape) - 2
        scale = ops.reduce(ops.abs(self.values), 0, [last], "maximum")
        scale = ops.broadcast_in_dim(scale, shape, range(last))
        same = ops.compare(gap, 0, "EQ")
        safe = ops.select(same, number(1, gap), gap)
        change = ops.subtract(gj, gi)
        if is_complex(dtype_of(change)):
            safe = ops.convert(safe, dtype_of(change))
        quotient = ops.divide(change, safe)
        if self.slope is None:
            near = ops.compare(ops.abs(gap), ops.multiply(scale, 8 * precision), "LE")
            differs = ops.and_(near, ops.compare(change, 0, "NE")) if not self.varies else None
            edge = self._unknown(quotient)
            if differs is not None:
                edge = ops.select(differs, ops.divide(change, ops.convert(gap, dtype_of(change))), edge)
            return ops.convert(ops.select(near, edge, quotient), dtype_of(like))
        di, dj = self._pairs(self.slope, shape)
        mean = ops.multiply(ops.add(di, dj), 0.5)
        bend = ops.abs(ops.subtract(dj, di))
        wrong = ops.multiply(ops.multiply(bend, bend), ops.abs(gap))                 # of the mean, times what follows
        lost = ops.multiply(ops.multiply(ops.add(ops.abs(gi), ops.abs(gj)), precision),
                            ops.add(ops.abs(di), ops.abs(dj)))                           # of the quotient
        close = ops.compare(ops.abs(gap), ops.multiply(scale, 3 * float(precision) ** (1 / 3)), "LE")
        near = ops.or_(same, ops.and_(close, ops.compare(wrong, lost, "LE")))
        return ops.convert(ops.select(near, mean, quotient), dtype_of(like))

    def sums(self, shape: tuple[int, ...], like: ir.Value) -> ir.Value:
        """(g_j + g_i) / (s_j + s_i)"""
        return self._ratio(ops.add(*self._pairs(self.g, shape)), ops.add(*self._pairs(self.values, shape)),
                           None if self.slope is None else of_rows(self.slope, shape), like)

    def quotients(self, like: ir.Value) -> ir.Value:
        """g / s"""
        return self._ratio(self.g, self.values, self.slope, like)

    def _ratio(self, top: ir.Value, bottom: ir.Value, slope: ir.Value | None, like: ir.Value) -> ir.Value:
        both = ops.and_(ops.compare(bottom, 0, "EQ"), ops.compare(top, 0, "EQ"))
        limit = self._unknown(top) if slope is None else slope
        bottom = ops.convert(ops.select(both, number(1, bottom), bottom), dtype_of(top))
        return ops.convert(ops.select(both, limit, ops.divide(top, bottom)), dtype_of(like))
