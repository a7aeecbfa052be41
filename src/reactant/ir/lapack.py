"""Calls of LAPACK's routines as jax writes them on a CPU: the form that programs hold linear algebra in, whatever they
will run on (`ir.cusolver` says it for a GPU).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, tensor_type

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
"""The first letter of a routine's name."""
TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


def letters(**told: str) -> dict[str, ir.Attribute]:
    """Settings that are letters, as LAPACK has them."""
    byte = ir.IntegerType.get_unsigned(8)
    return {name: ir.IntegerAttr.get(byte, ord(letter)) for name, letter in told.items()}


def library_call(target: str, operands: Sequence[ir.Value], results: Sequence[ir.Type],
                 settings: Mapping[str, ir.Attribute], lead: int, overwritten: int | None = None) -> list[ir.Value]:
    """A routine of LAPACK or of another library that keeps matrices by columns, all attributes as jax says them: equal
    calls have equal attributes. lead: dimensions of stacks. overwritten: the operand whose memory the first result
    takes."""
    return ops.custom_call(target, operands, results, attributes={
        "mhlo.backend_config": ir.DictAttr.get(dict(settings)),
        "mhlo.frontend_attributes": ir.DictAttr.get({"num_batch_dims": attr.string(str(lead))}),
        "api_version": attr.integer(1, 32), "backend_config": attr.string(""),
        "called_computations": ir.ArrayAttr.get([]),
        "operand_layouts": ir.ArrayAttr.get([_layout(len(shape_of(v)), lead) for v in operands]),
        "output_operand_aliases": attr.aliases(len(results), {} if overwritten is None else {0: overwritten}),
        "result_layouts": ir.ArrayAttr.get([_layout(ir.RankedTensorType(t).rank, lead) for t in results])})


def _layout(rank: int, lead: int) -> ir.Attribute:
    """By columns for matrices, else by rows."""
    order = [*range(rank)][::-1]
    if rank == lead + 2:
        order[:2] = order[1::-1]
    return attr.parse(f"dense<{order}> : tensor<{rank}xindex>" if order else "dense<> : tensor<0xindex>")


def lapack_solve(a: ir.Value, b: ir.Value, *, left_side: bool = True, lower: bool = True, unit_diagonal: bool = False,
                 transpose_a: str = "NO_TRANSPOSE") -> ir.Value:
    """x with op(a) x = b (left) or x op(a) = b, for triangular a, by trsm."""
    if not all(shape_of(b)):
        return b
    told = letters(side="L" if left_side else "R", uplo="L" if lower else "U", diag="U" if unit_diagonal else "N",
                   trans_x=TRANSPOSES[transpose_a])
    return library_call(f"lapack_{LETTERS[dtype_of(b).name]}trsm_ffi", [a, b], [b.type], told, len(shape_of(b)) - 2, 1
                        )[0]


def lapack_svd(a: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """(s, U, V^H) with the first min(m, n) vectors, by gesdd."""
    (*batch, m, n), dtype = shape_of(a), dtype_of(a)
    real, k = np.zeros(0, dtype).real.dtype, min(m, n)
    types = [a.type, tensor_type((*batch, k), real), tensor_type((*batch, m, k), dtype),
             tensor_type((*batch, k, n), dtype), tensor_type(tuple(batch), np.dtype(np.int32))]
    _, s, u, vh, _ = library_call(f"lapack_{LETTERS[dtype.name]}gesdd_ffi", [a], types, letters(mode="S"), len(batch),
                                  0)
    return s, u, vh
