"""Groups of consecutive threads that go through a kernel in step, from branch to branch and from meeting to meeting.

Between two such places there is a loop over the threads of the group, of a constant number of iterations that depend
on nothing of one another: LLVM makes vectors of it, and keeps what threads keep (an array for the group) in registers.
Loops of the kernel that all threads take alike thereby stand around loops over threads. Where the threads of a group
do not agree on a branch, or reach different meetings, the group's values go to memory of the threads, which then go on
one by one (`steps`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reactant.cuda_programs.device import warps
from reactant.cuda_programs.device.affine import LANE
from reactant.cuda_programs.device.cuts import Cut, Pieces
from reactant.cuda_programs.device.flow import EXIT, after
from reactant.cuda_programs.device.kernel import Kernel, group_registers
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.meetings import FIRST_OF_WARP
from reactant.cuda_programs.device.narrow import narrowed
from reactant.cuda_programs.device.steps import EXCHANGE, PLACES, Step
from reactant.cuda_programs.device.text import Function, quoted
from reactant.cuda_programs.device.uniformity import local_pointers
from reactant.cuda_programs.device.writer import Writer

APART = -2
"""The state of a group whose threads go on one by one."""
GROUP, WARP = 16, 32
"""Threads of a group, in kernels without and with operations of warps."""


class LaneStep(Step):
    """One thread of a group from one place to the next. What is the same for the group comes and goes as values."""

    def __init__(self, cut: Pieces, types: Mapping[str, str], note: str) -> None:
        super().__init__(cut, types)
        self.note = note
        self.uniform = [n for n in cut.kept if n not in cut.uniform.divergent]
        self.own = [n for n in cut.kept if n in cut.uniform.divergent]
        self.names |= {n: f"same.{k}" for k, n in enumerate(self.uniform)}
        self.type = "{ " + ", ".join(["i32", *(types[n] for n in self.uniform)]) + " }"
        self.ways: dict[str, list[Cut]] = {}
        for c in cut.cuts:
            if c.meeting is None:
                self.ways.setdefault(c.before, []).append(c)

    def variables(self) -> list[str]:
        lines = []
        for k, name in enumerate(self.uniform):
            lines += [f"  %same.{k} = alloca {self.types[name]}", f"  store {self.types[name]} %in.{k}, ptr %same.{k}"]
        return lines

    def load(self, name: str, again: str) -> str:
        made = super().load(name, again)
        return made.removesuffix(self.note) if name in self.uniform else made

    def store(self, name: str) -> str:
        made = super().store(name)
        return made.removesuffix(self.note) if name in self.uniform else made

    def returned(self, state: str) -> list[str]:
        lines, value = [], "poison"
        for number, (kind, given) in enumerate([("i32", state), *((self.types[n], "") for n in self.uniform)]):
            if not given:
                name = self.uniform[number - 1]
                given = self.fresh()
                lines.append(self.load(name, given))
            made = self.fresh()
            lines.append(f"{made} = insertvalue {self.type} {value}, {kind} {given}, {number}")
            value = made
        return [*lines, f"ret {self.type} {value}"]

    def ended(self, label: str, line: str) -> list[str]:
        ways = self.ways.get(label)
        if ways is None:
            return super().ended(label, line)
        *loads, branch = self.loaded(line)
        condition = branch[len("br i1 "):].split(",", 1)[0]
        state = self.fresh()
        return [*loads, f"{state} = select i1 {condition}, i32 {ways[0].state}, i32 {ways[1].state}",
                *self.returned(state)]


def marked(function: Function, group: str) -> None:
    """Accesses of memory that threads of a group make independently of each other, marked as such."""
    private, given = local_pointers(function)
    if given:
        return
    for lines in function.blocks.values():
        for at, line in enumerate(lines):
            bare = line.partition(" = ")[2] if line[0] == "%" else line
            if not bare.startswith(("load ", "store ")) or bare.split(" ", 2)[1] in ("atomic", "volatile"):
                continue
            pointer = line.rsplit(", ptr ", 1)[1].split(",", 1)[0]
            if pointer not in private and " getelementptr" not in pointer:
                lines[at] = f"{line}, !llvm.access.group {group}"


class Group:
    """Writes the two functions: `K.lane` for a thread, `K.group` for a group."""

    def __init__(self, made: Kernel, cut: Pieces, types: Mapping[str, str], shared: list[str], size: int,
                 notes: tuple[str, Callable[[], str], str], layout: Layout, version: str = "") -> None:
        self.prefix = made.name + version
        self.made, self.cut, self.types, self.size, self.layout = made, cut, types, size, layout
        self.access, self.loop, self.plain = notes
        self.step = LaneStep(cut, types, f", !llvm.access.group {self.access}")
        self.shared = shared
        self.after = after(cut.function)
        self.own, self.uniform = self.step.own, self.step.uniform
        self.meets = any(c.meeting for c in cut.cuts)

    # -- one thread

    def _lane_parameters(self) -> list[str]:
        found = ["i32 noundef %state", f"i64 noundef range(i64 0, {self.size}) %index",
                 "i32 noundef range(i32 0, 1024) %tid.base", *(p.text for p in self.made.parameters),
                 *group_registers("noundef "), *self.shared,
                 *(f"ptr noalias noundef %keep.{k}" for k in range(len(self.own))),
                 *(f"ptr noundef %array.{k}" for k in range(len(self.cut.arrays))),
                 *(f"{self.types[n]} %in.{k}" for k, n in enumerate(self.uniform))]
        return found + [f"ptr noundef %{letter}" for letter in EXCHANGE] * self.meets

    def lane(self, arrays: list[int], current: list[str]) -> str:
        f = Writer()
        f.label("step")
        f.let("add i64 %index, 0", LANE)
        f.let("trunc nuw nsw i64 %index to i32", "%index.32")
        f.let("add nuw nsw i32 %tid.base, %index.32", "%r.tid.x")
        for number, name in enumerate(self.cut.kept):
            if name in self.own:
                f.let(f"getelementptr inbounds {self.types[name]}, ptr %keep.{self.own.index(name)}, i64 %index",
                      f"%kept.{number}")
        for number, (name, size) in enumerate(zip(self.cut.arrays, arrays, strict=True)):
            at = f.let(f"mul nuw nsw i64 %index, {size}")
            f.let(f"getelementptr i8, ptr %array.{number}, i64 {at}", name)
        if self.meets:
            for letter, (kind, _) in EXCHANGE.items():
                f.let(f"getelementptr inbounds {kind}, ptr %{letter}, i64 %index", f"%{letter}.at")
        f.lines += [f"  {line}" for line in current]
        lines, self.limits = narrowed([*f.lines, *self.step.lines()])
        return (f"define internal {self.step.type} @{quoted(self.prefix + '.lane')}("
                f"{', '.join(self._lane_parameters())}) alwaysinline #REACTANT {{\n"
                + "\n".join(lines) + "\n}\n")

    # -- a group

    def ends(self, start: str) -> tuple[set[int], bool, Cut | None]:
        """The states that may follow from a block on (-1: the thread's end), whether threads may differ in that, and
        where they go on each for itself then, if there is such a place."""
        meetings = {c.before: c for c in self.cut.cuts if c.meeting}
        found: set[int] = set()
        places: set[str] = set()
        checked = False
        seen, todo = {start}, [start]
        while todo:
            label = todo.pop()
            if label in meetings:
                found.add(meetings[label].state)
                places.add(label)
                continue
            if label in self.step.ways:
                found |= {c.state for c in self.step.ways[label][:2]}
                places.add(label)
                checked |= label in self.cut.uniform.checked or label in self.cut.uniform.probed
                continue
            for target in self.after[label]:
                if target == EXIT:
                    if self.cut.function.blocks[label][-1].startswith("ret"):
                        found.add(-1)
                        places.add(EXIT)
                elif target not in seen:
                    seen.add(target)
                    todo.append(target)
        place = places.copy().pop() if len(places) == 1 else ""
        each = self.step.ways[place][2] if place in self.cut.uniform.probed else None
        return found, checked or len(places) > 1, each

    def parameters(self) -> list[str]:
        return ["i32 noundef %state", "ptr noundef %frame", "i64 noundef %base",
                "i32 noundef range(i32 0, 1024) %tid.base", *(p.text for p in self.made.parameters),
                *group_registers("noundef "), *self.shared,
                *(f"ptr noundef %base.{k}" for k in range(len(self.cut.kept))),
                *(f"ptr noundef %all.{k}" for k in range(len(self.cut.arrays))), "ptr noundef %states",
                *[f"ptr noundef %all.{letter}" for letter in EXCHANGE] * self.meets]

    def group(self, arrays: list[int], how: str = "") -> str:
        """`how`: attributes of a function that is seldom called."""
        self.f = f = Writer()
        f.label("entry")
        for k, name in enumerate(self.own):
            f.let(f"alloca [{self.size} x {self.types[name]}], align 64", f"%keep.{k}")
        for k, name in enumerate(self.uniform):
            f.let(f"alloca {self.types[name]}", f"%u.{k}")
            f.line(f"store {self.types[name]} poison, ptr %u.{k}")
        f.let(f"alloca [{self.size} x i32], align 64", "%next")
        for k, size in enumerate(arrays):
            at = f.let(f"mul i64 %base, {size}")
            f.let(f"getelementptr i8, ptr %all.{k}, i64 {at}", f"%array.{k}")
        if self.meets:
            for letter, (kind, _) in EXCHANGE.items():
                f.let(f"alloca [{self.size} x {kind}], align 64", f"%{letter}")
        entered = [c for c in self.cut.cuts if c.meeting and c.meeting.code < FIRST_OF_WARP]
        cases = " ".join(f"i32 {c.state}, label %enter.{c.site}" for c in entered)
        f.line(f"switch i32 %state, label %go.0 [ {cases} ]")
        for c in entered:
            f.label(f"enter.{c.site}")
            self._copies(c.live, to_memory=False)
            if c.meeting and c.meeting.result is not None:
                self._exchanged("answer", to_memory=False)
            f.line(f"br label %go.{c.site}")
        self.apart = False
        self._region(0, 0, next(iter(self.cut.function.blocks)))
        for c in self.cut.cuts:
            self._region(c.site, c.state, c.after)
            if c.meeting and c.meeting.code < FIRST_OF_WARP:
                f.label(f"leave.{c.site}")
                self._copies(c.live, to_memory=True)
                for letter in c.meeting.operands:
                    self._exchanged(letter, to_memory=True)
                f.line(f"ret i32 {c.state}")
            elif c.meeting:
                f.label(f"leave.{c.site}")
                warps.answered(f, c.meeting)
                f.line(f"br label %go.{c.site}")
        f.label("end")
        f.line("ret i32 -1")
        if self.apart:
            f.label("apart")
            at = f.let("getelementptr i32, ptr %states, i64 %base")
            f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {at}, ptr %next, i64 {4 * self.size}, i1 false)")
            self._copies(self.own, to_memory=True)
            if self.meets:
                for letter in PLACES:
                    self._exchanged(letter, to_memory=True)
            self._spread()
            f.line(f"ret i32 {APART}")
        return (f"define internal i32 @{quoted(self.prefix + '.group')}({', '.join(self.parameters())}) {how}"
                "#REACTANT {\n" + "\n".join(f.lines) + "\n}\n")

    def _exchanged(self, letter: str, to_memory: bool) -> None:
        """What threads give or get, from here to the frame or back."""
        kind, size = EXCHANGE[letter]
        there, here = self.f.let(f"getelementptr {kind}, ptr %all.{letter}, i64 %base"), f"%{letter}"
        target, source = (there, here) if to_memory else (here, there)
        self.f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size * self.size}, i1 false)")

    def _place(self, name: str) -> str:
        """Where a value of the group's first thread is in memory."""
        number = self.cut.kept.index(name)
        at = self.f.let(f"mul i64 %base, {self.layout.size(self.types[name])}")
        return self.f.let(f"getelementptr i8, ptr %base.{number}, i64 {at}")

    def _copies(self, names: Iterable[str], to_memory: bool) -> None:
        f = self.f
        for name in names:
            place = self._place(name)
            if name in self.own:
                here = f"%keep.{self.own.index(name)}"
                target, source = (place, here) if to_memory else (here, place)
                f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, "
                       f"i64 {self.size * self.layout.size(self.types[name])}, i1 false)")
                continue
            here = f"%u.{self.uniform.index(name)}"
            target, source = (place, here) if to_memory else (here, place)
            f.line(f"store {self.types[name]} {f.let(f'load {self.types[name]}, ptr {source}')}, ptr {target}")

    def _spread(self) -> None:
        """What is the same for the group goes to the memory of each thread."""
        f = self.f
        values = [(self.types[name], f.let(f"load {self.types[name]}, ptr %u.{k}"), self._place(name))
                  for k, name in enumerate(self.uniform)]
        f.line("br label %spread")
        f.label("spread")
        f.line("%k = phi i64 [ 0, %apart ], [ %k.next, %spread ]")
        for kind, value, place in values:
            at = f.let(f"getelementptr {kind}, ptr {place}, i64 %k")
            f.line(f"store {kind} {value}, ptr {at}")
        f.let("add nuw nsw i64 %k, 1", "%k.next")
        more = f.let(f"icmp ult i64 %k.next, {self.size}")
        f.line(f"br i1 {more}, label %spread, label %spread.end, !llvm.loop {self.plain}")
        f.label("spread.end")

    def _region(self, site: int, state: int, start: str) -> None:
        """The loop over the group's threads from one place on, and what comes after it."""
        f, step = self.f, self.step
        states, differ, each = self.ends(start)
        f.label(f"go.{site}")
        for k, name in enumerate(self.uniform):
            f.let(f"load {self.types[name]}, ptr %u.{k}", f"%in.{site}.{k}")
        f.line(f"br label %lane.{site}")
        f.label(f"lane.{site}")
        f.line(f"%l.{site} = phi i64 [ 0, %go.{site} ], [ %l.{site}.next, %lane.{site} ]")
        given = [f"i32 {state}", f"i64 %l.{site}", "i32 %tid.base",
                 *(p.argument for p in self.made.parameters),
                 *group_registers(),
                 *(f"ptr {p.rsplit(' ', 1)[1]}" for p in self.shared),
                 *(f"ptr %keep.{k}" for k in range(len(self.own))),
                 *(f"ptr %array.{k}" for k in range(len(self.cut.arrays))),
                 *(f"{self.types[n]} %in.{site}.{k}" for k, n in enumerate(self.uniform)),
                 *[f"ptr %{letter}" for letter in EXCHANGE] * self.meets]
        f.let(f"call {step.type} @{quoted(self.prefix + '.lane')}({', '.join(given)})", f"%res.{site}")
        state_now = f.let(f"extractvalue {step.type} %res.{site}, 0")
        if differ:
            at = f.let(f"getelementptr inbounds i32, ptr %next, i64 %l.{site}")
            f.line(f"store i32 {state_now}, ptr {at}, !llvm.access.group {self.access}")
        f.let(f"add nuw nsw i64 %l.{site}, 1", f"%l.{site}.next")
        more = f.let(f"icmp ult i64 %l.{site}.next, {self.size}")
        f.line(f"br i1 {more}, label %lane.{site}, label %done.{site}, !llvm.loop {self.loop()}")
        f.label(f"done.{site}")
        for k, name in enumerate(self.uniform):
            f.line(f"store {self.types[name]} {f.let(f'extractvalue {step.type} %res.{site}, {k + 1}')}, ptr %u.{k}")
        if not states:
            f.line("unreachable")
            return
        if differ:
            self.apart |= each is None
            kind = f"<{self.size} x i32>"
            all_ = f.let(f"load {kind}, ptr %next, align 64")
            first = f.let("load i32, ptr %next, align 64")
            one = f.let(f"insertelement {kind} poison, i32 {first}, i32 0")
            splat = f.let(f"shufflevector {kind} {one}, {kind} poison, <{self.size} x i32> zeroinitializer")
            same = f.let(f"icmp eq {kind} {all_}, {splat}")
            agree = f.let(f"call i1 @llvm.vector.reduce.and.v{self.size}i1(<{self.size} x i1> {same})")
            f.line(f"br i1 {agree}, label %same.{site}, label %{f'go.{each.site}' if each else 'apart'}")
            f.label(f"same.{site}")
            state_now = first
        targets = {s: self._target(s) for s in sorted(states)}
        *cases, last = targets.items()
        if not cases:
            f.line(f"br label %{last[1]}")
        else:
            listed = " ".join(f"i32 {s}, label %{t}" for s, t in cases)
            f.line(f"switch i32 {state_now}, label %{last[1]} [ {listed} ]")

    def _target(self, state: int) -> str:
        if state == -1:
            return "end"
        cut = next(c for c in self.cut.cuts if c.state == state)
        return f"leave.{cut.site}" if cut.meeting else f"go.{cut.site}"
