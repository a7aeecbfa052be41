"""What copies of a thread's work have in common, for `coarsen`: values, and the parts of the control flow that each
copy has to go through by itself."""
from __future__ import annotations

from collections.abc import Callable

from reactant.cuda_programs.device.flow import EXIT, Flow
from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.versions import NotAnother
from reactant.support.records import dataclass

AGREE = "@reactant.copies.agree("
"""Whether a condition is what is said for all copies: the same for all of them."""


@dataclass
class Region:
    """Blocks that each copy runs by itself. They are entered by a branch that copies may take differently (`branch`),
    or at one of them (`entry`: a loop that copies may leave at different times), and all their ways lead to `meet`."""

    blocks: set[str]
    meet: str
    branch: str = ""
    entry: str = ""


class Common:
    """The analysis. `differs`: values that are not the same for all copies. `source`: whether an instruction makes
    differences of its own; `meets`: whether threads of a block meet at it."""

    def __init__(self, function: Function, first: set[str], source: Callable[[str], bool],
                 meets: Callable[[str], bool]) -> None:
        self.function, self.flow, self.meets = function, Flow(function), meets
        self.differs = set(first) | {name for name, line in function.definitions().items() if source(line)}
        self.users: dict[str, list[str]] = {}
        for block in function.blocks.values():
            for line in block:
                if (name := result_of(line)) is not None and AGREE not in line:
                    for used in uses_of(line):
                        self.users.setdefault(used, []).append(name)
        self.regions = self._found()

    def condition(self, label: str) -> str:
        """What the branch at a block's end depends on; "" where it has one way."""
        last = self.function.blocks[label][-1]
        if opcode_of(last) not in ("br", "switch") or len(self.flow.after[label]) < 2:
            return ""
        return next(iter(uses_of(last)))

    def _found(self) -> list[Region]:
        """Regions that have no block in common, the largest."""
        found: list[tuple[set[str], str, set[str]]] = []
        left: set[str] = set()
        todo = list(self.differs)
        while True:
            while todo:
                for user in self.users.get(todo.pop(), ()):
                    if user not in self.differs:
                        self.differs.add(user)
                        todo.append(user)
            new = next((label for label in self.function.blocks if label not in left
                        and self.condition(label) in self.differs), None)
            if new is None:
                break
            left.add(new)
            blocks, meet = self.flow.decided(new)
            found.append((blocks, meet, {new}))
            todo += [name for name in self._values(blocks, meet) if name not in self.differs]
            self.differs.update(todo)
        return [self._region(*each) for each in _apart(found)]

    def _values(self, blocks: set[str], meet: str) -> list[str]:
        """What is defined where copies are by themselves, and what is chosen where they meet again."""
        names = [result_of(line) for label in blocks for line in self.function.blocks[label]]
        if meet != EXIT:
            names += [result_of(line) for line in self.function.blocks[meet] if " = phi " in line]
        return [name for name in names if name is not None]

    def _region(self, blocks: set[str], meet: str, branches: set[str]) -> Region:
        if any(self.meets(line) for label in blocks for line in self.function.blocks[label]):
            raise NotAnother("threads meet where copies may go different ways")
        outside = {label for label in self.flow.labels if label not in blocks
                   and not blocks.isdisjoint(self.flow.after[label])}
        if len(outside) == 1 and outside <= branches:
            return Region(blocks, meet, branch=outside.pop())
        entries = {target for label in outside for target in self.flow.after[label] if target in blocks}
        if len(entries) != 1 or outside & branches:
            raise NotAnother("a part that copies go through by themselves has several entries")
        return Region(blocks, meet, entry=entries.pop())


def _apart(found: list[tuple[set[str], str, set[str]]]) -> list[tuple[set[str], str, set[str]]]:
    """Parts that overlap are one; of their meetings the one outside all of them counts."""
    parts = [(set(blocks), {meet}, set(branches)) for blocks, meet, branches in found]
    changed = True
    while changed:
        changed = False
        for k, (blocks, meets, branches) in enumerate(parts):
            for other in parts[k + 1:]:
                if blocks & other[0] or branches & other[0] or blocks & other[2] or branches & other[2]:
                    blocks |= other[0]
                    meets |= other[1]
                    branches |= other[2]
                    parts.remove(other)
                    changed = True
                    break
            if changed:
                break
    result = []
    for blocks, meets, branches in parts:
        left = meets - blocks
        if len(left) != 1:
            raise NotAnother("a part that copies go through by themselves ends at several places")
        result.append((blocks, left.pop(), branches))
    return result
