"""What loops take their elements from, where they run as Python.

Where only the run knows in which turn a loop ends, the elements of all later turns are taken while tracing: what that
changes is taken back, and what it raises is dropped, where the run does not get there. Afterwards only the run knows
where an iterator stands.
"""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import CellType, FunctionType
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError, ReactantError
from reactant.frontends import effects, identity
from reactant.frontends.aliases import reachable, reachable_storages
from reactant.frontends.branches import StagedRaise, staged_if
from reactant.frontends.carried import NeedsPeeling, Unroll
from reactant.frontends.conversion import is_user_file
from reactant.frontends.iterators import use
from reactant.frontends.numpy.storage import Storage
from reactant.frontends.operators import ag__
from reactant.frontends.trace import current_trace
from reactant.ir import ops
from reactant.records import dataclass

END = object()

_OF_CONTAINERS = tuple(type(iter(c)) for c in (
    [], (), {}, {}.values(), {}.items(), set(), "", b"", range(0), range(2**70)))


def surely_ends(iterator: Any) -> bool:
    """Whether it gives the elements of a container, all of which there are already."""
    return type(iterator) in _OF_CONTAINERS


def begin(iterable: Any) -> Any:
    """What gives the elements; methods of the user's classes are converted."""
    method = _method(iterable, "__iter__")
    return iter(iterable if method is None else ag__.call(method, iterable))


def following(iterator: Any) -> Any:
    """The next element, or `END`."""
    method = _method(iterator, "__next__")
    if method is None:
        return next(iterator, END)
    try:
        return ag__.call(method, iterator)
    except StopIteration:
        return END


def following_unless(stopped: ir.Value, iterator: Any) -> Any:
    """The same in a loop that has ended where `stopped` holds at run time."""
    if surely_ends(iterator):
        return next(iterator, END)
    trace = current_trace()
    noted = len(trace.checks)
    with _watched() as watch, effects.watched() as recorder:
        try:
            found = following(iterator)
        except StagedRaise:
            found = END
        except (ReactantError, Unroll, NeedsPeeling):
            raise
        except Exception as error:      # the run raises it where the loop goes on
            kind, arguments, found = type(error), error.args, END
            trace.record(ops.constant(False), lambda: kind(*arguments))
    trace.checks[noted:] = [(ops.or_(ok, stopped), error, region) for ok, error, region in trace.checks[noted:]]
    changes, contents = recorder.found(), watch.contents
    if not changes and not contents:
        return found
    if trace.said in contents or _method(iterator, "__next__") is not None and _known_elsewhere(changes, contents):
        raise ControlFlowError(
            "A loop that may end at run time takes its elements from an iterator that prints, or that changes "
            "something, for each one. Do so in the body of the loop, or write the loop with an index.")

    def as_before() -> None:
        for change in changes:
            effects.touch(change.container)
            effects.refill(change.container, change.before)
        for storage, content in contents.items():
            storage.write(content)

    if _known_elsewhere(changes, contents):
        staged_if(stopped, as_before, None, (), (), ())
    return found


def _known_elsewhere(changes: list[effects.Change], storages: Iterable[Storage]) -> bool:
    """Whether others than the iterator may know of what it has changed."""
    trace, roots, containers = current_trace(), identity.roots(), [change.container for change in changes]
    if any(isinstance(c, (CellType, effects.GlobalVariable)) for c in containers) or not set(storages).isdisjoint(
            [*trace.arguments, *reachable_storages(roots)]):
        return True
    seen = reachable(roots, everywhere=True)[0] if containers else set()
    return any(id(c) in seen for c in containers)


def _method(x: Any, name: str) -> Any:
    found = inspect.getattr_static(type(x), name, None)
    return found if type(found) is FunctionType and is_user_file(found.__code__.co_filename) else None


@dataclass
class _Watch:
    """The arrays that were made meanwhile, and what others held that were written."""

    made: set[Storage] = field(default_factory=set)
    contents: dict[Storage, ir.Value] = field(default_factory=dict)


@contextlib.contextmanager
def _watched() -> Iterator[_Watch]:
    trace = current_trace()
    outer, trace.watch = trace.watch, _Watch()
    try:
        yield trace.watch
    finally:
        inner, trace.watch = trace.watch, outer
        if outer is not None:
            outer.made |= inner.made
            outer.contents = {**{s: v for s, v in inner.contents.items() if s not in outer.made}, **outer.contents}


def elements(iterable: Any) -> Iterable:
    """What Python's own loops run over."""
    use(iterable)
    if _method(iterable, "__iter__") is None and _method(iterable, "__next__") is None:
        return iterable
    return _given(begin(iterable))


def _given(iterator: Any) -> Iterator[Any]:
    while (found := following(iterator)) is not END:
        yield found
