"""Builders over stacks of matrices, (batch..., m, n), for the rules of linear algebra."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, attributes_of, zeros
from reactant.ir import ops
from reactant.ir.lapack import lapack_solve
from reactant.ir.matrices import adjoint, matmul
from reactant.ir.types import dtype_of, is_complex, shape_of


def _compared(shape: tuple[int, ...], direction: str) -> ir.Value:
    """Row number against column number."""
    rank = len(shape)
    return ops.compare(ops.iota(shape, np.int32, rank - 2), ops.iota(shape, np.int32, rank - 1), direction)


def triangle(a: ir.Value, lower: bool, diagonal: float) -> ir.Value:
    """One triangle of `a`, its diagonal multiplied by `diagonal`, zero elsewhere."""
    shape, zero = shape_of(a), zeros(a)
    beyond = "GT" if lower else "LT"
    if diagonal == 1:
        beyond = "GE" if lower else "LE"
    kept = ops.select(_compared(shape, beyond), a, zero)
    if diagonal in (0, 1):
        return kept
    return ops.add(kept, ops.select(_compared(shape, "EQ"), ops.multiply(a, diagonal), zero))


def diagonal_only(a: ir.Value) -> ir.Value:
    """The diagonal, zero elsewhere."""
    return ops.select(_compared(shape_of(a), "EQ"), a, zeros(a))


def without_diagonal(a: ir.Value) -> ir.Value:
    return ops.select(_compared(shape_of(a), "EQ"), zeros(a), a)


def with_unit_diagonal(a: ir.Value) -> ir.Value:
    return ops.select(_compared(shape_of(a), "EQ"), ops.splat(1, a), a)


def with_diagonal(a: ir.Value, diagonal: ir.Value) -> ir.Value:
    """Square matrices with another diagonal, (batch..., n)."""
    return ops.select(_compared(shape_of(a), "EQ"), of_rows(diagonal, shape_of(a)), a)


def diagonal(a: ir.Value) -> ir.Value:
    """(batch..., k), the diagonals."""
    shape = shape_of(a)
    rank, k = len(shape), min(shape[-2:])
    square = part(a, (0, k), (0, k))
    return ops.reduce(diagonal_only(square), 0, [rank - 1], "add")


def part(a: ir.Value, rows: tuple[int, int], columns: tuple[int, int]) -> ir.Value:
    """a[..., rows[0]:rows[1], columns[0]:columns[1]]"""
    batch = shape_of(a)[:-2]
    return ops.slice(a, [0] * len(batch) + [rows[0], columns[0]], [*batch, rows[1], columns[1]])


def padded(a: ir.Value, rows: int, columns: int) -> ir.Value:
    """Zeros below and to the right, up to a size."""
    m, n = shape_of(a)[-2:]
    low = [0] * len(shape_of(a))
    return ops.pad(a, 0, low, [*low[2:], rows - m, columns - n])


def of_rows(x: ir.Value, shape: Sequence[int]) -> ir.Value:
    """(batch..., m) at all columns of (batch..., m, n)."""
    rank = len(shape)
    return ops.broadcast_in_dim(x, shape, [*range(rank - 2), rank - 2])


def of_columns(x: ir.Value, shape: Sequence[int]) -> ir.Value:
    """(batch..., n) at all rows of (batch..., m, n)."""
    rank = len(shape)
    return ops.broadcast_in_dim(x, shape, [*range(rank - 2), rank - 1])


def solver_of(call: Call) -> Callable[..., ir.Value]:
    """`ops.triangular_solve`, by LAPACK where the op itself is LAPACK's: several times faster than XLA's own on CPU."""
    return lapack_solve if call.name == "stablehlo.custom_call" else ops.triangular_solve


def rotation_of(q: ir.Value, r: ir.Value, t: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Q' and R' of the first k columns of A = Q R, and the rotation of Q. With X = A' R^-1 and M = Q^H X, the strict
    lower triangle of M rotates Q: Q' = X - Q (M - W) and R' = (M - W) R, where W is that triangle minus its
    adjoint."""
    moved = lapack_solve(r, t, left_side=False, lower=False)
    middle = matmul(adjoint(q), moved)
    low = triangle(middle, True, 0.0)
    rotation = ops.subtract(low, adjoint(low))
    if is_complex(dtype_of(t)):                                                          # R keeps a real diagonal
        phase = ops.imag(diagonal_only(middle))
        rotation = ops.add(rotation, ops.complex(ops.splat(0, phase), phase))
    stretch = ops.subtract(middle, rotation)
    return ops.subtract(moved, matmul(q, stretch)), triangle(matmul(stretch, r), False, 1.0), rotation


def factors_tangent(packed: ir.Value, q: ir.Value, t: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Of R, below which is nothing that is read, and Q, both (m, n) with m >= n, of A = Q R."""
    m, n = shape_of(t)[-2:]
    dq, dr, _ = rotation_of(q, triangle(part(packed, (0, n), (0, n)), False, 1.0), t)
    return padded(dr, m, n), dq


def setting(call: Call, name: str) -> int:
    """An integer of the configuration of a LAPACK call."""
    return int(ir.IntegerAttr(ir.DictAttr(call.op.attributes["mhlo.backend_config"])[name]).value)


def flag(call: Call, name: str) -> bool:
    """A boolean of the configuration of a LAPACK call."""
    return bool(ir.BoolAttr(ir.DictAttr(call.op.attributes["mhlo.backend_config"])[name]).value)


def again_with(call: Call, types: Sequence[ir.Type] | None = None, **settings: int) -> list[ir.Value]:
    """The results of the same LAPACK call with other settings (letters, as their codes) and maybe results."""
    attributes = attributes_of(call.op)
    entries: dict[str, Any] = {each.name: each.attr for each in ir.DictAttr(attributes["mhlo.backend_config"])}
    for name, value in settings.items():
        entries[name] = ir.IntegerAttr.get(ir.IntegerAttr(entries[name]).type, value)
    attributes["mhlo.backend_config"] = ir.DictAttr.get(entries)
    if types is not None:
        attributes.pop("sdy.sharding_rule", None)            # names the extents of the old results
    return list(ops.create("stablehlo.custom_call", types or [r.type for r in call.op.results], list(call.operands),
                           attributes).results)
