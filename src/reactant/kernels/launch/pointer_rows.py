"""Arrays whose addresses a kernel finds in memory (`float **`): rows, put together into one memory where they are
several, and the table of their distances from its start."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.storage import Storage
from reactant.ir import ops
from reactant.ir.types import shape_of
from reactant.kernels.form.record import Buffer, Table
from reactant.kernels.launch.arguments import ArrayArgument, KernelArgumentError
from reactant.kernels.launch.memories import Memory
from reactant.support.records import dataclass


@dataclass
class JoinedMemory:
    """Several memories, one after the other."""

    parts: list[Memory]
    name: str

    gaps = False

    @property
    def storages(self) -> list[Storage]:
        return [storage for part in self.parts for storage in part.storages]

    def require_writeable(self) -> None:
        for part in self.parts:
            part.require_writeable()

    def buffer(self) -> Buffer:
        made = [part.buffer() for part in self.parts]
        if all(b.shape == made[0].shape for b in made):
            return Buffer(self.name, made[0].dtype, (len(made), *made[0].shape))
        return Buffer(self.name, made[0].dtype, (sum(b.elements for b in made),))

    def read(self) -> ir.Value:
        flat = [ops.reshape(part.read(), (part.buffer().elements,)) for part in self.parts]
        return ops.reshape(ops.concatenate(flat, 0), self.buffer().shape)

    def write(self, value: ir.Value) -> None:
        value, at = ops.reshape(value, (self.buffer().elements,)), 0
        for part in self.parts:
            kind = part.buffer()
            part.write(ops.reshape(ops.slice(value, [at], [at + kind.elements], [1]), kind.shape))
            at += kind.elements


@dataclass
class TableMemory:
    """The distances of rows from the start of the memory that they lie in."""

    table: Table
    distances: tuple[int, ...]
    name: str

    gaps = False
    storages: tuple[Storage, ...] = ()

    def require_writeable(self) -> None:
        raise UnsupportedError(f"The kernel writes into '{self.name}', the addresses of rows.",
                               hint="Write into the rows, or let the kernel take an index of the row.",
                               code="kernel-memory-access")

    def buffer(self) -> Buffer:
        return Buffer(self.name, np.dtype(np.int64), (len(self.distances),), table=self.table)

    def read(self) -> ir.Value:
        return ops.constant(np.asarray(self.distances, np.int64))

    def write(self, value: ir.Value) -> None:
        assert shape_of(value) == (len(self.distances),)
        self.require_writeable()


def joined(memories: Sequence[Memory], name: str) -> Memory | JoinedMemory:
    """One memory of several. Raises `KernelArgumentError` where they are not of one dtype."""
    if len(memories) == 1:
        return memories[0]
    kinds = {m.buffer().dtype for m in memories}
    if len(kinds) > 1 or any(m.dtype != memories[0].dtype for m in memories):
        listed = ", ".join(sorted({str(m.dtype) for m in memories}))
        raise KernelArgumentError(f"The arrays in the list '{name}' have several dtypes ({listed}).",
                                  hint="Give a list of arrays of one dtype.")
    return JoinedMemory(list(memories), name)


def table_of(memories: Sequence[Memory], rows: Sequence[ArrayArgument], memory: str, name: str) -> TableMemory:
    """The table of rows of the memories when they are put together."""
    size = memories[0].buffer().dtype.itemsize
    starts = np.cumsum([0, *(m.buffer().elements * size for m in memories)])
    distances = [int(starts[r.buffer]) + r.offset for r in rows]
    if any(d % size for d in distances):
        raise UnsupportedError(f"The arrays in the list '{name}' do not begin at whole elements of their memory.",
                               hint="Give copies of them: [np.ascontiguousarray(x) for x in rows].",
                               code="kernel-argument")
    places = tuple(d // size for d in distances)
    steps = {b - a for a, b in pairwise(places)} or {0}
    step = steps.pop() if len(steps) == 1 else None
    return TableMemory(Table(memory, size, places[0], step), places, name)
