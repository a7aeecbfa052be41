"""The function that runs ranges of blocks whose threads meet, several blocks beside each other at a time: from each
barrier to the next, a row of threads of all of them is run before the next row is.

Blocks of few threads in a row access memory by short pieces, each in a line far from the one before, and wait for them.
Beside each other they go along rows of memory. Each has memory of its own meanwhile.
"""
from __future__ import annotations

import math
import re

from reactant.cuda_programs.device.blocks import BESIDE, place_of_block
from reactant.cuda_programs.device.rounds import REDUCING, Rounds
from reactant.cuda_programs.device.shapes import Shape
from reactant.cuda_programs.device.together import Memory
from reactant.cuda_programs.device.vectors import Vectors

MOST_BYTES = 128 << 10
"""Memory of all blocks that are under way: a part of a second-level cache."""
LARGE = 16 << 10
"""Memory of one block that fills a first-level cache as it is."""
LONG = 128
"""Threads of a row of one block that go far enough along memory."""
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
    bytes_ = sum(size for _, size in memory.shared) + math.prod(shape) * sum(
        size for _, size in (*memory.kept, *memory.arrays))
    return max(1, min(BESIDE // shape[0], MOST_BYTES // max(bytes_, 1))) if bytes_ <= LARGE else 1


class Beside(Rounds):
    """Writes it. `most`: blocks at a time."""

    def __init__(self, group: Vectors, border: Vectors, memory: Memory, agreement: str, shape: Shape,
                 most: int) -> None:
        super().__init__(group, border, memory, agreement, shape)
        self.most, self.strides = most, dict[str, int]()

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
        f.label(f"z{at}")
        f.line(f"%r.tid.z{at} = phi i32 [ 0, %go{at} ], [ %z.next{at}, %z.end{at} ]")
        f.line(f"br label %y{at}")
        f.label(f"y{at}")
        f.line(f"%r.tid.y{at} = phi i32 [ 0, %z{at} ], [ %y.next{at}, %y.end{at} ]")
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
