"""A whole script under the profiler: the programs that are compiled while it runs, what compiling takes, the rest."""
from __future__ import annotations

import contextlib
import runpy
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax

from reactant.calling import compiled as compiling
from reactant.native import clocks
from reactant.profiling import hlo_costs, machine, thunks
from reactant.profiling.attribution import merged, of_steps, of_thunks, together
from reactant.profiling.hlo_costs import Described
from reactant.profiling.measure import form_of, native_functions, span_of, texts_of
from reactant.profiling.records import STAGE, Operation, Span
from reactant.profiling.result import Profile
from reactant.profiling.timed import Timed, time_steps
from reactant.support.records import dataclass

MOST_SPANS = 20_000
"""Events of a script that go into traces."""


@dataclass
class Watched:
    """A program that was compiled: seconds and number of each step's runs, where it runs without XLA."""

    program: Any
    steps: dict[Timed, list[float]]

    def note(self, step: Timed, begin: float, end: float) -> None:
        taken = self.steps.setdefault(step, [0.0, 0.0])
        taken[0] += end - begin
        taken[1] += 1


def profile_script(path: str, arguments: Sequence[str] = ()) -> Profile:
    """Run a script as `python path arguments` would, and say where the time goes: in operations of the programs that
    `reactant.jit` and the like compile meanwhile, in compiling them, and elsewhere (Python, NumPy, other libraries).

    Raises what the script raises; `SystemExit` ends it only.
    """
    return profile_running(Path(path).name, lambda: run_script(path, arguments))


def run_script(path: str, arguments: Sequence[str] = ()) -> None:
    """Run a script as the main program."""
    before, folders = sys.argv, list(sys.path)
    sys.argv, sys.path[0:0] = [path, *arguments], [str(Path(path).resolve().parent)]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            print(f"{path} ended with status {end.code}", file=sys.stderr)
    finally:
        sys.argv, sys.path[:] = before, folders


def profile_running(name: str, run: Callable[[], Any]) -> Profile:
    """The profile of all that `run()` does."""
    rates = machine.rates()         # before there is anything to disturb it
    rate, programs = clocks.Rate(), list[Watched]()
    with watching(programs), clocks.marked(everywhere=True), thunks.recorded() as read:
        begin = time.perf_counter()
        with thunks.run_annotated(0):
            run()
            jax.effects_barrier()
        wall = time.perf_counter() - begin
        trace = read()
    cycles = rate.cycles_a_second()
    steps = [(step, seconds, count) for each in programs for step, (seconds, count) in each.steps.items()]
    functions = {step.function.target: step.function for step, *_ in steps}
    texts = dict.fromkeys(text for each in programs if not each.steps for text in _texts(each.program))
    forms = hlo_costs.programs(texts)
    functions |= native_functions(forms)
    counted = {target: function.measured(again=True) for target, function in functions.items() if function.sites}
    known: dict[tuple[int, str], Described] = {}
    for number in {event.program for event in trace.events}:
        form = form_of({event.op for event in trace.events if event.program == number}, forms)
        known |= {(number, op): told for op, told in form.items()}
    made, loops = of_steps(steps, counted, cycles)
    rows, inside = of_thunks(trace.events, known, functions, counted, cycles)
    made += rows + list(_compiling(programs))
    return Profile(name, 1, wall, 0.0, merged(made, 1), together([*loops, *inside], 1), rates,
                   max(wall - sum(op.seconds for op in made), 0.0), 0.0, _spans(trace, known, functions, wall),
                   [note for each in programs for note in each.program.lowered.notes])


@contextlib.contextmanager
def watching(programs: list[Watched]) -> Iterator[None]:
    """Note every program that is compiled meanwhile, and when its steps run."""
    def note(program: Any) -> None:
        found = Watched(program, {})
        programs.append(found)
        straight = getattr(program.executable, "straight", None)
        if straight is not None:
            time_steps(straight, found.note)
    compiling.WATCHING.append(note)
    try:
        yield
    finally:
        compiling.WATCHING.remove(note)


def _texts(program: Any) -> list[str]:
    """XLA's texts of what was compiled of a program."""
    try:
        return texts_of(program.executable) if program.executable.compile_seconds else []
    except AttributeError:          # left to jax.jit
        return []


def _compiling(programs: Sequence[Watched]) -> Iterator[Operation]:
    """What compiling took, by function and stage."""
    for each in programs:
        lowered = each.program.lowered
        try:
            times = each.program.times
        except AttributeError:
            continue
        for stage, seconds in (("tracing", times.trace), ("passes", times.passes), ("native code", times.native),
                               ("XLA", times.xla)):
            if seconds:
                yield Operation(f"compiling {lowered.name}: {stage}", STAGE, stage, seconds, 1.0)


def _spans(trace: thunks.Recorded, known: dict[tuple[int, str], Described], functions: dict[str, Any],
           wall: float) -> list[Span]:
    begin = trace.runs[0][0] if trace.runs else 0.0
    most = sorted(trace.events, key=lambda e: e.begin - e.end)[:MOST_SPANS]
    return [Span("run", 0.0, wall, "program"), *(
        span_of(event, known.get((event.program, event.op)), functions, begin)
        for event in sorted(most, key=lambda e: e.begin))]
