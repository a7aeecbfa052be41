"""Constants and parts of LLVM values, for `ingest`: their memory, their text in MLIR, where their pieces lie."""
from __future__ import annotations

import re
import struct as bytes_of
from collections.abc import Sequence

import ml_dtypes
import numpy as np

from reactant.errors import UnsupportedError
from reactant.kernels.llvm_ir.llvm_text import Instruction, Typed, Value
from reactant.kernels.llvm_ir.llvm_types import Type

FAST = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


def alignment(made: Instruction) -> int:
    """The alignment that a load or store promises."""
    found = re.search(r", align (\d+)", made.text)
    return int(found[1]) if found else 1


def aligned(align: int, distance: int) -> int:
    """Alignment at a distance from an aligned place."""
    return min(align, distance & -distance) if distance else align


def dimensions(kind: Type) -> list[int]:
    """[3, 4] for [3 x [4 x float]]."""
    return [kind.count, *dimensions(kind.parts[0])] if kind.kind == "array" else []


def leaf(kind: Type) -> Type | None:
    """The scalar type that a type consists of, if it is one."""
    while kind.kind in ("array", "vector"):
        kind = kind.parts[0]
    return kind if kind.kind in ("int", "half", "bfloat", "float", "double") else None


def part_of(kind: Type, indices: Sequence[int]) -> tuple[Type, int, int]:
    """(type, first scalar, end) of a part of an aggregate."""
    start = 0
    for index in indices:
        if kind.kind == "struct":
            start += sum(len(p.elements()) for p in kind.parts[:index])
            kind = kind.parts[index]
        else:
            kind = kind.parts[0]
            start += index * len(kind.elements())
    return kind, start, start + len(kind.elements())


def parts_of_constant(kind: Type, value: Value) -> Sequence[Typed]:
    """The typed parts of a constant list or string."""
    if value.kind == "list":
        return value.of
    return [(kind.parts[0], Value("int", signed(b, 8))) for b in value.of]


def content_bytes(kind: Type, value: Value) -> bytes:
    """The memory of a constant."""
    if value.kind == "bytes":
        return value.of
    if value.kind in ("zero", "undef", "null"):
        return bytes(kind.size())
    if value.kind == "splat":
        return content_bytes(*value.of) * kind.count
    if value.kind == "list":
        content = bytearray(kind.size())
        offsets = kind.offsets() if kind.kind == "struct" else [i * kind.parts[0].size() for i in range(kind.count)]
        for offset, inner in zip(offsets, value.of, strict=True):
            piece = content_bytes(*inner)
            content[offset:offset + len(piece)] = piece
        return bytes(content)
    if value.kind == "int":
        return (value.of & (1 << 8 * kind.size()) - 1).to_bytes(kind.size(), "little")
    if value.kind == "float":
        if kind.kind in ("float", "double"):
            return bytes_of.pack("<f" if kind.kind == "float" else "<d", value.of)
        return np.asarray(value.of, np.float16 if kind.kind == "half" else ml_dtypes.bfloat16).tobytes()
    raise UnsupportedError("A table of addresses in a kernel cannot be compiled.", hint="Use numbers, or a switch.",
                           code="kernel-memory-access")


def float_text(value: float, kind: str) -> str:
    """An MLIR float literal, in bits where decimal would not do."""
    if value == value and abs(value) != float("inf"):
        text = repr(value)
        return text if "." in text.split("e")[0] else text.replace("e", ".0e") if "e" in text else text + ".0"
    if kind == "f64":
        return f"0x{bytes_of.unpack('<Q', bytes_of.pack('<d', value))[0]:016X}"
    if kind == "f32":
        return f"0x{bytes_of.unpack('<I', bytes_of.pack('<f', value))[0]:08X}"
    if kind == "f16":
        return f"0x{np.float16(value).view(np.uint16):04X}"
    return f"0x{bytes_of.unpack('<I', bytes_of.pack('<f', value))[0] >> 16:04X}"


def fast_math(made: Instruction) -> str:
    """` fastmath<...>` for the flags of an instruction."""
    kept = [w for w in FAST if w in made.words or "fast" in made.words]
    return f" fastmath<{'fast' if 'fast' in made.words or len(kept) == len(FAST) else ','.join(kept)}>" if kept else ""


def signed(value: int, width: int) -> int:
    """An integer as the signed one with these bits (i1: 0 and 1)."""
    if width == 1:
        return value & 1
    half = 1 << (width - 1)
    return ((value + half) & (2 * half - 1)) - half


def symbol(name: str) -> str:
    """A name as MLIR prints it after @."""
    return name if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else '"' + name.replace('"', "") + '"'
