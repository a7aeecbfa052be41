"""Where compiling takes long, lines on standard error say what goes on: one for each step that takes two seconds.

`REACTANT_PROGRESS=0` keeps them away.
"""
from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import CodeType

AFTER = 2.0
"""Seconds after which a step is spoken of."""
PERIOD = 0.25
"""Seconds between two looks at what goes on."""


class Repeated:
    """A loop of which each iteration becomes a part of the program; `iterations` so far."""

    __slots__ = ("code", "iterations")

    def __init__(self, code: CodeType):
        self.code, self.iterations = code, 0

    def __str__(self) -> str:
        return (f"unrolling the loop in line {self.code.co_firstlineno} of {os.path.basename(self.code.co_filename)}: "
                f"{self.iterations} copies")


class _Step:
    """What a thread does: `loops` are those that it unrolls, innermost last."""

    def __init__(self, what: str):
        self.what, self.begun, self.said = what, time.monotonic(), False
        self.loops: list[Repeated] = []

    def __str__(self) -> str:
        most = max(list(self.loops), key=lambda loop: loop.iterations, default=None)
        return self.what if most is None else f"{self.what}, {most}"


_STEPS: dict[int, list[_Step]] = {}
"""Of each thread that compiles, innermost last."""
_THREAD: threading.Thread | None = None
_WORK = threading.Event()
_LOCK = threading.Lock()


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Say `what` goes on, should it take long. Steps may be inside others."""
    if os.environ.get("REACTANT_PROGRESS") == "0":
        yield
        return
    thread = threading.get_ident()
    steps = _STEPS.setdefault(thread, [])
    steps.append(_Step(what))
    _watch()
    try:
        yield
    finally:
        steps.pop()
        if not steps:
            _STEPS.pop(thread, None)


@contextlib.contextmanager
def unrolling(code: CodeType) -> Iterator[Repeated]:
    """A loop with this body becomes copies of it; whoever makes them counts."""
    loop, steps = Repeated(code), _STEPS.get(threading.get_ident())
    loops = steps[-1].loops if steps else []
    loops.append(loop)
    try:
        yield loop
    finally:
        loops.remove(loop)


def _watch() -> None:
    """Have a thread look at the steps."""
    global _THREAD
    _WORK.set()
    if _THREAD is None or not _THREAD.is_alive():       # after a fork it is not
        with _LOCK:
            if _THREAD is None or not _THREAD.is_alive():
                _THREAD = threading.Thread(target=_look, name="reactant-progress", daemon=True)
                _THREAD.start()


def _look() -> None:
    while True:
        _WORK.wait()
        while _STEPS:
            time.sleep(PERIOD)
            for text in due(time.monotonic()):
                with contextlib.suppress(Exception):    # who has closed it wants no lines
                    print(text, file=sys.stderr, flush=True)
        _WORK.clear()
        if _STEPS:
            _WORK.set()


def due(now: float) -> list[str]:
    """The lines that are to be said by now, each once."""
    found = []
    for steps in list(_STEPS.values()):
        for each in list(steps):
            if not each.said and now - each.begun >= AFTER:
                each.said = True
                found.append(f"reactant: {each} ({now - each.begun:.0f} s so far)")
    return found
