"""The function that runs a range of blocks: arguments, where blocks are in the grid, memory, the loops over threads."""
from __future__ import annotations

from collections.abc import Iterable

from reactant.cuda_programs.device import library
from reactant.cuda_programs.device.kernel import Kernel, Parameter, register_arguments, register_name
from reactant.cuda_programs.device.narrow import Sum, within
from reactant.cuda_programs.device.text import Function, quoted
from reactant.cuda_programs.device.uniformity import local_pointers
from reactant.cuda_programs.device.writer import Writer

PREFIX = "reactant_blocks__"
BESIDE = 1024
"""Threads of a row that are run before the next row of the same blocks is."""
GRID, BLOCK, DYNAMIC, COUNT = 8, 20, 32, 40
"""Where ReactantLaunch (runtime/reactant_launch.h) has the extents, the bytes of dynamic shared memory, and how many
blocks there are."""


def arguments_of(f: Writer, parameters: Iterable[Parameter]) -> None:
    """The values of a launch's arguments, under the parameters' names."""
    for number, parameter in enumerate(parameters):
        at = f.let(f"getelementptr inbounds ptr, ptr %arguments, i64 {number}")
        if parameter.by_address:
            f.let(f"load ptr, ptr {at}, align 8, !invariant.load !{{}}", parameter.name)
            continue
        place = f.let(f"load ptr, ptr {at}, align 8, !invariant.load !{{}}")
        f.let(f"load {parameter.value}, ptr {place}, !invariant.load !{{}}", parameter.name)


def launch_of(f: Writer, shape: tuple[int, int, int] | None = None) -> None:
    """The registers that are the same for a whole launch; `shape`: of its blocks, where that is known."""
    for number, axis in enumerate(library.AXES):
        f.field("%launch", GRID + 4 * number, "i32", f"%r.nctaid.{axis}")
        if shape:
            f.let(f"add i32 {shape[number]}, 0", f"%r.ntid.{axis}")
        else:
            f.field("%launch", BLOCK + 4 * number, "i32", f"%r.ntid.{axis}")
    f.field("%launch", DYNAMIC, "i64", "%r.dynamic_shared")
    f.let("getelementptr i8, ptr %launch, i64 0", register_name("reactant.launch"))


def place_of_block(f: Writer, number: str, x: str = "%r.ctaid.x") -> None:
    """Where a block is in the grid; `x`: what its first coordinate is called."""
    gx, gy = (f.let(f"zext i32 %r.nctaid.{axis} to i64") for axis in "xy")
    row = f.let(f"udiv i64 {number}, {gx}")
    coordinates = {"x": f.let(f"urem i64 {number}, {gx}"), "y": f.let(f"urem i64 {row}, {gy}"),
                   "z": f.let(f"udiv i64 {row}, {gy}")}
    for axis, value in coordinates.items():
        f.let(f"trunc i64 {value} to i32", x if axis == "x" else f"%r.ctaid.{axis}")


def row_of_blocks(f: Writer, number: str, joined: str = "") -> None:
    """Where a block is, and how many of those after it are beside it and still to be run: %row.blocks, up to %row.last.

    Threads that do not meet are run along rows of the grid: first all threads of one row, in all these blocks; so many
    blocks that what they access stays in the cache until the next row is run. `joined`: a condition, unless which it is
    one block, and which leaves them at most as many threads in any case."""
    place_of_block(f, number, "%row.x")
    left = f.let(f"zext i32 {f.let('sub i32 %r.nctaid.x, %row.x')} to i64")
    end = f.let(f"call i64 @llvm.umin.i64(i64 {f.let(f'add i64 {number}, {left}')}, i64 %last)")
    fitting = f.let(f"zext i32 {f.let(f'udiv i32 {BESIDE}, %r.ntid.x')} to i64")
    fitting = f.let(f"call i64 @llvm.umax.i64(i64 {fitting}, i64 1)")
    if joined:
        fitting = f.let(f"select i1 {joined}, i64 {fitting}, i64 1")
    else:
        rows = f.let("mul i32 %r.ntid.y, %r.ntid.z")
        fitting = f.let(f"select i1 {f.let(f'icmp eq i32 {rows}, 1')}, i64 9223372036854775807, i64 {fitting}")
    fitting = f.let(f"call i64 @llvm.uadd.sat.i64(i64 {number}, i64 {fitting})")
    f.let(f"call i64 @llvm.umin.i64(i64 {end}, i64 {fitting})", "%row.last")
    f.let(f"trunc i64 {f.let(f'sub i64 %row.last, {number}')} to i32", "%row.blocks")


def header(name: str, internal: str = "") -> str:
    """The first line of a blocks function; `internal`: attributes of one that no table names."""
    kind, symbol = ("internal ", name) if internal else ("", PREFIX + name)
    return (f"define {kind}void @{quoted(symbol)}(ptr noundef %launch, ptr noundef %arguments, "
            f"i64 noundef %first, i64 noundef %last) {internal}#REACTANT {{\n")


def independent(kernel: Kernel, body: str, setup: list[str], note: str, limited: tuple[str, set[Sum]] | None) -> str:
    """A kernel whose threads do not meet: loops over blocks and threads around its body. `limited`: the function for
    launches beyond limits, and those; None for that function itself."""
    f = Writer()
    f.label("start")
    arguments_of(f, kernel.parameters)
    launch_of(f)
    if limited and limited[1]:
        f.line(f"br i1 {within(f, limited[1])}, label %entry, label %wide")
        f.label("wide")
        f.line(f"call void @{quoted(limited[0])}(ptr %launch, ptr %arguments, i64 %first, i64 %last)")
        f.line("ret void")
    else:
        f.line("br label %entry")
    f.label("entry")
    f.lines += [f"  {line}" for line in setup]
    f.line("%any = icmp ult i64 %first, %last")
    f.line("br i1 %any, label %block, label %end")
    f.label("block")
    f.line("%number = phi i64 [ %first, %entry ], [ %number.next, %block.end ]")
    row_of_blocks(f, "%number")
    before = "block"
    for axis in "zybx":
        f.line(f"br label %{axis}")
        f.label(axis)
        counter = "%beside" if axis == "b" else f"%r.tid.{axis}"
        f.line(f"{counter} = phi i32 [ 0, %{before} ], [ %{axis}.next, %{axis}.end ]")
        before = axis
        if axis == "b":
            f.let("add nuw nsw i32 %row.x, %beside", "%r.ctaid.x")
    values = [p.argument for p in kernel.parameters]
    f.line(f"call void @{quoted(body)}({', '.join([*values, *register_arguments()])})")
    for axis in "xbyz":
        counter, count = ("%beside", "%row.blocks") if axis == "b" else (f"%r.tid.{axis}", f"%r.ntid.{axis}")
        f.line(f"br label %{axis}.end")
        f.label(f"{axis}.end")
        f.let(f"add nuw nsw i32 {counter}, 1", f"%{axis}.next")
        f.let(f"icmp ult i32 %{axis}.next, {count}", f"%{axis}.more")
        f.line(f"br i1 %{axis}.more, label %{axis}, label %{axis}.done{note if axis == 'x' else ''}")
        f.label(f"{axis}.done")
    f.line("br label %block.end")
    ended(f, "%row.last, 0")
    head = header(kernel.name) if limited else header(f"{kernel.name}.wide", "noinline cold optsize ")
    return head + "\n".join(f.lines) + "\n}\n"


def ended(f: Writer, following: str) -> None:
    """The end of the loop over blocks, and of the function; `following`: the number of the next block, as a sum."""
    f.label("block.end")
    f.line(f"%number.next = add nuw i64 {following}")
    f.line("%more = icmp ult i64 %number.next, %last")
    f.line("br i1 %more, label %block, label %end")
    f.label("end")
    f.line("ret void")


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
