"""Updates whose place is a number of 8 or 16 bits in an array of more elements than it counts.

XLA:CPU limits the place of a single element to the last one in the dtype of the place: in an array of 300 elements that
one is 43 in uint8, and x[100] = y changes x[43] (jax 0.10.2). It gets places of 32 bits.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of

CONCERNED = (b"dynamic_update_slice",)
"""What the bytecode of a module that `widened` may change has in it."""
FIRST = 2
"""The operand that is the first place."""


def widened(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which such places have 32 bits."""
    return modules.altered(module, _overflows, _widen)


def _widen(op: ir.Operation) -> None:
    for number in range(FIRST, len(op.operands)):
        op.operands[number] = ops.convert(op.operands[number], np.int32)


def _overflows(op: ir.Operation) -> bool:
    if op.name != "stablehlo.dynamic_update_slice" or len(op.operands) == FIRST:
        return False
    dtype = dtype_of(op.operands[FIRST])
    return dtype.itemsize < 4 and max(shape_of(op.results[0])) > np.iinfo(dtype).max
