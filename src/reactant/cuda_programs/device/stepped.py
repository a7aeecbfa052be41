"""The function that runs ranges of blocks by groups of threads in step (`vectors`), and what that of threads which do
not meet looks like: a group that comes apart is finished at once, and threads that are no whole group are run by a
plain loop. For those that meet: `rounds`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from reactant.cuda_programs.device import blocks, library
from reactant.cuda_programs.device.blocks import arguments_of, launch_of, place_of_block, row_of_blocks
from reactant.cuda_programs.device.fields import LARGEST
from reactant.cuda_programs.device.kept import APART
from reactant.cuda_programs.device.kernel import group_registers, register_arguments
from reactant.cuda_programs.device.narrow import within
from reactant.cuda_programs.device.shapes import Shape
from reactant.cuda_programs.device.steps import EXCHANGE, FRAME
from reactant.cuda_programs.device.text import quoted
from reactant.cuda_programs.device.together import PER_THREAD, Memory
from reactant.cuda_programs.device.vectors import Vectors
from reactant.cuda_programs.device.writer import Writer

MOST_OWN = 1 << 16
"""Bytes of memory of a block up to which it is the function's own, where its size is known."""


class Stepped:
    """What both have in common."""

    def __init__(self, group: Vectors, memory: Memory, agreement: str = "", shape: Shape | None = None) -> None:
        self.group, self.memory, self.agreement, self.shape = group, memory, agreement, shape
        self.made, self.size, self.f = group.made, group.size, Writer()
        self.around = max(64, self.size * LARGEST)
        each = sum(size for _, size in (*memory.kept, *memory.arrays)) + sum(PER_THREAD.values())
        self.fits = shape is not None and \
            math.prod(shape) * each + sum(size for _, size in memory.shared) < MOST_OWN

    def begun(self) -> None:
        """The function's start, up to its first block."""
        f = self.f
        f.label("entry")
        arguments_of(f, self.made.parameters)
        launch_of(f, self.shape)
        f.line("%any = icmp ult i64 %first, %last")
        f.line("br i1 %any, label %prepare, label %end")
        f.label("prepare")
        self._prepare()
        f.line("br label %block")
        f.label("block")
        f.line("%number = phi i64 [ %first, %prepare ], [ %number.next, %block.end ]")

    def ended(self, following: str) -> str:
        """The function's end, and all of its text; `following`: the number of the next block to be run."""
        blocks.ended(self.f, following)
        return blocks.header(self.made.name) + "\n".join(self.f.lines) + "\n}\n"

    def _placed(self, number: str) -> None:
        """The frame is of a block."""
        self.f.put("%frame", FRAME["block"], "i64", number)
        for k, axis in enumerate(library.AXES):
            self.f.put("%frame", FRAME["place"] + 4 * k, "i32", f"%r.ctaid.{axis}")

    def _prepare(self) -> None:
        """The frame, and memory for what is in it."""
        f, memory = self.f, self.memory
        plane = f.let("mul nuw nsw i32 %r.ntid.x, %r.ntid.y")
        f.let(f"mul nuw nsw i32 {plane}, %r.ntid.z", "%threads")
        f.let("zext i32 %threads to i64", "%n")
        self._own(f"[{FRAME['own'] + 8 * len(memory.own()) + 8} x i8], align 64", "%frame")
        self.f.put("%frame", FRAME["launch"], "ptr", "%launch")
        self.f.put("%frame", FRAME["launch"] + 8, "ptr", f"@{quoted(self.made.name + '.step')}")
        self.f.put("%frame", FRAME["arguments"], "ptr", "%arguments")
        self.f.put("%frame", FRAME["threads"], "i32", "%threads")
        for field, size in PER_THREAD.items():
            if field == "state" or self.group.meets:
                self.f.put("%frame", FRAME[field], "ptr", self._scratch(size, f"%frame.{field}"))
            else:
                self.f.put("%frame", FRAME[field], "ptr", "%frame.state")
        number = 0
        for name, size in memory.shared:
            self._shared(str(size + 2 * self.around), name)
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", name)
            number += 1
        if memory.dynamic:
            self._shared(f.let(f"add i64 %r.dynamic_shared, {2 * self.around}"), "%shared.dynamic")
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", "%shared.dynamic")
            number += 1
        for name, size in (*memory.kept, *memory.arrays):
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", self._scratch(size, name))
            number += 1
        self.limited(within(f, self.group.limits))

    def limited(self, within_limits: str) -> None:
        """What launches are run by groups."""
        raise NotImplementedError

    def _shared(self, size: str, name: str) -> None:
        """Memory of the block, with room around it: all of a row of which one element is in that memory may be read and
        written back, whatever thread of the group is active."""
        if self.fits and size.isdigit():
            self._own(f"[{size} x i8], align 64", made := f"{name}.around")
        else:
            made = self.f.let(f"call noalias align 64 ptr @reactant_scratch(i64 {size})")
        self.f.let(f"getelementptr i8, ptr {made}, i64 {self.around}", name)

    def _own(self, what: str, name: str) -> None:
        """A variable of the function, where LLVM makes registers of it."""
        self.f.lines.insert(1, f"  {name} = alloca {what}")

    def _scratch(self, size: int, name: str) -> str:
        if self.fits:
            self._own(f"[{size * math.prod(self.shape or ())} x i8], align 64", name)
            return name
        total = self.f.let(f"mul i64 %n, {size}")
        return self.f.let(f"call noalias align 64 ptr @reactant_scratch(i64 {total})", name)

    def here(self, name: str, at: str) -> str:
        """What a register, or memory of a block, is called where a group is run."""
        return f"{name}{at}" if name.startswith("%r.tid.") else name

    def call(self, state: str, inside: str, border: str, more: Iterable[str] = (), at: str = "") -> str:
        """What a group's function answers, `inside` in the interior. `at`: how names of where it is end."""
        f, memory = self.f, self.memory
        place = [f"{kind} {self.here(register, at)}" for kind, register in map(str.split, group_registers())]
        values = [p.argument for p in self.made.parameters]
        given = ", ".join([
            f"i32 {state}", "ptr %frame", f"i64 %base{at}", f"i32 %tid.base{at}", *values, *place,
            *(f"ptr {self.here(p.rsplit(' ', 1)[1], at)}" for p in self.group.shared),
            *(f"ptr {self.here(name, at)}" for name, _ in (*memory.kept, *memory.arrays)), "ptr %frame.state",
            *[f"ptr %frame.{letter}" for letter in EXCHANGE] * self.group.meets, *more])
        if not self.agreement:
            return f.let(f"call i32 @{quoted(inside)}({given})")
        agree = f.let(f"call i1 @{quoted(self.agreement)}({', '.join([*values, *place, f'i32 %tid.base{at}'])})")
        f.line(f"br i1 {agree}, label %inside{at}, label %border{at}")
        f.label(f"inside{at}")
        one = f.let(f"call i32 @{quoted(inside)}({given})")
        f.line(f"br label %called{at}")
        f.label(f"border{at}")
        other = f.let(f"call i32 @{quoted(border)}({given})")
        f.line(f"br label %called{at}")
        f.label(f"called{at}")
        return f.let(f"phi i32 [ {one}, %inside{at} ], [ {other}, %border{at} ]")

    def _singly(self, after: str = "block.end") -> None:
        """A block thread by thread."""
        f = self.f
        f.label("singly")
        bytes_ = f.let("mul i64 %n, 4")
        f.line(f"call void @llvm.memset.p0.i64(ptr %frame.state, i8 0, i64 {bytes_}, i1 false)")
        f.let("call i32 @reactant_run_block(ptr %frame)")
        f.line(f"br label %{after}")

    def _rows_end(self, after: str, at: str = "") -> None:
        """Where the loops over y and z go round, or on."""
        for axis, end in (("y", f"z.end{at}"), ("z", after)):
            self.f.label(f"{axis}.end{at}")
            self.f.let(f"add nuw nsw i32 %r.tid.{axis}{at}, 1", f"%{axis}.next{at}")
            more = self.f.let(f"icmp ult i32 %{axis}.next{at}, %r.ntid.{axis}")
            self.f.line(f"br i1 {more}, label %{axis}{at}, label %{end}")


class Alone(Stepped):
    """Writes the function for threads that do not meet. `thread`: the function for one of them, for those that are no
    whole group; `note` makes the note of its loop."""

    def __init__(self, group: Vectors, memory: Memory, agreement: str, thread: str, note: Callable[[], str]) -> None:
        super().__init__(group, memory, agreement)
        self.thread, self.note = thread, note

    def text(self) -> str:
        self.begun()
        self._alone(not self.memory.own_of_block())
        return self.ended("%row.last, 0")

    def limited(self, within_limits: str) -> None:
        self.f.let(f"and i32 %r.ntid.x, {-self.size}", "%whole")
        self.f.let(f"and i1 true, {within_limits}", "%narrow")

    def _alone(self, rows: bool) -> None:
        """Along rows of blocks where they have no memory of their own, else one block after the other."""
        f = self.f
        if rows:
            row_of_blocks(f, "%number")
        else:
            place_of_block(f, "%number", "%row.x")
            f.let("add i32 0, 1", "%row.blocks")
            f.let("add i64 %number, 1", "%row.last")
        before = "block"
        if self.group.limits:
            f.line("br i1 %narrow, label %rows, label %singly.b")
            f.label("singly.b")
            f.line("%sb = phi i32 [ 0, %block ], [ %sb.next, %singly.end ]")
            f.let("add i32 %row.x, %sb", "%singly.x")
            self.f.put("%frame", FRAME["block"], "i64", f.let(f"add i64 %number, {f.let('zext i32 %sb to i64')}"))
            for k, value in enumerate(("%singly.x", "%r.ctaid.y", "%r.ctaid.z")):
                self.f.put("%frame", FRAME["place"] + 4 * k, "i32", value)
            f.line("br label %singly")
            self._singly("singly.end")
            f.label("singly.end")
            f.let("add i32 %sb, 1", "%sb.next")
            f.line(f"br i1 {f.let('icmp ult i32 %sb.next, %row.blocks')}, label %singly.b, label %block.end")
            f.label("rows")
            before = "rows"
        f.line("br label %z")
        f.label("z")
        f.line(f"%r.tid.z = phi i32 [ 0, %{before} ], [ %z.next, %z.end ]")
        f.line("br label %y")
        f.label("y")
        f.line("%r.tid.y = phi i32 [ 0, %z ], [ %y.next, %y.end ]")
        row = f.let("mul nuw nsw i32 %r.tid.z, %r.ntid.y")
        row = f.let(f"add nuw nsw i32 {row}, %r.tid.y")
        row = f.let(f"mul nuw nsw i32 {row}, %r.ntid.x")
        f.let(f"zext i32 {row} to i64", "%row")
        f.line("br label %b")
        f.label("b")
        f.line("%beside = phi i32 [ 0, %y ], [ %b.next, %b.end ]")
        f.let("add nuw nsw i32 %row.x, %beside", "%r.ctaid.x")
        self._placed(f.let(f"add i64 %number, {f.let('zext i32 %beside to i64')}"))
        f.line("br label %x")
        f.label("x")
        f.line("%tid.base = phi i32 [ 0, %b ], [ %x.next, %x.end ]")
        f.let("icmp ult i32 %tid.base, %whole", "%x.whole")
        f.line("br i1 %x.whole, label %x.group, label %rest")
        f.label("x.group")
        f.let(f"add nuw nsw i32 %tid.base, {self.size}", "%x.next")
        offset = f.let("zext nneg i32 %tid.base to i64")
        f.let(f"add nuw nsw i64 %row, {offset}", "%base")
        result = self.call("0", self.group.name_of(None), f"{self.made.name}.group")
        apart = f.let(f"icmp eq i32 {result}, {APART}")
        f.line(f"br i1 {apart}, label %x.apart, label %x.end")
        f.label("x.apart")
        f.line(f"call void @{quoted(self.made.name + '.apart')}(ptr %frame, i64 %base)")
        f.line("br label %x.end")
        f.label("x.end")
        f.line("br label %x")
        f.label("rest")
        some = f.let("icmp ult i32 %tid.base, %r.ntid.x")
        f.line(f"br i1 {some}, label %rest.x, label %b.end")
        f.label("rest.x")
        f.line("%r.tid.x = phi i32 [ %tid.base, %rest ], [ %rest.next, %rest.x ]")
        values = [p.argument for p in self.made.parameters]
        shared = [f"ptr {p.rsplit(' ', 1)[1]}" for p in self.group.shared]
        f.line(f"call void @{quoted(self.thread)}({', '.join([*values, *register_arguments(), *shared])})")
        f.let("add nuw nsw i32 %r.tid.x, 1", "%rest.next")
        more = f.let("icmp ult i32 %rest.next, %r.ntid.x")
        f.line(f"br i1 {more}, label %rest.x, label %b.end, !llvm.loop {self.note()}")
        f.label("b.end")
        f.let("add nuw nsw i32 %beside, 1", "%b.next")
        f.line(f"br i1 {f.let('icmp ult i32 %b.next, %row.blocks')}, label %b, label %y.end")
        self._rows_end("block.end")

    def apart(self) -> str:
        """A function that runs the threads of a group, which has come apart, to their ends."""
        return (f"define internal void @{quoted(self.made.name + '.apart')}(ptr %frame, i64 %base) noinline cold "
                f"#REACTANT {{\nentry:\n  %p = getelementptr i8, ptr %frame, i64 {FRAME['state']}\n"
                "  %states = load ptr, ptr %p\n  %b = trunc i64 %base to i32\n  br label %next\nnext:\n"
                "  %k = phi i32 [ 0, %entry ], [ %k.next, %ran ]\n  %t = add i32 %b, %k\n"
                "  %t64 = zext i32 %t to i64\n  %at = getelementptr i32, ptr %states, i64 %t64\n"
                "  %state = load i32, ptr %at\n  %go = icmp ne i32 %state, -1\n  br i1 %go, label %run, label %ran\n"
                f"run:\n  %r = call i32 @{quoted(self.made.name + '.step')}(ptr %frame, i32 %t, i32 %state)\n"
                f"  br label %ran\nran:\n  %k.next = add i32 %k, 1\n  %more = icmp ult i32 %k.next, {self.size}\n"
                "  br i1 %more, label %next, label %end\nend:\n  ret void\n}\n")
