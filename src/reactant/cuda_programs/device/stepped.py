"""The function that runs ranges of blocks by groups of threads in step (`groups`).

Where threads meet, all groups of a block go from one barrier to the next; when they do not end at the same barrier, or
a group has come apart, the runtime finishes the block thread by thread. Where they do not, a group that comes apart is
finished at once, and threads that are no whole group are run by a plain loop.
"""
from __future__ import annotations

from collections.abc import Callable

from reactant.cuda_programs.device import blocks, library
from reactant.cuda_programs.device.blocks import arguments_of, launch_of, place_of_block, row_of_blocks
from reactant.cuda_programs.device.groups import APART, Group
from reactant.cuda_programs.device.kernel import group_registers, register_arguments
from reactant.cuda_programs.device.narrow import within
from reactant.cuda_programs.device.steps import EXCHANGE, FRAME
from reactant.cuda_programs.device.text import quoted
from reactant.cuda_programs.device.together import PER_THREAD, Memory
from reactant.cuda_programs.device.vectors import Vectors
from reactant.cuda_programs.device.writer import Writer

REDUCING = ("barrier.count", "barrier.and", "barrier.or")


def blocks_function(group: Group | Vectors, memory: Memory, thread: str | None, note: Callable[[], str],
                    agreement: str = "") -> str:
    """The function, for a kernel whose threads meet, or do not (`thread`: its function for one thread). `agreement`:
    the function that says whether a group is in the interior."""
    made = _Stepped(group, memory, thread, note)
    made.agreement = agreement
    return made.text()


class _Stepped:
    def __init__(self, group: Group | Vectors, memory: Memory, thread: str | None, note: Callable[[], str]) -> None:
        self.group, self.memory, self.thread, self.note = group, memory, thread, note
        self.made, self.size, self.f = group.made, group.size, Writer()
        self.agreement = ""

    def text(self) -> str:
        f = self.f
        f.label("entry")
        arguments_of(f, self.made.parameters)
        launch_of(f)
        f.line("%any = icmp ult i64 %first, %last")
        f.line("br i1 %any, label %prepare, label %end")
        f.label("prepare")
        self._prepare()
        f.line("br label %block")
        f.label("block")
        f.line("%number = phi i64 [ %first, %prepare ], [ %number.next, %block.end ]")
        rows = not self.group.meets and not self.memory.own_of_block()
        if self.group.meets:
            place_of_block(f, "%number")
            self._placed("%number")
            self._meeting()
        else:
            self._alone(rows)
        f.label("block.end")
        f.line(f"%number.next = add nuw i64 {'%row.last, 0' if not self.group.meets else '%number, 1'}")
        f.line("%more = icmp ult i64 %number.next, %last")
        f.line("br i1 %more, label %block, label %end")
        f.label("end")
        f.line("ret void")
        return blocks.header(self.made.name) + "\n".join(f.lines) + "\n}\n"

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
        f.let(f"alloca [{FRAME['own'] + 8 * len(memory.own()) + 8} x i8], align 64", "%frame")
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
            f.let(f"call noalias align 64 ptr @reactant_scratch(i64 {size})", name)
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", name)
            number += 1
        if memory.dynamic:
            f.let("call noalias align 64 ptr @reactant_scratch(i64 %r.dynamic_shared)", "%shared.dynamic")
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", "%shared.dynamic")
            number += 1
        for name, size in (*memory.kept, *memory.arrays):
            self.f.put("%frame", FRAME["own"] + 8 * number, "ptr", self._scratch(size, name))
            number += 1
        within_limits = within(f, self.group.limits)
        if not self.group.meets:
            f.let(f"and i32 %r.ntid.x, {-self.size}", "%whole")
            f.let(f"and i1 true, {within_limits}", "%narrow")
        if self.group.meets:
            self._scratch(4, "%reached")
            f.let("alloca i32", "%least")
            f.let("alloca i32", "%most")
            over = f.let(f"urem i32 %r.ntid.x, {self.size}")
            f.let(f"and i1 {f.let(f'icmp eq i32 {over}, 0')}, {within_limits}", "%whole")

    def _scratch(self, size: int, name: str) -> str:
        total = self.f.let(f"mul i64 %n, {size}")
        return self.f.let(f"call noalias align 64 ptr @reactant_scratch(i64 {total})", name)

    def _call(self, state: str, base: str, tid_base: str) -> str:
        arguments = [f"i32 {state}", "ptr %frame", f"i64 {base}", f"i32 {tid_base}",
                     *(p.argument for p in self.made.parameters),
                     *group_registers(),
                     *(f"ptr {p.rsplit(' ', 1)[1]}" for p in self.group.shared),
                     *(f"ptr {name}" for name, _ in (*self.memory.kept, *self.memory.arrays)), "ptr %frame.state",
                     *[f"ptr %frame.{letter}" for letter in EXCHANGE] * self.group.meets]
        call, f = f"({', '.join(arguments)})", self.f
        if not self.agreement:
            return f.let(f"call i32 @{quoted(self.made.name + '.group')}{call}")
        given = [*(p.argument for p in self.made.parameters), *group_registers(), f"i32 {tid_base}"]
        agree = f.let(f"call i1 @{quoted(self.agreement)}({', '.join(given)})")
        f.line(f"br i1 {agree}, label %inside, label %border")
        f.label("inside")
        inside = f.let(f"call i32 @{quoted(self.made.name + '.inside.group')}{call}")
        f.line("br label %called")
        f.label("border")
        border = f.let(f"call i32 @{quoted(self.made.name + '.group')}{call}")
        f.line("br label %called")
        f.label("called")
        return f.let(f"phi i32 [ {inside}, %inside ], [ {border}, %border ]")

    def _singly(self, after: str = "block.end") -> None:
        """A block thread by thread."""
        f = self.f
        f.label("singly")
        bytes_ = f.let("mul i64 %n, 4")
        f.line(f"call void @llvm.memset.p0.i64(ptr %frame.state, i8 0, i64 {bytes_}, i1 false)")
        f.let("call i32 @reactant_run_block(ptr %frame)")
        f.line(f"br label %{after}")

    def _rows_end(self, after: str) -> None:
        """Where the loops over y and z go round, or on."""
        for axis, end in (("y", "z.end"), ("z", after)):
            self.f.label(f"{axis}.end")
            self.f.let(f"add nuw nsw i32 %r.tid.{axis}, 1", f"%{axis}.next")
            more = self.f.let(f"icmp ult i32 %{axis}.next, %r.ntid.{axis}")
            self.f.line(f"br i1 {more}, label %{axis}, label %{end}")

    # -- threads that do not meet

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
        result = self._call("0", "%base", "%tid.base")
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
        f.line(f"call void @{quoted(self.thread or '')}({', '.join([*values, *register_arguments(), *shared])})")
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

    # -- threads that meet

    def _meeting(self) -> None:
        f = self.f
        f.line("br i1 %whole, label %round, label %singly")
        self._singly()
        f.label("round")
        f.line("%state = phi i32 [ 0, %block ], [ %state.next, %released ]")
        f.line("store i32 2147483647, ptr %least")
        f.line("store i32 -2147483648, ptr %most")
        f.line("br label %z")
        f.label("z")
        f.line("%r.tid.z = phi i32 [ 0, %round ], [ %z.next, %z.end ]")
        f.line("%base.z = phi i64 [ 0, %round ], [ %base.next, %z.end ]")
        f.line("br label %y")
        f.label("y")
        f.line("%r.tid.y = phi i32 [ 0, %z ], [ %y.next, %y.end ]")
        f.line("%base.y = phi i64 [ %base.z, %z ], [ %base.next, %y.end ]")
        f.line("br label %x")
        f.label("x")
        end = "called" if self.agreement else "x"
        f.line(f"%tid.base = phi i32 [ 0, %y ], [ %x.next, %{end} ]")
        f.line(f"%base = phi i64 [ %base.y, %y ], [ %base.next, %{end} ]")
        result = self._call("%state", "%base", "%tid.base")
        at = f.let("getelementptr i32, ptr %reached, i64 %base")
        f.line(f"store i32 {result}, ptr {at}")
        for place, how in (("%least", "smin"), ("%most", "smax")):
            before = f.let(f"load i32, ptr {place}")
            f.line(f"store i32 {f.let(f'call i32 @llvm.{how}.i32(i32 {before}, i32 {result})')}, ptr {place}")
        f.let(f"add nuw nsw i64 %base, {self.size}", "%base.next")
        f.let(f"add nuw nsw i32 %tid.base, {self.size}", "%x.next")
        more = f.let("icmp ult i32 %x.next, %r.ntid.x")
        f.line(f"br i1 {more}, label %x, label %y.end")
        self._rows_end("all.reached")
        f.label("all.reached")
        f.let("load i32, ptr %least", "%state.next")
        most = f.let("load i32, ptr %most")
        same = f.let(f"icmp eq i32 %state.next, {most}")
        whole = f.let(f"icmp ne i32 %state.next, {APART}")
        f.line(f"br i1 {f.let(f'and i1 {same}, {whole}')}, label %agreed, label %apart")
        f.label("agreed")
        f.line(f"br i1 {f.let('icmp eq i32 %state.next, -1')}, label %block.end, label %released")
        f.label("released")
        if any(c.meeting and c.meeting.kind in REDUCING for c in self.group.cut.cuts):
            f.line("call void @reactant_reduce_block(ptr %frame, i32 %state.next)")
        f.line("br label %round")
        f.label("apart")
        f.line(f"call void @{quoted(self.made.name + '.apart')}(ptr %frame, ptr %reached)")
        f.let("call i32 @reactant_run_block(ptr %frame)")
        f.line("br label %block.end")

    def apart_of_block(self) -> str:
        """A function that gives all threads of a block their own states and values, as far as groups had them."""
        f = Writer()
        f.label("entry")
        f.field("%frame", FRAME["state"], "ptr", "%states")
        f.field("%frame", FRAME["threads"], "i32", "%threads")
        f.let("zext i32 %threads to i64", "%n")
        own = len(self.memory.shared) + self.memory.dynamic
        places = {}
        for k, name in enumerate(self.group.cut.kept):
            if name in self.group.uniform:
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
            source = f.let(f"getelementptr {kind}, ptr {place}, i64 %base")
            target = f.let(f"getelementptr {kind}, ptr {place}, i64 %t")
            f.line(f"store {kind} {f.let(f'load {kind}, ptr {source}')}, ptr {target}")
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


def apart_function(group: Group | Vectors, memory: Memory) -> str:
    """`K.apart`."""
    made = _Stepped(group, memory, None, str)
    return made.apart_of_block() if group.meets else made.apart()
