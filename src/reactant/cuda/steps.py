"""What a launch, a copy or a fill is in a compiled program: a line of Python over arrays and numbers.

The host's addresses become (allocation, offset), the bytes of arguments what the kernel's signature says they are.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from reactant.cuda.memories import Memories, Memory
from reactant.cuda.rows import Copied, Filled, Launched
from reactant.kernels.launch.arguments import plain
from reactant.kernels.launch.launch import Launch
from reactant.kernels.ways_in.debug_types import CType
from reactant.kernels.ways_in.module_source import SourceKernel


class NotRecorded(Exception):
    """Why something cannot be a step of a compiled program."""


@dataclass(frozen=True)
class View:
    """A pointer: the allocation's place, an offset in bytes, elements, and of what; `root` is the dtype of the array
    that stands for the allocation where it has none yet."""

    base: int
    offset: int
    count: int
    dtype: np.dtype
    root: np.dtype


@dataclass(frozen=True)
class Float:
    """A floating-point argument, by its bits: the program gets it. identity: what the tape calls it, 0: a constant."""

    dtype: np.dtype
    bits: bytes
    identity: int = 0

    @property
    def value(self) -> Any:
        return np.frombuffer(self.bits, self.dtype)[0]


@dataclass(frozen=True)
class Integer:
    value: int
    dtype: np.dtype


@dataclass(frozen=True)
class Record:
    """A struct by value."""

    dtype: np.dtype
    content: bytes


@dataclass(frozen=True)
class Variable:
    """A `__constant__` variable."""

    symbol: str


Argument = View | Float | Integer | Record | tuple


@dataclass(frozen=True)
class LaunchStep:
    """A launch."""

    kernel: str
    launch: Launch
    arguments: tuple[Argument, ...]
    variables: tuple[tuple[str, Variable], ...]

    @property
    def views(self) -> list[View]:
        return [v for a in self.arguments for v in _views(a)]


@dataclass(frozen=True)
class CopyStep:
    """A copy between two allocations, or within one."""

    target: View
    source: View

    @property
    def views(self) -> list[View]:
        return [self.target, self.source]


@dataclass(frozen=True)
class FillStep:
    target: View
    value: int

    @property
    def views(self) -> list[View]:
        return [self.target]


Step = LaunchStep | CopyStep | FillStep


def _views(argument: Argument) -> list[View]:
    if isinstance(argument, tuple):
        return [v for a in argument for v in _views(a)]
    return [argument] if isinstance(argument, View) else []


# ---- launches ----

class Reader:
    """Reads the arguments of launches. base: where the shared memory is in the program's process."""

    def __init__(self, memories: Memories, base: int, lower: str):
        self.memories, self.base, self.lower = memories, base, lower

    def launch(self, row: Launched, kernel: SourceKernel) -> LaunchStep:
        """A launch as a step. Raises `NotRecorded`."""
        if row.cooperative:
            raise NotRecorded("its blocks meet at barriers of the grid")
        if mutable := [v for v in kernel.variables if "addrspace(4)" not in v.text]:
            raise NotRecorded(f"it uses the __device__ variable '{mutable[0].name}', which lives in the host's process")
        if _asserts(kernel):
            raise NotRecorded("it has assertions, which the program's own code checks")
        if structs := [v for v in kernel.variables if v.dtype.base.kind == "V"]:
            raise NotRecorded(f"its __constant__ variable '{structs[0].name}' holds structs")
        types = kernel.function.parameters
        if len(types) != len(row.parameters):
            raise NotRecorded("the arguments of its launch are not those of its signature")
        arguments = tuple(self.argument(row.values[offset:offset + size], wanted, name)
                          for (offset, size), wanted, name in zip(row.parameters, types, kernel.function.names,
                                                                  strict=True))
        variables = tuple((v.name, Variable(v.symbol)) for v in kernel.variables)
        return LaunchStep(row.kernel, Launch(row.grid, row.block, row.shared, self.lower), arguments, variables)

    def argument(self, content: bytes, wanted: CType, name: str) -> Argument:
        if wanted.kind == "number" and wanted.dtype is not None and len(content) == wanted.dtype.itemsize:
            if wanted.dtype.kind == "f":
                return Float(wanted.dtype, content)
            return Integer(int(np.frombuffer(content, wanted.dtype)[0]), wanted.dtype)
        if wanted.kind == "pointer":
            return self.pointer(int.from_bytes(content, "little"), wanted.target, name)
        if wanted.kind == "struct" and len(content) == wanted.size:
            structured = wanted.structured()
            if structured is not None:
                return Record(structured, content)
            return tuple(self.argument(content[at:at + kind.size], kind, f"{name}.{member}")
                         for member, at, kind in wanted.members)
        if wanted.kind == "array" and wanted.target is not None and wanted.target.size:
            step = wanted.target.size
            return tuple(self.argument(content[at:at + step], wanted.target, name)
                         for at in range(0, len(content), step))
        raise NotRecorded(f"its argument '{name}' has the type {wanted}")

    def pointer(self, address: int, target: CType | None, name: str) -> View | Integer:
        if address == 0:
            return Integer(0, np.dtype(np.int64))
        memory = self.memories.find(address - self.base)
        if memory is None:
            raise NotRecorded(f"its argument '{name}' points to memory that is not the device's")
        if target is not None and target.kind == "pointer":
            raise NotRecorded(f"its argument '{name}' points to pointers")
        return view_of(memory, address - self.base - memory.base, _element(target), name)


def _asserts(kernel: SourceKernel) -> bool:
    """Whether a kernel or what it calls may fail."""
    module, seen, waiting = kernel.module, set[str](), [kernel.function.symbol]
    while waiting:
        body = module.bodies.get(symbol := waiting.pop(), "")
        if symbol in seen:
            continue
        seen.add(symbol)
        if re.search(r"@(__assert\w*|llvm\.trap|llvm\.ubsantrap|__trap)\b", body):
            return True
        waiting += re.findall(r"@([\w.$-]+)", body)
    return False


def _element(target: CType | None) -> np.dtype:
    if target is None or target.kind in ("void", "other"):
        return np.dtype(np.uint8)
    found = target.structured()
    if found is None or found.itemsize == 0:
        raise NotRecorded(f"it takes a pointer to {target}")
    element = target.element()
    if target.kind == "struct" and element is not None and target.size % element.itemsize == 0:
        return element      # float4: an array of its numbers
    return found


def view_of(memory: Memory, offset: int, dtype: np.dtype, name: str) -> View:
    """The elements of a memory from an offset on. Raises `NotRecorded` where they are not aligned."""
    unit = plain(dtype)[0] if dtype.kind in "bV" else dtype
    if memory.array is not None:
        unit = memory.array.dtype
    if offset % unit.itemsize or memory.bytes % unit.itemsize:
        raise NotRecorded(f"its argument '{name}' points between the elements of its memory, or that is no whole "
                          f"number of {unit}")
    return View(memory.base, offset, (memory.bytes - offset) // dtype.itemsize, dtype, unit)


# ---- copies and fills ----

def copied(row: Copied, memories: Memories) -> CopyStep:
    """A copy from device to device as a step. Raises `NotRecorded`."""
    target, source = memories.of_box(row.target), memories.of_box(row.source)
    if target is None or source is None or not (row.target.in_one_piece and row.source.in_one_piece):
        raise NotRecorded("a copy of a part of rows")
    if target is source:
        raise NotRecorded("a copy within one allocation")
    known = next((m.array.dtype for m in (target, source) if m.array is not None), None)
    if known is None:
        raise NotRecorded("a copy of what no kernel has used yet")
    return CopyStep(_part(target, row.target.start, row.target.bytes, known),
                    _part(source, row.source.start, row.source.bytes, known))


def filled(row: Filled, memories: Memories) -> FillStep:
    """A memset as a step. Raises `NotRecorded`."""
    target = memories.of_box(row.target)
    if target is None or not row.target.in_one_piece or row.element != 1:
        raise NotRecorded("a memset of a part of rows")
    if target.array is None:
        raise NotRecorded("a memset of what no kernel has used yet")
    return FillStep(_part(target, row.target.start, row.target.bytes, target.array.dtype), row.value & 255)


def _part(memory: Memory, start: int, size: int, dtype: np.dtype) -> View:
    found = view_of(memory, start - memory.base, dtype, "memory")
    if size % dtype.itemsize or found.root != dtype:
        raise NotRecorded("a copy of a part of an element")
    return View(found.base, found.offset, size // dtype.itemsize, dtype, dtype)


