"""Copies of kernels for the shapes of blocks that the host's code launches them with: how many threads there are, along
which axes, is a constant in them. A launch of such a shape runs the copy, any other the kernel itself.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reactant.cuda_programs.device import blocks, library
from reactant.cuda_programs.device.text import SYMBOL, quoted, split
from reactant.cuda_programs.device.writer import Writer

Shape = tuple[int, int, int]
Shapes = Mapping[str, Sequence[Shape]]
"""By the mangled names of kernels."""
MOST = 2
"""Shapes of a kernel that have copies."""
_READ = re.compile(r"= (?:tail )?call [^@\n]*@nvvm\.read\.ptx\.sreg\.(n?tid)\.([xyz])\(\)[^\n]*")


def with_copies(text: str, kernels: Sequence[str], shapes: Shapes) -> tuple[str, dict[str, dict[Shape, str]]]:
    """(a module of code for this processor with copies of kernels whose threads meet, their names by kernel and
    shape)."""
    if not shapes:
        return text, {}
    functions, made = split(text).functions, dict[str, dict[Shape, str]]()
    for name in kernels:
        body = functions.get(name, "")
        if name not in shapes or " !dbg " in body.partition("\n")[0] or not _meets(name, functions):
            continue
        for shape in shapes[name]:
            own = f"{name}.block{'.'.join(map(str, shape))}"
            made.setdefault(name, {})[shape] = own
            text += "\n" + _known(body.replace(f"@{quoted(name)}(", f"@{quoted(own)}(", 1), shape)
    return text, made


def _meets(name: str, functions: Mapping[str, str]) -> bool:
    """Whether threads meet in a function, or in one that it may call."""
    seen, todo = {name}, [name]
    while todo:
        body = functions.get(todo.pop(), "")
        if "barrier" in body:
            return True
        new = {called.strip('"') for called in SYMBOL.findall(body)} - seen
        seen |= new
        todo += new
    return False


def _known(body: str, shape: Shape) -> str:
    """A kernel in which the shape is known."""
    extents = dict(zip(library.AXES, shape, strict=True))

    def given(found: re.Match) -> str:
        kind, extent = found[1], extents[found[2]]
        if kind == "ntid" or extent == 1:
            return f"= add i32 {extent if kind == 'ntid' else 0}, 0"
        return found[0]         # its range is not said: LLVM would write 63 - threadIdx.x as an exclusive or
    head, _, rest = body.partition("\n")
    return f"{head.replace(' comdat', '')}\n{_READ.sub(given, rest)}"


def chosen(kernel: str, own: str, copies: Mapping[Shape, str]) -> str:
    """The function that runs blocks by the copy for their shape, or by the kernel's `own` function; `copies`: the
    functions of the copies."""
    f = Writer()
    f.label("entry")
    for number, axis in enumerate(library.AXES):
        f.field("%launch", blocks.BLOCK + 4 * number, "i32", f"%r.ntid.{axis}")
    for number, (shape, function) in enumerate(copies.items()):
        same = "true"
        for axis, extent in zip(library.AXES, shape, strict=True):
            same = f.let(f"and i1 {same}, {f.let(f'icmp eq i32 %r.ntid.{axis}, {extent}')}")
        f.line(f"br i1 {same}, label %is.{number}, label %not.{number}")
        f.label(f"is.{number}")
        _run(f, function)
        f.label(f"not.{number}")
    _run(f, own)
    return blocks.header(kernel) + "\n".join(f.lines) + "\n}\n"


def _run(f: Writer, function: str) -> None:
    f.line(f"tail call void @{quoted(function)}(ptr %launch, ptr %arguments, i64 %first, i64 %last)")
    f.line("ret void")
