"""`scipy.stats`: functions of distributions (`norm.cdf(x, loc, scale)`, `gamma(2.0).logpdf(x)`, `poisson.pmf(k, mu)`).

SciPy computes the formula where the arguments are valid, picked by masks of run-time size. Here it is computed
everywhere and selected. The formulas themselves (`_pdf`, `_cdf`...) are SciPy's Python code, which is followed.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.session import calls


class _At(NamedTuple):
    """A distribution's arguments at points `z`, in standard form where they are points of its line."""

    z: Tensor
    args: tuple[Tensor, ...]
    loc: Tensor
    scale: Any          # 1 for discrete distributions, which have none
    valid: Tensor       # parameters and points are numbers that the distribution takes
    low: Any
    high: Any


def _at(distribution: Any, x: Any, args: tuple, keywords: dict, standard: bool) -> _At:
    shapes, loc, scale = distribution._parse_args(*args, **keywords)
    x, loc, scale, shapes = wrap(x), wrap(loc), wrap(scale), tuple(map(wrap, shapes))
    z = ((x - loc) / scale if _continuous(distribution) else x - loc) if standard else x
    z = z.astype(np.promote_types(x.dtype, np.float64)) if _continuous(distribution) or not standard else z
    valid = calls.call(distribution._argcheck, *shapes) & (scale > 0) & (loc == loc) & ~np.isnan(z)
    low, high = calls.call(distribution._get_support, *shapes)
    return _At(z, shapes, loc, scale, valid, low, high)


def _continuous(distribution: Any) -> bool:
    return hasattr(distribution, "_pdf")


def _value(distribution: Any, name: str, at: _At) -> Any:
    return calls.call(getattr(distribution, f"_{name}"), at.z, *at.args)


def _selected(distribution: Any, at: _At, inside: Any, value: Any, outside: Any) -> Any:
    return np.where(at.valid, np.where(inside, value, outside), distribution.badvalue)[()]


def _density(name: str) -> Callable:
    """`pdf` and `logpdf`: nothing outside of the support."""
    def density(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        at, logarithmic = _at(self, x, args, kwds, standard=True), name.startswith("log")
        value = _value(self, name, at)
        value = value - np.log(at.scale) if logarithmic else value / at.scale
        inside = calls.call(self._support_mask, at.z, *at.args)
        return _selected(self, at, inside, value, -np.inf if logarithmic else 0.0)
    return density


def _mass(name: str) -> Callable:
    """`pmf` and `logpmf`: nothing between the integers."""
    def mass(self: Any, k: Any, *args: Any, **kwds: Any) -> Any:
        at = _at(self, k, args, kwds, standard=True)
        inside = calls.call(self._support_mask, at.z, *at.args) & calls.call(self._nonzero, at.z, *at.args)
        value = _value(self, name, at)
        return _selected(self, at, inside, value if name.startswith("log") else np.clip(value, 0, 1),
                         -np.inf if name.startswith("log") else 0.0)
    return mass


def _probability(name: str) -> Callable:
    """`cdf`, `sf` and their logarithms: 0 before (behind) the support, 1 behind (before) it."""
    def probability(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        at, logarithmic = _at(self, x, args, kwds, standard=True), name.startswith("log")
        nothing, all_of_it = (-np.inf, 0.0) if logarithmic else (0.0, 1.0)
        below = name.endswith("cdf")
        starts = at.low < at.z if _continuous(self) else at.low <= at.z
        value = _value(self, name, at)
        value = value if _continuous(self) or logarithmic else np.clip(value, 0, 1)
        ends = np.where(at.z >= at.high, all_of_it if below else nothing, nothing if below else all_of_it)
        return _selected(self, at, starts & (at.z < at.high), value, ends)
    return probability


def _quantile(name: str) -> Callable:
    """`ppf` and `isf`: the ends of the support at 0 and 1."""
    def quantile(self: Any, q: Any, *args: Any, **kwds: Any) -> Any:
        at = _at(self, q, args, kwds, standard=False)
        low, high = at.low * at.scale + at.loc, at.high * at.scale + at.loc
        first, last = (low, high) if name == "ppf" else (high, low)
        ends = np.where(at.z == 0, first, np.where(at.z == 1, last, self.badvalue))
        return _selected(self, at, (at.z > 0) & (at.z < 1), _value(self, name, at) * at.scale + at.loc, ends)
    return quantile


def apply_where(cond: Any, args: Any, f1: Callable, f2: Callable | None = None, /, *, fill_value: Any = None,
                kwargs: dict | None = None, xp: object = None) -> Any:
    """`f1(*args)` where `cond` holds, elsewhere `f2(*args)` or `fill_value`. Both are functions of elements."""
    args, keywords = args if isinstance(args, (tuple, list)) else (args,), kwargs or {}
    *args, cond = np.broadcast_arrays(*args, cond)
    other = fill_value if f2 is None else calls.call(f2, *args, **keywords)
    return np.where(cond, calls.call(f1, *args, **keywords), other)


def _lazywhere(cond: Any, arrays: Any, f: Callable, fillvalue: Any = None, f2: Callable | None = None) -> Any:
    return apply_where(cond, arrays, f, f2, fill_value=fillvalue)


def _lazyselect(condlist: Any, choicelist: Any, arrays: Any, default: Any = 0) -> Any:
    """The last of the functions whose condition holds."""
    arrays = np.broadcast_arrays(*map(wrap, arrays))
    found = np.full(arrays[0].shape, default, np.mintypecode([a.dtype.char for a in arrays]))
    for cond, function in zip(condlist, choicelist, strict=True):
        if cond is not False:
            found = np.where(cond, calls.call(function, *arrays), found).astype(found.dtype)
    return found


def _ranked(x: Any, method: str, dtype: np.dtype) -> tuple[Any, Any, Any]:
    """Ranks along the last axis, the sorted elements, and how many are equal to each that is the first of its kind.

    Ranks are the places where runs of equal elements begin and end; SciPy picks those places with masks, so arrays of
    run-time size."""
    n = x.shape[-1]
    order = np.argsort(x, axis=-1, stable=True)
    place = np.broadcast_to(np.arange(n), x.shape)
    ordered = np.take_along_axis(x, order, axis=-1)
    apart, edge = ordered[..., 1:] != ordered[..., :-1], np.ones((*x.shape[:-1], 1), bool)
    begins, ends = np.concatenate([edge, apart], axis=-1), np.concatenate([apart, edge], axis=-1)
    start = np.maximum.accumulate(np.where(begins, place, 0), axis=-1)
    stop = np.minimum.accumulate(np.where(ends, place, n)[..., ::-1], axis=-1)[..., ::-1]
    found = {"ordinal": place + 1, "min": start + 1, "max": stop + 1, "average": (start + stop) / 2 + 1,
             "dense": np.cumsum(begins, axis=-1)}[method].astype(dtype)
    ranks = np.zeros_like(order, dtype)
    np.put_along_axis(ranks, order, found, axis=-1)
    return ranks, ordered, np.where(begins, stop - start + 1, 0)


def _rankdata(x: Any, method: str, return_sorted: bool = False, return_ties: bool = False, xp: object = None) -> Any:
    """That of SciPy 1.18."""
    x = wrap(x)
    dtype = np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else np.dtype(np.float64)
    ranks, ordered, ties = _ranked(x, method, dtype)
    if method == "ordinal":
        return ranks, None, None
    return ranks, ordered, ties.astype(dtype) if return_ties else None


def _rankdata_before(x: Any, method: str, return_ties: bool = False, xp: object = None) -> Any:
    """That of SciPy up to 1.17."""
    ranks, _, ties = _ranked(wrap(x), method, np.dtype(np.float64 if method == "average" else np.int64))
    return (ranks, ties.astype(np.float64)) if return_ties and method != "ordinal" else ranks


_VERSION = tuple(map(int, version("scipy").split(".")[:2]))
RANKS: dict[str, Callable] = {"_rankdata": _rankdata if _VERSION >= (1, 18) else _rankdata_before}
ELEMENTWISE: dict[str, Callable] = {f.__name__: f for f in (apply_where, _lazywhere, _lazyselect)}
"""SciPy's helpers that call a function with the elements that a mask picks."""


def _frozen(self: Any, *args: Any, **kwds: Any) -> Any:
    """SciPy's own frozen distribution: making one runs code that it writes for itself, which is not followed."""
    return self.freeze(*args, **kwds)


FUNCTIONS: dict[str, Callable] = {
    "rv_generic.freeze": _frozen, "rv_generic.__call__": _frozen,
    **{f"rv_continuous.{n}": _density(n) for n in ("pdf", "logpdf")},
    **{f"rv_discrete.{n}": _mass(n) for n in ("pmf", "logpmf")},
    **{f"{kind}.{n}": _probability(n) for kind in ("rv_continuous", "rv_discrete")
       for n in ("cdf", "sf", "logcdf", "logsf")},
    **{f"rv_continuous.{n}": _quantile(n) for n in ("ppf", "isf")},
}

__all__ = ["ELEMENTWISE", "FUNCTIONS", "RANKS"]
