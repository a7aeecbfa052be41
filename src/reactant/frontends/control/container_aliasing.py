"""Lists, dicts and objects whose identity is decided at run time: after `if c: rows = [...]` the name `rows` is
one of two lists.

Control flow makes one list of the two, with run-time parts. That is exact as long as nobody changes it, or nobody else
knows the two. So what may be one is noted (`may_be`), and a change of something that may be what the user can also
reach by another name is refused (`about_to_change`). Arrays do not need this: `aliases` follows their memories.
"""
from __future__ import annotations

import contextlib
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from inspect import CO_GENERATOR, CO_OPTIMIZED
from types import FrameType
from typing import Any

from reactant.frontends.arrays.reach import reachable
from reactant.frontends.arrays.tensor import python_number
from reactant.frontends.session import recording
from reactant.frontends.session.retracing import AsItself, ByNumber, Unmet
from reactant.frontends.session.trace import Trace, current_trace, frames
from reactant.frontends.source.conversion import is_user_file
from reactant.frontends.source.operators import CHANGING
from reactant.frontends.source.temporaries import CELLS
from reactant.ir import ops
from reactant.support.records import dataclass


def demand_numbers(kinds: Iterable[str]) -> None:
    """It is known only at run time which one of several containers of these types (`kind_of`) something is: where they
    are chosen as themselves it may be followed."""
    if (trace := Trace.current()) is not None:
        trace.demands.update(map(ByNumber, kinds))


METHODS = (list, dict, set, deque, bytearray)


@dataclass(eq=False)
class Link:
    """`made` is the one of `sides` that a path has left, and may be any of `known`. Links of one `meeting` of paths are
    taken side by side."""

    made: Any
    sides: tuple[Any, ...]
    meeting: Any
    known: list[Any]
    number: int


def named(container: Any) -> str:
    """A container, for an error message."""
    kind = type_of(container).__name__
    plain = type(container) in METHODS or hasattr(container, "stands_for")
    return f"a {kind}" if plain else f"an object of type {kind}"


def type_of(container: Any) -> type:
    """The type that a container, or what stands for one, has to the user."""
    kind = type(container)
    return container.stands_for if hasattr(kind, "stands_for") else kind


def kind_of(container: Any) -> str:
    """The name of the type of a container; a function defines classes anew each time."""
    kind = type_of(container)
    return f"{kind.__module__}.{kind.__qualname__}"


def may_be(made: Any, sides: tuple[Any, ...], meeting: Any) -> None:
    """`made` stands for one of these containers (None: for what nobody knows) from now on."""
    trace = Trace.current()
    others = {id(o): o for o in sides if o is not None and o is not made}
    if trace is None or not others:
        return
    links: list[Link] = trace.identities
    for link in links:
        if id(link.made) in others:                 # it may be what that one may be
            others.update((id(o), o) for o in link.known)
    for link in links:
        if any(id(o) in others for o in link.known) and not (link.meeting is meeting and _apart(link.sides, sides)):
            others[id(link.made)] = link.made       # both may be the same one
    others.pop(id(made), None)
    links.append(Link(made, sides, meeting, list(others.values()), next_number(trace)))


def next_number(trace: Trace) -> int:
    """The number of the next link or view."""
    trace.noted += 1
    return trace.noted


def _apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two names are different containers on every path."""
    return len(one) == len(other) and not any(are_linked(a, b) or are_linked(b, a)
                                              for a, b in zip(one, other, strict=True))


def forget(caller: FrameType) -> None:
    """Drop what is noted of containers that nobody reaches any more, where `caller` is at a statement of its own: it
    holds no others. Functions around it may, in expressions: what was noted before it began stays. So does what was
    noted around a branch or loop that is being traced: variables are that again."""
    trace = Trace.current()
    if trace is None or not (trace.identities or trace.views) or caller.f_code.co_flags & CO_GENERATOR \
            or not is_user_file(caller.f_code.co_filename):
        return
    first, inside, seen = trace.begun[-1], recording.recording(), reached(everywhere=True)

    def stays(noted: Any) -> bool:
        return noted.number <= first or id(noted.made) in seen
    kept_views = []
    for view in reversed(trace.views.values()):     # what one is chosen from has been made before it
        if inside and view.region is not trace.region or stays(view):
            kept_views.append(view)
            seen.update(map(id, view.items))
    trace.views = {id(view.made): view for view in reversed(kept_views)}
    if inside:
        return
    kept = [link for link in trace.identities if stays(link)]
    for link in kept:
        link.known = [o for o in link.known if link.number <= first or id(o) in seen]
    trace.identities[:] = [link for link in kept if link.known]


@contextlib.contextmanager
def holding(iterable: Any) -> Iterator[None]:
    """While a loop runs over this."""
    trace = current_trace()
    trace.held.append(iterable)
    try:
        yield
    finally:
        trace.held.pop()


@contextlib.contextmanager
def filled_later() -> Iterator[None]:
    """What stands for one of several objects gets its attributes at the end: theirs are being set."""
    trace = current_trace()
    before, trace.unfilled = trace.unfilled, []
    try:
        yield
        found, trace.unfilled = trace.unfilled, before
        for fill in found:
            fill()
    finally:
        trace.unfilled = before


def are_linked(container: Any, original: Any) -> bool:
    """Whether a container may be another one."""
    trace = Trace.current()
    return container is not None and container is original or trace is not None and any(
        link.made is container and any(o is original for o in link.known) for link in trace.identities)


def known_as(container: Any) -> set[int]:
    """The identities of what a container is or may be."""
    trace = Trace.current()
    links = trace.identities if trace is not None else ()
    return {id(container)}.union(*(map(id, link.known) for link in links if link.made is container)) \
        if container is not None else set()


def is_linked(container: Any) -> bool:
    """Whether a container may be some other one."""
    trace = Trace.current()
    return trace is not None and any(link.made is container for link in trace.identities)


def is_perhaps_another(container: Any) -> bool:
    """Whether some other container may be this one."""
    trace = Trace.current()
    return trace is not None and any(o is container for link in trace.identities for o in link.known)


# ---- tuples, which nobody changes: only `is` tells which one a name is bound to ----------------------------------

def note_tuple(made: tuple) -> None:
    """`made` stands for one of several tuples from now on, or for a copy of one."""
    trace = Trace.current()
    if trace is not None:
        trace.tuples[id(made)] = _sign(made, trace)


def _sign(made: tuple, trace: Trace) -> Any:
    """What tells a tuple from a later one at the same address, and keeps no array alive: who holds one is counted."""
    for part in made:
        if type(part) is tuple and id(part) in trace.tuples:
            return trace.tuples[id(part)]
        with contextlib.suppress(TypeError):
            return weakref.ref(part)
    return None


def may_be_one_tuple(left: Any, right: Any) -> bool:
    """Whether two may be the same tuple at run time, since control flow has made one of them."""
    trace = Trace.current()
    if trace is None or not isinstance(left, tuple) or type(left) is not type(right) or len(left) != len(right):
        return False
    return any(id(each) in trace.tuples and trace.tuples[id(each)] is _sign(each, trace) for each in (left, right))


def about_to_change(container: Any) -> None:
    """Raises `ControlFlowError` where a change of `container` may be one of another that the user can reach."""
    trace = Trace.current()
    if trace is None or not trace.identities:
        return
    if type(container) is dict:
        _require_no_attributes(container, trace)
    view = view_of(container)
    mine = {id(container), *(() if view is None else map(id, view.items))}
    others = [o for link in trace.identities if id(link.made) in mine for o in link.known]
    others += [link.made for link in trace.identities if not mine.isdisjoint(map(id, link.known))]
    others = [o for o in others if id(o) not in mine]
    if trace.views:
        others = _not_shown(others, mine, trace)
    if others and not reached().isdisjoint(map(id, others)):
        demand_numbers(map(kind_of, (container, *others)))
        raise Unmet(AsItself(), f"This changes {named(container)} of which only run-time values tell which one it is, "
                                "and one that it may be is known by another name, too.",
                    hint="Bind the name to a copy before the change (list(rows), dict(table), copy.copy(thing)), or "
                         "change each one where it is certain which it is; elements are changed as such: "
                         "rows[k].append(x).", code="one-of-several-objects")


def _not_shown(others: list[Any], changed: set[int], trace: Trace) -> list[Any]:
    """Those but what stands for one of the changed objects, and so follows them, and for none that may be one, too."""
    left, following = {id(o): o for o in others}, set(changed)
    for key, view in trace.views.items():       # what one is chosen from has been made before it
        items = set(map(id, view.items))
        if key in left and view.region.encloses(trace.region) and not items.isdisjoint(following) \
                and items.isdisjoint(left.keys()):
            following.add(key)
            del left[key]
    return list(left.values())


def _require_no_attributes(container: dict, trace: Trace) -> None:
    """Attributes are set as such, where there are several objects that they may be of."""
    for link in trace.identities:
        if any(getattr(x, "__dict__", None) is container for x in (link.made, *link.known)):
            raise Unmet(AsItself(), "This changes the __dict__ of an object of which only run-time values tell which "
                                    "one it is.", hint="Set its attributes: thing.x = ..., or setattr(thing, name, "
                                                       "...).", code="one-of-several-objects")


def view_of(container: Any) -> Any:
    """The `object_columns.View` of an object that is the proxy of one of several, here."""
    trace = Trace.current()
    view = trace.views.get(id(container)) if trace is not None and trace.views else None
    return view if view is not None and view.region.encloses(trace.region) else None    # type: ignore[union-attr]


def is_container(value: Any) -> bool:
    """Whether this is a list, dict or set, or a proxy of one."""
    return isinstance(value, METHODS) or hasattr(type(value), "stands_for")


def same_views(left: Any, right: Any) -> Any:
    """`left is right` of proxies of one of several objects; None where that cannot be told."""
    view, other = view_of(left), view_of(right)
    if view is None:
        return None if other is None else same_views(right, left)
    if other is not None:
        if list(map(id, view.items)) != list(map(id, other.items)):
            return None
        return python_number(ops.compare(view.place.value(), other.place.value(), "EQ"))
    if is_linked(right) or any(view_of(x) or is_linked(x) for x in view.items):
        return None
    for k, item in enumerate(view.items):
        if item is right:
            return python_number(ops.compare(view.place.value(), k, "EQ"))
    return False


def about_to_call(function: Any, owner: Any) -> bool:
    """`about_to_change` for methods of Python's containers; whether this is one that changes it."""
    changing = isinstance(owner, METHODS) and getattr(function, "__name__", "") in CHANGING
    if changing:
        about_to_change(owner)
    return changing


def reached(everywhere: bool = False) -> set[int]:
    """The identities of all that the user's code can reach now, and what loops that are being run take."""
    trace = Trace.current()
    return reachable([*roots(), *(() if trace is None else trace.held)], everywhere)[0]


def roots() -> list[Any]:
    """What the user's code can reach everything from: the variables, and the global variables, of the functions that
    are being called since the trace began, and what the caller has given."""
    trace = Trace.current()
    found: list[Any] = list(trace.given) if trace is not None else []
    called = frames()
    for frame in called[:len(called) - (0 if trace is None else trace.depth)]:
        if is_user_file(frame.f_code.co_filename):
            local, outside = variables_of(frame)
            found += [*(value for name, value in local if not name.startswith("ag__")), *outside]
    called.clear()      # this function's own frame was in there: a cycle that would keep all these alive
    return found


def variables_of(frame: FrameType) -> tuple[list[tuple[str, Any]], list[Any]]:
    """The local variables of a function that is being called, by name, and the global ones that its code names."""
    outside, local = frame.f_globals, frame.f_locals
    found = [(name, value) for name, value in local.items() if name != CELLS], \
        [outside[name] for name in frame.f_code.co_names if name in outside]
    if type(local) is dict and frame.f_code.co_flags & CO_OPTIMIZED:
        local.clear()       # a copy that Python before 3.13 keeps with the frame, and makes anew when it is asked
    return found
