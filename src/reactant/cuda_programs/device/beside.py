"""The function that runs ranges of blocks whose threads meet, several blocks beside each other at a time: from each
barrier to the next, a row of threads of all of them is run before the next row is.

Blocks of few threads in a row access memory by short pieces, each in a line far from the one before, and wait for them.
Beside each other they go along rows of memory. Each has memory of its own meanwhile.
"""
from __future__ import annotations

import math
import re

from reactant.cuda_programs.device.affine import LANE
from reactant.cuda_programs.device.blocks import BESIDE, place_of_block
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.rounds import REDUCING, Rounds
from reactant.cuda_programs.device.shapes import Shape
from reactant.cuda_programs.device.stepped import MOST_OWN
from reactant.cuda_programs.device.text import Function, opcode_of, uses_of
from reactant.cuda_programs.device.together import Memory
from reactant.cuda_programs.device.types import leading
from reactant.cuda_programs.device.vectors import Vectors
from reactant.kernels.llvm_ir.signatures import split_arguments

MOST_BYTES = 128 << 10
"""Memory of all blocks that are under way: a part of a second-level cache."""
LARGE = 16 << 10
"""Memory of one block that fills a first-level cache as it is."""
LONG = 128
"""Threads of a row of one block that go far enough along memory."""
_ACCESS = re.compile(r"(?:= load|^store) .*, ptr (%[^ ,]+)")
_COMMUNICATES = re.compile(r"\b(?:atomicrmw|cmpxchg|fence|atomic|volatile)\b")
"""What blocks may wait for each other by: one after the other they end."""


def at_a_time(group: Vectors, border: Vectors, memory: Memory, shape: Shape | None) -> int:
    """How many blocks of a known shape are run beside each other."""
    if shape is None or shape[0] % group.size or shape[0] >= LONG or shape[1] * shape[2] == 1 or memory.dynamic:
        return 1
    for version in (group, border):
        in_order, alike = version.in_common({"%r.ctaid.x"})
        sites = [0, *(c.site for c in version.entered)]
        if not in_order or not set(version.alike) <= set(alike) or any(version.ends(site)[1] for site in sites) or \
                any(c.meeting and c.meeting.kind in REDUCING for c in version.entered) or \
                any(_COMMUNICATES.search(line) for block in version.function.blocks.values() for line in block):
            return 1
    if not _adjoin(group, shape[0]):
        return 1
    bytes_ = memory_of_block(memory, shape)
    return max(1, min(BESIDE // shape[0], MOST_BYTES // max(bytes_, 1))) if bytes_ <= LARGE else 1


def memory_of_block(memory: Memory, shape: Shape) -> int:
    """Bytes of what each block has of its own."""
    return sum(size for _, size in memory.shared) + math.prod(shape) * sum(
        size for _, size in (*memory.kept, *memory.arrays))


def _adjoin(group: Vectors, width: int) -> bool:
    """Whether most rows of global memory that threads access go on where those of the block before end."""
    distances, more, fewer = Distances(group.function, group.layout), 0, 0
    for block in group.function.blocks.values():
        for line in block:
            if (found := _ACCESS.search(line)) and not group.in_shared(found[1]) and \
                    (distance := distances.of(found[1])) is not None and distance[0]:
                more += distance[1] == width * distance[0]
                fewer += distance[1] != width * distance[0]
    return more > fewer


class Distances:
    """How far values are from those of the next thread and of the next block, along x; addresses in bytes. A guess
    where values are limited or chosen."""

    def __init__(self, function: Function, layout: Layout) -> None:
        self.lines, self.layout = function.definitions(), layout
        self._known: dict[str, tuple[int, int] | None] = {"%r.tid.x": (1, 0), LANE: (1, 0), "%r.ctaid.x": (0, 1)}

    def of(self, name: str) -> tuple[int, int] | None:
        """None: not known."""
        if name not in self._known:
            self._known[name] = 0, 0            # within a loop: what is added there is the same for all
            self._known[name] = self._of(self.lines[name]) if name in self.lines else (0, 0)
        return self._known[name]

    def _of(self, line: str) -> tuple[int, int] | None:
        opcode = opcode_of(line)
        operands = [self.of(name) for name in uses_of(line) if name[0] == "%"]
        if opcode == "getelementptr":
            return self._address(line)
        if opcode in ("load", "call", "atomicrmw") and "@llvm." not in line:
            return None
        if all(each == (0, 0) for each in operands):
            return 0, 0
        if opcode in ("sext", "zext", "trunc", "freeze", "select", "phi", "call"):
            return max((each for each in operands if each), key=lambda each: (abs(each[1]), abs(each[0])), default=None)
        found = re.search(r" (\S+), (\S+?)(?:, !.*)?$", line)
        a, b = (self.of(text) for text in found.groups()) if found else (None, None)
        if a is None or b is None or found is None:
            return None
        if opcode in ("add", "sub", "or"):
            sign = -1 if opcode == "sub" else 1
            return a[0] + sign * b[0], a[1] + sign * b[1]
        if opcode in ("mul", "shl") and found[2].isdigit():
            factor = int(found[2]) if opcode == "mul" else 1 << int(found[2])
            return a[0] * factor, a[1] * factor
        return None

    def _address(self, line: str) -> tuple[int, int] | None:
        rest = re.sub(r"^(?:(?:inbounds|nuw|nusw) )*", "", line.partition(" getelementptr ")[2])
        kind = leading(rest)
        pointer, *indices = (each.rsplit(" ", 1)[1] for each in split_arguments(rest[len(kind):].lstrip(", "))
                             if not each.startswith("!"))
        near, far = self.of(pointer), self.of(indices[0]) if len(indices) == 1 else None
        if near is None or far is None:
            return None
        size = self.layout.size(kind)
        return near[0] + size * far[0], near[1] + size * far[1]


class Beside(Rounds):
    """Writes it. `most`: blocks at a time."""

    def __init__(self, group: Vectors, border: Vectors, memory: Memory, agreement: str, shape: Shape,
                 most: int) -> None:
        super().__init__(group, border, memory, agreement, shape)
        self.most, self.strides = most, dict[str, int]()
        self.fits = self.fits and most * memory_of_block(memory, shape) < MOST_OWN

    def _shared(self, size: str, name: str) -> None:
        self.strides[name] = -(-int(size) // 64) * 64
        super()._shared(str(self.strides[name] * self.most), name)

    def _scratch(self, size: int, name: str) -> str:
        if name not in {name for name, _ in (*self.memory.kept, *self.memory.arrays)}:
            return super()._scratch(size, name)
        self.strides[name] = size * math.prod(self.shape or ())
        return super()._scratch(size * self.most, name)

    def here(self, name: str, at: str) -> str:
        return f"{name}{at}" if name in self.strides or name == "%r.ctaid.x" else super().here(name, at)

    def _block_begins(self) -> str:
        f = self.f
        place_of_block(f, "%number")
        left = f.let(f"zext i32 {f.let('sub i32 %r.nctaid.x, %r.ctaid.x')} to i64")
        some = f.let(f"select i1 %whole, i64 {self.most}, i64 1")
        for limit in (left, f.let("sub i64 %last, %number")):
            some = f.let(f"call i64 @llvm.umin.i64(i64 {some}, i64 {limit})")
        f.let(f"trunc i64 {some} to i32", "%together")
        return f"%number, {some}"

    def _loops(self, at: str, end: str) -> None:
        f = self.f
        self._rows(at)
        row = f.let(f"mul nuw nsw i32 %r.tid.z{at}, %r.ntid.y")
        row = f.let(f"add nuw nsw i32 {row}, %r.tid.y{at}")
        row = f.let(f"zext nneg i32 {f.let(f'mul nuw nsw i32 {row}, %r.ntid.x')} to i64")
        f.line(f"br label %b{at}")
        f.label(f"b{at}")
        f.line(f"%beside{at} = phi i32 [ 0, %y{at} ], [ %b.next{at}, %b.end{at} ]")
        f.let(f"add nuw nsw i32 %r.ctaid.x, %beside{at}", f"%r.ctaid.x{at}")
        far = f.let(f"zext nneg i32 %beside{at} to i64")
        for name, stride in self.strides.items():
            offset = f.let(f"mul nuw nsw i64 {far}, {stride}")
            f.let(f"getelementptr inbounds i8, ptr {name}, i64 {offset}", f"{name}{at}")
        f.line(f"br label %x{at}")
        f.label(f"x{at}")
        f.line(f"%tid.base{at} = phi i32 [ 0, %b{at} ], [ %x.next{at}, %{end}{at} ]")
        f.let(f"add nuw nsw i64 {row}, {f.let(f'zext nneg i32 %tid.base{at} to i64')}", f"%base{at}")

    def _loops_end(self, at: str) -> None:
        f = self.f
        f.let(f"add nuw nsw i32 %tid.base{at}, {self.size}", f"%x.next{at}")
        f.line(f"br i1 {f.let(f'icmp ult i32 %x.next{at}, %r.ntid.x')}, label %x{at}, label %b.end{at}")
        f.label(f"b.end{at}")
        f.let(f"add nuw nsw i32 %beside{at}, 1", f"%b.next{at}")
        f.line(f"br i1 {f.let(f'icmp ult i32 %b.next{at}, %together')}, label %b{at}, label %y.end{at}")
