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


WRITERS = {"memref.store": 1, "memref.atomic_rmw": 1, "memref.generic_atomic_rmw": 0}
"""Ops that change memory: the number of the operand that is the memory."""


def waits_for_others(loop: ir.Operation) -> bool:
    """Whether a loop may end only by what other threads do after theirs: a lock that is released, but not inside, or a
    flag that nobody sets in it. Lanes in lock step would wait for ever."""
    inside = _inside(loop)
    written = _written(inside)
    for op in inside:
        if not _takes_a_lock(op, loop):
            continue
        lock = op.operands[WRITERS[op.name]]
        if sum(lock == m for m in written) < 2 and any(_may_be_one(lock, m) for m in _written_elsewhere(loop)):
            return True
    return not written and _changes_nothing(loop)


def _written(found: list[ir.Operation]) -> list[ir.Value]:
    return [op.operands[WRITERS[op.name]] for op in found if op.name in WRITERS]


def _written_elsewhere(loop: ir.Operation) -> list[ir.Value]:
    """The memories that the kernel writes outside the loop."""
    around = loop
    while around.name != "func.func":
        around = around.parent.operation
    return _written(_inside(around, without=loop))


def _may_be_one(x: ir.Value, y: ir.Value) -> bool:
    """Whether two memories may be the same: parameters are not each other."""
    return x == y or not (isinstance(x.owner, ir.Block) and isinstance(y.owner, ir.Block))


def _inside(op: ir.Operation, without: ir.Operation | None = None) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for region in op.regions:
        for block in region:
            for inner in (o.operation for o in block.operations):
                if without is None or inner != without:
                    found += [inner, *_inside(inner, without)]
    return found


def _takes_a_lock(op: ir.Operation, loop: ir.Operation) -> bool:
    """An exchange, or a compare-and-swap with a number that does not change in the loop, whose outcome is used."""
    if op.name == "memref.atomic_rmw":
        return ir.IntegerAttr(op.attributes["kind"]).value == 3 and any(True for _ in op.results[0].uses)
    if op.name != "memref.generic_atomic_rmw" or not any(True for _ in op.results[0].uses):
        return False
    compares = [inner.operation for inner in op.regions[0].blocks[0].operations if inner.operation.name == "arith.cmpi"]
    old = op.regions[0].blocks[0].arguments[0]
    return any(old in compare.operands and all(v == old or not _defined_in(v, loop) for v in compare.operands)
               for compare in compares)


def _defined_in(value: ir.Value, loop: ir.Operation) -> bool:
    owner = value.owner
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if not isinstance(owner, ir.Block) and op.name == "arith.constant":
        return False
    while op is not None:
        if op == loop:
            return True
        parent = op.parent
        op = parent.operation if parent is not None else None
    return False


def _changes_nothing(loop: ir.Operation) -> bool:
    """Whether a `scf.while` goes on with the values with which it began."""
    if loop.name != "scf.while":
        return False
    first, second = (region.blocks[0] for region in loop.regions)
    passed, again = list(list(first.operations)[-1].operands)[1:], list(list(second.operations)[-1].operands)
    known = dict(zip(second.arguments, passed, strict=True))
    return all(known.get(value, value) == argument for value, argument in zip(again, first.arguments, strict=True))
