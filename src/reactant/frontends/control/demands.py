"""What a loop asks to be traced again with, and what it refuses: signals from the code of a body to the loop around."""
from __future__ import annotations

from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends.control.state import Kind


def unbound(name: str) -> str:
    """Python's words for it."""
    return f"cannot access local variable '{name}' where it is not associated with a value"


class Unroll(Exception):
    """The rule for unrolling says so."""


class NeedsPeeling(Exception):
    """The loop can be staged once its first iteration has run on its own; `error` says why not before."""

    def __init__(self, error: ControlFlowError):
        super().__init__(str(error))
        self.error = error


class LateRead(UnboundLocalError):
    """A variable that earlier turns of a loop may have bound is read in a turn that knows of none: the first one."""

    def __init__(self, name: str):
        super().__init__(unbound(name))
        self.name = name


class NeedsGrower(BaseException):
    """A list from before `loop` is appended to in a branch, by another name than a variable."""

    def __init__(self, loop: Any, target: list, error: Exception):
        self.loop, self.target, self.error, self.args = loop, target, error, ()     # the only reference
        self.others: list[tuple[Any, Any]] = []
        """Lists that are changed in the same way: what holds each of them, and under which key."""


class BranchChangesList(ControlFlowError):
    """A list has a run-time length after an `if` outside of loops."""


class NeedsArray(BaseException):
    """A list from before `loop` is written at a run-time index."""

    def __init__(self, loop: Any, target: list, kind: Kind, error: Exception):
        self.loop, self.target, self.kind, self.error = loop, target, kind, error
        self.args = ()      # the only reference


class ListError(ControlFlowError):
    """A list grows in a way that a loop cannot carry."""


APPENDS, READS, POPS, SHIFTS = range(4)
"""What a loop does with a list, each more than the one before: appends to it, reads it, takes elements off its end, and
off its beginning."""


class Deeper(BaseException):
    """What stands for a list does too little: it is appended to in a branch or in a loop inside, or used for more."""

    def __init__(self, stand_in: Any, use: int = APPENDS):
        self.stand_in, self.use = stand_in, use


def refusal(why: str) -> ListError:
    return ListError(f"A list grows {why}, inside a loop that runs inside compiled code. Store into an array "
                     f"that is made before the loop: out = np.zeros(n); out[i] = ...")
