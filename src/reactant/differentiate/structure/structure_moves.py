"""Ops that move elements: for each element of the result, which element of which operand it is."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.declare import Call
from reactant.ir.types import shape_of, size

Known = Mapping[ir.Value, np.ndarray]
Moved = tuple[list[int], np.ndarray]
"""The operands that matter, by number, and for each element of the result its place among all their elements."""


def _attributes(op: ir.Operation) -> dict[str, Any]:
    return Call(op, [], []).attributes


def _places(op: ir.Operation, *numbers: int) -> list[np.ndarray]:
    """The numbers of the elements of some operands, one operand after the other."""
    found, start = [], 0
    for n in numbers:
        shape = shape_of(op.operands[n])
        found.append(np.arange(start, start + size(shape)).reshape(shape))
        start += size(shape)
    return found


def _reshape(op: ir.Operation, known: Known) -> Moved:
    return [0], _places(op, 0)[0].reshape(shape_of(op.result))


def _transpose(op: ir.Operation, known: Known) -> Moved:
    return [0], _places(op, 0)[0].transpose(_attributes(op)["permutation"])


def _reverse(op: ir.Operation, known: Known) -> Moved:
    return [0], np.flip(_places(op, 0)[0], _attributes(op)["dimensions"])


def _broadcast(op: ir.Operation, known: Known) -> Moved:
    dims, new = _attributes(op)["broadcast_dimensions"], shape_of(op.result)
    ids = _places(op, 0)[0].transpose(np.argsort(dims)) if dims else _places(op, 0)[0]
    return [0], np.broadcast_to(np.expand_dims(ids, [d for d in range(len(new)) if d not in dims]), new)


def _slice(op: ir.Operation, known: Known) -> Moved:
    given = _attributes(op)
    parts = zip(given["start_indices"], given["limit_indices"], given["strides"], strict=True)
    return [0], _places(op, 0)[0][tuple(slice(a, b, s) for a, b, s in parts)]


def _pad(op: ir.Operation, known: Known) -> Moved:
    given = _attributes(op)
    ids, fill = _places(op, 0, 1)
    shape = [max(n - 1, 0) * i + n for n, i in zip(ids.shape, given["interior_padding"], strict=True)]
    spread = np.full(shape, int(fill))
    spread[tuple(slice(None, None, i + 1) for i in given["interior_padding"])] = ids
    low, high = given["edge_padding_low"], given["edge_padding_high"]
    spread = np.pad(spread, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)],
                    constant_values=int(fill))
    crop = [slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, spread.shape, strict=True)]
    return [0, 1], spread[tuple(crop)]


def _concatenate(op: ir.Operation, known: Known) -> Moved:
    numbers = list(range(len(op.operands)))
    return numbers, np.concatenate(_places(op, *numbers), _attributes(op)["dimension"])


def _starts(op: ir.Operation, known: Known, first: int, whole: tuple[int, ...], part: tuple[int, ...]
            ) -> list[slice] | None:
    given = [known.get(x) for x in list(op.operands)[first:]]
    if any(s is None for s in given):
        return None
    clamped = [min(max(int(s), 0), n - m) for s, n, m in zip(given, whole, part, strict=True)]   # type: ignore
    return [slice(s, s + m) for s, m in zip(clamped, part, strict=True)]


def _dynamic_slice(op: ir.Operation, known: Known) -> Moved | None:
    part = _starts(op, known, 1, shape_of(op.operands[0]), shape_of(op.result))
    return None if part is None else ([0], _places(op, 0)[0][tuple(part)])


def _dynamic_update_slice(op: ir.Operation, known: Known) -> Moved | None:
    part = _starts(op, known, 2, shape_of(op.operands[0]), shape_of(op.operands[1]))
    if part is None:
        return None
    ids, update = _places(op, 0, 1)
    ids = ids.copy()
    ids[tuple(part)] = update
    return [0, 1], ids


def _select(op: ir.Operation, known: Known) -> Moved | None:
    predicate = known.get(op.operands[0])
    if predicate is None:
        return None
    return [1, 2], np.where(predicate, *_places(op, 1, 2))


def _index_vectors(indices: np.ndarray, depth: int) -> np.ndarray:
    """(components, *batch)"""
    return indices[np.newaxis] if depth == indices.ndim else np.moveaxis(indices, depth, 0)


def _gather(op: ir.Operation, known: Known) -> Moved | None:
    indices = known.get(op.operands[1])
    if indices is None:
        return None
    given = _attributes(op)
    numbers, sizes = given["dimension_numbers"], given["slice_sizes"]
    shape, new = shape_of(op.operands[0]), shape_of(op.result)
    vectors = _index_vectors(indices, numbers.index_vector_dim).astype(np.int64)
    places = np.indices(new)
    batch = [places[d] for d in range(len(new)) if d not in numbers.offset_dims]
    where = [np.zeros(new, np.int64) for _ in shape]
    for k, d in enumerate(numbers.start_index_map):
        where[d] = np.clip(vectors[k], 0, shape[d] - sizes[d])[tuple(batch)]
    axes = [d for d in range(indices.ndim) if d != numbers.index_vector_dim]
    for d, b in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        where[d] = batch[axes.index(b)]
    window = [d for d in range(len(shape)) if d not in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)]
    for d, o in zip(window, sorted(numbers.offset_dims), strict=True):
        where[d] = where[d] + places[o]
    return [0], _places(op, 0)[0][tuple(where)] if shape else np.zeros(new, np.int64)


def scatter_goals(op: ir.Operation, known: Known) -> np.ndarray | None:
    """For each element of the updates, flat, which element of the operand it goes to (-1: none); None where that is not
    known."""
    count = len(op.results)
    indices = known.get(op.operands[count])
    if indices is None:
        return None
    numbers = _attributes(op)["scatter_dimension_numbers"]
    shape, updates = shape_of(op.operands[0]), shape_of(op.operands[count + 1])
    vectors = _index_vectors(indices, numbers.index_vector_dim).astype(np.int64)
    places = np.indices(updates)
    batch = [places[d] for d in range(len(updates)) if d not in numbers.update_window_dims]
    hidden = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    window = [d for d in range(len(shape)) if d not in hidden]
    extent = dict(zip(window, (updates[u] for u in sorted(numbers.update_window_dims)), strict=True))
    where = [np.zeros(updates, np.int64) for _ in shape]
    good = np.ones(updates, bool)
    for k, d in enumerate(numbers.scatter_dims_to_operand_dims):
        start = vectors[k][tuple(batch)]
        good &= (start >= 0) & (start <= shape[d] - extent.get(d, 1))
        where[d] = start
    axes = [d for d in range(indices.ndim) if d != numbers.index_vector_dim]
    for d, b in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        where[d] = batch[axes.index(b)]
    for d, u in zip(window, sorted(numbers.update_window_dims), strict=True):
        where[d] = where[d] + places[u]
    if not shape:
        return np.where(good, 0, -1).reshape(-1)
    flat = np.ravel_multi_index(tuple(np.where(good, w, 0) for w in where), shape)
    return np.where(good, flat, -1).reshape(-1)


MOVES: dict[str, Callable[[ir.Operation, Known], Moved | None]] = {
    "reshape": _reshape, "transpose": _transpose, "reverse": _reverse, "broadcast_in_dim": _broadcast, "slice": _slice,
    "pad": _pad, "concatenate": _concatenate, "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice, "select": _select, "gather": _gather,
}
