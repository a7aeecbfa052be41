"""Which values of a kernel are the same for all threads of a block, and which structure its meetings are in."""
from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from reactant.native.place import is_shared

DIVERGENT = frozenset((
    "gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id", "gpu.global_id", "gpu.shuffle", "memref.load",
    "memref.atomic_rmw", "memref.generic_atomic_rmw", "memref.alloca", "memref.alloc"))
"""Ops whose results differ from thread to thread (what is loaded may change between two threads' loads)."""
REDUCING = ("reactant.barrier.count", "reactant.barrier.and", "reactant.barrier.or")


def callee(op: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value if op.name == "func.call" else ""


def operations(region: ir.Region) -> Iterator[ir.Operation]:
    """Ops of a region's blocks, not those nested deeper."""
    for block in region:
        for op in block.operations:
            yield op.operation


def divergent_values(function: ir.Operation) -> set[ir.Value]:
    """Values that may differ between threads of a block: what depends on who the thread is, or on memory."""
    found: set[ir.Value] = set()

    def mark(values: object) -> bool:
        before = len(found)
        found.update(values)  # type: ignore[arg-type]
        return len(found) > before

    def flow(sources: list[ir.Value], targets: list[ir.Value]) -> bool:
        return mark(t for s, t in zip(sources, targets, strict=True) if s in found)

    def visit(op: ir.Operation) -> bool:
        changed = False
        if op.regions and op.name != "func.func" and len(op.results) and not _once(op, found):
            changed |= mark(op.results)
        for region in op.regions:
            for inner in operations(region):
                changed |= visit(inner)
        operands, results = list(op.operands), list(op.results)
        if op.name == "scf.for":
            block = op.regions[0].blocks[0]
            arguments, end = list(block.arguments), list(operations(op.regions[0]))[-1]
            if any(v in found for v in operands[:3]):
                return changed | mark([*arguments, *results])
            for sources in (operands[3:], list(end.operands)):
                changed |= flow(sources, arguments[1:]) | flow(sources, results)
            return changed
        if op.name == "scf.if":
            if operands[0] in found:
                return changed | mark(results)
            for region in op.regions:
                if len(region.blocks) and results:
                    changed |= flow(list(list(operations(region))[-1].operands), results)
            return changed
        if op.name == "scf.while":
            before, after = (r.blocks[0] for r in op.regions)
            condition, end = (list(operations(r))[-1] for r in op.regions)
            if condition.operands[0] in found:
                return changed | mark([*before.arguments, *after.arguments, *results])
            for sources in (operands, list(end.operands)):
                changed |= flow(sources, list(before.arguments))
            handed = list(condition.operands)[1:]
            return changed | flow(handed, list(after.arguments)) | flow(handed, results)
        if not results or callee(op) in REDUCING or is_shared(op):
            return changed
        if op.name in DIVERGENT or op.name == "func.call" or op.regions or any(v in found for v in operands):
            return changed | mark(results)
        return changed
    while visit(function):
        pass
    return found


def _once(op: ir.Operation, divergent: set[ir.Value]) -> bool:
    """Whether control flow can be run once for all threads: it holds meetings, or it only computes, from what is the
    same for all threads."""
    inside = list(_all(op))
    if any(i.name in ("gpu.barrier", "gpu.shuffle") or callee(i).startswith("reactant.") for i in inside):
        return True
    return all(i.name.startswith(("arith.", "math.", "scf.")) for i in inside) \
        and not any(v in divergent for i in (op, *inside) for v in i.operands)


def _all(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for inner in operations(region):
            yield inner
            yield from _all(inner)
