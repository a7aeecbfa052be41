"""Where a kernel's threads meet cuts it in pieces: which values live across the cuts, and which are computed anew."""
from __future__ import annotations

import re
from dataclasses import field

from reactant.cuda_programs.device.affine import with_steps
from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP, Meeting, meeting
from reactant.cuda_programs.device.text import VALUE, Function, opcode_of, result_of, successors, uses_of
from reactant.cuda_programs.device.uniformity import Uniformity, uniformity
from reactant.support.records import dataclass

MOST_AGAIN = 8
"""Comparisons and their like up to which conditions are computed again rather than kept."""
MOST_ANEW = 24
"""Instructions from which on a value is kept rather than computed anew."""
_PURE = frozenset(("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "zext", "sext", "trunc",
                   "getelementptr", "select", "ptrtoint", "inttoptr", "bitcast", "sitofp", "uitofp", "fadd", "fsub",
                   "fmul", "fneg", "fpext", "fptrunc", "fcmp", "freeze"))
_PHI = re.compile(r"\[ ([^,\]]+), %((?:\"[^\"]*\"|[-\w$.]+)) \]")


STEPPED = 1
"""The kind of a cut where groups of threads go on in step, and a single thread just goes on."""


@dataclass
class Cut:
    """A meeting, or one way of a branch that groups take as a whole: the block that ends there, the block after it,
    the values that are needed from there on."""

    site: int
    meeting: Meeting | None
    before: str
    after: str
    live: list[str] = field(default_factory=list)

    @property
    def state(self) -> int:
        """What says that a thread is here."""
        return self.site << 8 | (self.meeting.code if self.meeting else STEPPED)


@dataclass
class Pieces:
    """A kernel that is cut: its blocks, and what its values are."""

    function: Function
    cuts: list[Cut]
    kept: list[str]
    """Values that live across a cut and have to be remembered."""
    anew: list[str]
    """Instructions that every piece computes at its start, in order."""
    arrays: list[str]
    """Local arrays (alloca) that live across a cut."""
    uniform: Uniformity


def has_cuts(made: Kernel) -> bool:
    return any(meeting(line) for lines in made.function.blocks.values() for line in lines)


def pieces(made: Kernel) -> Pieces:
    """Cut a kernel at its meetings."""
    function, cuts = _split(made.function)
    results = {c.meeting.result for c in cuts if c.meeting and c.meeting.result}
    known = uniformity(function, {c.before for c in cuts}, {
        c.meeting.result for c in cuts if c.meeting and c.meeting.result and c.meeting.code >= FIRST_OF_WARP})
    parameters = {p.name for p in made.parameters}
    read_only = {p.name for p in made.parameters if p.by_address and "readonly" in p.text}
    _conditions_again(function, cuts, known.divergent, Anew(function.definitions(), read_only, results))
    with_steps(function, known.divergent, hide=False)
    _step(function, cuts, known)
    live = _live_at_starts(function, {c.before: [v for _, v in c.meeting.operands.values() if v[0] == "%"]
                                      for c in cuts if c.meeting})
    lines_of = function.definitions()
    kept: dict[str, None] = {}
    arrays: dict[str, None] = {}
    anew: dict[str, None] = {}
    cheap = Anew(lines_of, read_only, results)
    for cut in cuts:
        wanted = sorted(live[cut.after] - {cut.meeting.result if cut.meeting else None} - parameters, key=_order)
        for name in wanted:
            if name in results:
                kept[name] = None
                cut.live.append(name)
            if name not in lines_of:
                continue
            if opcode_of(lines_of[name]) == "alloca":
                arrays[name] = None
                continue
            if (needed := cheap.needed(name)) is not None:
                anew.update(dict.fromkeys(needed))
                arrays.update(dict.fromkeys(n for n in needed if opcode_of(lines_of[n]) == "alloca"))
                continue
            kept[name] = None
            cut.live.append(name)
    return Pieces(function, cuts, list(kept), [n for n in anew if n not in arrays], list(arrays), known)


def _conditions_again(function: Function, cuts: list[Cut], divergent: set[str], cheap: Anew) -> None:
    """Conditions of branches behind a meeting that were asked before it, too, are computed again, where what they are
    made of is there or the same for all threads: no vector of them has to be kept."""
    behind = {cut.after for cut in cuts}
    home = {name: label for label, block in function.blocks.items() for line in block
            if (name := result_of(line)) is not None}
    for label in behind:
        lines = function.blocks[label]
        found = re.match(r"br i1 (%[^ ,]+),", lines[-1]) if lines else None
        if found is None or found[1] not in divergent or home.get(found[1], label) == label or \
                cheap.needed(found[1]) is not None:
            continue
        again: dict[str, None] = {}
        if not _logic(found[1], cheap, divergent, again, home) or len(again) > MOST_AGAIN:
            continue
        names = {name: f"{name}.again.{label}" for name in again}
        lines[-1:] = [_renamed(line, names) for line in (*(cheap.lines[name] for name in again), lines[-1])]
        divergent.update(names.values())


def _renamed(line: str, names: dict[str, str]) -> str:
    return VALUE.sub(lambda m: names.get(m[0], m[0]), line)


def _logic(name: str, cheap: Anew, divergent: set[str], again: dict[str, None], home: dict[str, str]) -> bool:
    """Whether a condition is made of comparisons alone of what is there anew or the same for all threads; `again`: the
    instructions in order."""
    if name[0] != "%" or name not in home or name not in divergent or cheap.needed(name) is not None:
        return True
    line = cheap.lines[name]
    if not (opcode_of(line) == "icmp" or re.search(r"= (?:and|or|xor|select) (?:disjoint )?i1 ", line)):
        return False
    if not all(_logic(used, cheap, divergent, again, home) for used in uses_of(line)):
        return False
    again[name] = None
    return True


def _order(name: str) -> tuple[int, str]:
    return len(name), name


class Anew:
    """Which values follow from parameters by a few instructions without side effects."""

    def __init__(self, lines: dict[str, str], read_only: set[str], results: set[str]) -> None:
        self.lines, self.read_only, self.results = lines, read_only, results
        self._known: dict[str, list[str] | None] = {}

    def needed(self, name: str) -> list[str] | None:
        """The instructions that make a value, in order; None where it has to be kept."""
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._needed(name)
        return self._known[name]

    def _needed(self, name: str) -> list[str] | None:
        line = self.lines[name]
        opcode = opcode_of(line)
        if opcode == "alloca":
            return [name]
        if opcode == "load":
            source = re.search(r", ptr (%[^ ,]+)", line)
            if source is None or "volatile" in line or "atomic" in line or not self._constant(source[1]):
                return None
        elif opcode in ("udiv", "urem", "sdiv", "srem"):
            if not re.search(r", [1-9]\d*$", line):
                return None
        elif opcode not in _PURE and not re.search(r"= (?:tail )?call .*@llvm\.(?:smin|smax|umin|umax|abs|fma|fmuladd|"
                                                   r"ctpop|fshl|fshr|vector\.)", line):
            return None
        found: dict[str, None] = {}
        for used in uses_of(line):
            if used in self.results:
                return None
            if used in self.lines:
                inner = self.needed(used)
                if inner is None:
                    return None
                found.update(dict.fromkeys(inner))
        found[name] = None
        return list(found) if len(found) <= MOST_ANEW else None

    def _constant(self, pointer: str) -> bool:
        """Whether a pointer leads into an argument that is only read."""
        while pointer in self.lines and opcode_of(self.lines[pointer]) == "getelementptr":
            source = re.search(r", ptr (%[^ ,]+)", self.lines[pointer])
            if source is None:
                return False
            pointer = source[1]
        return pointer in self.read_only


def _split(function: Function) -> tuple[Function, list[Cut]]:
    """Blocks end where threads meet."""
    blocks: dict[str, list[str]] = {}
    cuts: list[Cut] = []
    last: dict[str, str] = {}
    for label, lines in function.blocks.items():
        current = blocks.setdefault(label, [])
        name = label
        for line in lines:
            found = meeting(line)
            if found is None:
                current.append(line)
                continue
            after = f"cut.{len(cuts) + 1}.after"
            cuts.append(Cut(len(cuts) + 1, found, name, after))
            name, current = after, blocks.setdefault(after, [])
        last[label] = name
    for lines in blocks.values():
        for at, line in enumerate(lines):
            if " = phi " in line:
                lines[at] = _PHI.sub(lambda m: f"[ {m[1]}, %{last[m[2]]} ]", line)
    return Function(function.header, function.name, blocks), cuts


def _step(function: Function, cuts: list[Cut], known: Uniformity) -> None:
    """Both ways of the branches that groups take as a whole get blocks of their own; a third has the branch again."""
    for label in known.stepped:
        lines = function.blocks[label]
        found = re.match(r"br i1 (.*), label %(\S+), label %(\S+?)(,.*)?$", lines[-1])
        assert found is not None
        ways = []
        for target in (found[2], found[3]):
            way = f"way.{len(cuts) + 1}"
            cuts.append(Cut(len(cuts) + 1, None, label, way))
            ways.append(way)
            function.blocks[way] = [f"br label %{target}"]
            for at, line in enumerate(function.blocks[target]):
                if " = phi " in line:
                    function.blocks[target][at] = _phi_from(line, label, way, found[2] == found[3])
        lines[-1] = f"br i1 {found[1]}, label %{ways[0]}, label %{ways[1]}{found[4] or ''}"
        if label in known.probed:
            ways.append(f"way.{len(cuts) + 1}")
            cuts.append(Cut(len(cuts) + 1, None, label, ways[2]))
            function.blocks[ways[2]] = [lines[-1]]


def _phi_from(line: str, old: str, new: str, twice: bool) -> str:
    """A phi that hears from a block by way of another; the first of two where it heard from it twice."""
    return _PHI.sub(lambda m: f"[ {m[1]}, %{new} ]" if m[2] == old else m[0], line, count=0) if not twice else \
        re.sub(rf"%{re.escape(old)} \]", f"%{new} ]", line, count=1)


def phi_inputs(line: str) -> list[tuple[str, str]]:
    """(value, block) of a phi."""
    return _PHI.findall(line)


def _live_at_starts(function: Function, at_ends: dict[str, list[str]]) -> dict[str, set[str]]:
    """The values that are needed from the start of each block on; a block before a cut leads to the one after, and
    its end reads the operands of the meeting."""
    uses: dict[str, set[str]] = {}
    defines: dict[str, set[str]] = {}
    after: dict[str, list[str]] = {}
    from_phis: dict[str, set[str]] = {label: set() for label in function.blocks}
    labels = list(function.blocks)
    for number, (label, lines) in enumerate(function.blocks.items()):
        used: set[str] = set()
        known: set[str] = set()
        for line in lines:
            if " = phi " in line:
                for value, block in phi_inputs(line):
                    if value[0] == "%":
                        from_phis[block].add(value)
                    else:
                        from_phis[block].update(v for v in uses_of(value) if v[0] == "%")
            else:
                used.update(u for u in uses_of(line) if u not in known)
            if (name := result_of(line)) is not None:
                known.add(name)
        used.update(u for u in at_ends.get(label, ()) if u not in known)
        uses[label], defines[label] = used, known
        targets = successors(lines[-1]) if lines and opcode_of(lines[-1]) in ("br", "switch", "indirectbr") else []
        ended = bool(targets) or (bool(lines) and opcode_of(lines[-1]) in ("ret", "unreachable"))
        after[label] = targets if ended else [labels[number + 1]]
    live = {label: set(uses[label]) for label in labels}
    changed = True
    while changed:
        changed = False
        for label in reversed(labels):
            out = set(from_phis[label])
            for target in after[label]:
                out |= live[target]
            new = uses[label] | (out - defines[label])
            if len(new) != len(live[label]):
                live[label] = new
                changed = True
    return live
