"""Blocks whose threads all pass the guard that a kernel begins with (`if (i >= n) return`) run without it.

LLVM makes vectors of threads that a condition lets through, but not where these read what is not side by side: of a
table, or of scattered places. Under a condition each of these is a branch to it. Few blocks are at the edge.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.native.emission import Function
from reactant.native.order import loop_order, stride_of
from reactant.native.place import Dim3, Launch, Place
from reactant.native.short_loops import is_straight
from reactant.support.records import dataclass

_SENSES = {2: -1, 3: -1, 4: 1, 5: 1, 6: 0, 7: 0}
"""Of arith.cmpi: slt, sle, sgt, sge: whether it holds for small or for great numbers; ult, ule: for those between."""
_OPPOSITE = {2: 5, 3: 4, 4: 3, 5: 2, 8: 7, 9: 6}
Condition: TypeAlias = tuple[ir.Operation, bool, Dim3]


@dataclass(frozen=True)
class Guard:
    """Nested `scf.if` at the end of a kernel that hold all it does. bodies: each of them, and its part that is not
    empty. conditions: comparisons, what they have to be, and threads of a block for which that is the least likely."""

    bodies: tuple[tuple[ir.Operation, ir.Block], ...]
    conditions: tuple[Condition, ...]

    def passed_by_all(self, f: Function, launch: Launch, block: tuple[str, str, str]) -> str:
        """Whether all threads of a block pass."""
        outer, passed = f.place, "true"
        for comparison, wanted, (x, y, z) in self.conditions:
            f.place = Place((str(x), str(y), str(z)), block, launch)
            for op in _needed(comparison):
                f.emit(op)
            holds = f.one(comparison.results[0])
            holds = holds if wanted else f.let(f"xor i1 {holds}, true")
            passed = f.let(f"select i1 {passed}, i1 {holds}, i1 false")     # what follows may mean nothing elsewhere
        f.place = outer
        return passed

    def emit_passed(self, f: Function, block: ir.Block) -> None:
        """The kernel of a thread that passes."""
        for op in list(block.operations)[:-1]:
            body = next((inner for guard, inner in self.bodies if guard == op.operation), None)
            if body is None:
                f.emit(op.operation)
            else:
                self.emit_passed(f, body)


def guard_of(launch: Launch) -> Guard | None:
    """The guard of a kernel whose threads never meet, where blocks without it become vector code."""
    if launch.threads == 1 or not is_straight(launch):
        return None
    block, bodies, conditions = launch.op.regions[0].blocks[0], [], []
    while (found := _guarded(block, launch)) is not None:
        op, block, more = found
        bodies.append((op, block))
        conditions += more
    return Guard(tuple(bodies), tuple(conditions)) if bodies and _beside(block, loop_order(launch)[0]) else None


def _guarded(block: ir.Block, launch: Launch) -> tuple[ir.Operation, ir.Block, list[Condition]] | None:
    """The `scf.if` that a block ends with, its part that is not empty, and what has to hold for that."""
    op = block.operations[len(block.operations) - 2].operation if len(block.operations) > 1 else None
    if op is None or op.name != "scf.if" or op.results:
        return None
    bodies = [region.blocks[0] for region in op.regions if len(region.blocks)]
    full = [k for k, body in enumerate(bodies) if len(body.operations) > 1]
    conditions = _conditions(op.operands[0], full == [0], launch.block)
    return (op, bodies[full[0]], conditions) if len(full) == 1 and conditions is not None else None


def _conditions(value: ir.Value, wanted: bool, block: Dim3) -> list[Condition] | None:
    """What has to hold for `value` to be `wanted`; None where that is not only comparisons of evenly growing
    indices."""
    op = ops.maker(value)
    if op is not None and op.name == ("arith.andi" if wanted else "arith.ori"):
        found: list[Condition] = []
        for part in op.operands:
            conditions = _conditions(part, wanted, block)
            if conditions is None:
                return None
            found += conditions
        return found
    if op is None or op.name != "arith.cmpi" or any("div" in o.name or "rem" in o.name for o in _needed(op)):
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    sense = _SENSES.get(predicate if wanted else _OPPOSITE.get(predicate, -1))
    if sense is None:
        return None
    strides = [[stride_of(v, d, exact=True) for v in op.operands] for d in range(3)]
    if any(None in pair for pair in strides) or sense == 0 and not _is_size(op.operands[1]):
        return None
    grows = [(a or 0) - (b or 0) for a, b in strides]
    corners = []
    for toward in (sense,) if sense else (1, -1):
        x, y, z = (0 if g * toward >= 0 else n - 1 for g, n in zip(grows, block, strict=True))
        corners.append((op, wanted, (x, y, z)))
    return corners


def _is_size(value: ir.Value) -> bool:
    """Whether what is less than this number, taken as unsigned, is between 0 and it."""
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "arith.constant" \
        and ir.IntegerAttr(owner.operation.attributes["value"]).value >= 0


def _beside(block: ir.Block, along: int) -> bool:
    """Whether neighbours access numbers that are not side by side."""
    for op in (each.operation for each in block.operations):
        if op.name in ("memref.load", "memref.store"):
            index = list(op.operands)[1 if op.name == "memref.load" else 2:]
            if len(index) != 1 or stride_of(index[0], along) != 1:
                return True
        if any(_beside(inner, along) for region in op.regions for inner in region.blocks):
            return True
    return False


def _needed(op: ir.Operation) -> list[ir.Operation]:
    """The operations that compute an operation's result, in order."""
    found: dict[ir.Value, ir.Operation] = {}

    def need(one: ir.Operation) -> None:
        for value in one.operands:
            if not isinstance(value.owner, ir.Block) and value not in found:
                need(value.owner.operation)
        found[one.results[0]] = one
    need(op)
    return list(found.values())


def over_whole_blocks(f: Function, launch: Launch, block: tuple[str, str, str],
                      write: Callable[[Callable[[ir.Block], None]], None]) -> None:
    """Write the loops over the threads of a block, twice where there is a guard. write: the loops around what a thread
    does."""
    guard = guard_of(launch)
    if guard is None:
        write(f.emit_block)
        return
    whole, edge, after = f.fresh("whole"), f.fresh("edge"), f.fresh("after")
    f.branch_if(guard.passed_by_all(f, launch, block), whole, edge)
    f.start(whole)
    write(lambda body: guard.emit_passed(f, body))
    f.branch(after)
    f.start(edge)
    write(f.emit_block)
    f.branch(after)
    f.start(after)
