"""`neighbours[u]`: one of several vectors or lists of numbers of different lengths, at a place known only at run time.

They stand in the rows of one table, and what is read is a row and how many elements of it count: a copy, so neither it
nor what it may be is written while the other is in use.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reactant.frontends.arrays.creation import as_tensor
from reactant.frontends.arrays.dynamic.bounded import Bounded, Range
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import Picked, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor, python_number
from reactant.frontends.control import container_aliasing
from reactant.frontends.control.snapshots import Mismatch, capture, joined, kind_of
from reactant.frontends.control.trees import Held, Known
from reactant.frontends.values import dynamic_index
from reactant.frontends.values.dynamic_list import RunTimeList
from reactant.frontends.values.list_builder import Grower, shown
from reactant.ir import ops

FEW = 32
"""So few rows are left to loops that are unrolled, where their index is known."""


def fit(items: list | tuple, index: Tensor) -> bool:
    """Whether these are vectors of one dtype, or lists of numbers of one type, that nothing else can pick from."""
    if not items or not (_is_list(items[0]) or _is_vector(items[0])):
        return False
    if len(items) <= FEW and dynamic_index.known_unrolled(index):
        return False
    if _is_vector(items[0]):
        if not all(map(_is_vector, items)) or len({x.dtype for x in items}) > 1:
            return False
        return len({len(x) for x in items}) > 1 or len(items) > dynamic_index.MOST
    if not all(map(_is_list, items)) or len({container_aliasing.type_of(x) for x in items}) > 1:
        return False
    now = list(map(shown, items))
    growing = any(type(x) is RunTimeList for x in now)
    return (growing or len({len(x) for x in now}) > 1) and _number(now) is not None


def _is_vector(x: Any) -> bool:
    known = type(x) is np.ndarray and x.dtype.kind in "biufc"
    return (known or is_tensor(x) and x.kind == ARRAY) and x.ndim == 1


def _is_list(x: Any) -> bool:
    return type(x) in (list, tuple, RunTimeList, Grower)


def _number(items: Any) -> Any:
    """The kind of all numbers in these lists; None where there are others, or none. Numbers of several kinds only where
    a list grows: the widest of them."""
    found, growing = None, any(type(x) is RunTimeList for x in items)
    for kind in (kind for inner in items for kind in _kinds(inner)):
        found = found or kind
        if kind is None or kind.kind == ARRAY or not growing and (kind.kind, kind.dtype) != (found.kind, found.dtype):
            return None
        try:
            found = joined(found, kind)
        except Mismatch:
            return None
    return found


def _kinds(items: Any) -> Iterator[Any]:
    """The kinds of the elements of a list; None for those that are no numbers."""
    if type(items) is RunTimeList:
        yield items.kinds[0] if isinstance(items.tree, (Held, Known)) else None
        items = items.prefix
    for x in items:
        try:
            yield None if isinstance(x, (list, tuple, dict)) else kind_of(capture(x))
        except Mismatch:
            yield None


def get(items: list | tuple, index: Tensor) -> Any:
    """`items[index]`."""
    kind, now = None, items
    if _is_list(items[0]):
        now = list(map(shown, items))
        kind = _number(now)
    place = dynamic_index.place_in(items, index, f"{type(items).__name__} index out of range")
    place = python_number(place, (0, len(items) - 1))
    rooms = [x.room if type(x) is RunTimeList else len(x) for x in now]
    row = _table(now, rooms, kind)[place].value()
    lengths = [x.length() if type(x) is RunTimeList else len(x) for x in now]
    least = min(x if type(x) is int else 0 for x in lengths)
    length = ops.convert(as_tensor(np.stack(list(map(as_tensor, lengths))))[place].value(), np.int64)
    length = python_number(length, (least, max(rooms)))
    if kind is not None:
        kept = container_aliasing.type_of(items[0])
        made = RunTimeList([], Held(None, row, row), [kind], [Storage((max(rooms),), kind.dtype, row)],
                           length.value(), None, least, kept)
        if kept is not tuple:
            container_aliasing.may_be(made, tuple(items), made)
        return made
    frame = Tensor(Picked("an element", {root for x in items if is_tensor(x) for root in roots_of(x.storage)}, row))
    frame.storage.constant = not all(map(is_tensor, items))         # arrays from outside
    return Bounded(frame, [Range(0, length.value())])


def _table(items: Sequence[Any], rooms: list[int], kind: Any) -> Tensor:
    """The rows, filled up with zeros."""
    dtype = items[0].dtype if kind is None else kind.dtype
    if not any(type(inner) is RunTimeList or is_tensor(x) and not x.is_concrete()
               for inner in items for x in ((inner,) if kind is None or type(inner) is RunTimeList else inner)):
        whole = np.zeros((len(items), max(rooms)), dtype)
        for k, x in enumerate(items):
            whole[k, :rooms[k]] = x.numpy() if is_tensor(x) else [v.numpy() if is_tensor(v) else v for v in x]
        return as_tensor(whole)
    rows = []
    for x, room in zip(items, rooms, strict=True):
        known = x.column(0) if type(x) is RunTimeList else as_tensor(x if room else np.zeros(0, dtype))
        rows.append(np.pad(known.astype(dtype), (0, max(rooms) - room)))
    return np.stack(rows)
