"""What loops take their elements from, where they run as Python.

Where it is known only at run time in which iteration a loop ends, the elements of all later iterations are taken while
tracing: what that changes is taken back, and what it raises is dropped, where the program does not get there.
Afterwards it is known only at run time where an iterator stands. """
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import CellType
from typing import Any

from jaxlib.mlir import ir

from reactant.errors import ControlFlowError, ReactantError, UnsupportedError
from reactant.frontends.arrays.reach import reachable, reachable_storages
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.control import container_aliasing, mutation_log
from reactant.frontends.control.branches import StagedRaise, staged_if
from reactant.frontends.control.decisions import is_traced
from reactant.frontends.control.iterators import end_at_run_time, use
from reactant.frontends.session import protocols
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import ag__
from reactant.ir import ops
from reactant.support.records import dataclass

END, UNDECIDED = object(), object()
"""In place of an element: there is none, or it is known only at run time whether there is one."""

_OF_CONTAINERS: tuple[type, ...] = tuple(map(type, map(iter, (
    [], (), {}, {}.values(), {}.items(), set(), "", b"", range(0), range(2**70)))))


def surely_ends(iterator: Any) -> bool:
    """Whether it gives the elements of a container, all of which there are already."""
    return type(iterator) in _OF_CONTAINERS


def following(iterator: Any) -> Any:
    """The next element, or `END`; `UNDECIDED` where the iterator stands as before."""
    if not protocols.is_iterator(iterator):
        return next(iterator, END)
    trace = current_trace()
    noted = len(trace.checks)
    with _watched() as watch, mutation_log.watched() as recorder:
        there, item = ag__.call(protocols.next_of, iterator)
    if is_traced(there):
        del trace.checks[noted:]
        _take_back(recorder.found(), watch.contents)
        return UNDECIDED
    return item if there else END


def following_unless(stopped: ir.Value, iterator: Any) -> Any:
    """The same in a loop that has ended where `stopped` holds at run time."""
    if surely_ends(iterator):
        return next(iterator, END)
    end_at_run_time(iterator)
    trace = current_trace()
    noted = len(trace.checks)
    with _watched() as watch, mutation_log.watched() as recorder:
        try:
            found = following(iterator)
        except StagedRaise:
            found = END
        except ReactantError:
            raise
        except Exception as error:      # the program raises it where the loop goes on
            kind, arguments, found = type(error), error.args, END
            trace.record(ops.constant(False), lambda: kind(*arguments))
    if found is UNDECIDED:
        return found
    changes, contents = recorder.found(), watch.contents
    if protocols.is_iterator(iterator) and (trace.said in contents or _known_elsewhere(changes, contents)):
        del trace.checks[noted:]
        _take_back(changes, contents)
        return UNDECIDED
    trace.checks[noted:] = [(ops.or_(ok, stopped), error, region) for ok, error, region in trace.checks[noted:]]
    if not changes and not contents:
        return found
    if trace.said in contents:
        raise ControlFlowError("A loop that may end at run time takes its elements from an iterator that prints for "
                               "each one.", hint="Do so in the body of the loop, or write the loop with an index.",
                               code="iterator-at-run-time")
    if _known_elsewhere(changes, contents):
        staged_if(stopped, lambda: _take_back(changes, contents), None, (), (), ())
    return found


def _take_back(changes: list[mutation_log.Change], contents: dict[Storage, ir.Value]) -> None:
    for change in changes:
        mutation_log.touch(change.container)
        mutation_log.refill(change.container, change.before)
    for storage, content in contents.items():
        storage.write(content)


def _known_elsewhere(changes: list[mutation_log.Change], storages: Iterable[Storage]) -> bool:
    """Whether others than the iterator may know of what it has changed."""
    trace, roots, containers = current_trace(), container_aliasing.roots(), [change.container for change in changes]
    if any(isinstance(c, (CellType, mutation_log.GlobalVariable)) for c in containers) or not set(storages).isdisjoint(
            [*trace.arguments, *reachable_storages(roots)]):
        return True
    seen = reachable(roots, everywhere=True)[0] if containers else set()
    return any(id(c) in seen for c in containers)


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
    return _given(protocols.begin(iterable)) if protocols.iterates(iterable) else iterable


def _given(iterator: Any) -> Iterator[Any]:
    while True:
        found = following(iterator)
        if found is UNDECIDED:
            raise UnsupportedError(f"How many elements an iterator of type {type(iterator).__name__} gives is known "
                                   "only at run time.",
                                   hint="Loop over it with `for`, or collect its elements with list(...).",
                                   code="iterator-at-run-time")
        if found is END:
            return
        yield found
