"""Members of structs in memory: which one an index of a piece of memory means (see `records`)."""
from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.kernels.form.bases import Base, constant_of, hinted, mlir_name
from reactant.kernels.form.build import Builder
from reactant.kernels.stages.counters import Bounds, bounds_of, counters_of
from reactant.support.records import dataclass


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
    """The members of an argument's structs of `row` bytes, each in a memory of its own. `blocks`: of the function as it
    was, `values`: what its values are now."""

    base: Base
    row: int
    all: list[Member]
    outer: list[int]
    given: dict[str, ir.Attribute]
    blocks: list[ir.Block]
    values: dict[ir.Value, ir.Value]
    memory: list[ir.Value] = field(default_factory=list)

    @classmethod
    def of(cls, base: Base, given: dict[str, ir.Attribute], blocks: list[ir.Block],
           values: dict[ir.Value, ir.Value]) -> Members:
        """As the parameter's attributes say."""
        found = []
        for text in ir.ArrayAttr(given["reactant.fields"]):
            name, offset, dtype, count = ir.StringAttr(text).value.rsplit(":", 3)
            kind = np.dtype(hinted(dtype))
            found.append(Member(name, int(offset), mlir_name(kind), kind.itemsize, int(count)))
        *outer, pieces = ir.DenseI64ArrayAttr(given["reactant.shape"])
        size = np.dtype(hinted(ir.StringAttr(given["reactant.dtype"]).value)).itemsize
        return cls(base, pieces * size, found, outer, given, blocks, values)

    @cached_property
    def counters(self) -> dict[ir.Value, Bounds]:
        """Of loops, as they were."""
        return counters_of(self.blocks)

    def bounds(self, value: ir.Value) -> Bounds | None:
        now = {self.values[old]: bounds for old, bounds in self.counters.items() if old in self.values}
        function = self.blocks[0].owner
        block, grid = (tuple(ir.DenseI64ArrayAttr(function.attributes[name])) if name in function.attributes else ()
                       for name in ("reactant.block", "reactant.grid"))
        return bounds_of(value, now, block, grid)

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
        if self.row % unit:
            found = None
        inner = [self.bounds(value) for value, _ in found.inner] if found is not None else []
        if found is None or None in inner:
            raise UnsupportedError("The kernel accesses structs without saying which of their members.",
                                   hint="Access members by name, with their own types.", code="kernel-memory-access")
        moved = [sorted((b[0] * factor * unit, b[1] * factor * unit))
                 for b, (_, factor) in zip(inner, found.inner, strict=True) if b is not None]
        low, high = (found.piece * unit + sum(m[side] for m in moved) for side in (0, 1))
        ahead = low // self.row                                # rows: a counter may begin with what is taken off again
        piece, low, high = found.piece - ahead * self.row // unit, low - ahead * self.row, high - ahead * self.row
        for member, memory in zip(self.all, self.memory, strict=True):
            inside = piece * unit - member.offset
            if member.offset <= low and high < member.offset + member.bytes * member.count and size == member.bytes \
                    and all(n * unit % member.bytes == 0 for n in (piece, *(f for _, f in found.inner))):
                number = inside // member.bytes + ahead * member.count
                at = builder.index(0) if found.row is None else builder.times(found.row, member.count)
                for value, factor in found.inner:
                    at = builder.wrapless("arith.addi", at, builder.times(value, factor * unit // member.bytes))
                return memory, builder.wrapless("arith.addi", at, builder.index(number)) if number else at, \
                    member.element
        if inner:
            raise UnsupportedError("The kernel accesses structs without saying which of their members.",
                                   hint="Access members by name, with their own types.", code="kernel-memory-access")
        return None

    def is_padding(self, builder: Builder, index: ir.Value, size: int) -> bool:
        """Whether nothing is there."""
        found = split_index(builder, index, self.row // self.base.unit)
        if found is None or found.inner:
            return False
        start = found.piece * self.base.unit
        return all(start + size <= m.offset or start >= m.offset + m.bytes * m.count for m in self.all)


@dataclass(frozen=True)
class Split:
    """An index of pieces: which row (None for row 0), and which piece of it, plus what each of `inner` counts by."""

    row: ir.Value | None
    piece: int
    inner: tuple[tuple[ir.Value, int], ...] = ()


def split_index(builder: Builder, index: ir.Value, row: int) -> Split | None:
    """An index told apart, where it is a sum."""
    constant = constant_of(index)
    if constant is not None:
        return Split(builder.index(constant // row) if constant // row else None, constant % row)
    owner = index.owner
    if isinstance(owner, ir.Block):
        return Split(None, 0, ((index, 1),))
    if owner.name in ("arith.addi", "arith.subi"):
        left, right = (split_index(builder, v, row) for v in owner.operands)
        if left is None or right is None:
            return None
        sign = 1 if owner.name == "arith.addi" else -1
        piece = left.piece + sign * right.piece
        return Split(_sum(builder, owner.name, left.row, right.row, piece // row), piece % row,
                     left.inner + tuple((v, sign * f) for v, f in right.inner))
    if owner.name == "arith.muli" and (factor := constant_of(owner.operands[1])) is not None:
        if factor % row == 0:
            return Split(builder.times(owner.operands[0], factor // row), 0)
        inner = split_index(builder, owner.operands[0], row)
        if inner is None:
            return None
        start = builder.times(inner.row, factor) if inner.row is not None else None
        piece = inner.piece * factor
        return Split(_sum(builder, "arith.addi", start, None, piece // row), piece % row,
                     tuple((v, f * factor) for v, f in inner.inner))
    if owner.name == "arith.select":
        sides = [split_index(builder, v, row) for v in list(owner.operands)[1:]]
        one, other = sides
        if one is None or other is None or one.piece != other.piece or one.inner or other.inner:
            return None
        values = [builder.index(0) if s.row is None else s.row for s in (one, other)]
        return Split(builder.create("arith.select", builder.index_type, owner.operands[0], *values), one.piece)
    return Split(None, 0, ((index, 1),))


def _sum(builder: Builder, name: str, first: ir.Value | None, second: ir.Value | None, constant: int
         ) -> ir.Value | None:
    total = first
    if second is not None:
        total = builder.wrapless(name, builder.index(0) if first is None else first, second)
    if constant:
        total = builder.index(constant) if total is None else builder.wrapless("arith.addi", total,
                                                                               builder.index(constant))
    return total
