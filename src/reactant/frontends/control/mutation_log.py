"""What code inside a staged branch or loop body does to Python objects made outside of it.

While a branch is traced, every list, dict, set, object and variable of another scope is copied before its first change.
When the branch ends the changes are taken back, and control flow merges them as it merges variables.
"""
from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from types import CellType, FunctionType
from typing import Any

from reactant.frontends.arrays.tensor import is_tensor
from reactant.frontends.session.recording import depth, recorders
from reactant.support.attributes import attributes, slots
from reactant.support.records import dataclass

UNBOUND = object()
"""Content of a variable without a value."""

_LISTS, _DICTS, _SETS = (list, bytearray, collections.deque), dict, set


@dataclass(eq=False)
class GlobalVariable:
    """A variable of a module, as a container of one value."""

    namespace: dict
    name: str


@dataclass
class Change:
    container: Any
    before: Any
    name: str = ""


@dataclass
class Recorder:
    """The first-change copies of one region."""

    ignored: frozenset = frozenset()
    changes: dict[Any, Change] = field(default_factory=dict)
    iterators: set[int] = field(default_factory=set)
    """The identities of those that were made in the region; older ones are alive as long, and have others."""
    watches: bool = False
    """Whether this is no region, but code that must change nothing."""

    def touch(self, container: Any, name: str = "") -> None:
        key = _key(container)
        if key not in self.changes and key not in self.ignored:
            self.changes[key] = Change(container, contents(container), name)

    def found(self) -> list[Change]:
        """What is another than it was."""
        return [change for change in self.changes.values() if differ(change.before, contents(change.container))]

    def undo(self, seen: Callable[[Any], Any] = lambda after: after) -> list[tuple[Change, Any]]:
        """Take the changes back; returns those that changed something, with the content they had at the end, as `seen`
        sees it while all of them are still as they were then (one container may be in another)."""
        ends = [(change, contents(change.container)) for change in self.changes.values()]
        found = [(change, seen(after)) for change, after in ends if differ(change.before, after)]
        for change, _ in reversed(found):
            refill(change.container, change.before)
        return found


def _key(container: Any) -> Any:
    """Equal for the same memory."""
    return (id(container.namespace), container.name) if isinstance(container, GlobalVariable) else id(container)


@contextlib.contextmanager
def recorded(ignored: Iterable[Any] = ()) -> Iterator[Recorder]:
    """Record changes; the caller calls `undo`. Cells and objects in `ignored` are handled as variables."""
    recorder = Recorder(frozenset(map(_key, ignored)))
    recorders().append(recorder)
    try:
        yield recorder
    except BaseException:
        recorder.undo()
        raise
    finally:
        recorders().pop()


@contextlib.contextmanager
def watched() -> Iterator[Recorder]:
    """Note what changes, and leave it so: the region around has it changed, too."""
    recorder = Recorder(watches=True)
    recorders().append(recorder)
    try:
        yield recorder
    finally:
        stack = recorders()
        stack.pop()
        for key, change in recorder.changes.items():
            if stack and key not in stack[-1].ignored and _is_noted(change.container, stack[-1]):
                stack[-1].changes.setdefault(key, change)


def mutable(x: Any) -> bool:
    """Whether changes inside `x` are recorded."""
    return not isinstance(x, type) and not is_tensor(x) and (
        isinstance(x, (*_LISTS, _DICTS, _SETS, CellType, GlobalVariable)) or _has_attributes(x))


def _has_attributes(x: Any) -> bool:
    return hasattr(x, "__dict__") and not isinstance(x, (type, FunctionType)) or hasattr(type(x), "__slots__")


def innermost() -> Recorder | None:
    """What notes the changes of the branch or body being traced."""
    return next((recorder for recorder in reversed(recorders()) if not recorder.watches), None)


def touch(container: Any, name: str = "") -> None:
    """`container` is about to change. One that says it was made at this depth dies with the region."""
    stack = recorders()
    if not stack or not mutable(container) and not isinstance(container, (FunctionType, type)):
        return
    if _is_noted(container, stack[-1]):
        stack[-1].touch(container, name)


def _is_noted(container: Any, recorder: Recorder) -> bool:
    return not hasattr(type(container), "ag__depth") or recorder.watches or container.ag__depth != depth()


def touch_variables(variables: FunctionType, names: tuple[str, ...]) -> None:
    stack = recorders()
    if not stack:
        return
    cells = dict(zip(variables.__code__.co_freevars, variables.__closure__ or (), strict=True))
    for name in names:
        stack[-1].touch(cells.get(name) or GlobalVariable(variables.__globals__, name), name)


def touch_arguments(arguments: tuple, keywords: dict) -> None:
    """Code that is not converted may change the lists, dicts and sets it is given."""
    stack = recorders()
    if stack:
        for argument in (*arguments, *keywords.values()):
            if isinstance(argument, (*_LISTS, _DICTS, _SETS)):
                stack[-1].touch(argument)


def contents(container: Any) -> Any:
    """A copy of what the container holds: a list, a set, or a dict of keys or attributes."""
    if isinstance(container, CellType):
        try:
            return [container.cell_contents]
        except ValueError:
            return [UNBOUND]
    if isinstance(container, GlobalVariable):
        return [container.namespace.get(container.name, UNBOUND)]
    if isinstance(container, _LISTS):
        return list(container)
    if isinstance(container, _DICTS):
        held = dict(container)
    elif isinstance(container, _SETS):
        return set(container)
    else:
        held = {}
    return {**{("key", k): v for k, v in held.items()},
            **{("attribute", k): v for k, v in attributes(container, noted=False).items()}}


def refill(container: Any, new: Any) -> None:
    """Make the container hold what `contents` gave."""
    if isinstance(container, CellType):
        if new[0] is UNBOUND:
            with contextlib.suppress(ValueError):
                del container.cell_contents
        else:
            container.cell_contents = new[0]
    elif isinstance(container, GlobalVariable):
        if new[0] is UNBOUND:
            container.namespace.pop(container.name, None)
        else:
            container.namespace[container.name] = new[0]
    elif isinstance(container, _LISTS):
        container.clear()
        container.extend(new)
    elif isinstance(container, _SETS):
        container.clear()
        container.update(new)
    else:
        if isinstance(container, _DICTS):
            base = collections.OrderedDict if isinstance(container, collections.OrderedDict) else dict
            base.clear(container)
            base.update(container, {k: v for (kind, k), v in new.items() if kind == "key"})
        _refill_attributes(container, {k: v for (kind, k), v in new.items() if kind == "attribute"})


def _refill_attributes(owner: Any, new: dict[str, Any]) -> None:
    if isinstance(owner, type):
        now = dict(vars(owner))
        for name in now.keys() - new.keys():
            delattr(owner, name)
        for name, value in new.items():
            if name not in now or now[name] is not value:
                setattr(owner, name, value)
        return
    kept = getattr(owner, "__dict__", None)
    own = slots(owner)
    for name in [n for n in own if hasattr(owner, n) and n not in new]:
        object.__delattr__(owner, name)
    for name, value in new.items():
        if name in own:
            object.__setattr__(owner, name, value)
    if kept is not None:
        kept.clear()
        kept.update({n: v for n, v in new.items() if n not in own})


def differ(before: Any, after: Any) -> bool:
    if isinstance(before, set):
        return before != after
    if len(before) != len(after):
        return True
    if isinstance(before, list):
        return any(a is not b for a, b in zip(before, after, strict=True))
    return list(before) != list(after) or any(before[k] is not after[k] for k in before)


def describe(change: Change) -> str:
    """The container, for an error message."""
    container = change.container
    if change.name:
        return f"variable '{change.name}'"
    if isinstance(container, (*_LISTS, _DICTS, _SETS)):
        return f"a {type(container).__name__} of {len(container)} elements"
    return f"an object of type {type(container).__name__}"
