"""Slices, paddings, windows at run-time places. Windows at other places for each element become gathers and scatters,
or strided slices where the places are an arithmetic progression (as of a loop's counter)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.batching.declare import Call, after, batch, repeated, spread
from reactant.batching.progressions import Progression, starts_inside
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


def _slice(call: Call) -> list[ir.Value]:
    start, limit, strides = (call.attributes[n] for n in ("start_indices", "limit_indices", "strides"))
    return [ops.slice(call.operands[0], (0, *start), (call.size, *limit), (1, *strides))]


batch("slice", _slice)


def _pad(call: Call) -> list[ir.Value]:
    """A padding value of its own for each element is selected where nothing of the operand lies."""
    low, high, interior = ((0, *call.attributes[n]) for n in (
        "edge_padding_low", "edge_padding_high", "interior_padding"))
    x = call.full(0)
    if not call.batched[1]:
        return [ops.pad(x, call.operands[1], low, high, interior)]
    inside = ops.pad(ops.constant(True, bool, shape_of(x)), False, low, high, interior)
    padded = ops.pad(x, 0, low, high, interior)
    return [ops.select(inside, padded, spread(call.operands[1], shape_of(padded)[1:]))]


batch("pad", _pad)


# ---- windows at run-time places ------------------------------------------------------------------------------------

def _zero(call: Call, first: int) -> ir.Value:
    """The start in the batch dimension, of the type of the others."""
    return ops.constant(0, dtype_of(call.inputs[first]))


def _rows(call: Call, first: int) -> ir.Value:
    """The starts as one array (size, rank)."""
    return ops.concatenate([ops.reshape(call.full(n), (call.size, 1)) for n in range(first, len(call.operands))], 1)


def _dynamic_slice(call: Call) -> Sequence[ir.Value]:
    sizes, x = call.attributes["slice_sizes"], call.operands[0]
    if not sizes:
        return [call.full(0)]
    if not any(call.batched[1:]):
        return [ops.dynamic_slice(x, [_zero(call, 1), *call.operands[1:]], (call.size, *sizes))]
    regular = None if call.batched[0] else _regular_slice(call, sizes)
    if regular is not None:
        return [regular]
    window = range(1, 1 + len(sizes))
    if not call.batched[0]:
        return [ops.gather(x, _rows(call, 1), offset_dims=window, collapsed_slice_dims=(), slice_sizes=sizes,
                           start_index_map=range(len(sizes)), index_vector_dim=1)]
    return [ops.gather(x, _rows(call, 1), offset_dims=window, collapsed_slice_dims=(), slice_sizes=(1, *sizes),
                       start_index_map=after(range(len(sizes))), index_vector_dim=1, operand_batching_dims=(0,),
                       start_indices_batching_dims=(0,))]


def _regular_slice(call: Call, sizes: Sequence[int]) -> ir.Value | None:
    """Windows of an unbatched array whose start goes evenly along one dimension, never out of it: a slice."""
    moving = [n for n, batched in enumerate(call.batched[1:]) if batched]
    progression = call.progressions[1 + moving[0]]
    if len(moving) != 1 or not isinstance(progression, Progression):
        return None
    d, x, extent = moving[0], call.operands[0], sizes[moving[0]]
    shape = shape_of(x)
    if not starts_inside(call.inputs[1 + d], progression, call.size, shape[d] - extent):
        return None
    step = progression.step
    if extent != 1 and step != extent:
        return None
    first = progression.start if step > 0 else progression.at(call.size - 1)
    reach = (call.size - 1) * abs(step) + extent
    low, high = [0] * len(shape), list(sizes)
    if isinstance(first, int) and all(sizes[e] == n for e, n in enumerate(shape) if e != d):
        low[d], high[d] = first, first + reach
        strides = [1] * len(shape)
        strides[d] = abs(step) if extent == 1 else 1
        found = ops.slice(x, low, high, strides)
    else:
        starts = list(call.operands[1:])
        dtype = dtype_of(call.inputs[1 + d])
        starts[d] = ops.constant(first, dtype) if isinstance(first, int) else first
        high[d] = reach
        found = ops.dynamic_slice(x, starts, high)
        if extent == 1 and abs(step) > 1:
            found = ops.slice(found, [0] * len(shape), high, [abs(step) if e == d else 1 for e in range(len(shape))])
    if step < 0:
        found = ops.reverse(found, [d])
    if extent > 1:
        found = ops.reshape(found, [*sizes[:d], call.size, extent, *sizes[d + 1:]])
    moved = ops.transpose(found, [d, *(e for e in range(len(shape_of(found))) if e != d)])
    return ops.reshape(moved, (call.size, *sizes))


batch("dynamic_slice", _dynamic_slice)


def _dynamic_update_slice(call: Call) -> Sequence[ir.Value]:
    """Starts are clamped as the op does it: a scatter would skip windows that stick out."""
    x, update = call.full(0), call.full(1)
    sizes = shape_of(call.inputs[1])
    if not sizes:
        return [update]
    if not any(call.batched[2:]):
        return [ops.dynamic_update_slice(x, update, [_zero(call, 2), *call.operands[2:]])]
    rows = _rows(call, 2)
    most = np.asarray([n - k for n, k in zip(shape_of(call.inputs[0]), sizes, strict=True)], dtype_of(rows))
    limits = repeated(ops.constant(most), call.size)
    rows = ops.clamp(ops.splat(0, rows), rows, limits)
    return [ops.scatter(x, rows, update, "second", update_window_dims=range(1, 1 + len(sizes)),
                        inserted_window_dims=(), scatter_dims_to_operand_dims=after(range(len(sizes))),
                        index_vector_dim=1, input_batching_dims=(0,), scatter_indices_batching_dims=(0,),
                        indices_are_sorted=True, unique_indices=True)]


batch("dynamic_update_slice", _dynamic_update_slice)
