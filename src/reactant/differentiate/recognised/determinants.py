"""Determinants by LU: +-phase(u) exp(sum(log|u|)) with u the diagonal of U, or 0 where one of them is.

The derivative is the adjugate, which singular matrices of rank n - 1 have too. Where a u is 0 it is taken for one that
is 2**-64 of the largest: what that changes in det A A^-1, a polynomial of A, is below rounding. `mark` puts a barrier
over (det A, packed L and U, pivots, A).
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.recognised.signs import bare, made_by, put_barrier
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of

DETERMINANT = "reactant.determinant"
"""Marks a barrier over (det A, packed L and U, pivots, A)."""
DEPTH = 8


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every determinant in a module."""
    for op in [op for op in modules.walk(module) if op.name == "stablehlo.multiply"]:
        for sign, size in (tuple(op.operands), tuple(op.operands)[::-1]):
            converted = made_by(size, "convert")
            raised = made_by(size if converted is None else converted.operands[0], "exponential")
            logarithm = None if raised is None else made_by(raised.operands[0], "select")
            chosen = made_by(sign, "select")
            if chosen is None or logarithm is None or bare(chosen.operands[0]) != bare(logarithm.operands[0]) \
                    or not _is(chosen.operands[1], 0) or not _is(logarithm.operands[1], -np.inf):
                continue
            made = _decomposition(logarithm.operands[2])
            if made is not None and shape_of(made.operands[0])[:-2] == shape_of(op.result) \
                    and dtype_of(made.operands[0]) == dtype_of(op.result):
                put_barrier(op, [op.result, *list(made.results)[:2], made.operands[0]],
                            {DETERMINANT: ir.UnitAttr.get()})
                break


def _is(value: ir.Value, number: float) -> bool:
    known = ops.constant_value(value)
    if known is None and (spread := made_by(value, "broadcast_in_dim")) is not None:
        known = ops.constant_value(spread.operands[0])
    return known is not None and bool((known == number).all())


def _decomposition(value: ir.Value) -> ir.Operation | None:
    """The LU of square matrices, of whose diagonal a value is the sum of logarithms, or the only logarithm."""
    left = ["add", "reduce", "log", "abs", "slice", "select"]
    for _ in range(DEPTH):
        made = made_by(value, "custom_call", *left)
        if made is None:
            return None
        if made.name == "stablehlo.custom_call":
            m, n = shape_of(made.operands[0])[-2:] if ops.target_of(made).endswith("getrf_ffi") else (0, 1)
            return made if m == n and {"log", "abs"}.isdisjoint(left) else None
        left.remove(made.name.removeprefix("stablehlo."))
        chosen = made.name == "stablehlo.select"            # NaN where LAPACK was called wrongly
        if chosen and ((known := ops.constant_value(made.operands[2])) is None or not np.isnan(known).all()):
            return None
        if made.name == "stablehlo.add" and not _is(made.operands[1], 0):
            return None
        value = made.operands[int(chosen)]
    return None
