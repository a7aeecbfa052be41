"""Kernels whose threads meet: the function that runs ranges of blocks, and the step function that the runtime calls."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from reactant.cuda_programs.device import blocks, checks, current, library
from reactant.cuda_programs.device.affine import BASE, LANE
from reactant.cuda_programs.device.blocks import launch_of, place_of_block
from reactant.cuda_programs.device.cuts import Pieces
from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.steps import EXCHANGE, FRAME, Step
from reactant.cuda_programs.device.text import quoted
from reactant.cuda_programs.device.writer import Writer
from reactant.support.records import dataclass

PER_THREAD = {"state": 4, **{name: size for name, (_, size) in EXCHANGE.items()}}
"""Arrays of the frame with an element for each thread, and its bytes."""


@dataclass
class Memory:
    """What a block needs: (parameter name, bytes of the whole or of a thread, whether of each thread)."""

    shared: list[tuple[str, int]]
    dynamic: bool
    kept: list[tuple[str, int]]
    arrays: list[tuple[str, int]]

    def own_of_block(self) -> bool:
        """Whether blocks have memory of their own."""
        return bool(self.shared) or self.dynamic

    def own(self) -> list[str]:
        """Pointers in the frame, in order."""
        return [name for name, _ in self.shared] + ["%shared.dynamic"] * self.dynamic + [
            name for name, _ in (*self.kept, *self.arrays)]


def memory_of(cut: Pieces, types: Mapping[str, str], shared: Sequence[tuple[str, int]], dynamic: bool,
              layout: Layout) -> Memory:
    """The memory that the pieces of a kernel need."""
    kept = [(f"%base.{number}", layout.size(types[name])) for number, name in enumerate(cut.kept)]
    lines = cut.function.definitions()
    arrays = [(f"%array.{number}", _alloca_bytes(lines[name], layout)) for number, name in enumerate(cut.arrays)]
    return Memory(list(shared), dynamic, kept, arrays)


def _alloca_bytes(line: str, layout: Layout) -> int:
    """Bytes of a local array, up to a multiple of 16."""
    rest = line.partition(" alloca ")[2]
    size = layout.size(rest)
    return -(-max(size, 1) // 16) * 16


def step_function(made: Kernel, cut: Pieces, memory: Memory, step: Step, keeps_current: bool,
                  rarely: bool = False, checked: bool = False) -> str:
    """`i32 K.step(frame, thread, state)`."""
    f = Writer()
    f.label("step")
    if checked:
        f.line("call void @reactant_check_thread(ptr %frame, i32 %thread)")
    f.field("%frame", FRAME["launch"], "ptr", "%launch")
    f.field("%frame", FRAME["arguments"], "ptr", "%arguments")
    blocks.arguments_of(f, made.parameters)
    launch_of(f)
    for number, axis in enumerate(library.AXES):
        f.field("%frame", FRAME["place"] + 4 * number, "i32", f"%r.ctaid.{axis}")
    f.let("urem i32 %thread, %r.ntid.x", "%r.tid.x")
    row = f.let("udiv i32 %thread, %r.ntid.x")
    f.let(f"urem i32 {row}, %r.ntid.y", "%r.tid.y")
    f.let(f"udiv i32 {row}, %r.ntid.y", "%r.tid.z")
    f.let("add i32 %r.tid.x, 0", BASE)
    f.let("add i64 0, 0", LANE)
    f.let("zext i32 %thread to i64", "%index")
    for number, name in enumerate(memory.own()):
        f.field("%frame", FRAME["own"] + 8 * number, "ptr", name)
    for number, (base, size) in enumerate(memory.kept):
        at = f.let(f"mul i64 %index, {size}")
        f.let(f"getelementptr i8, ptr {base}, i64 {at}", f"%kept.{number}")
    for name, (base, size) in zip(cut.arrays, memory.arrays, strict=True):
        at = f.let(f"mul i64 %index, {size}")
        f.let(f"getelementptr i8, ptr {base}, i64 {at}", name)
    for letter, (kind, _) in EXCHANGE.items():
        base = f.field("%frame", FRAME[letter], "ptr")
        f.let(f"getelementptr {kind}, ptr {base}, i64 %index", f"%{letter}.at")
    if keeps_current:
        f.lines += [f"  {line}" for line in current.kept()]
    how = "noinline cold optsize" if rarely else "noinline"
    return (f"define internal i32 @{quoted(made.name + '.step')}(ptr noundef %frame, i32 noundef %thread, "
            f"i32 noundef %state) {how} #REACTANT {{\n" + "\n".join([*f.lines, *step.lines()]) + "\n}\n")


def blocks_function(made: Kernel, memory: Memory, checked: bool = False) -> str:
    """The function that runs ranges of blocks of a grid that meets: all blocks of a range are under way at once.
    `checked`: the runtime is told of each block and its objects."""
    f = Writer()
    f.label("entry")
    launch_of(f)
    f.line("%any = icmp ult i64 %first, %last")
    f.line("br i1 %any, label %prepare, label %end")
    f.label("prepare")
    plane = f.let("mul i32 %r.ntid.x, %r.ntid.y")
    f.let(f"mul i32 {plane}, %r.ntid.z", "%threads")
    f.let("zext i32 %threads to i64", "%n")
    f.let("sub i64 %last, %first", "%frames")
    f.let("mul i64 %frames, 8", "%frames.bytes")
    f.let("call ptr @reactant_scratch(i64 %frames.bytes)", "%table")
    f.line("br label %frame.make")
    f.label("frame.make")
    f.line("%k = phi i64 [ 0, %prepare ], [ %k.next, %frame.make ]")
    f.let(f"call ptr @reactant_scratch(i64 {FRAME['own'] + 8 * len(memory.own()) + 8})", "%new")
    slot = f.let("getelementptr ptr, ptr %table, i64 %k")
    f.line(f"store ptr %new, ptr {slot}")
    f.put("%new", FRAME["launch"], "ptr", "%launch")
    f.put("%new", FRAME["launch"] + 8, "ptr", f"@{quoted(made.name + '.step')}")
    f.put("%new", FRAME["arguments"], "ptr", "%arguments")
    f.put("%new", FRAME["threads"], "i32", "%threads")
    for field, size in PER_THREAD.items():
        f.put("%new", FRAME[field], "ptr", _scratch(f, size))
    number = 0
    for _, size in memory.shared:
        f.put("%new", FRAME["own"] + 8 * number, "ptr", f.let(f"call ptr @reactant_scratch(i64 {size})"))
        number += 1
    if memory.dynamic:
        f.put("%new", FRAME["own"] + 8 * number, "ptr",
               f.let("call ptr @reactant_scratch(i64 %r.dynamic_shared)"))
        number += 1
    for _, size in (*memory.kept, *memory.arrays):
        f.put("%new", FRAME["own"] + 8 * number, "ptr", _scratch(f, size))
        number += 1
    f.let("add nuw i64 %k, 1", "%k.next")
    f.let("icmp ult i64 %k.next, %frames", "%k.more")
    f.line("br i1 %k.more, label %frame.make, label %round")
    f.label("round")
    f.line("%begun = phi i1 [ false, %frame.make ], [ true, %wait ]")
    f.line("br label %block")
    f.label("block")
    f.line("%number = phi i64 [ %first, %round ], [ %number.next, %block.end ]")
    f.line("%some = phi i32 [ 0, %round ], [ %some.next, %block.end ]")
    which = f.let("sub i64 %number, %first")
    slot = f.let(f"getelementptr ptr, ptr %table, i64 {which}")
    f.let(f"load ptr, ptr {slot}", "%frame")
    f.line("br i1 %begun, label %block.go, label %block.start")
    f.label("block.start")
    place_of_block(f, "%number")
    f.put("%frame", FRAME["block"], "i64", "%number")
    for number, axis in enumerate(library.AXES):
        f.put("%frame", FRAME["place"] + 4 * number, "i32", f"%r.ctaid.{axis}")
    states = f.let(f"getelementptr i8, ptr %frame, i64 {FRAME['state']}")
    states = f.let(f"load ptr, ptr {states}")
    f.line(f"call void @llvm.memset.p0.i64(ptr {states}, i8 0, i64 {f.let('mul i64 %n, 4')}, i1 false)")
    for line in checks.objects(_objects(f, memory)) if checked else ():
        f.line(line)
    f.line("br label %block.go")
    f.label("block.go")
    f.let("call i32 @reactant_run_block(ptr %frame)", "%waits")
    f.line("br label %block.end")
    f.label("block.end")
    f.let("or i32 %some, %waits", "%some.next")
    f.line("%number.next = add nuw i64 %number, 1")
    f.line("%more = icmp ult i64 %number.next, %last")
    f.line("br i1 %more, label %block, label %ended")
    f.label("ended")
    f.let("icmp ne i32 %some.next, 0", "%again")
    f.line("br i1 %again, label %wait, label %end")
    f.label("wait")
    f.line("call void @reactant_grid_wait(ptr %launch)")
    f.line("br label %round")
    f.label("end")
    f.line("ret void")
    return blocks.header(made.name) + "\n".join(f.lines) + "\n}\n"


def _objects(f: Writer, memory: Memory) -> list[tuple[int, str, int]]:
    """What a block's pointers in the frame lead to: (number, bytes, flags), all but kept values."""
    found = [(number, str(size), 0) for number, (_, size) in enumerate(memory.shared)]
    if memory.dynamic:
        found.append((len(found), "%r.dynamic_shared", 0))
    first = len(found) + len(memory.kept)
    found += [(first + k, f.let(f"mul i64 %n, {size}"), checks.LOCAL) for k, (_, size) in enumerate(memory.arrays)]
    return found


def _scratch(f: Writer, size: int) -> str:
    """Memory with an element of so many bytes for each thread."""
    total = f.let(f"mul i64 %n, {size}")
    return f.let(f"call ptr @reactant_scratch(i64 {total})")


