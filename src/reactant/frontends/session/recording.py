"""Whether the code being traced may not run: what it changes is then recorded, to be merged or taken back."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

_LOCAL = threading.local()


def recorders() -> list[Any]:
    """The recorders of the branches and bodies that are being traced in this thread, innermost last."""
    if not hasattr(_LOCAL, "stack"):
        _LOCAL.stack = []
    found: list[Any] = _LOCAL.stack
    return found


def depth() -> int:
    """How many branches and bodies are being traced in this thread, one inside the other."""
    return sum([not recorder.watches for recorder in recorders()])


def recording() -> bool:
    """Whether a branch or body is being traced in this thread."""
    return depth() > 0


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """A trace begins: what is recorded around it is not its own."""
    outer, _LOCAL.stack = recorders(), []
    try:
        yield
    finally:
        _LOCAL.stack = outer
