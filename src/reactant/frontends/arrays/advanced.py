"""Indexing with integer arrays and masks, as NumPy defines it, on top of gather and scatter.

A key is taken apart: its slices and newaxes make a basic view, in which each index array addresses one dimension. The
arrays broadcast to one shape B; where B's dimensions go in the result (and how it is laid out) is asked of NumPy itself
with a tiny probe. Indices known while tracing are checked at once, others at run time unless their bounds are known.

Masks known only at run time go to `masked`.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import indexing, layouts, value_facts, view_steps
from reactant.frontends.arrays.elementwise import checked, loop
from reactant.frontends.arrays.promotion import loop_dtypes
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import as_value, cast, weak_type
from reactant.frontends.session.dispatch import meaning, means
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of, size
from reactant.support.records import dataclass

_INVALID = ("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            "valid indices")


# ---- taking keys apart -----------------------------------------------------------------------------------------

@dataclass
class Flag:
    """A 0-d boolean in a key: adds a dimension of size 1 or 0 and addresses none."""
    value: bool


@dataclass
class Selection:
    """An index with arrays: a view, the dimensions of it that arrays address, the arrays, and the result."""

    view: Tensor
    axes: list[int]
    indices: list[np.ndarray | ir.Value]     # non-negative, in range
    index_shape: Shape                       # B
    result: Shape
    batch: list[int]                         # where B's dimensions stand in the result
    strides: Shape | None

    @property
    def windows(self) -> list[int]:
        """Result dimensions that come from slices."""
        return [d for d in range(len(self.result)) if d not in self.batch]


def runtime_masks(items: list) -> bool:
    """Whether some item is a mask known only at run time."""
    return any(is_tensor(i) and i.dtype == bool for i in items)


def _without_static_masks(tensor: Tensor, items: list) -> list:
    """Known masks replaced by the positions they select."""
    plain, axis = [], 0
    for i in items:
        if isinstance(i, (bool, np.bool_)) or (isinstance(i, np.ndarray) and i.dtype == bool and not i.ndim):
            plain.append(Flag(bool(i)))
        elif isinstance(i, np.ndarray) and i.dtype == bool:
            require_mask_fits(i.shape, tensor.shape, axis)
            plain.extend(np.nonzero(i))
            axis += i.ndim
        else:
            plain.append(i)
            axis += i is not None and i is not Ellipsis
    return plain


def require_mask_fits(mask: Shape, shape: Shape, axis: int) -> None:
    for d, n in enumerate(mask):
        if shape[axis + d] != n:
            raise IndexError(f"boolean index did not match indexed array along axis {axis + d}; size of axis is "
                             f"{shape[axis + d]} but size of corresponding boolean axis is {n}")


def _is_index(i: object) -> bool:
    """An item that joins the broadcast of index arrays: arrays, and integers next to them."""
    if i is None or i is Ellipsis or isinstance(i, slice):
        return False
    if isinstance(i, Flag) or indexing.is_integer(i):
        return True
    if is_tensor(i) or isinstance(i, np.ndarray):
        if i.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return True
    raise IndexError(_INVALID)


def select(tensor: Tensor, items: list) -> Selection:
    """Resolve a key with at least one index array and no run-time mask."""
    items = _without_static_masks(tensor, items)
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int | None] = []
    dimension = source = 0
    for i in items:
        if _is_index(i):
            arrays.append(i)
            if isinstance(i, Flag):
                axes.append(None)
                continue
            axes.append(dimension)
            basic.append(slice(None))
        else:
            basic.append(i)
            if i is Ellipsis:
                continue
        dimension += 1
        source += i is not None
    view = indexing.view_of(tensor, indexing.parse(tensor, basic))
    resolved = [_resolve(i, 1 if axis is None else view.shape[axis], axis or 0)
                for i, axis in zip(arrays, axes, strict=True)]
    index_shape = _broadcast([_shape(r) for r in resolved])
    if 0 in index_shape:
        resolved = [np.zeros(_shape(r), np.int64) for r in resolved]
    batch, order = _placement(view, items, resolved)
    windows = [view.shape[d] for d in range(view.ndim) if d not in axes]
    result = list(windows)
    for position, n in zip(batch, index_shape, strict=True):
        result.insert(position, n)
    addressed = [(a, r) for a, r in zip(axes, resolved, strict=True) if a is not None]
    return Selection(view, [a for a, _ in addressed], [r for _, r in addressed], index_shape, tuple(result), batch,
                     _strides_in(order, result))


def _shape(index: np.ndarray | ir.Value) -> Shape:
    return index.shape if isinstance(index, np.ndarray) else shape_of(index)


def _broadcast(shapes: list[Shape]) -> Shape:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(s).replace(" ", "") for s in shapes)
        raise IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes "
                         + text) from None


def _resolve(i: object, extent: int, axis: int) -> np.ndarray | ir.Value:
    """Positions counted from the start, checked against `extent`."""
    if isinstance(i, Flag):
        return np.zeros((1,) if i.value else (0,), np.int64)
    if not is_tensor(i):
        known = np.asarray(i).astype(np.int64)
        if ((known < -extent) | (known >= extent)).any():
            wrong = int(known[(known < -extent) | (known >= extent)].reshape(-1)[0])
            raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {extent}")
        return np.where(known < 0, known + extent, known)
    return in_range(i, extent, axis)


def in_range(index: Tensor, extent: int, axis: int) -> ir.Value:
    """A run-time index array as int64 positions counted from the start; out of bounds raises after the call."""
    value = index.value()
    low, high = index.interval or value_facts.bounds(value) or (None, None)
    unsigned = dtype_of(value).kind == "u"
    value = ops.convert(value, np.int64)
    if low is None or low < -extent or high >= extent:
        ok = ops.compare(value, extent, "LT")
        if low is None or low < -extent:
            ok = ops.and_(ok, ops.compare(value, 0 if unsigned else -extent, "GE"))
        ok = ops.reduce(ok, True, range(index.ndim), "and") if index.ndim else ok
        current_trace().check(ok, lambda: IndexError(f"index is out of bounds for axis {axis} with size {extent}"))
    if not unsigned and (low is None or low < 0):
        value = ops.select(ops.compare(value, 0, "LT"), ops.add(value, extent), value)
    return value


# ---- the result: where index dimensions go, and its layout ------------------------------------------------------

def _placement(view: Tensor, items: list, resolved: list) -> tuple[list[int], tuple[int, ...]]:
    key, arrays = [], iter(resolved)
    for i in items:
        if _is_index(i):
            index = next(arrays)
            key.append("flag" if isinstance(i, Flag) else len(_shape(index)) if not isinstance(i, np.ndarray)
                       else -i.ndim if i.ndim > 1 and i.flags.fnc else i.ndim)
        else:
            key.append("newaxis" if i is None else "..." if i is Ellipsis else "slice")
    order = tuple(np.argsort([-abs(s) for s in view.strides_], kind="stable").tolist())
    return _probe(tuple(key), order)


@cache
def _probe(key: tuple, order: tuple[int, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Ask NumPy: (positions of the index dimensions in the result, dimensions of the result from outer to inner).
    Slices have 2 elements in the probe, index dimensions 3."""
    parts, shape = [], []
    addressed = [k for k in key if k not in ("...", "flag")]
    for k in addressed:
        shape.append(1 if isinstance(k, int) or k == "newaxis" else 2)
    source = np.zeros([shape[d] for d in order], np.int8).transpose(np.argsort(order)) if shape else np.zeros(())
    for k in key:
        if k == "...":
            parts.append(Ellipsis)
        elif k == "flag":
            parts.append(np.True_)
        elif isinstance(k, int):
            parts.append(np.zeros((3,) * abs(k), np.intp, order="F" if k < 0 else "C"))
        else:
            parts.append(slice(None))     # a newaxis is a dimension of the probe already
    found = source[tuple(parts)]
    rank = max(abs(k) if isinstance(k, int) else 1 for k in key if isinstance(k, int) or k == "flag")
    windows = found.ndim - rank
    sizes = [n for k, n in zip(addressed, shape, strict=True) if not isinstance(k, int)]
    start = next(p for p in range(windows + 1)
                 if list(found.shape[:p]) == sizes[:p] and list(found.shape[p + rank:]) == sizes[p:]
                 and all(n in (3, 1) for n in found.shape[p:p + rank]) and _is_batch(found.shape, p, rank, sizes))
    layout = sorted(range(found.ndim), key=lambda d: (-found.strides[d], d))
    return list(range(start, start + rank)), tuple(layout)


def _is_batch(shape: Shape, start: int, rank: int, sizes: list[int]) -> bool:
    """Index dimensions are the ones of size 3; when there are none (flags only), NumPy puts them first."""
    return 3 in shape[start:start + rank] or 3 not in shape


def _strides_in(order: tuple[int, ...], shape: Sequence[int]) -> Shape | None:
    if list(order) == list(range(len(shape))):
        return None
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


# ---- reading ---------------------------------------------------------------------------------------------------

@means("get_by_arrays")
def get(tensor: Tensor, items: list) -> Any:
    """`tensor[items]` with arrays in the key."""
    if meaning.is_selected_at_run_time(items):
        return meaning.get_selected(tensor, items)
    if tensor.is_concrete() and not any(is_tensor(i) for i in items) and not any(
            isinstance(i, slice) and any(is_tensor(b) for b in (i.start, i.stop, i.step)) for i in items):
        found = tensor.numpy()[_numpy_key(items, tensor)]
        return Tensor.of_array(found) if isinstance(found, np.ndarray) else found
    chosen = select(tensor, items)
    return Tensor.of_value(read(chosen), ARRAY if chosen.result or Ellipsis in map(_plain, items) else SCALAR,
                           strides=chosen.strides)


def _plain(i: object) -> object:
    return i if i is Ellipsis else None


def _numpy_key(items: list, tensor: Tensor) -> tuple:
    """The key without the full slices `expand` put after an ellipsis."""
    return tuple(i for i in items if i is not Ellipsis)


def read(chosen: Selection) -> ir.Value:
    """The selected elements."""
    value = chosen.view.value()
    if 0 in chosen.result or 0 in chosen.view.shape:
        return ops.constant(0, dtype_of(value), chosen.result)
    if not chosen.axes:
        return layouts.broadcast(ops.reshape(value, chosen.result), chosen.result)
    even = _even_slice(chosen)
    if even is not None:
        return even
    sizes = [1 if d in chosen.axes else n for d, n in enumerate(chosen.view.shape)]
    return ops.gather(value, _index_vectors(chosen), offset_dims=chosen.windows,
                      collapsed_slice_dims=sorted(chosen.axes), start_index_map=chosen.axes,
                      index_vector_dim=len(chosen.index_shape), slice_sizes=sizes)


def _even_slice(chosen: Selection) -> ir.Value | None:
    """One known, evenly spaced 1-d index array in place is a slice."""
    if len(chosen.axes) != 1 or not isinstance(chosen.indices[0], np.ndarray) or chosen.indices[0].ndim != 1:
        return None
    index, axis = chosen.indices[0], chosen.axes[0]
    if chosen.batch != [axis] or (step := indexing.even_step(index)) is None:
        return None
    shape = chosen.view.shape
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = int(index[0]), step
    return view_steps.SliceStep(tuple(starts), chosen.result, tuple(steps)).read(chosen.view.value())


def _index_values(chosen: Selection) -> list[ir.Value]:
    """The index arrays as int64 values of the common shape."""
    made = [ops.constant(np.ascontiguousarray(i)) if isinstance(i, np.ndarray) else i for i in chosen.indices]
    return [layouts.broadcast(i, chosen.index_shape) for i in made]


def _index_vectors(chosen: Selection) -> ir.Value:
    """All indices in one tensor with a last dimension over the addressed dimensions."""
    shape = (*chosen.index_shape, 1)
    if all(isinstance(i, np.ndarray) for i in chosen.indices):
        known = [np.broadcast_to(i, chosen.index_shape) for i in chosen.indices]
        return current_trace().capture(np.stack(known, axis=-1))
    return ops.concatenate([ops.reshape(i, shape) for i in _index_values(chosen)], len(shape) - 1)


# ---- writing ---------------------------------------------------------------------------------------------------

@means("put_by_arrays")
def put(tensor: Tensor, items: list, value: object) -> None:
    """`tensor[items] = value` with arrays in the key; the last of several writes to one element wins."""
    if meaning.is_selected_at_run_time(items) or getattr(type(value), "partial", False):
        meaning.put_selected(tensor, items, value)
        return
    source = wrap(value)
    if source.is_concrete() and tensor.changes_now() and not any(is_tensor(i) for i in items):
        tensor.numpy()[_numpy_key(items, tensor)] = source.numpy()
        tensor.changed()
        return
    chosen = select(tensor, items)
    shape = fitted(source.shape, chosen.result)
    if not isinstance(value, np.generic) and isinstance(value, (int, float, complex)) and not is_tensor(value):
        np.empty((), tensor.dtype)[...] = value      # NumPy's own errors for numbers that do not fit
    if 0 in chosen.result:
        return
    new = cast(ops.reshape(source.value(), shape), tensor.dtype)
    unique = is_unique(chosen)
    updates = layouts.broadcast(new, chosen.result)
    chosen.view.assign(write(chosen, updates, "second", unique, any_order=alike(shape, chosen)))


def fitted(shape: Shape, result: Shape) -> Shape:
    """`shape` without superfluous leading ones, or NumPy's error where it does not broadcast to `result`."""
    while len(shape) > len(result) and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > len(result) or any(n not in (1, m) for n, m in zip(shape[::-1], result[::-1], strict=False)):
        raise ValueError(f"shape mismatch: value array of shape {_text(shape)} could not be broadcast to indexing "
                         f"result of shape {_text(result)}")
    return shape


def _text(shape: Shape) -> str:
    return "(" + ",".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def alike(shape: Shape, chosen: Selection) -> bool:
    """Whether each index gets the same values, where values of this shape are written: their order does not matter."""
    padded = (1,) * (len(chosen.result) - len(shape)) + tuple(shape)
    return all(padded[d] == 1 for d in chosen.batch)


def is_unique(chosen: Selection) -> bool:
    """Whether no element is addressed twice, as far as is known now."""
    if size(chosen.index_shape) <= 1:
        return True
    if all(isinstance(i, np.ndarray) for i in chosen.indices):
        vectors = np.stack([np.broadcast_to(i, chosen.index_shape).reshape(-1) for i in chosen.indices])
        return np.unique(vectors, axis=1).shape[1] == vectors.shape[1]
    if len(chosen.indices) == 1:
        return value_facts.distinct(_index_values(chosen)[0])
    return False


def write(chosen: Selection, updates: ir.Value, body: Any, unique: bool, any_order: bool = False,
          inside: ir.Value | None = None) -> ir.Value:
    """The view's new content: `updates` (of the result's shape) scattered in; `body` combines old and new. Where an
    element may be written twice by "second", all but the last write are dropped first (XLA promises no order), unless
    the order does not matter. Index elements where `inside` is false are dropped."""
    if 0 in chosen.view.shape:
        return chosen.view.value()
    vectors = _index_vectors(chosen) if chosen.axes else None
    if vectors is None:
        return ops.reshape(updates, chosen.view.shape)
    if inside is not None:
        shape = shape_of(vectors)
        vectors = ops.select(ops.broadcast_in_dim(inside, shape, range(len(shape) - 1)), vectors,
                             max(chosen.view.shape))
    if not unique and not any_order and body == "second":
        if inside is None and 2 * size(chosen.index_shape) >= size([chosen.view.shape[a] for a in chosen.axes]):
            return _gathered_writes(chosen, vectors, updates)
        vectors = _last_writes(chosen, vectors)
    return ops.scatter(chosen.view.value(), vectors, updates, body, update_window_dims=chosen.windows,
                       inserted_window_dims=sorted(chosen.axes), scatter_dims_to_operand_dims=chosen.axes,
                       index_vector_dim=len(chosen.index_shape), unique_indices=unique)


def _last_write(chosen: Selection, vectors: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """For each element of the addressed dimensions the number of the last write to it, or -1; the flat index vectors;
    the numbers of the writes."""
    extents = [chosen.view.shape[a] for a in chosen.axes]
    count = size(chosen.index_shape)
    flat = ops.reshape(vectors, (count, len(extents)))
    order = ops.iota((count,), np.int32 if count < 2**31 else np.int64, 0)
    last = ops.scatter(ops.constant(-1, dtype_of(order), extents), flat, order, "maximum", update_window_dims=(),
                       inserted_window_dims=range(len(extents)), scatter_dims_to_operand_dims=range(len(extents)),
                       index_vector_dim=1)
    return last, flat, order


def _last_writes(chosen: Selection, vectors: ir.Value) -> ir.Value:
    """Index vectors in which every write but the last to an element points outside, where scatter skips it."""
    last, flat, order = _last_write(chosen, vectors)
    extents = shape_of(last)
    winner = ops.gather(last, flat, offset_dims=(), collapsed_slice_dims=range(len(extents)),
                        start_index_map=range(len(extents)), index_vector_dim=1, slice_sizes=[1] * len(extents))
    wins = ops.reshape(ops.compare(winner, order, "EQ"), chosen.index_shape)
    shape = shape_of(vectors)
    return ops.select(ops.broadcast_in_dim(wins, shape, range(len(shape) - 1)), vectors, max(extents))


def _gathered_writes(chosen: Selection, vectors: ir.Value, updates: ir.Value) -> ir.Value:
    """Where about as many elements are written as there are: every element fetches its last write."""
    last, _, order = _last_write(chosen, vectors)
    axes, extents, count = chosen.axes, shape_of(last), shape_of(order)[0]
    windows = [chosen.view.shape[d] for d in range(len(chosen.view.shape)) if d not in axes]
    rows = ops.reshape(ops.transpose(updates, [*chosen.batch, *chosen.windows]), (count, *windows))
    fetched = ops.gather(rows, ops.reshape(ops.maximum(last, 0), (*extents, 1)),
                         offset_dims=range(len(extents), len(extents) + len(windows)), collapsed_slice_dims=[0],
                         start_index_map=[0], index_vector_dim=len(extents), slice_sizes=[1, *windows])
    rest = [d for d in range(len(chosen.view.shape)) if d not in axes]
    order_now = [*axes, *rest]
    back = [order_now.index(d) for d in range(len(order_now))]
    written = ops.broadcast_in_dim(ops.compare(last, 0, "GE"), shape_of(fetched), range(len(extents)))
    return ops.select(ops.transpose(written, back), ops.transpose(fetched, back), chosen.view.value())


# ---- ufunc.at --------------------------------------------------------------------------------------------------

_COMBINE = {np.add: "add", np.multiply: "multiply", np.maximum: "maximum", np.minimum: "minimum",
            np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor", np.subtract: "add",
            np.logical_and: "and", np.logical_or: "or", np.logical_xor: "xor"}


def at(ufunc: np.ufunc, tensor: Tensor, index: object, value: object = None) -> None:
    """`ufunc.at(tensor, index, value)`: every occurrence of an element counts. Sums of floats may round in another
    order than NumPy's."""
    tensor.require_writeable()
    items = indexing.expand(tensor, index)
    if any(getattr(type(i), "partial", False) for i in items):
        meaning.at_selected(ufunc, tensor, items, value)
        return
    if indexing.is_basic(items) or runtime_masks(items):
        found = tensor[index]          # no element stands there twice
        tensor[index] = ufunc(found) if ufunc.nin == 1 else ufunc(found, value)
        return
    if indexing.has_run_time_bounds(items):
        raise UnsupportedError(f"numpy.{ufunc.__name__}.at: index arrays together with a slice that has run-time "
                               "bounds are not supported in compiled code.", hint="Loop over the rows.",
                               code="index-combination")
    operands = [tensor] if ufunc.nin == 1 else [tensor, value]
    dtypes = loop_dtypes(ufunc, (*(weak_type(x) for x in operands), *(None,) * ufunc.nout))    # cast back: unsafe
    chosen = select(tensor, items)
    if 0 in chosen.result:
        return
    updates = None
    if ufunc.nin == 2:
        source = as_value(value, dtypes[1])
        updates = layouts.broadcast(ops.reshape(source, fitted(shape_of(source), chosen.result)), chosen.result)
    combine = combiner(ufunc, tensor.dtype, dtypes)
    if combine is None and _rounds_late(ufunc, tensor, dtypes):
        wide = replace(chosen, view=Tensor.of_value(cast(chosen.view.value(), dtypes[0]), ARRAY))
        chosen.view.assign(cast(_combined(ufunc, wide, updates, _COMBINE[ufunc]), tensor.dtype))
    elif combine is None:
        chosen.view.assign(_one_by_one(ufunc, chosen, updates, dtypes))
    else:
        updates = cast(updates, tensor.dtype)       # integers of other widths wrap alike
        chosen.view.assign(_combined(ufunc, chosen, updates, combine))


def _combined(ufunc: np.ufunc, chosen: Selection, updates: ir.Value, combine: str) -> ir.Value:
    """What a scatter makes of a view."""
    return write(chosen, ops.negate(updates) if ufunc is np.subtract else updates, combine, unique=is_unique(chosen))


def _rounds_late(ufunc: np.ufunc, tensor: Tensor, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether sums of wider floats are to be narrowed once: on a mesh, where parts of them are added in any order, and
    one by one would take all updates to all devices."""
    return (current_trace().spread and ufunc in (np.add, np.subtract) and len(set(dtypes)) == 1
            and dtypes[0].kind == tensor.dtype.kind and dtypes[0].kind in "fc")


def combiner(ufunc: np.ufunc, dtype: np.dtype, dtypes: tuple[np.dtype, ...]) -> str | None:
    """The scatter body that does `ufunc` exactly, or None."""
    wraps = ufunc in (np.add, np.subtract, np.multiply) and all(d.kind in "iu" for d in (dtype, *dtypes))
    if ufunc not in _COMBINE or (any(d != dtype for d in dtypes) and not wraps):
        return None
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor) and dtype.kind != "b":
        return None
    if dtype.kind == "c" and ufunc in (np.maximum, np.minimum, np.multiply):
        return None
    if dtype.kind == "b":
        return {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}.get(_COMBINE[ufunc], _COMBINE[ufunc])
    return _COMBINE[ufunc]


def _one_by_one(ufunc: np.ufunc, chosen: Selection, updates: ir.Value | None, dtypes: tuple) -> ir.Value:
    """A loop over the index elements in order, each a read, the ufunc, and a write of one window."""
    count, view = size(chosen.index_shape), chosen.view.value()
    dtype = dtype_of(view)
    checked(ufunc, [view] if updates is None else [view, updates], dtypes)
    vectors = ops.reshape(_index_vectors(chosen), (count, len(chosen.axes)))
    window = [1 if d in chosen.axes else n for d, n in enumerate(chosen.view.shape)]
    if updates is not None:
        lead = ops.transpose(updates, [*chosen.batch, *chosen.windows])
        updates = ops.reshape(lead, (count, *window))
    zero = ops.constant(0, np.int64)

    def iteration(i: ir.Value, content: ir.Value) -> list[ir.Value]:
        row = ops.reshape(ops.dynamic_slice(vectors, [i, zero], (1, len(chosen.axes))), (len(chosen.axes),))
        starts = [zero] * len(window)
        for number, axis in enumerate(chosen.axes):
            starts[axis] = ops.reshape(ops.slice(row, [number], [number + 1]), ())
        inputs = [cast(ops.dynamic_slice(content, starts, window), dtypes[0])]
        if updates is not None:
            inputs.append(ops.reshape(ops.dynamic_slice(updates, [i, *[zero] * len(window)], (1, *window)), window))
        found = loop(ufunc)(inputs, dtypes)
        if not isinstance(found, ir.Value):
            raise UnsupportedError(f"numpy.{ufunc.__name__}.at: a ufunc with several results has no `at`.",
                                   hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                        "compiled function.", code="function-not-compiled")
        return [ops.add(i, 1), ops.dynamic_update_slice(content, cast(found, dtype), starts)]
    return ops.while_([zero, view], lambda i, content: ops.compare(i, count, "LT"), iteration)[1]
