"""The function that runs a range of blocks: arguments, where blocks are in the grid, memory, the loops over threads."""
from __future__ import annotations

from collections.abc import Iterable

from reactant.cuda_programs.device import library
from reactant.cuda_programs.device.kernel import Kernel, Parameter, register_arguments, register_name
from reactant.cuda_programs.device.narrow import Sum, within
from reactant.cuda_programs.device.text import quoted
from reactant.cuda_programs.device.writer import Writer

PREFIX = "reactant_blocks__"
GRID, BLOCK, DYNAMIC = 8, 20, 32
"""Where ReactantLaunch (runtime/reactant_launch.h) has the extents and the bytes of dynamic shared memory."""


def arguments_of(f: Writer, parameters: Iterable[Parameter]) -> None:
    """The values of a launch's arguments, under the parameters' names."""
    for number, parameter in enumerate(parameters):
        at = f.let(f"getelementptr inbounds ptr, ptr %arguments, i64 {number}")
        if parameter.by_address:
            f.let(f"load ptr, ptr {at}, align 8, !invariant.load !{{}}", parameter.name)
            continue
        place = f.let(f"load ptr, ptr {at}, align 8, !invariant.load !{{}}")
        f.let(f"load {parameter.value}, ptr {place}, !invariant.load !{{}}", parameter.name)


def launch_of(f: Writer) -> None:
    """The registers that are the same for a whole launch."""
    for number, axis in enumerate(library.AXES):
        f.field("%launch", GRID + 4 * number, "i32", f"%r.nctaid.{axis}")
        f.field("%launch", BLOCK + 4 * number, "i32", f"%r.ntid.{axis}")
    f.field("%launch", DYNAMIC, "i64", "%r.dynamic_shared")
    f.let("getelementptr i8, ptr %launch, i64 0", register_name("reactant.launch"))


def place_of_block(f: Writer, number: str) -> None:
    """Where a block is in the grid."""
    gx, gy = (f.let(f"zext i32 %r.nctaid.{axis} to i64") for axis in "xy")
    row = f.let(f"udiv i64 {number}, {gx}")
    coordinates = {"x": f.let(f"urem i64 {number}, {gx}"), "y": f.let(f"urem i64 {row}, {gy}"),
                   "z": f.let(f"udiv i64 {row}, {gy}")}
    for axis, value in coordinates.items():
        f.let(f"trunc i64 {value} to i32", f"%r.ctaid.{axis}")


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
    place_of_block(f, "%number")
    before = "block"
    for axis in "zyx":
        f.line(f"br label %{axis}")
        f.label(axis)
        f.line(f"%r.tid.{axis} = phi i32 [ 0, %{before} ], [ %{axis}.next, %{axis}.end ]")
        before = axis
    values = [p.argument for p in kernel.parameters]
    f.line(f"call void @{quoted(body)}({', '.join([*values, *register_arguments()])})")
    for axis in "xyz":
        f.line(f"br label %{axis}.end")
        f.label(f"{axis}.end")
        f.let(f"add nuw nsw i32 %r.tid.{axis}, 1", f"%{axis}.next")
        f.let(f"icmp ult i32 %{axis}.next, %r.ntid.{axis}", f"%{axis}.more")
        f.line(f"br i1 %{axis}.more, label %{axis}, label %{axis}.done{note if axis == 'x' else ''}")
        f.label(f"{axis}.done")
    f.line("br label %block.end")
    f.label("block.end")
    f.line("%number.next = add nuw i64 %number, 1")
    f.line("%more = icmp ult i64 %number.next, %last")
    f.line("br i1 %more, label %block, label %end")
    f.label("end")
    f.line("ret void")
    head = header(kernel.name) if limited else header(f"{kernel.name}.wide", "noinline cold optsize ")
    return head + "\n".join(f.lines) + "\n}\n"
