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
        if op.name == "memref.load" and not any(v in found for v in operands) and _loads_alike(op, found):
            return changed
        if op.name in DIVERGENT or op.name == "func.call" or op.regions or any(v in found for v in operands):
            return changed | mark(results)
        return changed
    while visit(function):
        pass
    return found


# -- loads that give all threads the same number

def _loads_alike(op: ir.Operation, divergent: set[ir.Value]) -> bool:
    """Whether a load from an address that is the same for all threads gives each the same number, wherever among the
    threads' work between two barriers it happens: nobody writes that memory between the last barrier and here."""
    memory = op.operands[0]
    for around in _around(op):
        if around.name == "func.func":
            break
        if not _holds_barrier(around) or around.name == "scf.if" and around.operands[0] in divergent:
            return False        # part of a thread's own work, or not for all threads
    if any(use.owner.operation.name not in _ACCESSES for use in memory.uses):
        return False
    writers = [use.owner.operation for use in memory.uses if use.owner.operation.name != "memref.load"]
    if not writers:
        return True
    owner = memory.owner
    return not isinstance(owner, ir.Block) and is_shared(owner.operation) and _quiet_before(op, writers)


_ACCESSES = frozenset(("memref.load", "memref.store", "memref.atomic_rmw", "memref.generic_atomic_rmw"))


def _around(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops around an op, inside out."""
    while op.name != "func.func":
        op = op.parent.operation
        yield op


def _is_barrier(op: ir.Operation) -> bool:
    return op.name == "gpu.barrier" or callee(op) in REDUCING


def _holds_barrier(op: ir.Operation) -> bool:
    return any(_is_barrier(inner) for inner in _all(op))


def _quiet_before(op: ir.Operation, writers: list[ir.Operation]) -> bool:
    """Whether on every way to `op` there is a barrier after the last of the writers."""
    parent = op.parent.operation
    siblings = next(list(operations(r)) for r in parent.regions if any(o == op for o in operations(r)))
    number = next(i for i, other in enumerate(siblings) if other == op)
    settled = _settled(siblings[:number], writers)
    if settled is not None:
        return settled
    if parent.name == "func.func":
        return True
    if parent.name == "scf.if":
        return _quiet_before(parent, writers)
    # a loop: from before it, or around from its end
    ends = [_settled(list(operations(r)), writers) for r in parent.regions]
    return all(end is not False for end in ends) and (any(end for end in ends) or not any(
        w == inner for inner in _all(parent) for w in writers)) and _quiet_before(parent, writers)


def _settled(ops: list[ir.Operation], writers: list[ir.Operation]) -> bool | None:
    """Backwards through ops: True at a barrier, False at a writer, None when neither is met."""
    for op in reversed(ops):
        if _is_barrier(op):
            return True
        if any(w == inner for inner in (op, *_all(op)) for w in writers):
            return False
    return None


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
