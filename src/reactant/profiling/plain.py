"""A plain script as it runs: which of the user's functions take its time, and what they are called with.

Python's own profiling hook (`sys.setprofile`) tells of calls; of each function the time from entry to return is kept,
what it calls included, and copies of the arguments of its first calls.
"""
from __future__ import annotations

import copy
import gc
import site
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from reactant.support.records import dataclass

MOST_CALLS = 2
"""Calls of a function whose arguments are kept,"""
MOST_BYTES = 256 << 20
"""and bytes of all arrays that are kept."""
NOT_FUNCTIONS = ("<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
GENERATOR = 0x20 | 0x80 | 0x200
"""Flags of code that is a generator or a coroutine."""


@dataclass
class Called:
    """A function of the user's: how often it was called, seconds with what it calls and without, and copies of the
    arguments of some calls."""

    name: str
    file: str
    line: int
    code: CodeType
    calls: int = 0
    seconds: float = 0.0
    own: float = 0.0
    function: Callable | None = None
    arguments: list[tuple[tuple, dict]] = field(default_factory=list)
    why_not: str = ""
    """Why no arguments were kept, if none were."""
    active: int = 0
    within: set[str] = field(default_factory=set)
    """Functions of the user's that call it, at any distance."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class Recorder:
    """Watches what the user's functions do while it is entered. inside: their files lie there; without, those that
    belong neither to Python nor to an installed package."""

    def __init__(self, inside: str | None = None) -> None:
        self.inside = str(Path(inside).resolve()) if inside else None
        self.found: dict[CodeType, Called] = {}
        self._known: dict[CodeType, Called | None] = {}
        self._stack: list[tuple[Called, float, float]] = []
        self._bytes = 0
        self._others = [str(Path(folder).resolve()) for folder in {
            *site.getsitepackages(), site.getusersitepackages(), sysconfig.get_paths()["stdlib"],
            sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"], str(Path(__file__).parents[1])}]

    def __enter__(self) -> Recorder:
        sys.setprofile(self._told)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        while self._stack:
            self._leave(time.perf_counter())

    def _told(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called = self._of(frame.f_code)
            if called is not None:
                self._enter(called, frame)
        elif event == "return" and self._stack and self._stack[-1][0].code is frame.f_code:
            self._leave(time.perf_counter())

    def _of(self, code: CodeType) -> Called | None:
        try:
            return self._known[code]
        except KeyError:
            made = self._known[code] = self._new(code)
            return made

    def _new(self, code: CodeType) -> Called | None:
        if code.co_name in NOT_FUNCTIONS or code.co_flags & GENERATOR or code.co_filename.startswith("<"):
            return None
        file = str(Path(code.co_filename).resolve())
        if self.inside is not None and not file.startswith(self.inside):
            return None
        if any(file.startswith(folder) for folder in self._others):
            return None
        made = self.found[code] = Called(code.co_qualname, file, code.co_firstlineno, code)
        return made

    def _enter(self, called: Called, frame: FrameType) -> None:
        called.calls += 1
        if called.calls <= MOST_CALLS and not called.active:
            sys.setprofile(None)
            try:
                self._keep(called, frame)
            finally:
                sys.setprofile(self._told)
        called.active += 1
        self._stack.append((called, time.perf_counter(), 0.0))

    def _leave(self, now: float) -> None:
        called, begin, inner = self._stack.pop()
        taken = now - begin
        called.active -= 1
        called.own += taken - inner
        if not called.active:
            called.seconds += taken
        if self._stack:
            outer, start, others = self._stack[-1]
            self._stack[-1] = outer, start, others + taken
            if len(called.within) < 50:
                called.within |= {outer.name, *outer.within}

    def _keep(self, called: Called, frame: FrameType) -> None:
        if called.function is None:
            called.function = _function_of(frame)
        values = _arguments(frame)
        size = sum(_nbytes(value) for value in (*values[0], *values[1].values()))
        if self._bytes + size > MOST_BYTES:
            called.why_not = f"its arguments have {size / 1e6:.0f} MB"
            return
        try:
            called.arguments.append(copy.deepcopy(values))
        except Exception as error:
            called.why_not = f"its arguments cannot be copied: {error}"
            return
        self._bytes += size


def _arguments(frame: FrameType) -> tuple[tuple, dict]:
    """What the function of a frame that has just been entered was called with."""
    code, values = frame.f_code, frame.f_locals
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    given = [values[name] for name in names[:count] if name in values]
    named = {name: values[name] for name in names[count:count + only] if name in values}
    place = count + only
    if code.co_flags & 0x04:        # *args
        given += values.get(names[place], ())
        place += 1
    if code.co_flags & 0x08:        # **kwargs
        named |= values.get(names[place], {})
    return tuple(given), named


def _function_of(frame: FrameType) -> Callable | None:
    """The function whose code a frame runs: the one that its module has under that name, or the newest one with it."""
    found: Any = frame.f_globals
    for part in frame.f_code.co_qualname.split("."):
        names = found if isinstance(found, dict) else vars(found) if isinstance(found, type) else {}
        found = names.get(part)
        found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    if isinstance(found, FunctionType) and found.__code__ is frame.f_code:
        return found
    those = [each for each in gc.get_referrers(frame.f_code) if type(each) is FunctionType
             and each.__code__ is frame.f_code]
    return those[-1] if those else None


def _nbytes(value: Any, depth: int = 0) -> int:
    """Bytes of the arrays in a value, as far as it is looked into."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if depth > 3:
        return 0
    if isinstance(value, dict):
        return sum(_nbytes(each, depth + 1) for each in list(value.values())[:1000])
    if isinstance(value, (list, tuple, set)):
        return sum(_nbytes(each, depth + 1) for each in list(value)[:1000])
    if hasattr(value, "__dict__") and not isinstance(value, (type, FunctionType)):
        return sum(_nbytes(each, depth + 1) for each in list(vars(value).values())[:100])
    return 0
