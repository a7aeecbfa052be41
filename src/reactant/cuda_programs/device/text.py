"""The text of an LLVM module in pieces: globals, declarations, functions with their blocks."""
from __future__ import annotations

import re
from dataclasses import field

from reactant.support.records import dataclass

NAME = r'(?:"[^"]*"|[-\w$.]+)'
VALUE = re.compile(rf"%{NAME}")
SYMBOL = re.compile(rf"@({NAME})")
FLAGS = re.compile(r"\b(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw) ")
_DEFINE = re.compile(rf"^define [^\n]*?@({NAME})\(.*?^\}}\n?", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(rf"^({NAME}):")
_DECLARE = re.compile(rf"^declare [^\n]*?@({NAME})\([^\n]*\n", re.MULTILINE)


@dataclass
class Function:
    """A function: its first line, and the instructions of its blocks in order."""

    header: str
    name: str
    blocks: dict[str, list[str]]

    def text(self) -> str:
        parts = [self.header]
        for label, lines in self.blocks.items():
            parts.append(f"{label}:")
            parts += [f"  {line}" for line in lines]
        return "\n".join([*parts, "}"]) + "\n"

    def definitions(self) -> dict[str, str]:
        """The instructions that define values, by name."""
        return {name: line for block in self.blocks.values() for line in block
                if (name := result_of(line)) is not None}


@dataclass
class Module:
    """A module whose functions with bodies are apart; `rest` is everything else."""

    rest: str
    functions: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        return self.rest + "\n" + "\n".join(self.functions.values())


def split(text: str) -> Module:
    """A module's functions, and what is around them."""
    functions: dict[str, str] = {}

    def take(found: re.Match) -> str:
        functions[found[1].strip('"')] = found[0]
        return ""
    return Module(_DEFINE.sub(take, text), functions)


def function(text: str) -> Function:
    """A function whose values and blocks have names."""
    header, *lines = text.rstrip().removesuffix("}").rstrip().split("\n")
    name = SYMBOL.search(header)
    assert name is not None
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    joined = ""
    for line in lines:
        line = line.strip()
        if joined:
            joined += " " + line
            if line.startswith("]"):
                current.append(joined)
                joined = ""
            continue
        if not line or line[0] == ";":
            continue
        if found := _LABEL.match(line):
            current = blocks.setdefault(found[1], [])
        elif line.startswith("switch ") and line.endswith("["):
            joined = line
        else:
            if not blocks:
                current = blocks.setdefault("entry", [])
            current.append(line)
    return Function(header, name[1].strip('"'), blocks)


def declared(text: str) -> dict[str, str]:
    """The declarations of a module by name."""
    return {found[1].strip('"'): found[0] for found in _DECLARE.finditer(text)}


def result_of(line: str) -> str | None:
    """The name that an instruction defines."""
    if line[0] != "%":
        return None
    name, equals, _ = line.partition(" = ")
    return name if equals else None


def opcode_of(line: str) -> str:
    """The instruction's opcode."""
    _, equals, rest = line.partition(" = ") if line[0] == "%" else ("", "", line)
    word = (rest if equals else line).split(" ", 1)[0]
    if word in ("tail", "notail", "musttail"):
        return "call"
    return word


def without_flags(text: str) -> str:
    """An instruction, without the name of its result, for operands of which its flags need not hold.

    Example:
        >>> from reactant.cuda_programs.device.text import without_flags
        >>> without_flags("or disjoint i32 %t, 1"), without_flags("zext nneg i32 %i to i64")
        ('add i32 %t, 1', 'sext i32 %i to i64')
    """
    for flagged, meant in (("or disjoint ", "add "), ("zext nneg ", "sext ")):
        if text.startswith(flagged):
            text = meant + text.removeprefix(flagged)
    return FLAGS.sub("", text)


def uses_of(line: str) -> list[str]:
    """The names that an instruction reads, labels and types among them."""
    if line[0] == "%" and " = " in line:
        line = line.partition(" = ")[2]
    return VALUE.findall(line)


_TARGET = re.compile(rf"label %({NAME})")


def successors(line: str) -> list[str]:
    """The blocks that a terminator leads to."""
    return _TARGET.findall(line)


def text_constant(name: str, text: str) -> str:
    """LLVM IR of a constant with a text that ends with a zero byte; `name` with its @."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return f'{name} = private constant [{len(data)} x i8] c"{escaped}"\n'


def quoted(name: str) -> str:
    """A symbol as LLVM writes it."""
    return name if re.fullmatch(r"[-\w$.]+", name) else f'"{name}"'
