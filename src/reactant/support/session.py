"""Which trace runs in this thread, and when Python collects cycles. Apart from the compiler, which is loaded late."""
from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple


class Session(threading.local):
    """The running trace of each thread, or None; how many functions to be differentiated are being traced; and whether
    programs leave out what they would print."""

    trace: Any = None
    differentiating: int = 0
    quiet: bool = False
    followed: set[Any] | None = None
    """Code of functions that a trace follows, and what it calls as it is, where the compile cache asks; with the module
    where it is in no file."""


SESSION = Session()

TRACES: list[Any] = []
"""The traces that run in any thread: what a call looks at first, since asking for that of this thread takes longer."""


class Called:
    """What a trace has called as it is."""

    __slots__ = ("function",)

    def __init__(self, function: Any):
        self.function = function


class Unordered:
    """That a trace has made a set of something else than numbers: its order differs from process to process."""


class InFile(NamedTuple):
    """Where a function is that a trace has followed, if its code is not known."""

    file: str
    line: int

    def is_of(self, code: Any) -> bool:
        """Whether it is that code, or inside it."""
        return code.co_filename == self.file and code.co_firstlineno <= self.line <= max(
            (line for *_, line in code.co_lines() if line is not None), default=0)


class Unnoted:
    """That something was called that could not be noted."""


@contextlib.contextmanager
def noting_calls() -> Iterator[None]:
    """Note the code of all Python functions that are called inside, where the compile cache asks: what jax calls back
    while it traces."""
    followed = SESSION.followed
    if followed is None:
        yield
        return
    if sys.getprofile() is not None:
        followed.add(Unnoted())
        yield
        return

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            followed.add((code, frame.f_globals.get("__name__")) if code.co_filename == "<string>" else code)

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


NUMBERS = (int, float, complex)
_SETS = (set, frozenset)
_OF_ONE = frozenset(("add", "discard", "remove"))


def note_set(function: Any, arguments: tuple, result: Any) -> None:
    """Note that a call which a trace follows has made or filled a set whose order differs from process to process."""
    held = [result] if type(result) in _SETS else []
    if type(owner := getattr(function, "__self__", None)) in _SETS:
        held.append(arguments if function.__name__ in _OF_ONE else owner)
    if any(not isinstance(x, NUMBERS) and not (type(x) is tuple and all(isinstance(y, NUMBERS) for y in x))
           for each in held for x in each):
        SESSION.followed.add(Unordered())       # type: ignore[union-attr]


def is_tracing() -> bool:
    """Whether the code that runs now is being traced, so that arrays are proxies without values.

    Returns:
        True inside a compiled function while it is traced; False when it runs plainly.

    Example:
        >>> def which():
        ...     return 1.0 if reactant.is_tracing() else 0.0
        >>> which(), reactant.jit(which)()
        (0.0, 1.0)
    """
    return SESSION.trace is not None


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """No trace runs inside: functions that are called there are compiled on their own."""
    before = SESSION.trace, SESSION.differentiating
    SESSION.trace, SESSION.differentiating = None, 0
    try:
        yield
    finally:
        SESSION.trace, SESSION.differentiating = before


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Programs that are traced inside print nothing: they are batched, exported, or run by something else than XLA."""
    before, SESSION.quiet = SESSION.quiet, True
    try:
        yield
    finally:
        SESSION.quiet = before


AT_START = 2000
"""Objects that may be frozen before anybody asks for it: 375 in Python 3.12, whose smallest program has 5,000."""


def frozen_by_the_user() -> bool:
    """Whether the program has called `gc.freeze`."""
    return gc.get_freeze_count() > AT_START


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Keep Python's cycle collector off meanwhile. Passes (and imports) make very many small objects, hardly ever in a
    cycle, and each full collection looks through everything that the process has imported. What was made counts as
    old afterwards, or the next allocation would have all of it looked through at once."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not frozen_by_the_user():
            gc.freeze()
            gc.unfreeze()
        gc.enable()
