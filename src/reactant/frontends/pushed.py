"""What the call of a generator function gives, where its `yield` stands under conditions (see `yielding`)."""
from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from reactant.frontends import conversion, iterators, operators
from reactant.frontends.trace import current_trace, is_tracing
from reactant.frontends.yielding import SINK, STOPPED, is_pushable

_fitting: dict[CodeType, bool] = {}


class Pushed:
    """What the call of such a function gives: an iterator, that a loop can run."""

    ag__advances = True
    __slots__ = ("arguments", "function", "keywords", "native", "taken")

    def __init__(self, function: FunctionType, arguments: tuple, keywords: dict, native: Any):
        self.function, self.arguments, self.keywords, self.native = function, arguments, keywords, native
        self.taken = False              # whether the native generator has begun
        iterators.note(self)
        iterators.note(native)

    def __iter__(self) -> Pushed:
        return self

    def one_by_one(self) -> Any:
        iterators.use(self.native)
        self.taken = True
        return self.native

    def __next__(self) -> Any:
        return next(self.one_by_one())

    def send(self, value: Any) -> Any:
        return self.one_by_one().send(value)

    def throw(self, *error: Any) -> Any:
        return self.one_by_one().throw(*error)

    def close(self) -> None:
        self.one_by_one().close()

    def stand(self, position: None) -> None:
        """It stands where the native one does."""

    def run(self, sink: Callable[[Any], None], stopped: Callable[[], Any]) -> None:
        """Call `sink` with each element, until it has stopped."""
        iterators.use(self.native)
        self.taken = True
        made = conversion.convert(self.function, bool(current_trace().attempts), pushed=True)
        made(*self.arguments, **self.keywords, **{SINK: sink, STOPPED: stopped})
        if stopped() is False:
            self.native.close()         # used up
        else:
            iterators.lose(self)


def waits(x: Any) -> bool:
    """Whether it is such a generator, which has not begun."""
    return type(x) is Pushed and not x.taken


def begun(function: FunctionType, arguments: tuple, keywords: dict, native: Any) -> Any:
    """What the call of a generator function gives."""
    return Pushed(function, arguments, keywords, native) if is_tracing() and _fits(function) else native


def _fits(function: FunctionType) -> bool:
    code = function.__code__
    if code not in _fitting:
        try:
            _fitting[code] = is_pushable(conversion.function_node(function))
        except conversion.SourceUnavailable:
            _fitting[code] = False
    return _fitting[code]


def install() -> None:
    """Put it in place. Done once, by `control_flow`."""
    operators.install(begun=begun)


__all__ = ["Pushed", "install", "waits"]
