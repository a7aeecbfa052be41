"""Who refers to a list, an object or an array, as the garbage collector and reference counts say.

While a trace runs, the collector sees what the trace has made (`session.ASIDE`): it is asked about everything only
where references are left that come from nothing in there.
"""
from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from reactant.support.session import ASIDE


class Look:
    """One look at who refers to an object."""

    __slots__ = ("complete", "everywhere")

    def __init__(self) -> None:
        self.complete = False
        """Set by who looks: every reference is accounted for, there is nothing more to find."""
        self.everywhere = not ASIDE.frozen
        """Whether the collector sees all that there is."""


def looks() -> Iterator[Look]:
    """Look once, once more where the collector has found garbage, and at last at what is older than the trace."""
    look = Look()
    yield look
    if gc.collect():
        look.complete = False
        yield look
    if look.complete:
        return
    with ASIDE.back() as more:
        if more:
            look.everywhere = True
            yield look


def references(x: Any) -> tuple[int, list[Any]]:
    """How many references to an object come from no container, and the containers that refer to it."""
    found = gc.get_referrers(x)
    return sys.getrefcount(x) - len(found), found


@cache
def hidden_references() -> int:
    """What `references` counts of an object that a parameter of its caller refers to."""
    def ask(x: Any) -> int:
        return references(x)[0]
    holder = [[]]
    return ask(holder[0])


def owner_of(attributes: dict) -> Any:
    """The object whose attributes a dictionary holds; the dictionary itself where it is none's."""
    found = _owner_of(attributes)
    if found is attributes:
        with ASIDE.back(clean=False):
            return _owner_of(attributes)
    return found


def _owner_of(attributes: dict) -> Any:
    return next((x for x in gc.get_referrers(attributes) if attributes_of(x) is attributes), attributes)


def attributes_of(x: Any) -> Any:
    """The dictionary of an object's attributes, None where it has none."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
