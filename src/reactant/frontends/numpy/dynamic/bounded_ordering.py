"""Order in arrays of run-time size: places of extremes, sorting, medians and quantiles, along any axis.

What is asked for is moved to the front of its dimension first; behind it stand elements that come last.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import ADVICE, Bounded, as_number, flattened, is_partial, with_extents
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import (
    TABLE,
    _finished,
    compact,
    highest,
    lowest,
    missing,
    on_bounded,
    require_elements,
    require_vector,
)
from reactant.frontends.numpy.sorting import keys_of, order_of_keys
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops


def _along(a: Any, axis: Any, name: str) -> tuple[Bounded, int]:
    """The array that a function of one axis works on, and the axis: None means all elements in one dimension."""
    if not is_partial(a):
        raise UnsupportedError(f"numpy.{name}: an argument of run-time size is not supported here.", hint=ADVICE,
                               code="array-of-run-time-size")
    return (flattened(a), 0) if axis is None and a.ndim > 1 else (a, axis_in(0 if axis is None else axis, a.ndim))


def _rest(a: Bounded, result: Any, d: int, keepdims: bool) -> Any:
    """The result with the extents of the dimensions but `d`."""
    left = [None if k == d else e for k, e in enumerate(a.extents) if keepdims or k != d]
    return with_extents(result, left)


def _shaped(result: Any, a: Bounded, whole: Bounded, keepdims: bool) -> Any:
    """The result over all elements of `whole`, which were put into one dimension."""
    return np.reshape(result, (1,) * whole.ndim) if keepdims and a is not whole else result


def _ends_last(a: Bounded, d: int) -> Bounded:
    """Moved to the front of dimension `d`, with what sorts last behind."""
    front = compact(a, d)
    fill = missing(a.dtype) if a.dtype.kind in "fc" else highest(a.dtype)
    return Bounded(front.filled(fill, [d]), front.extents)


# ---- extremes --------------------------------------------------------------------------------------------------

def _position(function: Callable, fill: Callable, name: str) -> Callable:
    def run(a: Any, axis: object = None, out: Any = None, keepdims: bool = False) -> Any:
        whole, (a, d) = a, _along(a, axis, name)
        require_elements(a, [d], f"attempt to get {name} of an empty sequence")
        front = compact(a, d)
        found = function(front.filled(fill(a.dtype), [d]), axis=d, keepdims=keepdims and a is whole)
        return _finished(_shaped(_rest(a, found, d, keepdims), a, whole, keepdims), out)
    return run


TABLE[np.argmax] = _position(np.argmax, lowest, "argmax")
TABLE[np.argmin] = _position(np.argmin, highest, "argmin")


# ---- sorting ---------------------------------------------------------------------------------------------------

@on_bounded(np.sort)
def sort(a: Any, axis: Any = -1, kind: object = None, order: object = None, *, stable: object = None) -> Bounded:
    a, d = _along(a, axis, "sort")
    last = _ends_last(a, d)
    return Bounded(np.sort(last.frame, axis=d), last.extents)


@on_bounded(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: object = None, order: object = None, *, stable: object = None) -> Bounded:
    a, d = _along(a, axis, "argsort")
    front = compact(a, d)
    valid = front.valid([d])
    outside = ops.constant(False, bool, front.frame.shape) if valid is None else ops.not_(valid)
    keys = [ops.convert(outside, np.uint8), *keys_of(front.value())]
    return Bounded(Tensor.of_value(order_of_keys(keys, d)), front.extents)


@on_bounded(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: object = None) -> Any:
    if is_partial(v):
        return Bounded(np.searchsorted(a, v.frame, side, sorter), v.extents)
    if sorter is not None:
        raise UnsupportedError("np.searchsorted in an array of run-time size through a sorter.", hint=ADVICE,
                               code="array-of-run-time-size")
    require_vector(a, "searchsorted")
    found = np.searchsorted(_ends_last(a, 0).frame, v, side)
    return np.minimum(found, Tensor.of_value(as_number(a.length(0)), SCALAR))


# ---- medians and quantiles -------------------------------------------------------------------------------------

def _with_nan(a: Bounded, d: int, result: Any, keepdims: bool = False) -> Any:
    """NaN where there is one along `d`, as NumPy has it."""
    if a.dtype.kind not in "fc":
        return result
    missed = np.any(np.isnan(a).filled(False, [d]), axis=d, keepdims=keepdims)
    return np.where(missed, np.asarray(np.nan, result.dtype), result)[()]


@on_bounded(np.median)
def median(a: Any, axis: object = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """NaN of no elements."""
    whole, (a, d) = a, _along(a, axis, "median")
    n, window = as_number(a.length(d)), [1 if k == d else m for k, m in enumerate(a.frame.shape)]
    frame = _ends_last(a, d).frame if a.frame.shape[d] else wrap(np.zeros(window, a.dtype))
    ordered, size = np.sort(frame, axis=d).value(), max(a.frame.shape[d], 1)
    middle = []
    for k in (1, 0):
        place = ops.clamp(0, ops.divide(ops.subtract(n, k), 2), size - 1)
        starts = [place if m == d else ops.constant(0, np.int64) for m in range(a.ndim)]
        middle.append(Tensor.of_value(ops.dynamic_slice(ordered, starts, window)))
    kept = keepdims and a is whole
    result = _with_nan(a, d, np.mean(np.concatenate(middle, axis=d), axis=d, keepdims=kept), kept)
    result = np.where(Tensor.of_value(ops.compare(n, 0, "EQ"), SCALAR), np.asarray(np.nan, result.dtype), result)[()]
    return _finished(_shaped(_rest(a, result, d, keepdims), a, whole, keepdims), out)


def _quantile(function: Callable, name: str) -> Callable:
    def run(a: Any, q: Any, axis: object = None, out: object = None, overwrite_input: bool = False,
            method: str = "linear", keepdims: bool = False) -> Any:
        """What lies outside becomes NaN and is ignored; a NaN inside makes the result NaN."""
        whole, (a, d) = a, _along(a, axis, name)
        others = any(e is not None for k, e in enumerate(a.extents) if k != d)
        if out is not None or is_partial(q) or (method != "linear" and a.dtype.kind != "f") or keepdims and (
                a is not whole) or others and np.ndim(q):
            raise UnsupportedError(f"numpy.{name} of an array of run-time size takes numbers q, method='linear' and "
                                   "no out= in compiled code.", hint=ADVICE, code="array-of-run-time-size")
        if a.dtype.kind != "f":
            a = a.astype(np.float64)
        some = ops.compare(as_number(a.length(d)), 0, "GT")
        current_trace().check(some, lambda: IndexError("index -1 is out of bounds for axis 0 with size 0"))
        result = function(a.filled(np.nan, [d]), q, axis=d, method=method, keepdims=keepdims)
        return _rest(a, _with_nan(a, d, result, keepdims), d, keepdims)
    return run


on_bounded(np.percentile)(_quantile(np.nanpercentile, "percentile"))
on_bounded(np.quantile)(_quantile(np.nanquantile, "quantile"))
