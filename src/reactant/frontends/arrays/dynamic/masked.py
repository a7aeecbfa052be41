"""Keys whose selection has a run-time size: boolean masks known only at run time, and index arrays of run-time size.

`a[mask]` as a target is a `Bounded` over the array itself, `a[mask]` as a value is a copy of it. `a[index]` with a
`Bounded` index (`x[columns[start:stop]]` in a sparse product) gathers with the whole frame of indices; writes drop what
lies outside.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import advanced, indexing, layouts, view_steps
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Extent,
    Mask,
    aligned,
    common_extents,
    framed,
    is_partial,
)
from reactant.frontends.arrays.promotion import loop_dtypes
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.frontends.session.dispatch import means
from reactant.ir import ops
from reactant.ir.types import size


@means("is_selected_at_run_time")
def needed(items: list) -> bool:
    """Whether some item selects a number of elements known only at run time."""
    return advanced.runtime_masks(items) or any(is_partial(i) for i in items)


def _as_places(items: list) -> list:
    """Masks beside other masks and index arrays as what NumPy makes of them: their `nonzero`."""
    masks = [i for i in items if _is_mask(i)]
    arrays = [i for i in items if is_partial(i) or getattr(i, "ndim", 0) and not _is_mask(i)]
    if not masks or len(masks) + len(arrays) < 2 or not all(m.ndim for m in masks):
        return items
    return [place for i in items for place in (np.nonzero(i) if _is_mask(i) else (i,))]


@means("get_selected")
def get(tensor: Tensor, items: list) -> Any:
    """`tensor[items]`."""
    items = _as_places(items)
    if any(is_partial(i) for i in items):
        dense, extents, inside = _dense_index(items)
        chosen = advanced.select(tensor, dense)
        found: list[Extent | None] = [None] * len(chosen.result)
        for d, extent in zip(chosen.batch, extents, strict=True):
            found[d] = extent
        return Bounded(Tensor.of_value(advanced.read(chosen)), found)
    return target(tensor, items).copy()


@means("put_selected")
def put(tensor: Tensor, items: list, value: object) -> None:
    """`tensor[items] = value`."""
    if not is_partial(value) and isinstance(value, (int, float, complex)) and not isinstance(value, np.generic) \
            and not is_tensor(value):
        np.empty((), tensor.dtype)[...] = value      # NumPy's own errors for numbers that do not fit
    items = _as_places(items)
    if any(is_partial(i) for i in items):
        _put_at(tensor, items, value)
    elif _is_flag_alone(items) and not is_partial(value):
        _put_under_flag(tensor, items, value)
    else:
        target(tensor, items).store(value)


def _is_mask(i: object) -> bool:
    return is_tensor(i) and i.dtype == bool


def _is_flag_alone(items: list) -> bool:
    """Whether a 0-d boolean is all that selects."""
    return sum(_is_mask(i) for i in items) == 1 and all(
        not i.ndim if _is_mask(i) else i is Ellipsis or isinstance(i, slice) and i == slice(None) for i in items)


def _put_under_flag(tensor: Tensor, items: list, value: object) -> None:
    """`a[flag] = value` with a 0-d boolean: all or nothing."""
    flag = next(i for i in items if _is_mask(i))
    source = wrap(value)
    shape = advanced.fitted(source.shape, (1, *tensor.shape))
    new = layouts.broadcast(cast(ops.reshape(source.value(), shape), tensor.dtype), (1, *tensor.shape))
    tensor.assign(ops.select(flag.value(), ops.reshape(new, tensor.shape), tensor.value()))


def target(tensor: Tensor, items: list) -> Bounded:
    """The selection of one run-time mask, as a writable `Bounded` over the array."""
    masks = [i for i in items if _is_mask(i)]
    others = [i for i in items if not _is_mask(i)]
    if len(masks) != 1 or indexing.has_run_time_bounds(others) or not all(
            i is None or i is Ellipsis or isinstance(i, slice) or indexing.is_integer(i) for i in others):
        raise UnsupportedError("A run-time mask together with index arrays, other masks or run-time slices is not "
                               "supported in compiled code.", hint="Index in two steps.", code="index-combination")
    mask = masks[0]
    basic: list[Any] = []
    dimension = axis = 0
    for i in items:
        if _is_mask(i):
            advanced.require_mask_fits(mask.shape, tensor.shape, axis)
            position, extent = dimension, max(mask.ndim, 1)
            basic.extend([slice(None)] * mask.ndim or [None])   # a 0-d one adds a dimension, of extent 1 or 0
            dimension, axis = dimension + extent, axis + mask.ndim
            continue
        basic.append(i)
        if i is not Ellipsis:
            dimension += i is None or isinstance(i, slice)
            axis += i is not None
    view = indexing.view_of(tensor, indexing.parse(tensor, basic))
    return over(view, mask if mask.ndim else mask.reshape(1), position, to_front=not together(items))


def over(view: Tensor, mask: Tensor, position: int, to_front: bool) -> Bounded:
    """The mask's dimensions, which start at `position` of the view, as one masked dimension."""
    lead, rest = view.shape[:position], view.shape[position + mask.ndim:]
    shape = (*lead, mask.size, *rest)
    if mask.ndim != 1:
        strides = layouts.reshaped_strides(view.shape, view.strides_, shape)
        view = view.view(view_steps.GatheredStep(shape, layouts.row_major_strides(shape)) if strides is None else
                         view_steps.ReshapeStep(shape, strides))
    extents: list[Extent | None] = [None] * len(shape)
    extents[position] = Mask(ops.reshape(mask.value(), (mask.size,)))
    if to_front and position:
        order = (position, *(d for d in range(len(shape)) if d != position))
        moved = view.view(view_steps.TransposeStep(order, tuple(shape[d] for d in order)))
        return Bounded(moved, [extents[d] for d in order])
    return Bounded(view, extents)


def together(items: list) -> bool:
    """Mask and integers stand next to each other (NumPy then keeps the place, else puts the dimension first)."""
    at = [n for n, i in enumerate(items) if not (i is None or i is Ellipsis or isinstance(i, slice))]
    return at == list(range(at[0], at[-1] + 1))


# ---- index arrays of run-time size -----------------------------------------------------------------------------

def _dense_index(items: list) -> tuple[list, list[Extent | None], Any]:
    """The items with indices outside their extents set to 0, the extents of all of them together, and where all are
    inside."""
    places = [n for n, i in enumerate(items) if is_partial(i) or getattr(i, "ndim", 0)]
    arrays = [i if is_partial(i) else wrap(i) for i in (items[n] for n in places)]
    if advanced.runtime_masks(items) or indexing.has_run_time_bounds(items) or any(
            a.dtype.kind not in "iu" for a in arrays):
        raise UnsupportedError("This combination of an index of run-time size with other indices is not supported in "
                               "compiled code.", hint=ADVICE, code="index-combination")
    extents, shape = common_extents(arrays, max(a.ndim for a in arrays))
    dense = list(items)
    for place, a in zip(places, arrays, strict=True):
        moved, lead = framed(a, extents, shape), len(extents) - a.ndim
        own = [e if n == most else None for e, n, most in zip(extents[lead:], moved.shape, shape[lead:], strict=True)]
        dense[place] = Bounded(moved, own).filled(0)
    return dense, extents, Bounded(Tensor.of_value(ops.constant(0, np.int64, shape)), extents).valid()


def _put_at(tensor: Tensor, items: list, value: object) -> None:
    """`a[index] = value`: writes outside the extents are dropped."""
    dense, extents, inside = _dense_index(items)
    chosen = advanced.select(tensor, dense)
    if size(chosen.result) == 0:
        return
    updates = cast(_updates(chosen, extents, value), tensor.dtype)
    same = not is_partial(value) and advanced.alike(wrap(value).shape, chosen)
    chosen.view.assign(advanced.write(chosen, updates, "second", unique=False, any_order=same, inside=inside))


def _updates(chosen: advanced.Selection, extents: list, value: object) -> Any:
    """The values to write, moved to the index's extents, of the result's shape."""
    wanted: list[Extent | None] = [None] * len(chosen.result)
    for d, extent in zip(chosen.batch, extents, strict=True):
        wanted[d] = extent
    source = value if is_partial(value) else wrap(value)
    return layouts.broadcast(aligned(source, wanted, chosen.result), chosen.result)


@means("at_selected")
def at(ufunc: np.ufunc, tensor: Tensor, items: list, value: object) -> None:
    """`ufunc.at(tensor, index, value)` with an index of run-time size."""
    items = _as_places(items)
    dense, extents, inside = _dense_index(items)
    chosen = advanced.select(tensor, dense)
    if size(chosen.result) == 0:
        return
    kind = value.dtype if is_partial(value) else weak_type(value)
    combine = advanced.combiner(ufunc, tensor.dtype, loop_dtypes(ufunc, (tensor.dtype, kind, None)))
    if combine is None:
        raise UnsupportedError(f"numpy.{ufunc.__name__}.at with an index of run-time size needs add, subtract, "
                               "multiply, maximum, minimum or a bitwise ufunc, and a value of the array's dtype.",
                               hint="Use one of these, or loop over the indices.", code="array-of-run-time-size")
    updates = cast(_updates(chosen, extents, value), tensor.dtype)
    updates = ops.negate(updates) if ufunc is np.subtract else updates
    chosen.view.assign(advanced.write(chosen, updates, combine, unique=False, inside=inside))
