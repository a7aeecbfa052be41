"""Joining, splitting and repeating: concatenate and relatives, split, tile, repeat, roll, flip, insert, delete."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import Reason, UnsupportedError
from reactant.frontends.arrays import layouts
from reactant.frontends.arrays.creation import shape_tuple, side_by_side
from reactant.frontends.arrays.implements import implements, refuse
from reactant.frontends.arrays.indexing import store
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.ir import ops
from reactant.ir.types import shape_of


def members(sequence: object) -> list[Tensor]:
    """The members of a sequence of arrays (an array stands for its rows)."""
    if is_tensor(sequence) or isinstance(sequence, np.ndarray):
        return list(wrap(sequence))
    return [wrap(x) for x in sequence]


def known_ints(x: object, what: str) -> np.ndarray:
    """An argument that decides a shape, as an int array; `ConcreteValueNeeded` when it is only known at run time."""
    if is_tensor(x):
        if not x.is_concrete():
            raise UnsupportedError(f"{what} decide the size of the result, so they must be known while tracing.",
                                   hint="Give numbers that do not depend on arrays, or make the argument static "
                                        "(static_argnames=...).", code="size-decided-at-run-time")
        return x.numpy()
    if isinstance(x, (list, tuple)):
        return np.asarray([known_ints(i, what) for i in x]) if x else np.zeros(0, np.intp)
    return np.asarray(x)


# ---- joining ---------------------------------------------------------------------------------------------------

def _dtype_of_all(parts: list, dtype: object, casting: str) -> np.dtype:
    common = result_type(tuple(weak_type(p) for p in parts)) if dtype is None else np.dtype(dtype)
    for p in parts:
        if not np.can_cast(p.dtype, common, casting):
            raise TypeError(f"Cannot cast array data from {p.dtype!r} to {common!r} according to the rule '{casting}'")
    return common


def _fill(out: object, value: ir.Value) -> Any:
    if out.shape != shape_of(value):
        raise ValueError("Output array is the wrong shape")
    store(out, Tensor.of_value(value))
    return out


@implements(np.concatenate, *((np.concat,) if hasattr(np, "concat") else ()))
def concatenate(arrays: object = (), /, axis: int | None = 0, out: object = None, *, dtype: object = None,
                casting: str = "same_kind") -> Tensor:
    parts = members(arrays)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if any(not p.ndim for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_in(axis, parts[0].ndim)
    for number, p in enumerate(parts):
        if p.ndim != parts[0].ndim:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, but "
                             f"the array at index 0 has {parts[0].ndim} dimension(s) and the array at index {number} "
                             f"has {p.ndim} dimension(s)")
        for d in range(p.ndim):
            if d != axis and p.shape[d] != parts[0].shape[d]:
                raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, "
                                 f"but along dimension {d}, the array at index 0 has size {parts[0].shape[d]} and the "
                                 f"array at index {number} has size {p.shape[d]}")
    common = _dtype_of_all(parts, out.dtype if dtype is None and out is not None else dtype, casting)
    value = side_by_side([cast(p.value(), common) for p in parts], axis)
    if out is not None:
        return _fill(out, value)
    column_major = all(p.flags.fnc or p.flags.forc and not p.flags.c_contiguous for p in parts) and parts[0].ndim > 1
    return Tensor.of_value(value, strides=layouts.column_major_strides(shape_of(value)) if column_major else None)


@implements(np.stack)
def stack(arrays: object, axis: int = 0, out: object = None, *, dtype: object = None,
          casting: str = "same_kind") -> Tensor:
    parts = members(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    rank = parts[0].ndim + 1
    at = axis_in(axis, rank)
    return concatenate([np.expand_dims(p, at) for p in parts], axis=at, out=out, dtype=dtype, casting=casting)


@implements(np.atleast_1d, aliases=True)
def atleast_1d(*arys: object) -> Any:
    return _each(arys, lambda a: np.reshape(a, (1,)) if not a.ndim else a)


@implements(np.atleast_2d, aliases=True)
def atleast_2d(*arys: object) -> Any:
    return _each(arys, lambda a: np.reshape(a, (1, 1)) if not a.ndim else a[None, :] if a.ndim == 1 else a)


@implements(np.atleast_3d, aliases=True)
def atleast_3d(*arys: object) -> Any:
    def raised(a: Tensor) -> Tensor:
        if a.ndim == 0:
            return np.reshape(a, (1, 1, 1))
        return a[None, :, None] if a.ndim == 1 else a[:, :, None] if a.ndim == 2 else a
    return _each(arys, raised)


def _each(arys: Sequence, rule: Any) -> Any:
    made = [rule(np.asanyarray(a) if not is_tensor(a) else a) for a in map(wrap, arys)]
    return made[0] if len(made) == 1 else tuple(made)


@implements(np.vstack)
def vstack(tup: object, *, dtype: object = None, casting: str = "same_kind") -> Tensor:
    return concatenate([_each((p,), _row) for p in members(tup)], 0, dtype=dtype, casting=casting)


def _row(a: Tensor) -> Tensor:
    return np.reshape(a, (1, a.size)) if a.ndim < 2 else a


@implements(np.hstack)
def hstack(tup: object, *, dtype: object = None, casting: str = "same_kind") -> Tensor:
    parts = [np.reshape(p, (1,)) if not p.ndim else p for p in members(tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: object) -> Tensor:
    return concatenate([atleast_3d(p) for p in members(tup)], 2)


@implements(np.column_stack)
def column_stack(tup: object) -> Tensor:
    return concatenate([np.reshape(p, (p.size, 1)) if p.ndim < 2 else p for p in members(tup)], 1)


@implements(np.block)
def block(arrays: object) -> Tensor:
    depth = _depth(arrays)
    rank = max([depth, *(leaf.ndim for leaf in _leaves(arrays))])
    return _block(arrays, depth, rank)


def _leaves(nested: object) -> list[Tensor]:
    return [leaf for n in nested for leaf in _leaves(n)] if type(nested) is list else [wrap(nested)]


def _depth(nested: object) -> int:
    if type(nested) is not list:
        return 0
    if not nested:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(n) for n in nested}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched.")
    return 1 + depths.pop()


def _block(nested: object, depth: int, rank: int) -> Tensor:
    if depth == 0:
        leaf = wrap(nested)
        return np.reshape(leaf, (1,) * (rank - leaf.ndim) + leaf.shape).copy()
    return concatenate([_block(n, depth - 1, rank) for n in nested], axis=rank - depth)


@implements(np.append)
def append(arr: object, values: object, axis: int | None = None) -> Tensor:
    if axis is None:
        return concatenate([np.ravel(wrap(arr)), np.ravel(wrap(values))], 0)
    return concatenate([wrap(arr), wrap(values)], axis)


# ---- splitting -------------------------------------------------------------------------------------------------

def _split(a: Tensor, sections: object, axis: int, equal: bool) -> list[Tensor]:
    total = a.shape[axis]
    if isinstance(sections, (list, tuple)) and any(is_tensor(i) and not i.ndim for i in sections):
        points = [0, *sections, total]      # some of which are known only at run time
    elif (sections := known_ints(sections, "np.split: the sections")).ndim:
        points = [0, *(int(i) for i in sections), total]
    else:
        count = int(sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        if equal and total % count:
            raise ValueError("array split does not result in an equal division")
        each, extra = divmod(total, count)
        points = [0, *np.cumsum([each + 1] * extra + [each] * (count - extra)).tolist()]
    lead = (slice(None),) * axis
    return [a[(*lead, slice(p, q))] for p, q in zip(points, points[1:], strict=False)]


@implements(np.split, aliases=True)
def split(ary: object, indices_or_sections: object, axis: int = 0) -> list[Tensor]:
    a = wrap(ary)
    return _split(a, indices_or_sections, axis_in(axis, a.ndim), equal=True)


@implements(np.array_split, aliases=True)
def array_split(ary: object, indices_or_sections: object, axis: int = 0) -> list[Tensor]:
    a = wrap(ary)
    return _split(a, indices_or_sections, axis_in(axis, a.ndim), equal=False)


@implements(np.hsplit, aliases=True)
def hsplit(ary: object, indices_or_sections: object) -> list[Tensor]:
    a = wrap(ary)
    if not a.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return _split(a, indices_or_sections, 1 if a.ndim > 1 else 0, equal=True)


@implements(np.vsplit, aliases=True)
def vsplit(ary: object, indices_or_sections: object) -> list[Tensor]:
    a = wrap(ary)
    if a.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return _split(a, indices_or_sections, 0, equal=True)


@implements(np.dsplit, aliases=True)
def dsplit(ary: object, indices_or_sections: object) -> list[Tensor]:
    a = wrap(ary)
    if a.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return _split(a, indices_or_sections, 2, equal=True)


def unstack(x: object, /, *, axis: int = 0) -> tuple:
    """The sub-arrays along `axis`, as views."""
    a = wrap(x)
    if not a.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(np.moveaxis(a, axis_in(axis, a.ndim), 0))


if hasattr(np, "unstack"):          # NumPy 2.1
    implements(np.unstack, aliases=True)(unstack)


# ---- repeating and moving --------------------------------------------------------------------------------------

@implements(np.tile)
def tile(A: object, reps: object) -> Tensor:
    a, counts = wrap(A), shape_tuple(reps)
    rank = max(a.ndim, len(counts))
    shape, counts = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - len(counts)) + tuple(counts)
    spread = np.reshape(a, [n for pair in zip((1,) * rank, shape, strict=True) for n in pair])
    full = np.broadcast_to(spread, [n for pair in zip(counts, shape, strict=True) for n in pair])
    made = np.reshape(full, [m * n for m, n in zip(counts, shape, strict=True)])
    return made.copy()


@implements(np.repeat)
def repeat(a: object, repeats: object, axis: int | None = None) -> Tensor:
    a = wrap(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_in(axis, a.ndim)
    counts = known_ints(repeats, "np.repeat: the counts")
    if (counts < 0).any():
        raise ValueError("repeats may not contain negative values.")
    if counts.size == 1:
        n, shape = int(counts.reshape(())), a.shape
        wide = np.broadcast_to(np.expand_dims(a, axis + 1), (*shape[:axis + 1], n, *shape[axis + 1:]))
        return np.reshape(wide, (*shape[:axis], shape[axis] * n, *shape[axis + 1:])).copy()
    return _take(a, np.repeat(np.arange(a.shape[axis]), counts), axis)


def _take(a: Tensor, positions: np.ndarray, axis: int) -> Tensor:
    return a[(*(slice(None),) * axis, positions)]


@implements(np.roll)
def roll(a: object, shift: Any, axis: object = None) -> Tensor:
    a = wrap(a)
    if axis is None:
        return np.reshape(roll(np.ravel(a), shift, 0), a.shape)
    axes = [axis_in(x, a.ndim) for x in (axis if np.ndim(axis) else (axis,))]
    many = isinstance(shift, (tuple, list)) or np.ndim(shift) == 1
    shifts = list(shift) if many else [shift]
    value = a.value()
    for number, d in np.broadcast(range(len(shifts)), axes):
        value = _rolled(value, shifts[number], d)
    return Tensor.of_value(value)


def _rolled(value: ir.Value, shift: Any, axis: int) -> ir.Value:
    """Elements moved by `shift` (known or not) around `axis`."""
    shape = shape_of(value)
    n = shape[axis]
    if n == 0:
        return value
    if is_tensor(shift) and not shift.is_concrete():
        if shift.ndim:
            raise UnsupportedError("np.roll: several run-time shifts in one array.", hint="Give a tuple of numbers.",
                                   code="argument-must-be-static")
        by = shift_as_int(shift)
        starts = [ops.constant(0, np.int64)] * len(shape)
        starts[axis] = ops.remainder(ops.subtract(n, ops.remainder(by, n)), n)
        return ops.dynamic_slice(ops.concatenate([value, value], axis), starts, shape)
    k = int(shift) % n
    if not k:
        return value
    return ops.concatenate([_window(value, axis, n - k, n), _window(value, axis, 0, n - k)], axis)


def shift_as_int(shift: Tensor) -> ir.Value:
    if shift.dtype.kind not in "iub":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return ops.convert(shift.value(), np.int64)


def _window(value: ir.Value, axis: int, start: int, stop: int) -> ir.Value:
    shape = shape_of(value)
    low, high = [0] * len(shape), list(shape)
    low[axis], high[axis] = start, stop
    return ops.slice(value, low, high)


@implements(np.flip, aliases=True)
def flip(m: object, axis: object = None) -> Tensor:
    m = wrap(m)
    axes = range(m.ndim) if axis is None else [axis_in(x, m.ndim) for x in (
        axis if isinstance(axis, (tuple, list)) else (axis,))]
    return m[tuple(slice(None, None, -1) if d in set(axes) else slice(None) for d in range(m.ndim))]


@implements(np.fliplr, aliases=True)
def fliplr(m: object) -> Tensor:
    m = wrap(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@implements(np.flipud, aliases=True)
def flipud(m: object) -> Tensor:
    m = wrap(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


@implements(np.rot90, aliases=True)
def rot90(m: object, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    m, axes = wrap(m), tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    i, j = (axis_in(x, m.ndim) for x in axes)
    if i == j:
        raise ValueError("Axes must be different.")
    k = int(k) % 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(flip(m, i), j)
    return np.swapaxes(flip(m, j), i, j) if k == 1 else flip(np.swapaxes(m, i, j), j)


# ---- insert, delete, resize ------------------------------------------------------------------------------------

def _where_along(obj: object, n: int, what: str) -> tuple[np.ndarray, bool]:
    """Positions of an `insert`/`delete` argument, and whether it was a single number."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n)), False
    found = known_ints(obj, f"{what}: the positions")
    if found.dtype == bool:
        if found.shape != (n,):
            raise ValueError(f"boolean array argument `obj` to {what} must be one-dimensional and match the axis "
                             f"length of {n}")
        return np.flatnonzero(found), False
    return found.astype(np.intp) if not found.size else found, found.ndim == 0


@implements(np.delete)
def delete(arr: object, obj: object, axis: int | None = None) -> Tensor:
    a = wrap(arr)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_in(axis, a.ndim)
    positions, _ = _where_along(obj, a.shape[axis], "np.delete")
    return _take(a, np.delete(np.arange(a.shape[axis]), positions), axis)


@implements(np.insert)
def insert(arr: object, obj: object, values: object, axis: int | None = None) -> Tensor:
    a, v = wrap(arr), wrap(values)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_in(axis, a.ndim)
    n = a.shape[axis]
    positions, single = _where_along(obj, n, "np.insert")
    flat = np.atleast_1d(positions)
    if single:
        # NumPy: with one position the values' first axis runs along `axis`
        v = np.reshape(v, (1,) * (a.ndim - v.ndim) + v.shape) if v.ndim < a.ndim else v
        v = np.moveaxis(v, 0, axis)
        flat = np.repeat(flat, v.shape[axis])
    elif flat.size == 1:
        v = np.reshape(v, (1,) * (a.ndim - v.ndim) + v.shape) if v.ndim < a.ndim else v
        flat = np.repeat(flat, v.shape[axis])
    order = np.insert(np.arange(n), positions if not single else flat, n + np.arange(flat.size))
    shape = (*a.shape[:axis], flat.size, *a.shape[axis + 1:])
    put = layouts.broadcast(cast(np.broadcast_to(v, shape).value(), a.dtype), shape)
    joined = ops.concatenate([a.value(), put], axis)
    return _take(Tensor.of_value(joined), order, axis)


@implements(np.resize)
def resize(a: object, new_shape: object) -> Tensor:
    a, shape = wrap(a), shape_tuple(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    count = int(np.prod(shape))
    flat = np.ravel(a)
    if not a.size:
        return np.zeros_like(a, shape=shape)
    times = -(-count // a.size)
    return np.reshape(concatenate([flat] * max(times, 1))[:count], shape).copy()


refuse(Reason("np.trim_zeros: the size of the result depends on run-time values.",
              "Use a mask and np.where, or trim with known bounds.", "size-decided-at-run-time"), np.trim_zeros)
