"""What threads of a block do together, as data: calls of `reactant.` functions, and how the runtime knows them.

`runtime/reactant_frame.h` has the same codes. A thread that meets others writes its operands where its frame says,
and reads the answer when it goes on.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.text import NAME
from reactant.kernels.llvm_ir.signatures import split_arguments
from reactant.support.records import dataclass

KINDS = {"barrier.block": 10, "barrier.count": 11, "barrier.and": 12, "barrier.or": 13, "barrier.grid": 14,
         "barrier.warp": 20, "shuffle.idx": 21, "shuffle.up": 22, "shuffle.down": 23, "shuffle.xor": 24,
         "vote.ballot": 25, "vote.any": 26, "vote.all": 27, "vote.uni": 28, "match.any": 29, "match.all": 30,
         "activemask": 31, "reduce.add": 32, "reduce.min.i": 33, "reduce.max.i": 34, "reduce.min.u": 35,
         "reduce.max.u": 36, "reduce.and": 37, "reduce.or": 38, "reduce.xor": 39}
FIRST_OF_WARP = 20
_OPERANDS = {"barrier.count": "x", "barrier.and": "x", "barrier.or": "x", "barrier.warp": "m",
             **{f"shuffle.{how}": "mxyz" for how in ("idx", "up", "down", "xor")}}
"""Where the operands of a call go, by kind: m mask, x value, y lane, z width. "mx" for those that are not named."""
_CALL = re.compile(rf"^(?:(%{NAME}) = )?(?:tail |notail )?call ([^@]*)@reactant\.(\w+(?:\.\w+)*)\((.*)\)[^()]*$")


_ATTRIBUTES = re.compile(r"\b(fastcc|ccc|noundef|contract|nnan|ninf|nsz|arcp|afn|reassoc|fast|zeroext|signext|"
                         r"range\([^)]*\))(?![\w.])")


@dataclass
class Meeting:
    """One call: its kind, the operands by the letter of their place, the type of the answer ("void": none)."""

    kind: str
    operands: dict[str, tuple[str, str]]
    result: str | None
    type: str

    @property
    def code(self) -> int:
        return KINDS[self.kind]


def meeting(line: str) -> Meeting | None:
    """Read a line; None where it is no meeting."""
    if "@reactant." not in line or (found := _CALL.match(line)) is None:
        return None
    name = found[3]
    kind = name if name in KINDS else name.rsplit(".", 1)[0]
    if kind not in KINDS:
        return None
    from_line = _operands(found[4])
    letters = _OPERANDS.get(kind, "" if kind in ("barrier.block", "barrier.grid", "activemask") else "mx")
    result = _ATTRIBUTES.sub("", found[2]).strip()
    return Meeting(kind, dict(zip(letters, from_line, strict=True)), found[1], result)


def _operands(text: str) -> list[tuple[str, str]]:
    """(type, value) of each."""
    found = []
    for part in split_arguments(text):
        words = part.split()
        found.append((words[0], words[-1]))
    return found


def widened(kind: str, value: str, name: str) -> tuple[list[str], str]:
    """Instructions that make 64 bits of a value, and the result."""
    if kind == "i64":
        return [], value
    if kind == "double":
        return [f"%{name} = bitcast double {value} to i64"], f"%{name}"
    if kind == "float":
        return [f"%{name}.b = bitcast float {value} to i32", f"%{name} = zext i32 %{name}.b to i64"], f"%{name}"
    return [f"%{name} = zext {kind} {value} to i64"], f"%{name}"


def narrowed(kind: str, value: str, result: str) -> list[str]:
    """Instructions that define a result of 64 bits."""
    if kind == "i64":
        return [f"{result} = add i64 {value}, 0"]
    if kind == "double":
        return [f"{result} = bitcast i64 {value} to double"]
    if kind == "float":
        return [f"{result}.b = trunc i64 {value} to i32", f"{result} = bitcast i32 {result}.b to float"]
    return [f"{result} = trunc i64 {value} to {kind}"]
