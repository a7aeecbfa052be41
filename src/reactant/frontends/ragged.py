"""`neighbours[u]`: one of several vectors or lists of numbers of different lengths, at a place that only the run knows.

They stand in the rows of one table, and what is read is a row and how many elements of it count. Nothing is written
into such a row: it may be one that others hold.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reactant.frontends import chosen_items
from reactant.frontends.growing import Element
from reactant.frontends.numpy.bounded import Bounded, Range
from reactant.frontends.numpy.creation import as_tensor
from reactant.frontends.numpy.storage import Storage
from reactant.frontends.numpy.tensor import ARRAY, Tensor, is_tensor, python_number
from reactant.frontends.run_time_lists import RunTimeList
from reactant.frontends.state import Held, Mismatch, capture, kind_of
from reactant.ir import ops

FEW = 32
"""So few rows are left to loops that are unrolled, where their index is known."""


def fit(items: list | tuple, index: Tensor) -> bool:
    """Whether these are vectors of one dtype, or lists of numbers of one type, that nothing else can pick from."""
    if not items or not (type(items[0]) in (list, tuple) or _is_vector(items[0])):
        return False
    if len(items) <= FEW and chosen_items.known_unrolled(index):
        return False
    if _is_vector(items[0]):
        if not all(map(_is_vector, items)) or len({x.dtype for x in items}) > 1:
            return False
        return len({len(x) for x in items}) > 1 or len(items) > chosen_items.MOST
    lists = {type(x) for x in items} in ({list}, {tuple})
    return lists and len({len(x) for x in items}) > 1 and _number(items) is not None


def _is_vector(x: Any) -> bool:
    known = type(x) is np.ndarray and x.dtype.kind in "biufc"
    return (known or is_tensor(x) and x.kind == ARRAY) and x.ndim == 1


def _number(items: Any) -> Any:
    """The kind of all numbers in these lists; None where there are others, or none."""
    found = None
    for x in (x for inner in items for x in inner):
        try:
            kind = kind_of(capture(x)) if not isinstance(x, (list, tuple, dict)) else None
        except Mismatch:
            return None
        found = found or kind
        if kind is None or kind.kind == ARRAY or (kind.kind, kind.dtype) != (found.kind, found.dtype):
            return None
    return found


def get(items: list | tuple, index: Tensor) -> Any:
    """`items[index]`."""
    lists, kind = type(items[0]) in (list, tuple), None
    if lists:
        kind = _number(items)
    place = chosen_items.place_in(items, index, f"{type(items).__name__} index out of range")
    place = python_number(place, (0, len(items) - 1))
    lengths = np.array([len(x) for x in items])
    row = _table(items, lengths, kind)[place].value()
    length = python_number(ops.convert(as_tensor(lengths)[place].value(), np.int64),
                           (int(lengths.min()), int(lengths.max())))
    if kind is not None:
        return RunTimeList([], Held(None, row, row), [kind], [Storage((int(lengths.max()),), kind.dtype, row)],
                           length.value(), None, int(lengths.min()), type(items[0]))
    sources = [x.storage for x in items if is_tensor(x)]
    frame = Tensor(Element("an array taken out of a list at a run-time place", sources, row))
    return Bounded(frame, [Range(0, length.value())])


def _table(items: list | tuple, lengths: np.ndarray, kind: Any) -> Tensor:
    """The rows, filled up with zeros."""
    widest = int(lengths.max())
    dtype = items[0].dtype if kind is None else kind.dtype
    if not any(is_tensor(x) and not x.is_concrete() for inner in items for x in ((inner,) if kind is None else inner)):
        whole = np.zeros((len(items), widest), dtype)
        for k, x in enumerate(items):
            whole[k, :lengths[k]] = x.numpy() if is_tensor(x) else [v.numpy() if is_tensor(v) else v for v in x]
        return as_tensor(whole)
    rows = []
    for x in items:
        known = as_tensor(x) if len(x) else as_tensor(np.zeros(0, dtype))
        rows.append(np.pad(known.astype(dtype), (0, widest - len(x))))
    return np.stack(rows)


