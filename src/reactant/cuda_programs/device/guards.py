"""Guards of whole rows: `if (i < n)` is looked at once for all groups of threads of a row, not by each.

A number that goes up from thread to thread is on one side of a bound for all threads of a row if it is for the first
and for the last. Both comparisons are of numbers that the row has in common, so LLVM makes them before the row begins.
"""
from __future__ import annotations

import re

from reactant.cuda_programs.device.affine import BASE, LANE
from reactant.cuda_programs.device.text import opcode_of, uses_of
from reactant.cuda_programs.device.vectors import Vectors

LAST = "%tid.last.of.row"
"""threadIdx.x of the last thread of the row's groups; of the first it is 0."""
_COMPARED = re.compile(r"= icmp (?:samesign )?([su][lg][te]) (i32|i64) (\S+), (\S+?)(?:, !.*)?$")
_JOINED = re.compile(r"= (and|or) (?:disjoint )?i1 (\S+), (\S+?)(?:, !.*)?$")
_CHOSEN = re.compile(r"= select i1 (\S+), i1 (\S+), i1 (\S+?)(?:, !.*)?$")
_BINARY = re.compile(r"= (add|sub|mul|shl) (?:(?:nuw|nsw) )*(i32|i64) (\S+), (\S+?)(?:, !.*)?$")
_WIDENED = re.compile(r"= (sext|zext|zext nneg) i32 (%\S+) to i64$")
_ARITHMETIC = frozenset(("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "sext", "zext", "trunc",
                         "icmp", "select", "freeze"))
DEEPEST, STEEPEST = 8, 64
EVERY = 2**31


class RowVectors(Vectors):
    """Writes `K.group` for groups of a row, with one more parameter."""

    def parameters(self) -> list[str]:
        return [*super().parameters(), f"i32 noundef range(i32 0, 1024) {LAST}"]

    def _branch(self, label: str, last: str) -> None:
        if self.spread.differs(label) and not self._single(label) and self._worth_asking(label) and \
                (sure := self._sure(self.spread.condition(label), DEEPEST)) is not None:
            yes, no = self.targets(last)
            most = self.f.let(f"sext i32 {self.f.let(f'add i32 {BASE}, {self.size}')} to i64")
            inside = self.f.let(f"icmp sle i64 {most}, {sure[0]}")
            for all_, target in ((inside, yes), (sure[1], no)):
                other = self.fresh("not.sure")
                self.f.line(f"br i1 {all_}, label %{self._edge_block(label, target)}, label %{other}")
                self.f.label(other)
        super()._branch(label, last)

    def _sure(self, name: str, depth: int) -> tuple[str, str] | None:
        """For how many threads from the row's first on a condition holds, an i64, and whether for none; both may be
        less than is true."""
        if self.same(name):
            if name[0] != "%" or not self._of_row(name):
                return None
            value = self.one(name)
            return self.f.let(f"select i1 {value}, i64 {EVERY}, i64 0"), self.f.let(f"xor i1 {value}, true")
        line = self.spread.lines.get(name, "")
        if found := _COMPARED.search(line):
            return self._side(*found.groups())
        how, a, b = "", "", ""
        if found := _JOINED.search(line):
            how, a, b = found.groups()
        elif found := _CHOSEN.search(line):
            how, a, b = ("and", found[1], found[2]) if found[3] == "false" else ("or", found[1], found[3])
            how = how if how == "and" or found[2] == "true" else ""
        if not how or depth == 0:
            return None
        left, right = self._sure(a, depth - 1), self._sure(b, depth - 1)
        if left is None or right is None:
            return None
        which = "smin" if how == "and" else "smax"
        threads = self.f.let(f"call i64 @llvm.{which}.i64(i64 {left[0]}, i64 {right[0]})")
        return threads, self.f.let(f"{'or' if how == 'and' else 'and'} i1 {left[1]}, {right[1]}")

    def _side(self, how: str, kind: str, a: str, b: str) -> tuple[str, str] | None:
        """On which side of a bound a number is."""
        steps = self.step(a) or 0, self.step(b) or 0
        step, f = sum(steps), self.f
        if not 0 < step <= STEEPEST or 0 not in steps or not (self.same(a) or self.same(b)):
            return None
        index, bound = (a, b) if steps[0] else (b, a)
        if not steps[0]:
            how = how[0] + {"l": "g", "g": "l"}[how[1]] + how[2]
        first, last = (self._number(index, kind, tid, DEEPEST) for tid in ("0", LAST))
        if first is None or last is None or not self._of_row(bound):
            return None
        limit = self.one(bound)
        rising = f.let(f"icmp {how[0]}le {kind} {first}, {last}")       # it does not wrap around in between
        answers = [f.let(f"icmp {how} {kind} {end}, {limit}") for end in (first, last)]
        none = f.let(f"xor i1 {answers[how[1] == 'g']}, true")
        if how[1] == "g":
            threads = f.let(f"select i1 {answers[0]}, i64 {EVERY}, i64 0")
        elif kind == "i32":
            wide = [f.let(f"{'sext' if how[0] == 's' else 'zext'} i32 {value} to i64") for value in (first, limit)]
            room = f.let(f"sub i64 {wide[1]}, {wide[0]}")
            room = f.let(f"add i64 {room}, {step if how[2] == 'e' else step - 1}")
            threads = f.let(f"sdiv i64 {room}, {step}")
        else:
            threads = f.let(f"select i1 {answers[1]}, i64 {EVERY}, i64 0")
        return f.let(f"select i1 {rising}, i64 {threads}, i64 0"), f.let(f"and i1 {none}, {rising}")

    def _number(self, name: str, kind: str, tid: str, depth: int) -> str | None:
        """A number for the thread whose threadIdx.x is `tid`."""
        if name == "%r.tid.x":
            return tid
        if self.same(name):
            return self.one(name) if self._of_row(name) else None
        line = self.spread.lines.get(name, "")
        if depth and (found := _WIDENED.search(line)):
            inner = self._number(found[2], "i32", tid, depth - 1)
            return None if inner is None else self.f.let(f"{found[1].split()[0]} i32 {inner} to i64")
        found = _BINARY.search(line)
        if not depth or found is None:
            return None
        one, other = (self._number(operand, kind, tid, depth - 1) for operand in found.groups()[2:])
        return None if one is None or other is None else self.f.let(f"{found[1]} {kind} {one}, {other}")

    def _of_row(self, name: str) -> bool:
        """Whether a value is the same for all groups of a row, and there: made of parameters and registers alone."""
        todo, seen = [name], {name}
        while todo:
            each = todo.pop()
            line = self.spread.lines.get(each, "")
            if each in (BASE, LANE, "%r.tid.x") or (line and opcode_of(line) not in _ARITHMETIC):
                return False
            new = {used for used in uses_of(line) if used not in seen} if line else set()
            seen |= new
            todo += new
        return name[0] != "%" or self.there(name)
