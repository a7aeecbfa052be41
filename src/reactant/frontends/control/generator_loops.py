"""What the call of a generator function gives, where its `yield` stands under conditions or in loops (see
`generators`), and what `enumerate`, `zip` and `islice` give of that.

Where it turns out that elements have to be taken one by one (because where the generator stands after the loop matters,
or numbers of the loop have to be known), the function is traced again, with Python's own generators where those can be.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from reactant.frontends.control import iterators
from reactant.frontends.session import calls
from reactant.frontends.session.calls import replace
from reactant.frontends.session.retracing import ONE_BY_ONE
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source import conversion
from reactant.frontends.source.conversion import convert_always
from reactant.frontends.source.generators import SINK, STOPPED, is_conditional, is_pushable
from reactant.frontends.source.operators import ag__

CONDITIONAL, IN_LOOPS = "conditional", "in loops"
_fitting: dict[CodeType, str] = {}


class Driven:
    """An iterator that a loop can run: it calls the loop's body."""

    ag__advances = True
    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken = False              # whether somebody has begun to take elements
        iterators.note(self)

    def __iter__(self) -> Driven:
        return self

    def one_by_one(self) -> Any:
        """Python's own iterator."""
        raise NotImplementedError

    def __next__(self) -> Any:
        return next(self.one_by_one())

    def stand(self, position: None) -> None:
        """It stands where what it takes its elements from does."""

    def run(self, sink: Callable[[Any], None], stopped: Callable[[], Any]) -> None:
        """Call `sink` with each element, until it has stopped."""
        raise NotImplementedError


class Pushed(Driven):
    """What the call of such a function gives."""

    __slots__ = ("arguments", "function", "keywords", "native")

    def __init__(self, function: FunctionType, arguments: tuple, keywords: dict, native: Any):
        super().__init__()
        self.function, self.arguments, self.keywords, self.native = function, arguments, keywords, native
        iterators.note(native)

    def one_by_one(self) -> Any:
        iterators.use(self.native)
        self.taken = True
        return self.native

    def send(self, value: Any) -> Any:
        return self.one_by_one().send(value)

    def throw(self, *error: Any) -> Any:
        return self.one_by_one().throw(*error)

    def close(self) -> None:
        self.one_by_one().close()

    def run(self, sink: Callable[[Any], None], stopped: Callable[[], Any]) -> None:
        iterators.use(self.native)
        self.taken = True
        trace = current_trace()
        trace.pushes |= _fitting[self.function.__code__] == IN_LOOPS
        made = conversion.convert(self.function, bool(trace.attempts), pushed=True)
        made(*self.arguments, **self.keywords, **{SINK: sink, STOPPED: stopped})
        if stopped() is False:
            self.native.close()         # used up
        else:
            iterators.lose(self)


class Through(Driven):
    """What `enumerate`, say, gives of such an iterator: `drive(source, sink, stopped)` runs a loop over it, `native()`
    makes Python's own."""

    __slots__ = ("drive", "made", "native", "source")

    def __init__(self, source: Driven, drive: Callable, native: Callable[[], Iterator]):
        super().__init__()
        self.source, self.drive, self.native = source, drive, native
        self.made: Any = None

    def one_by_one(self) -> Any:
        self.taken = True
        if self.made is None:
            self.made = self.native()
        return self.made

    def run(self, sink: Callable[[Any], None], stopped: Callable[[], Any]) -> None:
        self.taken = current_trace().pushes = True
        self.drive(self.source, sink, stopped)


calls.OURS |= {Pushed, Through}


def waits(x: Any) -> bool:
    """Whether it is such an iterator, which has not begun."""
    return isinstance(x, Driven) and not x.taken


def begun(function: FunctionType, arguments: tuple, keywords: dict, native: Any) -> Any:
    """What the call of a generator function gives."""
    fits = is_tracing() and _fits(function)
    if not fits or fits == IN_LOOPS and ONE_BY_ONE in current_trace().demands:
        return native
    return Pushed(function, arguments, keywords, native)


def _fits(function: FunctionType) -> str:
    code = function.__code__
    if code not in _fitting:
        try:
            node = conversion.function_node(function)
            _fitting[code] = "" if not is_pushable(node) else CONDITIONAL if is_conditional(node) else IN_LOOPS
        except conversion.SourceUnavailable:
            _fitting[code] = ""
    return _fitting[code]


# ---- enumerate, islice, zip: what Python does, converted like the user's functions --------------------------------

def _enumerated(source: Driven, start: Any, sink: Callable, stopped: Callable) -> None:
    count = start

    def each(item: Any) -> None:
        nonlocal count
        sink((count, item))
        count = count + 1
    source.run(each, stopped)


def _sliced(source: Driven, start: int, stop: int | None, sink: Callable, stopped: Callable) -> None:
    count = 0

    def each(item: Any) -> None:
        nonlocal count
        if not start or count >= start:
            sink(item)
        count = count + 1

    def ended() -> Any:
        return stopped() or (stop is not None and count >= stop)
    if stop is None or stop > 0:
        source.run(each, ended)


def _zipped(source: Driven, pick: Callable, first: int | None, last: int | None, sink: Callable,
            stopped: Callable) -> None:
    """`first` and `last`: how many elements there are before the source, which is asked in vain for none of those that
    come after the shortest, and behind it."""
    count = 0

    def each(item: Any) -> None:
        nonlocal count
        if last is None or count < last:
            sink(pick(count, item))
        count = count + 1

    def ended() -> Any:
        return stopped() or (first is not None and count >= first) or (last is not None and count > last)
    if first is None or first > 0:
        source.run(each, ended)


for _function in (_enumerated, _sliced, _zipped):
    convert_always(_function)


def _through(source: Any, drive: Callable, native: Callable[[], Iterator], *settings: Any) -> Any:
    """An iterator that a loop can run; None where elements are taken one by one."""
    if not is_tracing() or not waits(source) or ONE_BY_ONE in current_trace().demands:
        return None
    return Through(source, lambda of, sink, stopped: ag__.call(drive, of, *settings, sink, stopped), native)


def enumerated(iterable: Any, start: Any) -> Any:
    """`enumerate` of an iterator that a loop can run; else None."""
    return _through(iterable, _enumerated, lambda: enumerate(iterable, start), start)


def zipped(iterables: tuple, pick: Callable[[Any, Any], tuple], lengths: list[Any]) -> Any:
    """`zip` of iterables of which one is an iterator that a loop can run, and the others have these lengths (None for
    that one); else None. `pick(k, item)`: the k-th elements, and an item at its place."""
    place = lengths.index(None)
    first, last = (min([n for n in part if n is not None], default=None) for part in (lengths[:place], lengths[place:]))
    return _through(iterables[place], _zipped, lambda: zip(*iterables, strict=False), pick, first, last)


@replace(itertools.islice)
def _islice(iterable: Any, *bounds: Any) -> Any:
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3] if 1 < len(bounds) < 4 else (0, -1, 1)
    start, step = start or 0, 1 if step is None else step
    if step == 1 and type(start) is int and start >= 0 and (stop is None or type(stop) is int and stop >= start):
        made = _through(iterable, _sliced, lambda: itertools.islice(iterable, *bounds), start, stop)
        if made is not None:
            return made
    return itertools.islice(iterable, *bounds)



__all__ = ["Driven", "Pushed", "enumerated", "waits", "zipped"]
