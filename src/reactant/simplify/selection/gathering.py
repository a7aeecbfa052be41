"""gather of what is computed: only what is taken is computed, and gathers compose.

Rows x[i] of a result need rows of what it is made of. A rule moves a gather to the operands where that leaves less to
do: it takes fewer elements than there are. A gather clamps its starts, wherever it stands.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import GatherDimensions, dot_dimension_numbers
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, once, one_of, rest, rewrite, variables
from reactant.simplify.facts.contractions import free_dimensions
from reactant.simplify.layout.dynamic_slicing import POINTWISE
from reactant.simplify.selection.indexing import taken_axis

x, y, v, i, j, d, e, n, m, p, q = variables("x y v i j d e n m p q")
starts, limits, strides = variables("starts limits strides")
FEWER = 2
"""A gather goes to the operands of an op where it takes at most one in so many of their elements."""
ELEMENTS = 16
"""The same for elements of a product of matrices, which are dearer one by one."""


def _rows(a: Any, value: ir.Value, count: int = 2, axis: int = 0, dtype: str = "int32") -> ir.Value:
    """Cross-sections at run-time places, for examples."""
    return take(value, a(count, 1, dtype=dtype), axis)


def take(value: ir.Value, places: ir.Value, axis: int) -> ir.Value:
    """Whole cross-sections along an axis at a column of places; the axis stays where it is."""
    extents = shape_of(value)
    return ops.gather(value, places, offset_dims=[k for k in range(len(extents)) if k != axis],
                      collapsed_slice_dims=[axis], start_index_map=[axis], index_vector_dim=1,
                      slice_sizes=[1 if k == axis else n for k, n in enumerate(extents)])


def _again(x: ir.Value, i: ir.Value, d: GatherDimensions, n: Sequence[int], **changed: Any) -> ir.Value:
    """The same gather of another array."""
    return ops.gather(x, i, **(d._asdict() | {"slice_sizes": n} | changed))


def _gathered(inner: Any) -> Any:
    return match.gather(inner, i, dimension_numbers=d, slice_sizes=n)


# ---- what is gathered ----------------------------------------------------------------------------------------------

@rewrite(_gathered(once(one_of(POINTWISE, rest("xs"), template="t"))),
         example=(lambda a: _rows(a, ops.add(a(8, 3), a(8, 3))),
                  lambda a: _rows(a, ops.select(a(dtype="bool"), a(8), a(8))),
                  lambda a: ops.gather(ops.multiply(a(6, 4, dtype="int32"), a(6, 4, dtype="int32")),
                                       a(3, 2, dtype="int64"), offset_dims=[1], collapsed_slice_dims=[1],
                                       start_index_map=[1, 0], index_vector_dim=1, slice_sizes=[2, 1])),
         counter=(lambda a: _rows(a, ops.add(a(8, 3), a(8, 3)), 7),
                  lambda a: [w := ops.add(a(8, 3), a(8, 3)), _rows(a, w)]))
def gather_of_pointwise(xs, t, i, d, n, result_shape):
    """f(x, y)[i] = f(x[i], y[i]) where fewer elements are taken than there are"""
    whole = [v for v in xs if shape_of(v)]
    if not whole or FEWER * size(result_shape) * len(whole) > size(shape_of(whole[0])):
        return None
    return t.build([_again(v, i, d, n) if shape_of(v) else v for v in xs], result_shape)


def _from_repeated(a, shape=(7, 1), operand=(7, 4), along=(0, 1), batch=True):
    """One element of each row of a broadcast, as `take_along_axis` makes it, for examples."""
    dims = {"operand_batching_dims": [0], "start_indices_batching_dims": [0]} if batch else {}
    return ops.gather(ops.broadcast_in_dim(a(*shape), operand, along), a(operand[0], 1, 1, dtype="int32"),
                      offset_dims=[], collapsed_slice_dims=[1] if batch else [0, 1], start_index_map=[1],
                      index_vector_dim=2, slice_sizes=[1, 1], **dims)


@rewrite(_gathered(match.broadcast_in_dim(x, broadcast_dimensions=p)),
         example=(_from_repeated, lambda a: _from_repeated(a, (7,), along=(0,)),
                  lambda a: _rows(a, ops.broadcast_in_dim(a(3), (5, 3), (1,)), 6),
                  lambda a: _rows(a, ops.broadcast_in_dim(a(5), (5, 3), (0,)), 6, 1)),
         counter=(lambda a: _from_repeated(a, (4,), along=(1,)), lambda a: _from_repeated(a, batch=False),
                  lambda a: _rows(a, ops.broadcast_in_dim(a(5), (5, 3), (0,)), 6)))
def gather_of_repeated(x, p, i, d, n, result_shape):
    """gather(broadcast(x)) = broadcast(x) where x is repeated along what is looked up: one is as another"""
    extents = dict(zip(p, shape_of(x), strict=True))
    if any(extents.get(k, 1) != 1 for k in (*d.start_index_map, *d.collapsed_slice_dims)):
        return None
    batch = [r for r in range(len(result_shape)) if r not in d.offset_dims]
    windows = [k for k in range(len(n)) if k not in d.collapsed_slice_dims and k not in d.operand_batching_dims]
    place = dict(zip(windows, d.offset_dims, strict=True))
    for k, source in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True):
        place[k] = batch[source - (source > d.index_vector_dim)]
    ends = [m if k in d.operand_batching_dims else min(m, n[k]) for k, m in extents.items()]
    part = ops.slice(x, [0] * len(ends), ends)
    wide = {k: end for (k, m), end in zip(extents.items(), ends, strict=True) if m != 1}
    return ops.broadcast_in_dim(ops.reshape(part, list(wide.values())), result_shape, [place[k] for k in wide])


@rewrite(_gathered(match.broadcast_in_dim(x, broadcast_dimensions=p)),
         example=(lambda a: _rows(a, ops.broadcast_in_dim(a(8), (8, 3), (0,))),
                  lambda a: _rows(a, ops.broadcast_in_dim(a(8, 2), (3, 8, 2), (1, 2)), 2, 1)),
         counter=(lambda a: _rows(a, ops.broadcast_in_dim(a(3, 8), (8, 3), (1, 0))),
                  lambda a: _rows(a, ops.broadcast_in_dim(a(3), (8, 3), (1,)))))
def gather_of_broadcast(x, p, i, d, n, result_shape):
    """broadcast_in_dim(x)[i] = broadcast_in_dim(x[i])"""
    if list(p) != sorted(p) or d.operand_batching_dims or 0 in result_shape:
        return None
    inner = shape_of(x)
    there = {k: a for a, k in enumerate(p) if inner[a] != 1 or n[k] == 1 and k not in d.start_index_map}
    mattering = [k in there for k in d.start_index_map]
    window = [k for k in range(len(n)) if k not in d.collapsed_slice_dims]
    place = dict(zip(window, d.offset_dims, strict=True))
    if not mattering or not all(mattering) or any(inner[a] == 1 and k in d.start_index_map for a, k in enumerate(p)):
        return None
    batch = [k for k in range(len(result_shape)) if k not in d.offset_dims]
    mine = [k for k in p if k in place]
    # the result's dimensions that the smaller gather has, in their order
    order = sorted([*batch, *(place[k] for k in mine)])
    smaller = ops.gather(x, i, offset_dims=[order.index(place[k]) for k in mine],
                         collapsed_slice_dims=[p.index(k) for k in d.collapsed_slice_dims if k in p],
                         start_index_map=[p.index(k) for k in d.start_index_map], index_vector_dim=d.index_vector_dim,
                         slice_sizes=[min(n[k], inner[a]) for a, k in enumerate(p)])
    return ops.broadcast_in_dim(smaller, result_shape, order)


@rewrite(_gathered(match.transpose(x, permutation=p)),
         example=(lambda a: _rows(a, ops.transpose(a(3, 8), (1, 0))),
                  lambda a: ops.gather(ops.transpose(a(4, 5, 6), (2, 0, 1)), a(2, 3, 2, dtype="int32"),
                                       offset_dims=[0, 3], collapsed_slice_dims=[1], start_index_map=[1, 0],
                                       index_vector_dim=2, slice_sizes=[2, 1, 3]),
                  lambda a: ops.gather(ops.transpose(a(6, 2, 4, 3), (2, 0, 3, 1)), a(4, 3, 2, 1, dtype="int32"),
                                       offset_dims=[3], collapsed_slice_dims=[1], operand_batching_dims=[0, 2],
                                       start_indices_batching_dims=[0, 1], start_index_map=[1], index_vector_dim=3,
                                       slice_sizes=[1, 1, 1, 2])))
def gather_of_transpose(x, p, i, d, n, result_shape):
    """transpose(x, p)[i] = x[i] along other dimensions, what is taken transposed"""
    window = [k for k in range(len(p)) if k not in d.collapsed_slice_dims and k not in d.operand_batching_dims]
    place = dict(zip(window, d.offset_dims, strict=True))
    batch = sorted((p[k], b) for k, b in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    inner = sorted(window, key=lambda k: p[k])          # the window's dimensions as they stand in x
    sizes = [0] * len(p)
    for k, extent in enumerate(n):
        sizes[p[k]] = extent
    made = _again(x, i, d, sizes, collapsed_slice_dims=sorted(p[k] for k in d.collapsed_slice_dims),
                  start_index_map=[p[k] for k in d.start_index_map], operand_batching_dims=[k for k, _ in batch],
                  start_indices_batching_dims=[b for _, b in batch])
    source = dict(zip((place[k] for k in inner), d.offset_dims, strict=True))
    return ops.transpose(made, [source.get(k, k) for k in range(len(result_shape))])


@rewrite(_gathered(match.iota(iota_dimension=p)), dtypes="integer",
         example=(lambda a: _rows(a, ops.iota((8,), a.dtype, 0)),
                  lambda a: ops.gather(ops.iota((7, 5), a.dtype, 1), a(4, 2, dtype="int32"), offset_dims=[],
                                       collapsed_slice_dims=[0, 1], start_index_map=[1, 0], index_vector_dim=1,
                                       slice_sizes=[1, 1])),
         counter=lambda a: _rows(a, ops.iota((8, 3), a.dtype, 1)))
def gather_of_iota(p, i, d, n, result, result_shape, result_dtype):
    """arange(n)[i] = i, clamped"""
    if list(d.start_index_map).count(p) != 1 or len(d.collapsed_slice_dims) != len(n) or d.operand_batching_dims \
            or dtype_of(i).kind not in "iu":
        return None
    extent = shape_of(result.owner.operands[0])[p]
    if extent - 1 > min(np.iinfo(dtype_of(i)).max, np.iinfo(result_dtype).max):
        return None
    at, shape = d.start_index_map.index(p), shape_of(i)
    column = i
    if d.index_vector_dim < len(shape):
        column = ops.slice(i, [at if k == d.index_vector_dim else 0 for k in range(len(shape))],
                           [at + 1 if k == d.index_vector_dim else s for k, s in enumerate(shape)])
    return ops.convert(ops.clamp(0, ops.reshape(column, result_shape), extent - 1), result_dtype)


# ---- gathers of sums and products ----------------------------------------------------------------------------------

@rewrite(_gathered(once(one_of(("stablehlo.reduce",), x, v, dimensions=p, template="t"))), dtypes="number",
         changes="rounding",
         example=(lambda a: _rows(a, ops.reduce(a(8, 5, 3), 0, (1,), "add")),
                  lambda a: _rows(a, ops.reduce(a(5, 3, 8), 0, (0,), "maximum"), 2, 1),
                  lambda a: ops.gather(ops.reduce(a(3, 7, 6), 0, (0,), "add"), a(2, 2, dtype="int32"), offset_dims=[],
                                       collapsed_slice_dims=[0, 1], start_index_map=[0, 1], index_vector_dim=1,
                                       slice_sizes=[1, 1])),
         counter=lambda a: _rows(a, ops.reduce(a(8, 5, 3), 0, (1,), "add"), 9))
def gather_of_reduce(x, v, p, t, i, d, n, result_shape):
    """sum(x)[i] = sum(x[i])"""
    extents = shape_of(x)
    summed = size([extents[k] for k in p])
    if t.body is None or d.operand_batching_dims or FEWER * size(result_shape) * summed > size(extents):
        return None
    kept = [k for k in range(len(extents)) if k not in p]
    window = [k for k in range(len(n)) if k not in d.collapsed_slice_dims]
    place = dict(zip(window, d.offset_dims, strict=True))
    # The dimensions of the result, with those that are summed put in front of the next one of the window.
    order: list[tuple[str, int]] = [("result", k) for k in range(len(result_shape))]
    for k in sorted(p, reverse=True):
        after = [place[w] for w in window if kept[w] > k]
        at = order.index(("result", after[0])) if after else len(order)
        summed_after = [order.index(("sum", s)) for s in p if s > k and ("sum", s) in order]
        order.insert(min([at, *summed_after]), ("sum", k))
    inside = {("result", place[w]) for w in window}
    made = ops.gather(x, i, offset_dims=[at for at, label in enumerate(order) if label[0] == "sum" or label in inside],
                      collapsed_slice_dims=[kept[k] for k in d.collapsed_slice_dims],
                      start_index_map=[kept[k] for k in d.start_index_map], index_vector_dim=d.index_vector_dim,
                      slice_sizes=[extents[k] if k in p else n[kept.index(k)] for k in range(len(extents))])
    return ops.reduce(made, v, [at for at, label in enumerate(order) if label[0] == "sum"], t.body)


def _moved(value: ir.Value, axis: int, d: GatherDimensions) -> ir.Value:
    """Cross-sections that stand along `axis`, where a gather of them has its one batch dimension."""
    rank = len(shape_of(value))
    (batch,) = [k for k in range(rank) if k not in d.offset_dims]
    others = [k for k in range(rank) if k != axis]
    return ops.transpose(value, [*others[:batch], axis, *others[batch:]])


def _dot(left: tuple[int, ...], right: tuple[int, ...], a: Any, k: int = 1, m: int = 0) -> ir.Value:
    return ops.dot_general(a(*left), a(*right), contracting_dims=((k,), (m,)))


@rewrite(_gathered(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=q, template="t"))),
         dtypes="number", changes="rounding",
         example=(lambda a: _rows(a, _dot((8, 3), (3, 5), a)), lambda a: _rows(a, _dot((8, 3), (3, 9), a), 2, 1),
                  lambda a: _rows(a, ops.dot_general(a(8, 2, 3), a(8, 3, 4), contracting_dims=((2,), (1,)),
                                                     batching_dims=((0,), (0,)))),
                  lambda a: _rows(a, _dot((3, 8), (9, 3), a, 0, 1), 2, 1)),
         counter=lambda a: _rows(a, _dot((8, 3), (3, 5), a), 5))
def gather_of_product(x, y, q, t, i, d, n, result_shape):
    """(x @ y)[i] = x[i] @ y, (x @ y)[:, i] = x @ y[:, i]"""
    shapes = shape_of(x), shape_of(y)
    batch = len(q.batching_dims[0])
    layout = [*zip(*q.batching_dims, strict=True), *((k, None) for k in free_dimensions(q, 0, len(shapes[0]))),
              *((None, k) for k in free_dimensions(q, 1, len(shapes[1])))]
    extents = [shapes[0][a] if a is not None else shapes[1][b] for a, b in layout]
    axis = taken_axis(d, n, extents, shape_of(i))
    if axis is None or len(shape_of(i)) != 2 or d.index_vector_dim != 1 or FEWER * shape_of(i)[0] > extents[axis] \
            or size(extents) < ELEMENTS:
        return None
    taken = [value if k is None else take(value, i, k) for value, k in zip((x, y), layout[axis], strict=True)]
    made = t.build(taken, [shape_of(i)[0] if k == axis else extent for k, extent in enumerate(extents)])
    assert axis < batch or None in layout[axis]
    return _moved(made, axis, d)


@rewrite(_gathered(once(one_of(("stablehlo.dot_general",), x, y, dot_dimension_numbers=q, template="t"))),
         dtypes="number", changes="rounding",
         example=(lambda a: ops.gather(_dot((8, 3), (3, 9), a), a(4, 2, dtype="int32"), offset_dims=[],
                                       collapsed_slice_dims=[0, 1], start_index_map=[1, 0], index_vector_dim=1,
                                       slice_sizes=[1, 1]),
                  lambda a: ops.gather(_dot((3, 9), (8, 3), a, 0, 1), a(4, 2, dtype="int64"), offset_dims=[],
                                       collapsed_slice_dims=[0, 1], start_index_map=[0, 1], index_vector_dim=1,
                                       slice_sizes=[1, 1])),
         counter=lambda a: ops.gather(_dot((8, 3), (3, 9), a), a(5, 2, dtype="int32"), offset_dims=[],
                                      collapsed_slice_dims=[0, 1], start_index_map=[0, 1], index_vector_dim=1,
                                      slice_sizes=[1, 1]))
def elements_of_product(x, y, q, t, i, d, n, result_shape):
    """(x @ y)[i, j] = sum(x[i] * y[:, j].T, 1) for few elements"""
    if q.batching_dims[0] or len(q.contracting_dims[0]) != 1 or len(shape_of(x)) != 2 or len(shape_of(y)) != 2 \
            or sorted(d.start_index_map) != [0, 1] or len(d.collapsed_slice_dims) != 2 or len(shape_of(i)) != 2 \
            or d.index_vector_dim != 1:
        return None
    k, c = q.contracting_dims[0][0], q.contracting_dims[1][0]
    if ELEMENTS * result_shape[0] > shape_of(x)[1 - k] * shape_of(y)[1 - c]:
        return None
    parts = []
    for side, (value, along) in enumerate(((x, 1 - k), (y, 1 - c))):
        at = d.start_index_map.index(side)
        parts.append(take(value, ops.slice(i, (0, at), (shape_of(i)[0], at + 1)), along))
    return t.build(parts, result_shape, dot_dimension_numbers=dot_dimension_numbers(((1 - k,), (1 - c,)), ((k,), (c,))))


# ---- gathers of gathers --------------------------------------------------------------------------------------------

@rewrite(match.gather(once(match.gather(x, i, dimension_numbers=d, slice_sizes=n)), j, dimension_numbers=e,
                      slice_sizes=m),
         example=(lambda a: _rows(a, _rows(a, a(8, 3), 6)), lambda a: _rows(a, _rows(a, a(3, 8), 6, 1), 2, 1)),
         counter=(lambda a: _rows(a, _rows(a, a(8, 3), 6), 9), lambda a: _rows(a, _rows(a, a(8, 5), 6), 2, 1)))
def gather_of_gather(x, i, d, n, j, e, m, result_shape):
    """x[i][j] = x[i[j]] where fewer are taken in the end"""
    extents = shape_of(x)
    axis = taken_axis(d, n, extents, shape_of(i))
    if axis is None or len(shape_of(i)) != 2 or d.index_vector_dim != 1 or axis in d.offset_dims \
            or len(shape_of(j)) != 2 or e.index_vector_dim != 1 or shape_of(j)[0] > shape_of(i)[0]:
        return None
    between = [shape_of(i)[0] if k == axis else extent for k, extent in enumerate(extents)]
    if taken_axis(e, m, between, shape_of(j)) != axis or 0 in between or 0 in extents:
        return None
    return _again(x, take(i, j, 0), e, m)


@rewrite(match.slice(once(match.gather(x, i, dimension_numbers=d, slice_sizes=n)), start_indices=starts,
                     limit_indices=limits, strides=strides),
         example=(lambda a: ops.slice(_rows(a, a(8, 3), 6), (1, 0), (5, 3), (2, 1)),
                  lambda a: ops.slice(_rows(a, a(8, 3), 6), (0, 0), (6, 2)),
                  lambda a: ops.slice(_rows(a, a(3, 8), 6, 1), (0, 2), (2, 6))),
         counter=lambda a: ops.slice(_rows(a, a(8, 3), 6), (0, 1), (6, 3)))
def slice_of_gather(x, i, d, n, starts, limits, strides):
    """x[i][a:b] = x[i[a:b]]; of each of what is taken, the first few elements"""
    if d.operand_batching_dims:
        return None
    window = [k for k in range(len(n)) if k not in d.collapsed_slice_dims]
    sizes = list(n)
    for k, at in zip(window, d.offset_dims, strict=True):
        if (starts[at], limits[at], strides[at]) != (0, n[k], 1):
            if starts[at] or strides[at] != 1 or k in d.start_index_map:
                return None         # a smaller window would be clamped otherwise
            sizes[k] = limits[at]
    batch = [k for k in range(len(starts)) if k not in d.offset_dims]
    indices = [k for k in range(len(shape_of(i))) if k != d.index_vector_dim]
    bounds = [[0] * len(shape_of(i)), list(shape_of(i)), [1] * len(shape_of(i))]
    for k, at in zip(indices, batch, strict=True):
        for bound, given in zip(bounds, (starts, limits, strides), strict=True):
            bound[k] = given[at]
    return _again(x, ops.slice(i, *bounds), d, sizes)


@rewrite(match.dynamic_slice(once(match.gather(x, i, dimension_numbers=d, slice_sizes=n)), rest("at"), slice_sizes=m),
         example=(lambda a: ops.dynamic_slice(_rows(a, a(8, 3), 6), [a(dtype="int32")] * 2, (1, 3)),
                  lambda a: ops.dynamic_slice(_rows(a, a(3, 8), 6, 1), [a(dtype="int64")] * 2, (3, 2))),
         counter=lambda a: ops.dynamic_slice(_rows(a, a(8, 3), 6), [a(dtype="int32")] * 2, (1, 2)))
def dynamic_slice_of_gather(x, i, d, n, at, m, result_shape):
    """dynamic_slice(x[i], k) = x[dynamic_slice(i, k)] where all of what is taken is read"""
    window = [k for k in range(len(n)) if k not in d.collapsed_slice_dims]
    if not at or d.operand_batching_dims or any(m[k] != n[w] for w, k in zip(window, d.offset_dims, strict=True)):
        return None
    batch = iter(k for k in range(len(m)) if k not in d.offset_dims)
    zero, places, sizes = ops.constant(0, dtype_of(at[0])), [], []
    for k, extent in enumerate(shape_of(i)):
        own = k == d.index_vector_dim
        here = None if own else next(batch)
        places.append(zero if here is None else at[here])
        sizes.append(extent if here is None else m[here])
    return _again(x, ops.dynamic_slice(i, places, sizes), d, n)
