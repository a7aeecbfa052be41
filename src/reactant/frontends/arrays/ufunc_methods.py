"""`ufunc.reduce`, `.accumulate`, `.reduceat`, `.outer` and `.at` for every binary ufunc.

Associative ufuncs become one `reduce` or `reduce_window` (XLA blocks long scans); the others (`subtract`, `divide`,
`arctan2`...) depend on the order and become a loop along the axis.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import index
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import ConstantWriteError, UnsupportedError
from reactant.frontends.arrays import advanced, layouts, segments
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.elementwise import checked, is_nan, loop
from reactant.frontends.arrays.implements import concretely, of_concrete, tensors, written_while_tracing
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import as_value, cast
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, is_float, is_half, shape_of
from reactant.support.records import dataclass

UNROLLED_STEPS = 8
"""Order-dependent reductions along at most this many elements are written out instead of looped."""
UNROLLED_SEGMENTS = 32
"""`reduceat` with at most this many known segments of different lengths reduces slices."""


# ---- what each ufunc is as a monoid ----------------------------------------------------------------------------

def _lowest(dtype: np.dtype) -> object:
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return -np.inf if is_float(dtype) else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> object:
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return np.inf if is_float(dtype) else True if dtype.kind == "b" else np.iinfo(dtype).max


def _ignored(extreme: Callable) -> Callable:
    """The neutral element of fmax/fmin: NaN loses against everything."""
    return lambda dtype: np.nan if dtype.kind == "c" or is_float(dtype) else extreme(dtype)


def _always(value: object) -> Callable[[np.dtype], object]:
    return lambda dtype: value


NEUTRAL: dict[np.ufunc, Callable[[np.dtype], object]] = {
    np.add: _always(0), np.multiply: _always(1), np.maximum: _lowest, np.minimum: _highest,
    np.fmax: _ignored(_lowest), np.fmin: _ignored(_highest),
    np.logical_and: _always(True), np.logical_or: _always(False), np.logical_xor: _always(False),
    np.bitwise_and: lambda dtype: True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind == "u" else -1,
    np.bitwise_or: _always(0), np.bitwise_xor: _always(0),
    np.hypot: _always(0), np.logaddexp: _always(-np.inf), np.logaddexp2: _always(-np.inf),
}
"""Associative ufuncs and their neutral element by dtype."""

_PLAIN = {(ufunc, kind): name for ufunc, name, kinds in (
    (np.add, "add", "iufc"), (np.multiply, "multiply", "iuf"), (np.maximum, "maximum", "biuf"),
    (np.minimum, "minimum", "biuf")) for kind in kinds}
"""Those that are one operation, by the kind of the dtype."""
_REORDERABLE = {*NEUTRAL, np.gcd}
"""Those NumPy reduces over several axes at once."""


def _body(ufunc: np.ufunc, dtype: np.dtype, element: np.dtype | None = None
          ) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """(accumulator of `dtype`, element) -> accumulator."""
    step = loop(ufunc)
    return lambda x, y: cast(step([x, y], (dtype, element or dtype, dtype)), dtype)


@cache
def reduction_dtypes(ufunc: np.ufunc, operand: np.dtype, dtype: np.dtype | None, out: np.dtype | None
                     ) -> tuple[np.dtype, ...]:
    """The dtypes (accumulator, element, result) NumPy reduces in; raises NumPy's own error where there is no loop."""
    chosen = {} if dtype is None else {"signature": (dtype, None, None)}
    return ufunc.resolve_dtypes((out, operand, None), casting="unsafe", reduction=True, **chosen)


# ---- axes and results ------------------------------------------------------------------------------------------

def axes_of(axis: object, rank: int) -> tuple[int, ...]:
    """An `axis` argument as sorted non-negative axes; None means all. Raises `AxisError`, and `ValueError` for
    repeated ones."""
    if axis is None:
        return tuple(range(rank))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if rank == 0 and len(given) == 1 and given[0] in (0, -1):
        return ()       # NumPy lets 0-d arrays be reduced along their one imaginary axis
    axes = tuple(axis_in(a, rank) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def one_axis(axis: object, rank: int) -> int:
    """A single axis (also given as a tuple of one), non-negative."""
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            raise ValueError("this method does not allow multiple axes")
        axis = axis[0]
    return axis_in(axis, rank)


def layout_after(a: Tensor, removed: Sequence[int], keepdims: bool) -> Shape | None:
    """Strides of a reduction's result: the remaining axes keep their order in memory. None means row-major."""
    return _layout_after(a.shape, a.strides_, tuple(removed), keepdims)


def _layout_after(whole: Shape, strides_: Shape, removed: tuple[int, ...], keepdims: bool) -> Shape | None:
    if not layouts.is_permuted(whole, strides_):
        return None
    gone, rank = set(removed), len(whole)
    kept = [d for d in range(rank) if d not in gone]
    shape = tuple(1 if d in gone else whole[d] for d in range(rank))
    strides, step = [0] * rank, 1
    for d in sorted(kept, key=lambda d: (abs(strides_[d]), -d)):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides) if keepdims else tuple(strides[d] for d in kept)


def deliver(value: ir.Value, out: Tensor | None = None, strides: Shape | None = None, name: str = "reduce") -> Any:
    """A result as a new array (a scalar when 0-d), or stored into `out`, whose shape must be that of the result."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return Tensor.of_value(value, ARRAY if shape_of(value) else SCALAR, strides=strides)
    if not is_tensor(out):
        raise ConstantWriteError("the array given as out=")
    if out.shape != shape_of(value):
        raise ValueError(f"output parameter for reduction operation {name} has shape {out.shape}, but the result has "
                         f"shape {shape_of(value)}")
    out.assign(cast(value, out.dtype))
    return out


def _require_binary(ufunc: np.ufunc, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError(f"{method} only supported for binary functions" if ufunc.nin != 2 else
                         f"{method} only supported for functions returning a single value")
    if ufunc.signature is not None:
        raise RuntimeError(f"Reduction not defined on ufunc with signature {ufunc.signature}")


def _known(*arguments: object) -> bool:
    return all(t.is_concrete() for t in tensors(*arguments))


def _target(out: Any) -> Tensor | None:
    return out[0] if isinstance(out, tuple) else out


# ---- reduce ----------------------------------------------------------------------------------------------------

def reduce(ufunc: np.ufunc, array: object, axis: object = 0, dtype: object = None, out: object = None,
           keepdims: bool = False, initial: object = np._NoValue, where: object = True) -> Any:
    """`ufunc.reduce`: combine the elements along `axis` (an int, a tuple, or None for all)."""
    _require_binary(ufunc, "reduce")
    out = _target(out)
    if out is None and _known(array, initial, where):
        return of_concrete(ufunc.reduce(concretely(array), axis=axis, dtype=dtype, keepdims=bool(keepdims),
                                        initial=concretely(initial), where=concretely(where)))
    a = wrap(array)
    if axis is not None and type(axis) is not int:
        axis = tuple(map(index, axis)) if isinstance(axis, (tuple, list)) else index(axis)
    form = _reduction(ufunc, a.shape, a.dtype, a.strides_, axis,
                      None if dtype is None else np.dtype(dtype), None if out is None else out.dtype, bool(keepdims))
    has_start = ufunc.identity is not None if initial is np._NoValue else initial is not None
    if not has_start and where is not True:
        raise ValueError(f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask "
                         "one has to specify 'initial'")
    if not has_start and form.empty:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    accumulated, element, wanted = form.dtypes
    mask = None if where is True else _mask(where, a.shape)
    start = None if initial is np._NoValue or initial is None else as_value(_unwrapped(initial), accumulated)
    value = cast(a.value(), element)
    if ufunc in NEUTRAL:
        result = _reduce_monoid(ufunc, value, form.axes, start, mask)
    else:
        result = _reduce_in_order(ufunc, value, form.axes, start, mask, accumulated)
    if ufunc in (np.hypot, np.gcd) and initial is np._NoValue and element.kind in "if":
        result = ops.abs(result)        # of a single element, too: with 0
    result = ops.reshape(cast(result, wanted), form.shape)
    if out is None:
        kind = ARRAY if form.shape else SCALAR
        return Tensor(st.Storage(form.shape, wanted, result), kind=kind, strides=form.strides)
    return deliver(result, out, form.strides, ufunc.__name__)


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduction comes to, whatever the values are; `shape` and `strides` are the result's."""

    axes: tuple[int, ...]
    dtypes: tuple[np.dtype, ...]
    empty: bool
    shape: Shape
    strides: Shape | None


@lru_cache(maxsize=16384)
def _reduction(ufunc: np.ufunc, shape: Shape, operand: np.dtype, strides: Shape, axis: Any, dtype: np.dtype | None,
               out: np.dtype | None, keepdims: bool) -> Reduction:
    axes = axes_of(axis, len(shape))
    if len(axes) > 1 and ufunc not in _REORDERABLE:
        raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be "
                         "specified")
    dtypes = reduction_dtypes(ufunc, operand, dtype, out)
    gone, keepdims = set(axes), keepdims and bool(shape)
    left = tuple(1 if d in gone else n for d, n in enumerate(shape) if keepdims or d not in gone)
    return Reduction(axes, dtypes, any(shape[d] == 0 for d in axes), left,
                     _layout_after(shape, strides, axes, keepdims))


def _unwrapped(number: object) -> object:
    return number if isinstance(number, (bool, int, float, complex)) or is_tensor(number) else wrap(number)


def _mask(where: object, shape: Shape) -> ir.Value:
    mask = wrap(where)
    if mask.dtype != bool:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    if np.broadcast_shapes(mask.shape, shape) != shape:
        raise ValueError(f"where= of shape {mask.shape} does not broadcast to the array's shape {shape}")
    return layouts.broadcast(mask.value(), shape)


def _reduce_monoid(ufunc: np.ufunc, value: ir.Value, axes: tuple[int, ...], start: ir.Value | None,
                   mask: ir.Value | None) -> ir.Value:
    dtype = dtype_of(value)
    neutral = NEUTRAL[ufunc](dtype)
    if mask is not None:
        value = ops.select(mask, value, neutral)
    if ufunc in (np.add, np.multiply) and dtype == np.float16:
        value = ops.convert(value, np.float32)      # accumulated in single precision, rounded once
    if axes and ufunc in (np.fmax, np.fmin) and is_float(dtype):
        value = _reduce_without_nan(ufunc, value, axes)
    elif axes and all(shape_of(value)[d] == 1 for d in axes):       # hypot's 0 is not neutral: |x|
        value = ops.reshape(value, [n for d, n in enumerate(shape_of(value)) if d not in axes])
    elif axes:
        value = ops.reduce(value, neutral, axes, _PLAIN.get((ufunc, dtype.kind)) or _body(ufunc, dtype_of(value)))
    value = ops.convert(value, dtype)
    if start is None:
        return value
    return _body(ufunc, dtype)(layouts.broadcast(start, shape_of(value)), value)


def _reduce_without_nan(ufunc: np.ufunc, value: ir.Value, axes: tuple[int, ...]) -> ir.Value:
    """fmax/fmin of the rest, NaN where there is no rest. A comparison with NaN is false, so choosing by comparison
    skips them; three times faster than replacing them first, which keeps XLA from vectorising."""
    direction, plain = ("GT", np.maximum) if ufunc is np.fmax else ("LT", np.minimum)

    def better(best: ir.Value, x: ir.Value) -> ir.Value:
        return ops.select(ops.or_(ops.compare(x, best, direction), is_nan(best)), x, best)
    best = ops.reduce(value, NEUTRAL[plain](dtype_of(value)), axes, better)
    return ops.select(ops.reduce(is_nan(value), True, axes, "and"), np.nan, best)


def _reduce_in_order(ufunc: np.ufunc, value: ir.Value, axes: tuple[int, ...], start: ir.Value | None,
                     mask: ir.Value | None, result: np.dtype) -> ir.Value:
    """((start op x[0]) op x[1]) op ... along the axes, which come first in row-major order."""
    if not axes and start is None:
        return cast(value, result)
    shape, dtype = shape_of(value), dtype_of(value)
    checked(ufunc, [value, value], (result, dtype, result))
    rest = tuple(d for d in range(len(shape)) if d not in set(axes))
    kept = tuple(shape[d] for d in rest)
    count = int(np.prod([shape[d] for d in axes], dtype=np.int64))

    def front(x: ir.Value) -> ir.Value:
        return ops.reshape(ops.transpose(x, (*axes, *rest)), (count, *kept))
    rows, masks = front(value), None if mask is None else front(mask)
    body = _body(ufunc, result, dtype)
    first = 0
    if start is not None:
        total = layouts.broadcast(start, kept)
    elif ufunc.identity is not None and (count == 0 or mask is not None):
        total = ops.constant(ufunc.identity, result, kept)
    else:
        total, first = cast(_row(rows, 0), result), 1

    def iteration(i: int | ir.Value, total: ir.Value) -> ir.Value:
        new = body(total, _row(rows, i))
        return new if masks is None else ops.select(_row(masks, i), new, total)
    return _loop(first, count, [total], lambda i, t: [iteration(i, t)])[0]


def _row(rows: ir.Value, i: int | ir.Value) -> ir.Value:
    """Row `i` along the first dimension, which is dropped."""
    shape = shape_of(rows)
    if isinstance(i, int):
        taken = ops.slice(rows, (i, *(0,) * (len(shape) - 1)), (i + 1, *shape[1:]))
    else:
        zero = ops.constant(0, np.int64)
        taken = ops.dynamic_slice(rows, [i, *[zero] * (len(shape) - 1)], (1, *shape[1:]))
    return ops.reshape(taken, shape[1:])


def _loop(first: int, count: int, carried: list[ir.Value], iteration: Callable[..., list[ir.Value]]) -> list[ir.Value]:
    """`carried = iteration(i, *carried)` for i in range(first, count): written out when short."""
    if count - first <= UNROLLED_STEPS:
        for i in range(first, count):
            carried = iteration(i, *carried)
        return carried
    found = ops.while_([ops.constant(first, np.int64), *carried], lambda i, *c: ops.compare(i, count, "LT"),
                       lambda i, *c: [ops.add(i, 1), *iteration(i, *c)])
    return found[1:]


# ---- accumulate ------------------------------------------------------------------------------------------------

def accumulate(ufunc: np.ufunc, array: object, axis: object = 0, dtype: object = None, out: object = None) -> Any:
    """`ufunc.accumulate`: the partial results along `axis`."""
    _require_binary(ufunc, "accumulate")
    out = _target(out)
    if out is None and _known(array):
        return of_concrete(ufunc.accumulate(concretely(array), axis=axis, dtype=dtype))
    a = wrap(array)
    if a.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    along = one_axis(axis, a.ndim)
    dtypes = reduction_dtypes(ufunc, a.dtype, None if dtype is None else np.dtype(dtype),
                              None if out is None else out.dtype)
    value = cast(a.value(), dtypes[1])
    if dtypes[0] != dtypes[1]:
        raise UnsupportedError(f"numpy.{ufunc.__name__}.accumulate is not supported in compiled code: its two "
                               "operands have different dtypes.",
                               hint="Write it with functions that docs/numpy.md lists, or call it outside of the "
                                    "compiled function.", code="function-not-compiled")
    scanned = value if a.shape[along] <= 1 or a.size == 0 else scan(ufunc, value, along)
    return deliver(cast(scanned, dtypes[2]), out, layout_after(a, (), True), ufunc.__name__)


def scan(ufunc: np.ufunc, value: ir.Value, axis: int) -> ir.Value:
    """All partial results of a binary ufunc along `axis`, in the dtype of `value`."""
    shape, dtype = shape_of(value), dtype_of(value)
    if ufunc not in NEUTRAL or ufunc is np.hypot:     # hypot(0, x) would make the first element positive
        return _scan_in_order(ufunc, value, axis)
    if ufunc in (np.add, np.multiply) and is_half(dtype):       # every result is rounded before the next is made
        return _scan_in_order(ufunc, value, axis)
    window, padding = [1] * len(shape), [(0, 0)] * len(shape)
    window[axis], padding[axis] = shape[axis], (shape[axis] - 1, 0)
    return ops.reduce_window(value, NEUTRAL[ufunc](dtype), _body(ufunc, dtype), window, padding=padding)


def _scan_in_order(ufunc: np.ufunc, value: ir.Value, axis: int) -> ir.Value:
    shape, dtype = shape_of(value), dtype_of(value)
    checked(ufunc, [value, value], (dtype,) * 3)
    order = (axis, *(d for d in range(len(shape)) if d != axis))
    rows = ops.transpose(value, order)
    body = _body(ufunc, dtype)
    rank = len(shape)

    def iteration(i: int | ir.Value, total: ir.Value, done: ir.Value) -> list[ir.Value]:
        total = body(total, _row(rows, i))
        position = ops.constant(i, np.int64) if isinstance(i, int) else i
        starts = [position, *[ops.constant(0, np.int64)] * (rank - 1)]
        return [total, ops.dynamic_update_slice(done, ops.reshape(total, (1, *shape_of(total))), starts)]
    done = _loop(1, shape[axis], [_row(rows, 0), rows], iteration)[1]
    return ops.transpose(done, tuple(int(d) for d in np.argsort(order)))


# ---- reduceat --------------------------------------------------------------------------------------------------

def reduceat(ufunc: np.ufunc, array: object, indices: object, axis: object = 0, dtype: object = None,
             out: object = None) -> Any:
    """`ufunc.reduceat`: reduce the segments [indices[i], indices[i+1]); one element where the segment is empty."""
    _require_binary(ufunc, "reduceat")
    out = _target(out)
    if out is None and _known(array, indices):
        return of_concrete(ufunc.reduceat(concretely(array), concretely(indices), axis=axis, dtype=dtype))
    a, starts = wrap(array), wrap(indices)
    if a.ndim == 0:
        raise TypeError("cannot reduceat on a scalar")
    if not np.can_cast(starts.dtype, np.int64, "safe") and starts.size:
        raise TypeError(f"Cannot cast array data from {starts.dtype!r} to dtype('int64') according to the rule 'safe'")
    along = one_axis(axis, a.ndim)
    dtypes = reduction_dtypes(ufunc, a.dtype, None if dtype is None else np.dtype(dtype),
                              None if out is None else out.dtype)
    value, extent = cast(a.value(), dtypes[1]), a.shape[along]
    known = starts.numpy() if starts.is_concrete() else ops.constant_value(starts.value())
    if known is not None:
        bounds = known.tolist()
        for i in bounds:
            if not 0 <= i < extent:
                raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")
        def whole(rows: ir.Value, d: int, mask: ir.Value | None) -> ir.Value:
            return _reduce_monoid(ufunc, rows, (d,), None, mask)
        if ufunc in NEUTRAL and (length := segments.equal_blocks(bounds)):
            result = segments.reduced_blocks(value, bounds, length, along, whole)
        elif len(bounds) <= UNROLLED_SEGMENTS or ufunc not in NEUTRAL:
            result = _reduce_slices(ufunc, value, bounds, along)
        else:
            result = segments.reduced_by_length(value, bounds, along, whole)
    else:
        if ufunc not in NEUTRAL:
            raise UnsupportedError(f"numpy.{ufunc.__name__}.reduceat needs indices that are known while tracing.",
                                   hint="Give numbers that do not depend on arrays, or make the argument static "
                                        "(static_argnames=...).", code="argument-must-be-static")
        result = _reduce_masked(ufunc, value, starts, along)
    return deliver(cast(result, dtypes[2]), out, layout_after(a, (), True), ufunc.__name__)


def _reduce_slices(ufunc: np.ufunc, value: ir.Value, bounds: list[int], axis: int) -> ir.Value:
    shape = shape_of(value)
    if not bounds:
        return ops.slice(value, (0,) * len(shape), (*shape[:axis], 0, *shape[axis + 1:]))
    parts = []
    for first, after in zip(bounds, segments.ends_of(bounds, shape[axis]), strict=True):
        low, high = [0] * len(shape), list(shape)
        low[axis], high[axis] = first, after
        part = ops.slice(value, low, high)
        if high[axis] - first > 1:
            whole = _reduce_monoid(ufunc, part, (axis,), None, None) if ufunc in NEUTRAL else \
                _reduce_in_order(ufunc, part, (axis,), None, None, dtype_of(value))
            part = ops.reshape(whole, (*shape[:axis], 1, *shape[axis + 1:]))
        parts.append(part)
    return ops.concatenate(parts, axis)


def _reduce_masked(ufunc: np.ufunc, value: ir.Value, starts: Tensor, axis: int) -> ir.Value:
    """Each segment as a masked reduction over the whole axis: segments x extent work, any indices."""
    shape, count = shape_of(value), starts.shape[0]
    first = ops.convert(starts.value(), np.int64)
    ok = ops.and_(ops.compare(first, 0, "GE"), ops.compare(first, shape[axis], "LT"))
    name, extent = ufunc.__name__, shape[axis]
    current_trace().check(ops.reduce(ok, True, [0], "and"),
                          lambda: IndexError(f"index out-of-bounds in {name}.reduceat [0, {extent})"))
    after = ops.concatenate([ops.slice(first, [1], [count]), ops.constant(shape[axis], np.int64, (1,))], 0)
    after = ops.maximum(after, ops.add(first, 1))
    grid = (count, shape[axis])
    position = ops.iota(grid, np.int64, 1)
    inside = ops.and_(ops.compare(position, ops.broadcast_in_dim(first, grid, [0]), "GE"),
                      ops.compare(position, ops.broadcast_in_dim(after, grid, [0]), "LT"))
    full = (*shape[:axis], count, *shape[axis:])
    spread = ops.broadcast_in_dim(value, full, [d if d < axis else d + 1 for d in range(len(shape))])
    mask = ops.broadcast_in_dim(inside, full, [axis, axis + 1])
    return _reduce_monoid(ufunc, spread, (axis + 1,), None, mask)


# ---- outer -----------------------------------------------------------------------------------------------------

def outer(ufunc: np.ufunc, x: object, y: object, **kwargs: object) -> Any:
    """`ufunc.outer`: the ufunc of every pair; result shape is that of `x` followed by that of `y`."""
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if ufunc.signature is not None:
        raise TypeError(f"method outer is not allowed in ufunc with non-trivial signature {ufunc.signature}")
    a, b = (v if is_tensor(v) else wrap(v) for v in (x, y))
    if b.ndim and a.ndim:
        a = np.reshape(a, (*a.shape, *(1,) * b.ndim))
    return ufunc(a, b, **kwargs)


# ---- at --------------------------------------------------------------------------------------------------------

def at(ufunc: np.ufunc, array: Tensor, indices: object, *operand: object) -> None:
    """`ufunc.at(a, indices, b)`: unbuffered in-place; an element indexed twice is updated twice."""
    if ufunc.nin > 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise TypeError("only unary and binary ufuncs with one result can be used with .at")
    if not is_tensor(array):
        raise ConstantWriteError("the first argument of ufunc.at")
    array.require_writeable()
    if len(operand) != ufunc.nin - 1:
        raise ValueError("second operand needed for ufunc" if ufunc.nin == 2 else
                         "second operand provided when ufunc is unary")
    if not written_while_tracing(ufunc.at, (array, indices, *operand), {}):
        advanced.at(ufunc, array, indices, *operand)


METHODS: dict[str, Callable] = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer,
                                "at": at}


@means("ufunc_method")
def call(method: str, ufunc: np.ufunc, *inputs: object, **kwargs: object) -> Any:
    """`ufunc.method(*inputs, **kwargs)`."""
    return METHODS[method](ufunc, *inputs, **kwargs)

__all__ = ["METHODS", "NEUTRAL", "axes_of", "deliver", "layout_after", "one_axis", "reduce",
           "reduction_dtypes", "scan"]
