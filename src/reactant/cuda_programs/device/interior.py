"""Groups of threads that are nowhere near a border: comparisons of an index with a bound, which choose between numbers
(`j > 0 ? k - 1 : k`, min(j, n - 1)), come out alike for all their threads.

For such groups there is a version of the kernel that compares for the first thread alone, so that addresses follow
each other. Whether a group is one says a function that compares for its first and its last thread.
"""
from __future__ import annotations

import copy
import re

from reactant.cuda_programs.device.affine import BASE, Steps
from reactant.cuda_programs.device.cuts import Anew
from reactant.cuda_programs.device.kernel import Kernel
from reactant.cuda_programs.device.text import VALUE, opcode_of
from reactant.support.records import dataclass

MOST = 12
"""Comparisons from which on no version is made."""
_COMPARED = re.compile(r"(%\S+) = icmp (?:samesign )?([su][lg][te]) i32 (%\S+|-?\d+), (%\S+|-?\d+)$")
_LIMITED = re.compile(r"(%\S+) = (?:tail )?call [^@]*i32 @llvm\.([su]m(?:in|ax))\.i32\("
                      r"i32 (?:range\([^)]*\) )?(%\S+|-?\d+), i32 (?:range\([^)]*\) )?(%\S+|-?\d+)\)")
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


@dataclass
class Interior:
    """The version: its kernel, and the comparisons that have to agree: (predicate, index, bound, whether it has to
    hold)."""

    kernel: Kernel
    comparisons: list[tuple[str, str, str, bool]]
    lines: dict[str, str]
    anew: Anew


def interior(made: Kernel, divergent: set[str]) -> Interior | None:
    """The version of a kernel for groups in the interior; None where nothing would be gained."""
    result = copy.deepcopy(made)
    function = result.function
    lines = made.function.definitions()
    read_only = {p.name for p in made.parameters if p.by_address and "readonly" in p.text}
    anew, steps = Anew(lines, read_only, set()), Steps(function, divergent, "first")
    comparisons: list[tuple[str, str, str, bool]] = []
    for block in function.blocks.values():
        at = 0
        while at < len(block):
            found = _COMPARED.match(block[at]) or _LIMITED.match(block[at])
            made_lines = found and _decided(found, block[at], steps, divergent, anew, comparisons)
            if found and made_lines:
                block[at:at + 1] = made_lines
                steps.lines[found[1]] = made_lines[-1]
                at += len(made_lines) - 1
            at += 1
    if not comparisons or len(comparisons) > MOST:
        return None
    return Interior(result, comparisons, lines, anew)


def _decided(found: re.Match, line: str, steps: Steps, divergent: set[str], anew: Anew,
             comparisons: list[tuple[str, str, str, bool]]) -> list[str] | None:
    name, how, a, b = found.groups()
    limited = how[1] == "m"
    index, bound = (a, b) if a in divergent else (b, a)
    if index not in divergent or bound in divergent or not _known(index, anew) or not _known(bound, anew):
        return None
    if not limited:
        if any(opcode_of(user) not in ("select", "sext", "zext") for user in steps.users.get(name, ())):
            return None
        if index == b:
            how = how[0] + _SWAPPED[how[1:]]
    else:
        how = how[0] + ("le" if how.endswith("min") else "ge")
    lines: list[str] = []
    followed = steps.followed(index, lines, 8)
    if followed is None or not 0 < followed[1] <= 16:
        return None
    comparisons.append((how, index, bound, limited))
    if not limited:
        return [*lines, f"{name} = icmp {how} i32 {followed[0]}, {bound}"]
    return [f"{name} = add i32 {index}, 0"]


def _known(value: str, anew: Anew) -> bool:
    """Whether a value follows from parameters alone."""
    return value not in anew.lines or anew.needed(value) is not None


def agreement(version: Interior, name: str, parameters: list[str], size: int) -> str:
    """`i1 name(parameters)`: whether the comparisons come out alike for a group's first and last thread. The last
    parameter of all is %tid.base."""
    lines = [f"  %tid.last = add i32 {BASE}, {size - 1}"]
    answers: dict[int, list[str]] = {}
    indices: dict[int, list[str]] = {}
    for end, register in enumerate((BASE, "%tid.last")):
        done: dict[str, None] = {}
        for _, index, bound, _ in version.comparisons:
            for value in (index, bound):
                if value in version.lines:
                    done.update(dict.fromkeys(version.anew.needed(value) or ()))
        own = dict.fromkeys(done)

        def renamed(text: str, end: int = end, register: str = register, own: dict[str, None] = own) -> str:
            return VALUE.sub(lambda m: register if m[0] == "%r.tid.x" else f"{m[0]}.e{end}" if m[0] in own else m[0],
                             text)
        lines += [f"  {renamed(version.lines[value])}" for value in done]
        for number, (how, index, bound, _) in enumerate(version.comparisons):
            lines.append(f"  %c.{number}.{end} = icmp {how} i32 {renamed(index)}, {renamed(bound)}")
            answers.setdefault(number, []).append(f"%c.{number}.{end}")
            indices.setdefault(number, []).append(renamed(index))
    total = "true"
    for number, (first, last) in answers.items():
        low, high = indices[number]                     # and the index does not wrap around in between
        order = version.comparisons[number][0][0]
        both = "and" if version.comparisons[number][3] else "icmp eq"
        lines += [f"  %d.{number} = {both} i1 {first}, {last}", f"  %o.{number} = icmp {order}le i32 {low}, {high}",
                  f"  %b.{number} = and i1 %d.{number}, %o.{number}",
                  f"  %a.{number} = and i1 {total}, %b.{number}"]
        total = f"%a.{number}"
    return (f"define internal i1 @{name}({', '.join(parameters)}) alwaysinline #REACTANT {{\n"
            + "\n".join([*lines, f"  ret i1 {total}"]) + "\n}\n")
