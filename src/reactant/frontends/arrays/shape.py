"""Shape manipulation: views where NumPy makes views, copies where it copies."""
from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError, UnsupportedError
from reactant.frontends.arrays import layouts, memory_order, view_steps
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import ARRAY, Tensor, wrap
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, size


def axis_in(axis: int, rank: int) -> int:
    """A non-negative axis; raises `numpy.exceptions.AxisError`."""
    axis = index(axis)
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return axis % rank if rank else 0


@implements(np.transpose, np.permute_dims, aliases=True)
def transpose(a: object, axes: Sequence[int] | None = None) -> Tensor:
    a = wrap(a)
    order = tuple(reversed(range(a.ndim))) if axes is None else tuple(axis_in(x, a.ndim) for x in axes)
    if len(order) != a.ndim:
        raise ValueError("axes don't match array")
    if len(set(order)) != a.ndim:
        raise ValueError("repeated axis in transpose")
    if order == tuple(range(a.ndim)):
        return a.view(view_steps.ReshapeStep(a.shape, a.strides_)) if a.kind == ARRAY else a
    return a.view(view_steps.TransposeStep(order, tuple(a.shape[p] for p in order)))


@implements(np.swapaxes, aliases=True)
def swapaxes(a: object, axis1: int, axis2: int) -> Tensor:
    a = wrap(a)
    i, j = axis_in(axis1, a.ndim), axis_in(axis2, a.ndim)
    order = list(range(a.ndim))
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.moveaxis, aliases=True)
def moveaxis(a: object, source: object, destination: object) -> Tensor:
    a = wrap(a)
    sources = [axis_in(s, a.ndim) for s in np.atleast_1d(source).tolist()]
    targets = [axis_in(d, a.ndim) for d in np.atleast_1d(destination).tolist()]
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [d for d in range(a.ndim) if d not in sources]
    for target, source_ in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source_)
    return transpose(a, order)


@implements(np.rollaxis, aliases=True)
def rollaxis(a: object, axis: int, start: int = 0) -> Tensor:
    a = wrap(a)
    axis = axis_in(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    target = start - 1 if axis < start else start
    rest = [d for d in range(a.ndim) if d != axis]
    rest.insert(target, axis)
    return transpose(a, rest)


def resolve_shape(new: object, count: int) -> Shape:
    """A reshape target with its -1 filled in."""
    shape = list(shape_tuple(new))
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if -1 in shape:
        known = size([n for n in shape if n != -1])
        if known == 0 or count % known:
            raise ValueError(f"cannot reshape array of size {count} into shape {layouts.shape_text(shape)}")
        shape[shape.index(-1)] = count // known
    if size(shape) != count:
        raise ValueError(f"cannot reshape array of size {count} into shape {layouts.shape_text(shape)}")
    return tuple(shape)


@implements(np.reshape, aliases=True)
def reshape(a: object, shape: object, order: object = "C", copy: bool | None = None) -> Tensor:
    a, order = wrap(a), memory_order.letter(order, permitted="CFA")
    new = resolve_shape(shape, a.size)
    if order == "A":
        order = "F" if a.flags.fnc else "C"
    if order == "F":
        return transpose(reshape(transpose(a), new[::-1], copy=copy))
    strides = layouts.reshaped_strides(a.shape, a.strides_, new) if a.kind == ARRAY else None
    if strides is not None and not copy:
        return a.view(view_steps.ReshapeStep(new, strides))
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if a.is_concrete():
        return Tensor.of_array(a.numpy().reshape(new).copy())
    return Tensor.of_value(ops.reshape(a.value(), new))


def set_attribute(a: Tensor, name: str, value: Any) -> None:
    """`a.shape = value`, `a.dtype = value`: the same array sees its memory in another way."""
    if a.kind != ARRAY:
        raise AttributeError(f"attribute '{name}' of '{a.dtype.type.__name__}' objects is not writable")
    if name == "shape":
        try:
            seen = reshape(a, value, copy=False)
        except ValueError as error:
            if "copy" not in str(error):
                raise
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
                                 "the desired shape.") from None
    else:
        seen = a.view(value)
    if (seen.shape, seen.dtype, seen.strides_) == (a.shape, a.dtype, a.strides_):
        return
    if a.region is not current_trace().region:
        raise ControlFlowError(f"The {name} of an array from before is set inside an `if` or a loop that is decided "
                               "at run time.",
                               hint=f"Give what has the new {name} a name of its own, by "
                                    f"{'`.view()`' if name == 'dtype' else '`.reshape()`'}.",
                               code="shape-set-under-condition")
    if a.storage.argument is not None and not a.steps:
        raise UnsupportedError(f"Setting the {name} of an argument changes the caller's array, which compiled code "
                               "does not.", hint=f"Write `x = x.{'view' if name == 'dtype' else 'reshape'}(...)`.",
                               code="argument-cannot-change")
    a.steps, a.writeable = seen.steps, seen.writeable
    a.shape, a.dtype, a.strides_ = seen.shape, seen.dtype, seen.strides_


@implements(np.ravel, aliases=True)
def ravel(a: object, order: object = "C") -> Tensor:
    """One dimension; a view only where the array is contiguous in that order."""
    a, order = wrap(a), memory_order.letter(order)
    if order == "A" or (order == "K" and (a.flags.forc or a.ndim < 2)):
        order = "F" if a.flags.fnc else "C"
    if order == "K":
        a = transpose(a, _iterated_order(a.shape, a.strides_))
    elif order == "F":
        a = transpose(a)
    return reshape(a, (a.size,), copy=None if a.flags.c_contiguous else True)


def _iterated_order(shape: st.Shape, strides: st.Shape) -> list[int]:
    """Dimensions, outermost first, in the order in which NumPy's iterators go through memory (`order="K"`).

    An insertion sort from the last dimension on, in which a dimension along which memory does not move (of one element,
    or broadcast) is compared with no other: it lands where sorting by strides alone would not put it."""
    order: list[int] = []       # innermost first
    moves = [0 if n == 1 else abs(s) for n, s in zip(shape, strides, strict=True)]
    for d in reversed(range(len(shape))):
        place = len(order)
        for k in reversed(range(place)):
            if moves[d] and moves[order[k]]:
                if moves[order[k]] <= moves[d]:
                    break
                place = k
        order.insert(place, d)
    return order[::-1]


@implements(np.squeeze, aliases=True)
def squeeze(a: object, axis: object = None) -> Tensor:
    a = wrap(a)
    if a.kind != ARRAY:
        return a        # NumPy scalars stay scalars
    if axis is None:
        gone = {d for d, n in enumerate(a.shape) if n == 1}
    else:
        gone = {axis_in(x, a.ndim) for x in (axis if isinstance(axis, tuple) else (axis,))}
        if any(a.shape[d] != 1 for d in gone):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = [d for d in range(a.ndim) if d not in gone]
    if not gone:
        return a
    return a.view(view_steps.ReshapeStep(tuple(a.shape[d] for d in kept), tuple(a.strides_[d] for d in kept)))


@implements(np.expand_dims, aliases=True)
def expand_dims(a: object, axis: object) -> Tensor:
    a = wrap(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = a.ndim + len(axes)
    new = {axis_in(x, rank) for x in axes}
    if len(new) != len(axes):
        raise ValueError("repeated axis")
    source = iter(range(a.ndim))
    kept = [None if d in new else next(source) for d in range(rank)]
    return a.view(view_steps.ReshapeStep(tuple(1 if k is None else a.shape[k] for k in kept),
                                 tuple(0 if k is None else a.strides_[k] for k in kept)))


@implements(np.broadcast_to, aliases=True)
def broadcast_to(array: object, shape: object, subok: bool = False) -> Tensor:
    a, new = wrap(array), shape_tuple(shape)
    if not layouts.broadcasts_to(a.shape, new):
        raise ValueError(f"operands could not be broadcast together with remapped shapes [original->remapped]: "
                         f"{layouts.shape_text(a.shape)}  and requested shape {layouts.shape_text(new)}")
    return a.view(view_steps.BroadcastStep(new, tuple(range(len(new) - a.ndim, len(new)))))


@implements(np.diagonal, aliases=True)
def diagonal(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    a = wrap(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = axis_in(axis1, a.ndim), axis_in(axis2, a.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = [d for d in range(a.ndim) if d not in (i, j)]
    moved = transpose(a, (*rest, i, j))
    rows, columns = a.shape[i], a.shape[j]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    return moved.view(view_steps.DiagonalStep(int(offset), (*(a.shape[d] for d in rest), count)))


@implements(np.shape, aliases=True)
def numpy_shape(a: object) -> Shape:
    return wrap(a).shape


@implements(np.ndim, aliases=True)
def numpy_ndim(a: object) -> int:
    return wrap(a).ndim


@implements(np.size, aliases=True)
def numpy_size(a: object, axis: object = None) -> int:
    a = wrap(a)
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return size([a.shape[axis_in(d, a.ndim)] for d in axes])
