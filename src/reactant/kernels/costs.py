"""Which way a launch runs faster: a rough estimate, only consulted where the tensor program keeps loops.

Without loops a tensor program is fused with what is around it, simplified and differentiated with it: it is taken.
A loop of XLA's costs about a microsecond for each operation of each turn, and moves whole arrays where native code
keeps one thread's numbers in registers.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import cost, modules
from reactant.kernels.bases import constant_of
from reactant.kernels.form import kernel_of
from reactant.kernels.record import KernelRecord

OPERATION_IN_A_LOOP = 1e-6
"""Seconds for one operation of one turn of a StableHLO loop, whatever its size."""
BYTES_PER_SECOND = 1e10
NATIVE_OPERATION = 0.7e-9
"""Seconds for one operation of one thread."""
UNKNOWN_TURNS = 64
MARGIN = 4
"""Native code has to be this much faster: it is a wall to fusion and differentiation."""
LEAST = 1e-3
"""Seconds below which nothing is worth a wall."""
MOST_OPERATIONS = 4000
"""Tensor programs with more operations take too long to compile."""


def reason_for_native(record: KernelRecord, structured: ir.Module, raised: ir.Module) -> str | None:
    """Why native code is the better choice; None where the tensor program is."""
    operations = modules.size(raised)
    if operations > MOST_OPERATIONS:
        return f"as a tensor program it would have {operations} operations"
    turns = _operations_in_loops(raised.operation, 1, False)
    if not turns:
        return None
    tensor = turns * OPERATION_IN_A_LOOP + cost.estimate(raised)["bytes"] / BYTES_PER_SECOND
    native = record.threads * _operations(kernel_of(structured), 1) * NATIVE_OPERATION
    if tensor > max(MARGIN * native, LEAST):
        return f"estimated at {1e3 * tensor:.3g} ms as a tensor program with loops, {1e3 * native:.3g} ms natively"
    return None


def _operations_in_loops(op: ir.Operation, turns: int, inside: bool) -> int:
    """Operations that loops execute."""
    total = 0
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                kind = inner.operation
                loop = kind.name == "stablehlo.while"
                total += turns if inside and kind.name != "stablehlo.constant" else 0
                if len(kind.regions):
                    total += _operations_in_loops(kind, turns * UNKNOWN_TURNS if loop else turns, inside or loop)
    return total


def _operations(op: ir.Operation, turns: int) -> int:
    """Operations that one thread executes."""
    total = 0
    for region in op.regions:
        for block in region:
            for inner in block.operations:
                kind = inner.operation
                total += turns if kind.name != "arith.constant" else 0
                if len(kind.regions):
                    total += _operations(kind, turns * _turns(kind))
    return total


def _turns(op: ir.Operation) -> int:
    if op.name == "scf.while":
        return UNKNOWN_TURNS
    if op.name != "scf.for":
        return 1
    low, high, step = (constant_of(v) for v in list(op.operands)[:3])
    if low is None or high is None or not step:
        return UNKNOWN_TURNS
    return max(0, -(-(high - low) // step))
