"""Where a list is found that is no variable of a loop, but changes in it: `self.history.append(x)`.

What stands for the list while the loop is traced takes its place there. That needs the one place: the garbage collector
says what refers to the list, and references that come from nowhere else refuse it.
"""
from __future__ import annotations

from types import CellType
from typing import Any

from reactant.frontends.control.effects import Change
from reactant.frontends.control.element_copies import Copy
from reactant.frontends.control.identity import Link
from reactant.frontends.control.state import Node
from reactant.frontends.session.holders import attributes_of, hidden_references, looks, owner_of, references
from reactant.frontends.session.trace import current_trace
from reactant.support.records import dataclass


@dataclass(eq=False)
class Place:
    """An attribute, a key, an index or a variable of another function."""

    owner: Any
    held: Any
    key: Any

    def put(self, value: Any) -> None:
        _renumber(self.get(), value)
        if type(self.held) is CellType:
            self.held.cell_contents = value
        else:
            self.held[self.key] = value

    def get(self) -> Any:
        return self.held.cell_contents if type(self.held) is CellType else self.held[self.key]


def _renumber(old: Any, new: Any) -> None:
    """Give what stands for a list the list's number (`alternatives`)."""
    known = current_trace().alternatives
    for number, value in enumerate(known):
        if value is old:
            known[number] = new


def place_of(box: list[list], copies: set[int]) -> Place | None:
    """The only place of a list, which is taken out of `box` so that its caller does not refer to it; None where there
    may be others. `copies`: identities of our own copies of contents."""
    target = box.pop()
    for look in looks():
        hidden, found = references(target)
        holders = []
        for holder in found:        # no comprehension: it would refer to the list by a cell
            if type(holder) not in (Change, Node, Link, Copy) and id(holder) not in copies:
                holders.append(holder)
        look.complete = hidden == hidden_references()
        if look.complete and len(holders) == 1:
            return _place(holders[0], target)
        found = holders = holder = None     # type: ignore[assignment]
    return None


def _place(holder: Any, target: list) -> Place | None:
    if type(holder) is CellType:
        return Place(holder, holder, None)
    owner, held = holder, holder
    if isinstance(holder, dict):
        if "__builtins__" in holder:        # a module's variables
            return None
        owner = owner_of(holder)
    elif not isinstance(holder, list):
        held = attributes_of(holder)
    pairs = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    return next((Place(owner, held, key) for key, x in pairs if x is target), None)
