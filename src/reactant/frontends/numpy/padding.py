"""`np.pad` in all its modes (a callable mode runs on the padded vectors through Python only where NumPy's contract
allows it, so it is refused)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays import layouts
from reactant.frontends.arrays.implements import implements
from reactant.frontends.arrays.tensor import Tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy.joining import known_ints
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


def _pairs(x: object, rank: int, what: str) -> list[tuple[Any, Any]]:
    """`pad_width`-like arguments: a number, (before, after), one pair for all, or a pair per axis."""
    if isinstance(x, dict):
        pairs = [(0, 0)] * rank
        for axis, value in x.items():
            pairs[axis] = (value, value) if np.ndim(value) == 0 else tuple(value)
        return pairs
    array = known_ints(x, f"np.pad: {what}")
    try:
        full = np.broadcast_to(array, (rank, 2))
    except ValueError:
        raise ValueError(f"operands could not be broadcast together with remapped shapes [original->remapped]: "
                         f"{array.shape} and requested shape ({rank},2)") from None
    return [(int(a), int(b)) for a, b in full]


def _window(x: ir.Value, axis: int, start: int, stop: int) -> ir.Value:
    shape = shape_of(x)
    low, high = [0] * len(shape), list(shape)
    low[axis], high[axis] = start, stop
    return ops.slice(x, low, high)


def _joined(left: ir.Value | None, x: ir.Value, right: ir.Value | None, axis: int) -> ir.Value:
    return ops.concatenate([p for p in (left, x, right) if p is not None], axis)


def _repeated(edge: ir.Value, axis: int, count: int) -> ir.Value:
    shape = list(shape_of(edge))
    shape[axis] = count
    return layouts.broadcast(edge, tuple(shape))


# ---- modes -----------------------------------------------------------------------------------------------------

def _constant(x: ir.Value, axis: int, low: int, high: int, values: tuple) -> ir.Value:
    sides: list[ir.Value | None] = []
    for count, value in ((low, values[0]), (high, values[1])):
        shape = list(shape_of(x))
        shape[axis] = count
        sides.append(layouts.broadcast(cast(wrap(value).value(), dtype_of(x)), tuple(shape)) if count else None)
    return _joined(sides[0], x, sides[1], axis)


def _edge(x: ir.Value, axis: int, low: int, high: int) -> ir.Value:
    n = shape_of(x)[axis]
    return _joined(_repeated(_window(x, axis, 0, 1), axis, low) if low else None, x,
                   _repeated(_window(x, axis, n - 1, n), axis, high) if high else None, axis)


def _taken(x: ir.Value, axis: int, positions: np.ndarray) -> ir.Value:
    """Elements of one axis at known positions, as few slices as possible."""
    pieces, start = [], 0
    while start < len(positions):
        stop = start + 1
        step = positions[stop] - positions[start] if stop < len(positions) else 1
        while step in (1, -1) and stop < len(positions) and positions[stop] - positions[stop - 1] == step:
            stop += 1
        first, last = sorted((int(positions[start]), int(positions[stop - 1])))
        piece = _window(x, axis, first, last + 1)
        pieces.append(ops.reverse(piece, [axis]) if step == -1 and stop - start > 1 else piece)
        start = stop
    return ops.concatenate(pieces, axis)


def _by_position(mode: str, **keywords: object) -> Callable:
    """reflect, symmetric and wrap: which source element stands where is asked of NumPy."""
    def apply(x: ir.Value, axis: int, low: int, high: int) -> ir.Value:
        positions = np.pad(np.arange(shape_of(x)[axis]), (low, high), mode=mode, **keywords)
        return _taken(x, axis, positions)
    return apply


def _odd(mode: str) -> Callable:
    """The odd reflections: 2 * edge - mirrored, as often as the pad is wider than the array."""
    def apply(x: ir.Value, axis: int, low: int, high: int) -> ir.Value:
        n = shape_of(x)[axis]
        # of unit vectors NumPy gives the linear map behind every result element
        basis = np.pad(np.eye(n), ((low, high), (0, 0)), mode=mode, reflect_type="odd")
        rows = []
        for row in np.concatenate([basis[:low], basis[low + n:]]):
            total = None
            for position in np.flatnonzero(row):
                term = _window(x, axis, int(position), int(position) + 1)
                factor = row[position]
                if factor != 1:
                    term = ops.multiply(term, ops.constant(np.asarray(factor).astype(np.int64).astype(dtype_of(x)),
                                                           shape=shape_of(term)))
                total = term if total is None else ops.add(total, term)
            rows.append(total)
        left = ops.concatenate(rows[:low], axis) if low else None
        return _joined(left, x, ops.concatenate(rows[low:], axis) if high else None, axis)
    return apply


def _ramp(x: ir.Value, axis: int, low: int, high: int, ends: tuple) -> ir.Value:
    n = shape_of(x)[axis]
    sides: list[ir.Value | None] = []
    for count, end, edge in ((low, ends[0], _window(x, axis, 0, 1)), (high, ends[1], _window(x, axis, n - 1, n))):
        if not count:
            sides.append(None)
            continue
        line = np.linspace(wrap(end), np.squeeze(Tensor.of_value(edge), axis), count, endpoint=False, axis=axis)
        value = line.value() if dtype_of(x).kind not in "iu" else np.floor(line).value()
        value = cast(value, dtype_of(x))
        sides.append(value)
    right = None if sides[1] is None else ops.reverse(sides[1], [axis])
    return _joined(sides[0], x, right, axis)


def _statistic(function: Callable) -> Callable:
    def apply(x: ir.Value, axis: int, low: int, high: int, lengths: tuple) -> ir.Value:
        n = shape_of(x)[axis]
        before, after = (n if k is None else min(int(k), n) for k in lengths)
        if function in (np.max, np.min) and 0 in (before, after):
            raise ValueError("stat_length of 0 yields no value for padding")
        sides: list[ir.Value | None] = []
        for count, part in ((low, _window(x, axis, 0, before)), (high, _window(x, axis, n - after, n))):
            if not count:
                sides.append(None)
                continue
            found = function(Tensor.of_value(part), axis=axis, keepdims=True)
            if dtype_of(x).kind in "iu":
                found = np.rint(found)
            sides.append(_repeated(cast(found.value(), dtype_of(x)), axis, count))
        return _joined(sides[0], x, sides[1], axis)
    return apply


_STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
_KEYWORDS = {"constant": {"constant_values"}, "linear_ramp": {"end_values"}, "edge": set(), "empty": set(),
             "wrap": set(), "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
             **{name: {"stat_length"} for name in _STATISTICS}}


@implements(np.pad)
def pad(array: object, pad_width: object, mode: object = "constant", **kwargs: object) -> Tensor:
    """`np.pad`; modes constant, edge, linear_ramp, maximum, mean, median, minimum, reflect, symmetric, wrap, empty."""
    if callable(mode):
        raise UnsupportedError("np.pad with a function as mode works on Python vectors in place, which compiled code "
                               "cannot do.", hint="Use one of the named modes, or concatenate the edges yourself.",
                               code="argument-not-supported")
    a = wrap(array)
    widths = _pairs(pad_width, a.ndim, "the widths")
    if any(low < 0 or high < 0 for low, high in widths):
        raise ValueError("index can't contain negative values")
    if mode not in _KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    if wrong := set(kwargs) - _KEYWORDS[mode]:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {wrong}")
    if mode not in ("constant", "empty"):
        for axis, (n, width) in enumerate(zip(a.shape, widths, strict=True)):
            if n == 0 and any(width):
                raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    apply = _rule(mode, a.ndim, kwargs)
    value = a.value()
    for axis, (low, high) in enumerate(widths):
        if low or high:
            value = apply(value, axis, low, high)
    return Tensor.of_value(value)


def _rule(mode: str, rank: int, kwargs: dict) -> Callable[[ir.Value, int, int, int], ir.Value]:
    """What one axis does."""
    if mode in ("constant", "empty"):
        values = _per_axis(kwargs.get("constant_values", 0), rank)
        return lambda x, axis, low, high: _constant(x, axis, low, high, values[axis])
    if mode == "linear_ramp":
        ends = _per_axis(kwargs.get("end_values", 0), rank)
        return lambda x, axis, low, high: _ramp(x, axis, low, high, ends[axis])
    if mode in _STATISTICS:
        given = kwargs.get("stat_length")
        lengths = [(None, None)] * rank if given is None else _pairs(given, rank, "the lengths")
        return lambda x, axis, low, high: _statistic(_STATISTICS[mode])(x, axis, low, high, lengths[axis])
    if mode == "edge":
        return _edge
    if kwargs.get("reflect_type", "even") == "odd":
        return _odd(mode)
    return _by_position(mode)


def _per_axis(x: Any, rank: int) -> list[tuple[Any, Any]]:
    """Fill values per axis and side; they may be known only at run time."""
    if isinstance(x, dict):
        pairs = [(0, 0)] * rank
        for axis, value in x.items():
            pairs[axis] = tuple(value) if _is_sequence(value) else (value, value)
        return pairs
    if not _is_sequence(x):
        return [(x, x)] * rank
    rows = list(x)
    if not _is_sequence(rows[0]):
        return [(rows[0], rows[-1])] * rank
    rows = rows * rank if len(rows) == 1 else rows
    return [(row[0], row[-1]) for row in rows]


def _is_sequence(x: Any) -> bool:
    return isinstance(x, (list, tuple)) or getattr(x, "ndim", 0) > 0
