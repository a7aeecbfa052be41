"""Gather, scatter and sort: elements move along integer positions, which have no derivative."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.declare import (
    Call,
    Contribution,
    Into,
    Tangents,
    derivative,
    linear,
    tangents_of,
    zeros,
)
from reactant.differentiate.rules.bodies import applied, body_of, is_associative
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_of, size


def _positions(indices: ir.Value, limits: Sequence[int], depth: int) -> ir.Value:
    """The largest allowed index for each element of `indices`, whose dimension `depth` runs over `limits`."""
    shape = shape_of(indices)
    row = ops.constant(np.asarray(limits, dtype_of(indices)))
    if depth == len(shape):
        return ops.broadcast_in_dim(ops.reshape(row, ()), shape, ())
    return ops.broadcast_in_dim(row, shape, [depth])


# ---- gather --------------------------------------------------------------------------------------------------------

def _as_scatter(numbers: Any) -> dict[str, Any]:
    """The numbers of the scatter that puts back what a gather with `numbers` reads."""
    return {"update_window_dims": numbers.offset_dims, "inserted_window_dims": numbers.collapsed_slice_dims,
            "input_batching_dims": numbers.operand_batching_dims,
            "scatter_indices_batching_dims": numbers.start_indices_batching_dims,
            "scatter_dims_to_operand_dims": numbers.start_index_map, "index_vector_dim": numbers.index_vector_dim}


def _as_gather(numbers: Any) -> dict[str, Any]:
    """The numbers of the gather that reads where a scatter with `numbers` writes."""
    return {"offset_dims": numbers.update_window_dims, "collapsed_slice_dims": numbers.inserted_window_dims,
            "operand_batching_dims": numbers.input_batching_dims,
            "start_indices_batching_dims": numbers.scatter_indices_batching_dims,
            "start_index_map": numbers.scatter_dims_to_operand_dims, "index_vector_dim": numbers.index_vector_dim}


def _gather_transpose(call: Call, g: ir.Value) -> list[Contribution]:
    """Added where it was read; a gather clamps its starts, a scatter would skip them."""
    numbers, sizes = call.attributes["dimension_numbers"], call.attributes["slice_sizes"]
    indices, shape = call.operands[1], shape_of(call.inputs[0])
    limits = [shape[d] - sizes[d] for d in numbers.start_index_map]
    low = ops.splat(0, indices)
    starts = ops.clamp(low, indices, _positions(indices, limits, numbers.index_vector_dim))
    return [Into(lambda adjoint: ops.scatter(adjoint, starts, g, "add", **_as_scatter(numbers))), None]


linear("gather", _gather_transpose)


# ---- scatter -------------------------------------------------------------------------------------------------------

LINEAR = ("add", "subtract", "second")


def _scatter_kind(call: Call) -> str | None:
    kind = body_of(call.op) if len(call.inputs) == 3 else None
    block = call.op.regions[0].blocks[0]
    ordered = kind != "subtract" or list(block_ops(block)[0][0].operands) == list(block.arguments)
    return kind if ordered else None


def _scatter(call: Call, x: ir.Value, updates: ir.Value, body: str, unique: bool = False) -> ir.Value:
    return ops.scatter(x, call.operands[1], updates, body, **call.attributes["scatter_dimension_numbers"]._asdict(),
                       unique_indices=unique or call.attributes.get("unique_indices", False))


def _scatter_forward(call: Call, tangents: Tangents) -> Tangents:
    body = _scatter_kind(call)
    if body in ("maximum", "minimum"):
        return [_extreme_tangent(call, tangents)]
    if body == "multiply" and call.attributes.get("unique_indices", False):
        return [_product_tangent(call, tangents)]
    if body not in LINEAR:
        return tangents_of(call, tangents, _one_by_one)
    x, updates = (zeros(v) if t is None else t for v, t in zip(call.inputs[::2], tangents[::2], strict=True))
    return [_scatter(call, x, updates, body)]


def _extreme_tangent(call: Call, tangents: Tangents) -> ir.Value:
    """Equal extremes, the old element among them, share evenly."""
    y, x, updates = call.results[0], call.operands[0], call.operands[2]
    here = ops.convert(ops.compare(x, y, "EQ"), dtype_of(x))
    there = ops.convert(ops.compare(updates, _read_back(call, y), "EQ"), dtype_of(x))
    shares = _scatter(call, here, there, "add")
    t, t_updates = (zeros(v) if t is None else t for v, t in zip(call.inputs[::2], tangents[::2], strict=True))
    return ops.divide(_scatter(call, ops.multiply(here, t), ops.multiply(there, t_updates), "add"), shares)


def _product_tangent(call: Call, tangents: Tangents) -> ir.Value:
    """Each element is multiplied once: t u + x t_u."""
    x, updates = call.operands[0], call.operands[2]
    found = None if tangents[0] is None else _scatter(call, tangents[0], updates, "multiply")
    if tangents[2] is not None:
        moved = ops.multiply(_read_back(call, x), tangents[2])
        found = _scatter(call, zeros(x) if found is None else found, moved, "add")
    return found


def _one_by_one(call: Call) -> list[ir.Value]:
    """Any scatter: the updates sorted by the element they go to, those of one element combined (neighbours, then
    pairs, then pairs of pairs...), and what is made of them combined with the element."""
    if not call.attributes.get("unique_indices", False) and not is_associative(call):
        raise call.refuse("its body is not associative, so several updates of one element have no common one.",
                          "Give it unique indices, or write a loop over the updates.")
    count = (len(call.inputs) - 1) // 2
    arrays, updates = [call.operands[i] for i in range(count)], [call.operands[count + 1 + i] for i in range(count)]
    shape, n = shape_of(arrays[0]), size(shape_of(updates[0]))
    total = size(shape)
    if not n or not total:
        return arrays
    numbers = ops.reshape(ops.iota((total,), "int64", 0), shape)
    goals = ops.select(_inside(call), _read_back(call, numbers), total)           # `total`: skipped
    order_of = ops.sort([ops.reshape(goals, (n,)), ops.iota((n,), "int64", 0)], 0)
    goals, order = order_of
    found = [taken(ops.reshape(u, (n,)), order, 0) for u in updates]
    distance = 1
    while distance < n:
        same = ops.compare(ops.slice(goals, (distance,), (n,)), ops.slice(goals, (0,), (n - distance,)), "EQ")
        late = [ops.slice(u, (distance,), (n,)) for u in found]
        joined = applied(call, [ops.slice(u, (0,), (n - distance,)) for u in found] + late)
        found = [ops.concatenate([ops.slice(u, (0,), (distance,)), ops.select(same, j, v)], 0)
                 for u, j, v in zip(found, joined, late, strict=True)]
        distance *= 2
    last = ops.concatenate([ops.compare(ops.slice(goals, (0,), (n - 1,)), ops.slice(goals, (1,), (n,)), "NE"),
                            ops.constant(True, bool, (1,))], 0)
    places = ops.reshape(ops.select(last, goals, total), (n, 1))
    where: dict[str, Any] = {"update_window_dims": (), "inserted_window_dims": (0,),
                             "scatter_dims_to_operand_dims": (0,), "index_vector_dim": 1}
    flat = [ops.reshape(x, (total,)) for x in arrays]
    reached = ops.constant(False, bool, (total,))
    reached = ops.scatter(reached, places, ops.constant(True, bool, (n,)), "second", **where)
    news = [ops.scatter(x, places, u, "second", **where) for x, u in zip(flat, found, strict=True)]
    made = applied(call, [*flat, *news])
    return [ops.reshape(ops.select(reached, m, x), shape) for m, x in zip(made, flat, strict=True)]


def _indices(call: Call) -> ir.Value:
    return call.operands[len(call.inputs) // 2]


def _sizes(call: Call) -> list[int]:
    """The window of one update, in all dimensions of the operand."""
    numbers = call.attributes["scatter_dimension_numbers"]
    hidden = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    window = iter([shape_of(call.inputs[-1])[d] for d in sorted(numbers.update_window_dims)])
    return [1 if d in hidden else next(window) for d in range(len(shape_of(call.inputs[0])))]


def _read_back(call: Call, x: ir.Value) -> ir.Value:
    """What `x` holds where the scatter writes; anything where it writes nowhere."""
    return ops.gather(x, _indices(call), **_as_gather(call.attributes["scatter_dimension_numbers"]),
                      slice_sizes=_sizes(call))


def _inside(call: Call) -> ir.Value:
    """For each element of the updates, whether its window lies inside the operand (else the scatter skips it)."""
    numbers, sizes = call.attributes["scatter_dimension_numbers"], _sizes(call)
    indices, shape, depth = _indices(call), shape_of(call.inputs[0]), numbers.index_vector_dim
    limits = [shape[d] - sizes[d] for d in numbers.scatter_dims_to_operand_dims]
    good = ops.and_(ops.compare(indices, 0, "GE"), ops.compare(indices, _positions(indices, limits, depth), "LE"))
    if depth < len(shape_of(indices)):
        good = ops.reduce(good, True, [depth], "and")
    new = shape_of(call.inputs[-1])
    return ops.broadcast_in_dim(good, new, [d for d in range(len(new)) if d not in numbers.update_window_dims])


def _scatter_reverse(call: Call, g: Sequence[ir.Value], wanted: Sequence[bool]) -> list[Contribution] | None:
    kind = _scatter_kind(call)
    if kind == "multiply" and call.attributes.get("unique_indices", False):
        whole = _scatter(call, g[0], call.operands[2], "multiply") if wanted[0] else None
        part = ops.multiply(_read_back(call, call.operands[0]), _read_back(call, g[0])) if wanted[2] else None
        return [whole, None, ops.select(_inside(call), part, zeros(call.inputs[2])) if wanted[2] else None]
    if kind not in LINEAR:
        return None
    updates = call.inputs[2]
    into = g[0]
    if kind == "second" and wanted[0]:
        into = _scatter(call, g[0], zeros(updates), "second")
    if not wanted[2]:
        return [into, None, None]
    lasting = _inside(call)
    if kind == "second" and not call.attributes.get("unique_indices", False):
        # which of several updates of one element lasts: write their numbers the same way and see whose is there
        numbers = ops.reshape(ops.iota((size(shape_of(updates)),), "int64", 0), shape_of(updates))
        empty = ops.constant(-1, "int64", shape_of(call.inputs[0]))
        lasting = ops.and_(lasting, ops.compare(numbers, _read_back(call, _scatter(call, empty, numbers, "second")),
                                                "EQ"))
    back = ops.select(lasting, _read_back(call, g[0]), zeros(updates))
    return [into if wanted[0] else None, None, ops.negate(back) if kind == "subtract" else back]


derivative("scatter", _scatter_forward, _scatter_reverse)


# ---- sort ----------------------------------------------------------------------------------------------------------

def _sort_forward(call: Call, tangents: Tangents) -> Tangents:
    """Positions are sorted along, and the tangents are read at them."""
    order, dimension = _with_places(call)[-1], call.attributes["dimension"]
    return [None if t is None else taken(t, order, dimension) for t in tangents]


def _sort_reverse(call: Call, g: Sequence[ir.Value | None], wanted: Sequence[bool]) -> list[Contribution]:
    """Each element of the cotangent goes back where it came from."""
    order, dimension = _with_places(call)[-1], call.attributes["dimension"]
    return [_put_back(each, order, dimension) if want and each is not None else None
            for each, want in zip(g, wanted, strict=True)]


def _put_back(g: ir.Value, order: ir.Value, dimension: int) -> ir.Value:
    """The transpose of `taken`, for an order that has every position once."""
    shape = shape_of(g)
    others = [d for d in range(len(shape)) if d != dimension]
    return ops.scatter(zeros(g), order, g, "second", update_window_dims=(), inserted_window_dims=(dimension,),
                       scatter_dims_to_operand_dims=(dimension,), index_vector_dim=len(shape),
                       input_batching_dims=others, scatter_indices_batching_dims=others, unique_indices=True)


def _with_places(call: Call) -> list[ir.Value]:
    """The same sort with positions as another operand."""
    dimension, block = call.attributes["dimension"], call.op.regions[0].blocks[0]
    body, returned = block_ops(block)
    shape = shape_of(call.inputs[0])

    def comparator(*arguments: ir.Value) -> list[ir.Value]:
        mapping = dict(zip(block.arguments, arguments, strict=False))
        for op in body:
            modules.clone_with(op, mapping)
        return [mapping.get(v, v) for v in returned]

    places = ops.iota(shape, "int32" if shape[dimension] < 2**31 else "int64", dimension)
    return ops.sort([*call.operands, places], dimension, comparator, is_stable=True)


def taken(x: ir.Value, order: ir.Value, dimension: int) -> ir.Value:
    """x[..., order[...], ...] along one dimension."""
    shape = shape_of(x)
    others = [d for d in range(len(shape)) if d != dimension]
    return ops.gather(x, order, offset_dims=(), collapsed_slice_dims=(dimension,), start_index_map=(dimension,),
                      index_vector_dim=len(shape), slice_sizes=(1,) * len(shape), operand_batching_dims=others,
                      start_indices_batching_dims=others)


derivative("sort", _sort_forward, _sort_reverse)


def _top_forward(call: Call, tangents: Tangents) -> Tangents:
    return [taken(tangents[0], call.results[1], len(shape_of(call.inputs[0])) - 1), None]


derivative("chlo.top_k", _top_forward)


def _approximate_top_forward(call: Call, tangents: Tangents) -> Tangents:
    """Of the elements that were found, wherever they are."""
    dimension = ir.DictAttr(call.op.attributes["mhlo.backend_config"])["reduction_dim"]
    return [taken(tangents[0], call.results[1], ir.IntegerAttr(dimension).value), None]


derivative("stablehlo.custom_call@ApproxTopK", _approximate_top_forward)
