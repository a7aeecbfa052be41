"""Lists, dicts and objects that are elements of a list whose elements stand in rows.

What a run-time place gives of such a one is a copy. A change of the copy is written into its row where nothing else
can tell that it is one; else it is refused. Copies that control flow has put others in place of are found by
`identity`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends.control import container_aliasing
from reactant.frontends.control.snapshots import capture
from reactant.frontends.control.trees import MUTABLE, Node, Tree
from reactant.frontends.session.trace import Trace, current_trace
from reactant.support.records import dataclass


@dataclass(eq=False, frozen=True)
class Copy:
    """A container that stands for an element, or for a part of one; nobody knows its place in `owner` where that is
    None."""

    made: Any
    element: Any
    owner: Any
    place: Any
    depth: int = 0
    """Inside how many loops it has been read."""

    def refusal(self) -> ControlFlowError:
        return ControlFlowError(f"This changes {container_aliasing.named(self.made)} that is an element of a list "
                                f"whose length is only known at run time, or may be one.",
                                hint="Put another one in its place (rows[k] = ...), or change a copy.",
                                code="element-is-a-copy")


@dataclass(eq=False)
class Order:
    """Lists, and the copies that are the same ones in an order known only at run time."""

    items: list[list]
    made: list[list]

    def refusal(self) -> ControlFlowError:
        return ControlFlowError("This changes a list that has been sorted with others by run-time values, or "
                                "picked as the least or greatest, and of which only run-time values tell which one it "
                                "is: compiled code has a copy.",
                                hint="Change it before, change a copy (list(row)), or keep the columns in arrays.",
                                code="element-is-a-copy")


def reorder(items: list[list], made: list[list]) -> None:
    """Note that `made` are some of `items`."""
    trace = current_trace()
    if any(is_copy(capture(item)) for item in items):
        for each in made:
            register(each)
    for order in trace.orders:
        if any(map(_among(order.made), items)):
            order.made += made
    trace.orders.append(Order(list(items), list(made)))


def _among(lists: list[list]) -> Callable[[Any], bool]:
    known = set(map(id, lists))
    return lambda each: id(each) in known


def has_containers(tree: Tree | None) -> bool:
    return isinstance(tree, Node) and (tree.kind in MUTABLE or any(map(has_containers, tree.children)))


def register(element: Any, owner: Any = None, place: Any = None) -> None:
    """Note what an element's containers are copies of."""
    trace = current_trace()
    for made in _containers(capture(element)):
        trace.copies[id(made)] = Copy(made, element, owner, place, len(trace.loops))


def _containers(tree: Tree) -> Iterator[Any]:
    if isinstance(tree, Node):
        if tree.kind in MUTABLE:
            yield tree.original
        for child in tree.children:
            yield from _containers(child)


def is_copy(tree: Tree) -> bool:
    """Whether an element, or a part of it, is one of some list's."""
    return any(_found(made, current_trace()) is not None for made in _containers(tree))


def _found(container: Any, trace: Trace) -> Copy | None:
    if not trace.copies:
        return None
    known = trace.copies.get(id(container))
    if known is not None:
        return known
    for link in trace.identities:
        if link.made is container and (any(id(o) in trace.copies for o in link.known)):
            return Copy(container, container, None, None)
    return None


def begin_change(container: Any) -> None:
    """Raises `ControlFlowError` where a change of `container` may be one of an element that cannot be changed."""
    trace = Trace.current()
    if trace is None:
        return
    if trace.orders:
        _require_order(container, trace)
    copy = _found(container, trace)
    if copy is None:
        return
    seen = container_aliasing.reached()
    if copy.owner is None or copy.owner.shared or id(copy.owner) not in seen:
        raise copy.refusal()
    if copy.depth < len(trace.loops) and hasattr(copy.owner, "loop"):     # another iteration may find it elsewhere
        raise copy.refusal()
    others = [c for c in trace.copies.values() if c.element is not copy.element and (
        c.owner is None or c.owner is copy.owner or id(c.owner) not in seen)]
    linked = [link.made for link in trace.identities if any(id(o) in trace.copies for o in link.known)]
    if not seen.isdisjoint({id(c.made) for c in others} | set(map(id, linked))):
        raise copy.refusal()


def _require_order(container: Any, trace: Trace) -> None:
    """No list is changed that another name may stand for."""
    mine = [container, *(o for link in trace.identities if link.made is container for o in link.known)]
    for order in trace.orders:
        for side, other in ((order.items, order.made), (order.made, order.items)):
            if any(map(_among(side), mine)) and not container_aliasing.reached().isdisjoint(map(id, other)):
                raise order.refusal()


def end_change(container: Any) -> None:
    """The row holds what the copy does now."""
    trace = Trace.current()
    copy = None if trace is None else trace.copies.get(id(container))
    if copy is not None:
        copy.owner.begin_store(copy.place)
        copy.owner.store(copy.place, copy.element)


def moved(owner: Any) -> None:
    """The elements of a list stand elsewhere now, or are others."""
    copies = current_trace().copies
    copies.update({key: replace(copy, owner=None) for key, copy in copies.items() if copy.owner is owner})


def meet(then: dict[int, Copy], orelse: dict[int, Copy]) -> None:
    """After an `if`: what one of its sides has moved may be anywhere."""
    moved_or_new = {key: copy for key, copy in then.items() if copy.owner is None or key not in orelse}
    current_trace().copies = orelse | moved_or_new


def share(*lists: Any) -> None:
    """Elements of these are in several places."""
    for each in lists:
        if has_containers(each.tree):
            each.shared = True
            if each.owner is not None:
                each.owner.shared = True
        each.settle()


__all__ = ["begin_change", "end_change", "has_containers", "is_copy", "meet", "moved", "register", "reorder", "share"]
