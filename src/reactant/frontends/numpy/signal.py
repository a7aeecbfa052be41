"""Sampled signals: interp, gradient, convolve, correlate, and functions applied along axes."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import layouts
from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.dynamic.bounded import (
    ADVICE,
    Bounded,
    Number,
    as_number,
    is_partial,
    minus,
    require_equal,
)
from reactant.frontends.arrays.elementwise import is_finite, is_nan
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.promotion import loop_dtypes, result_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.frontends.numpy.contraction import dot as dot_value
from reactant.frontends.numpy.dynamic.bounded_functions import compact, on_bounded
from reactant.frontends.session.calls import following
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, tensor_type

UNROLLED_TAPS = 32
"""Convolutions whose shorter operand has at most this many elements are sums of shifted products."""


# ---- interpolation ---------------------------------------------------------------------------------------------

@implements(np.interp)
def interp(x: object, xp: object, fp: object, left: object = None, right: object = None,
           period: object = None) -> Tensor:
    """Piecewise linear interpolation, by the formula and the edge rules of NumPy's loop."""
    points, xs, fs = wrap(x), as_tensor(xp), as_tensor(fp)
    dtype = np.dtype(np.complex128 if fs.dtype.kind == "c" else np.float64)
    if xs.ndim != 1 or fs.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xs.size != fs.size:
        raise ValueError("fp and xp are not of the same length.")
    if not xs.size:
        raise ValueError("array of sample points is empty")
    xs, fs, points = xs.astype(np.float64), fs.astype(dtype), points.astype(np.float64)
    if period is not None:
        points, xs, fs, left, right = _periodic(points, xs, fs, period)
    return _interpolated(points, xs, fs, left, right, xs.size)


@on_bounded(np.interp)
def interp_bounded(x: Any, xp: Any, fp: Any, left: object = None, right: object = None, period: object = None) -> Any:
    """Sample points, or places, whose number is known only at run time."""
    if period is not None:
        raise UnsupportedError("np.interp with a period on arrays of run-time size is not supported.", hint=ADVICE,
                               code="array-of-run-time-size")
    if is_partial(x):
        return Bounded(np.interp(x.frame, xp, fp, left, right), x.extents)
    xs, fs = (compact(a) if is_partial(a) else as_tensor(a) for a in (xp, fp))
    if xs.ndim != 1 or fs.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    lengths = [a.length(0) if is_partial(a) else a.size for a in (xs, fs)]
    require_equal(lengths[0], lengths[1], "fp and xp are not of the same length.")
    count = as_number(lengths[0])
    current_trace().check(ops.compare(count, 0, "GT"), lambda: ValueError("array of sample points is empty"))
    n = max(a.frame.size if is_partial(a) else a.size for a in (xs, fs))
    if not n:
        raise ValueError("array of sample points is empty")
    dtype = np.dtype(np.complex128 if fs.dtype.kind == "c" else np.float64)
    xs, fs = _behind(xs.astype(np.float64), n, np.nan), _behind(fs.astype(dtype), n, 0)
    return _interpolated(wrap(x).astype(np.float64), xs, fs, left, right, count)


def _behind(a: Any, n: int, fill: float) -> Tensor:
    """The elements of a vector, with `fill` behind them up to `n`."""
    front = a.filled(fill) if is_partial(a) else a
    return np.pad(front, (0, n - front.size), constant_values=fill) if front.size < n else front


def _periodic(points: Tensor, xs: Tensor, fs: Tensor, period: Any) -> tuple:
    if not is_tensor(period) and period == 0:
        raise ValueError("period must be a non-zero value")
    span = abs(period)
    points, xs = points % span, xs % span
    order = np.argsort(xs)
    xs, fs = xs[order], fs[order]
    return (points, np.concatenate((xs[-1:] - span, xs, xs[:1] + span)), np.concatenate((fs[-1:], fs, fs[:1])),
            None, None)


def _interpolated(points: Tensor, xs: Tensor, fs: Tensor, left: Any, right: Any, count: Number) -> Tensor:
    """At `points`, between the first `count` of the sample points; NaN stands behind them."""
    n, shape = xs.size, points.shape
    x, last = points.value(), minus(count, 1)
    end = last if isinstance(last, int) else Tensor.of_value(last, SCALAR)
    ends = (xs[0], xs[end], fs[0] if left is None else left, fs[end] if right is None else right, fs[end])
    x_first, x_last, low, high, f_last = (layouts.broadcast(wrap(v).value(), shape) for v in ends)
    low, high = cast(low, fs.dtype), cast(high, fs.dtype)
    found, several = f_last, ops.compare(as_number(count), 1, "GT")
    if n > 1:
        # how many sample points are <= x, minus one: the segment
        segment = ops.subtract(np.searchsorted(xs, points.ravel(), side="right").value(), 1)
        segment = ops.clamp(0, segment, ops.clamp(0, as_number(minus(last, 1)), n - 2))
        line = _on_line(x, *_ends(xs.value(), fs.value(), ops.reshape(segment, shape)))
        found = ops.select(layouts.broadcast(several, shape), line, found)
    found = ops.select(ops.compare(x, x_first, "LT"), low, found)
    found = ops.select(ops.compare(x, x_last, "GT"), high, found)
    nan = ops.complex(x, ops.splat(0, x)) if fs.dtype.kind == "c" else x
    looked_for = ops.and_(is_nan(x), layouts.broadcast(several, shape))      # not by NumPy between one point and itself
    return Tensor.of_value(ops.select(looked_for, nan, found), "array" if shape else SCALAR)


def _ends(xs: ir.Value, fs: ir.Value, segment: ir.Value) -> list[ir.Value]:
    """x0, x1, f0, f1 of each segment, fetched together as one row of a table."""
    n, shape = shape_of(xs)[0], shape_of(segment)
    parts = [fs] if dtype_of(fs).kind == "f" else [ops.real(fs), ops.imag(fs)]
    columns = [ops.slice(p, [k], [n - 1 + k]) for p in (xs, *parts) for k in (0, 1)]
    table = ops.concatenate([ops.reshape(c, (n - 1, 1)) for c in columns], 1)
    rows = ops.gather(table, ops.reshape(segment, (*shape, 1)), offset_dims=[len(shape)], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=len(shape), slice_sizes=[1, len(columns)])
    low, high = [0] * len(shape), list(shape)
    found = [ops.reshape(ops.slice(rows, [*low, k], [*high, k + 1]), shape) for k in range(len(columns))]
    return found if len(found) == 4 else [*found[:2], ops.complex(found[2], found[4]),
                                          ops.complex(found[3], found[5])]


def _on_line(x: ir.Value, x0: ir.Value, x1: ir.Value, f0: ir.Value, f1: ir.Value) -> ir.Value:
    """f0 + slope (x - x0), from the other end where x is there; NumPy falls back to that, then to equal values, where
    it is NaN."""
    if dtype_of(f0).kind == "c":
        parts = [_on_line(x, x0, x1, part(f0), part(f1)) for part in (ops.real, ops.imag)]
        return ops.complex(*parts)
    slope = ops.divide(ops.subtract(f1, f0), ops.subtract(x1, x0))
    at_end = ops.compare(x, x1, "EQ")
    start, base = ops.select(at_end, x1, x0), ops.select(at_end, f1, f0)
    found = ops.add(ops.multiply(slope, ops.subtract(x, start)), base)
    back = ops.add(ops.multiply(slope, ops.subtract(x, x1)), f1)
    back = ops.select(ops.and_(is_nan(back), ops.compare(f0, f1, "EQ")), f0, back)
    found = ops.select(is_nan(found), back, found)
    return ops.select(ops.compare(x, start, "EQ"), base, found)


# ---- differences -----------------------------------------------------------------------------------------------

@implements(np.gradient)
def gradient(f: object, *varargs: object, axis: object = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided of first or second order at the ends."""
    a = as_tensor(f)
    loop_dtypes(np.subtract, (a.dtype, a.dtype, None))      # raises NumPy's error of booleans
    axes = tuple(range(a.ndim)) if axis is None else tuple(
        axis_in(d, a.ndim) for d in (axis if isinstance(axis, tuple) else (axis,)))
    spacings = _spacings(a, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if a.dtype.kind in "biu":
        a = a.astype(np.float64)
    results = []
    for d, h in zip(axes, spacings, strict=True):
        if a.shape[d] < edge_order + 1:
            raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                             "elements are required.")
        results.append(_gradient_along(a, d, h, edge_order))
    return results[0] if len(results) == 1 else tuple(results)


def _spacings(a: Tensor, axes: Sequence[int], given: tuple) -> list[Any]:
    """Per axis a number, or the differences of the coordinates."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    found = []
    for d, h in zip(axes, given, strict=True):
        if np.ndim(h) == 0:
            found.append(h)
            continue
        h = as_tensor(h)
        if h.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if h.size != a.shape[d]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        steps = (h.astype(np.float64) if h.dtype.kind in "iu" else h)
        steps = steps[1:] - steps[:-1]
        known = steps.numpy() if steps.is_concrete() else None
        found.append(known[0] if known is not None and (known == known[0]).all() else steps)
    return found


def _gradient_along(a: Tensor, d: int, h: Any, edge_order: int) -> Tensor:
    def part(start: int | None, stop: int | None) -> Tensor:
        return a[(*(slice(None),) * d, slice(start, stop))]

    def column(values: Tensor) -> Tensor:
        return np.reshape(values, (-1,) + (1,) * (a.ndim - d - 1))
    if np.ndim(h) == 0:
        inner = (part(2, None) - part(None, -2)) / (2. * h)
        first, last = (part(1, 2) - part(0, 1)) / h, (part(-1, None) - part(-2, -1)) / h
        if edge_order == 2:
            first = (-1.5 / h) * part(0, 1) + (2. / h) * part(1, 2) + (-0.5 / h) * part(2, 3)
            last = (0.5 / h) * part(-3, -2) + (-2. / h) * part(-2, -1) + (1.5 / h) * part(-1, None)
        return np.concatenate([first, inner, last], axis=d).astype(a.dtype, copy=False)
    h1, h2 = h[:-1], h[1:]
    inner = (column(-h2 / (h1 * (h1 + h2))) * part(None, -2) + column((h2 - h1) / (h1 * h2)) * part(1, -1)
             + column(h1 / (h2 * (h1 + h2))) * part(2, None))
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / h[0], (part(-1, None) - part(-2, -1)) / h[-1]
    else:
        p, q = h[0], h[1]
        first = (-(2. * p + q) / (p * (p + q)) * part(0, 1) + (p + q) / (p * q) * part(1, 2)
                 - p / (q * (p + q)) * part(2, 3))
        p, q = h[-2], h[-1]
        last = (q / (p * (p + q)) * part(-3, -2) - (q + p) / (p * q) * part(-2, -1)
                + (2. * q + p) / (q * (p + q)) * part(-1, None))
    return np.concatenate([first, inner, last], axis=d).astype(a.dtype, copy=False)


# ---- convolution -----------------------------------------------------------------------------------------------

def _full(a: ir.Value, v: ir.Value) -> ir.Value:
    """sum_k a[i - k] v[k] for all i; the shorter operand is `v`. Nothing is multiplied by padding (0 * inf is NaN)."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    if m <= UNROLLED_TAPS and n >= 2 * m > 2:
        left, right = _full(ops.slice(a, [0], [m - 1]), v), _full(ops.slice(a, [n - m + 1], [n]), v)
        inner = _sum(_tapped(ops.slice(a, [m - 1 - k], [n - k]), ops.slice(v, [k], [k + 1])) for k in range(m))
        return ops.concatenate([ops.slice(left, [0], [m - 1]), inner, ops.slice(right, [m - 1], [2 * m - 2])], 0)
    if m <= UNROLLED_TAPS:
        return _sum(ops.pad(_tapped(a, ops.slice(v, [k], [k + 1])), 0, [k], [m - 1 - k]) for k in range(m))
    if dtype_of(a).kind in "biu":
        return _by_taps(a, v)
    finite = ops.and_(_all_finite(a), _all_finite(v))
    return ops.if_(finite, lambda: [_by_blocks(a, v)], lambda: [_by_taps(a, v)],
                   [tensor_type((n + m - 1,), dtype_of(a))])[0]


def _tapped(a: ir.Value, tap: ir.Value) -> ir.Value:
    wide = ops.broadcast_in_dim(ops.reshape(tap, ()), shape_of(a), [])
    return (ops.and_ if dtype_of(a).kind == "b" else ops.multiply)(a, wide)


def _sum(terms: Iterable[ir.Value]) -> ir.Value:
    return reduce(_plus, terms)


def _plus(x: ir.Value, y: ir.Value) -> ir.Value:
    return (ops.or_ if dtype_of(x).kind == "b" else ops.add)(x, y)


def _all_finite(x: ir.Value) -> ir.Value:
    return ops.reduce(is_finite(x), True, range(len(shape_of(x))), "and")


def _by_blocks(a: ir.Value, v: ir.Value) -> ir.Value:
    """Blocks of m - 1 results as one matrix product: two neighbouring blocks of the padded signal times the banded
    matrix of the taps. Only for finite values: what the band's zeros meet must not matter."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    count, block = n + m - 1, m - 1
    rows = -(-count // block)
    grid = ops.reshape(ops.pad(a, 0, [m - 1], [(rows + 1) * block - n - (m - 1)]), (rows + 1, block))
    pairs = ops.concatenate([ops.slice(grid, [0, 0], [rows, block]), ops.slice(grid, [1, 0], [rows + 1, block])], 1)
    row, column = (ops.iota((2 * block, block), np.int64, d) for d in (0, 1))
    offset = ops.subtract(row, column)
    inside = ops.and_(ops.compare(offset, 0, "GE"), ops.compare(offset, m, "LT"))
    taps = ops.gather(ops.reverse(v, [0]), ops.reshape(ops.clamp(0, offset, m - 1), (2 * block, block, 1)),
                      offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=2,
                      slice_sizes=[1])
    found = dot_value(pairs, ops.select(inside, taps, 0), ([1], [0]))
    return ops.slice(ops.reshape(found, (rows * block,)), [0], [count])


TAPS_A_ITERATION = 8


def _by_taps(a: ir.Value, v: ir.Value) -> ir.Value:
    """The sum over taps as a loop, a few of them an iteration: memory stays linear in the lengths."""
    n, m = shape_of(a)[0], shape_of(v)[0]
    looped = m - m % TAPS_A_ITERATION

    def with_tap(total: ir.Value, k: ir.Value) -> ir.Value:
        window = _plus(ops.dynamic_slice(total, [k], (n,)), _tapped(a, ops.dynamic_slice(v, [k], (1,))))
        return ops.dynamic_update_slice(total, window, [k])

    def iteration(k: ir.Value, total: ir.Value) -> list[ir.Value]:
        for extra in range(TAPS_A_ITERATION):
            total = with_tap(total, ops.add(k, extra))
        return [ops.add(k, TAPS_A_ITERATION), total]
    start = [ops.constant(0, np.int64), ops.constant(0, dtype_of(v), (n + m - 1,))]
    total = ops.while_(start, lambda k, _: ops.compare(k, looped, "LT"), iteration)[1]
    for k in range(looped, m):
        total = with_tap(total, ops.constant(k, np.int64))
    return total


def _correlated(a: object, v: object, name: str) -> tuple[ir.Value, int, int]:
    """The full convolution of two vectors and their lengths, longer first."""
    x, y = as_tensor(a), as_tensor(v)
    x, y = (np.reshape(t, (1,)) if t.ndim == 0 else t for t in (x, y))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not x.size:
        raise ValueError("a cannot be empty" if name == "convolve" else "first array argument cannot be empty")
    if not y.size:
        raise ValueError("v cannot be empty" if name == "convolve" else "second array argument cannot be empty")
    dtype = result_type((weak_type(x), weak_type(y)))
    long, short = (x, y) if x.size >= y.size else (y, x)
    work = np.dtype(np.float32) if dtype == np.float16 else dtype          # in which NumPy adds up, too
    full = _full(cast(cast(long.value(), dtype), work), cast(cast(short.value(), dtype), work))
    return cast(full, dtype), long.size, short.size


def _trimmed(full: ir.Value, n: int, m: int, mode: object, left: int) -> Tensor:
    modes = {"valid": 0, "same": 1, "full": 2, "v": 0, "s": 1, "f": 2, 0: 0, 1: 1, 2: 2}
    if mode not in modes:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    kind = modes[mode]
    if kind == 2:
        return Tensor.of_value(full)
    start, count = (m - 1, n - m + 1) if kind == 0 else (left, n)
    return Tensor.of_value(ops.slice(full, [start], [start + count]))


@implements(np.convolve)
def convolve(a: object, v: object, mode: object = "full") -> Tensor:
    full, n, m = _correlated(a, v, "convolve")
    return _trimmed(full, n, m, mode, (m - 1) // 2)


@implements(np.correlate)
def correlate(a: object, v: object, mode: object = "valid") -> Tensor:
    """sum_n a[n + k] conj(v[n])."""
    x, y = as_tensor(a), as_tensor(v)
    if not x.size or not y.size:
        raise ValueError("first array argument cannot be empty" if not x.size else
                         "second array argument cannot be empty")
    swapped = y.size > x.size
    full, n, m = _correlated(x, np.flip(np.conjugate(y) if y.dtype.kind == "c" else y), "correlate")
    return _trimmed(full, n, m, mode, m - 1 - m // 2 if not swapped else m // 2)


# ---- Python functions along axes -------------------------------------------------------------------------------

@implements(np.apply_over_axes)
def apply_over_axes(func: Callable, a: object, axes: object) -> Tensor:
    value = as_tensor(a)
    rank = value.ndim
    for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)):
        found = following(func)(value, axis if axis >= 0 else axis + rank)
        if found.ndim != rank:
            found = np.expand_dims(found, axis)
            if found.ndim != rank:
                raise ValueError("function is not returning an array of the correct shape")
        value = found
    return value
