"""What stands in the place of a list that a loop appends to in each of its iterations, and which lists may be so."""
from __future__ import annotations

from collections import deque
from types import FunctionType
from typing import TYPE_CHECKING, Any

from reactant.frontends.arrays.reach import content_of, look
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.demands import MoreUse
from reactant.frontends.session import calls, recording
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import cells_of
from reactant.frontends.values.dynamic_list import RunTimeList

MOST_COLLECTED = 16
"""A loop inside that appends more often than this does not append each element on its own."""

if TYPE_CHECKING:
    pass


MOST_COLLECTED = 16
"""A loop inside that appends more often than this does not append each element on its own."""


class Collector:
    """A list that can only be appended to, in the region it belongs to."""

    __slots__ = ("items", "region")
    stands_for = list

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.region = current_trace().region

    ag__depth = property(lambda self: recording.depth())      # what branches add is not theirs to merge

    def append(self, item: Any) -> None:
        if current_trace().region is not self.region:
            raise Retrace(MoreUse(self))
        self.items.append(item)

    def extend(self, items: list | tuple) -> None:
        for item in items:
            self.append(item)

    def __iadd__(self, items: list | tuple) -> Collector:
        self.extend(items)
        return self


@means("exclusive_lists")
def exclusive_lists(body: FunctionType, names: tuple[str, ...]) -> frozenset[str]:
    """Those of a body's variables whose lists nobody else refers to."""
    cells = cells_of(body)
    lists = {n: x for n in names if type(x := content_of(cells.get(n))) in (list, deque, RunTimeList)}
    heap = look(cells.values()) if lists else None
    return frozenset(n for n, items in lists.items() if heap.knows_one(items))


def extend(target: Any, elements: list[Any]) -> None:
    """Append to a list, or what stands for one."""
    if type(target) is Collector:
        for e in elements:
            target.append(e)
    else:
        container_aliasing.about_to_change(target)
        mutation_log.touch(target)
        target.extend(elements)


calls.OURS.add(Collector)
