"""Pointers read from a table of rows, as `float **` has them: a distance in the memory that all rows lie in."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir

from reactant.errors import in_kernel
from reactant.kernels.form.bases import NULL, Base
from reactant.kernels.form.build import Builder
from reactant.kernels.form.form import span_of
from reactant.kernels.form.record import Table


def table_of(bases: Sequence[Base], choices: Sequence[int], op: ir.Operation) -> Table | None:
    """What a load of a pointer reads from, where that is a table of rows. choices: the bases that it may read."""
    found = [bases[c].table for c in choices if c != NULL]
    if not any(found):
        return None
    if len(found) > 1:
        raise in_kernel("The kernel reads a row of one of several lists of arrays.",
                        hint="Choose between rows, not between lists: give the kernel one list and an index.",
                        code="kernel-memory-access", span=span_of(op))
    return found[0]


def distance(builder: Builder, table: Table, index: Callable[[], ir.Value], held: Callable[[], ir.Value], unit: int
             ) -> tuple[ir.Value | None, ir.Value | None]:
    """How far a row is from the start of its memory, in elements of `unit` bytes, or in bytes where these do not divide
    it. index: of the row; held: what the table has there."""
    if table.step is None:
        found = builder.create("arith.index_cast", builder.index_type, held())
    else:
        found = builder.wrapless("arith.addi", builder.times(index(), table.step), builder.index(table.first))
    if table.size % unit:
        return None, builder.times(found, table.size)
    return builder.times(found, table.size // unit), None
