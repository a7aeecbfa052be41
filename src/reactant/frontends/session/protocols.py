"""Iteration by methods of the user's classes: `__iter__` and `__next__`, or `__getitem__` from 0 on.

They run as converted code also where C code would call them (`list(x)`, `a, b = x`, `v in x`). Whether there is a next
element may be known only at run time: then a loop over the rest is one of the compiled program. The functions below
that say what Python does are converted like the user's.
"""
from __future__ import annotations

import collections
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.session.calls import convertible
from reactant.frontends.source.conversion import convert_always
from reactant.frontends.source.operators import ag__


class ByIndex:
    """What `iter` gives of an object that has `__getitem__` alone."""

    def __init__(self, sequence: Any) -> None:
        self.sequence, self.position, self.ended = sequence, 0, False

    def __iter__(self) -> ByIndex:
        return self

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        try:
            item = self.sequence[self.position]
        except IndexError:
            self.ended = True
            raise StopIteration from None
        self.position += 1
        return item


class Backwards:
    """What `reversed` gives of an object that has `__len__` and `__getitem__`."""

    def __init__(self, sequence: Any) -> None:
        self.sequence, self.position = sequence, len(sequence) - 1

    def __iter__(self) -> Backwards:
        return self

    def __next__(self) -> Any:
        if self.position < 0:
            raise StopIteration
        try:
            item = self.sequence[self.position]
        except IndexError:
            self.position = -1
            raise StopIteration from None
        self.position -= 1
        return item


def next_of(iterator: Any) -> tuple[bool, Any]:
    """Whether there is a next element, and which."""
    try:
        item = iterator.__next__()
    except StopIteration:
        return False, None
    return True, item


def next_or(iterator: Any, default: Any) -> Any:
    """`next(iterator, default)`."""
    try:
        item = iterator.__next__()
    except StopIteration:
        return default
    return item


def every_next(iterator: Any, run: Callable[[Any], None], stopped: Callable[[], Any]) -> None:
    """A `for` over what an iterator gives; `stopped` says whether its body has left it."""
    while not stopped():
        try:
            item = iterator.__next__()
        except StopIteration:
            break
        run(item)


for _function in (ByIndex.__iter__, ByIndex.__next__, Backwards.__init__, Backwards.__iter__, Backwards.__next__,
                  next_of, next_or, every_next):
    convert_always(_function)


def iterates(x: Any) -> bool:
    """Whether methods of a user's class say what the elements are."""
    return _iterates(type(x))


@functools.cache
def _iterates(kind: type) -> bool:
    of_iterators = any(convertible(getattr(kind, name, None)) for name in ("__iter__", "__next__"))
    return of_iterators or _has_items_alone(kind)


def _has_items_alone(kind: type) -> bool:
    return not hasattr(kind, "__iter__") and convertible(getattr(kind, "__getitem__", None))


def is_reversed_by_index(x: Any) -> bool:
    kind = type(x)
    return not hasattr(kind, "__reversed__") and convertible(getattr(kind, "__getitem__", None))


def is_iterator(x: Any) -> bool:
    return convertible(getattr(type(x), "__next__", None))


def begin(x: Any) -> Any:
    """`iter(x)`."""
    kind = type(x)
    if _has_items_alone(kind):
        return ByIndex(x)
    method = getattr(kind, "__iter__", None)
    return ag__.call(method, x) if convertible(method) else iter(x)


# ---- C code that iterates ----------------------------------------------------------------------------------------

_FIRST, _SECOND, _ALL, _REST = slice(0, 1), slice(1, 2), slice(0, None), slice(1, None)
ITERATING: dict[Callable, slice] = {
    **dict.fromkeys((list, tuple, set, frozenset, dict, sum, any, all, sorted, enumerate, math.fsum, math.prod,
                     collections.deque, collections.Counter, collections.OrderedDict, np.fromiter, itertools.islice,
                     itertools.accumulate, itertools.groupby, itertools.pairwise, itertools.combinations,
                     itertools.permutations, itertools.cycle, itertools.chain.from_iterable,
                     itertools.combinations_with_replacement, itertools.compress, itertools.tee), _FIRST),
    **dict.fromkeys((filter, functools.reduce, itertools.takewhile, itertools.dropwhile, itertools.filterfalse,
                     itertools.starmap), _SECOND),
    **dict.fromkeys((zip, itertools.chain, itertools.product, itertools.zip_longest), _ALL), map: _REST, max: _FIRST,
    min: _FIRST}
"""Functions that iterate, and over which of their arguments."""


def opening(function: Callable, known: Callable) -> Callable:
    """`known`, the function or what is called instead, given elements that converted code makes."""
    place = ITERATING[function]

    def opened(*arguments: Any, **keywords: Any) -> Any:
        if any(map(iterates, arguments[place])) and (len(arguments) == 1 or function not in (min, max)):
            made = tuple(ag__.iterate(x) if iterates(x) and not hasattr(type(x), "keys") else x
                         for x in arguments[place])
            arguments = (*arguments[:place.start], *made, *arguments[place.start + len(made):])
        return known(*arguments, **keywords)
    return opened
