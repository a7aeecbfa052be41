"""Lists, dicts and objects of which only the run decides which they are: after `if c: rows = [...]` the name `rows` is
one of two lists.

Control flow makes one list of the two, with run-time parts. That is exact as long as nobody changes it, or nobody else
knows the two. So what may be one is noted (`may_be`), and a change of something that may be what the user can also
reach by another name is refused (`about_to_change`). Arrays do not need this: `aliases` follows their memories.
"""
from __future__ import annotations

import contextlib
import weakref
from collections import deque
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends import effects
from reactant.frontends.aliases import reachable
from reactant.frontends.conversion import is_user_file
from reactant.frontends.trace import Trace, frames
from reactant.records import dataclass


class ChangesOneOfSeveral(ControlFlowError):
    """A change of a container of which only the run decides which one it is."""


CHANGING = frozenset((
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear", "sort",
    "reverse", "rotate", "update", "setdefault", "add", "discard", "intersection_update", "difference_update",
    "symmetric_difference_update"))
"""Methods of lists, deques, dicts and sets that change them."""

_METHODS = (list, dict, set, deque, bytearray)


@dataclass(eq=False)
class Link:
    """`made` is the one of `sides` that a path has left, and may be any of `known`. Links of one `meeting` of paths are
    taken side by side."""

    made: Any
    sides: tuple[Any, ...]
    meeting: Any
    known: list[Any]


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
    links.append(Link(made, sides, meeting, list(others.values())))


def _apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two names are different containers on every path."""
    return len(one) == len(other) and not any(are_linked(a, b) or are_linked(b, a)
                                              for a, b in zip(one, other, strict=True))


def forget() -> None:
    """Drop what is noted of containers that nobody reaches any more; at the start of a branch or loop. Not while one is
    traced: what its variables were, and shall be again, is found nowhere then, nor is what is being put together."""
    trace = Trace.current()
    if trace is None or not trace.identities or effects.recording():
        return
    seen = reached()
    for link in trace.identities:
        link.known = [o for o in link.known if id(o) in seen]
    trace.identities[:] = [link for link in trace.identities if link.known and id(link.made) in seen]


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
    """Whether two may be the same tuple in the run, since control flow has made one of them."""
    trace = Trace.current()
    if trace is None or not isinstance(left, tuple) or type(left) is not type(right) or len(left) != len(right):
        return False
    return any(id(each) in trace.tuples and trace.tuples[id(each)] is _sign(each, trace) for each in (left, right))


def about_to_change(container: Any) -> None:
    """Raises `ControlFlowError` where a change of `container` may be one of another that the user can reach."""
    trace = Trace.current()
    if trace is None or not trace.identities:
        return
    others = [o for link in trace.identities if link.made is container for o in link.known]
    others += [link.made for link in trace.identities if any(o is container for o in link.known)]
    others = [o for o in others if o is not container]
    if others and not reached().isdisjoint(map(id, others)):
        kind = getattr(container, "stands_for", type(container)).__name__
        plain = type(container) in _METHODS or hasattr(container, "stands_for")
        what = f"a {kind}" if plain else f"an object of type {kind}"
        raise ChangesOneOfSeveral(
            f"This changes {what} of which only the run decides which one it is, and one that it may be is known by "
            "another name, too. Bind the name to a copy before the change (list(rows), dict(table), copy.copy(thing)), "
            "or change each one where it is certain which it is.")


def about_to_call(function: Any, owner: Any) -> bool:
    """`about_to_change` for methods of Python's containers; whether this is one that changes it."""
    changing = isinstance(owner, _METHODS) and getattr(function, "__name__", "") in CHANGING
    if changing:
        about_to_change(owner)
    return changing


def reached(everywhere: bool = False) -> set[int]:
    """The identities of all that the user's code can reach now."""
    return reachable(roots(), everywhere)[0]


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
    found = list(local.items()), [outside[name] for name in frame.f_code.co_names if name in outside]
    if type(local) is dict and frame.f_code.co_flags & CO_OPTIMIZED:
        local.clear()       # a copy that Python before 3.13 keeps with the frame, and makes anew when it is asked
    return found
