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
from reactant.cuda_programs.device.offsets import ALL, Shape, constant, of_two
from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of
from reactant.cuda_programs.device.types import leading
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

PHI = re.compile(r"\[ ([^,\]]+), %((?:\"[^\"]*\"|[-\w$.]+)) \]")
_BINARY = re.compile(r"= (add|sub|mul|shl|or|and|xor|lshr|ashr) ((?:(?:nuw|nsw|disjoint|exact) )*)i(32|64) "
                     r"(\S+), (\S+?)(?:, !.*)?$")
_GEP = re.compile(r"= getelementptr ((?:(?:inbounds|nuw|nusw) )*)(.*)$")
_CHOSEN = re.compile(r"= select i1 (\S+), (?:i\d+|ptr) (\S+), (?:i\d+|ptr) (\S+?)(?:, !.*)?$")
_WIDENED = re.compile(r"= (sext|zext|zext nneg) i32 (\S+) to i64(?:, !.*)?$")
_NARROWED = re.compile(r"= trunc (?:(?:nuw|nsw) )*i64 (\S+) to i32(?:, !.*)?$")
DEEPEST = 8


class NotVectorizable(Exception):
    """What this way of running groups does not know."""


@dataclass
class Region:
    """Blocks in an order in which each comes after all that lead to it; loops are regions of their own."""

    header: str | None
    parts: list[str | Region] = field(default_factory=list)


class Spread:
    """The analysis of a function whose blocks end where threads meet (`meetings`: those blocks)."""

    def __init__(self, function: Function, layout: Layout, divergent: set[str], meetings: set[str],
                 size: int = 16) -> None:
        self.function, self.layout, self.meetings, self.size = function, layout, meetings, size
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
        self._shapes: dict[str, Shape] = {}
        self._find_shapes()
        self.cancelled = {n for n in self.exact() if n in self.lines and self.stride(n) == 0}
        if self.cancelled:
            self.divergent, self.joined = self.differing(divergent)
            self._find_shapes()

    # -- which values differ

    def differing(self, sources: set[str], of_block: bool = False) -> tuple[set[str], set[str]]:
        """The values that differ between threads of a group where some do (`sources`), or of a block, and phis that do
        as threads come to them by different ways."""
        cancelled = set[str]() if of_block else self.cancelled
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
                    if user in self.lines and user not in divergent and user not in cancelled:
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
        return self._shapes[name].step if name in self._shapes else None

    def offsets(self, name: str) -> tuple[int, ...] | None:
        """How far each thread's integer, or address in bytes, is from the first thread's; None where that is open."""
        if name[0] != "%" or name not in self.divergent:
            return (0,) * self.size
        return self._shapes[name].offsets if name in self._shapes else None

    def exact(self) -> set[str]:
        """Values that follow each other by steps in whatever is computed with them, not in addresses alone."""
        wrong = {name for name, line in self.lines.items() if (widened := _WIDENED.search(line))
                 and name in self._shapes and not self._shape_of(widened[2]).within}     # type: ignore[union-attr]
        changed = True
        while changed:
            more = {name for name in self._shapes if name in self.lines and name not in wrong
                    and not wrong.isdisjoint(uses_of(self.lines[name]))}
            wrong |= more
            changed = bool(more)
        return {name for name, shape in self._shapes.items() if name not in wrong and shape.step is not None}

    def _find_shapes(self) -> None:
        """Shapes of phis are assumed to be those of what comes first, until something speaks against it."""
        refused: set[str] = set()
        bits: dict[str, int] = {}
        consecutive = Shape(tuple(range(self.size)), self.size.bit_length() - 1)
        while True:
            self._shapes = {"%r.tid.x": consecutive, LANE: Shape(consecutive.offsets, 31)}
            changed = True
            while changed:
                changed = False
                for name in self.lines:
                    if name in self.divergent and name not in self._shapes and name not in refused:
                        found = self._shape(name)
                        if found is not None:
                            if found.known > bits.get(name, ALL):
                                found = Shape(found.offsets, bits[name], found.low & ((1 << bits[name]) - 1))
                            self._shapes[name] = found
                            changed = True
            again = False
            for name, assumed in self._shapes.items():
                if name not in self.lines or " = phi " not in self.lines[name]:
                    continue
                agreed: Shape | None = assumed
                for value, _ in PHI.findall(self.lines[name]):
                    found = self._shape_of(value)
                    agreed = found and agreed and agreed.agreed(found)
                if agreed is None:
                    refused.add(name)
                elif agreed.known < assumed.known:
                    bits[name] = agreed.known
                else:
                    continue
                again = True
            if not again:
                return

    def _shape_of(self, value: str, depth: int = DEEPEST) -> Shape | None:
        """The shape of an operand: low bits, too, of what all threads have in common."""
        if value in self._shapes:
            return self._shapes[value]
        if re.fullmatch(r"-?\d+", value):
            return constant(int(value), self.size)
        if value in self.divergent:
            return None
        common = Shape((0,) * self.size)
        line = self.lines.get(value, "")
        if not depth or not (binary := _BINARY.search(line)) or (binary[1] == "or" and "disjoint" not in binary[2]):
            return common
        a, b = (self._shape_of(operand, depth - 1) for operand in (binary[4], binary[5]))
        if a is None or b is None:
            return common
        if binary[1] == "and" and b.known == ALL and b.low:             # zeros of a mask are zeros of the result
            return Shape(common.offsets, min((b.low & -b.low).bit_length() - 1, 31))
        found = of_two("add" if binary[1] == "or" else binary[1], a, b, int(binary[3]))
        return found if found and not any(found.offsets) else common

    def _shape(self, name: str) -> Shape | None:
        line = self.lines[name]
        if " = phi " in line:
            if name in self.joined:
                return None
            return next((found for v, _ in PHI.findall(line) if (found := self._shape_of(v)) is not None), None)
        if binary := _BINARY.search(line):
            left, right = self._shape_of(binary[4]), self._shape_of(binary[5])
            if left is None or right is None or (binary[1] == "or" and "disjoint" not in binary[2]):
                return None
            return of_two("add" if binary[1] == "or" else binary[1], left, right, int(binary[3]))
        if address := _GEP.search(line):
            return self._address_shape(address[2])
        if (chosen := _CHOSEN.search(line)) and self.stride(chosen[1]) == 0:
            left, right = self._shape_of(chosen[2]), self._shape_of(chosen[3])
            return left.agreed(right) if left and right else None
        if widened := _WIDENED.search(line):
            found = self._shape_of(widened[2])          # as in `affine`: an index that wraps around leads nowhere
            if found is None or (widened[1] == "zext" and not found.within):
                return None
            return Shape(found.offsets, min(found.known, 31), found.low & 2**31 - 1)
        if narrowed := _NARROWED.search(line):
            found = self._shape_of(narrowed[1])
            return found and Shape(found.offsets, min(found.known, 31), found.low & 2**31 - 1)
        if opcode_of(line) == "freeze":
            return self._shape_of(line.rsplit(" ", 1)[1])
        return None

    def _address_shape(self, text: str) -> Shape | None:
        kind = leading(text)
        pointer, *indices = split_arguments(text[len(kind):].lstrip(", "))
        total = self.offsets(pointer.rsplit(" ", 1)[1])
        if total is None:
            return None
        for number, index in enumerate(indices):
            if index.startswith("!"):
                break
            value = index.rsplit(" ", 1)[1]
            if number:
                kind = self._inner(kind, value)
            steps = self.offsets(value)
            if steps is None or (any(steps) and not index.startswith("i64")):
                return None
            if any(steps):
                size = self.layout.size(kind)
                total = tuple(far + step * size for far, step in zip(total, steps, strict=True))
        return Shape(total)

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
