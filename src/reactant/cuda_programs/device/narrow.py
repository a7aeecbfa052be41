"""Numbers of threads that do not overflow: blockIdx * blockDim + threadIdx and the like, marked so that LLVM sees that
consecutive threads access consecutive memory.

What is marked holds for launches within `limits` only, which are tested when a kernel starts.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.writer import Writer
from reactant.support.records import dataclass

MOST = 2**31


@dataclass(frozen=True)
class Term:
    """A part of a sum: below blocks along an axis * threads along an axis * factor; 1 for what is ""."""

    blocks: str
    threads: str
    factor: int


Sum = tuple[Term, ...]
_BINARY = re.compile(r"(\s*)(%\S+) = (mul|shl|add|or) ((?:nuw |nsw |disjoint )*)i32 (%\S+), (%\S+|-?\d+)(.*)$")


def narrowed(lines: list[str]) -> tuple[list[str], set[Sum]]:
    """Lines of a function in which such numbers are marked, and the sums that have to be below 2**31."""
    known: dict[str, Sum] = {}
    limits: set[Sum] = set()
    made = []
    for line in lines:
        found = _BINARY.match(line)
        value = found and _value(found[3], _sum(found[5], known), _sum(found[6], known), found[6])
        if not found or not value:
            made.append(line)
            continue
        known[found[2]] = value
        if any(term.blocks for term in value):
            limits.add(value)
        elif sum(1024 * (1024 if term.threads else 1) * term.factor for term in value) >= MOST:
            del known[found[2]]
            made.append(line)
            continue
        flags = found[4] if found[3] == "or" else "nuw nsw "
        made.append(f"{found[1]}{found[2]} = {found[3]} {flags}i32 {found[5]}, {found[6]}{found[7]}")
    return made, limits


def _sum(operand: str, known: dict[str, Sum]) -> Sum | None:
    if register := re.fullmatch(r"%r\.(ctaid|nctaid|tid|ntid)\.([xyz])", operand):
        kind, axis = register.groups()
        return (Term(axis, "", 1),) if "cta" in kind else (Term("", axis, 1) if kind == "ntid" else Term("", "", 1),)
    return known.get(operand)


def _value(how: str, a: Sum | None, b: Sum | None, text: str) -> Sum | None:
    if a is None:
        return None
    if re.fullmatch(r"\d+", text):
        factor = int(text) if how == "mul" else 1 << int(text) if how == "shl" and int(text) < 24 else 0
        if not 0 < factor < 2**24:
            return None
        return tuple(Term(t.blocks, t.threads, t.factor * factor) for t in a)
    if b is None:
        return None
    if how in ("add", "or"):
        return tuple(sorted((*a, *b), key=lambda t: (t.blocks, t.threads, t.factor)))
    if how == "mul" and len(a) == len(b) == 1:
        (one,), (other,) = a, b
        if not (one.blocks and other.blocks or one.threads and other.threads):
            return (Term(one.blocks or other.blocks, one.threads or other.threads,
                         one.factor * other.factor * (1 if (one.threads or one.blocks) and
                                                      (other.threads or other.blocks) else 1024)),)
    return None


def within(f: Writer, limits: set[Sum]) -> str:
    """Whether a launch is within limits: an i1."""
    result = "true"
    for limit in sorted(limits, key=str):
        total = "0"
        for term in limit:
            value = str(term.factor)
            for kind, axis in (("nctaid", term.blocks), ("ntid", term.threads)):
                if axis:
                    value = f.let(f"mul i64 {value}, {f.let(f'zext i32 %r.{kind}.{axis} to i64')}")
            if not term.blocks and not term.threads:
                value = str(term.factor * 1024)
            total = f.let(f"add i64 {total}, {value}")
        small = f.let(f"icmp ult i64 {total}, {MOST}")
        result = f.let(f"and i1 {result}, {small}")
    return result
