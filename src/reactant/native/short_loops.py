"""Short loops of a thread that are written out: LLVM makes vectors of threads only where a thread is straight code.

On its own it writes out loops of few instructions, and a filter of 5 x 5 exponentials stays a loop in a loop.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.native.parallel import known_trips, work
from reactant.native.place import Launch

SHORT = 16
"""Iterations up to which a loop is short."""
MOST = 4000
"""Operations of a thread that may be written out (see `parallel.work`)."""


def is_straight(launch: Launch) -> bool:
    """Whether all loops of a kernel whose threads never meet are written out."""
    return not launch.meetings and _loops(launch.op) is not None and work(launch.op.regions[0]) <= MOST


def write_out(launch: Launch) -> None:
    """Mark the loops of such a kernel."""
    if launch.threads > 1 and is_straight(launch):
        for op, trips in _loops(launch.op) or ():
            if trips > 1:
                op.attributes["native.unroll"] = attr.integer(trips)


def _loops(op: ir.Operation, inside: bool = False) -> list[tuple[ir.Operation, int]] | None:
    """All loops and their iterations; None where one is not short, or threads go different ways inside of one."""
    found = []
    for inner in (each.operation for region in op.regions for block in region for each in block.operations):
        loop = inner.name == "scf.for"
        trips = known_trips(list(inner.operands)[:3]) if loop else None
        if inner.name == "scf.while" or inside and inner.regions and not loop:
            return None
        if loop and (trips is None or trips > SHORT):
            return None
        nested = _loops(inner, inside or loop)
        if nested is None:
            return None
        found += [(inner, trips), *nested] if trips is not None else nested
    return found
