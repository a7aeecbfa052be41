"""The types of values in the text of LLVM IR."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.layout import Layout
from reactant.kernels.llvm_ir.signatures import split_arguments, type_of

_FLAGS = re.compile(r"^(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|fast|nnan|ninf|nsz|arcp|contract|afn|"
                    r"reassoc|volatile|atomic) )+")
_CASTS = frozenset(("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
                    "inttoptr", "bitcast", "addrspacecast"))


def leading(text: str) -> str:
    """The type that a text begins with."""
    depth = 0
    for at, c in enumerate(text):
        if c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
            if depth == 0:
                return text[:at + 1]
        elif depth == 0 and c in " ,":
            return text[:at]
    return text


def result_type(line: str, layout: Layout) -> str:
    """The type of the value that an instruction defines."""
    rest = line.partition(" = ")[2]
    rest = re.sub(r"^(tail|musttail|notail) ", "", rest)
    opcode, _, rest = rest.partition(" ")
    rest = _FLAGS.sub("", rest)
    if opcode in _CASTS:
        return rest.split(", !", 1)[0].rsplit(" to ", 1)[1].strip()
    if opcode in ("icmp", "fcmp"):
        compared = leading(rest.split(" ", 1)[1])
        return f"<{compared[1:].split(' ')[0]} x i1>" if compared[0] == "<" else "i1"
    if opcode in ("getelementptr", "alloca"):
        return "ptr"
    if opcode == "select":
        condition = leading(rest)
        return leading(split_arguments(rest[len(condition):])[1])
    if opcode == "call":
        before = re.split(r"[@%](?:\"[^\"]*\"|[-\w$.]+)\(", rest, maxsplit=1)[0]
        before = re.sub(r"\b(fastcc|ccc|nofpclass\([^)]*\))\s", "", before)
        return _named(type_of(before))
    if opcode == "extractvalue":
        kind, _, indices = rest.partition(" %")
        found = kind
        for index in re.findall(r", (\d+)", indices):
            found = _part(found, int(index), layout)
        return found
    if opcode == "extractelement":
        return leading(rest)[1:-1].split(" x ", 1)[1]
    if opcode == "shufflevector":
        whole = leading(rest)
        mask = re.search(r"<(\d+) x i32> (?:<|zeroinitializer|poison|undef)[^%]*$", rest)
        return f"<{mask[1] if mask else whole[1:].split(' ')[0]} x {whole[1:-1].split(' x ', 1)[1]}>"
    if opcode == "atomicrmw":
        return leading(split_arguments(rest)[1])
    if opcode == "cmpxchg":
        return f"{{ {leading(split_arguments(rest)[1])}, i1 }}"
    return leading(rest)


def _named(kind: str) -> str:
    """The result of a function type `i32 (ptr, ...)`."""
    return leading(kind) if kind and kind[0] in "{[<" else kind.split(" (", 1)[0]


def _part(kind: str, index: int, layout: Layout) -> str:
    """A part of an aggregate type."""
    if kind[0] == "%":
        kind = layout.text_of(kind)
    if kind[0] == "[":
        return kind[1:-1].split(" x ", 1)[1]
    return split_arguments(kind.strip("<>")[1:-1])[index]
