"""nvcc's device link: the device code of all objects of a program (-rdc=true) is compiled as one.

Such an object holds clang's code in a section that the linker leaves out, and asks for a name that only the linked
code has. So functions of other files are inlined, threads may meet in them, and what nobody defines is an error.
"""
from __future__ import annotations

import json
import struct
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from reactant.cuda_programs.device.shapes import MOST, Shape, Shapes
from reactant.cuda_programs.driver.options import Input
from reactant.cuda_programs.driver.toolchain import Toolchain
from reactant.support.records import dataclass

SECTION = ".reactant_device"
_MAGIC = b"reactant"
_HEAD = struct.Struct("<8sQ")


@dataclass
class Code:
    """The device code of a source: clang's LLVM IR, what is checked while it runs, whether kernels have versions, the
    shapes of blocks that its host code launches kernels with (kernels of other sources, too)."""

    text: str
    check: str
    tune: tuple[str, ...] = ()
    shapes: Shapes = field(default_factory=dict)

    def packed(self) -> bytes:
        """What the section holds; the linker may put several one after the other."""
        data = zlib.compress(json.dumps([self.check, self.tune, self.shapes, self.text]).encode(), 1)
        return _HEAD.pack(_MAGIC, len(data)) + data


def unpacked(data: bytes) -> list[Code]:
    """The codes in a section."""
    found = []
    at = data.find(_MAGIC)
    while at >= 0:
        _, size = _HEAD.unpack_from(data, at)
        check, tune, shapes, text = json.loads(zlib.decompress(data[at + _HEAD.size:at + _HEAD.size + size]))
        known = {name: [(x, y, z) for x, y, z in each] for name, each in shapes.items()}
        found.append(Code(text, check, tuple(tune), known))
        at = data.find(_MAGIC, at + _HEAD.size + size)      # sections are aligned
    return found


def code_object(code: Code, tools: Toolchain, target: Path) -> None:
    """Write an object that holds device code."""
    from reactant.cuda_programs.device.compile import LINKED

    packed = target.with_suffix(".code")
    packed.write_bytes(code.packed())
    text = (f'.section {SECTION},"e",@progbits\n.incbin "{packed}"\n'
            f'.section .data.rel.ro.reactant_link,"aw",@progbits\n.quad {LINKED}\n'
            '.section .note.GNU-stack,"",@progbits\n')
    subprocess.run([*tools.compiler(False), "-x", "assembler", "-c", "-", "-o", str(target)], input=text, text=True,
                   check=True)


def codes_in(items: Sequence[Input], tools: Toolchain, folder: Path) -> list[Code]:
    """The device code of what is linked: objects, and static libraries. Nothing where one of them is linked device
    code (`-dlink`)."""
    from reactant.cuda_programs.device.compile import LINKED_SECTION

    found: list[Code] = []
    for file in _objects(items, tools, folder):
        sections = _sections(file)
        if LINKED_SECTION in sections:
            return []
        found += unpacked(sections.get(SECTION, b""))
    return found


def linked(codes: Sequence[Code], target: Path, name: str) -> None:
    """Write the object with the device code of a program; `name`: of what it is for.

    Raises:
        DeviceLinkError: where the codes do not fit together.
    """
    from reactant.cuda_programs.device.compile import linked_object

    shapes: dict[str, list[Shape]] = {}
    for code in codes:
        for name, each in code.shapes.items():
            shapes[name] = list(dict.fromkeys([*shapes.get(name, ()), *each]))[:MOST]
    check = next((c for c in ("race", "memory") if any(code.check == c for code in codes)), "")
    target.write_bytes(linked_object([code.text for code in codes], f"reactant-linked-{name}", check,
                                     next((code.tune for code in codes if code.tune), ()), shapes))


def _objects(items: Sequence[Input], tools: Toolchain, folder: Path) -> Iterator[Path]:
    """The object files among what is linked, those of static libraries included."""
    searched = [Path(each.text[2:]) for each in items if each.kind == "option" and each.text.startswith("-L")]
    for number, each in enumerate(items):
        path = Path(each.text)
        if each.kind == "option" and each.text.startswith("-l"):
            path = next((p for s in searched if (p := s / f"lib{each.text[2:]}.a").exists()), path)
        if path.suffix == ".a" and each.kind in ("library", "option"):
            yield from _members(path, tools, folder / f"members{number}")
        elif each.kind == "object":
            yield path


def _members(archive: Path, tools: Toolchain, folder: Path) -> Iterable[Path]:
    if SECTION.encode() not in archive.read_bytes():
        return []
    folder.mkdir()
    subprocess.run([*tools.archiver, "x", str(archive.resolve())], cwd=folder, check=True)
    return sorted(folder.iterdir())


def _sections(file: Path) -> dict[str, bytes]:
    """The sections of an object that are of device code."""
    from reactant.cuda_programs.device.compile import LINKED_SECTION

    data = file.read_bytes()
    if SECTION.encode() not in data and LINKED_SECTION.encode() not in data:
        return {}
    from llvmlite.binding import ObjectFileRef

    return {(section.name() or b"").decode(): section.data() for section in ObjectFileRef.from_data(data).sections()}
