"""What a loop carries beside variables and arrays: lists that grow, lists that are written at run-time indices.

A loop makes one of each when it begins (`session.dispatch`: "growth", "array_lists"), and tells it of each moment.
"""
from __future__ import annotations

import contextlib
from typing import Any


class Carrier:
    """Follows a loop from its first attempt to what comes after it."""

    def take_over(self, demand: Any) -> None:
        """Take over a container that the body asked for (`demands`); raises where that cannot be."""
        raise demand.error

    def standing_in(self) -> contextlib.AbstractContextManager[None]:
        """While the body or the test is traced."""
        return contextlib.nullcontext()

    def finish(self, made: Any) -> None:
        """The loop is built: what there is after it."""

    def release(self) -> None:
        """The loop is over, or given up."""
