"""What a loop asks to be traced again with, and what it refuses: signals from the code of a body to the loop around."""
from __future__ import annotations

from typing import Any

from reactant.errors import ControlFlowError
from reactant.frontends.control.snapshots import Kind


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
    """A variable that earlier iterations of a loop may have bound is read in an iteration that knows of none: the first
    one."""

    def __init__(self, name: str):
        super().__init__(unbound(name))
        self.name = name


class NeedsGrower(BaseException):
    """A list from before `loop` is appended to in a branch, by another name than a variable."""

    target: list | None      # the only reference, which its handler takes

    def __init__(self, loop: Any, target: list, error: Exception):
        self.loop, self.target, self.error, self.args = loop, target, error, ()
        self.others: list[tuple[Any, Any]] = []
        """Lists that are changed in the same way: what holds each of them, and under which key."""


class BranchChangesList(ControlFlowError):
    """A list has a run-time length after an `if` outside of loops."""


class NeedsArray(BaseException):
    """A list from before `loop` is written at a run-time index."""

    target: list | None      # the only reference, which its handler takes

    def __init__(self, loop: Any, target: list, kind: Kind, error: Exception):
        self.loop, self.target, self.kind, self.error = loop, target, kind, error
        self.args = ()


class ListError(ControlFlowError):
    """A list grows in a way that a loop cannot carry."""

    code = "list-grows-in-loop"


APPENDS, READS, POPS, SHIFTS = range(4)
"""What a loop does with a list, each more than the one before: appends to it, reads it, takes elements off its end, and
off its beginning."""


class Deeper(BaseException):
    """What stands for a list does too little: it is appended to in a branch or in a loop inside, or used for more."""

    def __init__(self, stand_in: Any, use: int = APPENDS):
        self.stand_in, self.use = stand_in, use


STORE = "Store into an array that is made before the loop: out = np.zeros(n); out[i] = ..."
GROWS = {
    "renamed": ("that gets another name or place", STORE),
    "seen": ("under a condition only known at run time, while other code sees it", STORE),
    "written later": ("by an array that is written in place later", "Append a copy: x.copy()."),
    "seen array": ("by an array that other code sees", "Append a copy: x.copy()."),
    "seen object": ("by an object that other code sees", STORE),
    "seen container": ("by a {kind} that other code sees, under conditions", "Append a copy of it."),
    "held object": ("by an object that a variable has held since an earlier iteration", STORE),
    "written list": ("by a list that the loop also writes into", "Append a copy: list(x)."),
    "written parts": ("by parts of an array that the loop writes", "Append a copy: x[...].copy()."),
    "made anew": ("by objects that each iteration makes, and that are no numbers or arrays",
                  "Append the numbers and arrays that they hold."),
    "objects": ("by different objects that are no numbers or arrays", "Append the numbers and arrays that they hold."),
    "objects of a class": ("by objects of type {kind} under conditions",
                           "Append the numbers and arrays that they hold."),
    "no value": ("by something that has no value on some paths", "Assign it on all paths."),
    "structure": ("by elements of different structure", "Append numbers, arrays or tuples of one structure."),
    "kinds": ("by {problem}", "Append numbers, arrays or tuples of one structure."),
    "room": ("under a condition only known at run time, by up to {room:.1f} GiB", STORE),
    "outside of a loop": ("that has a run-time length, outside of a loop, by an element of another kind",
                          "Append what is like its elements."),
    "element written": ("of which an element is written in place", STORE),
    "elements replaced": ("of which elements that are no numbers get other values", STORE),
    "truth": ("whose truth decides where only Python can", "Ask len(items) > 0."),
    "method": ("and is changed by {name}", STORE),
    "other use": ("with which the loop does more than to append, or read elements", STORE),
    "looped over": ("while a loop runs over it", "Loop with `while` and an index, or append to another list."),
    "looped over and changed": ("or changes while a loop runs over it",
                                "Loop with `while` and an index, or append to another list."),
}
"""How a list may grow so that no loop can carry it, and what to do instead."""


def refusal(way: str, **told: object) -> ListError:
    """The error for a row of `GROWS`; told: what its text asks for."""
    why, hint = GROWS[way]
    return ListError(f"A list grows {why.format(**told)}, inside a loop that runs inside compiled code.", hint=hint,
                     code="list-grows-in-loop")
