"""Iterators, which are used up: by loops that run as Python, and by Python's own functions.

Nothing brings an iterator back to where it was. So one from outside is refused in a branch or loop body, which the
program may pass over or repeat, and so is one that a loop was left with where it is known only at run time in which
iteration. """
from __future__ import annotations

import contextlib
import dis
import functools
import gc
from collections.abc import Iterator
from types import CodeType, GeneratorType, WrapperDescriptorType
from typing import Any

from reactant.errors import ControlFlowError, UnsupportedError
from reactant.frontends.control import mutation_log
from reactant.frontends.session.trace import Trace, current_trace


def note(x: Any) -> None:
    """`x` was made just now: it is gone when the region ends, or nothing of before."""
    recorder = mutation_log.innermost()
    if recorder is not None and (_advances(x) or hasattr(type(x), "ag__advances")):
        recorder.iterators.add(id(x))


def is_made_here(x: Any) -> bool:
    """Whether it was made in the branch or body that is being traced."""
    recorder = mutation_log.innermost()
    return recorder is None or id(x) in recorder.iterators


def use(*used: Any) -> None:
    """Raise where an iterator from before would advance while tracing code that may run any number of times, or where
    it is known only at run time where it stands."""
    trace = Trace.current()
    for x in used:
        if _advances(x):
            if not is_made_here(x):
                raise ControlFlowError("An iterator that was made before a branch or loop that is decided at run "
                                       "time would advance inside it while compiling.",
                                       hint="Use an index into a list or array instead, or make the iterator there.",
                                       code="iterator-at-run-time")
            if trace is not None and any(x is other for other in trace.lost):
                raise unknown()
            if trace is not None and id(x) in trace.outer_iterators:
                raise UnsupportedError("An iterator that was made outside the compiled function would advance once, "
                                       "while it is compiled, not at each call.",
                                       hint="Make it inside, or use an index into a list or array.",
                                       code="iterator-at-run-time")


def unknown() -> ControlFlowError:
    return ControlFlowError("Where this iterator stands is known only at run time: a loop over it was left where "
                            "run-time values decide.",
                            hint="Use an index into a list or array instead: `while k < len(x):` with `k += 1`.",
                            code="iterator-at-run-time")


def called(function: Any, owner: Any) -> None:
    """A method in C of some object is about to be called: of a generator, it may go on."""
    if type(owner) is GeneratorType and (function.__name__ != "close" or _cleans_up(owner.gi_code)):
        use(owner)


def end_at_run_time(iterable: Any) -> None:
    """Raise where a loop whose end is known only at run time takes its elements from a generator that would see it."""
    for x in _sources(iterable):
        if type(x) is GeneratorType and x.gi_frame is not None and _cleans_up(x.gi_code):
            with contextlib.suppress(Exception):
                x.close()       # here, where what it changes is taken back
            raise UnsupportedError(f"It is only known at run time where a loop over the generator "
                                   f"{x.gi_code.co_name!r} ends, "
                                   "which has a `yield` in a `try` or `with`, whose end would run there.",
                                   hint="Put the `try` around the loop, or take the elements from a list.",
                                   code="iterator-at-run-time")


@functools.cache
def _cleans_up(code: CodeType) -> bool:
    """Whether a `yield` stands in a `try` or `with`, which sees that the generator is closed there."""
    ops = {i.offset: i.opname for i in dis.get_instructions(code)}
    handled = [(e.start, e.end) for e in dis._parse_exception_table(code)     # type: ignore[attr-defined]
               if ops.get(e.target) not in _PYTHONS_OWN]
    return any(start <= place < end for place, op in ops.items() if op == "YIELD_VALUE" for start, end in handled)


_PYTHONS_OWN = ("CLEANUP_THROW", "CALL_INTRINSIC_1")
"""What handlers begin with that the compiler puts around `yield from` and generators."""


def _sources(iterable: Any) -> Iterator[Any]:
    """An iterator and those that it takes its elements from."""
    waiting, met = [iterable], set()
    while waiting:
        x = waiting.pop()
        if isinstance(x, Iterator) and id(x) not in met:
            met.add(id(x))
            yield x
            waiting += gc.get_referents(x)


def _advances(x: Any) -> bool:
    """Whether it is an iterator that is used up by C code, which nothing records."""
    return isinstance(getattr(type(x), "__next__", None), WrapperDescriptorType)


def lose(iterable: Any) -> None:
    """It is known only at run time where this iterator, and those it takes its elements from, stand."""
    trace = current_trace()
    for x in _sources(iterable):
        if _advances(x):
            if not any(x is other for other in trace.lost):
                trace.lost.append(x)
        elif hasattr(type(x), "ag__advances"):
            x.stand(None)
