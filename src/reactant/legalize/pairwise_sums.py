"""Sums of few numbers in NumPy's order (`reactant.ir.summation`).

XLA adds one after the other: the mean of eight times 0.1 is then not 0.1, their variance not 0, and the root of
mean(x * x) - mean(x)**2 may be NaN. Small arrays only: in rows of many, XLA's own order is up to three times as fast
(distances of 2,000 and 60 points in 16 dimensions), and of long runs equal numbers add up exactly in neither.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.attributes import decode
from reactant.ir.summation import LANES, MOST, joined
from reactant.ir.types import dtype_of, shape_of, size

CONCERNED = (b"reduce",)
"""What the bytecode of a module that `kept` may change has in it."""
SMALL = 1024
"""Most elements of an array that is summed so."""


def kept(module: ir.Module, flattened: bool = True) -> ir.Module:
    """The module, or a copy of it with those sums written out; `flattened`: also those over several dimensions (native
    code has no sums of slices of what is reshaped)."""
    def concerned(op: ir.Operation) -> bool:
        return _length(op) is not None and (flattened or len(decode(op.attributes["dimensions"])) == 1)
    return modules.altered(module, concerned, _write_out)


def _length(op: ir.Operation) -> int | None:
    """How many neighbours each result of such a sum adds."""
    if op.name != "stablehlo.reduce" or len(op.results) != 1 or dtype_of(op.results[0]) not in ("float32", "float64"):
        return None
    body, shape = op.regions[0].blocks[0].operations, shape_of(op.operands[0])
    dimensions = sorted(decode(op.attributes["dimensions"]))
    if len(body) != 2 or body[0].operation.name != "stablehlo.add" or not 0 < size(shape) <= SMALL \
            or dimensions != [*range(len(shape) - len(dimensions), len(shape))]:
        return None
    start, length = ops.constant_value(op.operands[1]), size(shape[len(shape) - len(dimensions):])
    least = LANES if len(dimensions) == 1 else 2       # of two dimensions XLA's order is its own
    return length if least <= length <= MOST and start is not None and not np.asarray(start).any() else None


def _write_out(op: ir.Operation) -> None:
    length, shape = _length(op), shape_of(op.results[0])
    assert length is not None
    runs, rank, whole = ops.reshape(op.operands[0], (*shape, length)), len(shape), length // LANES * LANES

    def part(value: ir.Value, first: int, last: int) -> ir.Value:
        return ops.slice(value, (0,) * rank + (first,), (*shape, last))

    def term(value: ir.Value, place: int) -> ir.Value:
        return ops.reshape(part(value, place, place + 1), shape)

    sums = part(runs, 0, whole) if whole else runs
    if whole > LANES:
        sums = ops.reduce(ops.reshape(sums, (*shape, whole // LANES, LANES)), op.operands[1], (rank,), "add")
    lanes = LANES if whole else 1
    total = joined([term(sums, lane) for lane in range(lanes)],
                   [term(runs, place) for place in range(whole or lanes, length)])
    op.results[0].replace_all_uses_with(total)
    op.erase()
