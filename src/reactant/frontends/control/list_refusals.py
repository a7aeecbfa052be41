"""How a list may grow in a loop so that the loop cannot carry it, and what to do instead."""
from __future__ import annotations

from reactant.errors import ControlFlowError


class ListError(ControlFlowError):
    """A list grows in a way that a loop cannot carry."""

    code = "list-grows-in-loop"


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
