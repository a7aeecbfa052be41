"""Which values and branches are the same for all threads of a group: consecutive threads of one row of a block.

Groups are run in step from branch to branch where that is so. A branch that threads may take differently is either
left as it is (all threads of a group pass both sides one after the other), or looked at when it is reached, and the
group goes on in step if its threads agree (`checked`): where barriers depend on it, and for the usual guards, which
split few groups.
"""
from __future__ import annotations

import re
from dataclasses import field

from reactant.cuda_programs.device.flow import EXIT, Flow
from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of
from reactant.support.records import dataclass

_DIVERGENT = "%r.tid.x"
MOST_PROBED = 8
"""Branches of a kernel that are looked at, because each makes code."""
MANY = 12
"""Instructions that are worth a look whether they are needed."""
_POINTER = re.compile(r", ptr (%[^ ,]+|@[^ ,]+)")
_READS_ALONE = re.compile(r"call .*@llvm\.")


@dataclass
class Uniformity:
    """`divergent`: values that differ between threads of a group. `stepped`: blocks whose branch is taken by groups as
    a whole. `checked`: those of them whose threads have to be asked. `probed`: blocks whose branch is taken as a whole
    where threads agree, and by each for itself where they do not."""

    divergent: set[str]
    stepped: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)
    probed: set[str] = field(default_factory=set)


def local_pointers(function: Function) -> tuple[set[str], bool]:
    """Pointers into local arrays, and whether one is given away: stored, or passed to a function."""
    lines = function.definitions()
    found = {name for name, line in lines.items() if " = alloca " in line}
    given = False
    changed = bool(found)
    while changed:
        changed = False
        for block in function.blocks.values():
            for line in block:
                name, opcode = result_of(line), opcode_of(line)
                if name in found or opcode in ("load", "icmp") or found.isdisjoint(uses_of(line)):
                    continue
                if name is not None and opcode in ("getelementptr", "phi", "select", "bitcast", "freeze"):
                    found.add(name)
                    changed = True
                elif opcode == "store":
                    given |= line.split(", ptr ")[0].split(" ")[-1] in found
                elif not (opcode == "call" and re.search(r"@llvm\.(lifetime|memset|memcpy|memmove)", line)):
                    given = True
    return found, given


def uniformity(function: Function, cut_before: set[str], answers: set[str]) -> Uniformity:
    """Analyse a function that is split at its meetings, which end the blocks `cut_before` and give threads answers
    of their own."""
    return _Analysis(function, cut_before).run(answers)


class _Analysis:
    def __init__(self, function: Function, cut_before: set[str]) -> None:
        self.function, self.flow, self.cut_before = function, Flow(function), cut_before
        self.lines = function.definitions()
        self.home = {name: label for label, block in function.blocks.items() for line in block
                     if (name := result_of(line)) is not None}
        self.users: dict[str, list[str]] = {}
        for label, block in function.blocks.items():
            for line in block:
                for used in uses_of(line):
                    self.users.setdefault(used, []).append(result_of(line) or f"{label}!")
        self.branches = {label: block[-1] for label, block in function.blocks.items()
                         if block and opcode_of(block[-1]) in ("br", "switch") and len(self.flow.after[label]) > 1}
        self.decided = {label: self.flow.decided(label) for label in self.branches}
        self.local = local_pointers(function)[0]

    def run(self, answers: set[str]) -> Uniformity:
        divergent = {_DIVERGENT, *answers}
        for name, line in self.lines.items():
            if self._source(name, line):
                divergent.add(name)
        tainted: set[str] = set()
        checked: set[str] = set()
        probed: set[str] = set()
        left: set[str] = set()
        todo = list(divergent)
        while True:
            while todo:
                for user in self.users.get(todo.pop(), ()):
                    if user in self.lines and user not in divergent:
                        divergent.add(user)
                        todo.append(user)
            news = [label for label in self.branches if label not in left and self._condition(label) in divergent
                    and (label not in checked or (label in tainted and not self._meets(label)))]
            if not news:
                break
            for label in news:
                if label not in tainted and self._worth_checking(label):
                    checked.add(label)
                    continue
                checked.discard(label)
                left.add(label)
                if label not in tainted and len(probed) < MOST_PROBED and self._worth_probing(label):
                    probed.add(label)
                blocks, meet = self.decided[label]
                tainted |= blocks
                for block in blocks | ({meet} - {EXIT}):
                    for line in self.function.blocks[block]:
                        phi = result_of(line) if " = phi " in line else None
                        if phi is not None and phi not in divergent:
                            divergent.add(phi)
                            todo.append(phi)
        probed -= {label for other in self.branches if other in left for label in self.decided[other][0]}
        return Uniformity(divergent, self._stepped(tainted, checked, divergent, probed), checked, probed)

    def _source(self, name: str, line: str) -> bool:
        """Whether an instruction makes differences of its own."""
        opcode = opcode_of(line)
        if opcode in ("atomicrmw", "cmpxchg", "va_arg"):
            return True
        if opcode == "alloca":
            return True
        if opcode == "load":
            pointer = _POINTER.search(line)
            return " volatile " in line or " atomic " in line or (pointer is not None and pointer[1] in self.local)
        if opcode == "call":
            return not _READS_ALONE.search(line)
        return False

    def _condition(self, label: str) -> str:
        found = re.match(r"(?:br i1|switch \w+) (%[^ ,]+)", self.branches[label])
        return found[1] if found else ""

    def _meets(self, label: str) -> bool:
        return any(block in self.cut_before for block in self.decided[label][0])

    def _is_loop(self, label: str) -> bool:
        return label in self.decided[label][0]

    def _worth_checking(self, label: str) -> bool:
        """Meetings depend on it; or it is a guard: one side ends, or skips what has loops, by numbers of threads."""
        if not self.branches[label].startswith("br "):
            return False
        if self._meets(label):
            return True
        if self._is_loop(label) or self._looks_into_memory(self._condition(label)):
            return False
        blocks = self.decided[label][0]
        return any(inner in blocks and self._is_loop(inner) for inner in self.branches)

    def _worth_probing(self, label: str) -> bool:
        """A condition on numbers of threads, that decides about memory; there are vectors without masks, then."""
        if not self.branches[label].startswith("br ") or self._looks_into_memory(self._condition(label)):
            return False
        blocks = self.decided[label][0]
        if label in blocks or any(inner in blocks and self._is_loop(inner) for inner in self.branches):
            return False
        lines = [line for block in blocks for line in self.function.blocks[block]]
        return len(lines) > MANY or any(line.startswith("store ") or " load " in line for line in lines)

    def _looks_into_memory(self, name: str, depth: int = 12) -> bool:
        """Whether a value follows from what memory holds at places that differ between threads."""
        line = self.lines.get(name)
        if line is None:
            return False
        if depth == 0 or opcode_of(line) in ("load", "call", "phi", "atomicrmw", "cmpxchg"):
            return True
        return any(self._looks_into_memory(used, depth - 1) for used in uses_of(line))

    def _stepped(self, tainted: set[str], checked: set[str], divergent: set[str], probed: set[str]) -> list[str]:
        """Branches that groups take as a whole: loops, and those that decide about other such branches."""
        free = [label for label, line in self.branches.items() if label not in tainted and line.startswith("br ")
                and (label in checked or self._condition(label) not in divergent)]
        found = {label for label in free if label in checked or self._is_loop(label)} | probed
        ends = found | self.cut_before
        while more := {label for label in free if label not in found and self.decided[label][0] & ends}:
            found |= more
            ends |= more
        return [label for label in self.branches if label in found]
