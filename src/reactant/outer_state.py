"""State outside the compiled function that the function gives a new value: refused, because it would happen once.

What a function reaches by its closure, its globals and the object it is bound to is not among its arguments. An array
or number found there that has become something traced (or another array) when the trace ends would have to be a new one
at each call. What is new there (a cache that fills, a list that grows) is left alone: traced values in it raise
`LeakError` where they are used.
"""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, MutableMapping
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from reactant.attributes import attributes
from reactant.errors import StateChangeError
from reactant.frontends.alternatives import Alternative
from reactant.frontends.conversion import is_user_file
from reactant.frontends.jax_recognition import codes
from reactant.frontends.numpy.tensor import Tensor
from reactant.signature import is_plain_object

MOST = 2_000
"""So many values are looked at."""
SEEN = (int, float, complex, np.ndarray, np.generic, str, bytes, enum.Enum, type(None))

Place = tuple[str, Callable[[], Any], Callable[[Any], None], Any]
"""How the source calls it, how it is read and written, and what it held."""


def state_of(function: Any) -> list[Place]:
    """The arrays, numbers, texts and iterators outside `function` that it can reach by name."""
    found: list[Place] = []
    seen: set[int] = set()
    for name, holder, key in _names(function, seen):
        _look(name, holder, key, found, seen)
        if len(found) > MOST:
            break
    return found


def check(before: list[Place]) -> None:
    """Raise `StateChangeError`, with everything put back, if something has been given a traced value or another
    array."""
    now = [(place, place[1]()) for place in before]
    wrong = next((name for (name, _, _, old), new in now if _replaced(old, new)), None)
    if wrong is not None:
        for (_, _, write, old), new in now:
            if new is not old and new is not _Missing:
                write(old)
        raise StateChangeError(wrong)


def iterators(before: list[Place], *arguments: Any) -> set[int]:
    """The identities of iterators outside, which would be advanced once."""
    return {id(x) for x in (*(old for *_, old in before), *arguments) if hasattr(type(x), "__next__")}


def _replaced(old: Any, new: Any) -> bool:
    return new is not old and (type(new) is Alternative or type(new) is Tensor and old is not None
                               or isinstance(old, np.ndarray) and type(new) is np.ndarray)


class _Missing:
    """What a place holds that has been deleted."""


def _names(function: Any, seen: set[int]) -> Iterator[tuple[str, Any, Any]]:
    """Names of values outside a function and of the functions that it calls by global names: (name, holder, key)."""
    if type(function) is MethodType:
        yield type(function.__self__).__name__, [function.__self__], 0
        function = function.__func__
    if type(function) is not FunctionType or id(function) in seen or not is_user_file(function.__code__.co_filename):
        return
    seen.add(id(function))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell, None
    for name in dict.fromkeys(name for code in codes(function.__code__) for name in code.co_names):
        if name in function.__globals__:
            value = function.__globals__[name]
            yield name, function.__globals__, name
            yield from _names(value, seen)


def _look(name: str, holder: Any, key: Any, found: list[Place], seen: set[int]) -> None:
    read, write = _access(holder, key)
    value = read()
    mark = -id(value) if type(value) is FunctionType else id(value)     # what a function calls is looked at elsewhere
    if isinstance(value, SEEN) or hasattr(type(value), "__next__"):
        found.append((name, read, write, value))
    elif mark not in seen and len(found) <= MOST:
        if type(value) in (list, dict):
            seen.add(id(value))
            for inner in range(min(len(value), MOST)) if type(value) is list else list(value)[:MOST]:
                _look(f"{name}[{inner!r}]", value, inner, found, seen)
        elif is_plain_object(value) or type(value) is FunctionType or _is_own_class(value):
            seen.add(mark)
            for attribute in attributes(value) if is_plain_object(value) else list(vars(value)):
                _look(f"{name}.{attribute}", value, attribute, found, seen)


def _is_own_class(value: Any) -> bool:
    return isinstance(value, type) and any(type(v) is FunctionType and is_user_file(v.__code__.co_filename)
                                           for v in vars(value).values())


def _access(holder: Any, key: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Reader and writer of a cell, an item or an attribute."""
    if type(holder) is CellType:
        return lambda: _content(holder), lambda value: setattr(holder, "cell_contents", value)
    if isinstance(holder, MutableMapping):
        return lambda: holder.get(key, _Missing), lambda value: holder.__setitem__(key, value)
    if type(holder) is list:
        return (lambda: holder[key] if key < len(holder) else _Missing), lambda value: holder.__setitem__(key, value)
    put = setattr if isinstance(holder, type) else object.__setattr__
    return lambda: getattr(holder, key, _Missing), lambda value: put(holder, key, value)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:      # not bound yet
        return _Missing
