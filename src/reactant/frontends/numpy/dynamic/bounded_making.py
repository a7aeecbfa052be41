"""Arrays of run-time size made of others: conversions, common extents, other dimensions of length 1."""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.errors import Reason, UnsupportedError
from reactant.frontends.arrays.creation import COPY_MODES
from reactant.frontends.arrays.dynamic.bounded import (
    Bounded,
    Mask,
    Range,
    as_number,
    common_extents,
    flattened,
    framed,
    is_partial,
)
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import compact, elementwise, on_bounded
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops


@on_bounded(np.asarray, np.asanyarray, np.ascontiguousarray)
def asarray(a: Any, dtype: Any = None, order: object = None, *, device: object = None, copy: bool | None = None) -> Any:
    kind = a.dtype if dtype is None else np.dtype(dtype)
    return a.astype(kind) if COPY_MODES.get(copy, copy) or kind != a.dtype else a


@on_bounded(np.array)
def array(a: Any, dtype: Any = None, *, copy: bool | None = True, order: object = "K", subok: bool = False) -> Any:
    return asarray(a, dtype, copy=copy)


@on_bounded(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple:
    parts = [x if is_partial(x) else wrap(x) for x in arrays]
    extents, shape = common_extents(parts, max(p.ndim for p in parts))
    frames = np.broadcast_arrays(*(framed(p, extents, shape) for p in parts))
    return tuple([Bounded(frame, extents) for frame in frames])


@on_bounded(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*(x.frame if is_partial(x) else x for x in arrays_and_dtypes))


@on_bounded(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """As many values as places: that is checked at run time."""
    if is_partial(arr) or is_partial(mask):
        raise UnsupportedError("numpy.place in an array of run-time size is not supported in compiled code.",
                               hint="Write x[mask] = values.", code="array-of-run-time-size")
    arr[wrap(mask).astype(bool)] = vals


@on_bounded(np.iscomplexobj)
def iscomplexobj(x: Bounded) -> bool:
    return x.dtype.kind == "c"


@on_bounded(np.isrealobj)
def isrealobj(x: Bounded) -> bool:
    return x.dtype.kind != "c"


@on_bounded(np.squeeze)
def squeeze(a: Bounded, axis: Any = None) -> Any:
    """Without dimensions that are known to have length 1. One of run-time length stays; where that is 1, which NumPy
    would take away, this raises at run time."""
    asked = range(a.ndim) if axis is None else [axis_in(d, a.ndim) for d in (axis if type(axis) is tuple else (axis,))]
    gone = [d for d in asked if a.extents[d] is None and a.frame.shape[d] == 1]
    depends = Reason("numpy.squeeze of an array whose run-time length is 1: how many dimensions it has depends on "
                     "run-time values.", "Name the dimensions that are known: np.squeeze(x, "
                                         "axis=...).", "array-of-run-time-size")
    for d in asked:
        if axis is not None and d not in gone:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one") \
                if a.extents[d] is None else depends.error()
        if a.extents[d] is not None:
            current_trace().check(ops.compare(as_number(a.length(d)), 1, "NE"), depends.error)
    return a[tuple(0 if d in gone else slice(None) for d in range(a.ndim))] if gone else a


@on_bounded(np.expand_dims)
def expand_dims(a: Bounded, axis: Any) -> Bounded:
    axes = axis if type(axis) in (tuple, list) else (axis,)
    rank = a.ndim + len(axes)
    new = {axis_in(d, rank) for d in axes}
    found: Bounded = a[tuple(None if d in new else slice(None) for d in range(rank))]
    return found


@on_bounded(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    found = tuple(a if is_partial(a) else np.atleast_1d(a) for a in arrays)
    return found[0] if len(found) == 1 else found


@on_bounded(np.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    found = tuple((a if a.ndim > 1 else a[None, :]) if is_partial(a) else np.atleast_2d(a) for a in arrays)
    return found[0] if len(found) == 1 else found


@on_bounded(np.swapaxes)
def swapaxes(a: Bounded, axis1: int, axis2: int) -> Bounded:
    return a.swapaxes(axis_in(axis1, a.ndim), axis_in(axis2, a.ndim))


@on_bounded(np.nonzero)
def nonzero(a: Bounded) -> tuple:
    """Places among the elements that there are."""
    for d in range(a.ndim):
        a = compact(a, d)
    return np.nonzero(a.filled(0))


@on_bounded(np.where)
def where(condition: Any, *choices: Any) -> Any:
    return elementwise(np.where, (condition, *choices)) if choices else nonzero(condition)


@on_bounded(np.flatnonzero)
def flatnonzero(a: Bounded) -> Any:
    return nonzero(flattened(a))[0]


@on_bounded(np.argwhere)
def argwhere(a: Bounded) -> Any:
    for d in range(a.ndim):
        a = compact(a, d)
    return np.argwhere(a.filled(0))


@on_bounded(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Bounded:
    """Each element as often as one known number says."""
    if not is_partial(a) or type(repeats) is not int or repeats < 0:
        raise UnsupportedError("np.repeat by run-time counts: they decide the size of the result.",
                               hint="Give one number that is known while tracing.", code="size-decided-at-run-time")
    a, d = (flattened(a), 0) if axis is None else (a, axis_in(axis, a.ndim))
    extents, extent = list(a.extents), a.extents[d]
    if type(extent) is Range:
        ends = [n * repeats if isinstance(n, int) else ops.multiply(n, repeats) for n in (extent.start, extent.stop)]
        extents[d] = Range(*ends)
    elif extent is not None:
        extents[d] = Mask(np.repeat(Tensor.of_value(extent.value), repeats).value())
    return Bounded(np.repeat(Tensor.of_value(a.value()), repeats, axis=d), extents)
