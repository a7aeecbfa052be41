"""Events of XLA's programs: recorded by jax's profiler, read, and time divided among those that run at once.

XLA:CPU records an event for each thunk, with the name of its instruction. Thunks of one program may run at once on
several threads, and loops, calls and branches hold other thunks: the time in which k operations run at once is divided
among them, so that all of them together have the time that passed.
"""
from __future__ import annotations

import contextlib
import glob
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from reactant.profiling.hlo_costs import CONTROL, Described
from reactant.support.records import dataclass

NOISE = ("end: ", "ThreadpoolListener", "ThunkExecutor")
RUN = "reactant.profile"
"""The annotation around a run."""


@dataclass
class Event:
    """An operation that ran: nanoseconds, and where."""

    op: str
    module: str
    program: int
    device: int
    begin: float
    end: float
    thread: str


@dataclass
class Recorded:
    """What a trace has: operations, and the runs that were annotated (nanoseconds; what each was told)."""

    events: list[Event]
    runs: list[tuple[float, float, dict[str, Any]]]


@contextlib.contextmanager
def recorded() -> Iterator[Callable[[], Recorded]]:
    """Record what XLA's programs do; gives what reads it when that is over."""
    with tempfile.TemporaryDirectory(prefix="reactant-profile-") as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        stopped = [False]

        def stop() -> None:
            if not stopped[0]:
                stopped[0] = True
                jax.profiler.stop_trace()

        def read() -> Recorded:
            stop()
            files = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
            return read_file(files[0]) if files else Recorded([], [])
        try:
            yield read
        finally:
            stop()


def run_annotated(number: int) -> Any:
    """A context in which a run happens, so that it is found in the trace."""
    return jax.profiler.TraceAnnotation(RUN, number=number)


def read_file(path: str) -> Recorded:
    """The operations and runs of an `.xplane.pb` file."""
    found = Recorded([], [])
    for plane in jax.profiler.ProfileData.from_file(path).planes:
        for line in plane.lines:
            for event in line.events:
                name = event.name
                if name.startswith(NOISE):
                    continue
                if name == RUN:
                    found.runs.append((event.start_ns, event.start_ns + event.duration_ns, dict(event.stats)))
                    continue
                stats = dict(event.stats)
                if "hlo_op" in stats:
                    found.events.append(Event(
                        str(stats["hlo_op"]), str(stats.get("hlo_module", "")), int(stats.get("program_id", 0)),
                        int(stats.get("device_ordinal", 0)), event.start_ns, event.start_ns + event.duration_ns,
                        f"{plane.name} {line.name}" if plane.name != "/host:CPU" else line.name))
    found.runs.sort(key=lambda run: run[0])
    return found


def within(events: Sequence[Event], begin: float, end: float) -> list[Event]:
    """Events of a time."""
    return [e for e in events if e.begin >= begin and e.end <= end]


def divided(events: Sequence[Event], known: Mapping[tuple[int, str], Described]) -> dict[tuple[int, str], float]:
    """Nanoseconds of each operation of a program (its number and the operation's name), those that run at once sharing
    the time. Loops, calls and branches have what none of the operations in them has."""
    changes: list[tuple[float, int, int]] = []
    for k, event in enumerate(events):
        changes += [(event.begin, 1, k), (event.end, 0, k)]
    changes.sort()
    control = [(e.program, e.op) in known and known[e.program, e.op].opcode in CONTROL for e in events]
    found: dict[tuple[int, str], float] = defaultdict(float)
    active: dict[int, None] = {}
    holding: dict[int, None] = {}
    before = 0.0
    for time, begins, k in changes:
        if time > before:
            if active:
                part = (time - before) / len(active)
                for each in active:
                    found[events[each].program, events[each].op] += part
            elif holding:
                last = events[next(reversed(holding))]
                found[last.program, last.op] += time - before
        before = time
        group = holding if control[k] else active
        if begins:
            group[k] = None
        else:
            group.pop(k, None)
    return dict(found)


def counts(events: Sequence[Event]) -> dict[tuple[int, str], int]:
    """How often each operation ran."""
    found: dict[tuple[int, str], int] = defaultdict(int)
    for event in events:
        found[event.program, event.op] += 1
    return dict(found)


def covered(events: Sequence[Event]) -> tuple[float, float, float]:
    """The beginning of the first event, the end of the last, and the time in which some event was there."""
    total, reach = 0.0, float("-inf")
    for event in sorted(events, key=lambda e: e.begin):
        total += max(0.0, event.end - max(event.begin, reach))
        reach = max(reach, event.end)
    return min(e.begin for e in events), reach, total
