"""Whether a condition on numbers of threads holds for all threads of a group, or for none, from its first and last."""
from __future__ import annotations

import re

from reactant.cuda_programs.device.values import Values

_COMPARED = re.compile(r"= icmp (?:samesign )?(\w+) (i32|i64) (\S+), (\S+?)(?:, !.*)?$")
_JOINED = re.compile(r"= (and|or|xor) (?:disjoint )?i1 (\S+), (\S+?)(?:, !.*)?$")
_CHOSEN = re.compile(r"= select i1 (\S+), i1 (\S+), i1 (\S+?)(?:, !.*)?$")
DEEPEST = 6


class Ends:
    """Writes the question. An index that goes up from thread to thread is on one side of a bound for the first threads
    of a group, and on the other for the rest."""

    def __init__(self, of: Values) -> None:
        self.of, self.f = of, of.f

    def ask(self, name: str, depth: int = DEEPEST) -> tuple[str, str] | None:
        """(whether for all, whether for none) of a condition, each an i1 that is true only where that is sure."""
        of, f = self.of, self.f
        if name in ("true", "false"):
            return name, "false" if name == "true" else "true"
        if of.same(name):
            if not of.there(name):
                return None
            value = of.one(name)
            return value, f.let(f"xor i1 {value}, true")
        line = of.spread.lines.get(name, "")
        if depth == 0:
            return None
        if found := _COMPARED.search(line):
            return self._compared(*found.groups())
        how, a, b = "", "", ""
        if found := _JOINED.search(line):
            how, a, b = found.groups()
            if how == "xor":
                if b != "true" or (one := self.ask(a, depth - 1)) is None:
                    return None
                return one[1], one[0]
        elif found := _CHOSEN.search(line):
            condition, yes, no = found.groups()
            if no == "false":
                how, a, b = "and", condition, yes
            elif yes == "true":
                how, a, b = "or", condition, no
        if not how:
            return None
        left, right = self.ask(a, depth - 1), self.ask(b, depth - 1)
        if left is None or right is None:
            return None
        both = f.let(f"{how} i1 {left[0]}, {right[0]}")
        return both, f.let(f"{'or' if how == 'and' else 'and'} i1 {left[1]}, {right[1]}")

    def _compared(self, how: str, kind: str, a: str, b: str) -> tuple[str, str] | None:
        of, f = self.of, self.f
        steps = of.step(a), of.step(b)
        if None in steps or (steps[0] != 0) == (steps[1] != 0):
            return None
        index, step = (a, steps[0]) if steps[0] else (b, steps[1])
        if not 0 < abs(step or 0) <= 64 or not of.there(a) or not of.there(b):
            return None
        first = of.first(index)
        last = f.let(f"add {kind} {first}, {(of.size - 1) * (step or 0)}")
        if (step or 0) < 0:
            first, last, step = last, first, -(step or 0)
        bound = of.one(b if steps[0] else a)
        if how in ("eq", "ne"):
            away = f.let(f"icmp ugt {kind} {f.let(f'sub {kind} {bound}, {first}')}, {(of.size - 1) * (step or 0)}")
            return ("false", away) if how == "eq" else (away, "false")
        answers = [f.let(f"icmp {how} {kind} {value}, {bound}" if steps[0] else
                         f"icmp {how} {kind} {bound}, {value}") for value in (first, last)]
        up = f.let(f"icmp {how[0]}le {kind} {first}, {last}")
        either = f.let(f"or i1 {answers[0]}, {answers[1]}")
        every = f.let(f"and i1 {f.let(f'and i1 {answers[0]}, {answers[1]}')}, {up}")
        return every, f.let(f"and i1 {f.let(f'xor i1 {either}, true')}, {up}")
