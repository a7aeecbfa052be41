"""Which code can see the order of a set of texts, which differs from process to process.

Python hashes texts with a number that each process draws, unless PYTHONHASHSEED says it. A program that was made by
going through such a set has another process's order. So what may see it is told apart from what only asks `x in s`;
sets of numbers have one order everywhere.
"""
from __future__ import annotations

import dis
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from reactant.cache.code_objects import with_inner
from reactant.support.session import NUMBERS

KNOWN = sys.version_info < (3, 14)
"""Whether the instructions of this Python are those that were looked at (3.11 to 3.13); others tell nothing."""
_SKIPPED = frozenset(("CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL", "NOT_TAKEN"))
_MAKES = frozenset(dis.opmap[name] for name in ("BUILD_SET", "SET_ADD"))
_VIEWS = frozenset(("keys", "items"))
_GONE_THROUGH = frozenset("""GET_ITER CALL CALL_FUNCTION_EX RETURN_VALUE CONTAINS_OP LIST_EXTEND UNPACK_SEQUENCE POP_TOP
    DICT_UPDATE DICT_MERGE YIELD_VALUE""".split())
"""What may follow a call of `keys()`, in the order of the dict."""


def is_drawn() -> bool:
    """Whether each process has an order of its own."""
    return os.environ.get("PYTHONHASHSEED", "random") in ("", "random")


def of_this_process() -> str:
    """What tells orders of different processes apart."""
    return str(hash("in which order"))


def is_fixed(values: Iterable[Any]) -> bool:
    """Whether a set of these values has the same order in every process."""
    return all(isinstance(x, NUMBERS) or type(x) is tuple and is_fixed(x) for x in values)


def sees(code: CodeType) -> str:
    """How code may see the order of a set that it makes; empty if it does not. Inner functions are not looked at."""
    constants = [x for x in code.co_consts if type(x) is frozenset and len(x) > 1 and not is_fixed(x)]
    makes = not _MAKES.isdisjoint(code.co_code[::2])
    if not constants and not makes and _VIEWS.isdisjoint(code.co_names):
        return ""
    if not KNOWN:
        return "makes a set, or goes through a dict, in code of a Python whose instructions are not known here"
    found = list(_steps(code))
    for k, (step, after) in enumerate(zip(found, found[1:], strict=False)):
        made = any(step.argval is x for x in constants) or step.opname == "BUILD_SET" and not _is_of_numbers(found, k)
        if step.opname == "SET_ADD" or made and after.opname != "CONTAINS_OP":
            return "makes a set"
    if _combines(found) and any(_is_kept(found, k) for k, step in enumerate(found)
                                if step.argval in _VIEWS and step.opname in ("LOAD_ATTR", "LOAD_METHOD")):
        return "makes a set of the keys of dicts"
    return ""


def only_asked(code: CodeType) -> set[str]:
    """The global names of code, and of the functions inside it, that stand nowhere but after `in`."""
    asked: set[str] = set()
    other: set[str] = set()
    if not KNOWN:
        return asked
    for each in with_inner(code):
        found = list(_steps(each))
        for step, after in zip(found, [*found[1:], found[-1]], strict=True):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                (asked if after.opname == "CONTAINS_OP" else other).add(step.argval)
            elif isinstance(step.argval, str) and step.opname not in ("LOAD_CONST", "LOAD_FAST"):
                other.add(step.argval)
    return asked - other


def _steps(code: CodeType) -> Iterator[dis.Instruction]:
    return (step for step in dis.get_instructions(code) if step.opname not in _SKIPPED)


def _is_of_numbers(found: list[dis.Instruction], at: int) -> bool:
    """Whether the set that is built there has no two elements, or numbers of the code only."""
    count = found[at].arg or 0
    return count < 2 or all(isinstance(step.argval, NUMBERS) and step.opname.startswith("LOAD_")
                            for step in found[max(at - count, 0):at])


def _combines(found: list[dis.Instruction]) -> bool:
    return any(step.opname == "BINARY_OP" and step.argrepr.rstrip("=") in ("&", "|", "^", "-") for step in found)


def _is_kept(found: list[dis.Instruction], at: int) -> bool:
    """Whether what `keys` gives may become an operand."""
    after = found[at + 2] if at + 2 < len(found) and found[at + 1].opname == "CALL" else found[-1]
    return after.opname not in _GONE_THROUGH
