"""Which buffer each array lives in: workspace, what may be written over, copies of what may not.

An array is written over an older one where nobody reads that any more, as far as the plan of the block and those around
it tell. Places are compared as expressions of loop counters, so an update next to what is read is in place too.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from reactant.errors import ReactantError
from reactant.loopnests.analysis.graph import Block, Node
from reactant.loopnests.emission.affine import linear
from reactant.loopnests.emission.elements import Buffer, Elements
from reactant.loopnests.emission.loop_parts import Target
from reactant.loopnests.emission.nests import Nest
from reactant.loopnests.emission.numbers import Arithmetic, Number
from reactant.loopnests.emission.plan import windows_apart
from reactant.loopnests.emission.roots import Plan, Root
from reactant.loopnests.emission.writer import Names, Writer
from reactant.support.records import dataclass


class NotCompiled(ReactantError):
    """Something in a region has no form as loops: it stays with XLA."""

    code = "not-native"


@dataclass(eq=False)
class Frame:
    """A block that is being written, how far, and whether it is run many times."""

    block: Block
    plan: Plan
    loop: bool
    position: int = 0
    made: list[Buffer] = field(default_factory=list)
    taken: list[Buffer] = field(default_factory=list)


class Buffers:
    """The memory of a function that is being written."""

    def __init__(self) -> None:
        self.w = Writer()
        self.a = Arithmetic(self.w)
        self.e = Elements(self.a)
        self.frames: list[Frame] = []
        self.scratch_made: list[Buffer] = []
        self.free: dict[tuple[Any, int], list[Buffer]] = {}
        self.names = Names()
        self.parallel = True
        self.declared: dict[str, str] = {}
        """What is called of other code, and how it is declared."""
        self.held: set[Buffer] = set()
        """Workspace that lasts as long as the block in which it was asked for."""

    def scratch(self, dtype: np.dtype, count: int) -> Buffer:
        """Memory for intermediate values, part of the call's workspace."""
        free = self.free.get((dtype, count))
        if free:
            buffer = free.pop()
        else:
            buffer = Buffer(f"%tmp{len(self.scratch_made)}", dtype, count)
            self.w.define(buffer.name, 0)
            self.scratch_made.append(buffer)
        made = Buffer(buffer.name, dtype, count, level=self.w.depth, version=buffer.version,
                      home=self.frames[-1].block if self.frames else None)
        if self.frames:
            self.frames[-1].made.append(made)
        return made

    def may_overwrite(self, buffer: Buffer, root: Root | None = None) -> bool:
        """Whether nothing that is still to come reads what a buffer holds (in the window that a root writes)."""
        if not buffer.writable:
            return False
        for k, frame in enumerate(reversed(self.frames)):
            steps = frame.plan.steps
            if not k and root is not None:
                for other in steps[frame.position].roots:
                    if self._conflicts(other, buffer, root, same_step=True):
                        return False
            for step in steps[frame.position + 1:]:
                for other in step.roots:
                    if self._conflicts(other, buffer, root, same_step=False):
                        return False
            if any(self.e.storage.get(n) is buffer for n in frame.plan.reads_at_end):
                return False
            if frame.block is buffer.home:
                return True
            if frame.loop:
                return False
        return True

    def _conflicts(self, reader: Root, buffer: Buffer, root: Root | None, same_step: bool) -> bool:
        """Whether a root that is still to come, or is written in the same nest, needs what `root` overwrites."""
        for node, index in reader.reads:
            if self.e.storage.get(node) is not buffer:
                continue
            if reader is root and index is None:
                continue    # an update's own operand
            if root is None or index is None:
                return True
            if windows_apart(self.names, root, reader, index):
                continue
            if same_step and root.place is not None and self.e.place(index, node.shape) == root.place:
                continue
            return True
        return False

    def copy(self, node: Node, to: Buffer) -> None:
        """Write a value's elements to a buffer."""
        root = Root(node, "map", node.shape, flat=node in self.e.storage)
        nest = CopyNest(self.e, node.shape, [root], {root: Target([to], shape=node.shape)}, self.scratch, self.parallel)
        nest.emit()

    def leave(self, frame: Frame, escaping: bool = False) -> None:
        """The block's values are not read any more, unless some escape (their workspace is not used again)."""
        assert self.frames.pop() is frame
        if not escaping:
            for buffer in frame.made:
                self.free.setdefault((buffer.dtype, buffer.size), []).append(buffer)

    def _release(self, frame: Frame) -> None:
        """Give back the workspace of values that nothing reads any more."""
        still = set(frame.plan.reads_at_end)
        for step in frame.plan.steps[frame.position + 1:]:
            for root in step.roots:
                still.update(n for n, _ in root.reads)
        used = {self.e.storage[n] for n in still if n in self.e.storage}
        used.update([b for u in used for b in u.backing], self.held)
        for buffer in [b for b in frame.made if b not in used]:
            frame.made.remove(buffer)
            self.free.setdefault((buffer.dtype, buffer.size), []).append(buffer)

    def _target(self, node: Node, root: Root, destinations: dict[Node, Buffer]) -> Buffer:
        wanted = destinations.get(node)
        if wanted is not None and wanted.size == node.size and self.may_overwrite(wanted, root) \
                and not any(t is wanted for t in self._taken):
            self._taken.append(wanted)
            return wanted
        return self.scratch(node.dtype, node.size)

    def apart(self, node: Node, read: set[Buffer], destinations: dict[Node, Buffer]) -> Buffer:
        """A buffer for a value that is written while some others are read: its destination, or workspace."""
        wanted = destinations.get(node)
        if wanted is not None and wanted not in read and wanted.size == node.size and self.may_overwrite(wanted) \
                and not any(t is wanted for t in self._taken):
            self._taken.append(wanted)
            return wanted
        return self.scratch(node.dtype, node.size)

    @property
    def _taken(self) -> list[Buffer]:
        """Destinations that a value has gone to already."""
        return self.frames[-1].taken

    def _update_target(self, root: Root, destinations: dict[Node, Buffer]) -> Target:
        node = root.node
        operand, update = node.operands[:2]
        buffer = self.e.storage.get(operand)
        starts = self.e.starts(node, operand, update.shape, 2)
        if buffer is None or not self.may_overwrite(buffer, root):
            whole = Root(node, "map", node.shape)
            buffer = self._target(node, whole, destinations)
            BorderNest(self.e, node.shape, [whole], {whole: Target([buffer], shape=node.shape)}, self.scratch,
                       self.parallel).emit()
        return Target([buffer], linear(tuple(starts), node.shape), node.shape)


class CopyNest(Nest):
    """Writes the elements of one value, wherever it is, to a buffer."""

    def _may_be_there(self, root: Root) -> bool:
        return True

    def _values(self, index: tuple[Any, ...]) -> list[tuple[Root, list[Number]]]:
        root = self.roots[0]
        return [(root, [self.e.at(root.node, self.index_of(root, index))])]


class BorderNest(CopyNest):
    """Writes what an update leaves of the array before it to a buffer; the window itself is left out."""

    def _values(self, index: tuple[Any, ...]) -> list[tuple[Root, list[Number]]]:
        root = self.roots[0]
        operand, update = root.node.operands[:2]
        starts = self.e.starts(root.node, operand, update.shape, 2)
        inside = True
        for i, start, extent in zip(self.e.coordinates(self.index_of(root, index), operand.shape), starts, update.shape,
                                    strict=True):
            place = i - start
            inside &= self.a.decide(place) is True and self.a.decide(place.times(-1) + (extent - 1)) is True
        if inside:
            buffer = self.targets[root].buffers[0]
            return [(root, [self.e.load(buffer, self._place(root, index), operand.dtype)])]
        return [(root, [self.e.at(operand, self.index_of(root, index))])]
