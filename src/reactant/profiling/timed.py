"""Programs without XLA whose steps note when they run."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from reactant.native.straight import Step, Straight
from reactant.profiling.hlo_costs import OURS

Note = Callable[["Timed", float, float], None]
"""Is told of a step that has run: when it began and ended, in seconds."""


class Timed:
    """A step of a program without XLA that notes when it runs."""

    def __init__(self, step: Step, note: Note) -> None:
        self.step, self.note = step, note
        self.function, self.slots, self.made = step.function, step.slots, step.made
        self.line = "" if step.line is None or step.line[0].startswith(OURS) else f"{step.line[0]}:{step.line[1]}"
        self.nbytes, self.shapes = 0.0, list[tuple[int, ...]]()

    def __call__(self, values: list[Any], call: Any, empty: Any) -> None:
        begin = time.perf_counter()
        self.step(values, call, empty)
        end = time.perf_counter()
        if not self.shapes:
            self.shapes = [values[slot].shape for slot in self.slots]
            self.nbytes = float(sum(values[slot].nbytes for slot in dict.fromkeys(self.slots)))
        self.note(self, begin, end)


def time_steps(straight: Straight, note: Note) -> None:
    """Let a program go through its steps one by one from now on, and note each."""
    straight.steps = tuple(Timed(step, note) for step in straight.steps)      # type: ignore[misc]
    straight.steps_over = tuple(Timed(step, note) for step in straight.steps_over)    # type: ignore[misc]
    vars(straight)["written_out"] = lambda arguments: straight(arguments, None, (-1,))
    vars(straight)["written_over"] = lambda wanted: None
