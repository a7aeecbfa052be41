"""What `reactant.accuracy` finds."""
from __future__ import annotations

import math
from dataclasses import field
from typing import Any

from reactant.support.records import dataclass
from reactant.support.source_lines import text_at

WORTH_BLAME = 2.0
"""Bits: what costs less is no cause."""


def right(error: float, digits: int) -> float:
    """Bits that are right, of so many, where an error is relative."""
    return float(digits) if error <= 0.0 else min(max(-math.log2(error), 0.0), float(digits)) + 0.0


def lost(error: float, digits: int) -> float:
    """Bits that are wrong."""
    return digits - right(error, digits)


@dataclass
class Output:
    """One float array (or number) among what the function returns, or leaves in an argument.

    digits: of its format. worst, median: bits that are right of the worst element, and of the one in the middle. where:
    index of the worst one, whose value is `value`, and `exact` in more precision, of which `believed` bits can be
    believed. of_largest: bits that are right where errors are parts of the largest element. infinite: elements that are
    not finite in either precision, of which nothing is known."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digits: int
    worst: float
    median: float
    where: tuple[int, ...]
    value: Any
    exact: Any
    believed: float
    of_largest: float
    infinite: int = 0

    @property
    def lost(self) -> float:
        """Bits of the worst element that are wrong."""
        return self.digits - self.worst


@dataclass
class Line:
    """One source line whose operations round.

    alone: bits that the worst output loses where this line alone has the program's precision, and all others have
    more; None where it was not tried. local: bits that its worst operation loses on operands that were right before
    they were rounded. amplified: bits by which it made what was wrong before worse, at most. wrong: bits that its worst
    result has lost. out_of_range: results that are not finite, or zero, though their exact value was in no need to be.
    runs: how often its operations ran, at most. operations: the one that loses most first.
    """

    place: str
    operations: tuple[str, ...]
    digits: int
    local: float
    amplified: float
    wrong: float
    out_of_range: int = 0
    alone: float | None = None
    runs: int = 1

    @property
    def blame(self) -> float:
        """The bits that it loses itself, as far as the outputs show them: by what an operation makes of operands, and
        by adding up what each run of it loses. What only rounds, and is made worse later, is not to blame."""
        own = max(self.local, self.amplified) + math.log2(max(self.runs, 1))
        return own if self.alone is None else min(self.alone, own)

    @property
    def source(self) -> str:
        """The line itself."""
        return text_at(self.place)


@dataclass
class Branch:
    """A comparison, or a conversion to whole numbers, of which `different` results of `count` are others in more
    precision."""

    place: str
    operation: str
    different: int
    count: int

    @property
    def source(self) -> str:
        """The line itself."""
        return text_at(self.place)


@dataclass
class Loop:
    """A loop. growth: pairs of an iteration, the last one of the first, the next two, the next four..., and the bits
    that have been lost of the largest element of what it carries, at most, until then."""

    place: str
    digits: int
    growth: tuple[tuple[int, float], ...]

    @property
    def lost(self) -> float:
        """The most that is lost on the way."""
        return max(each for _, each in self.growth)

    @property
    def source(self) -> str:
        """The line itself."""
        return text_at(self.place)


@dataclass
class Found:
    """What was measured of one program."""

    name: str
    twin: str
    outputs: list[Output]
    lines: list[Line] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def blamed(self) -> list[Line]:
        """Lines that cost bits of the outputs, the worst first; none where all outputs are right to two
        bits."""
        if all(each.lost < WORTH_BLAME and not each.infinite for each in self.outputs):
            return []
        return [line for line in self.lines if line.blame >= WORTH_BLAME or line.out_of_range]


    @property
    def doubtful(self) -> bool:
        """Whether a loop has lost all bits of what it carries, and yet all outputs are right."""
        return all(each.lost < WORTH_BLAME for each in self.outputs) and any(
            loop.lost > loop.digits - WORTH_BLAME for loop in self.loops)
