"""Columns that are written to short rows: each row is made in one go, of what is written and of what was there.

`out[::2] = a` is an update of the first of two columns. As a write in place it goes over the array a second time, one
element after the other; a choice among few columns, known by the place in the row, is vector code that goes over it
once. Only where the array is made or copied anyway: outside of loops.
"""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import shape_of, size
from reactant.loopnests.choice import profitability


def chosen(block: ir.Block) -> None:
    """Rewrite such updates of a block."""
    for op in [op.operation for op in block if op.operation.name == profitability.UPDATE]:
        if not profitability.interleaves(op) or size(shape_of(op.results[0])) < profitability.LEAST_MOVED:
            continue
        whole, window = (shape_of(v) for v in list(op.operands)[:2])
        array, new, *starts = op.operands
        known = [ops.constant_value(v) for v in starts]
        if any(v is None for v in known) or any(k not in (1, n) for n, k in zip(whole, window, strict=True)):
            continue
        with ir.InsertionPoint(op), op.location:
            low = tuple(min(max(int(v), 0), n - k)  # type: ignore[arg-type]
                        for v, n, k in zip(known, whole, window, strict=True))
            op.results[0].replace_all_uses_with(_row_by_row(array, new, low))
        op.erase()


def _row_by_row(array: ir.Value, new: ir.Value, low: tuple[int, ...]) -> ir.Value:
    whole, window = shape_of(array), shape_of(new)
    if (known := ops.constant_value(array)) is not None and known.size and not any(known.strides):
        fill = ops.constant(known[(0,) * known.ndim])
        return ops.pad(new, fill, low, [n - a - k for n, a, k in zip(whole, low, window, strict=True)])
    mask = None
    for d, (n, k) in enumerate(zip(whole, window, strict=True)):
        if n != k:
            here = ops.compare(ops.iota(whole, np.int32, d), low[d], "EQ")
            mask = here if mask is None else ops.and_(mask, here)
    kept = [d for d, (n, k) in enumerate(zip(whole, window, strict=True)) if n == k]
    spread = ops.broadcast_in_dim(ops.reshape(new, [whole[d] for d in kept]), whole, kept)
    return ops.select(mask, spread, array)
