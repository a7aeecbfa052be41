"""What each block of a kernel accesses, computed at the launch: a function for the runtime, which joins launches whose
blocks do not meet in memory (`runtime/joining.cpp`).

Each access goes through a pointer that the program gave, or a variable of the device. Where it has a form (`forms`), it
is so many bytes from block to block; elsewhere it may be anywhere in that allocation. A kernel that follows pointers
from memory, prints, allocates, launches or calls what is not known has no such function.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device import blocks
from reactant.cuda_programs.device.forms import Form, Forms
from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.mathematics import SPELLINGS
from reactant.cuda_programs.device.meetings import meeting
from reactant.cuda_programs.device.retarget import Retargeted
from reactant.cuda_programs.device.text import SYMBOL, opcode_of, quoted
from reactant.cuda_programs.device.types import leading
from reactant.cuda_programs.device.writer import Writer
from reactant.kernels.llvm_ir import device_library
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

PREFIX = "reactant_reach__"
WRITES, ANYWHERE = 1, 2
"""Flags of accesses (`runtime/reactant_launch.h`),"""
SIZE, MOST = 56, 64
"""bytes of one, and how many a kernel has at most."""
_OWN = "own"
_CALLED = re.compile(r"\bcall\b[^@]*@(\"[^\"]+\"|[-\w$.]+)\((.*)\)")
_MOVES = re.compile(r"llvm\.mem(cpy|move|set)\.")
_SAFE = re.compile(r"llvm\.(?!mem|masked|va_|stack|thread|trap|debugtrap)|"
                   r"reactant\.(?:barrier\.(?:block|warp|count|and|or)|shuffle|vote|match|activemask|reduce)\b")


class _Unknown(Exception):
    """A kernel of which it is not known what it accesses."""


@dataclass(frozen=True)
class Access:
    """Through `root` (a value in the function that is written): `bytes` at a form of bytes from it; None: anywhere."""

    root: str
    form: Form | None
    bytes: int
    writes: bool
    conditions: frozenset[str]


def reach_function(made: Kernel, source: Retargeted, layout: Layout,
                   constants: frozenset[str]) -> tuple[str, tuple[str, int]]:
    """(LLVM IR of the function for a kernel, (its name, its accesses)); empty where it cannot be. `constants`:
    variables that nobody writes."""
    reader = _Reader(made, source, layout, constants)
    try:
        accesses = reader.accesses()
    except _Unknown:
        return "", ("", 0)
    return reader.text(accesses), (PREFIX + made.name, len(accesses))


class _Reader:
    def __init__(self, made: Kernel, source: Retargeted, layout: Layout, constants: frozenset[str]) -> None:
        self.made, self.source, self.layout, self.constants = made, source, layout, constants
        self.f = Writer()
        self.f.label("start")
        blocks.arguments_of(self.f, made.parameters)
        blocks.launch_of(self.f)
        self.f.field("%launch", blocks.COUNT, "i64", "%count")
        self.forms = Forms(made, layout, self.f, "%count")
        self.lines = self.forms.lines
        self._roots: dict[str, str | None] = {}
        self._places: dict[str, Form | None] = {}

    def accesses(self) -> list[Access]:
        found: dict[Access, None] = {}
        for lines in self.made.function.blocks.values():
            for line in lines:
                for access in self._of(line):
                    found[access] = None
        if len(found) > MOST:                               # each pointer once
            found = {Access(a.root, None, 0, any(b.writes for b in found if b.root == a.root), frozenset()): None
                     for a in found}
        if len(found) > MOST:
            raise _Unknown
        return list(found)

    def _of(self, line: str) -> list[Access]:
        opcode = opcode_of(line)
        rest = line.partition(" = ")[2] if line[0] == "%" else line
        if opcode in ("load", "store"):
            if "volatile " in rest:
                raise _Unknown
            kind = leading(re.sub(r"^(load|store) (atomic )?", "", rest))
            pointer = rest.rsplit(", ptr ", 1)[1].split(",")[0].split(" ")[0]
            if ", ptr getelementptr" in rest:               # a constant
                pointer = rest.split(", ptr ", 1)[1]
            return self._access(pointer, self.layout.size(kind), opcode == "store")
        if opcode in ("atomicrmw", "cmpxchg"):
            if "volatile " in rest:
                raise _Unknown
            pointer, value = split_arguments(rest.split("ptr ", 1)[1])[:2]
            return self._access(pointer, self.layout.size(leading(value)), True)
        if opcode in ("call", "invoke"):
            return self._call(rest)
        if opcode in ("va_arg", "callbr", "indirectbr"):
            raise _Unknown
        return []

    def _call(self, rest: str) -> list[Access]:
        found = _CALLED.search(rest)
        if found is None:
            raise _Unknown
        name = found[1].strip('"')
        if _MOVES.match(name):
            given = [part.split(" ")[-1] for part in split_arguments(found[2])]
            pointers = [(given[0], True), *([] if "memset" in name else [(given[1], False)])]
            return [access for pointer, writes in pointers for access in self._access(pointer, None, writes)]
        known = name in SPELLINGS or "memory(none)" in (device_library.attributes(name) or "")
        if not (known or _SAFE.match(name) or meeting(rest)):
            raise _Unknown
        if meeting(rest) and "barrier.grid" in name:
            raise _Unknown
        return []

    def _access(self, pointer: str, size: int | None, writes: bool) -> list[Access]:
        root = self.root(pointer)
        if root is None:
            raise _Unknown
        if root == _OWN:
            return []
        if root.startswith("@") and root[1:].strip('"') in self.constants:
            return []
        self.forms.conditions = set()
        form = None if size is None or root.startswith("@") else self.place(pointer)
        conditions = frozenset(self.forms.conditions if form is not None else ())
        return [Access(root, form, size or 0, writes, conditions)]

    # -- pointers
    def root(self, pointer: str) -> str | None:
        """What a pointer is into: a value of the function that is written, a variable, or memory of the block."""
        if not pointer.startswith("%"):
            named = SYMBOL.search(pointer)
            if named is None:
                return None
            return _OWN if named[1].strip('"') in self.source.shared else f"@{named[1]}"
        if pointer not in self._roots:
            found, seen, todo = set[str | None](), {pointer}, [pointer]
            while todo:
                each = todo.pop()
                sources = self._sources(each)
                if sources is None:
                    found.add(self._leaf(each))
                for source in set(sources or ()) - seen:
                    seen.add(source)
                    todo.append(source)
            self._roots[pointer] = found.pop() if len(found) == 1 else None
        return self._roots[pointer]

    def _sources(self, pointer: str) -> list[str] | None:
        """The pointers that one is made of; None where it begins."""
        line = self.lines.get(pointer, "")
        opcode = opcode_of(line) if line else ""
        rest = line.partition(" = ")[2].partition(", !")[0]
        if opcode == "getelementptr":
            return [split_arguments(rest)[1].split(" ", 1)[1]]
        if opcode == "freeze":
            return [rest.rsplit(" ", 1)[1]]
        if opcode == "phi":
            return [side.strip() for side in re.findall(r"\[ ([^,]+), %", rest)]
        if opcode == "select":
            return [part.split(" ", 1)[1] for part in split_arguments(rest)[1:]]
        return None

    def _leaf(self, pointer: str) -> str | None:
        """What a pointer that is made of no other is into."""
        if not pointer.startswith("%"):
            return self.root(pointer)
        if (parameter := self.forms.given.get(pointer)) is not None:
            return _OWN if parameter.by_address else pointer if parameter.type == "ptr" else None
        line = self.lines.get(pointer, "")
        if " = alloca " in line:
            return _OWN
        if " = load ptr, " in line and self.forms.argument_field(line) is not None:
            return self.forms.copy(pointer)
        return None

    def place(self, pointer: str) -> Form | None:
        """How many bytes a pointer is from its root."""
        if pointer == self.root(pointer) or pointer in self.forms.given:
            return Form()
        line = self.lines.get(pointer, "")
        if self.forms.copy(pointer) is not None:            # a field of an argument
            return Form()
        if (stepped := self.forms.step_of(line)) is not None:
            inner = self.place(stepped[0]) if stepped[0].startswith("%") else None
            return None if inner is None else self.forms.sum(inner, stepped[1])
        if found := re.search(r"= phi ptr (.*?)(?:, !.*)?$", line):
            moved = self.forms.loop(pointer, "ptr", found[1])
            starts = [side for side in re.findall(r"\[ (%[^,\s]+), %", found[1])
                      if (self.forms.step_of(self.lines.get(side, "")) or ("",))[0] != pointer]
            inner = self.place(starts[0]) if moved is not None and len(starts) == 1 else None
            return None if inner is None or moved is None else self.forms.sum(inner, moved)
        return None

    # -- the function
    def text(self, accesses: list[Access]) -> str:
        f = self.f
        for number, access in enumerate(accesses):
            row = f.let(f"getelementptr i8, ptr %out, i64 {SIZE * number}")
            root = f.let(f"ptrtoint ptr {access.root} to i64")
            f.put(row, 0, "i64", root)
            form = access.form or Form()
            f.put(row, 8, "i64", f.let(f"add i64 {root}, {form.base}"))
            f.put(row, 16, "i64", form.low)
            f.put(row, 24, "i64", f.let(f"add i64 {form.high}, {access.bytes}"))
            f.put(row, 32, "i64", form.step)
            f.put(row, 40, "i64", form.period or "0")
            flags = WRITES * access.writes
            holds = "true"
            for condition in sorted(access.conditions):
                holds = f.let(f"and i1 {holds}, {condition}")
            anywhere = flags | ANYWHERE
            f.put(row, 48, "i32", str(anywhere) if access.form is None else
                  f.let(f"select i1 {holds}, i32 {flags}, i32 {anywhere}"))
            f.put(row, 52, "i32", "0")
        f.line(f"ret i32 {len(accesses)}")
        name = quoted(PREFIX + self.made.name)
        return (f"define internal i32 @{name}(ptr noundef %launch, ptr noundef %arguments, ptr noundef %out) "
                "noinline cold optsize #REACTANT {\n" + "\n".join(f.lines) + "\n}\n")
