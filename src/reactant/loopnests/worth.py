"""Which groups of ops pay as native code."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir.induction import trips


def turns(op: ir.Operation) -> float:
    """How often the regions of an op run, as far as is known."""
    if op.name != "stablehlo.while":
        return 1.0
    count = trips(op)
    return float(count.most) if count is not None else 16.0


def pays(ops: list[ir.Operation], turns: float) -> bool:
    """Whether a group is worth a native call."""
    return any(op.name == "stablehlo.while" for op in ops)
