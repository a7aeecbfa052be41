"""Members of structs in memory: which one an index of a piece of memory means (see `records`)."""
from __future__ import annotations

from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.kernels.bases import Base, constant_of, hinted, mlir_name
from reactant.kernels.build import Builder
from reactant.records import dataclass


@dataclass
class Member:
    """`count` numbers of the type `element`, `bytes` each, that begin `offset` bytes after their struct does."""

    name: str
    offset: int
    element: str
    bytes: int
    count: int


@dataclass
class Members:
    """The members of an argument's structs of `row` bytes, each in a memory of its own."""

    base: Base
    row: int
    all: list[Member]
    outer: list[int]
    given: dict[str, ir.Attribute]
    memory: list[ir.Value] = field(default_factory=list)

    @classmethod
    def of(cls, base: Base, given: dict[str, ir.Attribute]) -> Members:
        """As the parameter's attributes say."""
        found = []
        for text in ir.ArrayAttr(given["reactant.fields"]):
            name, offset, dtype, count = ir.StringAttr(text).value.rsplit(":", 3)
            kind = np.dtype(hinted(dtype))
            found.append(Member(name, int(offset), mlir_name(kind), kind.itemsize, int(count)))
        *outer, pieces = ir.DenseI64ArrayAttr(given["reactant.shape"])
        size = np.dtype(hinted(ir.StringAttr(given["reactant.dtype"]).value)).itemsize
        return cls(base, pieces * size, found, outer, given)

    @property
    def types(self) -> list[ir.Type]:
        return [ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.Type.parse(m.element)) for m in self.all]

    @property
    def attributes(self) -> list[dict[str, ir.Attribute]]:
        """Those of the parameters that the members are."""
        rows, i64 = self.base.size // self.row, ir.IntegerType.get_signless(64)
        kept = {key: value for key, value in self.given.items() if key != "reactant.fields"}
        return [{**kept, "reactant.name": ir.StringAttr.get(f"{self.base.name}.{m.name}"),
                 "reactant.elements": ir.IntegerAttr.get(i64, rows * m.count),
                 "reactant.dtype": ir.StringAttr.get(m.element.replace("f", "float").replace("i", "int")),
                 "reactant.shape": ir.DenseI64ArrayAttr.get([*self.outer, *([m.count] if m.count > 1 else [])])}
                for m in self.all]

    def place(self, builder: Builder, index: ir.Value, size: int) -> tuple[ir.Value, ir.Value, str] | None:
        """(memory, index, its element type) of the number of `size` bytes at an index of pieces; None where several
        members, or a part of one, are there.

        Raises `UnsupportedError` where the index does not say which member it means."""
        unit = self.base.unit
        found = split_index(builder, index, self.row // unit)
        if found is None or self.row % unit:
            raise UnsupportedError("The kernel accesses structs without saying which of their members.")
        row, piece = found
        at = piece * unit
        for member, memory in zip(self.all, self.memory, strict=True):
            inside = at - member.offset
            if 0 <= inside < member.bytes * member.count and inside % member.bytes == 0 and size == member.bytes:
                number = inside // member.bytes
                start = builder.index(0) if row is None else builder.times(row, member.count)
                return memory, builder.wrapless("arith.addi", start, builder.index(number)) if number else start, \
                    member.element
        return None

    def is_padding(self, builder: Builder, index: ir.Value, size: int) -> bool:
        """Whether nothing is there."""
        found = split_index(builder, index, self.row // self.base.unit)
        if found is None:
            return False
        start = found[1] * self.base.unit
        return all(start + size <= m.offset or start >= m.offset + m.bytes * m.count for m in self.all)


def split_index(builder: Builder, index: ir.Value, row: int) -> tuple[ir.Value | None, int] | None:
    """(which row, which piece of it) an index means, where every term says it; no value for row 0."""
    constant = constant_of(index)
    if constant is not None:
        return (builder.index(constant // row) if constant // row else None), constant % row
    owner = index.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name in ("arith.addi", "arith.subi"):
        left, right = (split_index(builder, v, row) for v in owner.operands)
        if left is None or right is None:
            return None
        (first, a), (second, b) = left, right
        piece = a + b if owner.name == "arith.addi" else a - b
        return _sum(builder, owner.name, first, second, piece // row), piece % row
    if owner.name == "arith.muli" and (factor := constant_of(owner.operands[1])) is not None:
        if factor % row == 0:
            return builder.times(owner.operands[0], factor // row), 0
        inner = split_index(builder, owner.operands[0], row)
        if inner is None:
            return None
        whole, piece = inner
        start = builder.times(whole, factor) if whole is not None else None
        return _sum(builder, "arith.addi", start, None, piece * factor // row), piece * factor % row
    if owner.name == "arith.select":
        sides = [split_index(builder, v, row) for v in list(owner.operands)[1:]]
        if sides[0] is None or sides[1] is None or sides[0][1] != sides[1][1]:
            return None
        values = [builder.index(0) if s[0] is None else s[0] for s in sides if s is not None]
        return builder.create("arith.select", builder.index_type, owner.operands[0], *values), sides[0][1]
    return None


def _sum(builder: Builder, name: str, first: ir.Value | None, second: ir.Value | None, constant: int
         ) -> ir.Value | None:
    total = first
    if second is not None:
        total = builder.wrapless(name, builder.index(0) if first is None else first, second)
    if constant:
        total = builder.index(constant) if total is None else builder.wrapless("arith.addi", total,
                                                                               builder.index(constant))
    return total
