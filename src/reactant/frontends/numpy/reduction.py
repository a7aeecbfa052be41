"""Reductions and cumulative functions: sums, extremes, means, variances, arg-extremes, and their NaN-ignoring forms.

The accumulating dtype is NumPy's (small integers and bool sum in 64 bits, float16 means in float32). What depends on
the data alone and raises in NumPy (all-NaN slices, weights that sum to zero) is checked at run time.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import layouts
from reactant.frontends.arrays.elementwise import is_nan, loop
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufunc_methods import (
    NEUTRAL,
    accumulate,
    axes_of,
    deliver,
    layout_after,
    one_axis,
    reduce,
)
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_float, shape_of, size

_ABSENT = np._NoValue
BLOCKS_FROM, LEAST_BLOCK = 1 << 14, 128
"""Elements of a row from which its extreme is found by blocks, and of these at least."""
WHOLE_UP_TO = 1 << 17
"""Elements of an argument up to which it is not (NumPy's own function looks through it, `loopnests.arg_extremes`)."""


def flag(value: object, default: bool = False) -> bool:
    """An optional truth argument, NumPy's "no value" included."""
    return default if value is _ABSENT else bool(value)


def _mask_of(where: object) -> object:
    return True if where is _ABSENT else where


def _same_tensor(like: Tensor, value: ir.Value) -> Tensor:
    """A new array with the layout of `like`."""
    strides = like.strides_ if layouts.is_permuted(like.shape, like.strides_) else None
    return Tensor.of_value(value, ARRAY, strides=strides)


# ---- plain reductions ------------------------------------------------------------------------------------------

@implements(np.sum)
def sum(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT,  # noqa: A001
        initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.add, wrap(a), axis, dtype, out, flag(keepdims), initial, _mask_of(where))


@implements(np.prod)
def prod(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT,
         initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.multiply, wrap(a), axis, dtype, out, flag(keepdims), initial, _mask_of(where))


@implements(np.max, np.amax)
def max(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT,  # noqa: A001
        initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.maximum, wrap(a), axis, None, out, flag(keepdims), initial, _mask_of(where))


@implements(np.min, np.amin)
def min(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT,  # noqa: A001
        initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.minimum, wrap(a), axis, None, out, flag(keepdims), initial, _mask_of(where))


@implements(np.any)
def any(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT, *,  # noqa: A001
        where: object = _ABSENT) -> Any:
    return reduce(np.logical_or, wrap(a), axis, None, out, flag(keepdims), where=_mask_of(where))


@implements(np.all)
def all(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT, *,  # noqa: A001
        where: object = _ABSENT) -> Any:
    return reduce(np.logical_and, wrap(a), axis, None, out, flag(keepdims), where=_mask_of(where))


@implements(np.ptp)
def ptp(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT) -> Any:
    a = wrap(a)
    spread = np.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return spread if out is None else deliver(spread.value(), out, name="ptp")


@implements(np.count_nonzero)
def count_nonzero(a: object, axis: object = None, *, keepdims: bool = False) -> Any:
    a = wrap(a)
    return reduce(np.add, np.not_equal(a, 0), axis, np.int64, keepdims=keepdims)


# ---- places of the extremes ------------------------------------------------------------------------------------

def _arg_extreme(a: Tensor, axis: object, out: object, keepdims: object, extreme: np.ufunc, name: str) -> Any:
    """The first place of the extreme (NaN counts as the extreme): reduce, compare, least index that matches."""
    whole = axis is None
    value = ops.reshape(a.value(), (a.size,)) if whole else a.value()
    along = 0 if whole else one_axis(axis, a.ndim or 1)     # a 0-d array counts as one element
    if not a.ndim:
        value = ops.reshape(value, (1,))
    shape = shape_of(value)
    if shape[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    index = ops.convert(first_extreme(value, along, extreme), np.int64)
    if flag(keepdims):
        index = ops.reshape(index, tuple(1 if whole or d == along else n for d, n in enumerate(a.shape)))
    strides = None if whole else layout_after(a, (along,), flag(keepdims))
    return deliver(index, out, strides, name)


def first_extreme(value: ir.Value, axis: int, extreme: np.ufunc) -> ir.Value:
    """int32 (int64 for huge axes) index along `axis` of the first greatest/least element, NaN first.

    Of long rows, the first block is found whose extreme is that of all, and looked through: the rest is read once."""
    shape = shape_of(value)
    given = isinstance(value.owner, ir.Block) and (shape[axis] <= WHOLE_UP_TO or size(shape[:-1]) > 1)
    if axis != len(shape) - 1 or shape[axis] < BLOCKS_FROM or not size(shape[:-1]) or given:
        return _first_of_all(value, axis, extreme)
    n, block = shape[axis], LEAST_BLOCK
    while block * block < n:
        block *= 2
    count, blocks = size(shape[:-1]), n // block
    rows, whole = ops.reshape(value, (count, n)), blocks * block
    found = [ops.reshape(ops.slice(rows, (0, 0), (count, whole)), (count, blocks, block))]
    if whole < n:
        found.append(ops.reshape(ops.slice(rows, (0, whole), (count, n)), (count, 1, n - whole)))
    best = [_extremes(part, 2, extreme) for part in found]
    which = _first_of_all(ops.concatenate(best, 1) if len(best) > 1 else best[0], 1, extreme)
    start = ops.minimum(ops.multiply(which, block), n - block)
    at = ops.concatenate([ops.iota((count, 1), dtype_of(start), 0), ops.reshape(start, (count, 1))], 1)
    window = ops.gather(rows, at, offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0, 1],
                        index_vector_dim=1, slice_sizes=[1, block])
    place = ops.add(start, ops.convert(_first_of_all(window, 1, extreme), dtype_of(start)))
    return ops.reshape(place, shape[:-1])


def _extremes(value: ir.Value, axis: int, extreme: np.ufunc) -> ir.Value:
    dtype = dtype_of(value)
    step = loop(extreme)
    return ops.reduce(value, NEUTRAL[extreme](dtype), [axis], lambda x, y: step([x, y], (dtype,) * 3))


def _first_of_all(value: ir.Value, axis: int, extreme: np.ufunc) -> ir.Value:
    shape, dtype = shape_of(value), dtype_of(value)
    best = _extremes(value, axis, extreme)
    kept = [d for d in range(len(shape)) if d != axis]
    hit = ops.compare(value, ops.broadcast_in_dim(best, shape, kept), "EQ")
    if dtype.kind == "c" or is_float(dtype):
        hit = ops.or_(hit, is_nan(value))
    counter = np.dtype(np.int32 if shape[axis] < 2**31 else np.int64)
    places = ops.select(hit, ops.iota(shape, counter, axis), ops.constant(np.iinfo(counter).max, counter, shape))
    return ops.reduce(places, np.iinfo(counter).max, [axis], "minimum")


@implements(np.argmax)
def argmax(a: object, axis: object = None, out: object = None, *, keepdims: object = _ABSENT) -> Any:
    return _arg_extreme(wrap(a), axis, out, keepdims, np.maximum, "argmax")


@implements(np.argmin)
def argmin(a: object, axis: object = None, out: object = None, *, keepdims: object = _ABSENT) -> Any:
    return _arg_extreme(wrap(a), axis, out, keepdims, np.minimum, "argmin")


# ---- means and variances ---------------------------------------------------------------------------------------

def _mean_dtype(operand: np.dtype, dtype: object) -> np.dtype | None:
    """What sums for means accumulate in: float64 for integers, float32 for float16."""
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.float64) if operand.kind in "biu" else np.dtype(np.float32) if operand == np.float16 else None


def _count(a: Tensor, axes: tuple[int, ...], keepdims: bool, where: object) -> Any:
    """How many elements each mean is of: an int, or a tensor with `where`."""
    if where is True:
        return size([a.shape[d] for d in axes])
    mask = Tensor.of_value(layouts.broadcast(wrap(where).value(), a.shape))
    return reduce(np.add, mask, axes, np.int64, keepdims=keepdims)


def _divided(total: Tensor, count: Any, dtype: np.dtype, out: object, name: str) -> Any:
    """total / count converted to `dtype`, into `out` when given."""
    quotient = total / count
    value = cast(cast(quotient.value(), total.dtype), dtype)
    return deliver(value, out, total.strides_ if layouts.is_permuted(total.shape, total.strides_) else None, name)


def _last(dtype: object, accumulated: np.dtype, operand: np.dtype) -> np.dtype:
    return np.dtype(np.float16) if dtype is None and operand == np.float16 else accumulated


@implements(np.mean)
def mean(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT, *,
         where: object = _ABSENT) -> Any:
    a, where = wrap(a), _mask_of(where)
    axes = axes_of(axis, a.ndim)
    total = _summed(a, axes, _mean_dtype(a.dtype, dtype), flag(keepdims), where)
    return _divided(total, _count(a, axes, flag(keepdims), where), _last(dtype, total.dtype, a.dtype), out, "mean")


def _summed(a: Tensor, axes: tuple[int, ...], dtype: np.dtype | None, keepdims: bool, where: object = True) -> Tensor:
    return wrap(reduce(np.add, a, axes, dtype, None, keepdims, where=where))


def _freedom(ddof: object, correction: object) -> Any:
    if correction is _ABSENT:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _squares(x: Tensor) -> Tensor:
    """|x|**2, real."""
    if x.dtype.kind != "c":
        return np.square(x)
    value = x.value()
    re, im = ops.real(value), ops.imag(value)
    return _same_tensor(x, ops.add(ops.multiply(re, re), ops.multiply(im, im)))


def _variance(a: object, axis: object, dtype: object, out: object, ddof: Any, keepdims: object, where: object,
              given_mean: object, root: bool) -> Any:
    a, where = wrap(a), _mask_of(where)
    axes, kept = axes_of(axis, a.ndim), flag(keepdims)
    chosen = _mean_dtype(a.dtype, dtype)
    if given_mean is _ABSENT or given_mean is None:
        total = _summed(a, axes, chosen, True, where)
        center = _divided(total, _count(a, axes, True, where), total.dtype, None, "var")
    else:
        center = wrap(given_mean)
    narrow = a.dtype == np.float16 and chosen == np.float32
    deviation = np.subtract(a.astype(np.float32) if narrow else a, center)
    total = _summed(_squares(wrap(deviation)), axes, _real(chosen), kept, where)
    count = _count(a, axes, kept, where)
    free = np.maximum(np.subtract(count, ddof), 0)
    free = free if is_tensor(free) or is_tensor(ddof) else free.item()
    result = np.true_divide(total, free)
    value = cast(wrap(result).value(), total.dtype)
    if root:
        value = cast(ops.sqrt(value if total.dtype.kind == "f" else cast(value, np.float64)), total.dtype)
    value = cast(value, _last(dtype, total.dtype, a.dtype))
    return deliver(value, out, layout_after(a, axes, kept), "std" if root else "var")


def _real(dtype: np.dtype | None) -> np.dtype | None:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype is not None and dtype.kind == "c" else dtype


@implements(np.var)
def var(a: object, axis: object = None, dtype: object = None, out: object = None, ddof: object = 0,
        keepdims: object = _ABSENT, *, where: object = _ABSENT, mean: object = _ABSENT,
        correction: object = _ABSENT) -> Any:
    return _variance(a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean, root=False)


@implements(np.std)
def std(a: object, axis: object = None, dtype: object = None, out: object = None, ddof: object = 0,
        keepdims: object = _ABSENT, *, where: object = _ABSENT, mean: object = _ABSENT,
        correction: object = _ABSENT) -> Any:
    return _variance(a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean, root=True)


@implements(np.average)
def average(a: object, axis: object = None, weights: object = None, returned: bool = False, *,
            keepdims: object = _ABSENT) -> Any:
    """sum(a * w) / sum(w); ZeroDivisionError after the call where the weights sum to zero."""
    a = wrap(a)
    axes, kept = axes_of(axis, a.ndim), flag(keepdims)
    if weights is None:
        average_ = mean(a, axis, keepdims=keepdims)
        scale = a.size / average_.size
        scale = Tensor.of_value(ops.constant(scale, average_.dtype, average_.shape), average_.kind)
    else:
        w = _weights(a, axis, axes, wrap(weights))
        integral = (np.float64,) if a.dtype.kind in "biu" else ()
        dtype = np.result_type(a.dtype, w.dtype, *integral)
        scale = wrap(reduce(np.add, w, axes, dtype, keepdims=kept))
        zero = ops.compare(scale.value(), 0, "EQ")
        current_trace().check(ops.not_(ops.reduce(zero, False, range(scale.ndim), "or")),
                              lambda: ZeroDivisionError("Weights sum to zero, can't be normalized"))
        product = np.multiply(a, w, dtype=dtype)
        average_ = np.true_divide(reduce(np.add, product, axes, dtype, keepdims=kept), scale)
    if not returned:
        return average_
    return average_, scale if scale.shape == average_.shape else np.broadcast_to(scale, average_.shape).copy()


def _weights(a: Tensor, axis: object, axes: tuple[int, ...], w: Tensor) -> Tensor:
    """Weights in the shape of `a`: as they are, or laid along `axis`."""
    if w.shape == a.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(a.shape[d] for d in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return Tensor.of_value(ops.broadcast_in_dim(w.value(), a.shape, axes))


# ---- cumulative functions --------------------------------------------------------------------------------------

def _cumulative(ufunc: np.ufunc, a: object, axis: object, dtype: object, out: object) -> Any:
    a = wrap(a)
    if axis is None or not a.ndim:
        a, axis = np.ravel(a), 0 if axis is None else axis
    return accumulate(ufunc, a, axis, dtype, out)


@implements(np.cumsum)
def cumsum(a: object, axis: object = None, dtype: object = None, out: object = None) -> Any:
    return _cumulative(np.add, a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(a: object, axis: object = None, dtype: object = None, out: object = None) -> Any:
    return _cumulative(np.multiply, a, axis, dtype, out)


def _cumulative_with_start(ufunc: np.ufunc, x: object, axis: object, dtype: object, out: object,
                           include_initial: bool) -> Any:
    x = wrap(x)
    if x.ndim == 0:
        x = np.reshape(x, (1,))
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    found = accumulate(ufunc, x, axis, dtype, None if include_initial else out)
    if not include_initial:
        return found
    along = one_axis(axis, x.ndim)
    shape = (*x.shape[:along], 1, *x.shape[along + 1:])
    start = ops.constant(ufunc.identity, found.dtype, shape)
    return deliver(ops.concatenate([start, wrap(found).value()], along), out, name="cumulative")


def cumulative_sum(x: object, /, *, axis: object = None, dtype: object = None, out: object = None,
                   include_initial: bool = False) -> Any:
    return _cumulative_with_start(np.add, x, axis, dtype, out, include_initial)


def cumulative_prod(x: object, /, *, axis: object = None, dtype: object = None, out: object = None,
                    include_initial: bool = False) -> Any:
    return _cumulative_with_start(np.multiply, x, axis, dtype, out, include_initial)


if hasattr(np, "cumulative_sum"):      # NumPy 2.1 on
    implements(np.cumulative_sum)(cumulative_sum)
    implements(np.cumulative_prod)(cumulative_prod)


# ---- ignoring NaN ----------------------------------------------------------------------------------------------

def without_nan(a: object, number: object) -> Tensor:
    """`a` with NaN replaced by `number`; integers as they are."""
    a = wrap(a)
    if a.dtype.kind not in "fc":
        return a
    value = a.value()
    return _same_tensor(a, ops.select(is_nan(value), number, value))


@implements(np.nansum)
def nansum(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT,
           initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return sum(without_nan(a, 0), axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT,
            initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return prod(without_nan(a, 1), axis, dtype, out, keepdims, initial, where)


@implements(np.nanmax)
def nanmax(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT,
           initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.fmax, wrap(a), axis, None, out, flag(keepdims), initial, _mask_of(where))


@implements(np.nanmin)
def nanmin(a: object, axis: object = None, out: object = None, keepdims: object = _ABSENT,
           initial: object = _ABSENT, where: object = _ABSENT) -> Any:
    return reduce(np.fmin, wrap(a), axis, None, out, flag(keepdims), initial, _mask_of(where))


def _nan_arg_extreme(a: Tensor, axis: object, out: object, keepdims: object, largest: bool) -> Any:
    name, extreme = ("nanargmax", np.maximum) if largest else ("nanargmin", np.minimum)
    if a.dtype.kind in "fc":
        everything = all(np.isnan(a), axis)
        current_trace().check(ops.not_(ops.reduce(everything.value(), False, range(everything.ndim), "or")),
                              lambda: ValueError("All-NaN slice encountered"))
        a = without_nan(a, -np.inf if largest else np.inf)
    return _arg_extreme(a, axis, out, keepdims, extreme, name)


@implements(np.nanargmax)
def nanargmax(a: object, axis: object = None, out: object = None, *, keepdims: object = _ABSENT) -> Any:
    return _nan_arg_extreme(wrap(a), axis, out, keepdims, largest=True)


@implements(np.nanargmin)
def nanargmin(a: object, axis: object = None, out: object = None, *, keepdims: object = _ABSENT) -> Any:
    return _nan_arg_extreme(wrap(a), axis, out, keepdims, largest=False)


@implements(np.nancumsum)
def nancumsum(a: object, axis: object = None, dtype: object = None, out: object = None) -> Any:
    return cumsum(without_nan(a, 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: object, axis: object = None, dtype: object = None, out: object = None) -> Any:
    return cumprod(without_nan(a, 1), axis, dtype, out)


def _known_elements(a: Tensor, axes: tuple[int, ...], keepdims: bool, where: object) -> Tensor:
    """The number of elements that are not NaN."""
    valid = np.logical_not(np.isnan(a))
    return wrap(reduce(np.add, valid, axes, np.int64, keepdims=keepdims, where=where))


def _require_inexact(dtype: object, name: str) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


@implements(np.nanmean)
def nanmean(a: object, axis: object = None, dtype: object = None, out: object = None, keepdims: object = _ABSENT, *,
            where: object = _ABSENT) -> Any:
    a = wrap(a)
    if a.dtype.kind not in "fc":
        return mean(a, axis, dtype, out, keepdims, where=where)
    _require_inexact(dtype, "nanmean")
    axes, mask = axes_of(axis, a.ndim), _mask_of(where)
    total = _summed(without_nan(a, 0), axes, _mean_dtype(a.dtype, dtype), flag(keepdims), mask)
    count = _known_elements(a, axes, flag(keepdims), mask)
    return _divided(total, count, _last(dtype, total.dtype, a.dtype), out, "nanmean")


def _nan_variance(a: object, axis: object, dtype: object, out: object, ddof: Any, keepdims: object, where: object,
                  given_mean: object, root: bool) -> Any:
    a = wrap(a)
    if a.dtype.kind not in "fc":
        return _variance(a, axis, dtype, out, ddof, keepdims, where, given_mean, root)
    _require_inexact(dtype, "nanvar")
    axes, kept, mask = axes_of(axis, a.ndim), flag(keepdims), _mask_of(where)
    chosen = _mean_dtype(a.dtype, dtype)
    filled = without_nan(a, 0)
    if given_mean is _ABSENT or given_mean is None:
        total = _summed(filled, axes, chosen, True, mask)
        center = _divided(total, _known_elements(a, axes, True, mask), total.dtype, None, "nanvar")
    else:
        center = wrap(given_mean)
    narrow = a.dtype == np.float16 and chosen == np.float32
    squares = _squares(wrap(np.subtract(filled.astype(np.float32) if narrow else filled, center)))
    squares = _same_tensor(squares, ops.select(is_nan(a.value()), 0, squares.value()))
    total = _summed(squares, axes, _real(chosen), kept, mask)
    free = np.subtract(_known_elements(a, axes, kept, mask), ddof)
    value = cast(wrap(np.true_divide(total, free)).value(), total.dtype)
    value = ops.select(ops.compare(wrap(free).value(), 0, "LE"), np.nan, value)
    value = cast(ops.sqrt(value) if root else value, _last(dtype, total.dtype, a.dtype))
    return deliver(value, out, layout_after(a, axes, kept), "nanvar")


@implements(np.nanvar)
def nanvar(a: object, axis: object = None, dtype: object = None, out: object = None, ddof: object = 0,
           keepdims: object = _ABSENT, *, where: object = _ABSENT, mean: object = _ABSENT,
           correction: object = _ABSENT) -> Any:
    return _nan_variance(a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean, root=False)


@implements(np.nanstd)
def nanstd(a: object, axis: object = None, dtype: object = None, out: object = None, ddof: object = 0,
           keepdims: object = _ABSENT, *, where: object = _ABSENT, mean: object = _ABSENT,
           correction: object = _ABSENT) -> Any:
    return _nan_variance(a, axis, dtype, out, _freedom(ddof, correction), keepdims, where, mean, root=True)
