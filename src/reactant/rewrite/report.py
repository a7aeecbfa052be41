"""What a run of rules did: which fired, how often, how long they took, and on which lines of the user's program."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from jaxlib.mlir import ir

from reactant.ir.locations import file_and_line
from reactant.support.records import dataclass


@dataclass
class Firing:
    """One rule's record."""
    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Rewrite:
    """One rewrite: the rule, the user's line (or ""), the op it replaced and what it built, as text."""
    rule: str
    line: str
    before: str
    after: tuple[str, ...]


@dataclass
class Chain:
    """What became of one op: rule after rule, each on the op before or on one that a rule of this chain built."""
    line: str
    op: str
    steps: list[tuple[str, Counter[str]]] = field(default_factory=list)
    """Rules, and the names of the ops they built."""

    def __str__(self) -> str:
        return " -> ".join([_word(self.op), *(f"{rule} ({_words(built)})" for rule, built in self.steps)])


def _word(name: str) -> str:
    return name.removeprefix("stablehlo.")


def _words(built: Counter[str]) -> str:
    words = [_word(name) + (f" x{count}" if count > 1 else "") for name, count in built.items()]
    return ", ".join(words) or "nothing new"


_following = [False]


@contextmanager
def following() -> Iterator[None]:
    """Reports that are made meanwhile record chains of rewrites."""
    before, _following[0] = _following[0], True
    try:
        yield
    finally:
        _following[0] = before


def is_following() -> bool:
    """Whether reports that are made now record chains of rewrites."""
    return _following[0]


@dataclass
class Leaving:
    """Results that may leave the range of the floats that a program's floats have become. flags: the program's result
    that says which checks have held; those of the places are put before them, or in a new result where it is None.
    places: the operation, the file and line where they are known, and the limbs."""
    flags: int | None = None
    places: list[tuple[str, tuple[str, int] | None, str]] = field(default_factory=list)


@dataclass
class Became:
    """What has become of the floats of one format, limbs. arguments, results: how many are split and joined. left: the
    operations that keep the format, by name and line."""
    source: str
    limbs: str
    arguments: int = 0
    results: int = 0
    left: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __str__(self) -> str:
        said = ", ".join(f"{name}{f' x{count}' if count > 1 else ''} ({place or 'no source line'})"
                         for (name, place), count in self.left.items())
        ends = [f"{count} {name}{'s' if count != 1 else ''}" for count, name in (
            (self.arguments, "argument"), (self.results, "result"))]
        return f"{self.source} became {self.limbs}, but for {' and '.join(ends)}" + (
            f"; what keeps its format: {said}" if said else "")


@dataclass
class Report:
    """The record of one or several passes over a module."""
    fired: dict[str, Firing] = field(default_factory=dict)
    passes: list[tuple[str, float]] = field(default_factory=list)
    visited: int = 0
    operations_before: int = 0
    operations_after: int = 0
    not_converged: list[str] = field(default_factory=list)
    derivatives: list[tuple[str, str, int, int]] = field(default_factory=list)
    """What was differentiated: the mode, the function, its operations and those of its derivative."""
    kept: bytes | None = field(default=None, repr=False)
    """The module before it took the forms that suit XLA, where a pipeline keeps it."""
    settled: frozenset[Any] | None = field(default=None, repr=False)
    """The rules that fire nowhere in it, where known: then it has no dead op and no two equal ones."""
    leaving: Leaving | None = field(default=None, repr=False)
    """Where somebody wants to know it: which results may leave the range of limbs."""
    became: list[Became] = field(default_factory=list)
    """What has become of which floats."""
    limit: int | None = None
    """Stop after so many rewrites; `last` is then what the last one was."""
    last: Rewrite | None = None
    chains: list[Chain] | None = field(default_factory=lambda: [] if _following[0] else None, repr=False)
    """What became of each op that was rewritten, where that is recorded (`following`)."""
    _chain_of: dict[int, Chain] = field(default_factory=dict, repr=False)
    _lines: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _locations: list[tuple[str, ir.Location]] = field(default_factory=list, repr=False)

    def add(self, rule: str, seconds: float, location: ir.Location) -> None:
        firing = self.fired.get(rule)
        if firing is None:
            firing = self.fired[rule] = Firing()
        firing.count += 1
        firing.seconds += seconds
        self._locations.append((rule, location))

    def take(self, other: Report, times: int) -> None:
        """Add the rewrites of another report, each of which stands for so many."""
        for rule, firing in other.fired.items():
            mine = self.fired.setdefault(rule, Firing())
            mine.count += times * firing.count
            mine.seconds += firing.seconds
        self.visited += other.visited
        self.not_converged += other.not_converged
        self._locations += times * other._locations

    def follow(self, op: ir.Operation, rule: str, built: Sequence[ir.Operation]) -> None:
        """Record a rewrite of `op` in its chain; before the op is erased."""
        address = hash(op.results[0]) if len(op.results) else None
        chain = None if address is None else self._chain_of.get(address)
        if chain is None:
            chain = Chain(source_line(op.location), op.name)
            self.chains.append(chain)       # type: ignore[union-attr]
        chain.steps.append((rule, Counter(each.name for each in built)))
        for each in built:
            for result in each.results:
                self._chain_of[hash(result)] = chain

    def counts(self) -> list[tuple[str, int]]:
        """(rule, number of firings), most frequent first."""
        return sorted(((name, firing.count) for name, firing in self.fired.items()), key=lambda row: -row[1])

    @property
    def rewrites(self) -> int:
        """Number of rewrites done."""
        return sum(firing.count for firing in self.fired.values())

    @property
    def full(self) -> bool:
        """Whether no further rewrite is allowed."""
        return self.limit is not None and self.rewrites >= self.limit

    @property
    def last_allowed(self) -> bool:
        """Whether the rewrite about to be done is the last one."""
        return self.limit is not None and self.rewrites + 1 == self.limit

    @property
    def lines(self) -> Counter[tuple[str, str]]:
        """How often a rule fired on a line ("file:line"). Read from the locations of ops when somebody asks."""
        locations, self._locations = self._locations, []
        self._lines.update((rule, source_line(location)) for rule, location in locations)
        return self._lines

    def by_line(self) -> dict[str, dict[str, int]]:
        """User's line ("file:line") to rule name to number of firings."""
        result: dict[str, dict[str, int]] = {}
        for (rule, line), count in self.lines.items():
            result.setdefault(line, {})[rule] = count
        return result

    def __str__(self) -> str:
        rows = sorted(self.fired.items(), key=lambda item: -item[1].count)
        table = [f"{firing.count:6d}  {1e3 * firing.seconds:8.2f} ms  {name}" for name, firing in rows]
        return "\n".join([f"{self.operations_before} -> {self.operations_after} operations, "
                          f"{self.rewrites} rewrites", *table])


def source_line(location: ir.Location) -> str:
    """`file:line` of the innermost user frame of a location, or "" where there is none."""
    found = file_and_line(location)
    return f"{found[0]}:{found[1]}" if found else ""


def short_place(place: str) -> str:
    """A `file:line` without the file's folder."""
    file, _, line = place.rpartition(":")
    return f"{os.path.basename(file)}:{line}" if file else place
