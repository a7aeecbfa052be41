"""What has to be traced again, and why: demands, the exception that carries one, and the driver of attempts.

A function, or a loop in it, is traced as it seems right at first. What an attempt shows to be needed from the beginning
is a `Demand`. Demands are kept from attempt to attempt, and there are only so many, so that attempts come to an end.

    settle(attempt, meets)      # attempt, until nothing more is demanded
    raise Retrace(demand)       # leaves an attempt: what is traced cannot be right without it
    raise Unmet(demand, ...)    # an error, unless something around can do better with the demand met
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactant.errors import ControlFlowError
from reactant.support.records import dataclass

T = TypeVar("T")


class Demand:
    """What a function or a loop has to be traced with. Those of loops are in `control.demands`."""


@dataclass(frozen=True)
class ByNumber(Demand):
    """Containers of this type that control flow takes one of: chosen as themselves (`values.tagged_union`)."""

    kind: str


@dataclass(frozen=True)
class RunTimeKeys(Demand):
    """Dicts and sets that take keys known only at run time (`prelude.run_time_keys`)."""


@dataclass(frozen=True)
class OneByOne(Demand):
    """Generators that give their elements as Python has it, where a loop has run one (`control.generator_loops`)."""


class AsItself(Demand):
    """Containers of a loop's variables carried as what they are, not by what they hold, where one is changed that may
    be another."""


RUN_TIME_KEYS, ONE_BY_ONE = RunTimeKeys(), OneByOne()


class Retrace(BaseException):
    """Leaves what is being traced, up to what can meet the demand. The user's handlers do not get it."""

    def __init__(self, demand: Demand):
        super().__init__()
        self.demand = demand


class Unmet(ControlFlowError):
    """A refusal that is none where something around meets the demand."""

    def __init__(self, demand: Demand, fact: str, *, code: str, hint: str | None = None):
        super().__init__(fact, hint=hint, code=code)
        self.demand = demand


def settle(attempt: Callable[[], T], meets: Callable[[BaseException], bool]) -> T:
    """What `attempt` returns at last. `meets` is asked with what an attempt was left with: whether another one may do
    better, which it prepares. It may raise what says more than that."""
    while True:
        found: BaseException | None = None
        try:
            return attempt()
        except BaseException as error:
            found = error
        try:        # with no exception being handled: errors of the next attempt are not about this one
            if not meets(found):
                raise found
        finally:
            found = None        # its frames refer to it
