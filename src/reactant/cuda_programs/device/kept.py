"""What a group of threads, run as vectors, keeps where threads meet: a value of each thread goes to memory of the
threads, one that the group has in common is kept once for it, one that the whole block has in common is none of the
group's: it is given to what comes after a meeting, and taken from what comes before, so that LLVM sees where it comes
from.
"""
from __future__ import annotations

from typing import Any

from reactant.cuda_programs.device import warps
from reactant.cuda_programs.device.affine import BASE, LANE
from reactant.cuda_programs.device.cuts import Cut
from reactant.cuda_programs.device.flow import EXIT
from reactant.cuda_programs.device.kernel import group_registers
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP
from reactant.cuda_programs.device.spread import NotVectorizable
from reactant.cuda_programs.device.steps import EXCHANGE
from reactant.cuda_programs.device.text import opcode_of
from reactant.cuda_programs.device.values import Values

APART = -2
"""The state of a group whose threads go on one by one."""
GROUP, WARP = 16, 32
"""Threads of a group, in kernels without and with operations of warps."""


class Kept(Values):
    """The part of `Vectors` that is about meetings."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.entered = [c for c in self.cut.cuts if c.meeting and c.meeting.code < FIRST_OF_WARP]
        self.in_order, self.alike = self.in_common(set())
        self.once = {n: self.step(n) or 0 for n in self.cut.kept if self.same(n) or n in self._affine}

    def in_common(self, registers: set[str]) -> tuple[bool, list[str]]:
        """Whether all groups of a block come to the same meetings, as sure as can be, and kept values that all of
        them have in common then. What is in memory may change between two groups' looking at it. `registers`: those
        that blocks which are asked about differ by."""
        if not self.entered:
            return True, []
        anew = {*self.cut.anew}
        loaded = {name for name, line in self.spread.lines.items() if opcode_of(line) == "load" and name not in anew}
        answers = {c.meeting.result for c in self.cut.cuts if c.meeting and c.meeting.result and c not in self.entered}
        sources = {"%r.tid.x", "%r.tid.y", "%r.tid.z", LANE, BASE, *loaded, *answers, *registers}
        differ = self.spread.differing(sources, of_block=True)[0]
        if any(self.spread.meets(label) and self.spread.condition(label) in differ for label in self.spread.branches):
            return False, []
        return True, [n for n in self.cut.kept if n not in differ]

    def agree(self, other: Kept) -> None:
        """Two versions of a kernel run groups of one block: they keep values in one way."""
        self.in_order = other.in_order = self.in_order and other.in_order
        self.alike = other.alike = [n for n in self.alike if n in other.alike]
        self.once = other.once = {n: step for n, step in self.once.items() if other.once.get(n) == step}

    def whole(self, label: str) -> str:
        """The copy of a block for groups whose threads are all in it."""
        raise NotImplementedError

    # -- places to start

    def name_of(self, site: int | None) -> str:
        return f"{self.prefix}.group" if site is None else f"{self.prefix}.from.{site}"

    def parameters(self) -> list[str]:
        return ["i32 noundef %state", "ptr noundef %frame", "i64 noundef %base",
                "i32 noundef range(i32 0, 1024) %tid.base", *(p.text for p in self.made.parameters),
                *group_registers("noundef "), *self.shared,
                *(f"ptr noalias noundef %base.{k}" for k in range(len(self.cut.kept))),
                *(f"ptr noundef %all.{k}" for k in range(len(self.cut.arrays))), "ptr noundef %states",
                *[f"ptr noundef %all.{letter}" for letter in EXCHANGE] * self.meets,
                *(f"ptr noalias noundef %out.{k}" for k in range(len(self.alike))),
                *(f"{self.types[name]} %in.{k}" for k, name in enumerate(self.alike))]

    def start(self, site: int | None) -> None:
        """Code from the start (0) or a meeting on; None: from the one that the state says."""
        if site is not None:
            cut = next((c for c in self.entered if c.site == site), None)
            first = f"resume.{site}" if cut else self.whole(next(iter(self.function.blocks)))
            self.f.line(f"br label %{first}")
            return self._resume(cut) if cut else None
        cases = " ".join(f"i32 {c.state}, label %resume.{c.site}" for c in self.entered)
        self.f.line(f"switch i32 %state, label %{self.whole(next(iter(self.function.blocks)))} [ {cases} ]")
        for cut in self.entered:
            self._resume(cut)
        return None

    def ends(self, site: int) -> tuple[set[int], bool]:
        """The states that may follow from a place on (-1: the end), and whether groups are asked which it is."""
        todo = [c.after for c in self.entered if c.site == site] or [next(iter(self.function.blocks))]
        seen, found, apart = set(todo), set[int](), False
        while todo:
            label = todo.pop()
            if (cut := self.meetings.get(label)) in self.entered:
                assert cut is not None
                found.add(cut.state)
                continue
            apart |= self.spread.differs(label) and self.spread.meets(label)
            for target in self.spread.flow.after[label]:
                if target != EXIT:
                    todo += [target] * (target not in seen)
                    seen.add(target)
                elif self.function.blocks[label][-1].startswith("ret"):
                    found.add(-1)
        return found, apart or (len(found) > 1 and not self.in_order)

    # -- meetings

    def meeting(self, cut: Cut) -> None:
        meeting = cut.meeting
        assert meeting is not None
        f = self.f
        for letter, (kind, value) in meeting.operands.items():
            wide, size = EXCHANGE[letter][0], EXCHANGE[letter][1]
            given = self.vec(kind, value)
            if letter == "x":
                given = self._widened(kind, given)
            place = f"%{letter}"
            if meeting.code < FIRST_OF_WARP:
                place = f.let(f"getelementptr i8, ptr %all.{letter}, i64 {f.let(f'mul i64 %base, {size}')}")
            f.line(f"store <{self.size} x {wide}> {given}, ptr {place}, align {size}")
        if meeting.code < FIRST_OF_WARP:
            for name in cut.live:
                self._keep(name)
            f.line(f"ret i32 {cut.state}")
            return
        warps.answered(f, meeting)
        if meeting.result is not None:
            answer = f.let(f"load <{self.size} x i64>, ptr %answer, align 64")
            self.define(meeting.result, self._narrowed(meeting.type, answer))
        f.line(f"br label %{self.whole(cut.after)}")

    def _widened(self, kind: str, value: str) -> str:
        wide = f"<{self.size} x i64>"
        if kind == "i64":
            return value
        if kind == "double":
            return self.f.let(f"bitcast {self.of(kind)} {value} to {wide}")
        if kind == "float":
            value, kind = self.f.let(f"bitcast {self.of(kind)} {value} to <{self.size} x i32>"), "i32"
        return self.f.let(f"zext {self.of(kind)} {value} to {wide}")

    def _narrowed(self, kind: str, value: str) -> str:
        wide = f"<{self.size} x i64>"
        if kind == "i64":
            return value
        if kind == "double":
            return self.f.let(f"bitcast {wide} {value} to {self.of(kind)}")
        if kind == "float":
            value = self.f.let(f"trunc {wide} {value} to <{self.size} x i32>")
            return self.f.let(f"bitcast <{self.size} x i32> {value} to {self.of(kind)}")
        return self.f.let(f"trunc {wide} {value} to {self.of(kind)}")

    def _place(self, name: str) -> str:
        number = self.cut.kept.index(name)
        at = self.f.let(f"mul i64 %base, {self.layout.size(self.types[name])}")
        return self.f.let(f"getelementptr i8, ptr %base.{number}, i64 {at}")

    def _keep(self, name: str) -> None:
        kind = self.types[name]
        if name in self.alike:
            self.f.line(f"store {kind} {self.one(name)}, ptr %out.{self.alike.index(name)}")
        elif name in self.once:
            self.f.line(f"store {kind} {self.first(name)}, ptr {self._place(name)}")
        else:
            self._keep_each(name)

    def _keep_each(self, name: str) -> None:
        """A value goes to memory of the threads."""
        kind = self.types[name]
        value = self.vec(kind, name)
        if kind == "i1":
            value, kind = self.f.let(f"zext <{self.size} x i1> {value} to <{self.size} x i8>"), "i8"
        self.f.line(f"store {self.of(kind)} {value}, ptr {self._place(name)}, align {self.layout.size(kind)}")

    def _resume(self, cut: Cut) -> None:
        self.begin(f"resume.{cut.site}")
        f = self.f
        for name in cut.live:
            kind = self.types[name]
            if name in self.alike:
                self.define(name, f"%in.{self.alike.index(name)}")
                continue
            if name in self.once:
                self.define(name, f.let(f"load {kind}, ptr {self._place(name)}"))
                continue
            stored = "i8" if kind == "i1" else kind
            wide = self.type(name) if kind != "i1" else stored if self.same(name) else self.of(stored)
            got = f.let(f"load {wide}, ptr {self._place(name)}, align {self.layout.size(stored)}")
            if kind == "i1":
                got = f.let(f"trunc {wide} {got} to {self.type(name)}")
            self.define(name, got)
        meeting = cut.meeting
        assert meeting is not None
        if meeting.result is not None:
            at = f.let("mul i64 %base, 8")
            at = f.let(f"getelementptr i8, ptr %all.answer, i64 {at}")
            answer = f.let(f"load i64, ptr {at}, align 8")
            if not self.same(meeting.result):
                raise NotVectorizable("answers of barriers")
            kind = meeting.type
            self.define(meeting.result, answer if kind == "i64" else f.let(f"trunc i64 {answer} to {kind}"))
        f.line(f"br label %{self.whole(cut.after)}")

    def apart(self, label: str, test: str) -> None:
        """Threads of a group that reach different barriers go on one by one."""
        ways = self.ways.get(label)
        if ways is None:
            raise NotVectorizable("no state for threads that go on one by one")
        f = self.f
        for name in dict.fromkeys([*ways[0].live, *ways[1].live]):
            self._keep_each(name)
        kind = f"<{self.size} x i32>"
        states = f.let(f"select <{self.size} x i1> {test}, {kind} splat (i32 {ways[0].state}), {kind} "
                       f"splat (i32 {ways[1].state})")
        at = f.let("getelementptr i32, ptr %states, i64 %base")
        f.line(f"store {kind} {states}, ptr {at}, align 4")
        f.line(f"ret i32 {APART}")
