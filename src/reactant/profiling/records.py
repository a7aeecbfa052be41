"""What a profile says: operations, lines, loops, and how their times add up."""
from __future__ import annotations

from dataclasses import field
from typing import Any

from reactant.profiling.machine import Rates
from reactant.support.records import dataclass
from reactant.support.source_lines import text_at

MEMORY, COMPUTE, LATENCY, NEITHER, UNKNOWN = "memory", "compute", "latency", "neither", ""
EXCHANGE = "exchange"
"""What limits collective operations: the other devices, and the way to them."""
STAGE = "stage"
"""The kind of what is no operation, but a stage of compiling a program."""
NEAR = 0.25
"""What part of the time a bound has to explain to be what limits."""
SHORT = 5e-6
"""Seconds of one execution up to which what explains it is that there are many of them."""


@dataclass
class Work:
    """What something does in one run of the program: flops (those of doubles among them), special functions, bytes from
    and to memory or caches."""

    flops: float = 0.0
    doubles: float = 0.0
    special: float = 0.0
    bytes: float = 0.0
    footprint: float = 0.0
    """Bytes that one execution goes through: tells from where they come."""

    def plus(self, other: Work, part: float = 1.0) -> Work:
        return Work(self.flops + part * other.flops, self.doubles + part * other.doubles,
                    self.special + part * other.special, self.bytes + part * other.bytes,
                    max(self.footprint, other.footprint))

    def times(self, count: float) -> Work:
        """The same so often."""
        return Work(count * self.flops, count * self.doubles, count * self.special, count * self.bytes,
                    self.footprint or self.bytes)

    def memory_seconds(self, rates: Rates) -> float:
        """The least time in which its bytes move."""
        return self.bytes / rates.bandwidth_at(self.footprint or self.bytes) if self.bytes else 0.0

    def compute_seconds(self, rates: Rates) -> float:
        """The least time in which its arithmetic is done."""
        return (self.flops - self.doubles) / rates.singles + self.doubles / rates.doubles + self.special / rates.special

    def bound(self, rates: Rates) -> float:
        """The roofline's bound."""
        return max(self.memory_seconds(rates), self.compute_seconds(rates))


@dataclass
class Operation:
    """One row: a thunk of XLA's, or a part of native code. seconds, count, work: of one run. lines: the user's lines
    that it computes for, and each one's part, which are 1 together."""

    name: str
    kind: str
    what: str
    seconds: float
    count: float
    lines: dict[str, float] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    exchanges: bool = False
    """Whether it is a collective operation, in which devices wait for each other."""

    def limit(self, rates: Rates) -> str:
        """What limits it: "memory", "compute", "latency" (short, and often), "exchange" (between devices), "neither"
        (the bound is far)."""
        return EXCHANGE if self.exchanges else limit_of(self.seconds, self.count, self.work, rates)


def limit_of(seconds: float, count: float, work: Work, rates: Rates) -> str:
    """What limits something that runs `count` times in so many seconds, all together."""
    if seconds <= 0:
        return UNKNOWN
    memory, compute = work.memory_seconds(rates), work.compute_seconds(rates)
    if max(memory, compute) >= NEAR * seconds:
        return MEMORY if memory >= compute else COMPUTE
    if count and seconds / count <= max(SHORT, 2 * rates.call):
        return LATENCY
    return NEITHER if work.flops or work.special or work.bytes else UNKNOWN


@dataclass
class LineCost:
    """What a line of the user's costs: seconds of one run, and the operations that compute for it."""

    place: str
    seconds: float
    count: float
    work: Work
    operations: list[str]
    exchanging: float = 0.0
    """Seconds of them in collective operations."""

    @property
    def source(self) -> str:
        """Its text."""
        return text_at(self.place)


@dataclass
class Loop:
    """A loop: how often it is entered in a run, iterations in a run, and seconds of all of it."""

    place: str
    kind: str
    entered: float
    iterations: float
    seconds: float

    @property
    def each(self) -> float:
        """Seconds of an iteration."""
        return self.seconds / self.iterations if self.iterations else 0.0


@dataclass
class Span:
    """Something that happened, for traces: seconds from the beginning; where: a name for its row."""

    name: str
    begin: float
    end: float
    where: str
    line: str = ""
    told: dict[str, Any] = field(default_factory=dict)


@dataclass
class Measured:
    """Where the time of a program goes.

    seconds: of a run with everything measured, the mean of the faster half of `runs`. plain: of a run without it, the
    same mean. outside: seconds of a run before its first operation and after its last one (arguments, results, Python).
    between: those in which no operation ran. What operations have, `outside` and `between` are `seconds` together.
    spans: what happened in the fastest run, for traces.
    """

    name: str
    runs: int
    seconds: float
    plain: float
    operations: list[Operation]
    loops: list[Loop]
    rates: Rates
    outside: float = 0.0
    between: float = 0.0
    spans: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    compile_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def overhead(self) -> float:
        """The additional time of a run that is measured, as a part of a plain one."""
        return self.seconds / self.plain - 1 if self.plain else 0.0

    @property
    def lines(self) -> list[LineCost]:
        """The costs of the user's lines, what takes longest first; "" is what has no line."""
        found: dict[str, LineCost] = {}
        for op in self.operations:
            if op.kind == STAGE:
                continue
            for place, part in (op.lines or {"": 1.0}).items():
                line = found.setdefault(place, LineCost(place, 0.0, 0.0, Work(), []))
                line.seconds += part * op.seconds
                line.exchanging += part * op.seconds * op.exchanges
                line.count += op.count
                line.work = line.work.plus(op.work, part)
                line.operations.append(op.name)
        return sorted(found.values(), key=lambda line: -line.seconds)

    @property
    def compiling(self) -> float:
        """Seconds of stages of compilation, where these are among the operations (scripts)."""
        return sum(op.seconds for op in self.operations if op.kind == STAGE)

    @property
    def outside_plain(self) -> float:
        """What `outside` is without the profiler: what a plain run leaves of itself to it."""
        return min(self.outside, max(self.plain - (self.seconds - self.outside), 0.0)) if self.plain else self.outside

    @property
    def unattributed(self) -> float:
        """Seconds that no line of the user's has, as a part of all."""
        without = sum(op.seconds * (1 - sum(part for line, part in op.lines.items() if line)) for op in self.operations)
        return (without + self.outside + self.between) / self.seconds if self.seconds else 0.0

    def limit(self, line: LineCost) -> str:
        """What limits a line."""
        if line.exchanging > line.seconds / 2:
            return EXCHANGE
        return limit_of(line.seconds, line.count, line.work, self.rates)
