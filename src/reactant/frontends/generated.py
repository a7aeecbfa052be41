"""`sum`, `any` and `all` of a generator expression over a range or an array: a loop like any other `for`.

`sum(a[j] * b[i - j] for j in range(i))` hands `sum` the iterable and a function of one element (`expressions` makes
it). Where the iterable can be picked from by a run-time index, the elements are added up in a `for`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reactant.frontends import calls, objects, operators
from reactant.frontends.iteration import items_of
from reactant.frontends.numpy.overlay import to_python
from reactant.frontends.operators import ag__
from reactant.frontends.trace import is_tracing


class Generated:
    """The elements of a generator expression with one `for`. To others it is the generator."""

    __slots__ = ("element", "iterable", "iterator", "test")

    def __init__(self, iterable: Any, element: Callable[[Any], Any], test: Callable[[Any], Any] | None):
        self.iterable, self.element, self.test = iterable, element, test
        self.iterator: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.iterator is None:
            self.iterator = (self.element(x) for x in ag__.iterate(self.iterable)
                             if self.test is None or ag__.truth(self.test(x)))
        return next(self.iterator)

    def folded(self, value: Any, combine: Callable[[Any, Any], Any], for_stmt: Callable) -> Any:
        """`value` combined with each element in turn."""
        element, test = self.element, self.test

        def body(item: Any) -> None:
            nonlocal value
            if test is None:
                value = combine(value, element(item))
            else:
                value = ag__.if_exp(test(item), lambda: combine(value, element(item)), lambda: value)

        for_stmt(self.iterable, body, (), ("value",), (), ("value",))
        return value


def _applied(fold: Callable[[Generated, Any], Any], known: Callable) -> Callable:
    def applied(items: Any, /, *start: Any, **keywords: Any) -> Any:
        if type(items) is not Generated or not is_tracing() or keywords or items_of(items.iterable) is None:
            return known(items, *start, **keywords)
        return fold(items, *start)
    return applied


def install(for_stmt: Callable) -> None:
    """Put it in place, around the builtins that are there. Done once, by `control_flow`."""
    operators.install(generated=Generated)
    folds = {
        sum: lambda items, start=0: items.folded(start, objects.BINARY["Add"], for_stmt),
        any: lambda items: items.folded(False, lambda a, b: to_python(np.logical_or(a, b)), for_stmt),
        all: lambda items: items.folded(True, lambda a, b: to_python(np.logical_and(a, b)), for_stmt),
    }
    for function, fold in folds.items():
        calls.REPLACEMENTS[function] = _applied(fold, calls.REPLACEMENTS.get(function, function))
