"""Exponentials that are denormal and logarithms of denormals, which XLA:CPU's own functions do not know.

Its exp is 0 where the result is no normal number, its float32 log takes a denormal for the least normal one (jax
0.10.2). Here exp(x) is the square of exp(x / 2) where x is that low, and log(x) is log(x * 2**23) - 23 log(2) where a
float32 is that small; elsewhere both stay as they are, and as they were rounded.
"""
from __future__ import annotations

import math

import ml_dtypes
from jaxlib.mlir import ir

from reactant.ir import bounds, modules, ops
from reactant.ir.types import dtype_of

CONCERNED = (b"exponential", b"log")
"""One of them is in the bytecode of a module that `kept` may change."""
STEPS = 23
"""Powers of two by which a denormal float32 becomes a normal one."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it with those forms."""
    return modules.altered(module, _is_concerned, _alter)


def _is_concerned(op: ir.Operation) -> bool:
    if op.name == "stablehlo.exponential":
        dtype = dtype_of(op.results[0])
        return dtype in ("float32", "float64") and bounds.least(op.operands[0]) < _lowest(dtype)
    return op.name == "stablehlo.log" and dtype_of(op.results[0]) == "float32" \
        and bounds.least(op.operands[0]) < ml_dtypes.finfo("float32").tiny


def _lowest(dtype: object) -> float:
    """Below it exp is denormal or zero, rounded up to what every dtype has."""
    return float(math.ceil(math.log(float(ml_dtypes.finfo(dtype).tiny)))) + 1.0


def _alter(op: ir.Operation) -> None:
    made = _exponential(op.operands[0]) if op.name == "stablehlo.exponential" else _logarithm(op.operands[0])
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _exponential(x: ir.Value) -> ir.Value:
    low = ops.compare(x, _lowest(dtype_of(x)), "LT")
    found = ops.exponential(ops.select(low, ops.multiply(x, 0.5), x))
    return ops.multiply(found, ops.select(low, found, 1.0))


def _logarithm(x: ir.Value) -> ir.Value:
    small = ops.compare(x, float(ml_dtypes.finfo("float32").tiny), "LT")
    found = ops.log(ops.select(small, ops.multiply(x, 2.0**STEPS), x))
    return ops.subtract(found, ops.select(small, ops.splat(STEPS * math.log(2), x), 0.0))
