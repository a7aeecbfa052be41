"""Sorting and searching: `sort`, `argsort`, `lexsort`, `partition`, `searchsorted`, `digitize`, `isin`.

Elements are compared through *keys*: integers in the same order as the elements, with NumPy's conventions (NaN last,
-0.0 equal to 0.0, complex numbers by real then imaginary part). XLA sorts one integer operand five times faster than
floats under a comparator, and an index packed into the same integer makes `argsort` as cheap.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.elementwise import is_nan
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.promotion import result_type
from reactant.frontends.arrays.shape import axis_in
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.arrays.ufunc_methods import deliver, layout_after
from reactant.frontends.arrays.ufuncs import as_value
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size, tensor_type

KINDS = ("quicksort", "mergesort", "heapsort", "stable")
PACKED_FROM = 512
"""Axes at least this long sort (key, index) packed into one integer, where it holds both; shorter ones as two operands,
which compiles faster, and so do keys of one byte, which are counted."""
DIVIDED_FROM, MOST_DIVIDED = 1 << 9, 4
"""Axes at least this long are divided by `partition` at so many places at most, rather than sorted: the elements there
are selected, then all are moved, stably, by whether they are less, equal or greater."""
COMPARED_UP_TO = 64
"""`isin` with at most this many test elements compares with each; with more, searches."""
TABLE_ROWS, MOST_ROWS = 1 << 10, 1 << 20
"""Elements from which whether each is among integers is looked up in a table, and what it has at most."""
TABLE_FROM = 16
"""Bytes are looked up in a table of all 256 from so many test elements on."""

Keys = list[ir.Value]


# ---- keys ------------------------------------------------------------------------------------------------------

def order_key(x: ir.Value, ties: bool = True) -> ir.Value:
    """Integers ordered as the real elements are. `ties`: -0.0 and 0.0 get one key (needed where stability or
    equality shows; without it the key can be turned back into the element)."""
    dtype = dtype_of(x)
    if dtype.kind == "b":
        return ops.convert(x, np.uint8)
    if dtype.kind in "iu":
        return x
    bits = np.dtype(f"i{dtype.itemsize}")
    raw = ops.bitcast_convert(ops.select(is_nan(x), np.nan, x), bits)
    if ties:
        lowest = np.iinfo(bits).min      # the bits of -0.0
        raw = ops.select(ops.compare(raw, lowest, "EQ"), 0, raw)
    return _flip_negative(raw)


def _flip_negative(raw: ir.Value) -> ir.Value:
    """Negative floats count backwards in their bits; the map is its own inverse."""
    width = 8 * dtype_of(raw).itemsize
    mask = ops.shift_right_logical(ops.shift_right_arithmetic(raw, width - 1), 1)
    return ops.xor(raw, mask)


def from_key(key: ir.Value, dtype: np.dtype) -> ir.Value:
    """The elements of keys made with `ties=False`."""
    if dtype.kind == "b":
        return ops.compare(key, 0, "NE")
    return key if dtype.kind in "iu" else ops.bitcast_convert(_flip_negative(key), dtype)


def keys_of(x: ir.Value) -> Keys:
    """Keys of any dtype, most significant first. Complex: those with NaN parts last, then real, then imaginary part."""
    if dtype_of(x).kind != "c":
        return [order_key(x)]
    re, im = ops.real(x), ops.imag(x)
    missing = ops.add(ops.multiply(ops.convert(is_nan(re), np.int8), 2), ops.convert(is_nan(im), np.int8))
    return [missing, order_key(re), order_key(im)]


def before(x: Keys, y: Keys, or_equal: bool = False) -> ir.Value:
    """Whether keys `x` come before keys `y`, lexicographically."""
    result = ops.compare(x[-1], y[-1], "LE" if or_equal else "LT")
    for a, b in zip(reversed(x[:-1]), reversed(y[:-1]), strict=True):
        result = ops.or_(ops.compare(a, b, "LT"), ops.and_(ops.compare(a, b, "EQ"), result))
    return result


def _less(count: int) -> Any:
    """A sort comparator on the first `count` operands."""
    return lambda *pairs: before(list(pairs[0:2 * count:2]), list(pairs[1:2 * count:2]))


# ---- sorting values --------------------------------------------------------------------------------------------

def sorted_value(x: ir.Value, axis: int) -> ir.Value:
    """The elements in ascending order along `axis`."""
    dtype = dtype_of(x)
    if dtype.kind == "c":
        keys = keys_of(x)
        found = ops.sort([*keys, ops.real(x), ops.imag(x)], axis, _less(3))
        return ops.complex(found[3], found[4])
    return from_key(ops.sort([order_key(x, ties=False)], axis, "LT")[0], dtype)


def sorting_order(x: ir.Value, axis: int) -> ir.Value:
    """int64 indices that sort `x` along `axis`, stable."""
    return order_of_keys(keys_of(x), axis)


def order_of_keys(keys: Keys, axis: int) -> ir.Value:
    """int64 indices that put the keys into lexicographic order, stable."""
    shape = shape_of(keys[0])
    if len(keys) == 1 and PACKED_FROM <= shape[axis] < 2**31 and dtype_of(keys[0]).itemsize in (2, 4):
        return _packed_order(keys[0], axis)
    counter = np.int32 if shape[axis] < 2**31 and len(keys) > 1 else np.int64
    return ops.convert(ops.sort([*keys, ops.iota(shape, counter, axis)], axis, _less(len(keys)))[-1], np.int64)


def _packed_order(key: ir.Value, axis: int) -> ir.Value:
    """Sort key << 32 | index as one integer, of keys of up to 32 bits."""
    if dtype_of(key).kind == "u" and dtype_of(key).itemsize == 4:
        key = ops.bitcast_convert(ops.xor(key, np.uint32(1 << 31)), np.dtype(np.int32))
    packed = ops.or_(ops.shift_left(ops.convert(key, np.int64), 32), ops.iota(shape_of(key), np.int64, axis))
    return ops.and_(ops.sort([packed], axis, "LT")[0], 2**32 - 1)


def pick(x: ir.Value, index: ir.Value, axis: int) -> ir.Value:
    """x[..., index[...], ...] along `axis` (as `take_along_axis`): int64 indices in bounds."""
    shape = shape_of(x)
    if len(shape) == 1:
        return gather_flat(x, index)
    rest = [d for d in range(len(shape)) if d != axis]
    order = (*rest, axis)
    rows, columns = ops.transpose(x, order), ops.transpose(index, order)
    total, extent = int(np.prod(shape)), shape[axis]
    picked = shape_of(columns)
    lanes = int(np.prod(picked[:-1]))
    base = ops.reshape(ops.multiply(ops.iota((lanes,), np.int64, 0), extent), picked[:-1])
    flat = ops.add(columns, ops.broadcast_in_dim(base, picked, range(len(picked) - 1)))
    found = ops.reshape(gather_flat(ops.reshape(rows, (total,)), ops.reshape(flat, (int(np.prod(picked)),))), picked)
    return ops.transpose(found, tuple(int(d) for d in np.argsort(order)))


def gather_flat(x: ir.Value, index: ir.Value) -> ir.Value:
    """x[index] of a vector, for indices of any shape, in bounds."""
    shape = shape_of(index)
    return ops.gather(x, ops.reshape(index, (*shape, 1)), offset_dims=[], collapsed_slice_dims=[0],
                      start_index_map=[0], index_vector_dim=len(shape), slice_sizes=[1])


# ---- sort, argsort ---------------------------------------------------------------------------------------------

def _check_kind(kind: object, order: object, stable: object) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time")
    if kind is not None and str(kind) not in KINDS and str(kind)[:1].lower() not in "qmhs":
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


def _flat_or_axis(a: object, axis: object) -> tuple[Tensor, int]:
    a = wrap(a)
    if axis is None:
        return np.ravel(a), 0
    return a, axis_in(axis, a.ndim)


@implements(np.sort)
def sort(a: object, axis: object = -1, kind: object = None, order: object = None, *,
         stable: object = None) -> Any:
    _check_kind(kind, order, stable)
    a, along = _flat_or_axis(a, axis)
    value = a.value() if a.size == 0 or a.shape[along] < 2 else sorted_value(a.value(), along)
    return Tensor.of_value(value, strides=layout_after(a, (), True))


@implements(np.argsort)
def argsort(a: object, axis: object = -1, kind: object = None, order: object = None, *,
            stable: object = None) -> Any:
    _check_kind(kind, order, stable)
    if axis is not None and not wrap(a).ndim and axis in (0, -1):
        a = np.reshape(wrap(a), (1,))      # NumPy gives [0] for a 0-d array
    a, along = _flat_or_axis(a, axis)
    if a.size == 0 or a.shape[along] < 2:
        return Tensor.of_value(ops.constant(0, np.int64, a.shape))
    return Tensor.of_value(sorting_order(a.value(), along))


@implements(np.lexsort)
def lexsort(keys: object, axis: int = -1) -> Any:
    rows = [wrap(k) for k in (keys if isinstance(keys, (tuple, list)) else list(wrap(keys)))]
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({r.shape for r in rows}) != 1:
        raise ValueError("all keys need to be the same shape")
    if not rows[0].ndim:
        return Tensor.of_value(ops.constant(0, np.int64), "scalar")
    along = axis_in(axis, rows[0].ndim)
    return Tensor.of_value(order_of_keys([k for r in reversed(rows) for k in keys_of(r.value())], along))


@implements(np.sort_complex)
def sort_complex(a: object) -> Any:
    found = sort(a)
    if found.dtype.kind == "c":
        return found
    return found.astype(np.complex64 if found.dtype.char in "bhBH" else np.complex128)


def _check_places(kth: object, extent: int) -> None:
    places = np.atleast_1d(np.asarray(kth))
    if places.dtype.kind not in "iub":
        raise TypeError("Partition index must be integer")
    for k in places.tolist():
        if not -extent <= k < extent:
            raise ValueError(f"kth(={k + extent if k < 0 else k}) out of bounds ({extent})")


def _classes(keys: ir.Value, kth: object, axis: int) -> ir.Value | None:
    """What `partition` sorts by, stably: which of the elements that belong to places `kth` each one is before, equal
    to, or behind. None where sorting by the keys themselves costs no more."""
    shape = shape_of(keys)
    extent = shape[axis]
    places = sorted({k % extent for k in np.atleast_1d(np.asarray(kth)).tolist()}) if extent else []
    if extent < DIVIDED_FROM or not 0 < len(places) <= MOST_DIVIDED:
        return None
    ordered, found = ops.sort([keys], axis, "LT")[0], None
    for k in places:
        at = [k if d == axis else 0 for d in range(len(shape))]
        pivot = ops.slice(ordered, at, [k + 1 if d == axis else n for d, n in enumerate(shape)])
        others = [d for d in range(len(shape)) if d != axis]
        pivot = ops.broadcast_in_dim(ops.reshape(pivot, [shape[d] for d in others]), shape, others)
        for direction in ("GE", "GT"):
            passed = ops.convert(ops.compare(keys, pivot, direction), np.uint8)
            found = passed if found is None else ops.add(found, passed)
    return found


def _divided(a: Tensor, kth: object, axis: int, index: bool) -> ir.Value | None:
    """The elements, or their places, such that those at `kth` are where they are in sorted order."""
    value = a.value()
    if dtype_of(value).kind == "c" or a.size == 0:
        return None
    classes = _classes(order_key(value), kth, axis)
    if classes is None:
        return None
    moved = ops.iota(a.shape, np.int64, axis) if index else value
    return ops.sort([classes, moved], axis, _less(1))[1]


@implements(np.partition)
def partition(a: object, kth: object, axis: object = -1, kind: str = "introselect", order: object = None) -> Any:
    a, along = _flat_or_axis(a, axis)
    _check_places(kth, a.shape[along])
    found = _divided(a, kth, along, False)
    return sort(a, along) if found is None else Tensor.of_value(found, strides=layout_after(a, (), True))


@implements(np.argpartition)
def argpartition(a: object, kth: object, axis: object = -1, kind: str = "introselect", order: object = None) -> Any:
    a, along = _flat_or_axis(a, axis)
    _check_places(kth, a.shape[along])
    found = _divided(a, kth, along, True)
    return argsort(a, along) if found is None else Tensor.of_value(found)


# ---- searching -------------------------------------------------------------------------------------------------

def search(edges: Keys, wanted: Keys, right: bool) -> ir.Value:
    """int64 insertion points of `wanted` (any shape) into ascending vectors `edges`: binary search in lock step, its
    rounds written out, so that they become one pass over `wanted`."""
    extent, shape = shape_of(edges[0])[0], shape_of(wanted[0])
    place = ops.constant(0, np.int64, shape)
    for bit in reversed(range(int(extent).bit_length())):
        further = ops.add(place, 1 << bit)
        found = [gather_flat(k, ops.minimum(ops.subtract(further, 1), extent - 1)) for k in edges]
        passed = before(found, wanted, or_equal=right)
        place = ops.select(ops.and_(passed, ops.compare(further, extent, "LE")), further, place)
    return place


@implements(np.searchsorted)
def searchsorted(a: object, v: object, side: str = "left", sorter: object = None) -> Any:
    a = wrap(a)
    if a.ndim != 1:
        raise ValueError("object of too small depth for desired array" if a.ndim == 0 else
                         "object too deep for desired array")
    if side not in ("left", "right", "l", "r"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    wanted = wrap(v)
    dtype = result_type((a.dtype, wanted.dtype))        # a Python number counts as an array here
    edges = as_value(a, dtype)
    if sorter is not None:
        order = wrap(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.shape != a.shape:
            raise ValueError("sorter.size must equal a.size")
        edges = gather_flat(edges, ops.convert(order.value(), np.int64))
    return deliver(search(keys_of(edges), keys_of(as_value(wanted, dtype)), side[0] == "r"))


@implements(np.digitize)
def digitize(x: object, bins: object, right: bool = False) -> Any:
    x, bins = wrap(x), wrap(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError("object of too small depth for desired array" if bins.ndim == 0 else
                         "object too deep for desired array")
    side = "left" if right else "right"
    text = "bins must be monotonically increasing or decreasing"
    if bins.is_concrete():
        steps = np.diff(bins.numpy())
        if (steps >= 0).all():
            return searchsorted(bins, x, side)
        if not (steps <= 0).all():
            raise ValueError(text)
        return np.subtract(bins.shape[0], searchsorted(bins[::-1], x, side))
    up, down = (_monotonic(bins, direction) for direction in ("LE", "GE"))
    current_trace().check(ops.or_(up, down), lambda: ValueError(text))
    rising = wrap(searchsorted(bins, x, side))
    falling = wrap(np.subtract(bins.shape[0], searchsorted(bins[::-1], x, side)))
    return deliver(ops.select(up, rising.value(), falling.value()))


def _monotonic(bins: Tensor, direction: str) -> ir.Value:
    value, extent = bins.value(), bins.shape[0]
    if extent < 2:
        return ops.constant(direction == "LE")
    return ops.reduce(ops.compare(ops.slice(value, [0], [extent - 1]), ops.slice(value, [1], [extent]), direction),
                      True, [0], "and")


# ---- membership and sets ---------------------------------------------------------------------------------------

@implements(np.isin)
def isin(element: object, test_elements: object, assume_unique: bool = False, invert: bool = False, *,
         kind: object = None) -> Any:
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    element, tests = wrap(element), np.ravel(wrap(test_elements))
    dtype = result_type((element.dtype, tests.dtype))
    x, options = as_value(element, dtype), as_value(tests, dtype)
    if tests.size == 0:
        found = ops.constant(False, bool, element.shape)
    elif dtype.kind in "iub" and dtype.itemsize == 1 and tests.size > TABLE_FROM:
        found = _in_table(x, options)
    elif tests.size <= COMPARED_UP_TO:
        grid = (*element.shape, tests.size)
        equal = ops.compare(ops.broadcast_in_dim(x, grid, range(element.ndim)),
                            ops.broadcast_in_dim(options, grid, [element.ndim]), "EQ")
        found = ops.reduce(equal, False, [element.ndim], "or")
    elif dtype.kind in "iu" and element.size >= TABLE_ROWS:
        found = _in_range(x, options)
    else:
        found = _in_sorted(x, options)
    # a result of NumPy even for a 0-d element: an array
    return Tensor.of_value(ops.not_(found) if invert else found)


def _in_sorted(x: ir.Value, options: ir.Value) -> ir.Value:
    """Membership by bisection."""
    ascending = sorted_value(options, 0)
    place = ops.minimum(search(keys_of(ascending), keys_of(x), False), shape_of(options)[0] - 1)
    return ops.compare(gather_flat(ascending, place), x, "EQ")


def _in_range(x: ir.Value, options: ir.Value) -> ir.Value:
    """Membership of integers: which there are from the least to the greatest, where these are near."""
    count = min(size(shape_of(x)), MOST_ROWS)
    unsigned = np.dtype(f"u{dtype_of(x).itemsize}")
    low, high = (ops.reduce(options, limit, [0], name) for name, limit in
                 (("minimum", np.iinfo(dtype_of(x)).max), ("maximum", np.iinfo(dtype_of(x)).min)))

    def from_low(v: ir.Value) -> ir.Value:
        distance = ops.subtract(v, ops.broadcast_in_dim(low, shape_of(v), ()))
        return distance if dtype_of(v) == unsigned else ops.bitcast_convert(distance, unsigned)

    def by_table() -> ir.Value:
        place = from_low(x)
        inside = place if count > np.iinfo(unsigned).max else ops.minimum(place, count - 1)
        found = gather_flat(_table(count, ops.convert(from_low(options), np.int64)), ops.convert(inside, np.int64))
        return found if inside is place else ops.and_(found, ops.compare(place, count, "LT"))

    known = ops.constant_value(options)
    if known is not None:
        return by_table() if int(known.max()) - int(known.min()) < count else _in_sorted(x, options)
    if count > np.iinfo(unsigned).max:
        return by_table()
    near = ops.compare(from_low(high), count, "LT")
    return ops.if_(near, lambda: [by_table()], lambda: [_in_sorted(x, options)],
                   [tensor_type(shape_of(x), np.dtype(bool))])[0]


def _in_table(x: ir.Value, options: ir.Value) -> ir.Value:
    """Membership of bytes: which of all 256 there are."""
    def place(v: ir.Value) -> ir.Value:
        return ops.convert(v if dtype_of(v).kind != "i" else ops.bitcast_convert(v, np.dtype(np.uint8)), np.int32)
    return gather_flat(_table(256, place(options)), place(x))


def _table(count: int, places: ir.Value) -> ir.Value:
    """Which of `count` places there are."""
    marks = shape_of(places)[0]
    return ops.scatter(ops.constant(False, bool, (count,)), ops.reshape(places, (marks, 1)),
                       ops.constant(True, bool, (marks,)), "second", update_window_dims=(), inserted_window_dims=[0],
                       scatter_dims_to_operand_dims=[0], index_vector_dim=1)


if hasattr(np, "in1d"):      # until NumPy 2.3
    @implements(np.in1d)
    def in1d(ar1: object, ar2: object, assume_unique: bool = False, invert: bool = False, *,
             kind: object = None) -> Any:
        return isin(np.ravel(wrap(ar1)), ar2, assume_unique, invert, kind=kind)
