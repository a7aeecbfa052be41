"""NumPy's functions on arrays of run-time size (`bounded.Bounded`): elementwise, reductions, scans, products, sorting.

Every function here fills what lies outside with an element that cannot change the result, and then is NumPy's own
function on the frame. A function that is not in the tables raises.
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import advanced, memory_order
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Extent,
    Mask,
    Range,
    aligned,
    as_number,
    by_position,
    common_extents,
    flattened,
    framed,
    guarded_copy,
    is_partial,
    minus,
    require_equal,
    with_extents,
)
from reactant.frontends.arrays.dynamic.bounded_slices import in_frame
from reactant.frontends.arrays.layouts import shape_text
from reactant.frontends.arrays.promotion import loop_dtypes
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor, python_number, wrap
from reactant.frontends.arrays.ufuncs import weak_type
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.trace import current_trace
from reactant.frontends.texts.failures import failure
from reactant.ir import ops
from reactant.ir.types import is_float, real_dtype

TABLE: dict[Callable, Callable] = {}


def on_bounded(*functions: Callable) -> Callable:
    """Register what a NumPy function does when an argument has a run-time size."""
    def register(ours: Callable) -> Callable:
        for function in functions:
            TABLE[function] = ours
        return ours
    return register


@means("function_dynamic")
def call(function: Callable, args: tuple, kwargs: dict) -> Any:
    """NumPy's `function` with an argument of run-time size."""
    ours = TABLE.get(function)
    if ours is not None:
        try:
            inspect.signature(ours).bind(*args, **kwargs)
        except TypeError as error:
            raise UnsupportedError(f"{_name(function)} of an array of run-time size: {error}.", hint=ADVICE,
                                   code="array-of-run-time-size") from None
        return ours(*args, **kwargs)
    if isinstance(function, type) and issubclass(function, np.generic) and len(args) == 1 and not kwargs:
        return args[0].astype(function)
    if function in ELEMENTWISE:
        out = kwargs.pop("out", None)
        return _finished(elementwise(lambda *parts: function(*parts, **kwargs), args), out)
    raise UnsupportedError(f"{_name(function)} of an array of run-time size is not supported in compiled code.",
                           hint=ADVICE, code="array-of-run-time-size")


def _name(function: Callable) -> str:
    module = getattr(function, "__module__", None)
    return f"{module if module in ('numpy.fft', 'numpy.linalg') else 'numpy'}.{getattr(function, '__name__', function)}"


# ---- elementwise -----------------------------------------------------------------------------------------------

ELEMENTWISE = {np.clip, np.round, np.around, np.real, np.imag, np.isclose, np.nan_to_num, np.angle,
               np.fix, np.copy, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.i0, np.sinc, np.isreal,
               np.iscomplex, np.isneginf, np.isposinf}
"""Functions that act element by element on their positional arguments."""


def elementwise(function: Callable, operands: Sequence) -> Bounded:
    """`function` of the frames, after operands have been moved to one extent."""
    parts = [x if is_partial(x) or x is None or isinstance(x, (bool, int, float, complex)) else wrap(x)
             for x in operands]
    arrays = [p for p in parts if is_partial(p) or is_tensor(p)]
    rank = max(a.ndim for a in arrays)
    extents, shape = common_extents(arrays, rank)
    return Bounded(function(*(framed(p, extents, shape) if is_partial(p) or is_tensor(p) else p for p in parts)),
                   extents)


@means("ufunc_dynamic")
def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """`ufunc.method` with an operand of run-time size."""
    if method == "at":
        target, key, *values = inputs
        places = key if is_tensor(target) else in_frame(target, key)
        if places is not None:
            advanced.at(ufunc, target if is_tensor(target) else target.frame, places, *values, **kwargs)
            return None
    if method == "at" or ufunc.signature is not None and ufunc not in PRODUCTS:
        raise UnsupportedError(f"numpy.{ufunc.__name__} ({method}) on an array of run-time size is not supported in "
                               "compiled code.", hint=ADVICE, code="array-of-run-time-size")
    if method in ("reduce", "accumulate"):
        return _by_method(ufunc, method, *inputs, **kwargs)
    if method == "outer":
        x, y = (a if is_partial(a) else wrap(a) for a in inputs)
        return ufunc(x[(..., *(None,) * y.ndim)], y, **kwargs)
    if method != "__call__":
        raise UnsupportedError(f"numpy.{ufunc.__name__}.{method} on an array of run-time size is not supported in "
                               "compiled code.", hint=ADVICE, code="array-of-run-time-size")
    out = kwargs.pop("out", None)
    out = out[0] if isinstance(out, tuple) else out
    if ufunc in PRODUCTS:
        result = PRODUCTS[ufunc](*inputs, **kwargs)
    else:
        if isinstance(kwargs.get("where", True), Bounded):
            raise UnsupportedError("where= of run-time size is not supported in compiled code.", hint=ADVICE,
                                   code="array-of-run-time-size")
        if ufunc is np.power and is_partial(inputs[1]) and inputs[1].dtype.kind == "i":
            inputs = (inputs[0], Bounded(inputs[1].filled(1), inputs[1].extents))   # no false alarm from outside
        result = elementwise(lambda *parts: ufunc(*parts, **kwargs), inputs)
    if out is None:
        return result
    if ufunc.signature is None:      # NumPy's own error where the result cannot be stored
        loop_dtypes(ufunc, (*(x.dtype if is_partial(x) else weak_type(x) for x in inputs), out.dtype))
    (out if is_partial(out) else Bounded(out, [None] * out.ndim)).store(result)
    return out


# ---- reductions ------------------------------------------------------------------------------------------------

def lowest(dtype: np.dtype) -> object:
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return False if dtype.kind == "b" else -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> object:
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return True if dtype.kind == "b" else np.inf if is_float(dtype) else np.iinfo(dtype).max


def missing(dtype: np.dtype) -> object:
    """What nan-ignoring functions ignore; integers have none."""
    if dtype.kind == "c":
        return complex(np.nan, np.nan)
    return np.nan if is_float(dtype) else 0


def _constantly(value: object) -> Callable[[np.dtype], object]:
    return lambda dtype: value


FILLS: dict[Callable, Callable[[np.dtype], object]] = {
    np.sum: _constantly(0), np.prod: _constantly(1), np.any: _constantly(0), np.all: _constantly(1),
    np.max: lowest, np.amax: lowest, np.min: highest, np.amin: highest, np.count_nonzero: _constantly(0),
    np.nansum: _constantly(0), np.nanprod: _constantly(1), np.cumsum: _constantly(0), np.cumprod: _constantly(1),
    np.linalg.norm: _constantly(0),
}
"""Reductions and scans, and the element that does not change them."""
SCANS = {np.cumsum, np.cumprod, np.add.accumulate, np.multiply.accumulate}
NEEDS_ELEMENTS = {np.max: "maximum", np.amax: "maximum", np.min: "minimum", np.amin: "minimum"}
UFUNC_FILLS = {np.add: _constantly(0), np.multiply: _constantly(1), np.maximum: lowest, np.minimum: highest,
               np.logical_and: _constantly(1), np.logical_or: _constantly(0), np.bitwise_or: _constantly(0),
               np.bitwise_xor: _constantly(0), np.logical_xor: _constantly(0)}


def _axes(a: Bounded, axis: object) -> list[int]:
    if axis is None:
        return list(range(a.ndim))
    return [axis_in(x, a.ndim) for x in (axis if isinstance(axis, tuple) else (axis,))]


def _plain_keywords(kwargs: dict) -> dict:
    if any(is_partial(v) for v in kwargs.values()):
        raise UnsupportedError("An argument of run-time size is not supported here in compiled code.", hint=ADVICE,
                               code="array-of-run-time-size")
    return kwargs


def _remaining(a: Bounded, result: Any, gone: list[int], keepdims: bool) -> Any:
    """The result with the extents of the dimensions that were not reduced."""
    left = [None if d in gone else e for d, e in enumerate(a.extents) if keepdims or d not in gone]
    return with_extents(result, left)


def _reduce(function: Callable, fill: Callable, a: Any, axis: object, **kwargs: Any) -> Any:
    if not is_partial(a):
        raise UnsupportedError(f"{_name(function)}: an argument of run-time size is not supported here.", hint=ADVICE,
                               code="array-of-run-time-size")
    gone = _axes(a, axis)
    dense = a.filled(fill(a.dtype), gone)
    scan = function in SCANS
    if function in NEEDS_ELEMENTS and kwargs.get("initial", np._NoValue) is np._NoValue:
        require_elements(a, gone, f"zero-size array to reduction operation {NEEDS_ELEMENTS[function]} which has no "
                                  "identity")
    if scan and axis is None and a.ndim > 1:
        return function(flattened(a), axis=0, **kwargs)
    if scan:
        return Bounded(function(dense, axis=gone[0], **kwargs), a.extents)
    result = function(dense, axis=tuple(gone) if not isinstance(axis, int) else axis, **kwargs)
    return _remaining(a, result, gone, bool(kwargs.get("keepdims", False)))


def require_elements(a: Any, axes: list[int], text: str, error: type[Exception] = ValueError) -> None:
    """An error (at run time) when one of `axes` is empty."""
    for d in axes:
        n = a.length(d) if is_partial(a) else a.shape[d]
        if isinstance(n, int):
            if n == 0:
                raise error(text)
        else:
            current_trace().check(ops.compare(n, 0, "GT"), lambda: error(text))


def _reduction(function: Callable) -> Callable:
    fill = FILLS[function]
    if function is np.linalg.norm:
        return _norm
    return lambda a, axis=None, dtype=None, out=None, **kwargs: _finished(_reduce(
        function, fill, a, axis, **({} if dtype is None else {"dtype": dtype}), **_plain_keywords(kwargs)), out)


def _finished(result: Any, out: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def _extreme(function: Callable) -> Callable:
    fill = FILLS[function]
    return lambda a, axis=None, out=None, **kwargs: _finished(
        _reduce(function, fill, a, axis, **_plain_keywords(kwargs)), out)


for _function in FILLS:
    if _function is not np.linalg.norm:
        TABLE[_function] = _extreme(_function) if _function in (
            *NEEDS_ELEMENTS, np.any, np.all, np.count_nonzero) else _reduction(_function)


def _by_method(ufunc: np.ufunc, method: str, a: Any, axis: object = 0, **kwargs: Any) -> Any:
    if ufunc not in UFUNC_FILLS:
        raise UnsupportedError(f"numpy.{ufunc.__name__}.{method} of an array of run-time size is not supported in "
                               "compiled code.", hint=ADVICE, code="array-of-run-time-size")
    fill = UFUNC_FILLS[ufunc](a.dtype)
    gone = _axes(a, axis)
    if ufunc in (np.maximum, np.minimum) and method == "reduce" and kwargs.get("initial") is None:
        require_elements(a, gone, f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    result = getattr(ufunc, method)(a.filled(fill, gone), axis=axis, **kwargs)
    return Bounded(result, a.extents) if method == "accumulate" else _remaining(
        a, result, gone, bool(kwargs.get("keepdims", False)))


def _count(a: Bounded, gone: list[int]) -> Tensor:
    """How many elements are reduced, as a float64 scalar (an intp in NumPy, divided as a float)."""
    total = ops.constant(1, np.int64)
    for d in gone:
        total = ops.multiply(total, as_number(a.length(d)))
    return Tensor.of_value(total, SCALAR)


def _inexact(dtype: np.dtype, asked: object) -> np.dtype:
    if asked is not None:
        return np.dtype(asked)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


@on_bounded(np.mean)
def mean(a: Any, axis: object = None, dtype: object = None, out: Any = None, keepdims: bool = False) -> Any:
    gone = _axes(a, axis)
    wide = _inexact(a.dtype, dtype)
    work = np.dtype(np.float32) if wide == np.float16 else wide
    total = TABLE[np.sum](a, axis, dtype=work, keepdims=keepdims)
    return _finished((total / _count(a, gone).astype(real_dtype(work))).astype(wide), out)


@on_bounded(np.var)
def var(a: Any, axis: object = None, dtype: object = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False) -> Any:
    gone = _axes(a, axis)
    wide = _inexact(a.dtype, dtype)
    work = np.dtype(np.float32) if wide == np.float16 else wide
    distance = a.astype(work) - mean(a, axis if axis is None else tuple(gone), work, keepdims=True)
    square = (distance * np.conj(distance)).real
    total = TABLE[np.sum](square, axis, keepdims=keepdims)
    real = real_dtype(work)
    divisor = np.maximum(_count(a, gone) - ddof, 0).astype(real)
    return _finished((total / divisor).astype(real_dtype(wide)), out)


@on_bounded(np.std)
def std(a: Any, axis: object = None, dtype: object = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False) -> Any:
    return _finished(np.sqrt(var(a, axis, dtype, ddof=ddof, keepdims=keepdims)), out)


@on_bounded(np.ptp)
def ptp(a: Any, axis: object = None, out: Any = None, keepdims: bool = False) -> Any:
    return _finished(np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims), out)


@on_bounded(np.average)
def average(a: Any, axis: object = None, weights: Any = None) -> Any:
    if weights is None:
        return mean(a, axis)
    if axis is None and getattr(weights, "ndim", 0) != a.ndim:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    return np.sum(a * weights, axis=axis) / np.sum(weights, axis=axis)


@on_bounded(np.linalg.norm)
def _norm(x: Any, ord: object = None, axis: object = None, keepdims: bool = False) -> Any:  # noqa: A002
    if ord is not None and (x.ndim != 1 or ord == -np.inf or (isinstance(ord, (int, float)) and ord < 0)):
        raise UnsupportedError("np.linalg.norm of this order on an array of run-time size is not supported.",
                               hint=ADVICE, code="array-of-run-time-size")
    gone = _axes(x, axis)
    return _remaining(x, np.linalg.norm(x.filled(0, gone), ord, axis, keepdims), gone, keepdims)


# ---- places ----------------------------------------------------------------------------------------------------

def compact(a: Bounded, d: int = 0) -> Bounded:
    """Dimension `d` moved to start at 0."""
    extents = list(a.extents)
    extents[d] = Range(0, a.length(d))
    return Bounded(Tensor.of_value(aligned(a, extents, a.frame.shape)), extents)


def require_vector(a: Any, name: str) -> None:
    if not is_partial(a) or a.ndim != 1:
        raise UnsupportedError(f"numpy.{name} of an array of run-time size needs one dimension.", hint=ADVICE,
                               code="array-of-run-time-size")


def _ignoring_nan(function: Callable, without_nan: Callable) -> Callable:
    """What lies outside becomes NaN, which `function` ignores; integers have none, and need none."""
    def run(a: Any, axis: object = None, **kwargs: Any) -> Any:
        if a.dtype.kind not in "fc":
            return without_nan(a, axis=axis, **kwargs)
        gone = _axes(a, axis)
        result = function(a.filled(missing(a.dtype), gone), axis=axis, **_plain_keywords(kwargs))
        return _remaining(a, result, gone, bool(kwargs.get("keepdims", False)))
    return run


for _function, _plain in {np.nanmax: np.max, np.nanmin: np.min, np.nanmean: np.mean, np.nanvar: np.var,
                          np.nanstd: np.std}.items():
    TABLE[_function] = _ignoring_nan(_function, _plain)


@on_bounded(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return python_number(np.all(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)).value())


@on_bounded(np.shape)
def shape_of_bounded(a: Bounded) -> tuple:
    return a.shape


@on_bounded(np.ndim)
def rank_of_bounded(a: Bounded) -> int:
    return a.ndim


@on_bounded(np.size)
def size_of_bounded(a: Bounded, axis: int | None = None) -> Any:
    return a.size if axis is None else a.shape[axis]


@on_bounded(np.transpose)
def transpose(a: Bounded, axes: Sequence[int] | None = None) -> Bounded:
    return a.transpose(*(axes or ()))


@on_bounded(np.ravel)
def ravel(a: Bounded, order: str = "C") -> Bounded:
    return a.ravel(order)


@on_bounded(np.reshape)
def reshape(a: Bounded, shape: Any, order: str = "C") -> Any:
    """To a known shape, which has to have as many elements; or with dimensions of one element."""
    new = shape_tuple(shape)
    if all(n in (-1, 1) for n in new) and new.count(-1) == 1 and (a.ndim == 1 or new == (-1,)):
        return a.ravel(order)[tuple(None if n == 1 else slice(None) for n in new)]
    order = memory_order.letter(order, permitted="CFA")
    if -1 in new or order == "A":
        raise UnsupportedError("numpy.reshape of an array of run-time size needs a shape that is known, without -1.",
                               hint=ADVICE, code="array-of-run-time-size")
    flat = by_position(a.flatten(order))
    count, length = math.prod(new), as_number(flat.length(0))
    error = ValueError(f"cannot reshape array of size {python_number(length)} into shape {shape_text(new)}")
    current_trace().check(ops.compare(length, count, "EQ"), failure(error))
    values = ops.pad(flat.frame.value(), 0, [0], [count - flat.frame.size])
    return np.reshape(guarded_copy(Tensor.of_value(values), a.frame), new, order=order)


@on_bounded(np.trace)
def trace(a: Bounded, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None, out: Any = None) -> Any:
    first, second = axis_in(axis1, a.ndim), axis_in(axis2, a.ndim)
    dense = compact(compact(a, first), second).filled(0, [first, second])
    if a.ndim > 2:
        raise UnsupportedError("numpy.trace of stacks of matrices of run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return _finished(np.trace(dense, offset, axis1, axis2, dtype), out)


@on_bounded(np.flip)
def flip(m: Bounded, axis: Any = None) -> Bounded:
    """The frame reversed; an extent `start..stop` of `n` becomes `n - stop..n - start`."""
    axes = set(_axes(m, axis))
    extents = [_mirrored(e, n) if d in axes else e
               for d, (e, n) in enumerate(zip(m.extents, m.frame.shape, strict=True))]
    return Bounded(np.flip(m.frame, tuple(axes)), extents)


def _mirrored(extent: Extent | None, n: int) -> Extent | None:
    if isinstance(extent, Range):
        return Range(minus(n, extent.stop), minus(n, extent.start))
    return Mask(ops.reverse(extent.value, [0])) if isinstance(extent, Mask) else None


@on_bounded(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: object = True) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    dst[...] = src


# ---- products --------------------------------------------------------------------------------------------------

def _contract(function: Callable, x: Any, y: Any, x_axis: int | None, y_axis: int | None) -> Any:
    """`function(x, y)` that sums over one axis of each: both filled with zeros and moved to one extent there."""
    x, y = (a if is_partial(a) else wrap(a) for a in (x, y))
    ranks = x.ndim, y.ndim
    xs, ys = (list(a.extents) if is_partial(a) else [None] * a.ndim for a in (x, y))
    left, right = x, y
    if x_axis is not None and y_axis is not None and (xs[x_axis] is not None or ys[y_axis] is not None):
        left, right = _joined(x, xs, x_axis % ranks[0], y, ys, y_axis % ranks[1])
    result = function(*(a.frame if is_partial(a) else a for a in (left, right)))
    kept = [e for d, e in enumerate(xs) if x_axis is None or d != x_axis % ranks[0]] + \
           [e for d, e in enumerate(ys) if y_axis is None or d != y_axis % ranks[1]]
    return with_extents(result, kept)


def _joined(x: Any, xs: list, i: int, y: Any, ys: list, j: int) -> tuple[Tensor, Tensor]:
    """Both operands with the contracted dimension in the place of the one that has an extent, zero outside."""
    swap = xs[i] is None
    if swap:
        y, x = _joined(y, ys, j, x, xs, i)
        return x, y
    n, extent = x.frame.shape[i], xs[i]
    require_equal(y.length(j) if is_partial(y) else y.shape[j], extent.length(),
                  "matmul: the contracted dimensions have different run-time lengths")
    target_extents, target_shape = list(ys), list(y.frame.shape if is_partial(y) else y.shape)
    target_extents[j], target_shape[j] = extent, n
    moved = Bounded(Tensor.of_value(_moved(y, j, target_extents, target_shape)), [
        extent if d == j else None for d in range(y.ndim)])
    return Bounded(x.frame, [e if d == i else None for d, e in enumerate(xs)]).filled(0), moved.filled(0)


def _moved(y: Any, j: int, extents: list, shape: list[int]) -> ir.Value:
    source = y
    if not is_partial(y) and y.shape[j] == 1:      # one element is not broadcast in a contraction
        source = Bounded(y, [Range(0, 1) if d == j else None for d in range(y.ndim)])
    return aligned(source, extents, shape)


def _last_axes(x: Any, y: Any) -> tuple[int | None, int | None]:
    """Contracted axes of `dot` and `matmul` for ranks up to two."""
    ranks = np.ndim(x), np.ndim(y)
    if max(ranks) > 2:
        raise UnsupportedError("Products of stacks of matrices of run-time size are not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return (-1, 0) if min(ranks) else (None, None)


@on_bounded(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    axes = _last_axes(a, b)
    if axes == (None, None):
        return np.multiply(a, b)
    return _finished(_contract(np.dot, a, b, *axes), out)


@on_bounded(np.matmul)
def matmul(a: Any, b: Any, out: Any = None) -> Any:
    axes = _last_axes(a, b)
    if axes == (None, None):
        raise ValueError("matmul: Input operand does not have enough dimensions")
    return _finished(_contract(np.matmul, a, b, *axes), out)


@on_bounded(np.inner)
def inner(a: Any, b: Any) -> Any:
    if max(np.ndim(a), np.ndim(b)) > 2 or not min(np.ndim(a), np.ndim(b)):
        raise UnsupportedError("np.inner of these ranks with a run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return _contract(np.inner, a, b, -1, -1)


@on_bounded(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise UnsupportedError("np.vdot of matrices of run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return _contract(np.vdot, a, b, 0, 0)


@on_bounded(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = (x if is_partial(x) else np.ravel(wrap(x)) for x in (a, b))
    if a.ndim != 1 or b.ndim != 1:
        raise UnsupportedError("np.outer of matrices of run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    return _finished(a[:, None] * b[None, :], out)


PRODUCTS = {np.matmul: matmul}
if hasattr(np, "vecdot"):          # NumPy 2.1
    PRODUCTS[np.vecdot] = vdot

__all__ = ["ELEMENTWISE", "FILLS", "TABLE", "call", "call_ufunc", "elementwise", "on_bounded"]
