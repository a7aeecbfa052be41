"""gather and scatter whose indices are known, or that move one window: slices and updates, which cost less everywhere.

A gather clamps its starts so that every window lies inside; a scatter skips windows that do not. Indices count as known
when they are made of constants and iotas alone.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.attributes import GatherDimensions, ScatterDimensions
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import match, once, one_of, producer, rewrite, splat, variables
from reactant.simplify.algebra.cleanup import EXACT_BINARY, EXACT_UNARY
from reactant.simplify.facts.contents import apply
from reactant.simplify.facts.indexmaps import inverse, without
from reactant.simplify.facts.views import View, plain, written
from reactant.simplify.layout.chains import built

x, y, i, d, n, u, p = variables("x y i d n u p")
KNOWN_ELEMENTS = 65_536


def known_content(value: ir.Value, depth: int = 8) -> np.ndarray | None:
    """The elements of a value made of constants and iotas alone, if they are few enough."""
    made = producer(value)
    if made is None or depth == 0 or size(shape_of(value)) > KNOWN_ELEMENTS:
        return None
    if made.name == "stablehlo.constant":
        return ops.constant_value(value)
    dtype, shape = dtype_of(value), shape_of(value)
    if made.name == "stablehlo.iota":
        along = made["iota_dimension"]
        line = np.arange(shape[along]).astype(dtype)
        return np.broadcast_to(line.reshape([-1 if k == along else 1 for k in range(len(shape))]), shape)
    if made.name not in _KNOWN:
        return None
    operands = []
    for operand in made.operands:
        content = known_content(operand, depth - 1)
        if content is None:     # at once: most are not known
            return None
        operands.append(content)
    return _KNOWN[made.name](made, operands, shape, dtype)


def _broadcast(made, operands, shape, dtype):
    (array,), places = operands, made["broadcast_dimensions"]
    order = sorted(range(len(places)), key=lambda k: places[k])
    spread = [1] * len(shape)
    for k, place in enumerate(places):
        spread[place] = array.shape[k]
    return np.broadcast_to(array.transpose(order).reshape(spread), shape)


def _elementwise(table):
    def evaluate(made, operands, shape, dtype):
        return apply(table[made.name.partition(".")[2]], *operands).astype(dtype)
    return evaluate


_KNOWN = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": lambda made, operands, shape, dtype: operands[0].reshape(shape),
    "stablehlo.transpose": lambda made, operands, shape, dtype: operands[0].transpose(made["permutation"]),
    "stablehlo.reverse": lambda made, operands, shape, dtype: np.flip(operands[0], made["dimensions"]),
    "stablehlo.concatenate": lambda made, operands, shape, dtype: np.concatenate(operands, made["dimension"]),
    "stablehlo.select": lambda made, operands, shape, dtype: np.where(*operands),
    "stablehlo.compare": lambda made, operands, shape, dtype: ops.COMPARISONS[made["comparison_direction"]](*operands),
    "stablehlo.slice": lambda made, operands, shape, dtype: operands[0][tuple(
        map(slice, made["start_indices"], made["limit_indices"], made["strides"]))],
    "stablehlo.convert": lambda made, operands, shape, dtype: (
        operands[0].astype(dtype) if operands[0].dtype.kind in "biu" and dtype.kind in "iu" else None),
    **{f"stablehlo.{name}": _elementwise(EXACT_BINARY) for name in EXACT_BINARY},
    **{f"stablehlo.{name}": _elementwise(EXACT_UNARY) for name in ("negate", "not", "abs", "sign")},
}


def as_places(numbers: np.ndarray) -> np.ndarray:
    """Indices as int64; larger ones are its largest, beyond the end of any array."""
    return (np.minimum(numbers, np.iinfo(np.int64).max) if numbers.dtype == np.uint64 else numbers).astype(np.int64)


def progression(numbers: np.ndarray) -> tuple[int, int] | None:
    """(first, step) of an arithmetic progression; step 0 for equal numbers."""
    if not numbers.size:
        return None
    flat = [int(k) for k in numbers.reshape(-1)[:2]]
    step = flat[1] - flat[0] if len(flat) > 1 else 0
    wide = as_places(numbers.reshape(-1))
    return (flat[0], step) if (np.diff(wide) == step).all() else None


# ---- gather --------------------------------------------------------------------------------------------------------

def _take(a, index, shape=(5, 3), axis=0):
    """Rows or columns at `index`, for examples."""
    offsets = [k for k in range(len(shape)) if k != axis]
    index = ops.constant(np.asarray(index, np.int32).reshape(-1, 1)) if not isinstance(index, ir.Value) else index
    return ops.gather(a(*shape), index, offset_dims=offsets, collapsed_slice_dims=[axis], start_index_map=[axis],
                      index_vector_dim=1, slice_sizes=[1 if k == axis else m for k, m in enumerate(shape)])


@rewrite(match.gather(x, i, dimension_numbers=d, slice_sizes=n),
         example=(lambda a: ops.gather(a(5, 3), a(1, dtype="int32"), offset_dims=[0], collapsed_slice_dims=[0],
                                       start_index_map=[0], index_vector_dim=0, slice_sizes=[1, 3]),
                  lambda a: ops.gather(a(5, 3), a(1, 2, dtype="int64"), offset_dims=[1, 2], collapsed_slice_dims=[],
                                       start_index_map=[1, 0], index_vector_dim=1, slice_sizes=[2, 2]),
                  lambda a: ops.gather(a(5, 3), a(2, dtype="int8"), offset_dims=[], collapsed_slice_dims=[0, 1],
                                       start_index_map=[0, 1], index_vector_dim=0, slice_sizes=[1, 1])),
         counter=lambda a: _take(a, a(2, 1, dtype="int32")))
def gather_of_one_window(x, i, d, n, result_shape):
    """gather of one window = dynamic_slice"""
    indices = shape_of(i)
    batch = [m for k, m in enumerate(indices) if k != d.index_vector_dim]
    if size(batch) != 1 or d.operand_batching_dims or dtype_of(i).kind not in "iu":
        return None
    flat = ops.reshape(i, (size(indices),))
    starts = {axis: ops.reshape(ops.slice(flat, (k,), (k + 1,)), ()) for k, axis in enumerate(d.start_index_map)}
    if len(starts) < len(n):
        zero = ops.constant(0, dtype_of(i))
        starts = {axis: starts.get(axis, zero) for axis in range(len(n))}
    return ops.reshape(ops.dynamic_slice(x, [starts[axis] for axis in range(len(n))], n), result_shape)


def taken_axis(d: GatherDimensions, sizes: Sequence[int], operand: Sequence[int],
                indices: Sequence[int]) -> int | None:
    """The dimension along which a gather takes whole cross-sections, if that is what it does."""
    axes = d.collapsed_slice_dims
    if len(axes) != 1 or d.start_index_map != axes or d.operand_batching_dims or axes[0] >= len(operand):
        return None
    axis = axes[0]
    whole = all(sizes[k] == m for k, m in enumerate(operand) if k != axis)
    single = d.index_vector_dim == len(indices) or indices[d.index_vector_dim] == 1
    return axis if whole and single and sizes[axis] == 1 else None


@rewrite(match.gather(x, i, dimension_numbers=d, slice_sizes=n),
         example=(lambda a: _take(a, [1, 2, 3]), lambda a: _take(a, [4, 2, 0]), lambda a: _take(a, [2, 2, 2], (5, 3)),
                  lambda a: _take(a, [0, 2], (4, 3), 1), lambda a: _take(a, ops.iota((3, 1), "int32", 0)),
                  lambda a: _take(a, ops.add(ops.reshape(ops.iota((3,), "int32", 0), (3, 1)), 2)),
                  lambda a: _take(a, [7, 9]),
                  lambda a: _take(a, ops.constant(np.array([[2**64 - 3], [7]], np.uint64)))),
         counter=(lambda a: _take(a, [1, 3, 2]), lambda a: _take(a, a(3, 1, dtype="int32"))))
def gather_of_progression(x, i, d, n, result_shape):
    """x[first + step k] = slice of x, reversed for negative steps, repeated for step 0"""
    extents = shape_of(x)
    axis = taken_axis(d, n, extents, shape_of(i))
    if axis is None or 0 in extents or 0 in result_shape:
        return None
    numbers = known_content(i)
    if numbers is None:
        return None
    steps = progression(np.clip(as_places(numbers), 0, extents[axis] - 1))
    if steps is None:
        return None
    (first, step), count = steps, numbers.size
    low, high = min(first, first + step * (count - 1)), max(first, first + step * (count - 1))
    bounds = [(low, high + 1, max(abs(step), 1)) if k == axis else (0, m, 1) for k, m in enumerate(extents)]
    part = ops.slice(x, *zip(*bounds, strict=True))
    if step == 0 and count > 1:
        part = ops.broadcast_in_dim(part, [count if k == axis else m for k, m in enumerate(extents)],
                                    range(len(extents)))
    part = ops.reverse(part, [axis] if step < 0 else [])
    return _placed(part, axis, d.offset_dims, result_shape)


def _placed(part: ir.Value, axis: int, offsets: Sequence[int], result: Sequence[int]) -> ir.Value:
    """Cross-sections stacked along `axis` as a gather lays them out: other dimensions at `offsets`, the stack, in the
    shape of the indices, elsewhere."""
    rank, batch = len(shape_of(part)), [k for k in range(len(result)) if k not in offsets]
    if not batch:
        return ops.reshape(part, result)
    order = [axis, *(k for k in range(rank) if k != axis)]
    moved = ops.transpose(part, order)
    moved = ops.reshape(moved, [*(result[k] for k in batch), *(result[k] for k in offsets)])
    return ops.transpose(moved, inverse([*batch, *offsets]))


def _affine(numbers: np.ndarray) -> tuple[int, list[int]] | None:
    """(first, step along each dimension) of numbers that grow evenly along every dimension."""
    steps = [int(numbers.take(1, k).flat[0]) - int(numbers.flat[0]) if n > 1 else 0
             for k, n in enumerate(numbers.shape)]
    found = np.full(numbers.shape, int(numbers.flat[0]), np.int64)
    for k, (n, step) in enumerate(zip(numbers.shape, steps, strict=True)):
        found += (np.arange(n) * step).reshape([-1 if j == k else 1 for j in range(numbers.ndim)])
    return (int(numbers.flat[0]), steps) if np.array_equal(found, numbers) else None


def _grid(a, *indices, shape=(5, 6), sizes=(1, 1)):
    """Elements at grids of places, for examples."""
    grid = np.stack(np.broadcast_arrays(*indices), -1).astype(np.int32)
    collapsed = [k for k, n in enumerate(sizes) if n == 1]
    offsets = range(grid.ndim - 1, grid.ndim - 1 + len(sizes) - len(collapsed))
    return ops.gather(a(*shape), ops.constant(grid), offset_dims=offsets, collapsed_slice_dims=collapsed,
                      start_index_map=range(grid.shape[-1]), index_vector_dim=grid.ndim - 1, slice_sizes=sizes)


@rewrite(match.gather(x, i, dimension_numbers=d, slice_sizes=n),
         example=(lambda a: _grid(a, np.arange(5), np.arange(5)),                                # the diagonal
                  lambda a: _grid(a, np.arange(5)[:, None], np.arange(6)[None, ::-1]),
                  lambda a: _grid(a, np.arange(3)[None, :], np.arange(1, 6, 2)[:, None]),
                  lambda a: _grid(a, np.arange(2), 2 * np.arange(2) + 1, shape=(5, 6, 4), sizes=(1, 1, 4))),
         counter=(lambda a: _grid(a, np.arange(4)[:, None], np.arange(3)[None, :] + np.arange(4)[:, None]),
                  lambda a: _grid(a, np.array([0, 1, 3]), np.arange(3))))
def gather_of_grid(x, i, d, n, result_shape):
    """x at a grid of places that are affine in the grid's numbers = the slices, transposes... that read them"""
    extents, indices = shape_of(x), shape_of(i)
    if d.operand_batching_dims or 0 in (*extents, *result_shape) or not result_shape:
        return None
    numbers = known_content(i)
    if numbers is None:
        return None
    last = d.index_vector_dim
    rows = np.moveaxis(numbers, last, -1) if last < len(indices) else numbers[..., None]
    units = [size(extents[k + 1:]) for k in range(len(extents))]
    strides, offset = [0] * (rows.ndim - 1), 0
    for position, axis in enumerate(d.start_index_map):
        found = _affine(np.clip(as_places(rows[..., position]), 0, extents[axis] - n[axis]))
        if found is None:
            return None
        offset += found[0] * units[axis]
        strides = [a + b * units[axis] for a, b in zip(strides, found[1], strict=True)]
    window = iter([units[k] for k in range(len(extents)) if k not in d.collapsed_slice_dims])
    batch = iter(strides)
    view = View(tuple(plain(m, next(window) if k in d.offset_dims else next(batch))
                      for k, m in enumerate(result_shape)), offset)
    chain = written(extents, view)
    return None if chain is None else built(x, chain, None)


# ---- scatter -------------------------------------------------------------------------------------------------------

def _scattered(x: Any, i: Any, y: Any) -> Any:
    return one_of(("stablehlo.scatter",), x, i, y, scatter_dimension_numbers=d, template="t")


def _put(a, index, body, shape=(5, 3), axis=0):
    """Write rows at `index`, for examples."""
    index = np.asarray(index, np.int32).reshape(-1, 1)
    windows = [k for k in range(len(shape)) if k != axis]
    updates = [len(index) if k == axis else m for k, m in enumerate(shape)]
    return ops.scatter(a(*shape), ops.constant(index), a(*updates), body, update_window_dims=windows,
                       inserted_window_dims=[axis], scatter_dims_to_operand_dims=[axis], index_vector_dim=1)


BODIES = {"second", "add", "multiply", "maximum", "minimum", "and", "or", "xor"}


@rewrite(_scattered(x, i, y), dtypes="number",
         example=(lambda a: ops.scatter(a(5, 3), ops.constant([2], "int32"), a(3), "second", update_window_dims=[0],
                                        inserted_window_dims=[0], scatter_dims_to_operand_dims=[0],
                                        index_vector_dim=0),
                  lambda a: ops.scatter(a(5, 3), ops.constant([1, 2], "int64"), a(2, 2), "add",
                                        update_window_dims=[0, 1], inserted_window_dims=[],
                                        scatter_dims_to_operand_dims=[1, 0], index_vector_dim=0)),
         counter=(lambda a: ops.scatter(a(5, 3), ops.constant([7], "int32"), a(3), "second", update_window_dims=[0],
                                        inserted_window_dims=[0], scatter_dims_to_operand_dims=[0],
                                        index_vector_dim=0),
                  lambda a: ops.scatter(a(5, 3), a(1, dtype="int32"), a(3), "second", update_window_dims=[0],
                                        inserted_window_dims=[0], scatter_dims_to_operand_dims=[0],
                                        index_vector_dim=0)))
def scatter_of_one_window(x, i, y, d, t):
    """scatter of one window at a known place = dynamic_update_slice"""
    indices, extents = shape_of(i), shape_of(x)
    batch = [m for k, m in enumerate(indices) if k != d.index_vector_dim]
    if size(batch) != 1 or d.input_batching_dims or t.body not in BODIES or 0 in shape_of(y):
        return None
    numbers = known_content(i)
    if numbers is None:
        return None
    window = _window_shape(d, shape_of(y), len(extents))
    start = [0] * len(extents)
    for axis, number in zip(d.scatter_dims_to_operand_dims, numbers.reshape(-1), strict=True):
        start[axis] = int(number)
    if any(a < 0 or a + m > k for a, m, k in zip(start, window, extents, strict=True)):
        return None
    return _update(x, ops.reshape(y, window), start, t.body)


def _window_shape(d: ScatterDimensions, updates: Sequence[int], rank: int) -> list[int]:
    """The shape, in the operand's dimensions, of one window of a scatter."""
    sizes = iter([updates[k] for k in d.update_window_dims])
    return [1 if axis in d.inserted_window_dims or axis in d.input_batching_dims else next(sizes)
            for axis in range(rank)]


def _update(x: ir.Value, y: ir.Value, start: Sequence[int], body: str) -> ir.Value:
    """x with the window at `start` overwritten by y, or combined with it."""
    if body != "second":
        old = ops.slice(x, start, [a + m for a, m in zip(start, shape_of(y), strict=True)])
        y = ops.create(f"stablehlo.{body}", [y.type], [old, y]).result
    return y if shape_of(y) == shape_of(x) else ops.dynamic_update_slice(x, y, [ops.constant(a, np.int64)
                                                                                for a in start])


@rewrite(_scattered(x, i, y), dtypes="number",
         example=(lambda a: _put(a, [1, 2, 3], "second"), lambda a: _put(a, [3, 2, 1], "add"),
                  lambda a: _put(a, [0, 1, 2, 3, 4], "second"), lambda a: _put(a, [1, 2], "add", (4, 3), 1)),
         counter=(lambda a: _put(a, [1, 1], "add"), lambda a: _put(a, [0, 2], "second"),
                  lambda a: _put(a, [4, 5], "second"), lambda a: _put(a, [-1, 0], "second")))
def scatter_of_consecutive_windows(x, i, y, d, t):
    """scatter of cross-sections at first, first + 1, ... = dynamic_update_slice"""
    extents, indices = shape_of(x), shape_of(i)
    axes = d.inserted_window_dims
    if len(axes) != 1 or d.scatter_dims_to_operand_dims != axes or d.input_batching_dims or t.body not in BODIES \
            or 0 in shape_of(y) or 0 in extents:
        return None
    axis, window = axes[0], _window_shape(d, shape_of(y), len(extents))
    numbers = known_content(i)
    if numbers is None or any(window[k] != m for k, m in enumerate(extents) if k != axis) \
            or not (d.index_vector_dim == len(indices) or indices[d.index_vector_dim] == 1):
        return None
    steps = progression(numbers)
    if steps is None or steps[1] not in (1, -1) or numbers.size < 2:
        return None
    first, step = steps
    low = first if step == 1 else first - (numbers.size - 1)
    if low < 0 or low + numbers.size > extents[axis]:
        return None
    stack = [k for k in range(len(shape_of(y))) if k not in d.update_window_dims]
    rows = ops.transpose(y, [*stack, *d.update_window_dims])
    rows = ops.reshape(rows, [numbers.size, *without(extents, {axis})])
    rows = ops.transpose(rows, inverse([axis, *(k for k in range(len(extents)) if k != axis)]))
    return _update(x, ops.reverse(rows, [axis] if step < 0 else []),
                   [low if k == axis else 0 for k in range(len(extents))], t.body)


# ---- sums of scatters ----------------------------------------------------------------------------------------------

def _one_each(a, body="second", start=0, dimensions=(0,), count=1, dtype="float64"):
    """One element (or several) of each row of zeros, added over the rows, for examples."""
    places = ops.clamp(0, a(3, count, dtype="int32"), 6)
    rows = ops.scatter(ops.constant(0, dtype, (3, 5)), places, a(3, count, dtype=dtype), body,
                       update_window_dims=[1] if count == 1 else [], scatter_dims_to_operand_dims=[1],
                       inserted_window_dims=[] if count == 1 else [1], index_vector_dim=1 if count == 1 else 2,
                       input_batching_dims=[0], scatter_indices_batching_dims=[0])
    return ops.reduce(rows, start, dimensions, "add")


@rewrite(one_of(("stablehlo.reduce",), once(_scattered(splat("c"), i, y)), splat("v"), dimensions=p, template="r"),
         dtypes="number", changes="rounding",
         example=(lambda a: _one_each(a), lambda a: _one_each(a, "add", dtype="int32")),
         counter=(lambda a: _one_each(a, start=1), lambda a: _one_each(a, dimensions=(1,)),
                  lambda a: _one_each(a, count=2)))
def sum_of_scatters(c, i, y, d, t, v, p, r):
    """sum over k of zeros with y[k] at i[k] = zeros to which each y[k] is added at i[k]"""
    batch, indices = d.input_batching_dims, shape_of(i)
    if r.body != "add" or t.body not in ("second", "add") or c != 0 or v != 0 or not batch \
            or sorted(p) != sorted(batch) or size(shape_of(y)) == 0 \
            or len(d.scatter_indices_batching_dims) != len(indices) - (d.index_vector_dim < len(indices)):
        return None     # several windows in one array may meet
    extents = shape_of(t.op.operands[0])
    if size([extents[axis] for axis in batch]) < 2:
        return None     # it may write -0.0

    def place(axis: int) -> int:
        return axis - sum(b < axis for b in batch)
    kept = without(extents, set(batch))
    # dimensions of one element are gone from windows, as `jax` writes them
    windows = [axis for axis in range(len(extents)) if axis not in (*batch, *d.inserted_window_dims)]
    sizes = dict(zip(windows, d.update_window_dims, strict=True))
    gone = [axis for axis in windows if axis in d.scatter_dims_to_operand_dims and shape_of(y)[sizes[axis]] == 1]
    squeezed = [sizes[axis] for axis in gone]
    updates = ops.reshape(y, without(shape_of(y), set(squeezed)))
    return ops.scatter(ops.constant(0, dtype_of(y), kept), i, updates, "add",
                       update_window_dims=[k - sum(s < k for s in squeezed) for axis, k in sizes.items()
                                           if axis not in gone],
                       inserted_window_dims=sorted(place(axis) for axis in (*d.inserted_window_dims, *gone)),
                       scatter_dims_to_operand_dims=[place(axis) for axis in d.scatter_dims_to_operand_dims],
                       index_vector_dim=d.index_vector_dim)
