"""Reads of an array that is updated in place, moved to its newest version.

After `y = dynamic_update_slice(x, u, at)` XLA updates `x` where it lies only if nobody reads `x` any more.
Simplification prefers old versions (a read that the update does not touch is forwarded past it), which is right while
the update may become dead, and dear when it stays: each old version that a later fusion reads is copied. So, last of
all, a slice of `x` outside the updated window is read from `y` when everything that uses the slice comes after the
update. Small slices stay: they are best read before the first update (`target_updates.small_read_of_update`).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import shape_of, size
from reactant.simplify.facts.parts import Window, disjoint, update_window
from reactant.simplify.facts.target_costs import costs

UPDATE, SLICE = "stablehlo.dynamic_update_slice", "stablehlo.slice"


def read_newest_version(module: ir.Module) -> bool:
    """slice(x) = slice(dynamic_update_slice(x, u)) where the windows are disjoint: reads follow the updates. Gives
    whether any did."""
    updates: dict[ir.Block, list[ir.Operation]] = {}
    for op in modules.ops_called(UPDATE, module):
        updates.setdefault(op.block, []).append(op)
    with ir.Location.unknown():
        return any([_Reads(block).follow(found) for block, found in updates.items() if any(map(_may_move, found))])


def _may_move(update: ir.Operation) -> bool:
    """Whether there are big slices of what an update changes."""
    return any(use.owner.operation.name == SLICE and not _is_small(use.owner.operation)
               for use in update.operands[0].uses)


class _Reads:
    """The reads and updates of one block, in program order. Places are kept by result: the hash of an op in the
    bindings changes with its operands, that of a value does not."""

    def __init__(self, block: ir.Block):
        self.block = block
        self.place: dict[ir.Value, float] = {r: float(i) for i, op in enumerate(block.operations)
                                             for r in op.operation.results}

    def follow(self, updates: Sequence[ir.Operation]) -> bool:
        """Look at the updates of the block, in program order; gives whether a read was moved."""
        moved = False
        for update in updates:
            window = update_window(update.results[0])
            if window is not None:
                for read in list(self.untouched(update, window)):
                    self.move(read, update)
                    moved = True
        return moved

    def untouched(self, update: ir.Operation, window: Window) -> Iterator[ir.Operation]:
        """Slices of the array before the update, outside the window, that are only needed after it."""
        for use in update.operands[0].uses:
            read = use.owner.operation
            if read.name == SLICE and not _is_small(read) and read.results[0] in self.place \
                    and disjoint(_window_of(read), window) and self.first_use(read) > self.place[update.results[0]]:
                yield read

    def first_use(self, read: ir.Operation) -> float:
        return min((self.place_of(use.owner.operation) for use in read.results[0].uses), default=-1.0)

    def place_of(self, op: ir.Operation) -> float:
        """The place of an op, or of the op of this block whose region holds it."""
        while op.block != self.block:
            op = op.parent.operation
        return self.place[op.results[0]] if len(op.results) else float("inf")

    def move(self, read: ir.Operation, update: ir.Operation) -> None:
        limits, strides = (attr.decode(read.attributes[n]) for n in ("limit_indices", "strides"))
        with ir.InsertionPoint.after(update), read.location:
            newer = ops.slice(update.results[0], attr.decode(read.attributes["start_indices"]), limits, strides)
        self.place[newer] = self.place[update.results[0]] + 0.5
        read.results[0].replace_all_uses_with(newer)
        del self.place[read.results[0]]
        read.erase()


def _is_small(read: ir.Operation) -> bool:
    """Whether a read is so small that it is better done before all updates (see target_updates)."""
    table = costs()
    return table is not None and size(shape_of(read.results[0])) * table.small_read <= size(shape_of(read.operands[0]))


def _window_of(read: ir.Operation) -> Window:
    return attr.decode(read.attributes["start_indices"]), attr.decode(read.attributes["limit_indices"])
