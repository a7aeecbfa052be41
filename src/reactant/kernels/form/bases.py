"""What each pointer of a kernel can point into, and how each piece of memory is accessed: the analysis of
`pointers`."""
from __future__ import annotations

import re
from dataclasses import field
from math import gcd

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError, in_kernel
from reactant.kernels.form.form import span_of
from reactant.kernels.form.rebuild import argument_attributes, blocks_of, edges, terminator_of
from reactant.kernels.form.record import Table
from reactant.support.records import dataclass

NULL = -1
MEMORY_OPS = {"llvm.load": 0, "llvm.store": 1, "llvm.atomicrmw": 0, "llvm.cmpxchg": 0}
"""Operations that access memory -> which operand is the pointer."""
LARGEST = 8
"""Bytes of the largest elements: wider numbers are put together."""
BLOCK_OPS = ("llvm.intr.memcpy", "llvm.intr.memmove", "llvm.intr.memset")
INTEGER_STEPS = frozenset(f"arith.{n}" for n in "addi subi andi ori select muli extsi extui trunci index_cast".split())


def as_written(symbol: str) -> str:
    """What a source calls a variable: one of a function that C++ calls `_ZZ6kernelE4tile`; "" where it has no name."""
    local = re.fullmatch(r"_ZZ.*E(\d+)(\D\w*)", symbol)
    if local is not None:
        return local[2][:int(local[1])]
    return "" if symbol.startswith(("_cudapy", "reactant.")) else symbol


@dataclass
class Base:
    """One piece of memory. kind: argument, shared, local, table. hint: the element type its owner names.

    unit: bytes of one element as the kernel is compiled; element: its type. table: of an argument of pointers.
    """

    kind: str
    value: ir.Value | None
    name: str = ""
    size: int = 0
    hint: str = ""
    shape: tuple[int, ...] = ()
    content: bytes | None = None
    unit: int = 0
    element: str = ""
    accessed: list[tuple[str, int]] = field(default_factory=list)
    table: Table | None = None


def is_pointer(value: ir.Value) -> bool:
    return str(value.type).startswith("!llvm.ptr")


def bytes_of_type(kind: ir.Type | str) -> int:
    """Size in memory of a scalar type."""
    text = str(kind)
    digits = "".join(c for c in text if c.isdigit())
    return max(1, int(digits) // 8) if digits else 0


def bytes_of_unit(kind: ir.Type) -> int:
    """Size of a getelementptr's element type: a scalar, or !llvm.array<n x i8>."""
    text = str(kind)
    if text.startswith("!llvm.array<"):
        return int(text[len("!llvm.array<"):].split(" ")[0])
    return bytes_of_type(text)


def constant_of(value: ir.Value) -> int | None:
    """The number of an integer constant."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return int(attribute.value) if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)) else None


def changed_arguments(module: ir.Module, function: ir.Operation) -> set[str]:
    """The names of the arguments that a function may write into."""
    found = Bases(module, function)
    written: set[int] = set()
    for block in found.blocks:
        for op in (o.operation for o in block.operations):
            place = 0 if op.name in BLOCK_OPS else MEMORY_OPS.get(op.name)
            if place is not None and op.name != "llvm.load":
                written |= found.of.get(op.operands[place], frozenset())
    return {found.bases[n].name for n in written if n != NULL and found.bases[n].kind == "argument"}


class Bases:
    """The memory of one function."""

    def __init__(self, module: ir.Module, function: ir.Operation, name: str = ""):
        self.function, self.name = function, name
        self.blocks = blocks_of(function)
        self.bases: list[Base] = []
        self.of: dict[ir.Value, frozenset[int]] = {}
        self.globals = {op.attributes["sym_name"].value: op.operation for op in module.body.operations
                        if op.operation.name == "llvm.mlir.global"}
        self.by_name: dict[str, int] = {}
        self.kept: dict[int, frozenset[int]] = {}  # base -> what the pointers stored in it point into
        self.find()
        self.accesses()
        self.choose()

    def unsupported(self, op: ir.Operation, what: str) -> UnsupportedError:
        return in_kernel(what, hint="Index arrays by whole elements.", code="kernel-memory-access", span=span_of(op))

    # -- where pointers point

    def find(self) -> None:
        """The set of bases of every pointer, to a fixed point over the blocks' parameters."""
        for argument, attributes in zip(self.blocks[0].arguments, argument_attributes(self.function), strict=True):
            if is_pointer(argument):
                dtype = np.dtype(hinted(attributes["reactant.dtype"].value))
                elements = ir.IntegerAttr(attributes["reactant.elements"]).value
                self.add(argument, Base("argument", argument, attributes["reactant.name"].value,
                                        elements * dtype.itemsize, mlir_name(dtype)))
                if "reactant.table" in attributes:
                    self.bases[-1].table = Table.of(ir.StringAttr(attributes["reactant.table"]).value)
        for number, base in enumerate(self.bases):
            if base.table is not None:
                self.kept[number] = frozenset(k for k, b in enumerate(self.bases) if b.name == base.table.memory)
        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                for op in block.operations:
                    changed |= self.transfer(op.operation)
                for edge in edges(self.blocks, terminator_of(block)):
                    for parameter, value in zip(self.blocks[edge.target].arguments, edge.values, strict=True):
                        if is_pointer(parameter):
                            changed |= self.join(parameter, self.of.get(value, frozenset()))

    def add(self, value: ir.Value, base: Base) -> None:
        self.of[value] = frozenset([len(self.bases)])
        self.bases.append(base)

    def join(self, value: ir.Value, found: frozenset[int]) -> bool:
        before = self.of.get(value, frozenset())
        self.of[value] = before | found
        return self.of[value] != before

    def transfer(self, op: ir.Operation) -> bool:
        name = op.name
        if name == "llvm.alloca":
            if op.results[0] not in self.of:
                size = bytes_of_unit(ir.TypeAttr(op.attributes["elem_type"]).value)
                self.add(op.results[0], Base("local", op.results[0], "", size, "", shape_of(op)))
            return False
        if name == "llvm.mlir.addressof":
            symbol = ir.FlatSymbolRefAttr(op.attributes["global_name"]).value
            if symbol not in self.by_name:
                self.by_name[symbol] = len(self.bases)
                self.bases.append(self.global_base(self.globals[symbol], symbol))
            return self.join(op.results[0], frozenset([self.by_name[symbol]]))
        if name == "llvm.mlir.zero":
            return self.join(op.results[0], frozenset([NULL]))
        if name in ("llvm.getelementptr", "llvm.addrspacecast"):
            return self.join(op.results[0], self.of.get(op.operands[0], frozenset()))
        if name == "arith.select" and is_pointer(op.results[0]):
            return self.join(op.results[0], self.of.get(op.operands[1], frozenset())
                             | self.of.get(op.operands[2], frozenset()))
        if name == "llvm.store" and is_pointer(op.operands[0]):
            before = dict(self.kept)
            for number in self.of.get(op.operands[1], frozenset()):
                self.kept[number] = self.kept.get(number, frozenset()) | self.of.get(op.operands[0], frozenset())
            return self.kept != before
        if name == "llvm.load" and is_pointer(op.results[0]):
            found = self.of.get(op.operands[0], frozenset())
            return self.join(op.results[0], frozenset().union(*(self.kept.get(n, frozenset()) for n in found)))
        if name == "llvm.inttoptr":
            sources = self.integer_sources(op.operands[0], set())
            return self.join(op.results[0], frozenset().union(*(self.of.get(s, frozenset()) for s in sources)))
        return False

    def integer_sources(self, value: ir.Value, seen: set[ir.Value]) -> set[ir.Value]:
        """The pointers whose addresses an integer is computed from."""
        if value in seen:
            return set()
        seen.add(value)
        owner = value.owner
        if isinstance(owner, ir.Block):
            number = self.blocks.index(owner)
            place = list(owner.arguments).index(value)
            incoming = [edge.values[place] for block in self.blocks for edge in edges(self.blocks, terminator_of(block))
                        if edge.target == number]
            return set().union(*(self.integer_sources(v, seen) for v in incoming)) if incoming else set()
        if owner.name == "llvm.ptrtoint":
            return {owner.operands[0]}
        if owner.name in INTEGER_STEPS:
            return set().union(*(self.integer_sources(v, seen) for v in owner.operands))
        return set()

    def global_base(self, op: ir.Operation, symbol: str) -> Base:
        size = bytes_of_unit(ir.TypeAttr(op.attributes["global_type"]).value)
        space = ir.IntegerAttr(op.attributes["addr_space"]).value if "addr_space" in op.attributes else 0
        if space == 3:
            return Base("shared", None, as_written(symbol), size, "", shape_of(op))
        if "value" not in op.attributes:
            raise self.unsupported(op, f"The kernel's variable {symbol} has no content.")
        values = ir.DenseIntElementsAttr(op.attributes["value"])
        content = bytes(int(values[i]) & 255 for i in range(size)) if size else b""
        return Base("table", None, as_written(symbol), size, "", shape_of(op), content)

    # -- how memory is accessed

    def accesses(self) -> None:
        self.partner = list(range(len(self.bases)))
        for block in self.blocks:
            for op in block.operations:
                self.access(op.operation)

    def root(self, number: int) -> int:
        while self.partner[number] != number:
            number = self.partner[number]
        return number

    def together(self, numbers: frozenset[int]) -> list[int]:
        """Bases that one pointer may mean have elements of one size."""
        found = sorted(n for n in numbers if n != NULL)
        for other in found[1:]:
            self.partner[self.root(other)] = self.root(found[0])
        return found

    def access(self, op: ir.Operation) -> None:
        if op.name in BLOCK_OPS:
            pointers = [v for v in list(op.operands)[:2] if is_pointer(v)]
            length = constant_of(op.operands[2])
            found = self.together(frozenset().union(*(self.of.get(p, frozenset()) for p in pointers)))
            for number in found:
                if length:
                    self.bases[number].accessed.append(("", gcd(length, 16)))
            return
        if op.name not in MEMORY_OPS:
            return
        pointer = op.operands[MEMORY_OPS[op.name]]
        found = self.together(self.of.get(pointer, frozenset()))
        if not found:
            raise self.unsupported(op, "The kernel accesses memory through an address that it computes from numbers or "
                                       "through a null pointer.")
        value = op.operands[0] if op.name == "llvm.store" else op.operands[1] if len(op.operands) > 1 else op.results[0]
        if op.name == "llvm.load" and is_pointer(value) and not self.of[value]:
            raise self.unsupported(op, "The kernel reads a pointer from memory, and what it points to cannot be known "
                                       "when the kernel is compiled. Pass the arrays as arguments.")
        align = ir.IntegerAttr(op.attributes["alignment"]).value if "alignment" in op.attributes else 16
        kind = "i64" if is_pointer(value) else str(value.type)  # a pointer in memory is its address
        for number in found:
            self.bases[number].accessed.append((kind, min(bytes_of_type(kind), align, LARGEST)))
            if op.name != "llvm.load" and self.bases[number].table is not None:
                raise self.unsupported(op, f"The kernel stores into {self.bases[number].name}, which are the addresses "
                                           f"of rows.")
            if op.name == "llvm.store" and self.bases[number].kind == "table":
                raise self.unsupported(op, f"The kernel stores into {self.bases[number].name}, which is a constant.")

    def choose(self) -> None:
        """The element type of each base."""
        units: dict[int, int] = {}
        for number, base in enumerate(self.bases):
            root = self.root(number)
            if not any(kind for kind, _ in base.accessed):  # only copied or filled: as the owner sees it
                units[root] = gcd(units.get(root, 0), bytes_of_type(base.hint) or 8)
            for _, size in base.accessed:
                units[root] = gcd(gcd(units.get(root, 0), size), base.size)
        for number, base in enumerate(self.bases):
            hint = bytes_of_type(base.hint)
            base.unit = units[self.root(number)] or hint or 1
            kinds = [kind for kind, _ in base.accessed if kind and bytes_of_type(kind) == base.unit]
            if hint == base.unit:
                base.element = base.hint
            else:
                floats = [k for k in kinds if k.startswith(("f", "bf"))]
                base.element = floats[0] if floats else f"i{8 * base.unit}"


def shape_of(op: ir.Operation) -> tuple[int, ...]:
    """The shape noted on an alloca or a global."""
    return tuple(ir.DenseI64ArrayAttr(op.attributes["reactant.shape"])) if "reactant.shape" in op.attributes else ()


def hinted(name: str) -> type | str:
    return ml_dtypes.bfloat16 if name == "bfloat16" else name


def mlir_name(dtype: np.dtype) -> str:
    """f32 for float32..."""
    if dtype == ml_dtypes.bfloat16:
        return "bf16"
    return f"f{8 * dtype.itemsize}" if dtype.kind == "f" else f"i{8 * dtype.itemsize}"
