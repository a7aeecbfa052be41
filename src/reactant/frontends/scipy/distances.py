"""`scipy.spatial.distance`: what `cdist`, `pdist` and `squareform` call in C.

A metric is a function of two broadcast arrays of vectors, which reduces the last axis. Float64, as in SciPy. The Python
code around it (which metric, defaults of `V` and `VI`, callables) is SciPy's own, which is followed.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import wrap

Metric = Callable[..., Any]


# ---- of numbers ------------------------------------------------------------------------------------------------

def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def _squares(x: Any, y: Any, w: Any) -> Any:
    return _sum((x - y) ** 2, w)


def _largest(x: Any, y: Any, w: Any) -> Any:
    apart = np.abs(x - y)
    apart = np.where(apart > 0 if w is None else (apart > 0) & (w > 0), apart, 0.0)     # NaN does not count
    return np.max(apart, axis=-1, initial=0.0)


def _power(x: Any, y: Any, w: Any, p: Any = 2.0) -> Any:
    return _sum(np.abs(x - y) ** p, w) ** (1.0 / p)


def _canberra(x: Any, y: Any, w: Any) -> Any:
    whole = np.abs(x) + np.abs(y)
    return _sum(np.abs(x - y) / (whole + (whole == 0)), w)


def _cosine(x: Any, y: Any, w: Any = None) -> Any:
    cosine = _sum(x * y, w) / (np.sqrt(_sum(x * x, w)) * np.sqrt(_sum(y * y, w)))
    return 1.0 - np.clip(cosine, -1.0, 1.0)


def _jensenshannon(x: Any, y: Any, w: Any = None) -> Any:
    sums = [np.sum(v, axis=-1, keepdims=True) for v in (x, y)]
    counts = ~np.any((x < 0) | (y < 0), axis=-1) & (sums[0] != 0)[..., 0] & (sums[1] != 0)[..., 0]
    x, y = (v / np.where(s == 0, 1.0, s) for v, s in zip((x, y), sums, strict=True))
    middle = (x + y) / 2
    parts = [np.where(v > 0, v * np.log(np.where(v > 0, v, 1.0) / np.where(v > 0, middle, 1.0)), 0.0) for v in (x, y)]
    return np.where(counts, np.sqrt(np.maximum(np.sum(parts[0] + parts[1], axis=-1) / 2, 0.0)), np.inf)


def _mahalanobis(x: Any, y: Any, w: Any = None, VI: Any = None) -> Any:
    apart = x - y
    return np.sqrt(np.sum((apart @ VI) * apart, axis=-1))


def _seuclidean(x: Any, y: Any, w: Any = None, V: Any = None) -> Any:
    return np.sqrt(np.sum((x - y) ** 2 / V, axis=-1))


# ---- of truths -------------------------------------------------------------------------------------------------

def _truths(formula: Callable[..., Any]) -> Metric:
    """A metric of how often both are true, only the first, only the second, and of how many there are."""
    def metric(x: Any, y: Any, w: Any) -> Any:
        x, y = x != 0, y != 0
        both, first, second = (_sum(t * 1.0, w) for t in (x & y, x & ~y, ~x & y))
        return formula(both, first, second, np.sum(np.ones(x.shape[-1]) if w is None else w))
    return metric


def _ratio(part: Any, whole: Any) -> Any:
    return np.where(part == 0, 0.0, part / np.where(part == 0, 1.0, whole))


def _yule(both: Any, first: Any, second: Any, count: Any) -> Any:
    half = first * second
    whole = both * (count - both - first - second) + half
    return _ratio(2 * half, whole)


WEIGHTED: dict[str, Metric] = {
    "euclidean": lambda x, y, w: np.sqrt(_squares(x, y, w)), "sqeuclidean": _squares,
    "cityblock": lambda x, y, w: _sum(np.abs(x - y), w), "chebyshev": _largest, "minkowski": _power,
    "canberra": _canberra, "braycurtis": lambda x, y, w: _sum(np.abs(x - y), w) / _sum(np.abs(x + y), w),
    "hamming": lambda x, y, w: _sum((x != y) * 1.0, w) / np.sum(np.ones(x.shape[-1]) if w is None else w),
    "jaccard": _truths(lambda both, first, second, count: _ratio(first + second, both + first + second)),
    "dice": _truths(lambda both, first, second, count: (first + second) / (2 * both + first + second)),
    "rogerstanimoto": _truths(lambda both, first, second, count:
                              2 * (first + second) / (count + first + second)),
    "russellrao": _truths(lambda both, first, second, count: (count - both) / count),
    "sokalsneath": _truths(lambda both, first, second, count:
                           2 * (first + second) / (both + 2 * (first + second))),
    "yule": _truths(_yule)}
"""Metrics that take weights of the coordinates, or None."""

INTO: dict[str, Metric] = {"cosine": _cosine, "jensenshannon": _jensenshannon, "mahalanobis": _mahalanobis,
                           "seuclidean": _seuclidean}
"""Metrics whose results are written into an array that is given."""


# ---- of rows ---------------------------------------------------------------------------------------------------

def _rows(x: Any) -> Any:
    return wrap(x).astype(np.float64)


def _two_sets(metric: Metric, x: Any, y: Any, *args: Any, **keywords: Any) -> Any:
    return metric(_rows(x)[:, None, :], _rows(y)[None, :, :], *args, **keywords)


def _one_set(metric: Metric, x: Any, *args: Any, **keywords: Any) -> Any:
    x = _rows(x)
    first, second = np.triu_indices(x.shape[0], 1)
    return metric(x[first], x[second], *args, **keywords)


def _given(metric: Metric, pairs: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of `count` sets, weights and an array for the result."""
    def function(*sets: Any, w: Any = None, out: Any = None, **keywords: Any) -> Any:
        if len(sets) > count:
            w = sets[count]
        if metric is WEIGHTED["dice"] and any(wrap(x).dtype != bool for x in sets[:count]):
            raise UnsupportedError("The Dice dissimilarity of numbers is not supported in compiled code.",
                                   hint="Compare them with zero first.", code="argument-not-supported")
        found = pairs(metric, *sets[:count], None if w is None else _rows(w), **keywords)
        if out is None:
            return found
        out[...] = found
        return out
    return function


def _into(metric: Metric, pairs: Callable[..., Any], count: int) -> Callable[..., Any]:
    def function(*given: Any, **keywords: Any) -> None:
        given[count][...] = pairs(metric, *given[:count], **keywords)
    return function


def _squared(square: Any, vector: Any) -> None:
    count = square.shape[0]
    place = np.zeros((count, count), np.int64)
    place[np.triu_indices(count, 1)] = np.arange(vector.shape[0])
    square[...] = np.where(np.eye(count, dtype=bool), square.dtype.type(0), wrap(vector)[place + place.T])


def _flattened(square: Any, vector: Any) -> None:
    vector[...] = wrap(square)[np.triu_indices(square.shape[0], 1)]


_SETS = {"cdist": (_two_sets, 2), "pdist": (_one_set, 1)}
FUNCTIONS = {f"{kind}_{name}": _given(metric, *_SETS[kind]) for name, metric in WEIGHTED.items() for kind in _SETS}
"""`scipy.spatial._distance_pybind`"""
WRAPPED = {f"{kind}_{name}_double_wrap": _into(metric, *_SETS[kind]) for name, metric in INTO.items() for kind in _SETS}
WRAPPED |= {"to_squareform_from_vector_wrap": _squared, "to_vector_from_squareform_wrap": _flattened}
"""`scipy.spatial._distance_wrap`"""
