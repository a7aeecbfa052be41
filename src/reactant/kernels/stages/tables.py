"""Pointers read from a table of rows, as `float **` has them: a distance in the memory that all rows lie in."""
from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from reactant.errors import in_kernel
from reactant.kernels.form.bases import NULL
from reactant.kernels.form.form import span_of
from reactant.kernels.form.record import Table

if TYPE_CHECKING:
    from reactant.kernels.stages.addresses import Address
    from reactant.kernels.stages.pointers import Pointers


def table_of(pointers: Pointers, op: ir.Operation) -> tuple[int, Table] | None:
    """The base that a load of a pointer reads, where it is a table of rows, and what it says."""
    choices = [c for c in pointers.choices(op.operands[0]) if c != NULL]
    found = [pointers.bases[c].table for c in choices]
    if not any(found):
        return None
    if len(choices) > 1 or found[0] is None:
        raise in_kernel("The kernel reads a row of one of several lists of arrays.",
                        hint="Choose between rows, not between lists: give the kernel one list and an index.",
                        code="kernel-memory-access", span=span_of(op))
    return choices[0], found[0]


def row(pointers: Pointers, op: ir.Operation, number: int, table: Table) -> Address:
    """The address of the row that a load of a pointer gives."""
    made = type(pointers.address(op.operands[0]))
    choices = pointers.choices(op.results[0])
    unit = pointers.unit_of(choices)
    source = pointers.address(op.operands[0])
    index = pointers.distance(source, 8)
    if table.step is None:
        held = pointers.loaded(number, pointers.distance(source, pointers.bases[number].unit), pointers.i64)
        distance = pointers.create("arith.index_cast", pointers.index_type, held)
    else:
        distance = pointers.plus(pointers.times(index, table.step), table.first)
    if table.size % unit:
        return made(choices[0], choices, None, pointers.times(distance, table.size))
    return made(choices[0], choices, pointers.times(distance, table.size // unit))
