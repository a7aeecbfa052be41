"""What `for` can run over without knowing its elements: ranges, arrays, and enumerate, zip and reversed of them; count
and repeat of itertools.

`Items` stands for the builtin where a loop may have to be staged. It also is the iterator that Python code expects.
"""
from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.dynamic.bounded import by_position, is_partial, require_equal
from reactant.frontends.arrays.promotion import python_type
from reactant.frontends.arrays.python_numbers import bounds
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, Tensor, is_tensor, python_number, wrap
from reactant.frontends.control import generator_loops, iterators, mutation_log
from reactant.frontends.session.abstract import Abstract, AbstractList, certain
from reactant.frontends.session.calls import replace
from reactant.frontends.session.dispatch import meaning
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source.operators import ag__
from reactant.ir import ops

FAR = 2**61
"""A bound that no counter reaches."""


class Items:
    """A sequence of `length` elements, where `at(k)` takes a run-time index."""

    length: int | Tensor
    policy = ""
    """How reverse mode keeps the loop, where the user says (`reactant.checkpointed`)."""
    lists: tuple[AbstractList, ...] = ()
    """The growing lists whose elements these are."""

    writes_out = True
    """Whether a short loop over it may be written out because it is short."""

    def at(self, k: int | Tensor) -> Any:
        raise NotImplementedError

    def known(self, k: int) -> Any:
        """The element for an index known now."""
        return self.at(k)

    def ends(self, k: int) -> bool:
        """Whether there is no element for an index known now."""
        return k >= operator.index(self.length)

    def __iter__(self) -> Iterator[Any]:
        return (self.known(k) for k in range(operator.index(self.length)))


class UsedUp(Items):
    """The elements that an iterator gives: each of them once. `position`: how many are taken, perhaps known only at run
    time; None where it is not followed. `sources`: what it takes its elements from."""

    ag__advances = True

    def __init__(self, *sources: Items):
        self.sources = sources
        self.position: Any = 0

    def begin(self) -> Any:
        """How many elements are taken."""
        here = self.position
        if type(here) is type(self.length) is int and here >= self.length:
            return here
        for source in self.sources:
            there = source.position if isinstance(source, UsedUp) else here
            if there is not here and not (type(here) is type(there) is int and here == there):
                here = None
        if here is None:
            raise iterators.unknown()
        return here

    def stand(self, position: Any) -> None:
        """So many elements are taken."""
        if not iterators.is_made_here(self):
            mutation_log.touch(self)
        self.position = position
        inside = type(position) is type(self.length) is int and position < self.length
        for source in self.sources:
            if isinstance(source, UsedUp):      # the end of the shortest takes one more of those that stand before it
                even = inside or all(type(s.length) is int and s.length == self.length for s in self.sources)
                source.stand(position if even else None)

    def take(self, *default: Any) -> Any:
        """The next element; the default, or `StopIteration` at run time, behind the last one."""
        position = self.begin()
        if not is_tensor(position) and not is_tensor(self.length):
            return next(self, *default)

        def element() -> Any:
            self.stand(position + 1)
            return self.at(position)

        there = position < self.length
        if default:
            return ag__.if_exp(there, element, lambda: default[0])
        if is_tensor(there):
            current_trace().check(there.value(), StopIteration)
        elif not there:
            raise StopIteration
        return element()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        position = self.begin()
        if is_tensor(position):
            raise iterators.unknown()
        if position >= operator.index(self.length):
            raise StopIteration
        self.stand(position + 1)
        return self.known(position)


class RestItems(Items):
    """The elements of others from a run-time position on."""

    def __init__(self, items: Items, position: Tensor):
        self.items, self.position, self.lists = items, position, items.lists
        self.length = python_number(ops.maximum((items.length - position).value(), 0), (0, FAR))

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(self.position + k)


class IteratorItems(UsedUp):
    """`iter` of what an index can pick from."""

    def __init__(self, items: Items):
        super().__init__()
        self.items, self.length, self.lists = items, items.length, items.lists

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(k)

    def known(self, k: int) -> Any:
        return self.items.known(k)


class RangeItems(Items):
    """`range` with bounds that may be known only at run time."""

    def __init__(self, start: Any, stop: Any, step: Any):
        self.start, self.stop, self.step = start, stop, step
        self.length = _range_length(start, stop, step)

    @staticmethod
    def ag__compared(kind: str, left: Any, right: Any) -> Any:
        raise UnsupportedError("A range is compared whose bounds are only known at run time.", hint="Compare those.",
                               code="identity-at-run-time")

    def at(self, k: int | Tensor) -> Any:
        limits = self._limits()
        if limits is None or not is_tensor(k):
            return self.start + k * self.step
        start, index, step = (x.value() if is_tensor(x) else x for x in (self.start, k, self.step))
        iterations, interval = bounds(k), None
        if iterations is not None and type(start) is type(step) is int:
            ends = [start + iteration * step for iteration in iterations]
            interval = min(ends), max(ends)
        if type(step) is not int or step != 1:      # whole numbers between the bounds: nothing to check
            index = ops.multiply(index, step)
        if type(start) is not int or start:
            index = ops.add(index, start)
        return python_number(index, _within(limits, interval))

    def _limits(self) -> tuple[int, int] | None:
        """Bounds that every element lies in; an element exists only while the loop runs."""
        step = bounds(self.step)
        if step is None or step[0] <= 0 <= step[1]:
            return None
        first, last = (bounds(v) or (-FAR, FAR) for v in (self.start, self.stop))
        return (first[0], max(last[1] - 1, first[0])) if step[0] > 0 else (min(last[0] + 1, first[1]), first[1])

    def __len__(self) -> int:
        return operator.index(self.length)

    def __getitem__(self, index: Any) -> Any:
        return range(*map(operator.index, (self.start, self.stop, self.step)))[index]

    def __iter__(self) -> Iterator[int]:
        return iter(range(*map(operator.index, (self.start, self.stop, self.step))))


def _range_length(start: Any, stop: Any, step: Any) -> Any:
    if not any(map(is_tensor, (start, stop, step))):
        return len(range(start, stop, step))
    low, high = bounds(step) or (0, 0)
    if is_tensor(step) and low <= 0 <= high:
        current_trace().check(ops.compare(step.value(), 0, "NE"), lambda: ValueError("range() arg 3 must not be zero"))
        up, down = ((stop - start + step - 1) // step).value(), ((start - stop - step - 1) // -step).value()
        count = ops.select(ops.compare(step.value(), 0, "GT"), up, down)
    elif low == high == 0:
        raise ValueError("range() arg 3 must not be zero")
    else:
        forward = low > 0
        distance = stop - start if forward else start - stop
        size = step if forward else -step
        if type(size) is int and size == 1:
            count = distance.value()
        else:
            count = ((distance + size - 1) // size).value()
    return python_number(ops.maximum(count, 0), (0, FAR))


def _within(limits: tuple[int, int], known: tuple[int, int] | None) -> tuple[int, int]:
    """Bounds that two sources know of a number: a loop over a part of the range knows more than the range."""
    if known is None or known[1] < limits[0] or limits[1] < known[0]:   # apart: the loop has no iteration
        return limits
    return max(limits[0], known[0]), min(limits[1], known[1])


class ArrayItems(Items):
    """The rows of an array; of one of run-time size too."""

    def __init__(self, array: Any):
        self.array = array
        self.length = array.shape[0]

    def at(self, k: int | Tensor) -> Any:
        return self.array[k]


class IndexItems(UsedUp):
    """The indices of the elements of a shape, row by row: `np.ndindex`."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__()
        self.shape, self.length = shape, math.prod(shape)

    def at(self, k: int | Tensor) -> tuple:
        if not is_tensor(k):
            return self.known(k)
        index, after = [], self.length
        for extent in self.shape:
            after //= max(extent, 1)
            place = ops.remainder(ops.divide(k.value(), after), extent)
            index.append(python_number(place, (0, extent - 1)))
        return tuple(index)

    def known(self, k: int) -> tuple:
        return tuple(map(int, np.unravel_index(k, self.shape))) if self.shape else ()


class EnumeratedItems(UsedUp):
    """`np.ndenumerate`: the elements with their indices."""

    def __init__(self, array: Any):
        super().__init__()
        self.array, self.indices = array, IndexItems(array.shape)
        self.length = self.indices.length

    def at(self, k: int | Tensor) -> tuple:
        index = self.indices.at(k)
        return index, self.array[index]


class EnumerateItems(UsedUp):
    def __init__(self, items: Items, start: int):
        super().__init__(items)
        self.items, self.start, self.length, self.lists = items, start, items.length, items.lists

    def at(self, k: int | Tensor) -> tuple:
        return self.start + k, self.items.at(k)


class ZipItems(UsedUp):
    def __init__(self, items: list[Items]):
        super().__init__(*items)
        self.items, self.lists = items, tuple(g for i in items for g in i.lists)
        lengths = [i.length for i in items]
        none = any(type(n) is int and n == 0 for n in lengths)
        self.length = 0 if none else _smallest(lengths) if any(map(is_tensor, lengths)) else min(lengths)

    def at(self, k: int | Tensor) -> tuple:
        return tuple(i.at(k) for i in self.items)


def _smallest(lengths: list[Any]) -> Tensor:
    values = [v.value() if is_tensor(v) else ops.constant(v, np.int64) for v in lengths]
    least = values[0]
    for v in values[1:]:
        least = ops.minimum(least, v)
    return python_number(least, (0, FAR))


class CountItems(UsedUp):
    """`itertools.count` of whole numbers: a range that ends nowhere."""

    length = FAR

    def __init__(self, start: int, step: int):
        super().__init__()
        self.items = RangeItems(start, start + FAR * step, step) if step else RepeatItems(start, FAR)

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(k)


class RepeatItems(UsedUp):
    """`itertools.repeat`: one object, so many times."""

    def __init__(self, item: Any, times: Any):
        super().__init__()
        self.item, self.length = item, times

    def at(self, k: int | Tensor) -> Any:
        return self.item


class ReversedItems(UsedUp):
    def __init__(self, items: Items):
        super().__init__()
        self.items, self.length, self.lists = items, items.length, items.lists

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(self.length - 1 - k)


class PolicyItems(Items):
    """The elements of others, in a loop that reverse mode keeps in a way of the user's."""

    def __init__(self, items: Items, policy: str):
        self.items, self.length, self.policy = items, items.length, policy

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(k)

    def known(self, k: int) -> Any:
        return self.items.known(k)


class RowItems(Items):
    """The elements of a list, and the same in rows."""

    def __init__(self, rows: AbstractList, items: list | tuple):
        self.rows, self.items, self.length = rows, items, len(items)

    def at(self, k: int | Tensor) -> Any:
        return self.rows.at(k) if is_tensor(k) else self.items[k]

    def ends(self, k: int) -> bool:
        """As Python: the list may be another one by now."""
        return k >= len(self.items)


def items_of(iterable: Any) -> Items | None:
    """The iterable by index, where its elements can be picked by a run-time index."""
    if isinstance(iterable, Items):
        return iterable
    if type(iterable) is range:
        return RangeItems(iterable.start, iterable.stop, iterable.step)
    if is_tensor(iterable) and iterable.kind == ARRAY and iterable.shape:
        return ArrayItems(iterable)
    if type(iterable) is np.ndarray and iterable.ndim and iterable.dtype.kind in "biufc":
        return ArrayItems(wrap(iterable))
    if issubclass(type(iterable), Abstract):
        return iterable.ag__items()     # type: ignore[no-any-return]
    if is_partial(iterable):
        return ArrayItems(by_position(iterable))
    return None


# ---- the builtins ----------------------------------------------------------------------------------------------

def _is_begun(items: Items) -> bool:
    """Whether there are elements that are taken already."""
    return isinstance(items, UsedUp) and (is_tensor(items.begin()) or items.begin() != 0)


def _traced(*values: Any) -> bool:
    return is_tracing() and any(map(is_tensor, values))


@replace(builtins.range)
def _range(*arguments: Any) -> Any:
    arguments = tuple(operator.index(a) if is_tensor(a) and a.is_concrete() else a for a in map(certain, arguments))
    if not _traced(*arguments) or not 1 <= len(arguments) <= 3:
        return range(*arguments)
    for a in arguments:
        if is_tensor(a) and a.dtype.kind not in "iub":
            name = f"numpy.{a.dtype}" if a.kind != PYTHON else python_type(a.dtype).__name__
            raise TypeError(f"'{name}' object cannot be interpreted as an integer")
    start, stop, step = (0, arguments[0], 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    return RangeItems(*(operator.index(a) if not is_tensor(a) else
                        python_number(ops.convert(a.value(), np.int64), a.interval) for a in (start, stop, step)))


@replace(np.ndindex)
def _ndindex(*shape: Any) -> Any:
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = shape[0]
    known = is_tracing() and all(type(n) is int and n > 0 for n in shape)
    return IndexItems(shape) if known else np.ndindex(*shape)


@replace(itertools.count)
def _count(start: Any = 0, step: Any = 1) -> Any:
    whole = is_tracing() and all(type(n) is int and abs(n) < 2**31 for n in (start, step))
    return CountItems(start, step) if whole else itertools.count(start, step)


@replace(itertools.repeat)
def _repeat(object: Any, times: Any = None) -> Any:
    if is_tracing() and (times is None or type(times) is int):
        return RepeatItems(object, FAR if times is None else max(times, 0))
    return itertools.repeat(object) if times is None else itertools.repeat(object, times)


@replace(builtins.enumerate)
def _enumerate(iterable: Any, start: int = 0) -> Any:
    items = items_of(iterable) if is_tracing() else None
    if items is None and (made := generator_loops.enumerated(iterable, start)) is not None:
        return made
    return enumerate(iterable, start) if items is None or _is_begun(items) else EnumerateItems(items, start)


def _beside(iterable: Any) -> Items | None:
    """A list beside one whose length is known only at run time, by index; where it is empty, an iterator too."""
    if operator.length_hint(iterable) == 0 and type(iterable) in (list, tuple, type(reversed([]))):
        return RangeItems(0, 0, 1)
    rows = meaning.rows_of(iterable) if type(iterable) in (list, tuple) else None
    return None if rows is None else RowItems(rows, iterable)


def _beside_generator(iterables: tuple, found: list[Items | None]) -> Any:
    """`zip` of one generator that a loop can run and of what an index can pick from; None for others."""
    others = [i for i in found if i is not None]
    if len(others) != len(found) - 1 or any(type(i.length) is not int or _is_begun(i) for i in others) \
            or any(isinstance(i, UsedUp) and others.count(i) > 1 for i in others):
        return None

    def pick(k: Any, item: Any) -> tuple:
        for i in others:
            if isinstance(i, UsedUp):
                i.stand(None)       # nobody follows it
        return tuple(item if i is None else i.at(k) if is_tensor(k) else i.known(k) for i in found)
    return generator_loops.zipped(iterables, pick, [None if i is None else i.length for i in found])


@replace(builtins.zip)
def _zip(*iterables: Any, strict: bool = False) -> Any:
    found = [items_of(i) for i in iterables] if is_tracing() else []
    if not strict and (made := _beside_generator(iterables, found)) is not None:
        return made
    if any(i is not None and (is_tensor(i.length) or i.length == 0) for i in found):
        found = [_beside(iterable) if i is None else i for i, iterable in zip(found, iterables, strict=True)]
    if not found or None in found or any(_is_begun(i) or isinstance(i, UsedUp) and found.count(i) > 1 for i in found):
        return zip(*iterables, strict=strict)
    lengths = [i.length for i in found]
    if strict and not any(map(is_tensor, lengths)) and len(set(lengths)) > 1:
        return zip(*iterables, strict=True)      # raises where Python does
    if strict:
        first, *others = (n.value() if is_tensor(n) else n for n in lengths)
        for n in others:
            require_equal(first, n, "zip() arguments have different lengths")
    return ZipItems(found)


@replace(builtins.reversed)
def _reversed(sequence: Any) -> Any:
    items = items_of(sequence) if is_tracing() else None
    return reversed(sequence) if items is None else ReversedItems(items)


@replace(builtins.iter)
def _iter(iterable: Any, *sentinel: Any) -> Any:
    items = items_of(iterable) if is_tracing() and not sentinel else None
    return iter(iterable, *sentinel) if items is None else items if isinstance(items, UsedUp) else IteratorItems(items)
