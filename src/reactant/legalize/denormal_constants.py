"""Denormal float32 constants, which LLVM takes for 0 where it computes with them.

XLA:CPU compiles with `denormal-fp-math-f32`, so LLVM folds x * 1e-45 == 0 to true, x / 1e-45 to what is infinite or NaN
and min(x, 1e-45) to one of x and 0 (jax 0.10.2, float32 numbers; `xla_cpu_ftz` changes nothing). Here such a number is
an element of a constant array, which XLA hands to its kernels in memory.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of
from reactant.legalize.rounded_products import NESTED

CONCERNED = (b"constant",)
"""What the bytecode of a module that `kept` may change has in it."""
LEAST = float(np.finfo(np.float32).tiny)


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which LLVM does not see those constants."""
    return modules.altered(module, _is_concerned, _hide)


def _is_concerned(op: ir.Operation) -> bool:
    if op.name != "stablehlo.constant" or dtype_of(op.results[0]) != "float32" or op.parent.name in NESTED:
        return False
    value = op.attributes["value"]
    return isinstance(value, ir.DenseElementsAttr) and value.is_splat \
        and 0 < abs(ir.FloatAttr(value.get_splat_value()).value) < LEAST


def _hide(op: ir.Operation) -> None:
    value = ir.FloatAttr(ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()).value
    hidden = ops.optimization_barrier(ops.constant(np.array([value, 1.5], np.float32), np.float32, (2,)))[0]
    number = ops.reshape(ops.slice(hidden, (0,), (1,)), ())
    op.results[0].replace_all_uses_with(ops.broadcast_in_dim(number, shape_of(op.results[0]), ()))
    op.erase()
