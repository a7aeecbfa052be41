"""`sorted`, `list.sort`, and `min` and `max` with a key, where the order is known at run time only.

The keys become arrays, which are sorted (stably, as Python does); the items are gathered in that order. Keys that are
NaN come last, where Python leaves the order of the whole list open.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError, ReactantError, UnsupportedError
from reactant.frontends.arrays import python_numbers
from reactant.frontends.arrays.creation import as_tensor, elements_of_one
from reactant.frontends.arrays.storage_aliasing import Picked, roots_of
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, python_number, wrap
from reactant.frontends.control import container_aliasing, element_copies
from reactant.frontends.control.objects import orders
from reactant.frontends.session import calls
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source.operators import ag__

MANY = 8
"""So many numbers are not compared one by one."""

FLOAT, COMPLEX = np.dtype(float), np.dtype(complex)

ADVICE = "Sort an array of keys with np.argsort and index arrays with the result."


def in_order(items: Any, key: Callable | None = None, reverse: bool = False) -> list:
    """Python's `sorted`. Keys are numbers or tuples of numbers; items are numbers, arrays of one shape, or tuples and
    lists of such. Raises `UnsupportedError` for others when the order depends on run-time values."""
    items = list(items)
    keys = orders(items if key is None else [calls.call(key, item) for item in items])
    decided = _decided(keys)
    if decided is not None:
        order = sorted(range(len(items)), key=decided.__getitem__, reverse=bool(reverse))
        return [items[k] for k in order]
    if not depends(keys):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
        return [items[k] for k in order]
    for first, second in zip(keys, keys[1:], strict=False):
        if python_numbers.both_python(first, second):
            python_numbers.require_order(np.less, second, first)
    return _taken(items, _order(_columns(keys), bool(reverse)))


def _decided(keys: list) -> list | None:
    """The known first parts of tuples, where these differ: what follows is not looked at."""
    if not keys or not all(type(k) in (tuple, list) and k and not depends([k[0]]) for k in keys):
        return None
    first = [k[0] for k in keys]
    try:
        return first if len(set(first)) == len(first) else None
    except TypeError:
        return None


def best(items: list, keys: list, largest: bool) -> Any:
    """The first item whose key is the smallest (largest) one."""
    columns = _columns(keys)
    counted = [_counted(c, largest) for c in columns]
    # equal keys: Python keeps the first, and a reversed sort that is stable does as well
    place = _order(counted, largest)[0] if len(columns) > 1 else (np.argmax if largest else np.argmin)(counted[0])
    if columns[0].dtype.kind == "f":
        place = np.where(np.isnan(columns[0][0]), 0, place)
    return _taken(items, place[None])[0]


def extreme(items: Any, largest: bool) -> Any:
    """`min(items)` or `max(items)` of many real numbers of one dtype, which stand in one array; None for others.

    As Python keeps it: the first of the best ones. A NaN is never better nor worse than another number, so it is the
    result where it is the first item, and else does not count.
    """
    whole, first = _whole(items)
    if whole is None or whole.dtype.kind not in "biuf" or whole.shape[0] < MANY:
        return None
    reduce = np.max if largest else np.min
    if whole.dtype.kind == "f":
        equal = whole == reduce(_counted(whole, largest))
        best = np.take(whole, np.argmax(equal), mode="clip")        # 0.0 or -0.0: the first one
        found = np.where(np.isnan(whole[0]), whole[0], best)
    else:
        found = reduce(whole)
    return Tensor.of_value(found.value(), first.kind)


def place_of(items: Any, sought: Any, start: int = 0, stop: int | None = None) -> Any:
    """`items.index(sought)`. Raises `ValueError` when run where there is none."""
    start, stop, _ = slice(start, stop).indices(len(items))
    text = "list.index(x): x not in list" if type(items) is list else "tuple.index(x): x not in tuple"
    if start >= stop:
        raise ValueError(text)
    equal = _equal(items[start:stop], sought)
    if equal.is_concrete():
        return start + _known_place(equal, text)
    current_trace().check(np.any(equal).value(), lambda: ValueError(text))
    return start + python_number(np.argmax(equal).value(), (0, stop - start - 1))


def _known_place(equal: Tensor, text: str) -> int:
    """Where the first is true. Raises `ValueError` with this text where none is."""
    found = np.flatnonzero(equal.numpy())
    if not found.size:
        raise ValueError(text)
    return int(found[0])


def count_of(items: Any, sought: Any) -> Any:
    """`items.count(sought)`."""
    equal = _equal(items, sought)
    return int(np.sum(equal.numpy())) if equal.is_concrete() else python_number(np.sum(equal).value(), (0, len(items)))


def remove(items: list, sought: Any) -> None:
    """`items.remove(sought)` from a list of numbers. Raises `ValueError` when run where it is not there."""
    equal = _equal(items, sought)
    text = "list.remove(x): x not in list"
    if equal.is_concrete():
        del items[_known_place(equal, text)]
        return
    current_trace().check(np.any(equal).value(), lambda: ValueError(text))
    kept = np.arange(len(items) - 1)
    items[:] = _taken(items, kept + (kept >= np.argmax(equal)))


def pop(items: list, place: Any) -> Any:
    """`items.pop(place)`. Raises `IndexError` when run where there is no such place."""
    if not is_tensor(place) or place.size != 1 or place.dtype.kind not in "iub":
        return items.pop(place)
    place, n = np.reshape(place, ()).astype(np.int64), len(items)
    current_trace().check(np.logical_and(place >= -n, place < n).value(), lambda: IndexError("pop index out of range"))
    place = np.where(place < 0, place + n, place)
    found, kept = _taken(items, place[None])[0], np.arange(n - 1)
    items[:] = _taken(items, kept + (kept >= place)) if n > 1 else []
    return found


FINDING = {"index": place_of, "count": count_of, "remove": remove, "pop": pop}


def _equal(items: Any, sought: Any) -> Any:
    """Which items equal a value."""
    whole, _ = _whole(items)
    if whole is not None and _is_number(sought):
        return whole == sought
    each = [True if item is sought else ag__.Eq(item, sought) for item in items]
    if any(np.size(e) != 1 for e in each):
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return np.stack([np.reshape(wrap(e), ()) for e in each])


def _counted(column: Any, largest: bool) -> Any:
    """Numbers, of which those that are NaN are never the best one."""
    return np.where(np.isnan(column), -np.inf if largest else np.inf, column) if column.dtype.kind == "f" else column


def _whole(items: Any) -> tuple[Any, Any]:
    """Numbers that stand in one array: that array, and the first of them."""
    if is_tensor(items) and len(items.shape) == 1 and items.shape[0]:
        return (None, None) if items.is_concrete() else (items, items[0])
    if type(items) in (list, tuple) and items and is_tensor(items[0]) and items[0].shape == ():
        value = elements_of_one(list(items), (len(items),))
        return (None if value is None else Tensor.of_value(value)), items[0]
    return None, None


def depends(keys: list) -> bool:
    """Whether a key is known at run time only, or which object it is."""
    trace = current_trace() if is_tracing() else None
    chosen = set() if trace is None else {*trace.views, *(id(link.made) for link in trace.identities)}
    return any((is_tensor(k) and not k.is_concrete()) or (type(k) in (tuple, list) and depends(k))
               or id(k) in chosen for k in keys)


def _columns(keys: list) -> list:
    """What is compared first, second... of all keys."""
    if type(keys[0]) not in (tuple, list):
        return [_column(keys)]
    if any(type(k) not in (tuple, list) or len(k) != len(keys[0]) for k in keys):
        raise UnsupportedError("Sorting by tuples of different lengths is not supported where the order depends on "
                               "run-time values.", hint=ADVICE, code="sort-keys")
    return [_column([k[c] for k in keys]) for c in range(len(keys[0]))]


def _order(columns: list, reverse: bool) -> Any:
    """Positions in ascending (descending) order of the keys; equal ones keep theirs."""
    if reverse:
        columns = [c[::-1] for c in columns]
    order = np.lexsort(tuple(columns[::-1])) if len(columns) > 1 else np.argsort(columns[0], kind="stable")
    return columns[0].shape[0] - 1 - order[::-1] if reverse else order


def _column(keys: list) -> Any:
    """Numbers as one array."""
    if not all(_is_number(k) for k in keys):
        raise UnsupportedError("Sorting by what is neither a number nor a tuple of numbers is not supported where "
                               "the order depends on run-time values.", hint=ADVICE, code="sort-keys")
    return np.stack([np.reshape(as_tensor(k), ()) for k in keys])


def _is_number(x: Any) -> bool:
    return x.size == 1 if is_tensor(x) else isinstance(x, (bool, int, float, np.number, np.bool_))


PICKED: list[Callable[[list, Any], list | None]] = []
"""Who is asked first for the items at run-time positions; None where they are others than its own."""


def _taken(items: list, order: Any) -> list:
    """The items at run-time positions."""
    first = items[0]
    for picked in PICKED:
        if (made := picked(items, order)) is not None:
            return made
    if type(first) in (tuple, list):
        if any(type(i) is not type(first) or len(i) != len(first) for i in items):
            raise _mixed(items)
        columns = [_taken([i[c] for i in items], order) for c in range(len(first))]
        found = [type(first)(parts) for parts in zip(*columns, strict=True)] if columns else [first] * len(items)
        if type(first) is list:
            element_copies.reorder(items, found)
        return found
    if not all(is_tensor(i) or isinstance(i, (bool, int, float, complex, np.generic, np.ndarray)) for i in items):
        raise _mixed(items)
    tensors = [wrap(i) for i in items]
    if len({(t.shape, t.dtype, t.kind) for t in tensors}) != 1:
        if {t.kind for t in tensors} != {PYTHON, SCALAR} or {t.dtype for t in tensors} not in ({FLOAT}, {COMPLEX}):
            raise _mixed(items)
        tensors = [Tensor.of_value(t.value(), SCALAR) for t in tensors]     # `np.float64` is a `float`
    chosen = np.stack([as_tensor(t) for t in tensors])[order]
    made = [chosen[k] for k in range(chosen.shape[0])]
    if tensors[0].kind == PYTHON:
        return [Tensor.of_value(wrap(m).value(), PYTHON) for m in made]
    if tensors[0].kind == ARRAY:
        sources = {root for t in tensors for root in roots_of(t.storage)}
        return [Tensor(Picked("an element", sources, m.value())) for m in made]
    return made


def _mixed(items: list) -> ReactantError:
    fact = ("Sorting items that are not alike (numbers of one type, arrays of one shape, objects with the same "
            "attributes, or tuples of such) is not supported where the order depends on run-time values.")
    if all(map(container_aliasing.is_container, items)):
        container_aliasing.demand_numbers(map(container_aliasing.kind_of, items))
        return ControlFlowError(fact, hint=ADVICE, code="sort-keys")
    return UnsupportedError(fact, hint=ADVICE, code="sort-keys")
