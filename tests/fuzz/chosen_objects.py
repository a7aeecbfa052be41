"""Random programs over lists of objects and lists of lists of which run-time values pick one: attributes are set by
several names, under conditions and in loops, names are bound anew, objects change places, lists grow, and what is one
object in Python has to be one."""
from __future__ import annotations

import random

HEAD = """import numpy as np


class Part:
    def __init__(self, x, v):
        self.x, self.v, self.n, self.a = x, v, 0, np.array([x, v])

    def kick(self, by):
        self.v = self.v + by
        self.n += 1
        return self


def lift(part, by):
    part.x += by
    return part.v


def f(x, k):
    ps = [Part(x[i], x[i + 1]) for i in range(4)]
    rows = [[x[0]], [x[1], x[2]], []]
    p, q, said, c = ps[k[0]], ps[k[1]], [], 0.5
    row, best = rows[k[2] % 3], None
"""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random, self.lines = random.Random(seed), []
        self.iterations, self.depth = False, 0               # whether there is an `i`; statements around
        self.arrays = self.random.random() < 0.3
        self.known = self.random.random() < 0.3         # also places that are known
        self.taken = self.random.random() < 0.5         # also what expressions and branches take

    def any(self, *texts: str) -> str:
        return self.random.choice(texts)

    def place(self, many: int = 4) -> str:
        place = f"k[{self.random.randrange(4)}]" + ("" if many == 4 else f" % {many}")
        if self.iterations and self.random.random() < 0.4:
            place = f"(k[{self.random.randrange(4)}] + i) % {many}"
        return str(self.random.randrange(many)) if self.known and self.random.random() < 0.4 else place

    def one(self) -> str:
        if self.taken and self.random.random() < 0.2:
            return f"({self.any('p', 'q')} if {self.test()} else ps[{self.place()}])"
        return self.any("p", "q", f"ps[{self.place()}]", f"ps[{self.place()}]")

    def test(self) -> str:
        return f"{self.any('c', 'x[4]', 'p.x', 'q.v')} > {self.any('0.3', '0.9', 'x[5]')}"

    def number(self) -> str:
        return self.any(f"{self.one()}.x", f"{self.one()}.v", f"{self.one()}.n", "c", "0.25", "x[5]")

    def changed(self) -> str:
        name, one = self.any("x", "v"), self.one()
        choices = [f"{one}.{name} = {self.number()} * 0.5 + {self.number()}", f"{one}.{name} += {self.number()}",
                   f"{one}.kick({self.number()})", f"c = lift({one}, {self.number()})", f"{one}.n += 1",
                   f"{one}.kick(0.5).kick({self.number()})", f"{one}.x, {self.one()}.x = {self.number()}, {one}.x"]
        if self.arrays:
            choices += [f"{one}.a[{self.random.randrange(2)}] += {self.number()}", f"{one}.a = {self.one()}.a * 0.5",
                        f"{one}.a *= 0.75"]
        return self.any(*choices)

    def bound(self) -> str:
        choices = [f"p = ps[{self.place()}]", f"q = ps[{self.place()}]", "p, q = q, p", "p = q"]
        if self.taken:
            choices += [f"p = {self.one()}", f"p, q = (q, p) if {self.test()} else (p, {self.one()})",
                        f"best = {self.one()}", "p = best if best is not None else p",
                        f"row = rows[{self.place(3)}]", f"row = row if {self.test()} else rows[{self.place(3)}]"]
        return self.any(*choices)

    def moved(self) -> str:
        i, j = self.place(), self.place()
        return self.any(f"ps[{i}], ps[{j}] = ps[{j}], ps[{i}]", f"ps[{i}] = {self.one()}", "ps.sort(key=lambda s: s.x)",
                        f"{self.any('p', 'q')} = {self.any('max', 'min')}(ps, key=lambda s: s.v)",
                        f"ps[{i}] = Part({self.number()}, c)", "ps.reverse()")

    def told(self) -> str:
        return self.any(f"said.append(1.0 if {self.one()} is {self.one()} else 0.0)",
                        f"said.append(1.0 if {self.one()} == {self.one()} else 0.0)",
                        f"said.append(float(ps.index({self.one()})))", f"c = {self.number()} * 0.5 + {self.number()}",
                        f"said.append(1.0 if {self.one()} in ps[:2] else 0.0)")

    def grown(self) -> str:
        at = "row" if self.taken and self.random.random() < 0.5 else f"rows[{self.place(3)}]"
        return self.any(f"{at}.append({self.number()})", f"{at}.append({self.number()})",
                        f"c = {at}.pop() if {at} else c", f"{at}.insert(0, {self.number()})", f"c = sum({at})",
                        f"{at}.clear()", f"c = float(len({at}))", f"{at}.extend([{self.number()}, c])")

    def simple(self) -> str:
        kind = self.random.random()
        if kind < 0.45:
            return self.changed()
        if kind < 0.6:
            return self.bound()
        if kind < 0.68:
            return self.moved()
        return self.told() if kind < 0.82 and not self.depth else self.grown()

    def statement(self, indent: str) -> None:
        kind = self.random.random()
        if kind < 0.7:
            self.lines.append(f"{indent}{self.simple()}")
            return
        self.depth += 1         # lists of what is said grow in no loop or branch
        if kind < 0.87 or self.iterations:
            self.lines += [f"{indent}if {self.number()} > {self.any('0.3', '0.9', 'c')}:",
                           f"{indent}    {self.simple()}"]
            if self.random.random() < 0.4:
                self.lines += [f"{indent}else:", f"{indent}    {self.simple()}"]
        else:
            self.iterations = True
            self.lines.append(f"{indent}for i in range({self.any('3', '7', '12')}):")
            for _ in range(self.random.randint(1, 3)):
                self.statement(indent + "    ")
            self.iterations = False
        self.depth -= 1

    def program(self) -> str:
        for _ in range(self.random.randint(3, 7)):
            self.statement("    ")
        shown = "[(s.x, s.v, s.n, s.a[0], s.a[1]) for s in ps], p.x, p.v, q.x, q.n, c, said"
        rows = "[len(r) for r in rows], [sum(r) for r in rows], len(row), -1.0 if best is None else best.x"
        return HEAD + "\n".join([*self.lines, f"    return {shown}, {rows}"]) + "\n"
