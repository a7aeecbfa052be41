"""One program, plain and compiled: run both, time both, print what a sceptic asks."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import reactant
from reactant.calling.lowered import Lowered
from reactant.demos.measure import interleaved, largest_difference
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Outcome:
    """What one argument tuple became: the result, and the arguments after the call (programs may write into them)."""

    result: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Comparison:
    """Seconds, StableHLO operations, and the largest |plain - compiled| over results and arguments."""

    plain: float
    compiled: float
    compile_time: float
    operations_before: int
    operations_after: int
    difference: float
    plain_outcome: Outcome
    compiled_outcome: Outcome

    @property
    def ratio(self) -> float:
        """How many times faster the compiled program is."""
        return self.plain / self.compiled


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """What one call on copies of `arguments` does."""
    mine = copy.deepcopy(arguments)
    return Outcome(function(*mine), mine)


def compile_anew(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Lowered, float]:
    """The program of `function`, and the seconds that tracing, our passes and XLA took together."""
    lowered = reactant.jit(function).lower(*copy.deepcopy(arguments))
    compiled = lowered.compile()
    return lowered, compiled.times.trace + compiled.times.passes + compiled.times.xla


def compare(function: Callable[..., Any], arguments: tuple[Any, ...], repeats: int, console: Console) -> Comparison:
    """Run `function` plainly and through `reactant.jit`, `repeats` times each, showing progress on a terminal."""
    compiled = reactant.jit(function)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("plain NumPy", total=repeats + 3)
        plain_outcome = outcome(function, arguments)
        progress.update(task, advance=1, description="tracing, simplifying, compiling")
        compiled_outcome = outcome(compiled, arguments)
        progress.update(task, advance=1, description="the same again, timed")
        lowered, compile_time = compile_anew(function, arguments)
        before, after = (sum(lowered.operations(optimized=optimized).values()) for optimized in (False, True))
        progress.update(task, advance=1, description="timing both in turn")
        seconds = interleaved({"plain": function, "compiled": compiled}, arguments, repeats,
                              after_round=lambda: progress.advance(task))
    difference = largest_difference((compiled_outcome.result, compiled_outcome.arguments),
                                    (plain_outcome.result, plain_outcome.arguments))
    return Comparison(seconds["plain"], seconds["compiled"], compile_time, before, after, difference,
                      plain_outcome, compiled_outcome)


def table(title: str, comparison: Comparison, further: dict[str, str] | None = None) -> Table:
    """The comparison as a two-column table; `further` rows are appended."""
    rows = {
        "plain NumPy": f"{1e3 * comparison.plain:.1f} ms",
        "compiled": f"{1e3 * comparison.compiled:.1f} ms",
        "ratio": f"{comparison.ratio:.2f} times faster",
        "compile time": f"{comparison.compile_time:.2f} s",
        "StableHLO operations before": str(comparison.operations_before),
        "StableHLO operations after": str(comparison.operations_after),
        "largest difference": f"{comparison.difference:.1e}",
        **(further or {}),
    }
    result = Table(title=title, show_header=False, min_width=len(title))
    result.add_column()
    result.add_column(justify="right")
    for name, value in rows.items():
        result.add_row(name, value)
    return result
