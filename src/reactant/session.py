"""Which trace runs in this thread. Apart from `frontends.trace`, so that asking costs no import of the compiler."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class Session(threading.local):
    """The running trace of each thread, or None; and how many functions to be differentiated are being traced."""

    trace: Any = None
    differentiating: int = 0


SESSION = Session()


def is_tracing() -> bool:
    """Whether the calling code is being traced."""
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
