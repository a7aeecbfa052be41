"""`reactant doctor`: what of a plain script would compile, how much faster it would be, and what stands in the way."""
from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import re
import statistics
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence

import jax

from reactant.api import jit
from reactant.calling.jitted import Jitted
from reactant.profiling.plain import Called, Recorder
from reactant.profiling.scripts import run_script
from reactant.profiling.text import duration
from reactant.rewrite.report import short_place
from reactant.support.records import dataclass
from reactant.support.time_limits import limited
from reactant.verification import agreement, verify

LEAST_PART, MOST_FUNCTIONS = 0.01, 12
"""The part of the time from which a function is tried, and how many are at most."""
TRIAL_SECONDS = 60
"""What trying one function may take."""
RUNS, RUN_SECONDS = 5, 0.5
WORTH = 1.2
"""Times as fast from which a function is recommended."""
_LINE = re.compile(r"(?:at|in|line) (\S+?):(\d+)")


class TookTooLong(BaseException):
    """A trial was stopped: no `except Exception` of the function's holds it up."""


@dataclass
class Trial:
    """What came of compiling a function.

    verdict: "compiles", "differs", "refused", "unstable" (what it does changes from call to call), "slow" (stopped),
    "not tried". why: what stands in the way, or the difference; line: where. seconds, part: of the script, with what
    it calls. plain, compiled, compiling: seconds of a call, and of compiling. within: a function in the table that
    calls it."""

    name: str
    place: str
    calls: int
    seconds: float
    part: float
    verdict: str
    plain: float = 0.0
    compiled: float = 0.0
    compiling: float = 0.0
    why: str = ""
    line: str = ""
    within: str = ""

    @property
    def faster(self) -> float:
        """How many times as fast the compiled function is."""
        return self.plain / self.compiled if self.compiled else 0.0

    @property
    def pays_after(self) -> float:
        """Calls after which compiling has paid; infinite where it does not."""
        return self.compiling / (self.plain - self.compiled) if self.faster > 1 else math.inf


@dataclass
class Diagnosis:
    """What `doctor` found: the script's time, and its functions, those that take most first."""

    script: str
    seconds: float
    trials: list[Trial]
    watched: int

    def __str__(self) -> str:
        parts = [f"{self.script}: {duration(self.seconds)} in Python, watched; {self.watched} functions of its own, of "
                 f"which {len(self.trials)} take {100 * LEAST_PART:.0f} % or more", ""]
        if not self.trials:
            return "\n".join([*parts, "No function of the script takes long: its time is in the script itself, or in "
                              "libraries that it calls. Put what takes time into functions."])
        widths = 8, 7, 8, 9, 9, 8, 10, 12
        heads = "part", "calls", "in all", "plain", "compiled", "faster", "compiling", "pays after"
        parts.append("  ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True)) + "  function")
        for t in self.trials:
            known = t.verdict == "compiles"
            cells = (f"{100 * t.part:.1f} %", str(t.calls), duration(t.seconds), duration(t.plain) if t.plain else "",
                     duration(t.compiled) if known else "", f"{t.faster:.3g} x" if known else "",
                     duration(t.compiling) if known else "",
                     f"{math.ceil(t.pays_after):,} calls" if known and t.pays_after < math.inf else "")
            parts.append("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
                         + f"  {t.name} ({short_place(t.place)}){f', within {t.within}' if t.within else ''}")
            if not known:
                parts.append(" " * 12 + f"{t.verdict}{f' at {short_place(t.line)}' if t.line else ''}: {t.why}")
        best = [t for t in self.trials if t.verdict == "compiles" and t.faster >= WORTH]
        if best:
            outer = [t for t in best if not t.within or t.within not in {b.name for b in best}]
            parts += ["", "put @reactant.jit on: " + ", ".join(f"{t.name} ({t.faster:.3g} x)" for t in outer)]
        return "\n".join(parts)


def doctor(path: str, arguments: Sequence[str] = (), inside: str | None = None) -> Diagnosis:
    """Run a script plainly, find the functions of its own that take its time, and try each of them under `jit`: compile
    it, `verify` it on copies of arguments that it was called with, and time it.

    path, arguments: as `python path arguments`. inside: a folder; functions in files elsewhere are not the user's own
    (without, those of Python and of installed packages are not). Functions run again for this, a few times each: what
    they do besides computing is done again. What they print then is not shown.
    """
    recorder = Recorder(inside)
    begin = time.perf_counter()
    with recorder:
        run_script(path, arguments)
    seconds = time.perf_counter() - begin
    hot = sorted((called for called in recorder.found.values() if called.seconds >= LEAST_PART * seconds),
                 key=lambda called: -called.seconds)[:MOST_FUNCTIONS]
    names = {called.name for called in hot}
    trials = [_tried(called, seconds, names) for called in hot]
    return Diagnosis(os.path.basename(path), seconds, trials, len(recorder.found))


def _tried(called: Called, whole: float, hot: set[str]) -> Trial:
    outer = sorted(called.within & hot - {called.name})
    found = Trial(called.name, called.place, called.calls, called.seconds, called.seconds / whole, "not tried",
                  within=outer[0] if outer else "")
    if called.function is None or isinstance(called.function, Jitted):
        found.why = "the function was not found"
    elif not called.arguments:
        found.why = called.why_not or "no arguments were kept"
    else:
        try:
            with limited(TRIAL_SECONDS, TookTooLong), _quiet():
                _try(found, called.function, called.arguments[-1])
        except Exception as error:
            found.verdict, found.why = "unstable", f"a call raised {type(error).__name__}: {_first(error)}"
        except TookTooLong:
            found.verdict, found.why = "slow", f"compiling it was stopped after {TRIAL_SECONDS} s"
    return found


def _try(found: Trial, function: Callable, given: tuple[tuple, dict]) -> None:
    """Compile, compare, time."""
    def fresh() -> tuple[tuple, dict]:
        return copy.deepcopy(given)
    args, kwargs = fresh()
    try:
        function(*args, **kwargs)
    except Exception as error:
        found.why = f"called again, it raises {type(error).__name__}: {_first(error)}"
        return
    compiled = jit(function)
    begin = time.perf_counter()
    try:
        args, kwargs = fresh()
        jax.block_until_ready(compiled(*args, **kwargs))
    except Exception as error:
        found.verdict, found.why, found.line = "refused", _first(error), _line_of(error, function)
        with contextlib.suppress(Exception):
            found.plain = _median(function, fresh)
        return
    found.compiling = time.perf_counter() - begin
    args, kwargs = fresh()
    compared = verify(compiled, *args, **kwargs)
    if not compared:
        one, other = fresh(), fresh()
        again = agreement(function(*one[0], **one[1]), function(*other[0], **other[1]))
        found.verdict = "differs" if again else "unstable"
        found.why = str(compared.differences[0]) if again else "its results change from call to call"
        return
    found.verdict = "compiles"
    found.plain, found.compiled = _median(function, fresh), _median(compiled, fresh)
    found.compiling = max(found.compiling - found.compiled, 0.0)


def _median(function: Callable, fresh: Callable[[], tuple[tuple, dict]]) -> float:
    taken: list[float] = []
    while len(taken) < RUNS and sum(taken) < RUN_SECONDS or not taken:
        args, kwargs = fresh()
        begin = time.perf_counter()
        jax.block_until_ready(function(*args, **kwargs))
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def _first(error: Exception) -> str:
    """The first sentences of an error, without the line, which has a place of its own."""
    return " ".join(str(error).partition("\n  at ")[0].split())[:300]


def _line_of(error: Exception, function: Callable) -> str:
    """The user's line that an error is about."""
    said = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if (found := _LINE.search(said)) is not None:
        return f"{found[1]}:{found[2]}"
    own = getattr(getattr(function, "__code__", None), "co_filename", "")
    lines = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == own]
    return lines[-1] if lines else ""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
