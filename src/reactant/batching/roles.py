"""The roles of the values that a loop carries: what iterations do to each (`raising` finds them and says what they
mean)."""
from __future__ import annotations

from typing import Any, TypeAlias

from jaxlib.mlir import ir

from reactant.batching.accesses import Window
from reactant.batching.recurrences import Recurrence
from reactant.ir.induction import Counter
from reactant.support.records import dataclass

Formula: TypeAlias = Any


@dataclass(frozen=True)
class Term:
    """An element of a reduction, where a condition holds (0-d booleans, all of them)."""

    value: ir.Value
    conditions: tuple[ir.Value, ...] = ()
    negated: bool = False


@dataclass
class Role:
    """What happens to carried value `index`; `needs`: the values of the body that all iterations have to give."""

    index: int

    @property
    def needs(self) -> list[ir.Value]:
        return []


@dataclass
class Count(Role):
    counter: Counter


@dataclass
class Written(Role):
    writes: list[ir.Operation]
    windows: list[Window]
    versions: list[ir.Value]

    @property
    def needs(self) -> list[ir.Value]:
        return [write.operands[1] for write in self.writes]


@dataclass
class Reduced(Role):
    name: str
    terms: list[Term]

    @property
    def needs(self) -> list[ir.Value]:
        return [v for term in self.terms for v in (term.value, *term.conditions)]


@dataclass
class Scattered(Role):
    name: str
    terms: list[Term]
    write: ir.Operation

    @property
    def needs(self) -> list[ir.Value]:
        starts = list(self.write.operands)[2:]
        return [*starts, *(v for term in self.terms for v in (term.value, *term.conditions))]


@dataclass
class Latch(Role):
    """A flag, true until the first iteration in which a flag of its group becomes false; then it is what `outcome`
    says in that iteration. Outcomes are formulas: a value, True, False, ("not", a), ("and", a, b) or ("or", a, b)."""

    outcome: Formula
    group: dict[int, Formula]

    @property
    def needs(self) -> list[ir.Value]:
        return [atom for outcome in self.group.values() for atom in atoms(outcome)]


@dataclass
class Extreme(Role):
    """value, where `element` compares with carried value `of` as `direction` says."""

    value: ir.Value
    element: ir.Value
    of: int
    direction: str

    @property
    def needs(self) -> list[ir.Value]:
        return [self.value, self.element]


@dataclass
class Last(Role):
    value: ir.Value
    condition: ir.Value | None = None

    @property
    def needs(self) -> list[ir.Value]:
        return [self.value] if self.condition is None else [self.value, self.condition]


@dataclass
class Shifted(Role):
    value: ir.Value

    @property
    def needs(self) -> list[ir.Value]:
        return [self.value]


@dataclass
class Scanned(Shifted):
    """What a recurrence makes that can be done for all iterations in a few steps, at the price of another order."""

    recurrence: Recurrence

    @property
    def needs(self) -> list[ir.Value]:
        return self.recurrence.needs


@dataclass
class Recurrent(Role):
    pass


def formula(word: str, *parts: Formula) -> Formula:
    """A formula, simplified where a part is known."""
    if word == "not":
        return not parts[0] if isinstance(parts[0], bool) else ("not", parts[0])
    absorbing = word == "or"
    if any(part is absorbing for part in parts):
        return absorbing
    left = [part for part in parts if part is not (not absorbing)]
    return not absorbing if not left else left[0] if len(left) == 1 else (word, *left)


def atoms(outcome: Formula) -> list[ir.Value]:
    """The values in a formula."""
    if isinstance(outcome, ir.Value):
        return [outcome]
    return [] if isinstance(outcome, bool) else [atom for part in outcome[1:] for atom in atoms(part)]
