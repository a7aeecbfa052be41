"""Addresses of consecutive threads: an index that follows threadIdx.x by a constant step, in 32 bits, is widened before
the step is added, so that LLVM sees a step between addresses.

The sum might wrap around within a group of threads in 32 bits only. As an index of memory such a number is meaningless:
it is 2**31 elements away from the other threads' (signed arithmetic that wraps around is not defined in C++, and
conversions of unsigned numbers beyond 2**31 to int would make it negative). So only indices of memory are rewritten.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.text import Function, opcode_of, result_of, uses_of

BASE, LANE = "%tid.base", "%lane.64"
"""threadIdx.x of the group's first thread, and the number of a thread in its group: defined by who runs the code."""
_EXTENDED = re.compile(r"(%\S+) = (?:sext|zext nneg) i32 (%\S+) to i64$")
_BINARY = re.compile(r"= (add|sub|mul|shl|or) (?:(?:nuw|nsw|disjoint) )*i32 (%\S+|-?\d+), (%\S+|-?\d+)$")
_CHOSEN = re.compile(r"= select i1 (%\S+), i32 (%\S+|-?\d+), i32 (%\S+|-?\d+)$")
_DEEPEST = 3


def with_steps(function: Function, divergent: set[str], hide: bool = True) -> None:
    """Rewrite a function's indices; `divergent`: values that differ between threads of a group. `hide`: for LLVM's
    vectoriser of loops."""
    Steps(function, divergent).run()
    if hide:
        hide_bits(function, divergent)


class Steps:
    """Finds how values follow threadIdx.x."""

    def __init__(self, function: Function, divergent: set[str], prefix: str = "step") -> None:
        self.prefix = prefix
        self.function, self.divergent = function, divergent
        self.lines = function.definitions()
        self.users: dict[str, list[str]] = {}
        for block in function.blocks.values():
            for line in block:
                for used in uses_of(line):
                    self.users.setdefault(used, []).append(line)
        self._made = 0

    def run(self) -> None:
        for block in self.function.blocks.values():
            at = 0
            while at < len(block):
                found = _EXTENDED.match(block[at])
                if found and found[2] in self.divergent and self._address(found[1], _DEEPEST):
                    made: list[str] = []
                    followed = self.followed(found[2], made, 8)
                    if followed is not None and followed[1]:
                        base, step = followed
                        self._made += 1
                        n = self._made
                        made += [f"%{self.prefix}.{n}.base = sext i32 {base} to i64",
                                 f"%{self.prefix}.{n}.lane = mul nsw i64 {LANE}, {step}",
                                 f"{found[1]} = add nsw i64 %{self.prefix}.{n}.base, %{self.prefix}.{n}.lane"]
                        self.divergent.update((f"%{self.prefix}.{n}.lane",))
                        block[at:at + 1] = made
                        at += len(made) - 1
                at += 1

    def _address(self, name: str, depth: int) -> bool:
        """Whether a value serves as an index of memory, and as nothing else."""
        for line in self.users.get(name, ()):
            result = result_of(line)
            rest = line.partition(" = ")[2]
            if rest.startswith("getelementptr "):
                continue
            if result is None or depth == 0 or not re.match(r"(add|sub|mul|shl|or) ", rest) or \
                    not self._address(result, depth - 1):
                return False
        return True

    def followed(self, name: str, made: list[str], depth: int) -> tuple[str, int] | None:
        """(the value for the group's first thread, the step from thread to thread)."""
        if name == "%r.tid.x":
            return BASE, 1
        if name[0] != "%" or name not in self.divergent:
            return name, 0
        line = self.lines.get(name, "")
        if depth and (chosen := _CHOSEN.search(line)) and chosen[1] not in self.divergent:
            return self._chosen((chosen[1], chosen[2], chosen[3]), made, depth)
        found = _BINARY.search(line)
        if depth == 0 or found is None:
            return None
        how, a, b = found.groups()
        if how == "or" and "disjoint" not in self.lines[name]:
            return None
        left, right = self.followed(a, made, depth - 1), self.followed(b, made, depth - 1)
        if left is None or right is None:
            return None
        if how in ("add", "sub", "or"):
            step = left[1] + (-right[1] if how == "sub" else right[1])
        elif not re.fullmatch(r"-?\d+", b):
            return None
        else:
            step = left[1] * (1 << int(b) if how == "shl" and int(b) < 24 else int(b) if how == "mul" else 0)
        if abs(step) > 2**20:
            return None
        self._made += 1
        made.append(f"%{self.prefix}.{self._made} = {'add' if how == 'or' else how} i32 {left[0]}, {right[0]}")
        return f"%{self.prefix}.{self._made}", step

    def _chosen(self, choice: tuple[str, str, str], made: list[str], depth: int) -> tuple[str, int] | None:
        """A choice (condition, one, other) that is the same for all threads."""
        condition, a, b = choice
        left, right = self.followed(a, made, depth - 1), self.followed(b, made, depth - 1)
        if left is None or right is None or left[1] != right[1]:
            return None
        self._made += 1
        made.append(f"%{self.prefix}.{self._made} = select i1 {condition}, i32 {left[0]}, i32 {right[0]}")
        return f"%{self.prefix}.{self._made}", left[1]


# -- numbers that LLVM must not look through

ZERO = "@reactant_zero"
"""A variable of the runtime that is always 0, which LLVM does not know."""
_BITS = re.compile(r"= (?:and|lshr|ashr|udiv|urem|sdiv|srem|xor) (?:(?:exact|disjoint) )*(i32|i64) ")
_ARITHMETIC = {"add", "sub", "mul", "shl", "or", "sext", "zext", "trunc", "select",
               "and", "lshr", "ashr", "udiv", "urem", "sdiv", "srem", "xor"}


def hide_bits(function: Function, divergent: set[str]) -> None:
    """Hide bits of thread numbers in addresses from LLVM, by an exclusive or with a 0 that it does not know.

    Its loop vectoriser (22.1) takes addresses such as 2 t - (t & 3) for consecutive ones in vectors of eight, of which
    only four follow each other: a wrong result, without a warning. What it cannot see through it reads one by one.
    """
    lines = function.definitions()
    hidden = {name for line in lines.values() if "= getelementptr " in line
              for index in uses_of(line) for name in _bits_in(index, lines, divergent)}
    for block in function.blocks.values():
        at = 0
        while at < len(block):
            name = result_of(block[at])
            if name in hidden:
                width = _BITS.search(block[at])[1]          # type: ignore[index]
                made = [f"{name}.seen {block[at].partition(' ')[2]}",
                        f"{name}.zero.32 = load i32, ptr {ZERO}, align 4, !invariant.load !{{}}"]
                zero = f"{name}.zero.32"
                if width == "i64":
                    zero = f"{name}.zero"
                    made.append(f"{zero} = zext i32 {name}.zero.32 to i64")
                made.append(f"{name} = xor {width} {name}.seen, {zero}")
                divergent.add(f"{name}.seen")
                block[at:at + 1] = made
                at += len(made) - 1
            at += 1


def _bits_in(index: str, lines: dict[str, str], divergent: set[str]) -> set[str]:
    """The values with bits of thread numbers that an index is made of."""
    found, seen, todo = set[str](), {index}, [index]
    while todo:
        name = todo.pop()
        line = lines.get(name, "")
        if name not in divergent or not line or opcode_of(line) not in _ARITHMETIC:
            continue
        if _BITS.search(line):
            found.add(name)
        new = set(uses_of(line)) - seen
        seen |= new
        todo += new
    return found
