"""A tracing session: the module under construction, its nested regions, captured constants and run-time checks.

A *region* is a block ops are being put into: the function body, a branch, a loop body. Storages remember the region
that last wrote them. When a region closes, every older storage it wrote is put back to the state it had on entry, and
`Region.written` tells control flow which ones must become results of the `if` or carried values of the `while`.
"""
from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import LeakError, ReactantError
from reactant.frontends.session.retracing import RUN_TIME_KEYS, ByNumber, Demand
from reactant.frontends.source import source_map
from reactant.ir import ops
from reactant.ir.types import tensor_type
from reactant.support.session import SESSION, TRACES, is_tracing

Storage = Any
"""`arrays.storage.Storage`, which stands on this file."""
INLINE_CONSTANT_ELEMENTS = 1024
"""Captured arrays with more elements become hidden arguments of the program instead of constants inside it."""

MOST_JOINS = 256
"""So many arrays made of numbers are kept in mind."""


class Region:
    """A block under construction. `saved` maps storages older than the region, that it wrote, to their first state.
    `held`: some first ones of its checks, and whether they all hold."""

    ag__internal = True     # users hold it by what they hold: nothing of theirs is found there

    __slots__ = ("block", "closed", "held", "holders", "parent", "saved", "written")

    def __init__(self, parent: Region | None, block: ir.Block):
        self.parent, self.block = parent, block
        self.closed = False
        self.saved: dict[Storage, tuple] = {}
        self.written: dict[Storage, ir.Value] = {}
        self.held: tuple[list[ir.Value], ir.Value | None] = [], None
        self.holders: list[weakref.ref[Storage]] = []
        """Storages that hold writes, or have held some."""

    def settle(self) -> None:
        """Carry out all writes that are held: what follows happens elsewhere."""
        for reference in self.holders:
            storage = reference()
            if storage is not None and storage.held:
                storage.settle()
        self.holders.clear()

    def give_up(self) -> None:
        """Drop what is held where an exception ends the region."""
        for reference in self.holders:
            storage = reference()
            if storage is not None:
                storage.held = {}
        self.holders.clear()

    def encloses(self, other: Region | None) -> bool:
        """Whether values made here may be used in `other` (itself or nested in it)."""
        while other is not None:
            if other is self:
                return True
            other = other.parent
        return False


class Failure:
    """Makes the exception of a failed check, of what `values` are at run time: none, or all of them."""

    __slots__ = ("make", "values")

    def __init__(self, make: Callable[..., BaseException], values: Iterable[ir.Value] = ()):
        self.make, self.values = make, tuple(values)

    def __call__(self, *told: Any) -> BaseException:
        return self.make(*told)


def told_by(error: Callable[..., BaseException]) -> tuple[ir.Value, ...]:
    """The run-time values that an exception tells."""
    return error.values if isinstance(error, Failure) else ()


class Trace:
    """State of one trace. Made by `tracing()`; `Trace.current()` is the running one of this thread, else None."""

    ag__internal = True     # users hold it by what they hold: nothing of theirs is found there

    def __init__(self, options: Any = None, demands: set[Demand] | None = None):
        self.options = options
        self.demands: set[Demand] = set() if demands is None else demands
        """What the function is traced with, and what this trace shows the next one to need."""
        self.by_number = frozenset(demand.kind for demand in self.demands if isinstance(demand, ByNumber))
        """The types of containers that are chosen as themselves (`tagged_union`)."""
        self.keyed = RUN_TIME_KEYS in self.demands
        self.module = ir.Module.create()
        with ir.InsertionPoint(self.module.body):
            placeholder = ir.TypeAttr.get(ir.FunctionType.get([], []))
            self.function = ir.Operation.create(
                "func.func", regions=1, attributes={"sym_name": ir.StringAttr.get("main"),
                                                    "sym_visibility": ir.StringAttr.get("public"),
                                                    "function_type": placeholder})
        self.entry = self.function.regions[0].blocks.append()
        self.region = Region(None, self.entry)
        self.captured: list[np.ndarray] = []
        self._captured_at: dict[int, tuple[np.ndarray, ir.Value]] = {}
        self.captured_position: list[int] = []
        self.checks: list[tuple[ir.Value, Callable[[], BaseException], Region]] = []
        self.unrolled: set[CodeType] = set()
        """Bodies of loops of few iterations that were unrolled, and so are again, without a look."""
        self.overflow: Any = None
        """The last check that is one of `python_overflow`, with what raises."""
        self.argument_count = 0
        self.bounded_elements = 0
        """The largest dimension that was sliced with run-time bounds (a sign that a loop may want segments)."""
        self.spread = False
        """Whether the program runs on a mesh."""
        self.pushes = False
        """Whether a loop has run a generator that may as well be asked for its elements one by one (`pushed`)."""
        self.many_iterations = False
        """Inside an unrolled loop of many iterations, which cannot carry a list."""
        self.arguments: list[Storage] = []
        self.untouched: set[int] = set()
        """Numbers of those of which nobody has asked anything but the type."""
        self.noting = False
        """Whether objects among the arguments know which of their attributes were asked for (`attributes.Noted`)."""
        self.waiting: dict[int, tuple[weakref.ref[Any], dict[str, Any]]] = {}
        """The arrays that stand for these, by their identities, and what they get when somebody asks."""
        self.written_copies: set[int] = set()
        """Numbers of arguments of which a function that is differentiated writes into a copy."""
        self.remarks: list[str] = []
        """What `explain` tells of parts of the program that came from elsewhere (launches of kernels)."""
        self.callbacks: list[Callable[..., tuple]] = []
        """What the program's calls of Python run, by the `index` they have (`printing`)."""
        self.spoken: Any = None             # who says what the program says
        self.may_repeat = False             # whether a call may run the program again, with more room for lists
        self.said: Storage | None = None
        """The counter that keeps these calls in order."""
        self.texts: list[tuple[Any, Callable[[Any], str]]] = []
        """Run-time values that stand in texts, and how they are written there; the marks have their numbers."""
        self.alternatives: list[Any] = []
        """The objects of which one is taken at run time, by their numbers (`alternatives`)."""
        self.numbered_in: list[Region] = []
        """Where each of them got its number."""
        self.undecided = False
        """Whether there may be values that stand for one of several objects, or for None."""
        self.unfilled: list[Any] | None = None
        """How what stands for objects gets its attributes, where those are being set (`identity.filled_later`)."""
        self.attempts: list[Any] = []
        """The `try` statements with handlers that are being traced (`attempts`), innermost last."""
        self.entering = False
        """Whether the next call is the one that an attempt has looked at."""
        self.watch: Any = None
        """Which arrays are made and written, where that is asked (`elements`)."""
        self.outer_writes: dict[int, dict[Any, Any]] = {}
        """Identities of what is outside and may hold values, and the user's lines that wrote there, by what they wrote
        to (None: whatever a method did)."""
        self.outer_iterators: set[int] = set()
        """Identities of the iterators that the function finds outside."""
        self.lost: list[Any] = []
        """Iterators whose position is known only at run time."""
        self.cached: dict[Any, tuple[Region, Any]] = {}
        """What functions with a cache gave for objects that hold run-time values, and where."""
        self.loops: list[Any] = []
        """The loops whose bodies are being traced, innermost last."""
        self.joins: dict[tuple, tuple[Region, ir.Value]] = {}
        """Arrays that were made of numbers, by the shape and the addresses of these, and where."""
        self.written_in: dict[Any, list[int]] = {}
        """Which of the memories they reach loops turned out to write, by the code of their bodies."""
        self.growers: list[Any] = []
        """What stands for lists that these loops append to (`growing`)."""
        self.choices: list[weakref.ref[Any]] = []
        """The memories that may be one of several (`aliases`), in the order they were made."""
        self.copies: dict[int, Any] = {}
        """Lists that stand for elements of lists in rows (`element_copies`)."""
        self.orders: list[Any] = []
        """Lists that are others in a run-time order, and those (`element_copies`)."""
        self.views: dict[int, Any] = {}
        """The proxy of one of several objects (`object_columns`), by the identity of that."""
        self.noted = 0
        """How many links and views there have been."""
        self.begun = [0]
        """How many there were when each function that is being called began, innermost last."""
        self.held: list[Any] = []
        """What loops that are being run take their elements from, and may be no variable's."""
        self.identities: list[Any] = []
        self.tuples: dict[int, Any] = {}
        """Which containers may be which others (`identity`)."""
        self.given: list[Any] = []
        """The lists, dicts and objects among the arguments."""
        self.pending: list[Any] = []
        """What expressions have computed and not used yet (`temporaries`), and what code is given that is not ours."""
        self.active: list[Any] = []
        """The functions that are being called."""
        self.followed: dict[int, Any] = {}
        """Those that have been called, by their identities."""
        self.escaped: list[Any] = []
        """What code that is not followed may have kept."""
        self.around: list[tuple[dict[str, Any], Iterable[Any]]] = []
        """Of the branches and loops that are being traced: what their variables held before, and where these are."""
        self.depth = 0
        """How many functions had been called when it began: what they hold is the caller's."""
        self.closed = False

    @staticmethod
    def current() -> Trace | None:
        return SESSION.trace

    # -- arguments and captured arrays

    def add_argument(self, shape: tuple[int, ...], dtype: np.dtype) -> ir.Value:
        """A new argument of `main`, after those that exist."""
        self.argument_count += 1
        return self.entry.add_argument(tensor_type(tuple(shape), np.dtype(dtype)), ir.Location.current)

    def capture(self, array: np.ndarray) -> ir.Value:
        """An array from outside as a value usable in every region: a constant, or a hidden argument when it is big.

        The content is copied now: later changes by the user are not seen (arrays from outside are constants).
        """
        known = self._captured_at.get(id(array))
        if known is not None:
            return known[1]
        if array.size <= INLINE_CONSTANT_ELEMENTS or not any(array.strides):
            with self.at_entry():
                value = ops.constant(array)
        elif (first := _arange(array)) is not None:
            start, step = first
            with self.at_entry():
                value = ops.iota(array.shape, array.dtype, 0)
                value = value if step == 1 else ops.multiply(value, step)
                value = value if start == 0 else ops.add(value, start)
        else:
            self.captured_position.append(self.argument_count)
            self.captured.append(np.array(array, order="C"))
            value = self.add_argument(array.shape, array.dtype)
        self._captured_at[id(array)] = (array, value)
        return value

    def capture_traced(self, array: Any) -> ir.Value:
        """An array from outside that JAX is tracing (a function in a JAX program closes over it): a hidden argument."""
        known = self._captured_at.get(id(array))
        if known is not None:
            return known[1]
        self.captured_position.append(self.argument_count)
        self.captured.append(array)
        value = self.add_argument(array.shape, array.dtype)
        self._captured_at[id(array)] = (array, value)
        return value

    @contextlib.contextmanager
    def at_entry(self) -> Iterator[None]:
        """Insert at the start of the function, so that what is built is visible in every region."""
        first = next(iter(self.entry.operations), None)
        with ir.InsertionPoint(self.entry) if first is None else ir.InsertionPoint(first):
            yield

    # -- regions

    @contextlib.contextmanager
    def inside(self, block: ir.Block) -> Iterator[Region]:
        """Build in `block` as a region nested in the current one. On exit, older storages are as they were on entry
        and `region.written` maps each one that was written to its last value inside."""
        outer = self.region
        outer.settle()
        region = Region(outer, block)
        self.region = region
        try:
            with ir.InsertionPoint(block):
                yield region
            region.settle()
        finally:
            region.give_up()
            self.region = outer
            for storage, state in region.saved.items():
                if storage.data is None:
                    region.written[storage] = storage.value
                storage.restore(state)
            region.closed = True

    def joined(self, numbers: list[ir.Value], shape: tuple[int, ...]) -> ir.Value:
        """An array with these 0-d elements: a list that is read again and again is put together once."""
        key = shape, *map(hash, numbers)
        region, made = self.joins.get(key, (None, None))
        if made is None or region is None or region.closed or not region.encloses(self.region):
            made = ops.reshape(ops.concatenate([ops.reshape(x, (1,)) for x in numbers], 0), shape)
            if len(self.joins) >= MOST_JOINS:
                self.joins.clear()
            self.joins[key] = self.region, made
        return made

    def check(self, ok: ir.Value, error: Callable[..., BaseException]) -> None:
        """Require the 0-d boolean `ok` at run time; `error()` makes the exception raised after the call.

        Inside a branch or loop body the check is carried outwards by control flow through `checks`. What is already
        known to hold is dropped; what is known to fail, outside any branch, raises now.
        """
        checked = self.options is None or self.options.check
        if not checked and not self.attempts:
            return
        known = ops.constant_value(ok)
        if known is not None and known.all():
            return
        if known is not None and self.region.parent is None:
            raise error()
        for attempt in self.attempts:
            ok = attempt.unless_raised(ok)
        if self.attempts and self.attempts[-1].takes(error, self.attempts):
            self.attempts[-1].raised(error, ok)
        elif checked:
            self.record(ok, error)

    def record(self, ok: ir.Value, error: Callable[..., BaseException]) -> None:
        """Note a check whatever the options say (`assert` and `raise` of the user); the error will name this line."""
        frame = source_map.user_frame()

        def located_error(*told: Any) -> BaseException:
            made = error(*told)
            note = "" if frame is None else f"in {frame}: {frame.text}"
            if frame is not None and note not in getattr(made, "__notes__", ()):
                made.add_note(note)
            return made

        self.checks.append((ok, Failure(located_error, told_by(error)), self.region))

    # -- finishing

    def finish(self, results: list[ir.Value]) -> ir.Module:
        """Return `results` from `main` and close the trace."""
        with ir.InsertionPoint(self.entry):
            ops.create("func.return", [], results)
        inputs = [a.type for a in self.entry.arguments]
        signature = ir.FunctionType.get(inputs, [r.type for r in results])
        self.function.attributes["function_type"] = ir.TypeAttr.get(signature)
        return self.module

    def close(self) -> None:
        for array, told in self.waiting.values():       # who has kept one hears that it has leaked
            if (found := array()) is not None:
                for name, value in told.items():
                    setattr(found, name, value)
        self.waiting.clear()
        self.closed = True
        self.region.closed = True


def _arange(array: np.ndarray) -> tuple[int, int] | None:
    """(start, step) when a 1-d integer array counts evenly, else None."""
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size < 2:
        return None
    steps = np.diff(array)
    return (int(array[0]), int(steps[0])) if (steps == steps[0]).all() and array[-1] >= array[0] else None


@contextlib.contextmanager
def tracing(options: Any = None, demands: set[Demand] | None = None) -> Iterator[Trace]:
    """Run a trace in this thread. The caller holds `reactant.ir.context.building()`. demands: what it is traced with;
    it gets what another trace needs."""
    if Trace.current() is not None and not Trace.current().closed:
        raise ReactantError("A trace is already running in this thread.",
                            hint="Call compiled functions rather than starting a trace: reactant.jit inside of "
                                 "another is traced with it.", code="trace-in-trace")
    trace = Trace(options, demands)
    TRACES.append(trace)
    SESSION.trace = trace
    try:
        with ir.InsertionPoint(trace.entry):
            yield trace
    finally:
        trace.close()
        SESSION.trace = None
        TRACES.remove(trace)


def frames() -> list[FrameType]:
    """The functions that are being called, innermost first."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def current_trace() -> Trace:
    """The running trace; raises `LeakError` when a traced value is used after its call has ended."""
    trace = SESSION.trace
    if trace is None:
        raise LeakError()
    return trace


def located(function: Callable) -> Callable:
    """Decorator of an entry point: the operations it builds carry the user's current line as their location."""
    @functools.wraps(function)
    def at_user_line(*args: Any, **kwargs: Any) -> Any:
        with source_map.location():
            return function(*args, **kwargs)
    return at_user_line


__all__ = ["INLINE_CONSTANT_ELEMENTS", "Region", "Trace", "current_trace", "is_tracing", "located", "tracing"]
