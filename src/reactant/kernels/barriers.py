"""Barriers in lock step: all lanes do each operation together, so that a barrier has nothing left to do.

That is its meaning wherever every thread of a block reaches the same barrier. Threads that part at a branch and meet at
*different* barriers (one in each arm) exchange what lock step would order otherwise: that is refused.
"""
from __future__ import annotations

from jaxlib.mlir import ir

BLOCK_BARRIERS = ("reactant.barrier.count", "reactant.barrier.and", "reactant.barrier.or", "reactant.barrier.grid")


def has_barrier(block: ir.Block) -> bool:
    """Whether threads of a block meet somewhere inside."""
    for op in block.operations:
        name = op.operation.name
        if name == "gpu.barrier":
            return True
        if name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value in BLOCK_BARRIERS:
            return True
        if any(has_barrier(inner) for region in op.operation.regions for inner in region):
            return True
    return False
