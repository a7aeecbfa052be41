"""Exponentials that are denormal, logarithms and arcsines of denormals, which XLA:CPU's own functions do not know.

Its exp is 0 where the result is no normal number, its float32 log takes a denormal for the least normal one (jax
0.10.2). Here exp(x) is the square of exp(x / 2) where x is that low, and log(x) is log(x * 2**23) - 23 log(2) where a
float32 is that small; elsewhere both stay as they are, and as they were rounded. The arcsine, to XLA twice the angle of
half of it, of a denormal is that denormal. Long sums of exponentials are left to XLA's library.
"""
from __future__ import annotations

import math

import ml_dtypes
from jaxlib.mlir import ir

from reactant.ir import bounds, modules, ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.legalize.nan_extremes import LEAST

CONCERNED = (b"exponential", b"log", b"asin")
"""One of them is in the bytecode of a module that `kept` may change."""
FUSED = frozenset(f"stablehlo.{name}" for name in (
    "add", "subtract", "multiply", "divide", "negate", "abs", "maximum", "minimum", "sqrt", "rsqrt", "log", "tanh",
    "exponential", "convert", "reshape", "broadcast_in_dim"))
"""Ops that the library takes with a reduction."""
FAR = 100
"""Values that are looked at behind an exponential; it is taken to be the library's behind more."""
STEPS = 23
"""Powers of two by which a denormal float32 becomes a normal one."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it with those forms."""
    return modules.altered(module, _is_concerned, _alter)


def _is_concerned(op: ir.Operation) -> bool:
    if op.name == "stablehlo.exponential":
        dtype = dtype_of(op.results[0])
        return dtype in ("float32", "float64") and not _is_for_library(op) \
            and bounds.least(op.operands[0]) < _lowest(dtype)
    if op.name == "chlo.asin":
        return dtype_of(op.results[0]) in ("float32", "float64")
    return op.name == "stablehlo.log" and dtype_of(op.results[0]) == "float32" \
        and bounds.least(op.operands[0]) < ml_dtypes.finfo("float32").tiny


def _is_for_library(op: ir.Operation) -> bool:
    """Whether XLA may hand it to its library together with a reduction that reads it. The library takes no comparisons,
    so that sums of such exponentials took twice the time; its own are 0 where they would be denormal."""
    if size(shape_of(op.results[0])) < LEAST:
        return False
    waiting, seen = [op.results[0]], {op.results[0]}
    while waiting and len(seen) < FAR:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user.name == "stablehlo.reduce":
                return True
            if user.name in FUSED:
                waiting += [result for result in user.results if result not in seen]
                seen.update(user.results)
    return bool(waiting)


def _lowest(dtype: object) -> float:
    """Below it exp is denormal or zero, rounded up to what every dtype has."""
    return float(math.ceil(math.log(float(ml_dtypes.finfo(dtype).tiny)))) + 1.0


def _alter(op: ir.Operation) -> None:
    if op.name == "chlo.asin":
        _alter_arcsine(op)
        return
    made = _exponential(op.operands[0]) if op.name == "stablehlo.exponential" else _logarithm(op.operands[0])
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _alter_arcsine(op: ir.Operation) -> None:
    x, found = op.operands[0], op.results[0]
    with ir.InsertionPoint.after(op):
        small = ops.compare(ops.abs(x), float(ml_dtypes.finfo(dtype_of(x)).tiny), "LT")
        made = ops.select(small, x, found)
    found.replace_all_uses_except(made, made.owner.operation)


def _exponential(x: ir.Value) -> ir.Value:
    low = ops.compare(x, _lowest(dtype_of(x)), "LT")
    found = ops.exponential(ops.select(low, ops.multiply(x, 0.5), x))
    return ops.multiply(found, ops.select(low, found, 1.0))


def _logarithm(x: ir.Value) -> ir.Value:
    small = ops.compare(x, float(ml_dtypes.finfo("float32").tiny), "LT")
    found = ops.log(ops.select(small, ops.multiply(x, 2.0**STEPS), x))
    return ops.subtract(found, ops.select(small, ops.splat(STEPS * math.log(2), x), 0.0))
