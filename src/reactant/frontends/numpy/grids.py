"""Arrays made from few numbers: linspace and relatives, grids, triangles, diagonals, windows, Vandermonde matrices."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.creation import as_tensor, shape_tuple
from reactant.frontends.arrays.dynamic.bounded import is_partial
from reactant.frontends.arrays.dynamic.run_time_shapes import sized
from reactant.frontends.arrays.implements import concretely, implements, name_of, of_concrete, tensors
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast, weak_type
from reactant.frontends.numpy.selection import written
from reactant.frontends.session.calls import following
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape


def _known(*trees: object) -> bool:
    """Whether everything is known while tracing."""
    return all(t.is_concrete() for t in tensors(*trees))


def _by_numpy(function: Callable) -> None:
    """A creation function of numbers that must all be known: NumPy makes the array, writable in compiled code."""
    @implements(function, creation=True)
    def create(*args: object, **kwargs: object) -> Any:
        if not _known(args, kwargs):
            raise UnsupportedError(f"{name_of(function)}: its arguments must be known while tracing.",
                                   hint="Give numbers that do not depend on arrays, or make the argument static "
                                        "(static_argnames=...).", code="argument-must-be-static")
        return of_concrete(function(*concretely(args), **concretely(kwargs)))


for _function in (np.indices, np.hanning, np.hamming, np.bartlett, np.blackman, np.kaiser, np.tril_indices,
                  np.triu_indices, np.diag_indices, np.mask_indices):
    _by_numpy(_function)


# ---- ranges ----------------------------------------------------------------------------------------------------

def _spread(x: Tensor, count: int) -> Tensor:
    """0, 1, ..., count-1 as a column against the dimensions of `x`, in the real dtype of `x`."""
    real = x.real.dtype
    return np.arange(count, dtype=real).reshape((-1,) + (1,) * x.ndim)


@implements(np.linspace, creation=True)
def linspace(start: object, stop: object, num: Any = 50, endpoint: bool = True, retstep: bool = False,
             dtype: object = None, axis: int = 0) -> Any:
    if _known([start, stop, num]):
        given = concretely([start, stop])
        return of_concrete(np.linspace(*given, int(num), endpoint, retstep, dtype, axis))
    whole = sized(num)
    if whole is not None and axis != 0:
        raise UnsupportedError("np.linspace of a run-time number of points along another axis than the first.",
                               hint="Make it along the first axis and use np.moveaxis.",
                               code="size-decided-at-run-time")
    count = whole.frame[0] if whole is not None else num.__index__()
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    common = result_type((*(weak_type(wrap(x)) for x in (start, stop)), float))
    low, high = (as_tensor(x).astype(common) for x in (start, stop))
    made, step = _line(low, high, count, endpoint) if whole is None else _line_of_run(low, high, num, count, endpoint)
    target = common if dtype is None else np.dtype(dtype)
    if axis != 0:
        made = np.moveaxis(made, 0, axis)
    if target.kind in "iu":
        made = np.floor(made)
    made = made.astype(target, copy=False)
    found = made if whole is None else whole.array(lambda frame: made)
    return (found, step) if retstep else found


def _line(low: Tensor, high: Tensor, count: int, endpoint: bool) -> tuple[Tensor, Any]:
    """NumPy's formula: start + i * step with the last element exact, and the step."""
    gaps = count - 1 if endpoint else count
    delta = np.subtract(high, low)
    ramp = _spread(delta, count)
    if gaps <= 0:
        return ramp * delta + low, np.nan
    step = delta / gaps
    # steps that underflow to zero are multiplied in the other order
    by_step = np.where(np.any(step == 0), ramp / gaps * delta, ramp * step)
    made = by_step + low
    if endpoint and count > 1:
        made[-1, ...] = high
    return made, step


def _line_of_run(low: Tensor, high: Tensor, num: Any, most: int, endpoint: bool) -> tuple[Tensor, Any]:
    """The same for a number of points known only at run time, in a frame of the most there can be."""
    gaps = num - 1 if endpoint else num
    delta, ramp, divisor = np.subtract(high, low), _spread(high, most), np.maximum(gaps, 1)
    step = delta / divisor
    by_step = np.where(np.any(step == 0), ramp / divisor * delta, ramp * step)
    made = by_step + low
    if endpoint:
        made = np.where(np.logical_and(ramp == gaps, gaps > 0), high, made)
    return made, np.where(gaps > 0, step, np.nan)[()]


@implements(np.logspace, creation=True)
def logspace(start: object, stop: object, num: Any = 50, endpoint: bool = True, base: object = 10.0,
             dtype: object = None, axis: int = 0) -> Any:
    if _known([start, stop, num, base]):
        first, last, number = concretely([start, stop, base])
        return of_concrete(np.logspace(first, last, int(num), endpoint, number, dtype, axis))
    if np.ndim(base):
        raise UnsupportedError("np.logspace with an array of bases is not supported in compiled code.",
                               hint="Use np.power(base, np.linspace(start, stop, n)).", code="argument-not-supported")
    made = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype, copy=False)


@implements(np.geomspace, creation=True)
def geomspace(start: object, stop: object, num: Any = 50, endpoint: bool = True, dtype: object = None,
              axis: int = 0) -> Any:
    if sized(num) is not None:
        raise UnsupportedError("np.geomspace of a run-time number of points.",
                               hint="Take np.exp of np.linspace(log(a), log(b), n).", code="size-decided-at-run-time")
    if _known([start, stop]):
        return of_concrete(np.geomspace(*concretely([start, stop]), int(num), endpoint, dtype, axis))
    asked = np.dtype(np.float64 if dtype is None else dtype)
    common = result_type((*(weak_type(wrap(x)) for x in (start, stop)), float, asked))
    low, high = (as_tensor(x).astype(common) for x in (start, stop))
    for end in (low, high):
        nonzero = ops.reduce(ops.compare(end.value(), 0, "NE"), True, range(end.ndim), "and") if end.ndim \
            else ops.compare(end.value(), 0, "NE")
        current_trace().check(nonzero, lambda: ValueError("Geometric sequence cannot include zero"))
    sign = np.sign(low)
    low, high = low / sign, high / sign
    made = as_tensor(logspace(np.log10(low), np.log10(high), num, endpoint))
    if made.shape[0] > 0:
        made[0] = low
        if made.shape[0] > 1 and endpoint:
            made[-1] = high
    made = np.moveaxis(made * sign, 0, axis) if axis else made * sign
    return made.astype(common if dtype is None else dtype, copy=False)


# ---- grids -----------------------------------------------------------------------------------------------------

@implements(np.meshgrid, creation=True)
def meshgrid(*xi: object, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    axes, rank = [as_tensor(x) for x in xi], len(xi)
    shaped = [np.reshape(a, (1,) * d + (a.size,) + (1,) * (rank - 1 - d)) for d, a in enumerate(axes)]
    if indexing == "xy" and rank > 1:
        shaped = [np.swapaxes(a, 0, 1) for a in shaped]
    if not sparse:
        shape = np.broadcast_shapes(*(a.shape for a in shaped))
        shaped = [np.broadcast_to(a, shape) for a in shaped]
    return tuple(a.copy() if copy else a for a in shaped)


@implements(np.ix_, aliases=True)
def ix_(*args: Any) -> tuple[Any, ...]:
    made: list[Any] = []
    for d, arg in enumerate(args):
        a = arg if is_partial(arg) else as_tensor(arg)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.dtype == bool:
            a = np.nonzero(a)[0]
        if is_tensor(a) and not a.size:
            a = a.astype(np.intp)
        made.append(a[(None,) * d + (slice(None),) + (None,) * (len(args) - d - 1)])
    return tuple(made)


@implements(np.broadcast_arrays, aliases=True)
def broadcast_arrays(*args: object, subok: bool = False) -> tuple[Tensor, ...]:
    parts = [as_tensor(a) for a in args]
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    return tuple(p if p.shape == shape else np.broadcast_to(p, shape) for p in parts)


@implements(np.fromfunction, creation=True)
def fromfunction(function: Callable, shape: object, *, dtype: object = float, **kwargs: object) -> Any:
    grids = np.indices(shape_tuple(shape), dtype=dtype)
    return following(function)(*(Tensor.of_array(g.copy()) for g in grids), **kwargs)


# ---- triangles and diagonals -----------------------------------------------------------------------------------

def _lower(rows: int, columns: int, k: int) -> ir.Value:
    """True where column <= row + k."""
    if rows * columns <= st.CONCRETE_ELEMENTS:
        return ops.constant(np.tri(rows, columns, k, bool))
    row, column = (ops.iota((rows, columns), np.int64, d) for d in (0, 1))
    return ops.compare(column, ops.add(row, int(k)), "LE")


def _triangle(m: object, k: int, keep_lower: bool) -> Tensor:
    a = as_tensor(m)
    if a.ndim == 1:
        a = np.broadcast_to(a, (a.size, a.size))
    if a.ndim < 1:
        raise ValueError("Input must be at least 1-d")
    rows, columns = a.shape[-2:]
    mask = ops.broadcast_in_dim(_lower(rows, columns, int(k)), a.shape, [a.ndim - 2, a.ndim - 1])
    value = a.value()
    return Tensor.of_value(ops.select(mask, value, 0) if keep_lower else ops.select(mask, ops.splat(0, value), value))


@implements(np.tri, creation=True)
def tri(N: Any, M: Any = None, k: int = 0, dtype: object = float) -> Any:
    shape = (N, N if M is None else M)
    if (whole := sized(shape)) is not None:
        return whole.array(lambda frame: tri(*frame, k, dtype))
    return Tensor.of_array(np.tri(*(n.__index__() for n in shape), int(k), dtype))


@implements(np.tril)
def tril(m: object, k: int = 0) -> Tensor:
    return _triangle(m, k, keep_lower=True)


@implements(np.triu)
def triu(m: object, k: int = 0) -> Tensor:
    return _triangle(m, int(k) - 1, keep_lower=False)


@implements(np.diag, aliases=True)
def diag(v: object, k: int = 0) -> Tensor:
    a = as_tensor(v)
    if a.ndim == 2:
        return np.diagonal(a, k)
    if a.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    if a.is_concrete():
        return of_concrete(np.diag(a.numpy(), int(k)))
    k, n = int(k), a.size + abs(int(k))
    # one row a element, zeros around: the value at (i, i + k)
    wide = ops.broadcast_in_dim(a.value(), (a.size, a.size), [0])
    row, column = (ops.iota((a.size, a.size), np.int64, d) for d in (0, 1))
    square = ops.select(ops.compare(row, column, "EQ"), wide, 0)
    low = (max(-k, 0), max(k, 0))
    return Tensor.of_value(ops.pad(square, 0, low, (n - a.size - low[0], n - a.size - low[1])))


@implements(np.diagflat)
def diagflat(v: object, k: int = 0) -> Tensor:
    return diag(np.ravel(as_tensor(v)), k)


@implements(np.fill_diagonal, aliases=True)
def fill_diagonal(a: object, val: object, wrap: bool = False) -> None:
    target = written(a, "fill_diagonal")
    if target.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if target.ndim > 2 and len(set(target.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = target.shape[1] + 1 if target.ndim == 2 else 1 + sum(np.cumprod(target.shape[:-1]).tolist())
    end = target.shape[1] * target.shape[1] if target.ndim == 2 and not wrap else target.size
    target.flat[:end:step] = val


@implements(np.tril_indices_from)
def tril_indices_from(arr: object, k: int = 0) -> tuple:
    return _triangle_indices(np.tril_indices, arr, k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: object, k: int = 0) -> tuple:
    return _triangle_indices(np.triu_indices, arr, k)


def _triangle_indices(function: Callable, arr: object, k: int) -> tuple:
    shape: Shape = wrap(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return of_concrete(function(shape[0], k=k, m=shape[1]))


@implements(np.diag_indices_from)
def diag_indices_from(arr: object) -> tuple:
    shape: Shape = wrap(arr).shape
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return of_concrete(np.diag_indices(shape[0], len(shape)))


@implements(np.vander, creation=True)
def vander(x: object, N: int | None = None, increasing: bool = False) -> Tensor:
    a = as_tensor(x)
    if a.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = a.size if N is None else int(N)
    if a.is_concrete():
        return of_concrete(np.vander(a.numpy(), count, increasing))
    dtype = np.promote_types(a.dtype, int)
    value = cast(a.value(), dtype)
    columns: Sequence[ir.Value] = [ops.splat(1, value)]
    for _ in range(count - 1):
        columns = [*columns, ops.multiply(columns[-1], value)]
    columns = [ops.reshape(c, (a.size, 1)) for c in columns[:count]]
    if not columns:
        return Tensor.of_value(ops.constant(0, dtype, (a.size, 0)))
    return Tensor.of_value(ops.concatenate(columns if increasing else list(reversed(columns)), 1))


