"""Pieces of memory of a launch, inside a traced function: what their content is, and how it is replaced."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.records import Records
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.kernels.form.record import Buffer, Field
from reactant.kernels.launch.arguments import plain
from reactant.kernels.launch.rows import as_pieces, fields_of, taken
from reactant.support.records import dataclass


@dataclass
class Memory:
    """One piece of memory: a storage, or the window of it that a run-time slice shows.

    order: the storage's dimensions from the outermost in memory. writeable: some array argument may be written.
    """

    tensor: Tensor
    name: str
    order: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    gaps: bool = False
    writeable: bool = True

    @property
    def storage(self) -> Storage:
        return self.tensor.storage

    @property
    def storages(self) -> list[Storage]:
        return [self.tensor.storage]

    def require_writeable(self) -> None:
        self.tensor.require_writeable()

    def buffer(self) -> Buffer:
        """The record's parameter for this memory."""
        dtype, count = plain(self.dtype)
        return Buffer(self.name, dtype, (*self.shape, count) if count > 1 else self.shape)

    def read(self) -> ir.Value:
        """The content as the buffer has it."""
        value = self.tensor.value()
        if self.order != tuple(range(len(self.order))):
            value = ops.transpose(value, self.order)
        return to_plain(value)

    def write(self, value: ir.Value) -> None:
        """Replace the content by what the kernel left in the buffer."""
        value = from_plain(value, self.dtype)
        if self.order != tuple(range(len(self.order))):
            value = ops.transpose(value, [int(i) for i in np.argsort(self.order)])
        self.tensor.assign(value)


@dataclass
class RecordMemory:
    """The memory that the fields of a structured array make up together: rows of pieces, the last dimension."""

    records: Records
    name: str
    writeable: bool = True
    gaps = False

    @property
    def members(self) -> list[tuple[Field, Tensor]]:
        """The numbers of a row, and their arrays."""
        return members(self.records)

    @property
    def storages(self) -> list[Storage]:
        return [tensor.storage for _, tensor in self.members]

    def require_writeable(self) -> None:
        for _, tensor in self.members:
            tensor.require_writeable()

    def buffer(self) -> Buffer:
        unit, count = plain(self.records.dtype)
        return Buffer(self.name, unit, (*self.records.shape, count), fields=fields_of(self.records.dtype))

    def read(self) -> ir.Value:
        unit, count = plain(self.records.dtype)
        outer, columns, at = self.records.shape, [], 0

        def pad(until: int) -> None:
            if until > at:
                columns.append(ops.constant(np.zeros((*outer, (until - at) // unit.itemsize), unit)))
        for member, tensor in self.members:
            pad(member.offset)
            columns.append(as_pieces(to_plain(tensor.value()), unit, outer))
            at = member.offset + member.dtype.itemsize * member.count
        pad(self.records.itemsize)
        return columns[0] if len(columns) == 1 else ops.concatenate(columns, len(outer))

    def write(self, value: ir.Value) -> None:
        unit, _ = plain(self.records.dtype)
        for member, tensor in self.members:
            one, parts = plain(member.dtype)
            new = taken(value, unit, member.offset, one, parts * member.count)
            shape = (*shape_of(tensor.value()), 2) if member.dtype.kind == "c" else shape_of(tensor.value())
            tensor.assign(from_plain(ops.reshape(new, shape), member.dtype))


def members(records: Records, offset: int = 0) -> list[tuple[Field, Tensor]]:
    """The numbers of a row, those of structs in it included, in their order in memory, and their arrays."""
    found: list[tuple[Field, Tensor]] = []
    for name in records.dtype.names or ():
        kind, place = (records.dtype.fields or {})[name][:2]
        held = records.field(name)
        if not isinstance(held, Records):
            found.append((Field(name, offset + place, kind.base, int(np.prod(kind.shape, dtype=np.int64))),
                          wrap(held)))
        elif not kind.shape:
            found += members(held, offset + place)
        else:
            for number, index in enumerate(np.ndindex(kind.shape)):
                one = held[(*[slice(None)] * len(records.shape), *index)]
                found += members(one, offset + place + number * kind.base.itemsize)
    return sorted(found, key=lambda pair: pair[0].offset)


def to_plain(value: ir.Value) -> ir.Value:
    """A tensor in the dtypes of records: no booleans, no unsigned integers, no complex numbers."""
    dtype = dtype_of(value)
    target, count = plain(dtype)
    if dtype.kind == "b":
        return ops.convert(value, target)
    if count == 2:
        shape = (*shape_of(value), 1)
        return ops.concatenate([ops.reshape(ops.real(value), shape), ops.reshape(ops.imag(value), shape)],
                               len(shape) - 1)
    return value if dtype == target else ops.bitcast_convert(value, target)


def from_plain(value: ir.Value, dtype: np.dtype) -> ir.Value:
    """The inverse of `to_plain`."""
    if dtype.kind == "b":
        return ops.compare(value, ops.splat(0, value), "NE")
    if dtype.kind == "c":
        shape = shape_of(value)
        parts = [ops.reshape(ops.slice(value, [0] * (len(shape) - 1) + [i], [*shape[:-1], i + 1], [1] * len(shape)),
                             shape[:-1]) for i in (0, 1)]
        return ops.complex(*parts)
    return value if dtype_of(value) == dtype else ops.bitcast_convert(value, dtype)
