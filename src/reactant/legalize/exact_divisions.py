"""Divisions that stay divisions: in NumPy's programs all, in others where the last place of the quotient decides
something.

XLA divides by constants, and by numbers and rows that are broadcast, by multiplying by the reciprocal, which is another
number in half of all cases: of x = 49, x / 49 is then 0.9999999999999999, and its floor 0 (jax 0.10.2). Where what
follows is continuous, that is a rounding. Where it is rounded, compared or made an integer, the divisor stands behind a
barrier, which is gone when XLA fuses. The reciprocal of a great number is denormal, which XLA takes for 0, that of a
denormal infinite: NumPy's programs divide by what is not known to be between them.
"""
from __future__ import annotations

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_float

CONCERNED = (b"divide",)
"""What the bytecode of a module that `kept` may change has in it."""
DECIDES = frozenset(f"stablehlo.{name}" for name in (
    "floor", "ceil", "round_nearest_afz", "round_nearest_even", "compare", "sign", "remainder", "while", "return", "if",
    "case", "sort"))
"""Ops whose result may jump with an operand, or of which nobody looks here."""
GOES_ON = frozenset(f"stablehlo.{name}" for name in (
    "add", "subtract", "multiply", "divide", "negate", "abs", "maximum", "minimum", "clamp", "select", "convert",
    "broadcast_in_dim", "reshape", "transpose", "slice", "dynamic_slice", "dynamic_update_slice", "concatenate", "pad",
    "reverse", "gather", "complex", "real", "imag", "reduce_precision"))
"""Ops that hand the last place on."""
FAR = 100
"""Values that are looked at behind a quotient; it is taken to decide something behind more."""
SEEN_THROUGH = frozenset(f"stablehlo.{name}" for name in ("reshape", "transpose", "slice", "convert"))
"""Ops that XLA moves before a broadcast."""


def kept(module: ir.Module, everywhere: bool = False) -> ir.Module:
    """The module, or a copy of it in which XLA does not know what those divisors are. `everywhere`: also where nothing
    is decided."""
    def concerned(op: ir.Operation) -> bool:
        return op.name == "stablehlo.divide" and is_float(dtype_of(op.results[0])) \
            and _has_reciprocal(op.operands[1]) and (everywhere or _decides(op.results[0]))
    return modules.altered(module, concerned, _hide_divisor)


def _hide_divisor(op: ir.Operation) -> None:
    op.operands[1] = ops.optimization_barrier(op.operands[1])[0]


def _has_reciprocal(divisor: ir.Value) -> bool:
    """Whether XLA would multiply, and the product be another number."""
    while (made := ops.maker(divisor)) is not None and made.name in SEEN_THROUGH:
        divisor = made.operands[0]
    if made is None or made.name not in ("stablehlo.broadcast_in_dim", "stablehlo.constant"):
        return False
    known = ops.constant_value(divisor if made.name == "stablehlo.constant" else made.operands[0])
    if known is None:
        return True
    known = ops.distinct(known)
    are_powers = (np.abs(np.frexp(np.asarray(known, np.float64))[0]) == 0.5).all()
    return not are_powers or not _are_moderate(known, dtype_of(divisor))


def _are_moderate(numbers: np.ndarray, dtype: np.dtype) -> bool:
    sizes = np.abs(np.asarray(numbers, np.float64))
    least = float(ml_dtypes.finfo(dtype).tiny)
    return bool((~np.isfinite(sizes) | (sizes == 0) | (least <= sizes) & (sizes <= 1 / least)).all())


def _decides(quotient: ir.Value) -> bool:
    """Whether the last place of a value may decide something."""
    waiting, seen = [quotient], {quotient}
    while waiting and len(seen) < FAR:
        for use in waiting.pop().uses:
            op = use.owner.operation
            if op.name in DECIDES or op.name == "stablehlo.convert" and not is_float(dtype_of(op.results[0])):
                return True
            if op.name in GOES_ON:
                waiting += [result for result in op.results if result not in seen]
                seen.update(op.results)
    return bool(waiting)
