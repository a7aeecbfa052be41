"""How long native code of a program may take to compile: what would take longer stays with XLA, which says so.

The seconds are estimates from counts of what is written and of LLVM's lines, so that the same program always becomes
the same code; a clock stops only what takes several times the estimate.
"""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reactant.errors import ReactantError
from reactant.support.records import dataclass

WRITTEN = 1e-4
"""Seconds that an operation takes to be written, those included that are written on trial (one core, 2.5 GHz)."""
COMPILED = 1e-3
"""Seconds that an operation takes to be compiled at least, as part of `MANY` (an ocean model's 6,400: 76 s)."""
MANY = 4000
LATE, BETWEEN = 4, 1000
"""How many times the whole budget the clock grants, and operations between two looks at it."""


class TooLong(ReactantError):
    """Native code of a region would take more time to compile than is left for it."""

    code = "not-native"


@dataclass
class Budget:
    """Seconds of a program for native code, and those that are spent, as estimated."""

    seconds: float
    spent: float = 0.0
    started: float = 0.0
    written: int = 0

    def take(self, seconds: float) -> None:
        """Spend some. Raises `TooLong` where that is more than is left."""
        if self.spent + seconds > self.seconds:
            raise TooLong(f"{self.spent + seconds:.0f} s or more")
        self.spent += seconds

    def begin(self, operations: int) -> None:
        """Before so many are written. Raises `TooLong` where that cannot be done in what is left."""
        if operations >= MANY and self.spent + operations * COMPILED > self.seconds:
            raise TooLong(f"{self.spent + operations * COMPILED:.0f} s or more")

    def count(self) -> None:
        """An operation has been written."""
        self.written += 1
        if self.spent + self.written * WRITTEN > self.seconds:
            raise TooLong(f"more than {self.seconds:g} s")
        if self.written % BETWEEN == 0 and time.monotonic() - self.started > LATE * self.seconds:
            raise TooLong(f"more than {LATE * self.seconds:g} s on this machine")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Count what is written inside; what is given up costs nothing of what comes later."""
        self.written, self.started = 0, time.monotonic()
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def count() -> None:
    """An operation has been written: of the budget in force, if there is one."""
    budget = _current.get()
    if budget is not None:
        budget.count()
