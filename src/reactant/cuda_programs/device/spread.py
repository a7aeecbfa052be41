"""What threads of a group have in common: which values differ between them, and which of those by a constant step.

A group is run in step, each value of it either one number for all its threads (uniform) or a vector. Where threads take
a branch differently, both sides are run under masks; phis where the ways meet again are vectors, then. Functions are
in loop-closed form (each value that leaves a loop does so by a phi), so that threads that leave a loop earlier than
others keep what they had.
"""
from __future__ import annotations

import re
from dataclasses import field

from reactant.cuda_programs.device.affine import LANE
from reactant.cuda_programs.device.flow import EXIT, Flow
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.types import leading
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

PHI = re.compile(r"\[ ([^,\]]+), %((?:\"[^\"]*\"|[-\w$.]+)) \]")
_BINARY = re.compile(r"= (add|sub|mul|shl|or) ((?:(?:nuw|nsw|disjoint) )*)i\d+ (\S+), (\S+?)(?:, !.*)?$")
_GEP = re.compile(r"= getelementptr ((?:(?:inbounds|nuw|nusw) )*)(.*)$")
_CHOSEN = re.compile(r"= select i1 (\S+), (?:i\d+|ptr) (\S+), (?:i\d+|ptr) (\S+?)(?:, !.*)?$")
_WIDENED = re.compile(r"= (?:sext|zext nneg) i32 (\S+) to i64(?:, !.*)?$")
_LARGEST = 2**20


class NotVectorizable(Exception):
    """What this way of running groups does not know."""


@dataclass
class Region:
    """Blocks in an order in which each comes after all that lead to it; loops are regions of their own."""

    header: str | None
    parts: list[str | Region] = field(default_factory=list)


class Spread:
    """The analysis of a function whose blocks end where threads meet (`meetings`: those blocks)."""

    def __init__(self, function: Function, layout: Layout, divergent: set[str], meetings: set[str]) -> None:
        self.function, self.layout, self.meetings = function, layout, meetings
        self.flow = Flow(function)
        self.lines = function.definitions()
        self.branches = {label: block[-1] for label, block in function.blocks.items()
                         if block and opcode_of(block[-1]) == "br" and block[-1].startswith("br i1 ")}
        if any(block and opcode_of(block[-1]) in ("switch", "indirectbr") for block in function.blocks.values()):
            raise NotVectorizable("switch")
        self.decided = {label: self.flow.decided(label) for label in self.branches}
        self.before: dict[str, list[str]] = {label: [] for label in function.blocks}
        for label, targets in self.flow.after.items():
            for target in targets:
                if target != EXIT:
                    self.before[target].append(label)
        self.headers = self._headers(set(function.blocks))
        self.cancelled: set[str] = set()    # what threads have in common though it is made of what they have not
        self.divergent, self.joined = self.differing(divergent)
        self._strides: dict[str, int | None] = {}
        self._find_strides()
        self.cancelled = {n for n in self.exact() if n in self.lines and self._strides[n] == 0}
        if self.cancelled:
            self.divergent, self.joined = self.differing(divergent)
            self._find_strides()

    # -- which values differ

    def differing(self, sources: set[str]) -> tuple[set[str], set[str]]:
        """The values that differ between threads where some do (`sources`), and phis that do as threads come to them
        by different ways."""
        users: dict[str, list[str]] = {}
        for label, block in self.function.blocks.items():
            for line in block:
                for used in uses_of(line):
                    users.setdefault(used, []).append(result_of(line) or f"{label}!")
        divergent, joined = set(sources), set[str]()
        for name, line in self.lines.items():
            opcode = opcode_of(line)
            if opcode in ("atomicrmw", "cmpxchg", "va_arg", "alloca") or (
                    opcode == "call" and "@llvm." not in line and not re.search(r"memory\(none\)", line)):
                divergent.add(name)
        todo, done = list(divergent), set[str]()
        while True:
            while todo:
                for user in users.get(todo.pop(), ()):
                    if user in self.lines and user not in divergent and user not in self.cancelled:
                        divergent.add(user)
                        todo.append(user)
            news = [label for label in self.branches if label not in done and self.condition(label) in divergent]
            if not news:
                return divergent, joined
            done.update(news)
            for phi in [phi for label in news for phi in self._joined_by(label)]:
                joined.add(phi)
                if phi not in divergent:
                    divergent.add(phi)
                    todo.append(phi)

    def _joined_by(self, label: str) -> list[str]:
        """Phis in which the ways from a branch meet. Headers of loops are entered from one place."""
        blocks, meet = self.decided[label]
        found = []
        for block in blocks | ({meet} - {EXIT}):
            if block == meet or block not in self.headers:
                found += [line.split(" = ", 1)[0] for line in self.function.blocks[block] if " = phi " in line]
        return found

    def condition(self, label: str) -> str:
        return self.branches[label][len("br i1 "):].split(",", 1)[0]

    def differs(self, label: str) -> bool:
        """Whether threads may take a branch differently."""
        return label in self.branches and self.condition(label) in self.divergent

    def meets(self, label: str) -> bool:
        """Whether threads meet in what a branch decides about."""
        return not self.meetings.isdisjoint(self.decided[label][0])

    # -- steps between threads

    def stride(self, name: str) -> int | None:
        """The step of an integer, or of an address in bytes, from thread to thread; None where there is none."""
        if name[0] != "%" or name not in self.divergent:
            return 0
        return self._strides.get(name)

    def exact(self) -> set[str]:
        """Values that follow each other by steps in whatever is computed with them, not in addresses alone."""
        wrong = {name for name, line in self.lines.items() if _WIDENED.search(line) and self.stride(name)}
        changed = True
        while changed:
            more = {name for name in self._strides if name in self.lines and name not in wrong
                    and not wrong.isdisjoint(uses_of(self.lines[name]))}
            wrong |= more
            changed = bool(more)
        return set(self._strides) - wrong

    def _find_strides(self) -> None:
        """Steps of phis are assumed to be those of what comes first, until something speaks against it."""
        refused: set[str] = set()
        while True:
            self._strides = {"%r.tid.x": 1, LANE: 1}
            changed = True
            while changed:
                changed = False
                for name in self.lines:
                    if name in self.divergent and name not in self._strides and name not in refused:
                        found = self._stride(name)
                        if found is not None:
                            self._strides[name] = found
                            changed = True
            wrong = {name for name, found in self._strides.items() if name in self.lines
                     and " = phi " in self.lines[name]
                     and any(self.stride(v) != found for v, _ in PHI.findall(self.lines[name]))}
            if not wrong:
                return
            refused |= wrong

    def _stride(self, name: str) -> int | None:
        line = self.lines[name]
        if " = phi " in line:
            if name in self.joined:
                return None
            known = [found for v, _ in PHI.findall(line) if (found := self.stride(v)) is not None]
            return known[0] if known else None
        if binary := _BINARY.search(line):
            return self._sum_stride(*binary.groups())
        if address := _GEP.search(line):
            return self._address_stride(address[2])
        if (chosen := _CHOSEN.search(line)) and self.stride(chosen[1]) == 0:
            left, right = self.stride(chosen[2]), self.stride(chosen[3])
            return left if left == right else None
        if widened := _WIDENED.search(line):
            return self.stride(widened[1])          # as in `affine`: an index that wraps around leads nowhere
        if opcode_of(line) == "freeze":
            return self.stride(line.rsplit(" ", 1)[1])
        return None

    def _sum_stride(self, how: str, flags: str, a: str, b: str) -> int | None:
        left, right = self.stride(a), self.stride(b)
        if left is None or right is None or (how == "or" and "disjoint" not in flags):
            return None
        if how in ("add", "or"):
            result = left + right
        elif how == "sub":
            result = left - right
        elif how == "mul" and re.fullmatch(r"-?\d+", b):
            result = left * int(b)
        elif how == "shl" and re.fullmatch(r"\d+", b) and int(b) < 24:
            result = left << int(b)
        else:
            return None
        return result if abs(result) < _LARGEST else None

    def _address_stride(self, text: str) -> int | None:
        kind = leading(text)
        pointer, *indices = split_arguments(text[len(kind):].lstrip(", "))
        total = self.stride(pointer.rsplit(" ", 1)[1])
        if total is None:
            return None
        for number, index in enumerate(indices):
            if index.startswith("!"):
                break
            value = index.rsplit(" ", 1)[1]
            if number:
                kind = self._inner(kind, value)
            step = self.stride(value)
            if step is None or (step and not index.startswith("i64")):
                return None
            if step:
                total += step * self.layout.size(kind)
        return total

    def _inner(self, kind: str, index: str) -> str:
        if kind[0] == "%":
            kind = self.layout.text_of(kind)
        if kind[0] in "[":
            return kind[1:-1].split(" x ", 1)[1]
        if kind[0] == "{" and index.isdigit():
            return split_arguments(kind[1:-1].strip())[int(index)].strip()
        raise NotVectorizable(f"index into {kind}")

    # -- order of blocks

    def depth(self, block: str, within: set[str]) -> int:
        """In how many loops a block is, of those that lie within some blocks."""
        found, todo = 0, [(self._everything, 0)]
        while todo:
            region, depth = todo.pop()
            for part in region.parts:
                if part == block:
                    found = depth
                elif isinstance(part, Region):
                    todo.append((part, depth + (part.header in within)))
        return found

    def _headers(self, blocks: set[str]) -> set[str]:
        found: set[str] = set()
        self._everything = self.region(blocks)
        todo: list[str | Region] = [self._everything]
        while todo:
            part = todo.pop()
            if isinstance(part, Region):
                found |= {part.header} - {None}     # type: ignore[arg-type]
                todo += part.parts
        return found

    def region(self, blocks: set[str], header: str | None = None) -> Region:
        """Blocks in order. Raises where a loop is entered in more than one place."""
        made = Region(header)
        for group in self._components(blocks, header):
            if len(group) == 1 and (group[0] == header or group[0] not in self.flow.after[group[0]]):
                made.parts.append(group[0])
                continue
            inner = set(group)
            entries = [b for b in group if any(p not in inner for p in self.before[b])]
            if len(entries) != 1:
                raise NotVectorizable("a loop of several entries")
            made.parts.append(self.region(inner, entries[0]))
        return made

    def _components(self, blocks: set[str], header: str | None) -> list[list[str]]:
        """Strongly connected components in topological order (Tarjan's algorithm), without edges to the header."""
        number: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        on: set[str] = set()
        found: list[list[str]] = []

        def targets(label: str) -> list[str]:
            return [t for t in self.flow.after[label] if t in blocks and t != header]
        for root in [b for b in self.function.blocks if b in blocks]:
            if root in number:
                continue
            work = [(root, iter(targets(root)))]
            number[root] = low[root] = len(number)
            stack.append(root)
            on.add(root)
            while work:
                label, rest = work[-1]
                for target in rest:
                    if target not in number:
                        number[target] = low[target] = len(number)
                        stack.append(target)
                        on.add(target)
                        work.append((target, iter(targets(target))))
                        break
                    if target in on:
                        low[label] = min(low[label], number[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[label])
                    if low[label] == number[label]:
                        group = []
                        while True:
                            group.append(stack.pop())
                            on.discard(group[-1])
                            if group[-1] == label:
                                break
                        found.append(group)
        return found[::-1]
