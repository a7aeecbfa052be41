"""The function that runs ranges of blocks whose threads meet, by groups in step (`vectors`).

From each barrier to the next there is a loop over the groups of a block. Its code is written for the place where it
begins, so that LLVM sees what a piece does with all groups. Where groups may come to different barriers they are asked;
when they do, or a group has come apart, the runtime finishes the block thread by thread (`steps`).
"""
from __future__ import annotations

from reactant.cuda_programs.device.blocks import place_of_block
from reactant.cuda_programs.device.kept import APART
from reactant.cuda_programs.device.shapes import Shape
from reactant.cuda_programs.device.stepped import Stepped
from reactant.cuda_programs.device.steps import FRAME
from reactant.cuda_programs.device.text import quoted
from reactant.cuda_programs.device.together import Memory
from reactant.cuda_programs.device.vectors import Vectors
from reactant.cuda_programs.device.writer import Writer

REDUCING = ("barrier.count", "barrier.and", "barrier.or")


class Rounds(Stepped):
    """Writes it. `border`: the version for groups that are not in the interior, or the same."""

    def __init__(self, group: Vectors, border: Vectors, memory: Memory, agreement: str,
                 shape: Shape | None = None) -> None:
        super().__init__(group, memory, agreement, shape)
        self.border = border
        self.sites = [0, *(c.site for c in group.entered)]

    def text(self) -> str:
        f = self.f
        self.begun()
        following = self._block_begins()
        self._placed("%number")
        f.line("br i1 %whole, label %go.at.0, label %singly")
        self._singly()
        for site in self.sites:
            self._round(site)
        for cut in self.group.entered:
            f.label(f"meet.{cut.site}")
            if cut.meeting and cut.meeting.kind in REDUCING:
                f.line(f"call void @reactant_reduce_block(ptr %frame, i32 {cut.state})")
            f.line(f"br label %go.at.{cut.site}")
        f.label("apart")
        f.line(f"call void @{quoted(self.made.name + '.apart')}(ptr %frame, ptr %reached)")
        f.let("call i32 @reactant_run_block(ptr %frame)")
        f.line("br label %block.end")
        return self.ended(following)

    def _block_begins(self) -> str:
        """Where the block is; the number of the one that is run next, as a sum."""
        place_of_block(self.f, "%number")
        return "%number, 1"

    def limited(self, within_limits: str) -> None:
        f = self.f
        self._scratch(4, "%reached")
        for name in ("%least", "%most"):
            self._own("i32", name)
        for k, name in enumerate(self.group.alike):
            self._own(self.group.types[name], f"%alike.{k}")
        over = f.let(f"urem i32 %r.ntid.x, {self.size}")
        f.let(f"and i1 {f.let(f'icmp eq i32 {over}, 0')}, {within_limits}", "%whole")

    def _round(self, site: int) -> None:
        """The loop over a block's groups from one place on, and where they go next."""
        f, at, group = self.f, f".at.{site}", self.group
        f.label(f"go{at}")
        for k, name in enumerate(group.alike):
            f.let(f"load {group.types[name]}, ptr %alike.{k}" if site else f"freeze {group.types[name]} poison",
                  f"%in.{k}{at}")
        ends = [version.ends(site) for version in (group, self.border)]
        states, asked = ends[0][0] | ends[1][0], ends[0][1] or ends[1][1]
        f.line("store i32 2147483647, ptr %least")
        f.line("store i32 -2147483648, ptr %most")
        f.line(f"br label %z{at}")
        self._loops(at, "called" if self.agreement else "x")
        more = [*(f"ptr %alike.{k}" for k in range(len(group.alike))),
                *(f"{group.types[name]} %in.{k}{at}" for k, name in enumerate(group.alike))]
        state = next((c.state for c in group.entered if c.site == site), 0)
        result = self.call(str(state), group.name_of(site), self.border.name_of(None), more, at)
        self._reached(result, asked, at)
        self._loops_end(at)
        self._rows_end(f"reached{at}", at)
        f.label(f"reached{at}")
        self._next(states, asked, at)

    def _loops(self, at: str, end: str) -> None:
        """The loops over groups begin; `end`: what the block where a group ends is called."""
        f = self.f
        self._rows(at, f"%base.z{at} = phi i64 [ 0, %go{at} ], [ %base.next{at}, %z.end{at} ]",
                   f"%base.y{at} = phi i64 [ %base.z{at}, %z{at} ], [ %base.next{at}, %y.end{at} ]")
        f.line(f"br label %x{at}")
        f.label(f"x{at}")
        f.line(f"%tid.base{at} = phi i32 [ 0, %y{at} ], [ %x.next{at}, %{end}{at} ]")
        f.line(f"%base{at} = phi i64 [ %base.y{at}, %y{at} ], [ %base.next{at}, %{end}{at} ]")

    def _rows(self, at: str, of_z: str = "", of_y: str = "") -> None:
        """The loops over z and y begin; `of_z`, `of_y`: a line more of each loop's head."""
        f = self.f
        for axis, before, more in (("z", f"go{at}", of_z), ("y", f"z{at}", of_y)):
            if axis == "y":
                f.line(f"br label %y{at}")
            f.label(f"{axis}{at}")
            f.line(f"%r.tid.{axis}{at} = phi i32 [ 0, %{before} ], [ %{axis}.next{at}, %{axis}.end{at} ]")
            if more:
                f.line(more)

    def _loops_end(self, at: str) -> None:
        """A row of groups ends."""
        f = self.f
        f.let(f"add nuw nsw i64 %base{at}, {self.size}", f"%base.next{at}")
        f.let(f"add nuw nsw i32 %tid.base{at}, {self.size}", f"%x.next{at}")
        again = f.let(f"icmp ult i32 %x.next{at}, %r.ntid.x")
        f.line(f"br i1 {again}, label %x{at}, label %y.end{at}")

    def _reached(self, result: str, asked: bool, at: str) -> None:
        """Where a group has come to."""
        f = self.f
        if not asked:
            f.line(f"store i32 {result}, ptr %least")
            return
        place = f.let(f"getelementptr i32, ptr %reached, i64 %base{at}")
        f.line(f"store i32 {result}, ptr {place}")
        for least, how in (("%least", "smin"), ("%most", "smax")):
            before = f.let(f"load i32, ptr {least}")
            f.line(f"store i32 {f.let(f'call i32 @llvm.{how}.i32(i32 {before}, i32 {result})')}, ptr {least}")

    def _next(self, states: set[int], asked: bool, at: str) -> None:
        f = self.f
        targets = {c.state: f"meet.{c.site}" for c in self.group.entered} | {-1: "block.end"}
        state = f.let("load i32, ptr %least")
        if asked:
            most = f.let("load i32, ptr %most")
            whole = f.let(f"icmp ne i32 {state}, {APART}")
            one = f.let(f"and i1 {f.let(f'icmp eq i32 {state}, {most}')}, {whole}")
            f.line(f"br i1 {one}, label %agreed{at}, label %apart")
            f.label(f"agreed{at}")
        if not states:
            f.line("unreachable")
            return
        *cases, last = sorted(states)
        listed = " ".join(f"i32 {s}, label %{targets[s]}" for s in cases)
        f.line(f"switch i32 {state}, label %{targets[last]} [ {listed} ]" if cases else f"br label %{targets[last]}")

    def _of_thread(self, f: Writer, kind: str, place: str, step: int) -> str:
        """What a thread has of a value that is kept for the first of its group: the others' follow by a step."""
        first = f.let(f"load {kind}, ptr {f.let(f'getelementptr {kind}, ptr {place}, i64 %base')}")
        if not step:
            return first
        far = f.let(f"mul i64 %k, {step}")
        if kind == "ptr":
            return f.let(f"getelementptr i8, ptr {first}, i64 {far}")
        return f.let(f"add {kind} {first}, {far if kind == 'i64' else f.let(f'trunc i64 {far} to {kind}')}")

    def apart(self) -> str:
        """A function that gives all threads of a block their own states and values, as far as groups had them."""
        f = Writer()
        f.label("entry")
        f.field("%frame", FRAME["state"], "ptr", "%states")
        f.field("%frame", FRAME["threads"], "i32", "%threads")
        f.let("zext i32 %threads to i64", "%n")
        own = len(self.memory.shared) + self.memory.dynamic
        places = {}
        for k, name in enumerate(self.group.cut.kept):
            if name in self.group.once:
                places[name] = f.field("%frame", FRAME["own"] + 8 * (own + k), "ptr")
        f.line("br label %group")
        f.label("group")
        f.line("%base = phi i64 [ 0, %entry ], [ %base.next, %group.end ]")
        f.let("getelementptr i32, ptr %reached, i64 %base", "%at")
        f.let("load i32, ptr %at", "%state")
        f.let(f"icmp ne i32 %state, {APART}", "%in.step")
        f.line("br i1 %in.step, label %thread, label %group.end")
        f.label("thread")
        f.line("%k = phi i64 [ 0, %group ], [ %k.next, %thread ]")
        f.let("add i64 %base, %k", "%t")
        at = f.let("getelementptr i32, ptr %states, i64 %t")
        f.line(f"store i32 %state, ptr {at}")
        for name, place in places.items():
            kind = self.group.types[name]
            target = f.let(f"getelementptr {kind}, ptr {place}, i64 %t")
            f.line(f"store {kind} {self._of_thread(f, kind, place, self.group.once[name])}, ptr {target}")
        f.let("add i64 %k, 1", "%k.next")
        more = f.let(f"icmp ult i64 %k.next, {self.size}")
        f.line(f"br i1 {more}, label %thread, label %group.end")
        f.label("group.end")
        f.let(f"add i64 %base, {self.size}", "%base.next")
        more = f.let("icmp ult i64 %base.next, %n")
        f.line(f"br i1 {more}, label %group, label %end")
        f.label("end")
        f.line("ret void")
        return (f"define internal void @{quoted(self.made.name + '.apart')}(ptr %frame, ptr %reached) noinline cold "
                "#REACTANT {\n" + "\n".join(f.lines) + "\n}\n")
