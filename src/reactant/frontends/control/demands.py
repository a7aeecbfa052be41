"""What a loop asks to be traced again with.

`Demands` is what its attempts have noted so far, which the next one begins with. What leaves an attempt is a `Retrace`
with a demand (`session.retracing`): one of those below. The loop meets it (`loops.Loop.meets`), or what has chosen that
there be a loop (`loop_choice`).
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.control.joins import Plan
from reactant.frontends.control.trees import Kind
from reactant.frontends.session.retracing import Demand, Retrace
from reactant.support.records import dataclass

APPENDS, READS, POPS, SHIFTS = range(4)
"""What a loop does with a list, each more than the one before: appends to it, reads it, takes elements off its end, and
off its beginning."""


# ---- which the loop meets ----------------------------------------------------------------------------------------

class Noted(Demand):
    """Another attempt, with what this one has noted in the loop's `Demands`."""


@dataclass(eq=False)
class AsRows(Demand):
    """A list from before `loop` that is appended to in a branch, by another name than a variable: as rows of arrays."""

    loop: Any
    target: list
    error: Exception
    """What is raised where that cannot be."""
    others: list[tuple[Any, Any]] = field(default_factory=list)
    """Lists that are changed in the same way: what holds each of them, and under which key."""


@dataclass(eq=False)
class AsArray(Demand):
    """A list from before `loop` that is written at a run-time index: as an array."""

    loop: Any
    target: list
    kind: Kind
    error: Exception
    """What is raised where that cannot be."""


@dataclass(eq=False)
class MoreUse(Demand):
    """What is in a list's place does too little: the list is appended to in a branch or in a loop inside, or used for
    more."""

    stand_in: Any
    use: int = APPENDS


# ---- which the choice of loops meets ------------------------------------------------------------------------------

class Unroll(Demand):
    """One iteration after the other: the rule for unrolling says so."""


@dataclass(eq=False)
class Peel(Demand):
    """The first iteration on its own, and a loop after it; `error` says why there is none before."""

    error: ControlFlowError


class InOneIteration(Demand):
    """A list gets a run-time length by an `if` outside of loops: as a loop of one iteration."""


# ---- what is noted -----------------------------------------------------------------------------------------------

@dataclass(eq=False)
class Demands:
    """What attempts have shown that a loop has to be traced with."""

    kinds: dict[str, list[Kind | None]]
    """The kinds of each variable's leaves; None for a leaf that is carried as the object that it is."""
    fresh: frozenset[str]
    """Variables that begin an iteration as an empty list that nobody else knows."""
    replaced: set[str]
    """Variables into whose containers iterations put others."""
    ways: dict[tuple[str, int], str] = field(default_factory=dict)
    """Which way integers go: "up", "down", "any"."""
    later: dict[str, Plan] = field(default_factory=dict)
    """What else containers may be, from the second iteration on."""
    by_memory: set[tuple[str, int]] = field(default_factory=set)
    """Leaves that stay bound to the same part of an array that is written."""
    stand_ins: set[Storage] = field(default_factory=set)
    """Arrays in the place of None, which nothing else refers to."""
    unset: dict[str, BaseException] = field(default_factory=dict)
    """Variables that begin an iteration unbound, and what is raised where one reads them."""
    irregular: set[str] = field(default_factory=set)
    """Arrays whose shape iterations do not change alike."""
    awaited: set[str] = field(default_factory=set)
    """Variables that are read before the first iteration has bound them."""


def again_if(needed: bool) -> None:
    """Leave an attempt that has noted something, where another one is `needed` for that."""
    if needed:
        raise Retrace(Noted())
