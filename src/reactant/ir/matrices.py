"""Builders over stacks of matrices, (batch..., m, n)."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, is_complex, shape_of


def matmul(a: ir.Value, b: ir.Value) -> ir.Value:
    """The products of matrices."""
    rank = len(shape_of(a))
    batch = list(range(rank - 2))
    return ops.dot_general(a, b, contracting_dims=([rank - 1], [rank - 2]), batching_dims=(batch, batch))


def swapped(a: ir.Value) -> ir.Value:
    """The transpose of each matrix."""
    rank = len(shape_of(a))
    return ops.transpose(a, [*range(rank - 2), rank - 1, rank - 2])


def conjugate(a: ir.Value) -> ir.Value:
    """Of any array."""
    return ops.conj(a) if is_complex(dtype_of(a)) else a


def adjoint(a: ir.Value) -> ir.Value:
    """The conjugate transpose of each matrix."""
    return conjugate(swapped(a))
