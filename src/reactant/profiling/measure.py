"""`profile`: compile a program with marks, run it beside the plain one, and say where its time went."""
from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import jax

from reactant.api import as_jitted
from reactant.calling.compiled import Compiled
from reactant.calling.jitted import Jitted
from reactant.native import clocks
from reactant.native.clocks import Counted
from reactant.native.function import NativeFunction, of_target
from reactant.native.straight import Straight
from reactant.profiling import hlo_costs, machine, thunks
from reactant.profiling.attribution import merged, of_steps, of_thunks, together
from reactant.profiling.hlo_costs import Described
from reactant.profiling.records import Loop, Operation, Span
from reactant.profiling.result import Profile
from reactant.profiling.timed import Timed, time_steps
from reactant.support.records import dataclass

LEAST_RUNS, MOST_RUNS = 5, 200


@dataclass
class Taken:
    """One run: seconds from begin to end on the clock of `time.perf_counter`; of each step of a program without XLA the
    beginning and end; what the sites of native functions have counted."""

    begin: float
    end: float
    steps: list[tuple[Timed, float, float]]
    counted: dict[str, dict[int, Counted]]


def profile(function: Callable, /, *args: Any, seconds: float = 1.0, runs: int | None = None, **kwargs: Any) -> Profile:
    """Where the time of a compiled function goes, measured: by line of its source and by operation.

    What XLA runs is timed by jax's profiler, thunk by thunk; native code by the processor's cycle counter, loop nest by
    loop nest. What computes for several lines has its time divided among them by the operations that it does for each
    (an exponential weighs ten additions): what is measured is the nest or thunk, its lines are an estimate. Times of
    operations, of calls around them and of gaps add up to that of a run.

    Args:
        function: a function, or what `reactant.jit`, `reactant.grad` and the like made of one. It is compiled for these
            arguments with marks in its native code.
        args: its arguments; it is run on copies of them.
        seconds: for how long it is run, more or less.
        runs: how often it is run instead.
        kwargs: arguments by name.

    Returns:
        A `Profile`, to print, to read, or to write as a page or a trace.

    Raises:
        ValueError: for less than one run; and what calling the function raises.

    Example:
        >>> def energy(x):
        ...     return np.sum(np.exp(-x * x))
        >>> found = reactant.profile(energy, np.linspace(-1.0, 1.0, 1000), runs=3)
        >>> print(found)
        energy: ... a run...
        >>> len(found.html()) > 1000
        True

    Source:
        Roofline bounds: Williams, Waterman and Patterson, *Roofline: an insightful visual performance model*,
        Communications of the ACM 52, 2009.
    """
    if runs is not None and runs < 1:
        raise ValueError(f"reactant.profile: runs is 1 or more, not {runs}.")
    own = hasattr(function, "lower")
    plain = function if own else as_jitted(function)
    copies = (copy.deepcopy((args, kwargs)) for _ in iter(int, 1))
    _timed(plain, next(copies))
    with clocks.marked():
        lowered = plain.lower(*args, **kwargs)      # type: ignore[attr-defined]
        compiled = lowered.compile()
        compiled(*(given := next(copies))[0], **given[1])
    measured = Measurement(compiled.executable, getattr(compiled.lowered, "notes", ()))
    call: Callable = compiled
    if type(plain) is Jitted and type(compiled) is Compiled and lowered.call is not None:
        def call(*args: Any, **kwargs: Any) -> Any:
            return plain.run_through(compiled, args, kwargs)        # as short as the way of a plain call, nearly
    between = measured.straight is not None         # else jax's profiler would see the plain runs, too
    half = None if runs is None else -(-runs // 2)
    plains = [] if between else [_timed(plain, next(copies)) for _ in _iterations(half, seconds / 4)]
    with measured.running():
        for _ in _iterations(runs, seconds if between else seconds / 2):
            measured.run(call, *next(copies))
            plains += [_timed(plain, next(copies))] if between else []
    plains += [] if between else [_timed(plain, next(copies)) for _ in _iterations(half, seconds / 4)]
    found = measured.profile(lowered.name, statistics.fmean(sorted(plains)[:-(-len(plains) // 2)]))
    times = compiled.times
    found.compile_seconds = {"tracing": times.trace, "passes": times.passes, "native code": times.native,
                             "XLA": times.xla}
    return found


def _iterations(runs: int | None, seconds: float) -> Iterator[int]:
    """So many runs, or as many as take so long: `LEAST_RUNS` to `MOST_RUNS`."""
    begun, number = time.perf_counter(), 0
    while number < (MOST_RUNS if runs is None else runs) and (
            runs is not None or number < LEAST_RUNS or time.perf_counter() - begun < seconds):
        yield number
        number += 1


def _timed(function: Callable, given: tuple[tuple, dict]) -> float:
    begin = time.perf_counter()
    jax.block_until_ready(function(*given[0], **given[1]))
    return time.perf_counter() - begin


class Measurement:
    """The runs of one program, which is compiled with marks."""

    def __init__(self, executable: Any, notes: Sequence[str]) -> None:
        self.notes = list(notes)
        self.straight: Straight | None = getattr(executable, "straight", None)
        self.noted: list[tuple[Timed, float, float]] = []
        self.taken: list[Taken] = []
        if self.straight is not None:
            time_steps(self.straight, lambda *each: self.noted.append(each))
        self.programs = hlo_costs.programs([] if self.straight is not None else texts_of(executable))
        self.functions = self._functions()

    def _functions(self) -> dict[str, NativeFunction]:
        """Native functions that may run, by what they are called by."""
        found = native_functions(self.programs)
        if self.straight is not None:
            found |= {step.function.target: step.function
                      for step in (*self.straight.steps, *self.straight.steps_over)}
        return found

    def running(self) -> ExitStack:
        """While the program runs: recorded by jax's profiler, where XLA runs some of it."""
        stack = ExitStack()
        self.rate = clocks.Rate()
        self.read = stack.enter_context(thunks.recorded()) if self.straight is None else None
        stack.callback(self._finish)
        return stack

    def _finish(self) -> None:
        self.cycles_a_second = self.rate.cycles_a_second()
        self.trace = thunks.Recorded([], []) if self.read is None else self.read()

    def run(self, program: Callable, args: tuple, kwargs: dict) -> None:
        """One run."""
        for function in self.functions.values():
            function.measured(again=True)
        self.noted.clear()
        with thunks.run_annotated(len(self.taken)):
            begin = time.perf_counter()
            jax.block_until_ready(program(*args, **kwargs))
            end = time.perf_counter()
        self.taken.append(Taken(begin, end, list(self.noted), {
            target: function.measured() for target, function in self.functions.items() if function.sites}))

    # -- what it comes to

    def profile(self, name: str, plain: float) -> Profile:
        """The mean of the faster half of the runs."""
        order = sorted(range(len(self.taken)), key=lambda k: self.taken[k].end - self.taken[k].begin)
        chosen = order[:-(-len(order) // 2)]
        operations: list[Operation] = []
        loops: list[Loop] = []
        outside = between = wall = 0.0
        for k in chosen:
            made, found, gap = self._run(k)
            seconds = self.taken[k].end - self.taken[k].begin
            operations += made
            loops += found
            wall += seconds
            between += gap
            outside += seconds - sum(op.seconds for op in made) - gap
        count = len(chosen)
        return Profile(name, len(self.taken), wall / count, plain, merged(operations, count), together(loops, count),
                       machine.rates(), outside / count, between / count, self._spans(chosen[0]), self.notes)

    def _run(self, number: int) -> tuple[list[Operation], list[Loop], float]:
        """Operations and loops of a run, and seconds between its first and its last operation in which none ran."""
        taken = self.taken[number]
        if self.straight is not None:
            steps = [(step, end - begin, 1.0) for step, begin, end in taken.steps]
            gap = taken.steps[-1][2] - taken.steps[0][1] - sum(s for _, s, _ in steps) if steps else 0.0
            return *of_steps(steps, taken.counted, self.cycles_a_second), max(gap, 0.0)
        events = self._events(number)
        if not events:
            return [], [], 0.0
        rows = of_thunks(events, self._known(events), self.functions, taken.counted, self.cycles_a_second)
        begin, end, busy = thunks.covered(events)
        return *rows, 1e-9 * max(end - begin - busy, 0.0)

    def _events(self, number: int) -> list[thunks.Event]:
        run = self._annotated(number)
        return [] if run is None else thunks.within(self.trace.events, run[0], run[1])

    def _annotated(self, number: int) -> tuple[float, float, dict[str, Any]] | None:
        return next((r for r in self.trace.runs if int(r[2].get("number", -1)) == number), None)

    def _known(self, events: Sequence[thunks.Event]) -> dict[tuple[int, str], Described]:
        """What is known of the instructions that ran."""
        found: dict[tuple[int, str], Described] = {}
        for program in {event.program for event in events}:
            form = form_of({e.op for e in events if e.program == program}, self.programs)
            found |= {(program, name): told for name, told in form.items()}
        return found

    def _spans(self, number: int) -> list[Span]:
        """What happened in a run, for traces."""
        taken = self.taken[number]
        found = [Span("run", 0.0, taken.end - taken.begin, "program")]
        for step, begin, end in taken.steps:
            found.append(Span(step.function.name, begin - taken.begin, end - taken.begin, "native code", step.line,
                              {"what": step.function.where}))
        run, events = self._annotated(number), self._events(number)
        known = self._known(events)
        return found + [] if run is None else found + [
            span_of(event, known.get((event.program, event.op)), self.functions, run[0]) for event in events]


def span_of(event: thunks.Event, told: Described | None, functions: Mapping[str, NativeFunction], begin: float) -> Span:
    """A thunk for traces, whose times begin at `begin` nanoseconds."""
    native = told is not None and told.target in functions
    return Span(event.op if told is None or told.what == event.op else f"{event.op}: {told.what}",
                1e-9 * (event.begin - begin), 1e-9 * (event.end - begin),
                f"{'native code' if native else 'XLA'}, {event.thread}",
                "" if told is None else max(told.lines, key=lambda line: told.lines[line], default=""),
                {} if told is None else {"flops": told.work.flops, "bytes": told.work.bytes, "hlo_op": event.op,
                                         "hlo_module": event.module})


def form_of(names: set[str], programs: Sequence[dict[str, Described]]) -> dict[str, Described]:
    """The program whose instructions have most of some names."""
    return max(programs, key=lambda program: len(names & program.keys()), default={})


def native_functions(programs: Sequence[dict[str, Described]]) -> dict[str, NativeFunction]:
    """The native functions that programs call, by the names that they call them by."""
    targets = [each.target for program in programs for each in program.values() if each.target]
    return {target: function for target in targets if (function := of_target(target)) is not None}


def texts_of(executable: Any) -> list[str]:
    """XLA's text of the forms of a program that are compiled."""
    texts = getattr(executable, "texts", None)
    return [text for text in (texts() if texts is not None else [executable.as_text()]) if text]
