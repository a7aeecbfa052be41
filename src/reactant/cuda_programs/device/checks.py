"""Device code that tells the runtime of each access before it is made: `--check` (`runtime/checks.h`).

It is put in before threads are arranged, while instructions have lines of the source. An access comes with the object
that its address is computed from, where the instructions say which: only within that it is right.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from reactant.cuda_programs.device.front import PROGRAM_HEADERS
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.retarget import Retargeted
from reactant.cuda_programs.device.steps import FRAME
from reactant.cuda_programs.device.text import NAME, opcode_of, result_of, split, text_constant
from reactant.cuda_programs.device.types import leading
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.kernels.ways_in import clang
from reactant.support.records import dataclass

CLANG = ("-gline-tables-only", "-O1")
"""What clang is told besides: lines, and fewer accesses that are left out or put elsewhere."""
READ, WRITE, ATOMIC, LOCAL, DYNAMIC = 1, 2, 4, 8, 16
"""How memory is accessed (`runtime/checks.h`)."""
ALIGN = 256
"""What the alignment is multiplied by in the same word."""
DECLARED = """
declare void @reactant_check_access(ptr, i64, i32, ptr, i64, ptr)
declare void @reactant_check_fence()
declare void @reactant_check_thread(ptr, i32)
declare void @reactant_check_block(ptr)
declare void @reactant_check_object(ptr, ptr, i64, i32)
"""
_OURS = tuple(os.path.realpath(folder) for folder in (PROGRAM_HEADERS, clang.HEADERS))
_NODE = re.compile(r"^(!\d+) = (?:distinct )?!(DILocation|DISubprogram|DILexicalBlock|DILexicalBlockFile|DIFile)"
                   r"\((.*)\)$", re.MULTILINE)
_GLOBAL = re.compile(rf"^@({NAME}) = [^\n]*?\b(?:global|constant) ([^\n]*)$", re.MULTILINE)
_DEBUG = re.compile(r",? !dbg !\d+")
_MEMORY = re.compile(r"@llvm\.(memcpy|memmove|memset)\.[\w.]*\((.*)\)")


@dataclass
class Access:
    """What an instruction does with memory: the pointer, bytes (a constant or a value), how, and the alignment."""

    pointer: str
    bytes: str
    how: int
    align: int


def accesses(line: str, layout: Layout) -> list[Access]:
    """The accesses of an instruction.

    Example:
        >>> from reactant.cuda_programs.device.checks import accesses
        >>> from reactant.cuda_programs.device.layout import Layout
        >>> accesses("%v = load float, ptr %p, align 4", Layout(""))
        [Access(pointer='%p', bytes='4', how=1, align=4)]
    """
    rest = line.partition(" = ")[2] if line[0] == "%" else line
    opcode, _, rest = rest.partition(" ")
    if opcode in ("tail", "call", "notail"):
        return _of_call(line)
    if opcode not in ("load", "store", "atomicrmw", "cmpxchg"):
        return []
    how = {"load": READ, "store": WRITE}.get(opcode, READ | WRITE | ATOMIC)
    if words := re.match(r"(?:(?:atomic|volatile|weak) )+", rest):
        how |= ATOMIC if opcode in ("load", "store") else 0
        rest = rest[words.end():]
    parts = split_arguments(rest)
    if opcode == "load":
        kind, pointer = leading(parts[0]), parts[1]
    elif opcode == "store":
        kind, pointer = leading(parts[0]), parts[1]
    else:
        kind, pointer = leading(parts[1]), parts[0]
    align = re.search(r", align (\d+)", line)
    pointer = re.sub(r" (?:unordered|monotonic|acquire|release|seq_cst)$", "", pointer.partition("ptr ")[2])
    return [Access(pointer, str(layout.type(kind).size()), how,
                   int(align[1]) if align else 1)]


def _of_call(line: str) -> list[Access]:
    found = _MEMORY.search(line)
    if found is None:
        return []
    parts = split_arguments(found[2])
    size = parts[2].rpartition(" ")[2]
    places = [(parts[0], WRITE)] + ([(parts[1], READ)] if found[1] != "memset" else [])
    return [Access(re.sub(r"^ptr (?:(?:noundef|nonnull|writeonly|readonly|noalias|align \d+|dereferenceable\(\d+\)|"
                          r"captures\(\w+\)) )*", "", text), size, how, 1) for text, how in places]


@dataclass
class Base:
    """The object that a pointer is computed from, its bytes, and the flags that say what it is."""

    pointer: str
    bytes: str
    flags: int


class Instrumenter:
    """Puts checks into one module."""

    def __init__(self, text: str, source: Retargeted) -> None:
        self.source, self.layout = source, Layout(text)
        self.places = Places(text)
        self.globals = {m[1].strip('"'): leading(m[2]) for m in _GLOBAL.finditer(text)}

    def text(self, text: str) -> str:
        """The module with checks, without lines."""
        module = split(text)
        module.functions = {name: self.function(body) for name, body in module.functions.items()}
        return without_places(module.text() + "\n" + self.places.text() + DECLARED)

    def function(self, body: str) -> str:
        lines = body.split("\n")
        known = {name: line.strip() for line in lines if (name := result_of(line.strip() or " "))}
        parameters = _by_value(lines[0])
        made = []
        for line in lines:
            bare = line.strip()
            if bare.startswith("#dbg_"):
                continue
            if _releases(bare):
                made.append("  call void @reactant_check_fence()")
            for access in accesses(bare, self.layout) if bare and bare[0] in "%sctau" else ():
                made += self._check(access, known, parameters, self.places.place(bare))
            made.append(line)
        return "\n".join(made)

    def _check(self, access: Access, known: dict[str, str], parameters: dict[str, str], place: str) -> list[str]:
        base = self._base(access.pointer, known, parameters)
        if base.flags & LOCAL and base.pointer == access.pointer and access.bytes.isdigit() \
                and int(access.bytes) <= int(base.bytes):
            return []
        how = access.how | base.flags | access.align * ALIGN
        return [f"  call void @reactant_check_access(ptr {access.pointer}, i64 {access.bytes}, i32 {how}, "
                f"ptr {base.pointer}, i64 {base.bytes}, ptr {place})"]

    def _base(self, pointer: str, known: dict[str, str], parameters: dict[str, str]) -> Base:
        """Follow what a pointer is computed from; null where it is not known."""
        for _ in range(64):
            if found := re.search(rf"@({NAME})", pointer):
                return self._of_global(found[1])
            if pointer in parameters:
                return Base(pointer, str(self.layout.size(parameters[pointer])), LOCAL)
            line = known.get(pointer, "")
            opcode = opcode_of(line) if line else ""
            if opcode == "alloca":
                kind = line.partition(" alloca ")[2]
                count = re.search(r", i\d+ (\S+?)(?:,|$)", kind)
                if count is not None and not count[1].isdigit():
                    break
                return Base(pointer, str(self.layout.size(leading(kind)) * (int(count[1]) if count else 1)), LOCAL)
            if opcode != "getelementptr":
                break
            pointer = split_arguments(line.partition("getelementptr ")[2])[1].partition("ptr ")[2]
        return Base("null", "0", 0)

    def _of_global(self, name: str) -> Base:
        bare = name.strip('"')
        kind = self.globals.get(bare)
        size = 0 if kind is None else self.layout.size(kind)
        if size == 0:
            return Base(f"@{name}", "0", DYNAMIC) if bare in self.source.shared else Base("null", "0", 0)
        return Base(f"@{name}", str(size), 0)


def _releases(line: str) -> bool:
    """Whether other blocks see what was written before, if they see what an atomic operation writes now or later."""
    return line.startswith("fence ") and '"block"' not in line or \
        opcode_of(line or " ") in ("atomicrmw", "cmpxchg") and " monotonic" not in line


def _by_value(header: str) -> dict[str, str]:
    """The parameters of a function that are structures, by name."""
    return {m[2]: m[1] for m in re.finditer(rf"byval\(((?:[^()]|\([^()]*\))*)\)[^,]*? (%{NAME})(?=[,)])", header)}


class Places:
    """The places of the source that instructions are of, as constants of the module."""

    def __init__(self, text: str) -> None:
        self.nodes = {m[1]: (m[2], _fields(m[3])) for m in _NODE.finditer(text)}
        self._made: dict[tuple[str, int, str], str] = {}
        self._strings: dict[str, str] = {}

    def place(self, line: str) -> str:
        """The constant for an instruction's place; null where it has none."""
        found = re.search(r"!dbg (!\d+)", line)
        where = self.where(found[1]) if found else None
        if where is None:
            return "null"
        return self._made.setdefault(where, f"@reactant.place.{len(self._made)}")

    def where(self, node: str) -> tuple[str, int, str] | None:
        """(file, line, function) of a location: the innermost that is not in a header of ours."""
        found = None
        for location in self._chain(node):
            scope = location["scope"]
            file, function = self._file(scope), self._function(scope)
            found = file, int(location.get("line", "0")), function
            if not os.path.realpath(file).startswith(_OURS):
                break
        return found

    def _chain(self, node: str) -> Iterable[dict[str, str]]:
        while node in self.nodes and self.nodes[node][0] == "DILocation":
            location = self.nodes[node][1]
            yield location
            node = location.get("inlinedAt", "")

    def _file(self, scope: str) -> str:
        while scope in self.nodes:
            fields = self.nodes[scope][1]
            if "file" in fields and fields["file"] in self.nodes:
                told = self.nodes[fields["file"]][1]
                return str(Path(told.get("directory", "")) / told.get("filename", ""))
            scope = fields.get("scope", "")
        return ""

    def _function(self, scope: str) -> str:
        while scope in self.nodes and self.nodes[scope][0] != "DISubprogram":
            scope = self.nodes[scope][1].get("scope", "")
        return self.nodes[scope][1].get("name", "") if scope in self.nodes else ""

    def _string(self, text: str) -> str:
        return self._strings.setdefault(text, f"@reactant.place.text.{len(self._strings)}")

    def text(self) -> str:
        """LLVM IR of the constants."""
        made = [f"{name} = private constant {{ ptr, ptr, i32 }} {{ ptr {self._string(_short(file))}, "
                f"ptr {self._string(function)}, i32 {line} }}\n" for (file, line, function), name in self._made.items()]
        made += [text_constant(name, text) for text, name in self._strings.items()]
        return "".join(made)


def _short(file: str) -> str:
    """A path as the user would write it."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _fields(text: str) -> dict[str, str]:
    return {key: value.strip('"') for key, value in re.findall(r'(\w+): ("[^"]*"|[^,]*)', text)}


def without_places(text: str) -> str:
    """A module whose instructions say nothing of the source."""
    if "!dbg" not in text:
        return text
    made = re.sub(r"^!llvm\.dbg\.cu = .*\n|^ *#dbg_.*\n", "", text, flags=re.MULTILINE)
    made = re.sub(r"^(!\d+ = )(?:distinct )?!DI\w+\(.*\)$", r'\1!{!"place"}', made, flags=re.MULTILINE)
    return _DEBUG.sub("", made)


def checked(text: str, source: Retargeted) -> str:
    """A prepared module with checks."""
    return Instrumenter(text, source).text(text)


def objects(shared: Sequence[tuple[int, str, int]]) -> list[str]:
    """Instructions that tell of a block's objects: (number in the frame, value of the bytes, flags)."""
    lines = ["call void @reactant_check_block(ptr %frame)"]
    for number, size, flags in shared:
        lines += [f"%checked.{number}.at = getelementptr i8, ptr %frame, i64 {FRAME['own'] + 8 * number}",
                  f"%checked.{number} = load ptr, ptr %checked.{number}.at",
                  f"call void @reactant_check_object(ptr %frame, ptr %checked.{number}, i64 {size}, i32 {flags})"]
    return lines
