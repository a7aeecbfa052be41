"""Different values and sets: `unique` and relatives, `union1d`, `intersect1d`, `setdiff1d`, `setxor1d`.

How many values there are is known only at run time: the results are `Bounded`, sorted in a frame as big as the input.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import Reason, UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import Bounded, Mask, Range, as_number, compressed, is_partial
from reactant.frontends.arrays.elementwise import is_nan
from reactant.frontends.arrays.implements import implements, refuse
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.numpy.dynamic.bounded_functions import compact, on_bounded, require_vector
from reactant.frontends.numpy.sorting import gather_flat, keys_of, order_of_keys, sorted_value
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

MOST_COLUMNS = 32
"""`unique(axis=)` compares rows of at most this many elements: each is a key of one sort."""


# ---- unique ----------------------------------------------------------------------------------------------------

def unique(ar: object, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    """The different values in ascending order, and, where asked for, the position of the first of each, which of them
    every element is, and how often each occurs."""
    if axis is not None and np.ndim(ar) > 1:
        return _unique_rows(ar, return_index, return_inverse, return_counts, axis)
    if axis is not None:
        axis_in(axis, np.ndim(ar))
    inside = None
    if is_partial(ar):
        require_vector(ar, "unique")
        ar = compact(ar)        # positions count what is there
        value, inside, shape = ar.value(), ar.valid(), None
    else:
        array = wrap(ar)
        value, shape = ops.reshape(array.value(), (array.size,)), array.shape if axis is None else None
    order = None
    if return_index or return_inverse or inside is not None:
        keys = keys_of(value)
        order = order_of_keys(keys if inside is None else [ops.convert(ops.not_(inside), np.uint8), *keys], 0)
        ordered = gather_flat(value, order)
    else:
        ordered = sorted_value(value, 0) if shape_of(value)[0] > 1 else value
    count = None if inside is None else as_number(ar.length(0))
    found = _Runs(ordered, _changes(ordered, equal_nan), count)
    results: list[Any] = [found.first(ordered)]
    if return_index:
        results.append(found.first(order))
    if return_inverse:
        of_each = found.number_of_each(order)
        results.append(Bounded(of_each, ar.extents) if inside is not None else
                       of_each if shape is None else np.reshape(of_each, shape))
    if return_counts:
        results.append(found.counts())
    return results[0] if len(results) == 1 else tuple(results)


def _changes(ordered: ir.Value, equal_nan: bool) -> ir.Value:
    """True where an element differs from the one before it (all but the first)."""
    n = shape_of(ordered)[0]
    if n < 2:
        return ops.constant(True, bool, (0,))
    here, before = ops.slice(ordered, [1], [n]), ops.slice(ordered, [0], [n - 1])
    differs = ops.compare(here, before, "NE")
    if equal_nan and dtype_of(ordered).kind in "fc":
        differs = ops.and_(differs, ops.not_(ops.and_(_missing(here), _missing(before))))
    return differs


def _missing(x: ir.Value) -> ir.Value:
    return is_nan(x) if dtype_of(x).kind == "f" else ops.or_(is_nan(ops.real(x)), is_nan(ops.imag(x)))


class _Runs:
    """Runs of equal elements in a sorted vector of which `count` elements mean something (None: all)."""

    def __init__(self, ordered: ir.Value, changes: ir.Value, count: ir.Value | None):
        self.n = n = shape_of(ordered)[0]
        starts = ops.concatenate([ops.constant(True, bool, (min(n, 1),)), changes], 0)
        self.index = ops.iota((n,), np.int64, 0)
        self.end = ops.constant(n, np.int64) if count is None else count
        if count is not None:
            starts = ops.and_(starts, ops.compare(self.index, ops.broadcast_in_dim(count, (n,), []), "LT"))
        self.starts = Mask(starts)
        self.extents = [Range(0, self.starts.length())]

    def first(self, value: ir.Value, rest: int = 0) -> Bounded:
        """The first element of each run."""
        return Bounded(Tensor.of_value(compressed(value, 0, self.starts)), [*self.extents, *[None] * rest])

    def number_of_each(self, order: ir.Value) -> Tensor:
        """Which run the element that `order` brought to each place belongs to, in the places from before."""
        if not self.n:
            return Tensor.of_value(ops.constant(0, np.int64, (0,)))
        ranks = ops.clamp(0, self.starts.ranks(), self.n - 1)
        return Tensor.of_value(ops.scatter(
            ops.constant(0, np.int64, (self.n,)), ops.reshape(order, (self.n, 1)), ranks, "second",
            update_window_dims=(), inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1,
            unique_indices=True))

    def counts(self) -> Bounded:
        """The length of each run: where the next one starts less where it starts."""
        n, starts = self.n, compressed(self.index, 0, self.starts)
        end = ops.broadcast_in_dim(self.end, (n,), [])
        following = ops.concatenate([ops.slice(starts, [1], [n]), ops.slice(end, [0], [1])], 0) if n else starts
        last = ops.compare(ops.add(self.index, 1), ops.broadcast_in_dim(self.starts.length(), (n,), []), "GE")
        return Bounded(Tensor.of_value(ops.subtract(ops.select(last, end, following), starts)), self.extents)


def _unique_rows(ar: Any, return_index: bool, return_inverse: bool, return_counts: bool, axis: int) -> Any:
    if is_partial(ar):
        raise UnsupportedError("numpy.unique along an axis of an array of run-time size is not supported in compiled "
                               "code.", hint="Use it on the whole array.", code="array-of-run-time-size")
    rows = np.moveaxis(wrap(ar), axis_in(axis, np.ndim(ar)), 0)
    n, rest = rows.shape[0], rows.shape[1:]
    flat = np.reshape(rows, (n, int(np.prod(rest))))
    if not flat.shape[1] or flat.shape[1] > MOST_COLUMNS:
        raise UnsupportedError(f"numpy.unique along an axis compares rows of 1 to {MOST_COLUMNS} elements in "
                               f"compiled code; these have {flat.shape[1]}.",
                               hint="Sort with np.lexsort and compare neighbours.", code="argument-not-supported")
    columns = [flat[:, j].value() for j in range(flat.shape[1])]
    order = order_of_keys([k for c in columns for k in keys_of(c)], 0)
    changes = None
    for c in columns:
        differs = _changes(gather_flat(c, order), equal_nan=False)
        changes = differs if changes is None else ops.or_(changes, differs)
    found = _Runs(order, changes, None)
    chosen = found.first(order)
    values = Bounded(rows[chosen.frame], [*found.extents, *[None] * len(rest)])
    places = list(range(1, rows.ndim))
    places.insert(axis_in(axis, rows.ndim), 0)
    results: list[Any] = [values.transpose(*places)]
    if return_index:
        results.append(chosen)
    if return_inverse:
        results.append(found.number_of_each(order))
    if return_counts:
        results.append(found.counts())
    return results[0] if len(results) == 1 else tuple(results)


def _register(function: Any, ours: Any) -> None:
    """One implementation for arrays of either kind."""
    implements(function)(ours)
    on_bounded(function)(ours)


_register(np.unique, unique)


def _named(name: str, **asked: bool) -> None:
    function = getattr(np, name, None)
    if function is None:       # before NumPy 2.0
        return
    result = type(function(np.zeros(1)))

    def ours(x: object, /) -> Any:
        return result(*unique(x, **asked, equal_nan=False))
    _register(function, ours)


_named("unique_all", return_index=True, return_inverse=True, return_counts=True)
_named("unique_inverse", return_inverse=True)
_named("unique_counts", return_counts=True)
if hasattr(np, "unique_values"):
    refuse(Reason("np.unique_values gives the values in an order of its own.",
                  "Use np.unique, whose order is known.", "function-not-compiled"), np.unique_values)


# ---- sets ------------------------------------------------------------------------------------------------------

def _flat(x: object) -> Any:
    return x if is_partial(x) else np.ravel(wrap(x))


def union1d(ar1: object, ar2: object) -> Any:
    return unique(np.concatenate([_flat(ar1), _flat(ar2)]))


def intersect1d(ar1: object, ar2: object, assume_unique: bool = False, return_indices: bool = False) -> Any:
    first, second = _flat(ar1), _flat(ar2)
    if return_indices:
        (first, at), (second, at_other) = (unique(x, return_index=True) for x in (first, second))
        common, other = np.isin(first, second), np.isin(second, first)
        return first.astype(np.result_type(first.dtype, second.dtype))[common], at[common], at_other[other]
    if not assume_unique:
        first, second = unique(first), unique(second)
    both = np.sort(np.concatenate([first, second]))
    return both[:-1][both[1:] == both[:-1]]


def setdiff1d(ar1: object, ar2: object, assume_unique: bool = False) -> Any:
    first = _flat(ar1) if assume_unique else unique(ar1)
    return first[np.isin(first, ar2, invert=True)]


def setxor1d(ar1: object, ar2: object, assume_unique: bool = False) -> Any:
    first, second = _flat(ar1), _flat(ar2)
    if not assume_unique:
        first, second = unique(first), unique(second)
    both = np.sort(np.concatenate([first, second]))
    edge = np.ones(min(both.frame.shape[0] if is_partial(both) else both.shape[0], 1), bool)
    change = np.concatenate([edge, both[1:] != both[:-1], edge])
    return both[change[1:] & change[:-1]]


for _function, _ours in ((np.union1d, union1d), (np.intersect1d, intersect1d), (np.setdiff1d, setdiff1d),
                         (np.setxor1d, setxor1d)):
    _register(_function, _ours)
