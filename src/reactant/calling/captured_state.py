"""State outside the compiled function that the function gives a new value: refused, because it would happen once.

What a function reaches by its closure, its globals and the object it is bound to is not among its arguments. An array
or number found there that has become something traced (or another array) when the trace ends would have to be a new one
at each call. What is new there (a cache that fills, a list that grows) is left alone: traced values in it raise
`LeakError` where they are used; texts made of them, which would not, are refused.
"""
from __future__ import annotations

import dis
import enum
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from reactant.calling.signature import is_plain_object
from reactant.errors import HERE, Span, StateChangeError
from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source import source_map
from reactant.frontends.source.conversion import is_user_file
from reactant.frontends.source.jax_recognition import codes
from reactant.frontends.texts.printing import in_texts
from reactant.frontends.values.tagged_union import Alternative
from reactant.support.attributes import attributes
from reactant.support.records import dataclass

MOST = 2_000
"""So many values are looked at."""
SEEN = (int, float, complex, np.ndarray, np.generic, str, bytes, enum.Enum, type(None))


@dataclass(frozen=True, eq=False)
class Place:
    """How the source calls it, what holds it, how it is read and written, and what it held."""

    name: str
    holder: Any
    key: Any
    read: Callable[[], Any]
    write: Callable[[Any], None]
    old: Any


class State:
    """The arrays, numbers, texts and iterators outside a function that it can reach by name."""

    def __init__(self, function: Any):
        self.function = function
        self.places: list[Place] = []
        self.growing: list[tuple[str, list | dict, int]] = []
        """Lists and dicts, and how many elements they had."""
        seen: set[int] = set()
        for name, holder, key, _ in _names(function, set()):
            self._look(name, holder, key, seen)
            if len(self.places) > MOST:
                break
        current_trace().outer_writes.update((id(place.holder), {}) for place in self.places)
        current_trace().outer_writes.update((id(items), {}) for _, items, _ in self.growing)

    def iterators(self, *arguments: Any) -> set[int]:
        """The identities of iterators outside, which would be advanced once."""
        return {id(x) for x in (*(place.old for place in self.places), *arguments) if hasattr(type(x), "__next__")}

    def check(self) -> None:
        """Raise `StateChangeError`, with everything put back, if something has been given a traced value or another
        array."""
        now = [(place, place.read()) for place in self.places]
        wrong = next(((p.name, p.holder, p.key) for p, new in now if _replaced(p.old, new)), None) or next((
            (f"{name}[{key!r}]", items, key) for name, items, count in self.growing
            for key in _since(items, count) if in_texts(items[key])), None)
        if wrong is None:
            return
        for place, new in now:
            if new is not place.old and new is not _Missing:
                place.write(place.old)
        for _, items, count in self.growing:
            for key in reversed(_since(items, count)):
                del items[key]
        name, holder, key = wrong
        raise StateChangeError(name, span=self._line(holder, key) or HERE)

    def _line(self, holder: Any, key: Any) -> Span | None:
        """Where the function writes it."""
        writes = current_trace().outer_writes.get(id(holder), {})
        frame = writes.get(key) or writes.get(None)
        if frame is None:       # a variable
            frame = next((source_map.described(code, line) for name, at, place, inside in _names(self.function, set())
                          if at is holder and place == key for code in inside for line in _assignments(code, name)),
                         None)
        return frame

    def _look(self, name: str, holder: Any, key: Any, seen: set[int]) -> None:
        read, write = _access(holder, key)
        value = read()
        mark = -id(value) if type(value) is FunctionType else id(value)   # what a function calls is looked at elsewhere
        if isinstance(value, SEEN) or hasattr(type(value), "__next__"):
            self.places.append(Place(name, holder, key, read, write, value))
        elif mark not in seen and len(self.places) <= MOST:
            if type(value) in (list, dict):
                seen.add(id(value))
                self.growing.append((name, value, len(value)))
                for inner in range(min(len(value), MOST)) if type(value) is list else list(value)[:MOST]:
                    self._look(f"{name}[{inner!r}]", value, inner, seen)
            elif is_plain_object(value) or type(value) is FunctionType or _is_own_class(value):
                seen.add(mark)
                for attribute in attributes(value) if is_plain_object(value) else list(vars(value)):
                    self._look(f"{name}.{attribute}", value, attribute, seen)


def _since(items: list | dict, count: int) -> list[Any]:
    """The keys of what has come to a list or dict that had so many elements."""
    return list(range(count, len(items))) if type(items) is list else list(items)[count:]


def _replaced(old: Any, new: Any) -> bool:
    return new is not old and (type(new) is Alternative or is_tensor(new) and old is not None
                               or isinstance(old, np.ndarray) and type(new) is np.ndarray or in_texts(new))


class _Missing:
    """What a place holds that has been deleted."""


def _names(function: Any, seen: set[int]) -> Iterator[tuple[str, Any, Any, list[CodeType]]]:
    """Names of values outside a function and of the functions that it calls by global names: (name, holder, key), and
    the code that may assign to it."""
    function = getattr(function, "ag__stands_for", function)       # of a derivative
    if type(function) is MethodType:
        yield type(function.__self__).__name__, [function.__self__], 0, []
        function = function.__func__
    if type(function) is not FunctionType or id(function) in seen or not is_user_file(function.__code__.co_filename):
        return
    seen.add(id(function))
    inside = list(codes(function.__code__))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell, None, inside
    for name in dict.fromkeys(name for code in inside for name in code.co_names):
        if name in function.__globals__:
            value = function.__globals__[name]
            yield name, function.__globals__, name, inside
            yield from _names(value, seen)


def _assignments(code: CodeType, name: str) -> Iterator[int]:
    """The lines on which code assigns to a variable of another scope."""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno or line if instruction.positions is not None else line
        if instruction.opname in ("STORE_GLOBAL", "STORE_DEREF") and instruction.argval == name:
            yield line


def _is_own_class(value: Any) -> bool:
    """Whether a class is the user's."""
    if not isinstance(value, type):
        return False
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    return value.__module__ == "__main__" or file is not None and is_user_file(file)


def _access(holder: Any, key: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Reader and writer of a cell, an item or an attribute."""
    if type(holder) is CellType:
        return lambda: _content(holder), lambda value: setattr(holder, "cell_contents", value)
    if isinstance(holder, dict):
        return lambda: holder.get(key, _Missing), lambda value: holder.__setitem__(key, value)
    if type(holder) is list:
        return (lambda: holder[key] if key < len(holder) else _Missing), lambda value: holder.__setitem__(key, value)
    if isinstance(holder, (type, FunctionType)):    # descriptors of a class would run code of the user's
        return lambda: vars(holder).get(key, _Missing), lambda value: setattr(holder, key, value)
    return lambda: getattr(holder, key, _Missing), lambda value: object.__setattr__(holder, key, value)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:      # not bound yet
        return _Missing
