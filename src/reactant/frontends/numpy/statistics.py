"""Order statistics (`median`, `percentile`, `quantile` and their NaN-ignoring forms) and covariances.

The reduced axes become one trailing axis, which is sorted once. Fractions known while tracing pick known places of the
sorted axis; fractions or element counts known only at run time pick through a gather.
Definitions: Hyndman and Fan (1996), "Sample quantiles in statistical packages".
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import view_steps
from reactant.frontends.arrays.elementwise import is_nan
from reactant.frontends.arrays.implements import concretely, implements
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.tensor import PYTHON, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufunc_methods import axes_of, deliver
from reactant.frontends.arrays.ufuncs import as_value, cast
from reactant.frontends.numpy.reduction import flag, mean
from reactant.frontends.numpy.sorting import pick, sorted_value
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of

_ABSENT = np._NoValue


# ---- where the fractions fall ----------------------------------------------------------------------------------

def _product(n: Any, q: Any) -> Any:
    """n * q rounded by itself: the absolute value (of what is not negative) keeps the compiler from fusing the product
    with the subtraction that follows, which would move whole places by a rounding error."""
    return np.abs(n * q)


def _between(alpha: float, beta: float) -> Callable:
    """The continuous families: a place n*q + alpha + q*(1 - alpha - beta) - 1 between two elements."""
    return lambda n, q: _product(n, q) + (alpha + _product(q, 1 - alpha - beta)) - 1


def _whole(place: Any) -> Any:
    return place.astype(np.int64)


def _boundary(place: Any, down: Any) -> Any:
    """The element below where `down`, the one above elsewhere; at least the first."""
    below = np.floor(place)
    return _whole(np.maximum(below + 1 - down, 0))


def _inverted(n: Any, q: Any) -> Any:
    place = _product(n, q) - 1
    return _boundary(place, place == np.floor(place))


def _closest(n: Any, q: Any) -> Any:
    place = _product(n, q) - 1 - 0.5
    below = np.floor(place)
    return _boundary(place, np.logical_and(place == below, below % 2 == 1))


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: _whole(np.floor((n - 1) * q)),
    "higher": lambda n, q: _whole(np.ceil((n - 1) * q)),
    "nearest": lambda n, q: _whole(np.rint((n - 1) * q)),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "inverted_cdf": _inverted, "closest_observation": _closest,
    "averaged_inverted_cdf": lambda n, q: _product(n, q) - 1,
    "interpolated_inverted_cdf": _between(0, 1), "hazen": _between(0.5, 0.5), "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3), "normal_unbiased": _between(3 / 8, 3 / 8),
}
"""method -> (element count, fractions) -> places in the sorted sample: integers, or numbers between two elements."""


def _share(method: str, place: Any, below: Any) -> Any:
    """How much of the step to the next element counts."""
    share = place - below
    if method == "averaged_inverted_cdf":
        return 1.0 - 0.5 * (share == 0)
    if method == "midpoint":
        return 0.5 * (place % 1 != 0)
    return share


def _neighbours(place: Any, n: Any) -> tuple[Any, Any]:
    """The elements below and above each place, within the sample."""
    below = np.floor(place)
    outside = np.logical_or(place >= n - 1, place < 0)
    low = np.clip(below, 0, np.maximum(n - 1, 0))
    return _whole(low), _whole(low + np.logical_not(outside) * 1)


# ---- the reduced axes as one last axis -------------------------------------------------------------------------

def _lanes(a: Tensor, axis: object) -> tuple[ir.Value, Shape]:
    """(value of shape (rest..., n), shape of the result with the reduced axes kept as 1)."""
    axes = axes_of(axis, a.ndim)
    rest = [d for d in range(a.ndim) if d not in axes]
    count = int(np.prod([a.shape[d] for d in axes], dtype=np.int64))
    value = ops.reshape(ops.transpose(a.value(), (*rest, *axes)), (*(a.shape[d] for d in rest), count))
    return value, tuple(1 if d in axes else n for d, n in enumerate(a.shape))


def _columns(x: ir.Value, places: np.ndarray) -> ir.Value:
    """x[..., places] with the places first: (len(places), rest...)."""
    shape = shape_of(x)
    last = len(shape) - 1
    parts = []
    for p in places.tolist():
        part = ops.slice(x, (*(0,) * last, p), (*shape[:-1], p + 1))
        parts.append(ops.reshape(part, (1, *shape[:-1])))
    return ops.concatenate(parts, 0)


def _picked(x: ir.Value, places: ir.Value) -> ir.Value:
    """x[rest..., places[k, rest...]] as (k, rest...)."""
    rank = len(shape_of(places))
    last = ops.transpose(places, (*range(1, rank), 0))
    return ops.transpose(pick(x, last, rank - 1), (rank - 1, *range(rank - 1)))


# ---- quantiles -------------------------------------------------------------------------------------------------

def _fractions(q: object, scale: float, text: str) -> tuple[Any, Shape, bool]:
    """(fractions between 0 and 1 as a flat array or tensor, shape of q, whether q is a Python number)."""
    weak = type(q) in (int, float) or (is_tensor(q) and q.kind == PYTHON)
    if is_tensor(q) and not q.is_concrete():
        given = q if q.dtype.kind == "f" else q.astype(np.float64)
        flat = np.reshape(np.true_divide(given, scale) if scale != 1 else given, (-1,))
        ok = ops.and_(ops.compare(flat.value(), 0, "GE"), ops.compare(flat.value(), 1, "LE"))
        current_trace().check(ops.reduce(ok, True, [0], "and"), lambda: ValueError(text))
        return flat, q.shape, weak
    known = np.asarray(concretely(q))
    if known.dtype.kind not in "fiub":
        raise TypeError("q must be real numbers")
    if known.dtype.kind != "f":
        known = known.astype(np.float64)
    fractions = known / known.dtype.type(scale) if scale != 1 else known
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError(text)
    return fractions.reshape(-1), known.shape, weak


def _interpolate(low: ir.Value, high: ir.Value, share: ir.Value, dtype: np.dtype) -> ir.Value:
    """low + (high - low) * share, from the nearer end. Floats subtract in their own dtype, integers in `dtype`."""
    if dtype_of(low).kind != "f":
        low, high = cast(low, dtype), cast(high, dtype)
    step = cast(ops.subtract(high, low), dtype)
    low, high, share = (cast(v, dtype) for v in (low, high, share))
    near_low = ops.add(low, ops.multiply(step, share))
    near_high = ops.subtract(high, ops.multiply(step, ops.subtract(1, share)))
    return ops.select(ops.compare(share, 0.5, "GE"), near_high, near_low)


def _quantile(a: object, q: object, axis: object, out: object, method: str, keepdims: object, weights: object,
              scale: float, ignore_nan: bool) -> Any:
    a = wrap(a)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if method not in PLACES:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {PLACES.keys()}")
    if weights is not None:
        raise UnsupportedError("numpy.quantile and numpy.percentile: argument 'weights' is not supported in compiled "
                               "code.",
                               hint="Sort with np.argsort and search the cumulative weights with np.searchsorted.",
                               code="argument-not-supported")
    text = "Percentiles must be in the range [0, 100]" if scale == 100 else "Quantiles must be in the range [0, 1]"
    fractions, q_shape, weak = _fractions(q, scale, text)
    value, kept = _lanes(a, axis)
    if a.dtype == bool:
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` "
                        "operator, or the logical_xor function instead.")
    count = shape_of(value)[-1]
    if count == 0 and not ignore_nan:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    ordered = sorted_value(value, len(shape_of(value)) - 1)
    if count == 0:
        shape = (len(fractions) if not isinstance(fractions, Tensor) else fractions.size, *shape_of(value)[:-1])
        found = ops.constant(np.nan, a.dtype, shape)
    else:
        dtype = a.dtype if weak and a.dtype.kind == "f" else np.result_type(a.dtype, fractions.dtype)
        found = _at_fractions(ordered, fractions, method, dtype, ignore_nan and a.dtype.kind == "f")
    rest = kept if flag(keepdims) else shape_of(value)[:-1]
    return deliver(ops.reshape(found, (*q_shape, *rest)), out, name="quantile")


def _at_fractions(ordered: ir.Value, fractions: Any, method: str, dtype: np.dtype, ignore_nan: bool
                  ) -> ir.Value:
    """The quantiles (k, rest...) of lanes sorted along the last axis; interpolated ones in `dtype`."""
    shape = shape_of(ordered)
    count, rest = shape[-1], shape[:-1]
    known = not is_tensor(fractions) and not ignore_nan
    size = len(fractions)
    n: Any = count
    if known:
        q = fractions
    else:
        q = wrap(fractions)
        q = Tensor.of_value(ops.broadcast_in_dim(q.value(), (size, *rest), [0]))
        if ignore_nan:
            valid = ops.convert(ops.not_(is_nan(ordered)), q.dtype)
            n = ops.reduce(valid, 0, [len(rest)], "add")
            n = Tensor.of_value(ops.broadcast_in_dim(n, (size, *rest), range(1, len(rest) + 1)))
    places = PLACES[method](n, q)
    get = (lambda p: _columns(ordered, p)) if known else (lambda p: _picked(ordered, p.value()))
    if places.dtype.kind == "i":
        found = get(np.clip(places, 0, np.maximum(n - 1, 0).astype(np.int64)) if is_tensor(n) else places)
    else:
        below, above = _neighbours(places, n)
        share = _share(method, places, np.floor(places) if method != "midpoint" else places)
        if known:
            share = ops.broadcast_in_dim(ops.constant(share), (size, *rest), [0])
        found = _interpolate(get(below), get(above), share if known else share.value(), dtype)
    if dtype_of(ordered).kind != "f":
        return found
    last = ops.reshape(_columns(ordered, np.array([0 if ignore_nan else count - 1])), rest)
    missing = ops.broadcast_in_dim(is_nan(last), shape_of(found), range(1, len(rest) + 1))
    return ops.select(missing, np.nan, found)


@implements(np.quantile)
def quantile(a: object, q: object, axis: object = None, out: object = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: object = False, *, weights: object = None) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 1, ignore_nan=False)


@implements(np.percentile)
def percentile(a: object, q: object, axis: object = None, out: object = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: object = False, *, weights: object = None) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 100, ignore_nan=False)


@implements(np.nanquantile)
def nanquantile(a: object, q: object, axis: object = None, out: object = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: object = _ABSENT, *, weights: object = None) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 1, ignore_nan=True)


@implements(np.nanpercentile)
def nanpercentile(a: object, q: object, axis: object = None, out: object = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: object = _ABSENT, *, weights: object = None) -> Any:
    return _quantile(a, q, axis, out, method, keepdims, weights, 100, ignore_nan=True)


# ---- median ----------------------------------------------------------------------------------------------------

def _middle_mean(low: ir.Value, high: ir.Value, out: object, kept: Shape) -> Any:
    """The mean of the two middle elements, in the dtype of `np.mean`."""
    pair = Tensor.of_value(ops.concatenate([ops.reshape(low, (1, *kept)), ops.reshape(high, (1, *kept))], 0))
    return mean(pair, 0, out=out)


@implements(np.median)
def median(a: object, axis: object = None, out: object = None, overwrite_input: bool = False,
           keepdims: object = False) -> Any:
    a = wrap(a)
    value, kept = _lanes(a, axis)
    rest = shape_of(value)[:-1]
    count = shape_of(value)[-1]
    shape = kept if flag(keepdims) else rest
    if count == 0:
        dtype = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
        return deliver(ops.constant(np.nan, dtype, shape), out, name="median")
    ordered = sorted_value(value, len(rest))
    low, high = (ops.reshape(_columns(ordered, np.array([p])), rest) for p in ((count - 1) // 2, count // 2))
    if a.dtype.kind in "fc":
        last = ops.reshape(_columns(ordered, np.array([count - 1])), rest)
        low, high = (ops.select(is_nan(last), last, x) for x in (low, high))
    return _middle_mean(low, high, out, shape)


@implements(np.nanmedian)
def nanmedian(a: object, axis: object = None, out: object = None, overwrite_input: bool = False,
              keepdims: object = _ABSENT) -> Any:
    a = wrap(a)
    if a.dtype.kind not in "fc":
        return median(a, axis, out, overwrite_input, flag(keepdims))
    value, kept = _lanes(a, axis)
    rest = shape_of(value)[:-1]
    count = shape_of(value)[-1]
    shape = kept if flag(keepdims) else rest
    if count == 0:
        return deliver(ops.constant(np.nan, a.dtype, shape), out, name="median")
    ordered = sorted_value(value, len(rest))
    valid = ops.reduce(ops.convert(ops.not_(is_nan(value)), np.int64), 0, [len(rest)], "add")
    most = ops.maximum(ops.subtract(valid, 1), 0)
    places = [ops.shift_right_logical(most, 1), ops.minimum(ops.shift_right_logical(valid, 1), most)]
    low, high = (ops.reshape(_picked(ordered, ops.reshape(p, (1, *rest))), rest) for p in places)
    return _middle_mean(low, high, out, shape)


# ---- covariance ------------------------------------------------------------------------------------------------

def _weights_vector(weights: object, count: int, name: str, integral: bool) -> Tensor:
    w = wrap(weights)
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if integral and w.dtype.kind == "f":
        whole = ops.compare(w.value(), ops.round_nearest_even(w.value()), "EQ")
        current_trace().check(ops.reduce(whole, True, [0], "and"), lambda: TypeError("fweights must be integer"))
    ok = ops.compare(w.value(), 0, "GE")
    current_trace().check(ops.reduce(ok, True, [0], "and"), lambda: ValueError(f"{name} cannot be negative"))
    return w.astype(np.float64)


@implements(np.cov)
def cov(m: object, y: object = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: object = None, aweights: object = None, *, dtype: object = None) -> Any:
    """Covariance of the rows: sum_k w_k (x_ik - mean_i) conj(x_jk - mean_j) / normalisation."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    rows = [wrap(v) for v in (m, y) if v is not None]
    if any(r.ndim > 2 for r in rows):
        raise ValueError("m has more than 2 dimensions" if rows[0].ndim > 2 else "y has more than 2 dimensions")
    if dtype is None:
        dtype = result_type((*(r.dtype for r in rows), np.dtype(np.float64)))
    rows = [_as_rows(r, np.dtype(dtype), rowvar, number) for number, r in enumerate(rows)]
    x = ops.concatenate(rows, 0)
    variables, count = shape_of(x)
    if not variables:
        return Tensor.of_value(ops.constant(0, dtype, (0, 0)))
    ddof = (0 if bias else 1) if ddof is None else int(ddof)
    weights = None
    if fweights is not None:
        weights = _weights_vector(fweights, count, "fweights", integral=True)
    if aweights is not None:
        aweights = _weights_vector(aweights, count, "aweights", integral=False)
        weights = aweights if weights is None else np.multiply(weights, aweights)
    samples = Tensor.of_value(x)
    if weights is None:
        center, free = mean(samples, 1, keepdims=True), max(count - ddof, 0)
        weighted = deviations = np.subtract(samples, center)
    else:
        total = np.sum(weights)
        center = np.true_divide(np.sum(np.multiply(samples, weights), axis=1, keepdims=True), total)
        lost = ddof if aweights is None else np.true_divide(ddof * np.sum(np.multiply(weights, aweights)), total)
        free = np.maximum(np.subtract(total, lost), 0)
        deviations = np.subtract(samples, center)
        weighted = np.multiply(deviations, weights)
    product = np.dot(deviations, np.conjugate(weighted).T)
    return np.squeeze(np.true_divide(product, free).astype(dtype))


def _as_rows(x: Tensor, dtype: np.dtype, rowvar: bool, number: int) -> ir.Value:
    """Variables as rows, samples as columns."""
    value = as_value(x, dtype)
    if x.ndim < 2:
        return ops.reshape(value, (1, x.size))
    turned = not rowvar and (number > 0 or x.shape[0] != 1)
    return ops.transpose(value, (1, 0)) if turned else value


@implements(np.corrcoef)
def corrcoef(x: object, y: object = None, rowvar: bool = True, *, dtype: object = None) -> Any:
    """Correlation: covariance over the product of the standard deviations, clipped to [-1, 1]."""
    found = wrap(cov(x, y, rowvar, dtype=dtype))
    if not found.ndim:
        return np.true_divide(found, found)
    diagonal = Tensor.of_value(_diagonal(found.value()))
    spread = np.sqrt(np.real(diagonal))
    ratio = wrap(np.true_divide(np.true_divide(found, spread[:, None]), spread[None, :]))
    value = ratio.value()
    if ratio.dtype.kind == "c":
        clipped = ops.complex(ops.clamp(-1, ops.real(value), 1), ops.clamp(-1, ops.imag(value), 1))
    else:
        clipped = ops.clamp(-1, value, 1)
    return Tensor.of_value(ops.select(is_nan(value), value, clipped))


def _diagonal(square: ir.Value) -> ir.Value:
    n = shape_of(square)[0]
    return view_steps.DiagonalStep(0, (n,)).read(square)
