"""Products of floats with a truth, which are not what the truth chooses: NaN and infinity times 0 are NaN, and numbers
below zero times 0 are -0.0.

XLA takes x * convert(p) for select(p, x, 0) (jax 0.10.2: `jax.jit(lambda x: x * (x > 0))(-np.inf)` is 0.0). Here the
truth stands behind a barrier, which is gone when XLA fuses.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of

CONCERNED = (b"multiply", b"convert")
"""What the bytecode of a module that `kept` may change has in it."""
SEEN_THROUGH = frozenset(f"stablehlo.{name}" for name in (
    "reshape", "transpose", "slice", "broadcast_in_dim", "dynamic_slice"))
"""Ops that XLA may move before a conversion."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which XLA does not know which factors are truths."""
    return modules.altered(module, _is_concerned, _hide_truths)


def _is_concerned(op: ir.Operation) -> bool:
    return op.name == "stablehlo.multiply" and dtype_of(op.results[0]).kind not in "biu" \
        and any(map(_is_truth, op.operands))


def _hide_truths(op: ir.Operation) -> None:
    for number, factor in enumerate(op.operands):
        if _is_truth(factor):
            op.operands[number] = ops.optimization_barrier(factor)[0]


def _is_truth(factor: ir.Value) -> bool:
    while (made := ops.maker(factor)) is not None and made.name in SEEN_THROUGH:
        factor = made.operands[0]
    return made is not None and made.name == "stablehlo.convert" and dtype_of(made.operands[0]).kind == "b"
