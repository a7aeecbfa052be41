"""Failing assertions: `assert` of C and CUDA C++, traps, and what Numba kernels raise.

The ways in leave a call where a thread fails. As on a GPU without debugging, nothing is reported: `assert` does
nothing, a Numba thread that raises is over. A checked launch (`check=True`) keeps the calls, as
`reactant.assertion.<text>`, and ends with `KernelFailure`.
"""
from __future__ import annotations

import linecache
import re

from reactant.errors import RUN_TIME_ERRORS, ReactantError

MARK = "reactant: failed: "
"""What the messages of failed assertions start with."""
PREFIX = "reactant.assertion."
ATTRIBUTES = "nounwind memory(inaccessiblemem: readwrite)"


class KernelFailure(ReactantError, AssertionError):
    """An assertion of a kernel does not hold, or a thread raises an exception; names the kernel's line."""

    code = "kernel-assertion"


RUN_TIME_ERRORS[MARK] = KernelFailure

_IN_SOURCE = re.compile(r"^ *(?:tail )?call (?:void|i32) @(__reactant_assertion|__assertfail|__assert_fail|"
                        r"__reactant_trap|llvm\.trap|llvm\.debugtrap)\(([^\n]*)\)[^()\n]*?(, !dbg !\d+)?"
                        r"(?:, !srcloc !\d+)?$", re.MULTILINE)
_OURS = re.compile(rf"^ *call void @{re.escape(PREFIX)}\w*\(\)[^\n]*\n|"
                   rf"^declare void @(?:{re.escape(PREFIX)}\w*|__reactant_assertion)\([^\n]*\n", re.MULTILINE)
_NUMBA = re.compile(r'^define [^\n]*\bi32 [^\n]*\([^\n]*%"?\.ret"?[^\n]*\n.*?^\}', re.MULTILINE | re.DOTALL)
_RAISED = re.compile(r"^( *)ret i32 [1-9]\d*(, !dbg !\d+)? *$", re.MULTILINE)


def name_of(text: str) -> str:
    """The function that a thread calls where it fails."""
    return PREFIX + text.encode().hex()


def message_of(name: str, kernel: str, place: tuple[str, int, int] | None) -> str:
    """What a failed check says, from the name of the function and where the call is."""
    text = bytes.fromhex(name.removeprefix(PREFIX)).decode()
    if not text and place is not None:
        text = linecache.getline(place[0], place[1]).strip()
    at = f", at {place[0]}:{place[1]}" if place else ""
    return f"{MARK}the kernel '{kernel}' fails{at}{f': {text}' if text else ''}"


def resolved(text: str, check: bool) -> str:
    """A module, as it came from a compiler, with calls for a checked launch, or without what reports nothing."""
    if not check:       # others of these end the thread, and are refused later
        text = re.sub(r"^ *(?:tail )?call void @__reactant_assertion\([^\n]*\n", "", text, flags=re.MULTILINE)
        return _OURS.sub("", text)
    names = set(re.findall(rf"@({re.escape(PREFIX)}\w*)", text))

    def named(found: re.Match) -> str:
        names.add(name_of(_condition(text, found[1], found[2])))
        return f"  call void @{name_of(_condition(text, found[1], found[2]))}(){found[3] or ''}"
    text = _OURS.sub(lambda m: m[0] if "call" in m[0] else "", _IN_SOURCE.sub(named, text))
    return text + "".join(f"declare void @{name}() {ATTRIBUTES}\n" for name in sorted(names))


def _condition(text: str, function: str, operands: str) -> str:
    """What is asserted: the first operand, a string of the module."""
    if "trap" in function:
        return "trap"
    symbol = re.search(r"@([\w.$]+)", operands)
    content = re.search(rf'^@{re.escape(symbol[1])} = [^\n]* c"([^\n]*?)\\00"', text, re.MULTILINE) if symbol else None
    if content is None:
        return "assert"
    spelled = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), content[1])
    return f"assert({spelled})"


def with_raising(text: str) -> str:
    """A module of Numba's device functions, with a call where they return an exception."""
    if not re.search(r"\bret i32 [1-9]", text):
        return text
    name = name_of("")
    marked = _NUMBA.sub(lambda function: _RAISED.sub(
        lambda m: f"{m[1]}call void @{name}(){m[2] or ''}\n{m[0]}", function[0]), text)
    return marked if marked == text else f"{marked}\ndeclare void @{name}()\n"
