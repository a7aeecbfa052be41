"""What is known of the integers that loops carry: the ranges of counters that a condition bounds."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.carried import Slot, step_of
from reactant.loopnests.emission.numbers import TURNED


def _may_wrap(slot: Slot, direction: str, start: tuple[int, int], limit: tuple[int, int], step: int) -> bool:
    """Whether a counter can pass the end of its dtype before its condition stops it. Of a limit about which nothing is
    known it is assumed that it does not."""
    ends = np.iinfo(slot.init.dtype)
    if limit == (ends.min, ends.max):
        return False
    if direction == "NE":
        return start[1] > limit[0] if step > 0 else start[0] < limit[1]
    beyond = step - (direction == "LT") + (direction == "GT")
    return limit[1] + beyond > ends.max if step > 0 else limit[0] + beyond < ends.min


class Counters(Buffers):
    """What is known of integers while a function is written."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: dict[Node, tuple[int, int]] = {}
        self.limits: dict[Node, tuple[Node, int]] = {}
        """(n, d) for a counter that grows, and is n + d at most."""

    def learn_counters(self, node: Node, slots: Sequence[Slot]) -> None:
        """Ranges of integers that a loop counts with, where the condition bounds them."""
        condition = node.blocks[0]
        tests, stack = [], [condition.returned[0]]
        while stack:
            test = stack.pop()
            if test.kind == "and" or test.kind == "select" and test.operands[2] is test.operands[0]:
                stack += test.operands[:2]
            elif test.kind == "compare":
                tests.append(test)
        for slot in slots:
            step = step_of(slot)
            start = self.known_range(slot.init)
            if step is None or start is None:
                continue
            for test in tests:
                left, right = test.operands
                direction = decoded(test, "comparison_direction")
                if left is not slot.condition_argument:
                    left, right = right, left
                    direction = TURNED.get(direction, direction)
                limit = self.known_range(right)
                if left is not slot.condition_argument or limit is None \
                        or _may_wrap(slot, direction, start, limit, step):
                    continue
                if step > 0 and direction in ("LT", "LE", "NE") and (direction != "NE" or step == 1):
                    beyond = 0 if direction == "LE" else -1
                    last = limit[1] + beyond
                    self.limits[slot.argument] = right, beyond
                    self.ranges[slot.argument] = (start[0], max(last, start[0]))
                    self.ranges[slot.condition_argument] = (start[0], max(last + step, start[1]))
                elif step < 0 and direction in ("GT", "GE"):
                    last = limit[0] + (direction == "GT")
                    self.ranges[slot.argument] = (min(last, start[1]), start[1])
                    self.ranges[slot.condition_argument] = (min(last + step, start[0]), start[1])

    def known_range(self, node: Node) -> tuple[int, int] | None:
        """What is known of an integer here; None for one about which nothing is."""
        if node.shape or node.dtype.kind not in "iu":
            return None
        if node.kind == "constant" and node.splat is not None:
            return int(node.splat), int(node.splat)
        if node in self.ranges:
            return self.ranges[node]
        bound = self.e.bound.get(node)
        if bound is None and node.block in [f.block for f in self.frames] and node.kind != "argument":
            bound = self.e.at(node, ())
        if bound is not None and bound.affine is not None:
            low, high = self.w.facts.range(bound.affine)
            if abs(low) < 1 << 40 and abs(high) < 1 << 40:
                return low, high
        return None

    def bound_counter(self, slot: Slot) -> None:
        """What the loop's start and condition say of a counter, as expressions."""
        place = self.e.bound[slot.argument].affine
        if place is None or slot.argument not in self.limits:
            return
        name = place.terms[0][0]
        limit, beyond = self.limits[slot.argument]
        low, high = (self.e.at(n, ()).affine for n in (slot.init, limit))
        self.w.facts.know(name, low, high + beyond if high is not None else None)
