"""Float64 and integers to half precision, rounded once, as in NumPy and `ir.rounding`.

XLA goes by float32, to float16 where the processor has no instruction (jax 0.10.2): a number next to the middle of two
halves becomes that middle, and then goes to the even one. 1 + 2**-11 + 2**-40 becomes 1 in float16, not 1 + 2**-10.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.rounding import BFLOAT16, FEW, LARGE
from reactant.ir.types import dtype_of

CONCERNED = (b"convert",)
"""What the bytecode of a module that `kept` may change has in it."""
INFINITE = 0x7F80
"""The bits of bfloat16's infinity."""
LEAST_EXPONENT = -126
"""Of the normal numbers of bfloat16."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which such conversions are written out."""
    return modules.altered(module, _is_concerned, _write_out)


def _is_concerned(op: ir.Operation) -> bool:
    return op.name == "stablehlo.convert" and _rounds_twice(dtype_of(op.operands[0]), dtype_of(op.results[0]))


def _rounds_twice(source: np.dtype, target: np.dtype) -> bool:
    """Whether XLA may: float32 has all integers that float16 tells apart."""
    return source == np.float64 and target in (np.float16, BFLOAT16) \
        or target == BFLOAT16 and source.kind in "iu" and source.itemsize >= 4


def _write_out(op: ir.Operation) -> None:
    x, dtype = op.operands[0], dtype_of(op.results[0])
    if dtype_of(x).kind in "iu":
        x = ops.convert(_with_few_bits(x), np.float64)
    op.results[0].replace_all_uses_with(_to_bfloat16(x) if dtype == BFLOAT16 else _to_float16(x))
    op.erase()


def _with_few_bits(n: ir.Value) -> ir.Value:
    if dtype_of(n).itemsize < 8:
        return n
    low = (1 << FEW) - 1
    inexact = ops.compare(ops.and_(n, low), 0, "NE")
    few = ops.or_(ops.and_(n, ops.not_(ops.splat(low, n))),
                  ops.select(inexact, ops.splat(1 << FEW - 1, n), ops.splat(0, n)))
    large = ops.compare(n, LARGE, "GT")
    if dtype_of(n).kind == "i":
        large = ops.or_(large, ops.compare(n, -LARGE, "LT"))
    return ops.select(large, few, n)


def _to_float16(x: ir.Value) -> ir.Value:
    """By a float64 of few bits, which float32 has, and whose last tells whether any have been lost (Boldo and
    Melquiond, Emulation of FMA and correctly rounded sums, 2008). What float32 has not is 0 or infinite in float16."""
    bits = ops.bitcast_convert(x, np.uint64)
    low = (1 << 30) - 1                 # 22 bits stay, twice float16's and two more are enough
    kept = ops.and_(bits, ops.not_(ops.splat(low, bits)))
    odd = ops.or_(kept, ops.splat(1 << 30, bits))
    inexact = ops.and_(ops.compare(ops.and_(bits, low), 0, "NE"), ops.is_finite(x))
    chosen = ops.bitcast_convert(ops.select(inexact, odd, bits), np.float64)
    return ops.convert(ops.convert(chosen, np.float32), np.float16)


def _to_bfloat16(x: ir.Value) -> ir.Value:
    """By the bits: float32 has bfloat16's exponents, and XLA:CPU takes its numbers below the normal ones for 0."""
    bits = ops.bitcast_convert(x, np.uint64)
    size = ops.and_(bits, (1 << 63) - 1)
    last = ops.and_(ops.shift_right_logical(size, 45), 1)
    rounded = ops.shift_right_logical(ops.add(size, ops.add(last, (1 << 44) - 1)), 45)
    usual = ops.minimum(ops.subtract(rounded, (1023 - 127) << 7), INFINITE)
    least = ops.splat((1023 + LEAST_EXPONENT) << 52, bits)
    small = ops.compare(size, least, "LT")
    near_zero = ops.select(small, ops.abs(x), ops.splat(0.0, x))
    steps = ops.round_nearest_even(ops.multiply(near_zero, 2.0 ** (7 - LEAST_EXPONENT)))
    found = ops.select(small, ops.convert(steps, np.uint64), usual)
    found = ops.select(ops.compare(x, x, "NE"), ops.splat(INFINITE + 0x40, found), found)
    sign = ops.and_(ops.shift_right_logical(bits, 48), 0x8000)
    return ops.bitcast_convert(ops.convert(ops.or_(found, sign), np.uint16), BFLOAT16)
