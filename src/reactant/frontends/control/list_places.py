"""Where a list is found that is no variable of a loop, but changes in it: `self.history.append(x)`.

What stands for the list while the loop is traced takes its place there. That needs the one place (`heap`).
"""
from __future__ import annotations

from types import CellType
from typing import Any

from reactant.frontends.arrays.reach import look
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.session.heap import Heap, attributes_of
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
    """Give what stands for a list the list's number (`tagged_union`)."""
    known = current_trace().alternatives
    for number, value in enumerate(known):
        if value is old:
            known[number] = new


def place_of(target: list, loop: LoopState) -> Place | None:
    """The only place of a list; None where there may be others."""
    heap = look(loop.variables.cells.values())
    holders = heap.holders(target, "argument", "alternative")
    return _place(holders[0], target, heap) if heap.complete and len(holders) == 1 else None


def _place(holder: Any, target: list, heap: Heap) -> Place | None:
    if type(holder) is CellType:
        return Place(holder, holder, None)
    owner, held = holder, holder
    if isinstance(holder, dict):
        if "__builtins__" in holder:        # a module's variables
            return None
        owner = next((x for x in heap.holders(holder) if attributes_of(x) is holder), holder)
    elif not isinstance(holder, list):
        held = attributes_of(holder)
    pairs = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    return next((Place(owner, held, key) for key, x in pairs if x is target), None)
