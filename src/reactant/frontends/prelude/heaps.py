"""`heapq` and `bisect` on lists of run-time numbers, or tuples of such: the steps of C's versions as Python that is
converted, so that loops over run-time values do them, and a heap has the same order as Python's."""
from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from reactant.frontends.arrays.tensor import is_tensor, python_number
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.list_refusals import refusal
from reactant.frontends.control.loop_carried import needs_grower
from reactant.frontends.session import calls
from reactant.frontends.session.trace import is_tracing
from reactant.frontends.source import conversion
from reactant.frontends.source.operators import ag__
from reactant.frontends.values.items_as_rows import of_items
from reactant.frontends.values.list_builder import Grower
from reactant.frontends.values.list_changes import Changes
from reactant.ir import ops


def element(items: Any, place: Any) -> Any:
    """What stands at a place that is one of the list's, or is not looked at."""
    if not isinstance(items, Changes):
        return ag__.get_item(items, place)
    return items.view().at(place if is_tensor(place) else python_number(ops.constant(place, np.int64)))


def store(items: Any, place: Any, item: Any) -> None:
    if isinstance(items, Changes):
        items.store(place, item)
    else:
        ag__.set_item(item, items, place)


def chosen(test: Any, first: Any, second: Any) -> Any:
    """One of two places."""
    if not is_tensor(test):
        return first if test else second
    both = [x.value() if is_tensor(x) else ops.constant(x, np.int64) for x in (first, second)]
    return python_number(ops.select(test.value(), *both))


def rise(heap: Any, place: Any, top: Any = 0) -> None:
    """Let an element move up, at most to the top, to where it belongs."""
    item = element(heap, place)
    while (place > top) & (item < element(heap, abs(place - 1) // 2)):
        store(heap, place, element(heap, (place - 1) // 2))
        place = (place - 1) // 2
    store(heap, place, item)


def sink(heap: Any, top: Any, count: Any) -> None:
    """Let an element go down to the end, always to the smaller child, and then up to where it belongs."""
    item, place = element(heap, top), top
    while 2 * place + 1 < count:
        child, other = 2 * place + 1, chosen(2 * place + 2 < count, 2 * place + 2, 2 * place + 1)
        child = chosen(element(heap, child) < element(heap, other), child, other)
        store(heap, place, element(heap, child))
        place = child
    store(heap, place, item)
    rise(heap, place, top)


def sink_all(heap: Any, count: Any) -> None:
    for place in range(count // 2 - 1, -1, -1):
        sink(heap, place, count)


def push(heap: Any, item: Any) -> None:
    heap.append(item)
    in_rows(rise, heap, len(heap) - 1)


def pop(heap: Any) -> Any:
    last = heap.pop()
    if len(heap) == 0:
        return last
    first = heap[0]
    heap[0] = last
    in_rows(sink, heap, 0, len(heap))
    return first


def replace(heap: Any, item: Any) -> Any:
    first = heap[0]
    heap[0] = item
    in_rows(sink, heap, 0, len(heap))
    return first


def push_and_pop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        item = replace(heap, item)
    return item


def heapify(heap: Any) -> None:
    in_rows(sink_all, heap, len(heap))


def in_rows(steps: Callable, items: Any, *arguments: Any) -> None:
    """Do what leaves as many elements with a list, whose elements stand in rows meanwhile where they can."""
    rows = of_items(items, widest=True) if type(items) is list else None
    if rows is None:
        return ag__.call(steps, items, *arguments)
    ag__.call(steps, rows, *arguments)
    container_aliasing.about_to_change(items)
    mutation_log.touch(items)
    items[:] = [rows.at(k) for k in range(len(items))]


def place_right(items: Any, x: Any, lo: Any = 0, hi: Any = None, key: Any = None) -> Any:
    if hi is None:
        hi = len(items)
    while lo < hi:
        middle = (lo + hi) // 2
        if x < (items[middle] if key is None else key(items[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def place_left(items: Any, x: Any, lo: Any = 0, hi: Any = None, key: Any = None) -> Any:
    if hi is None:
        hi = len(items)
    while lo < hi:
        middle = (lo + hi) // 2
        if (items[middle] if key is None else key(items[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def insert_right(items: Any, x: Any, lo: Any = 0, hi: Any = None, key: Any = None) -> None:
    items.insert(place_right(items, x if key is None else key(x), lo, hi, key), x)


def insert_left(items: Any, x: Any, lo: Any = 0, hi: Any = None, key: Any = None) -> None:
    items.insert(place_left(items, x if key is None else key(x), lo, hi, key), x)


def _smallest(n: int, iterable: Any, key: Any = None) -> list:
    return ag__.call(sorted, iterable, key=key)[:max(n, 0)]


def _largest(n: int, iterable: Any, key: Any = None) -> list:
    return ag__.call(sorted, iterable, key=key, reverse=True)[:max(n, 0)]


def _replace(known: Callable, steps: Callable, changes: bool) -> None:
    conversion.convert_always(steps)

    @calls.replace(known)
    def applied(items: Any, *arguments: Any, **keywords: Any) -> Any:
        if not is_tracing() or type(items) is list and not ag__.involves_tracing((items, *arguments), keywords):
            return calls.call_as_it_is(known, (items, *arguments), keywords)
        if changes and type(items) is not Grower:
            needs_grower(items, refusal("method", name=f"{known.__module__}.{known.__name__}"))
        return ag__.call(steps, items, *arguments, **keywords)


def install() -> None:
    """Put the replacements in place. Done once, by `control_flow`."""
    for known, steps in ((heapq.heappush, push), (heapq.heappop, pop), (heapq.heapreplace, replace),
                         (heapq.heappushpop, push_and_pop), (heapq.heapify, heapify),
                         (bisect.insort_right, insert_right), (bisect.insort_left, insert_left)):
        _replace(known, steps, True)
    _replace(bisect.bisect_right, place_right, False)
    _replace(bisect.bisect_left, place_left, False)
    for helper in (rise, sink, sink_all):
        conversion.convert_always(helper)
    calls.replace(heapq.nsmallest)(_smallest)
    calls.replace(heapq.nlargest)(_largest)
